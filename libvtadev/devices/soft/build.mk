# SPDX-License-Identifier: Apache-2.0
#
# The device "soft": the emulator's core as a plugin of libvtadev, beside it.

SOFT_SO := $(LIB_DIR)/libvtadev-soft.so
SOFT_DIR := build/devices/soft

SOFT_SRCS := libvtadev/devices/soft/soft.c libvtadev/devices/config.c $(CORE_SRCS)
SOFT_CPPFLAGS := $(EMU_CPPFLAGS) -Ilibvtadev -D_GNU_SOURCE
SOFT_OBJS := $(addprefix $(SOFT_DIR)/,$(notdir $(SOFT_SRCS:.c=.o)))
# Its one name is in vtadev_device.h.
SOFT_CFLAGS := $(EMU_CFLAGS) -fPIC -fvisibility=hidden

$(call objects,$(SOFT_DIR),libvtadev/devices/soft,\
	$$(SOFT_CPPFLAGS) $$(CPPFLAGS) $$(SOFT_CFLAGS) $$(CFLAGS))

# For both devices.
$(call objects,$(SOFT_DIR),libvtadev/devices,\
	$$(SOFT_CPPFLAGS) $$(CPPFLAGS) $$(SOFT_CFLAGS) $$(CFLAGS))

$(call objects,$(SOFT_DIR),card/core,$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(SOFT_CFLAGS) $$(CFLAGS))

PLUGIN_LDFLAGS = -shared -Wl,-soname,$(@F) -Wl,-z,defs,-z,relro,-z,now
$(call program,$(SOFT_SO),,,$(SOFT_OBJS),$$(PLUGIN_LDFLAGS) $$(EMU_LIBS))

.PHONY: install-soft install-opencl
install-soft install-opencl: install-%: $(LIB_DIR)/libvtadev-%.so
	install -m 644 -Dt $(DESTDIR)$(LIBDIR) $<

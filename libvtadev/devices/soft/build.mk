# SPDX-License-Identifier: GPL-2.0-only
#
# The device "soft": the emulator's core as a plugin of libvtadev, beside it.

SOFT_SO := $(LIB_DIR)/libvtadev-soft.so
SOFT_DIR := build/devices/soft

SOFT_SRCS := libvtadev/devices/soft/soft.c libvtadev/devices/config.c $(wildcard tools/vta-emu/core*.c)
SOFT_CPPFLAGS := $(EMU_CPPFLAGS) -Ilibvtadev
SOFT_OBJS := $(addprefix $(SOFT_DIR)/,$(notdir $(SOFT_SRCS:.c=.o)))
# Its one name is in vtadev_device.h.
SOFT_CFLAGS := $(EMU_CFLAGS) -fPIC -fvisibility=hidden

$(SOFT_DIR)/%.o: libvtadev/devices/soft/%.c
	@mkdir -p $(@D)
	$(CC) $(SOFT_CPPFLAGS) $(CPPFLAGS) $(SOFT_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# For both devices.
$(SOFT_DIR)/%.o: libvtadev/devices/%.c
	@mkdir -p $(@D)
	$(CC) $(SOFT_CPPFLAGS) $(CPPFLAGS) $(SOFT_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(SOFT_DIR)/%.o: tools/vta-emu/%.c
	@mkdir -p $(@D)
	$(CC) $(EMU_CPPFLAGS) $(CPPFLAGS) $(SOFT_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(SOFT_SO): $(SOFT_OBJS)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname,$(@F) -Wl,-z,defs,-z,relro,-z,now $(LDFLAGS) -o $@ $^ $(EMU_LIBS)

.PHONY: install-soft
install-soft: $(SOFT_SO)
	install -d $(DESTDIR)$(LIBDIR)
	install -m 644 $(SOFT_SO) $(DESTDIR)$(LIBDIR)

-include $(SOFT_OBJS:.o=.d)

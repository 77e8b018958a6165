# SPDX-License-Identifier: Apache-2.0
#
# libvtadev, shared and static. Programs of this tree compile with
# $(LIB_CPPFLAGS) and link $(LIB_A) $(LIB_LIBS).

OBJCOPY ?= objcopy

LIB_DIR := build/lib
LIB_SONAME := libvtadev.so.1
LIB_SO := $(LIB_DIR)/libvtadev.so.$(VERSION)
LIB_A := $(LIB_DIR)/libvtadev.a
LIB_PC := $(LIB_DIR)/pkgconfig/vtadev.pc

LIB_SRCS := $(addprefix libvtadev/, \
	buf.c card.c clock.c copy.c counters.c dev.c dmabuf.c error.c fault.c fence.c \
	info.c lost.c pipeline.c queue.c spin.c status.c trace.c trace_file.c transfer.c wait.c) \
	$(wildcard libvtadev/local/*.c)
# Pools run program images, so they take the operators, too. Of the static library they are
# an object of their own, which programs without pools do not get.
POOL_SRCS := $(addprefix libvtadev/program/,pool.c pool_caller.c pool_card.c pool_watch.c)
POOL_OBJS := $(POOL_SRCS:libvtadev/%.c=$(LIB_DIR)/obj/%.o)
LIB_HEADERS := libvtadev/vtadev.h libvtadev/vtadev_desc.h libvtadev/vtadev_device.h libvtadev/vtadev_pipeline.h libvtadev/program/vtadev_pool.h uapi/vta.h
LIB_OBJS := $(LIB_SRCS:libvtadev/%.c=$(LIB_DIR)/obj/%.o)
LIB_MAP := libvtadev/libvtadev.map

LIB_CPPFLAGS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Iuapi -Icontract -Ilibvtadev
# For programs that use operators, program images or the CPU's kernels.
PROG_CPPFLAGS := -Ilibvtadev/ops -Ilibvtadev/cpu -Ilibvtadev/program
LIB_WARNINGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror
LIB_CFLAGS := $(LIB_WARNINGS) -O2 -g -fPIC
LIB_LIBS := -ludev -pthread -ldl

# Where programs that are linked statically find plugins.
$(LIB_DIR)/obj/local/plugin.o: LIB_CPPFLAGS += -DVTADEV_PLUGIN_DIR='"$(LIBDIR)"'

$(POOL_OBJS): LIB_CPPFLAGS += $(PROG_CPPFLAGS)

$(call objects,$(LIB_DIR)/obj,libvtadev,$$(LIB_CPPFLAGS) $$(CPPFLAGS) $$(LIB_CFLAGS) $$(CFLAGS))

# Objects whose only global names are the API's: static linking exports what
# the map lets the shared library export. And pieces of code that compilers for
# 32-bit x86 put into every object, of which the linker keeps one.
# $(call lib-object,OBJECT,OF): one of them
define lib-object
	$(LD) -r -o $(1) $(2)
	$(OBJCOPY) --wildcard --keep-global-symbol='vtadev_*' \
		--keep-global-symbol='__x86.get_pc_thunk.*' $(1)
endef
$(LIB_A): $(LIB_OBJS) $(POOL_OBJS) build/lib/libvtaprog.a build/lib/libvtaops.a libvtadev/build.mk
	$(call lib-object,$(LIB_DIR)/obj/vtadev.ro,$(LIB_OBJS))
	$(call lib-object,$(LIB_DIR)/obj/vtadev_pool.ro,$(POOL_OBJS) $(PROG_A) $(OPS_A))
	rm -f $@
	$(AR) rcs $@ $(LIB_DIR)/obj/vtadev.ro $(LIB_DIR)/obj/vtadev_pool.ro

# Beside it the names that programs load and link by.
$(LIB_SO): $(LIB_OBJS) $(POOL_OBJS) build/lib/libvtaprog.a build/lib/libvtaops.a $(LIB_MAP) | $(LIB_PC)
	$(CC) -shared -Wl,-soname,$(LIB_SONAME) -Wl,--version-script=$(LIB_MAP) \
		-Wl,-z,defs,-z,relro,-z,now -Wl,--gc-sections $(LDFLAGS) -o $@ $(LIB_OBJS) $(POOL_OBJS) $(PROG_A) $(OPS_A) $(LIB_LIBS)
	ln -sf $(@F) $(LIB_DIR)/$(LIB_SONAME)
	ln -sf $(LIB_SONAME) $(LIB_DIR)/libvtadev.so

# Depends on what the variables say, so it is made anew and replaced if it differs.
$(call filled,$(LIB_PC),libvtadev/vtadev.pc.in)

.PHONY: install-lib
install-lib: $(LIB_SO) $(LIB_A) $(LIB_PC)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/vtadev
	install -m 644 $(LIB_HEADERS) $(DESTDIR)$(PREFIX)/include/vtadev
	install -m 644 $(LIB_SO) $(LIB_A) $(DESTDIR)$(LIBDIR)
	cp -P $(LIB_DIR)/$(LIB_SONAME) $(LIB_DIR)/libvtadev.so $(DESTDIR)$(LIBDIR)
	install -m 644 $(LIB_PC) $(DESTDIR)$(LIBDIR)/pkgconfig

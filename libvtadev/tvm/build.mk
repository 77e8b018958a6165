# SPDX-License-Identifier: Apache-2.0
#
# libvta_driver, shared and static: the C interface of VTA runtimes. Programs of
# this tree link $(DRIVER_A) before $(LIB_A).

DRIVER_DIR := build/driver
DRIVER_SONAME := libvta_driver.so.1
DRIVER_SO := $(LIB_DIR)/libvta_driver.so.$(VERSION)
DRIVER_A := $(LIB_DIR)/libvta_driver.a
DRIVER_PC := $(LIB_DIR)/pkgconfig/vta_driver.pc
DRIVER_MAP := libvtadev/tvm/libvta_driver.map

DRIVER_SRCS := $(addprefix libvtadev/tvm/, counters.c device.c memory.c report.c space.c)
DRIVER_HEADERS := $(addprefix libvtadev/tvm/vta/, driver.h driver_async.h driver_counters.h)
DRIVER_OBJS := $(DRIVER_SRCS:libvtadev/tvm/%.c=$(DRIVER_DIR)/%.o)
DRIVER_CPPFLAGS := $(LIB_CPPFLAGS) -Ilibvtadev/tvm

$(call objects,$(DRIVER_DIR),libvtadev/tvm,\
	$$(DRIVER_CPPFLAGS) $$(CPPFLAGS) $$(LIB_CFLAGS) -pthread $$(CFLAGS))

# As $(LIB_A): no names but the interface's.
$(DRIVER_A): $(DRIVER_OBJS)
	@mkdir -p $(@D)
	$(LD) -r -o $(DRIVER_DIR)/driver.ro $(DRIVER_OBJS)
	$(OBJCOPY) --wildcard --keep-global-symbol='VTA*' \
		--keep-global-symbol='__x86.get_pc_thunk.*' $(DRIVER_DIR)/driver.ro
	rm -f $@
	$(AR) rcs $@ $(DRIVER_DIR)/driver.ro

$(DRIVER_SO): $(DRIVER_OBJS) $(DRIVER_MAP) $(LIB_SO) | $(DRIVER_PC)
	$(CC) -shared -Wl,-soname,$(DRIVER_SONAME) -Wl,--version-script=$(DRIVER_MAP) \
		-Wl,-z,defs,-z,relro,-z,now $(LDFLAGS) -o $@ $(DRIVER_OBJS) $(LIB_SO) -pthread
	ln -sf $(@F) $(LIB_DIR)/$(DRIVER_SONAME)
	ln -sf $(DRIVER_SONAME) $(LIB_DIR)/libvta_driver.so

$(call filled,$(DRIVER_PC),libvtadev/tvm/vta_driver.pc.in)

.PHONY: install-driver
install-driver: $(DRIVER_SO) $(DRIVER_A) $(DRIVER_PC)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/vtadev/vta
	install -m 644 $(DRIVER_HEADERS) $(DESTDIR)$(PREFIX)/include/vtadev/vta
	install -m 644 $(DRIVER_SO) $(DRIVER_A) $(DESTDIR)$(LIBDIR)
	cp -P $(LIB_DIR)/$(DRIVER_SONAME) $(LIB_DIR)/libvta_driver.so $(DESTDIR)$(LIBDIR)
	install -m 644 $(DRIVER_PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -d $(DESTDIR)$(PREFIX)/share/vtadev/tvm
	install -m 755 libvtadev/tvm/simulator/build-runtime $(DESTDIR)$(PREFIX)/share/vtadev/tvm
	install -m 644 libvtadev/tvm/simulator/*.cc $(DESTDIR)$(PREFIX)/share/vtadev/tvm

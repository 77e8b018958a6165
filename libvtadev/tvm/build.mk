# SPDX-License-Identifier: Apache-2.0
#
# libvta_driver, shared and static: the C interface of VTA runtimes. Programs of
# this tree link $(DRIVER_A) before $(LIB_A).

DRIVER_DIR := build/driver
DRIVER_SONAME := libvta_driver.so.1
DRIVER_SO := $(LIB_DIR)/libvta_driver.so.$(VERSION)
DRIVER_A := $(LIB_DIR)/libvta_driver.a

DRIVER_SRCS := $(addprefix libvtadev/tvm/, carry.c device.c memory.c report.c space.c)
DRIVER_HEADERS := $(addprefix libvtadev/tvm/vta/, driver.h driver_async.h driver_counters.h)
DRIVER_OBJS := $(DRIVER_SRCS:libvtadev/tvm/%.c=$(DRIVER_DIR)/%.o)
DRIVER_CPPFLAGS := $(LIB_CPPFLAGS) -Ilibvtadev/tvm

$(call objects,$(DRIVER_DIR),libvtadev/tvm,\
	$$(DRIVER_CPPFLAGS) $$(CPPFLAGS) $$(LIB_CFLAGS) -pthread $$(CFLAGS))

$(call library,libvta_driver,$(DRIVER_SONAME),$(DRIVER_OBJS),libvtadev/tvm/libvta_driver.map,\
	$(DRIVER_HEADERS),libvtadev/tvm/vta_driver.pc.in,$(LIB_SO),/vta)

.PHONY: install-driver
install-driver: install-libvta_driver
	install -m 755 -Dt $(DESTDIR)$(PREFIX)/share/vtadev/tvm libvtadev/tvm/simulator/build-runtime
	install -m 644 libvtadev/tvm/simulator/*.cc $(DESTDIR)$(PREFIX)/share/vtadev/tvm

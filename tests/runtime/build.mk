# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of libvta_driver. On a card: contract, kept, trouble and stateless, which are taken to the
# VM, linked to the shared library as a runtime would be. Without a card: test_report with
# a clock of its own, test_device on tests/lib/fake.c, test_exports on the built library,
# and test_resnet, which computes the scores of examples/aot.

RUNTIME_TEST_DIR := build/tests/runtime
RUNTIME_VM_TESTS := $(addprefix $(RUNTIME_TEST_DIR)/,contract kept trouble stateless)
RUNTIME_TEST_SHARED := $(addprefix $(RUNTIME_TEST_DIR)/obj/,runtime.o rig.o catch.o)
RUNTIME_TEST_CFLAGS := -D_GNU_SOURCE -Iuapi -Icontract -Ilibvtadev -Ilibvtadev/tvm \
	-Itests/selftests -Itests/runtime -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -pthread

$(call objects,$(RUNTIME_TEST_DIR)/obj,tests/runtime,$$(RUNTIME_TEST_CFLAGS))

RUNTIME_VM_LIBS := -L$(LIB_DIR) -lvta_driver -lcmocka -Wl,-rpath-link,$(LIB_DIR) \
	-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../lib'
$(foreach t,$(RUNTIME_VM_TESTS),$(call program,$(t),$(t:build/%=%.c),$$(RUNTIME_TEST_CFLAGS),\
	$(RUNTIME_TEST_SHARED),$$(RUNTIME_VM_LIBS)))
$(RUNTIME_VM_TESTS): $(DRIVER_SO)

# $(call runtime-test,SOURCES,FLAGS,OBJECTS,LIBRARIES,VARIANT)
runtime-test = $(call test,runtime,$(1:%=tests/runtime/%),$$(RUNTIME_TEST_CFLAGS) $(2),$(3),$(4),$(5))
$(call runtime-test,test_report.c catch.c,,$(DRIVER_DIR)/report.o,$(call wrap,clock_gettime),asan)
$(call runtime-test,test_device.c catch.c,-Itests/lib,$(DRIVER_OBJS) $(LIB_TEST_OBJS),\
	$(call wrap,ioctl vtadev_submit) $$(LIB_LIBS),asan)
$(call runtime-test,test_resnet.c,-Iexamples/digits,$(AOT_NETWORK) $(DIGITS_A))

$(RUNTIME_TEST_DIR)/test_exports: tests/runtime/test_exports.sh $(DRIVER_SO) $(DRIVER_A)
	install -m 755 -D $< $@

CHECK_PROGRAMS += $(RUNTIME_VM_TESTS)
$(call checked,$(RUNTIME_TEST_DIR)/test_exports,"runtime-test_exports=$(RUNTIME_TEST_DIR)/test_exports")
CHECKS += "@runtime=tests/in-vm tests/runtime/guest.sh $(VM_MODULE)" \
	"@runtime-least=tests/in-vm tests/runtime/least.sh $(VM_MODULE)"

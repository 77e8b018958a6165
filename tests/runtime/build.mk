# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of libvta_driver. On a card: contract, kept and trouble, which run.sh takes to the
# VM, linked to the shared library as a runtime would be. Without a card: test_report with
# a clock of its own, test_device on tests/lib/fake.c, test_exports on the built library,
# and test_resnet, which computes the scores of examples/aot.

RUNTIME_TEST_DIR := build/tests/runtime
RUNTIME_VM_TESTS := $(addprefix $(RUNTIME_TEST_DIR)/,contract kept trouble)
RUNTIME_TEST_SHARED := $(addprefix $(RUNTIME_TEST_DIR)/obj/,runtime.o rig.o catch.o)
RUNTIME_TEST_CFLAGS := -D_GNU_SOURCE -Iuapi -Icontract -Ilibvtadev -Ilibvtadev/tvm \
	-Itests/selftests -Itests/runtime -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -pthread

$(call objects,$(RUNTIME_TEST_DIR)/obj,tests/runtime,$$(RUNTIME_TEST_CFLAGS))

$(RUNTIME_VM_TESTS): $(RUNTIME_TEST_DIR)/%: $(RUNTIME_TEST_DIR)/obj/%.o $(RUNTIME_TEST_SHARED) \
		$(DRIVER_SO)
	$(CC) -pthread -o $@ $(filter %.o,$^) -L$(LIB_DIR) -lvta_driver -lcmocka \
		-Wl,-rpath-link,$(LIB_DIR) \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../lib'

RUNTIME_TESTS := $(addprefix $(RUNTIME_TEST_DIR)/,test_report test_device test_exports test_resnet)

RUNTIME_REPORT_LIBS := -Wl,--wrap=clock_gettime -lcmocka
$(call program,$(RUNTIME_TEST_DIR)/test_report,\
	tests/runtime/test_report.c tests/runtime/catch.c libvtadev/tvm/report.c,\
	$$(RUNTIME_TEST_CFLAGS) $$(LIB_TEST_SANITIZE),,$$(LIB_TEST_SANITIZE) $$(RUNTIME_REPORT_LIBS))

RUNTIME_DEVICE_LIBS := -Wl,--wrap=ioctl,--wrap=vtadev_submit -lcmocka
$(call program,$(RUNTIME_TEST_DIR)/test_device,\
	tests/runtime/test_device.c tests/runtime/catch.c $(DRIVER_SRCS),\
	$$(RUNTIME_TEST_CFLAGS) -Itests/lib $$(LIB_TEST_SANITIZE),\
	$(LIB_TEST_OBJS),$$(LIB_TEST_SANITIZE) $$(RUNTIME_DEVICE_LIBS) $$(LIB_LIBS))

$(RUNTIME_TEST_DIR)/test_exports: tests/runtime/test_exports.sh $(DRIVER_SO) $(DRIVER_A)
	@mkdir -p $(@D)
	install -m 755 $< $@

$(call program,$(RUNTIME_TEST_DIR)/test_resnet,tests/runtime/test_resnet.c,\
	$$(RUNTIME_TEST_CFLAGS) -Iexamples/digits,$(AOT_NETWORK) $(DIGITS_A),-lcmocka)

CHECKS += \
	$(foreach t,$(RUNTIME_TESTS),"runtime-$(notdir $(t))=$(t)") \
	"@runtime=tests/in-vm tests/runtime/guest.sh $(VM_MODULE)"

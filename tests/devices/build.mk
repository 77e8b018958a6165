# SPDX-License-Identifier: GPL-2.0-only
#
# Devices in the program's process: the library on the plugin "soft", both sanitized, and
# once more by ThreadSanitizer. Programs find the plugin beside themselves.

DEVICES_TEST_DIR := build/tests/devices

# Tests that run on it, too, most of them others': what needs the kernel says SKIP.
DEVICES_ON_SOFT := $(DEVICES_TEST_DIR)/forks $(addprefix build/tests/selftests/,vta_lib vta_pipeline) \
	$(addprefix build/tests/runtime/,contract kept trouble) \
	build/examples/deviceapi/deviceapi_test

DEVICES_TEST_CFLAGS := $(LIB_CPPFLAGS) $(PROG_CPPFLAGS) -Itests/emu -Itests/lib -Icard $(LIB_WARNINGS) -O1 -g

# $(call devices-plugin,VARIANT,NAME,SOURCES,FLAGS,OBJECTS,LIBRARIES): beside the variant's tests
devices-plugin = $(call program,$(call test-name,$(1),tests/devices/libvtadev-$(2)).so,$(3),$(4),$(5),-shared $(6),,$(1))
# $(call devices-around,VARIANT,NAME): NAME.c around soft
devices-around = $(call devices-plugin,$(1),$(2),tests/devices/$(2).c libvtadev/devices/soft/soft.c,\
	$$(SOFT_CPPFLAGS) -Itests/devices $$(SOFT_CFLAGS) $$(DEVICES_SOFT_NAME),$(filter-out %/soft.o,$(SOFT_OBJS)),$$(EMU_LIBS))
build/%/libvtadev-far.so.obj/libvtadev/devices/soft/soft.o: DEVICES_SOFT_NAME := -Dvtadev_device_plugin=far_soft
build/%/libvtadev-flaky.so.obj/libvtadev/devices/soft/soft.o: DEVICES_SOFT_NAME := -Dvtadev_device_plugin=flaky_soft

# The devices: soft; with memory of its own; one that fails on request; one that is lost; and
# OpenCL's, whose library leaks memory that is not ours.
$(foreach v,asan tsan,$(call devices-plugin,$(v),soft,,,$(SOFT_OBJS),$$(EMU_LIBS))\
	$(call devices-around,$(v),far)$(call devices-around,$(v),flaky)\
	$(call devices-plugin,$(v),frail,tests/devices/frail.c,$$(DEVICES_TEST_CFLAGS) -fPIC))
$(call devices-plugin,asan,opencl,,,$(OPENCL_OBJS),$$(OPENCL_LIBS))

# Plugins that are refused.
DEVICES_ODD := $(addprefix $(DEVICES_TEST_DIR)/odd/libvtadev-,newer.so other.so text.so)
$(DEVICES_TEST_DIR)/odd/libvtadev-newer.so: DEVICES_ODD_FLAGS := -DODD_VERSION
$(foreach odd,$(filter-out %-text.so,$(DEVICES_ODD)),$(call program,$(odd),\
	tests/devices/odd.c,$$(DEVICES_TEST_CFLAGS) $$(DEVICES_ODD_FLAGS) -fPIC,,-shared))
$(DEVICES_TEST_DIR)/odd/libvtadev-text.so:
	@mkdir -p $(@D)
	echo 'not a shared object' > $@
# $(call devices-test,VARIANT,SOURCES,OBJECTS,LIBRARIES): test_same and test_streams compare with
# the emulated card, which is a process of its own.
devices-test = $(call test,devices$(addprefix -,$(filter tsan,$(1))),$(2:%=tests/devices/%),$$(DEVICES_TEST_CFLAGS),\
	$(3) $(LIB_OBJS),$(4) $$(LIB_LIBS),$(1))
$(call devices-test,asan,test_names.c)
$(call devices-test,asan,test_far.c rig.c)
$(foreach t,same streams,$(call devices-test,asan,test_$(t).c,$(EMU_TEST_LIB) $(EMU_LIB),$$(EMU_LIBS)))
$(foreach v,asan tsan,$(call devices-test,$(v),test_soft.c rig.c,,$(call wrap,clock_gettime))\
	$(call devices-test,$(v),test_sleeps.c rig.c,,$(call wrap,pthread_cond_wait))\
	$(call devices-test,$(v),test_help.c rig.c flaky_find.c,,\
		$(call wrap,pthread_cond_wait pthread_cond_timedwait))\
	$(call devices-test,$(v),test_profile.c rig.c pool_image.c,$(PROG_OBJS) $(OPS_A))\
	$(call devices-test,$(v),test_cpu_threads.c,$(PROG_OBJS) $(OPS_A))\
	$(call devices-test,$(v),test_pool.c pool_image.c flaky_find.c,$(PROG_OBJS) $(OPS_A),\
		$(call wrap,local_doorbell vtacpu_run crew_new)))

$(filter $(DEVICES_TEST_DIR)/%,$(CHECK_PROGRAMS)): $(EMU_ASAN_BIN) $(DEVICES_ODD) \
	$(patsubst %,$(DEVICES_TEST_DIR)/libvtadev-%.so,soft far flaky frail opencl)
$(filter build/tsan/tests/devices/%,$(CHECK_PROGRAMS)): $(patsubst %,\
	build/tsan/tests/devices/libvtadev-%.so,soft flaky frail)

# $(call devices-opencl,STREAMS): so many, with the options in the environment
devices-opencl = LSAN_OPTIONS=suppressions=tests/devices/opencl.supp VTA_STREAMS=$(1) \
	$(DEVICES_TEST_DIR)/test_streams opencl:0.0

# A team of work-groups, which small jobs have as well.
DEVICES_TEAM := -DVTA_TEAM -DVTA_TEAM_GEMM=4u -DVTA_TEAM_ALU=4u

# On any device, and on the card by tests/runtime/guest.sh.
$(call program,$(DEVICES_TEST_DIR)/forks,tests/devices/forks.c tests/devices/pool_image.c,\
	$$(DEVICES_TEST_CFLAGS),$(PROG_A) $(LIB_A),-lcmocka $$(LIB_LIBS))

# test_streams without sanitizers: NVIDIA's driver shows no device to a program that has them.
DEVICES_GPU_STREAMS := $(DEVICES_TEST_DIR)/gpu/test_streams
$(call program,$(DEVICES_GPU_STREAMS),tests/devices/test_streams.c,\
	$$(DEVICES_TEST_CFLAGS),$(EMU_TEST_LIB) $(EMU_LIB) $(LIB_OBJS),-lcmocka $$(EMU_LIBS) $$(LIB_LIBS))

# Says why a device does not open.
$(call program,$(DEVICES_TEST_DIR)/why,tests/devices/why.c,\
	$$(DEVICES_TEST_CFLAGS),$(LIB_A),$$(LIB_LIBS))

CHECK_PROGRAMS += $(addprefix $(DEVICES_TEST_DIR)/,why forks)
CHECKS += \
	"devices-examples=tests/devices/examples.sh" \
	$(foreach t,$(DEVICES_ON_SOFT),"devices-soft-$(notdir $(t))=VTADEV_PLUGINS=$(LIB_DIR) VTADEV_DEVICE=soft $(t)" \
		"devices-opencl-$(notdir $(t))=VTADEV_PLUGINS=$(LIB_DIR) VTADEV_DEVICE=opencl $(t)") \
	"devices-soft-gemm=tests/emu/gemm_streams.sh build/tests/emu/test_gemm env VTADEV_PLUGINS=$(LIB_DIR) $(DEVICES_TEST_DIR)/test_streams soft" \
	$(foreach n,1 3,"devices-soft-cores-$(n)=VTADEV_PLUGINS=$(LIB_DIR) VTA_STREAMS=360 $(DEVICES_TEST_DIR)/test_streams soft:cores=$(n)") \
	"devices-side-by-side=LD_LIBRARY_PATH=$(LIB_DIR) VTADEV_PLUGINS=$(LIB_DIR) tests/devices/side_by_side.py 12 soft:cores=1 soft:cores=3 soft opencl" \
	"devices-opencl-cut=VTADEV_OPENCL_OPTIONS='-DVTA_SLICE=1ul -DVTA_PART=65536ul -DVTA_WIDE_MIN=262144ul' LD_LIBRARY_PATH=$(LIB_DIR) VTADEV_PLUGINS=$(LIB_DIR) tests/devices/side_by_side.py 2 opencl" \
	"devices-opencl=tests/devices/opencl.sh" \
	"devices-opencl-examples=tests/devices/examples.sh opencl:0.0" \
	"devices-opencl-memory=ASAN_OPTIONS=detect_leaks=0 $(DEVICES_TEST_DIR)/test_far opencl" \
	"devices-opencl-team=VTADEV_OPENCL_OPTIONS='$(DEVICES_TEAM)' $(call devices-opencl,360)" \
	"devices-opencl-team-group=VTA_CONFIGS=tests/emu/configs/tiny.json VTADEV_OPENCL_OPTIONS='$(DEVICES_TEAM) -DVTA_ITEMS=16 -cl-opt-disable' $(call devices-opencl,60)" \
	"devices-opencl-streams=$(call devices-opencl,2160)"

# SPDX-License-Identifier: GPL-2.0-only
#
# Devices in the program's process: the library on the plugin "soft", both sanitized, and
# once more by ThreadSanitizer. Programs find the plugin beside themselves.

DEVICES_TEST_DIR := build/tests/devices
DEVICES_TSAN_DIR := build/tests/devices/threads
DEVICES_TESTS := $(addprefix $(DEVICES_TEST_DIR)/,test_far test_soft test_same test_names test_streams) \
	$(DEVICES_TEST_DIR)/test_pool $(DEVICES_TSAN_DIR)/test_soft $(DEVICES_TSAN_DIR)/test_pool

# Tests of others that run on it, too: what needs the kernel says SKIP.
DEVICES_ON_SOFT := $(addprefix build/tests/selftests/,vta_lib vta_pipeline) \
	$(addprefix build/tests/runtime/,contract kept trouble) \
	build/examples/deviceapi/deviceapi_test

DEVICES_TEST_CFLAGS := $(LIB_CPPFLAGS) -Itests/emu -Itests/lib -Icard $(LIB_WARNINGS) -g

$(call objects,$(DEVICES_TEST_DIR)/obj,tests/devices,\
	$$(DEVICES_TEST_CFLAGS) -O1 $$(LIB_TEST_SANITIZE))

$(call objects,$(DEVICES_TSAN_DIR)/obj,tests/devices,$$(DEVICES_TEST_CFLAGS) -O1 -fsanitize=thread)

# $(call devices-soft,DIRECTORY,SANITIZERS): the plugin, in a directory
define devices-soft
$(call objects,$(1)/soft,,$$(SOFT_CPPFLAGS) $$(SOFT_CFLAGS) $(2))
$(1)/libvtadev-soft.so: $(SOFT_SRCS:%.c=$(1)/soft/%.o)
	$$(CC) $(2) -shared -o $$@ $$^ $(EMU_LIBS)
endef
$(eval $(call devices-soft,$(DEVICES_TEST_DIR),$(LIB_TEST_SANITIZE)))
$(eval $(call devices-soft,$(DEVICES_TSAN_DIR),-fsanitize=thread))

$(addprefix $(DEVICES_TEST_DIR)/,test_far test_soft test_names): $(DEVICES_TEST_DIR)/%: \
		$(DEVICES_TEST_DIR)/obj/%.o $(LIB_TEST_LIB_OBJS) $(DEVICES_TEST_DIR)/libvtadev-soft.so
	$(CC) $(LIB_TEST_SANITIZE) $(DEVICES_WRAP) -o $@ $(filter %.o,$^) -lcmocka $(LIB_LIBS)

$(addprefix $(DEVICES_TEST_DIR)/,test_far test_soft): $(DEVICES_TEST_DIR)/obj/rig.o
$(DEVICES_TEST_DIR)/test_soft: DEVICES_WRAP := -Wl,--wrap=clock_gettime

# OpenCL's, sanitized; what its library leaks is not ours.
$(call program,$(DEVICES_TEST_DIR)/libvtadev-opencl.so,$(OPENCL_SRCS),\
	$$(OPENCL_CPPFLAGS) $$(SOFT_CFLAGS) $$(LIB_TEST_SANITIZE),,\
	$$(LIB_TEST_SANITIZE) -shared $$(OPENCL_LIBS))
$(DEVICES_TEST_DIR)/libvtadev-opencl.so.obj/libvtadev/devices/kernels.o: $(OPENCL_CL)
$(DEVICES_TEST_DIR)/test_streams: $(DEVICES_TEST_DIR)/libvtadev-opencl.so
$(DEVICES_TEST_DIR)/test_far: $(DEVICES_TEST_DIR)/libvtadev-opencl.so $(DEVICES_TEST_DIR)/libvtadev-far.so

# $(call devices-around,DIRECTORY,SANITIZERS,NAME): NAME.c around soft
define devices-around
$(call program,$(1)/libvtadev-$(3).so,tests/devices/$(3).c libvtadev/devices/soft/soft.c,\
	$$(SOFT_CPPFLAGS) -Itests/devices $$(SOFT_CFLAGS) $(2) $$(DEVICES_SOFT_NAME),\
	$(patsubst %.c,$(1)/soft/%.o,$(filter-out %/soft.c,$(SOFT_SRCS))),\
	$(2) -shared $$(EMU_LIBS))
$(1)/libvtadev-$(3).so.obj/libvtadev/devices/soft/soft.o: \
	DEVICES_SOFT_NAME := -Dvtadev_device_plugin=$(3)_soft
$(1)/libvtadev-$(3).so: $(1)/libvtadev-soft.so
endef
# With memory of its own; and one that fails on request.
$(eval $(call devices-around,$(DEVICES_TEST_DIR),$(LIB_TEST_SANITIZE),far))
$(eval $(call devices-around,$(DEVICES_TEST_DIR),$(LIB_TEST_SANITIZE),flaky))
$(eval $(call devices-around,$(DEVICES_TSAN_DIR),-fsanitize=thread,flaky))

# $(call devices-pool,DIRECTORY,SANITIZERS,OBJECTS OF THE LIBRARY)
define devices-pool
$(1)/obj/test_pool.o $(1)/obj/pool_image.o: DEVICES_TEST_CFLAGS += $(PROG_CPPFLAGS)
$(1)/test_pool: $(1)/obj/test_pool.o $(1)/obj/pool_image.o $(3) $(OPS_A) \
		$(1)/libvtadev-soft.so $(1)/libvtadev-flaky.so
	$$(CC) $(2) -Wl,--wrap=local_doorbell -o $$@ $$(filter %.o %.a,$$^) -lcmocka $(LIB_LIBS)
endef
$(eval $(call devices-pool,$(DEVICES_TEST_DIR),$(LIB_TEST_SANITIZE),\
	$(LIB_TEST_LIB_OBJS) $(LIB_TEST_POOL_OBJS)))
$(eval $(call devices-pool,$(DEVICES_TSAN_DIR),-fsanitize=thread,\
	$(LIB_SRCS:libvtadev/%.c=$(LIB_TEST_DIR)/obj/threads/lib/%.o) $(LIB_TEST_POOL_THREADS_OBJS)))

# $(call devices-opencl,STREAMS): so many, with the options in the environment
devices-opencl = LSAN_OPTIONS=suppressions=tests/devices/opencl.supp VTA_STREAMS=$(1) \
	$(DEVICES_TEST_DIR)/test_streams opencl:0.0

# Says why a device does not open.
$(call program,$(DEVICES_TEST_DIR)/why,tests/devices/why.c,\
	$$(DEVICES_TEST_CFLAGS),$(LIB_A),$$(LIB_LIBS))

# A device that is lost.
$(foreach d,$(DEVICES_TEST_DIR) $(DEVICES_TSAN_DIR),$(call program,$(d)/libvtadev-frail.so,\
	tests/devices/frail.c,$$(DEVICES_TEST_CFLAGS) -fPIC,,-shared))
$(DEVICES_TEST_DIR)/test_soft: $(DEVICES_TEST_DIR)/libvtadev-frail.so
$(DEVICES_TSAN_DIR)/test_soft: $(DEVICES_TSAN_DIR)/libvtadev-frail.so

# Plugins that are refused.
DEVICES_ODD := $(addprefix $(DEVICES_TEST_DIR)/odd/libvtadev-,newer.so other.so text.so)
$(DEVICES_TEST_DIR)/odd/libvtadev-newer.so: DEVICES_ODD_FLAGS := -DODD_VERSION
$(foreach odd,$(filter-out %-text.so,$(DEVICES_ODD)),$(call program,$(odd),\
	tests/devices/odd.c,$$(DEVICES_TEST_CFLAGS) $$(DEVICES_ODD_FLAGS) -fPIC,,-shared))
$(DEVICES_TEST_DIR)/odd/libvtadev-text.so:
	@mkdir -p $(@D)
	echo 'not a shared object' > $@
$(DEVICES_TEST_DIR)/test_names: $(DEVICES_ODD)

# The same descriptors on the emulated card, which is a process of its own.
$(addprefix $(DEVICES_TEST_DIR)/,test_same test_streams): $(DEVICES_TEST_DIR)/%: \
		$(DEVICES_TEST_DIR)/obj/%.o $(LIB_TEST_LIB_OBJS) \
		$(DEVICES_TEST_DIR)/libvtadev-soft.so $(EMU_TEST_LIB) $(EMU_ASAN_LIB) $(EMU_ASAN_BIN)
	$(CC) $(LIB_TEST_SANITIZE) -o $@ $(filter %.o,$^) $(EMU_TEST_LIB) $(EMU_ASAN_LIB) -lcmocka \
		$(EMU_LIBS) $(LIB_LIBS)

$(DEVICES_TSAN_DIR)/test_soft: $(addprefix $(DEVICES_TSAN_DIR)/obj/,test_soft.o rig.o) \
		$(LIB_SRCS:libvtadev/%.c=$(LIB_TEST_DIR)/obj/threads/lib/%.o) \
		$(DEVICES_TSAN_DIR)/libvtadev-soft.so
	$(CC) -fsanitize=thread -Wl,--wrap=clock_gettime -o $@ $(filter %.o,$^) -lcmocka $(LIB_LIBS)

CHECKS += \
	"devices-examples=tests/devices/examples.sh" \
	$(foreach t,$(DEVICES_ON_SOFT),"devices-soft-$(notdir $(t))=VTADEV_PLUGINS=$(LIB_DIR) VTADEV_DEVICE=soft $(t)" \
		"devices-opencl-$(notdir $(t))=VTADEV_PLUGINS=$(LIB_DIR) VTADEV_DEVICE=opencl $(t)") \
	"devices-opencl=tests/devices/opencl.sh" \
	"devices-opencl-examples=tests/devices/examples.sh opencl:0.0" \
	"devices-opencl-memory=ASAN_OPTIONS=detect_leaks=0 $(DEVICES_TEST_DIR)/test_far opencl" \
	"devices-opencl-streams=$(call devices-opencl,2160)" \
	$(foreach t,$(DEVICES_TESTS),"devices-$(subst /,-,$(t:$(DEVICES_TEST_DIR)/%=%))=$(t)")

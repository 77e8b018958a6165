# SPDX-License-Identifier: GPL-2.0-only
#
# TVM's own VTA runtime on libvta_driver: programs that make the calls of compiled
# operators, for users with a source tree of TVM (make check-tvm TVM=DIR). The core of TVM's
# runtime is built here from that tree, without LLVM.

TVM ?=
TVM_HW := $(or $(VTA_HW_PATH),$(TVM)/3rdparty/vta-hw)
# Each source tree has a directory of its own.
TVM_DIR := build/tests/tvm/$(notdir $(abspath $(TVM)))
TVM_ROOT := $(TVM_DIR)/root
TVM_CORE := $(TVM_DIR)/lib/libtvm_runtime.so
# The script, the headers and the libraries as they are installed.
TVM_BUILD = PKG_CONFIG_SYSROOT_DIR='$(CURDIR)'/$(TVM_ROOT) \
	PKG_CONFIG_PATH='$(CURDIR)'/$(TVM_ROOT)$(LIBDIR)/pkgconfig \
	$(TVM_ROOT)$(PREFIX)/share/vtadev/tvm/build-runtime

# Configurations, and sizes of the runtime's buffers: TVM's, and one so small that the runtime
# synchronises in the middle of operators.
TVM_CONFIGS := default batch2 block32
TVM_SIZES := 33554432 2048
TVM_VARIANTS := $(foreach c,$(TVM_CONFIGS),$(foreach s,$(TVM_SIZES),$(c)-$(s)))
TVM_PROGRAMS := $(TVM_VARIANTS:%=$(TVM_DIR)/%/programs)
# The same on TVM's functional simulator, natively.
TVM_SIMULATED := $(TVM_CONFIGS:%=$(TVM_DIR)/%-simulator/programs)

# $(call tvm-config,VARIANT) and $(call tvm-size,VARIANT)
tvm-config = tests/emu/configs/$(firstword $(subst -, ,$(1))).json
tvm-size = $(lastword $(subst -, ,$(1)))

TVM_INCLUDES = -isystem $(TVM)/include -isystem $(TVM)/3rdparty/dlpack/include \
	-isystem $(TVM)/3rdparty/dmlc-core/include
TVM_CXXFLAGS := -std=c++17 -O1 -fPIC
TVM_LOGGING := '-DDMLC_USE_LOGGING_LIBRARY=<tvm/runtime/logging.h>'
tvm-macros = $$(python3 $(TVM_HW)/config/vta_config.py --defs --use-cfg=$(call tvm-config,$(1)))

TVM_CORE_SRCS := $(if $(TVM),$(wildcard $(TVM)/src/runtime/*.cc))
TVM_CORE_OBJS := $(TVM_CORE_SRCS:$(TVM)/src/runtime/%.cc=$(TVM_DIR)/core/%.o)

$(TVM_DIR)/core/%.o: $(TVM)/src/runtime/%.cc
	@mkdir -p $(@D)
	$(CXX) $(TVM_CXXFLAGS) -w $(TVM_LOGGING) $(TVM_INCLUDES) \
		-isystem $(TVM)/3rdparty/compiler-rt -c -o $@ $<

$(TVM_CORE): $(TVM_CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -shared -Wl,-soname,$(@F) -o $@ $^ -ldl -pthread

.PHONY: tvm-root
tvm-root: $(LIB_SO) $(DRIVER_SO)
	@$(MAKE) -s --no-print-directory install-libvtadev install-driver DESTDIR='$(CURDIR)'/$(TVM_ROOT)

$(TVM_DIR)/%/libvta_fsim.so: $(TVM_CORE) libvtadev/tvm/simulator/build-runtime \
		libvtadev/tvm/simulator/vta_simulator.cc | tvm-root
	@mkdir -p $(@D)
	$(TVM_BUILD) --config $(call tvm-config,$*) --tvm-lib $(TVM_CORE) \
		--define VTA_MAX_XFER=$(call tvm-size,$*) $(TVM) $(@D)

$(TVM_DIR)/%-simulator/libvta_fsim.so: $(TVM_CORE)
	@mkdir -p $(@D)
	$(CXX) $(TVM_CXXFLAGS) -O2 -w -shared $(TVM_LOGGING) $(call tvm-macros,$*) $(TVM_INCLUDES) \
		-isystem $(TVM_HW)/include -DUSE_FSIM_TLPP -o $@ $(TVM)/vta/runtime/*.cc \
		$(TVM_HW)/src/sim/*.cc $(TVM_HW)/src/vmem/*.cc $(TVM_CORE)

.PRECIOUS: $(TVM_DIR)/%/libvta_fsim.so

# The library by a name of its own, so that a guest can have several.
$(TVM_DIR)/%/programs: $(addprefix tests/tvm/,programs.cc ops.cc ops.hh) $(TVM_DIR)/%/libvta_fsim.so
	cp $(@D)/libvta_fsim.so $(@D)/libvta_$*.so
	$(CXX) $(TVM_CXXFLAGS) -O2 -Wall -Wextra $(call tvm-macros,$*) -I$(TVM)/vta/runtime \
		$(TVM_INCLUDES) -isystem $(TVM_HW)/include -o $@ $(filter %.cc,$^) \
		-L$(@D) -l:libvta_$*.so $(TVM_CORE) -Wl,-rpath-link,$(LIB_DIR) \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN:$$ORIGIN/../lib:$$ORIGIN/../../../../lib'

# Layers of ResNet-18 on soft and on TVM's functional simulator, in turns: make tvm-layers TVM=DIR
TVM_LAYERS := $(TVM_DIR)/default-simulator/layers
TVM_LAYERS_OBJS = $(OPS_BENCH_OBJS) $(CORE_SRCS:card/%.c=build/tools/vta-emu.obj/%.o)
$(TVM_LAYERS): tests/tvm/layers.c $(TVM_DIR)/default-simulator/libvta_fsim.so \
		$(TVM_LAYERS_OBJS) $(PROG_A) $(LIB_A)
	$(CC) $(LIB_CPPFLAGS) $(OPS_TEST_FLAGS) -isystem $(TVM_HW)/include -pthread -o $@ \
		$(filter %.c %.o %.a,$^) -L$(@D) -l:libvta_fsim.so $(TVM_CORE) \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN:$$ORIGIN/../lib' $(LIB_LIBS) -ljson-c -lm

.PHONY: tvm-layers
tvm-layers: $(TVM_LAYERS) $(SOFT_SO)
	VTADEV_PLUGINS=build/lib $(TVM_LAYERS)

.PHONY: tvm-programs
tvm-programs: $(TVM_PROGRAMS) $(TVM_SIMULATED)

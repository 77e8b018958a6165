# SPDX-License-Identifier: GPL-2.0-only
#
# Every command of the project; `make help` lists those that have a ## beside them. Files that are
# built go to build/, those that are fetched or take long to make to the cache outside the tree
# (see tools/vm/vm). The module's own build is in Kbuild.

VERSION := $(shell sed -n 's/^\#define VTA_VERSION[[:space:]]*"\(.*\)"/\1/p' uapi/vta.h)
# The kernel that the module is built for; VM_KERNEL chooses the VM's.
KDIR ?= /lib/modules/$(shell uname -r)/build
VM_KERNEL ?= host
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DKMS_KERNEL ?= $(shell uname -r)

VM := tools/vm/vm
VM_PROGRAMS := $(addprefix tools/vm/,vm deps.sh chroot.sh scratch.sh init)
VM_PARTS := $(filter-out %/test.sh %/debug $(VM_PROGRAMS),$(wildcard tools/vm/*))
VM_KDIR = $$($(VM) kdir)
VM_MODULE = $(call vm-module-of,$(VM_KERNEL))
# $(call vm-module-of,KERNEL)
vm-module-of = build/module/$$($(VM) krelease --kernel $(1))/vta.ko
# A kernel that has udmabuf, which others' memory comes from. The host's may not.
UDMABUF_KERNEL := trixie

# Boots of tests/selftests/run.sh on kernels that check themselves, and parts of the matrix: each
# waits for most of its time.
DEBUG_BOOTS := main waits recovery sleep bus paused variants iommu memory isolation failnth
KCSAN_BOOTS := main waits recovery sleep bus memory isolation
DEBUG_MATRIX := 0 1 2 3
# Those that CI has time for, and one part of the matrix: another for each commit.
CI_BOOTS := memory main isolation recovery sleep
CI_MATRIX = $(shell printf '%d' $$(( 0x$$(git rev-parse HEAD | cut -c 1-6) % $(words $(DEBUG_MATRIX)) )))
# The kernels count and trace the module alone.
DEBUG_KBUILD := GCOV_PROFILE=y KCOV_INSTRUMENT=y
# Their boots must execute at least these percent of its lines and branches.
COVERAGE_LEAST := 90 80

# Operations of make fuzz, as many for libFuzzer's programs and for calls;
# make fuzz OPS=10000000 for many. And the shares of make check, which has calls on a
# kernel without coverage.
OPS := 1000000
CHECK_OPS := 1000000
CHECK_CALLS := 100000
CHECK_CARD := 3000
# Cycles of make storm and of make check, and seconds of make soak.
STORM_CYCLES := 1000
CHECK_STORM := 20
SOAK_SECONDS := 1800

# Debian packages that the commands need; DEB_PACKAGES are those that debian/control names.
BUILD_PACKAGES := gcc libc6-dev pkg-config libjson-c-dev libudev-dev libpci-dev libncurses-dev libpng-dev libjpeg-dev \
	ocl-icd-opencl-dev opencl-c-headers
TEST_PACKAGES = $(MAN_PACKAGES) $(VTAC_PACKAGES) $(PYTHON_PACKAGES) $(WHEEL_PACKAGES) $(GST_PACKAGES) $(GST_TOOLS) libonnx-testdata abigail-tools bsdutils clang clang-tidy cppcheck gcc-aarch64-linux-gnu gcc-riscv64-unknown-elf \
	libc6-dev-arm64-cross libclang-rt-dev libcmocka-dev libdlpack-dev mandoc perl pocl-opencl-icd procps python3 qemu-user reuse \
	python3-numpy $(SERVE_PACKAGES) curl haproxy python3-distributed shellcheck sparse udev umockdev valgrind zsh $(if $(shell command -v npm),$(MODEL_PACKAGES))
DEB_PACKAGES = build-essential lintian $(shell sed -n '/^Build-Depends:/,/^[^ ]*:/s/^ \([^ ,]*\).*/\1/p' debian/control)
# Packages that make test data of real models, if npm is there to fetch these.
MODEL_PACKAGES := python3-onnx python3-numpy python3-pil

# Commands are printed with V=1 only.
ifndef V
.SILENT:
endif
# The commands that end in a result say what they build in one line; V=1 in all.
QUIETLY = $(MAKE) --no-print-directory $(if $(V),,-s) $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j $(SLOTS))
# As many parts of the tests at once as there are processors, of those that compute, and
# half as many again of those that wait. A part that waits is a VM, for the most part.
SLOTS := $(shell nproc)
TESTS_RUN = tests/run -j $(SLOTS) -w $$(( ($(SLOTS) * 3 + 1) / 2 ))

.DELETE_ON_ERROR:
.PHONY: all userspace module vm-module coverage-plain user-deps build-deps test-deps debug-deps \
	demo demo-model vm check check-opencl check-models check-zoo check-quick record-abi check-build \
	check-fresh check-debug-share check-slurm check-docker check-mpi check-tvm check-debug fuzz storm \
	soak check-kernels cross-programs cross-programs-32 check-programs bench install \
	uninstall install-dkms-source dkms-install dkms-uninstall deb rpm check-packages clean \
	help have-compiler
.SUFFIXES:

all: userspace  ## library, tools, and the module for the running kernel or KDIR=
	@$(if $(VTAC_HAVE),,echo 'SKIP vtac: it takes $(VTAC_PACKAGES) (make vtac installs them)')
	@$(if $(PYTHON_HAVE),,echo 'SKIP python: it takes $(PYTHON_PACKAGES) (make python installs them)')
	@$(if $(ORT_HAVE),,echo 'SKIP onnxruntime: it takes libonnxruntime-dev of 1.23 or later, and vtac')
	@$(if $(GST_HAVE),,echo 'SKIP gstreamer: it takes $(GST_PACKAGES) (make gstreamer installs them)')
	@if [ -e '$(KDIR)/Makefile' ]; then \
		$(MAKE) --no-print-directory module; \
	else \
		echo "SKIP module: no kernel headers in $(KDIR)" \
		     "(install linux-headers-$$(uname -r) or say KDIR=)"; \
	fi

include rules.mk

# $(call static,CHECKS,...): parts of tests/static, each some of its checks
static = $(foreach n,1 2 3 4,"static-$(firstword $($(n)))=tests/static -j 1 $(VM_KDIR) \
	$$($(VM) source) $($(n))")

# Checks of make check, "[@]NAME=COMMAND" for tests/run, that belong to no part; each part adds its
# own.
CHECKS = \
	$(call static,clang-tidy,checkpatch,module sparse,shellcheck cppcheck reuse kernel-doc mandoc) \
	"commits=tests/commits.sh" "words=tests/words.py" "build=tests/build.sh" "harness=tests/harness.sh" "@vm-harness=tests/vm-harness.sh" \
	"abi=tests/abi/run.sh" \
	"@docs=tests/docs/run.sh $(VM_MODULE)" "pictures=tests/docs/pictures.py" \
	"@selftests-$(UDMABUF_KERNEL)=VM_KERNEL=$(UDMABUF_KERNEL) tests/selftests/run.sh \
		$(call vm-module-of,$(UDMABUF_KERNEL)) dmabuf" \
	"@demo=tests/in-vm tests/demo/guest.sh $(VM_MODULE)" \
	"install=tests/install.sh" \
	"contract=tests/contract/documents.py" "floors=tests/floors.py $(VM_MODULE)" \
	"slurm-scripts=tests/cluster/scripts.sh"

include $(addsuffix /build.mk, libvtadev libvtadev/ops libvtadev/program libvtadev/tvm \
	tools/cli card libvtadev/devices/soft libvtadev/devices/opencl libvtadev/python libvtadev/picture \
	tools/vtactl compiler examples docs/man udev tests/emu tests/lib tests/devices tests/ops \
	tests/selftests tests/matrix tests/fuzz tests/storm tests/runtime tests/tvm tests/stream \
	tests/vtactl tests/vtac tests/vtac/programs tests/vtac/emit tests/rtl tests/zoo tests/bench \
	adapters/onnxruntime tests/onnxruntime adapters/python adapters/serve tests/serve \
	adapters/gstreamer tests/gstreamer)

-include $(shell find $(OBJECT_DIRS) -name '*.d' 2>/dev/null | sort -u)

USERSPACE := $(LIB_SO) $(LIB_A) $(SOFT_SO) $(OPENCL_SO) $(OPS_A) $(PROG_SO) $(PROG_A) $(DRIVER_SO) $(DRIVER_A) $(VTACTL_BIN) $(EMU_BIN) \
	$(DIGITS_BIN) $(STREAM_BIN) $(if $(VTAC_HAVE),$(VTAC_BIN) $(VTAC_LIB)) $(if $(PYTHON_HAVE),$(PYTHON_BUILT)) \
	$(if $(ORT_HAVE),$(ORT_SO)) $(if $(GST_HAVE),$(GST_SO))
userspace: $(USERSPACE)

# The module is built from a copy for each kernel, so that builds for several
# kernels do not overwrite each other and the sources stay clean.
MODULE_SOURCES := Kbuild kmod contract uapi
# $(call module-copy-to,DIR): sources that have gone from the tree go from the copy
module-copy-to = mkdir -p $(1); rm -rf $(1)/kmod/*.[ch] $(1)/contract $(1)/uapi; \
	cp -pr $(MODULE_SOURCES) $(1)
# $(call module-copy,RELEASE): sets dir in the shell
module-copy = dir='$(CURDIR)'/build/module/$(1); $(call module-copy-to,"$$dir")

module:
	@set -e; \
	test -e '$(KDIR)/Makefile' || { \
		echo "no kernel headers in $(KDIR): install linux-headers-$$(uname -r) or say KDIR=" >&2; \
		exit 1; }; \
	release=$$(sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' '$(KDIR)/include/generated/utsrelease.h'); \
	$(call module-copy,$$release); \
	$(MAKE) $(if $(V),,-s) -C '$(KDIR)' M="$$dir" W=1 modules; \
	echo "build/module/$$release/vta.ko"

# Kernels of other suites have compilers of their own, which the harness knows.
vm-module:
	+@set -e; \
	$(VM) setup --kernel $(VM_KERNEL); \
	$(call module-copy,$$($(VM) krelease --kernel $(VM_KERNEL))); \
	$(VM) kbuild "$$dir" --kernel $(VM_KERNEL) $(if $(V),,-s) W=1 \
		$(if $(filter debug,$(VM_KERNEL)),$(DEBUG_KBUILD)) modules; \
	echo "$${dir#$(CURDIR)/}/vta.ko"

# Never loaded: how many branches it has by itself, without those of UBSAN.
COVERAGE_PLAIN := build/coverage-plain
coverage-plain:
	@$(call module-copy-to,$(COVERAGE_PLAIN))
	+@$(VM) kbuild '$(CURDIR)/$(COVERAGE_PLAIN)' --kernel debug $(if $(V),,-s) \
		$(DEBUG_KBUILD) UBSAN_SANITIZE=n modules

# All that is missing is named at once, before anything is made.
# $(call need,PACKAGES,KERNELS): with what the VM takes for these kernels
need = @set -e; \
	for_vm=$$(for kernel in $(2); do $(VM) packages --kernel $$kernel || exit; done); \
	tools/vm/deps.sh need $(1) $$for_vm

# Without a VM.
user-deps:
	@tools/vm/deps.sh need $(BUILD_PACKAGES)
build-deps:
	$(call need,$(BUILD_PACKAGES),$(VM_KERNEL))
test-deps:
	$(call need,$(BUILD_PACKAGES) $(TEST_PACKAGES),$(VM_KERNEL) $(UDMABUF_KERNEL))
debug-deps:
	$(call need,$(BUILD_PACKAGES) $(TEST_PACKAGES),$(VM_KERNEL) debug kcsan)

# Card time passes slower on RTL, so that no job reaches the driver's limit.
DEMO_RTL := --timeout 3600 --emu-arg --time=model:1000
demo: build-deps  ## classify handwritten digits on an emulated card in a VM; CORE=rtl or CARD=rtl on RTL
	@$(if $(filter rtl,$(CORE) $(CARD)),$(MAKE) --no-print-directory rtl-deps)
	@echo 'building the module, the library, the tools and the emulated card'
	+@$(QUIETLY) vm-module userspace $(if $(filter rtl,$(CARD)),$(call rtl-cards,$(RTL_DEFAULT_SHAPE)),$(if \
		$(filter rtl,$(CORE)),$(call rtl-models,default)))
	@examples/digits/demo.sh $(VM_MODULE) $(if $(filter rtl,$(CARD)),$(DEMO_RTL) --emu $(CURDIR)/$(RTL_EMU),$(if \
		$(filter rtl,$(CORE)),$(DEMO_RTL) --emu-arg --core=rtl))

# The same with real networks and real pictures: PICTURES="a.png b.jpg" for others.
demo-model: build-deps  ## real networks name what is on photographs and find faces, on the emulated card
	@tools/vm/deps.sh need $(VTAC_PACKAGES) $(MODEL_PACKAGES)
	@command -v npm >/dev/null || tools/vm/deps.sh need npm
	@echo 'building the module, the library, the tools, the compiler and the emulated card'
	+@$(QUIETLY) vm-module userspace $(VTAC_BIN)
	@examples/models/demo.sh $(VM_MODULE) $(VTAC_BIN) $(VTACTL_BIN) $(PICTURES)

vm: build-deps  ## a shell in the VM with a card; CARDS=2 for two
	+@$(QUIETLY) vm-module userspace
	@echo 'In the VM, modprobe vta loads the driver, vtactl status shows the card,'
	@echo 'and digits /share/testset.bin classifies 2,000 digits on it.'
	@$(VM) shell --kernel $(VM_KERNEL) --cards $${CARDS:-1} \
		--file $(VM_MODULE):/lib/modules/$$($(VM) krelease --kernel $(VM_KERNEL))/vta.ko \
		--file $(VTACTL_BIN):/bin/vtactl \
		--file $(DIGITS_BIN):/bin/digits --file examples/digits/testset.bin:/share/testset.bin

check: test-deps  ## all tests; V=1 shows their whole output
	@echo 'building everything, and the tests'
	+@$(QUIETLY) check-build
	@$(TESTS_RUN) $(CHECKS)

# vta.cl on the first OpenCL device: as many streams as soft has, and again as an FPGA tool
# would take it, with one work-group of several work-items, with every loop a wide one, and with
# a team of work-groups.
check-opencl: test-deps  ## the device opencl, many streams, in each way that vta.cl can be built
	@$(QUIETLY) userspace $(DEVICES_TEST_DIR)/test_streams
	@$(TESTS_RUN) -o build/check-opencl \
		"streams=$(call devices-opencl,2160)" \
		"task=VTADEV_OPENCL_OPTIONS=-DVTA_TASK $(call devices-opencl,360)" \
		"group=VTADEV_OPENCL_OPTIONS='-DVTA_ITEMS=16 -cl-opt-disable' $(call devices-opencl,360)" \
		"wide=VTADEV_OPENCL_OPTIONS='-DVTA_ALONE -DVTA_WIDE_MIN=1' $(call devices-opencl,360)" \
		"team=VTADEV_OPENCL_OPTIONS='$(DEVICES_TEAM)' $(call devices-opencl,360)"

# Real models against their goals, and many random ones; fetches some 650 MB.
check-models: test-deps  ## real networks on real images against their goals; 650 MB
	@tools/vm/deps.sh need $(MODEL_PACKAGES) fonts-dejavu-core
	@command -v npm >/dev/null || tools/vm/deps.sh need npm
	+@$(QUIETLY) $(VTAC_ACCURACY) $(VTAC_FLOATS) $(VTAC_PROG_TESTS) $(VTAC_BIN) $(SOFT_SO) $(if $(PYTHON_HAVE),python-built)
	@$(TESTS_RUN) -o build/check-models \
		$(foreach m,mnist fashion ppocr esrgan mobilenetv2 resnet50, \
			"$(m)=tests/vtac/programs/models.sh $(VTAC_ACCURACY) $(m)" \
			"floats-$(m)=tests/vtac/floats.sh $(VTAC_FLOATS) $(m)") \
		$(foreach m,ppocr-det ppocr-rec blazeface, \
			"$(m)=tests/vtac/programs/models.sh $(VTAC_ACCURACY) $(m)") \
		"detector=tests/vtac/detector.sh" \
		"quantised=tests/vtac/quantised.sh $(VTAC_ACCURACY)" \
		"graphs=$(VTAC_PROG_DIR)/test_graphs 5000"

# Networks of PyTorch's libraries, with random weights, in a root of Debian's testing release.
# NETWORKS="resnet50 bert" for some.
check-zoo: user-deps  ## networks of torchvision and transformers against ONNX Runtime; 3.2 GiB
	@tools/vm/deps.sh need $(VTAC_PACKAGES) python3 mmdebstrap
	+@$(QUIETLY) $(SOFT_SO) $(ZOO_NETWORK) $(if $(PYTHON_HAVE),python-built)
	@tests/run -o build/check-zoo "zoo=tests/zoo/run.sh $(ZOO_NETWORK) build/check-zoo $(NETWORKS)" \
		"torch=tests/zoo/torch.sh" "torch-trixie=tests/zoo/torch.sh trixie" "provider=tests/zoo/provider.sh"

# For the inner loop: what finds most, for 90 seconds on two idle processors with a build
# directory that is there.
QUICK_EMU_TESTS := $(filter-out $(addprefix $(EMU_TEST_DIR)/test_,card_streams gen streams),$(EMU_TESTS))
check-quick: test-deps  ## the tests that find most in a short time
	+@$(QUIETLY) vm-module userspace check-programs
	@$(TESTS_RUN) -o build/check-quick \
		"@selftests-main=tests/selftests/run.sh $(VM_MODULE) main" \
		$(call static,clang-tidy,checkpatch,module sparse,shellcheck cppcheck reuse kernel-doc mandoc) \
		"@storm=tests/in-vm tests/storm/guest.sh $(VM_MODULE) -n $(CHECK_STORM)" \
		$(foreach t,$(QUICK_EMU_TESTS),"emu-$(notdir $(t))=$(t)") \
		$(filter "lib-%,$(CHECKS)) \
		"abi=tests/abi/run.sh" "contract=tests/contract/documents.py" "floors=tests/floors.py $(VM_MODULE)" \
		"vtactl-messages=tests/vtactl/messages.py"

# The check "abi" compares later builds with the record: docs/changing.md.
record-abi: test-deps userspace  ## record the present ABI as that of the release
	tests/abi/run.sh record

# All that make check builds.
check-build: vm-module userspace bench-module check-programs
	+@$(QUIETLY) vm-module VM_KERNEL=$(UDMABUF_KERNEL)

# The README's commands on a machine that has nothing. STEPS="user-demo ..." for some.
SUITE := bookworm
check-fresh:  ## make, check and demo in a Debian that has nothing; SUITE=trixie, STEPS=
	@tests/run "fresh-$(SUITE)=tests/fresh/run.sh $(SUITE) $(STEPS)"

# $(call debug-boots,BOOTS), $(call debug-matrix,PARTS): on the kernel debug
debug-boots = $(foreach b,$(1),"debug-$(b)=VM_KERNEL=debug tests/selftests/run.sh \
	$(call vm-module-of,debug) $(b)")
debug-matrix = $(foreach n,$(1),"debug-matrix-$(n)=VM_KERNEL=debug tests/matrix/run.sh \
	$(call vm-module-of,debug) build/matrix/$(n) -e $(words $(DEBUG_MATRIX)) -o $(n)")

# CI's share of check-debug, three boots at a time: none begins after WITHIN seconds.
WITHIN := 3600
check-debug-share: debug-deps
	@echo 'building the kernel debug if it is not in the cache, the module for it, and the tests'
	+@$(QUIETLY) vm-module VM_KERNEL=debug
	+@$(QUIETLY) userspace check-programs
	@tests/run -j 3 -t $(WITHIN) -o build/check-debug \
		$(call debug-boots,$(CI_BOOTS)) $(call debug-matrix,$(CI_MATRIX))

# Cards as resources of Debian's Slurm, and MPI on them: both are installed in a root directory
# for the VM.
check-slurm: build-deps  ## cards as resources of Slurm, and MPI on them, in a VM
	@tools/vm/deps.sh need mmdebstrap $(MPI_PACKAGES)
	+@$(QUIETLY) vm-module $(VTACTL_BIN) $(HELLO_BIN) $(EMU_ASAN_BIN) $(MPI_BIN) $(DIGITS_VTAP)
	@$(TESTS_RUN) -o build/check-slurm "scripts=tests/cluster/scripts.sh" \
		$(foreach v,v1 v2,"@slurm-cgroup-$(v)=tests/cluster/run.sh $(VM_MODULE) cgroup/$(v)")

check-docker: user-deps  ## containers of Docker with cards, in a root of Debian testing
	@tools/vm/deps.sh need mmdebstrap umockdev libcmocka-dev
	+@$(QUIETLY) build/tests/lib/test_cdi
	@$(TESTS_RUN) -o build/check-docker "docker=VTA_RUNTIME=docker build/tests/lib/test_cdi"

# One job on many cards. make check has it, too, where Open MPI is installed.
check-mpi:  ## MPI on the device soft
	@tools/vm/deps.sh need $(BUILD_PACKAGES) $(MPI_PACKAGES)
	+@$(QUIETLY) $(SOFT_SO)
	@tests/run -o build/check-mpi "mpi=tests/mpi/run.sh build/mpi"

# TVM's runtime, which the user has: nothing of TVM is part of this tree.
check-tvm:  ## TVM's VTA runtime on libvta_driver, from TVM=DIR; CORE=rtl on the core in RTL
	@if [ -z '$(TVM)' ]; then \
		echo 'SKIP check-tvm: no TVM; say TVM=DIR for a source tree of TVM 0.8 to 0.18'; \
	elif [ ! -e '$(TVM)/vta/runtime/runtime.cc' ] || [ ! -e '$(TVM_HW)/config/vta_config.py' ]; then \
		echo "check-tvm: $(TVM): no source tree of TVM with VTA in vta and 3rdparty/vta-hw" >&2; \
		exit 1; \
	else \
		$(QUIETLY) build-deps && tools/vm/deps.sh need g++ python3 && \
		echo "building everything, and TVM's runtime" && \
		$(QUIETLY) vm-module $(EMU_ASAN_BIN) $(SOFT_SO) tvm-programs \
			$(if $(filter rtl,$(CORE)),rtl-deps $(call rtl-models,$(TVM_CONFIGS))) && \
		tests/run "tvm=CORE=$(CORE) tests/tvm/run.sh $(VM_MODULE) $(TVM_DIR)"; \
	fi

# The kernel's tests again, on kernels that watch: any report fails, and so does
# code of the module that nothing has executed.
check-debug: debug-deps  ## the kernel tests on kernels with KASAN, lockdep, kmemleak, KCSAN
	@echo 'building two kernels that watch themselves if they are not in the cache (12 minutes),'
	@echo 'the module for both, and the tests'
	+@$(QUIETLY) vm-module VM_KERNEL=debug
	+@$(QUIETLY) vm-module VM_KERNEL=kcsan
	+@$(QUIETLY) coverage-plain
	+@$(QUIETLY) userspace check-programs
	@rm -rf build/coverage; mkdir -p build/coverage
	@export COVERAGE='$(CURDIR)'/build/coverage; code=0; \
	$(TESTS_RUN) -o build/check-debug \
		$(call debug-matrix,$(DEBUG_MATRIX)) $(call debug-boots,$(DEBUG_BOOTS)) \
		"debug-storm=VM_KERNEL=debug tests/in-vm tests/storm/guest.sh $(call vm-module-of,debug) \
			-f -n $(CHECK_STORM)" \
		"debug-vtactl=VM_KERNEL=debug tests/in-vm tests/vtactl/guest.sh $(call vm-module-of,debug)" \
		$(foreach w,calls card,"debug-fuzz-$(w)=VM_KERNEL=debug tests/fuzz/run.sh \
			$(call vm-module-of,debug) build/fuzz/$(w) $(w) -n $(CHECK_CARD)") \
		$(foreach b,$(KCSAN_BOOTS),"kcsan-$(b)=COVERAGE= VM_KERNEL=kcsan tests/selftests/run.sh \
			$(call vm-module-of,kcsan) $(b)") \
		$(foreach n,$(DEBUG_MATRIX),"kcsan-matrix-$(n)=COVERAGE= VM_KERNEL=kcsan \
			tests/matrix/run.sh $(call vm-module-of,kcsan) build/matrix-kcsan/$(n) \
			-e $(words $(DEBUG_MATRIX)) -o $(n)") || code=1; \
	tests/matrix/report.py build/matrix $(foreach n,$(DEBUG_MATRIX),build/matrix/$(n)/matrix.log); \
	tests/run -o build/check-debug "coverage=tests/coverage/report.py \
		$$(dirname $(call vm-module-of,debug)) $(COVERAGE_PLAIN) build/coverage \
		$(COVERAGE_LEAST)" && exit $$code

# On the kernel with KASAN, led by its coverage; and what has no need of a kernel.
fuzz: debug-deps  ## random calls, cards and inputs, led by coverage; OPS=10000000 for many
	@echo 'building the kernel that watches itself if it is not in the cache (6 minutes),'
	@echo 'the module for it, and the fuzzers'
	+@$(QUIETLY) vm-module VM_KERNEL=debug
	+@$(QUIETLY) userspace $(EMU_ASAN_BIN) $(FUZZ_CALLS) $(FUZZ_BINS) $(FUZZ_REPLAYS) $(PARSER_BINS)
	@VTA_SEED=$${VTA_SEED:-0} $(TESTS_RUN) -o build/fuzz \
		$(foreach w,calls card,"$(w)=VM_KERNEL=debug tests/fuzz/run.sh -t 36000 \
			$(call vm-module-of,debug) build/fuzz/$(w) $(w) \
			-n $$(( $(OPS) / $(if $(filter card,$(w)),50,1) ))") \
		$(call libfuzzer,$(OPS),$(PARSER_BINS) $(FUZZ_BINS))

storm:  ## the card taken away and brought back 1,000 times; STORM_CYCLES=
soak:  ## all kinds of load at once for 30 minutes; SOAK_SECONDS=
storm soak: test-deps
	@echo 'building everything, and the storm'
	+@$(QUIETLY) vm-module userspace $(EMU_ASAN_BIN) $(STORM_BIN)
	@V=1 tests/run "$@=tests/in-vm -t 36000 tests/storm/guest.sh $(VM_MODULE) \
		$(if $(filter soak,$@),-f -t $(SOAK_SECONDS),-n $(STORM_CYCLES))"

# SUITES="trixie ..." for some of them.
check-kernels: test-deps  ## built, tested, installed by DKMS on Linux 5.10 to the newest
	@echo 'building the tests'
	@$(VM) setup
	+@$(QUIETLY) vm-module userspace check-programs
	@tests/kernels/run.sh $(SUITES)

# tests/kernels/userspace.sh builds these for other architectures. The emulator, and
# CROSS_PROGRAMS_64 of the parts, are for 64 bits.
cross-programs: cross-programs-32 userspace $(CROSS_PROGRAMS_64)
cross-programs-32: $(filter-out $(EMU_BIN),$(USERSPACE)) $(CROSS_PROGRAMS)

# Each part adds its own.
check-programs: man $(CHECK_PROGRAMS)

bench: build-deps  ## measure; PARTS=memory,... only those; build/bench.json, build/*.svg
	@echo 'building everything, and the benchmarks'
	+@$(QUIETLY) vm-module userspace bench-module $(BENCH_BINS)
	@tests/bench/run.sh $(PARTS) $(VM_MODULE) $(BENCH_MODULE)

install:  ## library, tools and udev rules, all below PREFIX= (/usr/local)
install: userspace install-libvtadev install-libvtaprog install-driver install-soft install-opencl install-udev install-completion-vtactl install-monitoring install-slurm \
		$(if $(VTAC_HAVE),install-completion-vtac) $(if $(PYTHON_HAVE),install-python install-serve) \
		$(if $(GST_HAVE),install-gstreamer) install-man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/vtadev/vm
	install -m 755 $(VTACTL_BIN) $(EMU_BIN) $(if $(VTAC_HAVE),$(VTAC_BIN)) $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(VM_PROGRAMS) $(DESTDIR)$(PREFIX)/share/vtadev/vm
	install -m 644 $(VM_PARTS) $(DESTDIR)$(PREFIX)/share/vtadev/vm
	install -m 644 -Dt $(DESTDIR)$(PREFIX)/share/vtadev/vm/debug tools/vm/debug/*
	ln -sf ../share/vtadev/vm/vm $(DESTDIR)$(PREFIX)/bin/vta-vm
	install -m 644 $(OPS_A) $(DESTDIR)$(LIBDIR)
	$(if $(VTAC_HAVE),install -m 644 compiler/api/libvtac.h $(DESTDIR)$(PREFIX)/include/vtadev)
	$(if $(VTAC_HAVE),install -m 644 $(VTAC_LIB) $(DESTDIR)$(LIBDIR))
	$(if $(ORT_HAVE),install -m 755 $(ORT_SO) $(DESTDIR)$(LIBDIR))
	@[ -n "$(DESTDIR)" ] || tools/installed.sh '$(LIBDIR)' '$(UDEV_DIR)' '$(SYSUSERS_DIR)' \
		'$(UDEV_GROUP)'

# Removes the files that installing the same again would write, and then empty directories.
uninstall:  ## remove what make install installed
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	$(QUIETLY) install DESTDIR="$$dir"; \
	cd "$$dir"; \
	find . -depth \( ! -type d -o -path '*/vtadev*' \) | while read -r name; do \
		rm -fdv "$(DESTDIR)/$${name#./}" 2>/dev/null || true; done

# The module's sources as DKMS wants them.
DKMS_DIR := $(DESTDIR)/usr/src/vta-$(VERSION)
install-dkms-source:
	install -d $(addprefix $(DKMS_DIR)/,kmod contract uapi)
	install -m 644 Kbuild $(DKMS_DIR)
	install -m 644 $(wildcard kmod/*.[ch]) $(DKMS_DIR)/kmod
	install -m 644 $(wildcard contract/*.h) $(DKMS_DIR)/contract
	install -m 644 $(wildcard uapi/*.h) $(DKMS_DIR)/uapi
	sed 's/#MODULE_VERSION#/$(VERSION)/' dkms.conf > $(DKMS_DIR)/dkms.conf

# Built and installed for the running kernel, and for those to come.
dkms-install: dkms-uninstall  ## the module, rebuilt whenever a kernel is installed
	@tools/vm/deps.sh need dkms
	@$(MAKE) --no-print-directory install-dkms-source DESTDIR=
	dkms add -m vta -v $(VERSION)
	dkms install -m vta -v $(VERSION) -k $(DKMS_KERNEL)
	@echo 'vta $(VERSION) is installed for Linux $(DKMS_KERNEL): modprobe vta'

dkms-uninstall:  ## remove this module
	@if [ -n "$$(dkms status -m vta -v $(VERSION) 2>/dev/null)" ]; then \
		dkms remove -m vta -v $(VERSION) --all; fi
	rm -rf /usr/src/vta-$(VERSION)

# $(call tree-copy,DIR): the files that git knows, as they are
tree-copy = mkdir -p $(1); git ls-files -co --exclude-standard | \
	while read -r f; do [ ! -f "$$f" ] || echo "$$f"; done | tar -c -T - | tar -x -C $(1)

# Debian packages, into build/deb.
deb:  ## Debian packages, in build/deb
	@tools/vm/deps.sh need $(DEB_PACKAGES)
	@rm -rf build/deb; $(call tree-copy,build/deb/vta-pcie)
	@cd build/deb/vta-pcie && { dpkg-buildpackage -us -uc -b -j2 >../build.log 2>&1 || { \
		tail -n 40 ../build.log; echo 'deb: FAILED: build/deb/build.log'; exit 1; }; }
	@rm -rf build/deb/vta-pcie
	@lintian --allow-root --fail-on error,warning --tag-display-limit 0 build/deb/*.changes
	@twice=$$(for deb in build/deb/*.deb; do dpkg-deb --fsys-tarfile "$$deb" | tar -t | sed '/\/$$/d'; \
		done | sort | uniq -d); [ -z "$$twice" ] || { \
		echo "deb: FAILED: two packages have $$twice"; exit 1; }
	@ls build/deb/*.deb; echo 'deb: OK'

# On a Debian machine rpmbuild cannot know that what the spec requires is there.
rpm:  ## RPM packages, in build/rpm
	@tools/vm/deps.sh need $(BUILD_PACKAGES) $(MAN_PACKAGES) $(VTAC_PACKAGES) rpm
	@rm -rf build/rpm; $(call tree-copy,build/rpm/SOURCES/vta-pcie-$(VERSION))
	@cd build/rpm/SOURCES && tar -czf vta-pcie-$(VERSION).tar.gz --remove-files vta-pcie-$(VERSION)
	@rpmbuild -bb --define '_topdir $(CURDIR)/build/rpm' --define 'vta_version $(VERSION)' \
		$$([ ! -e /etc/debian_version ] || echo --nodeps) rpm/vta-pcie.spec \
		>build/rpm/build.log 2>&1 || { \
		tail -n 40 build/rpm/build.log; echo 'rpm: FAILED: build/rpm/build.log'; exit 1; }
	@find build/rpm/RPMS -name '*.rpm'; echo 'rpm: OK'

# They are installed, upgraded and purged in a root of the host's suite.
check-packages: deb rpm  ## deb and rpm; install, upgrade and purge the Debian packages in a root
	@tests/run "packages=tests/packages/run.sh build/deb"

clean:  ## remove build/
	rm -rf build

help:
	@awk -F '## ' '/^[a-z-]+:.*## / { sub(/:.*/, "", $$1); printf "make %-16s %s\n", $$1, $$2 }' \
		$(filter Makefile %.mk,$(MAKEFILE_LIST))

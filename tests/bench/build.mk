# SPDX-License-Identifier: GPL-2.0-only
#
# Benchmarks: parts, each a program by its name, for the guest or for the host.
# run.sh runs them and puts their results together; docs/bench.md says how to
# add one.

BENCH_DIR := build/tests/bench
BENCH_GUEST := floor polling busy scale memory pool
BENCH_HOST := emulator conv kernels devices $(if $(VTAC_HAVE),model zoo)
# A part on the host, PART, shows the values that PART_card measured in the guest before it.
BENCH_CARD := devices_card

# Sources of each part, besides PART.c and bench.c.
BENCH_memory := alloc.c choice.c copy.c map.c transfer.c
BENCH_floor := job.c
BENCH_polling := job.c
BENCH_scale := job.c
BENCH_busy := job.c
BENCH_devices := layers.c peak.c
BENCH_devices_card := layers.c
BENCH_emulator := peak.c scalar.c
BENCH_model := goals.c roofline.c
BENCH_LIBS_pool := $(SELFTEST_DIR)/obj/pool_image.o
BENCH_LIBS_memory := $(DRIVER_A)
BENCH_LIBS_emulator := $(CORE_SRCS:card/%.c=build/tools/vta-emu.obj/%.o)
BENCH_LIBS_model := $(VTAC_PROG_DIR)/obj/native.o $(VTAC_A) $(BENCH_LIBS_emulator)
BENCH_LDLIBS_model := $(VTAC_LIBS)
BENCH_LIBS_devices := $(OPS_BENCH_OBJS) $(BENCH_LIBS_emulator)
BENCH_LIBS_devices_card := $(BENCH_LIBS_devices)
BENCH_LDLIBS_devices := -lOpenCL
BENCH_LDLIBS_emulator := -lOpenCL
BENCH_LIBS_conv := $(OPS_BENCH_OBJS) $(BENCH_LIBS_emulator)

BENCH_GUEST_BINS := $(addprefix $(BENCH_DIR)/guest/,$(BENCH_GUEST) $(BENCH_CARD))
BENCH_HOST_BINS := $(BENCH_HOST:%=$(BENCH_DIR)/host/%)
BENCH_BINS := $(BENCH_GUEST_BINS) $(BENCH_HOST_BINS)

# The parts to run: make bench PARTS=floor,scale
PARTS := $(shell echo $(BENCH_GUEST) $(BENCH_HOST) | tr ' ' ,)

$(call objects,$(BENCH_DIR)/obj,tests/bench,\
	$$(LIB_CPPFLAGS) -Ilibvtadev/tvm $(PROG_CPPFLAGS) -Icard -Itests/bench -Itests/ops $$(LIB_WARNINGS) -O2 -g)

$(addprefix $(BENCH_DIR)/obj/,model.o goals.o roofline.o): LIB_CPPFLAGS += -Icompiler -Itests/vtac/programs

$(BENCH_DIR)/obj/pool.o: LIB_CPPFLAGS += -Itests/devices

$(foreach bin,$(BENCH_BINS),$(call program,$(bin),,,$(patsubst %.c,$(BENCH_DIR)/obj/%.o,\
	bench.c $(notdir $(bin)).c $(BENCH_$(notdir $(bin)))) $(OUTPUT_OBJ) $(BENCH_LIBS_$(notdir $(bin))) $(PROG_A) $(LIB_A),\
	$(BENCH_LDLIBS_$(notdir $(bin))) $$(LIB_LIBS) -ljson-c -lm))

# The bare module of the part "floor", built as the module is.
BENCH_MODULE = build/module/$$($(VM) krelease --kernel $(VM_KERNEL))/floor/vta_floor.ko
.PHONY: bench-module
bench-module:
	@$(VM) setup --kernel $(VM_KERNEL)
	@set -e; \
	dir=$$(realpath -m $(BENCH_MODULE)); dir=$${dir%/*}; \
	mkdir -p "$$dir"; rm -rf "$$dir"/kmod; \
	cp -pru tests/bench/floor_module/* kmod contract uapi "$$dir"; \
	$(MAKE) $(if $(V),,-s) -C $(VM_KDIR) M="$$dir" W=1 KCFLAGS=-Werror modules

CHECK_PROGRAMS += $(BENCH_BINS)
CHECKS += "@bench=tests/bench/run.sh --quick $(PARTS) $(VM_MODULE) $(BENCH_MODULE)"

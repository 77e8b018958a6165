# SPDX-License-Identifier: GPL-2.0-only
#
# Benchmarks: programs for the guest, run by run.sh in the VM.

BENCH_DIR := build/tests/bench
BENCH_BINS := $(BENCH_DIR)/memory

BENCH_SRCS := $(addprefix tests/bench/,bench.c choice.c copy.c map.c memory.c)
BENCH_OBJS := $(BENCH_SRCS:tests/bench/%.c=$(BENCH_DIR)/obj/%.o)

$(BENCH_DIR)/obj/%.o: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) -Itests/bench $(LIB_WARNINGS) -O2 -g -MMD -MP -c -o $@ $<

$(BENCH_DIR)/memory: $(BENCH_OBJS) $(LIB_A)
	$(CC) -o $@ $(BENCH_OBJS) $(LIB_A) $(LIB_LIBS) -ljson-c

-include $(BENCH_OBJS:.o=.d)

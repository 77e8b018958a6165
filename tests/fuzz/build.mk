# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzz targets: build/tests/fuzz/NAME for libFuzzer, by clang; and
# build/tests/fuzz/replay-NAME, which runs kept inputs and a fixed share of mutants.

FUZZ_DIR := build/tests/fuzz
FUZZ_TARGETS := image
FUZZ_REPLAYS := $(FUZZ_TARGETS:%=$(FUZZ_DIR)/replay-%)
FUZZ_BINS := $(FUZZ_TARGETS:%=$(FUZZ_DIR)/%)
FUZZ_CC := clang
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

# What a target is made of, beside itself.
FUZZ_SRCS_image := $(addprefix tests/ops/,emulated.c machine.c net.c) $(OPS_SRCS) \
	$(filter-out %/main.c,$(EMU_SRCS))
FUZZ_OBJS_image := $(addprefix $(OPS_TEST_DIR)/obj/,emulated.o machine.o net.o) \
	$(OPS_TEST_LIB_OBJS) $(EMU_ASAN_LIB)
FUZZ_CPPFLAGS := $(EMU_CPPFLAGS) $(OPS_TEST_CPPFLAGS) -Itests/fuzz

$(FUZZ_DIR)/obj/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(CC) $(FUZZ_CPPFLAGS) $(OPS_TEST_CFLAGS) $(EMU_SANITIZE) -MMD -MP -c -o $@ $<

.SECONDEXPANSION:
$(FUZZ_REPLAYS): $(FUZZ_DIR)/replay-%: $(FUZZ_DIR)/obj/%.o $(FUZZ_DIR)/obj/replay.o $$(FUZZ_OBJS_%)
	$(CC) -pthread $(EMU_SANITIZE) -o $@ $^ $(EMU_LIBS)

# All at once: clang has other objects than the compiler.
$(FUZZ_BINS): $(FUZZ_DIR)/%: tests/fuzz/%.c $$(FUZZ_SRCS_%)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CPPFLAGS) -std=gnu11 $(FUZZ_CFLAGS) -pthread -o $@ $^ $(EMU_LIBS)

-include $(wildcard $(FUZZ_DIR)/obj/*.d)

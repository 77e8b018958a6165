# SPDX-License-Identifier: GPL-2.0-only
#
# The operators on the emulator's core, without a VM: tests, sanitized.

OPS_TEST_DIR := build/tests/ops
OPS_TESTS := $(patsubst tests/ops/%.c,$(OPS_TEST_DIR)/%,$(wildcard tests/ops/test_*.c))
OPS_TEST_CPPFLAGS := -Iuapi -Ilibvtadev/ops -Itools/vta-emu -Itests/ops
OPS_TEST_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g

# bare.c is for another machine (bare.sh).
OPS_TEST_SRCS := $(filter-out tests/ops/bare.c,$(wildcard tests/ops/*.c))
OPS_TEST_OBJS := $(OPS_TEST_SRCS:tests/ops/%.c=$(OPS_TEST_DIR)/obj/%.o)
OPS_TEST_LIB_OBJS := $(OPS_SRCS:libvtadev/ops/%.c=$(OPS_TEST_DIR)/obj/lib/%.o)
OPS_TEST_HELPERS := $(filter-out $(OPS_TEST_DIR)/obj/test_%.o,$(OPS_TEST_OBJS))

$(OPS_TEST_DIR)/obj/%.o: tests/ops/%.c
	@mkdir -p $(@D)
	$(CC) $(OPS_TEST_CPPFLAGS) $(OPS_TEST_CFLAGS) $(EMU_SANITIZE) -MMD -MP -c -o $@ $<

$(OPS_TEST_DIR)/obj/lib/%.o: libvtadev/ops/%.c
	@mkdir -p $(@D)
	$(CC) $(OPS_CFLAGS) $(EMU_SANITIZE) -MMD -MP -c -o $@ $<

$(OPS_TESTS): $(OPS_TEST_DIR)/%: $(OPS_TEST_DIR)/obj/%.o $(OPS_TEST_HELPERS) \
		$(OPS_TEST_LIB_OBJS) $(EMU_ASAN_LIB)
	$(CC) -pthread $(EMU_SANITIZE) -o $@ $^ -lcmocka $(EMU_LIBS)

# What the bench's part "conv" takes from here.
OPS_BENCH_OBJS := $(patsubst %,$(OPS_TEST_DIR)/bench/%.o,resnet emulated machine)

$(OPS_TEST_DIR)/bench/%.o: tests/ops/%.c
	@mkdir -p $(@D)
	$(CC) $(OPS_TEST_CPPFLAGS) $(OPS_TEST_CFLAGS) -MMD -MP -c -o $@ $<

-include $(OPS_TEST_OBJS:.o=.d) $(OPS_TEST_LIB_OBJS:.o=.d) $(OPS_BENCH_OBJS:.o=.d)

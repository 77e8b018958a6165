# SPDX-License-Identifier: GPL-2.0-only
#
# The emulator's tests, one program for each test_*.c; the other files here are
# helpers that a test links if it uses them. All are sanitized.

EMU_TEST_DIR := build/tests/emu
EMU_TESTS := $(patsubst tests/emu/%.c,$(EMU_TEST_DIR)/%,$(wildcard tests/emu/test_*.c))
EMU_TEST_LIB := $(EMU_TEST_DIR)/libhelpers.a
EMU_TEST_SRCS := $(wildcard tests/emu/*.c)
EMU_TEST_OBJS := $(EMU_TEST_SRCS:tests/emu/%.c=$(EMU_TEST_DIR)/obj/%.o)

$(call objects,$(EMU_TEST_DIR)/obj,tests/emu,\
	$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(EMU_CFLAGS) $$(EMU_SANITIZE) $$(CFLAGS))

$(call archive,$(EMU_TEST_LIB),$(filter-out $(EMU_TEST_DIR)/obj/test_%.o,$(EMU_TEST_OBJS)))

$(EMU_TESTS): $(EMU_TEST_DIR)/%: $(EMU_TEST_DIR)/obj/%.o $(EMU_TEST_LIB) $(EMU_ASAN_LIB) $(EMU_ASAN_BIN)
	$(CC) -pthread $(EMU_SANITIZE) $(LDFLAGS) -o $@ $< $(EMU_TEST_LIB) $(EMU_ASAN_LIB) -lcmocka $(EMU_LIBS)

CHECKS += $(foreach t,$(EMU_TESTS),"emu-$(notdir $(t))=$(t)")

# SPDX-License-Identifier: GPL-2.0-only
#
# The emulator's tests, one program for each test_*.c; the other files here but
# gemm_cross.c are helpers that a test links if it uses them. All are sanitized.

EMU_TEST_DIR := build/tests/emu
EMU_TESTS := $(patsubst %.c,build/%,$(wildcard tests/emu/test_*.c))
EMU_TEST_LIB := $(EMU_TEST_DIR)/libhelpers.a
EMU_TEST_FLAGS = $(EMU_CPPFLAGS) -Ilibvtadev $(CPPFLAGS) $(EMU_CFLAGS) $(CFLAGS)

$(call objects,$(EMU_TEST_DIR)/obj,tests/emu,$$(EMU_TEST_FLAGS))

$(call archive,$(EMU_TEST_LIB),$(patsubst tests/emu/%.c,$(EMU_TEST_DIR)/obj/%.o, \
	$(filter-out tests/emu/test_% tests/emu/gemm_cross.c,$(wildcard tests/emu/*.c))))

$(foreach t,$(EMU_TESTS),$(call test,emu,$(t:build/%=%.c),$$(EMU_TEST_FLAGS),\
	$(EMU_TEST_LIB) $(EMU_LIB),$$(EMU_LIBS),asan))
$(EMU_TESTS): $(EMU_ASAN_BIN)
CHECKS += "emu-gemm-cross=tests/emu/gemm_cross.sh" \
	"emu-gemm-streams=tests/emu/gemm_streams.sh $(EMU_TEST_DIR)/test_gemm $(EMU_TEST_DIR)/test_isa_streams" \
	"emu-gemm-cases=tests/emu/gemm_streams.sh $(EMU_TEST_DIR)/test_gemm $(EMU_TEST_DIR)/test_isa"
CHECKS += "emu-sockets=tests/emu/sockets.py $(EMU_ASAN_BIN)"

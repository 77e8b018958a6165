# SPDX-License-Identifier: GPL-2.0-only
#
# The operators on the emulator's core, without a VM: tests, sanitized.

OPS_TEST_DIR := build/tests/ops
OPS_TEST_CPPFLAGS := -Iuapi -Icontract $(PROG_CPPFLAGS) -Icard -Itests/ops
# Floats as in the kernels: not contracted.
OPS_TEST_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -ffp-contract=off
OPS_TEST_FLAGS := $(LIB_CPPFLAGS) $(OPS_TEST_CPPFLAGS) $(OPS_TEST_CFLAGS)
OPS_VM_TESTS := $(addprefix $(OPS_TEST_DIR)/,on_card digits_raw broken mixed_files)

$(call objects,$(OPS_TEST_DIR)/obj,tests/ops,$$(OPS_TEST_FLAGS))

# bare.c is for another machine (bare.sh), the other four are for the VM (guest.sh).
OPS_TEST_LIB := $(OPS_TEST_DIR)/libhelpers.a
$(call archive,$(OPS_TEST_LIB),$(patsubst tests/ops/%.c,$(OPS_TEST_DIR)/obj/%.o,$(filter-out \
	tests/ops/test_% $(addprefix tests/ops/,bare.c on_card.c digits_raw.c broken.c mixed_files.c), \
	$(wildcard tests/ops/*.c))))

$(foreach t,$(wildcard tests/ops/test_*.c),$(call test,emu,$(t),$$(OPS_TEST_FLAGS),\
	$(OPS_TEST_LIB) $(OPS_A) $(EMU_LIB),-lm $$(EMU_LIBS),asan))

# Objects for the bench's part "conv": not sanitized.
OPS_BENCH_OBJS := $(patsubst %,$(OPS_TEST_DIR)/obj/%.o,resnet emulated machine)

$(call program,$(OPS_TEST_DIR)/on_card,tests/ops/on_card.c,$$(OPS_TEST_FLAGS),\
	$(OPS_TEST_LIB) $(PROG_A) $(LIB_A),-lm $$(LIB_LIBS))

$(call program,$(OPS_TEST_DIR)/broken,tests/ops/broken.c,\
	$$(OPS_TEST_CPPFLAGS) $$(OPS_TEST_CFLAGS),$(OPS_A))

$(call program,$(OPS_TEST_DIR)/mixed_files,tests/ops/mixed_files.c,\
	$$(OPS_TEST_FLAGS) -Ilibvtadev/picture,\
	$(OPS_TEST_LIB) $(OPS_A) $(EMU_LIB) $(PICTURE_OBJS),$$(EMU_LIBS) $$(PICTURE_LIBS),,asan)

$(call program,$(OPS_TEST_DIR)/digits_raw,tests/ops/digits_raw.c,\
	$$(OPS_TEST_CFLAGS) -Iexamples/digits,$(DIGITS_A))

CHECK_PROGRAMS += $(OPS_VM_TESTS)
CROSS_PROGRAMS_64 += $(addprefix $(OPS_TEST_DIR)/,test_image test_pack)
CHECKS += \
	"ops-bare=tests/ops/bare.sh $(OPS_SRCS)" \
	"ops-soft=tests/ops/soft.sh" \
	"@ops=tests/in-vm tests/ops/guest.sh $(VM_MODULE)"

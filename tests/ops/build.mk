# SPDX-License-Identifier: GPL-2.0-only
#
# The operators on the emulator's core, without a VM: tests, sanitized.

OPS_TEST_DIR := build/tests/ops
OPS_TESTS := $(patsubst tests/ops/%.c,$(OPS_TEST_DIR)/%,$(wildcard tests/ops/test_*.c))
OPS_TEST_CPPFLAGS := -Iuapi -Icontract $(PROG_CPPFLAGS) -Icard -Itests/ops
OPS_TEST_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g

# bare.c is for another machine (bare.sh), the other four are for the VM (run.sh).
OPS_TEST_SRCS := $(filter-out $(addprefix tests/ops/,bare.c on_card.c digits_raw.c broken.c mixed_files.c), \
	$(wildcard tests/ops/*.c))
OPS_TEST_OBJS := $(OPS_TEST_SRCS:tests/ops/%.c=$(OPS_TEST_DIR)/obj/%.o)
OPS_TEST_LIB_OBJS := $(OPS_SRCS:libvtadev/%.c=$(OPS_TEST_DIR)/obj/lib/%.o)
OPS_TEST_HELPERS := $(filter-out $(OPS_TEST_DIR)/obj/test_%.o,$(OPS_TEST_OBJS))

$(call objects,$(OPS_TEST_DIR)/obj,tests/ops,\
	$$(OPS_TEST_CPPFLAGS) $$(OPS_TEST_CFLAGS) $$(EMU_SANITIZE))

$(call objects,$(OPS_TEST_DIR)/obj/lib,libvtadev,$$(OPS_CFLAGS) $$(EMU_SANITIZE))

$(OPS_TESTS): $(OPS_TEST_DIR)/%: $(OPS_TEST_DIR)/obj/%.o $(OPS_TEST_HELPERS) \
		$(OPS_TEST_LIB_OBJS) $(EMU_ASAN_LIB)
	$(CC) -pthread $(EMU_SANITIZE) -o $@ $^ -lcmocka -lm $(EMU_LIBS)

# Objects for the bench's part "conv" and for the VM: not sanitized.
OPS_BENCH_OBJS := $(patsubst %,$(OPS_TEST_DIR)/bench/%.o,resnet emulated machine)
OPS_CARD_OBJS := $(patsubst %,$(OPS_TEST_DIR)/bench/%.o,on_card cases machine)
OPS_VM_TESTS := $(addprefix $(OPS_TEST_DIR)/,on_card digits_raw broken mixed_files)

$(call objects,$(OPS_TEST_DIR)/bench,tests/ops,\
	$$(LIB_CPPFLAGS) $$(OPS_TEST_CPPFLAGS) $$(OPS_TEST_CFLAGS))

$(OPS_TEST_DIR)/on_card: $(OPS_CARD_OBJS) $(PROG_A) $(LIB_A)
	$(CC) -pthread -o $@ $^ $(LIB_LIBS)

$(call program,$(OPS_TEST_DIR)/broken,tests/ops/broken.c,\
	$$(OPS_TEST_CPPFLAGS) $$(OPS_TEST_CFLAGS),$(OPS_A))

$(call program,$(OPS_TEST_DIR)/mixed_files,tests/ops/mixed_files.c,\
	$$(OPS_TEST_CPPFLAGS) -Ilibvtadev/picture $$(OPS_TEST_CFLAGS) $$(EMU_SANITIZE),\
	$(addprefix $(OPS_TEST_DIR)/obj/,emulated.o machine.o mixed.o net.o steps.o) \
	$(OPS_TEST_LIB_OBJS) $(EMU_ASAN_LIB) $(PICTURE_OBJS),\
	$$(EMU_SANITIZE) $$(EMU_LIBS) $$(PICTURE_LIBS))

$(call program,$(OPS_TEST_DIR)/digits_raw,tests/ops/digits_raw.c,\
	$$(OPS_TEST_CFLAGS) -Iexamples/digits,$(DIGITS_A))

CHECKS += \
	$(foreach t,$(OPS_TESTS),"emu-$(notdir $(t))=$(t)") \
	"ops-bare=tests/ops/bare.sh $(OPS_SRCS)" \
	"ops-soft=tests/ops/soft.sh" \
	"@ops=tests/in-vm tests/ops/guest.sh $(VM_MODULE)"

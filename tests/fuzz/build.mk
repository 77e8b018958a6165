# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzz targets: build/tests/fuzz/NAME for libFuzzer, by clang; and
# build/tests/fuzz/replay-NAME, which runs kept inputs and a fixed share of mutants.
# Those of parsers/ are for libFuzzer alone. calls/ is a program for the guest, run by
# run.sh in a VM.

FUZZ_DIR := build/tests/fuzz
FUZZ_TARGETS := image lower
FUZZ_REPLAYS := $(FUZZ_TARGETS:%=$(FUZZ_DIR)/replay-%)
FUZZ_BINS := $(FUZZ_TARGETS:%=$(FUZZ_DIR)/%)
FUZZ_CC := clang
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

# Sources of a target, beside itself.
FUZZ_SRCS_image := $(addprefix tests/ops/,emulated.c machine.c mixed.c net.c pair.c steps.c) \
	$(OPS_SRCS) \
	$(filter-out %/main.c %/opt.c,$(EMU_SRCS))
FUZZ_OBJS := $(OPS_TEST_LIB) $(OPS_A) $(EMU_LIB)
FUZZ_SRCS_lower := $(FUZZ_SRCS_image)
FUZZ_CPPFLAGS := $(EMU_CPPFLAGS) $(OPS_TEST_CPPFLAGS) -Itests/fuzz

$(foreach t,$(FUZZ_TARGETS),$(call program,$(FUZZ_DIR)/replay-$(t),tests/fuzz/$(t).c tests/fuzz/replay.c,\
	$$(FUZZ_CPPFLAGS) $$(OPS_TEST_CFLAGS),$(FUZZ_OBJS),$$(EMU_LIBS),,asan))

# Clang has other objects than the compiler.
$(foreach t,$(FUZZ_TARGETS),$(call program,$(FUZZ_DIR)/$(t),tests/fuzz/$(t).c $(FUZZ_SRCS_$(t)),\
	$$(FUZZ_CPPFLAGS) -std=gnu11 $$(FUZZ_CFLAGS),,$$(FUZZ_CFLAGS) $$(EMU_LIBS),$$(FUZZ_CC)))

# ---- parsers: one a file, from objects of clang's that they share ----

PARSER_NAMES := $(patsubst tests/fuzz/parsers/%.c,%,$(wildcard tests/fuzz/parsers/*.c))
PARSER_BINS := $(PARSER_NAMES:%=$(FUZZ_DIR)/parse-%)
# Of warnings the compiler that builds them has the say.
PARSER_CFLAGS := -std=gnu11 -w -O1 -g -fno-omit-frame-pointer \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

# Sources of each of them, beside the file of its name.
PARSER_SRCS_vfu := $(filter card/emulator/vfu/%.c,$(EMU_SRCS))
PARSER_SRCS_insn := $(CORE_SRCS) tests/emu/flat.c
PARSER_SRCS_config := $(filter-out card/emulator/main.c card/emulator/opt.c,$(EMU_SRCS))
PARSER_SRCS_text := $(LIB_SRCS) tools/vtactl/tracefs.c
# The compiler without its command.
PARSER_SRCS_onnx := $(VTAC_SRCS) $(VTAC_DIR)/onnx.pb-c.c $(OPS_SRCS) libvtadev/output.c \
	libvtadev/crew.c
PARSER_LIBS_onnx := -lprotobuf-c -lm
PARSER_SRCS_picture := $(PICTURE_SRCS) $(OPS_SRCS)
PARSER_LIBS_picture := $(PICTURE_LIBS) -lz
PARSER_SRCS_tvm := $(PARSER_SRCS_onnx)
PARSER_LIBS_tvm := $(PARSER_LIBS_onnx)
PARSER_SRCS_values := $(PARSER_SRCS_onnx) tools/vtactl/labels.c tools/vtactl/values.c
PARSER_LIBS_values := $(PARSER_LIBS_onnx)
# The emulator has another ctl.h.
$(FUZZ_DIR)/clang/tests/fuzz/parsers/values.o: PARSER_CFLAGS += -iquote tools/vtactl
$(patsubst %.c,$(FUZZ_DIR)/clang/%.o,$(VTAC_SRCS)): $(VTAC_DIR)/onnx.pb-c.h

# vtactl has a link.h, as the system has.
$(call objects,$(FUZZ_DIR)/clang,,\
	$$(PARSER_CFLAGS) -Itests/emu $$(EMU_CPPFLAGS) $$(LIB_CPPFLAGS) -iquote tools/vtactl -Ilibvtadev/picture $$(VTAC_CPPFLAGS),$$(FUZZ_CC))

PARSER_LIBS := -fsanitize=fuzzer,address,undefined -ljson-c -ludev
$(foreach n,$(PARSER_NAMES),$(call program,$(FUZZ_DIR)/parse-$(n),,,$(patsubst %.c,$(FUZZ_DIR)/clang/%.o,\
	tests/fuzz/parsers/$(n).c $(PARSER_SRCS_$(n))),$$(PARSER_LIBS) $(PARSER_LIBS_$(n)),$$(FUZZ_CC)))

# The share of each in all operations, in percent; a run on the core takes as long as
# many texts.
FUZZ_SHARE_vfu := 25
FUZZ_SHARE_insn := 5
FUZZ_SHARE_config := 25
FUZZ_SHARE_text := 45
FUZZ_SHARE_onnx := 3
FUZZ_SHARE_picture := 3
FUZZ_SHARE_tvm := 3
FUZZ_SHARE_values := 10
FUZZ_SHARE_image := 2
FUZZ_SHARE_lower := 1
# Seeds of a target, beside the corpus that was kept.
FUZZ_SEEDS_onnx = $(ONNX_NODES_DATA) tests/vtac/microsoft tests/vtac/control.py tests/vtac/hostile.py \
	tests/vtac/opset_news.py
# $(call libfuzzer,OPERATIONS,PROGRAM...): for tests/run
libfuzzer = $(foreach p,$(2),$(call libfuzzer-one,$(1),$(p),$(patsubst parse-%,%,$(notdir $(p)))))
libfuzzer-one = "fuzz-$(3)=tests/fuzz/libfuzzer.sh $(2) build/fuzz/$(3) $$(( $(1) / 100 * $(FUZZ_SHARE_$(3)) )) $(FUZZ_SEEDS_$(3))"

# ---- calls ----

FUZZ_CALLS := $(FUZZ_DIR)/calls/fuzz

$(call program,$(FUZZ_CALLS),$(wildcard tests/fuzz/calls/*.c),\
	-Itests/matrix -Itests/selftests $$(LIB_CPPFLAGS) $$(SELFTEST_CFLAGS),\
	$(MATRIX_DIR)/card.o $(MATRIX_DIR)/log.o $(SELFTEST_SHARED))

CHECK_PROGRAMS += $(FUZZ_REPLAYS) $(PARSER_BINS) $(FUZZ_CALLS)
CHECKS += \
	"fuzz-operators=tests/fuzz/operators.py $(FUZZ_SEEDS_onnx)" \
	$(foreach t,$(FUZZ_TARGETS),"fuzz-$(t)=$(FUZZ_DIR)/replay-$(t) -n 3000 \
		$(wildcard tests/fuzz/corpus/$(t)/*)") \
	$(call libfuzzer,$(CHECK_OPS),$(PARSER_BINS)) \
	"@fuzz-calls=tests/fuzz/run.sh $(VM_MODULE) build/fuzz/check-calls calls -n $(CHECK_CALLS)" \
	"@fuzz-card=tests/fuzz/run.sh $(VM_MODULE) build/fuzz/check-card card -n $(CHECK_CARD)"

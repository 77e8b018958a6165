# SPDX-License-Identifier: Apache-2.0
#
# The compiler: the library libvtac.a, and the command vtac. They need VTAC_PACKAGES beside the
# library's packages; without these everything else is built all the same. Other programs link
# VTAC_LIB, which exports the calls of libvtac.h; the command and the tests link all objects, VTAC_A.

VTAC_PACKAGES := protobuf-c-compiler libprotobuf-c-dev libonnx-dev
VTAC_DIR := build/tools/obj/vtac
VTAC_LIB := build/tools/libvtac.a
VTAC_A := build/tools/obj/libvtac.a
VTAC_CMD_SRCS := $(wildcard compiler/cmd/*.c)
VTAC_SRCS := $(filter-out $(VTAC_CMD_SRCS),$(wildcard compiler/*/*.c))
VTAC_OBJS := $(VTAC_SRCS:compiler/%.c=$(VTAC_DIR)/%.o) $(VTAC_DIR)/onnx.pb-c.o $(OUTPUT_OBJ) $(CREW_OBJ)
VTAC_CPPFLAGS := -Icompiler -Ilibvtadev $(PROG_CPPFLAGS) -I$(VTAC_DIR) -D_GNU_SOURCE
VTAC_CFLAGS := -std=c11 -Wall -Wextra -Wshadow -Werror -O2 -g -fPIC
# These read every value of every image, or every weight of every candidate.
$(addprefix $(VTAC_DIR)/quant/,gptq.o stats.o stats_divide.o weights.o): VTAC_CFLAGS += -O3

$(call objects,$(VTAC_DIR),compiler,$$(VTAC_CPPFLAGS) $$(CPPFLAGS) $$(VTAC_CFLAGS) $$(CFLAGS))

# The schema is Debian's libonnx-dev's.
ONNX_PROTO := /usr/include/onnx/onnx.proto
$(VTAC_DIR)/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	protoc-c --c_out=$(@D) -I$(dir $(ONNX_PROTO)) $(notdir $(ONNX_PROTO))

$(call each,$(VTAC_DIR)/onnx.pb-c.o): $(VTAC_DIR)/onnx.pb-c.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -std=c11 -O2 -g -fPIC $(CFLAGS) -c -o $@ $<

$(VTAC_DIR)/onnx.pb-c.h: $(VTAC_DIR)/onnx.pb-c.c ;
$(call each,$(patsubst compiler/%.c,$(VTAC_DIR)/%.o,$(wildcard compiler/onnx/*.c) \
	compiler/emit/emit_onnx.c)): $(VTAC_DIR)/onnx.pb-c.h

$(call archive,$(VTAC_A),$(VTAC_OBJS))

# Without TVM's files, which the command alone reads: they need json-c.
VTAC_LIB_OBJS := $(filter-out $(VTAC_DIR)/emit/emit_tvm%.o $(VTAC_DIR)/emit/tvm_%.o,$(VTAC_OBJS))
$(VTAC_LIB): $(VTAC_LIB_OBJS) compiler/build.mk
	$(call closed-archive,$(VTAC_LIB_OBJS),--keep-global-symbol='vtac_net_*')

# The command reads configurations as the emulator does.
VTAC_BIN := build/tools/vtac
VTAC_CMD_OBJS := $(VTAC_CMD_SRCS:compiler/%.c=$(VTAC_DIR)/%.o) $(VTAC_DIR)/core_config.o
VTAC_LIBS := -lprotobuf-c -lm -pthread
$(VTAC_CMD_OBJS): VTAC_CPPFLAGS += $(LIB_CPPFLAGS) $(CLI_CPPFLAGS) -Icard -Ilibvtadev/picture

$(call objects,$(VTAC_DIR),card/core,$$(EMU_CPPFLAGS) $$(CPPFLAGS) -std=gnu11 -O2 -g $$(CFLAGS))

$(call program,$(VTAC_BIN),,,$(VTAC_CMD_OBJS) $(CLI_OBJ) $(PROGRESS_OBJ) $(PICTURE_OBJS) $(VTAC_A) $(PROG_A) $(LIB_A),\
	$$(VTAC_LIBS) $$(PICTURE_LIBS) -ljson-c $$(LIB_LIBS))

# The page of vtac report --html, as an array.
$(VTAC_DIR)/report_page.h: compiler/cmd/report.html
	@mkdir -p $(@D)
	( echo 'static const char report_page[] = {'; \
	  od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '};' ) > $@
$(VTAC_DIR)/cmd/cmd_report.o: $(VTAC_DIR)/report_page.h

# With its packages it is part of what `make` builds. Looked at anew by each recipe, as by other names
# in _HAVE: a prerequisite, test-deps, may have installed them.
VTAC_HAVE = $(shell [ -e $(ONNX_PROTO) ] && command -v protoc-c)

.PHONY: vtac
vtac:  ## the compiler: trained networks in, programs for the card out
	@tools/vm/deps.sh need $(BUILD_PACKAGES) $(VTAC_PACKAGES)
	@$(MAKE) --no-print-directory $(VTAC_BIN)

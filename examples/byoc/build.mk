# SPDX-License-Identifier: Apache-2.0
#
# A network divided between the CPU and the card: codegen hands the card's part to libvtac,
# as an external code generator would, and what comes back is linked into the program.

BYOC_DIR := build/examples/byoc
BYOC_BIN := $(BYOC_DIR)/byoc
BYOC_CPPFLAGS := -Ilibvtadev/ops -Iexamples/digits -Iexamples/byoc

$(call program,$(BYOC_DIR)/codegen,examples/byoc/codegen.c,\
	$$(BYOC_CPPFLAGS) -Itools/vtac $$(LIB_WARNINGS) -O2 -g,$(DIGITS_A) $(VTAC_A) $(OPS_A),$$(VTAC_LIBS))

$(BYOC_DIR)/subgraphs_image.c: $(BYOC_DIR)/codegen
	$< $@

$(call program,$(BYOC_BIN),\
	$(addprefix examples/byoc/,byoc.c executor.c subgraphs_cpu.c subgraphs_vta.c) \
	$(BYOC_DIR)/subgraphs_image.c,\
	$$(LIB_CPPFLAGS) $$(BYOC_CPPFLAGS) $$(LIB_WARNINGS) -O2 -g -pthread,$(DIGITS_A) $(PROG_A) $(OPS_A) $(LIB_A),$$(LIB_LIBS))

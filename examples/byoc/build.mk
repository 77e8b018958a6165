# SPDX-License-Identifier: Apache-2.0
#
# A network divided between the CPU and the card: codegen hands the card's part to libvtac,
# as an external code generator would, and what comes back is linked into the program.

BYOC_DIR := build/examples/byoc
BYOC_BIN := $(BYOC_DIR)/byoc
BYOC_CPPFLAGS := -Ilibvtadev/ops -Iexamples/digits -Iexamples/byoc

$(BYOC_DIR)/codegen: examples/byoc/codegen.c examples/byoc/subgraphs.h tools/vtac/libvtac.h \
		$(DIGITS_DATA) $(VTAC_A) $(OPS_A)
	@mkdir -p $(@D)
	$(CC) $(BYOC_CPPFLAGS) -Itools/vtac $(LIB_WARNINGS) -O2 -g -o $@ $< $(VTAC_A) $(OPS_A) \
		$(VTAC_LIBS)

$(BYOC_DIR)/subgraphs_image.c: $(BYOC_DIR)/codegen
	$< $@

$(BYOC_BIN): $(addprefix examples/byoc/,byoc.c executor.c subgraphs_cpu.c subgraphs_vta.c) \
		$(BYOC_DIR)/subgraphs_image.c \
		$(addprefix examples/digits/,reference.c testset.c) \
		$(wildcard examples/byoc/*.h) $(DIGITS_DATA) $(LIB_HEADERS) $(OPS_HEADERS) \
		$(PROG_A) $(OPS_A) $(LIB_A)
	$(CC) $(LIB_CPPFLAGS) $(BYOC_CPPFLAGS) $(LIB_WARNINGS) -O2 -g -pthread -o $@ \
		$(filter %.c,$^) $(PROG_A) $(OPS_A) $(LIB_A) $(LIB_LIBS)

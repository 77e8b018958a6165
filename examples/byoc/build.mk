# SPDX-License-Identifier: Apache-2.0
#
# A network divided between the CPU and the card, as an external code generator
# would emit it; its runtime is the template of a TVM device.

BYOC_BIN := build/examples/byoc/byoc

$(BYOC_BIN): $(addprefix examples/byoc/,byoc.c executor.c subgraphs_cpu.c subgraphs_vta.c) \
		$(addprefix examples/digits/,reference.c testset.c) $(DEVICEAPI_SRC) \
		$(wildcard examples/byoc/*.h) examples/deviceapi/vta_device_api.h \
		$(DIGITS_DATA) $(LIB_HEADERS) $(OPS_HEADERS) $(OPS_A) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) -Ilibvtadev/ops -Iexamples/digits -Iexamples/deviceapi \
		$(LIB_WARNINGS) -O2 -g -pthread -o $@ $(filter %.c,$^) $(OPS_A) $(LIB_A) $(LIB_LIBS)

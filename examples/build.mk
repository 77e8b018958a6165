# SPDX-License-Identifier: Apache-2.0

EXAMPLE_CFLAGS = $(LIB_CPPFLAGS) $(PROG_CPPFLAGS) -Iexamples/digits $(LIB_WARNINGS) -O2 -g
EXAMPLE_LIBS := $(PROG_A) $(LIB_A)

HELLO_BIN := build/examples/hello/hello

$(call program,$(HELLO_BIN),examples/hello/hello.c,$$(EXAMPLE_CFLAGS),$(LIB_A),$$(LIB_LIBS))

STREAM_BIN := build/examples/stream/stream

$(call program,$(STREAM_BIN),examples/stream/stream.c examples/stream/layer.c,\
	$$(EXAMPLE_CFLAGS),$(EXAMPLE_LIBS),$$(LIB_LIBS))

# ---- Digits: all programs for digits link $(DIGITS_A) ----

DIGITS_A := build/examples/digits/digits.a

$(call objects,build/examples/digits/obj,examples/digits,\
	$$(EXAMPLE_CFLAGS) -DWEIGHTS='"examples/digits/weights.bin"')
build/examples/digits/obj/network.o: examples/digits/weights.bin
$(call archive,$(DIGITS_A),$(addprefix build/examples/digits/obj/,lower.o network.o testset.o))

$(call test,digits,examples/digits/reference_test.c,$$(EXAMPLE_CFLAGS),$(DIGITS_A))
CROSS_PROGRAMS += build/examples/digits/reference_test

DIGITS_BIN := build/examples/digits/digits

$(call program,$(DIGITS_BIN),examples/digits/digits.c,\
	$$(EXAMPLE_CFLAGS),$(DIGITS_A) $(EXAMPLE_LIBS),$$(LIB_LIBS))

# The same network as a program image, compiled without a card.
DIGITS_COMPILE := build/examples/digits/digits-compile
DIGITS_VTAP := build/examples/digits/digits.vtap

$(call program,$(DIGITS_COMPILE),examples/digits/compile.c,\
	$$(EXAMPLE_CFLAGS),$(DIGITS_A) $(OPS_A) $(OUTPUT_OBJ))

$(DIGITS_VTAP): $(DIGITS_COMPILE)
	$(DIGITS_COMPILE) $@

# ---- MPI: not part of make all, as it takes Open MPI or another MPI with mpicc ----

MPI_BIN := build/examples/mpi/digits-mpi
MPI_PACKAGES := openmpi-bin libopenmpi-dev
MPI_HAVE := $(shell command -v mpicc)

# MPI's headers are not made for this project's warnings.
$(call program,$(MPI_BIN),examples/mpi/mpi.c examples/mpi/worker.c,\
	$$(EXAMPLE_CFLAGS) $$(MPI_CFLAGS),$(DIGITS_A) $(EXAMPLE_LIBS),$$(MPI_CFLAGS) $$(LIB_LIBS),mpicc)

CHECKS += "mpi=tests/mpi/run.sh build/mpi"

# ---- The template of a TVM device: its headers are DLPack's, from libdlpack-dev ----

DEVICEAPI_SRC := examples/deviceapi/vta_device_api.c
DEVICEAPI_TEST := build/examples/deviceapi/deviceapi_test

$(call program,$(DEVICEAPI_TEST),examples/deviceapi/deviceapi_test.c $(DEVICEAPI_SRC),\
	$$(EXAMPLE_CFLAGS),$(EXAMPLE_LIBS),$$(LIB_LIBS) -lcmocka)

# ---- A network divided between the CPU and the card ----
#
# codegen has libvtac compile the card's part, and the result is linked into the program.

BYOC_DIR := build/examples/byoc
BYOC_BIN := $(BYOC_DIR)/byoc

$(call program,$(BYOC_DIR)/codegen,examples/byoc/codegen.c,\
	$$(EXAMPLE_CFLAGS) -Icompiler/api,$(DIGITS_A) $(VTAC_LIB) $(OPS_A) $(OUTPUT_OBJ),$$(VTAC_LIBS))

$(BYOC_DIR)/subgraphs_image.c: $(BYOC_DIR)/codegen
	$< $@

$(call program,$(BYOC_BIN),\
	$(addprefix examples/byoc/,byoc.c executor.c subgraphs_cpu.c subgraphs_vta.c) \
	$(BYOC_DIR)/subgraphs_image.c,\
	$$(EXAMPLE_CFLAGS) -Iexamples/byoc,$(DIGITS_A) $(EXAMPLE_LIBS),$$(LIB_LIBS))

# ---- A network compiled ahead of time ----
#
# compile writes model.h, which the program includes. AOT_CONFIG="LOG_BLOCK=5 ..." compiles
# for another configuration. Its network.o goes before the one in $(DIGITS_A).

AOT_DIR := build/examples/aot
AOT_BIN := $(AOT_DIR)/aot
AOT_NETWORK := $(AOT_DIR)/obj/network.o
AOT_CONFIG ?=

$(call objects,$(AOT_DIR)/obj,examples/digits,$$(EXAMPLE_CFLAGS) -DWEIGHTS='"examples/aot/weights.bin"')
$(AOT_NETWORK): examples/aot/weights.bin

$(call program,$(AOT_DIR)/compile,examples/aot/compile.c,\
	$$(EXAMPLE_CFLAGS),$(AOT_NETWORK) $(DIGITS_A) $(OPS_A))

$(AOT_DIR)/model.h: $(AOT_DIR)/compile
	$< $(AOT_CONFIG) > $@

AOT_LIBS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap64 $(LIB_LIBS)
$(call program,$(AOT_BIN),examples/aot/aot.c,\
	$$(EXAMPLE_CFLAGS) -I$$(AOT_DIR),$(DIGITS_A) $(LIB_A),$$(AOT_LIBS))
$(AOT_BIN).obj/examples/aot/aot.o: $(AOT_DIR)/model.h

CHECK_PROGRAMS += $(HELLO_BIN) $(DIGITS_COMPILE) $(if $(MPI_HAVE),$(MPI_BIN)) $(DEVICEAPI_TEST) $(BYOC_BIN) $(AOT_BIN)

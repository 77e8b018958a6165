# SPDX-License-Identifier: Apache-2.0
#
# A network compiled ahead of time: compile writes model.h, of which the program is
# made. AOT_CONFIG="LOG_BLOCK=5 ..." compiles for another configuration.

AOT_DIR := build/examples/aot
AOT_BIN := $(AOT_DIR)/aot
AOT_CONFIG ?=

# The network of examples/aot/weights.bin.
AOT_NETWORK := $(AOT_DIR)/obj/network.o
$(call objects,$(AOT_DIR)/obj,examples/digits,$$(DIGITS_CFLAGS) -DWEIGHTS='"examples/aot/weights.bin"')
$(AOT_NETWORK): examples/aot/weights.bin

$(call program,$(AOT_DIR)/compile,examples/aot/compile.c,\
	$$(DIGITS_CFLAGS) -Iexamples/digits,$(AOT_NETWORK) $(DIGITS_A) $(OPS_A))

$(AOT_DIR)/model.h: $(AOT_DIR)/compile
	$< $(AOT_CONFIG) > $@

AOT_LIBS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap64 $(LIB_LIBS)
$(call program,$(AOT_BIN),$(addprefix examples/aot/,aot.c allocations.c),\
	$$(LIB_CPPFLAGS) -I$$(AOT_DIR) -Iexamples/digits $$(LIB_WARNINGS) -O2 -g,\
	$(DIGITS_A) $(LIB_A),$$(AOT_LIBS))
$(AOT_BIN).obj/examples/aot/aot.o: $(AOT_DIR)/model.h

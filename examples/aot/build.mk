# SPDX-License-Identifier: Apache-2.0
#
# A network compiled ahead of time: compile writes model.h, of which the program is
# made. AOT_CONFIG="LOG_BLOCK=5 ..." compiles for another configuration.

AOT_DIR := build/examples/aot
AOT_BIN := $(AOT_DIR)/aot
AOT_CONFIG ?=

$(call program,$(AOT_DIR)/compile,$(addprefix examples/aot/,compile.c weights.c),\
	-Ilibvtadev/ops $$(LIB_WARNINGS) -O2 -g,$(OPS_A))

$(AOT_DIR)/model.h: $(AOT_DIR)/compile
	$< $(AOT_CONFIG) > $@

AOT_LIBS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap64 $(LIB_LIBS)
$(call program,$(AOT_BIN),$(addprefix examples/aot/,aot.c allocations.c) examples/digits/testset.c,\
	$$(LIB_CPPFLAGS) -I$$(AOT_DIR) -Iexamples/digits $$(LIB_WARNINGS) -O2 -g,$(LIB_A),$$(AOT_LIBS))
$(AOT_BIN).obj/examples/aot/aot.o: $(AOT_DIR)/model.h

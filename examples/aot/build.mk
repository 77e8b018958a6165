# SPDX-License-Identifier: Apache-2.0
#
# A network compiled ahead of time: compile writes model.h, of which the program is
# made. AOT_CONFIG="LOG_BLOCK=5 ..." compiles for another configuration.

AOT_DIR := build/examples/aot
AOT_BIN := $(AOT_DIR)/aot
AOT_HEADERS := $(wildcard examples/aot/*.h)
AOT_CONFIG ?=

$(AOT_DIR)/compile: $(addprefix examples/aot/,compile.c weights.c) $(AOT_HEADERS) \
		$(wildcard examples/aot/weights/*.h) $(OPS_HEADERS) $(OPS_A)
	@mkdir -p $(@D)
	$(CC) -Ilibvtadev/ops $(LIB_WARNINGS) -O2 -g -o $@ $(filter %.c,$^) $(OPS_A)

$(AOT_DIR)/model.h: $(AOT_DIR)/compile
	$< $(AOT_CONFIG) > $@

$(AOT_BIN): $(addprefix examples/aot/,aot.c allocations.c) examples/digits/testset.c \
		$(AOT_DIR)/model.h $(AOT_HEADERS) $(LIB_HEADERS) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) -I$(AOT_DIR) -Iexamples/digits $(LIB_WARNINGS) -O2 -g \
		-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap64 -o $@ $(filter %.c,$^) \
		$(LIB_A) $(LIB_LIBS)

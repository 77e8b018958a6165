# SPDX-License-Identifier: Apache-2.0

DIGITS_TESTS := build/examples/digits/reference_test
DIGITS_DATA := $(wildcard examples/digits/*.h examples/digits/weights/*.h)

build/examples/digits/reference_test: $(addprefix examples/digits/, \
		reference_test.c reference.c testset.c) $(DIGITS_DATA)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -o $@ $(filter %.c,$^) -lcmocka

DIGITS_BIN := build/examples/digits/digits

$(DIGITS_BIN): $(addprefix examples/digits/,digits.c reference.c testset.c) $(DIGITS_DATA) \
		$(LIB_HEADERS) $(OPS_HEADERS) $(OPS_A) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) -Ilibvtadev/ops $(LIB_WARNINGS) -O2 -g -o $@ $(filter %.c,$^) \
		$(OPS_A) $(LIB_A) $(LIB_LIBS)

# The same network as a program image, compiled without a card.
DIGITS_COMPILE := build/examples/digits/digits-compile
DIGITS_VTAP := build/examples/digits/digits.vtap

$(DIGITS_COMPILE): examples/digits/compile.c $(DIGITS_DATA) $(OPS_HEADERS) $(OPS_A)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Werror -Ilibvtadev/ops -o $@ $< $(OPS_A)

$(DIGITS_VTAP): $(DIGITS_COMPILE)
	$(DIGITS_COMPILE) $@

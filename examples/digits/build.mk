# SPDX-License-Identifier: Apache-2.0

DIGITS_TESTS := build/examples/digits/reference_test

$(call program,$(DIGITS_TESTS),$(addprefix examples/digits/,reference_test.c reference.c testset.c),\
	$$(LIB_WARNINGS) -O2 -g,,-lcmocka)

DIGITS_BIN := build/examples/digits/digits

$(call program,$(DIGITS_BIN),$(addprefix examples/digits/,digits.c reference.c testset.c),\
	$$(LIB_CPPFLAGS) -Ilibvtadev/ops $$(LIB_WARNINGS) -O2 -g,$(OPS_A) $(LIB_A),$$(LIB_LIBS))

# The same network as a program image, compiled without a card.
DIGITS_COMPILE := build/examples/digits/digits-compile
DIGITS_VTAP := build/examples/digits/digits.vtap

$(call program,$(DIGITS_COMPILE),examples/digits/compile.c,\
	$$(LIB_WARNINGS) -O2 -g -Ilibvtadev/ops,$(OPS_A))

$(DIGITS_VTAP): $(DIGITS_COMPILE)
	$(DIGITS_COMPILE) $@

CHECKS += $(foreach t,$(DIGITS_TESTS),"digits-$(notdir $(t))=$(t)")

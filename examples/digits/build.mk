# SPDX-License-Identifier: Apache-2.0
#
# A program for digits links $(DIGITS_A), and before it a network.o if it is to run another
# network than digits/weights.bin.

DIGITS_DIR := build/examples/digits
DIGITS_A := $(DIGITS_DIR)/digits.a
DIGITS_CFLAGS = -Ilibvtadev/ops $(LIB_WARNINGS) -O2 -g

$(call objects,$(DIGITS_DIR)/obj,examples/digits,$$(DIGITS_CFLAGS) -DWEIGHTS='"examples/digits/weights.bin"')
$(DIGITS_DIR)/obj/network.o: examples/digits/weights.bin
$(call archive,$(DIGITS_A),$(addprefix $(DIGITS_DIR)/obj/,lower.o network.o testset.o))

DIGITS_TESTS := $(DIGITS_DIR)/reference_test

$(call program,$(DIGITS_TESTS),examples/digits/reference_test.c,$$(DIGITS_CFLAGS),$(DIGITS_A),-lcmocka)

DIGITS_BIN := $(DIGITS_DIR)/digits

$(call program,$(DIGITS_BIN),examples/digits/digits.c,\
	$$(LIB_CPPFLAGS) $$(DIGITS_CFLAGS),$(DIGITS_A) $(OPS_A) $(LIB_A),$$(LIB_LIBS))

# The same network as a program image, compiled without a card.
DIGITS_COMPILE := $(DIGITS_DIR)/digits-compile
DIGITS_VTAP := $(DIGITS_DIR)/digits.vtap

$(call program,$(DIGITS_COMPILE),examples/digits/compile.c,$$(DIGITS_CFLAGS),$(DIGITS_A) $(OPS_A))

$(DIGITS_VTAP): $(DIGITS_COMPILE)
	$(DIGITS_COMPILE) $@

CHECKS += $(foreach t,$(DIGITS_TESTS),"digits-$(notdir $(t))=$(t)")

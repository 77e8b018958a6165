# SPDX-License-Identifier: Apache-2.0

DIGITS_TESTS := build/examples/digits/reference_test
DIGITS_DATA := $(wildcard examples/digits/*.h examples/digits/weights/*.h)

build/examples/digits/reference_test: $(addprefix examples/digits/, \
		reference_test.c reference.c testset.c) $(DIGITS_DATA)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -o $@ $(filter %.c,$^) -lcmocka

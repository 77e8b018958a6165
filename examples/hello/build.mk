# SPDX-License-Identifier: Apache-2.0

HELLO_BIN := build/examples/hello/hello

$(HELLO_BIN): examples/hello/hello.c $(LIB_HEADERS) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) $(LIB_WARNINGS) -O2 -g -o $@ $(filter %.c,$^) $(LIB_A) $(LIB_LIBS)

# SPDX-License-Identifier: Apache-2.0

HELLO_BIN := build/examples/hello/hello

$(call program,$(HELLO_BIN),examples/hello/hello.c,\
	$$(LIB_CPPFLAGS) $$(LIB_WARNINGS) -O2 -g,$(LIB_A),$$(LIB_LIBS))

# SPDX-License-Identifier: GPL-2.0-only

STREAM_TESTS := $(addprefix build/tests/stream/,check_trace threads)

build/tests/stream/check_trace: tests/stream/check_trace.c tests/lib/trace_json.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -Itests/lib -o $@ $< -ljson-c

build/tests/stream/threads: tests/stream/threads.c $(LIB_HEADERS) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) $(LIB_WARNINGS) -O2 -g -o $@ $(filter %.c,$^) $(LIB_A) $(LIB_LIBS)

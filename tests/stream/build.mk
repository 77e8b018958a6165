# SPDX-License-Identifier: GPL-2.0-only

STREAM_TESTS := build/tests/stream/check_trace

build/tests/stream/check_trace: tests/stream/check_trace.c tests/lib/trace_json.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -Itests/lib -o $@ $< -ljson-c

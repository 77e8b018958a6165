# SPDX-License-Identifier: GPL-2.0-only

VTACTL_TESTS := build/tests/vtactl/worker

build/tests/vtactl/worker: tests/vtactl/worker.c $(LIB_HEADERS) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) $(LIB_WARNINGS) -O2 -g -o $@ $(filter %.c,$^) $(LIB_A) $(LIB_LIBS)

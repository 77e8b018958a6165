/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_harness.h - the kernel's harness, and all that its tests include
 */
#ifndef VTA_HARNESS_H
#define VTA_HARNESS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "vta_selftest.h"

/*
 * Ends a test that hangs. The harness has 30 s, but on the kernel "debug", emulated on a busy
 * machine, tests have taken 60 times as long as elsewhere.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	900

/* main() with one argument, which may be left out: the serial number of the card to be tested. */
static inline int harness_main(int argc, char **argv)
{
	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next)
		for (struct __test_metadata *t = f->tests; t; t = t->next)
			t->timeout *= slowness();
	if (argc > 1 && card_choose(argv[1]))
		ksft_exit_fail_msg("no card has the serial number %s\n", argv[1]);
	return test_harness_run(argc, argv);
}

#undef TEST_HARNESS_MAIN
#define TEST_HARNESS_MAIN							\
	int main(int argc, char **argv)						\
	{									\
		exit(harness_main(argc, argv));					\
	}

#endif /* VTA_HARNESS_H */

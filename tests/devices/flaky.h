/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flaky.h - the device "flaky:N", which is soft and fails as a test requests
 *
 * "flaky:N:ARGUMENTS" is "soft:ARGUMENTS".
 */
#ifndef TESTS_DEVICES_FLAKY_H
#define TESTS_DEVICES_FLAKY_H

#include <stdatomic.h>

#define FLAKY_DEVICES	8u

/* The test's part of each: the plugin's symbol "flaky". tests/serve/flaky_server.py has it, too. */
struct flaky {
	atomic_int refuse;	/* errors, positive: opening fails with it */
	atomic_int lose;	/* so many runs are the device's last */
	atomic_int fault;	/* enum vta_fault_reason of so many runs: */
	atomic_int faults;
	atomic_bool hold;	/* runs do not end */
	atomic_int clock_khz;	/* 0: soft's */
	atomic_uint opens, runs;
	atomic_uint side, sides;	/* runs at this time, and the most at a time */
	atomic_int thread;		/* of the last run */
};

/* The plugin's symbol, of FLAKY_DEVICES; fails the test if there is none. */
struct flaky *flaky_find(void);

#endif /* TESTS_DEVICES_FLAKY_H */

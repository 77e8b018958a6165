/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flaky.h - the device "flaky:N", which is soft and fails as a test requests
 */
#ifndef TESTS_DEVICES_FLAKY_H
#define TESTS_DEVICES_FLAKY_H

#include <stdatomic.h>

#define FLAKY_DEVICES	8u

/* The test's part of each: the plugin's symbol "flaky". */
struct flaky {
	atomic_int refuse;	/* errors, positive: opening fails with it */
	atomic_int lose;	/* so many runs are the device's last */
	atomic_int fault;	/* enum vta_fault_reason of so many runs: */
	atomic_int faults;
	atomic_bool hold;	/* runs do not end */
	atomic_int clock_khz;	/* 0: soft's */
	atomic_uint opens, runs;
};

#endif /* TESTS_DEVICES_FLAKY_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the time, and what the processor's counter makes of it
 */
#ifndef VTADEV_CLOCK_H
#define VTADEV_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S	1000000000ll

/* Nanoseconds of @clock. */
static inline int64_t clock_ns_of(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* CLOCK_MONOTONIC; a system call if the vDSO cannot answer. */
static inline int64_t clock_ns(void)
{
	return clock_ns_of(CLOCK_MONOTONIC);
}

/* The time @timeout_ns from now, or VTA_WAIT_FOREVER if it is negative. */
int64_t clock_deadline(int64_t timeout_ns);

/* The counter and the clock at the same moment. */
struct clock_mark {
	uint64_t ticks;
	int64_t ns;
};

struct clock_mark clock_mark(void);

/* Ticks of the counter in a microsecond, from @begin to now; at least 1. */
uint64_t clock_rate(const struct clock_mark *begin);

#endif /* VTADEV_CLOCK_H */

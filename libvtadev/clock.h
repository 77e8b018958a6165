/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the time, and what the processor's counter makes of it
 */
#ifndef VTADEV_CLOCK_H
#define VTADEV_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC; a system call where the vDSO cannot answer. */
int64_t clock_ns(void);

/* When @timeout_ns from now is, or VTA_WAIT_FOREVER if it is negative. */
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

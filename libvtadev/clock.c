// SPDX-License-Identifier: Apache-2.0
/*
 * clock.c - the time, and what the processor's counter makes of it
 */
#include "arch.h"
#include "clock.h"
#include "vta.h"

/* The two are read together up to so often, and the quickest time counts. */
#define TRIES		5
/* The least interval that gives a rate. */
#define RATE_NS		100000

int64_t clock_deadline(int64_t timeout_ns)
{
	int64_t deadline;

	if (timeout_ns < 0 ||
	    __builtin_add_overflow(clock_ns(), timeout_ns, &deadline))
		return VTA_WAIT_FOREVER;
	return deadline;
}

/* The thread may be held up between the readings. */
struct clock_mark clock_mark(void)
{
	struct clock_mark mark = { 0 };
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = arch_ticks();
		int64_t ns = clock_ns();
		uint64_t took = arch_ticks() - before;

		if (took < best) {
			best = took;
			mark.ticks = before + took / 2;
			mark.ns = ns;
		}
	}
	return mark;
}

uint64_t clock_rate(const struct clock_mark *begin)
{
	struct clock_mark now;
	uint64_t us, rate;

	while (clock_ns() - begin->ns < RATE_NS)
		arch_relax();
	now = clock_mark();
	us = (uint64_t)(now.ns - begin->ns) / 1000;
	rate = (now.ticks - begin->ticks) / us;
	return rate ? rate : 1;
}

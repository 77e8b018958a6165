/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busy.h - how busy a card's engines are between two moments
 */
#ifndef VTACTL_BUSY_H
#define VTACTL_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* What the engines had done at a moment; not known of every card. */
struct busy {
	bool known;
	int64_t at_ns;
	uint64_t compute_ns, copy_ns;
};

/* Of vtaN, now. */
struct busy busy_now(unsigned int index);

/*
 * How much a count has grown. One that is less than before has begun anew: another
 * card has the number, or the module was loaded again.
 */
static inline uint64_t busy_grown(uint64_t now, uint64_t then)
{
	return now < then ? now : now - then;
}

/*
 * The share of @ns in which something was executed for @busy_ns, 0 to 1. Descriptors
 * count when they end, with all of their time: one that began long ago may count for
 * more than there was.
 */
double busy_share(uint64_t busy_ns, int64_t ns);

#endif /* VTACTL_BUSY_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busy.h - the load of a card's engines between two moments
 */
#ifndef VTACTL_BUSY_H
#define VTACTL_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* The work of the engines up to a moment; not every card counts it. */
struct busy {
	bool known;
	int64_t at_ns;
	uint64_t compute_ns, copy_ns;
};

/* Samples vtaN. */
struct busy busy_now(unsigned int index);

/*
 * The growth of a count. A count that is less than before has begun anew: another card has the
 * number, or the module was loaded again.
 */
static inline uint64_t busy_grown(uint64_t now, uint64_t then)
{
	return now < then ? now : now - then;
}

/*
 * The share of @busy_ns in @ns, at most 1: a descriptor counts when it ends, with all of its time,
 * so that one that began long ago may count for more than @ns.
 */
double busy_share(uint64_t busy_ns, int64_t ns);

#endif /* VTACTL_BUSY_H */

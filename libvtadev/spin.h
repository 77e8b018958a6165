/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin.h - how long to spin before sleeping
 *
 * struct vtadev_queue_opts has the rule.
 */
#ifndef VTADEV_SPIN_H
#define VTADEV_SPIN_H

#include <stdatomic.h>
#include <stdint.h>

struct vtadev_queue;

/* State that a queue has learned. Threads that wait at the same time may lose an update. */
struct spin {
	int64_t max_ns;
	uint64_t rate;			/* ticks in a microsecond */
	atomic_uint_least64_t job_ns;	/* for one descriptor; 0: not known yet */
	atomic_uint skipped;		/* waits that did not spin since one did */
};

/* State at the begin of a wait. */
struct spin_start {
	uint64_t ticks;
	uint64_t seq;
	uint64_t card_ns;
};

void spin_init(struct spin *spin, int64_t max_ns, uint64_t rate);

/* The wait for @seq begins, which is not reached. Returns ns to spin at most. */
int64_t spin_begin(struct vtadev_queue *queue, uint64_t seq, struct spin_start *start);

/* It has ended well: learn from it. */
void spin_end(struct vtadev_queue *queue, const struct spin_start *start);

/* Nanoseconds since then. */
int64_t spin_elapsed(const struct vtadev_queue *queue, const struct spin_start *start);

#endif /* VTADEV_SPIN_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue whose descriptor an engine takes next (docs/hardware.md, section 6,
 * "Scheduling"): numbers alone, without queues, locks or time.
 */
#ifndef VTA_EMU_ARBITER_H
#define VTA_EMU_ARBITER_H

#include <stdint.h>

#include "queue_set.h"

#define ARBITER_CREDIT_MIN	(-(1ll << 34))	/* no group owes more */

struct arbiter_group {
	int64_t credit;		/* ns */
	unsigned int weight;	/* 1 to VTA_GROUP_WEIGHT_MAX */
	struct queue_set ready;
	unsigned int turn;	/* the queue whose turn it is, */
	unsigned int left;	/* and how many descriptors it may still have */
};

struct arbiter {
	unsigned int count;	/* of groups */
	unsigned int turn;
	struct queue_set ready;	/* groups with a ready queue */
	struct arbiter_group groups[VTA_CONTEXTS_MAX];
};

/* As after a reset. */
void arbiter_reset(struct arbiter *arbiter, unsigned int groups);

void arbiter_set_weight(struct arbiter *arbiter, unsigned int group, unsigned int weight);

/* A queue of the group is ready, or no longer. */
void arbiter_add(struct arbiter *arbiter, unsigned int group, unsigned int queue);
void arbiter_del(struct arbiter *arbiter, unsigned int group, unsigned int queue);

/* The group whose turn it is now, with a ready queue; -1: there is none. */
int arbiter_choose(struct arbiter *arbiter);
/*
 * The next of that group's ready queues, which is no longer ready then.
 * @priority returns the priority of a queue.
 */
unsigned int arbiter_take(struct arbiter *arbiter, unsigned int group,
			  unsigned int (*priority)(const void *priv, unsigned int queue),
			  const void *priv);

/* A descriptor of the group has used the engine for so long. */
void arbiter_charge(struct arbiter *arbiter, unsigned int group, uint64_t ns);
/* No queue was ready for so long. Returns the rest of a round. */
uint64_t arbiter_idle(struct arbiter *arbiter, uint64_t ns);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of numbers below VTA_QUEUES_MAX: of queues, or of groups.
 */
#ifndef VTA_EMU_QUEUE_SET_H
#define VTA_EMU_QUEUE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "vta_regs.h"

_Static_assert(VTA_CONTEXTS_MAX <= VTA_QUEUES_MAX, "groups have room");

struct queue_set {
	uint64_t bits[VTA_QUEUES_MAX / 64];
};

static inline void queue_set_add(struct queue_set *set, unsigned int n)
{
	set->bits[n / 64] |= 1ull << n % 64;
}

static inline void queue_set_del(struct queue_set *set, unsigned int n)
{
	set->bits[n / 64] &= ~(1ull << n % 64);
}

static inline bool queue_set_has(const struct queue_set *set, unsigned int n)
{
	return set->bits[n / 64] >> n % 64 & 1;
}

/* The first member after n, going round (n itself comes last); -1: none. */
static inline int queue_set_next(const struct queue_set *set, unsigned int n)
{
	for (unsigned int i = 1; i <= VTA_QUEUES_MAX; ) {
		unsigned int at = (n + i) % VTA_QUEUES_MAX;
		uint64_t bits = set->bits[at / 64] >> at % 64;

		if (bits & 1)
			return (int)at;
		i += bits ? (unsigned int)__builtin_ctzll(bits) : 64 - at % 64;
	}
	return -1;
}

static inline bool queue_set_empty(const struct queue_set *set)
{
	return queue_set_next(set, 0) < 0;
}

#endif

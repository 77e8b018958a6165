/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 64-bit registers that are read in halves: reading the low half keeps the high
 * one for the next read of it.
 */
#ifndef VTA_EMU_LATCH_H
#define VTA_EMU_LATCH_H

#include <stdbool.h>
#include <stdint.h>

struct latch {
	uint32_t high;
	bool kept;
};

static inline uint32_t latch_low(struct latch *latch, uint64_t val)
{
	latch->high = (uint32_t)(val >> 32);
	latch->kept = true;
	return (uint32_t)val;
}

static inline uint32_t latch_high(struct latch *latch, uint64_t val)
{
	uint32_t high = latch->kept ? latch->high : (uint32_t)(val >> 32);

	latch->kept = false;
	return high;
}

#endif

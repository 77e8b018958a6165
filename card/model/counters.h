/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The debug counters of docs/hardware.md, section 12. Any thread counts.
 */
#ifndef VTA_EMU_COUNTERS_H
#define VTA_EMU_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "vta_regs.h"

struct counters {
	_Atomic uint64_t n[VTA_COUNTERS];
};

static inline void counter_add(struct counters *c, enum vta_counter i, uint64_t v)
{
	atomic_fetch_add_explicit(&c->n[i], v, memory_order_relaxed);
}

static inline uint64_t counter_get(const struct counters *c, enum vta_counter i)
{
	return atomic_load_explicit(&c->n[i], memory_order_relaxed);
}

static inline void counters_clear(struct counters *c)
{
	for (unsigned int i = 0; i < VTA_COUNTERS; i++)
		atomic_store_explicit(&c->n[i], 0, memory_order_relaxed);
}

/* The contract's name in lower case, as in "mmio_reads". */
static inline const char *counter_name(enum vta_counter i)
{
	static const char *const names[VTA_COUNTERS] = {
#define NAME(NAME, name) \
		[VTA_COUNTER_##NAME] = #name,
		VTA_COUNTER_LIST(NAME)
#undef NAME
	};

	return names[i];
}

#endif

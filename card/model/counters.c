// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names of the debug counters.
 */
#include "counters.h"

static const char *const names[VTA_COUNTERS] = {
#define NAME(NAME, name) \
	[VTA_COUNTER_##NAME] = #name,
	VTA_COUNTER_LIST(NAME)
#undef NAME
};

void counters_clear(struct counters *c)
{
	for (unsigned int i = 0; i < VTA_COUNTERS; i++)
		atomic_store_explicit(&c->n[i], 0, memory_order_relaxed);
}

const char *counter_name(enum vta_counter i)
{
	return names[i];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_axis.h - the dimensions of a loop: how often, and by which steps
 */
#ifndef VTA_EMU_CORE_AXIS_H
#define VTA_EMU_CORE_AXIS_H

#include <stddef.h>
#include <stdint.h>

#include "core_impl.h"

/* A dimension; the units of its steps are those of its user. */
struct core_axis {
	uint32_t count;
	size_t dst;
	size_t src;
};

#define CORE_AXES	4	/* rows of an element, micro-ops, and two loops */

/* Dimensions from the innermost; those of one iteration are left out. */
struct core_axes {
	struct core_axis axis[CORE_AXES];
	unsigned int n;
};

/* Adds a dimension outside of all; one that goes on with the last one becomes part of it. */
static inline void core_add_axis(struct core_axes *axes, uint32_t count, size_t dst, size_t src)
{
	struct core_axis *last = axes->axis + axes->n - 1;
	uint32_t both;

	if (count == 1)
		return;
	if (axes->n && dst == last->dst * last->count && src == last->src * last->count &&
	    !__builtin_mul_overflow(last->count, count, &both))
		last->count = both;
	else
		axes->axis[axes->n++] = (struct core_axis){ count, dst, src };
}

/*
 * Returns how many micro-ops, from the first one on and at most @most, go on by the same steps,
 * which are set in @by, with the same weights if @wgt.
 */
uint32_t core_count_progression(const struct core_uop *uop, uint32_t most, bool wgt,
				struct core_index *by);

#endif /* VTA_EMU_CORE_AXIS_H */

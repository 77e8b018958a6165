// SPDX-License-Identifier: Apache-2.0
/* Lists of what data chooses, as long as they can be, and filled up with -1. */
#include "cpu_impl.h"

/* ---- values that are not 0 ---- */

int cpu_non_zero_need(const struct vtacpu_non_zero *p, struct vtacpu_need *need)
{
	uint64_t count = cpu_count(p->dims, p->rank);

	if (!cpu_type_ok(need, p->type))
		return -1;
	if (!p->rank || !count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = count;
	return cpu_operand(need, count, vtacpu_type_bytes(p->type)) ||
	       cpu_operand(need, cpu_mul(count, p->rank), 8) ? -1 : 0;
}

static bool is_zero(const void *x, uint32_t type, size_t i)
{
	return type == VTACPU_F32 ? ((const float *)x)[i] == 0 : !cpu_integer(x, i, type);
}

void vtacpu_non_zero(const struct vtacpu_non_zero *p, void *const *io, void *scratch)
{
	static const uint32_t none[VTACPU_RANK_MAX];
	size_t count = (size_t)cpu_count(p->dims, p->rank), n = 0;
	struct cpu_places at = { .rank = p->rank, .dims = p->dims };
	int64_t *y = io[1];

	(void)scratch;
	for (size_t i = 0; i < count * p->rank; i++)
		y[i] = -1;
	for (size_t i = 0; i < count; i++) {
		if (!is_zero(io[0], p->type, i)) {
			for (uint32_t d = 0; d < p->rank; d++)
				y[d * count + n] = at.at[d];
			n++;
		}
		cpu_next_place(&at, none, NULL, NULL);
	}
}

int cpu_count_need(const struct vtacpu_count *p, struct vtacpu_need *need)
{
	if (!p->count || !p->stride || (uint64_t)(p->count - 1) * p->stride >= p->total)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = p->count;
	return cpu_operand(need, p->total, 8) || cpu_operand(need, 1, 8) ? -1 : 0;
}

void vtacpu_count(const struct vtacpu_count *p, void *const *io, void *scratch)
{
	const int64_t *x = io[0];
	uint32_t n = 0;

	(void)scratch;
	while (n < p->count && x[(size_t)n * p->stride] >= 0)
		n++;
	*(int64_t *)io[1] = n;
}

/* ---- slices that differ ---- */

int cpu_unique_need(const struct vtacpu_unique *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->count, p->inner };
	uint64_t count = cpu_count(dims, 3);

	if (!cpu_type_ok(need, p->type) || cpu_flag_ok(need, p->sorted))
		return -1;
	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(count, 32);
	return cpu_operand(need, count, vtacpu_type_bytes(p->type)) ||
	       cpu_operand(need, p->count, 8) || cpu_scratch(need, cpu_mul(p->count, 12)) ? -1 : 0;
}

int cpu_unique_inverse_need(const struct vtacpu_unique *p, struct vtacpu_need *need)
{
	return cpu_unique_need(p, need);
}

static int compare_values(const void *x, uint32_t type, size_t a, size_t b)
{
	if (type == VTACPU_F32) {
		float v = ((const float *)x)[a], w = ((const float *)x)[b];

		if (v != v || w != w)
			return (v != v) - (w != w);
		return (v > w) - (v < w);
	}
	return (cpu_integer(x, a, type) > cpu_integer(x, b, type)) -
	       (cpu_integer(x, a, type) < cpu_integer(x, b, type));
}

struct slices {
	const struct vtacpu_unique *p;
	const void *x;
};

static int compare_slices(const struct slices *s, uint32_t a, uint32_t b)
{
	const struct vtacpu_unique *p = s->p;

	for (size_t o = 0; o < p->outer; o++) {
		size_t i = (o * p->count + a) * p->inner, k = (o * p->count + b) * p->inner;

		for (size_t j = 0; j < p->inner; j++) {
			int order = compare_values(s->x, p->type, i + j, k + j);

			if (order)
				return order;
		}
	}
	return 0;
}

/* Is slice @a before @b, by value and then by number? */
static bool is_before(const struct slices *s, uint32_t a, uint32_t b)
{
	int order = compare_slices(s, a, b);

	return order ? order < 0 : a < b;
}

static void sink(const struct slices *s, uint32_t *at, uint32_t n, uint32_t i)
{
	uint32_t value = at[i];

	for (uint32_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && is_before(s, at[child], at[child + 1]))
			child++;
		if (!is_before(s, value, at[child]))
			break;
		at[i] = at[child];
		i = child;
	}
	at[i] = value;
}

/* By a heap, which needs no memory. */
static void sort_slices(const struct slices *s, uint32_t *at)
{
	uint32_t n = s->p->count;

	for (uint32_t i = 0; i < n; i++)
		at[i] = i;
	for (uint32_t i = n / 2; i--;)
		sink(s, at, n, i);
	while (n-- > 1) {
		uint32_t last = at[0];

		at[0] = at[n];
		at[n] = last;
		sink(s, at, n, 0);
	}
}

/*
 * Number the slices: class[i] is the place in the list of slice i's first equal, whose number
 * first[class] is. Returns how many classes there are.
 */
static uint32_t number_slices(const struct vtacpu_unique *p, const void *x, uint32_t *scratch,
			      uint32_t **class, uint32_t **first)
{
	const struct slices s = { p, x };
	uint32_t *at = scratch, *of = scratch + p->count, *list = scratch + 2 * (size_t)p->count;
	uint32_t n = 0;

	sort_slices(&s, at);
	for (uint32_t i = 0; i < p->count; i++) {
		if (!i || compare_slices(&s, at[i - 1], at[i]))
			list[n++] = at[i];
		of[at[i]] = n - 1;
	}
	*class = of;
	*first = list;
	if (p->sorted)
		return n;
	/* In the order of their first slices: at[class] becomes its new number. */
	for (uint32_t i = 0, next = 0; i < p->count; i++)
		if (list[of[i]] == i)
			at[of[i]] = next++;
	for (uint32_t i = 0; i < p->count; i++)
		of[i] = at[of[i]];
	for (uint32_t i = p->count; i--;)
		list[of[i]] = i;
	return n;
}

void vtacpu_unique(const struct vtacpu_unique *p, void *const *io, void *scratch)
{
	uint32_t *class, *first, n = number_slices(p, io[0], scratch, &class, &first);
	int64_t *y = io[1];

	for (uint32_t i = 0; i < p->count; i++)
		y[i] = i < n ? (int64_t)first[i] : -1;
}

void vtacpu_unique_inverse(const struct vtacpu_unique *p, void *const *io, void *scratch)
{
	uint32_t *class, *first;
	int64_t *y = io[1];

	number_slices(p, io[0], scratch, &class, &first);
	for (uint32_t i = 0; i < p->count; i++)
		y[i] = class[i];
}

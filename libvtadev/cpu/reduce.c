// SPDX-License-Identifier: Apache-2.0
/* Kernels that make one value of many, or order values: reductions, ranks, running sums. */
#include "cpu_impl.h"

/* ---- reductions ---- */

static uint64_t reduced(const struct vtacpu_reduce_f32 *p)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < p->rank; i++)
		count *= p->axes >> i & 1 ? 1 : p->dims[i];
	return count;
}

static int reduction_need(const struct vtacpu_reduce_f32 *p, struct vtacpu_need *need,
			  uint32_t bytes)
{
	uint64_t count = cpu_count(p->dims, p->rank);

	if (p->op >= VTACPU_REDUCE_OPS || p->rank > VTACPU_RANK_MAX || p->axes >> p->rank)
		return cpu_bad(need, "no such reduction, or an axis beyond the dimensions");
	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = count;
	return cpu_operand(need, count, bytes) || cpu_operand(need, reduced(p), bytes) ? -1 : 0;
}

int cpu_reduce_f32_need(const struct vtacpu_reduce_f32 *p, struct vtacpu_need *need)
{
	if (reduction_need(p, need, 4))
		return -1;
	return p->op == VTACPU_REDUCE_LOG_SUM_EXP ? cpu_scratch(need, 4 * reduced(p)) : 0;
}

int cpu_reduce_need(const struct vtacpu_reduce *p, struct vtacpu_need *need)
{
	if (!cpu_type_ok(need, p->type) || p->type == VTACPU_F32 ||
	    p->of.op == VTACPU_REDUCE_LOG_SUM_EXP)
		return cpu_bad(need, "no such reduction of these values");
	return reduction_need(&p->of, need, vtacpu_type_bytes(p->type));
}

/* For input values in their order, the output that each belongs to, and if it is its first. */
struct walk {
	struct cpu_places at;
	uint32_t stride[VTACPU_RANK_MAX];	/* of the output; 0 along an axis */
};

static void walk_start(struct walk *w, const struct vtacpu_reduce_f32 *p)
{
	uint32_t step = 1;

	*w = (struct walk){ .at = { .rank = p->rank, .dims = p->dims } };
	for (uint32_t i = p->rank; i--;) {
		w->stride[i] = p->axes >> i & 1 ? 0 : step;
		step *= p->axes >> i & 1 ? 1 : p->dims[i];
	}
}

static bool walk_is_first(const struct walk *w)
{
	for (uint32_t i = 0; i < w->at.rank; i++)
		if (!w->stride[i] && w->at.at[i])
			return false;
	return true;
}

CPU_INLINE float first_float(uint32_t op, float x)
{
	return op == VTACPU_REDUCE_L1 ? (x < 0 ? -x : x) :
	       op == VTACPU_REDUCE_SUM_SQUARE ? x * x : x;
}

CPU_INLINE float reduce_two(uint32_t op, float a, float b)
{
	switch (op) {
	case VTACPU_REDUCE_MAX:
	case VTACPU_REDUCE_LOG_SUM_EXP:
		return (a > b) | (a != a) ? a : b;
	case VTACPU_REDUCE_MIN:
		return (a < b) | (a != a) ? a : b;
	case VTACPU_REDUCE_PROD:
		return a * b;
	default:
		return a + first_float(op, b);
	}
}

/* A row in eight parts, which the compiler vectorises; their order is the same everywhere. */
#define PARTS	8u

CPU_INLINE
float reduce_row(uint32_t op, const float *x, size_t n)
{
	float part[PARTS], y;
	size_t i = PARTS;

	if (n < 2 * PARTS) {
		y = first_float(op, x[0]);
		for (i = 1; i < n; i++)
			y = reduce_two(op, y, x[i]);
		return y;
	}
	for (size_t j = 0; j < PARTS; j++)
		part[j] = first_float(op, x[j]);
	for (; i + PARTS <= n; i += PARTS)
		for (size_t j = 0; j < PARTS; j++)
			part[j] = reduce_two(op, part[j], x[i + j]);
	for (; i < n; i++)
		part[i % PARTS] = reduce_two(op, part[i % PARTS], x[i]);
	y = part[0];
	/* The parts of sums are sums already. */
	for (size_t j = 1; j < PARTS; j++)
		y = reduce_two(op == VTACPU_REDUCE_L1 || op == VTACPU_REDUCE_SUM_SQUARE ?
			       VTACPU_REDUCE_SUM : op, y, part[j]);
	return y;
}

/* y = y op x, place by place; the first time y = x. */
CPU_INLINE
void reduce_into(uint32_t op, const float *x, float *y, size_t n, bool first)
{
	if (first)
		for (size_t j = 0; j < n; j++)
			y[j] = first_float(op, x[j]);
	else
		for (size_t j = 0; j < n; j++)
			y[j] = reduce_two(op, y[j], x[j]);
}

/* x [outer][each][inner], by an operator that is a constant */
CPU_INLINE
void reduce_block_by(uint32_t op, const float *x, float *y, size_t outer, size_t each, size_t inner)
{
	for (size_t o = 0; o < outer; o++, y += inner) {
		if (inner == 1) {
			*y = reduce_row(op, x, each);
			x += each;
			continue;
		}
		for (size_t i = 0; i < each; i++, x += inner)
			reduce_into(op, x, y, inner, i == 0);
	}
}

/* The frequent operators have loops of their own. */
CPU_BODY reduce_block_body(bool wide, uint32_t op, const float *x, float *y, size_t outer,
			   size_t each, size_t inner)
{
	(void)wide;
	if (op == VTACPU_REDUCE_MEAN || op == VTACPU_REDUCE_SUM)
		reduce_block_by(VTACPU_REDUCE_SUM, x, y, outer, each, inner);
	else if (op == VTACPU_REDUCE_MAX)
		reduce_block_by(VTACPU_REDUCE_MAX, x, y, outer, each, inner);
	else if (op == VTACPU_REDUCE_MIN)
		reduce_block_by(VTACPU_REDUCE_MIN, x, y, outer, each, inner);
	else
		reduce_block_by(op, x, y, outer, each, inner);
}

static void reduce_block(uint32_t op, const float *x, float *y, size_t outer, size_t each,
			 size_t inner);
CPU_WIDE(reduce_block, (uint32_t op, const float *x, float *y, size_t outer, size_t each,
			size_t inner), op, x, y, outer, each, inner)

/* Are the axes neighbours? Then x is [outer][each][inner]. */
static bool is_block(const struct vtacpu_reduce_f32 *p, size_t *outer, size_t *inner)
{
	uint32_t i = 0, end = p->rank;

	*outer = 1;
	*inner = 1;
	while (i < end && !(p->axes >> i & 1))
		*outer *= p->dims[i++];
	while (end > i && !(p->axes >> (end - 1) & 1))
		*inner *= p->dims[--end];
	for (; i < end; i++)
		if (!(p->axes >> i & 1))
			return false;
	return true;
}

static void reduce_floats(const struct vtacpu_reduce_f32 *p, const float *x, float *y)
{
	size_t count = (size_t)cpu_count(p->dims, p->rank), outer, inner;
	size_t each = count / (size_t)reduced(p);
	struct walk w;

	if (is_block(p, &outer, &inner)) {
		reduce_block(p->op, x, y, outer, each, inner);
		return;
	}
	walk_start(&w, p);
	for (size_t i = 0; i < count; i++) {
		y[w.at.a] = walk_is_first(&w) ? first_float(p->op, x[i]) :
			    reduce_two(p->op, y[w.at.a], x[i]);
		cpu_next_place(&w.at, w.stride, NULL, NULL);
	}
}

/* y is the greatest of each; then its logarithm of sums, which needs a second walk. */
static void log_sum_exp(const struct vtacpu_reduce_f32 *p, const float *x, float *y, float *sums)
{
	size_t count = (size_t)cpu_count(p->dims, p->rank), outputs = (size_t)reduced(p);
	struct walk w;

	walk_start(&w, p);
	for (size_t i = 0; i < count; i++) {
		float most = y[w.at.a], e = x[i] == most ? 1 : cpu_exp(x[i] - most);

		sums[w.at.a] = walk_is_first(&w) ? e : sums[w.at.a] + e;
		cpu_next_place(&w.at, w.stride, NULL, NULL);
	}
	for (size_t i = 0; i < outputs; i++)
		y[i] += cpu_log(sums[i]);
}

void vtacpu_reduce_f32(const struct vtacpu_reduce_f32 *p, void *const *io, void *scratch)
{
	size_t outputs = (size_t)reduced(p), each = (size_t)cpu_count(p->dims, p->rank) / outputs;
	float *y = io[1];

	reduce_floats(p, io[0], y);
	if (p->op == VTACPU_REDUCE_LOG_SUM_EXP)
		log_sum_exp(p, io[0], y, scratch);
	for (size_t i = 0; p->op == VTACPU_REDUCE_MEAN && i < outputs; i++)
		y[i] /= (float)each;
}

static int64_t first_integer(uint32_t op, int64_t x)
{
	uint64_t v = (uint64_t)x;

	return (int64_t)(op == VTACPU_REDUCE_L1 && x < 0 ? 0 - v :
			 op == VTACPU_REDUCE_SUM_SQUARE ? v * v : v);
}

static int64_t reduce_integers(uint32_t op, int64_t a, int64_t b)
{
	switch (op) {
	case VTACPU_REDUCE_MAX:
		return a > b ? a : b;
	case VTACPU_REDUCE_MIN:
		return a < b ? a : b;
	case VTACPU_REDUCE_PROD:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	default:
		return (int64_t)((uint64_t)a + (uint64_t)first_integer(op, b));
	}
}

/* In the type itself: sums that wrap are the same as if they wrapped at the end. */
void vtacpu_reduce(const struct vtacpu_reduce *p, void *const *io, void *scratch)
{
	size_t count = (size_t)cpu_count(p->of.dims, p->of.rank), outputs = (size_t)reduced(&p->of);
	int64_t each = (int64_t)(count / outputs);
	struct walk w;

	(void)scratch;
	walk_start(&w, &p->of);
	for (size_t i = 0; i < count; i++) {
		int64_t x = cpu_integer(io[0], i, p->type), y;

		y = walk_is_first(&w) ? first_integer(p->of.op, x) :
		    reduce_integers(p->of.op, cpu_integer(io[1], w.at.a, p->type), x);
		cpu_put_integer(io[1], w.at.a, p->type, y);
		cpu_next_place(&w.at, w.stride, NULL, NULL);
	}
	for (size_t i = 0; each && p->of.op == VTACPU_REDUCE_MEAN && i < outputs; i++)
		cpu_put_integer(io[1], i, p->type, cpu_integer(io[1], i, p->type) / each);
}

/* ---- the order of values ---- */

/* Is value @a greater than value @b? */
static bool is_greater(const void *x, uint32_t type, size_t a, size_t b)
{
	const float *f = x;

	if (type == VTACPU_F32)
		return f[a] > f[b] || (f[a] != f[a] && f[b] == f[b]);
	return cpu_integer(x, a, type) > cpu_integer(x, b, type);
}

static int rows_need(struct vtacpu_need *need, uint32_t type, const uint32_t dims[3])
{
	if (!cpu_type_ok(need, type))
		return -1;
	if (!cpu_count(dims, 3))
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_count(dims, 3);
	return cpu_operand(need, need->work, vtacpu_type_bytes(type));
}

int cpu_arg_need(const struct vtacpu_arg *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->count, p->inner };

	if (cpu_flag_ok(need, p->least) || cpu_flag_ok(need, p->last) ||
	    rows_need(need, p->type, dims))
		return -1;
	return cpu_operand(need, need->work / p->count, 8);
}

void vtacpu_arg(const struct vtacpu_arg *p, void *const *io, void *scratch)
{
	int64_t *y = io[1];

	(void)scratch;
	for (size_t o = 0; o < p->outer; o++)
		for (size_t j = 0; j < p->inner; j++, y++) {
			size_t first = o * p->count * p->inner + j, best = first, at = first;

			*y = 0;
			for (uint32_t i = 1; i < p->count; i++) {
				bool better;

				at += p->inner;
				better = p->least ? is_greater(io[0], p->type, best, at) :
					 is_greater(io[0], p->type, at, best);
				if (better || (p->last && !is_greater(io[0], p->type, at, best) &&
					       !is_greater(io[0], p->type, best, at))) {
					best = at;
					*y = i;
				}
			}
		}
}

int cpu_hardmax_f32_need(const struct vtacpu_softmax_f32 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->count, p->inner };

	return rows_need(need, VTACPU_F32, dims) || cpu_operand(need, need->work, 4) ? -1 : 0;
}

void vtacpu_hardmax_f32(const struct vtacpu_softmax_f32 *p, void *const *io, void *scratch)
{
	float *y = io[1];

	(void)scratch;
	memset(y, 0, (size_t)p->outer * p->count * p->inner * sizeof(*y));
	for (size_t o = 0; o < p->outer; o++)
		for (size_t j = 0; j < p->inner; j++) {
			size_t best = o * p->count * p->inner + j, at = best;

			for (uint32_t i = 1; i < p->count; i++) {
				at += p->inner;
				best = is_greater(io[0], VTACPU_F32, at, best) ? at : best;
			}
			y[best] = 1;
		}
}

int cpu_top_need(const struct vtacpu_top *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->count, p->inner };

	if (cpu_flag_ok(need, p->least) || rows_need(need, p->type, dims))
		return -1;
	if (!p->k || p->k > p->count)
		return cpu_bad(need, "there are not as many values");
	need->work = cpu_mul(need->work, 16);
	return cpu_operand(need, cpu_mul(cpu_mul(p->outer, p->k), p->inner), 8) ||
	       cpu_scratch(need, cpu_mul(p->k, 4)) ? -1 : 0;
}

/* The order in which values are taken, as a heap's: the worst of the k best so far is on top. */
struct heap {
	const struct vtacpu_top *p;
	const void *x;
	size_t first;		/* place of value 0 */
	uint32_t *at;		/* numbers of values */
	uint32_t n;
};

static bool is_worse(const struct heap *h, uint32_t a, uint32_t b)
{
	size_t i = h->first + (size_t)a * h->p->inner, j = h->first + (size_t)b * h->p->inner;
	bool more = is_greater(h->x, h->p->type, i, j), less = is_greater(h->x, h->p->type, j, i);

	if (!more && !less)
		return a > b;
	return h->p->least ? more : less;
}

/* Put @value on top, in place of what is there, and let it sink to where it belongs. */
static void sink(struct heap *h, uint32_t value)
{
	uint32_t i = 0;

	for (uint32_t child = 1; child < h->n; child = 2 * i + 1) {
		if (child + 1 < h->n && is_worse(h, h->at[child + 1], h->at[child]))
			child++;
		if (!is_worse(h, h->at[child], value))
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = value;
}

static void rise(struct heap *h, uint32_t value)
{
	uint32_t i = h->n++;

	for (; i && is_worse(h, value, h->at[(i - 1) / 2]); i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = value;
}

void vtacpu_top(const struct vtacpu_top *p, void *const *io, void *scratch)
{
	for (size_t row = 0; row < (size_t)p->outer * p->inner; row++) {
		size_t o = row / p->inner, j = row % p->inner;
		struct heap h = { .p = p, .x = io[0], .first = o * p->count * p->inner + j,
				  .at = scratch };
		int64_t *y = (int64_t *)io[1] + o * p->k * p->inner + j;

		for (uint32_t i = 0; i < p->count; i++) {
			if (h.n < p->k)
				rise(&h, i);
			else if (is_worse(&h, h.at[0], i))
				sink(&h, i);
		}
		while (h.n) {
			y[(size_t)(h.n - 1) * p->inner] = h.at[0];
			h.n--;
			if (h.n)
				sink(&h, h.at[h.n]);
		}
	}
}

/* ---- running sums ---- */

int cpu_cum_sum_need(const struct vtacpu_cum_sum *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->count, p->inner };

	if (cpu_flag_ok(need, p->exclusive) || cpu_flag_ok(need, p->reverse) ||
	    rows_need(need, p->type, dims))
		return -1;
	return cpu_operand(need, need->work, vtacpu_type_bytes(p->type));
}

void vtacpu_cum_sum(const struct vtacpu_cum_sum *p, void *const *io, void *scratch)
{
	(void)scratch;
	for (size_t row = 0; row < (size_t)p->outer * p->inner; row++) {
		size_t first = row / p->inner * p->count * p->inner + row % p->inner;
		int64_t whole = 0;
		float sum = 0;

		for (uint32_t i = 0; i < p->count; i++) {
			size_t at = first + (size_t)(p->reverse ? p->count - 1 - i : i) * p->inner;
			float before = sum;
			int64_t whole_before = whole;

			if (p->type == VTACPU_F32) {
				sum += ((const float *)io[0])[at];
				((float *)io[1])[at] = p->exclusive ? before : sum;
				continue;
			}
			whole = (int64_t)((uint64_t)whole +
					  (uint64_t)cpu_integer(io[0], at, p->type));
			cpu_put_integer(io[1], at, p->type, p->exclusive ? whole_before : whole);
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
/* Kernels that make something of many values: batch normalisation, softmax, reductions. */
#include "cpu_impl.h"

int cpu_batch_norm_f32_need(const struct vtacpu_batch_norm_f32 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->n, p->c, p->plane };
	uint64_t count = cpu_count(dims, 3);

	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = count;
	need->in_place = 1;
	if (cpu_operand(need, count, 4))
		return -1;
	for (unsigned int i = 0; i < 4; i++)
		if (cpu_operand(need, p->c, 4))
			return -1;
	return cpu_operand(need, count, 4) || cpu_act_ok(need, &p->act) ? -1 : 0;
}

void vtacpu_batch_norm_f32(const struct vtacpu_batch_norm_f32 *p, void *const *io, void *scratch)
{
	const float *x = io[0], *scale = io[1], *bias = io[2], *mean = io[3], *variance = io[4];
	float *y = io[5];

	(void)scratch;
	for (size_t i = 0; i < (size_t)p->n * p->c; i++, x += p->plane, y += p->plane) {
		size_t c = i % p->c;
		float by = scale[c] / cpu_sqrt(variance[c] + p->epsilon);
		float m = mean[c], add = bias[c];

		for (uint32_t j = 0; j < p->plane; j++)
			y[j] = (x[j] - m) * by + add;
		cpu_act(&p->act, y, p->plane);
	}
}

int cpu_softmax_f32_need(const struct vtacpu_softmax_f32 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->outer, p->count, p->inner };
	uint64_t count = cpu_count(dims, 3);

	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(count, 8);
	need->in_place = 1;
	return cpu_operand(need, count, 4) || cpu_operand(need, count, 4) ? -1 : 0;
}

static void softmax(const float *x, float *y, size_t count, size_t step)
{
	float most = x[0], sum = 0;

	for (size_t i = 1; i < count; i++)
		most = x[i * step] > most ? x[i * step] : most;
	for (size_t i = 0; i < count; i++) {
		y[i * step] = cpu_exp(x[i * step] - most);
		sum += y[i * step];
	}
	for (size_t i = 0; i < count; i++)
		y[i * step] /= sum;
}

void vtacpu_softmax_f32(const struct vtacpu_softmax_f32 *p, void *const *io, void *scratch)
{
	const float *x = io[0];
	float *y = io[1];

	(void)scratch;
	for (uint32_t i = 0; i < p->outer; i++)
		for (uint32_t j = 0; j < p->inner; j++) {
			size_t at = (size_t)i * p->count * p->inner + j;

			softmax(x + at, y + at, p->count, p->inner);
		}
}

static uint64_t reduced(const struct vtacpu_reduce_f32 *p)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < p->rank; i++)
		count *= p->axes >> i & 1 ? 1 : p->dims[i];
	return count;
}

int cpu_reduce_f32_need(const struct vtacpu_reduce_f32 *p, struct vtacpu_need *need)
{
	uint64_t count = cpu_count(p->dims, p->rank);

	if (p->op >= VTACPU_REDUCE_OPS || p->rank > VTACPU_RANK_MAX || p->axes >> p->rank)
		return cpu_bad(need, "no such reduction, or an axis beyond the dimensions");
	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = count;
	return cpu_operand(need, count, 4) || cpu_operand(need, reduced(p), 4) ? -1 : 0;
}

static float reduce_two(uint32_t op, float a, float b)
{
	switch (op) {
	case VTACPU_REDUCE_MAX:
		return a > b ? a : b;
	case VTACPU_REDUCE_MIN:
		return a < b ? a : b;
	default:
		return a + b;
	}
}

/* For input values in their order, the output that each belongs to. */
struct place {
	uint32_t at[VTACPU_RANK_MAX];
	size_t step[VTACPU_RANK_MAX];	/* of the output; 0 along an axis */
	size_t y;
	bool first;			/* of all that belong to this output */
};

static void next(const struct vtacpu_reduce_f32 *p, struct place *o)
{
	o->first = true;
	for (uint32_t i = p->rank; i--;) {
		o->y += o->step[i];
		if (++o->at[i] < p->dims[i])
			break;
		o->y -= p->dims[i] * o->step[i];
		o->at[i] = 0;
	}
	for (uint32_t i = 0; i < p->rank; i++)
		if (p->axes >> i & 1 && o->at[i])
			o->first = false;
}

void vtacpu_reduce_f32(const struct vtacpu_reduce_f32 *p, void *const *io, void *scratch)
{
	size_t count = (size_t)cpu_count(p->dims, p->rank), outputs = (size_t)reduced(p);
	size_t each = count / outputs, step = 1;
	struct place o = { .first = true };
	const float *x = io[0];
	float *y = io[1];

	(void)scratch;
	for (uint32_t i = p->rank; i--;) {
		o.step[i] = p->axes >> i & 1 ? 0 : step;
		step *= p->axes >> i & 1 ? 1 : p->dims[i];
	}
	for (size_t i = 0; i < count; i++, next(p, &o))
		y[o.y] = o.first ? x[i] : reduce_two(p->op, y[o.y], x[i]);
	if (p->op == VTACPU_REDUCE_MEAN)
		for (size_t i = 0; i < outputs; i++)
			y[i] /= (float)each;
}

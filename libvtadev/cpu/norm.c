// SPDX-License-Identifier: Apache-2.0
/* Normalisation: by given statistics, by those of the values themselves, and softmax. */
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

int cpu_log_softmax_f32_need(const struct vtacpu_softmax_f32 *p, struct vtacpu_need *need)
{
	return cpu_softmax_f32_need(p, need);
}

static void softmax(const float *x, float *y, size_t count, size_t step, bool log)
{
	float most = x[0], sum = 0;

	for (size_t i = 1; i < count; i++)
		most = x[i * step] > most ? x[i * step] : most;
	for (size_t i = 0; i < count; i++) {
		float less = x[i * step] - most, e = cpu_exp(less);

		y[i * step] = log ? less : e;
		sum += e;
	}
	if (log)
		sum = cpu_log(sum);
	for (size_t i = 0; i < count; i++)
		y[i * step] = log ? y[i * step] - sum : y[i * step] / sum;
}

static void softmax_all(const struct vtacpu_softmax_f32 *p, const float *x, float *y, bool log)
{
	for (uint32_t i = 0; i < p->outer; i++)
		for (uint32_t j = 0; j < p->inner; j++) {
			size_t at = (size_t)i * p->count * p->inner + j;

			softmax(x + at, y + at, p->count, p->inner, log);
		}
}

void vtacpu_softmax_f32(const struct vtacpu_softmax_f32 *p, void *const *io, void *scratch)
{
	(void)scratch;
	softmax_all(p, io[0], io[1], false);
}

void vtacpu_log_softmax_f32(const struct vtacpu_softmax_f32 *p, void *const *io, void *scratch)
{
	(void)scratch;
	softmax_all(p, io[0], io[1], true);
}

int cpu_norm_f32_need(const struct vtacpu_norm_f32 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->rows, p->count };
	uint64_t count = cpu_count(dims, 2), own;

	if (!count || !p->period || !p->plane || p->count % p->plane)
		return cpu_bad(need, "a size is 0, or too large, or does not divide another");
	if (cpu_flag_ok(need, p->rms) || cpu_flag_ok(need, p->has_scale) ||
	    cpu_flag_ok(need, p->has_bias))
		return -1;
	own = cpu_mul(p->period, p->count / p->plane);
	need->work = cpu_mul(count, 4);
	need->in_place = 1;
	return cpu_operand(need, count, 4) || cpu_operand_if(need, p->has_scale, own, 4) ||
	       cpu_operand_if(need, p->has_bias, own, 4) || cpu_operand(need, count, 4) ? -1 : 0;
}

/* Sums in eight parts, which the compiler vectorises; their order is the same everywhere. */
#define PARTS	8u

static float sum_of(const float *x, size_t n, float less, bool square)
{
	float part[PARTS] = { 0 }, sum = 0;
	size_t i = 0;

	for (; i + PARTS <= n; i += PARTS)
		for (size_t j = 0; j < PARTS; j++) {
			float v = x[i + j] - less;

			part[j] += square ? v * v : v;
		}
	for (; i < n; i++)
		part[i % PARTS] += square ? (x[i] - less) * (x[i] - less) : x[i] - less;
	for (size_t j = 0; j < PARTS; j++)
		sum += part[j];
	return sum;
}

static void norm_plane(const float *x, float *y, size_t n, float mean, float by, float add)
{
	for (size_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) * by + add;
}

void vtacpu_norm_f32(const struct vtacpu_norm_f32 *p, void *const *io, void *scratch)
{
	const float *x = io[0], *scale = io[1], *bias = io[2];
	uint32_t planes = p->count / p->plane;
	float *y = io[3];

	(void)scratch;
	for (size_t r = 0; r < p->rows; r++, x += p->count, y += p->count) {
		float n = (float)p->count, mean = p->rms ? 0 : sum_of(x, p->count, 0, false) / n;
		float by = 1 / cpu_sqrt(sum_of(x, p->count, mean, true) / n + p->epsilon);
		size_t own = r % p->period * planes;

		for (size_t k = 0; k < planes && p->plane > 1; k++)
			norm_plane(x + k * p->plane, y + k * p->plane, p->plane, mean,
				   scale ? by * scale[own + k] : by, bias ? bias[own + k] : 0);
		for (size_t k = 0; k < planes && p->plane == 1; k++)
			y[k] = (x[k] - mean) * (scale ? by * scale[own + k] : by) +
			       (bias ? bias[own + k] : 0);
	}
}

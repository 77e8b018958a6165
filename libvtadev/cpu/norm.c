// SPDX-License-Identifier: Apache-2.0
/* Normalisation: by given statistics, by those of the values themselves, and softmax. */
#include "cpu_impl.h"

/* Values at a time, on the stack. */
#define CHUNK	256u

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

static const struct vtacpu_act square_root = { .kind = VTACPU_ACT_SQRT };

static void norm_plane(const float *x, float *y, size_t n, float mean, float by, float add)
{
	for (size_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) * by + add;
}

/* @n channels of a value each. */
static void norm_values(const float *x, float *y, size_t n, const float *mean, const float *by,
			const float *add)
{
	for (size_t i = 0; i < n; i++)
		y[i] = (x[i] - mean[i]) * by[i] + add[i];
}

void vtacpu_batch_norm_f32(const struct vtacpu_batch_norm_f32 *p, void *const *io, void *scratch)
{
	const float *x = io[0], *scale = io[1], *bias = io[2], *mean = io[3], *variance = io[4];
	size_t each = (size_t)p->c * p->plane;
	float *y = io[5], by[CHUNK];

	(void)scratch;
	for (uint32_t c = 0, n; c < p->c; c += n) {
		n = min_u32(CHUNK, p->c - c);
		for (uint32_t j = 0; j < n; j++)
			by[j] = variance[c + j] + p->epsilon;
		cpu_act(&square_root, by, n);
		for (uint32_t j = 0; j < n; j++)
			by[j] = scale[c + j] / by[j];
		for (uint32_t i = 0; i < p->n; i++) {
			size_t at = i * each + (size_t)c * p->plane;

			if (p->plane == 1)
				norm_values(x + at, y + at, n, mean + c, by, bias + c);
			for (uint32_t j = 0; p->plane > 1 && j < n; j++)
				norm_plane(x + at + (size_t)j * p->plane,
					   y + at + (size_t)j * p->plane, p->plane, mean[c + j],
					   by[j], bias[c + j]);
			cpu_act(&p->act, y + at, (size_t)n * p->plane);
		}
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

/* Sums in eight parts, which the compiler vectorises; their order is the same everywhere. */
#define PARTS	8u
static const struct vtacpu_act exponential = { .kind = VTACPU_ACT_EXP };

/* Add @n values, a multiple of PARTS unless they are the last. */
static void add_parts(float *part, const float *x, size_t n)
{
	size_t i = 0;

	for (; i + PARTS <= n; i += PARTS)
		for (size_t j = 0; j < PARTS; j++)
			part[j] += x[i + j];
	for (; i < n; i++)
		part[i % PARTS] += x[i];
}

static float sum_parts(const float *part)
{
	float sum = 0;

	for (size_t j = 0; j < PARTS; j++)
		sum += part[j];
	return sum;
}

static float greatest(const float *x, size_t n)
{
	float part[PARTS], most = x[0];
	size_t i = 0;

	for (size_t j = 0; j < PARTS; j++)
		part[j] = most;
	for (; i + PARTS <= n; i += PARTS)
		for (size_t j = 0; j < PARTS; j++)
			part[j] = x[i + j] > part[j] ? x[i + j] : part[j];
	for (; i < n; i++)
		most = x[i] > most ? x[i] : most;
	for (size_t j = 0; j < PARTS; j++)
		most = part[j] > most ? part[j] : most;
	return most;
}

static void softmax_row(const float *x, float *y, size_t count, bool log)
{
	float most = greatest(x, count), part[PARTS] = { 0 }, sum;

	for (size_t i = 0, n; i < count; i += n) {
		float e[CHUNK];

		n = count - i < CHUNK ? count - i : CHUNK;
		for (size_t j = 0; j < n; j++)
			e[j] = x[i + j] - most;
		if (log)
			memcpy(y + i, e, n * sizeof(*e));
		cpu_act(&exponential, e, n);
		add_parts(part, e, n);
		if (!log)
			memcpy(y + i, e, n * sizeof(*e));
	}
	sum = sum_parts(part);
	if (log)
		sum = cpu_log(sum);
	for (size_t i = 0; i < count; i++)
		y[i] = log ? y[i] - sum : y[i] / sum;
}

/* @n columns of @count values, @step apart from one to the next. */
static void softmax_columns(const float *x, float *y, size_t count, size_t step, size_t n, bool log)
{
	float most[CHUNK], sum[CHUNK], e[CHUNK];

	memcpy(most, x, n * sizeof(*most));
	memset(sum, 0, n * sizeof(*sum));
	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < n; j++)
			most[j] = x[i * step + j] > most[j] ? x[i * step + j] : most[j];
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < n; j++)
			e[j] = x[i * step + j] - most[j];
		if (log)
			memcpy(y + i * step, e, n * sizeof(*e));
		cpu_act(&exponential, e, n);
		for (size_t j = 0; j < n; j++)
			sum[j] += e[j];
		if (!log)
			memcpy(y + i * step, e, n * sizeof(*e));
	}
	for (size_t j = 0; log && j < n; j++)
		sum[j] = cpu_log(sum[j]);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < n; j++)
			y[i * step + j] = log ? y[i * step + j] - sum[j] : y[i * step + j] / sum[j];
}

static void softmax_all(const struct vtacpu_softmax_f32 *p, const float *x, float *y, bool log)
{
	size_t step = p->inner, all = (size_t)p->count * step;

	for (uint32_t i = 0; i < p->outer; i++, x += all, y += all) {
		if (step == 1)
			softmax_row(x, y, p->count, log);
		for (size_t j = 0; step > 1 && j < step; j += CHUNK)
			softmax_columns(x + j, y + j, p->count, step,
					step - j < CHUNK ? step - j : CHUNK, log);
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

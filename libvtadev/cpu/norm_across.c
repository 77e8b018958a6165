// SPDX-License-Identifier: Apache-2.0
/* Normalisation of each position by its own channels, which are a plane apart. */
#include "cpu_impl.h"
#include "vtaops.h"

/* Positions at a time, on the stack. */
#define CHUNK	256u

int cpu_norm_across_f32_need(const struct vtacpu_norm_f32 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->rows, p->count, p->plane };
	uint64_t count = cpu_count(dims, 3);

	if (!count || p->period != 1)
		return cpu_bad(need, "a size is 0, or too large, or the period is not 1");
	if (cpu_flag_ok(need, p->rms) || cpu_flag_ok(need, p->has_scale) ||
	    cpu_flag_ok(need, p->has_bias))
		return -1;
	need->work = cpu_mul(count, 4);
	need->in_place = 1;
	return cpu_operand(need, count, 4) || cpu_operand_if(need, p->has_scale, p->count, 4) ||
	       cpu_operand_if(need, p->has_bias, p->count, 4) || cpu_operand(need, count, 4) ?
	       -1 : 0;
}

/* @n positions. */
static void across(const struct vtacpu_norm_f32 *p, const float *x, const float *scale,
		   const float *bias, float *y, size_t n)
{
	float mean[CHUNK] = { 0 }, by[CHUNK] = { 0 };

	for (size_t c = 0; !p->rms && c < p->count; c++)
		for (size_t i = 0; i < n; i++)
			mean[i] += x[c * p->plane + i];
	for (size_t i = 0; i < n; i++)
		mean[i] /= (float)p->count;
	for (size_t c = 0; c < p->count; c++)
		for (size_t i = 0; i < n; i++) {
			float v = x[c * p->plane + i] - mean[i];

			by[i] += v * v;
		}
	for (size_t i = 0; i < n; i++)
		by[i] = 1 / cpu_sqrt(by[i] / (float)p->count + p->epsilon);
	for (size_t c = 0; c < p->count; c++)
		for (size_t i = 0; i < n; i++)
			y[c * p->plane + i] = (x[c * p->plane + i] - mean[i]) *
					      (scale ? by[i] * scale[c] : by[i]) +
					      (bias ? bias[c] : 0);
}

void vtacpu_norm_across_f32(const struct vtacpu_norm_f32 *p, void *const *io, void *scratch)
{
	size_t image = (size_t)p->count * p->plane;
	const float *x = io[0];
	float *y = io[3];

	(void)scratch;
	for (size_t r = 0; r < p->rows; r++)
		for (size_t at = 0; at < p->plane; at += CHUNK)
			across(p, x + r * image + at, io[1], io[2], y + r * image + at,
			       p->plane - at < CHUNK ? p->plane - at : CHUNK);
}

int cpu_norm_i8_need(const struct vtacpu_norm_i8 *p, struct vtacpu_need *need)
{
	const uint32_t dims[] = { p->rows, p->count, p->plane };
	uint64_t count = cpu_count(dims, 3);

	if (!count || p->count > VTAOPS_NORM_MAX)
		return cpu_bad(need, "a size is 0, or too large");
	if (p->zero < -128 || p->zero > 127 || p->epsilon > 1u << 28 || p->shift > 17)
		return cpu_bad(need, "the zero, epsilon or the shift is out of its range");
	if (cpu_flag_ok(need, p->rms))
		return -1;
	need->work = cpu_mul(count, 4);
	return cpu_operand(need, count, 1) || cpu_post_need(need, &p->post, false, p->count) ||
	       cpu_operand(need, count, 1) ? -1 : 0;
}

/* @n positions. */
static void across_i8(const struct vtacpu_norm_i8 *p, const struct vtaops_norm_form *form,
		      const struct cpu_post *post, const int8_t *x, int8_t *y, size_t n)
{
	int32_t factor[CHUNK], offset[CHUNK], acc[CHUNK] = { 0 }, squares[CHUNK] = { 0 };

	for (size_t c = 0; c < p->count; c++)
		for (size_t i = 0; i < n; i++) {
			int32_t v = x[c * p->plane + i];

			acc[i] += v;
			squares[i] += v * v;
		}
	for (size_t i = 0; i < n; i++)
		vtaops_norm_factors(form, acc[i], squares[i], &factor[i], &offset[i]);
	for (size_t c = 0; c < p->count; c++) {
		for (size_t i = 0; i < n; i++)
			acc[i] = vtaops_norm_value(form, x[c * p->plane + i], factor[i],
						   offset[i]);
		cpu_post_row(post, (uint32_t)c, acc, y + c * p->plane, n);
	}
}

void vtacpu_norm_i8(const struct vtacpu_norm_i8 *p, void *const *io, void *scratch)
{
	const struct vtaops_norm_form form = { .c = p->count, .rms = (int)p->rms, .zero = p->zero,
					       .epsilon = p->epsilon, .shift = p->shift };
	const struct cpu_post post = cpu_post(&p->post, io + 1, false);
	size_t image = (size_t)p->count * p->plane;
	const int8_t *x = io[0];
	int8_t *y = io[4];

	(void)scratch;
	for (size_t r = 0; r < p->rows; r++)
		for (size_t at = 0; at < p->plane; at += CHUNK)
			across_i8(p, &form, &post, x + r * image + at, y + r * image + at,
				  p->plane - at < CHUNK ? p->plane - at : CHUNK);
}

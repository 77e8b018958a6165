// SPDX-License-Identifier: Apache-2.0
/* Fourier transforms of parts of signals, by their definition, in double. */
#include "cpu_impl.h"

int cpu_dft_f32_need(const struct vtacpu_dft_f32 *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->batch, p->length, p->inner, p->complex ? 2 : 1 };
	const uint32_t y[] = { p->batch, p->frames, p->bins, p->inner, 2 };

	if (cpu_flag_ok(need, p->complex) || cpu_flag_ok(need, p->inverse) ||
	    cpu_flag_ok(need, p->has_window))
		return -1;
	if (!cpu_count(x, 4) || !cpu_count(y, 5) || !p->count || p->count > STEP_MAX)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(cpu_count(y, 5), p->count);
	return cpu_operand(need, cpu_count(x, 4), 4) ||
	       cpu_operand_if(need, p->has_window, p->count, 4) ||
	       cpu_operand(need, cpu_count(y, 5), 4) ||
	       cpu_scratch(need, 16ull * p->count) ? -1 : 0;
}

/* The sum over a frame's values, @step values apart, for bin @k; @turn has cosines, then sines. */
static void transform(const struct vtacpu_dft_f32 *p, const float *x, size_t step, size_t values,
		      const float *window, const double *turn, uint32_t k, float *y)
{
	double re = 0, im = 0;
	uint32_t at = 0;

	for (size_t t = 0; t < values; t++) {
		double w = window ? (double)window[t] : 1;
		double a = w * (double)x[t * step];
		double b = p->complex ? w * (double)x[t * step + 1] : 0;
		double c = turn[at], s = p->inverse ? turn[p->count + at] : -turn[p->count + at];

		re += a * c - b * s;
		im += a * s + b * c;
		at = (uint32_t)(((uint64_t)at + k) % p->count);
	}
	y[0] = (float)(p->inverse ? re / p->count : re);
	y[1] = (float)(p->inverse ? im / p->count : im);
}

void vtacpu_dft_f32(const struct vtacpu_dft_f32 *p, void *const *io, void *scratch)
{
	size_t each = p->complex ? 2 : 1, step = each * p->inner;
	double *turn = scratch;
	float *y = io[2];

	for (uint32_t i = 0; i < p->count; i++) {
		double angle = 6.28318530717958647692 * i / p->count;

		turn[i] = cpu_sine(angle, 1);
		turn[p->count + i] = cpu_sine(angle, 0);
	}
	for (size_t b = 0; b < p->batch; b++)
		for (size_t f = 0; f < p->frames; f++) {
			size_t first = f * p->step;
			size_t left = first < p->length ? p->length - first : 0;

			for (uint32_t k = 0; k < p->bins; k++)
				for (size_t i = 0; i < p->inner; i++, y += 2)
					transform(p, (const float *)io[0] +
						  (b * p->length + (left ? first : 0)) * step +
						  i * each, step, left < p->count ? left : p->count,
						  io[1], turn, k, y);
		}
}

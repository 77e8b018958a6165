// SPDX-License-Identifier: Apache-2.0
/*
 * Floats rounded to 256 steps of their range, and products of such a matrix with one of int8. The
 * rounded values, less their zero point, and the weights are made 16 bits wide, so that an output
 * is a product of two rows of integers.
 */
#include "cpu_impl.h"

#define STRIP	32u		/* rows of a at a time */
#define DEPTH	32768u		/* products of 9 and 8 bits whose sums are exact in 32 */

/* ---- the range ---- */

int cpu_step_f32_need(const struct vtacpu_step_f32 *p, struct vtacpu_need *need)
{
	need->work = p->count;
	return cpu_operand(need, p->count, 4) || cpu_operand(need, 2, 4) ? -1 : 0;
}

#define PARTS	16u		/* of the values, so that comparisons do not wait for each other */

CPU_BODY find_range_body(bool wide, const float *x, size_t n, float range[2])
{
	float lo[PARTS] = { 0 }, hi[PARTS] = { 0 };
	size_t i = 0;

	(void)wide;
	for (; i + PARTS <= n; i += PARTS)
		for (unsigned int k = 0; k < PARTS; k++) {
			lo[k] = x[i + k] < lo[k] ? x[i + k] : lo[k];
			hi[k] = x[i + k] > hi[k] ? x[i + k] : hi[k];
		}
	for (unsigned int k = 0; i < n; i++, k++) {
		lo[k] = x[i] < lo[k] ? x[i] : lo[k];
		hi[k] = x[i] > hi[k] ? x[i] : hi[k];
	}
	for (unsigned int k = 1; k < PARTS; k++) {
		lo[0] = lo[k] < lo[0] ? lo[k] : lo[0];
		hi[0] = hi[k] > hi[0] ? hi[k] : hi[0];
	}
	range[0] = lo[0];
	range[1] = hi[0];
}

static void find_range(const float *x, size_t n, float range[2]);
CPU_WIDE(find_range, (const float *x, size_t n, float range[2]), x, n, range)

/* 0 to 255; 0 for NaN */
CPU_INLINE float to_byte(float v)
{
	v = v > 0 ? v : 0;
	return v < 255 ? v : 255;
}

void vtacpu_step_f32(const struct vtacpu_step_f32 *p, void *const *io, void *scratch)
{
	float range[2], *y = io[1];

	(void)scratch;
	find_range(io[0], p->count, range);
	y[0] = (range[1] - range[0]) / 255;
	y[1] = cpu_round(to_byte(-range[0] / y[0]));
}

/* ---- rounding ---- */

/* The zero point of steps, which may be anything. */
static float zero_of(const float *steps)
{
	return cpu_round(to_byte(steps[1]));
}

/* The integer of x, less the zero point: -255 to 255; 0 if all values are 0 */
CPU_INLINE float round_value(float x, float step, float zero)
{
	return to_byte(cpu_round(x / step) + zero) - zero;
}

CPU_BODY round_floats_body(bool wide, float *y, const float *x, float step, float zero, size_t n)
{
	(void)wide;
	for (size_t i = 0; i < n; i++)
		y[i] = round_value(x[i], step, zero) * step;
}

static void round_floats(float *y, const float *x, float step, float zero, size_t n);
CPU_WIDE(round_floats, (float *y, const float *x, float step, float zero, size_t n), y, x, step,
	 zero, n)

int cpu_round_f32_need(const struct vtacpu_round_f32 *p, struct vtacpu_need *need)
{
	need->work = p->count;
	need->in_place = 1;
	return cpu_operand(need, p->count, 4) || cpu_operand(need, 2, 4) ||
	       cpu_operand(need, p->count, 4) ? -1 : 0;
}

void vtacpu_round_f32(const struct vtacpu_round_f32 *p, void *const *io, void *scratch)
{
	const float *step = io[1];

	(void)scratch;
	round_floats(io[2], io[0], step[0], zero_of(step), p->count);
}

/* ---- products ---- */

static uint64_t padded(uint64_t k)
{
	return (k + 15) & ~15ull;
}

int cpu_gemm_rounded_need(const struct vtacpu_gemm_rounded *p, struct vtacpu_need *need)
{
	uint64_t a = cpu_mul(p->m, p->k), w = cpu_mul(p->n, p->k), y = cpu_mul(p->m, p->n);

	if (!p->m || !p->n || !p->k || p->k > DEPTH)
		return cpu_bad(need, "a size is 0, or too large");
	if (p->scales != 1 && p->scales != p->n)
		return cpu_bad(need, "there are scales neither for all columns nor for each");
	if (cpu_flag_ok(need, p->has_bias) || cpu_operand(need, a, 4) || cpu_operand(need, 2, 4) ||
	    cpu_operand(need, w, 1) || cpu_operand(need, p->scales, 4) ||
	    cpu_operand(need, p->scales, 4) || cpu_operand_if(need, p->has_bias, p->n, 4) ||
	    cpu_operand(need, y, 4) || cpu_act_ok(need, &p->act))
		return -1;
	need->work = cpu_mul(y, p->k);
	return cpu_scratch(need, (STRIP + DOT_COLS) * 2 * padded(p->k));
}

/* The integers of a row, with zeros behind them; returns their sum. */
CPU_BODY round_row_body(bool wide, int16_t *restrict to, const float *restrict x, float step,
			float zero, uint32_t n, int32_t *sum)
{
	int32_t all = 0;

	(void)wide;
	for (uint32_t i = 0; i < n; i++) {
		int32_t v = (int32_t)round_value(x[i], step, zero);

		to[i] = (int16_t)v;
		all += v;
	}
	for (uint32_t i = n; i < padded(n); i++)
		to[i] = 0;
	*sum = all;
}

static void round_row(int16_t *restrict to, const float *restrict x, float step, float zero,
		      uint32_t n, int32_t *sum);
CPU_WIDE(round_row, (int16_t *restrict to, const float *restrict x, float step, float zero,
		     uint32_t n, int32_t *sum), to, x, step, zero, n, sum)

/* A row of weights, with zeros behind it. */
CPU_BODY widen_row_body(bool wide, int16_t *restrict to, const int8_t *restrict w, uint32_t n)
{
	(void)wide;
	for (uint32_t i = 0; i < n; i++)
		to[i] = w[i];
	for (uint32_t i = n; i < padded(n); i++)
		to[i] = 0;
}

static void widen_row(int16_t *restrict to, const int8_t *restrict w, uint32_t n);
CPU_WIDE(widen_row, (int16_t *restrict to, const int8_t *restrict w, uint32_t n), to, w, n)

/* Rows of a as integers, and the sums of each. */
struct strip {
	const int16_t *a;
	int32_t sums[STRIP];
	uint32_t rows;
	float step;
};

/* @n columns from @j on, whose weights are @w. */
static void multiply_columns(const struct vtacpu_gemm_rounded *p, void *const *io,
			     const struct strip *s, const int16_t *w, uint32_t j, uint32_t n,
			     float *y)
{
	const float *scales = io[3], *bias = io[5];
	const int32_t *zeros = io[4];
	size_t k = (size_t)padded(p->k);

	for (uint32_t r = 0; r < s->rows; r += DOT_ROWS) {
		int32_t sums[DOT_ROWS * DOT_COLS];

		cpu_dot_i16(sums, s->a + r * k, w, k);
		for (uint32_t i = 0; i < DOT_ROWS * DOT_COLS; i++) {
			uint32_t row = r + i / DOT_COLS, col = j + i % DOT_COLS;
			uint32_t scale = p->scales > 1 ? col : 0;
			float v;

			if (row >= s->rows || col >= j + n)
				continue;
			v = (float)(int32_t)((uint32_t)sums[i] - (uint32_t)zeros[scale] *
					     (uint32_t)s->sums[row]);
			v *= s->step * scales[scale];
			y[(size_t)row * p->n + col] = bias ? v + bias[col] : v;
		}
	}
}

void vtacpu_gemm_rounded(const struct vtacpu_gemm_rounded *p, void *const *io, void *scratch)
{
	const float *x = io[0], *step = io[1];
	size_t k = (size_t)padded(p->k);
	const int8_t *from = io[2];
	int16_t *a = scratch, *w = a + STRIP * k;
	float *y = io[6], zero = zero_of(step);

	for (uint32_t i = 0; i < p->m; i += STRIP) {
		struct strip s = { .a = a, .rows = min_u32(STRIP, p->m - i), .step = step[0] };

		for (uint32_t r = 0; r < s.rows; r++, x += p->k)
			round_row(a + r * k, x, step[0], zero, p->k, &s.sums[r]);
		if (s.rows % DOT_ROWS)
			memset(a + s.rows * k, 0, k * sizeof(*a));
		for (uint32_t j = 0; j < p->n; j += DOT_COLS) {
			uint32_t n = min_u32(DOT_COLS, p->n - j);

			for (uint32_t c = 0; c < DOT_COLS; c++) {
				size_t col = j + min_u32(c, n - 1);

				widen_row(w + c * k, from + col * p->k, p->k);
			}
			multiply_columns(p, io, &s, w, j, n, y);
		}
		for (uint32_t r = 0; r < s.rows; r++)
			cpu_act(&p->act, y + (size_t)r * p->n, p->n);
		y += (size_t)s.rows * p->n;
	}
}

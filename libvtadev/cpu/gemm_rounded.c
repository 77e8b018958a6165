// SPDX-License-Identifier: Apache-2.0
/*
 * Floats rounded to 256 steps of their range, and products of such a matrix with one of int8. The
 * rounded values, less their zero point, and the weights are made 16 bits wide, so that an output
 * is a product of two rows of integers. A processor that multiplies bytes has the rounded values as
 * bytes, and the product of a row of zero points is taken from the others.
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

/* A row of 16 bits, and one of bytes */
static uint64_t padded(uint64_t k)
{
	return (k + 15) & ~15ull;
}

static uint64_t padded_bytes(uint64_t k)
{
	return (k + 63) & ~63ull;
}

int cpu_gemm_rounded_need(const struct vtacpu_gemm_rounded *p, struct vtacpu_need *need)
{
	uint64_t a = cpu_mul(p->m, p->k), w = cpu_mul(p->n, p->k), y = cpu_mul(p->m, p->n);
	uint64_t words, bytes;

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
	words = (STRIP + DOT_COLS) * 2 * padded(p->k);
	bytes = (DOT_ROWS + STRIP + DOT_COLS) * padded_bytes(p->k);
	return cpu_scratch(need, words > bytes ? words : bytes);
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

/* ---- bytes, where the processor multiplies these ---- */

/* The bytes of a row, with zeros behind them; returns the sum of its integers. */
CPU_BODY round_bytes_body(bool wide, uint8_t *restrict to, const float *restrict x, float step,
			  float zero, uint32_t n, int32_t *sum)
{
	uint32_t all = 0;

	(void)wide;
	for (uint32_t i = 0; i < n; i++) {
		int32_t v = (int32_t)(round_value(x[i], step, zero) + zero);

		to[i] = (uint8_t)v;
		all += (uint32_t)v;
	}
	memset(to + n, 0, padded_bytes(n) - n);
	*sum = (int32_t)(all - n * (uint32_t)zero);
}

static void round_bytes(uint8_t *restrict to, const float *restrict x, float step, float zero,
			uint32_t n, int32_t *sum);
CPU_WIDE(round_bytes, (uint8_t *restrict to, const float *restrict x, float step, float zero,
		       uint32_t n, int32_t *sum), to, x, step, zero, n, sum)

#ifdef VTACPU_AVX2
static bool has_bytes(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512vnni");
}

#define BYTES_TARGET	__attribute__((target("avx512bw,avx512vl,avx512vnni")))
#else
static bool has_bytes(void)
{
	return false;
}

#define BYTES_TARGET
#endif

/* As cpu_dot_i16(); rows of @b are @step bytes apart. */
static BYTES_TARGET void dot_bytes(int32_t *out, const uint8_t *a, const int8_t *b, size_t step,
				   size_t k)
{
	const uint8_t *a1 = a + k;
	const int8_t *b1 = b + step, *b2 = b1 + step, *b3 = b2 + step;
	int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;

	for (size_t l = 0; l < k; l++) {
		s0 += a[l] * b[l];
		s1 += a[l] * b1[l];
		s2 += a[l] * b2[l];
		s3 += a[l] * b3[l];
		t0 += a1[l] * b[l];
		t1 += a1[l] * b1[l];
		t2 += a1[l] * b2[l];
		t3 += a1[l] * b3[l];
	}
	out[0] = s0;
	out[1] = s1;
	out[2] = s2;
	out[3] = s3;
	out[4] = t0;
	out[5] = t1;
	out[6] = t2;
	out[7] = t3;
}

/* ---- strips ---- */

#define TILE	32u		/* columns at a time */

/* Rows of a as integers, or as bytes behind rows of zero points; the sums of each row. */
struct strip {
	int16_t *a, *w;		/* w: of DOT_COLS columns */
	uint8_t *bytes;		/* NULL without these */
	int8_t *w_bytes;
	uint32_t rows;
	float step;
	int32_t sums[STRIP];
	int32_t tile[STRIP][TILE];
};

/* The products of DOT_COLS columns from @j on, of which @n are there, for the tile's @at. */
static void multiply_words(const struct vtacpu_gemm_rounded *p, const int8_t *w, struct strip *s,
			   uint32_t j, uint32_t n, uint32_t at)
{
	size_t k = (size_t)padded(p->k);
	int32_t sums[DOT_ROWS * DOT_COLS];

	for (uint32_t c = 0; c < DOT_COLS; c++)
		widen_row(s->w + c * k, w + (size_t)(j + min_u32(c, n - 1)) * p->k, p->k);
	for (uint32_t r = 0; r < s->rows; r += DOT_ROWS) {
		cpu_dot_i16(sums, s->a + r * k, s->w, k);
		for (uint32_t i = 0; i < DOT_ROWS; i++)
			memcpy(&s->tile[r + i][at], sums + i * DOT_COLS, sizeof(sums) / DOT_ROWS);
	}
}

/* Likewise. Weights are read beyond a column where others follow. */
static void multiply_bytes(const struct vtacpu_gemm_rounded *p, const int8_t *w, struct strip *s,
			   uint32_t j, uint32_t n, uint32_t at)
{
	size_t k = (size_t)padded_bytes(p->k), step = p->k;
	int32_t zeros[DOT_ROWS * DOT_COLS], sums[DOT_ROWS * DOT_COLS];

	if (n == DOT_COLS && (size_t)(p->n - j - DOT_COLS) * p->k >= k - p->k) {
		w += (size_t)j * p->k;
	} else {
		for (uint32_t c = 0; c < DOT_COLS; c++) {
			const int8_t *from = w + (size_t)(j + min_u32(c, n - 1)) * p->k;

			memcpy(s->w_bytes + c * k, from, p->k);
			memset(s->w_bytes + c * k + p->k, 0, k - p->k);
		}
		w = s->w_bytes;
		step = k;
	}
	dot_bytes(zeros, s->bytes, w, step, k);
	for (uint32_t r = 0; r < s->rows; r += DOT_ROWS) {
		dot_bytes(sums, s->bytes + (DOT_ROWS + r) * k, w, step, k);
		for (uint32_t i = 0; i < DOT_ROWS * DOT_COLS; i++)
			s->tile[r + i / DOT_COLS][at + i % DOT_COLS] = sums[i] - zeros[i];
	}
}

/* @n sums of a row as floats, from column @j on; @sum is that of the row of a. */
CPU_BODY finish_tile_body(bool wide, const struct vtacpu_gemm_rounded *p, void *const *io,
			  float step, uint32_t sum, const int32_t *restrict sums, uint32_t j,
			  uint32_t n, float *restrict y)
{
	const float *scales = io[3], *bias = io[5];
	const int32_t *zeros = io[4];

	(void)wide;
	if (p->scales > 1) {
		scales += j;
		zeros += j;
		for (uint32_t i = 0; i < n; i++)
			y[i] = (float)(int32_t)((uint32_t)sums[i] - (uint32_t)zeros[i] * sum) *
			       (step * scales[i]);
	} else {
		for (uint32_t i = 0; i < n; i++)
			y[i] = (float)(int32_t)((uint32_t)sums[i] - (uint32_t)zeros[0] * sum) *
			       (step * scales[0]);
	}
	for (uint32_t i = 0; bias && i < n; i++)
		y[i] += bias[j + i];
}

static void finish_tile(const struct vtacpu_gemm_rounded *p, void *const *io, float step,
			uint32_t sum, const int32_t *restrict sums, uint32_t j, uint32_t n,
			float *restrict y);
CPU_WIDE(finish_tile, (const struct vtacpu_gemm_rounded *p, void *const *io, float step,
		       uint32_t sum, const int32_t *restrict sums, uint32_t j, uint32_t n,
		       float *restrict y), p, io, step, sum, sums, j, n, y)

/* The integers of the strip's rows, which are at @x. */
static void round_strip(const struct vtacpu_gemm_rounded *p, struct strip *s, const float *x,
			float zero)
{
	size_t k = (size_t)(s->bytes ? padded_bytes(p->k) : padded(p->k));

	if (s->bytes) {
		uint8_t *row = s->bytes + DOT_ROWS * k;

		for (uint32_t r = 0; r < s->rows; r++, x += p->k, row += k)
			round_bytes(row, x, s->step, zero, p->k, &s->sums[r]);
		if (s->rows % DOT_ROWS)
			memset(row, 0, k);
	} else {
		int16_t *row = s->a;

		for (uint32_t r = 0; r < s->rows; r++, x += p->k, row += k)
			round_row(row, x, s->step, zero, p->k, &s->sums[r]);
		if (s->rows % DOT_ROWS)
			memset(row, 0, k * sizeof(*row));
	}
}

/* Divide the scratch among the operands, and fill the rows of zero points. */
static void prepare_strip(const struct vtacpu_gemm_rounded *p, struct strip *s, void *scratch,
			  float zero)
{
	size_t k = (size_t)padded_bytes(p->k);

	s->a = scratch;
	s->w = s->a + STRIP * padded(p->k);
	s->bytes = has_bytes() && p->k >= k / 2 ? scratch : NULL;
	if (!s->bytes)
		return;
	s->w_bytes = (int8_t *)s->bytes + (DOT_ROWS + STRIP) * k;
	memset(s->bytes, 0, DOT_ROWS * k);
	for (uint32_t r = 0; r < DOT_ROWS; r++)
		memset(s->bytes + r * k, (uint8_t)zero, p->k);
}

void vtacpu_gemm_rounded(const struct vtacpu_gemm_rounded *p, void *const *io, void *scratch)
{
	const float *x = io[0], *step = io[1];
	const int8_t *w = io[2];
	float *y = io[6], zero = zero_of(step);
	struct strip s;

	s.step = step[0];
	prepare_strip(p, &s, scratch, zero);
	for (uint32_t i = 0; i < p->m; i += STRIP) {
		s.rows = min_u32(STRIP, p->m - i);
		round_strip(p, &s, x + (size_t)i * p->k, zero);
		for (uint32_t j = 0; j < p->n; j += TILE) {
			uint32_t n = min_u32(TILE, p->n - j);

			for (uint32_t c = 0; c < n; c += DOT_COLS)
				(s.bytes ? multiply_bytes : multiply_words)
					(p, w, &s, j + c, min_u32(DOT_COLS, n - c), c);
			for (uint32_t r = 0; r < s.rows; r++)
				finish_tile(p, io, s.step, (uint32_t)s.sums[r], s.tile[r], j, n,
					    y + (size_t)r * p->n + j);
		}
		for (uint32_t r = 0; r < s.rows; r++)
			cpu_act(&p->act, y + (size_t)r * p->n, p->n);
		y += (size_t)s.rows * p->n;
	}
}

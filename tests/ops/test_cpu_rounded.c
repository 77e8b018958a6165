// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values rounded to 256 steps of their range, and their products with integers, against the
 * formulas of ONNX's DynamicQuantizeLinear and plain loops, to the bit.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "calls.h"

/* The integer of @x less the zero point. */
static int32_t quantized(float x, const float *steps)
{
	float q = rintf(x / steps[0]) + steps[1];

	q = fminf(fmaxf(q, 0), 255);
	return (int32_t)q - (int32_t)steps[1];
}

static void find_steps(const float *x, uint32_t n, float *steps)
{
	struct vtacpu_step_f32 p = { n };
	struct vtacpu_need need;
	void *io[] = { (void *)(uintptr_t)x, steps };

	assert_int_equal(vtacpu_need(VTACPU_STEP_F32, &p, &need), 0);
	vtacpu_step_f32(&p, io, NULL);
}

/* Of one sign or both, and lengths around those of vectors. */
TEST(steps_are_those_of_the_range_and_0)
{
	for (uint32_t round = 0; round < 300; round++) {
		uint32_t n = 1 + rnd(round < 100 ? 40 : 3000);
		float *x = malloc(n * sizeof(*x)), steps[2], lo = 0, hi = 0;
		float shift = round % 3 ? (round % 3 == 1 ? 3.0f : -3.0f) : 0;

		for (uint32_t i = 0; i < n; i++) {
			x[i] = rnd_float() + shift;
			lo = fminf(lo, x[i]);
			hi = fmaxf(hi, x[i]);
		}
		find_steps(x, n, steps);
		assert_true(steps[0] == (hi - lo) / 255);
		assert_true(steps[1] == rintf(fminf(fmaxf(-lo / steps[0], 0), 255)));
		free(x);
	}
}

TEST(rounding_goes_to_the_nearest_step)
{
	for (uint32_t round = 0; round < 200; round++) {
		struct vtacpu_round_f32 p = { 1 + rnd(900) };
		struct call c;
		float *x, *y;

		prepare(&c, VTACPU_ROUND_F32, &p, 1);
		x = c.io[0];
		y = c.io[2];
		find_steps(x, p.count, c.io[1]);
		run(&c, VTACPU_ROUND_F32, &p);
		for (uint32_t i = 0; i < p.count; i++) {
			const float *steps = c.io[1];

			assert_true(y[i] == (float)quantized(x[i], steps) * steps[0]);
			assert_true(fabsf(y[i] - x[i]) <= steps[0] * 1.01f);
		}
		drop(&c);
	}
}

TEST(zeros_stay_zeros)
{
	struct vtacpu_round_f32 p = { 3 };
	float x[3] = { 0 }, steps[2], y[3] = { 1, 1, 1 };
	void *io[] = { x, steps, y };

	find_steps(x, 3, steps);
	assert_true(steps[0] == 0 && steps[1] == 0);
	vtacpu_round_f32(&p, io, NULL);
	for (unsigned int i = 0; i < 3; i++)
		assert_true(y[i] == 0);
}

/* Values that are no numbers change no others; nor do steps that no values have. */
TEST(odd_values_are_harmless)
{
	const float odd[] = { NAN, INFINITY, -INFINITY, 3e38f, -3e38f, FLT_MIN / 8, 0, -1 };
	struct vtacpu_round_f32 p = { 8 };
	struct vtacpu_gemm_rounded gemm = { .m = 1, .n = 1, .k = 8, .scales = 1 };
	const float some[] = { NAN, 1, -3, NAN };
	float steps[2], y[8], scale = 1;
	const int8_t w[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	int32_t zero = INT32_MIN;
	_Alignas(64) uint8_t scratch[8192];

	find_steps(some, 4, steps);
	assert_true(steps[0] == 4.0f / 255 && steps[1] == 191);
	for (unsigned int i = 0; i < 8; i++)
		for (unsigned int k = 0; k < 8; k++) {
			void *io[] = { (void *)(uintptr_t)odd, steps, y };
			void *of[] = { (void *)(uintptr_t)odd, steps, (void *)(uintptr_t)w, &scale,
				       &zero, NULL, y };

			steps[0] = odd[i];
			steps[1] = odd[k];
			vtacpu_round_f32(&p, io, NULL);
			vtacpu_gemm_rounded(&gemm, of, scratch);
		}
}

static void fill_gemm(struct call *c, const struct vtacpu_gemm_rounded *p, bool extreme)
{
	int32_t *zeros = c->io[4];
	int8_t *w = c->io[2];
	float *x = c->io[0];

	for (uint32_t i = 0; i < p->scales; i++)
		zeros[i] = extreme ? (rnd(2) ? 127 : -128) : (int32_t)rnd(256) - 128;
	for (uint32_t i = 0; extreme && i < p->n * p->k; i++)
		w[i] = zeros[p->scales > 1 ? i / p->k : 0] == 127 ? -128 : 127;
	for (uint32_t i = 0; extreme && i < p->m * p->k; i++)
		x[i] = i ? 2 : 0;
	find_steps(x, p->m * p->k, c->io[1]);
}

static void check_gemm(const struct vtacpu_gemm_rounded *p, bool extreme)
{
	const float *x, *steps, *scales, *bias;
	const int32_t *zeros;
	const int8_t *w;
	struct call c;

	prepare(&c, VTACPU_GEMM_ROUNDED, p, 1);
	fill_gemm(&c, p, extreme);
	run(&c, VTACPU_GEMM_ROUNDED, p);
	x = c.io[0];
	steps = c.io[1];
	w = c.io[2];
	scales = c.io[3];
	zeros = c.io[4];
	bias = c.io[5];
	for (size_t at = 0; at < (size_t)p->m * p->n; at += extreme ? 1 : 1 + rnd(4)) {
		size_t i = at / p->n, j = at % p->n, s = p->scales > 1 ? j : 0;
		int64_t sum = 0;
		float want;

		for (size_t l = 0; l < p->k; l++)
			sum += quantized(x[i * p->k + l], steps) * (w[j * p->k + l] - zeros[s]);
		assert_true(sum >= INT32_MIN && sum <= INT32_MAX);
		want = (float)sum * (steps[0] * scales[s]) + (bias ? bias[j] : 0);
		if (p->act.kind == VTACPU_ACT_CLIP)
			want = want < 0 ? 0 : want;
		assert_true(((float *)c.io[6])[at] == want);
	}
	drop(&c);
}

/* Rows, columns and products around whole blocks, strips and vectors. */
TEST(products_are_exact)
{
	for (uint32_t round = 0; round < 250; round++) {
		struct vtacpu_gemm_rounded p = {
			.m = 1 + rnd(round % 5 ? 9 : 80), .n = 1 + rnd(20), .k = 1 + rnd(70),
			.has_bias = rnd(2),
		};

		if (rnd(2))
			p.act = (struct vtacpu_act) { VTACPU_ACT_CLIP, 0, INFINITY };
		p.scales = rnd(2) ? p.n : 1;
		check_gemm(&p, false);
	}
}

/* As many products of 255 by 255 as a sum of 32 bits holds, of both signs. */
TEST(extremes_do_not_overflow)
{
	struct vtacpu_gemm_rounded p = { .m = 2, .n = 7, .k = 32768, .scales = 7 };
	struct vtacpu_need need;

	check_gemm(&p, true);
	p.k++;
	assert_int_equal(vtacpu_need(VTACPU_GEMM_ROUNDED, &p, &need), -1);
	assert_string_equal(need.why, "a size is 0, or too large");
	p.k = 4;
	p.scales = 2;
	assert_int_equal(vtacpu_need(VTACPU_GEMM_ROUNDED, &p, &need), -1);
}

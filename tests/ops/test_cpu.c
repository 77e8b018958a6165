// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernels for the CPU that make no products, against the formulas of vtacpu.h; and
 * parameters that may be anything.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "calls.h"

#define ROUNDS	150u

/* Over the whole range of floats that matters, and at what is special. */
TEST(activations)
{
	static const float special[] = { 0, -0.0f, INFINITY, -INFINITY, FLT_MIN, -FLT_MIN, 88.7f,
					 -87.4f, 104, -104, 8388607.5f, -8388607.5f, 0.5f, 1.5f,
					 -2.5f, 0.25f, FLT_MIN / 64 };

	for (uint32_t kind = 0; kind < VTACPU_ACTS; kind++) {
		struct vtacpu_unary_f32 p = { .count = 4000, .act = { kind, 0.2f, 0.5f } };
		float *x;
		struct call c;

		prepare(&c, VTACPU_UNARY_F32, &p, 1);
		x = c.io[0];
		for (uint32_t i = 0; i < p.count; i++)
			x[i] = i < 17 ? special[i] : rnd_float() * (i % 3 ? 20 : 1);
		run(&c, VTACPU_UNARY_F32, &p);
		for (uint32_t i = 0; i < p.count; i++) {
			double want = (float)act(&p.act, x[i]), got = ((float *)c.io[1])[i];

			if (isnan(want) || isinf(want))
				assert_true(isnan(want) ? isnan(got) : got == want);
			else if (fabs(got - want) > 0.0000004 * fabs(want) +
				 (kind == VTACPU_ACT_EXP ? FLT_MIN / 4096 : 0.0000002))
				fail_msg("activation %u of %.9g: %.9g is not %.9g", kind, x[i], got,
					 want);
		}
		drop(&c);
	}
}

static double step_of(float y)
{
	return (double)nextafterf(fabsf(y), INFINITY) - (double)fabsf(y);
}

/* The errors that vtacpu.h states, over floats of all sizes. */
TEST(errors_of_functions_are_within_their_bounds)
{
	static const struct {
		uint32_t kind;
		double steps, absolute;	/* one of them is enough */
	} bounds[] = {
		{ VTACPU_ACT_EXP, 1.5, FLT_MIN }, { VTACPU_ACT_SIGMOID, 2.5, FLT_MIN },
		{ VTACPU_ACT_TANH, 3, 0 }, { VTACPU_ACT_ERF, 1.5, 0 }, { VTACPU_ACT_SQRT, 0.5, 0 },
		{ VTACPU_ACT_GELU, 2, 0.0000002 }, { VTACPU_ACT_GELU_TANH, 2, 0.0000002 },
		{ VTACPU_ACT_MISH, 2, 0.0000002 },
	};

	for (size_t k = 0; k < sizeof(bounds) / sizeof(*bounds); k++) {
		struct vtacpu_unary_f32 p = { .count = 40000, .act = { bounds[k].kind, 0, 0 } };
		float *x, *y;
		struct call c;

		prepare(&c, VTACPU_UNARY_F32, &p, 0);
		x = c.io[0];
		y = c.io[1];
		for (uint32_t i = 0; i < p.count; i++)
			/* Of any exponent, and many where functions bend. */
			while (isnan(x[i]) || isinf(x[i]) || (i % 2 && fabsf(x[i]) > 10)) {
				uint32_t bits = rnd(0x80000000u) | rnd(2) << 31;

				memcpy(&x[i], &bits, sizeof(bits));
				if (i % 2)
					x[i] = rnd_float() * 5;
			}
		run(&c, VTACPU_UNARY_F32, &p);
		for (uint32_t i = 0; i < p.count; i++) {
			double want = act(&p.act, x[i]), error = fabs(y[i] - want);

			if (bounds[k].kind == VTACPU_ACT_SQRT && x[i] < 0) {
				assert_true(isnan(y[i]));
				continue;
			}
			/* Both sides of the greatest float are right. */
			if (isinf((float)want) || isinf(y[i]))
				assert_true(fabs(want) > 0.9999 * FLT_MAX &&
					    fabsf(y[i]) > 0.9999f * FLT_MAX);
			else if (!(error <= bounds[k].absolute ||
				   error <= (bounds[k].steps + 0.01) * step_of((float)want)))
				fail_msg("function %u of %.9g: %.9g is not %.9g", bounds[k].kind,
					 x[i], y[i], want);
		}
		drop(&c);
	}
}

TEST(rescale_and_table)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_rescale_i8 p = { .outer = 1 + rnd(3), .channels = 1 + rnd(5),
					       .inner = 1 + rnd(600),
					       .x_type = VTACPU_I8 + rnd(3),
					       .y_type = VTACPU_I8 + rnd(2) };
		struct vtacpu_table_i8 t = { .count = 1 + rnd(500) };
		struct call c;

		p.post = rnd_post(p.y_type == VTACPU_U8, 1);
		prepare(&c, VTACPU_RESCALE_I8, &p, 0);
		rnd_vectors(&c, 1);
		for (size_t j = 0; p.x_type == VTACPU_I32 && j < c.need.bytes[0] / 4; j++)
			((int32_t *)c.io[0])[j] /= 1024;
		run(&c, VTACPU_RESCALE_I8, &p);
		for (size_t j = 0; j < c.need.bytes[4]; j++) {
			int32_t x = p.x_type == VTACPU_I32 ? ((int32_t *)c.io[0])[j] :
				    byte(c.io[0], j, p.x_type == VTACPU_U8);

			assert_int_equal(byte(c.io[4], j, p.y_type == VTACPU_U8),
					 post(&p.post, c.io + 1,
					      (uint32_t)(j / p.inner % p.channels), x));
		}
		drop(&c);
		prepare(&c, VTACPU_TABLE_I8, &t, 0);
		run(&c, VTACPU_TABLE_I8, &t);
		for (uint32_t j = 0; j < t.count; j++)
			assert_int_equal(((uint8_t *)c.io[2])[j],
					 ((uint8_t *)c.io[1])[((uint8_t *)c.io[0])[j]]);
		drop(&c);
	}
}

/* ---- many values ---- */

TEST(batch_norm_and_softmax)
{
	const struct vtacpu_softmax_f32 large = { 1, 3, 1 };
	struct call far;

	/* The logarithm of a softmax keeps its digits where values are large. */
	prepare(&far, VTACPU_LOG_SOFTMAX_F32, &large, 1);
	memcpy(far.io[0], (float[]) { 10000, 10001, 10002 }, 12);
	run(&far, VTACPU_LOG_SOFTMAX_F32, &large);
	same_float(((float *)far.io[1])[0], -2.40760596, 0.1);
	same_float(((float *)far.io[1])[2], -0.40760596, 0.1);
	drop(&far);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_batch_norm_f32 p = { .n = 1 + rnd(2),
						   .c = 1 + rnd(rnd(2) ? 5 : 600),
						   .plane = rnd(2) ? 1 : 1 + rnd(50),
						   .epsilon = 0.00001f, .act = rnd_act() };
		struct vtacpu_softmax_f32 q = { .outer = 1 + rnd(3), .count = 1 + rnd(40),
						.inner = 1 + rnd(4) };
		struct call c;

		prepare(&c, VTACPU_BATCH_NORM_F32, &p, 1);
		for (uint32_t j = 0; j < p.c; j++)
			((float *)c.io[4])[j] = 0.1f + (float)rnd(100);
		run(&c, VTACPU_BATCH_NORM_F32, &p);
		for (size_t j = 0; j < c.need.bytes[5] / 4; j++) {
			size_t k = j / p.plane % p.c;
			double v = ((float *)c.io[0])[j] - ((float *)c.io[3])[k];

			v /= sqrt(((float *)c.io[4])[k] + (double)p.epsilon);
			v = v * ((float *)c.io[1])[k] + ((float *)c.io[2])[k];
			same_float(((float *)c.io[5])[j], act(&p.act, v), 4);
		}
		drop(&c);
		prepare(&c, VTACPU_SOFTMAX_F32, &q, 1);
		run(&c, VTACPU_SOFTMAX_F32, &q);
		for (uint32_t o = 0; o < q.outer * q.inner; o++) {
			size_t at = (size_t)(o / q.inner) * q.count * q.inner + o % q.inner;
			double sum = 0;

			for (uint32_t j = 0; j < q.count; j++)
				sum += exp(((float *)c.io[0])[at + j * q.inner]);
			for (uint32_t j = 0; j < q.count; j++)
				same_float(((float *)c.io[1])[at + j * q.inner],
					   exp(((float *)c.io[0])[at + j * q.inner]) / sum, 0.1);
		}
		drop(&c);
	}
}

static size_t count_of(const uint32_t *dims, uint32_t rank)
{
	size_t n = 1;

	while (rank--)
		n *= dims[rank];
	return n;
}

TEST(reductions)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_reduce_f32 p = { .op = rnd(VTACPU_REDUCE_OPS), .rank = 1 + rnd(4) };
		size_t count, outputs = 1;
		double *want;
		uint32_t *n;
		struct call c;

		p.axes = rnd(1u << p.rank);
		for (uint32_t d = 0; d < p.rank; d++) {
			p.dims[d] = 1 + rnd(6);
			outputs *= p.axes >> d & 1 ? 1 : p.dims[d];
		}
		count = count_of(p.dims, p.rank);
		prepare(&c, VTACPU_REDUCE_F32, &p, 1);
		run(&c, VTACPU_REDUCE_F32, &p);
		want = calloc(outputs, sizeof(*want));
		n = calloc(outputs, sizeof(*n));
		for (size_t j = 0; j < count; j++) {
			size_t rest = j, at = 0, step = 1;
			double x = ((float *)c.io[0])[j], *w;

			for (uint32_t d = p.rank; d--; rest /= p.dims[d])
				if (!(p.axes >> d & 1)) {
					at += rest % p.dims[d] * step;
					step *= p.dims[d];
				}
			w = &want[at];
			x = p.op == VTACPU_REDUCE_L1 ? fabs(x) :
			    p.op == VTACPU_REDUCE_SUM_SQUARE ? x * x :
			    p.op == VTACPU_REDUCE_LOG_SUM_EXP ? exp(x) : x;
			if (!n[at]++)
				*w = x;
			else if (p.op == VTACPU_REDUCE_PROD)
				*w *= x;
			else if (p.op == VTACPU_REDUCE_MAX || p.op == VTACPU_REDUCE_MIN)
				*w = p.op == VTACPU_REDUCE_MAX ? fmax(*w, x) : fmin(*w, x);
			else
				*w += x;
		}
		for (size_t j = 0; j < outputs; j++)
			same_float(((float *)c.io[1])[j],
				   p.op == VTACPU_REDUCE_MEAN ? want[j] / n[j] :
				   p.op == VTACPU_REDUCE_LOG_SUM_EXP ? log(want[j]) : want[j], 4);
		free(want);
		free(n);
		drop(&c);
	}
}

/* ---- pictures ---- */

/* The examples of ONNX's documentation, and corners that stay where they are. */
TEST(resizes)
{
	static const struct {
		struct vtacpu_resize p;
		float want[16];
	} cases[] = {
		{ { VTACPU_F32, 1, 2, 2, 4, 4, VTACPU_LINEAR, VTACPU_HALF_PIXEL, 0, 2, 2 },
		  { 1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f, 3.25f, 3.5f,
		    3, 3.25f, 3.75f, 4 } },
		{ { VTACPU_F32, 1, 2, 2, 4, 4, VTACPU_LINEAR, VTACPU_ALIGN_CORNERS, 0, 2, 2 },
		  { 1, 1.33333333f, 1.66666667f, 2, 1.66666667f, 2, 2.33333333f, 2.66666667f,
		    2.33333333f, 2.66666667f, 3, 3.33333333f, 3, 3.33333333f, 3.66666667f, 4 } },
		{ { VTACPU_F32, 1, 2, 2, 4, 4, VTACPU_LINEAR, VTACPU_ASYMMETRIC, 0, 2, 2 },
		  { 1, 1.5f, 2, 2, 2, 2.5f, 3, 3, 3, 3.5f, 4, 4, 3, 3.5f, 4, 4 } },
		{ { VTACPU_F32, 1, 2, 2, 4, 4, VTACPU_NEAREST, VTACPU_HALF_PIXEL,
		    VTACPU_ROUND_PREFER_FLOOR, 2, 2 },
		  { 1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4 } },
		{ { VTACPU_F32, 1, 2, 2, 4, 4, VTACPU_NEAREST, VTACPU_ASYMMETRIC,
		    VTACPU_ROUND_FLOOR, 2, 2 },
		  { 1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4 } },
		{ { VTACPU_F32, 1, 2, 2, 4, 4, VTACPU_NEAREST, VTACPU_ASYMMETRIC,
		    VTACPU_ROUND_CEIL, 2, 2 },
		  { 1, 2, 2, 2, 3, 4, 4, 4, 3, 4, 4, 4, 3, 4, 4, 4 } },
		{ { VTACPU_F32, 1, 2, 2, 1, 1, VTACPU_LINEAR, VTACPU_HALF_PIXEL_SYMMETRIC, 0, 0.7f,
		    0.7f }, { 2.5f } },
		{ { VTACPU_F32, 1, 2, 2, 1, 1, VTACPU_LINEAR, VTACPU_PYTORCH_HALF_PIXEL, 0, 0.5f,
		    0.5f }, { 1 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct vtacpu_resize *p = &cases[i].p;
		struct vtacpu_resize q = *p;
		struct call c;

		prepare(&c, VTACPU_RESIZE, p, 1);
		for (int j = 0; j < 4; j++)
			((float *)c.io[0])[j] = (float)(j + 1);
		run(&c, VTACPU_RESIZE, p);
		for (uint32_t j = 0; j < p->oh * p->ow; j++)
			same_float(((float *)c.io[1])[j], cases[i].want[j], 0.1);
		drop(&c);
		q.type = VTACPU_U8;
		prepare(&c, VTACPU_RESIZE, &q, 0);
		memcpy(c.io[0], (uint8_t[]) { 10, 20, 30, 40 }, 4);
		run(&c, VTACPU_RESIZE, &q);
		for (uint32_t j = 0; j < p->oh * p->ow; j++)
			assert_int_equal(((uint8_t *)c.io[1])[j], lrintf(cases[i].want[j] * 10));
		drop(&c);
	}
}

/* ---- moves ---- */

static void check_move(const struct vtacpu_move *m, const uint16_t *want)
{
	struct call c;

	prepare(&c, VTACPU_MOVE, m, 0);
	for (uint32_t i = 0; i < m->x_count; i++)
		((uint16_t *)c.io[0])[i] = (uint16_t)i;
	memset(c.io[1], 0xff, c.need.bytes[1]);
	run(&c, VTACPU_MOVE, m);
	assert_memory_equal(c.io[1], want, c.need.bytes[1]);
	drop(&c);
}

TEST(moves)
{
	const uint32_t dims[] = { 2, 3, 2 }, perm[] = { 2, 0, 1 }, out[] = { 2, 2, 1 };
	const int32_t start[] = { 0, 2, 1 }, step[] = { 1, -2, 1 };
	const uint16_t part[] = { 65535, 65535, 0, 1, 2, 3, 4, 5,
				  65535, 65535, 6, 7, 8, 9, 10, 11 };
	struct vtacpu_move m;

	m = vtacpu_transpose(2, 3, dims, perm);
	check_move(&m, (uint16_t[]) { 0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11 });
	m = vtacpu_slice(2, 3, dims, out, start, step);
	check_move(&m, (uint16_t[]) { 5, 1, 11, 7 });
	m = vtacpu_concat_part(2, 3, dims, 1, 1, 4);
	check_move(&m, part);
	m = vtacpu_depth_to_space(2, 1, 8, 1, 2, 2, 0);
	check_move(&m, (uint16_t[]) { 0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15 });
	m = vtacpu_depth_to_space(2, 1, 8, 1, 2, 2, 1);
	check_move(&m, (uint16_t[]) { 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15 });
}

/* Random moves against the header's formula, and transposed twice is nothing. */
TEST(random_moves)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t rank = 1 + rnd(5), dims[VTACPU_RANK_MAX], perm[VTACPU_RANK_MAX];
		uint32_t back[VTACPU_RANK_MAX], bytes = 1u << rnd(4);
		struct vtacpu_move there, again;
		struct call c, d;

		for (uint32_t j = 0; j < rank; j++) {
			uint32_t k = rnd(j + 1);

			dims[j] = 1 + (j < 3 ? rnd(20) : rnd(5));
			perm[j] = perm[k];
			perm[k] = j;
		}
		for (uint32_t j = 0; j < rank; j++)
			back[perm[j]] = j;
		there = vtacpu_transpose(bytes, rank, dims, perm);
		again = vtacpu_transpose(bytes, rank, there.dims, back);
		prepare(&c, VTACPU_MOVE, &there, 0);
		prepare(&d, VTACPU_MOVE, &again, 0);
		run(&c, VTACPU_MOVE, &there);
		for (size_t j = 0; j < there.y_count; j++) {
			size_t rest = j, at = 0;

			for (uint32_t k = rank; k--; rest /= there.dims[k])
				at += rest % there.dims[k] * (size_t)there.x_stride[k];
			assert_memory_equal((uint8_t *)c.io[1] + j * bytes,
					    (uint8_t *)c.io[0] + at * bytes, bytes);
		}
		memcpy(d.io[0], c.io[1], d.need.bytes[0]);
		run(&d, VTACPU_MOVE, &again);
		assert_memory_equal(d.io[1], c.io[0], c.need.bytes[0]);
		drop(&c);
		drop(&d);
	}
}

TEST(pads)
{
	struct vtacpu_pad p = { .bytes = 1, .rank = 2, .dims = { 1, 3 }, .out = { 2, 8 },
				.before = { 1, 2 }, .value = { 9, 0 } };
	const uint8_t want[4][16] = {
		{ 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 9 },
		{ 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2 },
		{ 1, 1, 1, 2, 3, 3, 3, 3, 1, 1, 1, 2, 3, 3, 3, 3 },
		{ 2, 3, 1, 2, 3, 1, 2, 3, 2, 3, 1, 2, 3, 1, 2, 3 },
	};
	const struct vtacpu_pad cut = { .bytes = 1, .rank = 1, .dims = { 3 }, .out = { 2 },
					.before = { -1 } };
	struct call c;

	for (p.mode = 0; p.mode < 4; p.mode++) {
		prepare(&c, VTACPU_PAD, &p, 0);
		memcpy(c.io[0], (uint8_t[]) { 1, 2, 3 }, 3);
		run(&c, VTACPU_PAD, &p);
		assert_memory_equal(c.io[1], want[p.mode], 16);
		drop(&c);
	}
	prepare(&c, VTACPU_PAD, &cut, 0);
	memcpy(c.io[0], (uint8_t[]) { 1, 2, 3 }, 3);
	run(&c, VTACPU_PAD, &cut);
	assert_memory_equal(c.io[1], ((uint8_t[]) { 2, 3 }), 2);
	drop(&c);
}

/* The input at output @at of @n inputs, by the definitions of ONNX; -1: the constant */
static int64_t pad_source(uint32_t mode, int64_t at, int64_t n)
{
	while (mode != VTACPU_PAD_CONSTANT && (at < 0 || at >= n)) {
		if (mode == VTACPU_PAD_EDGE || n == 1)
			at = at < 0 ? 0 : n - 1;
		else if (mode == VTACPU_PAD_WRAP)
			at += at < 0 ? n : -n;
		else
			at = at < 0 ? -at : 2 * (n - 1) - at;
	}
	return at < 0 || at >= n ? -1 : at;
}

TEST(rows_are_padded_and_cropped_at_both_ends)
{
	struct vtacpu_pad p = { .rank = 2, .value = { 0x03020100, 0x07060504 } };

	for (uint32_t i = 0; i < 4000; i++) {
		struct call c;

		p.bytes = 1u << i % 4;
		p.mode = i / 4 % 4;
		for (int d = 0; d < 2; d++) {
			p.dims[d] = 1 + rnd(6);
			p.out[d] = 1 + rnd(12);
			p.before[d] = (int32_t)rnd(19) - 9;
		}
		prepare(&c, VTACPU_PAD, &p, i);
		run(&c, VTACPU_PAD, &p);
		for (uint32_t k = 0; k < p.out[0] * p.out[1]; k++) {
			int64_t row = pad_source(p.mode, (int64_t)(k / p.out[1]) - p.before[0],
						 p.dims[0]);
			int64_t at = pad_source(p.mode, (int64_t)(k % p.out[1]) - p.before[1],
						p.dims[1]);
			const uint8_t *want = row < 0 || at < 0 ? (uint8_t *)p.value :
				(uint8_t *)c.io[0] + (row * p.dims[1] + at) * p.bytes;

			assert_memory_equal((uint8_t *)c.io[1] + k * p.bytes, want, p.bytes);
		}
		drop(&c);
	}
}

/* ---- integers and floats, plain and packed ---- */

TEST(quantising)
{
	static const float x[] = { 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e9f, -1e9f, NAN, 63.4f };
	static const int8_t want[] = { 0, 2, 2, 0, -2, 127, -128, -128, 63 };
	struct vtacpu_quantise p = { 1, 1, 9, VTACPU_I8, 0, -128, 127 };
	struct vtacpu_dequantise d = { 1, 2, 2, VTACPU_I32, 1 };
	struct call c;

	prepare(&c, VTACPU_QUANTISE, &p, 1);
	memcpy(c.io[0], x, sizeof(x));
	*(float *)c.io[1] = 1;
	run(&c, VTACPU_QUANTISE, &p);
	assert_memory_equal(c.io[3], want, sizeof(want));
	drop(&c);

	p = (struct vtacpu_quantise) { 1, 3, 3, VTACPU_U8, 1, 0, 255 };
	prepare(&c, VTACPU_QUANTISE, &p, 1);
	memcpy(c.io[0], (float[]) { 0, 1, -1, 0, 1, -1, 300, -300, 0.25f }, 36);
	memcpy(c.io[1], (float[]) { 1, 0.5f, 0.5f }, 12);
	memcpy(c.io[2], (int32_t[]) { 128, 0, 255 }, 12);
	run(&c, VTACPU_QUANTISE, &p);
	assert_memory_equal(c.io[3], ((uint8_t[]) { 128, 129, 127, 0, 2, 0, 255, 0, 255 }), 9);
	drop(&c);

	prepare(&c, VTACPU_DEQUANTISE, &d, 0);
	memcpy(c.io[0], (int32_t[]) { 1000000, -5, INT32_MIN, INT32_MAX }, 16);
	memcpy(c.io[1], (float[]) { 0.5f, 1 }, 8);
	memcpy(c.io[2], (int32_t[]) { 0, 1 }, 8);
	run(&c, VTACPU_DEQUANTISE, &d);
	assert_memory_equal(c.io[3], ((float[]) { 500000, -2.5f, -2147483649.0f, 2147483646.0f }),
			    16);
	drop(&c);
}

/* Rows of any length, and zero points with which a difference needs more than 32 bits. */
TEST(dequantising_bytes)
{
	static const int32_t zeros[] = { 0, 128, -7, INT32_MIN, INT32_MAX };

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t type = i % 2 ? VTACPU_I8 : VTACPU_U8;
		struct vtacpu_dequantise p = { 1, 2, 1 + rnd(40), type, 1 };
		struct call c;

		prepare(&c, VTACPU_DEQUANTISE, &p, 0);
		memcpy(c.io[1], (float[]) { 0.5f, 3 }, 8);
		memcpy(c.io[2], (int32_t[]) { zeros[rnd(5)], zeros[rnd(5)] }, 8);
		run(&c, VTACPU_DEQUANTISE, &p);
		for (uint32_t j = 0; j < 2 * p.inner; j++) {
			int64_t v = byte(c.io[0], j, p.type == VTACPU_U8);
			float want = (float)(v - ((int32_t *)c.io[2])[j / p.inner]) *
				     ((float *)c.io[1])[j / p.inner];

			assert_true(((float *)c.io[3])[j] == want);
		}
		drop(&c);
	}
}

TEST(packing)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_pack p = { .log_inp_width = 3, .log_batch = rnd(3),
					 .log_block = 1 + rnd(5), .n = 1 + rnd(4), .c = 1 + rnd(40),
					 .h = 1 + rnd(5), .w = 1 + rnd(5) };
		struct call c, d;

		prepare(&c, VTACPU_PACK, &p, 0);
		prepare(&d, VTACPU_UNPACK, &p, 0);
		run(&c, VTACPU_PACK, &p);
		assert_int_equal(c.need.bytes[1], d.need.bytes[0]);
		memcpy(d.io[0], c.io[1], d.need.bytes[0]);
		run(&d, VTACPU_UNPACK, &p);
		assert_memory_equal(d.io[1], c.io[0], c.need.bytes[0]);
		drop(&c);
		drop(&d);
	}
}

TEST(kernels_have_names)
{
	struct vtacpu_need need;

	for (uint32_t i = 1; i < VTACPU_KERNELS; i++) {
		assert_non_null(vtacpu_kernel_name(i));
		assert_int_not_equal(vtacpu_params_bytes(i), 0);
		assert_int_equal(vtacpu_params_bytes(i) % 4, 0);
	}
	assert_null(vtacpu_kernel_name(0));
	assert_null(vtacpu_kernel_name(VTACPU_KERNELS));
	assert_int_equal(vtacpu_params_bytes(VTACPU_KERNELS), 0);
	assert_int_not_equal(vtacpu_need(VTACPU_KERNELS, &need, &need), 0);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernels for the CPU on values of any type, and those whose inputs choose or order values,
 * against the formulas of vtacpu.h, place by place.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "calls.h"

#define ROUNDS	300u

static const uint32_t types[] = { VTACPU_F32, VTACPU_I8, VTACPU_U8, VTACPU_I32, VTACPU_I64,
				  VTACPU_BOOL };

static int64_t wrap(uint32_t type, int64_t v)
{
	switch (type) {
	case VTACPU_I8:
		return (int8_t)v;
	case VTACPU_U8:
		return (uint8_t)v;
	case VTACPU_I32:
		return (int32_t)v;
	case VTACPU_BOOL:
		return v != 0;
	default:
		return v;
	}
}

static int64_t get(const void *x, uint32_t type, size_t i)
{
	switch (type) {
	case VTACPU_I8:
		return ((const int8_t *)x)[i];
	case VTACPU_I32:
		return ((const int32_t *)x)[i];
	case VTACPU_I64:
		return ((const int64_t *)x)[i];
	default:
		return ((const uint8_t *)x)[i];
	}
}

static void put(void *x, uint32_t type, size_t i, int64_t v)
{
	switch (type) {
	case VTACPU_I32:
		((int32_t *)x)[i] = (int32_t)v;
		break;
	case VTACPU_I64:
		((int64_t *)x)[i] = v;
		break;
	default:
		((uint8_t *)x)[i] = (uint8_t)v;
	}
}

static double value_at(const void *x, uint32_t type, size_t i)
{
	return type == VTACPU_F32 ? (double)((const float *)x)[i] : (double)get(x, type, i);
}

/* Small values of @type, with equal ones among them. */
static void fill(void *x, uint32_t type, size_t bytes)
{
	for (size_t i = 0; i < bytes / vtacpu_type_bytes(type); i++) {
		if (type == VTACPU_F32)
			((float *)x)[i] = (float)((int32_t)rnd(21) - 10) / 4;
		else
			put(x, type, i, type == VTACPU_BOOL ? rnd(2) : type == VTACPU_U8 ? rnd(12) :
			    (int64_t)rnd(21) - 10);
	}
}

/* Indices of @size values, from both ends, and now and then out of range. */
static void fill_indices(void *x, uint32_t type, size_t bytes, uint32_t size)
{
	for (size_t i = 0; i < bytes / vtacpu_type_bytes(type); i++)
		put(x, type, i, (int64_t)rnd(2 * size + 2) - size - 1);
}

/* The place that an index means, or -1. */
static int64_t place(const void *x, uint32_t type, size_t i, uint32_t size)
{
	int64_t at = get(x, type, i);

	at += at < 0 ? size : 0;
	return at < 0 || at >= size ? -1 : at;
}

/* ---- value by value ---- */

static int64_t floor_mod(int64_t a, int64_t b)
{
	int64_t r = b ? a % b : 0;

	return r && (r ^ b) < 0 ? r + b : r;
}

static int64_t integer_op(uint32_t op, uint32_t type, int64_t a, int64_t b)
{
	uint32_t bits = 8 * vtacpu_type_bytes(type);
	uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	int64_t y = 1;

	switch (op) {
	case VTACPU_ADD:
		return a + b;
	case VTACPU_SUB:
		return a - b;
	case VTACPU_MUL:
		return a * b;
	case VTACPU_MAX:
		return a > b ? a : b;
	case VTACPU_MIN:
		return a < b ? a : b;
	case VTACPU_DIV:
		return b ? a / b : 0;
	case VTACPU_POW:
		for (int64_t i = 0; i < b; i++)
			y = (int64_t)((uint64_t)y * (uint64_t)a);
		return b >= 0 ? y : a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
	case VTACPU_MOD:
		return floor_mod(a, b);
	case VTACPU_FMOD:
		return b ? a % b : 0;
	case VTACPU_PRELU:
		return a < 0 ? a * b : a;
	case VTACPU_EQUAL:
		return a == b;
	case VTACPU_LESS:
		return a < b;
	case VTACPU_LESS_EQUAL:
		return a <= b;
	case VTACPU_AND:
		return a & b;
	case VTACPU_OR:
		return a | b;
	case VTACPU_XOR:
		return a ^ b;
	case VTACPU_SHIFT_LEFT:
		return b < 0 || b >= bits ? 0 : (int64_t)(((uint64_t)a & mask) << b);
	default:
		return b < 0 || b >= bits ? 0 : (int64_t)(((uint64_t)a & mask) >> b);
	}
}

static double float_op(uint32_t op, float a, float b)
{
	double r;

	switch (op) {
	case VTACPU_ADD:
		return a + b;
	case VTACPU_SUB:
		return a - b;
	case VTACPU_MUL:
		return a * b;
	case VTACPU_MAX:
		return fmaxf(a, b);
	case VTACPU_MIN:
		return fminf(a, b);
	case VTACPU_DIV:
		return a / b;
	case VTACPU_POW:
		return powf(a, b);
	case VTACPU_MOD:
		r = fmodf(a, b);
		return r != 0 && (r < 0) != (b < 0) ? r + (double)b : r;
	case VTACPU_FMOD:
		return fmodf(a, b);
	default:
		return a < 0 ? a * b : a;
	}
}

static void same_number(double got, double want)
{
	if (isnan(want) || isinf(want))
		assert_true(isnan(want) ? isnan(got) : got == want);
	else
		same_float(got, want, 0.01);
}

static void check_binary(const struct vtacpu_binary *p, const struct call *c, size_t i, size_t a,
			 size_t b)
{
	bool compares = p->cast.op >= VTACPU_EQUAL && p->cast.op <= VTACPU_LESS_EQUAL;

	if (p->type != VTACPU_F32) {
		int64_t want = integer_op(p->cast.op, p->type, get(c->io[0], p->type, a),
					  get(c->io[1], p->type, b));

		assert_int_equal(get(c->io[2], compares ? VTACPU_BOOL : p->type, i),
				 compares ? want : wrap(p->type, want));
	} else {
		float v = ((float *)c->io[0])[a], w = ((float *)c->io[1])[b];

		if (compares)
			assert_int_equal(((uint8_t *)c->io[2])[i],
					 p->cast.op == VTACPU_EQUAL ? v == w :
					 p->cast.op == VTACPU_LESS ? v < w : v <= w);
		else
			same_number(((float *)c->io[2])[i], float_op(p->cast.op, v, w));
	}
}

/* Operands of [n][m] and [m], one of which has steps of two; each operator of each type. */
TEST(values_of_each_type)
{
	uint64_t x[8];

	for (uint32_t type = VTACPU_F32; type <= VTACPU_BOOL; type++) {
		fill(x, type, sizeof(x));
		for (size_t k = 0; k < sizeof(x) / vtacpu_type_bytes(type); k++)
			assert_true(vtacpu_value(x, k, type) == value_at(x, type, k));
	}
}

TEST(operators_of_each_type)
{
	for (uint32_t i = 0; i < 6 * VTACPU_BINARY_OPS; i++) {
		uint32_t n = 1 + rnd(4), m = 1 + rnd(9);
		struct vtacpu_binary p = {
			.cast = { .op = i / 6, .rank = 2, .dims = { n, m }, .a_stride = { m, 1 },
				  .b_stride = { 0, 2 } },
			.type = types[i % 6],
		};
		struct vtacpu_need need;
		struct call c;

		if (p.type == VTACPU_F32 && p.cast.op >= VTACPU_AND) {
			assert_int_equal(vtacpu_need(VTACPU_BINARY, &p, &need), -1);
			continue;
		}
		prepare(&c, VTACPU_BINARY, &p, 0);
		fill(c.io[0], p.type, c.need.bytes[0]);
		fill(c.io[1], p.type, c.need.bytes[1]);
		run(&c, VTACPU_BINARY, &p);
		for (size_t j = 0; j < (size_t)n * m; j++)
			check_binary(&p, &c, j, j, j % m * 2);
		drop(&c);
	}
}

TEST(operators_at_the_ends_of_int64)
{
	static const int64_t a[] = { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MAX };
	static const int64_t b[] = { -1, 0, -1, 1 };
	static const uint32_t op[] = { VTACPU_DIV, VTACPU_DIV, VTACPU_MOD, VTACPU_ADD };
	static const int64_t want[] = { INT64_MIN, 0, 0, INT64_MIN };

	for (unsigned int i = 0; i < 4; i++) {
		struct vtacpu_binary p = { .cast = { .op = op[i] }, .type = VTACPU_I64 };
		struct call c;

		prepare(&c, VTACPU_BINARY, &p, 0);
		memcpy(c.io[0], &a[i], 8);
		memcpy(c.io[1], &b[i], 8);
		run(&c, VTACPU_BINARY, &p);
		assert_true(*(int64_t *)c.io[2] == want[i]);
		drop(&c);
	}
}

TEST(powers_of_special_numbers)
{
	static const float x[] = { 0, -0.0f, 1, -1, 2, -2, 0.5f, -0.5f, INFINITY, -INFINITY, NAN,
				   3 };
	const struct vtacpu_binary p = {
		.cast = { .op = VTACPU_POW, .rank = 2, .dims = { 12, 12 }, .a_stride = { 1, 0 },
			  .b_stride = { 0, 1 } },
		.type = VTACPU_F32,
	};
	struct call c;

	prepare(&c, VTACPU_BINARY, &p, 1);
	memcpy(c.io[0], x, sizeof(x));
	memcpy(c.io[1], x, sizeof(x));
	run(&c, VTACPU_BINARY, &p);
	for (unsigned int i = 0; i < 144; i++) {
		float want = powf(x[i / 12], x[i % 12]), got = ((float *)c.io[2])[i];

		same_number(got, want);
		if (!isnan(want))
			assert_int_equal(signbit(got), signbit(want));
	}
	drop(&c);
}

TEST(choices)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t n = 1 + rnd(4), m = 1 + rnd(5);
		struct vtacpu_select p = { .bytes = 1u << rnd(4), .rank = 2, .dims = { n, m },
					   .c_stride = { 1, 0 }, .a_stride = { m, 1 },
					   .b_stride = { 0, 1 } };
		struct call c;

		prepare(&c, VTACPU_SELECT, &p, 0);
		fill(c.io[0], VTACPU_BOOL, c.need.bytes[0]);
		run(&c, VTACPU_SELECT, &p);
		for (size_t j = 0; j < (size_t)n * m; j++) {
			const uint8_t *from = ((uint8_t *)c.io[0])[j / m] ?
				(uint8_t *)c.io[1] + j * p.bytes :
				(uint8_t *)c.io[2] + j % m * p.bytes;

			assert_memory_equal((uint8_t *)c.io[3] + j * p.bytes, from, p.bytes);
		}
		drop(&c);
	}
}

TEST(casts)
{
	static const float x[] = { 0, 1.9f, -1.9f, 300, -129, NAN, INFINITY, -INFINITY, 0.25f };
	static const int64_t want[] = { 0, 1, -1, 300, -129, 0, INT64_MAX, INT64_MIN, 0 };

	for (uint32_t i = 1; i < 6; i++) {
		struct vtacpu_cast p = { 9, VTACPU_F32, types[i] };
		struct vtacpu_cast back = { 9, types[i], VTACPU_F32 };
		struct call c, d;

		prepare(&c, VTACPU_CAST, &p, 1);
		prepare(&d, VTACPU_CAST, &back, 0);
		memcpy(c.io[0], x, sizeof(x));
		run(&c, VTACPU_CAST, &p);
		for (unsigned int j = 0; j < 9; j++)
			assert_int_equal(get(c.io[1], types[i], j), types[i] == VTACPU_BOOL ?
					 x[j] != 0 : wrap(types[i], want[j]));
		memcpy(d.io[0], c.io[1], c.need.bytes[1]);
		run(&d, VTACPU_CAST, &back);
		for (unsigned int j = 0; j < 9; j++)
			assert_true(((float *)d.io[1])[j] == (float)get(c.io[1], types[i], j));
		drop(&c);
		drop(&d);
	}
}

/* Places of a block, and behind the last one, with a value in it that no int32 is, or none. */
TEST(casts_of_many_values)
{
	static const float beyond[] = { NAN, 3e9f, -3e9f, 2147483648.0f, -2147483648.0f, INFINITY };

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_cast p = { 1 + rnd(70), VTACPU_F32, types[1 + rnd(5)] };
		struct vtacpu_cast back = { p.count, p.y_type, VTACPU_F32 };
		struct call c, d;
		float *x;

		prepare(&c, VTACPU_CAST, &p, 1);
		prepare(&d, VTACPU_CAST, &back, 0);
		x = c.io[0];
		for (uint32_t j = 0; j < p.count; j++)
			x[j] *= 200;
		if (i % 2)
			x[rnd((uint32_t)p.count)] = beyond[rnd(6)];
		run(&c, VTACPU_CAST, &p);
		for (uint32_t j = 0; j < p.count; j++) {
			int64_t want = isnan(x[j]) ? 0 : x[j] >= 9223372036854775808.0f ?
				       INT64_MAX : (int64_t)x[j];

			assert_int_equal(get(c.io[1], p.y_type, j), p.y_type == VTACPU_BOOL ?
					 x[j] != 0 : wrap(p.y_type, want));
		}
		run(&d, VTACPU_CAST, &back);
		for (uint32_t j = 0; j < p.count; j++)
			assert_true(((float *)d.io[1])[j] ==
				    (float)get(d.io[0], p.y_type, j));
		drop(&c);
		drop(&d);
	}
}

/* ---- many values ---- */

TEST(reductions_of_integers)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t n = 1 + rnd(4), m = 1 + rnd(5), axis = rnd(2);
		struct vtacpu_reduce p = {
			.of = { .op = rnd(VTACPU_REDUCE_LOG_SUM_EXP), .rank = 2, .axes = 1u << axis,
				.dims = { n, m } },
			.type = types[1 + rnd(5)],
		};
		uint32_t outputs = axis ? n : m, each = axis ? m : n;
		struct call c;

		prepare(&c, VTACPU_REDUCE, &p, 0);
		fill(c.io[0], p.type, c.need.bytes[0]);
		run(&c, VTACPU_REDUCE, &p);
		for (uint32_t o = 0; o < outputs; o++) {
			int64_t want = 0;

			for (uint32_t k = 0; k < each; k++) {
				int64_t v = get(c.io[0], p.type, axis ? o * m + k : k * m + o);

				v = p.of.op == VTACPU_REDUCE_L1 ? llabs(v) :
				    p.of.op == VTACPU_REDUCE_SUM_SQUARE ? v * v : v;
				if (!k)
					want = v;
				else if (p.of.op == VTACPU_REDUCE_MAX)
					want = v > want ? v : want;
				else if (p.of.op == VTACPU_REDUCE_MIN)
					want = v < want ? v : want;
				else
					want = p.of.op == VTACPU_REDUCE_PROD ? want * v : want + v;
				want = wrap(p.type, want);
			}
			if (p.of.op == VTACPU_REDUCE_MEAN)
				want /= each;
			assert_int_equal(get(c.io[1], p.type, o), want);
		}
		drop(&c);
	}
}

/* Of layers, of channels and of groups, with and without the mean, scale and bias. */
TEST(normalisation)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t channels = 1 + rnd(4), plane = 1 + rnd(20), groups = 1 + rnd(3);
		uint32_t kind = rnd(3);
		struct vtacpu_norm_f32 p = { .rows = groups * (1 + rnd(3)), .period = groups,
					     .count = channels * plane, .plane = plane,
					     .rms = rnd(2), .has_scale = rnd(2), .has_bias = rnd(2),
					     .epsilon = 0.001f };
		struct call c;

		if (kind == 0) {
			p.period = 1;
			p.plane = 1;
		} else if (kind == 1) {
			p.plane = p.count;
		}
		prepare(&c, VTACPU_NORM_F32, &p, 1);
		run(&c, VTACPU_NORM_F32, &p);
		for (size_t j = 0; j < (size_t)p.rows * p.count; j++) {
			const float *x = (float *)c.io[0] + j / p.count * p.count;
			size_t own = j / p.count % p.period * (p.count / p.plane) +
				     j % p.count / p.plane;
			double mean = 0, variance = 0, y;

			for (uint32_t k = 0; k < p.count && !p.rms; k++)
				mean += (double)x[k] / p.count;
			for (uint32_t k = 0; k < p.count; k++)
				variance += (x[k] - mean) * (x[k] - mean) / p.count;
			y = (((float *)c.io[0])[j] - mean) / sqrt(variance + (double)p.epsilon);
			y = y * (p.has_scale ? ((float *)c.io[1])[own] : 1) +
			    (p.has_bias ? ((float *)c.io[2])[own] : 0);
			same_float(((float *)c.io[3])[j], y, 40);
		}
		drop(&c);
	}
}

/* Of pixels by their channels, as that of rows is with pixels as rows. */
TEST(normalisation_of_pixels)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_norm_f32 p = { .rows = 1 + rnd(3), .period = 1, .count = 1 + rnd(40),
					     .plane = 1 + rnd(rnd(3) ? 20 : 600), .rms = rnd(2),
					     .has_scale = rnd(2), .has_bias = rnd(2),
					     .epsilon = 0.001f };
		struct call c;

		prepare(&c, VTACPU_NORM_ACROSS_F32, &p, 1);
		run(&c, VTACPU_NORM_ACROSS_F32, &p);
		for (size_t j = 0; j < (size_t)p.rows * p.count * p.plane; j++) {
			size_t channel = j / p.plane % p.count;
			const float *x = (float *)c.io[0] + j - channel * p.plane;
			double mean = 0, variance = 0, y;

			for (uint32_t k = 0; k < p.count && !p.rms; k++)
				mean += (double)x[k * p.plane] / p.count;
			for (uint32_t k = 0; k < p.count; k++)
				variance += (x[k * p.plane] - mean) * (x[k * p.plane] - mean) /
					    p.count;
			y = (((float *)c.io[0])[j] - mean) / sqrt(variance + (double)p.epsilon);
			y = y * (p.has_scale ? ((float *)c.io[1])[channel] : 1) +
			    (p.has_bias ? ((float *)c.io[2])[channel] : 0);
			same_float(((float *)c.io[3])[j], y, 40);
		}
		drop(&c);
	}
}

TEST(running_sums)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_cum_sum p = { .type = types[rnd(5)], .outer = 1 + rnd(3),
					    .count = 1 + rnd(8), .inner = 1 + rnd(3),
					    .exclusive = rnd(2), .reverse = rnd(2) };
		struct call c;

		prepare(&c, VTACPU_CUM_SUM, &p, 0);
		fill(c.io[0], p.type, c.need.bytes[0]);
		run(&c, VTACPU_CUM_SUM, &p);
		for (uint32_t j = 0; j < p.outer * p.count * p.inner; j++) {
			uint32_t k = j / p.inner % p.count, first = j - k * p.inner;
			double sum = 0;

			for (uint32_t l = 0; l < p.count; l++) {
				uint32_t at = first + l * p.inner;

				if (p.reverse ? l >= k + p.exclusive : l + p.exclusive <= k)
					sum += value_at(c.io[0], p.type, at);
			}
			if (p.type == VTACPU_F32)
				same_float(((float *)c.io[1])[j], sum, 1);
			else
				assert_int_equal(get(c.io[1], p.type, j),
						 wrap(p.type, (int64_t)sum));
		}
		drop(&c);
	}
}

/* ---- places that values name ---- */

TEST(gathers)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_gather p = { .bytes = 1u << rnd(4), .index_type = VTACPU_I32 + rnd(2),
					   .outer = 1 + rnd(3), .dim = 1 + rnd(5),
					   .inner = 1 + rnd(4), .count = 1 + rnd(6) };
		struct call c;
		size_t row;

		prepare(&c, VTACPU_GATHER, &p, 0);
		fill_indices(c.io[1], p.index_type, c.need.bytes[1], p.dim);
		run(&c, VTACPU_GATHER, &p);
		row = (size_t)p.inner * p.bytes;
		for (uint32_t j = 0; j < p.outer * p.count; j++) {
			int64_t at = place(c.io[1], p.index_type, j % p.count, p.dim);
			const uint8_t *y = (uint8_t *)c.io[2] + j * row;

			for (size_t k = 0; k < row; k++)
				assert_int_equal(y[k], at < 0 ? 0 :
						 ((uint8_t *)c.io[0])[((size_t)j / p.count * p.dim +
								       (size_t)at) * row + k]);
		}
		drop(&c);
	}
}

static void scatter_expected(uint32_t op, int64_t *y, int64_t u)
{
	*y = op == VTACPU_SCATTER_ADD ? *y + u : op == VTACPU_SCATTER_MUL ? *y * u :
	     op == VTACPU_SCATTER_MAX ? (u > *y ? u : *y) :
	     op == VTACPU_SCATTER_MIN ? (u < *y ? u : *y) : u;
}

/* In two dimensions, along either; of floats that are whole numbers, too. */
TEST(elements)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_elements p = { .type = VTACPU_I32, .index_type = VTACPU_I32 + rnd(2),
					     .op = rnd(VTACPU_SCATTER_OPS), .rank = 2,
					     .axis = rnd(2) };
		int64_t want[64];
		struct call c, d;

		for (unsigned int k = 0; k < 2; k++) {
			p.dims[k] = 1 + rnd(6);
			p.index_dims[k] = 1 + rnd(k == p.axis ? 7 : p.dims[k]);
		}
		prepare(&c, VTACPU_GATHER_ELEMENTS, &p, 0);
		prepare(&d, VTACPU_SCATTER_ELEMENTS, &p, 0);
		fill_indices(c.io[1], p.index_type, c.need.bytes[1], p.dims[p.axis]);
		memcpy(d.io[1], c.io[1], c.need.bytes[1]);
		fill(d.io[0], p.type, d.need.bytes[0]);
		fill(d.io[2], p.type, d.need.bytes[2]);
		for (uint32_t j = 0; j < p.dims[0] * p.dims[1]; j++)
			want[j] = get(d.io[0], p.type, j);
		run(&c, VTACPU_GATHER_ELEMENTS, &p);
		run(&d, VTACPU_SCATTER_ELEMENTS, &p);
		for (uint32_t j = 0; j < p.index_dims[0] * p.index_dims[1]; j++) {
			uint32_t row = j / p.index_dims[1], col = j % p.index_dims[1];
			int64_t at = place(c.io[1], p.index_type, j, p.dims[p.axis]);
			size_t from = p.axis ? row * p.dims[1] + (size_t)at :
				      (size_t)at * p.dims[1] + col;

			assert_int_equal(get(c.io[2], p.type, j),
					 at < 0 ? 0 : get(c.io[0], p.type, from));
			if (at >= 0)
				scatter_expected(p.op, &want[from], get(d.io[2], p.type, j));
		}
		for (uint32_t j = 0; j < p.dims[0] * p.dims[1]; j++)
			assert_int_equal(get(d.io[3], p.type, j), (int32_t)want[j]);
		drop(&c);
		drop(&d);
	}
}

/* Slices of [batch][a][b][inner] by pairs of coordinates. */
TEST(slices)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_slices p = { .type = VTACPU_I32, .index_type = VTACPU_I32 + rnd(2),
					   .op = rnd(VTACPU_SCATTER_OPS), .batch = 1 + rnd(2),
					   .rows = 1 + rnd(5), .depth = 2, .inner = 1 + rnd(3),
					   .sizes = { 1 + rnd(3), 1 + rnd(4) } };
		uint32_t each = p.sizes[0] * p.sizes[1];
		int64_t want[64];
		struct call c;

		prepare(&c, VTACPU_GATHER_ND, &p, 0);
		fill_indices(c.io[1], p.index_type, c.need.bytes[1], 3);
		run(&c, VTACPU_GATHER_ND, &p);
		for (uint32_t j = 0; j < p.batch * p.rows * p.inner; j++) {
			uint32_t row = j / p.inner;
			int64_t a = place(c.io[1], p.index_type, row * 2, p.sizes[0]);
			int64_t b = place(c.io[1], p.index_type, row * 2 + 1, p.sizes[1]);
			int64_t at = row / p.rows * each + a * p.sizes[1] + b;

			assert_int_equal(get(c.io[2], p.type, j), a < 0 || b < 0 ? 0 :
					 get(c.io[0], p.type, (size_t)at * p.inner + j % p.inner));
		}
		drop(&c);
		p.batch = 1;
		prepare(&c, VTACPU_SCATTER_ND, &p, 0);
		fill_indices(c.io[1], p.index_type, c.need.bytes[1], 3);
		fill(c.io[0], p.type, c.need.bytes[0]);
		fill(c.io[2], p.type, c.need.bytes[2]);
		for (uint32_t j = 0; j < each * p.inner; j++)
			want[j] = get(c.io[0], p.type, j);
		run(&c, VTACPU_SCATTER_ND, &p);
		for (uint32_t j = 0; j < p.rows * p.inner; j++) {
			uint32_t row = j / p.inner;
			int64_t a = place(c.io[1], p.index_type, row * 2, p.sizes[0]);
			int64_t b = place(c.io[1], p.index_type, row * 2 + 1, p.sizes[1]);

			if (a >= 0 && b >= 0)
				scatter_expected(p.op, &want[(a * p.sizes[1] + b) * p.inner +
							     j % p.inner], get(c.io[2], p.type, j));
		}
		for (uint32_t j = 0; j < each * p.inner; j++)
			assert_int_equal(get(c.io[3], p.type, j), (int32_t)want[j]);
		drop(&c);
	}
}

/* ---- the order of values ---- */

/* The number of values that come before value @k: those that are better, or equal and earlier. */
static uint32_t rank_of(const void *x, const struct vtacpu_top *p, size_t first, uint32_t k)
{
	double own = value_at(x, p->type, first + (size_t)k * p->inner);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		double v = value_at(x, p->type, first + (size_t)i * p->inner);

		n += (p->least ? v < own : v > own) || (v == own && i < k);
	}
	return n;
}

TEST(ranks)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_top p = { .type = types[rnd(6)], .outer = 1 + rnd(2),
					.count = 1 + rnd(30), .inner = 1 + rnd(3),
					.least = rnd(2) };
		struct vtacpu_arg q = { .type = p.type, .outer = p.outer, .count = p.count,
					.inner = p.inner, .least = p.least };
		struct call c, d;

		p.k = 1 + rnd(p.count);
		prepare(&c, VTACPU_TOP, &p, 0);
		prepare(&d, VTACPU_ARG, &q, 0);
		fill(c.io[0], p.type, c.need.bytes[0]);
		memcpy(d.io[0], c.io[0], c.need.bytes[0]);
		run(&c, VTACPU_TOP, &p);
		run(&d, VTACPU_ARG, &q);
		for (uint32_t row = 0; row < p.outer * p.inner; row++) {
			size_t first = (size_t)row / p.inner * p.count * p.inner + row % p.inner;
			const int64_t *y = (int64_t *)c.io[1] + row % p.inner +
					   (size_t)row / p.inner * p.k * p.inner;

			for (uint32_t k = 0; k < p.k; k++)
				assert_int_equal(rank_of(c.io[0], &p, first,
							 (uint32_t)y[(size_t)k * p.inner]), k);
			assert_int_equal(((int64_t *)d.io[1])[row], y[0]);
		}
		drop(&c);
		drop(&d);
	}
}

TEST(last_of_equal_values_and_nan)
{
	struct vtacpu_arg p = { .type = VTACPU_F32, .outer = 1, .count = 5, .inner = 1, .last = 1 };
	struct call c;

	prepare(&c, VTACPU_ARG, &p, 1);
	memcpy(c.io[0], (float[]) { 1, 7, 3, 7, 2 }, 20);
	run(&c, VTACPU_ARG, &p);
	assert_int_equal(*(int64_t *)c.io[1], 3);
	((float *)c.io[0])[2] = NAN;
	run(&c, VTACPU_ARG, &p);
	assert_int_equal(*(int64_t *)c.io[1], 2);
	drop(&c);
}

/* ---- products by labels ---- */

/* Each dimension is of a, of b or of both; strides are those of plain tensors in any order. */
static void rnd_contraction(struct vtacpu_contract_f32 *p)
{
	uint32_t a = 1, b = 1;

	*p = (struct vtacpu_contract_f32) { .rank = 1 + rnd(5), .has_b = 1 };
	p->kept = rnd(4) ? p->rank - 1 : rnd(p->rank + 1);
	for (uint32_t i = 0; i < p->rank; i++) {
		uint32_t at = rnd(p->rank), of;

		while (p->dims[at])
			at = (at + 1) % p->rank;
		of = at < p->kept ? 1 + rnd(3) : 3;
		p->dims[at] = 1 + rnd(i ? 5 : 40);
		p->a_stride[at] = of & 1 ? a : 0;
		p->b_stride[at] = of & 2 ? b : 0;
		a *= of & 1 ? p->dims[at] : 1;
		b *= of & 2 ? p->dims[at] : 1;
	}
}

TEST(contractions_are_to_the_bit_those_of_plain_loops)
{
	for (uint32_t i = 0; i < 3 * ROUNDS; i++) {
		struct vtacpu_contract_f32 p;
		size_t count = 1, each = 1;
		struct call c;

		rnd_contraction(&p);
		for (uint32_t d = 0; d < p.rank; d++)
			*(d < p.kept ? &count : &each) *= p.dims[d];
		prepare(&c, VTACPU_CONTRACT_F32, &p, 1);
		run(&c, VTACPU_CONTRACT_F32, &p);
		for (size_t j = 0; j < count; j++) {
			float sum = 0;

			for (size_t k = 0; k < each; k++) {
				size_t rest = j * each + k, a = 0, b = 0;

				for (uint32_t d = p.rank; d--; rest /= p.dims[d]) {
					a += rest % p.dims[d] * p.a_stride[d];
					b += rest % p.dims[d] * p.b_stride[d];
				}
				sum += ((float *)c.io[0])[a] * ((float *)c.io[1])[b];
			}
			assert_true(((float *)c.io[2])[j] == sum);
		}
		drop(&c);
	}
}

/* ---- recurrent layers ---- */

#define SIZE_MAX_OF_LAYER	80

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* Gate @g of state @i: by the input, or by a state, with that one's bias. */
static double gate(const struct vtacpu_recurrent *p, const struct call *c, uint32_t d, uint32_t g,
		   uint32_t i, const double *from, bool of_state)
{
	uint32_t gates = p->kind == VTACPU_LSTM ? 4 : p->kind == VTACPU_GRU ? 3 : 1;
	uint32_t n = of_state ? p->hidden : p->inputs, row = g * p->hidden + i;
	const float *w = c->io[of_state ? 2 : 1];
	size_t at = (d * 2 + of_state) * gates * p->hidden + row, step = 1;
	double sum = p->has_bias ? ((float *)c->io[3])[at] : 0;

	if (!of_state && p->summed)
		return sum + from[(size_t)d * gates * p->hidden + row];
	if (of_state && p->panels) {
		size_t panels = (gates * p->hidden + VTACPU_PANEL - 1) / VTACPU_PANEL;

		step = VTACPU_PANEL;
		w += (d * panels + row / step) * n * step + row % step;
	} else {
		w += ((size_t)d * gates * p->hidden + row) * n;
	}
	for (uint32_t k = 0; k < n; k++)
		sum += w[k * step] * from[k];
	return sum;
}

static void step(const struct vtacpu_recurrent *p, const struct call *c, uint32_t d,
		 const double *x, double *h, double *cell)
{
	double before[SIZE_MAX_OF_LAYER], reset[SIZE_MAX_OF_LAYER];
	uint32_t n = p->hidden;

	memcpy(before, h, sizeof(before));
	for (uint32_t i = 0; i < n && p->kind == VTACPU_GRU; i++)
		reset[i] = sigmoid(gate(p, c, d, 1, i, x, 0) + gate(p, c, d, 1, i, before, 1));
	for (uint32_t i = 0; i < n; i++) {
		const float *peep = p->has_p ? (float *)c->io[6] + 3 * d * n + i : NULL;
		double v[4] = { 0 }, z, by_h, mixed[SIZE_MAX_OF_LAYER];

		if (p->kind == VTACPU_RNN) {
			h[i] = tanh(gate(p, c, d, 0, i, x, 0) + gate(p, c, d, 0, i, before, 1));
		} else if (p->kind == VTACPU_GRU) {
			for (uint32_t k = 0; k < n; k++)
				mixed[k] = reset[k] * before[k];
			z = sigmoid(gate(p, c, d, 0, i, x, 0) + gate(p, c, d, 0, i, before, 1));
			by_h = p->linear ? reset[i] * gate(p, c, d, 2, i, before, 1) :
			       gate(p, c, d, 2, i, mixed, 1);
			h[i] = (1 - z) * tanh(gate(p, c, d, 2, i, x, 0) + by_h) + z * before[i];
		} else {
			for (uint32_t k = 0; k < 4; k++)
				v[k] = gate(p, c, d, k, i, x, 0) + gate(p, c, d, k, i, before, 1);
			v[0] = sigmoid(v[0] + (peep ? peep[0] * cell[i] : 0));
			v[2] = sigmoid(v[2] + (peep ? peep[2 * n] * cell[i] : 0));
			cell[i] = v[2] * cell[i] + v[0] * tanh(v[3]);
			v[1] = sigmoid(v[1] + (peep ? peep[n] * cell[i] : 0));
			h[i] = v[1] * tanh(cell[i]);
		}
	}
}

static void check_recurrent(const struct vtacpu_recurrent *p, const struct call *c, uint32_t d,
			    uint32_t image)
{
	double x[2 * 4 * SIZE_MAX_OF_LAYER];
	double h[SIZE_MAX_OF_LAYER] = { 0 }, cell[SIZE_MAX_OF_LAYER] = { 0 };

	for (uint32_t i = 0; i < p->hidden; i++) {
		size_t at = ((size_t)d * p->batch + image) * p->hidden + i;

		h[i] = p->has_h ? ((float *)c->io[4])[at] : 0;
		cell[i] = p->has_c ? ((float *)c->io[5])[at] : 0;
	}
	for (uint32_t k = 0; k < p->steps; k++) {
		uint32_t t = d || p->reverse ? p->steps - 1 - k : k;
		const float *y = (float *)c->io[7] +
			((size_t)(t * p->directions + d) * p->batch + image) * p->hidden;

		for (uint32_t i = 0; i < p->inputs; i++)
			x[i] = ((float *)c->io[0])[((size_t)t * p->batch + image) * p->inputs + i];
		step(p, c, d, x, h, cell);
		for (uint32_t i = 0; i < p->hidden; i++)
			same_float(y[i], p->cell ? cell[i] : h[i], 10);
	}
}

static void run_recurrent(struct vtacpu_recurrent *p)
{
	struct call c;

	p->panels = rnd(2);
	p->summed = rnd(2);
	if (p->summed)
		p->inputs = p->directions * p->hidden *
			(p->kind == VTACPU_LSTM ? 4 : p->kind == VTACPU_GRU ? 3 : 1);
	if (p->kind == VTACPU_LSTM) {
		p->has_c = rnd(2);
		p->has_p = rnd(2);
		p->cell = rnd(2);
	}
	prepare(&c, VTACPU_RECURRENT, p, 1);
	run(&c, VTACPU_RECURRENT, p);
	for (uint32_t d = 0; d < p->directions; d++)
		for (uint32_t image = 0; image < p->batch; image++)
			check_recurrent(p, &c, d, image);
	drop(&c);
}

TEST(recurrent_layers)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_recurrent p = {
			.kind = i % 3, .steps = 1 + rnd(4), .batch = 1 + rnd(2),
			.inputs = 1 + rnd(4), .hidden = 1 + rnd(4), .directions = 1 + rnd(2),
			.reverse = rnd(2), .linear = rnd(2), .has_bias = rnd(2), .has_h = rnd(2),
		};

		run_recurrent(&p);
	}
}

/* More steps, images and gates than the kernel takes at a time; few values, as states amplify. */
TEST(large_recurrent_layers)
{
	static const uint32_t sizes[][4] = {
		{ 131, 1, 3, 2 }, { 2, 67, 2, 3 }, { 45, 3, 9, 4 }, { 1, 3, 19, 70 },
		{ 2, 2, 8, 70 }, { 2, 70, 3, 17 }, { 1, 1, 70, 9 },
	};

	for (uint32_t i = 0; i < 3 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint32_t *size = sizes[i / 3];
		struct vtacpu_recurrent p = {
			.kind = i % 3, .steps = size[0], .batch = size[1], .inputs = size[2],
			.hidden = size[3], .directions = 1 + rnd(2), .reverse = rnd(2),
			.linear = rnd(2), .has_bias = rnd(2), .has_h = rnd(2),
		};

		run_recurrent(&p);
	}
}

/* As ONNX's Max and Min: both kernels, with NaN as either operand. */
TEST(greatest_and_least_of_nan_are_nan)
{
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t op = i & 1 ? VTACPU_MAX : VTACPU_MIN;
		struct vtacpu_broadcast cast = { .op = op, .rank = 1, .dims = { 3 },
						 .a_stride = { 1 }, .b_stride = { 1 } };
		struct vtacpu_binary any = { cast, VTACPU_F32 };
		struct vtacpu_binary_f32 floats = { .cast = cast };
		uint32_t kernel = i & 2 ? VTACPU_BINARY : VTACPU_BINARY_F32;
		const void *p = i & 2 ? (const void *)&any : &floats;
		struct call c;

		prepare(&c, kernel, p, 1);
		((float *)c.io[i >> 2])[1] = NAN;
		run(&c, kernel, p);
		assert_true(isnan(((float *)c.io[2])[1]));
		assert_false(isnan(((float *)c.io[2])[0]));
		drop(&c);
	}
}

/* ---- others ---- */

TEST(one_hot)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_one_hot p = { .bytes = 4, .index_type = VTACPU_I32 + rnd(2),
					    .outer = 1 + rnd(3), .depth = 1 + rnd(6),
					    .inner = 1 + rnd(3) };
		const float *values, *y;
		struct call c;

		prepare(&c, VTACPU_ONE_HOT, &p, 1);
		fill_indices(c.io[0], p.index_type, c.need.bytes[0], p.depth);
		run(&c, VTACPU_ONE_HOT, &p);
		values = c.io[1];
		y = c.io[2];
		for (uint32_t k = 0; k < p.outer * p.depth * p.inner; k++) {
			uint32_t o = k / p.inner / p.depth, d = k / p.inner % p.depth;
			int64_t at = place(c.io[0], p.index_type, o * p.inner + k % p.inner,
					   p.depth);

			assert_true(y[k] == values[at == d]);
		}
		drop(&c);
	}
}

TEST(reversed_sequences)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_reverse_sequence p = {
			.bytes = 1, .length_type = VTACPU_I64, .steps = 1 + rnd(5),
			.batch = 1 + rnd(3), .inner = 1 + rnd(4), .batch_first = rnd(2),
		};
		struct call c;

		prepare(&c, VTACPU_REVERSE_SEQUENCE, &p, 0);
		for (uint32_t b = 0; b < p.batch; b++)
			put(c.io[1], VTACPU_I64, b, (int64_t)rnd(p.steps + 3) - 1);
		run(&c, VTACPU_REVERSE_SEQUENCE, &p);
		for (uint32_t k = 0; k < p.steps * p.batch * p.inner; k++) {
			uint32_t row = k / p.inner;
			uint32_t t = p.batch_first ? row % p.steps : row / p.batch;
			uint32_t b = p.batch_first ? row / p.steps : row % p.batch;
			int64_t n = get(c.io[1], VTACPU_I64, b);
			uint32_t from = t;

			n = n > p.steps ? p.steps : n;
			if (t < n)
				from = (uint32_t)n - 1 - t;
			row = p.batch_first ? b * p.steps + from : from * p.batch + b;
			assert_int_equal(((uint8_t *)c.io[2])[k],
					 ((uint8_t *)c.io[0])[row * p.inner + k % p.inner]);
		}
		drop(&c);
	}
}

TEST(normalised_by_channels_around)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_lrn_f32 p = { .n = 1 + rnd(2), .c = 1 + rnd(6), .plane = 1 + rnd(5),
					    .size = 1 + rnd(6), .alpha = 0.5f, .beta = 0.75f,
					    .bias = 1.5f };
		const float *x;
		struct call c;

		prepare(&c, VTACPU_LRN_F32, &p, 1);
		run(&c, VTACPU_LRN_F32, &p);
		x = c.io[0];
		for (uint32_t k = 0; k < p.n * p.c * p.plane; k++) {
			int32_t ch = (int32_t)(k / p.plane % p.c);
			int32_t first = ch - (int32_t)(p.size - 1) / 2;
			double sum = 0;

			for (int32_t j = first; j < first + (int32_t)p.size; j++)
				if (j >= 0 && j < (int32_t)p.c)
					sum += pow(x[k + (uint32_t)(j - ch) * p.plane], 2);
			same_float(((float *)c.io[1])[k],
				   x[k] / pow(1.5 + 0.5 / p.size * sum, 0.75), 1);
		}
		drop(&c);
	}
}

/* By the first row's minors. */
static double minors(const float *x, uint32_t n, uint32_t row, uint32_t used, uint32_t all)
{
	double y = 0, sign = 1;

	if (row == all)
		return 1;
	for (uint32_t j = 0; j < n; j++) {
		if (used >> j & 1)
			continue;
		y += sign * x[row * n + j] * minors(x, n, row + 1, used | 1u << j, all);
		sign = -sign;
	}
	return y;
}

TEST(determinants)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_det_f32 p = { .count = 1 + rnd(3), .n = 1 + rnd(5) };
		struct call c;

		prepare(&c, VTACPU_DET_F32, &p, 1);
		if (!rnd(4))
			((float *)c.io[0])[0] = 0;
		run(&c, VTACPU_DET_F32, &p);
		for (uint32_t k = 0; k < p.count; k++)
			same_float(((float *)c.io[1])[k],
				   minors((float *)c.io[0] + k * p.n * p.n, p.n, 0, 0, p.n), 1);
		drop(&c);
	}
}

TEST(hardmax)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_softmax_f32 p = { 1 + rnd(3), 1 + rnd(5), 1 + rnd(3) };
		struct call c;

		prepare(&c, VTACPU_HARDMAX_F32, &p, 1);
		fill(c.io[0], VTACPU_F32, c.need.bytes[0]);
		run(&c, VTACPU_HARDMAX_F32, &p);
		for (uint32_t row = 0; row < p.outer * p.inner; row++) {
			size_t first = (size_t)(row / p.inner) * p.count * p.inner + row % p.inner;
			const float *x = (float *)c.io[0] + first, *y = (float *)c.io[1] + first;
			uint32_t best = 0;

			for (uint32_t k = 1; k < p.count; k++)
				if (x[k * p.inner] > x[best * p.inner])
					best = k;
			for (uint32_t k = 0; k < p.count; k++)
				assert_true(y[k * p.inner] == (k == best));
		}
		drop(&c);
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convolutions, products, pools and sums on the CPU against plain loops, on random
 * shapes: integers to the bit, floats within what another order of the sums may change.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "calls.h"

#define ROUNDS	150u

/* ---- convolutions ---- */

static struct vtacpu_window rnd_window(void)
{
	struct vtacpu_window w = {
		.n = 1 + rnd(2), .ih = 1 + rnd(9), .iw = 1 + rnd(12), .oh = 1 + rnd(9),
		.ow = 1 + rnd(20), .kh = 1 + rnd(4), .kw = 1 + rnd(4), .stride_h = 1 + rnd(3),
		.stride_w = 1 + rnd(3), .pad_top = (int32_t)rnd(4) - 1,
		.pad_left = (int32_t)rnd(4) - 1, .dil_h = 1 + rnd(2), .dil_w = 1 + rnd(2),
		.groups = 1 + rnd(4), .transposed = rnd(4) == 0,
	};
	int depthwise = rnd(3) == 0;

	w.ic = w.groups * (depthwise ? 1 : 1 + rnd(5));
	w.oc = w.groups * (depthwise ? 1 : 1 + rnd(9));
	return w;
}

/* The input that a tap reaches, or -1. */
static int64_t input(const struct vtacpu_window *w, uint32_t out, uint32_t k, int across)
{
	int64_t stride = across ? w->stride_w : w->stride_h, dil = across ? w->dil_w : w->dil_h;
	int64_t pad = across ? w->pad_left : w->pad_top, size = across ? w->iw : w->ih;

	for (int64_t in = 0; in < size; in++)
		if (w->transposed ? in * stride - pad + k * dil == out :
				    out * stride - pad + k * dil == in)
			return in;
	return -1;
}

/* A sum of products of what @x and @w, called with indices, give. */
typedef double (*value_fn)(const void *arg, size_t at);

struct bytes {
	const void *values;
	uint32_t is_unsigned;
	int32_t zero;
};

static double a_byte(const void *arg, size_t at)
{
	const struct bytes *b = arg;

	return byte(b->values, at, b->is_unsigned) - b->zero;
}

static double a_float(const void *arg, size_t at)
{
	return ((const float *)arg)[at];
}

static uint32_t channel_of(const struct vtacpu_window *w, size_t at)
{
	return (uint32_t)(at / w->ow / w->oh % w->oc);
}

/* Of output number @at. */
static double conv_sum(const struct vtacpu_window *w, value_fn value, const void *x,
		       const void *weights, size_t at)
{
	uint32_t ox = (uint32_t)(at % w->ow), oy = (uint32_t)(at / w->ow % w->oh);
	uint32_t o = channel_of(w, at), n = (uint32_t)(at / w->ow / w->oh / w->oc);
	uint32_t each = w->ic / w->groups, group = o / (w->oc / w->groups);
	double sum = 0;

	for (uint32_t c = 0; c < each; c++)
		for (uint32_t ky = 0; ky < w->kh; ky++)
			for (uint32_t kx = 0; kx < w->kw; kx++) {
				int64_t iy = input(w, oy, ky, 0), ix = input(w, ox, kx, 1);
				size_t row = ((size_t)n * w->ic + group * each + c) * w->ih;
				size_t tap = ((o * each + c) * w->kh + ky) * w->kw + kx;

				if (iy >= 0 && ix >= 0)
					sum += value(x, (row + (size_t)iy) * w->iw + (size_t)ix) *
					       value(weights, tap);
			}
	return sum;
}

TEST(conv_of_floats)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_conv_f32 p = { .win = rnd_window(), .has_bias = rnd(2),
					     .has_res = rnd(2), .act = rnd_act() };
		struct call c;

		prepare(&c, VTACPU_CONV_F32, &p, 1);
		run(&c, VTACPU_CONV_F32, &p);
		for (size_t at = 0; at < c.need.bytes[4] / 4; at++) {
			double v = conv_sum(&p.win, a_float, c.io[0], c.io[1], at);

			v += p.has_bias ? ((float *)c.io[2])[channel_of(&p.win, at)] : 0;
			v += p.has_res ? ((float *)c.io[3])[at] : 0;
			same_float(((float *)c.io[4])[at], act(&p.act, v), 4);
		}
		drop(&c);
	}
}

/* Shapes of networks: several strips of outputs and several parts of the channels. */
static struct vtacpu_window rnd_large_window(void)
{
	static const uint32_t sizes[] = { 1, 1, 3, 3, 5, 7 };
	uint32_t k = sizes[rnd(6)], flat = rnd(4) == 0;
	struct vtacpu_window w = {
		.n = 1, .ih = flat ? 1 : 1 + rnd(60), .iw = flat ? 1 + rnd(5000) : 1 + rnd(60),
		.kh = flat ? 1 : k, .kw = k, .stride_h = 1 + rnd(2), .stride_w = 1 + rnd(2),
		.pad_top = flat ? 0 : (int32_t)rnd(k), .pad_left = (int32_t)rnd(k),
		.dil_h = 1 + rnd(2), .dil_w = 1 + rnd(2), .groups = 1 + rnd(3),
	};
	uint32_t most = flat ? 12 : k == 1 ? 600 : 80;

	w.ic = w.groups * (1 + rnd(most));
	w.oc = w.groups * (1 + rnd(rnd(2) ? 4 : rnd(3) ? 24 : 80));
	if (rnd(3) == 0) {
		w.groups = w.ic;
		w.oc = w.ic;
	}
	if (k == 1 && rnd(2)) {
		w.stride_h = 1;
		w.stride_w = 1;
	}
	w.oh = (w.ih - 1) / w.stride_h + 1;
	w.ow = (w.iw - 1) / w.stride_w + 1;
	if (!flat && rnd(5) == 0) {	/* one output, of all inputs */
		w.ih = k;
		w.iw = k;
		w.oh = 1;
		w.ow = 1;
		w.pad_top = 0;
		w.pad_left = 0;
		w.dil_h = 1;
		w.dil_w = 1;
		w.n = 1 + rnd(9);
	} else if (!flat && rnd(4) == 0) {
		w.transposed = 1;
		w.oh = 1 + rnd(2 * w.ih + k);
		w.ow = 1 + rnd(2 * w.iw + k);
		w.stride_h = 1 + rnd(3);
		w.stride_w = 1 + rnd(3);
	}
	return w;
}

/* The place in the input of tap @k, in one direction, or -1. */
static int64_t place(const struct vtacpu_window *w, int64_t out, int64_t k, bool across)
{
	int64_t stride = across ? w->stride_w : w->stride_h, dil = across ? w->dil_w : w->dil_h;
	int64_t pad = across ? w->pad_left : w->pad_top, size = across ? w->iw : w->ih;
	int64_t at = w->transposed ? out + pad - k * dil : out * stride - pad + k * dil;

	if (w->transposed)
		at = at < 0 || at % stride ? -1 : at / stride;
	return at >= 0 && at < size ? at : -1;
}

/* Output @at by plain loops, in floats. */
static float plain_conv(const struct vtacpu_window *w, const float *x, const float *weights,
			float sum, size_t at)
{
	int64_t oy = (int64_t)(at / w->ow % w->oh), ox = (int64_t)(at % w->ow);
	uint32_t o = channel_of(w, at), each = w->ic / w->groups, group = o / (w->oc / w->groups);

	x += (at / w->ow / w->oh / w->oc * w->ic + group * each) * w->ih * w->iw;
	for (uint32_t c = 0; c < each; c++)
		for (uint32_t ky = 0; ky < w->kh; ky++)
			for (uint32_t kx = 0; kx < w->kw; kx++) {
				int64_t y = place(w, oy, ky, false), i = place(w, ox, kx, true);
				size_t tap = ((o * each + c) * w->kh + ky) * w->kw + kx;

				if (y >= 0 && i >= 0)
					sum += x[(c * w->ih + (size_t)y) * w->iw + (size_t)i] *
					       weights[tap];
			}
	return sum;
}

/* The order of sums does not depend on strips, parts of the channels or the processor. */
TEST(conv_of_floats_is_to_the_bit_that_of_plain_loops)
{
	for (uint32_t i = 0; i < 100; i++) {
		struct vtacpu_conv_f32 p = { .win = rnd_large_window(), .has_bias = rnd(2) };
		struct call c;
		size_t count;

		prepare(&c, VTACPU_CONV_F32, &p, 1);
		run(&c, VTACPU_CONV_F32, &p);
		count = c.need.bytes[4] / 4;
		/* All of small ones; the last, and one of some hundred in between. */
		for (size_t at = 0; at < count; at = at + 1 < count && c.need.work > 1000000 ?
		     (at + 1 + rnd(200) < count ? at + 1 + rnd(200) : count - 1) : at + 1) {
			float bias = p.has_bias ? ((float *)c.io[2])[channel_of(&p.win, at)] : 0;
			float want = plain_conv(&p.win, c.io[0], c.io[1], bias, at);

			if (((float *)c.io[4])[at] != want)
				fail_msg("%ux%u / %u of %u channels: output %zu is %.9g, not %.9g",
					 p.win.kh, p.win.kw, p.win.stride_w, p.win.ic, at,
					 ((float *)c.io[4])[at], want);
		}
		drop(&c);
	}
}

/* A residual of two halves, times the channel's number / 256, in 32 bits */
static int32_t fine_residual(const struct call *c, size_t at, int32_t channel)
{
	int32_t value = byte(c->io[2], at, 0) * 256 + byte(c->io[5], at, 0);

	return (int32_t)((uint32_t)value * ((uint32_t *)c->io[6])[channel]) >> 8;
}

TEST(conv_of_bytes)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_conv_i8 p = { .win = rnd_window(), .x_unsigned = rnd(2),
					    .w_unsigned = rnd(2), .y_unsigned = rnd(2),
					    .has_res = rnd(4) };
		unsigned int y = p.has_res > 1 ? 7 : 6;
		struct bytes x, w;
		void *vectors[3];
		struct call c;

		p.res_shift = p.has_res > 1 ? 0 : rnd(10);
		p.x_zero = rnd(2) ? (int32_t)rnd(100) : 0;
		p.w_zero = rnd(2) ? (int32_t)rnd(100) : 0;
		p.post = rnd_post((int)p.y_unsigned, 1);
		if (p.has_res == 3)
			p.post.vectors &= ~(uint32_t)VTACPU_SHIFTS;
		if (!p.y_unsigned && rnd(3) == 0) {
			p.post.vectors |= VTACPU_LOW;
			p.post.lo = (int32_t)rnd(32769) - 32768;
			p.post.hi = (int32_t)rnd(32768);
		}
		prepare(&c, VTACPU_CONV_I8, &p, 0);
		rnd_vectors(&c, 3);
		run(&c, VTACPU_CONV_I8, &p);
		vectors[0] = c.io[3];
		vectors[1] = c.io[4];
		vectors[2] = p.has_res < 3 ? c.io[5] : NULL;
		x = (struct bytes) { c.io[0], p.x_unsigned, p.x_zero };
		w = (struct bytes) { c.io[1], p.w_unsigned, p.w_zero };
		for (size_t at = 0; at < c.need.bytes[y]; at++) {
			int32_t sum = (int32_t)conv_sum(&p.win, a_byte, &x, &w, at);
			int32_t channel = (int32_t)channel_of(&p.win, at);

			if (p.has_res == 3)
				sum = (int32_t)((uint32_t)sum +
						(uint32_t)fine_residual(&c, at, channel));
			else if (p.has_res)
				sum = (int32_t)((uint32_t)sum + (uint32_t)byte(c.io[2], at, 0) *
						(p.has_res > 1 ? ((uint32_t *)c.io[6])[channel] :
						 1u << p.res_shift));
			sum = post(&p.post, vectors, channel_of(&p.win, at), sum);
			assert_int_equal(byte(c.io[y], at, p.y_unsigned),
					 p.post.vectors & VTACPU_LOW ? (int8_t)sum : sum);
		}
		drop(&c);
	}
}

/* ---- matrices ---- */

static struct vtacpu_matrices rnd_matrices(void)
{
	struct vtacpu_matrices m = { .batch = { 1 + rnd(2), 1 + rnd(3), 1 + rnd(2) },
				     .m = 1 + rnd(9), .n = 1 + rnd(20), .k = 1 + rnd(30) };
	int plain_a = rnd(2), plain_b = rnd(2);

	m.a_row = plain_a ? m.k : 1;
	m.a_col = plain_a ? 1 : m.m;
	m.b_row = plain_b ? m.n : 1;
	m.b_col = plain_b ? 1 : m.k;
	m.c_row = rnd(2) ? m.n : 0;
	m.c_col = rnd(2);
	m.a_batch[2] = rnd(2) * m.m * m.k;
	m.b_batch[1] = rnd(2) * m.n * m.k;
	m.c_batch[0] = rnd(2);
	return m;
}

static size_t batch_at(const struct vtacpu_matrices *m, const uint32_t *stride, uint32_t batch)
{
	return (size_t)batch % m->batch[2] * stride[2] +
	       batch / m->batch[2] % m->batch[1] * stride[1] +
	       batch / m->batch[2] / m->batch[1] * stride[0];
}

/* The member of a batch that output number @at belongs to, and the index of its value of c. */
static uint32_t batch_of(const struct vtacpu_matrices *m, size_t at)
{
	return (uint32_t)(at / m->n / m->m);
}

static size_t c_at(const struct vtacpu_matrices *m, size_t at)
{
	return batch_at(m, m->c_batch, batch_of(m, at)) + at / m->n % m->m * m->c_row +
	       at % m->n * m->c_col;
}

static double gemm_sum(const struct vtacpu_matrices *m, value_fn value, const void *a,
		       const void *b, size_t at)
{
	size_t i = at / m->n % m->m, j = at % m->n;
	uint32_t batch = batch_of(m, at);
	double sum = 0;

	for (uint32_t l = 0; l < m->k; l++)
		sum += value(a, batch_at(m, m->a_batch, batch) + i * m->a_row + l * m->a_col) *
		       value(b, batch_at(m, m->b_batch, batch) + l * m->b_row + j * m->b_col);
	return sum;
}

TEST(gemm_of_floats)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct vtacpu_gemm_f32 p = { .mat = rnd_matrices(), .has_c = rnd(2), .alpha = 0.5f,
					     .beta = 2, .act = rnd_act() };
		struct call c;

		prepare(&c, VTACPU_GEMM_F32, &p, 1);
		run(&c, VTACPU_GEMM_F32, &p);
		for (size_t at = 0; at < c.need.bytes[3] / 4; at++) {
			double v = 0.5 * gemm_sum(&p.mat, a_float, c.io[0], c.io[1], at);

			if (p.has_c)
				v += 2 * ((float *)c.io[2])[c_at(&p.mat, at)];
			same_float(((float *)c.io[3])[at], act(&p.act, v), 4);
		}
		drop(&c);
	}
}

TEST(gemm_of_floats_is_to_the_bit_that_of_plain_loops)
{
	for (uint32_t round = 0; round < 40; round++) {
		struct vtacpu_gemm_f32 p = { .mat = rnd_matrices(), .alpha = 1 };
		struct vtacpu_matrices *m = &p.mat;
		uint32_t a_plain = rnd(2), b_plain = rnd(2);
		struct call c;

		m->m = rnd(3) ? 1 + rnd(40) : 1;
		m->n = 1 + rnd(rnd(3) ? 150 : 2500);
		m->k = 1 + rnd(1300);
		m->a_row = a_plain ? m->k : 1;
		m->a_col = a_plain ? 1 : m->m;
		m->b_row = b_plain ? m->n : 1;
		m->b_col = b_plain ? 1 : m->k;
		m->batch[0] = 1;
		m->batch[1] = 1;
		prepare(&c, VTACPU_GEMM_F32, &p, 1);
		run(&c, VTACPU_GEMM_F32, &p);
		for (size_t at = 0; at < c.need.bytes[3] / 4; at += 1 + rnd(20)) {
			size_t batch = batch_of(m, at);
			const float *a = (float *)c.io[0] + batch_at(m, m->a_batch, batch);
			const float *b = (float *)c.io[1] + batch_at(m, m->b_batch, batch);
			float sum = 0;

			for (size_t l = 0; l < m->k; l++)
				sum += a[at / m->n % m->m * m->a_row + l * m->a_col] *
				       b[l * m->b_row + at % m->n * m->b_col];
			assert_true(((float *)c.io[3])[at] == sum);
		}
		drop(&c);
	}
}

/* Rows and columns that are whole panels and parts of one, and more than are multiplied at once. */
TEST(packed_gemm_is_to_the_bit_the_plain_one)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct vtacpu_gemm_f32 p = { .mat = rnd_matrices(), .has_c = rnd(2), .alpha = 0.5f,
					     .beta = 2, .act = rnd_act() }, packed;
		struct call c, d;

		if (rnd(4) == 0) {
			p.mat.n = 1 + rnd(2500);
			p.mat.k = 1 + rnd(1300);
			p.mat.b_row = rnd(2) ? p.mat.n : 1;
			p.mat.b_col = p.mat.b_row == 1 ? p.mat.k : 1;
			p.mat.a_row = p.mat.k;
			p.mat.a_col = 1;
		}
		p.mat.b_batch[1] = 0;
		packed = p;
		packed.mat.b_row = 0;
		packed.mat.b_col = 0;
		prepare(&c, VTACPU_GEMM_F32, &p, 1);
		run(&c, VTACPU_GEMM_F32, &p);
		prepare(&d, VTACPU_GEMM_PACKED_F32, &packed, 1);
		assert_int_equal(d.need.bytes[1], (p.mat.n + 15) / 16 * 16 * p.mat.k * 4);
		vtacpu_gemm_pack(&p, c.io[1], d.io[1]);
		memcpy(d.io[0], c.io[0], c.need.bytes[0]);
		if (p.has_c)
			memcpy(d.io[2], c.io[2], c.need.bytes[2]);
		run(&d, VTACPU_GEMM_PACKED_F32, &packed);
		assert_memory_equal(d.io[3], c.io[3], c.need.bytes[3]);
		drop(&c);
		drop(&d);
	}
}

TEST(packed_matrices_have_no_strides)
{
	struct vtacpu_gemm_f32 p = { .mat = { .batch = { 1, 1, 1 }, .m = 2, .n = 3, .k = 4,
					      .a_row = 4, .a_col = 1 }, .alpha = 1 };
	struct vtacpu_need need;
	uint32_t *const strides[] = { &p.mat.b_row, &p.mat.b_col, &p.mat.b_batch[0],
				      &p.mat.b_batch[1], &p.mat.b_batch[2] };

	assert_int_equal(vtacpu_need(VTACPU_GEMM_PACKED_F32, &p, &need), 0);
	for (unsigned int i = 0; i < 5; i++) {
		*strides[i] = 1;
		assert_int_equal(vtacpu_need(VTACPU_GEMM_PACKED_F32, &p, &need), -1);
		assert_string_equal(need.why, "a packed matrix has strides");
		*strides[i] = 0;
	}
	/* Whole panels count: 2^31 bytes and more are too many. */
	p.mat.n = 1;
	p.mat.k = 1u << 25;
	assert_int_equal(vtacpu_need(VTACPU_GEMM_PACKED_F32, &p, &need), 0);
	p.mat.k++;
	assert_int_equal(vtacpu_need(VTACPU_GEMM_PACKED_F32, &p, &need), -1);
}

TEST(gemm_of_bytes)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct vtacpu_gemm_i8 p = { .mat = rnd_matrices(), .has_c = rnd(2),
					    .res_shift = rnd(10), .a_unsigned = rnd(2),
					    .b_unsigned = rnd(2), .y_unsigned = rnd(2),
					    .a_zero = (int32_t)rnd(9), .b_zero = (int32_t)rnd(9) };
		struct bytes a, w;
		struct call c;

		p.post = rnd_post((int)p.y_unsigned, 1);
		prepare(&c, VTACPU_GEMM_I8, &p, 0);
		rnd_vectors(&c, 3);
		run(&c, VTACPU_GEMM_I8, &p);
		a = (struct bytes) { c.io[0], p.a_unsigned, p.a_zero };
		w = (struct bytes) { c.io[1], p.b_unsigned, p.b_zero };
		for (size_t at = 0; at < c.need.bytes[6]; at++) {
			int32_t sum = (int32_t)gemm_sum(&p.mat, a_byte, &a, &w, at);

			if (p.has_c)
				sum += byte(c.io[2], c_at(&p.mat, at), 0) * (1 << p.res_shift);
			assert_int_equal(byte(c.io[6], at, p.y_unsigned),
					 post(&p.post, c.io + 3, at % p.mat.n, sum));
		}
		drop(&c);
	}
}

/* ---- pools ---- */

static struct vtacpu_pool_window rnd_pool(uint32_t kinds)
{
	return (struct vtacpu_pool_window) {
		.kind = kinds == 4 ? rnd(4) : rnd(2) ? VTACPU_POOL_MAX : VTACPU_POOL_SUM,
		.n = 1 + rnd(2), .c = 1 + rnd(5), .ih = 1 + rnd(9), .iw = 1 + rnd(9),
		.oh = 1 + rnd(6), .ow = 1 + rnd(6), .kh = 1 + rnd(4), .kw = 1 + rnd(4),
		.stride_h = 1 + rnd(3), .stride_w = 1 + rnd(3), .pad_top = rnd(3),
		.pad_left = rnd(3), .pad_bottom = rnd(3), .pad_right = rnd(3),
		.dil_h = 1 + rnd(2), .dil_w = 1 + rnd(2),
	};
}

struct window_sum {
	double sum, most;
	uint32_t inside, padded;
};

static struct window_sum pool_sum(const struct vtacpu_pool_window *p, value_fn value, const void *x,
				  size_t plane, uint32_t oy, uint32_t ox)
{
	struct window_sum s = { .most = -INFINITY };

	for (uint32_t ky = 0; ky < p->kh; ky++)
		for (uint32_t kx = 0; kx < p->kw; kx++) {
			int64_t y = (int64_t)oy * p->stride_h + ky * p->dil_h - p->pad_top;
			int64_t at = (int64_t)ox * p->stride_w + kx * p->dil_w - p->pad_left;
			double v;

			s.padded += y < p->ih + p->pad_bottom && at < p->iw + p->pad_right;
			if (y < 0 || at < 0 || y >= p->ih || at >= p->iw)
				continue;
			v = value(x, (plane * p->ih + (size_t)y) * p->iw + (size_t)at);
			s.inside++;
			s.sum += v;
			s.most = v > s.most ? v : s.most;
		}
	return s;
}

TEST(pools)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_pool_window_f32 p = { .pool = rnd_pool(4), .act = rnd_act() };
		const struct vtacpu_pool_window *w = &p.pool;
		struct call c;
		size_t at = 0;

		prepare(&c, VTACPU_POOL_WINDOW_F32, &p, 1);
		run(&c, VTACPU_POOL_WINDOW_F32, &p);
		for (uint32_t plane = 0; plane < w->n * w->c; plane++)
			for (uint32_t oy = 0; oy < w->oh; oy++)
				for (uint32_t ox = 0; ox < w->ow; ox++, at++) {
					struct window_sum s = pool_sum(w, a_float, c.io[0], plane,
								       oy, ox);
					uint32_t n = w->kind == VTACPU_POOL_AVG ? s.inside :
						     s.padded;
					double v = s.sum;

					if (w->kind == VTACPU_POOL_MAX)
						v = s.inside ? s.most : -3.402823466e38;
					else if (w->kind != VTACPU_POOL_SUM && n)
						v /= n;
					same_float(((float *)c.io[1])[at], act(&p.act, v), 1);
				}
		drop(&c);
	}
}

TEST(pools_of_bytes)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_pool_window_i8 p = { .pool = rnd_pool(2), .is_unsigned = rnd(2) };
		const struct vtacpu_pool_window *w = &p.pool;
		struct bytes x;
		struct call c;
		size_t at = 0;

		p.post = rnd_post((int)p.is_unsigned, 1);
		prepare(&c, VTACPU_POOL_WINDOW_I8, &p, 0);
		rnd_vectors(&c, 1);
		run(&c, VTACPU_POOL_WINDOW_I8, &p);
		x = (struct bytes) { c.io[0], p.is_unsigned, 0 };
		for (uint32_t plane = 0; plane < w->n * w->c; plane++)
			for (uint32_t oy = 0; oy < w->oh; oy++)
				for (uint32_t ox = 0; ox < w->ow; ox++, at++) {
					struct window_sum s;
					int32_t v;

					s = pool_sum(w, a_byte, &x, plane, oy, ox);
					v = (int32_t)s.sum;
					if (w->kind == VTACPU_POOL_MAX)
						v = s.inside ? (int32_t)s.most :
						    p.is_unsigned ? 0 : -128;
					v = post(&p.post, c.io + 1, plane % w->c, v);
					assert_int_equal(byte(c.io[4], at, p.is_unsigned), v);
				}
		drop(&c);
	}
}

/* ---- value by value ---- */

static struct vtacpu_broadcast rnd_broadcast(uint32_t ops)
{
	struct vtacpu_broadcast b = { .op = rnd(ops), .rank = rnd(5) };
	uint32_t as = 1, bs = 1;

	for (uint32_t i = b.rank; i--;) {
		b.dims[i] = 1 + rnd(i == b.rank - 1 ? 400 : 4);
		b.a_stride[i] = rnd(4) ? as : 0;
		b.b_stride[i] = rnd(3) ? bs : 0;
		as *= b.a_stride[i] ? b.dims[i] : 1;
		bs *= b.b_stride[i] ? b.dims[i] : 1;
	}
	return b;
}

static size_t operand_at(const struct vtacpu_broadcast *b, const uint32_t *stride, size_t i)
{
	size_t at = 0;

	for (uint32_t d = b->rank; d--; i /= b->dims[d])
		at += i % b->dims[d] * stride[d];
	return at;
}

static size_t count_of(const uint32_t *dims, uint32_t rank)
{
	size_t n = 1;

	while (rank--)
		n *= dims[rank];
	return n;
}

static double two(uint32_t op, double a, double b)
{
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
	default:
		return a / b;
	}
}

TEST(two_operands)
{
	void *const none[3] = { NULL };

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct vtacpu_binary_f32 p = { .cast = rnd_broadcast(VTACPU_DIV + 1),
					       .act = rnd_act() };
		struct vtacpu_binary_i8 q = { .cast = rnd_broadcast(VTACPU_DIV),
					      .a_mul = 1 << rnd(8), .b_mul = (int32_t)rnd(200) };
		struct call c;

		prepare(&c, VTACPU_BINARY_F32, &p, 1);
		run(&c, VTACPU_BINARY_F32, &p);
		for (size_t j = 0; j < count_of(p.cast.dims, p.cast.rank); j++) {
			float a = ((float *)c.io[0])[operand_at(&p.cast, p.cast.a_stride, j)];
			float b = ((float *)c.io[1])[operand_at(&p.cast, p.cast.b_stride, j)];
			double v = two(p.cast.op, a, b);

			if (isfinite(v))
				same_float(((float *)c.io[2])[j], act(&p.act, v), 1);
		}
		drop(&c);
		q.post = rnd_post(0, 0);
		prepare(&c, VTACPU_BINARY_I8, &q, 0);
		run(&c, VTACPU_BINARY_I8, &q);
		for (size_t j = 0; j < count_of(q.cast.dims, q.cast.rank); j++) {
			int32_t a = byte(c.io[0], operand_at(&q.cast, q.cast.a_stride, j), 0);
			int32_t b = byte(c.io[1], operand_at(&q.cast, q.cast.b_stride, j), 0);

			a = (int32_t)two(q.cast.op, a * q.a_mul, b * q.b_mul);
			assert_int_equal(byte(c.io[2], j, 0), post(&q.post, none, 0, a));
		}
		drop(&c);
	}
}

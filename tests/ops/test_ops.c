// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operators on the emulator's core, against plain loops: random shapes, a
 * number of configurations, all interleavings of the modules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "machine.h"

#define MEM_SIZE	(4u << 20)

static uint64_t rng_state;

static uint32_t rnd(uint32_t below)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % below;
}

/* TVM's default, and others that differ in everything that may. */
static const struct core_config configs[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 0x000002, 0, 0 },
	{ 3, 3, 5, 0, 4, 12, 12, 15, 14, 0x000002, 0, 0 },
	{ 3, 3, 5, 0, 5, 15, 16, 19, 18, 0x000002, 0, 0 },
	{ 3, 3, 5, 1, 4, 14, 14, 17, 16, 0x000002, 0, 0 },
	{ 3, 3, 5, 2, 3, 13, 13, 14, 15, 0x000002, 0, 0 },
	{ 3, 2, 5, 0, 4, 15, 15, 17, 17, 0x000002, 0, 0 },
	{ 2, 2, 5, 0, 4, 14, 13, 16, 16, 0x000002, 0, 0 },
	{ 1, 1, 5, 1, 4, 14, 13, 15, 16, 0x000002, 0, 0 },
};

static void machine_start(struct machine *m, unsigned int config, enum core_order order)
{
	emulated_init(m, &configs[config], MEM_SIZE, order, rng_state);
}

/* Random values of 2^log_width bits. */
static int8_t *values(size_t count, unsigned int log_width)
{
	int8_t *v = malloc(count);
	int half = 1 << ((1 << log_width) - 1);

	assert_non_null(v);
	for (size_t i = 0; i < count; i++)
		v[i] = (int8_t)((int)rnd((uint32_t)(2 * half)) - half);
	return v;
}

static void random_post(struct machine *m, struct vtaops_post *post, uint32_t units,
			int32_t **bias)
{
	int half = 1 << ((1 << m->core.log_inp_width) - 1);

	*bias = calloc(units, sizeof(**bias));
	assert_non_null(*bias);
	post->shift = rnd(10);
	post->lo = rnd(2) ? 0 : -half;
	post->hi = half - 1 - (int)rnd(2);
	post->bias = 0;
	if (rnd(4)) {
		for (uint32_t i = 0; i < units; i++)
			(*bias)[i] = (int32_t)rnd(20001) - 10000;
		post->bias = machine_alloc(m, vtaops_bias_bytes(&m->core, units));
		vtaops_pack_bias(&m->core, machine_at(m, post->bias), *bias, units);
	}
}

static int8_t apply_post(const struct vtaops_post *post, int32_t acc)
{
	int32_t v = acc >> post->shift;

	v = v < post->lo ? post->lo : v;
	return (int8_t)(v > post->hi ? post->hi : v);
}

static int run(struct machine *m, lower_fn lower, const void *op)
{
	const char *why;

	return machine_run(m, lower, op, &why);
}

static int lower_conv(struct vtaops_builder *b, const void *op)
{
	return vtaops_conv2d(b, op);
}

static int lower_conv_start(struct vtaops_builder *b, const void *op)
{
	return vtaops_conv2d_start(b, op, 0x50000);
}

static int lower_conv_around(struct vtaops_builder *b, const void *op)
{
	return vtaops_conv2d_around(b, op, 0, 0x50000);
}

static int lower_around_nothing(struct vtaops_builder *b, const void *op)
{
	return vtaops_conv2d_around(b, op, 0, 0);
}

/* With a residual's low half, the result's, both, and that in the place of the result */
static int lower_fine(struct vtaops_builder *b, const void *op, uint32_t res, uint32_t out)
{
	return vtaops_conv2d_fine(b, op, &(struct vtaops_fine) { res, out }, 0);
}

static int lower_fine_res(struct vtaops_builder *b, const void *op)
{
	return lower_fine(b, op, 0x50000, 0);
}

static int lower_fine_out(struct vtaops_builder *b, const void *op)
{
	return lower_fine(b, op, 0, 0x60000);
}

static int lower_fine_same(struct vtaops_builder *b, const void *op)
{
	return lower_fine(b, op, 0, ((const struct vtaops_conv2d *)op)->out);
}

static int lower_dense(struct vtaops_builder *b, const void *op)
{
	return vtaops_dense(b, op);
}

static int lower_add(struct vtaops_builder *b, const void *op)
{
	return vtaops_add(b, op);
}

static int lower_max(struct vtaops_builder *b, const void *op)
{
	return vtaops_max(b, op);
}

/* One input value, 0 where the padding is. */
static int32_t input(const struct vtaops_conv2d *op, const int8_t *plane, uint32_t y, uint32_t x)
{
	y -= op->pad_h;
	x -= op->pad_w;
	return y < op->h && x < op->w ? plane[y * op->w + x] : 0;
}

static int32_t conv_sum(const struct vtaops_conv2d *op, const int8_t *image, const int8_t *wgt,
			uint32_t y, uint32_t x)
{
	int32_t acc = 0;

	for (uint32_t i = 0; i < op->in; i++, image += op->h * op->w)
		for (uint32_t ky = 0; ky < op->kh; ky++)
			for (uint32_t kx = 0; kx < op->kw; kx++)
				acc += *wgt++ * input(op, image, y * op->stride_h + ky,
						      x * op->stride_w + kx);
	return acc;
}

static void conv_reference(const struct vtaops_conv2d *op, const int8_t *inp, const int8_t *wgt,
			   const int32_t *bias, int8_t *out)
{
	uint32_t oh = vtaops_conv2d_out_h(op), ow = vtaops_conv2d_out_w(op);
	size_t image = (size_t)op->in * op->h * op->w, kernel = (size_t)op->in * op->kh * op->kw;

	for (uint32_t n = 0; n < op->n; n++)
		for (uint32_t o = 0; o < op->units; o++)
			for (uint32_t y = 0; y < oh; y++)
				for (uint32_t x = 0; x < ow; x++)
					*out++ = apply_post(&op->post, bias[o] +
							    conv_sum(op, inp + n * image,
								     wgt + o * kernel, y, x));
}

/* Returns whether the shape could be lowered. */
static bool check_conv(struct machine *m, struct vtaops_conv2d *op)
{
	struct vtaops_core *c = &m->core;
	uint32_t oh = vtaops_conv2d_out_h(op), ow = vtaops_conv2d_out_w(op);
	size_t in_count = (size_t)op->n * op->in * op->h * op->w;
	size_t out_count = (size_t)op->n * op->units * oh * ow;
	size_t wgt_count = (size_t)op->units * op->in * op->kh * op->kw;
	int8_t *inp = values(in_count, c->log_inp_width);
	int8_t *wgt = values(wgt_count, c->log_wgt_width);
	int8_t *want = malloc(out_count), *got = malloc(out_count);
	int32_t *bias;
	int err;

	assert_true(want && got);
	machine_reset(m);
	random_post(m, &op->post, op->units, &bias);
	op->inp = machine_alloc(m, vtaops_act_bytes(c, op->n, op->in, op->h, op->w));
	op->wgt = machine_alloc(m, vtaops_wgt_bytes(c, op->units, op->in, op->kh, op->kw));
	op->out = machine_alloc(m, vtaops_act_bytes(c, op->n, op->units, oh, ow));
	vtaops_pack_act(c, machine_at(m, op->inp), inp, op->n, op->in, op->h, op->w);
	vtaops_pack_wgt(c, machine_at(m, op->wgt), wgt, op->units, op->in, op->kh, op->kw);

	err = run(m, lower_conv, op);
	if (!err) {
		conv_reference(op, inp, wgt, bias, want);
		vtaops_unpack_act(c, got, machine_at(m, op->out), op->n, op->units, oh, ow);
		if (memcmp(got, want, out_count))
			fail_msg("conv2d n=%u in=%u %ux%u units=%u k=%ux%u s=%u,%u p=%u,%u differs",
				 op->n, op->in, op->h, op->w, op->units, op->kh, op->kw,
				 op->stride_h, op->stride_w, op->pad_h, op->pad_w);
	} else {
		assert_int_equal(err, -VTAOPS_EFIT);
	}
	free(bias);
	free(inp);
	free(wgt);
	free(want);
	free(got);
	return !err;
}

TEST(test_conv2d)
{
	unsigned int lowered = 0, refused = 0;

	for (unsigned int i = 0; i < 480; i++) {
		struct machine m;
		struct vtaops_conv2d op = { 0 };

		rng_state = 1000 + i;
		machine_start(&m, i % 8, (enum core_order)(i / 8 % 3));
		op.n = 1 + rnd(3);
		op.in = 1 + rnd(40);
		op.units = 1 + rnd(40);
		op.kh = 1 + rnd(5);
		op.kw = 1 + rnd(5);
		op.h = op.kh + rnd(14);
		op.w = op.kw + rnd(14);
		op.stride_h = 1 + rnd(3);
		op.stride_w = 1 + rnd(3);
		op.pad_h = rnd(op.kh);
		op.pad_w = rnd(op.kw);
		if (check_conv(&m, &op))
			lowered++;
		else
			refused++;
		emulated_fini(&m);
	}
	print_message("# conv2d: %u shapes bit-exact, %u refused as too large\n", lowered, refused);
	assert_true(lowered >= 450);
}

TEST(test_dense)
{
	for (unsigned int i = 0; i < 160; i++) {
		struct machine m;
		struct vtaops_dense op = { 0 };
		/* The same as a convolution of 1 by 1, but for the layout. */
		struct vtaops_conv2d conv = { .h = 1, .w = 1, .kh = 1, .kw = 1, .stride_h = 1,
					      .stride_w = 1 };
		int8_t *inp, *wgt, *want, *got;
		int32_t *bias;

		rng_state = 5000 + i;
		machine_start(&m, i % 8, (enum core_order)(i / 8 % 3));
		op.n = 1 + rnd(40);
		op.in = 1 + rnd(300);
		op.units = 1 + rnd(100);
		inp = values((size_t)op.n * op.in, m.core.log_inp_width);
		wgt = values((size_t)op.units * op.in, m.core.log_wgt_width);
		want = malloc((size_t)op.n * op.units);
		got = malloc((size_t)op.n * op.units);
		assert_true(want && got);
		random_post(&m, &op.post, op.units, &bias);
		op.inp = machine_alloc(&m, vtaops_act_bytes(&m.core, op.n, op.in, 1, 1));
		op.wgt = machine_alloc(&m, vtaops_wgt_bytes(&m.core, op.units, op.in, 1, 1));
		op.out = machine_alloc(&m, vtaops_act_bytes(&m.core, op.n, op.units, 1, 1));
		vtaops_pack_act(&m.core, machine_at(&m, op.inp), inp, op.n, op.in, 1, 1);
		vtaops_pack_wgt(&m.core, machine_at(&m, op.wgt), wgt, op.units, op.in, 1, 1);
		assert_int_equal(run(&m, lower_dense, &op), 0);

		conv.n = op.n;
		conv.in = op.in;
		conv.units = op.units;
		conv.post = op.post;
		conv_reference(&conv, inp, wgt, bias, want);
		vtaops_unpack_act(&m.core, got, machine_at(&m, op.out), op.n, op.units, 1, 1);
		if (memcmp(got, want, (size_t)op.n * op.units))
			fail_msg("dense n=%u in=%u units=%u, seed %u, differs", op.n, op.in,
				 op.units, 5000 + i);
		free(bias);
		free(inp);
		free(wgt);
		free(want);
		free(got);
		emulated_fini(&m);
	}
}

TEST(test_eltwise)
{
	for (unsigned int i = 0; i < 60; i++) {
		struct machine m;
		struct vtaops_eltwise op = { 0 };
		bool add = rnd(2);
		size_t count;
		int8_t *a, *b, *out;

		rng_state = 9000 + i;
		machine_start(&m, i % 5, (enum core_order)(i / 5 % 3));
		op.elements = 1 + rnd(5000);
		count = (size_t)op.elements * m.core.inp_bytes;
		op.post = (struct vtaops_post) { .shift = rnd(3), .lo = rnd(2) ? 0 : -128,
						 .hi = 127 };
		a = values(count, 3);
		b = values(count, 3);
		op.a = machine_alloc(&m, count);
		op.b = machine_alloc(&m, count);
		op.out = machine_alloc(&m, count);
		memcpy(machine_at(&m, op.a), a, count);
		memcpy(machine_at(&m, op.b), b, count);
		assert_int_equal(run(&m, add ? lower_add : lower_max, &op), 0);
		out = machine_at(&m, op.out);
		for (size_t j = 0; j < count; j++)
			assert_int_equal(out[j], apply_post(&op.post, add ? a[j] + b[j] :
							    a[j] > b[j] ? a[j] : b[j]));
		free(a);
		free(b);
		emulated_fini(&m);
	}
}

/* Three layers in one stream: each must see all of the one before. */
struct chain {
	struct vtaops_conv2d first, second;
	struct vtaops_eltwise sum;
};

static int lower_chain(struct vtaops_builder *b, const void *op)
{
	const struct chain *c = op;

	vtaops_conv2d(b, &c->first);
	vtaops_conv2d(b, &c->second);
	return vtaops_add(b, &c->sum);
}

TEST(test_chain)
{
	enum { C = 32, H = 12, COUNT = C * H * H };

	for (unsigned int i = 0; i < 12; i++) {
		struct machine m;
		struct vtaops_conv2d conv = {
			.n = 1, .in = C, .h = H, .w = H, .units = C, .kh = 3, .kw = 3,
			.stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1,
			.post = { .shift = 9, .lo = -128, .hi = 127 },
		};
		struct chain c = { .first = conv, .second = conv };
		int8_t *inp, *wgt[2], *mid, *want, *got;
		int32_t zero[C] = { 0 };
		size_t bytes;

		rng_state = 12000 + i;
		machine_start(&m, i % 4, (enum core_order)(i / 4));
		inp = values(COUNT, 3);
		wgt[0] = values(C * C * 9, 3);
		wgt[1] = values(C * C * 9, 3);
		mid = malloc(COUNT);
		want = malloc(COUNT);
		got = malloc(COUNT);
		assert_true(mid && want && got);
		bytes = vtaops_act_bytes(&m.core, 1, C, H, H);
		c.first.inp = machine_alloc(&m, bytes);
		c.first.out = machine_alloc(&m, bytes);
		c.second.inp = c.first.out;
		c.second.out = machine_alloc(&m, bytes);
		c.first.wgt = machine_alloc(&m, vtaops_wgt_bytes(&m.core, C, C, 3, 3));
		c.second.wgt = machine_alloc(&m, vtaops_wgt_bytes(&m.core, C, C, 3, 3));
		c.sum = (struct vtaops_eltwise) {
			.a = c.first.out, .b = c.second.out, .out = machine_alloc(&m, bytes),
			.elements = (uint32_t)bytes / m.core.inp_bytes,
			.post = { .shift = 1, .lo = 0, .hi = 127 },
		};
		vtaops_pack_act(&m.core, machine_at(&m, c.first.inp), inp, 1, C, H, H);
		vtaops_pack_wgt(&m.core, machine_at(&m, c.first.wgt), wgt[0], C, C, 3, 3);
		vtaops_pack_wgt(&m.core, machine_at(&m, c.second.wgt), wgt[1], C, C, 3, 3);
		assert_int_equal(run(&m, lower_chain, &c), 0);

		conv_reference(&conv, inp, wgt[0], zero, mid);
		conv_reference(&conv, mid, wgt[1], zero, want);
		for (int j = 0; j < COUNT; j++)
			want[j] = apply_post(&c.sum.post, mid[j] + want[j]);
		vtaops_unpack_act(&m.core, got, machine_at(&m, c.sum.out), 1, C, H, H);
		assert_memory_equal(got, want, COUNT);
		free(inp);
		free(wgt[0]);
		free(wgt[1]);
		free(mid);
		free(want);
		free(got);
		emulated_fini(&m);
	}
}

TEST(test_pack_round_trip)
{
	for (unsigned int i = 0; i < 64; i++) {
		struct machine m;
		uint32_t n, c, h, w;
		int8_t *src, *dst;
		size_t count;

		rng_state = 15000 + i;
		machine_start(&m, i % 8, CORE_ORDER_INORDER);
		n = 1 + rnd(5);
		c = 1 + rnd(50);
		h = 1 + rnd(6);
		w = 1 + rnd(6);
		count = (size_t)n * c * h * w;
		src = values(count, m.core.log_inp_width);
		dst = malloc(count);
		assert_non_null(dst);
		vtaops_pack_act(&m.core, m.mem, src, n, c, h, w);
		vtaops_unpack_act(&m.core, dst, m.mem, n, c, h, w);
		assert_memory_equal(src, dst, count);
		free(src);
		free(dst);
		emulated_fini(&m);
	}
}

static void expect(struct machine *m, lower_fn lower, const void *op, enum vtaops_error error)
{
	struct vtaops_builder b;

	vtaops_begin(&b, &m->core, NULL, 0, NULL, 0, 0);
	lower(&b, op);
	assert_int_equal(vtaops_finish(&b), -(int)error);
	assert_non_null(b.why);
	assert_int_equal(b.insns == 0 || error == VTAOPS_EFIT, 1);
}

TEST(test_refusals)
{
	const struct vtaops_conv2d good = {
		.inp = 0x10000, .wgt = 0x20000, .out = 0x30000, .n = 1, .in = 16, .h = 8, .w = 8,
		.units = 16, .kh = 3, .kw = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1,
		.post = { .shift = 8, .lo = -128, .hi = 127 },
	};
	struct vtaops_conv2d op;
	struct vtaops_dense dense = { .inp = 0x10000, .wgt = 0x20000, .out = 0x30000 };
	struct vtaops_eltwise e = { .a = 0x10000, .b = 0x20000, .out = 0x30000, .elements = 4,
				    .post = { .hi = 127 } };
	struct vtaops_core bad;
	struct vtaops_insn insn[4];
	struct vtaops_builder b;
	struct machine m;

	machine_start(&m, 0, CORE_ORDER_INORDER);
#define CHECK(field, value, error) do { \
		op = good; \
		op.field = (value); \
		expect(&m, lower_conv, &op, (error)); \
	} while (0)
	CHECK(n, 0, VTAOPS_EINVAL);
	CHECK(in, 0, VTAOPS_EINVAL);
	CHECK(h, 0, VTAOPS_EINVAL);
	CHECK(units, 0xffffffff, VTAOPS_EINVAL);
	CHECK(kw, 11, VTAOPS_EINVAL);
	CHECK(stride_h, 0, VTAOPS_EINVAL);
	CHECK(pad_h, 3, VTAOPS_EINVAL);
	CHECK(end_h, 2, VTAOPS_EINVAL);
	CHECK(end_w, -2, VTAOPS_EINVAL);
	CHECK(post.shift, 32, VTAOPS_EINVAL);
	CHECK(post.hi, 128, VTAOPS_EINVAL);
	CHECK(post.lo, -129, VTAOPS_EINVAL);
	CHECK(post.lo, 127 + 1, VTAOPS_EINVAL);
	op = good;
	op.post.shift = 0;
	op.post.shifts = 0x40000;
	op.post.round = 1;
	expect(&m, lower_conv, &op, VTAOPS_EINVAL);
	CHECK(inp, 0x10001, VTAOPS_EALIGN);
	CHECK(wgt, 0x20080, VTAOPS_EALIGN);
	CHECK(post.bias, 0x20, VTAOPS_EALIGN);
	CHECK(out, 0xfffffff0, VTAOPS_EINVAL);
	op = good;
	op.res = 0x40000;
	expect(&m, lower_conv_start, &op, VTAOPS_EINVAL);
	op = good;
	expect(&m, lower_around_nothing, &op, VTAOPS_EINVAL);
	op.transposed = 1;
	expect(&m, lower_conv_around, &op, VTAOPS_EINVAL);
	expect(&m, lower_fine_out, &op, VTAOPS_EINVAL);
	op = good;
	expect(&m, lower_fine_res, &op, VTAOPS_EINVAL);
	op.res = 0x40000;
	expect(&m, lower_fine_res, &op, VTAOPS_EINVAL);
	op = good;
	expect(&m, lower_fine_same, &op, VTAOPS_EINVAL);
	op.post.hi = 32640;
	expect(&m, lower_fine_out, &op, VTAOPS_EINVAL);
	op.post.hi = 0;
	op.post.lo = -32769;
	expect(&m, lower_fine_out, &op, VTAOPS_EINVAL);
	op = good;
	op.h = 1u << 20;
	op.w = 1u << 12;
	expect(&m, lower_conv, &op, VTAOPS_EINVAL);
	op = good;
	op.kh = 64;
	op.kw = 64;
	op.h = 64;
	op.w = 64;
	op.transposed = 1;
	expect(&m, lower_conv, &op, VTAOPS_EFIT);
	expect(&m, lower_dense, &dense, VTAOPS_EINVAL);
	e.post.bias = 64;
	expect(&m, lower_add, &e, VTAOPS_EINVAL);
	e.post.bias = 0;
	e.elements = 0;
	expect(&m, lower_max, &e, VTAOPS_EINVAL);

	/* Storage too small is found, and nothing is written behind it. */
	memset(insn, 0xaa, sizeof(insn));
	vtaops_begin(&b, &m.core, insn, 3, NULL, 0, 0);
	vtaops_conv2d(&b, &good);
	assert_int_equal(vtaops_finish(&b), -VTAOPS_ESPACE);
	assert_true(insn[3].word[0] == 0xaaaaaaaaaaaaaaaaull);
	emulated_fini(&m);

	bad = (struct vtaops_core) { .log_inp_width = 4, .log_wgt_width = 3, .log_acc_width = 5 };
	assert_int_equal(vtaops_core_init(&bad), -VTAOPS_ECORE);
	machine_start(&m, 6, CORE_ORDER_INORDER);
	e.elements = 4;
	e.post.hi = 7;
	expect(&m, lower_add, &e, VTAOPS_ECORE);
	emulated_fini(&m);
}

/* Library and emulator agree on valid cores, which docs/isa.md defines. */
TEST(test_valid_cores)
{
	unsigned int valid = 0;
	char err[256];

	rng_state = 20000;
	for (unsigned int i = 0; i < 400000; i++) {
		struct core_config cfg = {
			rnd(5), rnd(5), rnd(20) ? 5 : rnd(8), rnd(10), rnd(10), rnd(20), rnd(27),
			rnd(27), rnd(20), 2, 0, 0,
		};
		struct vtaops_core core = emulated_core(&cfg);
		bool good = !core_config_check(&cfg, err, sizeof(err));

		if (good != !vtaops_core_init(&core))
			fail_msg("core %u is %s", i, good ? "refused" : err);
		valid += good;
	}
	print_message("# %u of 400000 cores are valid\n", valid);
	assert_true(valid > 1000);
}

/* Cycles of a pool of 320 channels on TVM's default core. */
static uint64_t pool_cycles(const struct vtaops_window *op, bool sum)
{
	struct vtaops_core core = emulated_core(&configs[0]);
	struct vtaops_builder b;

	assert_int_equal(vtaops_core_init(&core), 0);
	vtaops_begin(&b, &core, NULL, 0, NULL, 0, 0);
	assert_int_equal(sum ? vtaops_sum_pool(&b, op) : vtaops_max_pool(&b, op), 0);
	assert_int_equal(vtaops_finish(&b), 0);
	return b.cycles;
}

/* The greatest of 25 taps, 2 cycles each, would take 50; sums by ALU 3 with loading. */
TEST(pools_take_few_cycles_of_an_element)
{
	struct vtaops_window op = {
		.out = 1 << 20, .n = 1, .c = 320, .h = 20, .w = 20, .kh = 5, .kw = 5,
		.stride_h = 1, .stride_w = 1, .pad_h = 2, .pad_w = 2 };
	const uint64_t elements = 20ull * 20 * 20;

	assert_true(pool_cycles(&op, false) < elements * 26);
	op = (struct vtaops_window) {
		.out = 1 << 20, .n = 1, .c = 320, .h = 20, .w = 20, .kh = 20, .kw = 20,
		.stride_h = 1, .stride_w = 1 };
	assert_true(pool_cycles(&op, true) > elements * 3);
	op.identity = 2 << 20;
	assert_true(pool_cycles(&op, true) < elements * 3 / 2);
}

/* Cycles of a convolution on TVM's default core */
static uint64_t conv_cycles(const struct vtaops_conv2d *op, uint32_t res_low)
{
	const struct vtaops_fine fine = { .res = res_low };
	struct vtaops_core core = emulated_core(&configs[0]);
	struct vtaops_builder b;

	assert_int_equal(vtaops_core_init(&core), 0);
	vtaops_begin(&b, &core, NULL, 0, NULL, 0, 0);
	assert_int_equal(vtaops_conv2d_fine(&b, op, &fine, 0), 0);
	assert_int_equal(vtaops_finish(&b), 0);
	return b.cycles;
}

/* An element of a residual of 16 bits takes the cycles that docs/ops.md says. */
TEST(residuals_of_16_bits_take_5_cycles_more)
{
	struct vtaops_conv2d op = {
		.inp = 1 << 20, .wgt = 2 << 20, .out = 3 << 20, .res = 4 << 20, .res_muls = 5 << 20,
		.n = 1, .in = 16, .h = 64, .w = 64, .units = 64, .kh = 1, .kw = 1, .stride_h = 1,
		.stride_w = 1 };
	const double elements = 4 * 64 * 64;
	double muls = (double)conv_cycles(&op, 0), fine = (double)conv_cycles(&op, 6 << 20);

	assert_float_equal((fine - muls) / elements, 5, 0.2);
	op.res_muls = 0;
	op.res_shift = 3;
	assert_float_equal((fine - (double)conv_cycles(&op, 0)) / elements, 6, 0.2);
}

/* Averages by multiplication and shift, against division. */
TEST(test_average)
{
	for (uint32_t count = 1; count <= 65536; count += count < 600 ? 1 : 61) {
		double most = count <= 512 ? 1.0 / 256 : count / 131072.0;
		struct vtaops_post post = { 0 };

		vtaops_average(&post, count);
		assert_true(post.mul > 0 && post.mul < 32768 && post.round);
		for (int value = -128; value < 128; value++) {
			/* Sums of equal values, and others between. */
			for (uint32_t more = 0; more < 3 && value < 127; more++) {
				int64_t sum = (int64_t)value * count + more * (count / 3);
				int64_t exact = sum * post.mul;
				int64_t out = (exact + (1ll << (post.shift - 1))) >> post.shift;
				double error = (double)out - (double)sum / count;

				assert_true(exact < INT32_MAX && exact >= INT32_MIN);
				assert_true(error <= 0.5 + most && error >= -0.5 - most);
			}
		}
	}
}

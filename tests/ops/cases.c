// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* One case on its way: what is allocated is freed at its end. */
struct run {
	struct machine *m;
	const struct vtaops_core *c;
	uint64_t rng;
	void *owned[16];
	unsigned int count;
	char *text;
	size_t len;
};

static uint32_t rnd(struct run *r, uint32_t below)
{
	r->rng = r->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(r->rng >> 33) % below;
}

static void *alloc_owned(struct run *r, size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p || r->count == sizeof(r->owned) / sizeof(r->owned[0]))
		machine_die("out of memory");
	r->owned[r->count++] = p;
	return p;
}

static int8_t *new_values(struct run *r, size_t count, unsigned int log_width)
{
	int half = 1 << ((1 << log_width) - 1);
	int8_t *v = alloc_owned(r, count);

	for (size_t i = 0; i < count; i++)
		v[i] = (int8_t)((int)rnd(r, (uint32_t)(2 * half)) - half);
	return v;
}

/* A shape's packed random values, and the values. */
static int8_t *new_tensor(struct run *r, uint32_t *addr, uint32_t n, uint32_t c, uint32_t h,
			  uint32_t w)
{
	int8_t *v = new_values(r, (size_t)n * c * h * w, r->c->log_inp_width);

	*addr = machine_alloc(r->m, vtaops_act_bytes(r->c, n, c, h, w));
	vtaops_pack_act(r->c, machine_at(r->m, *addr), v, n, c, h, w);
	return v;
}

/* The operations of post, by channel. */
struct post {
	int32_t *bias, *mul, *shift;
	int lo, hi, round;
};

static int32_t *new_vector(struct run *r, uint32_t *addr, uint32_t channels, int32_t value,
			   int32_t from, uint32_t range)
{
	int32_t *v = alloc_owned(r, channels * sizeof(*v));

	*addr = 0;
	for (uint32_t i = 0; i < channels; i++)
		v[i] = range ? from + (int32_t)rnd(r, range) : value;
	if (range) {
		*addr = machine_alloc(r->m, vtaops_bias_bytes(r->c, channels));
		vtaops_pack_bias(r->c, machine_at(r->m, *addr), v, channels);
	}
	return v;
}

/* Values that sums begin with: none is above the least of OUT, and some are the least of all. */
static int32_t *random_start(struct run *r, uint32_t *addr, uint32_t channels)
{
	int32_t half = 1 << ((1 << r->c->log_inp_width) - 1);

	if (rnd(r, 2))
		return new_vector(r, addr, channels, 0, -half - 20000, 20001);
	return new_vector(r, addr, channels, 0, INT32_MIN, INT32_MAX - 200);
}

static struct post random_post(struct run *r, struct vtaops_post *post, uint32_t channels)
{
	int half = 1 << ((1 << r->c->log_inp_width) - 1);
	unsigned int style = rnd(r, 4);
	struct post p;

	*post = (struct vtaops_post) { .hi = half - 1 - (int)rnd(r, 2) };
	post->lo = rnd(r, 2) ? -half : post->hi < 0 ? -half : 0;
	post->shift = style < 2 ? rnd(r, rnd(r, 4) ? 10 : 24) : 0;
	post->round = style < 2 && rnd(r, 2);
	post->mul = style == 1 ? (int)rnd(r, 65536) - 32768 : 0;
	p.bias = new_vector(r, &post->bias, channels, 0, -10000, rnd(r, 4) ? 20001 : 0);
	p.mul = new_vector(r, &post->muls, channels, post->mul ? post->mul : 1, -1000,
			   style == 3 ? 2001 : 0);
	p.shift = new_vector(r, &post->shifts, channels, (int)post->shift, -3, style >= 2 ? 20 : 0);
	p.lo = post->lo;
	p.hi = post->hi;
	p.round = post->round;
	return p;
}

static int32_t finish_wide(const struct post *p, uint32_t channel, uint32_t acc)
{
	int32_t shift = p->shift[channel], v;

	acc = acc * (uint32_t)p->mul[channel] + (uint32_t)p->bias[channel];
	if (p->round && shift > 0 && shift < 16)
		acc += 1u << (shift - 1);
	v = shift < 0 ? (int32_t)(acc << -shift) : (int32_t)acc >> shift;
	/* A large half would not have fitted an immediate: what has been cut off shows it. */
	if (p->round && shift >= 16)
		v += acc >> (shift - 1) & 1;
	v = v < p->lo ? p->lo : v;
	return v > p->hi ? p->hi : v;
}

static int8_t finish_value(const struct post *p, uint32_t channel, uint32_t acc)
{
	return (int8_t)finish_wide(p, channel, acc);
}

static uint32_t product(int8_t a, int8_t b)
{
	return (uint32_t)(a * b);
}

/* "... takes 12 ...; 8 fit": more is wanted than there is. */
static bool says_what_fits(const char *why)
{
	const char *takes = strstr(why, " takes "), *fit = strstr(why, "; ");

	return takes && fit && strstr(fit, " fit") &&
	       strtoul(takes + 7, NULL, 10) > strtoul(fit + 2, NULL, 10);
}

/* Compare the tensor at @out with @want. */
static enum case_result compare(struct run *r, uint32_t out, const int8_t *want, uint32_t n,
				uint32_t c, uint32_t h, uint32_t w)
{
	size_t count = (size_t)n * c * h * w, used = strlen(r->text);
	int8_t *got = alloc_owned(r, count);

	vtaops_unpack_act(r->c, got, machine_at(r->m, out), n, c, h, w);
	for (size_t i = 0; i < count; i++) {
		if (got[i] == want[i])
			continue;
		snprintf(r->text + used, r->len - used, ": output %zu of %zu is %d instead of %d",
			 i, count, got[i], want[i]);
		return CASE_WRONG;
	}
	return CASE_EXACT;
}

/* Run and compare with @want; a refusal must name what fits. */
static enum case_result check(struct run *r, lower_fn lower, const void *op, uint32_t out,
			      const int8_t *want, uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
	size_t used = strlen(r->text);
	const char *why;
	int err = machine_run(r->m, lower, op, &why);

	if (err) {
		snprintf(r->text + used, r->len - used, ": %s", why);
		return err == -VTAOPS_EFIT && says_what_fits(why) ? CASE_REFUSED : CASE_WRONG;
	}
	return compare(r, out, want, n, c, h, w);
}

/* ---- Convolutions ----------------------------------------------------------- */

/*
 * With a vector that the sums begin with, or 0, with values around the input, or 0, and with halves
 * of 16 bits
 */
struct started_conv {
	struct vtaops_conv2d op;
	uint32_t start, around;
	struct vtaops_fine fine;
};

static int lower_conv(struct vtaops_builder *b, const void *arg)
{
	const struct started_conv *conv = arg;

	if (conv->fine.res || conv->fine.out)
		return vtaops_conv2d_fine(b, &conv->op, &conv->fine, conv->around);
	if (conv->around)
		return vtaops_conv2d_around(b, &conv->op, conv->start, conv->around);
	return conv->start ? vtaops_conv2d_start(b, &conv->op, conv->start) :
			     vtaops_conv2d(b, &conv->op);
}

/* Finds the input that an output of a convolution, transposed or not, meets at a tap. */
static bool find_input(const struct vtaops_conv2d *op, uint32_t y, uint32_t x, uint32_t tap,
		       uint32_t h, uint32_t w, uint32_t *at)
{
	uint32_t dh = op->dil_h ? op->dil_h : 1, dw = op->dil_w ? op->dil_w : 1;

	y = y * op->stride_h + tap / op->kw * dh - op->pad_h;
	x = x * op->stride_w + tap % op->kw * dw - op->pad_w;
	*at = y * w + x;
	return y < h && x < w;
}

/* One weight between an input plane, with @around it, and an output plane. */
static void one_tap(const struct vtaops_conv2d *op, const int8_t *inp, int8_t around, int8_t wgt,
		    uint32_t tap, uint32_t *acc, uint32_t oh, uint32_t ow)
{
	uint32_t h = op->transposed ? op->h : oh, w = op->transposed ? op->w : ow, at;

	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++) {
			if (op->transposed && find_input(op, y, x, tap, oh, ow, &at))
				acc[at] += product(inp[y * w + x], wgt);
			if (!op->transposed)
				acc[y * w + x] +=
					product(find_input(op, y, x, tap, op->h, op->w, &at) ?
						inp[at] : around, wgt);
		}
}

/* Every input times every weight, to where it belongs. */
static void conv_sums(const struct vtaops_conv2d *op, const int8_t *inp, const int8_t *around,
		      const int8_t *wgt, uint32_t *acc, uint32_t oh, uint32_t ow)
{
	uint32_t groups = op->groups ? op->groups : 1, in = op->in / groups;
	uint32_t units = op->units / groups;

	for (uint32_t o = 0; o < op->units; o++)
		for (uint32_t i = 0; i < in; i++)
			for (uint32_t tap = 0; tap < op->kh * op->kw; tap++)
				one_tap(op, inp + (size_t)(o / units * in + i) * op->h * op->w,
					around[o / units * in + i], *wgt++, tap,
					acc + (size_t)o * oh * ow, oh, ow);
}

/* The same values for each row of the batch, or zeros */
static const int8_t *random_around(struct run *r, uint32_t *addr, uint32_t channels)
{
	int8_t *v = alloc_owned(r, channels), *rows = alloc_owned(r, r->c->batch * channels);
	uint32_t half = 1u << ((1u << r->c->log_inp_width) - 1);

	for (uint32_t i = 0; *addr && i < channels; i++)
		v[i] = (int8_t)((int)rnd(r, 2 * half) - (int)half);
	for (uint32_t n = 0; n < r->c->batch; n++)
		memcpy(rows + n * channels, v, channels);
	if (*addr) {
		*addr = machine_alloc(r->m, vtaops_act_bytes(r->c, r->c->batch, channels, 1, 1));
		vtaops_pack_act(r->c, machine_at(r->m, *addr), rows, r->c->batch, channels, 1, 1);
	}
	return v;
}

/* The residual begins the sums @acc, maybe with 16 bits. */
static void add_residual(struct run *r, struct vtaops_conv2d *op, struct vtaops_fine *fine,
			 bool wide, uint32_t *acc, uint32_t plane)
{
	size_t count = (size_t)op->n * op->units * plane;
	uint32_t oh = vtaops_conv2d_out_h(op), ow = vtaops_conv2d_out_w(op);
	const int8_t *res = new_tensor(r, &op->res, op->n, op->units, oh, ow), *low = NULL;
	const int32_t *muls = new_vector(r, &op->res_muls, op->units, 1, -1000,
					 wide || rnd(r, 2) ? 2001 : 0);

	if (wide)
		low = new_tensor(r, &fine->res, op->n, op->units, oh, ow);
	op->res_shift = op->res_muls ? 0 : rnd(r, 8);
	for (size_t i = 0; i < count; i++) {
		uint32_t mul = (uint32_t)muls[i / plane % op->units];

		acc[i] = ((uint32_t)res[i] << op->res_shift) * mul;
		if (low)
			acc[i] = (uint32_t)((res[i] * 256 + low[i]) * (int32_t)mul >> 8);
	}
}

/* A result of 16 bits: its limits, and room for the low half */
static void widen_result(struct run *r, struct vtaops_conv2d *op, struct post *post,
			 struct vtaops_fine *fine)
{
	uint32_t oh = vtaops_conv2d_out_h(op), ow = vtaops_conv2d_out_w(op);

	op->post.lo = (int)rnd(r, 32769) - 32768;
	op->post.hi = op->post.lo + (int)rnd(r, (uint32_t)(32640 - op->post.lo));
	post->lo = op->post.lo;
	post->hi = op->post.hi;
	fine->out = machine_alloc(r->m, vtaops_act_bytes(r->c, op->n, op->units, oh, ow));
}

static enum case_result run_conv(struct run *r, struct vtaops_conv2d *op, bool residual)
{
	uint32_t oh = vtaops_conv2d_out_h(op), ow = vtaops_conv2d_out_w(op);
	uint32_t groups = op->groups ? op->groups : 1;
	size_t image = (size_t)op->units * oh * ow;
	uint32_t *acc = alloc_owned(r, op->n * image * sizeof(*acc));
	int8_t *want = alloc_owned(r, op->n * image), *inp, *wgt;
	struct post post = random_post(r, &op->post, op->units);
	uint32_t start_at = 0, around_at = !op->transposed && !rnd(r, 3);
	bool fine_may = !op->transposed && r->c->log_inp_width == 3;
	struct vtaops_fine fine = { 0 };
	enum case_result result;
	int8_t *low = alloc_owned(r, op->n * image);
	const int8_t *around = random_around(r, &around_at, op->in);

	snprintf(r->text, r->len,
		 "conv2d n=%u in=%u %ux%u units=%u k=%ux%u s=%u,%u p=%u,%u+%d,%d d=%u,%u o=%u,%u groups=%u %s%s",
		 op->n, op->in, op->h, op->w, op->units, op->kh, op->kw, op->stride_h, op->stride_w,
		 op->pad_h, op->pad_w, op->end_h, op->end_w, op->dil_h, op->dil_w, op->out_pad_h,
		 op->out_pad_w, groups,
		 op->transposed ? "transposed" : residual ? "residual" : "",
		 around_at ? "around" : "");
	inp = new_tensor(r, &op->inp, op->n, op->in, op->h, op->w);
	wgt = new_values(r, (size_t)op->units * (op->in / groups) * op->kh * op->kw,
			 r->c->log_wgt_width);
	op->wgt = machine_alloc(r->m, vtaops_wgt_groups_bytes(r->c, op->units, op->in, op->kh,
							      op->kw, groups));
	if (groups > 1)
		vtaops_pack_wgt_groups(r->c, machine_at(r->m, op->wgt), wgt, op->units, op->in,
				       op->kh, op->kw, groups);
	else
		vtaops_pack_wgt(r->c, machine_at(r->m, op->wgt), wgt, op->units, op->in, op->kh,
				op->kw);
	if (fine_may && !rnd(r, 3))
		widen_result(r, op, &post, &fine);
	if (residual) {
		add_residual(r, op, &fine, fine_may && rnd(r, 2), acc, oh * ow);
	} else if (!fine.out && !rnd(r, 3)) {
		const int32_t *start = random_start(r, &start_at, op->units);

		for (size_t i = 0; i < op->n * image; i++)
			acc[i] = (uint32_t)start[i / (oh * ow) % op->units];
	}
	op->out = machine_alloc(r->m, vtaops_act_bytes(r->c, op->n, op->units, oh, ow));
	for (uint32_t n = 0; n < op->n; n++)
		conv_sums(op, inp + (size_t)n * op->in * op->h * op->w, around, wgt,
			  acc + n * image, oh, ow);
	for (size_t i = 0; i < op->n * image; i++) {
		int32_t v = finish_wide(&post, (uint32_t)(i / (oh * ow) % op->units), acc[i]);

		want[i] = (int8_t)(fine.out ? (v + 128) >> 8 : v);
		low[i] = (int8_t)v;
	}
	result = check(r, lower_conv, &(struct started_conv) { *op, start_at, around_at, fine },
		       op->out, want, op->n, op->units, oh, ow);
	return result == CASE_EXACT && fine.out ?
		compare(r, fine.out, low, op->n, op->units, oh, ow) : result;
}

/* As much padding behind as before, or any other. */
static int32_t random_end(struct run *r, uint32_t pad, uint32_t reach)
{
	return rnd(r, 2) ? 0 : (int32_t)rnd(r, reach) - (int32_t)pad;
}

static enum case_result case_conv(struct run *r, enum case_kind kind)
{
	uint32_t big = rnd(r, 8) ? 1 : 3;
	struct vtaops_conv2d op = {
		.n = 1 + rnd(r, 3), .in = 1 + rnd(r, 24 * big), .units = 1 + rnd(r, 24 * big),
		.kh = 1 + rnd(r, 4), .kw = 1 + rnd(r, 4),
		.stride_h = 1 + rnd(r, 3), .stride_w = 1 + rnd(r, 3),
		.dil_h = rnd(r, 3), .dil_w = rnd(r, 3),
	};
	uint32_t reach_h, reach_w;

	if (kind == CASE_GROUPS) {
		op.groups = 1 + rnd(r, 6);
		op.in = op.groups * (1 + rnd(r, 10));
		op.units = op.groups * (1 + rnd(r, 10));
		if (!rnd(r, 3)) {
			/* Groups of whole blocks, on some cores. */
			op.in = op.groups * 16;
			op.units = op.groups * 16;
		} else if (!rnd(r, 3)) {
			/* By channel; the last block is often not full. */
			op.groups = rnd(r, 2) ? op.groups : 1 + rnd(r, 60);
			op.in = op.groups;
			op.units = op.groups * (1 + !rnd(r, 4));
		}
	}
	if (!rnd(r, 40))
		op.dil_h = 17 + rnd(r, 4);	/* padding that LOAD cannot make */
	if (!rnd(r, 40))
		op.dil_w = 17 + rnd(r, 4);
	reach_h = (op.kh - 1) * (op.dil_h ? op.dil_h : 1) + 1;
	reach_w = (op.kw - 1) * (op.dil_w ? op.dil_w : 1) + 1;
	op.transposed = kind == CASE_TRANSPOSED;
	op.h = 1 + rnd(r, 9 * big);
	op.w = 1 + rnd(r, 9 * big);
	if (op.transposed) {
		op.out_pad_h = rnd(r, op.stride_h);
		op.out_pad_w = rnd(r, op.stride_w);
		reach_h += (op.h - 1) * op.stride_h + op.out_pad_h;
		reach_w += (op.w - 1) * op.stride_w + op.out_pad_w;
		op.pad_h = rnd(r, (reach_h + 1) / 2);
		op.pad_w = rnd(r, (reach_w + 1) / 2);
		return run_conv(r, &op, false);
	}
	op.pad_h = rnd(r, reach_h);
	op.pad_w = rnd(r, reach_w);
	op.end_h = random_end(r, op.pad_h, reach_h);
	op.end_w = random_end(r, op.pad_w, reach_w);
	if (op.h + 2 * op.pad_h + (uint32_t)op.end_h < reach_h)
		op.h = reach_h;
	if (op.w + 2 * op.pad_w + (uint32_t)op.end_w < reach_w)
		op.w = reach_w;
	return run_conv(r, &op, kind == CASE_RESIDUAL && r->c->log_inp_width == 3);
}

/* As struct started_conv */
struct started_dense {
	struct vtaops_dense op;
	uint32_t start;
};

static int lower_dense(struct vtaops_builder *b, const void *arg)
{
	const struct started_dense *dense = arg;

	return dense->start ? vtaops_dense_start(b, &dense->op, dense->start) :
			      vtaops_dense(b, &dense->op);
}

static enum case_result case_dense(struct run *r)
{
	struct vtaops_dense op = { .n = 1 + rnd(r, 20), .in = 1 + rnd(r, 150),
				   .units = 1 + rnd(r, 60) };
	int8_t *inp = new_tensor(r, &op.inp, op.n, op.in, 1, 1), *res = NULL;
	int8_t *wgt = new_values(r, (size_t)op.units * op.in, r->c->log_wgt_width);
	int8_t *want = alloc_owned(r, (size_t)op.n * op.units);
	struct post post = random_post(r, &op.post, op.units);
	int32_t *start = NULL;
	uint32_t start_at = 0;

	snprintf(r->text, r->len, "dense n=%u in=%u units=%u", op.n, op.in, op.units);
	op.wgt = machine_alloc(r->m, vtaops_wgt_bytes(r->c, op.units, op.in, 1, 1));
	vtaops_pack_wgt(r->c, machine_at(r->m, op.wgt), wgt, op.units, op.in, 1, 1);
	if (r->c->log_inp_width == 3 && !rnd(r, 3)) {
		res = new_tensor(r, &op.res, op.n, op.units, 1, 1);
		op.res_shift = rnd(r, 8);
	} else if (!rnd(r, 3)) {
		start = random_start(r, &start_at, op.units);
	}
	op.out = machine_alloc(r->m, vtaops_act_bytes(r->c, op.n, op.units, 1, 1));
	for (uint32_t n = 0; n < op.n; n++)
		for (uint32_t o = 0; o < op.units; o++) {
			uint32_t acc = start ? (uint32_t)start[o] : 0;

			if (res)
				acc = (uint32_t)res[n * op.units + o] << op.res_shift;
			for (uint32_t i = 0; i < op.in; i++)
				acc += product(inp[n * op.in + i], wgt[o * op.in + i]);
			want[n * op.units + o] = finish_value(&post, o, acc);
		}
	return check(r, lower_dense, &(struct started_dense) { op, start_at }, op.out, want, op.n,
		     op.units, 1, 1);
}

/* ---- Element-wise, windows -------------------------------------------------- */

/* The operators that take the same structure. */
struct choice {
	const void *op;
	unsigned int which;
};

static uint32_t make_identity(struct run *r)
{
	uint32_t addr;

	if (r->c->log_inp_width == 3)
		return 0;
	addr = machine_alloc(r->m, r->c->wgt_bytes);
	vtaops_pack_identity(r->c, machine_at(r->m, addr));
	return addr;
}

static int lower_eltwise(struct vtaops_builder *b, const void *arg)
{
	static int (*const lower[])(struct vtaops_builder *b, const struct vtaops_eltwise *op) = {
		vtaops_add, vtaops_mul, vtaops_max, vtaops_min, vtaops_shift, vtaops_requantise,
	};
	const struct choice *choice = arg;

	return lower[choice->which](b, choice->op);
}

/* As the ALU's SHR: docs/isa.md, 6. */
static int32_t shift_value(int32_t value, int32_t by)
{
	if (by >= 0)
		return value >> (by > 31 ? 31 : by);
	return by < -31 ? 0 : (int32_t)((uint32_t)value << -by);
}

static enum case_result case_eltwise(struct run *r)
{
	static const char * const names[] = { "add", "mul", "max", "min", "shift",
					       "requantise" };
	struct vtaops_eltwise op = { .identity = make_identity(r) };
	struct choice choice = { &op, rnd(r, 6) };
	uint32_t n = 1 + rnd(r, 3), c = 1 + rnd(r, 60), h = 1 + rnd(r, 8), w = 1 + rnd(r, 8);
	bool spread = choice.which < 5 && !rnd(r, 3);	/* one of b for each channel */
	size_t count = (size_t)n * c * h * w, plane = spread ? (size_t)h * w : 1;
	int8_t *a = new_tensor(r, &op.a, n, c, h, w);
	int8_t *b = new_tensor(r, &op.b, n, c, spread ? 1 : h, spread ? 1 : w);
	int8_t *want = alloc_owned(r, count);
	uint32_t top = 1u << ((1 << r->c->log_inp_width) - 1);
	struct post post = { .lo = -(int)top, .hi = (int)top - 1 };
	int32_t zero = 0, mul, shift;

	op.post.shift = rnd(r, 4);
	op.post.round = rnd(r, 2);
	post.round = op.post.round;
	op.post.mul = rnd(r, 3) ? 0 : (int)rnd(r, 200) - 100;
	if (rnd(r, 2)) {
		post.lo = (int)rnd(r, top) - (int)top;
		post.hi = (int)rnd(r, top);
	}
	op.post.lo = post.lo;
	op.post.hi = post.hi;
	op.a_shift = rnd(r, 3) ? 0 : rnd(r, 8);
	op.b_shift = rnd(r, 3) ? 0 : rnd(r, 8);
	op.offset = rnd(r, 3) ? 0 : (int)rnd(r, rnd(r, 2) ? 2000 : 200000) - 1000;
	mul = op.post.mul ? op.post.mul : 1;
	shift = (int)op.post.shift;
	post.bias = &zero;
	post.mul = &mul;
	post.shift = &shift;
	op.elements = (uint32_t)(vtaops_act_bytes(r->c, n, c, h, w) / r->c->inp_bytes);
	op.out = rnd(r, 4) ? machine_alloc(r->m, vtaops_act_bytes(r->c, n, c, h, w)) :
		 rnd(r, 2) || plane > 1 ? op.a : op.b;
	op.repeat = (uint32_t)plane;
	snprintf(r->text, r->len, "%s elements=%u repeat=%u shifts=%u,%u offset=%d",
		 names[choice.which], op.elements, op.repeat, op.a_shift, op.b_shift, op.offset);
	for (size_t i = 0; i < count; i++) {
		int32_t x = a[i] * (1 << op.a_shift);
		int32_t y = b[i / plane] * (1 << op.b_shift);
		int32_t v = choice.which == 0 ? x + y : choice.which == 1 ? x * y :
			    choice.which == 2 ? (x > y ? x : y) :
			    choice.which == 3 ? (x < y ? x : y) :
			    choice.which == 4 ? shift_value(x, y) : x;

		want[i] = finish_value(&post, 0, (uint32_t)v + (uint32_t)op.offset);
	}
	return check(r, lower_eltwise, &choice, op.out, want, n, c, h, w);
}

static int lower_function(struct vtaops_builder *b, const void *arg)
{
	return vtaops_function(b, arg);
}

/* Of one value, in 64 bits of which the low 32 count. */
static int8_t function_value(const struct vtaops_formula *f, int32_t x)
{
	int64_t sum = f->offset, y;

	for (uint32_t i = 0; i < f->count; i++)
		sum += (int64_t)f->ramps[i].mul *
		       (x < f->ramps[i].lo ? f->ramps[i].lo :
			x > f->ramps[i].hi ? f->ramps[i].hi : x);
	if (f->times)
		sum *= x - f->zero;
	y = shift_value((int32_t)(uint32_t)(uint64_t)sum, (int32_t)f->first);
	y = shift_value((int32_t)(uint32_t)((uint64_t)y + (uint64_t)f->bias), (int32_t)f->shift);
	return (int8_t)(y < f->lo ? f->lo : y > f->hi ? f->hi : y);
}

static enum case_result case_function(struct run *r)
{
	struct vtaops_function op = { .identity = make_identity(r) };
	struct vtaops_formula *f = &op.formula;
	struct vtaops_ramp ramps[12];
	uint32_t n = 1 + rnd(r, 2), c = 1 + rnd(r, 60), h = 1 + rnd(r, 30), w = 1 + rnd(r, 30);
	size_t count = (size_t)n * c * h * w, bytes = vtaops_act_bytes(r->c, n, c, h, w);
	int8_t *a = new_tensor(r, &op.a, n, c, h, w);
	int8_t *want = alloc_owned(r, count);
	uint32_t top = 1u << ((1 << r->c->log_inp_width) - 1);

	*f = (struct vtaops_formula) {
		.ramps = ramps, .count = 1 + rnd(r, 12), .times = !rnd(r, 3),
		.zero = rnd(r, 2) ? 0 : (int)rnd(r, 2 * top) - (int)top,
		.offset = rnd(r, 2) ? 0 : (int)rnd(r, 500000) - 250000,
		.bias = rnd(r, 2) ? 0 : (int)rnd(r, rnd(r, 2) ? 2000 : 500000) - 1000,
		.first = rnd(r, 2) ? 0 : rnd(r, 12), .shift = rnd(r, 12),
		.lo = -(int)top, .hi = (int)top - 1 };
	f->bias = f->bias > VTAOPS_OFFSET_MAX ? VTAOPS_OFFSET_MAX : f->bias;
	if (rnd(r, 2)) {
		f->lo = (int)rnd(r, top) - (int)top;
		f->hi = (int)rnd(r, top);
	}
	for (uint32_t i = 0; i < f->count; i++) {
		ramps[i].lo = rnd(r, 3) ? (int)rnd(r, 2 * top) - (int)top : -(int)top;
		ramps[i].hi = rnd(r, 3) ? ramps[i].lo + (int)rnd(r, top - (uint32_t)ramps[i].lo) :
					  (int)top - 1;
		ramps[i].mul = rnd(r, 4) ? (int)rnd(r, 400) - 200 : (int)rnd(r, 65536) - 32768;
	}
	op.elements = (uint32_t)(bytes / r->c->inp_bytes);
	op.out = rnd(r, 3) ? machine_alloc(r->m, bytes) : op.a;
	snprintf(r->text, r->len, "function elements=%u ramps=%u times=%d", op.elements, f->count,
		 f->times);
	for (size_t i = 0; i < count; i++) {
		want[i] = function_value(f, a[i]);
		if (want[i] != vtaops_formula_value(f, a[i]))
			machine_die("vtaops_formula_value() is not the formula's value");
	}
	return check(r, lower_function, &op, op.out, want, n, c, h, w);
}

static int lower_channels(struct vtaops_builder *b, const void *arg)
{
	return vtaops_channels(b, arg);
}

/* A shuffle of groups, a part of one tensor, or any channels. */
static struct vtaops_pick random_pick(struct run *r, const struct vtaops_channels *op,
				      unsigned int kind, uint32_t at)
{
	const struct vtaops_source *s = op->sources;

	if (kind == 0)
		return (struct vtaops_pick) { at % op->count,
					      at / op->count % s[at % op->count].c };
	if (kind == 1)
		return (struct vtaops_pick) { 0, (at + s[0].c / 3) % s[0].c };
	at = rnd(r, op->count);
	return (struct vtaops_pick) { at, rnd(r, s[at].c) };
}

static enum case_result case_channels(struct run *r)
{
	struct vtaops_source sources[3];
	struct vtaops_pick picks[100];
	struct vtaops_channels op = { .sources = sources, .count = 1 + rnd(r, 3), .picks = picks,
				      .n = 1 + rnd(r, 2), .c = 1 + rnd(r, 100),
				      .h = 1 + rnd(r, 12), .w = 1 + rnd(r, 30) };
	size_t plane = (size_t)op.h * op.w;
	int8_t *values[3], *want = alloc_owned(r, op.n * op.c * plane);
	unsigned int kind = rnd(r, 3);

	for (uint32_t i = 0; i < op.count; i++) {
		sources[i].c = 1 + rnd(r, 60);
		values[i] = new_tensor(r, &sources[i].inp, op.n, sources[i].c, op.h, op.w);
	}
	for (uint32_t i = 0; i < op.c; i++)
		picks[i] = random_pick(r, &op, kind, i);
	for (uint32_t n = 0; n < op.n; n++)
		for (uint32_t i = 0; i < op.c; i++)
			memcpy(want + (n * op.c + i) * plane,
			       values[picks[i].source] +
			       (n * sources[picks[i].source].c + picks[i].channel) * plane, plane);
	op.wgt = machine_alloc(r->m, vtaops_channels_bytes(r->c, picks, op.c));
	vtaops_pack_channels(r->c, machine_at(r->m, op.wgt), picks, op.c);
	op.out = machine_alloc(r->m, vtaops_act_bytes(r->c, op.n, op.c, op.h, op.w));
	snprintf(r->text, r->len, "channels n=%u c=%u of %u tensors, %ux%u, kind %u", op.n, op.c,
		 op.count, op.h, op.w, kind);
	return check(r, lower_channels, &op, op.out, want, op.n, op.c, op.h, op.w);
}

static int lower_matmul(struct vtaops_builder *b, const void *arg)
{
	return vtaops_matmul(b, arg);
}

/* A matrix that has those of all heads as its parts. */
struct heads {
	uint32_t rows, cols;	/* of a head */
	uint32_t heads;
	bool columns;
	int8_t *values;
};

static size_t head_at(const struct heads *t, uint32_t image, uint32_t head, uint32_t row,
		      uint32_t col)
{
	if (t->columns)
		return ((size_t)(image * t->rows + row) * t->heads + head) * t->cols + col;
	return ((size_t)(image * t->heads + head) * t->rows + row) * t->cols + col;
}

static uint32_t all_rows(const struct heads *t, uint32_t images)
{
	return images * t->rows * (t->columns ? 1 : t->heads);
}

static uint32_t all_cols(const struct heads *t)
{
	return t->cols * (t->columns ? t->heads : 1);
}

static uint32_t whole(uint32_t n, uint32_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* One head of any shape, or several, whose rows and columns are whole elements. */
static struct vtaops_matmul random_matmul(struct run *r)
{
	const struct vtaops_core *c = r->c;
	struct vtaops_matmul op = {
		.images = 1 + rnd(r, 2), .heads = 1 + rnd(r, 4), .m = 1 + rnd(r, 40),
		.n = 1 + rnd(r, 70), .k = 1 + rnd(r, 70), .b_turned = (int)rnd(r, 2) };

	if (!rnd(r, 3)) {
		op.images = 1;
		op.heads = 1;
		return op;
	}
	op.a_columns = (int)rnd(r, 2);
	op.b_columns = (int)rnd(r, 2);
	op.out_columns = (int)rnd(r, 2);
	op.m = whole(op.m, c->batch);
	if (op.out_columns || (op.b_columns && !op.b_turned))
		op.n = whole(op.n, c->block);
	if (op.a_columns || (op.b_columns && op.b_turned))
		op.k = whole(op.k, c->block);
	if (op.b_turned)
		op.n = whole(op.n, c->batch);
	else
		op.k = whole(op.k, c->batch);
	return op;
}

static uint32_t matmul_value(const struct vtaops_matmul *op, const struct heads *a,
			     const struct heads *b, uint32_t at, uint32_t m, uint32_t n)
{
	uint32_t image = at / op->heads, head = at % op->heads, acc = 0;

	for (uint32_t k = 0; k < op->k; k++)
		acc += product(a->values[head_at(a, image, head, m, k)],
			       b->values[op->b_turned ? head_at(b, image, head, n, k) :
							head_at(b, image, head, k, n)]);
	return acc;
}

/* Write random values behind the last columns of a matrix, which may have any. */
static void spoil(struct run *r, uint32_t addr, uint32_t n, uint32_t c, const int8_t *values)
{
	uint32_t all = whole(c, r->c->block), cells = whole(n, r->c->batch);
	int8_t *v = new_values(r, (size_t)cells * all, r->c->log_inp_width);

	for (uint32_t i = 0; i < n; i++)
		memcpy(v + (size_t)i * all, values + (size_t)i * c, c);
	vtaops_pack_act(r->c, machine_at(r->m, addr), v, cells, all, 1, 1);
}

static enum case_result case_matmul(struct run *r)
{
	struct vtaops_matmul op = random_matmul(r);
	struct heads a = { op.m, op.k, op.heads, op.a_columns, NULL };
	struct heads b = { op.b_turned ? op.n : op.k, op.b_turned ? op.k : op.n, op.heads,
			   op.b_columns, NULL };
	struct heads y = { op.m, op.n, op.heads, op.out_columns, NULL };
	uint32_t rows = all_rows(&y, op.images), cols = all_cols(&y);
	int half = 1 << ((1 << r->c->log_inp_width) - 1);
	int32_t mul[1], bias[1] = { 0 }, shift[1];
	struct post post = { bias, mul, shift, -half, half - 1, (int)rnd(r, 2) };
	enum case_result result;

	a.values = new_tensor(r, &op.a, all_rows(&a, op.images), all_cols(&a), 1, 1);
	b.values = new_tensor(r, &op.b, all_rows(&b, op.images), all_cols(&b), 1, 1);
	spoil(r, op.a, all_rows(&a, op.images), all_cols(&a), a.values);
	spoil(r, op.b, all_rows(&b, op.images), all_cols(&b), b.values);
	y.values = alloc_owned(r, (size_t)rows * cols);
	mul[0] = 1 + (int32_t)rnd(r, 300);
	shift[0] = (int32_t)rnd(r, 18);
	op.post = (struct vtaops_post) { .mul = mul[0], .shift = (unsigned int)shift[0],
					 .lo = -half, .hi = half - 1, .round = post.round };
	for (uint32_t at = 0; at < op.images * op.heads; at++)
		for (uint32_t m = 0; m < op.m; m++)
			for (uint32_t n = 0; n < op.n; n++)
				y.values[head_at(&y, at / op.heads, at % op.heads, m, n)] =
					finish_value(&post, 0,
						     matmul_value(&op, &a, &b, at, m, n));
	new_vector(r, &op.ones, op.k, 1, 1, 1);
	op.identity = machine_alloc(r->m, r->c->wgt_bytes);
	vtaops_pack_identity(r->c, machine_at(r->m, op.identity));
	op.scratch = machine_alloc(r->m, vtaops_matmul_scratch(r->c, &op));
	op.out = machine_alloc(r->m, vtaops_act_bytes(r->c, rows, cols, 1, 1));
	snprintf(r->text, r->len,
		 "matmul images=%u heads=%u m=%u n=%u k=%u, columns of a=%d b=%d out=%d, turned=%d",
		 op.images, op.heads, op.m, op.n, op.k, op.a_columns, op.b_columns,
		 op.out_columns, op.b_turned);
	result = check(r, lower_matmul, &op, op.out, y.values, rows, cols, 1, 1);
	/* Outputs of a core that differ from weights in form cannot be weights. */
	if (result == CASE_WRONG && strstr(r->text, "are no weights") &&
	    (r->c->log_inp_width != r->c->log_wgt_width || r->c->batch > r->c->block))
		return CASE_NONE;
	return result;
}

static int lower_norm(struct vtaops_builder *b, const void *arg)
{
	return vtaops_norm(b, arg);
}

/* One position's channels: those at @x, @step apart, to @want; 0 if the numbers are far off. */
static bool normalise(const struct vtaops_norm *op, const struct post *post, const int8_t *x,
		      size_t step, int8_t *want)
{
	const struct vtaops_norm_form *f = &op->form;
	double mean = f->zero, variance = 0, unit = 1 << (VTAOPS_NORM_PLACES - f->shift);
	int32_t sum = 0, squares = 0, factor, offset;
	bool near = true;

	for (uint32_t i = 0; i < f->c; i++) {
		sum += x[i * step];
		squares += x[i * step] * x[i * step];
	}
	if (!f->rms)
		mean = (double)sum / f->c;
	for (uint32_t i = 0; i < f->c; i++)
		variance += (x[i * step] - mean) * (x[i * step] - mean) / f->c;
	variance += (double)f->epsilon / ((double)f->c * (1u << vtaops_norm_places(f->c)));
	vtaops_norm_factors(f, sum, squares, &factor, &offset);
	for (uint32_t i = 0; i < f->c; i++) {
		int32_t acc = vtaops_norm_value(f, x[i * step], factor, offset);
		double exact = variance > 0 ? (x[i * step] - mean) / sqrt(variance) * unit : 0;

		/* Variances below 1 have fewer places. */
		if (variance >= 1 && fabs(acc - exact) > 2 + fabs(exact) / 256 + unit / 256)
			near = false;
		want[i * step] = finish_value(post, i, (uint32_t)acc);
	}
	return near;
}

/* Half of all positions have smaller values, some all the same. */
static void vary(struct run *r, int8_t *x, uint32_t c, size_t plane)
{
	for (size_t p = 0; p < plane; p++) {
		unsigned int less = rnd(r, 2) ? rnd(r, 9) : 0;
		int mean = less ? (int)rnd(r, 120) - 60 : 0;

		for (uint32_t i = 0; i < c; i++)
			x[i * plane + p] = (int8_t)((x[i * plane + p] >> less) + mean);
	}
}

static enum case_result case_norm(struct run *r)
{
	bool rows = rnd(r, 2);
	struct vtaops_norm op = {
		.n = rows ? 1 + rnd(r, 80) : 1 + rnd(r, 3), .h = rows ? 1 : 1 + rnd(r, 9),
		.w = rows ? 1 : 1 + rnd(r, 9),
		.form = { .c = 1 + rnd(r, rnd(r, 3) ? 100 : 400), .rms = !rnd(r, 3),
			  .shift = 5 + rnd(r, 8), .epsilon = rnd(r, 2) ? rnd(r, 1 << 28) >>
							    rnd(r, 29) : 0 } };
	enum case_result result;
	struct post post;
	size_t plane, image;
	int8_t *x, *want;
	bool near = true;

	if (!rnd(r, 3))
		op.form.c = whole(op.form.c, r->c->block);
	if (!rows && rnd(r, 2)) {
		op.h = 4;
		op.w = 16;
	}
	plane = (size_t)op.h * op.w;
	image = op.form.c * plane;
	op.form.zero = op.form.rms ? (int)rnd(r, 256) - 128 : 0;
	want = alloc_owned(r, op.n * image);
	x = new_tensor(r, &op.inp, op.n, op.form.c, op.h, op.w);
	for (uint32_t i = 0; r->c->log_inp_width == 3 && i < op.n; i++)
		vary(r, x + i * image, op.form.c, plane);
	vtaops_pack_act(r->c, machine_at(r->m, op.inp), x, op.n, op.form.c, op.h, op.w);
	if (rows)
		spoil(r, op.inp, op.n, op.form.c, x);
	post = random_post(r, &op.post, op.form.c);
	for (uint32_t i = 0; i < op.n; i++)
		for (size_t p = 0; p < plane; p++)
			near = normalise(&op, &post, x + i * image + p, plane,
					 want + i * image + p) && near;
	new_vector(r, &op.ones, op.form.c, 1, 1, 1);
	op.tables = machine_alloc(r->m, vtaops_norm_bytes(r->c) + 1);
	if (vtaops_norm_bytes(r->c))
		vtaops_pack_norm(r->c, machine_at(r->m, op.tables));
	op.scratch = machine_alloc(r->m, vtaops_norm_scratch(r->c, &op) + 1);
	op.out = machine_alloc(r->m, vtaops_act_bytes(r->c, op.n, op.form.c, op.h, op.w));
	snprintf(r->text, r->len, "norm n=%u c=%u %ux%u rms=%d zero=%d epsilon=%u shift=%u",
		 op.n, op.form.c, op.h, op.w, op.form.rms, op.form.zero, op.form.epsilon,
		 op.form.shift);
	if (!near) {
		strcat(r->text, ": the numbers of a position are far from the exact ones");
		return CASE_WRONG;
	}
	result = check(r, lower_norm, &op, op.out, want, op.n, op.form.c, op.h, op.w);
	if (result == CASE_WRONG && strstr(r->text, "no int8") &&
	    (r->c->log_inp_width != 3 || r->c->log_wgt_width != 3 || r->c->batch > r->c->block))
		return CASE_NONE;
	return result;
}

static int lower_window(struct vtaops_builder *b, const void *arg)
{
	const struct choice *choice = arg;

	return choice->which == CASE_MAX_POOL ? vtaops_max_pool(b, choice->op) :
	       choice->which == CASE_SUM_POOL ? vtaops_sum_pool(b, choice->op) :
	       choice->which == CASE_AVG_POOL ? vtaops_avg_pool(b, choice->op) :
						vtaops_depthwise(b, choice->op);
}

/* One output, before post. */
static uint32_t window_value(const struct vtaops_window *op, enum case_kind kind,
			     const int8_t *plane, const int8_t *wgt, uint32_t oy, uint32_t ox)
{
	int32_t most = -128;
	uint32_t dh = op->dil_h ? op->dil_h : 1, dw = op->dil_w ? op->dil_w : 1;
	uint32_t sum = 0;

	for (uint32_t ky = 0; ky < op->kh; ky++)
		for (uint32_t kx = 0; kx < op->kw; kx++) {
			uint32_t y = oy * op->stride_h + ky * dh - op->pad_h;
			uint32_t x = ox * op->stride_w + kx * dw - op->pad_w;

			if (y >= op->h || x >= op->w)
				continue;
			most = plane[y * op->w + x] > most ? plane[y * op->w + x] : most;
			sum += product(plane[y * op->w + x],
				       kind == CASE_DEPTHWISE ? wgt[ky * op->kw + kx] : 1);
		}
	return kind == CASE_MAX_POOL ? (uint32_t)most : sum;
}

static enum case_result case_window(struct run *r, enum case_kind kind)
{
	struct vtaops_window op = {
		.identity = make_identity(r), .n = 1 + rnd(r, 2), .c = 1 + rnd(r, 40),
		.kh = 1 + rnd(r, 4), .kw = 1 + rnd(r, 4),
		.stride_h = 1 + rnd(r, 3), .stride_w = 1 + rnd(r, 3),
		.dil_h = rnd(r, 3), .dil_w = rnd(r, 3),
	};
	struct choice choice = { &op, kind };
	uint32_t reach_h = (op.kh - 1) * (op.dil_h ? op.dil_h : 1) + 1, oh;
	uint32_t reach_w = (op.kw - 1) * (op.dil_w ? op.dil_w : 1) + 1, ow;
	int8_t *inp, *wgt, *want, *at;
	size_t plane, taps;
	struct post post;

	op.pad_h = rnd(r, reach_h);
	op.pad_w = rnd(r, reach_w);
	op.end_h = random_end(r, op.pad_h, reach_h);
	op.end_w = random_end(r, op.pad_w, reach_w);
	op.h = reach_h + rnd(r, 10);
	op.w = reach_w + rnd(r, 10);
	if (kind != CASE_DEPTHWISE && !rnd(r, 6)) {
		/* All of a plane at once. */
		op.kh = op.h;
		op.kw = op.w;
		op.pad_h = 0;
		op.pad_w = 0;
		op.end_h = 0;
		op.end_w = 0;
		op.dil_h = 0;
		op.dil_w = 0;
	}
	/* A window that lies in the padding alone has no greatest value. */
	if (kind == CASE_MAX_POOL && (op.dil_h > 1 || op.dil_w > 1)) {
		op.pad_h = 0;
		op.pad_w = 0;
		op.end_h = 0;
		op.end_w = 0;
	}
	plane = (size_t)op.h * op.w;
	taps = (size_t)op.kh * op.kw;
	oh = vtaops_window_out_h(&op);
	ow = vtaops_window_out_w(&op);
	snprintf(r->text, r->len, "%s n=%u c=%u %ux%u k=%ux%u s=%u,%u p=%u,%u+%d,%d d=%u,%u",
		 case_name(kind), op.n, op.c, op.h, op.w, op.kh, op.kw, op.stride_h, op.stride_w,
		 op.pad_h, op.pad_w, op.end_h, op.end_w, op.dil_h, op.dil_w);
	inp = new_tensor(r, &op.inp, op.n, op.c, op.h, op.w);
	wgt = new_values(r, (size_t)op.c * op.kh * op.kw, r->c->log_wgt_width);
	want = alloc_owned(r, (size_t)op.n * op.c * oh * ow);
	post = random_post(r, &op.post, op.c);
	if (kind == CASE_DEPTHWISE) {
		op.wgt = machine_alloc(r->m, vtaops_depthwise_bytes(r->c, op.c, op.kh, op.kw));
		vtaops_pack_depthwise(r->c, machine_at(r->m, op.wgt), wgt, op.c, op.kh, op.kw);
	} else if (kind == CASE_MAX_POOL && rnd(r, 2)) {
		int32_t *one = post.mul, *zero = post.bias;

		for (uint32_t i = 0; i < op.c; i++) {
			one[i] = 1;
			zero[i] = 0;
			post.shift[i] = 0;
		}
		op.post = (struct vtaops_post) { .lo = post.lo, .hi = post.hi };
	}
	if (kind == CASE_AVG_POOL) {
		struct vtaops_post divide;

		vtaops_average(&divide, op.kh * op.kw);
		for (uint32_t i = 0; i < op.c; i++) {
			post.mul[i] = divide.mul;
			post.bias[i] = 0;
			post.shift[i] = (int32_t)divide.shift;
		}
		post.round = 1;
		op.post = (struct vtaops_post) { .lo = post.lo, .hi = post.hi };
	}
	op.out = machine_alloc(r->m, vtaops_act_bytes(r->c, op.n, op.c, oh, ow));
	at = want;
	for (uint32_t i = 0; i < op.n * op.c; i++)
		for (uint32_t y = 0; y < oh; y++)
			for (uint32_t x = 0; x < ow; x++)
				*at++ = finish_value(&post, i % op.c,
						     window_value(&op, kind, inp + i * plane,
								  wgt + i % op.c * taps, y, x));
	return check(r, lower_window, &choice, op.out, want, op.n, op.c, oh, ow);
}

const char *case_name(enum case_kind kind)
{
	static const char * const names[] = {
		"conv2d", "conv2d with groups", "transposed conv2d", "conv2d with residual",
		"dense", "element-wise", "max_pool", "sum_pool", "avg_pool", "depthwise",
		"function", "channels", "matmul", "norm",
	};

	return names[kind];
}

enum case_result case_run(struct machine *m, enum case_kind kind, uint64_t seed, char *text,
			  size_t len)
{
	struct run r = { .m = m, .c = &m->core, .rng = seed * 2 + 1, .text = text, .len = len };
	enum case_result result;

	machine_reset(m);
	rnd(&r, 2);
	if (kind <= CASE_RESIDUAL)
		result = case_conv(&r, kind);
	else if (kind == CASE_DENSE)
		result = case_dense(&r);
	else if (kind == CASE_ELTWISE)
		result = case_eltwise(&r);
	else if (kind == CASE_FUNCTION)
		result = case_function(&r);
	else if (kind == CASE_CHANNELS)
		result = case_channels(&r);
	else if (kind == CASE_MATMUL)
		result = case_matmul(&r);
	else if (kind == CASE_NORM)
		result = case_norm(&r);
	else
		result = case_window(&r, kind);
	while (r.count)
		free(r.owned[--r.count]);
	return result;
}

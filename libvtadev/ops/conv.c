// SPDX-License-Identifier: Apache-2.0
/* Convolutions and dense layers: what their shapes are as a struct layer. */
#include "layer.h"

/* An element takes a byte in ACC_8BIT, so OUT must too. */
static int init_residual(struct vtaops_builder *b, struct layer *l, const struct residual *r,
			 uint64_t elements, uint64_t channels)
{
	if (r->start && (r->addr || r->muls))
		return ops_fail(b, VTAOPS_EINVAL, "a residual, and values that sums begin with");
	if (r->start)
		return ops_post_add_vector(b, &l->post, VEC_START, r->start, channels);
	if (!r->addr)
		return r->muls ? ops_fail(b, VTAOPS_EINVAL, "multipliers without a residual") : 0;
	if (b->core->log_inp_width != 3)
		return ops_fail(b, VTAOPS_ECORE, "a residual needs a core with int8 inputs");
	if (r->shift > 31 || (r->shift && r->muls))
		return ops_fail(b, VTAOPS_EINVAL,
				"the residual's shift is more than 31, or there are multipliers");
	l->has_res = true;
	l->res_shift = r->shift;
	l->res = ops_element(b, r->addr, elements, b->core->inp_bytes);
	l->has_res_low = r->low.res != 0;
	if (l->has_res_low)
		l->res_low = ops_element(b, r->low.res, elements, b->core->inp_bytes);
	return r->muls ? ops_post_add_vector(b, &l->post, VEC_RES, r->muls, channels) : b->error;
}

/* Limits of a result of 16 bits, whose high half is rounded */
#define FINE_LEAST	(-32768)
#define FINE_MOST	(32767 - 128)

/* The output stage of a result of 16 bits: all but its limits is that of others. */
static int init_fine(struct vtaops_builder *b, struct layer *l, const struct vtaops_post *post,
		     uint64_t channels)
{
	struct vtaops_post others = *post;

	if (post->lo > post->hi || post->lo < FINE_LEAST || post->hi > FINE_MOST)
		return ops_fail(b, VTAOPS_EINVAL, "the clip range is empty or beyond 16 bits");
	others.lo = 0;
	others.hi = 0;
	if (ops_post_init(b, &l->post, &others, channels))
		return b->error;
	l->post.post = post;
	l->has_out_low = true;
	return 0;
}

static bool low_overlaps(const struct residual *res, uint32_t inp, uint64_t inps, uint32_t out,
			 uint64_t outs)
{
	const uint32_t other[] = { res->addr, res->low.res, out };

	if (res->low.res && ops_overlap(res->low.res, outs, out, outs))
		return true;
	if (!res->low.out)
		return false;
	for (unsigned int i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (other[i] && ops_overlap(other[i], outs, res->low.out, outs))
			return true;
	return ops_overlap(inp, inps, res->low.out, outs);
}

int ops_lower_layer(struct vtaops_builder *b, struct layer *l, uint32_t inp, uint32_t wgt,
		    uint32_t out, const struct vtaops_post *post, const struct residual *res)
{
	const struct vtaops_core *c = b->core;
	uint64_t ic = (uint64_t)l->groups * l->ic, oc = (uint64_t)l->groups * l->oc;
	uint64_t inps = ops_count3(l->images * ic, l->y.in, l->x.in);
	uint64_t outs = ops_count3(l->images * oc, l->y.out, l->x.out);
	struct tile t;

	l->inp = ops_element(b, inp, inps, c->inp_bytes);
	l->out = ops_element(b, out, outs, c->inp_bytes);
	l->wgt = ops_element(b, wgt, ops_count3(oc, l->ic, (uint64_t)l->y.taps * l->x.taps),
			     c->wgt_bytes);
	l->has_around = res->around != 0;
	if (l->has_around)
		l->around = ops_element(b, res->around, ic, c->inp_bytes);
	if (res->low.out)
		l->out_low = ops_element(b, res->low.out, outs, c->inp_bytes);
	if ((res->low.out ? init_fine(b, l, post, oc) : ops_post_init(b, &l->post, post, oc)) ||
	    init_residual(b, l, res, outs, oc))
		return b->error;
	/* Some outputs are computed twice. */
	if (ops_overlap(inp, inps * c->inp_bytes, out, outs * c->inp_bytes) ||
	    (res->addr && ops_overlap(res->addr, outs * c->inp_bytes, out, outs * c->inp_bytes)) ||
	    low_overlaps(res, inp, inps * c->inp_bytes, out, outs * c->inp_bytes))
		return ops_fail(b, VTAOPS_EINVAL, "the output overlaps an input");
	if (ops_choose_tile(b, l, &t))
		return b->error;
	return ops_run_layer(b, l, &t);
}

static int fail_start(struct vtaops_builder *b)
{
	return ops_fail(b, VTAOPS_EINVAL, "there are no values that sums begin with");
}

static int dense(struct vtaops_builder *b, const struct vtaops_dense *op, uint32_t start)
{
	const struct vtaops_core *c = b->core;
	const struct axis one = {
		.in = 1, .out = 1, .all = 1, .taps = 1, .dilation = 1, .step = 1, .scale = 1,
		.span = 1,
	};
	struct layer l = { .rows = true, .images = 1, .groups = 1, .heads = 1, .y = one, .x = one };

	if (!dim_ok(op->n) || !dim_ok(op->in) || !dim_ok(op->units))
		return ops_fail(b, VTAOPS_EINVAL, "a dimension is 0 or more than 2^20");
	if (b->error)
		return b->error;
	l.y.in = div_up(op->n, c->batch);
	l.y.out = l.y.in;
	l.y.all = l.y.in;
	l.ic = div_up(op->in, c->block);
	l.oc = div_up(op->units, c->block);
	l.from.stride = l.ic;
	l.to.stride = l.oc;
	/* In memory a row of the matrix has l.ic blocks, not planes. */
	if (l.ic > SIZE_MAX_16 || l.oc > SIZE_MAX_16)
		return ops_fail_fit(b, "a row of the matrix", max_u64(l.ic, l.oc), "blocks",
				    SIZE_MAX_16);
	return ops_lower_layer(b, &l, op->inp, op->wgt, op->out, &op->post,
			       &(struct residual) { .addr = op->res, .start = start,
						    .shift = op->res_shift });
}

int vtaops_dense(struct vtaops_builder *b, const struct vtaops_dense *op)
{
	return dense(b, op, 0);
}

int vtaops_dense_start(struct vtaops_builder *b, const struct vtaops_dense *op, uint32_t start)
{
	return start ? dense(b, op, start) : fail_start(b);
}

static uint32_t or_one(uint32_t v)
{
	return v ? v : 1;
}

static uint32_t out_size(const struct vtaops_conv2d *op, uint32_t in, uint32_t k, uint32_t dil,
			 uint32_t stride, uint32_t pad, uint32_t more, int32_t end)
{
	uint64_t most = (in - 1ull) * stride + (k - 1ull) * or_one(dil) + 1 + more;

	if (!op->transposed)
		return ops_out_size(in, k, dil, stride, pad, end);
	if (!dim_ok(in) || !dim_ok(k) || !dim_ok(stride) || dil > DIM_MAX ||
	    most <= 2ull * pad || most - 2ull * pad > DIM_MAX)
		return 0;
	return (uint32_t)(most - 2ull * pad);
}

uint32_t vtaops_conv2d_out_h(const struct vtaops_conv2d *op)
{
	return out_size(op, op->h, op->kh, op->dil_h, op->stride_h, op->pad_h, op->out_pad_h,
			op->end_h);
}

uint32_t vtaops_conv2d_out_w(const struct vtaops_conv2d *op)
{
	return out_size(op, op->w, op->kw, op->dil_w, op->stride_w, op->pad_w, op->out_pad_w,
			op->end_w);
}

static int init_axis(struct vtaops_builder *b, struct axis *a, const struct vtaops_conv2d *op,
		     uint32_t in, uint32_t k, uint32_t dil, uint32_t stride, uint32_t pad,
		     uint32_t more, int32_t end)
{
	uint64_t reach = (k - 1ull) * or_one(dil) + 1;

	if (reach > DIM_MAX || pad > DIM_MAX)
		return ops_fail(b, VTAOPS_EINVAL, "the kernel or the padding is more than 2^20");
	if (!op->transposed && (!ops_pads_ok(in, reach, pad, end) || more))
		return ops_fail(b, VTAOPS_EINVAL,
				"the padding is not below the kernel, or that is above the padded input");
	if (op->transposed && (end || more >= stride ||
			       (in - 1ull) * stride + reach + more > DIM_MAX ||
			       (in - 1ull) * stride + reach + more <= 2ull * pad))
		return ops_fail(b, VTAOPS_EINVAL,
				"the output is empty or more than 2^20, or its padding not below the stride");
	*a = (struct axis) {
		.in = in, .out = out_size(op, in, k, dil, stride, pad, more, end),
		.taps = k, .dilation = or_one(dil), .step = 1, .scale = stride, .pad = pad,
		.span = (uint32_t)reach,
	};
	a->all = a->out;
	if (op->transposed) {
		a->flip = true;
		a->step = stride;
		a->scale = 1;
		a->pad = (uint32_t)(reach - 1) / stride;
		a->span = a->pad + 1;
		a->crop = pad;
		a->all = div_up(a->crop + a->out, stride) * stride;
	}
	return b->error;
}

/* Are @parts of @each channels all blocks of @channels, and no more? The last has zeros. */
static bool whole_blocks(const struct vtaops_core *core, uint32_t channels, uint32_t each,
			 uint32_t parts)
{
	return each % core->block == 0 &&
	       (uint64_t)each / core->block * parts == div_up(channels, core->block);
}

uint32_t vtaops_conv2d_parts(const struct vtaops_core *core, uint32_t in, uint32_t units,
			     uint32_t groups)
{
	uint32_t n = or_one(groups);

	if (in % n || units % n)
		return 0;
	/* As few groups as possible in one part, so that its channels are whole blocks. */
	for (uint32_t each = 1; each < n && each <= core->block; each *= 2) {
		uint32_t parts = div_up(n, each);

		if (whole_blocks(core, in, in / n * each, parts) &&
		    whole_blocks(core, units, units / n * each, parts))
			return parts;
	}
	return 1;
}

static int conv2d(struct vtaops_builder *b, const struct vtaops_conv2d *op, uint32_t start,
		  uint32_t around, const struct vtaops_fine *fine)
{
	const struct vtaops_core *c = b->core;
	struct layer l = { .images = div_up(op->n, c->batch) };

	if (b->error)
		return b->error;
	if (!dim_ok(op->n) || !dim_ok(op->in) || !dim_ok(op->units) || !dim_ok(op->h) ||
	    !dim_ok(op->w) || !dim_ok(op->kh) || !dim_ok(op->kw) || !dim_ok(op->stride_h) ||
	    !dim_ok(op->stride_w))
		return ops_fail(b, VTAOPS_EINVAL, "a dimension is 0 or more than 2^20");
	if (init_axis(b, &l.y, op, op->h, op->kh, op->dil_h, op->stride_h, op->pad_h,
		      op->out_pad_h, op->end_h) ||
	    init_axis(b, &l.x, op, op->w, op->kw, op->dil_w, op->stride_w, op->pad_w,
		      op->out_pad_w, op->end_w))
		return b->error;
	l.groups = vtaops_conv2d_parts(c, op->in, op->units, op->groups);
	if (!l.groups)
		return ops_fail(b, VTAOPS_EINVAL, "the channels are not a multiple of the groups");
	if (op->transposed && op->res)
		return ops_fail(b, VTAOPS_EINVAL, "a transposed convolution has no residual");
	if (op->transposed && around)
		return ops_fail(b, VTAOPS_EINVAL,
				"a transposed convolution has nothing around its input");
	l.ic = div_up(ops_part_channels(c, op->in, l.groups), c->block);
	l.oc = div_up(ops_part_channels(c, op->units, l.groups), c->block);
	if (op->w > SIZE_MAX_16 || l.x.out > SIZE_MAX_16)
		return ops_fail_fit(b, "a row of the layer", max_u64(op->w, l.x.out), "positions",
				    SIZE_MAX_16);
	return ops_lower_layer(b, &l, op->inp, op->wgt, op->out, &op->post,
			       &(struct residual) { .addr = op->res, .muls = op->res_muls,
						    .start = start, .shift = op->res_shift,
						    .around = around, .low = *fine });
}

static const struct vtaops_fine coarse;

int vtaops_conv2d(struct vtaops_builder *b, const struct vtaops_conv2d *op)
{
	return conv2d(b, op, 0, 0, &coarse);
}

int vtaops_conv2d_start(struct vtaops_builder *b, const struct vtaops_conv2d *op, uint32_t start)
{
	return start ? conv2d(b, op, start, 0, &coarse) : fail_start(b);
}

int vtaops_conv2d_around(struct vtaops_builder *b, const struct vtaops_conv2d *op, uint32_t start,
			 uint32_t around)
{
	return around ? conv2d(b, op, start, around, &coarse) :
			ops_fail(b, VTAOPS_EINVAL, "there is nothing to put around the input");
}

int vtaops_conv2d_fine(struct vtaops_builder *b, const struct vtaops_conv2d *op,
		       const struct vtaops_fine *fine, uint32_t around)
{
	if (op->transposed && (fine->res || fine->out))
		return ops_fail(b, VTAOPS_EINVAL, "a transposed convolution has no 16 bits");
	if (b->core->log_inp_width != 3 && (fine->res || fine->out))
		return ops_fail(b, VTAOPS_ECORE, "16 bits need a core with int8 inputs");
	if (fine->res && (!op->res || !op->res_muls))
		return ops_fail(b, VTAOPS_EINVAL,
				"a residual of 16 bits has no high half, or no multipliers");
	return conv2d(b, op, 0, around, fine);
}

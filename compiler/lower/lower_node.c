// SPDX-License-Identifier: Apache-2.0
/* Nodes of the card as operators of libvtaops, and their constants as these have them. */
#include <string.h>

#include "lower_impl.h"

/* ---- constants ---- */

static struct lowered *constants_of(const struct lowering *l, const struct vtac_node *node)
{
	return &l->constants[node->id - l->first_id];
}

static bool has_weights(const struct vtac_node *node)
{
	return node->op == VTAC_CONV || node->op == VTAC_CONV_TRANSPOSE || node->op == VTAC_GEMM;
}

/* May the ALU compute it? It pads with zeros. */
static bool is_depthwise(const struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1];

	return node->op == VTAC_CONV && !node->post.around && w->dims[1] == 1 &&
	       node->attr.conv.groups > 1 && w->dims[0] == node->attr.conv.groups &&
	       (node->n_in < 4 || !node->in[3]);
}

static int pack_weights(struct lowering *l, const struct vtac_node *node)
{
	const struct vtaops_core *core = &l->p->core;
	const struct vtac_tensor *w = node->in[1];
	bool gemm = node->op == VTAC_GEMM;
	uint32_t groups = gemm ? 1 : (uint32_t)node->attr.conv.groups;
	uint32_t o = (uint32_t)w->dims[0], i = (uint32_t)w->dims[1] * groups;
	uint32_t kh = gemm ? 1 : (uint32_t)w->dims[2], kw = gemm ? 1 : (uint32_t)w->dims[3];
	size_t bytes = vtaops_wgt_groups_bytes(core, o, i, kh, kw, groups);
	uint64_t at;

	if (!bytes)
		return vtac_fail(l->g, node, "Its weights are too large for a card.");
	if (lower_reserve(l, &l->p->model, bytes, l->align, &at))
		return -1;
	if (groups > 1)
		vtaops_pack_wgt_groups(core, l->p->model.data + at, w->data, o, i, kh, kw, groups);
	else
		vtaops_pack_wgt(core, l->p->model.data + at, w->data, o, i, kh, kw);
	if (lower_share(l, &l->p->model, bytes, &at))
		return -1;
	constants_of(l, node)->wgt = VTAIMAGE_MODEL + (uint32_t)at;
	l->p->weight_bytes += bytes;
	if (!is_depthwise(node))
		return 0;
	bytes = vtaops_depthwise_bytes(core, o, kh, kw);
	if (lower_reserve(l, &l->p->model, bytes, l->align, &at))
		return -1;
	vtaops_pack_depthwise(core, l->p->model.data + at, w->data, o, kh, kw);
	if (lower_share(l, &l->p->model, bytes, &at))
		return -1;
	constants_of(l, node)->depthwise = VTAIMAGE_MODEL + (uint32_t)at;
	return 0;
}

static int pack_vector(struct lowering *l, const int32_t *v, uint32_t channels, uint32_t *addr)
{
	const struct vtaops_core *core = &l->p->core;
	size_t bytes = vtaops_bias_bytes(core, channels);
	uint64_t at;

	if (lower_reserve(l, &l->p->model, bytes, l->align, &at))
		return -1;
	vtaops_pack_bias(core, l->p->model.data + at, v, channels);
	if (lower_share(l, &l->p->model, bytes, &at))
		return -1;
	*addr = VTAIMAGE_MODEL + (uint32_t)at;
	return 0;
}

/* The output stage; of a result of 16 bits that of both halves, which the low one has. */
static const struct vtac_post *stage_of(const struct vtac_node *node)
{
	const struct vtac_node *low = vtac_low_of(node);

	return low ? &low->post : &node->post;
}

static bool all_zero(const int32_t *v, uint32_t n)
{
	return vtac_all_same(v, n) && !v[0];
}

/*
 * Values that the sums of a convolution begin with, instead of a bias: they cost the card less.
 * Lanes behind the last channel begin with one of them, too.
 */
static int pack_start(struct lowering *l, const struct vtac_node *node, uint32_t channels)
{
	const struct vtac_post *post = stage_of(node);
	uint32_t block = l->p->core.block, lanes = (channels + block - 1) / block * block;
	int32_t *start, least = -(1 << ((1 << l->p->core.log_inp_width) - 1));

	if (!has_weights(node) || (node->n_in > 3 && node->in[3]) || post->round ||
	    vtac_low_of(node))
		return 0;
	start = vtac_alloc(l->g, lanes, sizeof(*start));
	if (!start)
		return -1;
	for (uint32_t c = 0; c < channels; c++) {
		int32_t mul = !post->mul ? 1 : post->mul[post->per_channel ? c : 0];

		if (!vtac_sum_start(mul, post->bias[c], least, &start[c]))
			return 0;
	}
	for (uint32_t c = channels; c < lanes; c++)
		start[c] = start[0];
	return pack_vector(l, start, lanes, &constants_of(l, node)->start);
}

static int pack_stage(struct lowering *l, const struct vtac_node *node)
{
	const struct vtac_post *post = stage_of(node);
	uint32_t channels = vtac_packed_shape(node->out[0]).c;
	struct lowered *c = constants_of(l, node);

	if (post->bias && !all_zero(post->bias, channels) &&
	    (pack_start(l, node, channels) ||
	     ((!c->start || c->depthwise) && pack_vector(l, post->bias, channels, &c->bias))))
		return -1;
	if (post->res_mul && pack_vector(l, post->res_mul, channels, &c->res_muls))
		return -1;
	if (!post->per_channel)
		return 0;
	if (!vtac_all_same(post->mul, channels) && pack_vector(l, post->mul, channels, &c->muls))
		return -1;
	return vtac_all_same(post->shift, channels) ? 0 :
	       pack_vector(l, post->shift, channels, &c->shifts);
}

/* Pack the zero point of each channel, which is around the input of a convolution. */
static int pack_around(struct lowering *l, const struct vtac_node *node)
{
	const struct vtaops_core *core = &l->p->core;
	uint32_t channels = vtac_packed_shape(node->in[0]).c;
	size_t bytes = vtaops_act_bytes(core, core->batch, channels, 1, 1);
	int8_t *values = vtac_alloc(l->g, (uint64_t)core->batch * channels, 1);
	uint64_t at;

	if (!values || lower_reserve(l, &l->p->model, bytes, l->align, &at))
		return -1;
	memset(values, node->post.around, (size_t)core->batch * channels);
	vtaops_pack_act(core, l->p->model.data + at, values, core->batch, channels, 1, 1);
	if (lower_share(l, &l->p->model, bytes, &at))
		return -1;
	constants_of(l, node)->around = VTAIMAGE_MODEL + (uint32_t)at;
	return 0;
}

/* Cores with narrow inputs bring tensors to the accumulators by GEMM; products transpose by it. */
static int pack_identity(struct lowering *l)
{
	uint64_t at;

	if (l->identity)
		return 0;
	if (lower_reserve(l, &l->p->model, l->p->core.wgt_bytes, l->align, &at))
		return -1;
	vtaops_pack_identity(&l->p->core, l->p->model.data + at);
	if (lower_share(l, &l->p->model, l->p->core.wgt_bytes, &at))
		return -1;
	l->identity = VTAIMAGE_MODEL + (uint32_t)at;
	return 0;
}

static int pack_norm(struct lowering *l, const struct vtac_node *node)
{
	size_t bytes = vtaops_norm_bytes(&l->p->core);
	uint64_t at;

	if (!bytes)
		return vtac_fail(l->g, node, "The core cannot normalise.");
	if (l->norm_tables)
		return 0;
	if (lower_reserve(l, &l->p->model, bytes, l->align, &at))
		return -1;
	vtaops_pack_norm(&l->p->core, l->p->model.data + at);
	if (lower_share(l, &l->p->model, bytes, &at))
		return -1;
	l->norm_tables = VTAIMAGE_MODEL + (uint32_t)at;
	return 0;
}

/* Nearest neighbours by whole factors: each value to a square of its copies. */
static int pack_copies(struct lowering *l, const struct vtac_node *node)
{
	const struct vtaops_core *core = &l->p->core;
	struct vtac_packed x = vtac_packed_shape(node->in[0]), y = vtac_packed_shape(node->out[0]);
	uint32_t kh = y.h / x.h, kw = y.w / x.w;
	size_t bytes = vtaops_wgt_groups_bytes(core, x.c, x.c, kh, kw, x.c);
	int8_t *ones = vtac_alloc(l->g, (uint64_t)x.c * kh * kw, 1);
	uint64_t at;

	if (!ones || lower_reserve(l, &l->p->model, bytes, l->align, &at))
		return -1;
	memset(ones, 1, (size_t)x.c * kh * kw);
	vtaops_pack_wgt_groups(core, l->p->model.data + at, ones, x.c, x.c, kh, kw, x.c);
	if (lower_share(l, &l->p->model, bytes, &at))
		return -1;
	constants_of(l, node)->wgt = VTAIMAGE_MODEL + (uint32_t)at;
	return 0;
}

/* Matrices of zeros and ones */
static int pack_picks(struct lowering *l, const struct vtac_node *node)
{
	const struct vtaops_core *core = &l->p->core;
	const struct vtaops_pick *picks = node->attr.channels.picks;
	uint32_t channels = vtac_packed_shape(node->out[0]).c;
	uint64_t at;

	if (lower_reserve(l, &l->p->model, vtaops_channels_bytes(core, picks, channels), l->align,
			  &at))
		return -1;
	vtaops_pack_channels(core, l->p->model.data + at, picks, channels);
	constants_of(l, node)->wgt = VTAIMAGE_MODEL + (uint32_t)at;
	return 0;
}

/* Lanes behind the last of @k are multiplied by 0, the others by 1. */
static int pack_ones(struct lowering *l, const struct vtac_node *node, int64_t k)
{
	int32_t *ones = k % l->p->core.block ? vtac_alloc(l->g, (uint64_t)k, sizeof(*ones)) : NULL;

	if (!(k % l->p->core.block))
		return 0;
	for (int64_t i = 0; ones && i < k; i++)
		ones[i] = 1;
	return ones ? pack_vector(l, ones, (uint32_t)k, &constants_of(l, node)->ones) : -1;
}

/* Operands of value by value that are constant */
static int pack_operands(struct lowering *l, const struct vtac_node *node)
{
	const struct vtaops_core *core = &l->p->core;

	for (unsigned int i = 0; i < node->n_in; i++) {
		struct vtac_tensor *t = node->in[i];
		struct vtac_packed s = t->data ? vtac_packed_shape(t) : (struct vtac_packed){ 0 };
		uint64_t bytes, at;

		if (!t->data)
			continue;
		bytes = vtaops_act_bytes(core, s.n, s.c, s.h, s.w);
		if (lower_reserve(l, &l->p->model, bytes, l->align, &at))
			return -1;
		vtaops_pack_act(core, l->p->model.data + at, t->data, s.n, s.c, s.h, s.w);
		if (lower_share(l, &l->p->model, bytes, &at))
			return -1;
		t->offset = (int64_t)at;
	}
	return 0;
}

int lower_constants(struct lowering *l, const struct vtac_node *node)
{
	if (node->post.low)
		return 0;
	if (node->op == VTAC_RESIZE)
		return pack_copies(l, node);
	if (node->op == VTAC_CHANNELS)
		return pack_picks(l, node);
	if (node->op == VTAC_BATCH_GEMM)
		return pack_identity(l) || pack_ones(l, node, vtac_product_of(node).k) ?
		       -1 : 0;
	if (node->op == VTAC_NORM)
		return pack_norm(l, node) || pack_ones(l, node, node->post.norm.c) ||
		       pack_stage(l, node) ? -1 : 0;
	if (!has_weights(node) &&
	    (l->p->core.log_inp_width != 3 || node->op == VTAC_AVG_POOL) && pack_identity(l))
		return -1;
	if (!has_weights(node) && pack_operands(l, node))
		return -1;
	if (!has_weights(node))
		return pack_stage(l, node);
	if (node->post.around && pack_around(l, node))
		return -1;
	return pack_weights(l, node) || pack_stage(l, node) ? -1 : 0;
}

/* ---- operators ---- */

static struct vtaops_post post_of(const struct lowering *l, const struct vtac_node *node)
{
	const struct vtac_post *post = stage_of(node);
	const struct lowered *c = constants_of(l, node);

	return (struct vtaops_post) {
		.bias = c->bias, .muls = c->muls, .shifts = c->shifts,
		.mul = c->muls || !post->mul ? 0 : post->mul[0],
		.shift = c->shifts || !post->shift ? 0 : (unsigned int)post->shift[0],
		.lo = post->lo, .hi = post->hi, .round = post->round,
	};
}

static int lower_depthwise(struct vtaops_builder *b, const struct vtaops_conv2d *conv,
			   const struct lowered *c)
{
	struct vtaops_post post = conv->post;

	post.bias = c->bias;
	return vtaops_depthwise(b, &(struct vtaops_window) {
		.inp = conv->inp, .out = conv->out, .wgt = c->depthwise,
		.n = conv->n, .c = conv->in,
		.h = conv->h, .w = conv->w, .kh = conv->kh, .kw = conv->kw,
		.stride_h = conv->stride_h, .stride_w = conv->stride_w,
		.pad_h = conv->pad_h, .pad_w = conv->pad_w,
		.end_h = conv->end_h, .end_w = conv->end_w,
		.dil_h = conv->dil_h, .dil_w = conv->dil_w, .post = post });
}

static int lower_sums(struct vtaops_builder *b, const struct vtaops_conv2d *conv,
		      const struct lowered *c)
{
	if (c->around)
		return vtaops_conv2d_around(b, conv, c->start, c->around);
	return c->start ? vtaops_conv2d_start(b, conv, c->start) : vtaops_conv2d(b, conv);
}

/* By GEMM with zeros around, or by ALU: what takes fewer cycles. */
static int lower_by_channel(struct lowering *l, const struct vtaops_conv2d *conv,
			    const struct lowered *c)
{
	struct vtaops_builder by_gemm, by_alu;

	vtaops_begin(&by_gemm, &l->p->core, NULL, 0, NULL, 0, 0);
	vtaops_begin(&by_alu, &l->p->core, NULL, 0, NULL, 0, 0);
	lower_sums(&by_gemm, conv, c);
	lower_depthwise(&by_alu, conv, c);
	if (by_alu.error || (!by_gemm.error && by_gemm.cycles <= by_alu.cycles))
		return lower_sums(&l->b, conv, c);
	return lower_depthwise(&l->b, conv, c);
}

/* With a residual or a result of 16 bits: both halves of it are computed at once. */
static int lower_fine(struct lowering *l, const struct vtac_node *node,
		      const struct vtaops_conv2d *op)
{
	const struct vtac_node *low = vtac_low_of(node);
	const struct vtac_tensor *res = node->n_in > 4 ? node->in[4] : NULL;

	return vtaops_conv2d_fine(&l->b, op, &(struct vtaops_fine) {
		.res = res ? lower_tensor(res) : 0, .out = low ? lower_tensor(low->out[0]) : 0 },
		constants_of(l, node)->around);
}

static int lower_conv(struct lowering *l, const struct vtac_node *node)
{
	struct vtac_packed x = vtac_packed_shape(node->in[0]);
	const struct vtac_window *w = &node->attr.conv.window;
	const struct vtac_tensor *res = node->n_in > 3 ? node->in[3] : NULL;
	const struct lowered *c = constants_of(l, node);
	struct vtaops_conv2d op = {
		.inp = lower_tensor(node->in[0]), .wgt = c->wgt,
		.out = lower_tensor(node->out[0]),
		.res = res ? lower_tensor(res) : 0, .res_shift = node->post.res_shift,
		.res_muls = c->res_muls, .n = x.n, .in = x.c, .h = x.h, .w = x.w,
		.units = (uint32_t)node->out[0]->dims[1],
		.kh = (uint32_t)w->kernel[0], .kw = (uint32_t)w->kernel[1],
		.stride_h = (uint32_t)w->stride[0], .stride_w = (uint32_t)w->stride[1],
		.pad_h = (uint32_t)w->pad[0], .pad_w = (uint32_t)w->pad[1],
		.dil_h = (uint32_t)w->dilation[0], .dil_w = (uint32_t)w->dilation[1],
		.groups = (uint32_t)node->attr.conv.groups,
		.transposed = node->op == VTAC_CONV_TRANSPOSE, .post = post_of(l, node),
	};

	if (c->start)
		op.post.bias = 0;
	if (op.transposed) {
		/*
		 * Padding is explicit before; behind, the output's size decides how much is cut
		 * off.
		 */
		op.out_pad_h = (uint32_t)(node->out[0]->dims[2] + 2 * w->pad[0]) -
			       ((x.h - 1) * op.stride_h + (op.kh - 1) * op.dil_h + 1);
		op.out_pad_w = (uint32_t)(node->out[0]->dims[3] + 2 * w->pad[1]) -
			       ((x.w - 1) * op.stride_w + (op.kw - 1) * op.dil_w + 1);
	} else {
		op.end_h = (int32_t)(w->pad[2] - w->pad[0]);
		op.end_w = (int32_t)(w->pad[3] - w->pad[1]);
	}
	if (vtac_low_of(node) || (node->n_in > 4 && node->in[4]))
		return lower_fine(l, node, &op);
	return c->depthwise ? lower_by_channel(l, &op, c) : lower_sums(&l->b, &op, c);
}

static int lower_gemm(struct lowering *l, const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *w = node->in[1];
	const struct vtac_tensor *res = node->n_in > 3 ? node->in[3] : NULL;
	const struct lowered *c = constants_of(l, node);
	struct vtaops_post post = post_of(l, node);
	struct vtaops_dense op;

	if (c->start)
		post.bias = 0;
	op = (struct vtaops_dense) {
		.inp = lower_tensor(x), .wgt = c->wgt,
		.out = lower_tensor(node->out[0]), .res = res ? lower_tensor(res) : 0,
		.res_shift = node->post.res_shift, .n = (uint32_t)x->dims[0],
		.in = (uint32_t)w->dims[1], .units = (uint32_t)w->dims[0],
		.post = post };
	return c->start ? vtaops_dense_start(&l->b, &op, c->start) : vtaops_dense(&l->b, &op);
}

/* Scratch memory is behind all tensors: nodes of the card take turns. */
static int use_scratch(struct lowering *l, const struct vtac_node *node, uint64_t bytes)
{
	uint64_t end = l->card_scratch_at + bytes;

	if (end > VTAIMAGE_SEGMENT_MAX && l->insns)
		return vtac_fail(l->g, node,
				 "With its scratch memory the program takes over 1 GiB.");
	l->p->card_bytes = end > l->p->card_bytes ? end : l->p->card_bytes;
	return 0;
}

static int lower_product(struct lowering *l, const struct vtac_node *node)
{
	const struct vtac_batch_gemm *p = &node->attr.batch_gemm;
	struct vtac_product s = vtac_product_of(node);
	struct vtaops_matmul op = {
		.a = lower_tensor(node->in[0]), .b = lower_tensor(node->in[1]),
		.out = lower_tensor(node->out[0]),
		.scratch = VTAIMAGE_ARENA + (uint32_t)l->card_scratch_at,
		.identity = l->identity, .ones = constants_of(l, node)->ones,
		.images = (uint32_t)p->images, .heads = (uint32_t)p->heads,
		.m = (uint32_t)s.m, .n = (uint32_t)s.n, .k = (uint32_t)s.k,
		.a_columns = p->a_columns, .b_columns = p->b_columns,
		.out_columns = p->out_columns, .b_turned = p->b_turned,
		.post = post_of(l, node),
	};

	if (use_scratch(l, node, vtaops_matmul_scratch(&l->p->core, &op)))
		return -1;
	return vtaops_matmul(&l->b, &op);
}

/* Likewise. */
static int lower_norm(struct lowering *l, const struct vtac_node *node)
{
	struct vtac_packed x = vtac_packed_shape(node->in[0]);
	struct vtaops_norm op = {
		.inp = lower_tensor(node->in[0]), .out = lower_tensor(node->out[0]),
		.scratch = VTAIMAGE_ARENA + (uint32_t)l->card_scratch_at,
		.tables = l->norm_tables, .ones = constants_of(l, node)->ones,
		.n = x.n, .h = x.h, .w = x.w, .form = node->post.norm, .post = post_of(l, node),
	};

	op.form.c = x.c;
	if (use_scratch(l, node, vtaops_norm_scratch(&l->p->core, &op)))
		return -1;
	return vtaops_norm(&l->b, &op);
}

/* More padding behind than before, as the outputs need: a window partly outside counts. */
static int32_t end_of(uint32_t in, uint32_t out, uint32_t k, uint32_t stride, uint32_t pad,
		      uint32_t dil)
{
	int32_t end = (int32_t)((out - 1) * stride + (k - 1) * dil + 1) - (int32_t)(in + 2 * pad);

	return end < -(int32_t)pad ? -(int32_t)pad : end;
}

static int lower_pool(struct lowering *l, const struct vtac_node *node)
{
	struct vtac_packed x = vtac_packed_shape(node->in[0]);
	const struct vtac_window *w = &node->attr.pool;
	struct vtaops_window op = {
		.inp = lower_tensor(node->in[0]), .out = lower_tensor(node->out[0]),
		.identity = l->identity, .n = x.n, .c = x.c, .h = x.h, .w = x.w,
		.kh = (uint32_t)w->kernel[0], .kw = (uint32_t)w->kernel[1],
		.stride_h = (uint32_t)w->stride[0], .stride_w = (uint32_t)w->stride[1],
		.pad_h = (uint32_t)w->pad[0], .pad_w = (uint32_t)w->pad[1],
		.dil_h = (uint32_t)w->dilation[0], .dil_w = (uint32_t)w->dilation[1],
		.post = post_of(l, node),
	};
	struct vtac_packed y = vtac_packed_shape(node->out[0]);

	op.end_h = end_of(x.h, y.h, op.kh, op.stride_h, op.pad_h, op.dil_h);
	op.end_w = end_of(x.w, y.w, op.kw, op.stride_w, op.pad_w, op.dil_w);
	return node->op == VTAC_MAX_POOL ? vtaops_max_pool(&l->b, &op) :
					   vtaops_sum_pool(&l->b, &op);
}

static uint32_t elements_of(const struct lowering *l, const struct vtac_tensor *t)
{
	struct vtac_packed s = vtac_packed_shape(t);

	return (uint32_t)(vtaops_act_bytes(&l->p->core, s.n, s.c, s.h, s.w) /
			  l->p->core.inp_bytes);
}

/* The order does not matter to any of them, but b is what is spread. */
static void swap_operands(struct vtaops_eltwise *op)
{
	uint32_t b = op->b;
	unsigned int shift = op->b_shift;

	op->b = op->a;
	op->a = b;
	op->b_shift = op->a_shift;
	op->a_shift = shift;
}

static int lower_eltwise(struct lowering *l, const struct vtac_node *node)
{
	struct vtaops_eltwise op = {
		.a = lower_tensor(node->in[0]), .out = lower_tensor(node->out[0]),
		.identity = l->identity, .elements = elements_of(l, node->out[0]),
		.a_shift = node->post.a_shift, .b_shift = node->post.b_shift,
		.offset = node->post.offset,
		.post = post_of(l, node),
	};

	if (node->op == VTAC_CLIP)
		return vtaops_requantise(&l->b, &op);
	op.b = lower_tensor(node->in[1]);
	if (vtac_is_channel_operand(node, 0))
		swap_operands(&op);
	if (vtac_is_channel_operand(node, 0) || vtac_is_channel_operand(node, 1))
		op.repeat = (uint32_t)(node->out[0]->dims[2] * node->out[0]->dims[3]);
	switch (node->op) {
	case VTAC_ADD:
		return vtaops_add(&l->b, &op);
	case VTAC_MUL:
		return vtaops_mul(&l->b, &op);
	case VTAC_MAX:
		return vtaops_max(&l->b, &op);
	default:
		return vtaops_min(&l->b, &op);
	}
}

static int lower_function(struct lowering *l, const struct vtac_node *node)
{
	return vtaops_function(&l->b, &(struct vtaops_function) {
		.a = lower_tensor(node->in[0]), .out = lower_tensor(node->out[0]),
		.identity = l->identity, .elements = elements_of(l, node->out[0]),
		.formula = node->post.function->formula });
}

/* A copy of @elements as they are. */
static int copy_elements(struct lowering *l, uint32_t from, uint32_t to, uint32_t elements)
{
	int top = 1 << ((1 << l->p->core.log_inp_width) - 1);

	return vtaops_requantise(&l->b, &(struct vtaops_eltwise) {
		.a = from, .out = to, .identity = l->identity, .elements = elements,
		.post = { .lo = -top, .hi = top - 1 } });
}

/* Parts of whole blocks are contiguous, for each image of a batch. */
static int lower_concat(struct lowering *l, const struct vtac_node *node)
{
	const struct vtaops_core *core = &l->p->core;
	struct vtac_packed y = vtac_packed_shape(node->out[0]);
	uint32_t images = (y.n + core->batch - 1) / core->batch, at = 0;
	uint32_t whole = elements_of(l, node->out[0]) / images;

	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *x = node->in[i];
		uint32_t each = elements_of(l, x) / images;

		/* The same part may be joined twice: it is in one of its places. */
		if (x->home == node->out[0] && x->home_offset == (int64_t)at * core->inp_bytes) {
			at += each;
			continue;
		}
		for (uint32_t k = 0; k < images; k++)
			if (copy_elements(l, lower_tensor(x) + k * each * core->inp_bytes,
					  lower_tensor(node->out[0]) +
					  (k * whole + at) * core->inp_bytes, each))
				return -1;
		at += each;
	}
	return 0;
}

/* Whole blocks of channels, unless they have their place in the input. */
static int lower_slice(struct lowering *l, const struct vtac_node *node)
{
	const struct vtaops_core *core = &l->p->core;
	struct vtac_packed x = vtac_packed_shape(node->in[0]);
	uint32_t images = (x.n + core->batch - 1) / core->batch;
	uint32_t whole = elements_of(l, node->in[0]) / images;
	uint32_t each = elements_of(l, node->out[0]) / images;
	uint32_t at = (uint32_t)node->attr.slice.start[1] / core->block * x.h * x.w;

	for (uint32_t k = 0; !node->out[0]->home && k < images; k++)
		if (copy_elements(l, lower_tensor(node->in[0]) + (k * whole + at) * core->inp_bytes,
				  lower_tensor(node->out[0]) + k * each * core->inp_bytes, each))
			return -1;
	return 0;
}

static int lower_channels(struct lowering *l, const struct vtac_node *node)
{
	struct vtac_packed y = vtac_packed_shape(node->out[0]);
	struct vtaops_source *sources = vtac_alloc(l->g, node->n_in, sizeof(*sources));

	if (!sources)
		return -1;
	for (unsigned int i = 0; i < node->n_in; i++)
		sources[i] = (struct vtaops_source) { lower_tensor(node->in[i]),
						      vtac_packed_shape(node->in[i]).c };
	return vtaops_channels(&l->b, &(struct vtaops_channels) {
		.sources = sources, .count = node->n_in, .picks = node->attr.channels.picks,
		.wgt = constants_of(l, node)->wgt, .out = lower_tensor(node->out[0]),
		.n = y.n, .c = y.c, .h = y.h, .w = y.w });
}

static int lower_resize(struct lowering *l, const struct vtac_node *node)
{
	struct vtac_packed x = vtac_packed_shape(node->in[0]), y = vtac_packed_shape(node->out[0]);
	uint32_t kh = y.h / x.h, kw = y.w / x.w;

	return vtaops_conv2d(&l->b, &(struct vtaops_conv2d) {
		.inp = lower_tensor(node->in[0]), .wgt = constants_of(l, node)->wgt,
		.out = lower_tensor(node->out[0]), .n = x.n, .in = x.c, .h = x.h, .w = x.w,
		.units = x.c, .kh = kh, .kw = kw, .stride_h = kh, .stride_w = kw,
		.groups = x.c, .transposed = 1, .post = post_of(l, node) });
}

int lower_node(struct lowering *l, const struct vtac_node *node)
{
	if (node->post.low)
		return 0;
	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
		return lower_conv(l, node);
	case VTAC_GEMM:
		return lower_gemm(l, node);
	case VTAC_BATCH_GEMM:
		return lower_product(l, node);
	case VTAC_NORM:
		return lower_norm(l, node);
	case VTAC_MAX_POOL:
	case VTAC_AVG_POOL:
		return lower_pool(l, node);
	case VTAC_ADD:
	case VTAC_MUL:
	case VTAC_MAX:
	case VTAC_MIN:
	case VTAC_CLIP:
		return lower_eltwise(l, node);
	case VTAC_UNARY:
	case VTAC_LEAKY_RELU:
	case VTAC_HARD_SIGMOID:
	case VTAC_HARD_SWISH:
		return lower_function(l, node);
	case VTAC_CONCAT:
		return lower_concat(l, node);
	case VTAC_SLICE:
		return lower_slice(l, node);
	case VTAC_CHANNELS:
		return lower_channels(l, node);
	case VTAC_RESIZE:
		return lower_resize(l, node);
	case VTAC_RESHAPE:
	case VTAC_IDENTITY:
	case VTAC_COPY:
		return 0;
	default:
		return vtac_fail(l->g, node, "The card has no operator for %s.",
				 vtac_op_name(node->op));
	}
}

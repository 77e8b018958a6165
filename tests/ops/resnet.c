// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "resnet.h"

#define PORT_BYTES	16		/* that a module moves in a cycle: docs/isa.md, 9 */

const struct resnet_layer resnet_layers[RESNET_LAYERS] = {
	{ "C2", 56, 64, 64, 3, 1 },
	{ "C3", 56, 64, 64, 1, 1 },
	{ "C4", 56, 64, 128, 1, 2 },
	{ "C5", 56, 64, 128, 3, 2 },
	{ "C6", 28, 128, 128, 3, 1 },
	{ "C7", 28, 128, 256, 1, 2 },
	{ "C8", 28, 128, 256, 3, 2 },
	{ "C9", 14, 256, 256, 3, 1 },
	{ "C10", 14, 256, 512, 1, 2 },
	{ "C11", 14, 256, 512, 3, 2 },
	{ "C12", 7, 512, 512, 3, 1 },
	{ "dense", 1, 512, 1000, 1, 1 },
};

static uint64_t state = 1;

static int8_t value(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (int8_t)(state >> 56);
}

static int8_t *values(size_t count)
{
	int8_t *v = malloc(count);

	for (size_t i = 0; v && i < count; i++)
		v[i] = value();
	return v;
}

static int lower(struct vtaops_builder *b, const void *arg)
{
	const struct vtaops_conv2d *op = arg;

	if (op->h > 1)
		return vtaops_conv2d(b, op);
	return vtaops_dense(b, &(struct vtaops_dense) {
		.inp = op->inp, .wgt = op->wgt, .out = op->out, .n = op->n, .in = op->in,
		.units = op->units, .post = op->post });
}

static int8_t output(const struct vtaops_conv2d *op, const int8_t *inp, const int8_t *wgt,
		     int32_t acc, uint32_t y, uint32_t x)
{
	for (uint32_t i = 0; i < op->in; i++)
		for (uint32_t ky = 0; ky < op->kh; ky++)
			for (uint32_t kx = 0; kx < op->kw; kx++) {
				uint32_t iy = y * op->stride_h + ky - op->pad_h;
				uint32_t ix = x * op->stride_w + kx - op->pad_w;

				if (iy < op->h && ix < op->w)
					acc += inp[(i * op->h + iy) * op->w + ix] *
					       wgt[(i * op->kh + ky) * op->kw + kx];
			}
	acc >>= op->post.shift;
	return (int8_t)(acc < op->post.lo ? op->post.lo : acc > op->post.hi ? op->post.hi : acc);
}

static int compare_all(struct machine *m, const struct vtaops_conv2d *op, const int8_t *inp,
		       const int8_t *wgt, const int32_t *bias)
{
	uint32_t oh = vtaops_conv2d_out_h(op), ow = vtaops_conv2d_out_w(op);
	size_t each = (size_t)op->in * op->kh * op->kw;
	int8_t *got = malloc((size_t)op->units * oh * ow), *at = got;
	int same = got ? 1 : 0;

	if (!got)
		return 0;
	vtaops_unpack_act(&m->core, got, machine_at(m, op->out), 1, op->units, oh, ow);
	for (uint32_t o = 0; o < op->units && same; o++)
		for (uint32_t y = 0; y < oh; y++)
			for (uint32_t x = 0; x < ow; x++)
				same &= *at++ == output(op, inp, wgt + o * each, bias[o], y, x);
	free(got);
	return same;
}

void resnet_run_on(struct machine *m, const struct resnet_layer *layer, int compare,
		   struct resnet_result *result)
{
	struct vtaops_conv2d op = {
		.n = 1, .in = layer->in, .h = layer->size, .w = layer->size, .units = layer->units,
		.kh = layer->k, .kw = layer->k, .stride_h = layer->stride,
		.stride_w = layer->stride, .pad_h = layer->k / 2, .pad_w = layer->k / 2,
		.post = { .shift = 10, .lo = 0, .hi = 127 },
	};
	uint32_t oh = vtaops_conv2d_out_h(&op), used;
	size_t kernel = (size_t)layer->in * layer->k * layer->k;
	int8_t *inp = values((size_t)layer->in * layer->size * layer->size);
	int8_t *wgt = values(layer->units * kernel);
	int32_t *bias = calloc(layer->units, sizeof(*bias));
	const struct vtaops_core *c = &m->core;
	const char *why;
	uint64_t blocks_in, blocks_out, in, out;

	if (!inp || !wgt || !bias)
		abort();
	for (uint32_t i = 0; i < layer->units; i++)
		bias[i] = value() * 256;
	op.inp = machine_alloc(m, vtaops_act_bytes(c, 1, op.in, op.h, op.w));
	op.wgt = machine_alloc(m, vtaops_wgt_bytes(c, op.units, op.in, op.kh, op.kw));
	op.out = machine_alloc(m, vtaops_act_bytes(c, 1, op.units, oh, oh));
	op.post.bias = machine_alloc(m, vtaops_bias_bytes(c, op.units));
	vtaops_pack_act(c, machine_at(m, op.inp), inp, 1, op.in, op.h, op.w);
	vtaops_pack_wgt(c, machine_at(m, op.wgt), wgt, op.units, op.in, op.kh, op.kw);
	vtaops_pack_bias(c, machine_at(m, op.post.bias), bias, op.units);
	*result = (struct resnet_result) { .exact = -1 };
	if (machine_run(m, lower, &op, &why))
		abort();

	/* Each input that is used, each weight and each output is moved once. */
	blocks_in = (layer->in + c->block - 1) / c->block;
	blocks_out = (layer->units + c->block - 1) / c->block;
	used = layer->k < layer->stride ? oh : layer->size;
	in = blocks_in * used * used * c->inp_bytes +
	     blocks_in * blocks_out * layer->k * layer->k * c->wgt_bytes;
	out = blocks_out * oh * oh * c->inp_bytes;
	result->macs = (uint64_t)layer->units * kernel * oh * oh;
	result->compute = blocks_in * blocks_out * layer->k * layer->k * oh * oh;
	result->memory = ((in > out ? in : out) + PORT_BYTES - 1) / PORT_BYTES;
	result->cycles = m->stats.cycles;
	result->ratio = (double)(result->compute > result->memory ? result->compute :
				 result->memory) / (double)m->stats.cycles;
	result->gemm_uops = m->stats.gemm_uops;
	result->alu_uops = m->stats.alu_uops;
	result->insns = m->insns;
	result->uops = m->uops;
	if (compare)
		result->exact = compare_all(m, &op, inp, wgt, bias);
	free(inp);
	free(wgt);
	free(bias);
}

void resnet_run(const struct resnet_layer *layer, const struct core_config *cfg, int compare,
		struct resnet_result *result)
{
	struct machine m;

	emulated_init(&m, cfg, RESNET_MEMORY, CORE_ORDER_GREEDY, 1);
	resnet_run_on(&m, layer, compare, result);
	emulated_fini(&m);
}

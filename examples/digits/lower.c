// SPDX-License-Identifier: Apache-2.0
#include "lower.h"

size_t digits_take(const struct digits_plan *p, size_t *used, size_t bytes)
{
	size_t at = (*used + p->align - 1) / p->align * p->align;

	*used = at + bytes;
	return at;
}

size_t digits_act_bytes(const struct digits_plan *p, unsigned int i)
{
	const struct digits_layer *l = &digits_network.layer[i ? i - 1 : 0];

	if (!i)
		return vtaops_act_bytes(p->core, p->n, l->in_channels, l->in_side, l->in_side);
	return vtaops_act_bytes(p->core, p->n, l->out_channels, l->out_side, l->out_side);
}

void digits_place(struct digits_plan *p)
{
	p->acts_size = 0;
	p->model_size = 0;
	for (unsigned int i = 0; i <= digits_network.layers; i++)
		p->act[i] = digits_take(p, &p->acts_size, digits_act_bytes(p, i));
	for (unsigned int i = 0; i < digits_network.layers; i++) {
		const struct digits_layer *l = &digits_network.layer[i];

		p->wgt[i] = digits_take(p, &p->model_size,
					vtaops_wgt_bytes(p->core, l->out_channels, l->in_channels,
							 l->kernel, l->kernel));
		p->bias[i] = digits_take(p, &p->model_size,
					 vtaops_bias_bytes(p->core, l->out_channels));
	}
}

void digits_pack(const struct digits_plan *p, uint8_t *model)
{
	for (unsigned int i = 0; i < digits_network.layers; i++) {
		const struct digits_layer *l = &digits_network.layer[i];

		vtaops_pack_wgt(p->core, model + p->wgt[i], digits_weights(l), l->out_channels,
				l->in_channels, l->kernel, l->kernel);
		vtaops_pack_bias(p->core, model + p->bias[i], digits_bias(l), l->out_channels);
	}
}

void digits_lower(struct vtaops_builder *b, const struct digits_plan *p, unsigned int i,
		  uint32_t acts, uint32_t model)
{
	const struct digits_layer *l = &digits_network.layer[i];

	vtaops_conv2d(b, &(struct vtaops_conv2d) {
		.inp = acts + (uint32_t)p->act[l->source + 1],
		.wgt = model + (uint32_t)p->wgt[i],
		.out = acts + (uint32_t)p->act[i + 1],
		.res = l->res == DIGITS_NONE ? 0 : acts + (uint32_t)p->act[l->res + 1],
		.res_shift = l->res_shift,
		.n = p->n, .in = l->in_channels, .h = l->in_side, .w = l->in_side,
		.units = l->out_channels, .kh = l->kernel, .kw = l->kernel,
		.stride_h = l->stride, .stride_w = l->stride, .pad_h = l->pad, .pad_w = l->pad,
		.post = {
			.bias = model + (uint32_t)p->bias[i], .shift = l->shift,
			.lo = l->relu ? 0 : -128, .hi = 127,
		},
	});
}

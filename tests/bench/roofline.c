// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least cycles that a network's nodes take on the card. A convolution that reads squares of its
 * input (space_to_depth.c) has the products of the file's convolution.
 */
#include "goals.h"

uint64_t model_roofline(const struct vtac_node *node, const struct vtaops_core *core)
{
	struct vtac_packed y = vtac_packed_shape(node->out[0]);
	uint64_t out = vtaops_act_bytes(core, y.n, y.c, y.h, y.w), in = 0, gemm = 0;

	for (unsigned int i = 0; i < node->n_in; i++) {
		struct vtac_packed x;

		if (!node->in[i] || node->in[i]->data)
			continue;
		x = vtac_packed_shape(node->in[i]);
		in += vtaops_act_bytes(core, x.n, x.c, x.h, x.w);
	}
	if (node->op == VTAC_CONV || node->op == VTAC_GEMM) {
		const struct vtac_tensor *w = node->in[1];
		bool conv = node->op == VTAC_CONV;
		uint32_t groups = conv ? (uint32_t)node->attr.conv.groups : 1;
		bool squares = conv && node->attr.conv.file.channels;
		const int64_t *kernel = squares ? node->attr.conv.file.kernel : w->dims + 2;
		uint32_t ic = squares ? (uint32_t)node->attr.conv.file.channels :
			      (uint32_t)w->dims[1] * groups, oc = (uint32_t)w->dims[0];
		uint32_t parts = vtaops_conv2d_parts(core, ic, oc, groups);
		uint64_t blocks = (uint64_t)((ic / parts + core->block - 1) / core->block) *
				  ((oc / parts + core->block - 1) / core->block) * parts;
		uint64_t taps = conv ? (uint64_t)(kernel[0] * kernel[1]) : 1;

		/* A block for each group is the least that channels alone need. */
		if (groups > 1 && groups == oc)
			blocks = (oc + core->block - 1) / core->block;
		gemm = (uint64_t)((y.n + core->batch - 1) / core->batch) * y.h * y.w *
		       blocks * taps;
		in += blocks * taps * core->wgt_bytes;
	}
	in = in > out ? in : out;
	return gemm > in / 16 ? gemm : in / 16;
}

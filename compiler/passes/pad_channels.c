// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `pad_channels`. The card pads with the integer 0, and a tensor whose values are not
 * around 0 has another integer for 0. A convolution that pads is exact all the same if
 * its input has channels that are always 0: their integer is the zero point z inside of
 * the picture and 0 in its padding. With the weight -sum(w) on them, sum(w * x) becomes
 * sum(w * (x - z)) over the taps inside, which is what padding with zeros means.
 *
 * Such channels cost nothing where the last block of channels is not full.
 */
#include <math.h>

#include "passes.h"

/* Blocks of channels for which a block of spare ones is worth its cycles */
#define WORTH_BLOCKS	8

static bool is_padded(const struct vtac_node *node)
{
	return node->op == VTAC_CONV && vtac_has_padding(&node->attr.conv.window);
}

static bool is_reader(const struct vtac_node *node, const struct vtac_tensor *t)
{
	return vtac_is_plain_conv(node) && node->in[0] == t &&
	       (node->n_in < 4 || node->in[3] != t);
}

/* Do convolutions alone read @t, and one that pads among them? */
static bool wants_spare(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	bool padded = false;

	if (t->data || t->rank != 4 || vtac_is_output(g, t) || !t->n_users)
		return false;
	for (unsigned int i = 0; i < t->n_users; i++) {
		if (!is_reader(t->users[i], t))
			return false;
		padded = padded || is_padded(t->users[i]);
	}
	return padded;
}

/* Returns the spare channels that hold -sum(w), for each output and tap of @node. */
static int64_t count_needed(const struct vtac_node *node, int wgt_top)
{
	const struct vtac_tensor *w = node->in[1];
	int64_t area = w->dims[2] * w->dims[3], in = w->dims[1], most = 0;

	for (int64_t o = 0; o < w->dims[0]; o++) {
		const float *v = (const float *)w->data + o * in * area;
		float greatest = 0, sums = 0;

		for (int64_t k = 0; k < area; k++) {
			float sum = 0;

			for (int64_t i = 0; i < in; i++) {
				sum += v[i * area + k];
				greatest = fmaxf(greatest, fabsf(v[i * area + k]));
			}
			sums = fmaxf(sums, fabsf(sum));
		}
		if (greatest > 0) {
			float n = sums / greatest + sqrtf((float)in) / (float)wgt_top;

			most = n > (float)most ? (int64_t)ceilf(fminf(n, 1e6f)) : most;
		}
	}
	return most > 0 ? most : 1;
}

/* Returns 0 if it is not worth the cycles, or there is no room. */
static int64_t count_spare(const struct vtac_tensor *t, const struct vtac_options *opt)
{
	int64_t block = opt->core.block, full = t->dims[1] % block, most = 0;
	int wgt_top = (1 << ((1 << opt->core.log_wgt_width) - 1)) - 1;
	int64_t room = full ? block - full : t->dims[1] / block >= WORTH_BLOCKS ? block : 0;

	for (unsigned int i = 0; i < t->n_users; i++)
		if (is_padded(t->users[i]) && count_needed(t->users[i], wgt_top) > most)
			most = count_needed(t->users[i], wgt_top);
	/* Equalised weights may need a little more. */
	return most > room ? 0 : most * 2 <= room ? most * 2 : room;
}

/* A tensor of the CPU with more channels, for the card's users. */
static struct vtac_tensor *padded_tensor(struct vtac_graph *g, struct vtac_tensor *t,
					 int64_t more)
{
	struct vtac_node *pad = vtac_node_new(g, VTAC_PAD, vtac_text(g, "%s/spare", t->name), 1,
					      1);
	int64_t dims[4] = { t->dims[0], t->dims[1] + more, t->dims[2], t->dims[3] };
	struct vtac_tensor *y = vtac_tensor_shaped(g, vtac_text(g, "%s/spare", t->name),
						   VTAC_F32, 4, dims);

	if (!pad || !y)
		return NULL;
	pad->device = VTAC_CPU;
	pad->why = "Adds channels of zeros, so that the card can pad exactly.";
	pad->attr.pad.after[1] = more;
	vtac_node_set_out(pad, 0, y);
	while (t->n_users)
		if (vtac_node_set_in(g, t->users[0], 0, y))
			return NULL;
	return vtac_node_set_in(g, pad, 0, t) ? NULL : y;
}

/* Does an operator between a convolution and @t keep channels apart? */
static bool keeps_channels(const struct vtac_node *node)
{
	return node->op == VTAC_RESIZE || node->op == VTAC_MAX_POOL;
}

static int widen_producers(struct vtac_graph *g, struct vtac_tensor *t, int64_t more)
{
	while (keeps_channels(t->producer)) {
		t->dims[1] += more;
		t = t->producer->in[0];
	}
	return vtac_widen_outputs(g, t, more);
}

static int add_spare(struct vtac_graph *g, struct vtac_tensor *t, int64_t more)
{
	int64_t at = t->dims[1];

	if (t->producer && t->producer->device == VTAC_CARD) {
		if (widen_producers(g, t, more))
			return -1;
	} else {
		t = padded_tensor(g, t, more);
		if (!t)
			return -1;
	}
	for (unsigned int i = 0; i < t->n_users; i++) {
		if (vtac_widen_inputs(g, t->users[i], at, more))
			return -1;
		t->users[i]->attr.conv.spare = more;
	}
	return 0;
}

static bool can_have(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;

	while (node && node->device == VTAC_CARD && keeps_channels(node)) {
		if (!vtac_only_user(g, node->in[0]))
			return false;
		node = node->in[0]->producer;
	}
	if (node && node->device == VTAC_CARD)
		return vtac_is_plain_conv(node) && (node->n_in < 4 || !node->in[3]);
	/* A tensor of the CPU, or an input */
	return node == t->producer && t->dtype == VTAC_F32 && !t->quant.given;
}

int vtac_pass_pad_channels(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = g->n_tensors;

	if (opt->quant && (opt->quant->no_zero_points || opt->quant->power_of_two))
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		struct vtac_tensor *t = g->tensors[i];
		int64_t more;

		if (!wants_spare(g, t) || !can_have(g, t))
			continue;
		more = count_spare(t, opt);
		if (more && add_spare(g, t, more))
			return -1;
	}
	return vtac_graph_dce(g);
}

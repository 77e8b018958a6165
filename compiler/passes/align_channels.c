// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `align_channels`: where the card joins channels, all parts but the last must fill
 * whole blocks. A convolution that makes a part gets more outputs, of weights 0, and the
 * convolutions that read the whole get weights 0 for them. If that is not possible, the card brings
 * channels to their lanes (channels.c).
 */
#include <string.h>

#include "passes.h"

static int64_t round_up(int64_t n, int64_t block)
{
	return (n + block - 1) / block * block;
}

bool vtac_is_plain_conv(const struct vtac_node *node)
{
	return node && node->op == VTAC_CONV && node->device == VTAC_CARD &&
	       node->attr.conv.groups == 1 && node->in[1]->data && !node->in[1]->quant.given &&
	       node->in[1]->dtype == VTAC_F32;
}

bool vtac_has_float_bias(const struct vtac_node *node)
{
	const struct vtac_tensor *b = node->n_in > 2 ? node->in[2] : NULL;

	return !b || (b->data && b->dtype == VTAC_F32 && !b->quant.given);
}

/* Can the node that makes @part have more outputs, which nothing else sees? */
static bool can_widen(const struct vtac_graph *g, const struct vtac_tensor *part)
{
	const struct vtac_node *node = part->producer;

	return vtac_is_plain_conv(node) && (node->n_in < 4 || !node->in[3]) &&
	       vtac_only_user(g, part) && !part->quant.given;
}

static bool can_read(const struct vtac_graph *g, const struct vtac_tensor *whole)
{
	if (vtac_is_output(g, whole) || !whole->n_users)
		return false;
	for (unsigned int i = 0; i < whole->n_users; i++)
		if (!vtac_is_plain_conv(whole->users[i]) || whole->users[i]->in[0] != whole ||
		    (whole->users[i]->n_in > 3 && whole->users[i]->in[3] == whole))
			return false;
	return true;
}

/* Returns @t with @more zeros in dimension @axis before place @at. */
static struct vtac_tensor *with_zeros(struct vtac_graph *g, const struct vtac_tensor *t, int axis,
				      int64_t at, int64_t more)
{
	int64_t dims[VTAC_RANK_MAX], outer = 1, inner = 1, n = t->dims[axis];
	const float *from = t->data;
	float *to;

	memcpy(dims, t->dims, sizeof(dims));
	dims[axis] += more;
	for (int i = 0; i < axis; i++)
		outer *= t->dims[i];
	for (int i = axis + 1; i < t->rank; i++)
		inner *= t->dims[i];
	to = vtac_alloc(g, (uint64_t)(outer * inner * dims[axis]) + 1, sizeof(*to));
	if (!to)
		return NULL;
	for (int64_t o = 0; o < outer; o++) {
		float *row = to + o * inner * (n + more);

		memcpy(row, from + o * inner * n, (size_t)(at * inner) * sizeof(*to));
		memcpy(row + (at + more) * inner, from + (o * n + at) * inner,
		       (size_t)((n - at) * inner) * sizeof(*to));
	}
	return vtac_tensor_const(g, t->name, VTAC_F32, t->rank, dims, to, false);
}

static int replace_const(struct vtac_graph *g, struct vtac_node *node, unsigned int i, int axis,
			 int64_t at, int64_t more)
{
	struct vtac_tensor *t = with_zeros(g, node->in[i], axis, at, more);

	return t ? vtac_node_set_in(g, node, i, t) : -1;
}

int vtac_widen_outputs(struct vtac_graph *g, struct vtac_tensor *part, int64_t more)
{
	struct vtac_node *node = part->producer;
	int64_t n = part->dims[1];

	if (replace_const(g, node, 1, 0, n, more))
		return -1;
	if (node->n_in > 2 && node->in[2] && replace_const(g, node, 2, 0, n, more))
		return -1;
	part->dims[1] += more;
	return 0;
}

int vtac_widen_inputs(struct vtac_graph *g, struct vtac_node *node, int64_t at, int64_t more)
{
	return replace_const(g, node, 1, 1, at, more);
}

static int widen_parts(struct vtac_graph *g, struct vtac_node *concat, int64_t block)
{
	struct vtac_tensor *whole = concat->out[0];
	int64_t at = 0;

	for (unsigned int i = 0; i < concat->n_in; i++) {
		struct vtac_tensor *part = concat->in[i];
		int64_t more = i + 1 < concat->n_in ?
			round_up(part->dims[1], block) - part->dims[1] : 0;

		at += part->dims[1];
		if (!more)
			continue;
		if (vtac_widen_outputs(g, part, more))
			return -1;
		for (unsigned int k = 0; k < whole->n_users; k++)
			if (vtac_widen_inputs(g, whole->users[k], at, more))
				return -1;
		at += more;
		whole->dims[1] += more;
	}
	return 0;
}

static bool is_whole(const struct vtac_node *concat, int64_t block)
{
	for (unsigned int i = 0; i + 1 < concat->n_in; i++)
		if (concat->in[i]->dims[1] % block)
			return false;
	return true;
}

static bool can_fill(const struct vtac_graph *g, const struct vtac_node *concat, int64_t block)
{
	for (unsigned int i = 0; i + 1 < concat->n_in; i++)
		if (concat->in[i]->dims[1] % block && !can_widen(g, concat->in[i]))
			return false;
	return can_read(g, concat->out[0]);
}

int vtac_pass_align_channels(struct vtac_graph *g, const struct vtac_options *opt)
{
	int64_t block = opt->core.block;

	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *node = g->nodes[i];

		if (node->op != VTAC_CONCAT || node->device != VTAC_CARD || is_whole(node, block))
			continue;
		if (can_fill(g, node, block) ? widen_parts(g, node, block) :
					       vtac_join_channels(g, node))
			return -1;
	}
	return vtac_graph_dce(g);
}

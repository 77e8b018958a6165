// SPDX-License-Identifier: Apache-2.0
/* The pass `fuse`: patterns that are channels in another order. */
#include "fuse_impl.h"

/* The node of @op that computes @t for one user alone, and moves values of one scale. */
static struct vtac_node *moved_by(const struct vtac_graph *g, const struct vtac_tensor *t,
				  enum vtac_op op)
{
	struct vtac_node *node = t->producer;

	if (!node || node->op != op || !vtac_only_user(g, t))
		return NULL;
	return !t->quant.given || vtac_same_quant(&t->quant, &node->in[0]->quant) ? node : NULL;
}

/* Dimensions of @t that are the channels of @x, from dimension 1 on; 0: there are none. */
static int count_parts(const struct vtac_tensor *x, const struct vtac_tensor *t)
{
	int64_t product = 1;

	if (t->dims[0] != x->dims[0])
		return 0;
	for (int i = 1; i < t->rank; i++) {
		product *= t->dims[i];
		if (product == x->dims[1])
			return i;
		if (product > x->dims[1])
			break;
	}
	return 0;
}

/* Does @perm leave all dimensions but those from 1 to @parts where they are? */
static bool moves_parts(const int *perm, int rank, int parts)
{
	for (int i = 0; i < rank; i++)
		if (i >= 1 && i <= parts ? perm[i] < 1 || perm[i] > parts : perm[i] != i)
			return false;
	return true;
}

/* Returns the input's channel that is channel @c when @parts dimensions are permuted. */
static uint32_t source_of(const struct vtac_tensor *t, const int *perm, int parts, int64_t c)
{
	int64_t at[VTAC_RANK_MAX] = { 0 }, channel = 0;

	for (int i = parts; i >= 1; i--) {
		int64_t size = t->dims[perm[i]];

		at[perm[i]] = c % size;
		c /= size;
	}
	for (int i = 1; i <= parts; i++)
		channel = channel * t->dims[i] + at[i];
	return (uint32_t)channel;
}

/* The node takes channels of @x in the order of @picks. */
static int to_channels(struct vtac_graph *g, struct vtac_node *node, struct vtac_tensor *x,
		       const struct vtaops_pick *picks)
{
	if (vtac_node_resize_in(g, node, 1) || vtac_node_set_in(g, node, 0, x))
		return -1;
	node->op = VTAC_CHANNELS;
	node->attr = (union vtac_attr){ .channels = { picks } };
	return 1;
}

static bool is_picture(const struct vtac_tensor *t)
{
	return t->rank >= 2 && t->rank <= 4 && t->dtype == VTAC_F32 && !t->size && !t->data &&
	       vtac_elements(t) > 0;
}

/* Reshape, Transpose, Reshape: groups of channels take turns. */
int fuse_shuffle(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *turn, *split;
	struct vtaops_pick *picks;
	struct vtac_tensor *x;
	int parts;

	if (node->op != VTAC_RESHAPE || !is_picture(node->out[0]))
		return 0;
	turn = moved_by(g, node->in[0], VTAC_TRANSPOSE);
	split = turn ? moved_by(g, turn->in[0], VTAC_RESHAPE) : NULL;
	if (!split)
		return 0;
	x = split->in[0];
	parts = is_picture(x) && vtac_same_shape(x, node->out[0]) ?
		count_parts(x, split->out[0]) : 0;
	if (parts < 2 ||
	    !moves_parts(turn->attr.transpose.perm, turn->in[0]->rank, parts))
		return 0;
	picks = vtac_alloc(g, (uint64_t)x->dims[1], sizeof(*picks));
	if (!picks)
		return -1;
	for (int64_t c = 0; c < x->dims[1]; c++)
		picks[c].channel = source_of(turn->in[0], turn->attr.transpose.perm, parts, c);
	return to_channels(g, node, x, picks);
}

/* A Gather of constant channels. */
int fuse_gather(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *x = node->in[0];
	const struct vtac_tensor *indices;
	struct vtaops_pick *picks;

	if (node->op != VTAC_GATHER || node->attr.axis.axis != 1 || !is_picture(x) ||
	    !is_picture(node->out[0]))
		return 0;
	indices = node->in[1];
	if (!indices->data || indices->dtype != VTAC_I64 || indices->rank != 1)
		return 0;
	picks = vtac_alloc(g, (uint64_t)indices->dims[0], sizeof(*picks));
	if (!picks)
		return -1;
	for (int64_t c = 0; c < indices->dims[0]; c++) {
		int64_t at = ((const int64_t *)indices->data)[c];

		at += at < 0 ? x->dims[1] : 0;
		if (at < 0 || at >= x->dims[1])
			return 0;
		picks[c].channel = (uint32_t)at;
	}
	return to_channels(g, node, x, picks);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `fuse`: normalisations of rows where the card has them. Of a picture's pixels, between
 * Transposes, they become one of the picture's channels; other rows become those of a matrix.
 */
#include <string.h>

#include "fuse_impl.h"

/* Is it of rows, each by its own values, with constant scale and bias? */
static bool is_of_rows(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->op == VTAC_NORM ? node->in[0] : NULL;

	if (!x || node->attr.norm.by_channel || node->attr.norm.across ||
	    node->attr.norm.axis != x->rank - 1 || x->dtype != VTAC_F32 || x->data || x->size ||
	    node->out[0]->size || vtac_elements(x) < 1)
		return false;
	for (unsigned int i = 1; i < node->n_in; i++)
		if (node->in[i] && !fuse_is_const(node->in[i]))
			return false;
	return true;
}

/* Pixels of a picture, before its Transpose makes rows of them. */
int fuse_turned_norm(struct vtac_graph *g, struct vtac_node *node)
{
	static const int rows[] = { 0, 2, 3, 1 };
	struct vtac_node *turn = is_of_rows(node) && node->in[0]->rank == 4 ?
		fuse_from(g, node->in[0], VTAC_TRANSPOSE) : NULL;

	if (!turn || vtac_is_given(node->in[0]) ||
	    memcmp(turn->attr.transpose.perm, rows, sizeof(rows)) != 0)
		return 0;
	node->attr.norm.axis = 1;
	node->attr.norm.across = true;
	return fuse_before_reshape(g, node, 0, turn);
}

static struct vtac_node *add_shape(struct vtac_graph *g, const struct vtac_node *like,
				   struct vtac_tensor *in, struct vtac_tensor *out)
{
	struct vtac_node *shape = vtac_node_new(g, VTAC_RESHAPE, like->name, 1, 1);

	if (!shape || vtac_node_set_in(g, shape, 0, in))
		return NULL;
	shape->file_op = like->file_op;
	vtac_node_set_out(shape, 0, out);
	return shape;
}

/* Rows of more dimensions, as those of a matrix. */
int fuse_flat_norm(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *x = node->in[0], *y = node->out[0], *in, *out;
	int64_t dims[2];

	if (!is_of_rows(node) || x->rank < 3)
		return 0;
	dims[1] = x->dims[x->rank - 1];
	dims[0] = vtac_elements(x) / dims[1];
	in = vtac_tensor_shaped(g, x->name, VTAC_F32, 2, dims);
	out = vtac_tensor_shaped(g, y->name, VTAC_F32, 2, dims);
	if (!in || !out)
		return -1;
	if (x->quant.n == 1)
		in->quant = x->quant;
	if (y->quant.n == 1)
		out->quant = y->quant;
	if (!add_shape(g, node, x, in) || vtac_node_set_in(g, node, 0, in))
		return -1;
	vtac_node_set_out(node, 0, out);
	node->attr.norm.axis = 1;
	return add_shape(g, node, out, y) ? 1 : -1;
}

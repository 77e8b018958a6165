// SPDX-License-Identifier: Apache-2.0
/*
 * Read operators whose outputs' sizes data decides. Each becomes a list of indices as long as can
 * be, a node that counts its entries, and nodes that gather what they name.
 */
#include "onnx_impl.h"

/* Give the list that @node makes its size, in dimension @open. */
static struct vtac_tensor *make_list(struct onnx_node *n, struct vtac_node *node, int open)
{
	struct vtac_node *count = node ? onnx_of_one(n, VTAC_COUNT, node->out[0]) : NULL;

	if (!count)
		return NULL;
	node->out[0]->open = open;
	node->out[0]->size = count->out[0];
	node->out[0]->dtype = VTAC_I64;
	n->g->has_sizes = true;
	return node->out[0];
}

/* As onnx_result(), of a list, which what counts it reads. */
static int list_result(struct onnx_node *n, unsigned int i, struct vtac_tensor *list)
{
	struct vtac_node *node = list ? onnx_of_one(n, VTAC_IDENTITY, list) : NULL;

	return node ? onnx_result(n, i, node->out[0]) : -1;
}

static int read_non_zero(struct onnx_node *n)
{
	return list_result(n, 0, make_list(n, onnx_of_one(n, VTAC_NON_ZERO, n->in[0]), 1));
}

static struct vtac_tensor *make_gather(struct onnx_node *n, struct vtac_tensor *x,
				       struct vtac_tensor *index, int axis)
{
	struct vtac_node *node = onnx_of_two(n, VTAC_GATHER, x, index);

	if (!node)
		return NULL;
	node->attr.axis.axis = axis;
	return node->out[0];
}

static struct vtac_tensor *make_flat(struct onnx_node *n, struct vtac_tensor *x)
{
	static const int64_t all = -1;

	return onnx_reshape(n, VTAC_TO_SHAPE, x, onnx_integers(n, &all, 1));
}

/* Without an axis, of all values. */
static int read_compress(struct onnx_node *n)
{
	static const int64_t first;
	struct vtac_tensor *x = n->in[0], *list;
	int axis;

	if (onnx_attr_axis(n, 0, &axis))
		return -1;
	if (!onnx_attr(n, "axis"))
		x = make_flat(n, x);
	list = make_list(n, onnx_of_one(n, VTAC_NON_ZERO, n->in[1]), 1);
	list = onnx_reshape(n, VTAC_SQUEEZE, list, onnx_integers(n, &first, 1));
	return onnx_result(n, 0, make_gather(n, x, list, axis));
}

/* Count the slices that equal each of the list: add 1 at the place of each. */
static struct vtac_tensor *make_counts(struct onnx_node *n, struct vtac_tensor *list,
				       struct vtac_tensor *inverse)
{
	struct vtac_tensor *zeros = onnx_two(n, VTAC_MUL, list, onnx_integer(n, 0));
	struct vtac_tensor *ones = onnx_binary(n, VTACPU_EQUAL, inverse, inverse);
	struct vtac_node *node = onnx_between(n, VTAC_SCATTER_ELEMENTS, 3);

	ones = onnx_cast(n, VTAC_I64, ones);
	if (!node || !zeros || !ones || vtac_node_set_in(n->g, node, 0, zeros) ||
	    vtac_node_set_in(n->g, node, 1, inverse) || vtac_node_set_in(n->g, node, 2, ones))
		return NULL;
	node->attr.scatter.op = VTACPU_SCATTER_ADD;
	return node->out[0];
}

static int read_unique(struct onnx_node *n)
{
	bool flat = !onnx_attr(n, "axis");
	struct vtac_node *unique = onnx_of_one(n, VTAC_UNIQUE, n->in[0]);
	struct vtac_node *places = onnx_of_one(n, VTAC_UNIQUE_INVERSE, n->in[0]);
	struct vtac_tensor *x = flat ? make_flat(n, n->in[0]) : n->in[0], *list;
	int64_t sorted;
	int axis;

	if (onnx_attr_int(n, "sorted", 1, &sorted) || onnx_attr_axis(n, 0, &axis) || !unique ||
	    !places)
		return -1;
	if (n->n_out > 4)
		return onnx_fail(n, "It has %u outputs.", n->n_out);
	unique->attr.unique.axis = axis;
	unique->attr.unique.flat = flat;
	unique->attr.unique.sorted = sorted;
	places->attr.unique = unique->attr.unique;
	list = make_list(n, unique, 0);
	if (n->n_out > 3 && n->out[3] &&
	    onnx_result(n, 3, make_counts(n, list, places->out[0])))
		return -1;
	if (n->n_out > 2 && n->out[2] &&
	    onnx_result(n, 2, onnx_two(n, VTAC_ADD, places->out[0], onnx_integer(n, 0))))
		return -1;
	if (n->n_out > 1 && n->out[1] && list_result(n, 1, list))
		return -1;
	return onnx_result(n, 0, make_gather(n, x, list, axis));
}

static int read_nms(struct onnx_node *n)
{
	struct vtac_node *node = onnx_between(n, VTAC_NMS, 5);
	int64_t centre;

	if (!node || onnx_attr_int(n, "center_point_box", 0, &centre))
		return -1;
	node->attr.nms.centre = centre;
	for (unsigned int i = 0; i < n->n_in; i++)
		if (vtac_node_set_in(n->g, node, i, n->in[i]))
			return -1;
	return list_result(n, 0, make_list(n, node, 0));
}

const struct onnx_op onnx_choose_ops[] = {
	{ "Compress", 2, 2, 1, read_compress, NULL },
	{ "NonMaxSuppression", 2, 5, 1, read_nms, NULL },
	{ "NonZero", 1, 1, 1, read_non_zero, NULL },
	{ "Unique", 1, 1, UINT32_MAX, read_unique, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

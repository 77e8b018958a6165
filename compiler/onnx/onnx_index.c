// SPDX-License-Identifier: Apache-2.0
/* Read operators whose inputs choose, repeat or order values. */
#include <string.h>

#include "onnx_impl.h"

static int read_gather(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_GATHER, 2);

	return node ? onnx_attr_axis(n, 0, &node->attr.axis.axis) : -1;
}

static int read_gather_elements(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_GATHER_ELEMENTS, 2);

	return node ? onnx_attr_axis(n, 0, &node->attr.axis.axis) : -1;
}

static int read_gather_nd(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_GATHER_ND, 2);
	int64_t batch;

	if (!node || onnx_attr_int(n, "batch_dims", 0, &batch))
		return -1;
	if (batch < 0 || batch > VTAC_RANK_MAX)
		return onnx_fail(n, "Its batch_dims is %lld.", (long long)batch);
	node->attr.gather_nd.batch = (int)batch;
	return 0;
}

static int read_reduction(struct onnx_node *n, enum vtacpu_scatter_op *op)
{
	/* In the order of enum vtacpu_scatter_op. */
	static const char *const ways[] = { "none", "add", "mul", "max", "min", NULL };
	int way;

	if (onnx_attr_word(n, "reduction", ways, 0, &way))
		return -1;
	*op = (enum vtacpu_scatter_op)way;
	return 0;
}

static int read_scatter_elements(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_SCATTER_ELEMENTS, 3);

	if (!node || read_reduction(n, &node->attr.scatter.op))
		return -1;
	return onnx_attr_axis(n, 0, &node->attr.scatter.axis);
}

static int read_scatter_nd(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_SCATTER_ND, 3);

	return node ? read_reduction(n, &node->attr.scatter.op) : -1;
}

static int read_arg(struct onnx_node *n, bool least)
{
	struct vtac_node *node = onnx_make(n, VTAC_ARG, 1);
	int64_t keep, last;

	if (!node || onnx_attr_int(n, "keepdims", 1, &keep) ||
	    onnx_attr_int(n, "select_last_index", 0, &last))
		return -1;
	node->attr.arg.keep = keep;
	node->attr.arg.last = last;
	node->attr.arg.least = least;
	return onnx_attr_axis(n, 0, &node->attr.arg.axis);
}

static int read_arg_max(struct onnx_node *n)
{
	return read_arg(n, false);
}

static int read_arg_min(struct onnx_node *n)
{
	return read_arg(n, true);
}

/* The node makes indices; a second one gathers the values that they name. */
static int read_top_k(struct onnx_node *n)
{
	struct vtac_tensor *values = n->out[0], *indices = n->n_out > 1 ? n->out[1] : NULL;
	struct vtac_node *top = onnx_between(n, VTAC_TOP, 2), *gather;
	int64_t largest, sorted;

	if (n->n_out > 2)
		return onnx_fail(n, "It has %u outputs.", n->n_out);
	if (!top || onnx_attr_int(n, "largest", 1, &largest) ||
	    onnx_attr_int(n, "sorted", 1, &sorted) ||
	    onnx_attr_axis(n, -1, &top->attr.top.axis))
		return -1;
	top->attr.top.least = !largest;
	if (indices)
		vtac_node_set_out(top, 0, indices);
	if (vtac_node_set_in(n->g, top, 0, n->in[0]) ||
	    (n->n_in > 1 && vtac_node_set_in(n->g, top, 1, n->in[1])) ||
	    onnx_in_or_attr(n, top, 1, "k"))
		return -1;
	if (!top->in[1])
		return onnx_fail(n, "It has no k.");
	gather = onnx_between(n, VTAC_GATHER_ELEMENTS, 2);
	if (!gather || vtac_node_set_in(n->g, gather, 0, n->in[0]))
		return -1;
	gather->attr.axis.axis = top->attr.top.axis;
	if (values)
		vtac_node_set_out(gather, 0, values);
	return vtac_node_set_in(n->g, gather, 1, top->out[0]);
}

static int read_cum_sum(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_CUM_SUM, 2);
	int64_t exclusive, reverse;

	if (!node || onnx_attr_int(n, "exclusive", 0, &exclusive) ||
	    onnx_attr_int(n, "reverse", 0, &reverse))
		return -1;
	node->attr.cum_sum.exclusive = exclusive;
	node->attr.cum_sum.reverse = reverse;
	return 0;
}

/* To the other input's type; there are more of the file's, if it is known. */
static int read_cast_like(struct onnx_node *n)
{
	int32_t type = onnx_type_of(n->r, n->in[1]);

	onnx_attr(n, "saturate");
	if (type)
		return onnx_result(n, 0, onnx_cast_to(n, n->in[0], type));
	return onnx_make(n, VTAC_CAST, 2) ? 0 : -1;
}

static int read_eye_like(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_EYE, 1);
	int64_t type;
	int dtype;

	if (!node || onnx_attr_int(n, "k", 0, &node->attr.eye.k) ||
	    onnx_attr_int(n, "dtype", 0, &type))
		return -1;
	node->attr.eye.given = type != 0;
	dtype = type > 0 && type < 64 ? onnx_dtype((int32_t)type) : VTAC_F32;
	if (dtype < 0)
		return onnx_fail(n, "It makes %s, which is not supported.", onnx_type_name(type));
	node->attr.eye.to = (enum vtac_dtype)dtype;
	return 0;
}

static int read_one_hot(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_ONE_HOT, 0);
	struct vtac_tensor *index = n->in[0];
	int32_t type = onnx_type_of(n->r, index);

	if (!node || vtac_node_resize_in(n->g, node, 3) ||
	    onnx_attr_axis(n, -1, &node->attr.one_hot.axis))
		return -1;
	/* Indices may be of any type. */
	if (type != 6 && type != 7)
		index = onnx_cast(n, VTAC_I64, index);
	return !index || vtac_node_set_in(n->g, node, 0, index) ||
	       vtac_node_set_in(n->g, node, 1, n->in[1]) ||
	       vtac_node_set_in(n->g, node, 2, n->in[2]) ? -1 : 0;
}

static int read_reverse_sequence(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_REVERSE_SEQUENCE, 2);
	int64_t batch, time;

	if (!node || onnx_attr_int(n, "batch_axis", 1, &batch) ||
	    onnx_attr_int(n, "time_axis", 0, &time))
		return -1;
	if (batch < 0 || batch > 1 || time != 1 - batch)
		return onnx_fail(n, "Its axes are not 0 and 1.");
	node->attr.reverse.time = (int)time;
	return 0;
}

static int read_range(struct onnx_node *n)
{
	return onnx_make(n, VTAC_RANGE, 3) ? 0 : -1;
}

static int read_tile(struct onnx_node *n)
{
	return onnx_make(n, VTAC_TILE, 2) ? 0 : -1;
}

static int read_trilu(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_TRILU, 2);
	int64_t upper;

	if (!node || onnx_attr_int(n, "upper", 1, &upper))
		return -1;
	node->attr.trilu.upper = upper;
	return 0;
}

/* The product of the shape. */
static int read_size(struct onnx_node *n)
{
	struct vtac_node *shape = onnx_between(n, VTAC_SHAPE, 1);
	struct vtac_node *node = onnx_make(n, VTAC_REDUCE, 0);

	if (!shape || !node || vtac_node_set_in(n->g, shape, 0, n->in[0]) ||
	    vtac_node_resize_in(n->g, node, 2))
		return -1;
	shape->attr.shape.end = INT64_MAX;
	node->attr.reduce.op = VTACPU_REDUCE_PROD;
	return vtac_node_set_in(n->g, node, 0, shape->out[0]);
}

const struct onnx_op onnx_index_ops[] = {
	{ "ArgMax", 1, 1, 1, read_arg_max, NULL },
	{ "ArgMin", 1, 1, 1, read_arg_min, NULL },
	{ "CastLike", 2, 2, 1, read_cast_like, NULL },
	{ "CumSum", 2, 2, 1, read_cum_sum, NULL },
	{ "EyeLike", 1, 1, 1, read_eye_like, NULL },
	{ "Gather", 2, 2, 1, read_gather, NULL },
	{ "GatherElements", 2, 2, 1, read_gather_elements, NULL },
	{ "GatherND", 2, 2, 1, read_gather_nd, NULL },
	{ "OneHot", 3, 3, 1, read_one_hot, NULL },
	{ "Range", 3, 3, 1, read_range, NULL },
	{ "ReverseSequence", 2, 2, 1, read_reverse_sequence, NULL },
	{ "Scatter", 3, 3, 1, read_scatter_elements, NULL },
	{ "ScatterElements", 3, 3, 1, read_scatter_elements, NULL },
	{ "ScatterND", 3, 3, 1, read_scatter_nd, NULL },
	{ "Size", 1, 1, 1, read_size, NULL },
	{ "Tile", 2, 2, 1, read_tile, NULL },
	{ "TopK", 1, 2, UINT32_MAX, read_top_k, NULL },
	{ "Trilu", 1, 2, 1, read_trilu, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

// SPDX-License-Identifier: Apache-2.0
/* Make the graph's nodes of a node of the file. */
#include "onnx_impl.h"

struct vtac_node *onnx_make(struct onnx_node *n, enum vtac_op op, unsigned int n_in)
{
	struct vtac_node *node = vtac_node_new(n->g, op, n->stub.name, n_in,
					       n->n_out ? n->n_out : 1);

	if (!node)
		return NULL;
	node->file_op = n->stub.file_op;
	for (unsigned int i = 0; i < n_in && i < n->n_in; i++)
		if (vtac_node_set_in(n->g, node, i, n->in[i]))
			return NULL;
	for (unsigned int i = 0; i < n->n_out; i++)
		if (n->out[i])
			vtac_node_set_out(node, i, n->out[i]);
	return node;
}

struct vtac_node *onnx_make_all(struct onnx_node *n, enum vtac_op op)
{
	return onnx_make(n, op, n->n_in);
}

struct vtac_node *onnx_between(struct onnx_node *n, enum vtac_op op, unsigned int n_in)
{
	const char *name = vtac_text(n->g, "%s.%s", n->stub.name, vtac_op_name(op));
	struct vtac_node *node = name ? vtac_node_new(n->g, op, name, n_in, 1) : NULL;
	struct vtac_tensor *t = node ? vtac_tensor_new(n->g, name, VTAC_F32) : NULL;

	if (!t)
		return NULL;
	node->file_op = n->stub.file_op;
	vtac_node_set_out(node, 0, t);
	return node;
}

/* ---- parts of functions: NULL for a part gives NULL ---- */

struct vtac_node *onnx_of_one(struct onnx_node *n, enum vtac_op op, struct vtac_tensor *x)
{
	struct vtac_node *node = x ? onnx_between(n, op, 1) : NULL;

	return node && !vtac_node_set_in(n->g, node, 0, x) ? node : NULL;
}

struct vtac_node *onnx_of_two(struct onnx_node *n, enum vtac_op op, struct vtac_tensor *a,
			      struct vtac_tensor *b)
{
	struct vtac_node *node = a && b ? onnx_between(n, op, 2) : NULL;

	return node && !vtac_node_set_in(n->g, node, 0, a) &&
	       !vtac_node_set_in(n->g, node, 1, b) ? node : NULL;
}

struct vtac_tensor *onnx_two(struct onnx_node *n, enum vtac_op op, struct vtac_tensor *a,
			     struct vtac_tensor *b)
{
	struct vtac_node *node = onnx_of_two(n, op, a, b);

	return node ? node->out[0] : NULL;
}

struct vtac_tensor *onnx_binary(struct onnx_node *n, enum vtacpu_binary_op op,
				struct vtac_tensor *a, struct vtac_tensor *b)
{
	struct vtac_node *node = onnx_of_two(n, VTAC_BINARY, a, b);

	if (!node)
		return NULL;
	node->attr.binary.op = op;
	return node->out[0];
}

struct vtac_tensor *onnx_unary(struct onnx_node *n, enum vtacpu_act_kind kind,
			       struct vtac_tensor *x)
{
	struct vtac_node *node = onnx_of_one(n, VTAC_UNARY, x);

	if (!node)
		return NULL;
	node->attr.unary.kind = kind;
	return node->out[0];
}

struct vtac_tensor *onnx_reduce(struct onnx_node *n, enum vtacpu_reduce_op op,
				struct vtac_tensor *x, struct vtac_tensor *axes)
{
	struct vtac_node *node = onnx_of_two(n, VTAC_REDUCE, x, axes);

	if (!node)
		return NULL;
	node->attr.reduce.op = op;
	node->attr.reduce.keep = true;
	return node->out[0];
}

struct vtac_tensor *onnx_cast(struct onnx_node *n, enum vtac_dtype to, struct vtac_tensor *x)
{
	struct vtac_node *node = onnx_of_one(n, VTAC_CAST, x);

	if (!node)
		return NULL;
	node->attr.cast.to = to;
	return node->out[0];
}

struct vtac_tensor *onnx_reshape(struct onnx_node *n, enum vtac_reshape_kind kind,
				 struct vtac_tensor *x, struct vtac_tensor *v)
{
	struct vtac_node *node = onnx_of_two(n, VTAC_RESHAPE, x, v);

	if (!node)
		return NULL;
	node->attr.reshape.kind = kind;
	return node->out[0];
}

struct vtac_tensor *onnx_shape(struct onnx_node *n, struct vtac_tensor *x)
{
	struct vtac_node *node = onnx_of_one(n, VTAC_SHAPE, x);

	if (!node)
		return NULL;
	node->attr.shape.end = INT64_MAX;
	return node->out[0];
}

struct vtac_tensor *onnx_integer(struct onnx_node *n, int64_t value)
{
	return vtac_tensor_const(n->g, "number", VTAC_I64, 0, NULL, &value, true);
}

struct vtac_tensor *onnx_integers(struct onnx_node *n, const int64_t *values, int64_t count)
{
	return vtac_tensor_const(n->g, "numbers", VTAC_I64, 1, &count, values, true);
}

struct vtac_tensor *onnx_float(struct onnx_node *n, float value)
{
	return vtac_tensor_const(n->g, "number", VTAC_F32, 0, NULL, &value, true);
}

int onnx_result(struct onnx_node *n, unsigned int i, struct vtac_tensor *t)
{
	struct vtac_node *node = t ? t->producer : NULL;

	if (!t)
		return -1;
	if (i >= n->n_out || !n->out[i])
		return 0;
	for (unsigned int k = 0; k < n->n_in; k++)
		if (n->in[k] == t)
			node = NULL;
	/* The part that makes it writes it, unless others read it, too. */
	for (unsigned int k = 0; node && !t->n_users && k < node->n_out; k++)
		if (node->out[k] == t) {
			vtac_node_set_out(node, k, n->out[i]);
			return 0;
		}
	node = onnx_between(n, VTAC_IDENTITY, 1);
	if (!node)
		return -1;
	vtac_node_set_out(node, 0, n->out[i]);
	return vtac_node_set_in(n->g, node, 0, t);
}

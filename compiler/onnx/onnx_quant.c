// SPDX-License-Identifier: Apache-2.0
/*
 * Quantised operators of a file. All become one form: dequantise, the operator in
 * float, quantise. Later passes know that form alone.
 */
#include "onnx_impl.h"

/* A file without the zero point has the type of the output in an attribute. */
static int zero_of_type(struct onnx_node *n, struct vtac_node *node, int64_t type)
{
	int dtype = type > 0 && type < 64 ? onnx_dtype((int32_t)type) : -1;
	const struct vtac_tensor *scale = n->in[1];
	struct vtac_tensor *t;
	void *zeros;

	if (dtype != VTAC_I8 && dtype != VTAC_U8)
		return onnx_fail(n, "It makes %s (output_dtype); int8 and uint8 are supported.",
				 onnx_type_name(type));
	if (!scale->data)
		return onnx_fail(n, "Its scale is not constant.");
	zeros = vtac_alloc(n->g, (uint64_t)vtac_elements(scale) + 1, 1);
	if (!zeros)
		return -1;
	t = vtac_tensor_const(n->g, "zero", (enum vtac_dtype)dtype, scale->rank, scale->dims,
			      zeros, false);
	return t ? vtac_node_set_in(n->g, node, 2, t) : -1;
}

static int read_quant(struct onnx_node *n, enum vtac_op op)
{
	struct vtac_node *node = onnx_make(n, op, 3);
	int64_t axis, block, type = 0, saturate;

	if (!node || onnx_attr_int(n, "axis", 1, &axis) ||
	    onnx_attr_int(n, "block_size", 0, &block) ||
	    onnx_attr_int(n, "saturate", 1, &saturate))	/* of floats of 8 bits alone */
		return -1;
	if (op == VTAC_QUANTIZE && onnx_attr_int(n, "output_dtype", 0, &type))
		return -1;
	if (block)
		return onnx_fail(n,
				 "It has a scale for each %lld values along an axis (block_size); "
				 "one for each channel or for all is supported.",
				 (long long)block);
	if (type && !node->in[2] && zero_of_type(n, node, type))
		return -1;
	if (axis < -VTAC_RANK_MAX || axis >= VTAC_RANK_MAX)
		return onnx_fail(n, "Its axis is %lld.", (long long)axis);
	node->attr.axis.axis = (int)axis;
	return 0;
}

static int read_quantize(struct onnx_node *n)
{
	return read_quant(n, VTAC_QUANTIZE);
}

static int read_dequantize(struct onnx_node *n)
{
	return read_quant(n, VTAC_DEQUANTIZE);
}

struct vtac_tensor *onnx_dequantize(struct onnx_node *n, struct vtac_tensor *x,
				    struct vtac_tensor *scale, struct vtac_tensor *zero, int axis)
{
	struct vtac_node *node = onnx_between(n, VTAC_DEQUANTIZE, 3);

	if (!node || vtac_node_set_in(n->g, node, 0, x) ||
	    vtac_node_set_in(n->g, node, 1, scale) || vtac_node_set_in(n->g, node, 2, zero))
		return NULL;
	node->attr.axis.axis = axis;
	return node->out[0];
}

/* The input @i of @t's producer, if that is an @op. */
static struct vtac_tensor *made_of(const struct vtac_tensor *t, enum vtac_op op, unsigned int i)
{
	return t && t->producer && t->producer->op == op ? t->producer->in[i] : NULL;
}

/* The output of the first @op that reads @x, or NULL. */
static struct vtac_tensor *made_by(const struct vtac_tensor *x, enum vtac_op op)
{
	for (unsigned int i = 0; i < x->n_users; i++)
		if (x->users[i]->op == op && x->users[i]->in[0] == x)
			return x->users[i]->out[0];
	return NULL;
}

/* Several products may read the same rounded values. */
struct vtac_tensor *onnx_round(struct onnx_node *n, struct vtac_tensor *x)
{
	struct vtac_tensor *rounded = x ? made_by(x, VTAC_ROUND) : NULL;
	struct vtac_node *steps;

	if (rounded)
		return rounded;
	steps = onnx_of_one(n, VTAC_STEPS, x);
	return steps ? onnx_two(n, VTAC_ROUND, x, steps->out[0]) : NULL;
}

/* The input of the DynamicQuantizeLinear that has these outputs, or NULL. */
static struct vtac_tensor *quantized_of(const struct vtac_tensor *q,
					const struct vtac_tensor *scale,
					const struct vtac_tensor *zero)
{
	struct vtac_tensor *sum = made_of(made_of(made_of(q, VTAC_CAST, 0), VTAC_MIN, 0), VTAC_MAX,
					  0);
	struct vtac_tensor *ratio = made_of(made_of(sum, VTAC_ADD, 0), VTAC_UNARY, 0);

	/* Its second output is a copy, as the others depend on it. */
	if (!ratio || !zero || made_of(ratio, VTAC_DIV, 1) != made_of(scale, VTAC_IDENTITY, 0) ||
	    made_of(sum, VTAC_ADD, 1) != made_of(zero, VTAC_CAST, 0))
		return NULL;
	return made_of(ratio, VTAC_DIV, 0);
}

/* A constant that a node can have as the scales or zero points of an axis, or of all. */
static bool is_list(const struct vtac_tensor *t)
{
	return t->data && t->rank <= 1;
}

/* @values, scales or zero points of @x along the axis, so that they meet theirs of its values. */
static struct vtac_tensor *along(struct onnx_node *n, struct vtac_tensor *values,
				 struct vtac_tensor *x, int axis)
{
	struct vtac_node *node;

	if (!values || !values->rank)
		return values;
	node = onnx_of_two(n, VTAC_RESHAPE, values, x);
	if (!node)
		return NULL;
	node->attr.reshape = (struct vtac_reshape){ .kind = VTAC_ALONG, .axis = axis };
	return node->out[0];
}

struct vtac_tensor *onnx_floats(struct onnx_node *n, struct vtac_tensor *x,
				struct vtac_tensor *scale, struct vtac_tensor *zero, int axis)
{
	struct vtac_tensor *rounded, *y;

	if (!x || !scale)
		return NULL;
	if (is_list(scale) && (!zero || is_list(zero)) &&
	    (axis < VTAC_RANK_MAX || vtac_elements(scale) == 1))
		return onnx_dequantize(n, x, scale, zero, axis);
	rounded = quantized_of(x, scale, zero);
	if (rounded)
		return onnx_round(n, rounded);
	y = onnx_cast(n, VTAC_F32, x);
	if (zero)
		y = onnx_two(n, VTAC_SUB, y, along(n, onnx_cast(n, VTAC_F32, zero), x, axis));
	return onnx_two(n, VTAC_MUL, y, along(n, scale, x, axis));
}

static struct vtac_tensor *product(struct onnx_node *n, struct vtac_tensor *a,
				   struct vtac_tensor *b)
{
	struct vtac_node *node = onnx_between(n, VTAC_MUL, 2);

	if (!node || vtac_node_set_in(n->g, node, 0, a) || vtac_node_set_in(n->g, node, 1, b))
		return NULL;
	return node->out[0];
}

/* A scale of 1 for each zero point of @zero, or for all if that is NULL or no constant list. */
static struct vtac_tensor *ones(struct onnx_node *n, const struct vtac_tensor *zero)
{
	int64_t count = zero && is_list(zero) ? vtac_elements(zero) : 1;
	float *values = vtac_alloc(n->g, (uint64_t)count + 1, sizeof(*values));

	for (int64_t i = 0; values && i < count; i++)
		values[i] = 1;
	if (!values)
		return NULL;
	return vtac_tensor_const(n->g, "one", VTAC_F32, count > 1 ? zero->rank : 0,
				 count > 1 ? zero->dims : NULL, values, false);
}

/* The operator in float on the first inputs @x and @w, and the node that ends it. */
static struct vtac_node *between(struct onnx_node *n, enum vtac_op op, unsigned int n_in,
				 struct vtac_tensor *x, struct vtac_tensor *w)
{
	struct vtac_node *node = x && w ? onnx_between(n, op, n_in) : NULL;

	if (!node || vtac_node_set_in(n->g, node, 0, x) || vtac_node_set_in(n->g, node, 1, w))
		return NULL;
	return node;
}

static int conv_attrs(struct onnx_node *n, struct vtac_node *node)
{
	static const char *const auto_pads[] = { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID",
						 NULL };
	struct vtac_conv *c = &node->attr.conv;
	int kind;

	c->window = (struct vtac_window){ .stride = { 1, 1 }, .dilation = { 1, 1 } };
	if (onnx_attr_ints(n, "kernel_shape", c->window.kernel, 2) ||
	    onnx_attr_ints(n, "strides", c->window.stride, 2) ||
	    onnx_attr_ints(n, "dilations", c->window.dilation, 2) ||
	    onnx_attr_ints(n, "pads", c->window.pad, 4) ||
	    onnx_attr_word(n, "auto_pad", auto_pads, 0, &kind))
		return -1;
	if (kind == 1 || kind == 2)
		c->window.auto_pad = kind == 1 ? VTAC_PAD_SAME_UPPER : VTAC_PAD_SAME_LOWER;
	return onnx_attr_int(n, "group", 1, &c->groups);
}

/* out = quantise(@node's output) with the file's scale and zero point */
static int end_quantized(struct onnx_node *n, const struct vtac_node *node,
			 struct vtac_tensor *scale, struct vtac_tensor *zero, int axis)
{
	struct vtac_node *end = onnx_make(n, VTAC_QUANTIZE, 0);

	if (!end || vtac_node_resize_in(n->g, end, 3))
		return -1;
	end->attr.axis.axis = axis;
	return vtac_node_set_in(n->g, end, 0, node->out[0]) ||
	       vtac_node_set_in(n->g, end, 1, scale) || vtac_node_set_in(n->g, end, 2, zero) ?
		-1 : 0;
}

/* x, its scale and zero point, w, likewise, y's, likewise, [bias in the sums' scale] */
static int read_qlinear_conv(struct onnx_node *n)
{
	struct vtac_tensor **in = n->in, *scale, *bias;
	struct vtac_node *conv = between(n, VTAC_CONV, 3,
					 onnx_dequantize(n, in[0], in[1], in[2], 1),
					 onnx_dequantize(n, in[3], in[4], in[5], 0));

	if (!conv || conv_attrs(n, conv))
		return -1;
	if (n->n_in > 8 && in[8]) {
		scale = product(n, in[1], in[4]);
		bias = scale ? onnx_dequantize(n, in[8], scale, NULL, 0) : NULL;
		if (!bias || vtac_node_set_in(n->g, conv, 2, bias))
			return -1;
	}
	return end_quantized(n, conv, in[6], in[7], 1);
}

static int read_qlinear_matmul(struct onnx_node *n)
{
	struct vtac_tensor **in = n->in;
	struct vtac_node *node = between(n, VTAC_MATMUL, 2,
					 onnx_floats(n, in[0], in[1], in[2], -2),
					 onnx_floats(n, in[3], in[4], in[5], -1));

	return node ? end_quantized(n, node, in[6], in[7], -1) : -1;
}

static int end_integer(struct onnx_node *n, const struct vtac_node *node)
{
	struct vtac_node *end = onnx_make(n, VTAC_CAST, 0);

	if (!end || vtac_node_resize_in(n->g, end, 1))
		return -1;
	end->attr.cast.to = VTAC_I32;
	end->attr.cast.exact = true;
	return vtac_node_set_in(n->g, end, 0, node->out[0]);
}

/* Zero points are along axes of the inputs. */
static struct vtac_node *integer(struct onnx_node *n, enum vtac_op op, unsigned int n_in,
				 int x_axis, int w_axis)
{
	struct vtac_tensor *x_zero = n->n_in > 2 ? n->in[2] : NULL;
	struct vtac_tensor *w_zero = n->n_in > 3 ? n->in[3] : NULL;

	return between(n, op, n_in, onnx_floats(n, n->in[0], ones(n, x_zero), x_zero, x_axis),
		       onnx_floats(n, n->in[1], ones(n, w_zero), w_zero, w_axis));
}

static int read_conv_integer(struct onnx_node *n)
{
	struct vtac_node *conv = integer(n, VTAC_CONV, 3, VTAC_RANK_MAX, 0);

	return conv && !conv_attrs(n, conv) ? end_integer(n, conv) : -1;
}

static int read_matmul_integer(struct onnx_node *n)
{
	struct vtac_node *node = integer(n, VTAC_MATMUL, 2, -2, -1);

	return node ? end_integer(n, node) : -1;
}

/* By ONNX's function: the range of the values, and 0, in 256 steps. */
static int read_dynamic_quantize(struct onnx_node *n)
{
	struct vtac_tensor *x = n->in[0], *zero = onnx_float(n, 0), *most = onnx_float(n, 255);
	struct vtac_tensor *all = onnx_integers(n, NULL, 0), *lo, *hi, *scale, *point, *y;

	if (n->n_out != 3)
		return onnx_fail(n, "It has %u outputs.", n->n_out);
	lo = onnx_reduce(n, VTACPU_REDUCE_MIN, x, all);
	hi = onnx_reduce(n, VTACPU_REDUCE_MAX, x, all);
	if (!lo || !hi)
		return -1;
	lo->producer->attr.reduce.keep = false;
	hi->producer->attr.reduce.keep = false;
	lo = onnx_two(n, VTAC_MIN, lo, zero);
	hi = onnx_two(n, VTAC_MAX, hi, zero);
	scale = onnx_two(n, VTAC_DIV, onnx_two(n, VTAC_SUB, hi, lo), most);
	point = onnx_two(n, VTAC_DIV, onnx_two(n, VTAC_SUB, zero, lo), scale);
	point = onnx_two(n, VTAC_MIN, onnx_two(n, VTAC_MAX, point, zero), most);
	point = onnx_unary(n, VTACPU_ACT_ROUND, point);
	y = onnx_unary(n, VTACPU_ACT_ROUND, onnx_two(n, VTAC_DIV, x, scale));
	y = onnx_two(n, VTAC_ADD, y, point);
	y = onnx_two(n, VTAC_MIN, onnx_two(n, VTAC_MAX, y, zero), most);
	return onnx_result(n, 0, onnx_cast(n, VTAC_U8, y)) ||
	       onnx_result(n, 2, onnx_cast(n, VTAC_U8, point)) || onnx_result(n, 1, scale) ? -1 : 0;
}

const struct onnx_op onnx_quant_ops[] = {
	{ "ConvInteger", 2, 4, 1, read_conv_integer, NULL },
	{ "DequantizeLinear", 2, 3, 1, read_dequantize, NULL },
	{ "DynamicQuantizeLinear", 1, 1, UINT32_MAX, read_dynamic_quantize, NULL },
	{ "MatMulInteger", 2, 4, 1, read_matmul_integer, NULL },
	{ "QLinearConv", 8, 9, 1, read_qlinear_conv, NULL },
	{ "QLinearMatMul", 8, 8, 1, read_qlinear_matmul, NULL },
	{ "QuantizeLinear", 2, 3, 1, read_quantize, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

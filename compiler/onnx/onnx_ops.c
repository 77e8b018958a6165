// SPDX-License-Identifier: Apache-2.0
/* Operators of a file that are no windows and no quantisation. */
#include <math.h>
#include <string.h>

#include "onnx_impl.h"

/* Ignore attributes that mean nothing for inference. */
static void ignore_attr(struct onnx_node *n, const char *name)
{
	onnx_attr(n, name);
}

static int read_sub(struct onnx_node *n)
{
	return onnx_make_all(n, VTAC_SUB) ? 0 : -1;
}

static int read_div(struct onnx_node *n)
{
	return onnx_make_all(n, VTAC_DIV) ? 0 : -1;
}

static int read_matmul(struct onnx_node *n)
{
	return onnx_make_all(n, VTAC_MATMUL) ? 0 : -1;
}

static int read_hard_swish(struct onnx_node *n)
{
	return onnx_make_all(n, VTAC_HARD_SWISH) ? 0 : -1;
}

static int read_identity(struct onnx_node *n)
{
	return onnx_make_all(n, VTAC_IDENTITY) ? 0 : -1;
}

static int read_expand(struct onnx_node *n)
{
	return onnx_make_all(n, VTAC_EXPAND) ? 0 : -1;
}

static int read_where(struct onnx_node *n)
{
	return onnx_make_all(n, VTAC_WHERE) ? 0 : -1;
}

/* Any number of operands: ((a op b) op c) ... */
static int read_chain(struct onnx_node *n, enum vtac_op op)
{
	struct vtac_tensor *left = n->in[0];
	struct vtac_node *node;

	if (n->n_in == 1)
		return onnx_make(n, VTAC_IDENTITY, 1) ? 0 : -1;
	for (unsigned int i = 1; i + 1 < n->n_in; i++) {
		node = onnx_between(n, op, 2);
		if (!node || vtac_node_set_in(n->g, node, 0, left) ||
		    vtac_node_set_in(n->g, node, 1, n->in[i]))
			return -1;
		left = node->out[0];
	}
	node = onnx_make(n, op, 2);
	if (!node || vtac_node_set_in(n->g, node, 0, left))
		return -1;
	return vtac_node_set_in(n->g, node, 1, n->in[n->n_in - 1]);
}

static int read_add(struct onnx_node *n)
{
	return read_chain(n, VTAC_ADD);
}

static int read_mul(struct onnx_node *n)
{
	return read_chain(n, VTAC_MUL);
}

static int read_max(struct onnx_node *n)
{
	return read_chain(n, VTAC_MAX);
}

static int read_min(struct onnx_node *n)
{
	return read_chain(n, VTAC_MIN);
}

static int read_relu(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_CLIP);

	if (node) {
		node->attr.clip.lo = 0;
		node->attr.clip.hi = INFINITY;
	}
	return node ? 0 : -1;
}

/* The limits are attributes up to opset 10, inputs from 11 on. */
static int read_clip(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_CLIP);

	if (!node || onnx_attr_float(n, "min", -INFINITY, &node->attr.clip.lo))
		return -1;
	return onnx_attr_float(n, "max", INFINITY, &node->attr.clip.hi);
}

static int read_leaky_relu(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_LEAKY_RELU);

	return node ? onnx_attr_float(n, "alpha", 0.01f, &node->attr.unary.alpha) : -1;
}

static int read_hard_sigmoid(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_HARD_SIGMOID);

	if (!node || onnx_attr_float(n, "alpha", 0.2f, &node->attr.unary.alpha))
		return -1;
	return onnx_attr_float(n, "beta", 0.5f, &node->attr.unary.beta);
}

static int make_softmax(struct onnx_node *n, bool log, bool hard)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_SOFTMAX);

	if (!node)
		return -1;
	node->attr.softmax.log = log;
	node->attr.softmax.hard = hard;
	node->attr.softmax.flat = n->r->opset < 13;
	return onnx_attr_axis(n, node->attr.softmax.flat ? 1 : -1, &node->attr.softmax.axis);
}

static int read_softmax(struct onnx_node *n)
{
	return make_softmax(n, false, false);
}

static int read_log_softmax(struct onnx_node *n)
{
	return make_softmax(n, true, false);
}

static int read_hardmax(struct onnx_node *n)
{
	return make_softmax(n, false, true);
}

static int read_concat(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_CONCAT);

	if (!onnx_attr(n, "axis"))
		return onnx_fail(n, "It has no axis.");
	return node ? onnx_attr_axis(n, 0, &node->attr.axis.axis) : -1;
}

/* From opset 18 on a Split without sizes has the number of its parts. */
static int check_parts(struct onnx_node *n, const struct vtac_node *node)
{
	int64_t parts;

	if (onnx_attr_int(n, "num_outputs", n->n_out, &parts))
		return -1;
	if (onnx_attr(n, "num_outputs") && node->in[1])
		return onnx_fail(n, "It has both sizes and num_outputs.");
	if (parts != n->n_out)
		return onnx_fail(n, "Its num_outputs is %lld, and it has %u outputs.",
				 (long long)parts, n->n_out);
	return 0;
}

static int read_split(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_SPLIT, 2);

	for (unsigned int i = 0; i < n->n_out; i++)
		if (!n->out[i])
			return onnx_fail(n, "Its output %u has no name.", i);
	if (!node || onnx_attr_axis(n, 0, &node->attr.axis.axis))
		return -1;
	return onnx_in_or_attr(n, node, 1, "split") || check_parts(n, node) ? -1 : 0;
}

static int read_slice(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_SLICE, 5);

	if (!node || onnx_in_or_attr(n, node, 1, "starts") ||
	    onnx_in_or_attr(n, node, 2, "ends") || onnx_in_or_attr(n, node, 3, "axes"))
		return -1;
	if (!node->in[1] || !node->in[2])
		return onnx_fail(n, "It has no starts or no ends.");
	return 0;
}

static int read_pad(struct onnx_node *n)
{
	static const char *const modes[] = { "constant", "reflect", "edge", "wrap", NULL };
	struct vtac_node *node = onnx_make(n, VTAC_PAD, 4);
	int mode;

	if (!node || onnx_attr_word(n, "mode", modes, 0, &mode) ||
	    onnx_in_or_attr(n, node, 1, "pads") ||
	    onnx_attr_float(n, "value", 0, &node->attr.pad.value))
		return -1;
	if (!node->in[1])
		return onnx_fail(n, "It has no pads.");
	node->attr.pad.mode = (enum vtac_pad_mode)mode;
	return 0;
}

static struct vtac_node *make_reshape(struct onnx_node *n, enum vtac_reshape_kind kind)
{
	struct vtac_node *node = onnx_make(n, VTAC_RESHAPE, 2);

	if (node)
		node->attr.reshape.kind = kind;
	return node;
}

static int read_reshape(struct onnx_node *n)
{
	struct vtac_node *node = make_reshape(n, VTAC_TO_SHAPE);
	int64_t zero;

	if (!node || onnx_attr_int(n, "allowzero", 0, &zero))
		return -1;
	node->attr.reshape.allow_zero = zero;
	return 0;
}

static int read_flatten(struct onnx_node *n)
{
	struct vtac_node *node = make_reshape(n, VTAC_FLATTEN);

	return node ? onnx_attr_axis(n, 1, &node->attr.reshape.axis) : -1;
}

static int read_squeeze(struct onnx_node *n)
{
	struct vtac_node *node = make_reshape(n, VTAC_SQUEEZE);

	return node ? onnx_in_or_attr(n, node, 1, "axes") : -1;
}

static int read_unsqueeze(struct onnx_node *n)
{
	struct vtac_node *node = make_reshape(n, VTAC_UNSQUEEZE);

	if (!node || onnx_in_or_attr(n, node, 1, "axes"))
		return -1;
	return node->in[1] ? 0 : onnx_fail(n, "It has no axes.");
}

static int read_transpose(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_TRANSPOSE);
	const Onnx__AttributeProto *a = onnx_attr(n, "perm");

	if (!node)
		return -1;
	if (a && a->n_ints > VTAC_RANK_MAX)
		return onnx_fail(n, "Its perm has %zu dimensions.", a->n_ints);
	for (size_t i = 0; i < VTAC_RANK_MAX; i++)
		node->attr.transpose.perm[i] = a && i < a->n_ints && a->ints[i] >= 0 &&
			a->ints[i] < VTAC_RANK_MAX ? (int)a->ints[i] : VTAC_PERM_REVERSE;
	return 0;
}

static int read_depth_to_space(struct onnx_node *n)
{
	static const char *const modes[] = { "DCR", "CRD", NULL };
	struct vtac_node *node = onnx_make_all(n, VTAC_DEPTH_TO_SPACE);
	int mode;

	if (!node || onnx_attr_word(n, "mode", modes, 0, &mode) ||
	    onnx_attr_int(n, "blocksize", 0, &node->attr.depth_to_space.block))
		return -1;
	node->attr.depth_to_space.crd = mode;
	return 0;
}

static int read_space_to_depth(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_DEPTH_TO_SPACE);

	if (!node)
		return -1;
	node->attr.depth_to_space.inverse = true;
	return onnx_attr_int(n, "blocksize", 0, &node->attr.depth_to_space.block);
}

static int read_gemm(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_GEMM, 3);
	int64_t trans_x, trans_w;

	if (!node || onnx_attr_float(n, "alpha", 1, &node->attr.gemm.alpha) ||
	    onnx_attr_float(n, "beta", 1, &node->attr.gemm.beta) ||
	    onnx_attr_int(n, "transA", 0, &trans_x) || onnx_attr_int(n, "transB", 0, &trans_w))
		return -1;
	node->attr.gemm.trans_x = trans_x;
	node->attr.gemm.trans_w = trans_w;
	return 0;
}

static int read_batch_norm(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_BATCH_NORM, 5);
	int64_t training, spatial;

	if (!node || onnx_attr_float(n, "epsilon", 0.00001f, &node->attr.batch_norm.epsilon) ||
	    onnx_attr_int(n, "training_mode", 0, &training) ||
	    onnx_attr_int(n, "spatial", 1, &spatial))
		return -1;
	ignore_attr(n, "momentum");
	if (training || !spatial)
		return onnx_fail(n,
				 "It is in training mode, or of an old form that is not "
				 "supported.");
	return 0;
}

/* The mask of a Dropout that drops nothing: true for each value. */
static int make_mask(struct onnx_node *n)
{
	static const uint8_t yes = 1;
	struct vtac_node *mask = onnx_of_two(n, VTAC_CONSTANT_OF_SHAPE, onnx_shape(n, n->in[0]),
					     vtac_tensor_const(n->g, "true", VTAC_BOOL, 0, NULL,
							       &yes, true));

	return mask ? onnx_result(n, 1, mask->out[0]) : -1;
}

/* Dropout does nothing in inference. */
static int read_dropout(struct onnx_node *n)
{
	const struct vtac_tensor *training = n->n_in > 2 ? n->in[2] : NULL;

	ignore_attr(n, "ratio");
	ignore_attr(n, "seed");
	if (training && !(training->data && training->dtype == VTAC_BOOL &&
			  vtac_elements(training) == 1 && !*(const bool *)training->data))
		return onnx_fail(n, "It is, or may be, in training mode.");
	if (n->n_out > 1 && n->out[1] && make_mask(n))
		return -1;
	n->n_out = 1;
	return n->out[0] ? onnx_make(n, VTAC_IDENTITY, 1) ? 0 : -1 : 0;
}

static int fill_constant(struct onnx_node *n, struct vtac_tensor *t)
{
	static const char *const names[] = { "value_float", "value_floats", "value_int",
					     "value_ints" };
	struct vtac_tensor *value = NULL;

	for (unsigned int i = 0; i < 4 && !value; i++)
		if (onnx_attr_const(n, names[i], &value))
			return -1;
	if (!value)
		return onnx_fail(n, "It has no value that is supported.");
	t->dtype = value->dtype;
	t->data = value->data;
	return vtac_set_shape(n->g, &n->stub, t, value->rank, value->dims);
}

static int read_constant(struct onnx_node *n)
{
	const Onnx__AttributeProto *a = onnx_attr(n, "value");

	if (!n->n_out || !n->out[0])
		return onnx_fail(n, "It has no output.");
	if (n->out[0]->producer)
		return onnx_fail(n, "Its output %.120s is computed by another node too.",
				 n->out[0]->name);
	return a && a->t ? onnx_tensor_fill(n->r, n->out[0], a->t) : fill_constant(n, n->out[0]);
}

static int read_constant_of_shape(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_CONSTANT_OF_SHAPE, 2);
	const Onnx__AttributeProto *a = onnx_attr(n, "value");
	struct vtac_tensor *t = node ? vtac_tensor_new(n->g, "value", VTAC_F32) : NULL;
	static const float zero;

	if (!t)
		return -1;
	if (a && a->t) {
		if (onnx_tensor_fill(n->r, t, a->t))
			return -1;
	} else {
		t->rank = 0;
		t->data = &zero;
	}
	if (vtac_elements(t) != 1)
		return onnx_fail(n, "Its value is not one number.");
	return vtac_node_set_in(n->g, node, 1, t);
}

struct vtac_tensor *onnx_cast_to(struct onnx_node *n, struct vtac_tensor *x, int64_t to)
{
	int dtype = to > 0 && to < 64 ? onnx_dtype((int32_t)to) : -1;

	if (dtype < 0) {
		onnx_fail(n, "It casts to %s, which is not supported.", onnx_type_name(to));
		return NULL;
	}
	x = onnx_wrap(n, onnx_cast(n, (enum vtac_dtype)dtype, x), (int32_t)to,
		      onnx_type_of(n->r, x));
	return !onnx_is_half((int32_t)to) ? x :
	       onnx_unary(n, onnx_is_bfloat((int32_t)to) ? VTACPU_ACT_BF16 : VTACPU_ACT_F16, x);
}

static int read_cast(struct onnx_node *n)
{
	int64_t to;

	if (onnx_attr_int(n, "to", 0, &to))
		return -1;
	ignore_attr(n, "saturate");	/* says how to make floats of 8 bits */
	return onnx_result(n, 0, onnx_cast_to(n, n->in[0], to));
}

static int read_shape(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_SHAPE);

	if (!node || onnx_attr_int(n, "start", 0, &node->attr.shape.start))
		return -1;
	return onnx_attr_int(n, "end", INT64_MAX, &node->attr.shape.end);
}

const struct onnx_op onnx_ops[] = {
	{ "Add", 2, 2, 1, read_add, NULL },
	{ "BatchNormalization", 5, 5, 5, read_batch_norm, NULL },
	{ "Cast", 1, 1, 1, read_cast, NULL },
	{ "Clip", 1, 3, 1, read_clip, NULL },
	{ "Concat", 1, UINT32_MAX, 1, read_concat, NULL },
	{ "Constant", 0, 0, 1, read_constant, NULL },
	{ "ConstantOfShape", 1, 1, 1, read_constant_of_shape, NULL },
	{ "DepthToSpace", 1, 1, 1, read_depth_to_space, NULL },
	{ "Div", 2, 2, 1, read_div, NULL },
	{ "Dropout", 1, 3, UINT32_MAX, read_dropout, NULL },
	{ "Expand", 2, 2, 1, read_expand, NULL },
	{ "Flatten", 1, 1, 1, read_flatten, NULL },
	{ "Gemm", 2, 3, 1, read_gemm, NULL },
	{ "HardSigmoid", 1, 1, 1, read_hard_sigmoid, NULL },
	{ "HardSwish", 1, 1, 1, read_hard_swish, NULL },
	{ "Hardmax", 1, 1, 1, read_hardmax, NULL },
	{ "Identity", 1, 1, 1, read_identity, NULL },
	{ "LeakyRelu", 1, 1, 1, read_leaky_relu, NULL },
	{ "LogSoftmax", 1, 1, 1, read_log_softmax, NULL },
	{ "MatMul", 2, 2, 1, read_matmul, NULL },
	{ "Max", 1, UINT32_MAX, 1, read_max, NULL },
	{ "Min", 1, UINT32_MAX, 1, read_min, NULL },
	{ "Mul", 2, 2, 1, read_mul, NULL },
	{ "Pad", 1, 4, 1, read_pad, NULL },
	{ "Relu", 1, 1, 1, read_relu, NULL },
	{ "Reshape", 2, 2, 1, read_reshape, NULL },
	{ "Shape", 1, 1, 1, read_shape, NULL },
	{ "Slice", 1, 5, 1, read_slice, NULL },
	{ "Softmax", 1, 1, 1, read_softmax, NULL },
	{ "SpaceToDepth", 1, 1, 1, read_space_to_depth, NULL },
	{ "Split", 1, 2, UINT32_MAX, read_split, NULL },
	{ "Squeeze", 1, 2, 1, read_squeeze, NULL },
	{ "Sub", 2, 2, 1, read_sub, NULL },
	{ "Sum", 1, UINT32_MAX, 1, read_add, NULL },
	{ "Transpose", 1, 1, 1, read_transpose, NULL },
	{ "Unsqueeze", 1, 2, 1, read_unsqueeze, NULL },
	{ "Where", 3, 3, 1, read_where, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

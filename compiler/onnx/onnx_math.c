// SPDX-License-Identifier: Apache-2.0
/* Read operators that compute value by value, that reduce, and that normalise. */
#include <math.h>
#include <string.h>

#include "onnx_impl.h"

/* ---- functions of one value ---- */

struct unary {
	enum vtacpu_act_kind kind;
	const char *alpha, *beta;	/* names of attributes, or NULL */
	float alpha_def, beta_def;
};

static int read_unary(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_UNARY);
	const struct unary *u = n->op->row;

	if (!node)
		return -1;
	node->attr.unary.kind = u->kind;
	if (u->alpha && onnx_attr_float(n, u->alpha, u->alpha_def, &node->attr.unary.alpha))
		return -1;
	return u->beta ? onnx_attr_float(n, u->beta, u->beta_def, &node->attr.unary.beta) : 0;
}

/* Of integers, the value within -1 (of uint8: 0) and 1 */
static int read_sign(struct onnx_node *n)
{
	int32_t type = onnx_type_of(n->r, n->in[0]);
	int dtype = type ? onnx_dtype(type) : -1;
	struct vtac_tensor *y;

	if (dtype < 0 || dtype == VTAC_F32 || dtype == VTAC_BOOL)
		return read_unary(n);
	y = onnx_two(n, VTAC_MAX, n->in[0],
		     onnx_cast(n, (enum vtac_dtype)dtype,
			       onnx_integer(n, dtype == VTAC_U8 ? 0 : -1)));
	return onnx_result(n, 0, onnx_two(n, VTAC_MIN, y, onnx_cast(n, (enum vtac_dtype)dtype,
								    onnx_integer(n, 1))));
}

/* Of integers, the float without its fraction */
static int read_shrink(struct onnx_node *n)
{
	int32_t type = onnx_type_of(n->r, n->in[0]);
	struct vtac_tensor *y;
	struct vtac_node *node;

	if (!type || onnx_dtype(type) == VTAC_F32 || onnx_dtype(type) < 0)
		return read_unary(n);
	y = onnx_unary(n, VTACPU_ACT_SHRINK, onnx_cast(n, VTAC_F32, n->in[0]));
	node = y ? y->producer : NULL;
	if (!node || onnx_attr_float(n, "lambd", 0.5f, &node->attr.unary.alpha) ||
	    onnx_attr_float(n, "bias", 0, &node->attr.unary.beta))
		return -1;
	return onnx_result(n, 0, onnx_cast_to(n, y, type));
}

static int read_gelu(struct onnx_node *n)
{
	static const char *const ways[] = { "none", "tanh", NULL };
	struct vtac_node *node = onnx_make_all(n, VTAC_UNARY);
	int way;

	if (!node || onnx_attr_word(n, "approximate", ways, 0, &way))
		return -1;
	node->attr.unary.kind = way ? VTACPU_ACT_GELU_TANH : VTACPU_ACT_GELU;
	return 0;
}

/* ---- operators on two values ---- */

/* As vtac's broadcast operators, with operands @a and @b. */
static int make_binary(struct onnx_node *n, struct vtac_node *node, enum vtacpu_binary_op op,
		       struct vtac_tensor *a, struct vtac_tensor *b)
{
	if (!node || !a || !b)
		return -1;
	node->attr.binary.op = op;
	return vtac_node_set_in(n->g, node, 0, a) || vtac_node_set_in(n->g, node, 1, b) ? -1 : 0;
}

struct binary {
	enum vtacpu_binary_op op;
	bool swap;		/* the operands */
};

static int read_binary(struct onnx_node *n)
{
	const struct binary *b = n->op->row;

	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), b->op, n->in[b->swap], n->in[!b->swap]);
}

static int read_mod(struct onnx_node *n)
{
	int64_t fmod;

	if (onnx_attr_int(n, "fmod", 0, &fmod))
		return -1;
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), fmod ? VTACPU_FMOD : VTACPU_MOD,
			   n->in[0], n->in[1]);
}

/* Types of a file */
enum { UINT8 = 2, INT8 = 3, UINT16 = 4, INT16 = 5, BOOL = 9, UINT32 = 12 };

struct vtac_tensor *onnx_wrap(struct onnx_node *n, struct vtac_tensor *y, int32_t type,
			      int32_t from)
{
	if (from == type || from == UINT8 || from == BOOL || (from == UINT16 && type == UINT32) ||
	    (from == INT8 && type == INT16))
		return y;	/* they fit */
	if (type == UINT16 || type == UINT32)
		return onnx_binary(n, VTACPU_AND, y,
				   onnx_integer(n, type == UINT16 ? 0xffff : 0xffffffff));
	if (type != INT16)
		return y;
	/* The highest bit of 16 is the sign. */
	y = onnx_binary(n, VTACPU_AND, y, onnx_integer(n, 0xffff));
	y = onnx_binary(n, VTACPU_XOR, y, onnx_integer(n, 0x8000));
	return onnx_two(n, VTAC_SUB, y, onnx_cast(n, VTAC_I32, onnx_integer(n, 0x8000)));
}

static struct vtac_tensor *mask_bits(struct onnx_node *n, struct vtac_tensor *y)
{
	int32_t type = onnx_type_of(n->r, n->in[0]);

	return type == UINT16 || type == UINT32 ? onnx_wrap(n, y, type, 0) : y;
}

static int read_bit_shift(struct onnx_node *n)
{
	static const char *const ways[] = { "LEFT", "RIGHT", NULL };
	int way;

	if (onnx_attr_word(n, "direction", ways, -1, &way))
		return -1;
	return onnx_result(n, 0, mask_bits(n, onnx_binary(n, way ? VTACPU_SHIFT_RIGHT :
							  VTACPU_SHIFT_LEFT, n->in[0],
							  n->in[1])));
}

static int read_not(struct onnx_node *n)
{
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_XOR, n->in[0],
			   onnx_integer(n, 1));
}

static int read_bitwise_not(struct onnx_node *n)
{
	return onnx_result(n, 0, mask_bits(n, onnx_binary(n, VTACPU_XOR, n->in[0],
							  onnx_integer(n, -1))));
}

/* A number is what equals itself. */
static int read_is_nan(struct onnx_node *n)
{
	struct vtac_node *same = onnx_between(n, VTAC_BINARY, 2);

	if (make_binary(n, same, VTACPU_EQUAL, n->in[0], n->in[0]))
		return -1;
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_XOR, same->out[0],
			   onnx_integer(n, 1));
}

static int read_is_inf(struct onnx_node *n)
{
	int64_t negative, positive;
	struct vtac_node *abs;

	if (onnx_attr_int(n, "detect_negative", 1, &negative) ||
	    onnx_attr_int(n, "detect_positive", 1, &positive))
		return -1;
	if (!negative && !positive)
		return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_LESS, n->in[0],
				   onnx_float(n, -INFINITY));
	if (!negative || !positive)
		return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_EQUAL, n->in[0],
				   onnx_float(n, negative ? -INFINITY : INFINITY));
	abs = onnx_between(n, VTAC_UNARY, 1);
	if (!abs || vtac_node_set_in(n->g, abs, 0, n->in[0]))
		return -1;
	abs->attr.unary.kind = VTACPU_ACT_ABS;
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_EQUAL, abs->out[0],
			   onnx_float(n, INFINITY));
}

/* The sum of all, divided by their number. */
static int read_mean(struct onnx_node *n)
{
	struct vtac_tensor *sum = n->in[0];
	struct vtac_node *node;

	for (unsigned int i = 1; i < n->n_in; i++) {
		node = onnx_between(n, VTAC_ADD, 2);
		if (!node || vtac_node_set_in(n->g, node, 0, sum) ||
		    vtac_node_set_in(n->g, node, 1, n->in[i]))
			return -1;
		sum = node->out[0];
	}
	node = onnx_make(n, VTAC_DIV, 2);
	return node && !vtac_node_set_in(n->g, node, 0, sum) ?
	       vtac_node_set_in(n->g, node, 1, onnx_float(n, (float)n->n_in)) : -1;
}

/* ---- reductions ---- */

struct reduction {
	enum vtacpu_reduce_op op;
	enum vtacpu_act_kind then;	/* of each result, or VTACPU_ACT_NONE */
};

static int read_reduce(struct onnx_node *n)
{
	const struct reduction *r = n->op->row;
	struct vtac_node *node, *then;
	int64_t keep, noop;

	node = r->then ? onnx_between(n, VTAC_REDUCE, 2) : onnx_make(n, VTAC_REDUCE, 2);
	if (!node || onnx_attr_int(n, "keepdims", 1, &keep) ||
	    onnx_attr_int(n, "noop_with_empty_axes", 0, &noop))
		return -1;
	node->attr.reduce.op = r->op;
	node->attr.reduce.keep = keep;
	node->attr.reduce.noop = noop;
	for (unsigned int i = 0; r->then && i < n->n_in; i++)
		if (vtac_node_set_in(n->g, node, i, n->in[i]))
			return -1;
	if (onnx_in_or_attr(n, node, 1, "axes"))
		return -1;
	if (!r->then)
		return 0;
	then = onnx_make(n, VTAC_UNARY, 0);
	if (!then || vtac_node_resize_in(n->g, then, 1))
		return -1;
	then->attr.unary.kind = r->then;
	return vtac_node_set_in(n->g, then, 0, node->out[0]);
}

/* ---- normalisation ---- */

/* The mean over all dimensions from @axis on. */
static struct vtac_tensor *make_mean(struct onnx_node *n, struct vtac_tensor *x, int axis)
{
	struct vtac_tensor *y = onnx_reduce(n, VTACPU_REDUCE_MEAN, x, onnx_integer(n, axis));

	if (y)
		y->producer->attr.reduce.onward = true;
	return y;
}

/* The outputs Mean and InvStdDev: 1 / sqrt(variance + epsilon). */
static int make_statistics(struct onnx_node *n, int axis, float epsilon)
{
	struct vtac_tensor *mean = make_mean(n, n->in[0], axis), *x, *y;

	if (n->n_out > 2 && n->out[2]) {
		x = onnx_two(n, VTAC_SUB, n->in[0], mean);
		y = make_mean(n, onnx_two(n, VTAC_MUL, x, x), axis);
		y = onnx_two(n, VTAC_ADD, y, onnx_float(n, epsilon));
		y = onnx_unary(n, VTACPU_ACT_RECIPROCAL, onnx_unary(n, VTACPU_ACT_SQRT, y));
		if (onnx_result(n, 2, y))
			return -1;
	}
	return onnx_result(n, 1, mean);
}

static int read_layer_norm(struct onnx_node *n)
{
	struct vtac_node *node;
	float epsilon;
	int64_t type;
	int axis;

	if (onnx_attr_float(n, "epsilon", 0.00001f, &epsilon) || onnx_attr_axis(n, -1, &axis) ||
	    onnx_attr_int(n, "stash_type", 1, &type))
		return -1;
	if (n->n_out > 3 || !n->out[0])
		return onnx_fail(n, "It has no first output, or more than three.");
	if (n->n_out > 1 && make_statistics(n, axis, epsilon))
		return -1;
	n->n_out = 1;
	node = onnx_make(n, VTAC_NORM, 3);
	if (!node)
		return -1;
	node->attr.norm.epsilon = epsilon;
	node->attr.norm.axis = axis;
	return 0;
}

/* By the root of the mean of squares alone: ONNX Runtime's optimiser writes it in ONNX's domain. */
static int read_rms_norm(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_NORM, 3);
	int64_t type;

	if (!node || onnx_attr_float(n, "epsilon", 0.00001f, &node->attr.norm.epsilon) ||
	    onnx_attr_int(n, "stash_type", 1, &type) ||
	    onnx_attr_axis(n, -1, &node->attr.norm.axis))
		return -1;
	node->attr.norm.rms = true;
	return 0;
}

static int read_instance_norm(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_NORM, 3);

	if (!node || onnx_attr_float(n, "epsilon", 0.00001f, &node->attr.norm.epsilon))
		return -1;
	node->attr.norm.by_channel = true;
	return 0;
}

static int read_group_norm(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_NORM, 3);
	int64_t type;

	if (!node || onnx_attr_float(n, "epsilon", 0.00001f, &node->attr.norm.epsilon) ||
	    onnx_attr_int(n, "stash_type", 1, &type) ||
	    onnx_attr_int(n, "num_groups", 0, &node->attr.norm.groups))
		return -1;
	node->attr.norm.by_channel = true;
	return node->attr.norm.groups > 0 ? 0 : onnx_fail(n, "It has no groups.");
}

/* x / |x|, by the sum of magnitudes or the root of the sum of squares. */
static int read_lp_norm(struct onnx_node *n)
{
	struct vtac_tensor *sum;
	int64_t p;
	int axis;

	if (onnx_attr_axis(n, -1, &axis) || onnx_attr_int(n, "p", 2, &p))
		return -1;
	if (p != 1 && p != 2)
		return onnx_fail(n, "Its p is %lld.", (long long)p);
	sum = onnx_reduce(n, p == 1 ? VTACPU_REDUCE_L1 : VTACPU_REDUCE_SUM_SQUARE, n->in[0],
			  onnx_integer(n, axis));
	if (p == 2)
		sum = onnx_unary(n, VTACPU_ACT_SQRT, sum);
	return onnx_result(n, 0, onnx_two(n, VTAC_DIV, n->in[0], sum));
}

/* (x - mean) / (sqrt(variance) + 1e-9), as ONNX's function has it */
static int read_mvn(struct onnx_node *n)
{
	static const int64_t def[] = { 0, 2, 3 };
	struct vtac_tensor *axes, *x, *root;

	if (onnx_attr_const(n, "axes", &axes))
		return -1;
	if (!axes)
		axes = onnx_integers(n, def, 3);
	x = onnx_two(n, VTAC_SUB, n->in[0],
		     onnx_reduce(n, VTACPU_REDUCE_MEAN, n->in[0], axes));
	root = onnx_unary(n, VTACPU_ACT_SQRT,
			  onnx_reduce(n, VTACPU_REDUCE_MEAN, onnx_two(n, VTAC_MUL, x, x), axes));
	return onnx_result(n, 0, onnx_two(n, VTAC_DIV, x,
					  onnx_two(n, VTAC_ADD, root,
						   onnx_float(n, 0.000000001f))));
}

static int read_lrn(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_LRN, 1);

	if (!node || onnx_attr_float(n, "alpha", 0.0001f, &node->attr.lrn.alpha) ||
	    onnx_attr_float(n, "beta", 0.75f, &node->attr.lrn.beta) ||
	    onnx_attr_float(n, "bias", 1, &node->attr.lrn.bias))
		return -1;
	return onnx_attr_int(n, "size", 0, &node->attr.lrn.size);
}

static int read_det(struct onnx_node *n)
{
	return onnx_make(n, VTAC_DET, 1) ? 0 : -1;
}

#define UNARY_OF(name, kind, alpha, beta, alpha_def, beta_def) \
	{ name, 1, 1, 1, read_unary, \
	  &(const struct unary){ VTACPU_ACT_##kind, alpha, beta, alpha_def, beta_def } }
#define UNARY(name, kind)	UNARY_OF(name, kind, NULL, NULL, 0, 0)
#define BINARY(name, op, swap) \
	{ name, 2, 2, 1, read_binary, &(const struct binary){ VTACPU_##op, swap } }
#define REDUCE(name, op, then) \
	{ name, 1, 2, 1, read_reduce, \
	  &(const struct reduction){ VTACPU_REDUCE_##op, VTACPU_ACT_##then } }

const struct onnx_op onnx_math_ops[] = {
	UNARY("Abs", ABS), UNARY("Acos", ACOS), UNARY("Acosh", ACOSH), UNARY("Asin", ASIN),
	UNARY("Asinh", ASINH), UNARY("Atan", ATAN), UNARY("Atanh", ATANH), UNARY("Ceil", CEIL),
	UNARY("Cos", COS), UNARY("Cosh", COSH), UNARY("Erf", ERF), UNARY("Exp", EXP),
	UNARY("Floor", FLOOR), UNARY("Log", LOG), UNARY("Mish", MISH), UNARY("Neg", NEG),
	UNARY("Reciprocal", RECIPROCAL), UNARY("Round", ROUND), UNARY("Sigmoid", SIGMOID),
	UNARY("Sin", SIN), UNARY("Sinh", SINH), UNARY("Softplus", SOFTPLUS),
	UNARY("Softsign", SOFTSIGN), UNARY("Sqrt", SQRT), UNARY("Tan", TAN), UNARY("Tanh", TANH),
	UNARY_OF("Celu", CELU, "alpha", NULL, 1, 0),
	UNARY_OF("Elu", ELU, "alpha", NULL, 1, 0),
	UNARY_OF("Selu", SELU, "alpha", "gamma", 1.67326319217681884765625f,
		 1.05070102214813232421875f),
	UNARY_OF("ThresholdedRelu", THRESHOLD, "alpha", NULL, 1, 0),
	BINARY("And", AND, false), BINARY("BitwiseAnd", AND, false),
	BINARY("BitwiseOr", OR, false), BINARY("BitwiseXor", XOR, false),
	BINARY("Equal", EQUAL, false), BINARY("Greater", LESS, true),
	BINARY("GreaterOrEqual", LESS_EQUAL, true), BINARY("Less", LESS, false),
	BINARY("LessOrEqual", LESS_EQUAL, false), BINARY("Or", OR, false),
	BINARY("PRelu", PRELU, false), BINARY("Pow", POW, false), BINARY("Xor", XOR, false),
	REDUCE("ReduceL1", L1, NONE), REDUCE("ReduceL2", SUM_SQUARE, SQRT),
	REDUCE("ReduceLogSum", SUM, LOG), REDUCE("ReduceLogSumExp", LOG_SUM_EXP, NONE),
	REDUCE("ReduceMax", MAX, NONE), REDUCE("ReduceMean", MEAN, NONE),
	REDUCE("ReduceMin", MIN, NONE), REDUCE("ReduceProd", PROD, NONE),
	REDUCE("ReduceSum", SUM, NONE), REDUCE("ReduceSumSquare", SUM_SQUARE, NONE),
	{ "BitShift", 2, 2, 1, read_bit_shift, NULL },
	{ "BitwiseNot", 1, 1, 1, read_bitwise_not, NULL },
	{ "Det", 1, 1, 1, read_det, NULL },
	{ "Gelu", 1, 1, 1, read_gelu, NULL },
	{ "GroupNormalization", 3, 3, 1, read_group_norm, NULL },
	{ "InstanceNormalization", 3, 3, 1, read_instance_norm, NULL },
	{ "IsInf", 1, 1, 1, read_is_inf, NULL },
	{ "IsNaN", 1, 1, 1, read_is_nan, NULL },
	{ "LayerNormalization", 2, 3, UINT32_MAX, read_layer_norm, NULL },
	{ "LRN", 1, 1, 1, read_lrn, NULL },
	{ "LpNormalization", 1, 1, 1, read_lp_norm, NULL },
	{ "Mean", 1, UINT32_MAX, 1, read_mean, NULL },
	{ "MeanVarianceNormalization", 1, 1, 1, read_mvn, NULL },
	{ "Mod", 2, 2, 1, read_mod, NULL },
	{ "Not", 1, 1, 1, read_not, NULL },
	{ "Shrink", 1, 1, 1, read_shrink,
	  &(const struct unary){ VTACPU_ACT_SHRINK, "lambd", "bias", 0.5f, 0 } },
	{ "Sign", 1, 1, 1, read_sign, &(const struct unary){ VTACPU_ACT_SIGN, NULL, NULL, 0, 0 } },
	{ "SimplifiedLayerNormalization", 2, 2, 1, read_rms_norm, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

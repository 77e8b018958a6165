// SPDX-License-Identifier: Apache-2.0
/* Read operators that compute value by value, that reduce, and that normalise. */
#include <math.h>
#include <string.h>

#include "onnx_impl.h"

/* ---- functions of one value ---- */

struct unary {
	const char *name;
	enum vtacpu_act_kind kind;
	const char *alpha, *beta;	/* names of attributes, or NULL */
	float alpha_def, beta_def;
};

static const struct unary unaries[] = {
	{ "Abs", VTACPU_ACT_ABS, NULL, NULL, 0, 0 },
	{ "Acos", VTACPU_ACT_ACOS, NULL, NULL, 0, 0 },
	{ "Acosh", VTACPU_ACT_ACOSH, NULL, NULL, 0, 0 },
	{ "Asin", VTACPU_ACT_ASIN, NULL, NULL, 0, 0 },
	{ "Asinh", VTACPU_ACT_ASINH, NULL, NULL, 0, 0 },
	{ "Atan", VTACPU_ACT_ATAN, NULL, NULL, 0, 0 },
	{ "Atanh", VTACPU_ACT_ATANH, NULL, NULL, 0, 0 },
	{ "Ceil", VTACPU_ACT_CEIL, NULL, NULL, 0, 0 },
	{ "Celu", VTACPU_ACT_CELU, "alpha", NULL, 1, 0 },
	{ "Cos", VTACPU_ACT_COS, NULL, NULL, 0, 0 },
	{ "Cosh", VTACPU_ACT_COSH, NULL, NULL, 0, 0 },
	{ "Elu", VTACPU_ACT_ELU, "alpha", NULL, 1, 0 },
	{ "Erf", VTACPU_ACT_ERF, NULL, NULL, 0, 0 },
	{ "Exp", VTACPU_ACT_EXP, NULL, NULL, 0, 0 },
	{ "Floor", VTACPU_ACT_FLOOR, NULL, NULL, 0, 0 },
	{ "Log", VTACPU_ACT_LOG, NULL, NULL, 0, 0 },
	{ "Mish", VTACPU_ACT_MISH, NULL, NULL, 0, 0 },
	{ "Neg", VTACPU_ACT_NEG, NULL, NULL, 0, 0 },
	{ "Reciprocal", VTACPU_ACT_RECIPROCAL, NULL, NULL, 0, 0 },
	{ "Round", VTACPU_ACT_ROUND, NULL, NULL, 0, 0 },
	{ "Selu", VTACPU_ACT_SELU, "alpha", "gamma", 1.67326319217681884765625f,
	  1.05070102214813232421875f },
	{ "Shrink", VTACPU_ACT_SHRINK, "lambd", "bias", 0.5f, 0 },
	{ "Sigmoid", VTACPU_ACT_SIGMOID, NULL, NULL, 0, 0 },
	{ "Sign", VTACPU_ACT_SIGN, NULL, NULL, 0, 0 },
	{ "Sin", VTACPU_ACT_SIN, NULL, NULL, 0, 0 },
	{ "Sinh", VTACPU_ACT_SINH, NULL, NULL, 0, 0 },
	{ "Softplus", VTACPU_ACT_SOFTPLUS, NULL, NULL, 0, 0 },
	{ "Softsign", VTACPU_ACT_SOFTSIGN, NULL, NULL, 0, 0 },
	{ "Sqrt", VTACPU_ACT_SQRT, NULL, NULL, 0, 0 },
	{ "Tan", VTACPU_ACT_TAN, NULL, NULL, 0, 0 },
	{ "Tanh", VTACPU_ACT_TANH, NULL, NULL, 0, 0 },
	{ "ThresholdedRelu", VTACPU_ACT_THRESHOLD, "alpha", NULL, 1, 0 },
};

static int read_unary(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make_all(n, VTAC_UNARY);
	const struct unary *u = unaries;

	if (!node)
		return -1;
	while (strcmp(u->name, n->stub.file_op))
		u++;
	node->attr.unary.kind = u->kind;
	if (u->alpha && onnx_attr_float(n, u->alpha, u->alpha_def, &node->attr.unary.alpha))
		return -1;
	return u->beta ? onnx_attr_float(n, u->beta, u->beta_def, &node->attr.unary.beta) : 0;
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
	const char *name;
	enum vtacpu_binary_op op;
	bool swap;		/* the operands */
};

static const struct binary binaries[] = {
	{ "And", VTACPU_AND, false },
	{ "BitwiseAnd", VTACPU_AND, false },
	{ "BitwiseOr", VTACPU_OR, false },
	{ "BitwiseXor", VTACPU_XOR, false },
	{ "Equal", VTACPU_EQUAL, false },
	{ "Greater", VTACPU_LESS, true },
	{ "GreaterOrEqual", VTACPU_LESS_EQUAL, true },
	{ "Less", VTACPU_LESS, false },
	{ "LessOrEqual", VTACPU_LESS_EQUAL, false },
	{ "Or", VTACPU_OR, false },
	{ "PRelu", VTACPU_PRELU, false },
	{ "Pow", VTACPU_POW, false },
	{ "Xor", VTACPU_XOR, false },
};

static int read_binary(struct onnx_node *n)
{
	const struct binary *b = binaries;

	while (strcmp(b->name, n->stub.file_op))
		b++;
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

static int read_bit_shift(struct onnx_node *n)
{
	static const char *const ways[] = { "LEFT", "RIGHT", NULL };
	int way;

	if (onnx_attr_word(n, "direction", ways, -1, &way))
		return -1;
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2),
			   way ? VTACPU_SHIFT_RIGHT : VTACPU_SHIFT_LEFT, n->in[0], n->in[1]);
}

static struct vtac_tensor *make_integer(struct onnx_node *n, int64_t value)
{
	return vtac_tensor_const(n->g, "number", VTAC_I64, 0, NULL, &value, true);
}

static struct vtac_tensor *make_float(struct onnx_node *n, float value)
{
	return vtac_tensor_const(n->g, "number", VTAC_F32, 0, NULL, &value, true);
}

static int read_not(struct onnx_node *n)
{
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_XOR, n->in[0],
			   make_integer(n, 1));
}

static int read_bitwise_not(struct onnx_node *n)
{
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_XOR, n->in[0],
			   make_integer(n, -1));
}

/* A number is what equals itself. */
static int read_is_nan(struct onnx_node *n)
{
	struct vtac_node *same = onnx_between(n, VTAC_BINARY, 2);

	if (make_binary(n, same, VTACPU_EQUAL, n->in[0], n->in[0]))
		return -1;
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_XOR, same->out[0],
			   make_integer(n, 1));
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
				   make_float(n, -INFINITY));
	if (!negative || !positive)
		return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_EQUAL, n->in[0],
				   make_float(n, negative ? -INFINITY : INFINITY));
	abs = onnx_between(n, VTAC_UNARY, 1);
	if (!abs || vtac_node_set_in(n->g, abs, 0, n->in[0]))
		return -1;
	abs->attr.unary.kind = VTACPU_ACT_ABS;
	return make_binary(n, onnx_make(n, VTAC_BINARY, 2), VTACPU_EQUAL, abs->out[0],
			   make_float(n, INFINITY));
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
	       vtac_node_set_in(n->g, node, 1, make_float(n, (float)n->n_in)) : -1;
}

/* ---- reductions ---- */

struct reduction {
	const char *name;
	enum vtacpu_reduce_op op;
	enum vtacpu_act_kind then;	/* of each result, or VTACPU_ACT_NONE */
};

static const struct reduction reductions[] = {
	{ "ReduceL1", VTACPU_REDUCE_L1, VTACPU_ACT_NONE },
	{ "ReduceL2", VTACPU_REDUCE_SUM_SQUARE, VTACPU_ACT_SQRT },
	{ "ReduceLogSum", VTACPU_REDUCE_SUM, VTACPU_ACT_LOG },
	{ "ReduceLogSumExp", VTACPU_REDUCE_LOG_SUM_EXP, VTACPU_ACT_NONE },
	{ "ReduceMax", VTACPU_REDUCE_MAX, VTACPU_ACT_NONE },
	{ "ReduceMean", VTACPU_REDUCE_MEAN, VTACPU_ACT_NONE },
	{ "ReduceMin", VTACPU_REDUCE_MIN, VTACPU_ACT_NONE },
	{ "ReduceProd", VTACPU_REDUCE_PROD, VTACPU_ACT_NONE },
	{ "ReduceSum", VTACPU_REDUCE_SUM, VTACPU_ACT_NONE },
	{ "ReduceSumSquare", VTACPU_REDUCE_SUM_SQUARE, VTACPU_ACT_NONE },
};

static int read_reduce(struct onnx_node *n)
{
	const struct reduction *r = reductions;
	struct vtac_node *node, *then;
	int64_t keep, noop;

	while (strcmp(r->name, n->stub.file_op))
		r++;
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

/* A reduction of @x along @axes, which keeps its dimensions. */
static struct vtac_node *make_reduce(struct onnx_node *n, enum vtacpu_reduce_op op,
				     struct vtac_tensor *x, struct vtac_tensor *axes)
{
	struct vtac_node *node = onnx_between(n, VTAC_REDUCE, 2);

	if (!node || !axes || vtac_node_set_in(n->g, node, 0, x) ||
	    vtac_node_set_in(n->g, node, 1, axes))
		return NULL;
	node->attr.reduce.op = op;
	node->attr.reduce.keep = true;
	return node;
}

/* ---- normalisation ---- */

static int read_layer_norm(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_NORM, 3);
	int64_t type;

	if (!node || onnx_attr_float(n, "epsilon", 0.00001f, &node->attr.norm.epsilon) ||
	    onnx_attr_int(n, "stash_type", 1, &type))
		return -1;
	return onnx_attr_axis(n, -1, &node->attr.norm.axis);
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
	struct vtac_node *sum, *root, *y;
	int64_t p;
	int axis;

	if (onnx_attr_axis(n, -1, &axis) || onnx_attr_int(n, "p", 2, &p))
		return -1;
	if (p != 1 && p != 2)
		return onnx_fail(n, "Its p is %lld.", (long long)p);
	sum = make_reduce(n, p == 1 ? VTACPU_REDUCE_L1 : VTACPU_REDUCE_SUM_SQUARE, n->in[0],
			  make_integer(n, axis));
	if (sum && p == 2) {
		root = onnx_between(n, VTAC_UNARY, 1);
		if (!root || vtac_node_set_in(n->g, root, 0, sum->out[0]))
			return -1;
		root->attr.unary.kind = VTACPU_ACT_SQRT;
		sum = root;
	}
	y = onnx_make(n, VTAC_DIV, 1);
	return sum && y && !vtac_node_resize_in(n->g, y, 2) ?
	       vtac_node_set_in(n->g, y, 1, sum->out[0]) : -1;
}

/* Two operands, in between. */
static struct vtac_tensor *make_between(struct onnx_node *n, enum vtac_op op,
					struct vtac_tensor *a, struct vtac_tensor *b)
{
	struct vtac_node *node = onnx_between(n, op, 2);

	if (!node || !a || !b || vtac_node_set_in(n->g, node, 0, a) ||
	    vtac_node_set_in(n->g, node, 1, b))
		return NULL;
	return node->out[0];
}

/* (x - mean) / (sqrt(variance) + 1e-9), as ONNX's function has it */
static int read_mvn(struct onnx_node *n)
{
	static const int64_t def[] = { 0, 2, 3 }, three = 3;
	struct vtac_tensor *axes, *centred;
	struct vtac_node *mean, *square, *root, *y;

	if (onnx_attr_const(n, "axes", &axes))
		return -1;
	if (!axes)
		axes = vtac_tensor_const(n->g, "axes", VTAC_I64, 1, &three, def, true);
	mean = make_reduce(n, VTACPU_REDUCE_MEAN, n->in[0], axes);
	centred = mean ? make_between(n, VTAC_SUB, n->in[0], mean->out[0]) : NULL;
	square = centred ? make_reduce(n, VTACPU_REDUCE_MEAN,
				       make_between(n, VTAC_MUL, centred, centred), axes) : NULL;
	root = square ? onnx_between(n, VTAC_UNARY, 1) : NULL;
	if (!root || vtac_node_set_in(n->g, root, 0, square->out[0]))
		return -1;
	root->attr.unary.kind = VTACPU_ACT_SQRT;
	y = onnx_make(n, VTAC_DIV, 0);
	if (!y || vtac_node_resize_in(n->g, y, 2) || vtac_node_set_in(n->g, y, 0, centred))
		return -1;
	return vtac_node_set_in(n->g, y, 1, make_between(n, VTAC_ADD, root->out[0],
							 make_float(n, 0.000000001f)));
}

#define UNARY(name)	{ name, 1, 1, 1, read_unary }
#define BINARY(name)	{ name, 2, 2, 1, read_binary }
#define REDUCE(name)	{ name, 1, 2, 1, read_reduce }

const struct onnx_op onnx_math_ops[] = {
	UNARY("Abs"), UNARY("Acos"), UNARY("Acosh"), UNARY("Asin"), UNARY("Asinh"), UNARY("Atan"),
	UNARY("Atanh"), UNARY("Ceil"), UNARY("Celu"), UNARY("Cos"), UNARY("Cosh"), UNARY("Elu"),
	UNARY("Erf"), UNARY("Exp"), UNARY("Floor"), UNARY("Log"), UNARY("Mish"),
	UNARY("Neg"), UNARY("Reciprocal"), UNARY("Round"), UNARY("Selu"), UNARY("Shrink"),
	UNARY("Sigmoid"), UNARY("Sign"), UNARY("Sin"), UNARY("Sinh"), UNARY("Softplus"),
	UNARY("Softsign"), UNARY("Sqrt"), UNARY("Tan"), UNARY("Tanh"), UNARY("ThresholdedRelu"),
	BINARY("And"), BINARY("BitwiseAnd"), BINARY("BitwiseOr"), BINARY("BitwiseXor"),
	BINARY("Equal"), BINARY("Greater"), BINARY("GreaterOrEqual"), BINARY("Less"),
	BINARY("LessOrEqual"), BINARY("Or"), BINARY("PRelu"), BINARY("Pow"), BINARY("Xor"),
	REDUCE("ReduceL1"), REDUCE("ReduceL2"), REDUCE("ReduceLogSum"), REDUCE("ReduceLogSumExp"),
	REDUCE("ReduceMax"), REDUCE("ReduceMean"), REDUCE("ReduceMin"), REDUCE("ReduceProd"),
	REDUCE("ReduceSum"), REDUCE("ReduceSumSquare"),
	{ "BitShift", 2, 2, 1, read_bit_shift },
	{ "BitwiseNot", 1, 1, 1, read_bitwise_not },
	{ "Gelu", 1, 1, 1, read_gelu },
	{ "GroupNormalization", 3, 3, 1, read_group_norm },
	{ "InstanceNormalization", 3, 3, 1, read_instance_norm },
	{ "IsInf", 1, 1, 1, read_is_inf },
	{ "IsNaN", 1, 1, 1, read_is_nan },
	{ "LayerNormalization", 2, 3, 3, read_layer_norm },
	{ "LpNormalization", 1, 1, 1, read_lp_norm },
	{ "Mean", 1, UINT32_MAX, 1, read_mean },
	{ "MeanVarianceNormalization", 1, 1, 1, read_mvn },
	{ "Mod", 2, 2, 1, read_mod },
	{ "Not", 1, 1, 1, read_not },
	{ NULL, 0, 0, 0, NULL },
};

// SPDX-License-Identifier: Apache-2.0
/*
 * Operators of the domain com.microsoft, which ONNX Runtime's optimiser and quantiser write. Each
 * becomes nodes of ONNX's own operators: quantised ones are dequantised, computed in float and
 * quantised again. The source is ContribOperators.md of ONNX Runtime.
 *
 * Functions here return the tensor that they compute, and NULL after an error, which the graph
 * keeps; NULL as an operand is passed on. So finish() alone looks for errors.
 */
#include <math.h>
#include <string.h>

#include "onnx_impl.h"

#define OPERANDS_MAX	3

/* ---- nodes in between ---- */

static struct vtac_node *add_node(struct onnx_node *n, enum vtac_op op, unsigned int n_in,
				  struct vtac_tensor *a, struct vtac_tensor *b,
				  struct vtac_tensor *c)
{
	struct vtac_tensor *const in[OPERANDS_MAX] = { a, b, c };
	struct vtac_node *node = a ? onnx_between(n, op, n_in) : NULL;

	for (unsigned int i = 0; node && i < n_in && i < OPERANDS_MAX; i++)
		if (vtac_node_set_in(n->g, node, i, in[i]))
			return NULL;
	return node;
}

static struct vtac_tensor *out_of(const struct vtac_node *node)
{
	return node ? node->out[0] : NULL;
}

/* @a + @b; @b may be left out of the file. */
static struct vtac_tensor *sum(struct onnx_node *n, struct vtac_tensor *a, struct vtac_tensor *b)
{
	return b ? onnx_two(n, VTAC_ADD, a, b) : a;
}

static struct vtac_tensor *reshape(struct onnx_node *n, enum vtac_reshape_kind kind,
				   struct vtac_tensor *x, int64_t count, const int64_t *values)
{
	return onnx_reshape(n, kind, x, onnx_integers(n, values, count));
}

static struct vtac_tensor *transpose(struct onnx_node *n, struct vtac_tensor *x, int a, int b,
				     int c, int d)
{
	struct vtac_node *node = add_node(n, VTAC_TRANSPOSE, 1, x, NULL, NULL);
	const int perm[] = { a, b, c, d };

	if (node)
		for (int i = 0; i < VTAC_RANK_MAX; i++)
			node->attr.transpose.perm[i] = i < 4 ? perm[i] : -1;
	return out_of(node);
}

/* Dimensions @start to @end of @x, not included, as integers */
static struct vtac_tensor *shape_of(struct onnx_node *n, struct vtac_tensor *x, int64_t start,
				    int64_t end)
{
	struct vtac_node *node = add_node(n, VTAC_SHAPE, 1, x, NULL, NULL);

	if (node) {
		node->attr.shape.start = start;
		node->attr.shape.end = end;
	}
	return out_of(node);
}

/* Input @i, or NULL if it is left out */
static struct vtac_tensor *input(const struct onnx_node *n, unsigned int i)
{
	return i < n->n_in ? n->in[i] : NULL;
}

/*
 * Compute @n_out outputs of the operator @op, of @n_in inputs at @in, with those of the node's
 * attributes that it has.
 */
static int read_by(struct onnx_node *n, const struct onnx_op *op, unsigned int n_in,
		   struct vtac_tensor **in, unsigned int n_out, struct vtac_tensor **out)
{
	struct onnx_node m = *n;

	m.op = op;
	m.stub.name = vtac_text(n->g, "%s.%s", n->stub.name, op->name);
	m.stub.file_op = op->name;
	m.in = in;
	m.n_in = n_in;
	m.out = out;
	m.n_out = n_out;
	for (unsigned int i = 0; i < n_out; i++) {
		out[i] = m.stub.name ? vtac_tensor_new(n->g, m.stub.name, VTAC_F32) : NULL;
		if (!out[i])
			return -1;
	}
	/* Operators of any number of inputs need each of them. */
	for (unsigned int i = 0; i < n_in; i++)
		if (!in[i] && (i < m.op->min_in || m.op->max_in > 65536))
			return -1;
	if (m.op->read(&m))
		return -1;
	n->used |= m.used;
	return 0;
}

/* Likewise of ONNX's operator @name. */
static int read_inner(struct onnx_node *n, const char *name, unsigned int n_in,
		      struct vtac_tensor **in, unsigned int n_out, struct vtac_tensor **out)
{
	return read_by(n, onnx_find_op(NULL, name), n_in, in, n_out, out);
}

static struct vtac_tensor *inner(struct onnx_node *n, const char *name, unsigned int n_in,
				 struct vtac_tensor **in)
{
	struct vtac_tensor *y;

	return read_inner(n, name, n_in, in, 1, &y) ? NULL : y;
}

/* Make @t output @i of the node, if the file uses that. */
static int finish(struct onnx_node *n, unsigned int i, struct vtac_tensor *t)
{
	if (n->g->error.text[0])
		return -1;
	return t ? onnx_result(n, i, t) : onnx_fail(n, "One of its inputs is missing.");
}

/* Fail if one of the inputs from @first up to and without @end is given. */
static int check_left_out(struct onnx_node *n, unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++)
		if (input(n, i))
			return onnx_fail(n, "Its input %u, %.120s, is not supported.", i,
					 n->in[i]->name);
	return 0;
}

/* Likewise an output from @first on. */
static int check_unused(struct onnx_node *n, unsigned int first)
{
	for (unsigned int i = first; i < n->n_out; i++)
		if (n->out[i])
			return onnx_fail(n, "Its output %u is not supported.", i);
	return 0;
}

/* The attribute must be 0. */
static int check_off(struct onnx_node *n, const char *name)
{
	int64_t value;

	if (onnx_attr_int(n, name, 0, &value))
		return -1;
	return value ? onnx_fail(n, "Its attribute %s is not supported.", name) : 0;
}

/* ---- quantised operators ---- */

/* Input @i, with its scale and zero point behind it, as floats */
static struct vtac_tensor *dequantize(struct onnx_node *n, unsigned int i, int axis)
{
	return onnx_floats(n, input(n, i), input(n, i + 1), input(n, i + 2), axis);
}

/* Make the integers of @t, by the scale and zero point at inputs @i and @i + 1, the output. */
static int finish_quantized(struct onnx_node *n, struct vtac_tensor *t, unsigned int i)
{
	struct vtac_node *node = input(n, i) ?
		add_node(n, VTAC_QUANTIZE, 3, t, input(n, i), input(n, i + 1)) : NULL;

	if (node)
		node->attr.axis.axis = 1;
	return finish(n, 0, out_of(node));
}

static int read_qlinear_pair(struct onnx_node *n, enum vtac_op op)
{
	return finish_quantized(n, onnx_two(n, op, dequantize(n, 0, 1), dequantize(n, 3, 1)), 6);
}

static int read_qlinear_add(struct onnx_node *n)
{
	return read_qlinear_pair(n, VTAC_ADD);
}

static int read_qlinear_mul(struct onnx_node *n)
{
	return read_qlinear_pair(n, VTAC_MUL);
}

static int read_qlinear_inner(struct onnx_node *n, const char *name)
{
	struct vtac_tensor *x = dequantize(n, 0, 1);

	return finish_quantized(n, inner(n, name, 1, &x), 3);
}

static int read_qlinear_sigmoid(struct onnx_node *n)
{
	return read_qlinear_inner(n, "Sigmoid");
}

static int read_qlinear_leaky_relu(struct onnx_node *n)
{
	return read_qlinear_inner(n, "LeakyRelu");
}

static int read_qlinear_avg_pool(struct onnx_node *n)
{
	return check_off(n, "channels_last") ? -1 : read_qlinear_inner(n, "AveragePool");
}

static int read_qlinear_global_avg_pool(struct onnx_node *n)
{
	return check_off(n, "channels_last") ? -1 : read_qlinear_inner(n, "GlobalAveragePool");
}

/* y's scale and zero point, and each part with its own */
static int read_qlinear_concat(struct onnx_node *n)
{
	unsigned int parts = n->n_in / 3;
	struct vtac_tensor **in = vtac_alloc(n->g, parts + 1u, sizeof(struct vtac_tensor *));

	if (n->n_in < 5 || n->n_in % 3 != 2)
		return onnx_fail(n, "It has %u inputs.", n->n_in);
	for (unsigned int i = 0; in && i < parts; i++)
		in[i] = dequantize(n, 2 + 3 * i, 1);
	return in ? finish_quantized(n, inner(n, "Concat", parts, in), 0) : -1;
}

/* a, b, each with its scale and zero point, [c in the sums' scale], [y's]; floats without y's */
static int read_qgemm(struct onnx_node *n)
{
	const Onnx__AttributeProto *trans = onnx_attr(n, "transB");
	struct vtac_tensor *in[3] = { dequantize(n, 0, 1),
				      dequantize(n, 3, trans && trans->i ? 0 : 1) }, *scale, *y;

	if (input(n, 6)) {
		scale = onnx_two(n, VTAC_MUL, input(n, 1), input(n, 4));
		in[2] = onnx_dequantize(n, n->in[6], scale, NULL, 0);
	}
	y = inner(n, "Gemm", 3, in);
	return input(n, 7) ? finish_quantized(n, y, 7) : finish(n, 0, y);
}

/* a, b, their scales, their zero points, [bias]: lists are of columns, those of a as well. */
static int read_matmul_integer_to_float(struct onnx_node *n)
{
	struct vtac_tensor *a = onnx_floats(n, n->in[0], input(n, 2), input(n, 4), -1);
	struct vtac_tensor *b = onnx_floats(n, input(n, 1), input(n, 3), input(n, 5), -1);

	return finish(n, 0, sum(n, onnx_two(n, VTAC_MATMUL, a, b), input(n, 6)));
}

/* a, b, b's scale, [b's zero point], [bias] */
static int read_dynamic_matmul(struct onnx_node *n)
{
	struct vtac_tensor *b = onnx_floats(n, input(n, 1), input(n, 2), input(n, 3), -1);
	struct vtac_tensor *y = onnx_two(n, VTAC_MATMUL, onnx_round(n, n->in[0]), b);

	return finish(n, 0, sum(n, y, input(n, 4)));
}

/*
 * Weights of an LSTM as floats, [directions][gates][inputs]. In the file they are integers with the
 * last two exchanged, and have a scale and zero point for each direction, or for each gate of it.
 */
static struct vtac_tensor *lstm_weights(struct onnx_node *n, unsigned int i, unsigned int scale)
{
	static const int64_t axes[] = { 1, 2 };
	struct vtac_tensor *part[2] = { input(n, scale), input(n, scale + 1) };
	struct vtac_tensor *w = onnx_cast(n, VTAC_F32, input(n, i));

	for (int k = 1; k >= 0 && w; k--) {
		if (!part[k] && k)
			continue;
		if (!part[k] || !part[k]->data || part[k]->rank < 1 || part[k]->rank > 2) {
			onnx_fail(n, "The scales and zero points of its weights are no constants.");
			return NULL;
		}
		part[k] = onnx_reshape(n, VTAC_UNSQUEEZE, part[k],
				       onnx_integers(n, axes, 3 - part[k]->rank));
		w = onnx_two(n, k ? VTAC_SUB : VTAC_MUL, w, onnx_cast(n, VTAC_F32, part[k]));
	}
	return transpose(n, w, 0, 2, 1, -1);
}

/* @t, a constant with a number for each of @d directions or of @gates gates of it, for each gate */
static struct vtac_tensor *spread_over_gates(struct onnx_node *n, const struct vtac_tensor *t,
					     int64_t d, int64_t gates)
{
	int64_t count = d * gates, given = t->data ? vtac_elements(t) : 0;
	size_t size = vtac_dtype_size(t->dtype);
	uint8_t *to = vtac_alloc(n->g, (uint64_t)count, size);

	if (given != d && given != count) {
		onnx_fail(n, "The scales and zero points of its weights are no constants of each "
			  "direction or gate.");
		return NULL;
	}
	for (int64_t i = 0; to && i < count; i++)
		memcpy(to + (size_t)i * size, (const uint8_t *)t->data +
		       (size_t)(given == d ? i / gates : i) * size, size);
	return to ? vtac_tensor_const(n->g, t->name, t->dtype, 1, &count, to, false) : NULL;
}

/* The constant bytes @w, [directions][inputs][gates], as [inputs][directions * gates] */
static struct vtac_tensor *side_by_side(struct onnx_node *n, const struct vtac_tensor *w)
{
	int64_t d = w->dims[0], k = w->dims[1], gates = w->dims[2], dims[] = { k, d * gates };
	const uint8_t *from = w->data;
	uint8_t *to = vtac_alloc(n->g, (uint64_t)vtac_elements(w), 1);

	if (!to)
		return NULL;
	for (int64_t i = 0; i < d; i++)
		for (int64_t l = 0; l < k; l++, from += gates)
			memcpy(to + (l * d + i) * gates, from, (size_t)gates);
	return vtac_tensor_const(n->g, w->name, w->dtype, 2, dims, to, false);
}

/* The sums of all gates by x, which is rounded to bytes as ONNX Runtime does it */
static struct vtac_tensor *lstm_sums(struct onnx_node *n, const struct vtac_tensor *w)
{
	struct vtac_tensor *b, *part[2] = { input(n, 8), input(n, 9) };

	for (int i = 0; i < 2; i++) {
		if (i && !part[i])
			continue;
		part[i] = part[i] ? spread_over_gates(n, part[i], w->dims[0], w->dims[2]) : NULL;
		if (!part[i])
			return NULL;
	}
	b = onnx_floats(n, side_by_side(n, w), part[0], part[1], -1);
	return b ? onnx_two(n, VTAC_MATMUL, onnx_round(n, n->in[0]), b) : NULL;
}

/*
 * The inputs of LSTM, and then scale and zero point of its two weights. ONNX Runtime rounds x, and
 * at each step the states, to bytes; here the states stay floats, and x if w is no constant.
 */
static int read_dynamic_lstm(struct onnx_node *n)
{
	static const struct onnx_op of_sums = { "LSTM", 2, 7, 3, onnx_read_lstm_of_sums, NULL };
	struct vtac_tensor *in[8], *out[3];
	const struct vtac_tensor *w = input(n, 1);
	bool summed = w && w->data && w->rank == 3 && vtac_dtype_size(w->dtype) == 1 &&
		vtac_elements(w) > 0;

	if (n->n_out > 3)
		return onnx_fail(n, "It has %u outputs.", n->n_out);
	for (unsigned int i = 0; i < 8; i++)
		in[i] = input(n, i);
	in[1] = summed ? lstm_sums(n, w) : lstm_weights(n, 1, 8);
	in[2] = lstm_weights(n, 2, 10);
	if (!in[1] || !in[2] || (summed ? read_by(n, &of_sums, 7, in + 1, 3, out) :
				 read_inner(n, "LSTM", 8, in, 3, out)))
		return -1;
	for (unsigned int i = 0; i < n->n_out; i++)
		if (n->out[i] && finish(n, i, out[i]))
			return -1;
	return 0;
}

/* ---- activations ---- */

static struct vtac_tensor *clip_between(struct onnx_node *n, struct vtac_tensor *x, float lo,
					float hi)
{
	struct vtac_node *node = add_node(n, VTAC_CLIP, 1, x, NULL, NULL);

	if (node) {
		node->attr.clip.lo = lo;
		node->attr.clip.hi = hi;
	}
	return out_of(node);
}

static struct vtac_tensor *slope(struct onnx_node *n, enum vtac_op op, struct vtac_tensor *x,
				 float alpha, float beta)
{
	struct vtac_node *node = add_node(n, op, 1, x, NULL, NULL);

	if (node) {
		node->attr.unary.alpha = alpha;
		node->attr.unary.beta = beta;
	}
	return out_of(node);
}

/* @x through the activation that the attributes name, with its parameters @p */
static struct vtac_tensor *activate(struct onnx_node *n, struct vtac_tensor *x, const float p[2])
{
	static const char *const names[] = { "", "Relu", "LeakyRelu", "Clip", "HardSigmoid",
					     "Sigmoid", "Tanh", NULL };
	int way;

	if (onnx_attr_word(n, "activation", names, 0, &way))
		return NULL;
	switch (way) {
	case 1:
		return clip_between(n, x, 0, INFINITY);
	case 2:
		return slope(n, VTAC_LEAKY_RELU, x, p[0], 0);
	case 3:
		return clip_between(n, x, p[0], p[1]);
	case 4:
		return slope(n, VTAC_HARD_SIGMOID, x, p[0], p[1]);
	case 5:
		return onnx_unary(n, VTACPU_ACT_SIGMOID, x);
	case 6:
		return onnx_unary(n, VTACPU_ACT_TANH, x);
	default:
		return x;
	}
}

/* x, w, [bias], [residual] */
static int read_fused_conv(struct onnx_node *n)
{
	const Onnx__AttributeProto *a = onnx_attr(n, "activation_params");
	const float p[2] = { a && a->n_floats > 0 ? a->floats[0] : 0,
			     a && a->n_floats > 1 ? a->floats[1] : 0 };
	struct vtac_tensor *y = inner(n, "Conv", n->n_in < 3 ? n->n_in : 3, n->in);

	return finish(n, 0, activate(n, sum(n, y, input(n, 3)), p));
}

/* a, b, [c] */
static int read_fused_gemm(struct onnx_node *n)
{
	float p[2], gamma;

	if (onnx_attr_float(n, "activation_alpha", 0, &p[0]) ||
	    onnx_attr_float(n, "activation_beta", 0, &p[1]) ||
	    onnx_attr_float(n, "activation_gamma", 0, &gamma))
		return -1;
	return finish(n, 0, activate(n, inner(n, "Gemm", n->n_in, n->in), p));
}

static struct vtac_tensor *swap_last(struct onnx_node *n, struct vtac_tensor *x, bool swap)
{
	struct vtac_node *node = swap ? add_node(n, VTAC_TRANSPOSE, 1, x, NULL, NULL) : NULL;

	if (node)
		node->attr.transpose.perm[0] = VTAC_PERM_LAST_TWO;
	return swap ? out_of(node) : x;
}

static int read_fused_matmul(struct onnx_node *n)
{
	int64_t trans_a, trans_b;
	struct vtac_tensor *y;
	float alpha;

	if (onnx_attr_float(n, "alpha", 1, &alpha) || check_off(n, "transBatchA") ||
	    check_off(n, "transBatchB") || onnx_attr_int(n, "transA", 0, &trans_a) ||
	    onnx_attr_int(n, "transB", 0, &trans_b))
		return -1;
	y = onnx_two(n, VTAC_MATMUL, swap_last(n, n->in[0], trans_a),
		     swap_last(n, n->in[1], trans_b));
	return finish(n, 0, alpha == 1 ? y : onnx_two(n, VTAC_MUL, y, onnx_float(n, alpha)));
}

static int read_gelu(struct onnx_node *n)
{
	return finish(n, 0, onnx_unary(n, VTACPU_ACT_GELU, sum(n, n->in[0], input(n, 1))));
}

static int read_fast_gelu(struct onnx_node *n)
{
	return finish(n, 0, onnx_unary(n, VTACPU_ACT_GELU_TANH, sum(n, n->in[0], input(n, 1))));
}

/* x * sigmoid(alpha * x) */
static int read_quick_gelu(struct onnx_node *n)
{
	struct vtac_tensor *y;
	float alpha;

	if (onnx_attr_float(n, "alpha", 1.702f, &alpha))
		return -1;
	y = onnx_two(n, VTAC_MUL, n->in[0], onnx_float(n, alpha));
	y = onnx_unary(n, VTACPU_ACT_SIGMOID, y);
	return finish(n, 0, onnx_two(n, VTAC_MUL, n->in[0], y));
}

/* ---- normalisation ---- */

static struct vtac_tensor *norm(struct onnx_node *n, struct vtac_tensor *x,
				struct vtac_tensor *scale, struct vtac_tensor *bias, bool rms)
{
	struct vtac_node *node = add_node(n, VTAC_NORM, 3, x, scale, bias);

	if (!node || onnx_attr_float(n, "epsilon", 0.000000000001f, &node->attr.norm.epsilon))
		return NULL;
	node->attr.norm.axis = -1;
	node->attr.norm.rms = rms;
	return node->out[0];
}

/* The sum is output 3. */
static int finish_skip(struct onnx_node *n, struct vtac_tensor *all, struct vtac_tensor *y)
{
	for (unsigned int i = 1; i < 3 && i < n->n_out; i++)
		if (n->out[i])
			return onnx_fail(n, "Its output %u is not supported.", i);
	return finish(n, 0, y) || finish(n, 3, all) ? -1 : 0;
}

/* x, skip, gamma, [beta], [bias] */
static int read_skip_norm(struct onnx_node *n)
{
	struct vtac_tensor *all = sum(n, sum(n, n->in[0], input(n, 1)), input(n, 4));

	return finish_skip(n, all, norm(n, all, input(n, 2), input(n, 3), false));
}

/* x, skip, gamma, [bias] */
static int read_skip_rms_norm(struct onnx_node *n)
{
	struct vtac_tensor *all = sum(n, sum(n, n->in[0], input(n, 1)), input(n, 3));

	return finish_skip(n, all, norm(n, all, input(n, 2), NULL, true));
}

/* The first rows of @table, as many as @tokens are in a sentence */
static struct vtac_tensor *first_rows(struct onnx_node *n, struct vtac_tensor *table,
				      struct vtac_tensor *tokens)
{
	static const int64_t zero;
	struct vtac_node *node = add_node(n, VTAC_SLICE, 5, table, onnx_integers(n, &zero, 1),
					  shape_of(n, tokens, 1, 2));

	return out_of(node);
}

/* Output 1: the number of words of each sentence, by its mask; 0 without one */
static int finish_lengths(struct onnx_node *n, struct vtac_tensor *mask)
{
	static const int64_t one = 1;
	struct vtac_node *node;

	if (n->n_out < 2 || !n->out[1])
		return 0;
	node = mask ? add_node(n, VTAC_REDUCE, 2, mask, onnx_integers(n, &one, 1), NULL) :
		add_node(n, VTAC_CONSTANT_OF_SHAPE, 2, shape_of(n, n->in[0], 0, 1),
			 onnx_float(n, 0), NULL);
	if (node && mask)
		node->attr.reduce.op = VTACPU_REDUCE_SUM;
	return finish(n, 1, onnx_cast(n, VTAC_I32, out_of(node)));
}

/* tokens, [segments], tables of words, positions, [segments], gamma, beta, [mask], [positions] */
static int read_embed_norm(struct onnx_node *n)
{
	static const unsigned int needed[] = { 2, 3, 5, 6 };
	struct vtac_tensor *positions = input(n, 8) ?
		onnx_two(n, VTAC_GATHER, input(n, 3), input(n, 8)) :
		first_rows(n, input(n, 3), n->in[0]);
	struct vtac_tensor *words = onnx_two(n, VTAC_GATHER, input(n, 2), n->in[0]);
	struct vtac_tensor *all = sum(n, words, positions), *y;

	for (unsigned int i = 0; i < 4; i++)
		if (!input(n, needed[i]))
			return onnx_fail(n, "Its input %u is missing.", needed[i]);
	if (input(n, 1) && !input(n, 4))
		return onnx_fail(n, "Its input 4 is missing.");
	if (check_off(n, "mask_index_type"))
		return -1;
	if (input(n, 1))
		all = sum(n, all, onnx_two(n, VTAC_GATHER, input(n, 4), input(n, 1)));
	y = norm(n, all, input(n, 5), input(n, 6), false);
	return finish_lengths(n, input(n, 7)) || finish(n, 0, y) || finish(n, 2, all) ? -1 : 0;
}

/* ---- attention ---- */

struct attention {
	int64_t heads;
	bool causal;
	float scale, masked;	/* scale: 0 for the usual one */
};

static int read_attention_attrs(struct onnx_node *n, struct attention *a)
{
	int64_t causal;

	if (onnx_attr_int(n, "num_heads", 0, &a->heads) ||
	    onnx_attr_int(n, "unidirectional", 0, &causal) ||
	    onnx_attr_float(n, "scale", 0, &a->scale) ||
	    onnx_attr_float(n, "mask_filter_value", -10000, &a->masked))
		return -1;
	a->causal = causal;
	return a->heads > 0 ? 0 : onnx_fail(n, "It has no heads.");
}

/* [images][tokens][heads * size] as [images][tokens][heads][size] */
static struct vtac_tensor *heads_of(struct onnx_node *n, const struct attention *a,
				    struct vtac_tensor *x)
{
	return reshape(n, VTAC_TO_SHAPE, x, 4, (const int64_t[]){ 0, 0, a->heads, -1 });
}

/* -infinity where a key is behind its query, else 0, for products [..][queries][keys] */
static struct vtac_tensor *causal_mask(struct onnx_node *n, struct vtac_tensor *products)
{
	static const int64_t one = 1;
	struct vtac_node *node = add_node(n, VTAC_CONSTANT_OF_SHAPE, 2,
					  shape_of(n, products, 2, 4), onnx_float(n, -INFINITY),
					  NULL);

	node = add_node(n, VTAC_TRILU, 2, out_of(node), onnx_integers(n, &one, 1), NULL);
	if (node)
		node->attr.trilu.upper = true;
	return out_of(node);
}

/*
 * softmax(q * k * scale + masks) * v: @q [images][queries][heads][size], @k and @v
 * [images][keys][heads][size], @mask added to [images][heads][queries][keys] or NULL
 */
static struct vtac_tensor *attend(struct onnx_node *n, const struct attention *a,
				  struct vtac_tensor *q, struct vtac_tensor *k,
				  struct vtac_tensor *v, struct vtac_tensor *mask)
{
	struct vtac_tensor *size = onnx_cast(n, VTAC_F32, shape_of(n, q, 3, 4));
	struct vtac_tensor *p = onnx_two(n, VTAC_MATMUL, transpose(n, q, 0, 2, 1, 3),
				     transpose(n, k, 0, 2, 3, 1));
	struct vtac_node *softmax;

	if (a->scale != 0)
		p = onnx_two(n, VTAC_MUL, p, onnx_float(n, a->scale));
	else
		p = onnx_two(n, VTAC_DIV, p, onnx_unary(n, VTACPU_ACT_SQRT, size));
	p = sum(n, p, mask);
	if (a->causal)
		p = onnx_two(n, VTAC_ADD, p, causal_mask(n, p));
	softmax = add_node(n, VTAC_SOFTMAX, 1, p, NULL, NULL);
	if (softmax)
		softmax->attr.softmax.axis = -1;
	p = onnx_two(n, VTAC_MATMUL, out_of(softmax), transpose(n, v, 0, 2, 1, 3));
	return reshape(n, VTAC_TO_SHAPE, transpose(n, p, 0, 2, 1, 3), 3,
		       (const int64_t[]){ 0, 0, -1 });
}

/*
 * The dimensions of a mask: lengths made by finish_lengths() have one, others usually two. A file
 * may have a cycle, which is found when it has been read: the steps are limited.
 */
static int rank_of(const struct vtac_tensor *t)
{
	for (int steps = 0; steps < 16; steps++) {
		const struct vtac_node *node = t->producer;

		if (t->rank >= 0)
			return t->rank;
		if (node && node->op == VTAC_REDUCE)
			return 1;
		if (!node || (node->op != VTAC_CAST && node->op != VTAC_IDENTITY))
			break;
		t = node->in[0];
	}
	return 2;
}

/* A mask of the first keys of each image, as many as its length */
static struct vtac_tensor *tokens_below(struct onnx_node *n, struct vtac_tensor *lengths,
					struct vtac_tensor *keys)
{
	static const int64_t last = 1, zero;
	struct vtac_node *ones = add_node(n, VTAC_CONSTANT_OF_SHAPE, 2, shape_of(n, keys, 1, 2),
					  onnx_float(n, 1), NULL);
	struct vtac_node *count = add_node(n, VTAC_CUM_SUM, 2, out_of(ones),
					   onnx_integers(n, &zero, 1), NULL);
	struct vtac_node *below = add_node(n, VTAC_BINARY, 2, out_of(count),
					   reshape(n, VTAC_UNSQUEEZE,
						   onnx_cast(n, VTAC_F32, lengths), 1, &last),
					   NULL);

	if (below)
		below->attr.binary.op = VTACPU_LESS_EQUAL;
	return out_of(below);
}

/* Returns the filter's value where @mask is 0, to be added to products; NULL without a mask. */
static struct vtac_tensor *added_mask(struct onnx_node *n, const struct attention *a,
				      struct vtac_tensor *mask, struct vtac_tensor *keys)
{
	static const int64_t axes[] = { 1, 2 };
	int rank;

	if (!mask)
		return NULL;
	rank = rank_of(mask);
	if (rank == 1)
		mask = tokens_below(n, mask, keys);
	mask = onnx_two(n, VTAC_SUB, onnx_float(n, 1), onnx_cast(n, VTAC_F32, mask));
	if (rank < 4)
		mask = reshape(n, VTAC_UNSQUEEZE, mask, rank < 3 ? 2 : 1, axes);
	return onnx_two(n, VTAC_MUL, mask, onnx_float(n, a->masked));
}

/* @t in three parts of one size along its last axis */
static int split_in_three(struct onnx_node *n, struct vtac_tensor *t, struct vtac_tensor *part[3])
{
	struct vtac_node *node = t ? vtac_node_new(n->g, VTAC_SPLIT, n->stub.name, 2, 3) : NULL;

	if (!node || vtac_node_set_in(n->g, node, 0, t))
		return -1;
	node->file_op = n->stub.file_op;
	node->attr.axis.axis = -1;
	for (unsigned int i = 0; i < 3; i++) {
		part[i] = vtac_tensor_new(n->g, n->stub.name, VTAC_F32);
		if (!part[i])
			return -1;
		vtac_node_set_out(node, i, part[i]);
	}
	return 0;
}

/* x, weights of queries, keys and values side by side, [bias], [mask], no past, [added mask] */
static int read_attention(struct onnx_node *n)
{
	struct vtac_tensor *part[3], *mask, *all;
	struct attention a;

	if (read_attention_attrs(n, &a) || check_off(n, "do_rotary") ||
	    check_off(n, "past_present_share_buffer") || check_off(n, "rotary_embedding_dim") ||
	    check_left_out(n, 4, 5) || check_left_out(n, 6, 7) || check_unused(n, 1))
		return -1;
	if (onnx_attr(n, "qkv_hidden_sizes"))
		return onnx_fail(n, "Its attribute qkv_hidden_sizes is not supported.");
	all = sum(n, onnx_two(n, VTAC_MATMUL, n->in[0], n->in[1]), input(n, 2));
	if (split_in_three(n, all, part))
		return -1;
	mask = added_mask(n, &a, input(n, 3), n->in[0]);
	if (input(n, 5))
		mask = mask ? sum(n, mask, input(n, 5)) : input(n, 5);
	for (unsigned int i = 0; i < 3; i++)
		part[i] = heads_of(n, &a, part[i]);
	return finish(n, 0, attend(n, &a, part[0], part[1], part[2], mask));
}

/* queries, keys, values, [bias of all], [mask of keys], [added mask], no past */
static int read_multi_head_attention(struct onnx_node *n)
{
	struct vtac_tensor *part[3], *bias[3] = { NULL }, *mask;
	struct attention a;

	if (read_attention_attrs(n, &a) || check_left_out(n, 6, n->n_in) || check_unused(n, 1))
		return -1;
	if (!input(n, 1) || !input(n, 2))
		return onnx_fail(n, "Its keys or values are packed, which is not supported.");
	if (input(n, 3) && split_in_three(n, input(n, 3), bias))
		return -1;
	for (unsigned int i = 0; i < 3; i++)
		part[i] = heads_of(n, &a, sum(n, n->in[i], bias[i]));
	mask = added_mask(n, &a, input(n, 4), input(n, 1));
	if (input(n, 5))
		mask = mask ? sum(n, mask, input(n, 5)) : input(n, 5);
	return finish(n, 0, attend(n, &a, part[0], part[1], part[2], mask));
}

const struct onnx_op onnx_microsoft_ops[] = {
	{ "Attention", 2, 7, UINT32_MAX, read_attention, NULL },
	{ "BiasGelu", 2, 2, 1, read_gelu, NULL },
	{ "DynamicQuantizeLSTM", 3, 12, UINT32_MAX, read_dynamic_lstm, NULL },
	{ "DynamicQuantizeMatMul", 1, 5, 1, read_dynamic_matmul, NULL },
	{ "EmbedLayerNormalization", 1, 9, UINT32_MAX, read_embed_norm, NULL },
	{ "FastGelu", 1, 2, 1, read_fast_gelu, NULL },
	{ "FusedConv", 2, 4, 1, read_fused_conv, NULL },
	{ "FusedGemm", 2, 3, 1, read_fused_gemm, NULL },
	{ "FusedMatMul", 2, 2, 1, read_fused_matmul, NULL },
	{ "Gelu", 1, 1, 1, read_gelu, NULL },
	{ "MatMulIntegerToFloat", 1, 7, 1, read_matmul_integer_to_float, NULL },
	{ "MultiHeadAttention", 1, 10, UINT32_MAX, read_multi_head_attention, NULL },
	{ "QGemm", 1, 9, 1, read_qgemm, NULL },
	{ "QLinearAdd", 1, 8, 1, read_qlinear_add, NULL },
	{ "QLinearAveragePool", 1, 5, 1, read_qlinear_avg_pool, NULL },
	{ "QLinearConcat", 1, 65536, 1, read_qlinear_concat, NULL },
	{ "QLinearGlobalAveragePool", 1, 5, 1, read_qlinear_global_avg_pool, NULL },
	{ "QLinearLeakyRelu", 1, 5, 1, read_qlinear_leaky_relu, NULL },
	{ "QLinearMul", 1, 8, 1, read_qlinear_mul, NULL },
	{ "QLinearSigmoid", 1, 5, 1, read_qlinear_sigmoid, NULL },
	{ "QuickGelu", 1, 1, 1, read_quick_gelu, NULL },
	{ "SkipLayerNormalization", 3, 5, UINT32_MAX, read_skip_norm, NULL },
	{ "SkipSimplifiedLayerNormalization", 3, 4, UINT32_MAX, read_skip_rms_norm, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

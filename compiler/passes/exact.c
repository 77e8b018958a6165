// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `exact`: products of integers that stay on the CPU are made of floats, whose sums are
 * exact up to 2^24. Where a sum may be greater, the second operand is taken apart into digits, so
 * that the sums with each digit are exact, and these are added as integers.
 */
#include <math.h>

#include "passes.h"

/* The most that a value of 8 bits less its zero point is, and the most that floats count up to. */
#define VALUE_MAX	255
#define VALUE_BITS	8
#define SUM_MAX		16777216.0
/* Bits of a digit */
#define BITS_MAX	4

/* The product of which @cast makes integers, maybe behind a Reshape; or NULL. */
static struct vtac_node *product_of(const struct vtac_node *cast)
{
	struct vtac_node *node = cast->in[0]->producer;

	if (node && node->op == VTAC_RESHAPE && node->device == VTAC_CPU)
		node = node->in[0]->producer;
	if (!node || node->device != VTAC_CPU ||
	    (node->op != VTAC_GEMM && node->op != VTAC_BATCH_GEMM && node->op != VTAC_MATMUL &&
	     node->op != VTAC_CONV))
		return NULL;
	for (unsigned int i = 2; i < node->n_in; i++)
		if (node->in[i])
			return NULL;
	return node;
}

/* The values of the second operand that are multiplied for one sum, at most */
static int64_t depth_of(const struct vtac_node *node)
{
	const struct vtac_tensor *a = node->in[0], *w = node->in[1];

	switch (node->op) {
	case VTAC_CONV:
		return vtac_elements(w) / w->dims[0];
	case VTAC_GEMM:
		return w->dims[node->attr.gemm.trans_w ? 1 : 0];
	default:
		return a->dims[a->rank - 1];
	}
}

/* The most that a sum is, before the other operand's values multiply it. */
static double greatest_sum(const struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1];
	int64_t depth = depth_of(node);
	double most = 0;

	if (!w->data || (node->op == VTAC_GEMM ? !node->attr.gemm.trans_w : node->op != VTAC_CONV))
		return (double)VALUE_MAX * (double)depth;
	for (int64_t i = 0; i < w->dims[0]; i++) {
		const float *v = (const float *)w->data + i * depth;
		double sum = 0;

		for (int64_t k = 0; k < depth; k++)
			sum += fabs((double)v[k]);
		most = fmax(most, sum);
	}
	return most;
}

/* The bits of digits whose sums are exact; 1 if all are too many. */
static int digit_bits(int64_t depth)
{
	int bits = BITS_MAX;

	while (bits > 1 && VALUE_MAX * (double)depth * (1 << bits) > SUM_MAX)
		bits /= 2;
	return bits;
}

/* Make the node @op of @a and @b, or of @a alone, of @type; constants are computed. */
static struct vtac_node *add_node(struct vtac_graph *g, const struct vtac_node *like,
				  enum vtac_op op, enum vtac_dtype type, struct vtac_tensor *a,
				  struct vtac_tensor *b)
{
	const char *name = vtac_text(g, "%s.%s", like->name, vtac_op_name(op));
	struct vtac_node *node = a && name ? vtac_node_new(g, op, name, b ? 2 : 1, 1) : NULL;
	struct vtac_tensor *t = node ? vtac_tensor_shaped(g, name, type, a->rank, a->dims) : NULL;

	if (!t || vtac_node_set_in(g, node, 0, a) || (b && vtac_node_set_in(g, node, 1, b)))
		return NULL;
	node->file_op = like->file_op;
	node->why = like->why;
	vtac_node_set_out(node, 0, t);
	return node;
}

static struct vtac_tensor *finish_node(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *t = node ? node->out[0] : NULL;

	if (t && node->in[0]->data && (node->n_in < 2 || node->in[1]->data) &&
	    vtac_fold_node(g, node))
		return NULL;
	return t;
}

/* @a multiplied by @by */
static struct vtac_tensor *times(struct vtac_graph *g, const struct vtac_node *like,
				 struct vtac_tensor *a, float by)
{
	struct vtac_tensor *b = vtac_tensor_const(g, "digit", VTAC_F32, 0, NULL, &by, true);

	return b ? finish_node(g, add_node(g, like, VTAC_MUL, VTAC_F32, a, b)) : NULL;
}

static struct vtac_tensor *less(struct vtac_graph *g, const struct vtac_node *like,
				struct vtac_tensor *a, struct vtac_tensor *b)
{
	return b ? finish_node(g, add_node(g, like, VTAC_SUB, VTAC_F32, a, b)) : NULL;
}

static struct vtac_tensor *floor_of(struct vtac_graph *g, const struct vtac_node *like,
				    struct vtac_tensor *a)
{
	struct vtac_node *node = add_node(g, like, VTAC_UNARY, VTAC_F32, a, NULL);

	if (node)
		node->attr.unary.kind = VTACPU_ACT_FLOOR;
	return finish_node(g, node);
}

/* The integers of @product with @digit as its second operand, multiplied by @by. */
static struct vtac_tensor *digit_sums(struct vtac_graph *g, const struct vtac_node *product,
				      struct vtac_tensor *digit, int32_t by)
{
	const struct vtac_tensor *y = product->out[0];
	struct vtac_tensor *scale = vtac_tensor_const(g, "digit", VTAC_I32, 0, NULL, &by, true);
	struct vtac_tensor *t = vtac_tensor_shaped(g, y->name, VTAC_F32, y->rank, y->dims);
	struct vtac_node *node = vtac_node_new(g, product->op, product->name, 2, 1), *cast;

	if (!digit || !scale || !t || !node || vtac_node_set_in(g, node, 0, product->in[0]) ||
	    vtac_node_set_in(g, node, 1, digit))
		return NULL;
	node->attr = product->attr;
	node->act = product->act;
	node->file_op = product->file_op;
	node->why = product->why;
	vtac_node_set_out(node, 0, t);
	cast = add_node(g, product, VTAC_CAST, VTAC_I32, t, NULL);
	if (!cast)
		return NULL;
	cast->attr.cast.to = VTAC_I32;
	return by == 1 ? cast->out[0] :
	       finish_node(g, add_node(g, product, VTAC_MUL, VTAC_I32, cast->out[0], scale));
}

/* The sum over all digits, each times its own sums. */
static struct vtac_tensor *all_sums(struct vtac_graph *g, const struct vtac_node *product)
{
	int bits = digit_bits(depth_of(product));
	struct vtac_tensor *rest = product->in[1], *sum = NULL;
	float base = (float)(1 << bits);

	for (int at = 0; at < VALUE_BITS; at += bits) {
		struct vtac_tensor *high = NULL, *digit = rest, *part;

		if (at + bits < VALUE_BITS) {
			high = floor_of(g, product, times(g, product, rest, 1 / base));
			digit = less(g, product, rest, times(g, product, high, base));
		}
		part = digit_sums(g, product, digit, 1 << at);
		if (!part)
			return NULL;
		sum = sum ? finish_node(g, add_node(g, product, VTAC_ADD, VTAC_I32, part, sum)) :
			    part;
		rest = high;
	}
	return sum;
}

static int try_node(struct vtac_graph *g, struct vtac_node *cast)
{
	struct vtac_node *product = cast->op == VTAC_CAST && cast->attr.cast.exact &&
		cast->device == VTAC_CPU ? product_of(cast) : NULL;
	struct vtac_tensor *sum;

	if (!product || greatest_sum(product) * VALUE_MAX <= SUM_MAX)
		return 0;
	sum = all_sums(g, product);
	if (!sum || vtac_node_set_in(g, cast, 0, sum))
		return -1;
	/* The product's shape becomes that of its integers. */
	cast->op = VTAC_RESHAPE;
	cast->attr = (union vtac_attr){ 0 };
	return 0;
}

int vtac_pass_exact(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = g->n_nodes;

	(void)opt;
	for (unsigned int i = 0; i < n; i++)
		if (try_node(g, g->nodes[i]))
			return -1;
	return vtac_graph_dce(g);
}

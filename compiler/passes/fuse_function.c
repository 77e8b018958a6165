// SPDX-License-Identifier: Apache-2.0
/*
 * Fusion: patterns of nodes that are a function of one tensor become one node. In a quantised file
 * each step may have a scale. Those inside are dropped: the card does not round there.
 *	x * sigmoid(a x)
 *	x * tanh(softplus(x))
 *	x / 2 * (1 + erf(x / sqrt(2)))
 *	x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
 *	x to the power of a number
 */
#include <math.h>

#include "fuse_impl.h"

/* Numbers of files are rounded, of quantised files to 8 bits of their own scale. */
static bool is_near(float a, float b)
{
	return fabsf(a - b) <= 0.001f * fabsf(b);
}

/* The node that computes @t for one user alone, or NULL. */
static struct vtac_node *inside(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	return !t->data && t->producer && t->producer->act.kind == VTAC_ACT_NONE &&
	       vtac_only_user(g, t) ? t->producer : NULL;
}

/* The input of the function @kind that computes @t, or NULL. */
static struct vtac_tensor *argument(const struct vtac_graph *g, const struct vtac_tensor *t,
				    enum vtacpu_act_kind kind)
{
	const struct vtac_node *node = inside(g, t);

	return node && node->op == VTAC_UNARY && node->attr.unary.kind == kind ? node->in[0] :
	       NULL;
}

/* Of a sum or product with a number, the other operand; NULL: it is none. */
static struct vtac_tensor *other_than(const struct vtac_node *node, float *number)
{
	for (int i = 0; i < 2; i++)
		if (fuse_number(node->in[i], number) && !node->in[1 - i]->data &&
		    vtac_same_shape(node->in[1 - i], node->out[0]))
			return node->in[1 - i];
	return NULL;
}

/* Factors of a product of @x, a number, and one other tensor, which may be missing. */
struct product {
	const struct vtac_graph *g;
	struct vtac_tensor *x, *rest;
	unsigned int times;		/* x is a factor so often */
	float number;
};

static bool add_factor(struct product *p, struct vtac_tensor *t, unsigned int depth)
{
	const struct vtac_node *node = inside(p->g, t);
	float number;

	if (t == p->x) {
		p->times++;
		return true;
	}
	if (fuse_number(t, &number)) {
		p->number *= number;
		return true;
	}
	if (node && depth && node->op == VTAC_MUL)
		return add_factor(p, node->in[0], depth - 1) &&
		       add_factor(p, node->in[1], depth - 1);
	if (node && depth && node->op == VTAC_DIV && fuse_number(node->in[1], &number)) {
		p->number /= number;
		return add_factor(p, node->in[0], depth - 1);
	}
	if (p->rest)
		return false;
	p->rest = t;
	return true;
}

/* The factors of @t, which computes @x times others; false if they are more. */
static bool factors_of(const struct vtac_graph *g, struct vtac_tensor *t, struct vtac_tensor *x,
		       struct product *p)
{
	*p = (struct product) { .g = g, .x = x, .number = 1 };
	return add_factor(p, t, 3);
}

/* Likewise of the output of @node, whose users do not matter. */
static bool factors_at(const struct vtac_graph *g, const struct vtac_node *node,
		       struct vtac_tensor *x, struct product *p)
{
	float number;

	*p = (struct product) { .g = g, .x = x, .number = 1 };
	if (node->op == VTAC_MUL)
		return add_factor(p, node->in[0], 2) && add_factor(p, node->in[1], 2);
	if (node->op != VTAC_DIV || !fuse_number(node->in[1], &number))
		return false;
	p->number = 1 / number;
	return add_factor(p, node->in[0], 2);
}

/* Is @t @x times a number? */
static bool is_multiple(const struct vtac_graph *g, struct vtac_tensor *t, struct vtac_tensor *x,
			float *number)
{
	struct product p;

	if (!factors_of(g, t, x, &p) || p.rest || p.times != 1)
		return false;
	*number = p.number;
	return true;
}

/* Is @t x^3, by a power or by products? */
static bool is_cube(const struct vtac_graph *g, struct vtac_tensor *t, struct vtac_tensor *x,
		    float *number)
{
	const struct vtac_node *power;
	struct product p;

	if (!factors_of(g, t, x, &p))
		return false;
	*number = p.number;
	if (!p.rest)
		return p.times == 3;
	power = inside(g, p.rest);
	return !p.times && power && power->op == VTAC_UNARY && power->in[0] == x &&
	       power->attr.unary.kind == VTACPU_ACT_POWER && power->attr.unary.alpha == 3;
}

/* Is @t sqrt(2 / pi) * (x + 0.044715 * x^3)? */
static bool is_gelu_sum(const struct vtac_graph *g, struct vtac_tensor *t, struct vtac_tensor *x)
{
	const struct vtac_node *add;
	struct product p;
	float number;

	if (!factors_of(g, t, x, &p) || p.times || !p.rest || !is_near(p.number, 0.7978846f))
		return false;
	add = inside(g, p.rest);
	if (!add || add->op != VTAC_ADD)
		return false;
	for (int i = 0; i < 2; i++)
		if (add->in[i] == x && is_cube(g, add->in[1 - i], x, &number))
			return is_near(number, 0.044715f);
	return false;
}

/* The kind of GELU if @t is the sum of 1 and a function of @x, else NONE. */
static enum vtacpu_act_kind gelu_kind(const struct vtac_graph *g, const struct vtac_tensor *t,
				      struct vtac_tensor *x)
{
	const struct vtac_node *add = inside(g, t);
	struct vtac_tensor *part, *of;
	float one, number;

	if (!add || add->op != VTAC_ADD)
		return VTACPU_ACT_NONE;
	part = other_than(add, &one);
	if (!part || !is_near(one, 1))
		return VTACPU_ACT_NONE;
	of = argument(g, part, VTACPU_ACT_ERF);
	if (of && is_multiple(g, of, x, &number) && is_near(number, 0.70710678f))
		return VTACPU_ACT_GELU;
	of = argument(g, part, VTACPU_ACT_TANH);
	return of && is_gelu_sum(g, of, x) ? VTACPU_ACT_GELU_TANH : VTACPU_ACT_NONE;
}

/* Of x times @rest and a number, the function; NONE if it is none. */
static enum vtacpu_act_kind kind_of(const struct vtac_graph *g, const struct product *p,
				    float *alpha)
{
	struct vtac_tensor *of = argument(g, p->rest, VTACPU_ACT_SIGMOID);

	*alpha = 1;
	if (of && is_near(p->number, 1) && (of == p->x || is_multiple(g, of, p->x, alpha)))
		return VTACPU_ACT_SWISH;
	of = argument(g, p->rest, VTACPU_ACT_TANH);
	if (of && is_near(p->number, 1) && argument(g, of, VTACPU_ACT_SOFTPLUS) == p->x)
		return VTACPU_ACT_MISH;
	return is_near(p->number, 0.5f) ? gelu_kind(g, p->rest, p->x) : VTACPU_ACT_NONE;
}

/* The name that files have for it, or would have. */
static const char *name_of(enum vtacpu_act_kind kind)
{
	return kind == VTACPU_ACT_SWISH ? "Swish" : kind == VTACPU_ACT_MISH ? "Mish" :
	       kind == VTACPU_ACT_POWER ? "Pow" : "Gelu";
}

static int become_function(struct vtac_graph *g, struct vtac_node *node, struct vtac_tensor *x,
			   enum vtacpu_act_kind kind, float alpha)
{
	node->op = VTAC_UNARY;
	node->file_op = name_of(kind);
	node->attr = (union vtac_attr) { .unary = { .kind = kind, .alpha = alpha } };
	return vtac_node_set_in(g, node, 0, x) || vtac_node_resize_in(g, node, 1) ? -1 : 1;
}

/* Tensors that may be x: the operands of @node, and of the products before it. */
static unsigned int list_factors(const struct vtac_graph *g, const struct vtac_node *node,
				 struct vtac_tensor **list, unsigned int n, unsigned int depth)
{
	for (unsigned int i = 0; i < node->n_in && i < 2; i++) {
		const struct vtac_node *before = inside(g, node->in[i]);

		if (!node->in[i]->data)
			list[n++] = node->in[i];
		if (before && depth && (before->op == VTAC_MUL || before->op == VTAC_DIV))
			n = list_factors(g, before, list, n, depth - 1);
	}
	return n;
}

int fuse_function(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *list[16];
	unsigned int n;

	if ((node->op != VTAC_MUL && node->op != VTAC_DIV) || node->act.kind != VTAC_ACT_NONE ||
	    node->out[0]->dtype != VTAC_F32)
		return 0;
	n = list_factors(g, node, list, 0, 2);
	for (unsigned int i = 0; i < n; i++) {
		enum vtacpu_act_kind kind;
		struct product p;
		float alpha;

		if (!factors_at(g, node, list[i], &p) || p.times != 1 || !p.rest ||
		    !vtac_same_shape(p.x, node->out[0]))
			continue;
		kind = kind_of(g, &p, &alpha);
		if (kind != VTACPU_ACT_NONE)
			return become_function(g, node, p.x, kind, alpha);
	}
	return 0;
}

/* PRelu with one slope for all */
int fuse_slope(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *t = node->n_in > 1 ? node->in[1] : NULL;
	const float *v = t ? t->data : NULL;

	if (node->op != VTAC_BINARY || node->attr.binary.op != VTACPU_PRELU || !fuse_is_const(t) ||
	    !v ||
	    node->in[0]->data || vtac_elements(t) < 1 ||
	    !vtac_same_shape(node->in[0], node->out[0]))
		return 0;
	for (int64_t i = 1; i < vtac_elements(t); i++)
		if (v[i] != v[0])
			return 0;
	node->op = VTAC_LEAKY_RELU;
	node->attr = (union vtac_attr){ .unary = { .alpha = v[0] } };
	return vtac_node_resize_in(g, node, 1) ? -1 : 1;
}

int fuse_power(struct vtac_graph *g, struct vtac_node *node)
{
	float number;

	if (node->op != VTAC_BINARY || node->attr.binary.op != VTACPU_POW ||
	    node->in[0]->dtype != VTAC_F32 || node->in[0]->data ||
	    !fuse_number(node->in[1], &number) || !vtac_same_shape(node->in[0], node->out[0]))
		return 0;
	return become_function(g, node, node->in[0], VTACPU_ACT_POWER, number);
}

/* The greater or lesser of values and one number is a limit. */
int fuse_limit(struct vtac_graph *g, struct vtac_node *node)
{
	bool least = node->op == VTAC_MAX;
	struct vtac_tensor *x;
	unsigned int i;
	float limit;

	if ((!least && node->op != VTAC_MIN) || node->n_in != 2 || node->act.kind != VTAC_ACT_NONE)
		return 0;
	i = node->in[0]->data ? 1 : 0;
	x = node->in[i];
	if (x->data || x->dtype != VTAC_F32 || !fuse_number(node->in[1 - i], &limit) ||
	    isnan(limit) || !vtac_same_shape(x, node->out[0]))
		return 0;
	node->op = VTAC_CLIP;
	node->attr = (union vtac_attr){ .clip = { .lo = least ? limit : -INFINITY,
						  .hi = least ? INFINITY : limit } };
	return vtac_node_set_in(g, node, 0, x) || vtac_node_resize_in(g, node, 1) ? -1 : 1;
}

/* A function or limits of the rows of a matrix product, before these are given another shape. */
int fuse_flat_function(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *shape = vtac_is_function(node) || node->op == VTAC_CLIP ?
		fuse_from(g, node->in[0], VTAC_RESHAPE) : NULL;
	struct vtac_tensor *x = shape ? shape->in[0] : NULL;

	if (!x || x->rank != 2 || !fuse_from(g, x, VTAC_GEMM) || vtac_is_given(node->in[0]))
		return 0;
	return fuse_before_reshape(g, node, 0, shape);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Fusion: quantisation that the file gives moves from nodes to tensors. A constant that
 * is dequantised becomes floats that know their integers' scales; what is quantised and
 * dequantised again keeps the floats and takes the integers' values alone.
 */
#include <string.h>

#include "fuse_impl.h"
#include "passes.h"

/* The node's constant scales as a tensor has them: 1, 0 if they are not constant, -1. */
static int read_quant(struct vtac_graph *g, const struct vtac_node *node, enum vtac_dtype type,
		      struct vtac_quant *q)
{
	const struct vtac_tensor *s = node->in[1], *z = node->in[2];
	int32_t *zero;

	if (!fuse_is_const(s) || (z && !z->data))
		return 0;
	*q = (struct vtac_quant){
		.scale = s->data, .n = vtac_elements(s), .type = type, .given = true,
		.axis = vtac_elements(s) == 1 ? 0 : node->attr.axis.axis,
	};
	for (int64_t i = 0; i < q->n; i++)
		if (!(q->scale[i] > 0))
			return vtac_fail(g, node, "Its scale %g is not positive.",
					 (double)q->scale[i]);
	if (!z)
		return 1;
	zero = vtac_alloc(g, (uint64_t)q->n, sizeof(*zero));
	if (!zero)
		return -1;
	for (int64_t i = 0; i < q->n; i++)
		zero[i] = z->dtype == VTAC_I8 ? ((const int8_t *)z->data)[i] :
			z->dtype == VTAC_U8 ? ((const uint8_t *)z->data)[i] :
			((const int32_t *)z->data)[i];
	q->zero = zero;
	return 1;
}

/* Integers of the model's inputs that become floats have the scale 1. */
int fuse_cast(struct vtac_graph *g, struct vtac_node *node)
{
	static const float one = 1;
	enum vtac_dtype type = node->op == VTAC_CAST ? node->in[0]->dtype : VTAC_F32;
	struct vtac_tensor *scale;

	if ((type != VTAC_I8 && type != VTAC_U8 && type != VTAC_I32) ||
	    node->attr.cast.to != VTAC_F32)
		return 0;
	scale = vtac_tensor_const(g, "one", VTAC_F32, 0, NULL, &one, false);
	if (!scale || vtac_node_resize_in(g, node, 3) || vtac_node_set_in(g, node, 1, scale))
		return -1;
	node->op = VTAC_DEQUANTIZE;
	node->attr = (union vtac_attr){ 0 };
	return 1;
}

/* A constant's scales are its own: the same floats are found again by them. */
int fuse_weights(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *y = node->out[0];
	struct vtac_quant q;
	int known;

	if (node->op != VTAC_DEQUANTIZE || !node->in[0]->data)
		return 0;
	known = read_quant(g, node, node->in[0]->dtype, &q);
	if (known <= 0)
		return known;
	if (vtac_fold_node(g, node))
		return -1;
	y->quant = q;
	return 1;
}

/* Dequantisations of @q's output that undo it. */
static unsigned int count_undone(const struct vtac_tensor *q)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < q->n_users; i++)
		n += q->users[i]->op == VTAC_DEQUANTIZE;
	return n;
}

/* A tensor of its own for the values that @x has after rounding, if others use x as it is. */
static struct vtac_tensor *rounded(struct vtac_graph *g, struct vtac_node *quantize)
{
	struct vtac_tensor *x = quantize->in[0], *t;
	struct vtac_node *node;

	if (!x->quant.scale && !x->data && x->n_users == 1 && !vtac_is_output(g, x))
		return x;
	node = vtac_node_new(g, VTAC_IDENTITY, quantize->name, 1, 1);
	t = node ? vtac_tensor_shaped(g, x->name, VTAC_F32, x->rank, x->dims) : NULL;
	if (!t || vtac_node_set_in(g, node, 0, x))
		return NULL;
	node->file_op = quantize->file_op;
	vtac_node_set_out(node, 0, t);
	return t;
}

/* The graph's output is @y: then it is x's producer that writes it. */
static int undo_output(struct vtac_graph *g, struct vtac_node *dequantize, struct vtac_tensor *x)
{
	struct vtac_tensor *y = dequantize->out[0];
	struct vtac_node *from = x->producer;

	if (!from)
		return 0;
	vtac_node_remove(dequantize);
	y->quant = x->quant;
	for (unsigned int i = 0; i < from->n_out; i++)
		if (from->out[i] == x)
			vtac_node_set_out(from, i, y);
	return vtac_tensor_replace(g, x, y) ? -1 : 1;
}

/* On the dequantisation, so that each of several that undo one is seen. */
int fuse_quant(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *quantize = node->op == VTAC_DEQUANTIZE ? node->in[0]->producer : NULL;
	struct vtac_quant q, d;
	struct vtac_tensor *x;
	int known;

	if (!quantize || quantize->op != VTAC_QUANTIZE)
		return 0;
	known = read_quant(g, quantize, quantize->out[0]->dtype, &q);
	if (known > 0)
		known = read_quant(g, node, node->in[0]->dtype, &d);
	if (known <= 0)
		return known;
	if (!vtac_same_quant(&q, &d))
		return 0;
	/* One tensor for all dequantisations of it. */
	x = rounded(g, quantize);
	if (!x)
		return -1;
	x->quant = q;
	if (vtac_is_output(g, node->out[0]) && count_undone(node->in[0]) == 1 &&
	    node->in[0]->n_users == 1)
		return undo_output(g, node, x);
	for (unsigned int i = 0; i < quantize->out[0]->n_users;) {
		struct vtac_node *user = quantize->out[0]->users[i];

		if (user != node && (user->op != VTAC_DEQUANTIZE || user->in[1] != node->in[1] ||
				     user->in[2] != node->in[2])) {
			i++;
			continue;
		}
		if (vtac_is_output(g, user->out[0])) {
			user->op = VTAC_IDENTITY;
			if (vtac_node_set_in(g, user, 0, x) || vtac_node_resize_in(g, user, 1))
				return -1;
			continue;
		}
		if (vtac_tensor_replace(g, user->out[0], x))
			return -1;
		vtac_node_remove(user);
	}
	return 1;
}

/*
 * At the borders of the graph integers come in, or go out, without a partner: what is
 * made of them, or what they are made of, has their scale.
 */
int fuse_border(struct vtac_graph *g, struct vtac_node *node)
{
	bool in = node->op == VTAC_DEQUANTIZE;
	struct vtac_tensor *real, *ints;
	struct vtac_quant q;
	int known;

	if (!in && node->op != VTAC_QUANTIZE)
		return 0;
	real = in ? node->out[0] : node->in[0];
	ints = in ? node->in[0] : node->out[0];
	if (real->data || real->quant.scale || ints->dtype == VTAC_I32 || ints->data)
		return 0;
	if (in ? !!ints->producer :
	    !real->producer || !vtac_only_user(g, real) || count_undone(ints))
		return 0;
	known = read_quant(g, node, ints->dtype, &q);
	if (known > 0)
		real->quant = q;
	return known;
}

/* ---- integers that are moved ---- */

/* Movers between a quantisation and its use, at most: a file may have long chains. */
#define MOVES_MAX	64

static bool moves_integers(const struct vtac_node *node)
{
	return node && node->op != VTAC_PAD && node->op != VTAC_COPY && node->op != VTAC_RESIZE &&
	       vtac_moves_values(node->op) && node->n_out &&
	       (node->in[0]->dtype == VTAC_I8 || node->in[0]->dtype == VTAC_U8);
}

/* Inputs of a mover that have values; others have sizes. */
static unsigned int count_moved(const struct vtac_node *node)
{
	return node->op == VTAC_CONCAT ? node->n_in : 1;
}

/* The node whose values @t has, moved by nodes of one input; or NULL. */
static const struct vtac_node *before_moves(const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;

	for (int i = 0; i < MOVES_MAX && moves_integers(node) && node->op != VTAC_CONCAT; i++)
		node = node->in[0]->producer;
	return node;
}

/* Is @t made of integers that nodes quantise, by moves and one Concat at most? */
static bool is_quantised_first(const struct vtac_tensor *t)
{
	const struct vtac_node *node = before_moves(t);

	if (!node || node->op == VTAC_QUANTIZE)
		return node;
	for (unsigned int i = 0; node->op == VTAC_CONCAT && i < node->n_in; i++) {
		const struct vtac_node *part = before_moves(node->in[i]);

		if (!part || part->op != VTAC_QUANTIZE)
			return false;
	}
	return node->op == VTAC_CONCAT;
}

/* One constant scale, and the same constant zero point? */
static bool has_same_points(const struct vtac_node *a, const struct vtac_node *b)
{
	const struct vtac_tensor *s = a->in[1], *t = b->in[1];
	const struct vtac_tensor *y = a->n_in > 2 ? a->in[2] : NULL;
	const struct vtac_tensor *z = b->n_in > 2 ? b->in[2] : NULL;

	if (!s->data || !t->data || vtac_elements(s) != 1 || vtac_elements(t) != 1 ||
	    *(const float *)s->data != *(const float *)t->data || !y != !z)
		return false;
	return !y || (y->data && z->data && vtac_elements(y) == 1 && vtac_elements(z) == 1 &&
		      y->dtype == z->dtype && !memcmp(y->data, z->data, vtac_dtype_size(y->dtype)));
}

/* A dequantisation that all users of @node's outputs are like, or NULL. */
static struct vtac_node *common_user(const struct vtac_graph *g, const struct vtac_node *node)
{
	struct vtac_node *first = NULL;

	for (unsigned int i = 0; i < node->n_out; i++) {
		const struct vtac_tensor *t = node->out[i];

		if (!t || t->size || vtac_is_output(g, t))
			return NULL;
		for (unsigned int k = 0; k < t->n_users; k++) {
			if (t->users[k]->op != VTAC_DEQUANTIZE || t->users[k]->in[0] != t)
				return NULL;
			first = first ? first : t->users[k];
			if (!has_same_points(first, t->users[k]))
				return NULL;
		}
	}
	return first;
}

/* A tensor with the floats of @x, by a node like @like. */
static struct vtac_tensor *dequantised(struct vtac_graph *g, struct vtac_tensor *x,
				       const struct vtac_node *like)
{
	struct vtac_node *node = vtac_node_new(g, VTAC_DEQUANTIZE, like->name, like->n_in, 1);
	struct vtac_tensor *y = vtac_tensor_shaped(g, x->name, VTAC_F32, x->rank, x->dims);

	if (!node || !y || vtac_node_set_in(g, node, 0, x))
		return NULL;
	for (unsigned int i = 1; i < like->n_in; i++)
		if (vtac_node_set_in(g, node, i, like->in[i]))
			return NULL;
	node->attr = like->attr;
	node->file_op = like->file_op;
	vtac_node_set_out(node, 0, y);
	return y;
}

/*
 * Integers that are only moved between a quantisation and dequantisations are moved as floats: so
 * the card, whose integers have its own scales, may move them.
 */
int fuse_moved(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *like;

	if (!moves_integers(node))
		return 0;
	for (unsigned int i = 0; i < count_moved(node); i++)
		if (!is_quantised_first(node->in[i]))
			return 0;
	like = common_user(g, node);
	if (!like)
		return 0;
	for (unsigned int i = 0; i < count_moved(node); i++) {
		struct vtac_tensor *x = dequantised(g, node->in[i], like);

		if (!x || vtac_node_set_in(g, node, i, x))
			return -1;
	}
	for (unsigned int i = 0; i < node->n_out; i++) {
		struct vtac_tensor *t = node->out[i], *y;

		y = vtac_tensor_shaped(g, t->name, VTAC_F32, t->rank, t->dims);
		if (!y)
			return -1;
		while (t->n_users) {
			struct vtac_node *user = t->users[0];

			if (vtac_tensor_replace(g, user->out[0], y))
				return -1;
			vtac_node_remove(user);
		}
		vtac_node_set_out(node, i, y);
	}
	return 1;
}

/* ---- scales go through what moves values ---- */

/* Does @node's own activation leave values within the range of the scale that goes through it? */
static bool passes_scale(const struct vtac_node *node, const struct vtac_tensor *t)
{
	float lo, hi, least, most;

	if (node->op == VTAC_PAD ? node->attr.pad.value != 0 :
	    node->op == VTAC_RESIZE ? node->attr.resize.mode != VTAC_NEAREST :
	    node->op != VTAC_CLIP && !vtac_moves_values(node->op))
		return false;
	vtac_given_range(t, t->quant.type == VTAC_U8 ? 0 : -128, &least, &most);
	vtac_limits(node->out[0], &lo, &hi);
	return lo <= most && hi >= least;
}

/* The computed input whose scale all of them have; else NULL. */
static const struct vtac_tensor *scaled_input(const struct vtac_node *node)
{
	const struct vtac_tensor *first = NULL;

	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (t && (!vtac_is_given(t) ||
			  (first && !vtac_same_quant(&first->quant, &t->quant))))
			return NULL;
		first = t ? t : first;
	}
	return first;
}

static bool lacks_scale(const struct vtac_tensor *t)
{
	return t && t->dtype == VTAC_F32 && !t->data && !t->quant.scale;
}

/* From inputs to outputs. */
static bool inherit_forward(struct vtac_node *node)
{
	const struct vtac_tensor *x = scaled_input(node);
	bool changed = false;

	if (!x || !passes_scale(node, x))
		return false;
	for (unsigned int i = 0; i < node->n_out; i++)
		if (lacks_scale(node->out[i])) {
			node->out[i]->quant = x->quant;
			changed = true;
		}
	return changed;
}

/* From the output to inputs that nothing else reads: to round before or behind is the same. */
static bool inherit_backward(const struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *y = node->out[0];
	bool changed = false;

	if (node->n_out != 1 || node->op == VTAC_PAD || !vtac_is_given(y) ||
	    !passes_scale(node, y))
		return false;
	for (unsigned int i = 0; i < node->n_in; i++)
		if (lacks_scale(node->in[i]) && vtac_only_user(g, node->in[i])) {
			node->in[i]->quant = y->quant;
			changed = true;
		}
	return changed;
}

void fuse_inherit_scales(struct vtac_graph *g)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (unsigned int i = 0; i < g->n_nodes; i++)
			changed = inherit_forward(g->nodes[i]) || changed;
		for (unsigned int i = g->n_nodes; i-- > 0; )
			changed = inherit_backward(g, g->nodes[i]) || changed;
	}
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Merge the sum of two convolutions into one convolution, of both inputs side by side:
 *	w * x + v * y = [w, v] * [x, y]
 * So neither is rounded before they are added, nor stored and loaded. ResNet has such sums
 * in blocks that begin with a convolution on both branches.
 *
 * Channels that are joined share a scale. So one of the inputs has to be made for this sum
 * alone: equalise.c lets its values reach as far as the other's.
 */
#include <string.h>

#include "passes/passes.h"
#include "quant.h"

/* Two convolutions: @of[0]'s input, in whole blocks, comes first. */
struct pair {
	struct vtac_node *add, *of[2];
	unsigned int scaled;	/* number of the one whose input is made for it alone */
};

static bool has_residual(const struct vtac_node *node)
{
	return node->n_in > 3 && node->in[3];
}

static const struct vtac_tensor *bias_of(const struct vtac_node *node)
{
	return node->n_in > 2 ? node->in[2] : NULL;
}

/* Does @node compute what @add alone takes, from an input that a Concat can have in place? */
static bool is_term(const struct vtac_graph *g, const struct vtac_node *node,
		    const struct vtac_node *add)
{
	if (!vtac_is_plain_conv(node) || node->act.kind != VTAC_ACT_NONE || has_residual(node) ||
	    node->attr.conv.spare || !vtac_has_float_bias(node) || node->out[0]->quant.given ||
	    vtac_only_user(g, node->out[0]) != add || !vtac_can_place(g, node->in[0]))
		return false;
	for (unsigned int i = 0; i < node->in[0]->n_users; i++)
		if (node->in[0]->users[i]->op == VTAC_CONCAT)
			return false;
	return true;
}

static bool same_windows(const struct vtac_node *a, const struct vtac_node *b)
{
	const struct vtac_window *v = &a->attr.conv.window, *w = &b->attr.conv.window;
	const struct vtac_tensor *x = a->in[0], *y = b->in[0];

	return !memcmp(v->kernel, w->kernel, sizeof(v->kernel)) &&
	       !memcmp(v->stride, w->stride, sizeof(v->stride)) &&
	       !memcmp(v->dilation, w->dilation, sizeof(v->dilation)) &&
	       !memcmp(v->pad, w->pad, sizeof(v->pad)) && x != y && x->dims[0] == y->dims[0] &&
	       x->dims[2] == y->dims[2] && x->dims[3] == y->dims[3];
}

/* May @node's input be multiplied by a number? */
static bool can_scale(const struct vtac_graph *g, const struct vtac_node *node)
{
	const struct vtac_tensor *t = node->in[0];
	const struct vtac_node *from = t->producer;

	return vtac_only_user(g, t) && !t->quant.given && vtac_is_plain_conv(from) &&
	       !has_residual(from) && vtac_has_float_bias(from) &&
	       (from->act.kind == VTAC_ACT_NONE || from->act.kind == VTAC_ACT_CLIP);
}

static bool find_pair(const struct vtac_graph *g, const struct vtaops_core *core,
		      struct vtac_node *add, struct pair *p)
{
	struct vtac_node *a, *b;
	bool swap;

	if (add->op != VTAC_ADD || add->device != VTAC_CARD || add->dead)
		return false;
	a = add->in[0]->producer;
	b = add->in[1]->producer;
	if (!is_term(g, a, add) || !is_term(g, b, add) || a == b || !same_windows(a, b) ||
	    a->in[0]->dims[0] > core->batch)
		return false;
	swap = b->in[0]->dims[1] % core->block == 0;
	*p = (struct pair){ .add = add, .of = { swap ? b : a, swap ? a : b } };
	p->scaled = can_scale(g, p->of[1]);
	return p->of[0]->in[0]->dims[1] % core->block == 0 && can_scale(g, p->of[p->scaled]);
}

/* Returns the number of nodes up to the last pair; 0 without one. */
static unsigned int nodes_to_last(const struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = 0;
	struct pair p;

	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (find_pair(g, &opt->core, g->nodes[i], &p))
			n = i + 1;
	return n;
}

bool vtac_can_merge_conv_add(const struct vtac_graph *g, const struct vtac_options *opt)
{
	return nodes_to_last(g, opt) > 0;
}

/* ---- one of two ---- */

static struct vtac_tensor *join_inputs(struct vtac_graph *g, const struct pair *p)
{
	struct vtac_tensor *x = p->of[0]->in[0], *y = p->of[1]->in[0], *whole;
	int64_t dims[4] = { x->dims[0], x->dims[1] + y->dims[1], x->dims[2], x->dims[3] };
	const char *name = vtac_text(g, "%s/joined", p->add->out[0]->name);
	struct vtac_node *node = vtac_node_new(g, VTAC_CONCAT, name, 2, 1);

	whole = vtac_tensor_shaped(g, name, VTAC_F32, 4, dims);
	if (!node || !whole || vtac_node_set_in(g, node, 0, x) || vtac_node_set_in(g, node, 1, y))
		return NULL;
	node->attr.axis.axis = 1;
	node->device = VTAC_CARD;
	node->joins = 1 + p->scaled;
	vtac_node_set_out(node, 0, whole);
	return whole;
}

/* For each output the weights of the one and behind them those of the other. */
static struct vtac_tensor *join_weights(struct vtac_graph *g, const struct pair *p)
{
	const struct vtac_tensor *w = p->of[0]->in[1], *v = p->of[1]->in[1];
	int64_t dims[4] = { w->dims[0], w->dims[1] + v->dims[1], w->dims[2], w->dims[3] };
	size_t m = (size_t)(vtac_elements(w) / dims[0]), n = (size_t)(vtac_elements(v) / dims[0]);
	float *to = vtac_alloc(g, (uint64_t)dims[0] * (m + n), sizeof(*to));

	if (!to)
		return NULL;
	for (size_t o = 0; o < (size_t)dims[0]; o++) {
		memcpy(to + o * (m + n), (const float *)w->data + o * m, m * sizeof(*to));
		memcpy(to + o * (m + n) + m, (const float *)v->data + o * n, n * sizeof(*to));
	}
	return vtac_tensor_const(g, w->name, VTAC_F32, 4, dims, to, false);
}

static struct vtac_tensor *join_biases(struct vtac_graph *g, const struct pair *p)
{
	int64_t n = p->of[0]->in[1]->dims[0];
	float *to = vtac_alloc(g, (uint64_t)n, sizeof(*to));

	for (unsigned int k = 0; to && k < 2; k++)
		for (int64_t i = 0; bias_of(p->of[k]) && i < n; i++)
			to[i] += ((const float *)bias_of(p->of[k])->data)[i];
	return to ? vtac_tensor_const(g, vtac_text(g, "%s/bias", p->add->out[0]->name), VTAC_F32,
				      1, &n, to, false) : NULL;
}

/* The convolution that @add has first becomes both. */
static int merge_pair(struct vtac_graph *g, struct pair *p)
{
	struct vtac_node *node = p->add->in[0]->producer;
	struct vtac_node *other = p->add->in[1]->producer;
	struct vtac_tensor *x, *w, *b, *out = p->add->out[0];

	if (node->n_in < 3 && vtac_node_resize_in(g, node, 3))
		return -1;
	x = join_inputs(g, p);
	w = join_weights(g, p);
	b = join_biases(g, p);
	if (!x || !w || !b || vtac_node_set_in(g, node, 0, x) || vtac_node_set_in(g, node, 1, w) ||
	    vtac_node_set_in(g, node, 2, b))
		return -1;
	node->act = p->add->act;
	vtac_node_remove(p->add);
	vtac_node_remove(other);
	vtac_node_set_out(node, 0, out);
	return 0;
}

int vtac_pass_merge_conv_add(struct vtac_graph *g, const struct vtac_options *opt)
{
	struct vtac_quant_options *how = g->how;
	unsigned int n = nodes_to_last(g, opt);
	struct pair p;

	if (!how || g->counted || how->merge != VTAC_MERGE_SUMS)
		return 0;
	if (!n) {
		how->merge = VTAC_MERGE_NONE;
		return 0;
	}
	for (unsigned int i = 0; i < n; i++)
		if (find_pair(g, &opt->core, g->nodes[i], &p) && merge_pair(g, &p))
			return -1;
	return vtac_graph_dce(g);
}

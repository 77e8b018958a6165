// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `legalize`: operators that the card has only as a combination of others, on the
 * nodes that are the card's.
 *	hard sigmoid	a convolution of each channel alone by one number, and a clip
 *	hard swish	x times that
 *	leaky relu	max(x, alpha x), for alpha of 0 to 1
 */
#include "passes.h"

bool vtac_has_form(const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_HARD_SIGMOID:
	case VTAC_HARD_SWISH:
		return true;
	case VTAC_LEAKY_RELU:
		return node->attr.unary.alpha > 0 && node->attr.unary.alpha <= 1;
	default:
		return false;
	}
}

static struct vtac_tensor *fill_const(struct vtac_graph *g, const char *name, int64_t channels,
				      int rank, float value)
{
	int64_t dims[4] = { channels, 1, 1, 1 };
	float *v = vtac_alloc(g, (uint64_t)channels, sizeof(*v));

	if (!v)
		return NULL;
	for (int64_t i = 0; i < channels; i++)
		v[i] = value;
	return vtac_tensor_const(g, name, VTAC_F32, rank, dims, v, false);
}

/* @node computes x * @mul + @add of each channel; @x is its input already. */
static int to_affine(struct vtac_graph *g, struct vtac_node *node, float mul, float add)
{
	int64_t channels = node->in[0]->dims[1];
	struct vtac_tensor *w = fill_const(g, "weights", channels, 4, mul);
	struct vtac_tensor *b = fill_const(g, "bias", channels, 1, add);

	if (!w || !b || vtac_node_resize_in(g, node, 3) || vtac_node_set_in(g, node, 1, w) ||
	    vtac_node_set_in(g, node, 2, b))
		return -1;
	node->op = VTAC_CONV;
	node->attr = (union vtac_attr){ .conv = {
		.window = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } },
		.groups = channels,
	} };
	return 0;
}

/* A node before @node with its input and an output of its own, also on the card. */
static struct vtac_node *insert_before(struct vtac_graph *g, const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	struct vtac_node *first = vtac_node_new(g, VTAC_IDENTITY, node->name, 1, 1);
	struct vtac_tensor *t = first ? vtac_tensor_shaped(g, node->out[0]->name, VTAC_F32,
							   x->rank, x->dims) : NULL;

	if (!t || vtac_node_set_in(g, first, 0, node->in[0]))
		return NULL;
	vtac_node_set_out(first, 0, t);
	first->file_op = node->file_op;
	first->device = VTAC_CARD;
	return first;
}

/*
 * If the file gives the scales around, the new tensor has one too: x's for a part of x, else of
 * values from 0 to 1.
 */
static void give_scale(const struct vtac_node *node, struct vtac_node *first)
{
	static const float unit = 1 / 127.0f;

	if (!vtac_is_given(node->in[0]) || !vtac_is_given(node->out[0]))
		return;
	first->out[0]->quant = node->op == VTAC_LEAKY_RELU ? node->in[0]->quant :
		(struct vtac_quant){ .scale = &unit, .n = 1, .type = VTAC_I8, .given = true };
}

static int set_binary(struct vtac_graph *g, struct vtac_node *node, enum vtac_op op,
		      struct vtac_node *first)
{
	node->op = op;
	node->attr = (union vtac_attr){ 0 };
	return vtac_node_resize_in(g, node, 2) || vtac_node_set_in(g, node, 1, first->out[0]);
}

static int legalize_node(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_activation unit = { .kind = VTAC_ACT_CLIP, .lo = 0, .hi = 1 };
	float alpha = node->attr.unary.alpha, beta = node->attr.unary.beta;
	struct vtac_node *first;

	if (node->op == VTAC_HARD_SIGMOID) {
		node->act = unit;
		return to_affine(g, node, alpha, beta);
	}
	first = insert_before(g, node);
	if (!first)
		return -1;
	give_scale(node, first);
	if (node->op == VTAC_LEAKY_RELU)
		return to_affine(g, first, alpha, 0) || set_binary(g, node, VTAC_MAX, first);
	first->act = unit;
	return to_affine(g, first, 1.0f / 6, 0.5f) || set_binary(g, node, VTAC_MUL, first);
}

int vtac_pass_legalize(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = g->n_nodes;

	(void)opt;
	for (unsigned int i = 0; i < n; i++)
		if (g->nodes[i]->device == VTAC_CARD && vtac_has_form(g->nodes[i]) &&
		    legalize_node(g, g->nodes[i]))
			return -1;
	return vtac_graph_dce(g);
}

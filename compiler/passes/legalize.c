// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `legalize`: operators that the card has only as a combination of others, on the
 * nodes that are the card's.
 *	hard sigmoid	a convolution of each channel alone by one number, and a clip
 *	hard swish	x times that
 *	leaky relu	max(x, alpha x), for alpha of 0 to 1
 *	x times, by, plus or minus a constant for each channel	such a convolution, too
 */
#include "passes.h"

/* The operand that is a constant for each channel of a picture, or for all; -1: none. */
static int channel_const(const struct vtac_node *node)
{
	const struct vtac_tensor *y = node->out[0];

	for (int i = 1; i >= 0; i--) {
		const struct vtac_tensor *t = node->in[i];
		bool fits = t->data && t->dtype == VTAC_F32 && y->rank == 4 && t->rank <= 4 &&
			!node->in[1 - i]->data && vtac_same_shape(node->in[1 - i], y);

		for (int d = 0; fits && d < t->rank; d++)
			fits = t->dims[d] == 1 || (d == t->rank - 3 && t->dims[d] == y->dims[1]);
		for (int64_t k = 0; fits && node->op == VTAC_DIV && k < vtac_elements(t); k++)
			fits = ((const float *)t->data)[k] != 0;
		if (fits)
			return i;
		if (node->op == VTAC_SUB || node->op == VTAC_DIV)
			break;
	}
	return -1;
}

bool vtac_has_form(const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_HARD_SIGMOID:
	case VTAC_HARD_SWISH:
		return true;
	case VTAC_LEAKY_RELU:
		return node->attr.unary.alpha > 0 && node->attr.unary.alpha <= 1;
	case VTAC_ADD:
	case VTAC_SUB:
	case VTAC_MUL:
	case VTAC_DIV:
		return channel_const(node) >= 0;
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

/* @node computes x * @w + @b of each channel; x is its input already. */
static int to_conv(struct vtac_graph *g, struct vtac_node *node, struct vtac_tensor *w,
		   struct vtac_tensor *b)
{
	int64_t channels = node->in[0]->dims[1];

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

/* With the same factor and term for all channels. */
static int to_affine(struct vtac_graph *g, struct vtac_node *node, float mul, float add)
{
	int64_t channels = node->in[0]->dims[1];

	return to_conv(g, node, fill_const(g, "weights", channels, 4, mul),
		       fill_const(g, "bias", channels, 1, add));
}

/* With the constant of operand @i. */
static int to_channels(struct vtac_graph *g, struct vtac_node *node, int i)
{
	const struct vtac_tensor *t = node->in[i];
	bool term = node->op == VTAC_ADD || node->op == VTAC_SUB;
	int64_t channels = node->out[0]->dims[1], n = vtac_elements(t);
	struct vtac_tensor *w = fill_const(g, "weights", channels, 4, 1);
	struct vtac_tensor *b = fill_const(g, "bias", channels, 1, 0);
	float *to;

	if (!w || !b)
		return -1;
	to = (float *)(uintptr_t)(term ? b->data : w->data);
	for (int64_t c = 0; c < channels; c++) {
		float v = ((const float *)t->data)[n == 1 ? 0 : c];

		to[c] = node->op == VTAC_SUB ? -v : node->op == VTAC_DIV ? 1 / v : v;
	}
	if (i == 0 && vtac_node_set_in(g, node, 0, node->in[1]))
		return -1;
	return to_conv(g, node, w, b);
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

	if (node->op == VTAC_ADD || node->op == VTAC_SUB || node->op == VTAC_MUL ||
	    node->op == VTAC_DIV)
		return to_channels(g, node, channel_const(node));
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

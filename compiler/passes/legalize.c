// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `legalize`: operators that the card has in another form, on the nodes that are the
 * card's. x times, by, plus or minus a constant for each channel is a convolution of each channel
 * alone. Heads of a product are columns of its output where they are joined.
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
	return (node->op == VTAC_ADD || node->op == VTAC_SUB || node->op == VTAC_MUL ||
		node->op == VTAC_DIV) && channel_const(node) >= 0;
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

int vtac_pass_legalize(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = g->n_nodes;

	(void)opt;
	for (unsigned int i = 0; i < n; i++)
		if (g->nodes[i]->device == VTAC_CARD && g->nodes[i]->op == VTAC_BATCH_GEMM &&
		    vtac_join_heads(g, g->nodes[i]) < 0)
			return -1;
	for (unsigned int i = 0; i < n; i++)
		if (g->nodes[i]->device == VTAC_CARD && !g->nodes[i]->dead &&
		    vtac_has_form(g->nodes[i]) &&
		    to_channels(g, g->nodes[i], channel_const(g->nodes[i])))
			return -1;
	return vtac_graph_dce(g);
}

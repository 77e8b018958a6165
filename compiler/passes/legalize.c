// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `legalize`: operators that the card has in another form, on the nodes that are the
 * card's. x times, by, plus or minus a constant for each channel, or that minus x, is a convolution
 * of each channel alone. Other constants are tensors of the card, of the shape of the output and
 * with a scale of their own. PRelu is one of these of the negative values, and the others added; a
 * difference is a sum with -1 times an operand. Heads of a product are columns of its output where
 * they are joined.
 */
#include <math.h>

#include "passes.h"

static bool is_prelu(const struct vtac_node *node)
{
	return node->op == VTAC_BINARY && node->attr.binary.op == VTACPU_PRELU;
}

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
		if (node->op == VTAC_DIV || is_prelu(node))
			break;
	}
	return -1;
}

static bool is_pair(const struct vtac_node *node)
{
	return node->op == VTAC_ADD || node->op == VTAC_SUB || node->op == VTAC_MUL ||
	       node->op == VTAC_DIV || node->op == VTAC_MAX || node->op == VTAC_MIN ||
	       is_prelu(node);
}

/* The operand that is any constant of floats that broadcasts to the other; -1: none. */
static int any_const(const struct vtac_node *node)
{
	const struct vtac_tensor *y = node->out[0];

	for (int i = 1; i >= 0; i--) {
		const struct vtac_tensor *t = node->in[i];
		bool fits = t->data && t->dtype == VTAC_F32 && t->rank <= y->rank &&
			y->rank >= 2 && y->rank <= 4 && vtac_elements(t) > 0 &&
			!node->in[1 - i]->data && vtac_same_shape(node->in[1 - i], y);

		for (int64_t k = 0; fits && k < vtac_elements(t); k++) {
			float v = ((const float *)t->data)[k];

			fits = isfinite(v) && (node->op != VTAC_DIV || v != 0);
		}
		if (fits)
			return i;
		if (node->op == VTAC_DIV || is_prelu(node))
			break;
	}
	return -1;
}

/* A difference of two computed tensors of one shape */
static bool is_difference(const struct vtac_node *node)
{
	return node->op == VTAC_SUB && !node->in[0]->data && !node->in[1]->data &&
	       node->out[0]->dtype == VTAC_F32 &&
	       vtac_same_shape(node->in[0], node->out[0]) &&
	       vtac_same_shape(node->in[1], node->out[0]);
}

bool vtac_has_form(const struct vtac_node *node)
{
	return is_pair(node) && (any_const(node) >= 0 || is_difference(node));
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
	bool minus = i == 0 && node->op == VTAC_SUB;
	struct vtac_tensor *w = fill_const(g, "weights", channels, 4, minus ? -1 : 1);
	struct vtac_tensor *b = fill_const(g, "bias", channels, 1, 0);
	float *to;

	if (!w || !b)
		return -1;
	to = (float *)(uintptr_t)(term ? b->data : w->data);
	for (int64_t c = 0; c < channels; c++) {
		float v = ((const float *)t->data)[n == 1 ? 0 : c];

		to[c] = node->op == VTAC_SUB && !minus ? -v : node->op == VTAC_DIV ? 1 / v : v;
	}
	if (i == 0 && vtac_node_set_in(g, node, 0, node->in[1]))
		return -1;
	return to_conv(g, node, w, b);
}

/* A node of the card for a part of @node, with an output like @like. */
static struct vtac_node *add_part(struct vtac_graph *g, const struct vtac_node *node,
				  enum vtac_op op, const char *what, struct vtac_tensor *in,
				  const struct vtac_tensor *like)
{
	const char *name = vtac_text(g, "%s/%s", node->name, what);
	struct vtac_node *part = name ? vtac_node_new(g, op, name, 1, 1) : NULL;
	struct vtac_tensor *y = part ? vtac_tensor_shaped(g, name, VTAC_F32, like->rank,
							  like->dims) : NULL;

	if (!y || vtac_node_set_in(g, part, 0, in))
		return NULL;
	part->file_op = node->file_op;
	part->device = VTAC_CARD;
	y->quant = like->quant;
	vtac_node_set_out(part, 0, y);
	return part;
}

/* Give @t the scale that the file has for @like, whose values are times @most at most. */
static int give_scale(struct vtac_graph *g, struct vtac_tensor *t, const struct vtac_tensor *like,
		      float most)
{
	float *scale, lo, hi;

	t->quant = (struct vtac_quant){ .scale = NULL };
	if (!vtac_is_given(like))
		return 0;
	scale = vtac_alloc(g, 1, sizeof(*scale));
	if (!scale)
		return -1;
	vtac_given_range(like, like->quant.type == VTAC_U8 ? 0 : -128, &lo, &hi);
	*scale = fmaxf(-lo, hi) * (most > 0 ? most : 1) / 127;
	t->quant = (struct vtac_quant){ .scale = scale, .n = 1, .type = VTAC_I8, .given = true };
	return 0;
}

/* The value of @t, which broadcasts to @y, at place @i of @y. */
static float value_at(const struct vtac_tensor *t, const struct vtac_tensor *y, int64_t i)
{
	int64_t at = 0, stride = 1;

	for (int d = y->rank - 1, k = t->rank - 1; k >= 0; d--, k--) {
		at += t->dims[k] == 1 ? 0 : i % y->dims[d] * stride;
		stride *= t->dims[k];
		i /= y->dims[d];
	}
	return ((const float *)t->data)[at];
}

/*
 * Operand @i of @node, which is a constant, becomes a tensor of the card, of @like's shape. Values
 * are those that @op adds or multiplies by.
 */
static int to_operand(struct vtac_graph *g, struct vtac_node *node, unsigned int i,
		      const struct vtac_tensor *t, const struct vtac_tensor *like, enum vtac_op op)
{
	int64_t n = vtac_elements(like);
	float *to = vtac_alloc(g, (uint64_t)n, sizeof(*to)), most = 0;
	float *scale = vtac_alloc(g, 1, sizeof(*scale));
	struct vtac_tensor *made;

	if (!to || !scale)
		return -1;
	for (int64_t k = 0; k < n; k++) {
		float v = value_at(t, like, k);

		to[k] = op == VTAC_SUB ? -v : op == VTAC_DIV ? 1 / v : v;
		most = fmaxf(most, fabsf(to[k]));
	}
	*scale = most > 0 ? most / 127 : 1;
	made = vtac_tensor_const(g, t->name, VTAC_F32, like->rank, like->dims, to, false);
	if (!made)
		return -1;
	made->quant = (struct vtac_quant){
		.scale = scale, .n = 1, .type = VTAC_I8, .given = true };
	return vtac_node_set_in(g, node, i, made);
}

/* @in times constant @t */
static struct vtac_node *add_factor(struct vtac_graph *g, const struct vtac_node *node,
				    const char *what, struct vtac_tensor *in,
				    struct vtac_tensor *t)
{
	struct vtac_node *part = add_part(g, node, VTAC_MUL, what, in, in);
	const float *v = t->data;
	float most = 0;

	for (int64_t k = 0; k < vtac_elements(t); k++)
		most = fmaxf(most, fabsf(v[k]));
	if (!part || give_scale(g, part->out[0], in, most) || vtac_node_resize_in(g, part, 2) ||
	    vtac_node_set_in(g, part, 1, t))
		return NULL;
	if (channel_const(part) == 1)
		return to_channels(g, part, 1) ? NULL : part;
	return to_operand(g, part, 1, t, in, VTAC_MUL) ? NULL : part;
}

/* -1 times @in */
static struct vtac_node *add_minus(struct vtac_graph *g, const struct vtac_node *node,
				   struct vtac_tensor *in)
{
	static const float minus = -1;
	struct vtac_tensor *t = vtac_tensor_const(g, "minus", VTAC_F32, 0, NULL, &minus, true);
	struct vtac_node *part;

	if (in->rank == 4)
		return t ? add_factor(g, node, "minus", in, t) : NULL;
	part = add_part(g, node, VTAC_UNARY, "minus", in, in);
	if (!part || give_scale(g, part->out[0], in, 1))
		return NULL;
	part->attr.unary.kind = VTACPU_ACT_NEG;
	return part;
}

/* a - b as a + -1 * b */
static int to_sum(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *minus = add_minus(g, node, node->in[1]);

	node->op = VTAC_ADD;
	return minus ? vtac_node_set_in(g, node, 1, minus->out[0]) : -1;
}

static struct vtac_node *add_clip(struct vtac_graph *g, const struct vtac_node *node,
				  const char *what, float lo, float hi)
{
	struct vtac_node *clip = add_part(g, node, VTAC_CLIP, what, node->in[0], node->in[0]);

	if (!clip)
		return NULL;
	clip->attr.clip.lo = lo;
	clip->attr.clip.hi = hi;
	return clip;
}

/*
 * PRelu: max(x, slope * x) if no slope is below 0 or over 1, else max(x, 0) + slope * min(x, 0).
 */
static int to_slopes(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *t = node->in[1], *x = node->in[0];
	struct vtac_node *above, *below;
	bool flat = true;

	for (int64_t k = 0; k < vtac_elements(t); k++) {
		float v = ((const float *)t->data)[k];

		flat = flat && v >= 0 && v <= 1;
	}
	node->op = flat ? VTAC_MAX : VTAC_ADD;
	node->attr = (union vtac_attr){ 0 };
	if (!flat) {
		above = add_clip(g, node, "above", 0, INFINITY);
		below = add_clip(g, node, "below", -INFINITY, 0);
		if (!above || !below || vtac_node_set_in(g, node, 0, above->out[0]))
			return -1;
		x = below->out[0];
	}
	below = add_factor(g, node, "slope", x, t);
	return below ? vtac_node_set_in(g, node, 1, below->out[0]) : -1;
}

/* A constant that is no value for each channel */
static int to_constant(struct vtac_graph *g, struct vtac_node *node)
{
	int i = any_const(node);
	bool left = node->op == VTAC_SUB && i == 0;
	struct vtac_node *minus = left ? add_minus(g, node, node->in[1]) : NULL;

	if (left && (!minus || vtac_node_set_in(g, node, 1, minus->out[0])))
		return -1;
	if (to_operand(g, node, (unsigned int)i, node->in[i], node->out[0],
		       left ? VTAC_ADD : node->op))
		return -1;
	node->op = node->op == VTAC_SUB ? VTAC_ADD : node->op == VTAC_DIV ? VTAC_MUL : node->op;
	return 0;
}

static int to_form(struct vtac_graph *g, struct vtac_node *node)
{
	int i = node->op == VTAC_MAX || node->op == VTAC_MIN ? -1 : channel_const(node);

	if (is_difference(node))
		return to_sum(g, node);
	if (is_prelu(node))
		return to_slopes(g, node);
	return i >= 0 ? to_channels(g, node, i) : to_constant(g, node);
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
		    vtac_has_form(g->nodes[i]) && to_form(g, g->nodes[i]))
			return -1;
	return vtac_graph_dce(g);
}

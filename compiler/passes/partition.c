// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `partition`: give each node a device.
 *	annotate	layers with weights go to the card (CARD); operators that move or combine
 *			values can go to either device (EITHER); the CPU gets the rest, each node
 *			with the reason
 *	propagate	a node of either device goes to the card if a neighbour is there
 *	prune		nodes that gain less than their copies cost go to the CPU
 *			(partition_cost.c)
 * The devices do not depend on the order of nodes or arguments.
 */
#include <math.h>
#include <string.h>

#include "lower/program.h"
#include "passes.h"

/* ---- operators of the card: NULL, or why a node cannot be there ---- */

static const char *why_not_tensor(const struct vtac_tensor *t)
{
	if (t->data)
		return "An operand is constant; the card's operators take computed ones.";
	if (t->dtype != VTAC_F32)
		return "Its values are integers that the model computes with.";
	if (t->rank < 2 || t->rank > 4)
		return "The card's tensors are pictures or matrices.";
	if (vtac_elements(t) < 1 || vtac_elements(t) > INT32_MAX)
		return "It is empty, or too large for the card's addresses.";
	return NULL;
}

static const char *why_not_weights(const struct vtac_node *node)
{
	if (!node->in[1]->data)
		return "Its weights are not constant.";
	if (node->n_in > 2 && node->in[2] && !node->in[2]->data)
		return "Its bias is not constant.";
	return NULL;
}

static const char *why_not_conv(const struct vtac_node *node)
{
	return why_not_weights(node);
}

static const char *why_not_gemm(const struct vtac_node *node)
{
	const struct vtac_gemm *a = &node->attr.gemm;

	if (a->trans_x || !a->trans_w || a->alpha != 1 || a->beta != 1)
		return "Its matrices are not constant weights times computed rows.";
	if (node->n_in > 2 && node->in[2] && node->in[2]->rank != 1)
		return "Its addend is not one number for each column.";
	return why_not_weights(node);
}

/* Sums of so many products of bytes leave 5 bits to a multiplier. */
#define SUM_MOST	4096

/* The rest is the core's to say: vtac_dry_run(). */
static const char *why_not_product(const struct vtac_node *node)
{
	if (vtac_product_of(node).k > SUM_MOST)
		return "Its sums are of more than 4096 products: 32 bits have no room for a scale.";
	return why_not_tensor(node->in[1]);
}

static bool is_partial(const struct vtac_window *w, const struct vtac_tensor *x,
		       const struct vtac_tensor *y)
{
	for (int i = 0; i < 2; i++)
		if ((y->dims[2 + i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 >
		    x->dims[2 + i] + w->pad[i] + w->pad[2 + i])
			return true;
	return false;
}

static const char *why_not_pool(const struct vtac_node *node)
{
	const struct vtac_window *w = &node->attr.pool;

	if (node->op == VTAC_AVG_POOL && ((vtac_has_padding(w) && !w->count_pad) ||
					  is_partial(w, node->in[0], node->out[0])))
		return
			"Windows at its edges have fewer values; the card divides all by the same "
			"number.";
	return NULL;
}

static const char *why_not_pair(const struct vtac_node *node)
{
	const char *why = why_not_tensor(node->in[0]->data ? node->in[0] : node->in[1]);

	if (vtac_has_form(node))
		return NULL;
	if (why)
		return why;
	if (vtac_same_shape(node->in[0], node->in[1]) || vtac_is_channel_operand(node, 0) ||
	    vtac_is_channel_operand(node, 1))
		return NULL;
	return "Its operands differ in shape other than by a value for each channel.";
}

static const char *why_not_difference(const struct vtac_node *node)
{
	return vtac_has_form(node) ? NULL :
		"The card has it for computed tensors of one shape, or for a constant.";
}

/* One slope for all is a function. */
static const char *why_not_binary(const struct vtac_node *node)
{
	if (node->attr.binary.op != VTACPU_PRELU)
		return "The card has no operator for it.";
	return vtac_has_form(node) ? NULL : "Its slopes are not constant.";
}

/* A step is for the pixels of an image: few pixels of many images are many steps. */
#define PIXELS_LEAST	16

/* Channels keep their images and pixels; see channels.c. */
static const char *why_not_channels(const struct vtac_node *node)
{
	struct vtac_packed s = vtac_packed_shape(node->in[0]);

	if (node->op == VTAC_SPLIT && node->attr.axis.axis != 1)
		return "The card divides channels only.";
	if (node->op == VTAC_SLICE && !vtac_slices_channels(node))
		return "The card takes whole channels only.";
	for (unsigned int i = 1; i < node->n_in; i++) {
		const char *why = why_not_tensor(node->in[i]);

		if (why)
			return why;
	}
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i] && vtac_elements(node->out[i]) < 1)
			return "It is empty, or too large for the card's addresses.";
	if (s.n > 1 && s.h * s.w < PIXELS_LEAST)
		return "Its images have too few pixels for the card to move channels of each.";
	return NULL;
}

/* Parts are contiguous in whole blocks of channels; see align_channels.c. */
static const char *why_not_concat(const struct vtac_node *node)
{
	if (node->attr.axis.axis != 1)
		return "The card joins channels only.";
	for (unsigned int i = 0; i < node->n_in; i++) {
		const char *why = why_not_tensor(node->in[i]);

		if (why)
			return why;
	}
	return NULL;
}

static bool is_whole_scale(const struct vtac_tensor *x, const struct vtac_tensor *y,
			   const struct vtac_resize *r, int i)
{
	const int64_t times = y->dims[i] / x->dims[i];

	return y->dims[i] % x->dims[i] == 0 && r->scale[i] == (float)times;
}

static const char *why_not_resize(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	const struct vtac_resize *r = &node->attr.resize;
	bool half = r->coord == VTAC_HALF_PIXEL || r->coord == VTAC_PYTORCH_HALF_PIXEL ||
		r->coord == VTAC_HALF_PIXEL_SYMMETRIC;
	bool twice = y->dims[2] <= 2 * x->dims[2] && y->dims[3] <= 2 * x->dims[3];
	bool nearest = r->round == VTAC_ROUND_PREFER_FLOOR || r->round == VTAC_ROUND_PREFER_CEIL;

	/* The file's scale counts: 3 pixels times 2.3 are 6, but not each of them twice. */
	if (r->mode != VTAC_NEAREST || x->rank != 4 || !is_whole_scale(x, y, r, 2) ||
	    !is_whole_scale(x, y, r, 3))
		return "The card repeats pixels by whole factors; it does not interpolate.";
	if (half ? nearest : r->coord == VTAC_ASYMMETRIC &&
	    (r->round == VTAC_ROUND_FLOOR || (r->round == VTAC_ROUND_PREFER_FLOOR && twice)))
		return NULL;
	return "Its rounding of coordinates does not repeat each pixel equally often.";
}

static bool is_finite(const struct vtac_tensor *t)
{
	for (int64_t i = 0; t && i < vtac_elements(t); i++)
		if (!isfinite(((const float *)t->data)[i]))
			return false;
	return true;
}

/* Rows of a matrix, or the channels of each pixel; see fuse_norm.c. */
static const char *why_not_norm(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if (node->attr.norm.by_channel ||
	    (!node->attr.norm.across && (x->rank != 2 || node->attr.norm.axis != 1)))
		return "The card normalises rows, or the channels of each pixel.";
	if (x->dims[1] > VTAOPS_NORM_MAX)
		return "It is of more than 8192 values: the squares' sum has over 32 bits.";
	for (unsigned int i = 1; i < node->n_in; i++)
		if (node->in[i] && (!node->in[i]->data || node->in[i]->dtype != VTAC_F32 ||
				    !is_finite(node->in[i])))
			return "Its scale or bias is not constant, or not finite.";
	return node->attr.norm.epsilon >= 0 && isfinite(node->attr.norm.epsilon) ? NULL :
		"Its epsilon is negative or not finite.";
}

/* Functions that lines between 256 inputs cannot follow, or that have no limits. */
static const char *why_not_function(const struct vtac_node *node)
{
	switch (node->op == VTAC_UNARY ? node->attr.unary.kind : VTACPU_ACT_NONE) {
	case VTACPU_ACT_SIN:
	case VTACPU_ACT_COS:
	case VTACPU_ACT_TAN:
		return "The card computes functions by lines, and this one has too many turns.";
	case VTACPU_ACT_LOG:
	case VTACPU_ACT_RECIPROCAL:
	case VTACPU_ACT_ATANH:
		return "It is infinite for some inputs: integers hold no range of such values.";
	case VTACPU_ACT_ASIN:
	case VTACPU_ACT_ACOS:
	case VTACPU_ACT_ACOSH:
		return "It has no result for inputs beyond some limit, which integers may pass.";
	case VTACPU_ACT_POWER:
		return node->attr.unary.alpha > 0 ? NULL :
			"It is infinite for some inputs: integers hold no range of such values.";
	default:
		return NULL;
	}
}

struct card_op {
	bool has;
	bool anchor;	/* worth the card by itself */
	const char *(*why_not)(const struct vtac_node *node);
};

static const struct card_op card_ops[VTAC_OPS] = {
	[VTAC_CONV] = { true, true, why_not_conv },
	[VTAC_CONV_TRANSPOSE] = { true, true, why_not_conv },
	[VTAC_GEMM] = { true, true, why_not_gemm },
	[VTAC_BATCH_GEMM] = { true, true, why_not_product },
	[VTAC_MAX_POOL] = { true, false, why_not_pool },
	[VTAC_AVG_POOL] = { true, false, why_not_pool },
	[VTAC_ADD] = { true, false, why_not_pair }, [VTAC_MUL] = { true, false, why_not_pair },
	[VTAC_SUB] = { true, false, why_not_difference },
	[VTAC_DIV] = { true, false, why_not_difference },
	[VTAC_BINARY] = { true, false, why_not_binary },
	[VTAC_MAX] = { true, false, why_not_pair }, [VTAC_MIN] = { true, false, why_not_pair },
	[VTAC_CLIP] = { true, false, NULL }, [VTAC_CONCAT] = { true, false, why_not_concat },
	[VTAC_SPLIT] = { true, false, why_not_channels },
	[VTAC_SLICE] = { true, false, why_not_channels },
	[VTAC_CHANNELS] = { true, false, why_not_channels },
	[VTAC_RESIZE] = { true, false, why_not_resize },
	[VTAC_RESHAPE] = { true, false, NULL },
	[VTAC_IDENTITY] = { true, false, NULL },
	[VTAC_HARD_SWISH] = { true, false, NULL }, [VTAC_HARD_SIGMOID] = { true, false, NULL },
	[VTAC_LEAKY_RELU] = { true, false, NULL }, [VTAC_UNARY] = { true, false, why_not_function },
	[VTAC_NORM] = { true, false, why_not_norm },
};

static const char *why_not_op(const struct vtac_node *node, const struct vtaops_core *core)
{
	const struct card_op *op = &card_ops[node->op];
	const char *why;

	if (!op->has)
		return "The card has no operator for it.";
	if (node->out[0]->size)
		return "Data decides a size of its output.";
	why = why_not_tensor(node->in[0]->data && vtac_has_form(node) ? node->in[1] : node->in[0]);
	if (!why)
		why = why_not_tensor(node->out[0]);
	if (!why && op->why_not)
		why = op->why_not(node);
	if (!why && node->op == VTAC_RESHAPE &&
	    !vtac_has_same_order(core, node->in[0], node->out[0]))
		why = "It changes which values are channels, and the card keeps those together.";
	if (!why && node->act.kind == VTAC_ACT_LEAKY)
		why = "The card's output stage has no leaky activation.";
	return why;
}

/* ---- what the file quantises ---- */

/* Returns a tensor of @node that the file gives no scale, or NULL. */
static const struct vtac_tensor *lacks_scale(const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in + node->n_out; i++) {
		const struct vtac_tensor *t = i < node->n_in ? node->in[i] :
			node->out[i - node->n_in];

		if (t && !t->data && !vtac_is_given(t))
			return t;
	}
	return NULL;
}

/*
 * Does the file quantise what is computed? Then without images the card has the tensors that have a
 * scale. Others stay float, as quantisers mean it that leave the last layers alone.
 */
static bool is_quantised(const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];

		if (node->op != VTAC_DEQUANTIZE && node->op != VTAC_CLIP &&
		    !vtac_moves_values(node->op) && vtac_is_given(node->out[0]))
			return true;
	}
	return false;
}

static const char *why_not_scaled(struct vtac_graph *g, const struct vtac_node *node)
{
	const struct vtac_tensor *t = lacks_scale(node);

	return t ? vtac_text(g,
			     "The file has no scale for %s: it stays float without images to "
			     "calibrate with.",
			     t->name) : NULL;
}

/* ---- options of the user ---- */

/* Does @from reach a node (down), or a node reach @from (up)? By node id. */
static bool *reach(struct vtac_graph *g, const struct vtac_node *from, bool down)
{
	bool *is = vtac_alloc(g, g->n_nodes + 1u, sizeof(*is));

	if (!is)
		return NULL;
	is[from->id] = true;
	for (unsigned int k = 0; k < g->n_nodes; k++) {
		const struct vtac_node *node = g->nodes[down ? k : g->n_nodes - 1 - k];

		for (unsigned int i = 0; i < node->n_in; i++) {
			const struct vtac_node *p = node->in[i] ? node->in[i]->producer : NULL;

			if (p && down && is[p->id])
				is[node->id] = true;
			if (p && !down && is[node->id])
				is[p->id] = true;
		}
	}
	return is;
}

static struct vtac_node *find_node(struct vtac_graph *g, const char *name)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (!strcmp(g->nodes[i]->name, name))
			return g->nodes[i];
	/* Fused nodes have the name of the first; outputs keep their names. */
	for (unsigned int i = 0; i < g->n_nodes; i++)
		for (unsigned int k = 0; k < g->nodes[i]->n_out; k++)
			if (g->nodes[i]->out[k] && !strcmp(g->nodes[i]->out[k]->name, name))
				return g->nodes[i];
	vtac_fail(g, NULL,
		  "There is no node %.120s, or it became part of another: see --dump-after=fuse.",
		  name);
	return NULL;
}

struct choices {
	bool *after, *before;	/* within --card-from and --card-to; NULL: all */
	bool *cpu;		/* --cpu */
};

static int read_choices(struct vtac_graph *g, const struct vtac_options *opt, struct choices *w)
{
	const struct vtac_node *node;

	w->cpu = vtac_alloc(g, g->n_nodes + 1u, sizeof(*w->cpu));
	if (!w->cpu)
		return -1;
	for (unsigned int i = 0; i < opt->n_cpu; i++) {
		node = find_node(g, opt->cpu[i]);
		if (!node)
			return -1;
		w->cpu[node->id] = true;
	}
	if (opt->card_from) {
		node = find_node(g, opt->card_from);
		w->after = node ? reach(g, node, true) : NULL;
		if (!w->after)
			return -1;
	}
	if (opt->card_to) {
		node = find_node(g, opt->card_to);
		w->before = node ? reach(g, node, false) : NULL;
		if (!w->before)
			return -1;
	}
	return 0;
}

static const char *why_not_chosen(const struct vtac_node *node, const struct vtac_options *opt,
				  const struct choices *w)
{
	if (opt->no_card)
		return "The user keeps all nodes on the CPU (--no-card).";
	if (w->cpu[node->id])
		return "The user keeps it on the CPU (--cpu).";
	if ((w->after && !w->after[node->id]) || (w->before && !w->before[node->id]))
		return "The user gives other nodes to the card (--card-from, --card-to).";
	return NULL;
}

/* ---- annotate ---- */

/*
 * Estimated cycles of an element, for the node that legalize makes of one, and for the formula of a
 * function, which depends on scales: means of tests/vtac/programs/test_functions.c.
 */
#define FORM_CYCLES	12
#define CHANNELS_CYCLES	3
#define FUNCTION_CYCLES	22

static unsigned int element_cycles(const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_UNARY:
		return FUNCTION_CYCLES;
	case VTAC_SPLIT:
	case VTAC_SLICE:
	case VTAC_CHANNELS:
		return CHANNELS_CYCLES;
	case VTAC_HARD_SIGMOID:
		return 5;
	case VTAC_LEAKY_RELU:
		return 8;
	default:
		return FORM_CYCLES;
	}
}

static uint64_t estimate_cycles(const struct vtac_node *node, const struct vtaops_core *core)
{
	struct vtac_packed s = vtac_packed_shape(node->op == VTAC_SPLIT ? node->in[0] :
						 node->out[0]);

	return element_cycles(node) * vtaops_act_bytes(core, s.n, s.c, s.h, s.w) / core->inp_bytes;
}

static int annotate(struct vtac_graph *g, const struct vtac_options *opt)
{
	bool by_file = (!opt->images || !opt->images->count) && is_quantised(g);
	struct choices w = { 0 };

	if (read_choices(g, opt, &w))
		return -1;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *node = g->nodes[i];

		if (vtac_is_shape_op(node->op)) {
			vtac_fail(g, node,
				  "It depends on the model's input values; only constants can be "
				  "used with this operator.");
			if (vtac_refuse(g, node))
				return -1;
			continue;
		}
		node->why = why_not_chosen(node, opt, &w);
		if (!node->why)
			node->why = why_not_op(node, &opt->core);
		if (!node->why && by_file)
			node->why = why_not_scaled(g, node);
		if (!node->why && (vtac_has_form(node) || vtac_is_function(node) ||
				   card_ops[node->op].why_not == why_not_channels))
			node->cycles = estimate_cycles(node, &opt->core);
		else if (!node->why && vtac_dry_run(g, node, opt, &node->cycles, &node->why))
			return -1;
		node->device = node->why ? VTAC_CPU :
			card_ops[node->op].anchor ? VTAC_CARD : VTAC_EITHER;
		if (opt->progress)
			opt->progress(opt->progress_priv, "partitioning", i + 1, g->n_nodes);
	}
	return vtac_refused(g);
}

/* ---- propagate ---- */

static bool has_card_neighbour(const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (t && t->producer && t->producer->device == VTAC_CARD)
			return true;
	}
	for (unsigned int i = 0; i < node->n_out; i++)
		for (unsigned int k = 0; node->out[i] && k < node->out[i]->n_users; k++)
			if (node->out[i]->users[k]->device == VTAC_CARD)
				return true;
	return false;
}

static bool propagate_once(struct vtac_graph *g, bool forward)
{
	bool changed = false;

	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *node = g->nodes[forward ? i : g->n_nodes - 1 - i];

		if (node->device == VTAC_EITHER && has_card_neighbour(node)) {
			node->device = VTAC_CARD;
			changed = true;
		}
	}
	return changed;
}

/* Along edges in both directions, until nothing changes. */
static void propagate(struct vtac_graph *g)
{
	bool changed = true;

	while (changed) {
		changed = propagate_once(g, true);
		changed = propagate_once(g, false) || changed;
	}
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->device == VTAC_EITHER) {
			g->nodes[i]->device = VTAC_CPU;
			g->nodes[i]->why = "No node next to it is on the card.";
		}
}

int vtac_pass_partition(struct vtac_graph *g, const struct vtac_options *opt)
{
	if (annotate(g, opt))
		return -1;
	propagate(g);
	return opt->no_prune ? 0 : vtac_prune(g, opt);
}

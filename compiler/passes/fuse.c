// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `fuse`: fewer, larger nodes. Constants move into weights and biases, pads into
 * windows, activations and residuals into the output stage of what computes their input,
 * and the file's quantisation from nodes to tensors.
 *
 * Rules are tried on all nodes in order until none changes anything. Each makes the graph
 * smaller, or a node into one that no rule makes back, so that ends.
 */
#include <math.h>
#include <string.h>

#include "fuse_impl.h"
#include "passes.h"

int fuse_take(struct vtac_node *first, struct vtac_node *last)
{
	struct vtac_tensor *y = last->out[0];

	vtac_node_remove(last);
	vtac_node_set_out(first, 0, y);
	return 1;
}

struct vtac_node *fuse_from(const struct vtac_graph *g, const struct vtac_tensor *t,
			    enum vtac_op op)
{
	struct vtac_node *node = t ? t->producer : NULL;

	if (!node || node->op != op || t->quant.given || !vtac_only_user(g, t))
		return NULL;
	return node;
}

bool fuse_is_const(const struct vtac_tensor *t)
{
	return t && t->data && t->dtype == VTAC_F32;
}

bool fuse_number(const struct vtac_tensor *t, float *value)
{
	if (!fuse_is_const(t) || vtac_elements(t) != 1)
		return false;
	*value = *(const float *)t->data;
	return true;
}

float *fuse_copy(struct vtac_graph *g, const struct vtac_tensor *t, struct vtac_tensor **copy)
{
	float *data = vtac_alloc(g, (uint64_t)vtac_elements(t) + 1, sizeof(*data));

	if (!data)
		return NULL;
	*copy = vtac_tensor_const(g, t->name, VTAC_F32, t->rank, t->dims, data, false);
	return *copy ? data : NULL;
}

/* ---- activations ---- */

static bool has_stage(const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
	case VTAC_GEMM:
	case VTAC_ADD:
	case VTAC_MUL:
	case VTAC_SUB:
	case VTAC_MAX:
	case VTAC_MIN:
	case VTAC_MAX_POOL:
	case VTAC_AVG_POOL:
		return true;
	default:
		return false;
	}
}

/* Limits within limits. */
static bool join_clips(struct vtac_activation *act, float lo, float hi)
{
	if (act->kind == VTAC_ACT_NONE)
		*act = (struct vtac_activation){ .kind = VTAC_ACT_CLIP, .lo = lo, .hi = hi };
	else if (act->kind != VTAC_ACT_CLIP || act->lo > hi || act->hi < lo)
		return false;
	act->lo = fmaxf(act->lo, lo);
	act->hi = fminf(act->hi, hi);
	return true;
}

static int fuse_activation(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *from = node->in[0]->producer;

	if (node->op != VTAC_CLIP || !from || !has_stage(from) ||
	    !fuse_from(g, node->in[0], from->op) || node->in[0]->dtype != VTAC_F32)
		return 0;
	if (!join_clips(&from->act, node->attr.clip.lo, node->attr.clip.hi))
		return 0;
	return fuse_take(from, node);
}

/*
 * A function that is constant beyond a limit needs no values beyond it, so integers of its input
 * reach only there.
 */
static int fuse_saturation(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *from = node->n_in ? node->in[0]->producer : NULL;
	float alpha = node->attr.unary.alpha, beta = node->attr.unary.beta;
	float lo = -3, hi = INFINITY;

	if (node->op == VTAC_HARD_SIGMOID && alpha > 0) {
		lo = -beta / alpha;
		hi = (1 - beta) / alpha;
	} else if (node->op != VTAC_HARD_SWISH) {
		return 0;
	}
	if (!from || !has_stage(from) || !fuse_from(g, node->in[0], from->op) ||
	    (from->act.kind == VTAC_ACT_CLIP && from->act.lo >= lo && from->act.hi <= hi))
		return 0;
	return join_clips(&from->act, lo, hi);
}

/* ---- residuals ---- */

static struct vtac_node *residual_conv(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	struct vtac_node *conv = fuse_from(g, t, VTAC_CONV);

	if (!conv || conv->act.kind != VTAC_ACT_NONE || (conv->n_in > 3 && conv->in[3]))
		return NULL;
	return conv;
}

/* Of two convolutions the later takes the other's output; none takes a constant of all places. */
static int fuse_residual(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *a, *b;
	struct vtac_tensor *other;

	if (node->op != VTAC_ADD || !vtac_same_shape(node->in[0], node->in[1]) ||
	    node->in[0] == node->in[1])
		return 0;
	a = residual_conv(g, node->in[0]);
	b = residual_conv(g, node->in[1]);
	if (a && b && b->id > a->id)
		a = NULL;
	other = a ? node->in[1] : node->in[0];
	a = a ? a : b;
	if (!a || other->data)
		return 0;
	if (vtac_node_resize_in(g, a, 4) || vtac_node_set_in(g, a, 3, other))
		return -1;
	a->act = node->act;
	return fuse_take(a, node);
}

/* ---- all rules ---- */

/* The file's quantisation comes first: later rules change values. */
static const fuse_rule quant_rules[] = { fuse_cast, fuse_weights, fuse_moved, fuse_quant,
						fuse_border, NULL };
static const fuse_rule rules[] = {
	fuse_shuffle, fuse_gather, fuse_reshapes, fuse_transposes,
	fuse_mean, fuse_matmul, fuse_gemm, fuse_flat_gemm,
	fuse_pad,
	fuse_batch_norm, fuse_channel_mul, fuse_channel_add, fuse_hard_swish, fuse_activation,
	fuse_slope, fuse_power, fuse_limit, fuse_function, fuse_flat_function, fuse_reshaped,
	fuse_flat_pair, fuse_turned_norm, fuse_flat_norm,
	NULL,
};
/* When each product has its term: rows of pixels are pictures. */
static const fuse_rule column_rules[] = { fuse_same_shape, fuse_columns, fuse_reshapes,
					  fuse_transposes, NULL };
/* When nothing else can be done: a convolution takes its bias and scale first. */
static const fuse_rule last_rules[] = { fuse_forward, fuse_lone_batch_norm, fuse_residual,
					fuse_activation, NULL };
/* A factor that no convolution takes, and a term behind it, are one. */
static const fuse_rule lone_rules[] = { fuse_lone_factor, fuse_channel_add, fuse_activation,
					fuse_saturation, NULL };
/* Then nodes become smaller, or two, as what joins them is done. */
static const fuse_rule window_rules[] = { fuse_dead_taps, fuse_wide_pads, fuse_transposed_end,
					  NULL };
/* Products take their operands where the rules before have left them. */
static const fuse_rule product_rules[] = { fuse_product, NULL };

static int apply(struct vtac_graph *g, const fuse_rule *list, bool *changed)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		for (const fuse_rule *rule = list; *rule && !g->nodes[i]->dead; rule++) {
			int done = (*rule)(g, g->nodes[i]);

			if (done < 0)
				return -1;
			*changed = *changed || done;
		}
	return 0;
}

static int exhaust(struct vtac_graph *g, const fuse_rule *list)
{
	bool changed = true;

	while (changed) {
		changed = false;
		if (apply(g, list, &changed) || vtac_graph_dce(g))
			return -1;
	}
	return 0;
}

/* Outputs that are inputs, or constants, are computed: a program's tensor has one role. */
static int compute_outputs(struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_outputs; i++) {
		struct vtac_tensor *x = g->outputs[i], *y;
		struct vtac_node *node;

		if (x->producer)
			continue;
		node = vtac_node_new(g, VTAC_IDENTITY, x->name, 1, 1);
		y = node ? vtac_tensor_shaped(g, x->name, x->dtype, x->rank, x->dims) : NULL;
		if (!y || vtac_node_set_in(g, node, 0, x))
			return -1;
		vtac_node_set_out(node, 0, y);
		g->outputs[i] = y;
	}
	return vtac_graph_dce(g);
}

int vtac_pass_fuse(struct vtac_graph *g, const struct vtac_options *opt)
{
	(void)opt;
	if (exhaust(g, quant_rules) || exhaust(g, rules) || exhaust(g, column_rules) ||
	    exhaust(g, last_rules) || exhaust(g, lone_rules) || exhaust(g, window_rules) ||
	    exhaust(g, product_rules))
		return -1;
	fuse_inherit_scales(g);
	return compute_outputs(g);
}

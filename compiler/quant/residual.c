// SPDX-License-Identifier: Apache-2.0
/*
 * Residuals, fused or not. Calibration collects the range of the sum before the residual, so that
 * quantise may choose. So convolutions are split before calibration, and joined again if that saves
 * cycles.
 */
#include <math.h>

#include "quant_impl.h"

static int split_residual(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *out = node->out[0], *sum, *res = node->in[3];
	struct vtac_node *add;

	sum = vtac_tensor_shaped(g, vtac_text(g, "%s/sum", out->name), out->dtype, out->rank,
				 out->dims);
	add = vtac_node_new(g, VTAC_ADD, vtac_text(g, "%s/add", node->name), 2, 1);
	if (!sum || !add)
		return -1;
	sum->device = node->device;
	add->device = node->device;
	add->file_op = node->file_op;
	add->act = node->act;
	node->act = (struct vtac_activation) { .kind = VTAC_ACT_NONE };
	if (vtac_node_set_in(g, node, 3, NULL))
		return -1;
	vtac_node_set_out(node, 0, sum);
	vtac_node_set_out(add, 0, out);
	return vtac_node_set_in(g, add, 0, sum) || vtac_node_set_in(g, add, 1, res) ? -1 : 0;
}

int vtac_split_residuals(struct vtac_graph *g)
{
	unsigned int n = g->n_nodes;

	for (unsigned int i = 0; i < n; i++) {
		struct vtac_node *node = g->nodes[i];

		if (node->device == VTAC_CARD && !node->dead &&
		    (node->op == VTAC_CONV || node->op == VTAC_GEMM) && node->n_in > 3 &&
		    node->in[3] && split_residual(g, node))
			return -1;
	}
	return vtac_graph_dce(g);
}

struct vtac_node *vtac_residual_sum(const struct vtac_graph *g, const struct vtac_node *add,
				    unsigned int *other)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct vtac_tensor *t = add->in[i];
		struct vtac_node *node = t->producer;

		*other = 1 - i;
		if (node && node->device == VTAC_CARD && vtac_only_user(g, t) == add &&
		    (node->op == VTAC_CONV || node->op == VTAC_GEMM) &&
		    node->act.kind == VTAC_ACT_NONE && (node->n_in < 4 || !node->in[3]) &&
		    add->in[1 - i] != t && !add->in[1 - i]->data &&
		    vtac_same_shape(t, add->in[1 - i]))
			return node;
	}
	return NULL;
}

/* Give @sum a scale that reaches as far as @add's output shows: @res' times a power of two. */
static int scale_sum(struct vtac_graph *g, const struct vtac_node *add, struct vtac_tensor *sum,
		     const struct vtac_tensor *res)
{
	float *scale = vtac_alloc(g, 1, sizeof(*scale)), most, lo, hi, res_lo, res_hi;

	if (!scale)
		return -1;
	vtac_given_range(add->out[0], add->out[0]->quant.type == VTAC_U8 ? 0 : -128, &lo, &hi);
	vtac_given_range(res, res->quant.type == VTAC_U8 ? 0 : -128, &res_lo, &res_hi);
	most = fmaxf(fabsf(lo - res_hi), fabsf(hi - res_lo));
	*scale = res->quant.scale[0] * exp2f(ceilf(log2f(most / 127 / res->quant.scale[0])));
	sum->quant = (struct vtac_quant) { .scale = scale, .n = 1, .type = VTAC_I8, .given = true };
	return 0;
}

int vtac_scale_sums(struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *add = g->nodes[i];
		unsigned int other;

		if (add->op != VTAC_ADD || add->device != VTAC_CARD ||
		    !vtac_residual_sum(g, add, &other) || vtac_is_given(add->in[1 - other]))
			continue;
		if (scale_sum(g, add, add->in[1 - other], add->in[other]))
			return -1;
	}
	return 0;
}

/* Make @add a residual of its convolution again. */
static int join_residual(struct vtac_graph *g, struct vtac_node *add)
{
	unsigned int other;
	struct vtac_node *node = vtac_residual_sum(g, add, &other);
	struct vtac_tensor *res, *out = add->out[0];

	if (!node)
		return vtac_fail(g, add, "It is not a residual.");
	res = add->in[other];
	if (node->n_in < 4 && vtac_node_resize_in(g, node, 4))
		return -1;
	node->act = add->act;
	vtac_node_remove(add);
	vtac_node_set_out(node, 0, out);
	return vtac_node_set_in(g, node, 3, res);
}

/*
 * The residual, multiplied or shifted left, has the scale of the sum that it is added to: it
 * must not be finer than the sum's. Two bits are left for the alignment of scales.
 */
static bool can_join(const struct quantiser *q, const struct vtac_node *node,
		     const struct vtac_tensor *res)
{
	const struct vtac_tensor *w = node->in[1];
	float most = greatest_size(w->data, vtac_elements(w));

	return calibrated(q, res, 2 * q->in_top + 1) >
	       4 * calibrated(q, node->in[0], q->in_top) * most / (float)q->wgt_top;
}

/* Without a way to multiply the residual, integers of other widths keep the addition. */
int vtac_pass_residual(struct vtac_graph *g, const struct vtac_options *opt)
{
	const struct quantiser q = quantiser_of(g, opt);

	if (q.how.residual == VTAC_RESIDUAL_ADD || opt->core.log_inp_width != 3)
		return 0;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *add = g->nodes[i], *node;
		unsigned int other;

		if (add->op != VTAC_ADD || add->device != VTAC_CARD || add->dead)
			continue;
		node = vtac_residual_sum(g, add, &other);
		if (node && can_join(&q, node, add->in[other]) && join_residual(g, add))
			return -1;
	}
	return vtac_graph_dce(g);
}

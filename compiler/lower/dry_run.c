// SPDX-License-Identifier: Apache-2.0
/* Lower one node without storage: the cycles that it takes, or why it does not fit. */
#include "lower_impl.h"

bool vtac_is_channel_operand(const struct vtac_node *node, unsigned int i)
{
	const struct vtac_tensor *t = node->in[i], *y = node->out[0];

	return t->rank == 4 && y->rank == 4 && t->dims[0] == y->dims[0] &&
	       t->dims[1] == y->dims[1] && t->dims[2] == 1 && t->dims[3] == 1 &&
	       y->dims[2] * y->dims[3] > 1 && vtac_same_shape(node->in[1 - i], y);
}

static bool is_depthwise(const struct vtac_node *node)
{
	return node->op == VTAC_CONV && node->in[1]->dims[1] == 1 && node->attr.conv.groups > 1 &&
	       node->in[1]->dims[0] == node->attr.conv.groups &&
	       (node->n_in < 4 || !node->in[3]);
}

/* Aligned addresses far from each other: the cycles do not depend on them. */
#define APART	(INT64_C(128) << 20)
/* Of the low half of a result of 16 bits, whose node has five inputs at most */
#define LOW_AT	(6 * APART)

static void set_offsets(struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i])
			node->in[i]->offset = i % 7 * APART;
	node->out[0]->offset = 7 * APART;
}

static void clear_offsets(struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i])
			node->in[i]->offset = -1;
	node->out[0]->offset = -1;
}

int vtac_dry_run(struct vtac_graph *g, struct vtac_node *node, const struct vtac_options *opt,
		 uint64_t *cycles, const char **why)
{
	struct vtac_program p = { .core = opt->core };
	struct lowering l = { .g = g, .opt = opt, .p = &p, .identity = VTAIMAGE_MODEL,
			      .norm_tables = VTAIMAGE_MODEL,
			      .card_scratch_at = 8 * APART };
	struct lowered constants;
	const struct vtac_node *low = vtac_low_of(node);
	bool weights = node->op == VTAC_CONV || node->op == VTAC_CONV_TRANSPOSE ||
		node->op == VTAC_GEMM;
	bool starts = weights && (node->n_in < 4 || !node->in[3]) && !low;
	bool norm = node->op == VTAC_NORM;

	*cycles = 0;
	*why = NULL;
	constants = (struct lowered) {
		.wgt = VTAIMAGE_MODEL, .start = starts ? VTAIMAGE_MODEL : 0,
		.res_muls = node->n_in > 4 && node->in[4] ? VTAIMAGE_MODEL : 0,
		.bias = norm || (weights && (!starts || is_depthwise(node))) ? VTAIMAGE_MODEL : 0,
		.muls = norm || weights ? VTAIMAGE_MODEL : 0,
		.depthwise = is_depthwise(node) ? VTAIMAGE_MODEL : 0,
		.ones = VTAIMAGE_MODEL,
	};
	l.constants = &constants;
	l.first_id = node->id;
	l.node = node;
	vtaops_begin(&l.b, &p.core, NULL, 0, NULL, 0, 0);
	set_offsets(node);
	if (low)
		low->out[0]->offset = LOW_AT;
	lower_node(&l, node);
	clear_offsets(node);
	if (low)
		low->out[0]->offset = -1;
	*cycles = l.b.cycles;
	if (l.b.error)
		*why = vtac_text(g, "The core cannot do it: %s.", l.b.why);
	return l.b.error && !*why ? -1 : 0;
}

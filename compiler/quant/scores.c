// SPDX-License-Identifier: Apache-2.0
/*
 * The tensors that a search of options compares: the outputs of the network, as the CPU computes
 * them of the card's results. Noise of the card's last tensors says little of them where the
 * network goes on: attention makes much of it, or nothing. Places, selections and other results
 * that jump are as near as their operands, which are compared in their stead.
 */
#include <math.h>

#include "quant_impl.h"

static bool has_steps(const struct vtac_node *node)
{
	if (node->op == VTAC_SOFTMAX)
		return node->attr.softmax.hard;
	if (node->op != VTAC_UNARY)
		return false;
	switch (node->attr.unary.kind) {
	case VTACPU_ACT_FLOOR:
	case VTACPU_ACT_CEIL:
	case VTACPU_ACT_ROUND:
	case VTACPU_ACT_SIGN:
		return true;
	default:
		return false;
	}
}

/* Facts of tensors, by id */
struct seen {
	bool *noisy;			/* the card's results are in it */
	bool *jumps;			/* noisy, and a little more noise may change it much */
	bool *wanted, *scores;		/* to be compared: it, or what it is made of; and itself */
};

/* Integers of noisy floats jump, too: places, comparisons, numbers. */
static void see_node(struct seen *s, const struct vtac_node *node)
{
	bool card = node->device == VTAC_CARD || node->op == VTAC_DEQUANTIZE;
	bool noisy = card, jumps = has_steps(node);

	for (unsigned int i = 0; i < node->n_in && !card; i++) {
		noisy = noisy || (node->in[i] && s->noisy[node->in[i]->id]);
		jumps = jumps || (node->in[i] && s->jumps[node->in[i]->id]);
	}
	for (unsigned int i = 0; i < node->n_out; i++) {
		const struct vtac_tensor *t = node->out[i];

		if (!t)
			continue;
		s->noisy[t->id] = noisy;
		s->jumps[t->id] = noisy && !card && node->op != VTAC_COPY &&
				  (jumps || t->dtype != VTAC_F32);
	}
}

/*
 * Returns the tensor that @t is compared by. Probabilities of a Softmax are all or nothing where
 * the network is sure, so that a few images say little of them: its scores are compared.
 */
static const struct vtac_tensor *compared_form(const struct vtac_tensor *t)
{
	const struct vtac_tensor *from = t;

	while (from->producer && (from->producer->op == VTAC_RESHAPE ||
				  from->producer->op == VTAC_IDENTITY ||
				  from->producer->op == VTAC_TRANSPOSE))
		from = from->producer->in[0];
	if (from->producer && from->producer->op == VTAC_SOFTMAX)
		t = from->producer->in[0];
	return t->producer && t->producer->op == VTAC_DEQUANTIZE ?
		vtac_before_copies(t->producer->in[0]) : t;
}

/* From the last node on */
static void mark_scores(struct seen *s, const struct vtac_node *node)
{
	bool goes_on = false;

	for (unsigned int i = 0; i < node->n_out; i++) {
		const struct vtac_tensor *t = node->out[i];

		if (!t || !s->wanted[t->id] || !s->noisy[t->id])
			continue;
		goes_on = goes_on || s->jumps[t->id];
		if (!s->jumps[t->id])
			s->scores[compared_form(t)->id] = true;
	}
	for (unsigned int i = 0; i < node->n_in && goes_on; i++)
		if (node->in[i])
			s->wanted[node->in[i]->id] = true;
}

bool *vtac_find_scores(struct vtac_graph *g)
{
	struct seen s = {
		.noisy = vtac_alloc(g, g->next_id, 1), .jumps = vtac_alloc(g, g->next_id, 1),
		.wanted = vtac_alloc(g, g->next_id, 1), .scores = vtac_alloc(g, g->next_id, 1),
	};

	if (!s.noisy || !s.jumps || !s.wanted || !s.scores)
		return NULL;
	for (unsigned int i = 0; i < g->n_nodes; i++)
		see_node(&s, g->nodes[i]);
	for (unsigned int i = 0; i < g->n_outputs; i++)
		s.wanted[g->outputs[i]->id] = true;
	for (unsigned int i = g->n_nodes; i-- > 0;)
		mark_scores(&s, g->nodes[i]);
	return s.scores;
}

/* Of each, the mean of the images' own ratios, so that one clipped image does not decide */
double vtac_noise_of_scores(const struct vtac_accuracy *a)
{
	double sum = 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < a->n_sqnr; i++) {
		if (a->each[i] == 0)
			continue;
		sum += pow(10, -a->each[i] / 10);
		n++;
	}
	return n ? sum / n : pow(10, -a->output_sqnr / 10);
}

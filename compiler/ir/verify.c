// SPDX-License-Identifier: Apache-2.0
/* Verify a graph: order, users and producers, and the properties that passes establish. */
#include <stdlib.h>

#include "graph.h"

/*
 * By tensor id: 0 if the tensor's users are the nodes that use it, in this order or another: each
 * use adds a number of the node, and each user subtracts it.
 */
static uint64_t *compare_users(struct vtac_graph *g)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;
	uint64_t *sums = calloc(g->next_id + 1u, sizeof(*sums));

	for (unsigned int i = 0; sums && i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];

		for (unsigned int k = 0; k < node->n_in; k++)
			if (node->in[k])
				sums[node->in[k]->id] += (node->id + odd) * (node->id + odd);
	}
	for (unsigned int i = 0; sums && i < g->n_tensors; i++) {
		const struct vtac_tensor *t = g->tensors[i];

		for (unsigned int k = 0; k < t->n_users; k++)
			sums[t->id] -= (t->users[k]->id + odd) * (t->users[k]->id + odd);
	}
	if (!sums)
		vtac_fail(g, NULL, "Out of memory.");
	return sums;
}

static unsigned int count_uses(const struct vtac_node *node, const struct vtac_tensor *t)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < node->n_in; i++)
		n += node->in[i] == t;
	return n;
}

static unsigned int count_users(const struct vtac_tensor *t, const struct vtac_node *node)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < t->n_users; i++)
		n += t->users[i] == node;
	return n;
}

/* @sum: of compare_users(); only if it is not 0, the nodes are counted. */
static int check_input(struct vtac_graph *g, const struct vtac_node *node,
		       const struct vtac_tensor *t, uint64_t sum)
{
	if (sum && count_users(t, node) != count_uses(node, t))
		return vtac_fail(g, node, "Internal error: users of %.120s are wrong.", t->name);
	if (t->producer && t->producer->id >= node->id)
		return vtac_fail(g, node, "Internal error: it comes before its input %.120s.",
				 t->name);
	if (t->producer && t->producer->dead)
		return vtac_fail(g, node, "Internal error: its input %.120s has been removed.",
				 t->name);
	return 0;
}

static int check_node(struct vtac_graph *g, const struct vtac_node *node, const uint64_t *sums)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i] && check_input(g, node, node->in[i], sums[node->in[i]->id]))
			return -1;
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i] && node->out[i]->producer != node)
			return vtac_fail(g, node, "Internal error: not the producer of %.120s.",
					 node->out[i]->name);
	return 0;
}

/* ---- properties: NULL, or why a node lacks one ---- */

static bool has_shape(const struct vtac_tensor *t)
{
	return !t || vtac_elements(t) >= 0;
}

static const char *why_not_shaped(const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (!has_shape(node->in[i]))
			return "an input has no shape";
	for (unsigned int i = 0; i < node->n_out; i++)
		if (!has_shape(node->out[i]))
			return "an output has no shape";
	return NULL;
}

static const char *why_not_partitioned(const struct vtac_node *node)
{
	return node->device == VTAC_EITHER ? "it has no device" : NULL;
}

static const char *why_not_legal(const struct vtac_node *node)
{
	if (node->device != VTAC_CARD)
		return NULL;
	if (node->act.kind == VTAC_ACT_LEAKY)
		return "the card has no such operator";
	return NULL;
}

static const char *why_not_aligned(const struct vtac_node *node, int64_t block)
{
	if (node->device != VTAC_CARD || node->op != VTAC_CONCAT)
		return NULL;
	for (unsigned int i = 0; i + 1 < node->n_in; i++)
		if (node->in[i]->dims[1] % block)
			return "a part is not whole blocks of channels";
	return NULL;
}

/* A residual's sum has no range of its own: quantise takes it from the residual. */
static bool is_residual_sum(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	const struct vtac_node *user = vtac_only_user(g, t);

	return t->producer && (t->producer->op == VTAC_CONV || t->producer->op == VTAC_GEMM) &&
	       user && user->op == VTAC_ADD;
}

static const char *why_not_calibrated(const struct vtac_graph *g, const struct vtac_node *node)
{
	if (node->device != VTAC_CARD)
		return NULL;
	for (unsigned int i = 0; i < node->n_in + node->n_out; i++) {
		const struct vtac_tensor *t = i < node->n_in ? node->in[i] :
			node->out[i - node->n_in];

		if (t && !t->data && !t->stats && !t->quant.given && !is_residual_sum(g, t))
			return "a tensor has no range";
	}
	return NULL;
}

static const char *why_not_chosen(const struct vtac_graph *g, const struct vtac_node *node)
{
	return node->device == VTAC_CARD && !g->how && !node->out[0]->quant.given ?
		"nothing says how to quantise it" : NULL;
}

static const char *why_not_requantized(const struct vtac_node *node)
{
	bool sums = node->op == VTAC_CONV || node->op == VTAC_CONV_TRANSPOSE ||
		    node->op == VTAC_GEMM;

	if (node->device != VTAC_CARD)
		return NULL;
	if (sums && node->in[1]->dtype != VTAC_I8)
		return "its weights are no integers";
	if ((sums || node->op == VTAC_BATCH_GEMM || node->op == VTAC_ADD ||
	     node->op == VTAC_MUL || node->op == VTAC_CLIP) &&
	    (!node->post.mul || !node->post.shift))
		return "it has no output stage";
	if (node->post.around < -128 || node->post.around > 127 ||
	    (node->post.around && node->op != VTAC_CONV))
		return "there is something around its input";
	if (vtac_is_function(node) && !node->post.function)
		return "it has no formula";
	if (node->op == VTAC_NORM && (!node->post.norm.c || !node->post.mul || !node->post.shift))
		return "it has no form";
	return node->post.lo > node->post.hi ? "its limits leave no integer" : NULL;
}

static bool is_card_integer(const struct vtac_tensor *t)
{
	return t->dtype == VTAC_I8 && t->quant.scale &&
	       (t->data || (t->device == VTAC_CARD && t->layout == VTAC_PACKED));
}

static const char *why_not_quantised(const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in + node->n_out; i++) {
		const struct vtac_tensor *t = i < node->n_in ? node->in[i] :
			node->out[i - node->n_in];

		if (t && node->device == VTAC_CARD && !is_card_integer(t))
			return "a tensor of the card is not of its integers";
		if (t && node->device != VTAC_CARD && node->op != VTAC_COPY &&
		    t->device == VTAC_CARD)
			return "the CPU uses a tensor of the card";
	}
	return NULL;
}

static bool has_offset(const struct vtac_tensor *t)
{
	return !t || t->data || t->offset >= 0;
}

static const char *why_not_planned(const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (!has_offset(node->in[i]))
			return "an input has no place in memory";
	for (unsigned int i = 0; i < node->n_out; i++)
		if (!has_offset(node->out[i]))
			return "an output has no place in memory";
	return NULL;
}

/* @before: the node before, or NULL */
static const char *why_not_scheduled(const struct vtac_node *node, const struct vtac_node *before)
{
	int region = -1;

	if (node->device == VTAC_CARD)
		region = !before ? 0 : node->region;
	if (node->device == VTAC_CARD && before && before->device == VTAC_CARD)
		region = before->region;
	return node->region == region ? NULL : "it is in another region";
}

static const char *why_not(const struct vtac_graph *g, unsigned int i, unsigned int holds,
			   int64_t block)
{
	const struct vtac_node *node = g->nodes[i];
	const char *why = NULL;

	if (holds & VTAC_SHAPED)
		why = why_not_shaped(node);
	if (!why && (holds & VTAC_PARTITIONED))
		why = why_not_partitioned(node);
	if (!why && (holds & VTAC_LEGAL))
		why = why_not_legal(node);
	if (!why && (holds & VTAC_ALIGNED))
		why = why_not_aligned(node, block);
	if (!why && (holds & VTAC_CHOSEN))
		why = why_not_chosen(g, node);
	if (!why && (holds & VTAC_CALIBRATED))
		why = why_not_calibrated(g, node);
	if (!why && (holds & VTAC_SCALED) && node->device == VTAC_CARD && !g->quantiser)
		why = "nothing has chosen scales";
	if (!why && (holds & VTAC_REQUANTIZED))
		why = why_not_requantized(node);
	if (!why && (holds & VTAC_QUANTISED))
		why = why_not_quantised(node);
	if (!why && (holds & VTAC_SCHEDULED))
		why = why_not_scheduled(node, i ? g->nodes[i - 1] : NULL);
	if (!why && (holds & VTAC_PLANNED))
		why = why_not_planned(node);
	return why;
}

static int verify_nodes(struct vtac_graph *g, unsigned int holds, int64_t block,
			const uint64_t *sums)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		const char *why;
		int err = 0;

		if (node->id != i)
			err = vtac_fail(g, node, "Internal error: not at its place.");
		else
			err = check_node(g, node, sums);
		why = err ? NULL : why_not(g, i, holds, block);
		if (why)
			err = vtac_fail(g, node, "Internal error: %s.", why);
		if (err) {
			g->error.internal = true;
			return -1;
		}
	}
	return 0;
}

int vtac_graph_verify(struct vtac_graph *g, unsigned int holds, int64_t block)
{
	uint64_t *sums = compare_users(g);
	int err = sums ? verify_nodes(g, holds, block, sums) : -1;

	free(sums);
	return err;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `propagate`: a node that could be on either device goes to the card if any of
 * its neighbours is there, along edges in both directions, until nothing changes. What
 * the card reaches does not depend on the order of nodes or arguments. So a residual
 * block stays on the card with its additions, whichever operand comes first.
 */
#include "passes.h"

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

static bool sweep(struct vtac_graph *g, bool forward)
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

int vtac_pass_propagate(struct vtac_graph *g, const struct vtac_options *opt)
{
	bool changed = true;

	(void)opt;
	while (changed) {
		changed = sweep(g, true);
		changed = sweep(g, false) || changed;
	}
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->device == VTAC_EITHER) {
			g->nodes[i]->device = VTAC_CPU;
			g->nodes[i]->why = "No node next to it is on the card.";
		}
	return 0;
}

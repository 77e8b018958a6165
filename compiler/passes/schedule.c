// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `schedule`: the order in which nodes run. The card and the CPU take turns, each with all
 * nodes that are ready: as few changes, and doorbells, as the graph allows. Nodes that are ready
 * keep the graph's order.
 */
#include <string.h>

#include "passes.h"

/*
 * The turn in which @node runs, by the turns of nodes before it: those of the CPU are even, those
 * of the card odd.
 */
static unsigned int turn_of(const struct vtac_node *node, const unsigned int *turns)
{
	unsigned int turn = node->device == VTAC_CARD;

	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_node *from = node->in[i] ? node->in[i]->producer : NULL;
		unsigned int after = from ? turns[from->id] + (from->device != node->device) : 0;

		turn = after > turn ? after : turn;
	}
	return turn;
}

int vtac_pass_schedule(struct vtac_graph *g, const struct vtac_options *opt)
{
	struct vtac_node **nodes = vtac_alloc(g, g->n_nodes + 1u, sizeof(void *));
	unsigned int *turns = vtac_alloc(g, g->n_nodes + 1u, sizeof(turns[0]));
	/* The number of nodes in each turn, then the place of its next one */
	unsigned int *at = vtac_alloc(g, g->n_nodes + 2u, sizeof(at[0])), n = 0;
	int region = -1;

	(void)opt;
	if (!nodes || !turns || !at)
		return -1;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		turns[i] = turn_of(g->nodes[i], turns);
		at[turns[i]]++;
	}
	for (unsigned int i = 0; i < g->n_nodes + 2u; i++) {
		unsigned int count = at[i];

		at[i] = n;
		n += count;
	}
	for (unsigned int i = 0; i < g->n_nodes; i++)
		nodes[at[turns[i]]++] = g->nodes[i];
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		bool card = nodes[i]->device == VTAC_CARD;

		region += card && (!i || nodes[i - 1]->device != VTAC_CARD);
		nodes[i]->region = card ? region : -1;
		nodes[i]->id = i;
	}
	g->nodes = nodes;
	g->max_nodes = g->n_nodes;
	return 0;
}

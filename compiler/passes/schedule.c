// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `schedule`: the order in which nodes run. The card and the CPU take turns, each with all
 * nodes that are ready: as few changes, and doorbells, as the graph allows. Nodes that are ready
 * keep the graph's order.
 */
#include <string.h>

#include "passes.h"

struct order {
	struct vtac_graph *g;
	struct vtac_node **nodes;
	bool *done;		/* by node id */
	unsigned int n;
};

static bool ready(const struct order *o, const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i] && node->in[i]->producer &&
		    !o->done[node->in[i]->producer->id])
			return false;
	return true;
}

/* All that @device can do now. One pass is enough: the graph is in order. */
static void run(struct order *o, enum vtac_device device, int region)
{
	for (unsigned int i = 0; i < o->g->n_nodes; i++) {
		struct vtac_node *node = o->g->nodes[i];

		if (node->device != device || o->done[i] || !ready(o, node))
			continue;
		o->done[i] = true;
		o->nodes[o->n++] = node;
		node->region = region;
	}
}

int vtac_pass_schedule(struct vtac_graph *g, const struct vtac_options *opt)
{
	struct order o = { .g = g };
	int region = 0;

	(void)opt;
	o.nodes = vtac_alloc(g, g->n_nodes + 1u, sizeof(void *));
	o.done = vtac_alloc(g, g->n_nodes + 1u, sizeof(o.done[0]));
	if (!o.nodes || !o.done)
		return -1;
	while (o.n < g->n_nodes) {
		unsigned int before = o.n;

		run(&o, VTAC_CPU, -1);
		if (o.n < g->n_nodes) {
			unsigned int begin = o.n;

			run(&o, VTAC_CARD, region);
			region += o.n > begin;
		}
		if (o.n == before)
			return vtac_fail(g, NULL, "Internal error: the graph has no order.");
	}
	g->nodes = o.nodes;
	g->max_nodes = g->n_nodes;
	for (unsigned int i = 0; i < g->n_nodes; i++)
		g->nodes[i]->id = i;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Remove dead nodes and tensors, and sort nodes in topological order. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

enum colour { WHITE, OPEN, DONE };

struct walk {
	struct vtac_graph *g;
	struct vtac_node **nodes;	/* in the new order */
	struct vtac_node **stack;	/* path from the node where the walk began */
	unsigned int *slot;		/* next input of each node of the path */
	unsigned char *colour;		/* by position in g->nodes */
	unsigned int n;
};

/* A node's id is its position while a walk is under way. */
static int walk_from(struct walk *w, struct vtac_node *first)
{
	unsigned int depth = 0;

	if (w->colour[first->id] == DONE)
		return 0;
	w->stack[depth] = first;
	w->slot[depth++] = 0;
	w->colour[first->id] = OPEN;
	while (depth) {
		struct vtac_node *node = w->stack[depth - 1];
		struct vtac_tensor *t;

		if (w->slot[depth - 1] == node->n_in) {
			w->colour[node->id] = DONE;
			w->nodes[w->n++] = node;
			depth--;
			continue;
		}
		t = node->in[w->slot[depth - 1]++];
		if (!t || !t->producer || w->colour[t->producer->id] == DONE)
			continue;
		if (w->colour[t->producer->id] == OPEN)
			return vtac_fail(w->g, node, "Its input %.120s depends on its own output.",
					 t->name);
		w->stack[depth] = t->producer;
		w->slot[depth++] = 0;
		w->colour[t->producer->id] = OPEN;
	}
	return 0;
}

/* Walk from the node that computes the size of @t. */
static int walk_size(struct walk *w, const struct vtac_tensor *t)
{
	const struct vtac_tensor *size = t ? t->size : NULL;

	return size && size->producer ? walk_from(w, size->producer) : 0;
}

/* The nodes that outputs need, in w->nodes, and those that compute the sizes of their tensors. */
static int walk_outputs(struct walk *w)
{
	for (unsigned int i = 0; i < w->g->n_outputs; i++)
		if ((w->g->outputs[i]->producer && walk_from(w, w->g->outputs[i]->producer)) ||
		    walk_size(w, w->g->outputs[i]))
			return -1;
	for (unsigned int i = 0; i < w->n; i++)
		for (unsigned int k = 0; k < w->nodes[i]->n_out; k++)
			if (walk_size(w, w->nodes[i]->out[k]))
				return -1;
	return 0;
}

static int walk_in_order(struct walk *w)
{
	struct vtac_graph *g = w->g;
	unsigned char *live = vtac_alloc(g, g->n_nodes + 1u, 1);

	if (!live)
		return -1;
	for (unsigned int i = 0; i < w->n; i++)
		live[w->nodes[i]->id] = 1;
	memset(w->colour, WHITE, g->n_nodes);
	w->n = 0;
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (live[i] && walk_from(w, g->nodes[i]))
			return -1;
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (!live[i] && !g->nodes[i]->dead)
			vtac_node_remove(g->nodes[i]);
	return 0;
}

static bool tensor_is_input(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (g->inputs[i] == t)
			return true;
	return false;
}

static void remove_dead_tensors(struct vtac_graph *g)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_tensor *t = g->tensors[i];

		if (t->producer || t->n_users || vtac_is_output(g, t) || tensor_is_input(g, t))
			g->tensors[n++] = t;
	}
	g->n_tensors = n;
}

int vtac_graph_dce(struct vtac_graph *g)
{
	struct walk w = { .g = g };

	for (unsigned int i = 0; i < g->n_nodes; i++)
		g->nodes[i]->id = i;
	w.nodes = vtac_alloc(g, g->n_nodes, sizeof(void *));
	w.stack = vtac_alloc(g, g->n_nodes, sizeof(void *));
	w.slot = vtac_alloc(g, g->n_nodes, sizeof(w.slot[0]));
	w.colour = vtac_alloc(g, g->n_nodes + 1u, 1);
	if (!w.nodes || !w.stack || !w.slot || !w.colour)
		return -1;
	if (walk_outputs(&w) || walk_in_order(&w))
		return -1;
	g->nodes = w.nodes;
	g->max_nodes = g->n_nodes;
	g->n_nodes = w.n;
	for (unsigned int i = 0; i < g->n_nodes; i++)
		g->nodes[i]->id = i;
	remove_dead_tensors(g);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* A graph once more, to try something on it, while the first one lives or until it becomes that. */
#include <stdlib.h>

#include "graph.h"

/* The tensor keeps its identity; all other fields are copied from @from. */
static void copy_tensor(struct vtac_tensor *t, const struct vtac_tensor *from)
{
	struct vtac_tensor own = *t;

	*t = *from;
	t->id = own.id;
	t->name = own.name;
	t->producer = NULL;
	t->users = NULL;
	t->n_users = 0;
	t->max_users = 0;
	t->home = NULL;
	t->bounds = NULL;
}

static int copy_tensors(struct vtac_graph *g, const struct vtac_graph *from,
			struct vtac_tensor **map)
{
	for (unsigned int i = 0; i < from->n_tensors; i++) {
		struct vtac_tensor *t = vtac_tensor_new(g, from->tensors[i]->name,
							from->tensors[i]->dtype);

		if (!t)
			return -1;
		copy_tensor(t, from->tensors[i]);
		map[from->tensors[i]->id] = t;
	}
	for (unsigned int i = 0; i < from->n_tensors; i++) {
		if (g->tensors[i]->size)
			g->tensors[i]->size = map[g->tensors[i]->size->id];
		if (g->tensors[i]->coarse)
			g->tensors[i]->coarse = map[g->tensors[i]->coarse->id];
	}
	return 0;
}

static int copy_node(struct vtac_graph *g, const struct vtac_node *from,
		     struct vtac_tensor *const *map)
{
	struct vtac_node *node = vtac_node_new(g, from->op, from->name, from->n_in, from->n_out);

	if (!node)
		return -1;
	node->id = from->id;
	node->file_op = from->file_op;
	node->attr = from->attr;
	node->act = from->act;
	node->post = from->post;
	node->device = from->device;
	node->why = from->why;
	node->region = from->region;
	node->cycles = from->cycles;
	node->hessian = from->hessian;
	node->joins = from->joins;
	node->precise = from->precise;
	node->named = from->named;
	for (unsigned int i = 0; i < from->n_in; i++)
		if (from->in[i] && vtac_node_set_in(g, node, i, map[from->in[i]->id]))
			return -1;
	for (unsigned int i = 0; i < from->n_out; i++)
		if (from->out[i])
			vtac_node_set_out(node, i, map[from->out[i]->id]);
	return 0;
}

static int copy_all(struct vtac_graph *g, const struct vtac_graph *from)
{
	struct vtac_tensor **map = vtac_alloc(g, from->next_id + 1u, sizeof(void *));

	if (!map || copy_tensors(g, from, map))
		return -1;
	for (unsigned int i = 0; i < from->n_nodes; i++)
		if (copy_node(g, from->nodes[i], map))
			return -1;
	for (unsigned int i = 0; i < from->n_inputs; i++)
		if (vtac_graph_input(g, map[from->inputs[i]->id]))
			return -1;
	for (unsigned int i = 0; i < from->n_outputs; i++) {
		if (vtac_graph_output(g, map[from->outputs[i]->id]))
			return -1;
		g->output_names[i] = from->output_names[i];
	}
	return 0;
}

struct vtac_graph *vtac_graph_clone(const struct vtac_graph *from)
{
	struct vtac_graph *g = vtac_graph_new(from->arena.limit);

	if (!g)
		return NULL;
	g->name = from->name;
	g->crew = from->crew;
	g->n_sizes = from->n_sizes;
	g->has_sizes = from->has_sizes;
	if (!copy_all(g, from))
		return g;
	vtac_graph_free(g);
	return NULL;
}

void vtac_graph_keep(struct vtac_graph *g, struct vtac_graph *from)
{
	arena_take(&g->arena, &from->arena);
	free(from);
}

void vtac_graph_become(struct vtac_graph *g, struct vtac_graph *from)
{
	g->nodes = from->nodes;
	g->n_nodes = from->n_nodes;
	g->max_nodes = from->max_nodes;
	g->tensors = from->tensors;
	g->n_tensors = from->n_tensors;
	g->max_tensors = from->max_tensors;
	g->inputs = from->inputs;
	g->n_inputs = from->n_inputs;
	g->max_inputs = from->max_inputs;
	g->outputs = from->outputs;
	g->n_outputs = from->n_outputs;
	g->max_outputs = from->max_outputs;
	g->output_names = from->output_names;
	g->max_output_names = from->max_output_names;
	g->next_id = from->next_id;
	g->names = from->names;
	vtac_graph_keep(g, from);
}

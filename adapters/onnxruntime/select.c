// SPDX-License-Identifier: Apache-2.0
/*
 * The choice of a graph's nodes for the card.
 *
 * A node is taken if the compiler takes it, whether it then runs on the card or, between nodes of
 * the card, on the CPU. Taken nodes form parts: ONNX Runtime computes each in one call, so that no
 * path may leave a part and enter it again. The level of a node is the number of times that a path
 * to it can leave taken nodes for others; nodes of one level that are connected are a part. Parts
 * that the compiler would leave on the CPU as a whole are given back to ONNX Runtime.
 */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

struct choose {
	struct graph *g;
	const struct choice *how;
	bool *taken;		/* of nodes */
	size_t *part;		/* of nodes: the least node of its part */
	size_t *level;		/* of nodes */
	struct use *use;	/* of values, by the part at hand */
	bool changed;		/* a node was given back */
};

/* A value, as a part uses it */
struct use {
	bool made, needed, wanted;	/* within it, within it, by others */
};

/* ---- levels and parts ---- */

static size_t find_part(size_t *part, size_t i)
{
	while (part[i] != i) {
		part[i] = part[part[i]];
		i = part[i];
	}
	return i;
}

static void find_parts(struct choose *c)
{
	const struct graph *g = c->g;
	size_t *level = c->level;

	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct node *node = &g->nodes[i];

		level[i] = 0;
		c->part[i] = i;
		for (size_t k = 0; k < node->n_in; k++) {
			ptrdiff_t from = node->in[k] == NO_VALUE ? -1 :
				g->values[node->in[k]].producer;
			size_t at = from < 0 ? 0 : level[from] + (c->taken[from] && !c->taken[i]);

			if (level[i] < at)
				level[i] = at;
		}
		for (size_t k = 0; c->taken[i] && k < node->n_in; k++) {
			ptrdiff_t from = node->in[k] == NO_VALUE ? -1 :
				g->values[node->in[k]].producer;
			size_t a = i, b;

			if (from < 0 || !c->taken[from] || level[from] != level[i])
				continue;
			a = find_part(c->part, a);
			b = find_part(c->part, (size_t)from);
			c->part[a > b ? a : b] = a > b ? b : a;
		}
	}
}

/* ---- a part's border ---- */

/* Note what the part of node @root does with values; returns the number of its nodes. */
static size_t find_uses(struct choose *c, size_t root)
{
	const struct graph *g = c->g;
	size_t n = 0;

	memset(c->use, 0, g->n_values * sizeof(*c->use));
	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct node *node = &g->nodes[i];
		bool within = c->taken[i] && find_part(c->part, i) == root;

		n += within;
		for (size_t k = 0; k < node->n_in; k++)
			if (node->in[k] != NO_VALUE)
				*(within ? &c->use[node->in[k]].needed :
				  &c->use[node->in[k]].wanted) = true;
		for (size_t k = 0; within && k < node->n_out; k++)
			if (node->out[k] != NO_VALUE)
				c->use[node->out[k]].made = true;
	}
	return n;
}

static bool is_input(const struct choose *c, size_t v)
{
	return c->use[v].needed && !c->use[v].made && !c->g->values[v].constant;
}

static bool is_output(const struct choose *c, size_t v)
{
	return c->use[v].made && (c->use[v].wanted || c->g->values[v].output);
}

static OrtStatus *find_border(struct choose *c, size_t root, struct part *p)
{
	struct graph *g = c->g;
	size_t n_nodes = find_uses(c, root), n_inputs = 0, n_outputs = 0;

	for (size_t v = 0; v < g->n_values; v++) {
		n_inputs += is_input(c, v);
		n_outputs += is_output(c, v);
	}
	*p = (struct part) {
		.nodes = memory_get(&g->memory, n_nodes + 1, sizeof(*p->nodes)),
		.inputs = memory_get(&g->memory, n_inputs + 1, sizeof(*p->inputs)),
		.outputs = memory_get(&g->memory, n_outputs + 1, sizeof(*p->outputs)),
	};
	if (!p->nodes || !p->inputs || !p->outputs)
		return ort_no_memory();
	for (size_t i = 0; i < g->n_nodes; i++)
		if (c->taken[i] && find_part(c->part, i) == root)
			p->nodes[p->n_nodes++] = i;
	for (size_t v = 0; v < g->n_values; v++) {
		if (is_input(c, v))
			p->inputs[p->n_inputs++] = v;
		if (is_output(c, v))
			p->outputs[p->n_outputs++] = v;
	}
	return NULL;
}

/* ---- what the compiler takes ---- */

static void give_back(struct choose *c, size_t i, const char *why)
{
	const char *name = "", *type = "";
	OrtStatus *err = ort->Node_GetName(c->g->nodes[i].node, &name);

	if (!err)
		err = ort->Node_GetOperatorType(c->g->nodes[i].node, &type);
	if (err)
		ort->ReleaseStatus(err);
	log_text(c->how->log, ORT_LOGGING_LEVEL_INFO,
		 "vta: %.120s (%.40s) stays with ONNX Runtime: %s", name, type, why);
	c->taken[i] = false;
	c->changed = true;
}

/* Nodes whose values at the border a program cannot have. */
static void check_border(struct choose *c, const struct part *p)
{
	const struct graph *g = c->g;

	for (size_t n = 0; n < p->n_nodes; n++) {
		const struct node *node = &g->nodes[p->nodes[n]];
		const char *why = NULL;

		for (size_t k = 0; k < p->n_inputs; k++) {
			const struct value *v = &g->values[p->inputs[k]];
			bool used = false;

			for (size_t i = 0; i < node->n_in; i++)
				used = used || node->in[i] == p->inputs[k];
			if (used && !is_number(v->type))
				why = "its input is of a type that cards do not have.";
			else if (used && !v->shaped)
				why = "the size of its input is not fixed "
				      "(add_free_dimension_override_by_name() fixes it).";
		}
		for (size_t k = 0; k < p->n_outputs; k++)
			for (size_t i = 0; i < node->n_out; i++)
				if (node->out[i] == p->outputs[k] &&
				    !is_number(g->values[p->outputs[k]].type))
					why = "its output is of a type that cards do not have.";
		if (why)
			give_back(c, p->nodes[n], why);
	}
}

static void give_back_all(struct choose *c, const struct part *p, const char *why)
{
	for (size_t k = 0; k < p->n_nodes; k++)
		give_back(c, p->nodes[k], why);
}

/* All nodes that the compiler refused; all of the part if it names none. */
static void give_back_refused(struct choose *c, const struct part *p, const struct vtac_net *net)
{
	const char *name, *why;
	bool any = false;

	for (unsigned int i = 0; (name = vtac_net_refused(net, i, &why)); i++) {
		size_t node = name[0] == 'n' ? strtoul(name + 1, NULL, 10) : SIZE_MAX;

		for (size_t k = 0; k < p->n_nodes; k++) {
			if (p->nodes[k] == node && c->taken[node]) {
				give_back(c, node, why);
				any = true;
			}
		}
	}
	if (!any)
		give_back_all(c, p, vtac_net_error(net));
}

/* Is the part the provider's? Nodes that are refused are given back. */
static OrtStatus *try_part(struct choose *c, const struct part *p, bool *ours)
{
	const struct vtac_net_options how = {
		.core = &c->how->core, .no_prune = c->how->all };
	struct vtac_net_placement place;
	struct vtac_net *net;
	uint8_t *file = NULL;
	size_t size = 0;
	OrtStatus *err;

	*ours = false;
	err = model_write(c->g, p, true, &file, &size);
	if (err && ort->GetErrorCode(err) == ORT_NOT_IMPLEMENTED) {
		give_back_all(c, p, ort->GetErrorMessage(err));
		ort->ReleaseStatus(err);
		return NULL;
	}
	if (err)
		return err;
	net = vtac_net_new();
	if (!net) {
		free(file);
		return ort_no_memory();
	}
	if (vtac_net_read_onnx(net, file, size, NULL) || vtac_net_place(net, &how, &place))
		give_back_refused(c, p, net);
	else
		*ours = place.card > 0 || c->how->all;
	vtac_net_free(net);
	free(file);
	return NULL;
}

/* The parts of the nodes that are taken now; less are taken then if c->changed. */
static OrtStatus *try_parts(struct choose *c, struct part *parts, size_t *n)
{
	*n = 0;
	c->changed = false;
	find_parts(c);
	for (size_t i = 0; i < c->g->n_nodes; i++) {
		struct part *p = &parts[*n];
		bool ours;

		if (!c->taken[i] || find_part(c->part, i) != i)
			continue;
		TRY(find_border(c, i, p));
		check_border(c, p);
		if (c->changed)
			continue;
		TRY(try_part(c, p, &ours));
		*n += ours;
	}
	return NULL;
}

/* A program within the model is a part of its own. */
static OrtStatus *add_contexts(struct graph *g, struct part *parts, size_t *n)
{
	for (size_t i = 0; i < g->n_nodes; i++) {
		if (!g->nodes[i].context)
			continue;
		parts[*n] = (struct part) {
			.nodes = memory_get(&g->memory, 1, sizeof(*parts->nodes)), .n_nodes = 1 };
		if (!parts[*n].nodes)
			return ort_no_memory();
		parts[(*n)++].nodes[0] = i;
	}
	return NULL;
}

OrtStatus *select_nodes(struct graph *g, const struct choice *how, struct part **parts, size_t *n)
{
	struct choose c = { .g = g, .how = how };

	*n = 0;
	c.taken = memory_get(&g->memory, g->n_nodes + 1, sizeof(*c.taken));
	c.part = memory_get(&g->memory, g->n_nodes + 1, sizeof(*c.part));
	c.level = memory_get(&g->memory, g->n_nodes + 1, sizeof(*c.level));
	c.use = memory_get(&g->memory, g->n_values + 1, sizeof(*c.use));
	*parts = memory_get(&g->memory, g->n_nodes + 1, sizeof(**parts));
	if (!c.taken || !c.part || !c.level || !c.use || !*parts)
		return ort_no_memory();
	for (size_t i = 0; i < g->n_nodes; i++) {
		const char *why = NULL;

		c.taken[i] = g->nodes[i].plain;
		if (c.taken[i])
			TRY(model_check(g, i, &why));
		if (why)
			give_back(&c, i, why);
	}
	/* Each round gives back at least one node. */
	do {
		TRY(try_parts(&c, *parts, n));
	} while (c.changed);
	return add_contexts(g, *parts, n);
}

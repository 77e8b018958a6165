// SPDX-License-Identifier: Apache-2.0
/*
 * The end of the pass `partition`: nodes that are not worth their copies go to the CPU.
 *
 * All costs are in cycles of the card, by this model of the host:
 *	a kernel for the CPU does CPU_RATE multiplications, or moves of a value, a cycle
 *	(vtac_options.cpu_rate for another host)
 *	a copy (quantise, pack, the bus) is COPY_BYTES a cycle
 *	each region costs REGION_CYCLES: a doorbell, an interrupt and a wait
 *
 * First the edges of regions are trimmed: a node that was propagated there goes to the CPU if the
 * tensors that cross become so much smaller. Then regions (nodes that the card's tensors connect)
 * go that save less than they cost; of a region with functions of one tensor only these at first,
 * as the rest may be worth it without them. All steps decide for all nodes before they move one, so
 * that the order of nodes does not matter.
 */
#include <string.h>

#include "passes.h"
#include "ir/kernel.h"

#define CPU_RATE	16
#define COPY_BYTES	8
#define REGION_CYCLES	2000

struct prune {
	struct vtac_graph *g;
	uint64_t *cpu;		/* cycles of each node on the CPU, by id */
	unsigned int *region;	/* representative of each node's region, by id */
	bool *light;		/* propagated, by id */
};

/* ---- costs ---- */

static int cpu_cycles(struct vtac_graph *g, const struct vtac_node *node, unsigned int rate,
		      uint64_t *cycles)
{
	struct vtac_call *calls;
	unsigned int n;

	*cycles = 0;
	if (vtac_calls(g, node, &calls, &n))
		return -1;
	for (unsigned int i = 0; i < n; i++)
		*cycles += calls[i].need.work / rate;
	return 0;
}

static uint64_t copy_cycles(const struct vtac_tensor *t)
{
	return (uint64_t)vtac_elements(t) / COPY_BYTES;
}

static bool is_on_card(const struct vtac_node *node)
{
	return node && node->device == VTAC_CARD;
}

static unsigned int users_on(const struct vtac_tensor *t, bool card)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < t->n_users; i++)
		n += is_on_card(t->users[i]) == card;
	return n;
}

/* Must @t be copied from or to the card? */
static bool crosses(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	if (t->data)
		return false;
	if (is_on_card(t->producer))
		return users_on(t, false) || vtac_is_output(g, t);
	return users_on(t, true);
}

/* Copies of the tensors around @node. */
static uint64_t copies_around(const struct prune *p, const struct vtac_node *node)
{
	uint64_t cycles = 0;

	for (unsigned int i = 0; i < node->n_in; i++) {
		bool again = false;

		for (unsigned int k = 0; k < i; k++)
			again = again || node->in[k] == node->in[i];
		if (node->in[i] && !again && crosses(p->g, node->in[i]))
			cycles += copy_cycles(node->in[i]);
	}
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i] && crosses(p->g, node->out[i]))
			cycles += copy_cycles(node->out[i]);
	return cycles;
}

/* ---- edges ---- */

/* The first or last of a region, never one between nodes of the card: that would cut it. */
static bool at_edge(const struct prune *p, const struct vtac_node *node)
{
	bool before = false, behind = false;

	for (unsigned int i = 0; i < node->n_in; i++)
		before = before || (node->in[i] && is_on_card(node->in[i]->producer));
	for (unsigned int i = 0; i < node->n_out; i++)
		behind = behind || (node->out[i] && users_on(node->out[i], true));
	return is_on_card(node) && p->light[node->id] && !(before && behind);
}

/* Would it cost less on the CPU? */
static bool is_cheaper_on_cpu(const struct prune *p, struct vtac_node *node)
{
	uint64_t card = node->cycles + copies_around(p, node), cpu;

	node->device = VTAC_CPU;
	cpu = p->cpu[node->id] + copies_around(p, node);
	node->device = VTAC_CARD;
	return cpu < card;
}

static int trim_edges(struct prune *p)
{
	struct vtac_graph *g = p->g;
	bool *go = vtac_alloc(g, g->n_nodes + 1u, sizeof(*go)), changed = go;

	if (!go)
		return -1;
	while (changed) {
		changed = false;
		for (unsigned int i = 0; i < g->n_nodes; i++) {
			go[i] = at_edge(p, g->nodes[i]) && is_cheaper_on_cpu(p, g->nodes[i]);
			changed = changed || go[i];
		}
		for (unsigned int i = 0; i < g->n_nodes; i++) {
			struct vtac_node *node = g->nodes[i];

			if (!go[i])
				continue;
			node->device = VTAC_CPU;
			node->why =
				"At the edge of a card region, copying its tensors would cost more "
				"than the card saves.";
		}
	}
	return 0;
}

/* ---- regions ---- */

static void find_regions(struct prune *p)
{
	for (unsigned int i = 0; i < p->g->n_nodes; i++)
		p->region[i] = i;
	for (unsigned int i = 0; i < p->g->n_nodes; i++) {
		const struct vtac_node *node = p->g->nodes[i];

		for (unsigned int k = 0; is_on_card(node) && k < node->n_in; k++)
			if (node->in[k] && is_on_card(node->in[k]->producer))
				vtac_set_unite(p->region, i, node->in[k]->producer->id);
	}
}

struct sums {
	uint64_t card, cpu, copies;
	unsigned int nodes, functions;
	const char *why;	/* the reason why it goes to the CPU, or NULL */
};

/* A tensor that a region reads is copied once, however many nodes read it. */
static void add_copies(struct prune *p, struct sums *sums)
{
	for (unsigned int i = 0; i < p->g->n_tensors; i++) {
		const struct vtac_tensor *t = p->g->tensors[i];
		unsigned int last = UINT32_MAX;

		if (!crosses(p->g, t))
			continue;
		if (is_on_card(t->producer)) {
			sums[vtac_set_find(p->region, t->producer->id)].copies += copy_cycles(t);
			continue;
		}
		for (unsigned int k = 0; k < t->n_users; k++) {
			unsigned int region = vtac_set_find(p->region, t->users[k]->id);

			if (!is_on_card(t->users[k]) || region == last)
				continue;
			last = region;
			sums[last].copies += copy_cycles(t);
		}
	}
}

static const char *why_dropped(struct vtac_graph *g, const struct sums *s)
{
	return vtac_text(g,
			 "Its region of %u nodes takes %llu cycles on the card and %llu for its "
			 "copies, but %llu on the CPU (--cpu-rate).",
			 s->nodes, (unsigned long long)s->card,
			 (unsigned long long)s->copies + REGION_CYCLES,
			 (unsigned long long)s->cpu);
}

/* A normalisation counts as one, too. */
static bool is_function(const struct vtac_node *node)
{
	return vtac_is_function(node) || node->op == VTAC_NORM;
}

/* Returns 1 if functions went, and regions are to be compared again; 0, or -1 without memory. */
static int prune_regions(struct prune *p)
{
	struct vtac_graph *g = p->g;
	struct sums *sums = vtac_alloc(g, g->n_nodes + 1u, sizeof(*sums));
	bool again = false;

	if (!sums)
		return -1;
	find_regions(p);
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct sums *s = &sums[vtac_set_find(p->region, i)];

		if (!is_on_card(g->nodes[i]))
			continue;
		s->card += g->nodes[i]->cycles;
		s->cpu += p->cpu[i];
		s->nodes++;
		s->functions += is_function(g->nodes[i]);
	}
	add_copies(p, sums);
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (sums[i].nodes &&
		    sums[i].cpu < sums[i].card + sums[i].copies + REGION_CYCLES) {
			sums[i].why = why_dropped(g, &sums[i]);
			if (!sums[i].why)
				return -1;
		}
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct sums *s = &sums[vtac_set_find(p->region, i)];

		if (!s->why || !is_on_card(g->nodes[i]) ||
		    (s->functions && !is_function(g->nodes[i])))
			continue;
		again = again || s->functions;
		g->nodes[i]->device = VTAC_CPU;
		g->nodes[i]->why = s->why;
	}
	return again;
}

static bool is_light(const struct vtac_node *node)
{
	return node->op != VTAC_CONV && node->op != VTAC_CONV_TRANSPOSE &&
	       node->op != VTAC_GEMM && node->op != VTAC_BATCH_GEMM;
}

int vtac_prune(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int rate = opt->cpu_rate ? opt->cpu_rate : CPU_RATE;
	struct prune p = { .g = g };
	int again;

	p.cpu = vtac_alloc(g, g->n_nodes + 1u, sizeof(*p.cpu));
	p.region = vtac_alloc(g, g->n_nodes + 1u, sizeof(*p.region));
	p.light = vtac_alloc(g, g->n_nodes + 1u, sizeof(*p.light));
	if (!p.cpu || !p.region || !p.light)
		return -1;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		p.light[i] = is_light(g->nodes[i]);
		if (is_on_card(g->nodes[i]) && cpu_cycles(g, g->nodes[i], rate, &p.cpu[i]))
			return -1;
	}
	do {
		again = trim_edges(&p) ? -1 : prune_regions(&p);
	} while (again > 0);
	return again;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Tensors that get finer steps than 8 bits by --precision=auto (precision.c). Candidates are put
 * into groups of neighbours, from the outputs on; the noise of the network's outputs is measured
 * with each group alone, and the cycles that are allowed go to the groups that gain most for each
 * of theirs.
 */
#include <string.h>

#include "lower/program.h"
#include "quant_impl.h"

/* Groups that are measured, and the cycles that are allowed if the user says nothing, in percent */
#define GROUPS		8u
#define EXTRA_CYCLES	25

struct candidate {
	struct vtac_node *node;
	uint64_t cycles;
};

struct group {
	unsigned int first, n;		/* candidates */
	uint64_t cycles;
	double gain;			/* noise that goes, for each cycle */
	bool taken;
};

struct spread {
	struct candidate *all;
	unsigned int count, groups;
	struct group group[GROUPS];
	uint64_t cycles;		/* of the network */
};

/*
 * Returns the cycles of @node; 0 if the card does not compute it, or if it is a function, which has
 * no formula yet: the cycles allowed are a part of the others'.
 */
static uint64_t cycles_of(struct vtac_graph *g, struct vtac_node *node,
			  const struct vtac_options *opt)
{
	const char *why = NULL;
	uint64_t cycles = 0;

	if (node->device != VTAC_CARD || vtac_is_function(node))
		return 0;
	if (vtac_dry_run(g, node, opt, &cycles, &why) || why)
		return 0;
	return cycles;
}

/* Another product for each tensor that the rest makes, and each that reads both. */
static uint64_t more_cycles(struct vtac_graph *g, struct vtac_node *node,
			    const struct vtac_options *opt)
{
	uint64_t own = cycles_of(g, node, opt), sum = 0;
	const struct vtac_tensor *t = node->out[0];
	bool outside = vtac_is_output(g, t), inside = false;

	for (unsigned int i = 0; i < t->n_users; i++) {
		if (t->users[i]->device == VTAC_CARD) {
			sum += cycles_of(g, t->users[i], opt);
			inside = true;
		} else {
			outside = true;
		}
	}
	return sum + own * ((unsigned int)inside + (unsigned int)outside);
}

static struct vtac_node *find_node(const struct vtac_graph *g, const char *name)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (!strcmp(g->nodes[i]->name, name))
			return g->nodes[i];
	return NULL;
}

/* Lists candidates of @g by what becomes of their residuals in its copy @joined. */
static void list_candidates(struct spread *s, struct vtac_graph *g, struct vtac_graph *joined,
			    const struct vtac_options *opt)
{
	for (unsigned int i = 0; i < joined->n_nodes; i++)
		s->cycles += cycles_of(joined, joined->nodes[i], opt);
	for (unsigned int i = joined->n_nodes; i-- > 0; ) {
		struct vtac_node *node = joined->nodes[i], *own;

		own = vtac_not_precise(joined, node, opt) ? NULL : find_node(g, node->name);
		if (!own || own->precise || vtac_precision_of(own, opt) == VTAC_PRECISION_8)
			continue;
		s->all[s->count++] = (struct candidate) {
			own, more_cycles(joined, node, opt) };
	}
}

/* Groups have about the same number of candidates. */
static void make_groups(struct spread *s)
{
	s->groups = s->count < GROUPS ? s->count : GROUPS;
	for (unsigned int i = 0; i < s->groups; i++) {
		struct group *to = &s->group[i];

		to->first = i * s->count / s->groups;
		to->n = (i + 1) * s->count / s->groups - to->first;
		for (unsigned int k = 0; k < to->n; k++)
			to->cycles += s->all[to->first + k].cycles;
	}
}

static void mark(const struct spread *s, const struct group *group, bool precise)
{
	for (unsigned int i = 0; i < group->n; i++)
		s->all[group->first + i].node->precise = precise;
}

static int measure_groups(struct spread *s, uint64_t left, double noise, vtac_noise_fn measure,
			  void *priv)
{
	for (unsigned int i = 0; i < s->groups; i++) {
		struct group *group = &s->group[i];
		double with;
		int err;

		if (group->cycles > left)
			continue;
		mark(s, group, true);
		err = measure(priv, &with);
		mark(s, group, false);
		if (err)
			return -1;
		group->gain = (noise - with) / (double)(group->cycles + 1);
	}
	return 0;
}

/* Takes the best of the groups that are left and fit; NULL: there is none. */
static struct group *take_best(struct spread *s, uint64_t *left)
{
	struct group *best = NULL;

	for (unsigned int i = 0; i < s->groups; i++)
		if (!s->group[i].taken && s->group[i].cycles <= *left && s->group[i].gain > 0 &&
		    (!best || s->group[i].gain > best->gain))
			best = &s->group[i];
	if (best) {
		best->taken = true;
		*left -= best->cycles;
		mark(s, best, true);
	}
	return best;
}

int vtac_spread_precision(struct vtac_graph *g, const struct vtac_options *opt, double noise,
			  double worth, vtac_noise_fn measure, void *priv)
{
	unsigned int percent = opt->quant && opt->quant->extra_cycles ? opt->quant->extra_cycles :
		EXTRA_CYCLES;
	struct vtac_graph *joined = vtac_graph_clone(g);
	struct spread s = { .all = vtac_alloc(g, g->n_nodes + 1u, sizeof(s.all[0])) };
	uint64_t left;
	double with;

	if (!joined || !s.all || vtac_pass_residual(joined, opt)) {
		vtac_graph_free(joined);
		return -1;
	}
	list_candidates(&s, g, joined, opt);
	vtac_graph_free(joined);
	make_groups(&s);
	left = s.cycles / 100 * percent;
	if (!s.count || measure_groups(&s, left, noise, measure, priv))
		return s.count ? -1 : 0;
	while (take_best(&s, &left))
		;
	if (measure(priv, &with))
		return -1;
	for (unsigned int i = 0; i < s.groups && with > noise * worth; i++)
		mark(&s, &s.group[i], false);
	return 0;
}

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

/*
 * Groups that there are about, if each has the same number of candidates; and, since one of several
 * has at most a part of the cycles that are allowed, at most. Each is measured.
 */
#define GROUPS		8u
#define GROUPS_MOST	16u
#define CYCLE_PARTS	6
/* Cycles that are allowed if the user says nothing, in percent */
#define EXTRA_CYCLES	25

struct candidate {
	struct vtac_node *node;
	uint64_t cycles;
	bool added;			/* by convolutions: skip.c */
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
	struct group *group;
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

	if (is_skip(node))
		return low_cycles(node, opt);
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
			own, more_cycles(joined, node, opt), is_skip(node) };
	}
}

/* The kinds of candidates one after the other: those that convolutions add come first. */
static void sort_kinds(struct spread *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->count; i++) {
		struct candidate at = s->all[i];

		if (!at.added)
			continue;
		memmove(&s->all[n + 1], &s->all[n], (i - n) * sizeof(at));
		s->all[n++] = at;
	}
}

/* Does candidate @i begin another group than @group, which has @most at most? */
static bool begins(const struct spread *s, const struct group *group, unsigned int i,
		   unsigned int most, uint64_t cycles)
{
	return group->n == most || s->all[i].added != s->all[group->first].added ||
	       group->cycles + s->all[i].cycles > cycles;
}

/* Groups have about the same number of candidates, and those of several at most @cycles. */
static void group_by(struct spread *s, uint64_t cycles)
{
	unsigned int most = (s->count + GROUPS - 1) / GROUPS;

	s->groups = 0;
	for (unsigned int i = 0; i < s->count; i++) {
		struct group *group = &s->group[s->groups];

		if (i && !begins(s, group - 1, i, most, cycles)) {
			group--;
		} else {
			*group = (struct group) { .first = i };
			s->groups++;
		}
		group->n++;
		group->cycles += s->all[i].cycles;
	}
}

/*
 * None has most of the @left cycles, unless that makes so many that measuring them takes too long:
 * by number alone there are at most one more than GROUPS.
 */
static void make_groups(struct spread *s, uint64_t left)
{
	uint64_t cycles = left / CYCLE_PARTS;

	group_by(s, cycles);
	while (s->groups > GROUPS_MOST) {
		cycles = cycles > UINT64_MAX / 4 ? UINT64_MAX : 2 * cycles + 1;
		group_by(s, cycles);
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

static void mark_taken(const struct spread *s, bool precise)
{
	for (unsigned int i = 0; i < s->groups; i++)
		if (s->group[i].taken)
			mark(s, &s->group[i], precise);
}

/*
 * Of many measures, the best are so by chance, too. So it is other images that decide about all
 * that was taken: they have to show that the noise falls by the factor @worth.
 */
static int judge(struct spread *s, double worth, vtac_noise_fn again, void *priv)
{
	double without, with;

	mark_taken(s, false);
	if (again(priv, &without))
		return -1;
	mark_taken(s, true);
	if (again(priv, &with))
		return -1;
	if (with > without * worth)
		mark_taken(s, false);
	return 0;
}

int vtac_spread_precision(struct vtac_graph *g, const struct vtac_options *opt, double noise,
			  double worth, const struct vtac_noise_fns *fns, void *priv)
{
	unsigned int percent = opt->quant && opt->quant->extra_cycles ? opt->quant->extra_cycles :
		EXTRA_CYCLES;
	struct vtac_graph *joined = vtac_graph_clone(g);
	struct spread s = {
		.all = vtac_alloc(g, g->n_nodes + 1u, sizeof(s.all[0])),
		.group = vtac_alloc(g, g->n_nodes + 1u, sizeof(s.group[0])),
	};
	bool taken = false;
	uint64_t left;

	if (!joined || !s.all || !s.group || vtac_pass_residual(joined, opt)) {
		vtac_graph_free(joined);
		return -1;
	}
	list_candidates(&s, g, joined, opt);
	vtac_graph_free(joined);
	left = s.cycles / 100 * percent;
	sort_kinds(&s);
	make_groups(&s, left);
	if (!s.count || measure_groups(&s, left, noise, fns->measure, priv))
		return s.count ? -1 : 0;
	while (take_best(&s, &left))
		taken = true;
	return taken ? judge(&s, worth, fns->again, priv) : 0;
}

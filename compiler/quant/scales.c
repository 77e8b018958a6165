// SPDX-License-Identifier: Apache-2.0
/*
 * Scales of activations. Three kinds of tensors go together:
 *	the same scale		what a node moves or chooses from (pools, concatenations)
 *	a power of two apart	operands that are added, as the card aligns them by shifts
 *	free			what a multiplier leads to: all others
 */
#include <math.h>
#include <string.h>

#include "quant_impl.h"

struct classes {
	struct quantiser *q;
	unsigned int *same, *aligned;	/* by tensor id: path to the class' first tensor */
	float *want;			/* of a class' first tensor */
	float *lo, *hi;			/* likewise: what its integers have to reach */
	bool *shifted;			/* likewise: 0 has another integer */
	bool *given;			/* likewise: the file has one */
};

struct quantiser quantiser_of(struct vtac_graph *g, const struct vtac_options *opt)
{
	struct quantiser q = { .g = g, .core = &opt->core };

	q.in_top = (1 << ((1 << opt->core.log_inp_width) - 1)) - 1;
	q.wgt_top = (1 << ((1 << opt->core.log_wgt_width) - 1)) - 1;
	if (g->how || opt->quant)
		q.how = g->how ? *g->how : *opt->quant;
	return q;
}

bool is_operand(const struct vtac_tensor *t)
{
	for (unsigned int i = 0; t->data && t->dtype == VTAC_F32 && i < t->n_users; i++) {
		enum vtac_op op = t->users[i]->op;

		if (t->users[i]->device == VTAC_CARD &&
		    (op == VTAC_ADD || op == VTAC_MUL || op == VTAC_MAX || op == VTAC_MIN))
			return true;
	}
	return false;
}

bool on_card(const struct vtac_tensor *t)
{
	if (t->data)
		return is_operand(t);
	if (t->producer && t->producer->device == VTAC_CARD)
		return true;
	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->device == VTAC_CARD)
			return true;
	return false;
}

static void unite_node(struct classes *c, const struct vtac_node *node)
{
	const struct vtac_tensor *out = node->out[0];

	if (vtac_moves_values(node->op)) {
		for (unsigned int i = 0; i < node->n_in; i++)
			if (node->in[i] && !node->in[i]->data && !node->in[i]->coarse)
				vtac_set_unite(c->same, out->id, node->in[i]->id);
		for (unsigned int i = 1; i < node->n_out; i++)
			vtac_set_unite(c->same, out->id, node->out[i]->id);
	} else if ((node->op == VTAC_ADD || node->op == VTAC_SUB || node->op == VTAC_MAX ||
		    node->op == VTAC_MIN)) {
		vtac_set_unite(c->aligned, node->in[0]->id, node->in[1]->id);
	}
}

static bool leaves_card(const struct vtac_graph *g, const struct vtac_tensor *t)
{
	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->device != VTAC_CARD && t->producer &&
		    t->producer->device == VTAC_CARD)
			return true;
	return vtac_is_output(g, t);
}

/* The range of the file's integers with 0; symmetric if they are signed around 0. */
static void given_span(const struct vtac_tensor *t, float *lo, float *hi)
{
	bool shifted = t->quant.zero && t->quant.zero[0];

	vtac_given_range(t, t->quant.type == VTAC_U8 ? 0 : shifted ? -128 : -127, lo, hi);
	*lo = fminf(*lo, 0);
	*hi = fmaxf(*hi, 0);
}

/*
 * The greatest |x| that @t's integers have to reach if they have @levels on that side. Results are
 * not clipped: a classifier's answer is its greatest value, and a picture's brightest pixel is
 * visible.
 */
static float own_reach(const struct quantiser *q, const struct vtac_tensor *t, int levels)
{
	float range;

	if (!t->stats)
		return 0;
	range = vtac_stats_range(t->stats, leaves_card(q->g, t) ? VTAC_RANGE_MAX : q->how.range,
				 q->how.percentile, levels);
	if (leaves_card(q->g, t) && q->how.range != VTAC_RANGE_MAX)
		range = vtac_stats_beyond(t->stats, levels);
	/* Of a tensor that is always 0, anything will do. */
	return range > 1 / 1e20f ? range : 1;
}

/* The step of @t's integers, whatever its users need. */
static float own_step(const struct quantiser *q, const struct vtac_tensor *t, int levels)
{
	float lo, hi;

	if (!vtac_is_given(t))
		return own_reach(q, t, levels) / (float)levels;
	given_span(t, &lo, &hi);
	return fmaxf(-lo, hi) / (float)levels;
}

/*
 * Returns how far from 0 values of @t matter to what reads it: beyond, half a step is left to the
 * limits of a Sigmoid, 0 and 1, or of a Tanh, -1 and 1. None of these reads a result of one beyond
 * its own reach.
 */
static float saturation(const struct quantiser *q, const struct vtac_tensor *t)
{
	float most = 0;

	if (vtac_is_output(q->g, t))
		return INFINITY;
	for (unsigned int i = 0; i < t->n_users; i++) {
		const struct vtac_node *node = t->users[i];

		if (node->device != VTAC_CARD || node->op != VTAC_UNARY)
			return INFINITY;
		if (node->attr.unary.kind == VTACPU_ACT_SIGMOID)
			most = fmaxf(most,
				     logf(2 / own_step(q, node->out[0], 2 * q->in_top + 1)));
		else if (node->attr.unary.kind == VTACPU_ACT_TANH)
			most = fmaxf(most, logf(4 / own_step(q, node->out[0], q->in_top)) / 2);
		else
			return INFINITY;
	}
	return most > 0 ? most : INFINITY;
}

/* As own_reach(), as far as @t's users need. */
static float reach_of(const struct quantiser *q, const struct vtac_tensor *t, int levels)
{
	return fminf(own_reach(q, t, levels), saturation(q, t));
}

int32_t least_of(const struct quantiser *q, const struct vtac_tensor *t)
{
	bool all = q->zero[t->id] ||
		(vtac_is_given(t) && t->quant.type == VTAC_I8 && q->in_top == 127);

	return all ? -q->in_top - 1 : -q->in_top;
}

float calibrated(const struct quantiser *q, const struct vtac_tensor *t, int levels)
{
	/* A tensor's users ask for it too, of whom there may be many. */
	float *kept = q->alone && levels == q->in_top ? &q->alone[t->id] : NULL;
	float lo, hi, scale;

	if (kept && *kept > 0)
		return *kept;
	if (vtac_is_given(t)) {
		given_span(t, &lo, &hi);
		scale = fmaxf(-lo, hi) / (float)levels;
	} else {
		scale = reach_of(q, t, levels) / (float)levels;
	}
	if (kept)
		*kept = scale;
	return scale;
}

/* Sets the range of both sides of 0, for @steps integers in all. It includes 0. */
static void span_of(const struct quantiser *q, const struct vtac_tensor *t, int steps, float *lo,
		    float *hi)
{
	const struct vtac_stats *s = t->stats;
	float a = s ? fmaxf(-s->lo, 0) : 0, b = s ? fmaxf(s->hi, 0) : 0, most;

	if (vtac_is_given(t)) {
		given_span(t, lo, hi);
		return;
	}
	/* Of a tensor that is always 0, anything will do. */
	if (!(a + b > 1 / 1e20f)) {
		*lo = 0;
		*hi = 1;
		return;
	}
	most = reach_of(q, t, (int)((float)steps * fmaxf(a, b) / (a + b)));
	if (leaves_card(q->g, t)) {
		float by = most / fmaxf(a, b);

		a *= by;
		b *= by;
	}
	*lo = -fminf(a, most);
	*hi = fminf(b, most);
}

/*
 * An output near 0, as an activation clips nearly all, needs no finer scale than a multiplier
 * reaches.
 */
static float wanted_scale(const struct classes *c, const struct vtac_tensor *t, unsigned int first)
{
	const struct quantiser *q = c->q;
	const struct vtac_node *node = t->producer;
	float scale = calibrated(q, t, q->in_top), most;

	if (c->shifted[first])
		scale = (c->hi[first] - c->lo[first]) / (float)(2 * q->in_top + 1);

	if (!node || node->device != VTAC_CARD || node->op == VTAC_NORM || node->n_in < 2 ||
	    !node->in[1]->data || node->in[1]->dtype != VTAC_F32 || is_operand(node->in[1]))
		return scale;
	most = greatest_size(node->in[1]->data, vtac_elements(node->in[1])) *
		calibrated(q, node->in[0], q->in_top);
	return fmaxf(scale, most / (float)q->wgt_top / 4096);
}

/* Another zero point has to make the range of integers narrower by this at least. */
#define WORTH_SHIFT	0.95f

/* A class has another zero point if all of it may. */
static void choose_zeros(struct classes *c)
{
	struct quantiser *q = c->q;

	for (unsigned int i = 0; i < q->ids; i++)
		c->shifted[i] = !q->how.no_zero_points && !q->how.power_of_two;
	for (unsigned int i = 0; i < q->g->n_tensors; i++) {
		const struct vtac_tensor *t = q->g->tensors[i];

		if (on_card(t) && !may_shift_zero(q, t))
			c->shifted[vtac_set_find(c->same, t->id)] = false;
	}
	for (unsigned int i = 0; i < q->g->n_tensors; i++) {
		const struct vtac_tensor *t = q->g->tensors[i];
		unsigned int first = vtac_set_find(c->same, t->id);
		float lo, hi;

		if (!on_card(t))
			continue;
		span_of(q, t, 2 * q->in_top + 1, &lo, &hi);
		c->lo[first] = fminf(c->lo[first], lo);
		c->hi[first] = fmaxf(c->hi[first], hi);
		if (vtac_is_given(t) && (t->quant.type == VTAC_U8 ||
					 (t->quant.zero && t->quant.zero[0])))
			c->given[first] = true;
	}
	/*
	 * A zero point gains nothing for a range that is nearly symmetric, but is kept if the file
	 * has it.
	 */
	for (unsigned int i = 0; i < q->ids; i++)
		if (!c->given[i] &&
		    c->hi[i] - c->lo[i] > WORTH_SHIFT * 2 * fmaxf(-c->lo[i], c->hi[i]))
			c->shifted[i] = false;
}

static int choose_wanted(struct classes *c)
{
	struct quantiser *q = c->q;

	for (unsigned int i = 0; i < q->g->n_tensors; i++) {
		const struct vtac_tensor *t = q->g->tensors[i];
		unsigned int first = vtac_set_find(c->same, t->id);
		float want;

		if (!on_card(t) || t->coarse)
			continue;
		want = wanted_scale(c, t, first);
		if (want <= 0 || !isfinite(want))
			return vtac_fail(q->g, t->producer,
					 "Tensor %.120s has no range: it was not calibrated.",
					 t->name);
		if (want > c->want[first])
			c->want[first] = want;
	}
	return 0;
}

/* The least power of two times @base that is @want, or hardly less. */
static float align(float base, float want)
{
	return base * exp2f(ceilf(log2f(want / base) - 0.03f));
}

/* Classes whose scales are aligned to each other, by the numbers of their tensors */
struct group {
	const unsigned int *members;
	unsigned int n;
};

/* Returns the squared bits that all members lose if their scales are aligned to @base. */
static float alignment_loss(const struct classes *c, const struct group *group, float base)
{
	float sum = 0;

	for (unsigned int i = 0; i < group->n; i++) {
		float want = c->want[group->members[i]], bits = log2f(align(base, want) / want);

		sum += bits * bits;
	}
	return sum;
}

/* Greatest shift between aligned scales: smaller values need no finer steps. */
#define APART_MAX	12
/* Members whose scales are tried as the base: all, or so many of a larger group */
#define BASES_MAX	64u

static void align_group(struct classes *c, const struct group *group)
{
	unsigned int bases = group->n < BASES_MAX ? group->n : BASES_MAX;
	float best = 0, least = INFINITY, most = 0;

	for (unsigned int i = 0; i < bases; i++) {
		float base = c->want[group->members[(uint64_t)i * group->n / bases]];
		float bits = alignment_loss(c, group, base);

		if (bits < least) {
			least = bits;
			best = base;
		}
	}
	for (unsigned int i = 0; i < group->n; i++)
		most = fmaxf(most, c->want[group->members[i]]);
	for (unsigned int i = 0; best > 0 && i < group->n; i++) {
		float *want = &c->want[group->members[i]];

		*want = align(best, fmaxf(*want, most * exp2f(-APART_MAX)));
	}
}

/* Classes of one scale are aligned as wholes. */
static int align_all(struct classes *c)
{
	unsigned int ids = c->q->ids, n = 0;
	unsigned int *members = vtac_alloc(c->q->g, ids, sizeof(members[0]));
	/* Of each group, the number of its members, then the place behind its last */
	unsigned int *end = vtac_alloc(c->q->g, ids + 1u, sizeof(end[0]));

	if (!members || !end)
		return -1;
	for (unsigned int i = 0; i < ids; i++) {
		unsigned int first = vtac_set_find(c->same, i);
		unsigned int group = vtac_set_find(c->aligned, i);

		if (first != i)
			vtac_set_unite(c->aligned, first, group);
	}
	for (unsigned int i = 0; i < ids; i++)
		if (c->want[i] > 0)
			end[vtac_set_find(c->aligned, i)]++;
	for (unsigned int i = 0; i < ids; i++) {
		unsigned int count = end[i];

		end[i] = n;
		n += count;
	}
	for (unsigned int i = 0; i < ids; i++)
		if (c->want[i] > 0)
			members[end[vtac_set_find(c->aligned, i)]++] = i;
	for (unsigned int i = 0, first = 0; i < ids; first = end[i++])
		if (end[i] - first > 1)
			align_group(c, &(struct group) { members + first, end[i] - first });
	return 0;
}

/* The integer for 0 if the least has to be @lo steps below. */
static int32_t zero_of(const struct quantiser *q, float lo)
{
	float zero = rintf((float)(-q->in_top - 1) - lo);

	return (int32_t)fminf(fmaxf(zero, (float)(-q->in_top - 1)), (float)q->in_top);
}

static void mark_fixed(struct classes *c)
{
	struct quantiser *q = c->q;

	for (unsigned int i = 0; i < q->ids; i++) {
		unsigned int first = vtac_set_find(c->same, i);
		unsigned int group = vtac_set_find(c->aligned, i);

		q->scale[i] = c->want[first];
		if (c->shifted[first] && c->want[first] > 0)
			q->zero[i] = zero_of(q, c->lo[first] / c->want[first]);
		if (first != i || group != i) {
			q->fixed[i] = true;
			q->fixed[first] = true;
			q->fixed[group] = true;
		}
	}
}

int choose_scales(struct quantiser *q)
{
	struct classes c = { .q = q };

	c.same = vtac_alloc(q->g, q->ids, sizeof(c.same[0]));
	c.aligned = vtac_alloc(q->g, q->ids, sizeof(c.aligned[0]));
	c.want = vtac_alloc(q->g, q->ids, sizeof(c.want[0]));
	c.lo = vtac_alloc(q->g, q->ids, sizeof(c.lo[0]));
	c.hi = vtac_alloc(q->g, q->ids, sizeof(c.hi[0]));
	c.shifted = vtac_alloc(q->g, q->ids, sizeof(c.shifted[0]));
	c.given = vtac_alloc(q->g, q->ids, sizeof(c.given[0]));
	q->alone = vtac_alloc(q->g, q->ids, sizeof(q->alone[0]));
	if (!q->alone || !c.same || !c.aligned || !c.want || !c.lo || !c.hi || !c.shifted ||
	    !c.given)
		return -1;
	for (unsigned int i = 0; i < q->ids; i++) {
		c.same[i] = i;
		c.aligned[i] = i;
	}
	for (unsigned int i = 0; i < q->g->n_nodes; i++)
		if (q->g->nodes[i]->device == VTAC_CARD)
			unite_node(&c, q->g->nodes[i]);
	choose_zeros(&c);
	if (choose_wanted(&c))
		return -1;
	q->alone = NULL;	/* later passes change what users a tensor has */
	if (align_all(&c))
		return -1;
	mark_fixed(&c);
	for (unsigned int i = 0; i < q->g->n_tensors; i++) {
		const struct vtac_tensor *t = q->g->tensors[i];

		q->lo[t->id] = least_of(q, t);
		if (t->coarse)
			q->scale[t->id] = q->scale[t->coarse->id] / (float)t->steps;
		if (t->quant.given)
			q->fixed[t->id] = true;
		if (q->how.power_of_two && q->scale[t->id] > 0 && !t->coarse)
			q->scale[t->id] = exp2f(ceilf(log2f(q->scale[t->id]) - 0.03f));
	}
	return 0;
}

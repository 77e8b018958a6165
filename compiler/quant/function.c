// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of one tensor as formulas for the card (struct vtaops_formula): lines between knots,
 * fitted to the exact results for all integers of the input.
 *
 * A line may pass anywhere within a distance of each exact result. Of such paths the one with the
 * fewest knots is found, and tried with factors of each number of binary places. A function that is
 * 0 at 0 may be x times such a path, and one that is odd around 0 has pairs of knots, which are one
 * ramp each. The formula of the least cycles is taken whose results are at most a step from the
 * rounded ones, and whose mean error is at most twice that of rounding (in power), if there is one;
 * or 1.15 times, if the options want exact functions. If there is none, that of the least error is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant_impl.h"

#define INPUTS		256
#define HEIGHTS		9	/* of a knot that are tried, within its window */
#define PLACES_MAX	14
#define RMS_FAST	0.41	/* steps: rounding's own error is 1 / sqrt(12) */
#define RMS_EXACT	0.31
#define WORST_MAX	1.45	/* of a path: rounded, it is a step apart at most */

/* Exact results for the inputs @first to @last, in steps of the output, and the limits there. */
struct target {
	const struct vtaops_core *core;
	int least, most;	/* integers of the core */
	int first, last;
	int zero, out_zero;	/* the integers of 0 */
	int lo, hi;		/* of outputs */
	double rms_most;	/* steps of a good formula's mean error */
	double exact[INPUTS];	/* by input - least; NaN: any result will do */
};

/* Limits of a path: values from lo to hi at each of n places. */
struct course {
	int n;
	bool fixed;		/* it begins at like[0] */
	double lo[INPUTS], hi[INPUTS], like[INPUTS], width[INPUTS];
	double heights[INPUTS * HEIGHTS];	/* of knots, by place * HEIGHTS + height */
};

struct path {
	int lines;
	int at[INPUTS + 1];		/* places of knots, both ends included */
	double value[INPUTS + 1];
};

/* ---- paths with the fewest knots ---- */

struct search {
	struct course *course;
	int16_t from[INPUTS * HEIGHTS];	/* knot before, as heights are numbered; -1: none */
	int16_t queue[INPUTS * HEIGHTS];
	bool seen[INPUTS * HEIGHTS];
	int head, tail;
};

/* The middle first: of equally long paths the first one is taken. */
static void set_heights(struct course *c)
{
	for (int i = 0; i < c->n; i++) {
		double lo = fmax(c->lo[i], c->like[i] - c->width[i]);
		double hi = fmin(c->hi[i], c->like[i] + c->width[i]);

		for (int k = 0; k < HEIGHTS; k++) {
			int at = k % 2 ? HEIGHTS / 2 - (k + 1) / 2 : HEIGHTS / 2 + k / 2;

			c->heights[i * HEIGHTS + k] = lo + (hi - lo) * (at + 0.5) / HEIGHTS;
		}
	}
	if (c->fixed)
		c->heights[0] = c->like[0];
}

static void see(struct search *s, int knot, int from)
{
	if (s->seen[knot])
		return;
	s->seen[knot] = true;
	s->from[knot] = (int16_t)from;
	s->queue[s->tail++] = (int16_t)knot;
}

/* Lines from @knot to all that they reach; true, with the slope, if one reaches the end. */
static bool extend(struct search *s, int knot, double *slope)
{
	const struct course *c = s->course;
	double value = c->heights[knot], least = -INFINITY, most = INFINITY;
	int place = knot / HEIGHTS;

	for (int to = place + 1; to < c->n; to++) {
		double apart = to - place, lo = value + least * apart, hi = value + most * apart;

		for (int i = to * HEIGHTS; i < (to + 1) * HEIGHTS && to + 1 < c->n; i++)
			if (c->heights[i] >= lo && c->heights[i] <= hi)
				see(s, i, knot);
		least = fmax(least, (c->lo[to] - value) / apart);
		most = fmin(most, (c->hi[to] - value) / apart);
		if (least > most)
			return false;
	}
	*slope = place + 1 < c->n ? (c->like[c->n - 1] - value) / (c->n - 1 - place) : 0;
	*slope = least <= 0 && most >= 0 && c->fixed ? 0 : fmin(fmax(*slope, least), most);
	return true;
}

static void trace(const struct search *s, int knot, double slope, struct path *p)
{
	const struct course *c = s->course;
	int place = knot / HEIGHTS;

	p->lines = 1;
	for (int k = knot; s->from[k] >= 0; k = s->from[k])
		p->lines++;
	for (int k = knot, i = p->lines - 1; i >= 0; k = s->from[k], i--) {
		p->at[i] = k / HEIGHTS;
		p->value[i] = c->heights[k];
	}
	p->at[p->lines] = c->n - 1;
	p->value[p->lines] = p->value[p->lines - 1] + slope * (c->n - 1 - place);
}

static bool find_path(struct course *c, struct search *s, struct path *p)
{
	double slope;

	set_heights(c);
	s->course = c;
	s->head = 0;
	s->tail = 0;
	memset(s->seen, 0, sizeof(s->seen));
	for (int i = 0; i < (c->fixed ? 1 : HEIGHTS); i++)
		see(s, i, -1);
	while (s->head < s->tail) {
		int knot = s->queue[s->head++];

		if (extend(s, knot, &slope)) {
			trace(s, knot, slope, p);
			return true;
		}
	}
	return false;
}

/* ---- courses ---- */

static double limit(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* The results at @x that are near enough, before rounding. */
static void window_of(const struct target *t, int x, double distance, double *lo, double *hi)
{
	double exact = t->exact[x - t->least], nearest;

	*lo = -INFINITY;
	*hi = INFINITY;
	if (isnan(exact) || x < t->first || x > t->last)
		return;
	exact = limit(exact, t->lo, t->hi);
	nearest = rint(exact);
	if (nearest > t->lo)
		*lo = fmax(nearest - WORST_MAX, exact - distance);
	if (nearest < t->hi)
		*hi = fmin(nearest + WORST_MAX, exact + distance);
}

/* Likewise if the results are divided by the distance from 0. */
static void divide_window(const struct target *t, int x, double *lo, double *hi)
{
	double by = x - t->zero, a = (*lo - t->out_zero) / by, b = (*hi - t->out_zero) / by;

	if (!by) {
		*lo = -INFINITY;
		*hi = INFINITY;
		return;
	}
	*lo = fmin(a, b);
	*hi = fmax(a, b);
}

static double exact_near(const struct target *t, int x)
{
	int i = x - t->least;

	for (int by = 0; by < INPUTS; by++) {
		if (x - by >= t->first && !isnan(t->exact[i - by]))
			return limit(t->exact[i - by], t->lo, t->hi);
		if (x + by <= t->last && !isnan(t->exact[i + by]))
			return limit(t->exact[i + by], t->lo, t->hi);
	}
	return t->out_zero;
}

struct form {
	bool times, mirrored;
	double distance;
};

static double like_of(const struct target *t, const struct form *form, int x)
{
	if (!form->times)
		return exact_near(t, x);
	if (x == t->zero && x > t->first && x < t->last)
		return (like_of(t, form, x - 1) + like_of(t, form, x + 1)) / 2;
	if (x == t->zero)
		x += x < t->last ? 1 : -1;
	return x == t->zero ? 0 : (exact_near(t, x) - t->out_zero) / (x - t->zero);
}

static void course_at(const struct target *t, const struct form *form, int x, double *lo,
		      double *hi)
{
	window_of(t, x, form->distance, lo, hi);
	if (form->times)
		divide_window(t, x, lo, hi);
}

static double width_at(const struct target *t, const struct form *form, int x)
{
	double width = 2 * form->distance;

	return form->times ? width / fmax(abs(x - t->zero), 1) : width;
}

/* All inputs in order. */
static void lay_course(const struct target *t, const struct form *form, struct course *c)
{
	c->n = t->last - t->first + 1;
	c->fixed = false;
	for (int i = 0; i < c->n; i++) {
		int x = t->first + i;

		course_at(t, form, x, &c->lo[i], &c->hi[i]);
		c->like[i] = like_of(t, form, x);
		c->width[i] = width_at(t, form, x);
	}
}

/* From 0 on, with what the other side asks for; false if the two do not agree. */
static bool lay_mirrored(const struct target *t, const struct form *form, struct course *c)
{
	double centre = like_of(t, form, t->zero), lo, hi;
	int before = t->zero - t->first, behind = t->last - t->zero;

	if (before < 0 || behind < 0)
		return false;
	c->n = (before > behind ? before : behind) + 1;
	c->fixed = true;
	for (int i = 0; i < c->n; i++) {
		c->lo[i] = -INFINITY;
		c->hi[i] = INFINITY;
		if (i <= behind)
			course_at(t, form, t->zero + i, &c->lo[i], &c->hi[i]);
		if (i <= before) {
			course_at(t, form, t->zero - i, &lo, &hi);
			c->lo[i] = fmax(c->lo[i], 2 * centre - hi);
			c->hi[i] = fmin(c->hi[i], 2 * centre - lo);
		}
		if (c->lo[i] > c->hi[i])
			return false;
		c->like[i] = i <= behind ? like_of(t, form, t->zero + i) :
			     2 * centre - like_of(t, form, t->zero - i);
		c->width[i] = width_at(t, form, t->zero + i);
	}
	return c->lo[0] <= centre && c->hi[0] >= centre;
}

/* ---- formulas ---- */

struct draft {
	struct vtaops_formula formula;
	struct vtaops_ramp ramps[INPUTS + 2];
	double constant;	/* what is added to the ramps */
	uint32_t cycles;
	int worst;
	double rms;
};

static void add_ramp(struct draft *d, int lo, int hi, double mul)
{
	if (mul != 0)
		d->ramps[d->formula.count++] = (struct vtaops_ramp) {
			lo, hi, (int)limit(mul, -1e6, 1e6) };
}

/* Two ramps that cancel each other behind the second's beginning are one. */
static void join_ramps(struct draft *d, int most)
{
	struct vtaops_ramp *r = d->ramps;

	for (uint32_t i = 0; i < d->formula.count; i++)
		for (uint32_t k = i + 1; k < d->formula.count && r[i].hi == most; k++)
			if (r[k].hi == most && r[k].mul == -r[i].mul && r[k].lo >= r[i].lo) {
				r[i].hi = r[k].lo;
				d->constant -= (double)r[i].mul * r[k].lo;
				memmove(r + k, r + k + 1,
					(--d->formula.count - k) * sizeof(*r));
			}
}

/* Ramps of the path's lines with factors of @places binary places. */
static void draw_path(const struct target *t, const struct form *form, const struct path *p,
		      int places, struct draft *d)
{
	double value = rint(ldexp(p->value[0], places)), before = 0, sum = 0;
	int start = form->mirrored ? t->zero : t->first;

	d->formula.count = 0;
	d->constant = value;
	for (int i = 0; i < p->lines; i++) {
		int apart = p->at[i + 1] - p->at[i], x = start + p->at[i];
		double slope = apart ? rint((ldexp(p->value[i + 1], places) - value) / apart) : 0;

		value += slope * apart;
		if (form->mirrored && i)
			add_ramp(d, t->zero - p->at[i] < t->least ? t->least : t->zero - p->at[i],
				 x > t->most ? t->most : x, before - slope);
		else if (!form->mirrored)
			add_ramp(d, i ? x : t->least, t->most, slope - before);
		before = slope;
	}
	if (form->mirrored)
		add_ramp(d, t->least, t->most, before);
	for (uint32_t i = 0; i < d->formula.count; i++)
		sum += (double)d->ramps[i].mul * (start < d->ramps[i].lo ? d->ramps[i].lo : start);
	d->constant -= sum;
	join_ramps(d, t->most);
	if (!d->formula.count)
		d->ramps[d->formula.count++] = (struct vtaops_ramp) { t->least, t->most, 0 };
}

/* The constants and shifts; false if one is too large. */
static bool set_constants(const struct target *t, const struct form *form, int places,
			  struct draft *d)
{
	struct vtaops_formula *f = &d->formula;
	double bias = form->times ? ldexp(t->out_zero, places) : d->constant;
	double reach = fabs(bias), half;
	int first = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		if (d->ramps[i].mul < -32768 || d->ramps[i].mul > 32767)
			return false;
		reach += fabs((double)d->ramps[i].mul) * -t->least;
	}
	if (form->times)
		reach = (reach + fabs(d->constant)) * INPUTS;
	/* One immediate, if a shift before it can make it small. */
	half = places ? ldexp(0.5, places) : 0;
	while (first + 1 < places && fabs(ldexp(bias + half, -first)) > 32767)
		first++;
	f->first = (unsigned int)first;
	f->shift = (unsigned int)(places - first);
	f->offset = form->times ? (int)limit(d->constant, -1e9, 1e9) : 0;
	f->bias = (int)limit(rint(ldexp(bias + half, -first)), -1e9, 1e9);
	f->times = form->times;
	f->zero = form->times ? t->zero : 0;
	f->lo = t->lo;
	f->hi = t->hi;
	f->ramps = d->ramps;
	return reach < INT32_MAX && abs(f->offset) <= VTAOPS_OFFSET_MAX &&
	       abs(f->bias) <= VTAOPS_OFFSET_MAX;
}

/* Errors of all inputs; false if one is more than a step. */
static bool measure(const struct target *t, struct draft *d)
{
	double sum = 0;
	int n = 0;

	d->worst = 0;
	for (int x = t->first; x <= t->last; x++) {
		double exact = t->exact[x - t->least], y;

		if (isnan(exact))
			continue;
		exact = limit(exact, t->lo, t->hi);
		y = vtaops_formula_value(&d->formula, x);
		sum += (y - exact) * (y - exact);
		n++;
		if (fabs(y - rint(exact)) > d->worst)
			d->worst = (int)fabs(y - rint(exact));
	}
	d->rms = n ? sqrt(sum / n) : 0;
	d->cycles = vtaops_formula_cycles(t->core, &d->formula);
	return d->worst <= 1;
}

static bool is_better(const struct target *t, const struct draft *a, const struct draft *b)
{
	bool good = a->rms <= t->rms_most, was = b->rms <= t->rms_most;

	if (!b->formula.count || good != was)
		return !b->formula.count || good;
	if (!good)
		return a->rms < b->rms;
	return a->cycles < b->cycles || (a->cycles == b->cycles && a->rms < b->rms);
}

struct fit {
	struct target target;
	struct search search;
	struct course course;
	struct path path;
	struct draft draft, best;
};

static void try_form(struct fit *f, const struct form *form)
{
	if (form->mirrored ? !lay_mirrored(&f->target, form, &f->course) :
			     (lay_course(&f->target, form, &f->course), false))
		return;
	if (!find_path(&f->course, &f->search, &f->path))
		return;
	for (int places = PLACES_MAX; places >= 0; places--) {
		draw_path(&f->target, form, &f->path, places, &f->draft);
		if (set_constants(&f->target, form, places, &f->draft) &&
		    measure(&f->target, &f->draft) && is_better(&f->target, &f->draft, &f->best))
			f->best = f->draft;
	}
}

/* A knot at each input: what no other path fits has integers for factors, and a large sum. */
static void try_all_inputs(struct fit *f)
{
	const struct form plain = { .distance = WORST_MAX };
	struct target *t = &f->target;

	f->path.lines = t->last - t->first;
	for (int i = 0; i <= f->path.lines; i++) {
		f->path.at[i] = i;
		f->path.value[i] = rint(exact_near(t, t->first + i));
	}
	if (!f->path.lines) {
		f->path.lines = 1;
		f->path.at[1] = 0;
		f->path.value[1] = f->path.value[0];
	}
	draw_path(t, &plain, &f->path, 0, &f->draft);
	while (fabs(f->draft.constant) > VTAOPS_OFFSET_MAX &&
	       f->draft.formula.count < INPUTS + 2) {
		double by = limit(trunc(f->draft.constant / t->most), -32767, 32767);

		add_ramp(&f->draft, t->most, t->most, by);
		f->draft.constant -= by * t->most;
	}
	if (set_constants(t, &plain, 0, &f->draft) && measure(t, &f->draft))
		f->best = f->draft;
}

static void try_forms(struct fit *f)
{
	static const double distances[] = { 0.2, 0.35, 0.5, 0.7, 1, WORST_MAX };
	const struct target *t = &f->target;
	double at_zero = t->exact[t->zero - t->least];
	bool through_zero = fabs(at_zero - t->out_zero) < 0.01;
	/* The nearest paths have so many knots that no fast formula comes of them. */
	unsigned int first = t->rms_most < RMS_FAST ? 0 : 1;

	for (unsigned int i = first; i < sizeof(distances) / sizeof(distances[0]); i++)
		for (int kind = 0; kind < 4; kind++) {
			const struct form form = { .times = kind & 1, .mirrored = kind & 2,
						   .distance = distances[i] };

			if (!form.times || through_zero)
				try_form(f, &form);
		}
	if (!f->best.formula.count)
		try_all_inputs(f);
}

static void set_target(const struct quantiser *q, const struct vtac_node *node, struct target *t)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];
	float values[INPUTS];
	uint32_t n = 2 * (uint32_t)q->in_top + 2;

	*t = (struct target) {
		.rms_most = q->how.functions == VTAC_FUNCTIONS_EXACT ? RMS_EXACT : RMS_FAST,
		.core = q->core, .least = -q->in_top - 1, .most = q->in_top,
		.first = q->lo[x->id], .last = q->hi[x->id], .zero = q->zero[x->id],
		.out_zero = q->zero[y->id], .lo = node->post.lo, .hi = node->post.hi };
	for (uint32_t i = 0; i < n; i++)
		values[i] = q->scale[x->id] * (float)(t->least + (int)i - t->zero);
	vtac_compute_function(node, values, n);
	for (uint32_t i = 0; i < n; i++)
		t->exact[i] = (double)values[i] / (double)q->scale[y->id] + t->out_zero;
}

/* Results are within these limits, as is proved by computing all. */
static void narrow_limits(struct quantiser *q, const struct vtac_node *node,
			  const struct vtaops_formula *f, const struct target *t)
{
	unsigned int id = node->out[0]->id;

	q->lo[id] = f->hi;
	q->hi[id] = f->lo;
	for (int x = t->first; x <= t->last; x++) {
		int y = vtaops_formula_value(f, x);

		q->lo[id] = y < q->lo[id] ? y : q->lo[id];
		q->hi[id] = y > q->hi[id] ? y : q->hi[id];
	}
}

static int keep_best(struct quantiser *q, struct vtac_node *node, const struct fit *f)
{
	struct vtac_function *made = vtac_alloc(q->g, 1, sizeof(*made));
	struct vtaops_ramp *ramps = vtac_alloc(q->g, f->best.formula.count + 1u, sizeof(*ramps));

	if (!made || !ramps)
		return -1;
	memcpy(ramps, f->best.ramps, f->best.formula.count * sizeof(*ramps));
	*made = (struct vtac_function) {
		.formula = f->best.formula, .cycles = f->best.cycles, .worst = f->best.worst,
		.rms = (float)f->best.rms };
	made->formula.ramps = ramps;
	node->post.function = made;
	narrow_limits(q, node, &made->formula, &f->target);
	return 0;
}

int fit_function(struct quantiser *q, struct vtac_node *node)
{
	struct fit *f;
	int err;

	if (set_limits(q, node, node->out[0]))
		return -1;
	f = calloc(1, sizeof(*f));
	if (!f)
		return vtac_fail(q->g, node, "There is no memory to fit its function.");
	set_target(q, node, &f->target);
	try_forms(f);
	err = f->best.formula.count ? keep_best(q, node, f) :
		unfit(q, node, "The card cannot compute its function at these scales.");
	free(f);
	return err;
}

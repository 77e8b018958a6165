// SPDX-License-Identifier: Apache-2.0
/*
 * The choice of a layer's tile (docs/ops.md). All splits of the channels, the
 * positions and, if nothing else fits, the taps are compared by an estimate of
 * their cycles; the few best are then lowered, without storage, for their exact
 * number (docs/isa.md, section 9). The same layer always gets the same tile.
 */
#include "ops_impl.h"
#include "layer.h"

/* Number of tiles whose cycles are counted exactly, and their largest number of steps. */
#define EXACT_TILES	16
#define EXACT_STEPS	8192u

struct choice {
	struct tile t;
	uint64_t cost;
};

struct search {
	const struct vtaops_core *c;
	const struct layer *l;
	struct choice best[EXACT_TILES];	/* by cost */
	uint32_t found;
};

static void set_inputs(const struct layer *l, struct tile *t)
{
	uint32_t sy = l->y.flip ? l->y.span : (t->kh - 1) * l->y.dilation + 1;
	uint32_t sx = l->x.flip ? l->x.span : (t->kw - 1) * l->x.dilation + 1;

	t->ih = (t->oh / l->y.step - 1) * l->y.scale + sy;
	t->iw = (t->ow / l->x.step - 1) * l->x.scale + sx;
}

static uint64_t steps_of(const struct layer *l, const struct tile *t)
{
	return (uint64_t)(l->ic / t->ic) * (l->y.taps / t->kh) * (l->x.taps / t->kw);
}

static uint64_t places_of(const struct layer *l, const struct tile *t)
{
	return (uint64_t)l->images * div_up(l->y.all, t->oh) * div_up(l->x.all, t->ow);
}

/* Elements that a tile needs in each scratchpad. */
struct need {
	uint64_t inp, wgt, acc, uop;
};

static struct need needs(const struct layer *l, const struct tile *t)
{
	uint64_t macs = (uint64_t)t->oc * t->ic * t->kh * t->kw;
	uint64_t tiles = places_of(l, t) * div_up(l->oc, t->oc) * l->groups;
	uint32_t acc_parts = tiles > 1 ? t->acc_parts : 1, kernels;
	uint32_t places = t->acc_parts + l->has_res_low;

	/* If both are loaded for each step, their parts go together. */
	if (steps_of(l, t) > 1 && t->inp_parts == t->wgt_parts)
		kernels = t->inp_parts;
	else
		kernels = t->inp_parts * t->wgt_parts;
	return (struct need) {
		.inp = (uint64_t)t->inp_parts * t->ic * t->ih * t->iw,
		.wgt = t->wgt_parts * macs,
		.acc = (uint64_t)places * t->oc * t->oh * t->ow + l->post.vectors * t->oc,
		.uop = kernels * acc_parts * macs +
		       acc_parts * (ops_post_uop_count(&l->post) + l->has_res_low),
	};
}

static bool fits(const struct search *s, const struct tile *t)
{
	struct need n = needs(s->l, t);

	return (uint64_t)t->oh * t->ow <= ITER_MAX && t->oc <= ITER_MAX &&
	       t->ih <= SIZE_MAX_16 && t->iw <= SIZE_MAX_16 &&
	       (uint64_t)t->ic * t->kh * t->kw <= SIZE_MAX_16 &&
	       n.inp <= ops_depth(s->c->log_inp_depth) && n.wgt <= ops_depth(s->c->log_wgt_depth) &&
	       n.acc <= ops_depth(s->c->log_acc_depth) && n.uop <= ops_depth(s->c->log_uop_depth);
}

/* Cycles of a LOAD or STORE of rows of @cols elements. */
static uint64_t move_cost(uint64_t rows, uint64_t cols, uint32_t bytes)
{
	return VTA_ISA_MEM_LATENCY + vta_isa_rows_cycles(rows, cols * bytes);
}

/* Likewise of @rows × @cols elements of each of @planes planes; @whole: all of their width. */
static uint64_t planes_cost(uint64_t planes, uint64_t rows, uint64_t cols, bool whole,
			    uint32_t bytes)
{
	if (whole || rows == 1)
		return move_cost(planes, rows * cols, bytes);
	return planes * move_cost(rows, cols, bytes);
}

static uint64_t estimate(const struct search *s, const struct tile *t)
{
	const struct vtaops_core *c = s->c;
	const struct layer *l = s->l;
	uint64_t phases = (uint64_t)l->y.step * l->x.step, steps = steps_of(l, t);
	uint64_t places = places_of(l, t) * l->groups, blocks = div_up(l->oc, t->oc);
	uint64_t tiles = places * blocks, out = tile_elements(t);
	uint64_t macs = (uint64_t)t->oc * t->ic * t->kh * t->kw;
	uint64_t inp = l->rows ? move_cost(t->oh, t->ic, c->inp_bytes) :
		       planes_cost(t->ic, t->ih, t->iw, !l->x.pad && !l->y.pad && t->iw == l->x.in,
				   c->inp_bytes);
	/* At most: only tiles at edges have something around them. */
	uint64_t around = !l->has_around ? 0 :
		t->ic * ((l->x.pad ? t->ih + 1 : 1) * move_cost(1, 1, c->inp_bytes));
	uint64_t wgt = move_cost(t->oc, (uint64_t)t->ic * t->kh * t->kw, c->wgt_bytes);
	uint64_t store = l->rows ? move_cost(t->oh, t->oc, c->inp_bytes) :
			 planes_cost(t->oc, t->oh, t->ow, t->ow == l->x.out, c->inp_bytes);
	uint64_t sum = VTA_ISA_LOOP_LATENCY * phases + (uint64_t)t->oh * t->ow / phases * macs;
	uint64_t clear = VTA_ISA_LOOP_LATENCY + (l->post.has[VEC_START] ? 0 : out);
	uint64_t params = l->post.vectors * (34 + t->oc * c->acc_bytes / 16);
	uint64_t inp_loads = t->hold_inp && steps == 1 ? places : tiles * steps;
	uint64_t wgt_loads = steps > 1 ? tiles * steps :
			     t->hold_inp && blocks > 1 ? tiles : blocks * l->groups;
	uint64_t load = inp_loads * (inp + around) + wgt_loads * wgt;
	uint64_t fine = (l->has_res_low ? 5 * out : 0) + (l->has_out_low ? 2 * out + store : 0);
	uint64_t compute = tiles * (steps * sum + clear + ops_post_cost(&l->post, out) + fine) +
			   (t->hold_inp ? tiles : blocks * l->groups) * params;
	uint64_t cost = max_u64(load, compute);

	/* Cycles in which no other module works. */
	if (t->inp_parts == 1)
		cost = load + compute;
	else if (t->wgt_parts == 1)
		cost += (wgt_loads - 1) * wgt;
	cost = t->acc_parts == 1 ? cost + tiles * store : max_u64(cost, tiles * store);
	return cost + inp + wgt + store;
}

static void offer(struct search *s, const struct tile *t)
{
	struct choice new = { *t, estimate(s, t) };
	uint32_t at = s->found;

	while (at && s->best[at - 1].cost > new.cost)
		at--;
	if (at == EXACT_TILES)
		return;
	if (s->found < EXACT_TILES)
		s->found++;
	for (uint32_t i = s->found - 1; i > at; i--)
		s->best[i] = s->best[i - 1];
	s->best[at] = new;
}

/* The most groups of rows that fit with the rest of @t given; 0 if none. */
static uint32_t fit_rows(const struct search *s, struct tile *t)
{
	const struct axis *y = &s->l->y;
	uint32_t lo = 0, hi = min_u32(y->all / y->step, ITER_MAX);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		t->oh = mid * y->step;
		set_inputs(s->l, t);
		if (fits(s, t))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* Few high tiles, and more lower ones: less to wait for at both ends. */
static bool try_width(struct search *s, struct tile *t)
{
	const struct axis *y = &s->l->y;
	uint32_t groups = y->all / y->step, rows = fit_rows(s, t), last = 0;

	if (!rows)
		return false;
	for (uint32_t more = 1; more <= 4; more *= 2) {
		uint32_t even = div_up(groups, min_u32(groups, div_up(groups, rows) * more));

		if (even == last)
			break;
		last = even;
		t->oh = even * y->step;
		set_inputs(s->l, t);
		for (int hold = 0; hold < 2; hold++) {
			t->hold_inp = hold;
			offer(s, t);
		}
	}
	return true;
}

static void try_channels(struct search *s, struct tile *t)
{
	const struct axis *x = &s->l->x;
	uint32_t groups = x->all / x->step, even;

	/* All of the width, and the largest part of it that fits. */
	for (uint32_t split = 1; split <= groups; split = even > 1 ? div_up(groups, even - 1) :
								     groups + 1) {
		even = div_up(groups, split);
		t->ow = even * x->step;
		if (try_width(s, t) && split > 1)
			break;
	}
}

static void try_all(struct search *s, uint32_t kh, uint32_t kw, const uint8_t parts[3])
{
	const struct layer *l = s->l;
	uint64_t room = ops_depth(s->c->log_wgt_depth) / parts[1] / ((uint64_t)kh * kw);
	struct tile t = {
		.kh = kh, .kw = kw,
		.inp_parts = parts[0], .wgt_parts = parts[1], .acc_parts = parts[2],
	};
	/* The weights of some taps of several blocks are not one row in memory. */
	bool whole = kh == l->y.taps && kw == l->x.taps;
	uint32_t last = 0;

	if (!room || !l->oc)
		return;
	/* Output blocks in even parts, input blocks in equal ones. */
	for (uint32_t split = div_up(l->oc, min_u32((uint32_t)room, l->oc)); split <= l->oc;
	     split = t.oc > 1 ? div_up(l->oc, t.oc - 1) : l->oc + 1) {
		t.oc = div_up(l->oc, split);
		if (t.oc == last)
			break;
		last = t.oc;
		for (t.ic = 1; t.ic <= l->ic && (uint64_t)t.ic * t.oc <= room; t.ic++)
			if (l->ic % t.ic == 0 && (t.ic == 1 || whole))
				try_channels(s, &t);
	}
}

/* Nothing fits: report what is missing for the smallest tile. */
static int fail_layer(struct vtaops_builder *b, const struct layer *l)
{
	const struct vtaops_core *c = b->core;
	struct tile t = {
		.ic = 1, .oc = 1, .kh = l->y.flip ? l->y.taps : 1, .kw = l->x.flip ? l->x.taps : 1,
		.oh = l->y.step, .ow = l->x.step, .inp_parts = 1, .wgt_parts = 1, .acc_parts = 1,
	};
	struct need n;

	set_inputs(l, &t);
	n = needs(l, &t);
	if (n.inp > ops_depth(c->log_inp_depth))
		return ops_fail_fit(b, "the smallest tile", n.inp,
				    "inp elements, the reach of the kernel's taps",
				    ops_depth(c->log_inp_depth));
	if (n.wgt > ops_depth(c->log_wgt_depth))
		return ops_fail_fit(b, "the smallest tile", n.wgt,
				    "wgt elements, one for each of the kernel's taps",
				    ops_depth(c->log_wgt_depth));
	if (n.acc > ops_depth(c->log_acc_depth))
		return ops_fail_fit(b, "the smallest tile", n.acc,
				    "acc elements, for outputs and each vector of per-channel values",
				    ops_depth(c->log_acc_depth));
	if (n.uop > ops_depth(c->log_uop_depth))
		return ops_fail_fit(b, "the smallest tile", n.uop,
				    "micro-ops, for the taps and each vector of per-channel values",
				    ops_depth(c->log_uop_depth));
	return ops_fail_fit(b, "the smallest tile", (uint64_t)t.oh * t.ow,
			    "outputs, the product of the strides", ITER_MAX);
}

static uint64_t exact(const struct vtaops_builder *b, const struct layer *l, const struct tile *t)
{
	struct vtaops_builder count = *b;

	count.insn = NULL;
	count.uop = NULL;
	return ops_run_layer(&count, l, t) ? UINT64_MAX : count.cycles - b->cycles;
}

int ops_choose_tile(struct vtaops_builder *b, const struct layer *l, struct tile *best)
{
	/* Parts of inp, wgt and acc: all double, the weights kept, as it fits. */
	static const uint8_t parts[][3] = {
		{ 2, 2, 2 }, { 2, 1, 2 }, { 2, 1, 1 }, { 1, 2, 1 }, { 1, 1, 1 },
	};
	enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
	struct search s = { .c = b->core, .l = l };
	uint64_t least = UINT64_MAX;

	try_all(&s, l->y.taps, l->x.taps, parts[0]);
	try_all(&s, l->y.taps, l->x.taps, parts[1]);
	for (unsigned int i = 2; i < PARTS && !s.found; i++)
		try_all(&s, l->y.taps, l->x.taps, parts[i]);
	for (unsigned int i = 0; i < PARTS && !s.found && !l->y.flip; i += PARTS - 1) {
		try_all(&s, 1, l->x.taps, parts[i]);
		if (!s.found)
			try_all(&s, 1, 1, parts[i]);
	}
	if (!s.found)
		return fail_layer(b, l);
	*best = s.best[0].t;
	for (uint32_t i = 0; i < s.found; i++) {
		const struct tile *t = &s.best[i].t;
		uint64_t steps = places_of(l, t) * div_up(l->oc, t->oc) * l->groups *
				 steps_of(l, t);
		uint64_t cycles = steps <= EXACT_STEPS ? exact(b, l, t) : s.best[i].cost;

		if (cycles < least) {
			least = cycles;
			*best = *t;
		}
	}
	return 0;
}

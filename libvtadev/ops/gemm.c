// SPDX-License-Identifier: Apache-2.0
/*
 * The pipeline of a layer whose sums GEMM makes.
 *
 * The output is cut into tiles; the accumulators of one are summed over steps
 * of input channels and taps, then requantised and stored. Scratchpads are used
 * in parts, so that the load module works on step t + 1 and the store module on
 * tile i - 1 while the compute module does step t of tile i:
 *
 *	load	waits for compute to have left the part that it fills, and signals
 *		compute when it is filled
 *	compute	waits for each step's data and signals when it is done with it;
 *		waits for store to have left the accumulators, and signals store
 *		when a tile is done
 *
 * All tiles of a layer have one size: the last one in each direction is moved
 * back to fit, and computes some outputs a second time, to the same values. So
 * micro-ops are made once for each choice of parts, and stay in their scratchpad.
 *
 * Of a result of 16 bits the low halves are stored first, and compute waits for that before it
 * makes the high ones of the same accumulators. A residual of 16 bits has its low halves behind the
 * vectors until they are added.
 */
#include "layer.h"

/* Micro-ops for one choice of parts, made when first needed. */
struct kernel {
	uint32_t sum;		/* index in the scratchpad */
	bool made;
};

/* Position of a step. */
struct place {
	uint32_t group, image;
	uint32_t ic, oc;	/* channel blocks, of the group */
	uint32_t y, x;		/* outputs */
	uint32_t ky, kx;	/* taps */
};

struct pipe {
	struct vtaops_builder *b;
	const struct layer *l;
	const struct tile *t;
	uint32_t params;		/* where the per-channel values are */
	uint32_t wgt_base, wgt_first;	/* place of the parts of wgt; the one filled first */
	uint32_t steps, tiles;		/* begun so far */
	uint32_t popped;		/* steps that load knows to be done */
	uint32_t inp_loads, wgt_loads, param_loads;
	struct place inp_at, wgt_at, param_at;	/* what was loaded last */
	struct kernel kernel[2][2][2];	/* by inp, wgt, acc part */
	uint32_t post[2], low[2];
	bool post_made[2], low_made[2];
	uint32_t stored;		/* stores that compute knows to be done */
	bool clipped[2];		/* the part's accumulators have values of OUT's range */
};

bool axis_tap(const struct axis *a, uint32_t phase, uint32_t k, uint32_t *offset)
{
	int64_t at = (int64_t)phase - (int64_t)k * a->dilation;

	if (!a->flip) {
		*offset = k * a->dilation;
		return true;
	}
	if (at % a->step)
		return false;
	*offset = (uint32_t)(at / a->step + a->pad);
	return true;
}

static uint32_t acc_part(const struct pipe *p)
{
	return p->tiles % p->t->acc_parts;
}

static uint32_t acc_index(const struct pipe *p)
{
	return acc_part(p) * tile_elements(p->t);
}

/* The part that was filled last, of a scratchpad. */
static uint32_t part(uint32_t loads, uint32_t parts)
{
	return (loads - 1) % parts;
}

static uint32_t inp_index(const struct pipe *p)
{
	return part(p->inp_loads, p->t->inp_parts) * p->t->ic * p->t->ih * p->t->iw;
}

static uint32_t wgt_part(const struct pipe *p)
{
	return part(p->wgt_loads + p->wgt_first, p->t->wgt_parts);
}

static uint32_t wgt_elements(const struct tile *t)
{
	return t->oc * t->ic * t->kh * t->kw;
}

static uint32_t wgt_index(const struct pipe *p)
{
	return p->wgt_base + wgt_part(p) * wgt_elements(p->t);
}

/* Micro-ops of one phase: every output block times every input block and tap. */
static uint32_t phase_uops(struct pipe *p, uint32_t py, uint32_t px, bool make)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t plane = l->rows ? 1 : t->ih * t->iw, block = l->rows ? 1 : t->oh * t->ow;
	uint32_t acc = acc_index(p) + py * t->ow + px, taps = 0;

	for (uint32_t y = 0; y < t->kh; y++) {
		for (uint32_t x = 0; x < t->kw; x++) {
			uint32_t wgt = wgt_index(p) + y * t->kw + x, dy, dx;

			if (!axis_tap(&l->y, py, y, &dy) || !axis_tap(&l->x, px, x, &dx))
				continue;
			taps++;
			if (!make)
				continue;
			for (uint32_t o = 0; o < t->oc; o++)
				for (uint32_t i = 0; i < t->ic; i++, wgt += t->kh * t->kw)
					ops_uop(p->b, acc + o * block,
						inp_index(p) + i * plane + dy * t->iw + dx, wgt);
		}
	}
	return taps * t->oc * t->ic;
}

static uint32_t sum_kernel(struct pipe *p)
{
	const struct tile *t = p->t;
	struct kernel *k = &p->kernel[part(p->inp_loads, t->inp_parts)]
				     [wgt_part(p)][acc_part(p)];
	uint32_t count = 0;

	if (k->made)
		return k->sum;
	for (uint32_t y = 0; y < p->l->y.step; y++)
		for (uint32_t x = 0; x < p->l->x.step; x++)
			count += phase_uops(p, y, x, true);
	k->sum = ops_uop_load(p->b, count);
	k->made = true;
	return k->sum;
}

static uint32_t post_kernel(struct pipe *p)
{
	uint32_t i = acc_part(p);

	if (!p->post_made[i]) {
		p->post[i] = ops_post_uops(p->b, &p->l->post, acc_index(p), p->params, p->t->oc);
		p->post_made[i] = true;
	}
	return p->post[i];
}

/* Micro-op that adds what is behind the vectors to the tile. */
static uint32_t low_kernel(struct pipe *p)
{
	uint32_t i = acc_part(p);

	if (!p->low_made[i]) {
		ops_uop(p->b, acc_index(p), p->params + p->l->post.vectors * p->t->oc, 0);
		p->low[i] = ops_uop_load(p->b, 1);
		p->low_made[i] = true;
	}
	return p->low[i];
}

/* The first element of row @y of group @group. */
static uint32_t row_at(const struct layer *l, const struct rows *r, uint32_t group, uint32_t y)
{
	return group / l->heads * r->image + group % l->heads * r->head + y * r->stride;
}

static void load_input(struct pipe *p, const struct place *at)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t ic = at->group * l->ic + at->ic, channels = l->groups * l->ic;
	struct ops_region r = {
		.type = VTA_ISA_INP, .h = l->y.in, .w = l->x.in, .rows = t->ih, .cols = t->iw,
		.y = (int64_t)(at->y / l->y.step) * l->y.scale - l->y.pad + at->ky * l->y.dilation,
		.x = (int64_t)(at->x / l->x.step) * l->x.scale - l->x.pad + at->kx * l->x.dilation,
	};

	p->inp_loads++;
	if (l->rows) {
		ops_load(p->b, &(struct ops_move) {
			.type = VTA_ISA_INP, .sram = inp_index(p),
			.dram = l->inp + row_at(l, &l->from, at->group, at->y) + at->ic,
			.rows = t->oh, .cols = t->ic, .stride = l->from.stride });
		return;
	}
	r.sram = inp_index(p);
	r.dram = l->inp + (at->image * channels + ic) * r.h * r.w;
	ops_load_planes(p->b, &r, t->ic);
	for (uint32_t i = 0; l->has_around && i < t->ic; i++, r.sram += t->ih * t->iw)
		ops_load_around(p->b, &r, l->around + ic + i);
}

static struct ops_move weights_at(const struct pipe *p, const struct place *at)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t row = l->ic * l->y.taps * l->x.taps;

	return (struct ops_move) {
		.type = VTA_ISA_WGT, .sram = wgt_index(p),
		.dram = l->wgt + (at->group * l->oc + at->oc) * row +
			(at->ic * l->y.taps + at->ky) * l->x.taps + at->kx,
		.rows = t->oc, .cols = t->ic * t->kh * t->kw, .stride = t->oc > 1 ? row : 0 };
}

static void load_weights(struct pipe *p, const struct place *at)
{
	struct ops_move m;

	p->wgt_loads++;
	m = weights_at(p, at);
	if (m.stride <= SIZE_MAX_16) {
		ops_load(p->b, &m);
		return;
	}
	/* The distance of rows in memory has 16 bits. */
	m.rows = 1;
	for (uint32_t i = 0; i < p->t->oc; i++, m.sram += m.cols, m.dram += m.stride)
		ops_load(p->b, &m);
}

/*
 * Let the load module wait for what it is about to overwrite: with two parts
 * the step before the last used the part, with one the last.
 */
static void wait_for_room(struct pipe *p, bool inp, bool wgt)
{
	bool single = (inp && p->t->inp_parts == 1) || (wgt && p->t->wgt_parts == 1);
	uint32_t done = single || !p->steps ? p->steps : p->steps - 1;

	for (; p->popped < done; p->popped++) {
		ops_wait(p->b, VTA_ISA_POP_NEXT);
		if (p->popped + 1 < done)
			ops_carry(p->b, VTA_ISA_INP);
	}
}

static bool same_input(const struct place *a, const struct place *b)
{
	return a->group == b->group && a->image == b->image && a->ic == b->ic && a->y == b->y &&
	       a->x == b->x && a->ky == b->ky && a->kx == b->kx;
}

static bool same_weights(const struct place *a, const struct place *b)
{
	return a->group == b->group && a->oc == b->oc && a->ic == b->ic && a->ky == b->ky &&
	       a->kx == b->kx;
}

static void load_step(struct pipe *p, const struct place *at)
{
	bool inp = !p->inp_loads || !same_input(at, &p->inp_at);
	bool wgt = !p->wgt_loads || !same_weights(at, &p->wgt_at);

	wait_for_room(p, inp, wgt);
	if (wgt)
		load_weights(p, at);
	if (inp)
		load_input(p, at);
	if (!inp && !wgt)
		ops_carry(p->b, VTA_ISA_INP);
	ops_signal(p->b, VTA_ISA_PUSH_NEXT);
	p->inp_at = *at;
	p->wgt_at = *at;
}

static void step(struct pipe *p, const struct place *at)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t uop, count;
	bool first = true;

	load_step(p, at);
	uop = sum_kernel(p);
	for (uint32_t y = 0; y < l->y.step; y++) {
		for (uint32_t x = 0; x < l->x.step; x++, uop += count) {
			count = phase_uops(p, y, x, false);
			if (!count)
				continue;
			if (first)
				ops_wait(p->b, VTA_ISA_POP_PREV);
			first = false;
			ops_gemm(p->b, &(struct ops_loop) {
				.bgn = uop, .end = uop + count,
				.iter_out = t->oh / l->y.step, .iter_in = t->ow / l->x.step,
				.dst_out = l->rows ? t->oc : l->y.step * t->ow,
				.dst_in = l->x.step,
				.src_out = l->rows ? t->ic : l->y.scale * t->iw,
				.src_in = l->x.scale,
			}, false);
		}
	}
	ops_signal(p->b, VTA_ISA_PUSH_PREV);
	p->steps++;
}

/* Load the tile's residual, whose first element is @res, to the accumulators from @acc on. */
static void load_residual(struct pipe *p, const struct place *at, uint32_t res, uint32_t acc)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t oc = at->group * l->oc + at->oc, channels = l->groups * l->oc;

	if (l->rows)
		ops_load(p->b, &(struct ops_move) {
			.type = VTA_ISA_ACC_8BIT, .sram = acc,
			.dram = res + row_at(l, &l->to, at->group, at->y) + at->oc,
			.rows = t->oh, .cols = t->oc, .stride = l->to.stride });
	else
		ops_load_planes(p->b, &(struct ops_region) {
			.type = VTA_ISA_ACC_8BIT, .sram = acc,
			.dram = res + (at->image * channels + oc) * l->y.out * l->x.out,
			.h = l->y.out, .w = l->x.out, .y = at->y, .x = at->x,
			.rows = t->oh, .cols = t->ow }, t->oc);
}

/* Let the residual that is loaded, times 256, be of 16 bits. */
static void add_low(struct pipe *p, const struct place *at, const struct ops_loop *all)
{
	struct ops_loop both = *all;

	both.bgn = low_kernel(p);
	both.end = both.bgn + 1;
	both.src_out = both.dst_out;
	both.src_in = both.dst_in;
	load_residual(p, at, p->l->res_low, p->params + p->l->post.vectors * p->t->oc);
	ops_alu_imm(p->b, all, VTA_ISA_SHR, -8);
	ops_alu(p->b, &both, VTA_ISA_ADD);
}

/* Set the initial value of the sums: zero, a vector, or the residual. */
static void begin_sums(struct pipe *p, const struct place *at, const struct ops_loop *all)
{
	const struct layer *l = p->l;

	if (!l->has_res) {
		if (!l->post.has[VEC_START] || !p->clipped[acc_part(p)])
			ops_gemm(p->b, all, true);
		if (l->post.has[VEC_START])
			ops_post_start(p->b, &l->post, all->bgn, all);
		return;
	}
	load_residual(p, at, l->res, acc_index(p));
	if (l->has_res_low)
		add_low(p, at, all);
	if (l->post.has[VEC_RES])
		ops_post_residual(p->b, &l->post, all->bgn, all);
	if (l->has_res_low)
		ops_alu_imm(p->b, all, VTA_ISA_SHR, 8);
	else if (l->res_shift)
		ops_alu_imm(p->b, all, VTA_ISA_SHR, -(int)l->res_shift);
}

/* The vectors of the tile's channels, if they are not there. */
static void load_params(struct pipe *p, const struct place *at)
{
	if (p->param_loads && p->param_at.group == at->group && p->param_at.oc == at->oc)
		return;
	ops_post_load(p->b, &p->l->post, p->params, at->group * p->l->oc + at->oc, p->t->oc);
	p->param_loads++;
	p->param_at = *at;
}

/* Number of the @size positions from @at on that are to be stored. */
static uint32_t stored(const struct axis *a, uint32_t at, uint32_t size, uint32_t *skip)
{
	uint32_t from = at < a->crop ? a->crop : at;
	uint32_t to = min_u32(at + size, a->crop + a->out);

	*skip = from - at;
	return to > from ? to - from : 0;
}

/* Returns the place in memory of the tile's output (@y, @x) of block @o, from @out on. */
static uint32_t output_at(const struct layer *l, uint32_t out, const struct place *at, uint32_t o,
			  uint32_t y, uint32_t x)
{
	uint32_t block = (at->image * l->groups + at->group) * l->oc + at->oc + o;

	return out + (block * l->y.out + at->y + y - l->y.crop) * l->x.out + at->x + x -
	       l->x.crop;
}

/* Rows of which a part is stored do not follow each other in the scratchpad. */
static void store_planes(struct pipe *p, uint32_t out, const struct place *at, uint32_t rows,
			 uint32_t cols, uint32_t y, uint32_t x)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t stores = cols < t->ow ? rows : 1;
	struct ops_move m = { .type = VTA_ISA_OUT, .sram = acc_index(p) };

	m.dram = output_at(l, out, at, 0, y, x);
	if (rows == t->oh && cols == t->ow &&
	    ops_join_planes(t->oc, rows, cols, l->y.out, l->x.out, &m)) {
		ops_store(p->b, &m);
		return;
	}
	m.rows = rows / stores;
	m.cols = cols;
	m.stride = l->x.out;
	for (uint32_t o = 0; o < t->oc; o++) {
		for (uint32_t i = 0; i < stores; i++) {
			m.sram = acc_index(p) + (o * t->oh + y + i) * t->ow + x;
			m.dram = output_at(l, out, at, o, y + i, x);
			ops_store(p->b, &m);
		}
	}
}

static void store_tile(struct pipe *p, uint32_t out, const struct place *at)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t y, x, rows = stored(&l->y, at->y, t->oh, &y);
	uint32_t cols = stored(&l->x, at->x, t->ow, &x);

	ops_wait(p->b, VTA_ISA_POP_PREV);
	if (l->rows)
		ops_store(p->b, &(struct ops_move) {
			.type = VTA_ISA_OUT, .sram = acc_index(p),
			.dram = out + row_at(l, &l->to, at->group, at->y) + at->oc,
			.rows = rows, .cols = t->oc, .stride = l->to.stride });
	else if (!rows || !cols)
		ops_store(p->b, &(struct ops_move) { .type = VTA_ISA_OUT });
	else
		store_planes(p, out, at, rows, cols, y, x);
	ops_signal(p->b, VTA_ISA_PUSH_PREV);
}

/* Let compute wait for the first @stores stores: at most one more than it knows to be done. */
static void wait_for_stores(struct pipe *p, uint32_t stores)
{
	if (p->stored >= stores)
		return;
	ops_wait(p->b, VTA_ISA_POP_NEXT);
	p->stored = stores;
}

/* Store the low halves of results of 16 bits, and make the high ones of them. */
static void store_low(struct pipe *p, const struct place *at, const struct ops_loop *all)
{
	ops_signal(p->b, VTA_ISA_PUSH_NEXT);
	store_tile(p, p->l->out_low, at);
	wait_for_stores(p, 2 * p->tiles + 1);
	ops_alu_imm(p->b, all, VTA_ISA_ADD, 128);
	ops_alu_imm(p->b, all, VTA_ISA_SHR, 8);
}

static void tile(struct pipe *p, struct place at)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t positions = t->oh * t->ow, post = post_kernel(p), each = 1 + l->has_out_low;
	struct ops_loop all = {
		.bgn = post, .end = post + 1, .iter_out = t->oc, .iter_in = positions,
		.dst_out = positions, .dst_in = 1, .src_out = 1,
	};

	if (l->rows) {
		all.iter_out = positions;
		all.iter_in = t->oc;
		all.dst_out = t->oc;
		all.src_out = 0;
		all.src_in = 1;
	}
	if (p->tiles >= t->acc_parts)
		wait_for_stores(p, each * (p->tiles - t->acc_parts + 1));
	if (l->post.has[VEC_RES] || l->post.has[VEC_START])
		load_params(p, &at);
	begin_sums(p, &at, &all);
	for (at.ic = 0; at.ic < l->ic; at.ic += t->ic)
		for (at.ky = 0; at.ky < l->y.taps; at.ky += t->kh)
			for (at.kx = 0; at.kx < l->x.taps; at.kx += t->kw)
				step(p, &at);
	load_params(p, &at);
	if (l->has_out_low)
		wait_for_stores(p, 2 * p->tiles);
	ops_post_apply(p->b, &l->post, post, &all);
	if (l->has_out_low)
		store_low(p, &at, &all);
	ops_signal(p->b, VTA_ISA_PUSH_NEXT);
	store_tile(p, l->out, &at);
	p->clipped[acc_part(p)] = true;
	p->tiles++;
}

static uint32_t move_back(uint32_t at, uint32_t all, uint32_t size)
{
	return min_u32(at, all - size);
}

/* All output blocks of one place. */
static void channels(struct pipe *p, struct place at)
{
	for (uint32_t oc = 0; oc < p->l->oc && !p->b->error; oc += p->t->oc) {
		at.oc = move_back(oc, p->l->oc, p->t->oc);
		tile(p, at);
	}
}

/* All places, of one output block or of all. */
static void places(struct pipe *p, struct place at)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;

	for (at.image = 0; at.image < l->images; at.image++) {
		for (uint32_t y = 0; y < l->y.all; y += t->oh) {
			for (uint32_t x = 0; x < l->x.all && !p->b->error; x += t->ow) {
				at.y = move_back(y, l->y.all, t->oh);
				at.x = move_back(x, l->x.all, t->ow);
				if (t->hold_inp)
					channels(p, at);
				else
					tile(p, at);
			}
		}
	}
}

/*
 * Load the first weights while the operator before still computes and stores, if there is room that
 * its last step does not use: at the scratchpad's beginning or end, or behind what is used.
 */
static void load_early(struct pipe *p)
{
	struct vtaops_builder *b = p->b;
	uint32_t parts = p->t->wgt_parts;
	uint32_t last = ops_depth(b->core->log_wgt_depth) - parts * wgt_elements(p->t);
	uint32_t behind = ops_between(b)->wgt_at + ops_between(b)->wgt_used;
	const uint32_t bases[] = { 0, min_u32(behind, last), last };
	const struct place first = { 0 };

	if (b->error)
		return;
	p->wgt_loads = 1;
	for (unsigned int i = 0; i < parts * sizeof(bases) / sizeof(bases[0]); i++) {
		struct ops_move m;

		p->wgt_base = bases[i / parts];
		p->wgt_first = i % parts;
		m = weights_at(p, &first);
		if (m.stride <= SIZE_MAX_16 && ops_load_early(b, &m)) {
			ops_load(b, &m);
			p->wgt_at = first;
			return;
		}
	}
	p->wgt_base = 0;
	p->wgt_first = 0;
	p->wgt_loads = 0;
}

int ops_run_layer(struct vtaops_builder *b, const struct layer *l, const struct tile *t)
{
	struct pipe p = { .b = b, .l = l, .t = t, .params = t->acc_parts * tile_elements(t) };
	struct place at = { 0 };

	for (uint32_t i = 0; i < sizeof(p.clipped) / sizeof(*p.clipped); i++)
		p.clipped[i] = (i + 1) * tile_elements(t) <= ops_between(b)->acc_clipped;
	load_early(&p);
	for (at.group = 0; at.group < l->groups && !b->error; at.group++) {
		if (t->hold_inp) {
			places(&p, at);
			continue;
		}
		for (uint32_t oc = 0; oc < l->oc && !b->error; oc += t->oc) {
			at.oc = move_back(oc, l->oc, t->oc);
			places(&p, at);
		}
	}
	ops_barrier(b, p.steps - p.popped, p.tiles * (1 + l->has_out_low) - p.stored);
	if (b->error)
		return b->error;
	ops_between(b)->wgt_at = wgt_index(&p);
	ops_between(b)->wgt_used = wgt_elements(t);
	ops_between(b)->acc_clipped = min_u32(p.tiles, t->acc_parts) * tile_elements(t);
	return 0;
}

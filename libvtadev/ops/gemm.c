// SPDX-License-Identifier: Apache-2.0
/*
 * Convolution and dense layers, as a pipeline of tiles.
 *
 * The output is cut into tiles; the accumulators of one are summed over steps
 * of input channels, then requantised and stored. Each scratchpad is used in
 * halves, so that the load module works on step t + 1 and the store module on
 * tile i - 1 while the compute module does step t of tile i:
 *
 *	load	waits for compute to have left the half that it fills (from the
 *		third step on), and tells compute when it is filled
 *	compute	waits for each step's data and gives the half back; waits for
 *		store to have left the accumulators (from the third tile on), and
 *		tells store when a tile is done
 *
 * All tiles of a layer have one size: the last one in each direction is moved
 * back to fit, and computes some outputs a second time, to the same values.
 */
#include "ops_impl.h"

/* A layer in elements, the same for both operators. */
struct layer {
	uint32_t inp, wgt, out, bias;	/* element indices */
	uint32_t images;
	uint32_t ic, oc;		/* channel blocks */
	uint32_t h, w, oh, ow;
	uint32_t kh, kw;
	uint32_t sh, sw, ph, pw;
	bool rows;			/* a matrix: positions are its rows, w = ow = 1 */
};

struct tile {
	uint32_t ic, oc;		/* channel blocks */
	uint32_t oh, ow;		/* output positions */
	uint32_t ih, iw;		/* input positions that they need */
};

/* Micro-ops for one choice of scratchpad halves, made when first needed. */
struct kernel {
	uint32_t sum, post;		/* indices in the scratchpad */
	bool has_sum, has_post;
};

struct pipe {
	struct vtaops_builder *b;
	const struct layer *l;
	const struct tile *t;
	const struct vtaops_post *post;
	uint32_t inp_half, wgt_half, acc_half;	/* elements in a half */
	uint32_t steps, tiles;			/* begun so far */
	uint32_t wgt_loads;
	struct kernel kernel[2][2][2];		/* by inp, wgt, acc half */
};

static uint32_t tile_elements(const struct tile *t)
{
	return t->oc * t->oh * t->ow;
}

/* Micro-ops for at most four combinations of halves, and one for each acc half. */
static bool uops_fit(const struct vtaops_core *c, uint64_t one)
{
	return 4 * one + 2 <= ops_depth(c->log_uop_depth);
}

static bool tile_fits(const struct vtaops_core *c, const struct layer *l, const struct tile *t)
{
	uint64_t k = (uint64_t)l->kh * l->kw;
	uint64_t positions = (uint64_t)t->oh * t->ow;

	return positions <= ITER_MAX && t->oc <= ITER_MAX &&
	       t->oc * positions + t->oc <= ops_depth(c->log_acc_depth) / 2 &&
	       (uint64_t)t->ic * t->ih * t->iw <= ops_depth(c->log_inp_depth) / 2 &&
	       t->oc * t->ic * k <= ops_depth(c->log_wgt_depth) / 2 &&
	       (t->oc == 1 || l->ic * k <= SIZE_MAX_16) && uops_fit(c, t->oc * t->ic * k);
}

/*
 * Cycles that a tile takes, roughly: the slower of computing and loading. It
 * serves to compare tiles only.
 */
static uint64_t tile_cost(const struct vtaops_core *c, const struct layer *l,
			  const struct tile *t)
{
	uint64_t k = (uint64_t)l->kh * l->kw, out = tile_elements(t);
	uint64_t steps = l->ic / t->ic;
	uint64_t gemm = 8 + out * t->ic * k;
	uint64_t load = 32 * (t->ic + 1) +
			(uint64_t)t->ic * t->ih * (2 + t->iw * c->inp_bytes / 16 + 1);

	if (steps > 1)
		load += t->oc * t->ic * k * c->wgt_bytes / 16;
	return steps * (gemm > load ? gemm : load) + 48 + 6 * out;
}

static void tile_size(const struct layer *l, struct tile *t, uint32_t oh, uint32_t ow)
{
	t->oh = oh;
	t->ow = ow;
	t->ih = (oh - 1) * l->sh + l->kh;
	t->iw = (ow - 1) * l->sw + l->kw;
}

/* The largest output height that fits with the rest of @t given; 0 if none. */
static uint32_t fit_height(const struct vtaops_core *c, const struct layer *l, struct tile *t,
			   uint32_t ow)
{
	uint32_t lo = 0, hi = min_u32(l->oh, ITER_MAX);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		tile_size(l, t, mid, ow);
		if (tile_fits(c, l, t))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/*
 * Try every split of the channels that has no rest and every width, each with
 * the largest height; keep the cheapest. A divisor keeps all tiles equal.
 */
static bool choose_tile(const struct vtaops_core *c, const struct layer *l, struct tile *best)
{
	uint64_t best_cost = UINT64_MAX;
	struct tile t;

	for (t.oc = 1; t.oc <= l->oc; t.oc++) {
		if (l->oc % t.oc)
			continue;
		for (t.ic = 1; t.ic <= l->ic; t.ic++) {
			uint32_t last_ow = 0;

			if (l->ic % t.ic)
				continue;
			for (uint32_t split = 1; split <= l->ow; split++) {
				uint32_t ow = div_up(l->ow, split);
				uint32_t oh;
				uint64_t cost;

				if (ow == last_ow)
					continue;
				last_ow = ow;
				oh = fit_height(c, l, &t, ow);
				if (!oh)
					continue;
				/* As few tiles, but even ones. */
				oh = div_up(l->oh, div_up(l->oh, oh));
				tile_size(l, &t, oh, ow);
				cost = tile_cost(c, l, &t) * (l->oc / t.oc) *
				       div_up(l->oh, oh) * div_up(l->ow, ow);
				if (cost < best_cost) {
					best_cost = cost;
					*best = t;
				}
				if (split > 1)
					break;
			}
		}
	}
	return best_cost != UINT64_MAX;
}

static uint32_t acc_index(const struct pipe *p)
{
	return (p->tiles & 1) * p->acc_half;
}

/* The sums of one step: every output block times every input block and tap. */
static const struct kernel *sum_kernel(struct pipe *p)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t inp = (p->steps & 1) * p->inp_half;
	uint32_t wgt = ((p->wgt_loads - 1) & 1) * p->wgt_half;
	struct kernel *k = &p->kernel[p->steps & 1][(p->wgt_loads - 1) & 1][p->tiles & 1];
	uint32_t plane = l->rows ? 1 : t->ih * t->iw;
	uint32_t block = l->rows ? 1 : t->oh * t->ow;

	if (k->has_sum)
		return k;
	for (uint32_t o = 0; o < t->oc; o++)
		for (uint32_t i = 0; i < t->ic; i++)
			for (uint32_t y = 0; y < l->kh; y++)
				for (uint32_t x = 0; x < l->kw; x++)
					ops_uop(p->b, acc_index(p) + o * block,
						inp + i * plane + y * t->iw + x,
						wgt++);
	k->sum = ops_uop_load(p->b, t->oc * t->ic * l->kh * l->kw);
	k->has_sum = true;
	return k;
}

/* One micro-op for what goes over a whole tile: the bias stands behind it. */
static const struct kernel *post_kernel(struct pipe *p)
{
	struct kernel *k = &p->kernel[0][0][p->tiles & 1];

	if (!k->has_post) {
		ops_uop(p->b, acc_index(p), acc_index(p) + tile_elements(p->t), 0);
		k->post = ops_uop_load(p->b, 1);
		k->has_post = true;
	}
	return k;
}

/* The input of a step, padded where it reaches over the edges. */
static void load_input(struct pipe *p, uint32_t image, uint32_t ic, uint32_t oh, uint32_t ow,
		       unsigned int deps)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t sram = (p->steps & 1) * p->inp_half;
	struct ops_move m = { .type = MEM_INP };

	if (l->rows) {
		m.sram = sram;
		m.dram = l->inp + oh * l->ic + ic;
		m.rows = t->oh;
		m.cols = t->ic;
		m.stride = l->ic;
		ops_load(p->b, &m, deps | PUSH_NEXT);
		return;
	}
	/* The first position wanted may lie in the padding, so may the last. */
	uint32_t y = oh * l->sh, x = ow * l->sw;
	uint32_t y_end = min_u32(y + t->ih, l->h + l->ph);
	uint32_t x_end = min_u32(x + t->iw, l->w + l->pw);

	m.pad_top = y < l->ph ? l->ph - y : 0;
	m.pad_left = x < l->pw ? l->pw - x : 0;
	m.rows = y_end - y - m.pad_top;
	m.cols = x_end - x - m.pad_left;
	m.pad_bottom = y + t->ih - y_end;
	m.pad_right = x + t->iw - x_end;
	m.stride = l->w;
	for (uint32_t i = 0; i < t->ic; i++) {
		m.sram = sram + i * t->ih * t->iw;
		m.dram = l->inp + ((image * l->ic + ic + i) * l->h + y + m.pad_top - l->ph) * l->w +
			 x + m.pad_left - l->pw;
		ops_load(p->b, &m, (i == 0 ? deps : 0) | (i == t->ic - 1 ? PUSH_NEXT : 0));
	}
}

static void load_weights(struct pipe *p, uint32_t oc, uint32_t ic, unsigned int deps)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t k = l->kh * l->kw;

	ops_load(p->b, &(struct ops_move) {
		.type = MEM_WGT, .sram = (p->wgt_loads & 1) * p->wgt_half,
		.dram = l->wgt + (oc * l->ic + ic) * k,
		.rows = t->oc, .cols = t->ic * k,
		.stride = t->oc > 1 ? l->ic * k : 0 }, deps);
	p->wgt_loads++;
}

static void step(struct pipe *p, uint32_t image, uint32_t oc, uint32_t ic, uint32_t oh, uint32_t ow,
		 bool new_weights)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	unsigned int deps = p->steps >= 2 ? POP_NEXT : 0;
	const struct kernel *k;

	if (new_weights) {
		load_weights(p, oc, ic, deps);
		deps = 0;
	}
	load_input(p, image, ic, oh, ow, deps);
	k = sum_kernel(p);
	ops_gemm(p->b, &(struct ops_loop) {
		.bgn = k->sum, .end = k->sum + t->oc * t->ic * l->kh * l->kw,
		.iter_out = t->oh, .iter_in = t->ow,
		.dst_out = l->rows ? t->oc : t->ow, .dst_in = 1,
		.src_out = l->rows ? t->ic : l->sh * t->iw, .src_in = l->sw,
	}, false, POP_PREV | PUSH_PREV);
	p->steps++;
}

static void store_tile(struct pipe *p, uint32_t image, uint32_t oc, uint32_t oh, uint32_t ow)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	struct ops_move m = { .type = MEM_OUT, .sram = acc_index(p), .rows = t->oh };

	if (l->rows) {
		m.dram = l->out + oh * l->oc + oc;
		m.cols = t->oc;
		m.stride = l->oc;
		ops_store(p->b, &m, POP_PREV | PUSH_PREV);
		return;
	}
	m.cols = t->ow;
	m.stride = l->ow;
	for (uint32_t o = 0; o < t->oc; o++) {
		m.sram = acc_index(p) + o * t->oh * t->ow;
		m.dram = l->out + ((image * l->oc + oc + o) * l->oh + oh) * l->ow + ow;
		ops_store(p->b, &m, (o == 0 ? POP_PREV : 0) | (o == t->oc - 1 ? PUSH_PREV : 0));
	}
}

static void tile(struct pipe *p, uint32_t image, uint32_t oc, uint32_t oh, uint32_t ow,
		 bool new_weights)
{
	const struct layer *l = p->l;
	const struct tile *t = p->t;
	uint32_t positions = t->oh * t->ow;
	const struct kernel *k = post_kernel(p);
	/* The tile as a whole, and as pairs with its biases. */
	struct ops_loop all = {
		.bgn = k->post, .end = k->post + 1, .iter_out = t->oc, .iter_in = positions,
		.dst_out = positions, .dst_in = 1,
	};
	struct ops_loop bias = all;

	if (l->rows) {
		bias.iter_out = positions;
		bias.iter_in = t->oc;
		bias.dst_out = t->oc;
		bias.src_in = 1;
	} else {
		bias.src_out = 1;
	}

	ops_gemm(p->b, &all, true, p->tiles >= 2 ? POP_NEXT : 0);
	for (uint32_t ic = 0; ic < l->ic; ic += t->ic)
		step(p, image, oc, ic, oh, ow, new_weights || t->ic < l->ic);
	if (p->post->bias) {
		ops_load(p->b, &(struct ops_move) {
			.type = MEM_ACC, .sram = acc_index(p) + tile_elements(t),
			.dram = l->bias + oc, .rows = 1, .cols = t->oc, .stride = t->oc }, 0);
		ops_alu(p->b, &bias, ALU_ADD, 0);
	}
	ops_requantise(p->b, p->post, &all, PUSH_NEXT);
	store_tile(p, image, oc, oh, ow);
	p->tiles++;
}

static int lower(struct vtaops_builder *b, const struct layer *l, const struct vtaops_post *post)
{
	const struct vtaops_core *c = b->core;
	struct tile t;
	struct pipe p = { .b = b, .l = l, .t = &t, .post = post };

	if (b->error)
		return b->error;
	if (!choose_tile(c, l, &t))
		return ops_fail(b, VTAOPS_EFIT, "no tile of the layer fits half the scratchpads");
	p.inp_half = ops_depth(c->log_inp_depth) / 2;
	p.wgt_half = ops_depth(c->log_wgt_depth) / 2;
	p.acc_half = ops_depth(c->log_acc_depth) / 2;

	for (uint32_t oc = 0; oc < l->oc; oc += t.oc) {
		bool first = true;

		for (uint32_t image = 0; image < l->images; image++)
			for (uint32_t oh = 0; oh < l->oh; oh += t.oh)
				for (uint32_t ow = 0; ow < l->ow; ow += t.ow) {
					tile(&p, image, oc, min_u32(oh, l->oh - t.oh),
					     min_u32(ow, l->ow - t.ow), first);
					first = false;
					if (b->error)
						return b->error;
				}
	}
	ops_barrier(b, min_u32(p.steps, 2), min_u32(p.tiles, 2));
	return b->error;
}

/* Larger than any useful layer, small enough that products fit 64 bits. */
#define DIM_MAX		(1u << 20)

static bool dim_ok(uint32_t v)
{
	return v > 0 && v <= DIM_MAX;
}

static void tensors(struct vtaops_builder *b, struct layer *l, uint32_t inp, uint32_t wgt,
		    uint32_t out, uint32_t bias)
{
	const struct vtaops_core *c = b->core;
	uint64_t plane = (uint64_t)l->h * l->w, out_plane = (uint64_t)l->oh * l->ow;
	uint64_t k = (uint64_t)l->kh * l->kw, pairs = (uint64_t)l->ic * l->oc;

	if (plane > 1ull << 32 || out_plane > 1ull << 32 || pairs > 1ull << 32 ||
	    (uint64_t)l->images * l->ic > 1ull << 32 || (uint64_t)l->images * l->oc > 1ull << 32) {
		ops_fail(b, VTAOPS_EINVAL, "a tensor reaches beyond the 32-bit address space");
		return;
	}
	/* A product of two numbers of 32 bits that would not fit is too large anyway. */
	if ((uint64_t)l->images * l->ic > (1ull << 32) / plane ||
	    (uint64_t)l->images * l->oc > (1ull << 32) / out_plane || pairs > (1ull << 32) / k) {
		ops_fail(b, VTAOPS_EINVAL, "a tensor reaches beyond the 32-bit address space");
		return;
	}
	l->inp = ops_element(b, inp, l->images * l->ic * plane, c->inp_bytes);
	l->out = ops_element(b, out, l->images * l->oc * out_plane, c->inp_bytes);
	l->wgt = ops_element(b, wgt, pairs * k, c->wgt_bytes);
	if (bias)
		l->bias = ops_element(b, bias, l->oc, c->acc_bytes);
}

int vtaops_dense(struct vtaops_builder *b, const struct vtaops_dense *op)
{
	const struct vtaops_core *c = b->core;
	struct layer l = {
		.rows = true, .images = 1, .w = 1, .ow = 1, .kh = 1, .kw = 1, .sh = 1, .sw = 1,
	};

	if (!dim_ok(op->n) || !dim_ok(op->in) || !dim_ok(op->units))
		return ops_fail(b, VTAOPS_EINVAL, "a dimension is 0 or more than 2^20");
	if (ops_check_post(b, &op->post))
		return b->error;
	l.h = div_up(op->n, c->batch);
	l.oh = l.h;
	l.ic = div_up(op->in, c->block);
	l.oc = div_up(op->units, c->block);
	if (l.ic > SIZE_MAX_16 || l.oc > SIZE_MAX_16)
		return ops_fail(b, VTAOPS_EFIT, "a row of the matrix is too long");
	tensors(b, &l, op->inp, op->wgt, op->out, op->post.bias);
	return lower(b, &l, &op->post);
}

uint32_t vtaops_conv2d_out_h(const struct vtaops_conv2d *op)
{
	return (op->h + 2 * op->pad_h - op->kh) / op->stride_h + 1;
}

uint32_t vtaops_conv2d_out_w(const struct vtaops_conv2d *op)
{
	return (op->w + 2 * op->pad_w - op->kw) / op->stride_w + 1;
}

int vtaops_conv2d(struct vtaops_builder *b, const struct vtaops_conv2d *op)
{
	const struct vtaops_core *c = b->core;
	struct layer l = {
		.h = op->h, .w = op->w, .kh = op->kh, .kw = op->kw,
		.sh = op->stride_h, .sw = op->stride_w, .ph = op->pad_h, .pw = op->pad_w,
	};

	if (!dim_ok(op->n) || !dim_ok(op->in) || !dim_ok(op->units) || !dim_ok(op->h) ||
	    !dim_ok(op->w) || !dim_ok(op->kh) || !dim_ok(op->kw) || !dim_ok(op->stride_h) ||
	    !dim_ok(op->stride_w))
		return ops_fail(b, VTAOPS_EINVAL, "a dimension is 0 or more than 2^20");
	if (op->pad_h >= op->kh || op->pad_w >= op->kw || op->pad_h > 15 || op->pad_w > 15)
		return ops_fail(b, VTAOPS_EINVAL, "the padding is over 15 or not below the kernel");
	if (op->kh > op->h + 2 * op->pad_h || op->kw > op->w + 2 * op->pad_w)
		return ops_fail(b, VTAOPS_EINVAL, "the kernel is larger than the padded input");
	if (op->w > SIZE_MAX_16)
		return ops_fail(b, VTAOPS_EFIT, "a row of the input is too long");
	if (ops_check_post(b, &op->post))
		return b->error;
	l.oh = vtaops_conv2d_out_h(op);
	l.ow = vtaops_conv2d_out_w(op);
	l.images = div_up(op->n, c->batch);
	l.ic = div_up(op->in, c->block);
	l.oc = div_up(op->units, c->block);
	tensors(b, &l, op->inp, op->wgt, op->out, op->post.bias);
	return lower(b, &l, &op->post);
}

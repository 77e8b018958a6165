// SPDX-License-Identifier: Apache-2.0
/*
 * Pooling and depthwise convolution by ALU: channels do not meet, so a plane of
 * one block of them is worked on at a time, or several small ones. A tile of outputs,
 * the inputs that it needs and per-channel values are among the accumulators, twice, so
 * that the store module writes one tile while the next is computed.
 *
 * Sums, greatest values and products are made tap by tap: a micro-op for each
 * tap, the loops over outputs; or, where a tile has fewer outputs than taps, a
 * micro-op for each output and the loops over taps. The greatest values of a
 * window are those of its columns' greatest values, if that takes fewer cycles.
 *
 * Sums are made by GEMM, too, with the identity as weights: a cycle for each tap, and the load
 * module brings the inputs.
 */
#include "fetch.h"
#include "post.h"

#define AVERAGE_MAX	65536u

enum kind { KIND_MAX, KIND_SUM, KIND_MAC };

struct side {
	uint32_t in, out, taps, dilation, stride, pad;
};

struct window {
	enum kind kind;
	uint32_t inp, wgt, out;		/* element indices */
	uint32_t images, blocks;
	struct side y, x;
	bool by_gemm;			/* sums: the inputs are in inp, in two parts */
};

struct tile {
	uint32_t planes;		/* more than one if all of their outputs fit */
	uint32_t oh, ow;
	uint32_t rows;			/* of taps in a step */
	uint32_t ih, iw;
	uint32_t parts;
	bool by_output;			/* micro-ops are outputs, not taps */
	bool by_column;			/* greatest values of columns first */
};

/* Parts of inp, and of the micro-ops that read them */
#define INP_PARTS	2u


/* Indices of micro-ops of one part. */
struct uops {
	uint32_t inp;			/* the inputs */
	uint32_t post;			/* the outputs */
	uint32_t taps[INP_PARTS];	/* output or product, input; by tap or by output */
	uint32_t columns;		/* input, input below it */
	uint32_t weights;		/* product, weight; by tap of the kernel */
	uint32_t add;			/* output, product */
	bool made;
};

struct pipe {
	struct vtaops_builder *b;
	const struct window *w;
	const struct tile *t;
	struct ops_fetch fetch;
	struct ops_post post;
	uint32_t tiles, steps;
	uint32_t weights, params;	/* accumulators */
	uint32_t border;		/* a micro-op's place that is used again and again */
	struct uops uops[2];
};

static uint32_t reach(const struct side *s, uint32_t outs, uint32_t taps)
{
	return (outs - 1) * s->stride + (taps - 1) * s->dilation + 1;
}

/* Elements of a tile's inputs */
static uint32_t inputs_of(const struct tile *t)
{
	return t->planes * t->ih * t->iw;
}

/* Accumulators of a tile */
static uint32_t part_of(const struct window *w, const struct tile *t)
{
	uint32_t outs = t->planes * t->oh * t->ow * (w->kind == KIND_MAC ? 2 : 1);

	return outs + (w->by_gemm ? 0 : inputs_of(t));
}

static uint32_t inp_at(const struct pipe *p)
{
	return p->tiles % p->t->parts * part_of(p->w, p->t);
}

static uint32_t out_at(const struct pipe *p)
{
	return inp_at(p) + (p->w->by_gemm ? 0 : inputs_of(p->t));
}

static uint32_t product_at(const struct pipe *p)
{
	return out_at(p) + p->t->planes * p->t->oh * p->t->ow;
}

/* Micro-ops of taps, which read the inputs from @inp on. */
static uint32_t tap_uops(const struct pipe *p, uint32_t inp)
{
	const struct tile *t = p->t;
	const struct window *w = p->w;
	uint32_t dst = w->kind == KIND_MAC ? product_at(p) : out_at(p);
	uint32_t rows = t->by_column ? 1 : t->rows;
	uint32_t cols = w->x.taps, step_y = w->y.dilation, step_x = w->x.dilation;

	if (t->by_output) {
		rows = t->oh;
		cols = t->ow;
		step_y = w->y.stride;
		step_x = w->x.stride;
	}
	for (uint32_t y = 0; y < rows; y++)
		for (uint32_t x = 0; x < cols; x++)
			for (uint32_t i = 0; i < t->planes; i++)
				ops_uop(p->b, dst + i * t->oh * t->ow +
					(t->by_output ? y * t->ow + x : 0),
					inp + i * t->ih * t->iw + y * step_y * t->iw +
					x * step_x, 0);
	return ops_uop_load(p->b, rows * cols * t->planes);
}

/* Micro-ops of the taps below the first: a row is read before anything is written to it. */
static uint32_t column_uops(const struct pipe *p)
{
	const struct tile *t = p->t;

	for (uint32_t y = 1; y < t->rows; y++)
		for (uint32_t i = 0; i < t->planes; i++)
			ops_uop(p->b, inp_at(p) + i * t->ih * t->iw,
				inp_at(p) + (i * t->ih + y * p->w->y.dilation) * t->iw, 0);
	return ops_uop_load(p->b, (t->rows - 1) * t->planes);
}

static uint32_t inp_parts(const struct window *w)
{
	return w->by_gemm ? INP_PARTS : 1;
}

static const struct uops *part_uops(struct pipe *p)
{
	struct uops *u = &p->uops[p->tiles % p->t->parts];
	uint32_t taps = p->w->y.taps * p->w->x.taps;

	if (u->made)
		return u;
	ops_uop(p->b, inp_at(p), 0, 0);
	u->inp = ops_uop_load(p->b, 1);
	u->post = ops_post_uops(p->b, &p->post, out_at(p), p->params, p->t->planes);
	for (uint32_t i = 0; i < inp_parts(p->w); i++)
		u->taps[i] = tap_uops(p, p->w->by_gemm ? i * inputs_of(p->t) : inp_at(p));
	if (p->t->by_column)
		u->columns = column_uops(p);
	if (p->w->kind == KIND_MAC) {
		for (uint32_t i = 0; i < taps; i++)
			ops_uop(p->b, product_at(p), p->weights + i, 0);
		u->weights = ops_uop_load(p->b, taps);
		ops_uop(p->b, out_at(p), product_at(p), 0);
		u->add = ops_uop_load(p->b, 1);
	}
	u->made = true;
	return u;
}

/* Elements that a tile needs in each scratchpad. */
struct need {
	uint64_t inp, acc, uop;
};

static struct need needs(const struct window *w, const struct tile *t, const struct ops_post *post)
{
	uint64_t taps = (uint64_t)w->y.taps * w->x.taps;
	uint64_t outs = (uint64_t)t->planes * t->oh * t->ow;
	uint64_t inputs = (uint64_t)t->planes * t->ih * t->iw;
	uint64_t rows = t->by_column ? 1 : t->rows;
	uint64_t uops = inp_parts(w) * (t->by_output ? outs : t->planes * rows * w->x.taps);
	bool mac = w->kind == KIND_MAC;

	return (struct need) {
		.inp = inp_parts(w) * inputs,
		.acc = t->parts * ((w->by_gemm ? 0 : inputs) + outs * (mac ? 2 : 1)) +
		       (uint64_t)post->vectors * t->planes + (mac ? taps : 0),
		.uop = t->parts * (1 + ops_post_uop_count(post) + (mac ? taps + 1 : 0) + uops +
				   (t->by_column ? (uint64_t)t->planes * (t->rows - 1) : 0)) + 1,
	};
}

static void set_inputs(const struct window *w, struct tile *t)
{
	t->ih = reach(&w->y, t->oh, t->rows);
	t->iw = reach(&w->x, t->ow, w->x.taps);
	t->by_output = w->kind != KIND_MAC &&
		       (uint64_t)t->oh * t->ow < (uint64_t)t->rows * w->x.taps;
	t->by_column = w->kind == KIND_MAX && !t->by_output && t->rows == w->y.taps &&
		       (t->rows - 1ull) * t->iw + (uint64_t)w->x.taps * t->ow <
		       (uint64_t)t->rows * w->x.taps * t->ow;
}

/* Elements of inp that a tile may use */
static uint32_t inp_room(const struct pipe *p)
{
	return p->w->by_gemm ? ops_depth(p->b->core->log_inp_depth) :
			       ops_fetch_max(p->b, &p->fetch);
}

static bool fits(const struct pipe *p, struct tile *t)
{
	const struct vtaops_core *c = p->b->core;
	struct need n;

	set_inputs(p->w, t);
	n = needs(p->w, t, &p->post);
	return n.acc <= ops_depth(c->log_acc_depth) && n.uop <= ops_depth(c->log_uop_depth) &&
	       n.inp <= inp_room(p) && t->ih <= ITER_MAX && t->iw <= ITER_MAX;
}

/* The widest tile that fits, then the highest. */
static bool find_tile(const struct pipe *p, struct tile *t)
{
	uint32_t width = p->w->x.out, height = p->w->y.out, ow = 0;

	for (uint32_t i = 1; i <= width; i = ow > 1 ? div_up(width, ow - 1) : width + 1) {
		ow = div_up(width, i);
		t->ow = ow;
		for (uint32_t j = 1; j / 2 < height; j *= 2) {
			t->oh = div_up(height, j);
			if (fits(p, t))
				return true;
		}
	}
	return false;
}

/* Can a tile have several planes? It has all outputs of each; padding is covered by plane. */
static bool can_join(const struct pipe *p, const struct tile *t)
{
	const struct window *w = p->w;
	bool padded = reach(&w->y, w->y.out, w->y.taps) > w->y.in || w->y.pad ||
		      reach(&w->x, w->x.out, w->x.taps) > w->x.in || w->x.pad;

	return t->oh == w->y.out && t->ow == w->x.out && t->rows == w->y.taps &&
	       (uint64_t)t->oh * t->ow <= ITER_MAX && w->kind != KIND_MAC &&
	       (w->kind != KIND_MAX || !padded);
}

/* Tiles of all planes that the load module brings side by side with sums. */
#define TILES_LEAST	4u

/* The most blocks of an image that are a part of all. */
static void join_planes(const struct pipe *p, struct tile *t)
{
	uint32_t most = can_join(p, t) ? p->w->blocks : 1;

	if (p->w->by_gemm)
		most = div_up(most, TILES_LEAST);

	for (t->planes = most; t->planes > 1; t->planes--)
		if (p->w->blocks % t->planes == 0 && fits(p, t) &&
		    (uint64_t)t->planes * t->ih <= ITER_MAX)
			return;
	set_inputs(p->w, t);
}

static bool choose_tile(const struct pipe *p, struct tile *t)
{
	t->planes = 1;
	for (t->parts = 2; t->parts; t->parts--)
		for (t->rows = p->w->y.taps; t->rows; t->rows /= 2)
			if (find_tile(p, t)) {
				join_planes(p, t);
				return true;
			}
	return false;
}

static int fail_pipe(struct pipe *p)
{
	const struct vtaops_core *c = p->b->core;
	struct tile t = { .planes = 1, .oh = 1, .ow = 1, .rows = 1, .parts = 1 };
	struct need n;

	set_inputs(p->w, &t);
	n = needs(p->w, &t, &p->post);
	if (n.acc > ops_depth(c->log_acc_depth))
		return ops_fail_fit(p->b, "the smallest tile", n.acc,
				    "acc elements, for a row of the window, outputs and vectors",
				    ops_depth(c->log_acc_depth));
	if (n.inp > inp_room(p))
		return ops_fail_fit(p->b, "the smallest tile", n.inp,
				    "inp elements, for a row of the window", inp_room(p));
	return ops_fail_fit(p->b, "the smallest tile", n.uop,
			    "micro-ops, for a row of the window and vectors",
			    ops_depth(c->log_uop_depth));
}

static int least_of(const struct vtaops_core *c)
{
	return -(1 << ((1 << c->log_inp_width) - 1));
}

/* The least value for @rows × @cols of the inputs from @at on, which are 0. */
static void cover(struct pipe *p, uint32_t at, uint32_t rows, uint32_t cols)
{
	const struct vtaops_core *c = p->b->core;

	if (!rows || !cols)
		return;
	p->b->uop_sram = p->border;
	ops_uop(p->b, inp_at(p) + at, 0, 0);
	ops_uop_load(p->b, 1);
	ops_alu_imm(p->b, &(struct ops_loop) {
		.bgn = p->border, .end = p->border + 1, .iter_out = rows, .iter_in = cols,
		.dst_out = p->t->iw, .dst_in = 1 },
		VTA_ISA_MIN, least_of(c));
}

/* Padding is 0 where LOAD makes it, but counts as nothing for the greatest value. */
static void cover_padding(struct pipe *p, const struct ops_region *r)
{
	uint32_t after = p->b->uop_sram;
	uint32_t top = r->y < 0 ? min_u32((uint32_t)-r->y, r->rows) : 0;
	uint32_t left = r->x < 0 ? min_u32((uint32_t)-r->x, r->cols) : 0;
	int64_t below = r->y + r->rows - r->h, beside = r->x + r->cols - r->w;
	uint32_t bottom = below > 0 ? min_u32((uint32_t)below, r->rows) : 0;
	uint32_t right = beside > 0 ? min_u32((uint32_t)beside, r->cols) : 0;

	cover(p, 0, top, r->cols);
	cover(p, (r->rows - bottom) * r->cols, bottom, r->cols);
	cover(p, 0, r->rows, left);
	cover(p, r->cols - right, r->rows, right);
	p->b->uop_sram = after;
}

/* The loops over the outputs of a tile's first plane. */
static struct ops_loop outputs(const struct pipe *p, uint32_t bgn, uint32_t count)
{
	return (struct ops_loop) {
		.bgn = bgn, .end = bgn + count, .iter_out = p->t->oh, .iter_in = p->t->ow,
		.dst_out = p->t->ow, .dst_in = 1,
	};
}

/* The loops over all taps of @rows rows, with the micro-ops @taps. */
static struct ops_loop loop_taps(const struct pipe *p, uint32_t taps, uint32_t rows)
{
	const struct tile *t = p->t;
	const struct window *w = p->w;
	struct ops_loop l = outputs(p, taps, t->planes * rows * w->x.taps);

	l.src_out = w->y.stride * t->iw;
	l.src_in = w->x.stride;
	if (t->by_output)
		l = (struct ops_loop) {
			.bgn = taps, .end = taps + t->planes * t->oh * t->ow,
			.iter_out = rows, .iter_in = w->x.taps,
			.src_out = w->y.dilation * t->iw, .src_in = w->x.dilation,
		};
	return l;
}

/* The outputs of a tile before it, which are of OUT's range, become the least value at once. */
static void begin_outputs(struct pipe *p, const struct ops_loop *all)
{
	if (p->w->kind != KIND_MAX || p->tiles < p->t->parts)
		ops_gemm(p->b, all, true);
	if (p->w->kind == KIND_MAX)
		ops_alu_imm(p->b, all, VTA_ISA_MIN, least_of(p->b->core));
}

/* The greatest values of columns, in the place of their first rows. */
static void take_columns(struct pipe *p, const struct uops *u)
{
	const struct tile *t = p->t;
	uint32_t step = p->w->y.stride * t->iw;

	ops_alu(p->b, &(struct ops_loop) {
		.bgn = u->columns, .end = u->columns + (t->rows - 1) * t->planes,
		.iter_out = t->oh, .iter_in = t->iw, .dst_out = step, .dst_in = 1,
		.src_out = step, .src_in = 1 }, VTA_ISA_MAX);
}

/* The sums of @rows rows of the region @r by GEMM. */
static void add_products(struct pipe *p, const struct uops *u, struct ops_region r, uint32_t rows)
{
	struct vtaops_builder *b = p->b;
	uint32_t part = p->steps % INP_PARTS;
	struct ops_loop l = loop_taps(p, u->taps[part], rows);

	if (p->steps >= INP_PARTS)
		ops_wait(b, VTA_ISA_POP_NEXT);
	else if (!p->steps)
		ops_load(b, &(struct ops_move) {
			.type = VTA_ISA_WGT, .dram = p->fetch.identity, .rows = 1, .cols = 1 });
	r.type = VTA_ISA_INP;
	r.sram = part * inputs_of(p->t);
	ops_load_planes(b, &r, p->t->planes);
	ops_signal(b, VTA_ISA_PUSH_NEXT);
	ops_wait(b, VTA_ISA_POP_PREV);
	ops_gemm(b, &l, false);
	ops_signal(b, VTA_ISA_PUSH_PREV);
	p->steps++;
}

/* Input times weight, tap by tap; @tap is the first of the rows. */
static void multiply(struct pipe *p, const struct uops *u, uint32_t tap, uint32_t rows)
{
	struct ops_loop clear = outputs(p, u->taps[0], 1), add = outputs(p, u->add, 1);

	add.src_out = p->t->ow;
	add.src_in = 1;
	for (uint32_t i = 0; i < rows * p->w->x.taps; i++) {
		struct ops_loop take = outputs(p, u->taps[0] + i, 1);
		struct ops_loop weigh = outputs(p, u->weights + tap + i, 1);

		take.src_out = p->w->y.stride * p->t->iw;
		take.src_in = p->w->x.stride;
		ops_gemm(p->b, &clear, true);
		ops_alu(p->b, &take, VTA_ISA_ADD);
		ops_alu(p->b, &weigh, VTA_ISA_MUL);
		ops_alu(p->b, &add, VTA_ISA_ADD);
	}
}

static void tile(struct pipe *p, uint32_t plane, uint32_t y, uint32_t x)
{
	const struct tile *t = p->t;
	const struct window *w = p->w;
	const struct uops *u = part_uops(p);
	struct ops_loop all = outputs(p, u->post, 1), taps;

	if (t->planes > 1) {
		all.iter_out = t->planes;
		all.iter_in = t->oh * t->ow;
		all.dst_out = all.iter_in;
		all.src_out = 1;
	}
	if (p->tiles >= t->parts)
		ops_wait(p->b, VTA_ISA_POP_NEXT);
	begin_outputs(p, &all);
	for (uint32_t k = 0; k < w->y.taps; k += t->rows) {
		uint32_t rows = min_u32(t->rows, w->y.taps - k);
		struct ops_region r = {
			.dram = w->inp + plane * w->y.in * w->x.in, .h = w->y.in, .w = w->x.in,
			.y = (int64_t)y * w->y.stride - w->y.pad + k * w->y.dilation,
			.x = (int64_t)x * w->x.stride - w->x.pad,
			.rows = reach(&w->y, t->oh, rows), .cols = t->iw,
		};

		if (w->by_gemm) {
			add_products(p, u, r, rows);
			continue;
		}
		ops_fetch(p->b, &p->fetch, &r, t->planes, inp_at(p), u->inp);
		if (w->kind == KIND_MAC) {
			multiply(p, u, k * w->x.taps, rows);
			continue;
		}
		if (w->kind == KIND_MAX)
			cover_padding(p, &r);
		if (t->by_column)
			take_columns(p, u);
		taps = loop_taps(p, u->taps[0], t->by_column ? 1 : rows);
		ops_alu(p->b, &taps, w->kind == KIND_MAX ? VTA_ISA_MAX : VTA_ISA_ADD);
	}
	ops_post_apply(p->b, &p->post, u->post, &all);
	ops_signal(p->b, VTA_ISA_PUSH_NEXT);
	ops_wait(p->b, VTA_ISA_POP_PREV);
	ops_store(p->b, &(struct ops_move) {
		.type = VTA_ISA_OUT, .sram = out_at(p),
		.dram = w->out + (plane * w->y.out + y) * w->x.out + x,
		.rows = t->planes * t->oh, .cols = t->ow, .stride = w->x.out });
	ops_signal(p->b, VTA_ISA_PUSH_PREV);
	p->tiles++;
}

static int run_pipe(struct pipe *p)
{
	const struct window *w = p->w;
	const struct tile *t = p->t;
	uint32_t taps = w->kind == KIND_MAC ? w->y.taps * w->x.taps : 0;

	p->weights = t->parts * part_of(w, t);
	p->params = p->weights + taps;
	if (w->kind == KIND_MAX) {
		ops_uop(p->b, 0, 0, 0);
		p->border = ops_uop_load(p->b, 1);
	}
	for (uint32_t plane = 0; plane < w->images * w->blocks; plane += t->planes) {
		uint32_t block = plane % w->blocks;

		ops_post_load(p->b, &p->post, p->params, block, t->planes);
		if (taps)
			ops_load(p->b, &(struct ops_move) {
				.type = VTA_ISA_ACC, .sram = p->weights,
				.dram = w->wgt + block * taps, .rows = 1, .cols = taps });
		for (uint32_t y = 0; y < w->y.out; y += t->oh)
			for (uint32_t x = 0; x < w->x.out && !p->b->error; x += t->ow)
				tile(p, plane, min_u32(y, w->y.out - t->oh),
				     min_u32(x, w->x.out - t->ow));
	}
	ops_barrier(p->b, w->by_gemm ? min_u32(p->steps, INP_PARTS) : ops_fetch_tokens(&p->fetch),
		    min_u32(p->tiles, t->parts));
	if (!p->b->error && w->by_gemm)
		ops_between(p->b)->wgt_used = 1;
	return p->b->error;
}

/* The cycles of @p's tiles, behind the stream so far; UINT64_MAX: none fits. */
static uint64_t count_cycles(struct pipe *p, struct tile *t)
{
	struct vtaops_builder *b = p->b, count = *b;
	struct pipe trial = *p;

	if (!choose_tile(p, t))
		return UINT64_MAX;
	count.insn = NULL;
	count.uop = NULL;
	trial.b = &count;
	trial.t = t;
	return run_pipe(&trial) ? UINT64_MAX : count.cycles - b->cycles;
}

/* Sums by ALU, or by GEMM if that takes fewer cycles. */
static int run_sums(struct pipe *p, struct window *w)
{
	struct tile by_alu, by_gemm;
	uint64_t least = count_cycles(p, &by_alu);

	w->by_gemm = true;
	w->by_gemm = count_cycles(p, &by_gemm) < least;
	if (least == UINT64_MAX && !w->by_gemm)
		return fail_pipe(p);
	p->t = w->by_gemm ? &by_gemm : &by_alu;
	return run_pipe(p);
}

uint32_t ops_out_size(uint32_t in, uint32_t k, uint32_t dil, uint32_t stride, uint32_t pad,
		      int32_t end)
{
	int64_t padded = (int64_t)in + 2 * (int64_t)pad + end;
	uint64_t size = (k - 1ull) * (dil ? dil : 1) + 1;

	if (!dim_ok(in) || !dim_ok(k) || !dim_ok(stride) || dil > DIM_MAX || pad > DIM_MAX ||
	    padded < 0 || (uint64_t)padded < size)
		return 0;
	return (uint32_t)(((uint64_t)padded - size) / stride + 1);
}

uint32_t vtaops_out_size(uint32_t in, uint32_t k, uint32_t dil, uint32_t stride, uint32_t pad)
{
	return ops_out_size(in, k, dil, stride, pad, 0);
}

uint32_t vtaops_window_out_h(const struct vtaops_window *op)
{
	return ops_out_size(op->h, op->kh, op->dil_h, op->stride_h, op->pad_h, op->end_h);
}

uint32_t vtaops_window_out_w(const struct vtaops_window *op)
{
	return ops_out_size(op->w, op->kw, op->dil_w, op->stride_w, op->pad_w, op->end_w);
}

static int init_side(struct vtaops_builder *b, struct side *s, uint32_t in, uint32_t k,
		     uint32_t dil, uint32_t stride, uint32_t pad, int32_t end)
{
	uint64_t size;

	if (!dim_ok(in) || !dim_ok(k) || !dim_ok(stride) || dil > DIM_MAX)
		return ops_fail(b, VTAOPS_EINVAL, "a dimension is 0 or more than 2^20");
	size = (k - 1ull) * (dil ? dil : 1) + 1;
	if (!ops_pads_ok(in, size, pad, end) || size > DIM_MAX)
		return ops_fail(b, VTAOPS_EINVAL,
				"the padding is not below the window, or that is above the padded input");
	*s = (struct side) {
		.in = in, .out = ops_out_size(in, k, dil, stride, pad, end), .taps = k,
		.dilation = dil ? dil : 1, .stride = stride, .pad = pad,
	};
	return b->error;
}

static int window(struct vtaops_builder *b, const struct vtaops_window *op, enum kind kind)
{
	const struct vtaops_core *c = b->core;
	struct window w = { .kind = kind };
	struct tile t;
	struct pipe p = { .b = b, .w = &w, .t = &t };
	uint64_t in, out;

	if (b->error)
		return b->error;
	if (!dim_ok(op->n) || !dim_ok(op->c))
		return ops_fail(b, VTAOPS_EINVAL, "a dimension is 0 or more than 2^20");
	if (init_side(b, &w.y, op->h, op->kh, op->dil_h, op->stride_h, op->pad_h,
		      op->end_h) ||
	    init_side(b, &w.x, op->w, op->kw, op->dil_w, op->stride_w, op->pad_w,
		      op->end_w))
		return b->error;
	if (op->w > SIZE_MAX_16 || w.x.out > SIZE_MAX_16)
		return ops_fail_fit(b, "a row of the layer", max_u64(op->w, w.x.out), "positions",
				    SIZE_MAX_16);
	w.images = div_up(op->n, c->batch);
	w.blocks = div_up(op->c, c->block);
	in = ops_count3((uint64_t)w.images * w.blocks, w.y.in, w.x.in);
	out = ops_count3((uint64_t)w.images * w.blocks, w.y.out, w.x.out);
	w.inp = ops_element(b, op->inp, in, c->inp_bytes);
	w.out = ops_element(b, op->out, out, c->inp_bytes);
	if (kind == KIND_MAC)
		w.wgt = ops_element(b, op->wgt, ops_count3(w.blocks, w.y.taps, w.x.taps),
				    c->acc_bytes);
	if (ops_overlap(op->inp, in * c->inp_bytes, op->out, out * c->inp_bytes))
		return ops_fail(b, VTAOPS_EINVAL, "the output overlaps an input");
	if (ops_post_init(b, &p.post, &op->post, w.blocks) ||
	    ops_fetch_init(b, &p.fetch, op->identity))
		return b->error;
	p.post.in_range = kind == KIND_MAX && !p.post.vectors && op->post.mul >= 0 &&
			  op->post.mul <= 1;
	if (kind == KIND_SUM && op->identity) {
		p.fetch.identity = ops_element(b, op->identity, 1, c->wgt_bytes);
		return run_sums(&p, &w);
	}
	if (!choose_tile(&p, &t))
		return fail_pipe(&p);
	return run_pipe(&p);
}

int vtaops_max_pool(struct vtaops_builder *b, const struct vtaops_window *op)
{
	return window(b, op, KIND_MAX);
}

int vtaops_sum_pool(struct vtaops_builder *b, const struct vtaops_window *op)
{
	return window(b, op, KIND_SUM);
}

int vtaops_avg_pool(struct vtaops_builder *b, const struct vtaops_window *op)
{
	const struct vtaops_post *post = &op->post;
	uint64_t count = ops_count3(op->kh, op->kw, 1);
	struct vtaops_window sum = *op;

	if (b->error)
		return b->error;
	if (post->bias || post->muls || post->shifts || post->mul || post->shift)
		return ops_fail(b, VTAOPS_EINVAL, "an average takes nothing of post but lo and hi");
	if (count > AVERAGE_MAX)
		return ops_fail_fit(b, "the window", count, "values to average", AVERAGE_MAX);
	vtaops_average(&sum.post, (uint32_t)count);
	return window(b, &sum, KIND_SUM);
}

int vtaops_depthwise(struct vtaops_builder *b, const struct vtaops_window *op)
{
	return window(b, op, KIND_MAC);
}

void vtaops_average(struct vtaops_post *post, uint32_t count)
{
	/* Up to 2^7 · count, times 2^23 / count and what that is rounded by: below 2^31. */
	unsigned int shift = 23;

	count = min_u32(count ? count : 1, AVERAGE_MAX);
	while ((1u << shift) / count > 32767)
		shift--;
	post->mul = (int)(((1u << shift) + count / 2) / count);
	post->shift = shift;
	post->round = 1;
}

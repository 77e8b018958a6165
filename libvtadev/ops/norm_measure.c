// SPDX-License-Identifier: Apache-2.0
/*
 * The second pass of a normalisation. GEMM with ones sums a position's channels, and puts the sum
 * into the position's own lane: a group is one accumulator, and what follows is computed for all of
 * its positions at once. Its squares are the products of a position with all of its group (an
 * element of wgt, as it lies in memory), of which a mask takes the one with itself. Then
 * norm_steps.c's steps lead to two numbers.
 */
#include "norm_impl.h"
#include "norm_steps.h"

struct measure {
	uint32_t parts;			/* of inp and wgt */
	uint32_t groups, blocks;	/* of a step */
	uint32_t slots;			/* tiles of so many groups that are finished together */
	uint32_t masks, sums, squares, regs;	/* accumulators: where each begins */
	uint32_t sum_uops[2], square_uops[2];	/* by part */
	uint32_t mask_uops, clear_uop, clear_sums_uop;
	uint32_t row_uops;		/* both numbers with the mask of a batch's rows */
	uint32_t slot_uops;		/* of the first: to keep a sum; each to add squares */
	uint32_t reg_uops;		/* of all pairs */
	uint32_t count;			/* groups under way */
	struct norm_job *j;
};

static uint32_t measure_uops(const struct norm_job *j, const struct measure *t)
{
	return t->parts * 2 * j->each + j->each + 4 + NORM_REGS * NORM_REGS +
	       t->slots * (j->each + 1);
}

static uint32_t measure_acc(const struct norm_job *j, const struct measure *t)
{
	return j->each + 1 + t->groups * (1 + j->each + NORM_REGS * t->slots);
}

/* As many groups at once as inp, wgt and a quarter of the accumulators hold, in @parts parts. */
static bool fit_step(const struct norm_job *j, struct measure *t, uint32_t parts)
{
	const struct vtaops_core *core = j->b->core;
	uint32_t inp = ops_depth(core->log_inp_depth) / parts / j->each;
	uint32_t wgt = ops_depth(core->log_wgt_depth), most;

	if (wgt <= j->each)
		return false;
	most = min_u32(min_u32(inp, (wgt - j->each) / parts), ITER_MAX / j->each);
	t->parts = parts;
	t->slots = 1;
	t->blocks = min_u32(j->blocks, most);
	if (!t->blocks)
		return false;
	t->groups = min_u32(most / t->blocks, j->groups);
	most = ops_depth(core->log_acc_depth) / 4 / (1 + j->each + NORM_REGS);
	t->groups = min_u32(t->groups, most ? most : 1);
	return measure_uops(j, t) <= ops_depth(core->log_uop_depth) &&
	       measure_acc(j, t) <= ops_depth(core->log_acc_depth);
}

static int fit_measure(struct norm_job *j, struct measure *t)
{
	const struct vtaops_core *core = j->b->core;

	if (!fit_step(j, t, 2) && !fit_step(j, t, 1)) {
		*t = (struct measure) { .parts = 1, .groups = 1, .blocks = 1, .slots = 1 };
		if (measure_uops(j, t) > ops_depth(core->log_uop_depth))
			return ops_fail_fit(j->b, "a group of positions", measure_uops(j, t),
					    "micro-ops", ops_depth(core->log_uop_depth));
		if (measure_acc(j, t) > ops_depth(core->log_acc_depth))
			return ops_fail_fit(j->b, "a group of positions", measure_acc(j, t),
					    "acc elements", ops_depth(core->log_acc_depth));
		if (ops_depth(core->log_wgt_depth) <= j->each)
			return ops_fail_fit(j->b, "a group of positions", j->each + 1,
					    "wgt elements", ops_depth(core->log_wgt_depth));
		return ops_fail_fit(j->b, "a group of positions", j->each, "inp elements",
				    ops_depth(core->log_inp_depth));
	}
	while (t->slots * t->groups < j->groups && (t->slots + 1) * t->groups <= ITER_MAX) {
		t->slots++;
		if (measure_uops(j, t) > ops_depth(core->log_uop_depth) ||
		    measure_acc(j, t) > ops_depth(core->log_acc_depth)) {
			t->slots--;
			break;
		}
	}
	return 0;
}

/* Accumulators of a step's register, from its first group on. */
static uint32_t reg_at(const struct measure *t, enum norm_reg reg)
{
	return t->regs + (uint32_t)reg * t->slots * t->groups;
}

static void place_measure(struct norm_job *j, struct measure *t)
{
	t->masks = 0;
	t->sums = j->each + 1;
	t->squares = t->sums + t->groups;
	t->regs = t->squares + t->groups * j->each;
}

static void make_measure_uops(struct norm_job *j, struct measure *t)
{
	for (uint32_t part = 0; part < t->parts; part++) {
		uint32_t inp = part * t->blocks * t->groups * j->each;
		uint32_t wgt = j->each + part * t->blocks * t->groups;

		for (uint32_t i = 0; i < j->each; i++)
			ops_uop(j->b, t->sums, inp + i, i);
		for (uint32_t i = 0; i < j->each; i++)
			ops_uop(j->b, t->squares + i, inp + i, wgt);
		t->sum_uops[part] = ops_uop_load(j->b, 2 * j->each);
		t->square_uops[part] = t->sum_uops[part] + j->each;
	}
	for (uint32_t i = 0; i < j->each; i++)
		ops_uop(j->b, t->squares + i, t->masks + i, 0);
	ops_uop(j->b, t->squares, 0, 0);
	ops_uop(j->b, t->sums, 0, 0);
	ops_uop(j->b, reg_at(t, NORM_FACTOR), t->masks + j->each, 0);
	ops_uop(j->b, reg_at(t, NORM_OFFSET), t->masks + j->each, 0);
	t->mask_uops = ops_uop_load(j->b, j->each + 4);
	t->clear_uop = t->mask_uops + j->each;
	t->clear_sums_uop = t->clear_uop + 1;
	t->row_uops = t->clear_uop + 2;
	for (uint32_t a = 0; a < NORM_REGS; a++)
		for (uint32_t b = 0; b < NORM_REGS; b++)
			ops_uop(j->b, reg_at(t, (enum norm_reg)a), reg_at(t, (enum norm_reg)b), 0);
	t->reg_uops = ops_uop_load(j->b, NORM_REGS * NORM_REGS);
	for (uint32_t slot = 0; slot < t->slots; slot++) {
		uint32_t at = slot * t->groups;

		ops_uop(j->b, reg_at(t, NORM_SUM) + at, t->sums, 0);
		for (uint32_t i = 0; i < j->each; i++)
			ops_uop(j->b, reg_at(t, NORM_SQUARES) + at, t->squares + i, 0);
	}
	t->slot_uops = ops_uop_load(j->b, t->slots * (j->each + 1));
}

/* @n groups from @at on, of @count blocks from @block on: add to their sums. */
static void measure_step(struct norm_job *j, struct measure *t, uint32_t plane, uint32_t n,
			 uint32_t block, uint32_t count)
{
	uint32_t part = j->steps % t->parts, inp = part * t->blocks * t->groups * j->each;
	struct ops_loop loop = {
		.iter_out = n, .iter_in = count, .dst_out = 1, .src_out = j->each,
		.src_in = n * j->each,
	};

	if (j->steps >= t->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	if (!j->steps)
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_WGT, .dram = j->tables_wgt, .rows = 1, .cols = j->each });
	norm_move_planes(j, (struct ops_move) {
		.type = VTA_ISA_WGT, .sram = j->each + part * t->blocks * t->groups,
		.dram = (plane + block * j->plane) / j->each,
		.rows = count, .cols = n, .stride = j->plane / j->each }, false);
	norm_move_planes(j, (struct ops_move) {
		.type = VTA_ISA_INP, .sram = inp, .dram = plane + block * j->plane,
		.rows = count, .cols = n * j->each, .stride = j->plane }, false);
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	loop.bgn = t->sum_uops[part];
	loop.end = loop.bgn + j->each;
	ops_gemm(j->b, &loop, false);
	loop.bgn = t->square_uops[part];
	loop.end = loop.bgn + j->each;
	loop.dst_out = j->each;
	loop.wgt_out = 1;
	loop.wgt_in = n;
	ops_gemm(j->b, &loop, false);
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	j->steps++;
}

/* Of @n groups of a tile: squares of each position with itself, and sums, to the slot. */
static void keep_sums(struct norm_job *j, const struct measure *t, uint32_t slot, uint32_t n)
{
	uint32_t uop = t->slot_uops + slot * (j->each + 1);
	struct ops_loop loop = {
		.bgn = t->mask_uops, .end = t->mask_uops + j->each, .iter_out = 1, .iter_in = n,
		.dst_in = j->each,
	};

	ops_alu(j->b, &loop, VTA_ISA_MUL);
	loop = (struct ops_loop) { .bgn = uop, .end = uop + 2, .iter_out = 1, .iter_in = n,
				   .dst_in = 1 };
	ops_gemm(j->b, &loop, true);
	loop.end = uop + 1;
	loop.src_in = 1;
	ops_alu(j->b, &loop, VTA_ISA_ADD);
	loop.bgn = uop + 1;
	loop.end = loop.bgn + j->each;
	loop.src_in = j->each;
	ops_alu(j->b, &loop, VTA_ISA_ADD);
}

static struct ops_loop reg_loop(const struct measure *t, enum norm_reg dst, enum norm_reg src)
{
	uint32_t uop = t->reg_uops + (uint32_t)dst * NORM_REGS + (uint32_t)src;

	return (struct ops_loop) { .bgn = uop, .end = uop + 1, .iter_out = 1, .iter_in = t->count,
				   .dst_in = 1, .src_in = 1 };
}

static void card_clear(void *priv, enum norm_reg dst)
{
	const struct measure *t = priv;
	struct ops_loop loop = reg_loop(t, dst, dst);

	ops_gemm(t->j->b, &loop, true);
}

static void card_imm(void *priv, enum norm_reg dst, enum vta_isa_alu op, int imm)
{
	const struct measure *t = priv;
	struct ops_loop loop = reg_loop(t, dst, dst);

	ops_alu_imm(t->j->b, &loop, op, imm);
}

static void card_pair(void *priv, enum norm_reg dst, enum norm_reg src, enum vta_isa_alu op)
{
	const struct measure *t = priv;
	struct ops_loop loop = reg_loop(t, dst, src);

	ops_alu(t->j->b, &loop, op);
}

/* Registers of digits, the least first, of the factor and of the offset. */
static const enum norm_reg digit_regs[2][NORM_DIGITS] = {
	{ NORM_FACTOR, NORM_SUM, NORM_SQUARES, NORM_PLACE },
	{ NORM_OFFSET, NORM_TEMP, NORM_SPARE, NORM_SPARE_2 },
};

/* STORE takes the low 8 bits of a register, a digit with its sign; what is left follows. */
static void split(struct norm_job *j, struct measure *t)
{
	for (unsigned int k = 0; k < 2; k++) {
		const enum norm_reg *regs = digit_regs[k];

		/* Lanes of other rows of the batch become 0. */
		if (j->b->core->batch > 1)
			ops_alu(j->b, &(struct ops_loop) {
				.bgn = t->row_uops + k, .end = t->row_uops + k + 1, .iter_out = 1,
				.iter_in = t->count, .dst_in = 1 }, VTA_ISA_MUL);
		for (unsigned int i = 1; i < NORM_DIGITS; i++) {
			card_clear(t, regs[i]);
			card_pair(t, regs[i], regs[i - 1], VTA_ISA_ADD);
			card_imm(t, regs[i], VTA_ISA_ADD, 1 << (NORM_DIGIT - 1));
			card_imm(t, regs[i], VTA_ISA_SHR, NORM_DIGIT);
		}
	}
}

static void store_digits(struct norm_job *j, const struct measure *t, uint32_t image,
			 uint32_t group)
{
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	for (unsigned int i = 0; i < NORM_BYTES; i++)
		ops_store(j->b, &(struct ops_move) {
			.type = VTA_ISA_OUT, .rows = 1, .cols = t->count,
			.sram = reg_at(t, digit_regs[i / NORM_DIGITS][i % NORM_DIGITS]),
			.dram = j->digits + (image * NORM_BYTES + i) * j->groups + group });
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
}

/* Groups that are finished together, from group @first on. */
static void measure_groups(struct norm_job *j, struct measure *t, uint32_t image, uint32_t first)
{
	const struct norm_steps steps = { card_clear, card_imm, card_pair, t };
	uint32_t plane = j->planes + image * j->blocks * j->plane;

	t->count = min_u32(t->slots * t->groups, j->groups - first);
	for (uint32_t at = 0, n; at < t->count && !j->b->error; at += n) {
		struct ops_loop loop = { .bgn = t->clear_uop, .end = t->clear_uop + 1,
					 .iter_out = 1, .dst_in = 1 };

		n = min_u32(t->groups, t->count - at);
		loop.iter_in = n * j->each;
		ops_gemm(j->b, &loop, true);
		loop.bgn = t->clear_sums_uop;
		loop.end = loop.bgn + 1;
		loop.iter_in = n;
		ops_gemm(j->b, &loop, true);
		for (uint32_t k = 0; k < j->blocks; k += t->blocks)
			measure_step(j, t, plane + (first + at) * j->each, n, k,
				     min_u32(t->blocks, j->blocks - k));
		keep_sums(j, t, at / t->groups, n);
	}
	norm_take_steps(&steps, &j->op->form);
	split(j, t);
	store_digits(j, t, image, first);
}

int norm_measure(struct norm_job *j)
{
	struct measure t;
	uint32_t stores = 0;

	if (fit_measure(j, &t))
		return j->b->error;
	t.j = j;
	place_measure(j, &t);
	make_measure_uops(j, &t);
	ops_load(j->b, &(struct ops_move) {
		.type = VTA_ISA_ACC, .sram = t.masks, .dram = j->tables_acc, .rows = 1,
		.cols = j->each + 1 });
	j->steps = 0;
	for (uint32_t image = 0; image < j->images; image++) {
		for (uint32_t at = 0; at < j->groups && !j->b->error; at += t.slots * t.groups) {
			if (stores++)
				ops_wait(j->b, VTA_ISA_POP_NEXT);
			measure_groups(j, &t, image, at);
		}
	}
	ops_barrier(j->b, min_u32(j->steps, t.parts), 1);
	return j->b->error;
}


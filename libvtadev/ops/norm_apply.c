// SPDX-License-Identifier: Apache-2.0
/*
 * The third pass of a normalisation. GEMM with ones spreads digits from a position's lane to all
 * lanes; a shift leads to the next digit. Then x * factor + offset, and the output stage.
 */
#include "norm_impl.h"
#include "post.h"

struct apply {
	struct ops_post post;
	uint32_t parts;			/* of inp, and of the accumulators of x */
	uint32_t groups, blocks;	/* of a step */
	uint32_t positions;		/* of its groups */
	uint32_t numbers, x;		/* accumulators: factors, then offsets; x */
	uint32_t digit_uops[2];		/* by part of inp: NORM_BYTES times a group */
	uint32_t number_uop;
	uint32_t x_uops[2], post_uops[2];	/* by part of x: with the factors, the offsets */
	uint32_t tiles;
};

static uint32_t apply_uops(const struct norm_job *j, const struct apply *t)
{
	return t->parts * (NORM_BYTES * j->each + 2 + ops_post_uop_count(&t->post)) + 1;
}

static uint64_t apply_acc(const struct norm_job *j, const struct apply *t)
{
	uint64_t positions = (uint64_t)t->groups * j->each;

	return (uint64_t)t->post.vectors * t->blocks + 2 * positions +
	       t->parts * positions * t->blocks;
}

/* All blocks of as many groups as fit, or some blocks of one group. */
static bool fit_apply(const struct norm_job *j, struct apply *t, uint32_t parts)
{
	const struct vtaops_core *core = j->b->core;
	uint64_t acc = ops_depth(core->log_acc_depth), vectors, each = j->each;

	t->parts = parts;
	t->groups = 1;
	t->blocks = j->blocks;
	if (apply_acc(j, t) <= acc) {
		vectors = (uint64_t)t->post.vectors * t->blocks;
		t->groups = (uint32_t)((acc - vectors) / (each * (2 + parts * t->blocks)));
	} else if (acc > 2 * each) {
		t->blocks = (uint32_t)((acc - 2 * each) / (t->post.vectors + parts * each));
	} else {
		t->blocks = 0;
	}
	t->groups = min_u32(min_u32(t->groups, j->groups),
			    ops_depth(core->log_inp_depth) / parts / NORM_BYTES);
	t->groups = min_u32(t->groups, ITER_MAX / j->each);
	t->positions = t->groups * j->each;
	return t->blocks && t->groups && ops_depth(core->log_wgt_depth) >= j->each &&
	       apply_uops(j, t) <= ops_depth(core->log_uop_depth);
}

static int begin_apply(struct norm_job *j, struct apply *t)
{
	const struct vtaops_core *core = j->b->core;

	if (ops_post_init(j->b, &t->post, &j->op->post, j->blocks))
		return j->b->error;
	if (!fit_apply(j, t, 2) && !fit_apply(j, t, 1)) {
		t->groups = 1;
		t->blocks = 1;
		t->parts = 1;
		if (apply_uops(j, t) > ops_depth(core->log_uop_depth))
			return ops_fail_fit(j->b, "a group of positions", apply_uops(j, t),
					    "micro-ops", ops_depth(core->log_uop_depth));
		if (apply_acc(j, t) > ops_depth(core->log_acc_depth))
			return ops_fail_fit(j->b, "a group of positions", apply_acc(j, t),
					    "acc elements", ops_depth(core->log_acc_depth));
		return ops_fail_fit(j->b, "a group of positions", NORM_BYTES, "inp elements",
				    ops_depth(core->log_inp_depth));
	}
	t->numbers = t->post.vectors * t->blocks;
	t->x = t->numbers + 2 * t->positions;
	for (uint32_t part = 0; part < t->parts; part++) {
		uint32_t x = t->x + part * t->positions * t->blocks;

		for (uint32_t k = 0; k < NORM_BYTES; k++)
			for (uint32_t i = 0; i < j->each; i++)
				ops_uop(j->b, t->numbers + k / NORM_DIGITS * t->positions + i,
					(part * NORM_BYTES + k) * t->groups, i);
		ops_uop(j->b, x, t->numbers, 0);
		ops_uop(j->b, x, t->numbers + t->positions, 0);
		t->digit_uops[part] = ops_uop_load(j->b, NORM_BYTES * j->each + 2);
		t->x_uops[part] = t->digit_uops[part] + NORM_BYTES * j->each;
		t->post_uops[part] = ops_post_uops(j->b, &t->post, x, 0, t->blocks);
	}
	ops_uop(j->b, t->numbers, 0, 0);
	t->number_uop = ops_uop_load(j->b, 1);
	if (t->post.vectors && t->blocks == j->blocks)
		ops_post_load(j->b, &t->post, 0, 0, t->blocks);
	return j->b->error;
}

/* Digit @k of both numbers of @n groups, from the tile's part of inp, to all lanes. */
static void add_digits(struct norm_job *j, const struct apply *t, uint32_t part, uint32_t k,
		       uint32_t n)
{
	struct ops_loop loop = { .iter_out = 1, .iter_in = n, .dst_in = j->each, .src_in = 1 };

	for (uint32_t number = 0; number < 2; number++) {
		loop.bgn = t->digit_uops[part] + (number * NORM_DIGITS + k) * j->each;
		loop.end = loop.bgn + j->each;
		ops_gemm(j->b, &loop, false);
	}
}

/* Factors and offsets of @n groups from @group on */
static void spread(struct norm_job *j, struct apply *t, uint32_t image, uint32_t group, uint32_t n)
{
	uint32_t part = t->tiles % t->parts;
	struct ops_loop all = { .bgn = t->number_uop, .end = t->number_uop + 1, .iter_out = 2,
				.iter_in = n * j->each, .dst_out = t->positions, .dst_in = 1 };

	if (t->tiles >= t->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	if (!t->tiles)
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_WGT, .dram = j->tables_wgt + j->each, .rows = 1,
			.cols = j->each });
	/* The digits of a part are as far apart as those of whole tiles. */
	for (uint32_t k = 0; k < NORM_BYTES; k++)
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_INP, .sram = (part * NORM_BYTES + k) * t->groups,
			.dram = j->digits + (image * NORM_BYTES + k) * j->groups + group,
			.rows = 1, .cols = n });
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	ops_gemm(j->b, &all, true);
	for (uint32_t k = NORM_DIGITS; k-- > 0; ) {
		if (k == NORM_DIGITS - 1)
			ops_wait(j->b, VTA_ISA_POP_PREV);
		else
			ops_alu_imm(j->b, &all, VTA_ISA_SHR, -NORM_DIGIT);
		add_digits(j, t, part, k, n);
	}
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	t->tiles++;
}

/* @n positions from @at on, of the tile's blocks from @block on. */
static void apply_step(struct norm_job *j, const struct apply *t, uint32_t image, uint32_t at,
		       uint32_t n, uint32_t block)
{
	uint32_t part = j->steps % t->parts;
	uint32_t acc = t->x + part * t->positions * t->blocks;
	uint32_t from = image * j->blocks * j->positions +
			(j->rows ? at * j->blocks + block : block * j->positions + at);
	struct ops_move m = {
		.type = VTA_ISA_ACC_8BIT, .sram = acc, .dram = j->src + from,
		.rows = j->rows ? n : t->blocks, .cols = j->rows ? t->blocks : n,
		.stride = j->rows ? j->blocks : j->positions,
	};
	struct ops_loop loop = {
		.bgn = t->x_uops[part], .end = t->x_uops[part] + 1, .iter_out = t->blocks,
		.iter_in = n, .dst_out = j->rows ? 1 : n, .dst_in = j->rows ? t->blocks : 1,
		.src_in = 1,
	};

	if (j->steps >= t->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	norm_move_planes(j, m, false);
	if (t->post.vectors && t->blocks < j->blocks)
		ops_post_load(j->b, &t->post, 0, block, t->blocks);
	ops_alu(j->b, &loop, VTA_ISA_MUL);
	loop.bgn++;
	loop.end++;
	ops_alu(j->b, &loop, VTA_ISA_ADD);
	if (j->op->form.shift)
		ops_alu_imm(j->b, &loop, VTA_ISA_SHR, (int)j->op->form.shift);
	loop.src_out = 1;
	loop.src_in = 0;
	ops_post_apply(j->b, &t->post, t->post_uops[part], &loop);
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	m.type = VTA_ISA_OUT;
	m.dram = j->out + from;
	norm_move_planes(j, m, true);
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	j->steps++;
}

int norm_apply(struct norm_job *j)
{
	struct apply t = { .tiles = 0 };

	if (begin_apply(j, &t))
		return j->b->error;
	j->steps = 0;
	for (uint32_t image = 0; image < j->images; image++) {
		for (uint32_t at = 0, n; at < j->groups && !j->b->error; at += n) {
			uint32_t first = at * j->each, count;

			n = min_u32(t.groups, j->groups - at);
			count = min_u32(n * j->each, j->positions - first);
			spread(j, &t, image, at, n);
			/* Fewer blocks at the end are moved back: some are done again. */
			for (uint32_t k = 0; k < j->blocks && !j->b->error; k += t.blocks)
				apply_step(j, &t, image, first, count,
					   min_u32(k, j->blocks - t.blocks));
		}
	}
	ops_barrier(j->b, min_u32(t.tiles, t.parts), min_u32(j->steps, t.parts));
	return j->b->error;
}


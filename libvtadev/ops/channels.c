// SPDX-License-Identifier: Apache-2.0
/*
 * Channels of one tensor or of several, in any order. Memory holds whole blocks of channels, so
 * GEMM brings each channel to its lane of a block: an output block is the sum of each input block
 * that has a channel of it, times a matrix of zeros and ones. Such a pair of blocks costs a LOAD
 * and a micro-op for each pixel; pairs without a common channel are left out.
 */
#include "lanes.h"
#include "ops_impl.h"

struct job {
	struct vtaops_builder *b;
	const struct vtaops_channels *op;
	uint32_t images, pixels;
	uint32_t wgt, out;		/* element indices */
	uint32_t most;			/* pairs of an output block */
	uint32_t parts, size;		/* of the scratchpads, and pixels of one */
	uint32_t uops[2][2];		/* by part of inp and acc, and of wgt */
	uint32_t steps;
};

static uint32_t block_of(const struct vtaops_core *core, const struct vtaops_pick *pick)
{
	return pick->channel / core->block;
}

/* Does a lane of output channel @first's block before channel @c take from the same block? */
static bool is_again(const struct vtaops_core *core, const struct vtaops_pick *picks,
		     uint32_t first, uint32_t c)
{
	for (uint32_t i = first; i < c; i++)
		if (picks[i].source == picks[c].source &&
		    block_of(core, &picks[i]) == block_of(core, &picks[c]))
			return true;
	return false;
}

/* Pairs of the output block with the channels from @first on, of @c in all. */
static uint32_t count_pairs(const struct vtaops_core *core, const struct vtaops_pick *picks,
			    uint32_t first, uint32_t c)
{
	uint32_t end = min_u32(first + core->block, c), n = 0;

	for (uint32_t i = first; i < end; i++)
		n += !is_again(core, picks, first, i);
	return n;
}

static uint64_t count_all(const struct vtaops_core *core, const struct vtaops_pick *picks,
			  uint32_t c, uint32_t *most)
{
	uint64_t all = 0;

	*most = 0;
	for (uint32_t first = 0; first < c; first += core->block) {
		uint32_t n = count_pairs(core, picks, first, c);

		all += n;
		*most = n > *most ? n : *most;
	}
	return all;
}

size_t vtaops_channels_bytes(const struct vtaops_core *core, const struct vtaops_pick *picks,
			     uint32_t c)
{
	uint32_t most;
	uint64_t bytes = c && c <= DIM_MAX ? count_all(core, picks, c, &most) * core->wgt_bytes : 0;

	return bytes <= UINT32_MAX ? (size_t)bytes : 0;
}

void vtaops_pack_channels(const struct vtaops_core *core, void *dst,
			  const struct vtaops_pick *picks, uint32_t c)
{
	uint8_t *to = dst;

	memset(dst, 0, vtaops_channels_bytes(core, picks, c));
	for (uint32_t first = 0; first < c; first += core->block) {
		uint32_t end = min_u32(first + core->block, c);

		for (uint32_t i = first; i < end; i++) {
			if (is_again(core, picks, first, i))
				continue;
			for (uint32_t k = i; k < end; k++)
				if (picks[k].source == picks[i].source &&
				    block_of(core, &picks[k]) == block_of(core, &picks[i]))
					ops_put(to, (size_t)(k - first) * core->block +
						picks[k].channel % core->block,
						core->log_wgt_width, 1);
			to += core->wgt_bytes;
		}
	}
}

static int check(struct job *j)
{
	const struct vtaops_channels *op = j->op;
	const struct vtaops_core *core = j->b->core;
	uint64_t bytes = vtaops_act_bytes(core, op->n, op->c, op->h, op->w);
	uint64_t pairs;

	if (!op->count || !dim_ok(op->n) || !dim_ok(op->c) || !dim_ok(op->h) || !dim_ok(op->w) ||
	    !bytes)
		return ops_fail(j->b, VTAOPS_EINVAL, "a dimension is 0 or too large");
	for (uint32_t i = 0; i < op->count; i++) {
		const struct vtaops_source *s = &op->sources[i];
		uint64_t size = vtaops_act_bytes(core, op->n, s->c, op->h, op->w);

		if (!dim_ok(s->c) || !size)
			return ops_fail(j->b, VTAOPS_EINVAL, "a dimension is 0 or too large");
		if (ops_overlap(s->inp, size, op->out, bytes))
			return ops_fail(j->b, VTAOPS_EINVAL, "the output overlaps an input");
		ops_element(j->b, s->inp, size / core->inp_bytes, core->inp_bytes);
	}
	for (uint32_t i = 0; i < op->c; i++)
		if (op->picks[i].source >= op->count ||
		    op->picks[i].channel >= op->sources[op->picks[i].source].c)
			return ops_fail(j->b, VTAOPS_EINVAL, "there is no such channel");
	pairs = count_all(core, op->picks, op->c, &j->most);
	if (!pairs)
		return ops_fail(j->b, VTAOPS_EINVAL, "there is no channel");
	j->wgt = ops_element(j->b, op->wgt, pairs, core->wgt_bytes);
	j->out = ops_element(j->b, op->out, bytes / core->inp_bytes, core->inp_bytes);
	return j->b->error;
}

/* Pixels of a step that fit with @parts of each scratchpad; 0: none. */
static uint32_t fit(const struct job *j, uint32_t parts)
{
	const struct vtaops_core *core = j->b->core;
	uint32_t most = j->most ? j->most : 1;
	uint32_t inp = ops_depth(core->log_inp_depth) / parts / most;
	uint32_t acc = ops_depth(core->log_acc_depth) / parts;

	if ((uint64_t)parts * j->most > ops_depth(core->log_wgt_depth) ||
	    (uint64_t)parts * parts * j->most > ops_depth(core->log_uop_depth))
		return 0;
	return min_u32(min_u32(inp, acc), min_u32(j->pixels, ITER_MAX));
}

/* Each pair of an output block takes one of each. */
static int fail_fit(const struct job *j)
{
	const struct vtaops_core *core = j->b->core;
	uint32_t inp = ops_depth(core->log_inp_depth), wgt = ops_depth(core->log_wgt_depth);

	if (j->most > inp)
		return ops_fail_fit(j->b, "a block of channels", j->most, "inp elements", inp);
	if (j->most > wgt)
		return ops_fail_fit(j->b, "a block of channels", j->most, "wgt elements", wgt);
	return ops_fail_fit(j->b, "a block of channels", j->most, "micro-ops",
			    ops_depth(core->log_uop_depth));
}

static void make_uops(struct job *j)
{
	for (uint32_t a = 0; a < j->parts; a++) {
		for (uint32_t w = 0; w < j->parts; w++) {
			for (uint32_t k = 0; k < j->most; k++)
				ops_uop(j->b, a * j->size, (a * j->most + k) * j->size,
					w * j->most + k);
			j->uops[a][w] = ops_uop_load(j->b, j->most);
		}
	}
}

/* The pairs' input blocks, @n pixels of image @image from @at on. */
static void load_pairs(struct job *j, uint32_t first, uint32_t image, uint32_t at, uint32_t n)
{
	const struct vtaops_core *core = j->b->core;
	const struct vtaops_channels *op = j->op;
	uint32_t end = min_u32(first + core->block, op->c), k = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct vtaops_source *s = &op->sources[op->picks[i].source];

		if (is_again(core, op->picks, first, i))
			continue;
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_INP,
			.sram = (j->steps % j->parts * j->most + k++) * j->size,
			.dram = s->inp / core->inp_bytes + at +
				(image * div_up(s->c, core->block) +
				 block_of(core, &op->picks[i])) * j->pixels,
			.rows = 1, .cols = n });
	}
}

static void sum_pairs(struct job *j, uint32_t uop, uint32_t pairs, uint32_t n)
{
	struct ops_loop loop = { .bgn = uop, .end = uop + 1, .iter_out = 1, .iter_in = n,
				 .dst_in = 1, .src_in = 1 };

	if (j->steps >= j->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	ops_gemm(j->b, &loop, true);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	loop.end = uop + pairs;
	ops_gemm(j->b, &loop, false);
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
}

/* One output block of all images; @wgt is the place of its weights. */
static void run_block(struct job *j, uint32_t first, uint32_t pairs, uint32_t wgt)
{
	const struct vtaops_core *core = j->b->core;
	uint32_t ob = first >> core->log_block, blocks = div_up(j->op->c, core->block);
	uint32_t part = ob % j->parts;

	for (uint32_t image = 0; image < j->images; image++) {
		for (uint32_t at = 0, n; at < j->pixels && !j->b->error; at += n) {
			uint32_t io = j->steps % j->parts;

			n = min_u32(j->size, j->pixels - at);
			if (j->steps >= j->parts)
				ops_wait(j->b, VTA_ISA_POP_NEXT);
			if (!image && !at)
				ops_load(j->b, &(struct ops_move) {
					.type = VTA_ISA_WGT, .sram = part * j->most, .dram = wgt,
					.rows = 1, .cols = pairs });
			load_pairs(j, first, image, at, n);
			ops_signal(j->b, VTA_ISA_PUSH_NEXT);
			sum_pairs(j, j->uops[io][part], pairs, n);
			ops_wait(j->b, VTA_ISA_POP_PREV);
			ops_store(j->b, &(struct ops_move) {
				.type = VTA_ISA_OUT, .sram = io * j->size,
				.dram = j->out + (image * blocks + ob) * j->pixels + at,
				.rows = 1, .cols = n });
			ops_signal(j->b, VTA_ISA_PUSH_PREV);
			j->steps++;
		}
	}
}

int vtaops_channels(struct vtaops_builder *b, const struct vtaops_channels *op)
{
	struct job j = { .b = b, .op = op, .parts = 2 };
	uint32_t wgt, left;

	if (b->error || check(&j))
		return b->error;
	if ((uint64_t)op->h * op->w > UINT32_MAX)
		return ops_fail(b, VTAOPS_EINVAL, "a dimension is 0 or too large");
	j.images = div_up(op->n, b->core->batch);
	j.pixels = op->h * op->w;
	j.size = fit(&j, 2);
	if (!j.size) {
		j.parts = 1;
		j.size = fit(&j, 1);
	}
	if (!j.size)
		return fail_fit(&j);
	make_uops(&j);
	wgt = j.wgt;
	for (uint32_t first = 0; first < op->c && !b->error; first += b->core->block) {
		uint32_t pairs = count_pairs(b->core, op->picks, first, op->c);

		run_block(&j, first, pairs, wgt);
		wgt += pairs;
	}
	left = min_u32(j.steps, j.parts);
	ops_barrier(b, left, left);
	return b->error;
}

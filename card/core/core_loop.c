// SPDX-License-Identifier: Apache-2.0
/*
 * core_loop.c - the loops of GEMM and ALU over their micro-ops
 *
 * for i < iter_out, for j < iter_in, for u in [uop_bgn, uop_end). Micro-ops in
 * an arithmetic progression are a dimension like the two loops: kernels do the
 * innermost one. GEMM has loops of its own (core_gemm.c).
 *
 * Every index is checked before the first is used: all three parts of one grow
 * with i, j or u's own field, so the largest sum is reached in the last
 * iteration and nowhere exceeded.
 */
#include <string.h>

#include "core_axis.h"
#include "core_impl.h"

/* Values multiplied, and micro-ops, between two questions whether to stop. */
#define STOP_VALUES	0x100000u
#define STOP_UOPS	4096u

/* Parts have at most 16 bits and 14 + 16 bits: no sum overflows. */
static bool index_fits(uint32_t field, uint32_t factors, const struct core_pad *pad)
{
	return field + factors < pad->depth;
}

struct core_index core_index_at(const struct vta_isa_loop *loop, uint32_t i, uint32_t j)
{
	return (struct core_index){
		.dst = i * loop->dst_factor_out + j * loop->dst_factor_in,
		.src = i * loop->src_factor_out + j * loop->src_factor_in,
		.wgt = i * loop->wgt_factor_out + j * loop->wgt_factor_in,
	};
}

static void add_most(struct core_index *most, uint16_t dst, uint16_t src, uint16_t wgt)
{
	most->dst = dst > most->dst ? dst : most->dst;
	most->src = src > most->src ? src : most->src;
	most->wgt = wgt > most->wgt ? wgt : most->wgt;
}

/* The largest fields of @n micro-ops, which are a multiple of CORE_UOPS_AT_ONCE. */
static CORE_FOR_ALL_PROCESSORS
void add_most_of_many(struct core_index *all, const struct core_uop *uop, uint32_t n)
{
	uint16_t most[CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS] = { 0 };
	const uint16_t *field = &uop->dst;
	uint32_t i;

	for (; n; n -= CORE_UOPS_AT_ONCE, field += CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS)
		for (i = 0; i < CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS; i++)
			most[i] = most[i] > field[i] ? most[i] : field[i];
	for (i = 0; i < CORE_UOPS_AT_ONCE * CORE_UOP_FIELDS; i += CORE_UOP_FIELDS)
		add_most(all, most[i], most[i + 1], most[i + 2]);
}

static struct core_index most_of(const struct core_uop *uop, uint32_t n)
{
	uint32_t i = n < 4 * CORE_UOPS_AT_ONCE ? 0 : n / CORE_UOPS_AT_ONCE * CORE_UOPS_AT_ONCE;
	struct core_index most = { 0 };

	if (i)
		add_most_of_many(&most, uop, i);
	for (; i < n; i++)
		add_most(&most, uop[i].dst, uop[i].src, uop[i].wgt);
	return most;
}

bool core_loop_fits(struct core *core, const struct vta_isa_loop *loop)
{
	const struct core_uop *uop = core->uop.mem;
	struct core_index most, last;

	if (!vta_isa_loop_count(loop))
		return true;
	if (loop->uop_end > core->uop.depth)
		return false;
	most = most_of(uop + loop->uop_bgn, loop->uop_end - loop->uop_bgn);

	last = core_index_at(loop, loop->iter_out - 1, loop->iter_in - 1);
	if (!index_fits(most.dst, last.dst, &core->acc))
		return false;
	if (loop->alu)
		return loop->use_imm || index_fits(most.src, last.src, &core->acc);
	return loop->reset || (index_fits(most.src, last.src, &core->inp) &&
			       index_fits(most.wgt, last.wgt, &core->wgt));
}

uint32_t core_count_progression(const struct core_uop *uop, uint32_t most, bool wgt,
				struct core_index *by)
{
	uint32_t n;

	*by = (struct core_index){ 0 };
	if (most < 2 || (wgt && uop[1].wgt != uop[0].wgt) || uop[1].dst < uop[0].dst ||
	    uop[1].src < uop[0].src)
		return 1;
	by->dst = uop[1].dst - uop[0].dst;
	by->src = uop[1].src - uop[0].src;
	for (n = 2; n < most; n++)
		if ((wgt && uop[n].wgt != uop[0].wgt) || uop[n].dst != uop[n - 1].dst + by->dst ||
		    uop[n].src != uop[n - 1].src + by->src)
			break;
	return n;
}

uint32_t core_uops_between_stops(const struct core *core, const struct vta_isa_loop *loop)
{
	uint32_t values = core->batch * core->block;

	if (!loop->alu)
		values *= core->block;
	values = STOP_VALUES / values;
	if (!values)
		return 1;
	return values < STOP_UOPS ? values : STOP_UOPS;
}

/* Loops of one kernel, in the ISA's order. */
struct lines {
	struct core_run *run;
	core_line_fn *kernel;
	uint64_t *counter;
	uint32_t period;	/* micro-ops between two questions whether to stop, */
	uint32_t left;		/* and until the next one */
};

/* All elements of a line, in pieces. */
static enum core_result run_line(struct lines *lines, struct core_line line)
{
	uint32_t count = line.count;

	for (; count; count -= line.count) {
		line.count = count < lines->left ? count : lines->left;
		lines->kernel(&line);
		line.dst += line.count * line.dst_step;
		if (line.src)
			line.src += line.count * line.src_step;
		*lines->counter += line.count;
		lines->left -= line.count;
		if (lines->left)
			continue;
		if (core_run_stopped(lines->run))
			return CORE_STOPPED;
		lines->left = lines->period;
	}
	return CORE_DONE;
}

/* The @n outermost dimensions are those of @axes; the innermost one is a line. */
static enum core_result run_axes(struct lines *lines, struct core_line line,
				 const struct core_axis *axes, unsigned int n)
{
	enum core_result result = CORE_DONE;
	uint32_t i;

	if (n <= 1) {
		line.count = n ? axes->count : 1;
		line.dst_step = n ? axes->dst : 0;
		line.src_step = n ? axes->src : 0;
		return run_line(lines, line);
	}
	n--;
	for (i = 0; i < axes[n].count && result == CORE_DONE; i++) {
		result = run_axes(lines, line, axes, n);
		line.dst += axes[n].dst;
		if (line.src)
			line.src += axes[n].src;
	}
	return result;
}

/* @n micro-ops in a progression by @by; @loop: all iterations of it, else only those. */
static enum core_result run_progression(struct lines *lines, const struct core_line *line,
					const struct core_uop *uop, uint32_t n,
					const struct core_index *by, struct core_index base,
					const struct vta_isa_loop *loop)
{
	struct core_axes axes = { .n = 0 };
	struct core_line first = *line;
	size_t values = line->values;

	first.dst += (uop->dst + base.dst) * values;
	if (first.src)
		first.src += (uop->src + base.src) * values;
	core_add_axis(&axes, n, by->dst * values, by->src * values);
	if (loop) {
		core_add_axis(&axes, loop->iter_in, loop->dst_factor_in * values,
			      loop->src_factor_in * values);
		core_add_axis(&axes, loop->iter_out, loop->dst_factor_out * values,
			      loop->src_factor_out * values);
	}
	return run_axes(lines, first, axes.axis, axes.n);
}

static enum core_result run_lines(struct lines *lines, const struct core_line *line,
				  const struct vta_isa_loop *loop)
{
	const struct core_uop *uop = (struct core_uop *)lines->run->core->uop.mem + loop->uop_bgn;
	uint32_t uops = loop->uop_end - loop->uop_bgn, i, j, u, n;
	enum core_result result = CORE_DONE;
	struct core_index by;

	n = core_count_progression(uop, uops, false, &by);
	if (n == uops)
		return run_progression(lines, line, uop, n, &by, (struct core_index){ 0 }, loop);
	for (i = 0; i < loop->iter_out && result == CORE_DONE; i++)
		for (j = 0; j < loop->iter_in && result == CORE_DONE; j++)
			for (u = 0; u < uops && result == CORE_DONE; u += n) {
				n = core_count_progression(uop + u, uops - u, false, &by);
				result = run_progression(lines, line, uop + u, n, &by,
							 core_index_at(loop, i, j), NULL);
			}
	return result;
}

static void reset_line(const struct core_line *line)
{
	uint32_t i;

	for (i = 0; i < line->count; i++)
		memset(line->dst + i * line->dst_step, 0, line->values * sizeof(int32_t));
}

enum core_result core_loop_run(struct core_run *run, const struct vta_isa_loop *loop)
{
	struct core *core = run->core;
	uint64_t nothing = 0;
	struct lines lines = {
		.run = run,
		.kernel = reset_line,
		.counter = &nothing,
		.period = core_uops_between_stops(core, loop),
	};
	struct core_line line = {
		.dst = core->acc.mem,
		.values = core->batch * core->block,
	};

	if (!vta_isa_loop_count(loop))
		return CORE_DONE;
	core->acc.used = core->acc.depth;
	if (!loop->alu && !loop->reset)
		return core_gemm_run(run, loop);
	if (loop->alu) {
		line.src = loop->use_imm ? NULL : core->acc.mem;
		line.imm = loop->imm;
		lines.kernel = core_alu_kernel(loop->alu_opcode, &line);
		lines.counter = &run->stats->alu_uops;
	}
	lines.left = lines.period;
	return run_lines(&lines, &line, loop);
}

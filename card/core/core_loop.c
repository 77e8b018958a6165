// SPDX-License-Identifier: Apache-2.0
/*
 * core_loop.c - the loops of GEMM and ALU over their micro-ops
 *
 * for i < iter_out, for j < iter_in, for u in [uop_bgn, uop_end): the kernels
 * do the innermost one. GEMM has loops of its own (core_gemm.c).
 * Every index is checked before the first is used: all three parts of one
 * grow with i, j or u's own field, so the largest sum is reached in the last
 * iteration and nowhere exceeded.
 */
#include <string.h>

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

bool core_loop_fits(struct core *core, const struct vta_isa_loop *loop)
{
	const struct core_uop *uop = core->uop.mem;
	struct core_index most = { 0 }, last;
	uint32_t u;

	if (!vta_isa_loop_count(loop))
		return true;
	if (loop->uop_end > core->uop.depth)
		return false;
	for (u = loop->uop_bgn; u < loop->uop_end; u++) {
		most.dst = uop[u].dst > most.dst ? uop[u].dst : most.dst;
		most.src = uop[u].src > most.src ? uop[u].src : most.src;
		most.wgt = uop[u].wgt > most.wgt ? uop[u].wgt : most.wgt;
	}

	last = core_index_at(loop, loop->iter_out - 1, loop->iter_in - 1);
	if (!index_fits(most.dst, last.dst, &core->acc))
		return false;
	if (loop->alu)
		return loop->use_imm || index_fits(most.src, last.src, &core->acc);
	return loop->reset || (index_fits(most.src, last.src, &core->inp) &&
			       index_fits(most.wgt, last.wgt, &core->wgt));
}

static void reset_elements(const struct core *core, const struct vta_isa_loop *loop,
			   const struct core_uop *uop, uint32_t n, struct core_index base)
{
	size_t size = core->acc.elem_size;

	(void)loop;
	for (; n; n--, uop++)
		memset((uint8_t *)core->acc.mem + (uop->dst + base.dst) * size, 0, size);
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

enum core_result core_loop_run(struct core_run *run, const struct vta_isa_loop *loop)
{
	struct core *core = run->core;
	const struct core_uop *uop = core->uop.mem;
	core_kernel_fn *kernel = reset_elements;
	uint32_t period = core_uops_between_stops(core, loop);
	uint32_t left = period;
	uint64_t nothing = 0;
	uint64_t *counter = &nothing;
	uint32_t i, j, u, n;

	if (!vta_isa_loop_count(loop))
		return CORE_DONE;
	core->acc.used = core->acc.depth;
	if (!loop->alu && !loop->reset)
		return core_gemm_run(run, loop);
	if (loop->alu) {
		kernel = core_alu_kernel(loop->alu_opcode);
		counter = &run->stats->alu_uops;
	}

	for (i = 0; i < loop->iter_out; i++) {
		for (j = 0; j < loop->iter_in; j++) {
			struct core_index base = core_index_at(loop, i, j);

			for (u = loop->uop_bgn; u < loop->uop_end; u += n) {
				n = loop->uop_end - u;
				n = n < left ? n : left;
				kernel(core, loop, uop + u, n, base);
				*counter += n;
				left -= n;
				if (left)
					continue;
				if (core_run_stopped(run))
					return CORE_STOPPED;
				left = period;
			}
		}
	}
	return CORE_DONE;
}

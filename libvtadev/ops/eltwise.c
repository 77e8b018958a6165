// SPDX-License-Identifier: Apache-2.0
/*
 * Element-wise operators: the compute module loads both operands as int8 into
 * accumulators, half of them while the store module writes the other half.
 */
#include "post.h"

static int eltwise(struct vtaops_builder *b, const struct vtaops_eltwise *op, enum ops_alu alu)
{
	const struct vtaops_core *c = b->core;
	uint32_t half = ops_depth(c->log_acc_depth) / 2;
	uint32_t size = min_u32(min_u32(half / 2, ITER_MAX), op->elements);
	uint32_t operand[2], out, uop[2], tiles = 0;
	struct ops_post post;

	if (c->log_inp_width != 3)
		return ops_fail(b, VTAOPS_ECORE, "element-wise needs a core with int8 inputs");
	if (!op->elements || op->post.bias || op->post.muls || op->post.shifts)
		return ops_fail(b, VTAOPS_EINVAL, "no elements, or values for channels");
	if (ops_post_init(b, &post, &op->post, 0))
		return b->error;
	operand[0] = ops_element(b, op->a, op->elements, c->inp_bytes);
	operand[1] = ops_element(b, op->b, op->elements, c->inp_bytes);
	out = ops_element(b, op->out, op->elements, c->inp_bytes);
	if (!size || c->log_uop_depth < 1)
		ops_fail(b, VTAOPS_EFIT, "two elements do not fit half the accumulators");
	if (b->error)
		return b->error;

	for (uint32_t i = 0; i < 2; i++)
		ops_uop(b, i * half, i * half + size, 0);
	uop[0] = ops_uop_load(b, 2);
	uop[1] = uop[0] + 1;

	for (uint32_t at = 0; at < op->elements && !b->error; at += size, tiles++) {
		uint32_t n = min_u32(size, op->elements - at);
		uint32_t sram = (tiles & 1) * half;
		struct ops_loop loop = {
			.bgn = uop[tiles & 1], .end = uop[tiles & 1] + 1,
			.iter_out = 1, .iter_in = n, .dst_in = 1, .src_in = 1,
		};

		if (tiles >= 2)
			ops_wait(b, POP_NEXT);
		for (uint32_t i = 0; i < 2; i++)
			ops_load(b, &(struct ops_move) {
				.type = MEM_ACC_8BIT, .sram = sram + i * size,
				.dram = operand[i] + at, .rows = 1, .cols = n, .stride = n });
		ops_alu(b, &loop, alu);
		ops_post_apply(b, &post, loop.bgn, &loop);
		ops_signal(b, PUSH_NEXT);
		ops_wait(b, POP_PREV);
		ops_store(b, &(struct ops_move) {
			.type = MEM_OUT, .sram = sram, .dram = out + at, .rows = 1, .cols = n,
			.stride = n });
		ops_signal(b, PUSH_PREV);
	}
	ops_barrier(b, 0, min_u32(tiles, 2));
	return b->error;
}

int vtaops_add(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_ADD);
}

int vtaops_max(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_MAX);
}

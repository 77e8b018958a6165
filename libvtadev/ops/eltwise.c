// SPDX-License-Identifier: Apache-2.0
/*
 * Element-wise operators: the compute module brings both operands into
 * accumulators, half of them while the store module writes the other half.
 */
#include "fetch.h"
#include "post.h"

struct pass {
	struct vtaops_builder *b;
	const struct vtaops_eltwise *op;
	struct ops_fetch fetch;
	struct ops_post post;
	uint32_t operand[2], out;	/* element indices */
	uint32_t operands;
	uint32_t size;			/* elements of a tile */
	uint32_t tiles;
};

/* Operand @i of @n elements from @at on, to @acc. */
static void operand(struct pass *p, uint32_t i, uint32_t at, uint32_t n, uint32_t acc,
		    uint32_t uop)
{
	unsigned int shift = i ? p->op->b_shift : p->op->a_shift;

	ops_fetch(p->b, &p->fetch, &(struct ops_region) {
		.dram = p->operand[i] + at, .h = 1, .w = n, .rows = 1, .cols = n }, acc, uop);
	if (shift)
		ops_alu_imm(p->b, &(struct ops_loop) {
			.bgn = uop, .end = uop + 1, .iter_out = 1, .iter_in = n, .dst_in = 1 },
			ALU_SHR, -(int)shift);
}

/* Micro-ops of one half: the operands' places, and the pair. */
static uint32_t half_uops(struct pass *p, uint32_t acc)
{
	ops_uop(p->b, acc, 0, 0);
	ops_uop(p->b, acc + p->size, 0, 0);
	ops_uop(p->b, acc, acc + p->size, 0);
	return ops_uop_load(p->b, 3);
}

static void add_offset(struct vtaops_builder *b, struct ops_loop loop, uint32_t uop, int offset)
{
	loop.bgn = uop;
	loop.end = uop + 1;
	loop.src_in = 0;
	while (offset) {
		int part = offset > 32767 ? 32767 : offset < -32767 ? -32767 : offset;

		ops_alu_imm(b, &loop, ALU_ADD, part);
		offset -= part;
	}
}

static int eltwise(struct vtaops_builder *b, const struct vtaops_eltwise *op, enum ops_alu alu,
		   uint32_t operands)
{
	struct pass p = { .b = b, .op = op, .operands = operands };
	uint32_t uops[2], parts, depth;
	uint64_t bytes;

	if (b->error)
		return b->error;
	if (!op->elements || op->post.bias || op->post.muls || op->post.shifts)
		return ops_fail(b, VTAOPS_EINVAL, "no elements, or values for channels");
	if (op->a_shift > 31 || op->b_shift > 31)
		return ops_fail(b, VTAOPS_EINVAL, "an operand's shift is more than 31");
	if (op->offset < -VTAOPS_OFFSET_MAX || op->offset > VTAOPS_OFFSET_MAX)
		return ops_fail(b, VTAOPS_EINVAL, "the offset is more than 262136");
	if (ops_post_init(b, &p.post, &op->post, 0) || ops_fetch_init(b, &p.fetch, op->identity))
		return b->error;
	bytes = b->core->inp_bytes;
	p.operand[0] = ops_element(b, op->a, op->elements, (uint32_t)bytes);
	if (operands > 1)
		p.operand[1] = ops_element(b, op->b, op->elements, (uint32_t)bytes);
	p.out = ops_element(b, op->out, op->elements, (uint32_t)bytes);
	p.post.in_range = !op->a_shift && !op->b_shift && !op->offset &&
			  op->post.mul >= 0 && op->post.mul <= 1 &&
			  (operands == 1 || alu == ALU_MAX || alu == ALU_MIN);

	depth = ops_depth(b->core->log_acc_depth);
	parts = depth >= 4 && ops_depth(b->core->log_uop_depth) >= 6 ? 2 : 1;
	if (depth < 2)
		return ops_fail_fit(b, "an element-wise layer", 2, "acc elements", depth);
	p.size = min_u32(min_u32(depth / parts / 2, ITER_MAX), op->elements);
	p.size = min_u32(p.size, ops_fetch_max(b, &p.fetch));
	for (uint32_t i = 0; i < parts; i++)
		uops[i] = half_uops(&p, i * (depth / parts));

	for (uint32_t at = 0; !b->error; p.tiles++) {
		uint32_t n = min_u32(p.size, op->elements - at);
		uint32_t half = p.tiles % parts, acc = half * (depth / parts), uop = uops[half];
		struct ops_loop loop = {
			.bgn = uop + 2, .end = uop + 3, .iter_out = 1, .iter_in = n, .dst_in = 1,
			.src_in = 1,
		};

		if (p.tiles >= parts)
			ops_wait(b, POP_NEXT);
		operand(&p, 0, at, n, acc, uop);
		if (operands > 1) {
			operand(&p, 1, at, n, acc + p.size, uop + 1);
			ops_alu(b, &loop, alu);
		}
		add_offset(b, loop, uop, op->offset);
		ops_post_apply(b, &p.post, uop, &loop);
		ops_signal(b, PUSH_NEXT);
		ops_wait(b, POP_PREV);
		ops_store(b, &(struct ops_move) {
			.type = MEM_OUT, .sram = acc, .dram = p.out + at, .rows = 1, .cols = n });
		ops_signal(b, PUSH_PREV);
		if (op->elements - at <= n)
			break;
		at += n;
	}
	ops_barrier(b, ops_fetch_tokens(&p.fetch), min_u32(p.tiles + 1, parts));
	return b->error;
}

int vtaops_add(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_ADD, 2);
}

int vtaops_mul(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_MUL, 2);
}

int vtaops_max(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_MAX, 2);
}

int vtaops_min(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_MIN, 2);
}

int vtaops_shift(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_SHR, 2);
}

int vtaops_requantise(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, ALU_ADD, 1);
}

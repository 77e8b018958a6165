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
	enum vta_isa_alu alu;
	uint32_t operand[2], out;	/* element indices */
	uint32_t operands;
	uint32_t repeat;		/* elements of a for one of b */
	uint32_t size;			/* elements of a tile */
	uint32_t parts, part;		/* of the accumulators, and elements of one */
	uint32_t uops[2];		/* of each part */
	uint32_t tiles;
};

/* Operand @i of @n elements from @at on, to @acc. */
static void operand(struct pass *p, uint32_t i, uint32_t at, uint32_t n, uint32_t acc,
		    uint32_t uop)
{
	unsigned int shift = i ? p->op->b_shift : p->op->a_shift;

	ops_fetch(p->b, &p->fetch, &(struct ops_region) {
		.dram = p->operand[i] + at, .h = 1, .w = n, .rows = 1, .cols = n }, 1, acc, uop);
	if (shift)
		ops_alu_imm(p->b, &(struct ops_loop) {
			.bgn = uop, .end = uop + 1, .iter_out = 1, .iter_in = n, .dst_in = 1 },
			VTA_ISA_SHR, -(int)shift);
}

/* Whole planes of what one element of b is for, as many as fit; or parts of one. */
static uint32_t tile_size(const struct pass *p)
{
	uint32_t most = min_u32(ITER_MAX, ops_fetch_max(p->b, &p->fetch));
	uint32_t planes = p->part / (p->repeat + 1);

	if (p->repeat == 1)
		return min_u32(p->part / 2, most);
	planes = min_u32(planes, most / p->repeat);
	return planes ? planes * p->repeat : min_u32(p->part - 1, most);
}

/* A tile of @n elements: over planes, and the elements of one. */
static struct ops_loop tile_loop(const struct pass *p, uint32_t n, uint32_t uop)
{
	struct ops_loop loop = {
		.bgn = uop + 2, .end = uop + 3, .iter_out = 1, .iter_in = n, .dst_in = 1,
		.src_in = p->repeat == 1,
	};

	if (p->repeat > 1 && n > p->repeat) {
		loop.iter_out = n / p->repeat;
		loop.iter_in = p->repeat;
		loop.dst_out = p->repeat;
		loop.src_out = 1;
	}
	return loop;
}

/* @n elements from @at on. */
static void tile(struct pass *p, uint32_t at, uint32_t n)
{
	struct vtaops_builder *b = p->b;
	uint32_t part = p->tiles % p->parts, acc = part * p->part, uop = p->uops[part];
	struct ops_loop loop = tile_loop(p, n, uop), sums = loop;

	if (p->tiles >= p->parts)
		ops_wait(b, VTA_ISA_POP_NEXT);
	operand(p, 0, at, n, acc, uop);
	if (p->operands > 1) {
		operand(p, 1, at / p->repeat, div_up(n, p->repeat), acc + p->size, uop + 1);
		ops_alu(b, &loop, p->alu);
	}
	sums.bgn = uop;
	sums.end = uop + 1;
	ops_add_offset(b, &sums, p->op->offset);
	ops_post_apply(b, &p->post, uop, &loop);
	ops_signal(b, VTA_ISA_PUSH_NEXT);
	ops_wait(b, VTA_ISA_POP_PREV);
	ops_store(b, &(struct ops_move) {
		.type = VTA_ISA_OUT, .sram = acc, .dram = p->out + at, .rows = 1, .cols = n });
	ops_signal(b, VTA_ISA_PUSH_PREV);
	p->tiles++;
}

static int check_eltwise(struct vtaops_builder *b, const struct vtaops_eltwise *op,
			 uint32_t operands)
{
	uint64_t bytes = (uint64_t)op->elements * b->core->inp_bytes;

	if (!op->elements || op->post.bias || op->post.muls || op->post.shifts)
		return ops_fail(b, VTAOPS_EINVAL, "no elements, or values for channels");
	if (op->a_shift > 31 || op->b_shift > 31)
		return ops_fail(b, VTAOPS_EINVAL, "an operand's shift is more than 31");
	if (op->offset < -VTAOPS_OFFSET_MAX || op->offset > VTAOPS_OFFSET_MAX)
		return ops_fail(b, VTAOPS_EINVAL, "the offset is more than 262136");
	if (op->repeat > 1 && (operands < 2 || op->elements % op->repeat ||
			       ops_overlap(op->b, bytes / op->repeat, op->out, bytes)))
		return ops_fail(b, VTAOPS_EINVAL,
				"repeated elements are not b's, are not whole, or overlap the output");
	return 0;
}

static int init(struct pass *p)
{
	const struct vtaops_eltwise *op = p->op;
	struct vtaops_builder *b = p->b;
	uint32_t bytes = b->core->inp_bytes;

	if (check_eltwise(b, op, p->operands) || ops_post_init(b, &p->post, &op->post, 0) ||
	    ops_fetch_init(b, &p->fetch, op->identity))
		return b->error;
	p->operand[0] = ops_element(b, op->a, op->elements, bytes);
	if (p->operands > 1)
		p->operand[1] = ops_element(b, op->b, op->elements / p->repeat, bytes);
	p->out = ops_element(b, op->out, op->elements, bytes);
	p->post.in_range = !op->a_shift && !op->b_shift && !op->offset &&
			   op->post.mul >= 0 && op->post.mul <= 1 &&
			   (p->operands == 1 || p->alu == VTA_ISA_MAX || p->alu == VTA_ISA_MIN);
	return b->error;
}

static int eltwise(struct vtaops_builder *b, const struct vtaops_eltwise *op, enum vta_isa_alu alu,
		   uint32_t operands)
{
	struct pass p = { .b = b, .op = op, .alu = alu, .operands = operands,
			  .repeat = op->repeat ? op->repeat : 1 };
	uint32_t depth;

	if (b->error || init(&p))
		return b->error;
	depth = ops_depth(b->core->log_acc_depth);
	if (depth < 2)
		return ops_fail_fit(b, "an element-wise layer", 2, "acc elements", depth);
	p.parts = depth >= 4 && ops_depth(b->core->log_uop_depth) >= 6 ? 2 : 1;
	p.part = depth / p.parts;
	p.size = min_u32(tile_size(&p), op->elements);
	for (uint32_t i = 0; i < p.parts; i++)
		p.uops[i] = ops_pair_uops(b, i * p.part, p.size);
	for (uint32_t at = 0, n; !b->error && at < op->elements; at += n) {
		n = min_u32(p.size, op->elements - at);
		/* No tile is of parts of two planes. */
		if (p.repeat > 1 && n % p.repeat)
			n = min_u32(n, p.repeat - at % p.repeat);
		tile(&p, at, n);
	}
	ops_barrier(b, ops_fetch_tokens(&p.fetch), min_u32(p.tiles, p.parts));
	return b->error;
}

int vtaops_add(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, VTA_ISA_ADD, 2);
}

int vtaops_mul(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, VTA_ISA_MUL, 2);
}

int vtaops_max(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, VTA_ISA_MAX, 2);
}

int vtaops_min(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, VTA_ISA_MIN, 2);
}

int vtaops_shift(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, VTA_ISA_SHR, 2);
}

int vtaops_requantise(struct vtaops_builder *b, const struct vtaops_eltwise *op)
{
	return eltwise(b, op, VTA_ISA_ADD, 1);
}

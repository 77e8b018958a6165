// SPDX-License-Identifier: Apache-2.0
/* Post-processing of accumulators before they are stored: struct vtaops_post. */
#include "post.h"

static int out_top(const struct vtaops_core *c)
{
	return 1 << ((1 << c->log_inp_width) - 1);
}

static void add_vector(struct vtaops_builder *b, struct ops_post *p, enum ops_vector vector,
		       uint32_t addr, uint64_t channels)
{
	uint32_t at = ops_element(b, addr, channels, b->core->acc_bytes), slot = p->vectors++;

	/* Slots in the order of addresses */
	for (; slot && p->at[slot - 1] > at; slot--) {
		p->at[slot] = p->at[slot - 1];
		for (unsigned int i = 0; i < VEC_KINDS; i++)
			p->slot[i] += p->has[i] && p->slot[i] == slot - 1;
	}
	p->at[slot] = at;
	p->slot[vector] = slot;
	p->has[vector] = true;
}

int ops_post_init(struct vtaops_builder *b, struct ops_post *p, const struct vtaops_post *post,
		  uint64_t channels)
{
	const uint32_t addr[VEC_KINDS] = {
		[VEC_BIAS] = post->bias, [VEC_MUL] = post->muls, [VEC_SHIFT] = post->shifts,
	};
	int top = out_top(b->core);

	*p = (struct ops_post) { .post = post };
	if (post->shift > 31 || (post->shift && post->shifts))
		return ops_fail(b, VTAOPS_EINVAL, "the shift is more than 31, or there are two");
	if (post->mul < -32768 || post->mul > 32767 || (post->mul && post->muls))
		return ops_fail(b, VTAOPS_EINVAL,
				"the multiplier has more than 16 bits, or there are two");
	if (post->lo > post->hi || post->lo < -top || post->hi >= top)
		return ops_fail(b, VTAOPS_EINVAL, "the clip range is empty or beyond OUT");
	if (post->round && post->shifts)
		return ops_fail(b, VTAOPS_EINVAL, "per-channel shifts do not round to the nearest");
	for (unsigned int i = 0; i < VEC_KINDS; i++)
		if (addr[i])
			add_vector(b, p, (enum ops_vector)i, addr[i], channels);
	return b->error;
}

int ops_post_add_vector(struct vtaops_builder *b, struct ops_post *p, enum ops_vector vector,
			uint32_t addr, uint64_t channels)
{
	add_vector(b, p, vector, addr, channels);
	return b->error;
}

uint32_t ops_post_uops(struct vtaops_builder *b, const struct ops_post *p, uint32_t acc,
		       uint32_t params, uint32_t channels)
{
	uint32_t count = ops_post_uop_count(p);

	for (uint32_t i = 0; i < count; i++)
		ops_uop(b, acc, p->vectors ? params + i * channels : acc, 0);
	return ops_uop_load(b, count);
}

void ops_post_load(struct vtaops_builder *b, const struct ops_post *p, uint32_t params,
		   uint32_t first, uint32_t channels)
{
	struct ops_move m = {
		.type = VTA_ISA_ACC, .sram = params, .rows = 1, .cols = channels,
		.stride = channels };

	for (uint32_t slot = 0; slot < p->vectors; slot += m.rows) {
		/* Vectors at equal distances are rows of one LOAD. */
		m.rows = 1;
		m.stride = slot + 1 < p->vectors ? p->at[slot + 1] - p->at[slot] : 0;
		while (m.stride && m.stride <= SIZE_MAX_16 && slot + m.rows < p->vectors &&
		       p->at[slot + m.rows] - p->at[slot + m.rows - 1] == m.stride)
			m.rows++;
		m.stride = m.rows > 1 ? m.stride : channels;
		m.sram = params + slot * channels;
		m.dram = p->at[slot] + first;
		ops_load(b, &m);
	}
}

static void by_channel(struct vtaops_builder *b, const struct ops_post *p, uint32_t uop,
		       struct ops_loop loop, enum ops_vector vector, enum vta_isa_alu op)
{
	loop.bgn = uop + p->slot[vector];
	loop.end = loop.bgn + 1;
	ops_alu(b, &loop, op);
}

void ops_post_residual(struct vtaops_builder *b, const struct ops_post *p, uint32_t uop,
		       const struct ops_loop *loop)
{
	by_channel(b, p, uop, *loop, VEC_RES, VTA_ISA_MUL);
}

void ops_post_start(struct vtaops_builder *b, const struct ops_post *p, uint32_t uop,
		    const struct ops_loop *loop)
{
	by_channel(b, p, uop, *loop, VEC_START, VTA_ISA_MIN);
}

static void shift_right(struct vtaops_builder *b, const struct ops_loop *all, unsigned int shift,
			bool round)
{
	/* Half of the step, or where that has more than 16 bits, half of the last one's. */
	unsigned int last = !round || shift < 16 ? shift : 1;

	if (shift > last)
		ops_alu_imm(b, all, VTA_ISA_SHR, (int)(shift - last));
	if (round)
		ops_alu_imm(b, all, VTA_ISA_ADD, 1 << (last - 1));
	ops_alu_imm(b, all, VTA_ISA_SHR, (int)last);
}

void ops_post_apply(struct vtaops_builder *b, const struct ops_post *p, uint32_t uop,
		    const struct ops_loop *loop)
{
	const struct vtaops_post *post = p->post;
	struct ops_loop all = *loop;
	int top = out_top(b->core);

	all.bgn = uop;
	all.end = uop + 1;
	all.src_out = 0;
	all.src_in = 0;
	if (p->has[VEC_MUL])
		by_channel(b, p, uop, *loop, VEC_MUL, VTA_ISA_MUL);
	else if (post->mul && post->mul != 1)
		ops_alu_imm(b, &all, VTA_ISA_MUL, post->mul);
	if (p->has[VEC_BIAS])
		by_channel(b, p, uop, *loop, VEC_BIAS, VTA_ISA_ADD);
	if (p->has[VEC_SHIFT])
		by_channel(b, p, uop, *loop, VEC_SHIFT, VTA_ISA_SHR);
	else if (post->shift)
		shift_right(b, &all, post->shift, post->round);
	if (!p->in_range || post->lo > -top)
		ops_alu_imm(b, &all, VTA_ISA_MAX, post->lo);
	if (!p->in_range || post->hi < top - 1)
		ops_alu_imm(b, &all, VTA_ISA_MIN, post->hi);
}

void ops_add_offset(struct vtaops_builder *b, const struct ops_loop *loop, int offset)
{
	struct ops_loop all = *loop;

	all.src_out = 0;
	all.src_in = 0;
	while (offset) {
		int part = offset > 32767 ? 32767 : offset < -32767 ? -32767 : offset;

		ops_alu_imm(b, &all, VTA_ISA_ADD, part);
		offset -= part;
	}
}

uint32_t ops_pair_uops(struct vtaops_builder *b, uint32_t acc, uint32_t size)
{
	ops_uop(b, acc, 0, 0);
	ops_uop(b, acc + size, 0, 0);
	ops_uop(b, acc, acc + size, 0);
	return ops_uop_load(b, 3);
}

uint64_t ops_post_cost(const struct ops_post *p, uint64_t elements)
{
	uint64_t each = 2 + 2ull * p->vectors + (p->post->mul != 0) + (p->post->shift != 0) +
			(p->post->round != 0);

	return each * elements + 40;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of one value, as sums of clipped ramps: each ramp is made in the second half of a
 * tile's accumulators and added to the first.
 */
#include "fetch.h"
#include "post.h"

struct pass {
	struct vtaops_builder *b;
	const struct vtaops_function *op;
	const struct vtaops_formula *f;
	struct ops_fetch fetch;
	uint32_t a, out;		/* element indices */
	uint32_t size;			/* elements of a tile */
	uint32_t parts, part;		/* of the accumulators, and elements of one */
	uint32_t uops[2];		/* of each part: its sums, its ramp, and the pair */
	uint32_t tiles;
	int least, most;		/* values of INP */
	bool above, below;		/* is a result ever above hi, below lo? */
};

/* ---- the formula itself ---- */

/* Before the last clip. */
static int32_t value_of(const struct vtaops_formula *f, int x)
{
	int64_t sum = f->offset;

	for (uint32_t i = 0; i < f->count; i++) {
		const struct vtaops_ramp *r = &f->ramps[i];

		sum += (int64_t)r->mul * (x < r->lo ? r->lo : x > r->hi ? r->hi : x);
	}
	sum = f->times ? sum * (x - f->zero) : sum;
	sum = ((int32_t)(uint32_t)(uint64_t)sum >> f->first) + (int64_t)f->bias;
	return (int32_t)(uint32_t)(uint64_t)sum >> f->shift;
}

int vtaops_formula_value(const struct vtaops_formula *f, int x)
{
	int32_t y = value_of(f, x);

	return y < f->lo ? f->lo : y > f->hi ? f->hi : y;
}

/* Of the values from @least to @most, is any one's result beyond a limit? */
static void find_beyond(const struct vtaops_formula *f, int least, int most, bool *below,
			bool *above)
{
	*below = false;
	*above = false;
	for (int x = least; x <= most; x++) {
		int32_t y = value_of(f, x);

		*below = *below || y < f->lo;
		*above = *above || y > f->hi;
	}
}

/* Immediates that a number is added in. */
static uint32_t count_parts(int offset)
{
	return div_up(offset < 0 ? 0u - (uint32_t)offset : (uint32_t)offset, 32767);
}

uint32_t vtaops_formula_cycles(const struct vtaops_core *core, const struct vtaops_formula *f)
{
	int top = 1 << ((1 << core->log_inp_width) - 1);
	uint32_t fetch = core->log_inp_width == 3 ? 1 : 2;
	uint32_t sum = count_parts(f->offset) + count_parts(f->bias) +
		       (f->first > 0) + (f->shift > 0);
	bool below, above;

	find_beyond(f, -top, top - 1, &below, &above);
	sum += below + above;
	for (uint32_t i = 0; i < f->count; i++)
		sum += fetch + (f->ramps[i].lo > -top) + (f->ramps[i].hi < top - 1) +
		       (f->ramps[i].mul != 1) + (i ? 2 : 0);
	return sum + (f->times ? fetch + (f->zero != 0) + 2 : 0);
}

/* ---- streams ---- */

static struct ops_loop loop_of(uint32_t uop, uint32_t n)
{
	return (struct ops_loop) {
		.bgn = uop, .end = uop + 1, .iter_out = 1, .iter_in = n, .dst_in = 1, .src_in = 1 };
}

/* The input of @n elements from @at on, to the sums or to the ramp. */
static void fetch(struct pass *p, uint32_t at, uint32_t n, uint32_t acc, uint32_t uop)
{
	ops_fetch(p->b, &p->fetch, &(struct ops_region) {
		.dram = p->a + at, .h = 1, .w = n, .rows = 1, .cols = n }, 1, acc, uop);
}

static void clip(struct pass *p, const struct ops_loop *loop, int lo, int hi)
{
	if (lo > p->least)
		ops_alu_imm(p->b, loop, VTA_ISA_MAX, lo);
	if (hi < p->most)
		ops_alu_imm(p->b, loop, VTA_ISA_MIN, hi);
}

static void sum_ramps(struct pass *p, uint32_t at, uint32_t n, uint32_t acc, uint32_t uop)
{
	struct ops_loop pair = loop_of(uop + 2, n);

	for (uint32_t i = 0; i < p->f->count; i++) {
		const struct vtaops_ramp *r = &p->f->ramps[i];
		struct ops_loop loop = loop_of(uop + (i > 0), n);

		fetch(p, at, n, i ? acc + p->size : acc, uop + (i > 0));
		clip(p, &loop, r->lo, r->hi);
		if (r->mul != 1)
			ops_alu_imm(p->b, &loop, VTA_ISA_MUL, r->mul);
		if (i)
			ops_alu(p->b, &pair, VTA_ISA_ADD);
	}
}

static void multiply(struct pass *p, uint32_t at, uint32_t n, uint32_t acc, uint32_t uop)
{
	struct ops_loop loop = loop_of(uop + 1, n), pair = loop_of(uop + 2, n);

	fetch(p, at, n, acc + p->size, uop + 1);
	ops_add_offset(p->b, &loop, -p->f->zero);
	ops_alu(p->b, &pair, VTA_ISA_MUL);
}

/* @n elements from @at on. */
static void tile(struct pass *p, uint32_t at, uint32_t n)
{
	uint32_t part = p->tiles % p->parts, acc = part * p->part, uop = p->uops[part];
	struct ops_loop loop = loop_of(uop, n);
	struct vtaops_builder *b = p->b;

	if (p->tiles >= p->parts)
		ops_wait(b, VTA_ISA_POP_NEXT);
	sum_ramps(p, at, n, acc, uop);
	ops_add_offset(b, &loop, p->f->offset);
	if (p->f->times)
		multiply(p, at, n, acc, uop);
	if (p->f->first)
		ops_alu_imm(b, &loop, VTA_ISA_SHR, (int)p->f->first);
	ops_add_offset(b, &loop, p->f->bias);
	if (p->f->shift)
		ops_alu_imm(b, &loop, VTA_ISA_SHR, (int)p->f->shift);
	if (p->below)
		ops_alu_imm(b, &loop, VTA_ISA_MAX, p->f->lo);
	if (p->above)
		ops_alu_imm(b, &loop, VTA_ISA_MIN, p->f->hi);
	ops_signal(b, VTA_ISA_PUSH_NEXT);
	ops_wait(b, VTA_ISA_POP_PREV);
	ops_store(b, &(struct ops_move) {
		.type = VTA_ISA_OUT, .sram = acc, .dram = p->out + at, .rows = 1, .cols = n });
	ops_signal(b, VTA_ISA_PUSH_PREV);
	p->tiles++;
}

static bool is_offset(int offset)
{
	return offset >= -VTAOPS_OFFSET_MAX && offset <= VTAOPS_OFFSET_MAX;
}

static int check_formula(struct pass *p)
{
	const struct vtaops_formula *f = p->f;

	if (!f->count || f->count > VTAOPS_RAMPS_MAX)
		return ops_fail(p->b, VTAOPS_EINVAL, "a function has no ramps, or over 1024");
	for (uint32_t i = 0; i < f->count; i++) {
		const struct vtaops_ramp *r = &f->ramps[i];

		if (r->lo > r->hi || r->lo < p->least || r->hi > p->most ||
		    r->mul < -32768 || r->mul > 32767)
			return ops_fail(p->b, VTAOPS_EINVAL,
					"a ramp is beyond INP, or its factor has over 16 bits");
	}
	if (!is_offset(f->offset) || !is_offset(f->bias))
		return ops_fail(p->b, VTAOPS_EINVAL, "the offset is more than 262136");
	if (f->first > 31 || f->shift > 31 || f->zero < p->least || f->zero > p->most)
		return ops_fail(p->b, VTAOPS_EINVAL, "a shift is more than 31, or the zero no INP");
	if (f->lo > f->hi || f->lo < p->least || f->hi > p->most)
		return ops_fail(p->b, VTAOPS_EINVAL, "the clip range is empty or beyond OUT");
	return 0;
}

static int init(struct pass *p)
{
	const struct vtaops_function *op = p->op;
	struct vtaops_builder *b = p->b;
	uint32_t depth = ops_depth(b->core->log_acc_depth);

	p->most = (1 << ((1 << b->core->log_inp_width) - 1)) - 1;
	p->least = -p->most - 1;
	p->parts = depth >= 4 && ops_depth(b->core->log_uop_depth) >= 6 ? 2 : 1;
	p->part = depth / p->parts;
	if (!op->elements)
		return ops_fail(b, VTAOPS_EINVAL, "no elements");
	if (check_formula(p) || ops_fetch_init(b, &p->fetch, op->identity))
		return b->error;
	if (depth < 2)
		return ops_fail_fit(b, "a function", 2, "acc elements", depth);
	find_beyond(p->f, p->least, p->most, &p->below, &p->above);
	p->a = ops_element(b, op->a, op->elements, b->core->inp_bytes);
	p->out = ops_element(b, op->out, op->elements, b->core->inp_bytes);
	p->size = min_u32(min_u32(p->part / 2, op->elements),
			  min_u32(ITER_MAX, ops_fetch_max(b, &p->fetch)));
	for (uint32_t i = 0; i < p->parts; i++)
		p->uops[i] = ops_pair_uops(b, i * p->part, p->size);
	return b->error;
}

int vtaops_function(struct vtaops_builder *b, const struct vtaops_function *op)
{
	struct pass p = { .b = b, .op = op, .f = &op->formula };

	if (b->error || init(&p))
		return b->error;
	for (uint32_t at = 0; !b->error && at < op->elements; at += p.size)
		tile(&p, at, min_u32(p.size, op->elements - at));
	ops_barrier(b, ops_fetch_tokens(&p.fetch), min_u32(p.tiles, p.parts));
	return b->error;
}

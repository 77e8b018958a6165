// SPDX-License-Identifier: GPL-2.0-only
/*
 * gen_bad.c - streams with exactly one thing wrong
 *
 * The faulty instruction is in the middle of a valid stream. Whatever
 * another module does before or while it faults is valid, so its fault is the
 * only one there can be.
 */

#include "gen_impl.h"

/* A faulty instruction, what it must end in, and why. */
struct bad {
	enum gen_module module;
	struct insn insn;
	struct gen_expect expect;
};

static void expect(struct bad *bad, enum vta_fault_reason reason, enum vta_access access,
		   const char *what)
{
	bad->expect.reason = reason;
	bad->expect.access = access;
	bad->expect.addr = 0;
	bad->expect.what = what;
}

/* ---- Illegal instructions ------------------------------------------------ */

static bool bad_opcode(struct gen *gen, struct bad *bad)
{
	bad->insn = gen_junk(gen);
	bad->insn.word[0] &= ~0x7full;
	bad->insn.word[0] |= INSN_ALU + 1 + gen_below(gen, 3);
	bad->module = gen_below(gen, GEN_MODULES);
	expect(bad, VTA_FAULT_INSN, VTA_ACCESS_NONE, "opcode");
	return true;
}

static bool bad_load_memory(struct gen *gen, struct bad *bad)
{
	static const unsigned int memories[] = { INSN_OUT, INSN_ACC_8BIT + 1, INSN_ACC_8BIT + 2 };
	struct gen_op op = gen_op_load(gen, INSN_INP, gen_whole(gen, INSN_INP));

	op.move.memory = memories[gen_below(gen, 3)];
	bad->module = GEN_COMPUTE;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_INSN, VTA_ACCESS_NONE, "LOAD of no such memory");
	return true;
}

static bool bad_store_memory(struct gen *gen, struct bad *bad)
{
	struct gen_op op = gen_op_store(gen, gen_whole(gen, INSN_ACC));

	op.move.memory = (INSN_OUT + 1 + gen_below(gen, 7)) % 8;
	bad->module = op.module;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_INSN, VTA_ACCESS_NONE, "STORE of another memory than OUT");
	return true;
}

static bool bad_store_pad(struct gen *gen, struct bad *bad)
{
	struct gen_op op = gen_op_store(gen, gen_whole(gen, INSN_ACC));
	uint32_t *pads[] = { &op.move.y_pad_0, &op.move.y_pad_1, &op.move.x_pad_0,
			     &op.move.x_pad_1 };

	*pads[gen_below(gen, 4)] = 1 + gen_below(gen, 15);
	bad->module = op.module;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_INSN, VTA_ACCESS_NONE, "STORE with padding");
	return true;
}

/* An ALU or GEMM that does something. */
static bool loops(const struct insn_loop *l)
{
	return l->iter_out && l->iter_in && l->uop_bgn < l->uop_end;
}

static bool bad_alu_opcode(struct gen *gen, struct bad *bad)
{
	struct gen_op op = gen_op_alu(gen);

	op.loop.alu_opcode = INSN_MUL + 1 + gen_below(gen, 3);
	bad->module = op.module;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_INSN, VTA_ACCESS_NONE, "ALU opcode");
	return loops(&op.loop);
}

/* ---- Indices one too large ----------------------------------------------- */

static bool bad_sram(struct gen *gen, struct bad *bad)
{
	enum insn_memory memory = gen_below(gen, 6);
	struct gen_op op = memory == INSN_OUT ?
		gen_op_store(gen, gen_whole(gen, INSN_ACC)) :
		gen_op_load(gen, memory, gen_whole(gen, memory));
	struct insn_move *m = &op.move;
	uint32_t total = (m->x_pad_0 + m->x_size + m->x_pad_1) *
			 (m->y_pad_0 + m->y_size + m->y_pad_1);

	m->sram_base = gen->depth[memory] - total + 1;
	bad->module = op.module;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, "scratchpad index of a LOAD or STORE");
	return total > 0;
}

static bool bad_uop_range(struct gen *gen, struct bad *bad)
{
	struct gen_op op = gen_chance(gen, 50) ? gen_op_gemm(gen) : gen_op_alu(gen);
	uint32_t depth = gen->depth[INSN_UOP];

	if (depth == 1)		/* uop_end has no room for more than 1 */
		return false;
	/* Micro-ops up to the end are valid with one round and no factors. */
	op.loop.iter_out = 1;
	op.loop.iter_in = 1;
	op.loop.reset = true;
	op.loop.use_imm = true;
	op.loop.uop_bgn = gen_below(gen, depth);
	op.loop.uop_end = depth + 1;
	bad->module = op.module;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, "micro-op range");
	return true;
}

/*
 * Two rounds of each loop whose factors add up to just outside: only the very
 * last micro-op with the largest index is at fault.
 */
static bool overshoot(struct gen *gen, struct insn_loop *l, uint32_t depth, uint32_t max,
		      uint32_t *out, uint32_t *in)
{
	uint32_t sum = depth - max;

	l->iter_out = 2;
	l->iter_in = 2;
	*out = gen_below(gen, sum + 1 < depth ? sum + 1 : depth);
	*in = sum - *out;
	return *in < depth;
}

static bool bad_index(struct gen *gen, struct bad *bad)
{
	struct gen_op op = { .module = GEN_COMPUTE, .is_loop = true };
	uint32_t uop = gen_below(gen, gen->depth[INSN_UOP]);
	struct insn_loop *l = &op.loop;
	struct gen_uop max;
	bool found = false;

	*l = (struct insn_loop){
		.opcode = INSN_GEMM,
		.uop_bgn = uop,
		.uop_end = uop + 1 + gen_below(gen, gen->depth[INSN_UOP] - uop),
		.iter_out = 1,
		.iter_in = 1,
		.junk = gen_junk(gen),
	};
	max = gen_uop_max(gen, l->uop_bgn, l->uop_end);
	switch (gen_below(gen, 4)) {
	case 0:
		l->reset = max.src >= gen->depth[INSN_INP] || gen_chance(gen, 50);
		found = overshoot(gen, l, gen->depth[INSN_ACC], max.dst, &l->dst_out, &l->dst_in);
		break;
	case 1:
		found = max.src >= gen->depth[INSN_INP] ||
			overshoot(gen, l, gen->depth[INSN_INP], max.src, &l->src_out, &l->src_in);
		break;
	case 2:
		found = max.src < gen->depth[INSN_INP] &&
			overshoot(gen, l, gen->depth[INSN_WGT], max.wgt, &l->wgt_out, &l->wgt_in);
		break;
	default:
		l->opcode = INSN_ALU;
		l->alu_opcode = gen_below(gen, INSN_MUL + 1);
		l->use_imm = gen_chance(gen, 50);
		l->imm = (int16_t)gen_bits(gen);
		if (l->use_imm) {
			found = overshoot(gen, l, gen->depth[INSN_ACC], max.dst,
					  &l->dst_out, &l->dst_in);
		} else if (max.src < gen->depth[INSN_ACC]) {
			found = overshoot(gen, l, gen->depth[INSN_ACC], max.src,
					  &l->src_out, &l->src_in);
		} else {
			found = true;
		}
		break;
	}
	bad->module = op.module;
	if (!found)
		return false;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, "scratchpad index of a GEMM or ALU");
	return true;
}

/* ---- Addresses outside memory -------------------------------------------- */

static bool bad_address(struct gen *gen, struct bad *bad)
{
	enum insn_memory memory = gen_below(gen, 6);
	struct gen_op op = memory == INSN_OUT ?
		gen_op_store(gen, gen_whole(gen, INSN_ACC)) :
		gen_op_load(gen, memory, gen_whole(gen, memory));
	struct insn_move *m = &op.move;
	uint32_t bytes = gen->bytes[memory];
	uint64_t first = gen->base / bytes, end = ((uint64_t)gen->base + gen->size) / bytes;
	uint64_t dram, span;

	if (m->y_size == 0)
		return false;
	if (m->y_size == 1)
		m->x_stride = 0;
	span = (uint64_t)(m->y_size - 1) * m->x_stride + m->x_size;
	switch (gen_below(gen, 4)) {
	case 0:			/* the last element is one too far */
		dram = end - span + 1;
		break;
	case 1:			/* the first is one too early */
		dram = first - 1;
		break;
	case 2:			/* right but for 2^32 */
		dram = m->dram_base + (1ull << 32) / bytes;
		break;
	default:		/* as far away as the field allows */
		dram = UINT32_MAX;
		break;
	}
	if (dram > UINT32_MAX)
		return false;
	m->dram_base = (uint32_t)dram;
	bad->module = op.module;
	bad->insn = gen_encode(gen, &op);
	expect(bad, VTA_FAULT_PAGE, memory == INSN_OUT ? VTA_ACCESS_STORE :
	       memory == INSN_UOP ? VTA_ACCESS_UOP : VTA_ACCESS_LOAD, "memory address");
	bad->expect.addr = (uint32_t)(dram == end - span + 1 ? end * bytes : dram * bytes);
	return true;
}

/* ---- Streams ------------------------------------------------------------- */

static bool (*const kinds[])(struct gen *gen, struct bad *bad) = {
	bad_opcode, bad_load_memory, bad_store_memory, bad_store_pad, bad_alu_opcode,
	bad_sram, bad_sram, bad_uop_range, bad_index, bad_index, bad_address, bad_address,
};

#define KINDS	(sizeof(kinds) / sizeof(*kinds))

/*
 * A token that is never pushed, popped by the last instruction of its module. FINISH may follow:
 * compute then reaches FINISH, but the stuck module is not idle.
 */
static void end_starving(struct gen *gen, struct gen_expect *expected)
{
	static const struct {
		enum gen_module from, to;
		unsigned int flag;
	} pops[] = {
		{ GEN_COMPUTE, GEN_LOAD, INSN_POP_NEXT },
		{ GEN_LOAD, GEN_COMPUTE, INSN_POP_PREV },
		{ GEN_STORE, GEN_COMPUTE, INSN_POP_NEXT },
		{ GEN_COMPUTE, GEN_STORE, INSN_POP_PREV },
	};
	unsigned int i = gen_below(gen, sizeof(pops) / sizeof(*pops));
	const struct gen_queue *q = &gen->order->queue[pops[i].from][pops[i].to];
	struct gen_op op;
	struct insn insn;

	/* Nothing may be pushed by chance any more; what is there is taken. */
	gen->style = (struct gen_style){ 0 };
	do {
		op = gen_op_nothing(gen, pops[i].to);
		insn = gen_encode(gen, &op);
		if (q->popped == q->pushed)
			insn.word[0] |= pops[i].flag;
		expected->insn_index = gen_emit_raw(gen, pops[i].to, insn, pops[i].flag);
	} while (!(insn.word[0] & pops[i].flag));
	gen_end(gen);
	expected->reason = VTA_FAULT_DEADLOCK;
	expected->access = VTA_ACCESS_NONE;
	expected->addr = 0;
	expected->what = "token that is never pushed";
}

void gen_invalid(struct gen *gen, struct gen_stream *stream, struct gen_expect *expected)
{
	uint32_t before = gen_below(gen, 40), after = gen_below(gen, 40);
	struct bad bad;

	gen_begin(gen, stream);
	gen_grow(gen, before);
	if (gen_chance(gen, 10)) {
		end_starving(gen, expected);
		return;
	}
	while (!kinds[gen_below(gen, KINDS)](gen, &bad))
		;
	bad.expect.insn_index = gen_emit_raw(gen, bad.module, bad.insn, 0);
	gen_grow(gen, stream->count + after);
	gen_end(gen);
	*expected = bad.expect;
}

bool gen_drop_push(struct gen *gen, struct gen_stream *stream)
{
	uint32_t start = stream->count ? gen_below(gen, stream->count) : 0;

	for (uint32_t n = 0; n < stream->count; n++) {
		uint64_t *word = &stream->insns[(start + n) % stream->count].word[0];
		uint64_t pushes = *word & (INSN_PUSH_PREV | INSN_PUSH_NEXT);

		if (pushes) {
			/* Of two, the lower one. */
			*word &= ~(pushes & -pushes);
			return true;
		}
	}
	return false;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * gen_ops.c - random single instructions that do not fault
 *
 * Corners are sought on purpose: the last element of a scratchpad, sizes of
 * one, strides below the size, loops that just fit. Operands that the
 * instruction does not use are random.
 */

#include "gen_impl.h"

#define FIELD_16	0xffffu
#define FIELD_PAD	15u
#define FIELD_ITER	0x3fffu

/* Micro-ops are mostly kept in this many entries, so that GEMM finds them. */
#define UOPS_NEAR	64u

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* 0 to @max, its end more often than chance has it. */
static uint32_t up_to(struct gen *gen, uint32_t max)
{
	return gen_chance(gen, 20) ? max : gen_below(gen, max + 1);
}

/* ---- LOAD and STORE ------------------------------------------------------ */

static enum gen_module module_of_load(enum insn_memory memory)
{
	return memory == INSN_INP || memory == INSN_WGT ? GEN_LOAD : GEN_COMPUTE;
}

/* Choose stride and memory address so that all rows lie in the right part. */
static void place_in_memory(struct gen *gen, struct insn_move *m)
{
	uint32_t bytes = gen->bytes[m->memory];
	uint32_t start = gen->base + (m->memory == INSN_UOP ? gen->uops : gen->data);
	uint32_t room = (m->memory == INSN_UOP ? GEN_UOPS * bytes : gen->data_size) / bytes;
	uint32_t stride_max;

	if (m->y_size == 0) {
		m->x_stride = (uint32_t)gen_bits(gen) & FIELD_16;
		m->dram_base = (uint32_t)gen_bits(gen);
		return;
	}
	if (m->y_size == 1) {
		m->x_stride = (uint32_t)gen_bits(gen) & FIELD_16;
		m->dram_base = start / bytes + up_to(gen, room - m->x_size);
		return;
	}
	stride_max = least(FIELD_16, (room - m->x_size) / (m->y_size - 1));
	switch (gen_below(gen, 4)) {
	case 0:
		m->x_stride = least(m->x_size, stride_max);
		break;
	case 1:
		m->x_stride = gen_below(gen, least(m->x_size, stride_max) + 1);
		break;
	case 2:
		m->x_stride = gen_chance(gen, 30) ? 0 : least(m->x_size + 1, stride_max);
		break;
	default:
		m->x_stride = gen_below(gen, gen_scaled(gen, stride_max + 1));
		break;
	}
	m->dram_base = start / bytes +
		       up_to(gen, room - m->x_size - (m->y_size - 1) * m->x_stride);
}

struct gen_op gen_op_load(struct gen *gen, enum insn_memory memory, struct gen_window to)
{
	uint32_t depth = to.count;
	uint32_t room = memory == INSN_UOP ? GEN_UOPS : gen->data_size / gen->bytes[memory];
	uint32_t most = least(gen_scaled(gen, depth), least(room, FIELD_16));
	struct gen_op op = { .module = module_of_load(memory) };
	struct insn_move *m = &op.move;
	uint32_t row, rows;

	*m = (struct insn_move){ .opcode = INSN_LOAD, .memory = memory, .junk = gen_junk(gen) };
	m->x_size = gen_scaled(gen, most);
	row = m->x_size;
	if (gen_chance(gen, 40)) {
		m->x_pad_0 = least(gen_below(gen, FIELD_PAD + 1), depth - row);
		row += m->x_pad_0;
		m->x_pad_1 = least(gen_below(gen, FIELD_PAD + 1), depth - row);
		row += m->x_pad_1;
	}
	rows = gen_scaled(gen, least(depth / row, room / m->x_size));
	m->y_size = rows;
	if (gen_chance(gen, 40)) {
		m->y_pad_0 = least(gen_below(gen, FIELD_PAD + 1), m->y_size);
		m->y_size -= m->y_pad_0;
		m->y_pad_1 = least(gen_below(gen, FIELD_PAD + 1), m->y_size);
		m->y_size -= m->y_pad_1;
	} else if (gen_chance(gen, 2)) {
		m->y_size = 0;
		rows = 0;
	}

	m->sram_base = up_to(gen, depth - row * rows);
	if (memory == INSN_UOP && depth - row * rows > UOPS_NEAR && gen_chance(gen, 80))
		m->sram_base = gen_below(gen, UOPS_NEAR);
	m->sram_base += to.first;
	if (rows == 0)		/* Nothing is indexed. */
		m->sram_base = (uint32_t)gen_bits(gen) & FIELD_16;
	place_in_memory(gen, m);
	return op;
}

struct gen_op gen_op_store(struct gen *gen, struct gen_window from)
{
	uint32_t depth = from.count;
	uint32_t room = gen->data_size / gen->bytes[INSN_OUT];
	uint32_t most = least(gen_scaled(gen, depth), least(room, FIELD_16));
	struct gen_op op = { .module = GEN_STORE };
	struct insn_move *m = &op.move;

	*m = (struct insn_move){ .opcode = INSN_STORE, .memory = INSN_OUT,
				 .junk = gen_junk(gen) };
	m->x_size = gen_scaled(gen, most);
	m->y_size = gen_scaled(gen, least(depth, room) / m->x_size);
	m->sram_base = from.first + up_to(gen, depth - m->x_size * m->y_size);
	place_in_memory(gen, m);
	return op;
}

/* ---- GEMM and ALU -------------------------------------------------------- */

struct gen_uop gen_uop_at(const struct gen *gen, uint32_t index)
{
	unsigned int acc = insn_log_acc_depth(&gen->cfg), inp = insn_log_inp_depth(&gen->cfg);
	unsigned int wgt = insn_log_wgt_depth(&gen->cfg), src = acc > inp ? acc : inp;
	uint64_t uop = gen->uop[index];

	return (struct gen_uop){
		.dst = (uint32_t)(uop & ((1u << acc) - 1)),
		.src = (uint32_t)(uop >> acc & ((1u << src) - 1)),
		.wgt = (uint32_t)(uop >> (acc + src) & ((1u << wgt) - 1)),
	};
}

struct gen_uop gen_uop_max(const struct gen *gen, uint32_t bgn, uint32_t end)
{
	struct gen_uop max = { 0 };

	for (uint32_t u = bgn; u < end; u++) {
		struct gen_uop x = gen_uop_at(gen, u);

		if (x.dst > max.dst)
			max.dst = x.dst;
		if (x.src > max.src)
			max.src = x.src;
		if (x.wgt > max.wgt)
			max.wgt = x.wgt;
	}
	return max;
}

/* A range of micro-ops and loop counts that @cost per micro-op can pay for. */
static void choose_loops(struct gen *gen, struct insn_loop *l, uint64_t cost)
{
	uint32_t depth = gen->depth[INSN_UOP];
	uint32_t all = gen->budget / cost < 1 ? 1 : (uint32_t)(gen->budget / cost);
	uint32_t most = gen_scaled(gen, all), count;

	l->uop_bgn = gen_below(gen, gen_chance(gen, 80) ? least(depth, UOPS_NEAR) : depth);
	count = gen_scaled(gen, least(depth - l->uop_bgn, gen_chance(gen, 90) ? 32 : depth));
	count = least(count, most);
	l->uop_end = l->uop_bgn + count;
	l->iter_out = gen_scaled(gen, least(FIELD_ITER, most / count));
	l->iter_in = gen_scaled(gen, least(FIELD_ITER, most / count / l->iter_out));
	if (gen_chance(gen, 50)) {
		uint32_t swap = l->iter_out;

		l->iter_out = l->iter_in;
		l->iter_in = swap;
	}
	gen->budget -= least((uint32_t)(gen->budget / cost),
			     count * l->iter_out * l->iter_in) * cost;
}

/* A factor that @iter rounds of stay within *@room, of which it takes its part. */
static uint32_t choose_factor(struct gen *gen, uint32_t iter, uint32_t depth, uint32_t *room)
{
	uint32_t factor;

	if (iter <= 1)
		return gen_below(gen, depth);
	factor = up_to(gen, *room / (iter - 1));
	*room -= factor * (iter - 1);
	return factor;
}

static void choose_factors(struct gen *gen, const struct insn_loop *l, uint32_t depth,
			   uint32_t max, uint32_t *out, uint32_t *in)
{
	uint32_t room = depth - 1 - max;

	*out = choose_factor(gen, l->iter_out, depth, &room);
	*in = choose_factor(gen, l->iter_in, depth, &room);
}

struct gen_op gen_op_gemm(struct gen *gen)
{
	uint32_t inp = gen->depth[INSN_INP], wgt = gen->depth[INSN_WGT];
	uint32_t values = 1u << (gen->cfg.log_batch + gen->cfg.log_block);
	struct gen_op op = { .module = GEN_COMPUTE, .is_loop = true };
	struct insn_loop *l = &op.loop;
	struct gen_uop max;

	*l = (struct insn_loop){ .opcode = INSN_GEMM, .junk = gen_junk(gen) };
	choose_loops(gen, l, (uint64_t)values << gen->cfg.log_block);
	max = gen_uop_max(gen, l->uop_bgn, l->uop_end);
	choose_factors(gen, l, gen->depth[INSN_ACC], max.dst, &l->dst_out, &l->dst_in);
	if (max.src >= inp || gen_chance(gen, 15)) {
		l->reset = true;
		l->src_out = gen_below(gen, inp);
		l->src_in = gen_below(gen, inp);
		l->wgt_out = gen_below(gen, wgt);
		l->wgt_in = gen_below(gen, wgt);
	} else {
		choose_factors(gen, l, inp, max.src, &l->src_out, &l->src_in);
		choose_factors(gen, l, wgt, max.wgt, &l->wgt_out, &l->wgt_in);
	}
	return op;
}

static int16_t choose_imm(struct gen *gen)
{
	static const int16_t corners[] = { 0, 1, -1, 31, -31, 32, -32, 33, -33, 127, -128,
					   32767, -32768 };

	switch (gen_below(gen, 3)) {
	case 0:
		return corners[gen_below(gen, sizeof(corners) / sizeof(*corners))];
	case 1:
		return (int16_t)((int)gen_below(gen, 81) - 40);
	default:
		return (int16_t)gen_bits(gen);
	}
}

struct gen_op gen_op_alu(struct gen *gen)
{
	uint32_t acc = gen->depth[INSN_ACC];
	uint32_t values = 1u << (gen->cfg.log_batch + gen->cfg.log_block);
	struct gen_op op = { .module = GEN_COMPUTE, .is_loop = true };
	struct insn_loop *l = &op.loop;
	struct gen_uop max;

	*l = (struct insn_loop){ .opcode = INSN_ALU, .junk = gen_junk(gen) };
	l->reset = gen_chance(gen, 50);		/* unused here */
	l->alu_opcode = gen_below(gen, INSN_MUL + 1);
	l->imm = choose_imm(gen);
	choose_loops(gen, l, values);
	max = gen_uop_max(gen, l->uop_bgn, l->uop_end);
	choose_factors(gen, l, acc, max.dst, &l->dst_out, &l->dst_in);
	if (max.src >= acc || gen_chance(gen, 50)) {
		l->use_imm = true;
		l->src_out = gen_below(gen, acc);
		l->src_in = gen_below(gen, acc);
	} else {
		choose_factors(gen, l, acc, max.src, &l->src_out, &l->src_in);
	}
	return op;
}

/* ---- Instructions that do nothing ---------------------------------------- */

/* LOAD or STORE of no columns: everything else about it is random. */
static struct gen_op no_columns(struct gen *gen, enum gen_module module)
{
	struct gen_op op = { .module = module };

	op.move = (struct insn_move){
		.opcode = module == GEN_STORE ? INSN_STORE : INSN_LOAD,
		.sram_base = (uint32_t)gen_bits(gen) & FIELD_16,
		.dram_base = (uint32_t)gen_bits(gen),
		.y_size = (uint32_t)gen_bits(gen) & FIELD_16,
		.x_stride = (uint32_t)gen_bits(gen) & FIELD_16,
		.y_pad_0 = gen_below(gen, FIELD_PAD + 1),
		.y_pad_1 = gen_below(gen, FIELD_PAD + 1),
		.x_pad_0 = gen_below(gen, FIELD_PAD + 1),
		.x_pad_1 = gen_below(gen, FIELD_PAD + 1),
		.junk = gen_junk(gen),
	};
	do {
		op.move.memory = gen_below(gen, 8);
	} while (module != GEN_STORE && module_of_load(op.move.memory) != module);
	return op;
}

/* GEMM or ALU that goes round no time: one of its three loops is empty. */
static struct gen_op no_rounds(struct gen *gen)
{
	uint32_t depth = gen->depth[INSN_UOP];
	struct gen_op op = gen_chance(gen, 50) ? gen_op_gemm(gen) : gen_op_alu(gen);
	struct insn_loop *l = &op.loop;

	switch (gen_below(gen, 3)) {
	case 0:
		l->iter_out = 0;
		l->uop_end = gen_below(gen, 2 * depth);
		break;
	case 1:
		l->iter_in = 0;
		l->uop_end = gen_below(gen, 2 * depth);
		break;
	default:
		l->uop_end = gen_below(gen, l->uop_bgn + 1);
		break;
	}
	return op;
}

struct gen_op gen_op_nothing(struct gen *gen, enum gen_module module)
{
	if (module == GEN_COMPUTE && gen_chance(gen, 50))
		return no_rounds(gen);
	return no_columns(gen, module);
}

/* ---- Any ----------------------------------------------------------------- */

struct gen_window gen_whole(const struct gen *gen, enum insn_memory memory)
{
	return (struct gen_window){ .first = 0, .count = gen->depth[memory] };
}

static struct gen_op any_load(struct gen *gen, enum insn_memory memory)
{
	return gen_op_load(gen, memory, gen_whole(gen, memory));
}

struct gen_op gen_op_any(struct gen *gen)
{
	switch (gen_below(gen, 32)) {
	case 0 ... 3:
		return any_load(gen, INSN_INP);
	case 4 ... 7:
		return any_load(gen, INSN_WGT);
	case 8 ... 11:
		return any_load(gen, INSN_UOP);
	case 12 ... 13:
		return any_load(gen, INSN_ACC);
	case 14:
		return any_load(gen, INSN_ACC_8BIT);
	case 15 ... 19:
		return gen_op_store(gen, gen_whole(gen, INSN_ACC));
	case 20 ... 24:
		return gen_op_gemm(gen);
	case 25 ... 29:
		return gen_op_alu(gen);
	default:
		return gen_op_nothing(gen, gen_below(gen, GEN_MODULES));
	}
}

struct insn gen_encode(const struct gen *gen, const struct gen_op *op)
{
	return op->is_loop ? insn_loop(&gen->cfg, &op->loop) : insn_move(&op->move);
}

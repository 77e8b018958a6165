// SPDX-License-Identifier: GPL-2.0-only
/*
 * core_insn.c - decoding of VTA instructions, and what they cost
 *
 * The cycle model. A core is three modules and a fetch unit, which run at the
 * same time:
 *
 *   fetch      instruction n of a stream (from 0) reaches its module at cycle
 *              n + 1
 *   start      of an instruction: the latest of its arrival, the end of the
 *              previous one of its module, and the ends of the instructions
 *              that pushed the tokens which it pops
 *   end        start + cost; the run takes until the latest end
 *
 *   LOAD, STORE 32 + rows * (2 + ceil(bytes in a row / 16)) + padding elements,
 *               rows being y_size and bytes those in DRAM: a port of 16 bytes
 *               a cycle; 1 if x_size is 0
 *   GEMM        8 + micro-ops executed, with or without reset
 *   ALU         8 + micro-ops executed, and as many again without use_imm (ACC
 *               has one read port)
 *   FINISH      1
 *
 * It depends on the stream alone, not on memory, tokens that were left over,
 * or the order in which the emulator happens to take the modules.
 */
#include "core_impl.h"

#define MEM_LATENCY	32
#define MEM_ROW		2
#define MEM_PORT	16
#define LOOP_LATENCY	8

/* Takes an instruction word apart, from bit 0 up. */
struct fields {
	uint64_t word;
};

static uint32_t next(struct fields *f, int width)
{
	uint32_t value = (uint32_t)(f->word & ((UINT64_C(1) << width) - 1));

	f->word >>= width;
	return value;
}

static uint64_t word_of(const uint32_t words[4], int n)
{
	return words[2 * n] | (uint64_t)words[2 * n + 1] << 32;
}

static void decode_mem(struct core_mem_insn *mem, struct fields *w0, struct fields *w1)
{
	mem->type = next(w0, 3);
	mem->sram_base = next(w0, 16);
	mem->dram_base = next(w0, 32);
	mem->y_size = next(w1, 16);
	mem->x_size = next(w1, 16);
	mem->x_stride = next(w1, 16);
	mem->y_pad_0 = next(w1, 4);
	mem->y_pad_1 = next(w1, 4);
	mem->x_pad_0 = next(w1, 4);
	mem->x_pad_1 = next(w1, 4);
}

static void decode_loop(const struct core_depths *log, struct core_loop_insn *loop,
			struct fields *w0, struct fields *w1)
{
	loop->reset = next(w0, 1);
	loop->uop_bgn = next(w0, log->uop);
	loop->uop_end = next(w0, log->uop + 1);
	loop->iter_out = next(w0, 14);
	loop->iter_in = next(w0, 14);
	loop->factor_out.dst = next(w1, log->acc);
	loop->factor_in.dst = next(w1, log->acc);
	if (loop->alu) {
		loop->factor_out.src = next(w1, log->acc);
		loop->factor_in.src = next(w1, log->acc);
		loop->op = next(w1, 3);
		loop->use_imm = next(w1, 1);
		loop->imm = (int16_t)next(w1, 16);
	} else {
		loop->factor_out.src = next(w1, log->inp);
		loop->factor_in.src = next(w1, log->inp);
		loop->factor_out.wgt = next(w1, log->wgt);
		loop->factor_in.wgt = next(w1, log->wgt);
	}
}

/* With x_size 0 nothing moves, so nothing else matters. */
static bool mem_legal(const struct core_mem_insn *mem, bool store)
{
	if (!mem->x_size)
		return true;
	if (store)
		return mem->type == CORE_MEM_OUT && !mem->x_pad_0 && !mem->x_pad_1 &&
		       !mem->y_pad_0 && !mem->y_pad_1;
	return mem->type <= CORE_MEM_ACC || mem->type == CORE_MEM_ACC_8BIT;
}

void core_insn_decode(const struct core *core, const uint32_t words[4], struct core_insn *insn)
{
	struct fields w0 = { word_of(words, 0) };
	struct fields w1 = { word_of(words, 1) };

	*insn = (struct core_insn){ .op = next(&w0, 3) };
	insn->pop_prev = next(&w0, 1);
	insn->pop_next = next(&w0, 1);
	insn->push_prev = next(&w0, 1);
	insn->push_next = next(&w0, 1);

	switch (insn->op) {
	case CORE_OP_LOAD:
	case CORE_OP_STORE:
		decode_mem(&insn->mem, &w0, &w1);
		insn->legal = mem_legal(&insn->mem, insn->op == CORE_OP_STORE);
		break;
	case CORE_OP_GEMM:
	case CORE_OP_ALU:
		insn->loop.alu = insn->op == CORE_OP_ALU;
		decode_loop(&core->log, &insn->loop, &w0, &w1);
		insn->legal = !insn->loop.alu || insn->loop.op <= CORE_ALU_MUL;
		break;
	case CORE_OP_FINISH:
		insn->legal = true;
		break;
	}
}

enum core_module_id core_insn_module(const uint32_t words[4])
{
	struct fields w0 = { word_of(words, 0) };
	unsigned int op = next(&w0, 3);
	unsigned int type;

	next(&w0, 4);
	type = next(&w0, 3);
	if (op == CORE_OP_STORE)
		return CORE_STORE;
	if (op == CORE_OP_LOAD && (type == CORE_MEM_INP || type == CORE_MEM_WGT))
		return CORE_LOAD;
	return CORE_COMPUTE;
}

static uint64_t mem_cycles(const struct core *core, const struct core_mem_insn *mem)
{
	uint64_t bytes = mem->x_size * (uint64_t)core_mem_elem_size(core, mem->type);
	uint64_t width = mem->x_pad_0 + mem->x_size + mem->x_pad_1;
	uint64_t height = mem->y_pad_0 + mem->y_size + mem->y_pad_1;
	uint64_t padding = width * height - (uint64_t)mem->x_size * mem->y_size;

	if (!mem->x_size)
		return 1;
	return MEM_LATENCY + mem->y_size * (MEM_ROW + (bytes + MEM_PORT - 1) / MEM_PORT) + padding;
}

uint64_t core_insn_cycles(const struct core *core, const struct core_insn *insn)
{
	switch (insn->op) {
	case CORE_OP_LOAD:
	case CORE_OP_STORE:
		return mem_cycles(core, &insn->mem);
	case CORE_OP_GEMM:
		return LOOP_LATENCY + core_loop_count(&insn->loop);
	case CORE_OP_ALU:
		return LOOP_LATENCY + core_loop_count(&insn->loop) * (insn->loop.use_imm ? 1 : 2);
	case CORE_OP_FINISH:
		break;
	}
	return 1;
}

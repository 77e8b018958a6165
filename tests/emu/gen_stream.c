// SPDX-License-Identifier: GPL-2.0-only
/* gen_stream.c - valid streams: random ones, and those that show scratchpads */

#include <string.h>

#include "gen_impl.h"

/* A stream's length, but for instructions that only carry tokens. */
#define COUNT_MAX	200u

/* Multiplications in a stream: 2^14 to 2^22. */
#define BUDGET_MIN	14u
#define BUDGET_KINDS	9u

void gen_begin(struct gen *gen, struct gen_stream *stream)
{
	static const struct gen_style styles[] = {
		{ .serial = 100 },
		{ 0 },
		{ .late = 100 },
		{ .late = 50, .extra_push = 5, .extra_pop = 20 },
		{ .serial = 10, .late = 30, .extra_push = 20, .extra_pop = 60 },
	};

	memset(stream, 0, sizeof(*stream));
	gen->stream = stream;
	gen->style = styles[gen_below(gen, sizeof(styles) / sizeof(*styles))];
	gen->budget = 1ull << (BUDGET_MIN + gen_below(gen, BUDGET_KINDS));
	gen_order_begin(gen);
}

static void emit_finish(struct gen *gen)
{
	gen_emit_raw(gen, GEN_COMPUTE, insn_finish(0, gen_junk(gen)), 0);
}

void gen_end(struct gen *gen)
{
	if (gen_chance(gen, 60))
		emit_finish(gen);
}

/* ---- Random streams ------------------------------------------------------ */

/* Something in every scratchpad, or GEMM would multiply zeros. */
static void prepare(struct gen *gen)
{
	static const enum insn_memory memories[] = { INSN_UOP, INSN_INP, INSN_WGT, INSN_ACC };

	for (unsigned int i = 0; i < sizeof(memories) / sizeof(*memories); i++) {
		if (gen_chance(gen, 60)) {
			struct gen_op op = gen_op_load(gen, memories[i],
						       gen_whole(gen, memories[i]));

			gen_emit(gen, &op, 0);
		}
	}
}

static struct gen_window half(const struct gen *gen, enum insn_memory memory, uint32_t thread)
{
	uint32_t count = gen->depth[memory] / 2;

	return (struct gen_window){ .first = thread * count, .count = count };
}

static struct gen_op thread_loop(struct gen *gen, enum insn_opcode opcode, uint32_t first_uop)
{
	struct gen_op op = { .module = GEN_COMPUTE, .is_loop = true };

	op.loop = (struct insn_loop){
		.opcode = opcode,
		.uop_bgn = first_uop,
		.uop_end = first_uop + 1 + gen_below(gen, GEN_THREAD_UOPS),
		.iter_out = 1,
		.iter_in = 1 + gen_below(gen, 2),
		.alu_opcode = gen_below(gen, INSN_MUL + 1),
		.junk = gen_junk(gen),
	};
	return op;
}

/*
 * Two virtual threads as VTA's compilers write them: each has half of every
 * scratchpad, and tokens for "filled" go down from load to store while
 * tokens for "free" come back, so that all three modules work at once.
 */
static void run_threads(struct gen *gen, uint32_t count)
{
	struct gen_op uops = {
		.module = GEN_COMPUTE,
		.move = {
			.opcode = INSN_LOAD,
			.memory = INSN_UOP,
			.sram_base = 0,
			.dram_base = (gen->base + gen->uops) / 4,
			.y_size = 1,
			.x_size = GEN_UOPS_RANDOM,
		},
	};

	gen_emit(gen, &uops, 0);
	for (int i = 0; i < 2; i++) {
		struct gen_op compute = gen_op_nothing(gen, GEN_COMPUTE);
		struct gen_op store = gen_op_nothing(gen, GEN_STORE);

		gen_emit(gen, &compute, INSN_PUSH_PREV);
		gen_emit(gen, &store, INSN_PUSH_PREV);
	}
	for (uint32_t t = 0; gen->stream->count < count; t ^= 1) {
		struct gen_op inp = gen_op_load(gen, INSN_INP, half(gen, INSN_INP, t));
		struct gen_op wgt = gen_op_load(gen, INSN_WGT, half(gen, INSN_WGT, t));
		struct gen_op gemm = thread_loop(gen, INSN_GEMM, GEN_UOP_GEMM(t));
		struct gen_op alu = thread_loop(gen, INSN_ALU, GEN_UOP_ALU(t));
		struct gen_op store = gen_op_store(gen, half(gen, INSN_ACC, t));

		gen_emit(gen, &inp, INSN_POP_NEXT);
		gen_emit(gen, &wgt, INSN_PUSH_NEXT);
		gen_emit(gen, &gemm, INSN_POP_PREV | INSN_POP_NEXT | INSN_PUSH_PREV);
		gen_emit(gen, &alu, INSN_PUSH_NEXT);
		gen_emit(gen, &store, INSN_POP_PREV | INSN_PUSH_PREV);
	}
}

void gen_grow(struct gen *gen, uint32_t count)
{
	while (gen->stream->count < count) {
		struct gen_op op = gen_op_any(gen);

		gen_emit(gen, &op, 0);
		/* The stream continues behind it. */
		if (gen_chance(gen, 3))
			emit_finish(gen);
	}
}

void gen_valid(struct gen *gen, struct gen_stream *stream)
{
	uint32_t count = gen_scaled(gen, COUNT_MAX);

	gen_begin(gen, stream);
	if (count > 8)
		prepare(gen);
	if (count > 16 && gen_has_threads(gen) && gen_chance(gen, 30))
		run_threads(gen, gen_scaled(gen, count));
	gen_grow(gen, count);
	gen_end(gen);
	if (gen_chance(gen, 30))
		gen_order_mix(gen);
}

/* ---- Dumps --------------------------------------------------------------- */

static void load_one(struct gen *gen, enum insn_memory memory, uint32_t offset)
{
	struct gen_op op = {
		.module = memory == INSN_UOP ? GEN_COMPUTE : GEN_LOAD,
		.move = {
			.opcode = INSN_LOAD,
			.memory = memory,
			.dram_base = (gen->base + offset) / gen->bytes[memory],
			.y_size = 1,
			.x_size = 1,
		},
	};

	gen_emit(gen, &op, 0);
}

/* Store the first @count elements of ACC to @offset; returns where that ends. */
static uint32_t store_acc(struct gen *gen, uint32_t count, uint32_t offset)
{
	struct gen_op op = {
		.module = GEN_STORE,
		.move = {
			.opcode = INSN_STORE,
			.memory = INSN_OUT,
			.dram_base = (gen->base + offset) / gen->bytes[INSN_OUT],
			.y_size = 1,
			.x_size = count,
		},
	};

	gen_emit(gen, &op, 0);
	return offset + count * gen->bytes[INSN_OUT];
}

/* Run the first micro-op with each index that has a factor going up to @count. */
static void sweep(struct gen *gen, struct insn_loop loop, uint32_t count)
{
	struct gen_op op = { .module = GEN_COMPUTE, .is_loop = true, .loop = loop };
	uint32_t step = count > 1;

	op.loop.uop_end = 1;
	op.loop.iter_in = 1;
	op.loop.iter_out = count;
	op.loop.dst_out = step;
	op.loop.src_out *= step;
	op.loop.wgt_out *= step;
	gen_emit(gen, &op, 0);
}

/* OUT is narrower than ACC: store it in parts, each shifted down. */
static uint32_t dump_acc(struct gen *gen, uint32_t offset)
{
	uint32_t depth = gen->depth[INSN_ACC], out_bits = 1u << gen->cfg.log_inp_width;
	struct insn_loop shift = { .opcode = INSN_ALU, .alu_opcode = INSN_SHR, .use_imm = true,
				   .imm = (int16_t)out_bits };

	load_one(gen, INSN_UOP, gen->uops);
	for (uint32_t bits = 0; bits < 32; bits += out_bits) {
		offset = store_acc(gen, depth, offset);
		sweep(gen, shift, depth);
	}
	return offset;
}

/*
 * Multiply elements with ones and store the products, as many as fit in ACC at
 * a time. The micro-ops at @chunks have the start of each time.
 */
static uint32_t dump_products(struct gen *gen, struct insn_loop gemm, uint32_t chunks,
			      uint32_t depth, uint32_t offset)
{
	uint32_t acc = gen->depth[INSN_ACC], count = depth < acc ? depth : acc;
	struct insn_loop reset = { .opcode = INSN_GEMM, .reset = true };

	for (uint32_t first = 0; first < depth; first += count) {
		load_one(gen, INSN_UOP, chunks);
		sweep(gen, reset, count);
		sweep(gen, gemm, count);
		offset = store_acc(gen, count, offset);
		chunks += 4;
	}
	return offset;
}

void gen_dump(struct gen *gen, bool wgt, struct gen_stream *stream)
{
	struct insn_loop inps = { .opcode = INSN_GEMM, .src_out = 1 };
	struct insn_loop wgts = { .opcode = INSN_GEMM, .wgt_out = 1 };
	uint32_t inp_per_block = (1u << gen->cfg.log_block) / gen_rows_per_inp(gen);
	uint32_t offset;

	gen_begin(gen, stream);
	gen->style = (struct gen_style){ .serial = 100 };
	offset = dump_acc(gen, gen->dump);
	if (!wgt) {
		load_one(gen, INSN_WGT, gen->consts);
		dump_products(gen, inps, gen->inp_chunks, gen->depth[INSN_INP], offset);
	} else {
		for (int i = 0; i < 2; i++) {
			load_one(gen, INSN_INP, gen->rows + gen_below(gen, inp_per_block) *
							    gen->bytes[INSN_INP]);
			offset = dump_products(gen, wgts, gen->wgt_chunks,
					       gen->depth[INSN_WGT], offset);
		}
	}
	gen_end(gen);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_core_run.c - the VTA core's runs: fetch, orders, cycles, stops, kernels
 */
#include <stdlib.h>
#include <string.h>

#include "isa_bench.h"

CASE(each_is_fetched_once, ON_CORES)
{
	for (uint32_t i = 0; i < 5000; i++)
		add_nothing(b, 'l', 0);
	run_done(b);
	assert_int_equal(b->mem.fetched, 5000 * VTA_ISA_INSN_BYTES);
	assert_int_equal(b->stats.insns, 5000);
}

/* ---- Orders -------------------------------------------------------------- */

/*
 * For each of @n values: load it, multiply by one, store it, all in the same
 * places. With tokens this is ordered; without, it is not.
 */
static void add_pipeline(struct bench *b, uint32_t n, bool tokens)
{
	const unsigned int mask = tokens ? ~0u : 0;

	for (uint32_t i = 0; i < n; i++) {
		unsigned int later = i ? INSN_POP_NEXT : 0;
		struct insn_loop gemm = gemm_once(0, 1);
		struct insn_move store = store_to_result(1, 1, 1);

		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 1, .x_size = 1,
			 .dram_base = element_at(DATA, INP_BYTES) + i,
			 .flags = (INSN_PUSH_NEXT | later) & mask);
		gemm.reset = true;
		gemm.flags = (INSN_POP_PREV | later) & mask;
		add_loop(b, gemm);
		gemm.reset = false;
		gemm.flags = (INSN_PUSH_PREV | INSN_PUSH_NEXT) & mask;
		add_loop(b, gemm);
		store.dram_base += i;
		store.flags = (INSN_POP_PREV | INSN_PUSH_PREV) & mask;
		add_move(b, store);
	}
	add_finish(b, 0);
}

/* Value i, through the identity, ends at result i; true if all do. */
static bool pipeline_works(struct bench *b, uint32_t n, bool tokens)
{
	memset(b->mem.bytes + RESULT, 0xee, n * 16);
	for (uint32_t i = 0; i < 16; i++)
		set_value(b, INSN_WGT, 0, i * 17, 1);
	for (uint32_t i = 0; i < n * 16; i++)
		b->mem.bytes[DATA + i] = (uint8_t)(i * 7 / 3);
	add_pipeline(b, n, tokens);
	run_done(b);
	return !memcmp(b->mem.bytes + DATA, b->mem.bytes + RESULT, n * 16);
}

CASE(orders_agree_with_tokens, ON_CORES)
{
	struct bench *inorder = bench_new(&core_config_default, ON_INORDER);

	assert_true(pipeline_works(b, 1000, true));
	assert_true(pipeline_works(inorder, 1000, true));
	assert_memory_equal(&b->stats, &inorder->stats, sizeof(b->stats));
	bench_free(inorder);
}

CASE(a_missing_token_shows, ON_CORES)
{
	assert_int_equal(pipeline_works(b, 100, false), b->target == ON_INORDER);
}

CASE(random_continues_and_repeats, ON_RANDOM)
{
	struct bench *other = bench_new(&core_config_default, ON_RANDOM);
	uint8_t first[1600];

	pipeline_works(b, 100, false);
	pipeline_works(other, 100, false);
	memcpy(first, b->mem.bytes + RESULT, sizeof(first));
	assert_memory_equal(first, other->mem.bytes + RESULT, sizeof(first));
	pipeline_works(b, 100, false);
	pipeline_works(other, 100, false);
	assert_memory_not_equal(first, b->mem.bytes + RESULT, sizeof(first));
	assert_memory_equal(b->mem.bytes + RESULT, other->mem.bytes + RESULT, sizeof(first));
	bench_free(other);
}

/* ---- Cycles -------------------------------------------------------------- */

static void add_measured(struct bench *b)
{
	struct insn_loop loop = gemm_once(0, 2);
	struct insn_move store = store_to_result(1, 1, 1);

	/* 1 + 32 + 2 + 3: ends at 38 */
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .flags = INSN_PUSH_NEXT,
		 .dram_base = element_at(DATA, INP_BYTES), .y_size = 1, .x_size = 3);
	/* 38 + 8 + 4 = 50 */
	loop.iter_out = 2;
	loop.flags = INSN_POP_PREV | INSN_PUSH_NEXT;
	add_loop(b, loop);
	/* 50 + 32 + 2 + 1 = 85 */
	store.flags = INSN_POP_PREV;
	add_move(b, store);
	/* 50 + 8 + 2 * 4 = 66 */
	loop.opcode = INSN_ALU;
	loop.flags = 0;
	loop.alu_opcode = INSN_ADD;
	add_loop(b, loop);
	/* 66 + 8 + 4 = 78 */
	loop.use_imm = true;
	add_loop(b, loop);
	/* 38 + 32 + 2 * (2 + 2) + 11 = 89: 3 rows of 5 elements, 4 of them data */
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP,
		 .dram_base = element_at(DATA, INP_BYTES), .y_size = 2, .x_size = 2, .x_stride = 9,
		 .y_pad_0 = 1, .x_pad_0 = 1, .x_pad_1 = 2);
	add_finish(b, 0);
}

CASE(cycles_do_not_depend_on_order, ON_CORES)
{
	add_measured(b);
	run_done(b);
	assert_int_equal(b->stats.load_cycles, 37 + 32 + 2 * 4 + 11);
	assert_int_equal(b->stats.compute_cycles, 12 + 16 + 12 + 1);
	assert_int_equal(b->stats.store_cycles, 35);
	assert_int_equal(b->stats.cycles, 89);
	assert_int_equal(b->stats.insns, 7);
	assert_int_equal(b->stats.gemm_uops, 4);
	assert_int_equal(b->stats.alu_uops, 8);

	b->cycle_limit = 89;
	add_measured(b);
	run_done(b);
	b->cycle_limit = 88;
	add_measured(b);
	run_fault(b, VTA_FAULT_CYCLES, VTA_ACCESS_NONE, 5);
}

/* An hour's work. */
static void add_long_gemm(struct bench *b, uint32_t uop_bgn)
{
	ADD_LOOP(b, .opcode = INSN_GEMM, .uop_bgn = uop_bgn, .uop_end = 8191, .iter_out = 16383,
		 .iter_in = 16383);
}

/* Neither begun under a limit nor for nothing. */
CASE(no_work_beyond_the_limit, ON_INORDER)
{
	b->cycle_limit = UINT32_MAX;
	add_long_gemm(b, 0);
	run_fault(b, VTA_FAULT_CYCLES, VTA_ACCESS_NONE, 0);
	assert_int_equal(b->stats.gemm_uops, 0);
	assert_int_equal(b->stats.cycles, 0);
	assert_true(b->mem.stops < 10);

	add_long_gemm(b, 8191);
	run_done(b);
	assert_int_equal(b->stats.cycles, 1 + 8);
	assert_true(b->mem.stops < 20);
}

CASE(stop_within_an_instruction, ON_INORDER)
{
	b->mem.stop_after = 101;
	add_long_gemm(b, 0);
	assert_int_equal(run(b), CORE_STOPPED);
	assert_in_range(b->stats.gemm_uops, 1, 100 * 4096);
	assert_int_equal(b->mem.stops, 101);
}

int main(void)
{
	return isa_main("the core's runs");
}

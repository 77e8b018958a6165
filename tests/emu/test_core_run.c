// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_core_run.c - the VTA core's streams: fetch, tokens, orders, cycles
 */
#include <string.h>

#include "../frame.h"
#include "core_machine.h"

static const enum core_order orders[] = {
	CORE_ORDER_INORDER, CORE_ORDER_GREEDY, CORE_ORDER_RANDOM,
};

/* An instruction that only carries tokens, for each module. */
static void emit_load(struct machine *m, uint64_t tokens)
{
	emit_row(m, VTA_ISA_LOAD | tokens, VTA_ISA_INP, 0, 0, 0);
}

static void emit_compute(struct machine *m, uint64_t tokens)
{
	emit_row(m, VTA_ISA_LOAD | tokens, VTA_ISA_UOP, 0, 0, 0);
}

static void emit_store(struct machine *m, uint64_t tokens)
{
	emit_row(m, VTA_ISA_STORE | tokens, VTA_ISA_UOP, 0, 0, 0);
}

static enum core_result run_at(struct machine *m, uint32_t addr, uint32_t count)
{
	return core_run(m->core, &mem_ops, m, addr, count, 0, &m->stats, &m->fault);
}

/* For what must hold in every order. */
static void in_every_order(void (*test)(struct machine *m))
{
	struct machine *m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		m = machine_new(&core_config_default, orders[i]);
		test(m);
		machine_free(m);
	}
}

/* ---- Fetch ------------------------------------------------------------------ */

TEST_F(MACHINE, empty_stream)
{
	assert_int_equal(run_at(m, 0xfffffff0, 0), CORE_DONE);
	assert_int_equal(m->stats.cycles, 0);
	assert_int_equal(m->fetched, 0);
}

TEST_F(MACHINE, misaligned_stream)
{
	assert_int_equal(run_at(m, STREAM + 8, 1), CORE_FAULT);
	assert_int_equal(m->fault.reason, VTA_FAULT_ALIGN);
	assert_int_equal(m->fault.addr, STREAM + 8);
	assert_int_equal(m->fault.insn_index, VTA_FAULT_NO_INSN);
	assert_int_equal(m->fetched, 0);
}

static void fetched_once(struct machine *m)
{
	uint32_t i;

	for (i = 0; i < 5000; i++)
		emit_load(m, 0);
	run_ok(m);
	assert_int_equal(m->fetched, 5000 * VTA_ISA_INSN_BYTES);
	assert_int_equal(m->stats.insns, 5000);
}

TEST(each_is_fetched_once)
{
	in_every_order(fetched_once);
}

/* What a runtime hands over that appends to a stream which has failed: old FINISH new FINISH. */
static void goes_on_behind_finish(struct machine *m)
{
	static const int32_t value = 77;
	uint32_t at = MEM_SIZE - 2 * VTA_ISA_INSN_BYTES;

	load_acc(m, &value, 1);
	m->mem[RESULT] = 0;
	emit(m, VTA_ISA_FINISH | PUSH_NEXT, UINT64_MAX);	/* reserved bits mean nothing */
	emit_row(m, VTA_ISA_STORE | POP_PREV | PUSH_PREV, VTA_ISA_OUT, 0, RESULT / 16, 1);
	emit(m, VTA_ISA_FINISH | POP_NEXT, 0);
	run_ok(m);
	assert_int_equal(m->stats.insns, 3);
	assert_int_equal(m->mem[RESULT], 77);

	emit(m, VTA_ISA_FINISH, 0);
	emit(m, 7, 0);
	run_faults(m, VTA_FAULT_INSN, 1);

	/* The stream ends where memory does: a larger count makes fetching fault. */
	put32(m, at, VTA_ISA_LOAD);
	put32(m, at + 16, VTA_ISA_FINISH);
	assert_int_equal(run_at(m, at, 2), CORE_DONE);
	assert_int_equal(run_at(m, at, 3), CORE_FAULT);
	assert_int_equal(m->fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(m->fault.insn_index, 2);
}

TEST(the_count_ends_a_stream)
{
	in_every_order(goes_on_behind_finish);
}

/* Other modules complete what they have when compute reaches FINISH. */
static void stores_before_finish(struct machine *m)
{
	static const int32_t value = 77;

	load_acc(m, &value, 1);
	emit_compute(m, PUSH_NEXT);
	emit_row(m, VTA_ISA_STORE | POP_PREV, VTA_ISA_OUT, 0, RESULT / 16, 1);
	emit(m, VTA_ISA_FINISH, 0);
	run_ok(m);
	assert_int_equal(m->mem[RESULT], 77);
}

TEST(finish_waits_for_all)
{
	in_every_order(stores_before_finish);
}

static void fetch_fault(struct machine *m)
{
	uint32_t at = MEM_SIZE - 3 * VTA_ISA_INSN_BYTES;

	put32(m, at, VTA_ISA_LOAD);
	put32(m, at + 16, VTA_ISA_LOAD);
	put32(m, at + 32, VTA_ISA_LOAD | POP_PREV);
	assert_int_equal(run_at(m, at, 4), CORE_FAULT);
	assert_int_equal(m->fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(m->fault.access, VTA_ACCESS_INSN);
	assert_int_equal(m->fault.addr, MEM_SIZE);
	assert_int_equal(m->fault.insn_index, 3);
	assert_int_equal(m->stats.insns, 2);	/* what could be executed, was */
}

TEST(fetch_faults_come_last)
{
	in_every_order(fetch_fault);
}

static void illegal_opcodes(struct machine *m)
{
	uint64_t op;

	for (op = 5; op < 8; op++) {
		emit_compute(m, 0);
		emit(m, ~UINT64_C(7) | op, ~UINT64_C(0));
		run_faults(m, VTA_FAULT_INSN, 1);
		assert_int_equal(m->fault.insn[0], 0xfffffff8 | op);
		assert_int_equal(m->fault.insn[3], 0xffffffff);
	}
}

TEST(illegal_opcodes_fault)
{
	in_every_order(illegal_opcodes);
}

/* Padding; by the store module, whatever token the instruction would wait for. */
static void illegal_store(struct machine *m)
{
	const uint64_t pop_prev = 1 << 3;

	emit_compute(m, 0);
	emit(m, VTA_ISA_STORE | pop_prev | VTA_ISA_OUT << 7, 1 | 1 << 16 | UINT64_C(1) << 48);
	run_faults(m, VTA_FAULT_INSN, 1);
	/* Not before what stands before it there, which waits for ever. */
	emit(m, VTA_ISA_STORE | pop_prev, 0);
	emit(m, VTA_ISA_STORE | VTA_ISA_OUT << 7, 1 | 1 << 16 | UINT64_C(1) << 48);
	run_faults(m, VTA_FAULT_DEADLOCK, 0);
}

TEST(illegal_stores_fault)
{
	in_every_order(illegal_store);
}

/* ---- Tokens ----------------------------------------------------------------- */

static void deadlocks(struct machine *m)
{
	emit_load(m, 0);
	emit_compute(m, POP_PREV);
	emit_load(m, 0);
	run_faults(m, VTA_FAULT_DEADLOCK, 1);
	assert_int_equal(m->stats.insns, 2);
	assert_int_equal(m->fault.access, VTA_ACCESS_NONE);

	/* The oldest of those that wait is reported. */
	emit_store(m, POP_PREV);
	emit_load(m, POP_NEXT);
	emit_compute(m, POP_PREV | PUSH_NEXT);
	run_faults(m, VTA_FAULT_DEADLOCK, 0);

	/* One token does not serve two. */
	emit_load(m, PUSH_NEXT);
	emit_compute(m, POP_PREV);
	emit_compute(m, POP_PREV);
	run_faults(m, VTA_FAULT_DEADLOCK, 2);

	/* Both pops are needed. */
	emit_load(m, PUSH_NEXT);
	emit_compute(m, POP_PREV | POP_NEXT);
	run_faults(m, VTA_FAULT_DEADLOCK, 1);

	/* FINISH waits like any other. */
	emit(m, VTA_ISA_FINISH | POP_NEXT, 0);
	run_faults(m, VTA_FAULT_DEADLOCK, 0);
}

TEST(deadlock_is_reported)
{
	in_every_order(deadlocks);
}

static void all_four_queues(struct machine *m)
{
	emit_load(m, POP_NEXT | PUSH_NEXT);
	emit_store(m, POP_PREV | PUSH_PREV);
	emit_compute(m, PUSH_PREV | PUSH_NEXT);
	emit_compute(m, POP_PREV | POP_NEXT);
	run_ok(m);
	assert_int_equal(m->stats.insns, 4);
}

TEST(tokens_pass)
{
	in_every_order(all_four_queues);
}

static void tokens_left(struct machine *m)
{
	emit_load(m, PUSH_NEXT);
	emit_compute(m, PUSH_PREV | PUSH_NEXT);
	emit_store(m, PUSH_PREV);
	run_ok(m);
	emit_compute(m, POP_PREV);
	run_faults(m, VTA_FAULT_DEADLOCK, 0);
}

TEST(tokens_left_over_are_dropped)
{
	in_every_order(tokens_left);
}

static void bits_without_neighbour(struct machine *m)
{
	emit_load(m, POP_PREV | PUSH_PREV);
	emit_store(m, POP_NEXT | PUSH_NEXT);
	run_ok(m);
	assert_int_equal(m->stats.insns, 2);
}

TEST(no_neighbour_no_token)
{
	in_every_order(bits_without_neighbour);
}

/* A load waits for a token that comes @n instructions later. */
static enum core_result late_token(struct machine *m, uint32_t n)
{
	uint32_t i;

	emit_load(m, POP_NEXT);
	for (i = 0; i < n; i++)
		emit_load(m, 0);
	emit_compute(m, PUSH_PREV);
	return run_program(m);
}

static void waiting_limit(struct machine *m)
{
	assert_int_equal(late_token(m, 65534), CORE_DONE);
	assert_int_equal(m->stats.insns, 65536);
	assert_int_equal(late_token(m, 65535), CORE_FAULT);
	assert_int_equal(m->fault.reason, VTA_FAULT_DEADLOCK);
	assert_int_equal(m->fault.insn_index, 0);
}

TEST(waiting_instructions_are_limited)
{
	in_every_order(waiting_limit);
}

static void token_limit(struct machine *m)
{
	uint32_t i;

	for (i = 0; i < 65536; i++)
		emit_load(m, PUSH_NEXT);
	run_ok(m);
	for (i = 0; i < 65537; i++)
		emit_load(m, PUSH_NEXT);
	run_faults(m, VTA_FAULT_DEADLOCK, 65536);
	/* With one popped, there is room. */
	for (i = 0; i < 65537; i++)
		emit_load(m, PUSH_NEXT);
	emit_compute(m, POP_PREV);
	run_ok(m);
}

TEST(tokens_are_limited)
{
	in_every_order(token_limit);
}

/* ---- Orders ----------------------------------------------------------------- */

/*
 * For each of @n values: load it, multiply by one, store it, all in the same
 * places. With tokens this is ordered; without, it is not.
 */
static void emit_pipeline(struct machine *m, uint32_t n, bool tokens)
{
	const uint64_t mask = tokens ? ~UINT64_C(0) : 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		emit_row(m, VTA_ISA_LOAD | ((PUSH_NEXT | (i ? POP_NEXT : 0)) & mask),
			 VTA_ISA_INP, 0, DATA / 16 + i, 1);
		emit(m, loop_word(VTA_ISA_GEMM, 0, 1, 1, 1) | GEMM_RESET |
		     ((POP_PREV | (i ? POP_NEXT : 0)) & mask), 0);
		emit(m, loop_word(VTA_ISA_GEMM, 0, 1, 1, 1) |
		     ((PUSH_PREV | PUSH_NEXT) & mask), 0);
		emit_row(m, VTA_ISA_STORE | ((POP_PREV | PUSH_PREV) & mask),
			 VTA_ISA_OUT, 0, RESULT / 16 + i, 1);
	}
	emit(m, VTA_ISA_FINISH, 0);
}

/* Value i, through the identity, ends at result i; true if all do. */
static bool pipeline_works(struct machine *m, uint32_t n, bool tokens)
{
	uint32_t i;

	memset(m->mem + DATA, 0, RESULT - DATA);
	memset(m->mem + RESULT, 0xee, n * 16);
	for (i = 0; i < 16; i++)
		m->mem[DATA + 0x10000 + i * 17] = 1;
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_WGT, 0, (DATA + 0x10000) / 256, 1);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_UOP, 0, (DATA + 0x20000) / 4, 1);
	run_ok(m);
	for (i = 0; i < n * 16; i++)
		m->mem[DATA + i] = (uint8_t)(i * 7 / 3);
	emit_pipeline(m, n, tokens);
	run_ok(m);
	return !memcmp(m->mem + DATA, m->mem + RESULT, n * 16);
}

TEST(orders_agree_with_tokens)
{
	struct core_stats first = { 0 };
	struct machine *m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		m = machine_new(&core_config_default, orders[i]);
		assert_true(pipeline_works(m, 1000, true));
		if (!i)
			first = m->stats;
		assert_memory_equal(&m->stats, &first, sizeof(first));
		machine_free(m);
	}
}

TEST(a_missing_token_shows)
{
	static const bool works[] = { true, false, false };
	struct machine *m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		m = machine_new(&core_config_default, orders[i]);
		assert_int_equal(pipeline_works(m, 100, false), works[i]);
		machine_free(m);
	}
}

TEST(random_continues_and_repeats)
{
	struct machine *a = machine_new(&core_config_default, CORE_ORDER_RANDOM);
	struct machine *b = machine_new(&core_config_default, CORE_ORDER_RANDOM);
	uint8_t first[1600];

	pipeline_works(a, 100, false);
	pipeline_works(b, 100, false);
	memcpy(first, a->mem + RESULT, sizeof(first));
	assert_memory_equal(first, b->mem + RESULT, sizeof(first));
	pipeline_works(a, 100, false);
	pipeline_works(b, 100, false);
	assert_memory_not_equal(first, a->mem + RESULT, sizeof(first));
	assert_memory_equal(a->mem + RESULT, b->mem + RESULT, sizeof(first));
	machine_free(a);
	machine_free(b);
}

/* ---- Cycles ----------------------------------------------------------------- */

static void emit_measured(struct machine *m)
{
	/* 1 + 32 + 2 + 3: ends at 38 */
	emit_row(m, VTA_ISA_LOAD | PUSH_NEXT, VTA_ISA_INP, 0, DATA / 16, 3);
	/* 38 + 8 + 4 = 50 */
	emit(m, loop_word(VTA_ISA_GEMM | POP_PREV | PUSH_NEXT, 0, 2, 2, 1), 0);
	/* 50 + 32 + 2 + 1 = 85 */
	emit_row(m, VTA_ISA_STORE | POP_PREV, VTA_ISA_OUT, 0, RESULT / 16, 1);
	/* 50 + 8 + 2 * 4 = 66 */
	emit(m, loop_word(VTA_ISA_ALU, 0, 2, 2, 1),
	     alu_word(no_index, no_index, VTA_ISA_ADD, false, 0));
	/* 66 + 8 + 4 = 78 */
	emit(m, loop_word(VTA_ISA_ALU, 0, 2, 2, 1),
	     alu_word(no_index, no_index, VTA_ISA_ADD, true, 0));
	/* 38 + 32 + 2 * (2 + 2) + 11 = 89: 3 rows of 5 elements, 4 of them data */
	emit_mem(m, VTA_ISA_LOAD, VTA_ISA_INP, 0, DATA / 16, (struct rows){
		 .y = 2, .x = 2, .stride = 9, .y0 = 1, .x0 = 1, .x1 = 2 });
	emit(m, VTA_ISA_FINISH, 0);
}

static void cycles(struct machine *m)
{
	emit_measured(m);
	run_ok(m);
	assert_int_equal(m->stats.load_cycles, 37 + 32 + 2 * 4 + 11);
	assert_int_equal(m->stats.compute_cycles, 12 + 16 + 12 + 1);
	assert_int_equal(m->stats.store_cycles, 35);
	assert_int_equal(m->stats.cycles, 89);
	assert_int_equal(m->stats.insns, 7);
	assert_int_equal(m->stats.gemm_uops, 4);
	assert_int_equal(m->stats.alu_uops, 8);

	emit_measured(m);
	assert_int_equal(run_limited(m, 89), CORE_DONE);
	emit_measured(m);
	assert_int_equal(run_limited(m, 88), CORE_FAULT);
	assert_int_equal(m->fault.reason, VTA_FAULT_CYCLES);
	assert_int_equal(m->fault.insn_index, 5);
}

TEST(cycles_do_not_depend_on_order)
{
	in_every_order(cycles);
}

/* An hour's work is neither begun under a limit nor for nothing. */
TEST_F(MACHINE, no_work_beyond_the_limit)
{
	emit(m, loop_word(VTA_ISA_GEMM, 0, 8191, 16383, 16383), 0);
	assert_int_equal(run_limited(m, UINT32_MAX), CORE_FAULT);
	assert_int_equal(m->fault.reason, VTA_FAULT_CYCLES);
	assert_int_equal(m->stats.gemm_uops, 0);
	assert_int_equal(m->stats.cycles, 0);
	assert_true(m->asked < 10);

	emit(m, loop_word(VTA_ISA_GEMM, 100, 100, 16383, 16383), 0);
	run_ok(m);
	assert_int_equal(m->stats.cycles, 1 + 8);
	assert_true(m->asked < 20);
}

TEST_F(MACHINE, stop_within_an_instruction)
{
	m->stop_after = 100;
	emit(m, loop_word(VTA_ISA_GEMM, 0, 8191, 16383, 16383), 0);
	assert_int_equal(run_program(m), CORE_STOPPED);
	assert_in_range(m->stats.gemm_uops, 1, 100 * 4096);
	assert_int_equal(m->asked, 101);
}

/* ---- Between runs ----------------------------------------------------------- */

TEST_F(MACHINE, scratchpads_persist_until_cleared)
{
	static const int32_t values[] = { 5, 6 };
	static const struct core_index far = { .dst = 1500 };

	load_acc(m, values, 2);
	assert_int_equal(acc_lane(m, 1, 0), 6);
	emit(m, loop_word(VTA_ISA_ALU, 0, 1, 2, 1), alu_word(far, no_index, VTA_ISA_ADD, true, 9));
	run_ok(m);
	assert_int_equal(acc_lane(m, 0, 0), 5 + 9);
	assert_int_equal(acc_lane(m, 1500, 0), 9);
	core_clear(m->core);
	assert_int_equal(acc_lane(m, 0, 0), 0);
	assert_int_equal(acc_lane(m, 1, 0), 0);
	assert_int_equal(acc_lane(m, 1500, 0), 0);
}

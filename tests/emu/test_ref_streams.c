// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_ref_streams.c - the reference interpreter's faults, tokens and streams
 *
 * As test_ref.c, for the rules about what is illegal and what comes first;
 * and that generated streams keep their promise under the reference.
 */

#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "ref_bench.h"

/* ---- Bounds and addresses ------------------------------------------------ */

TEST_F(BENCH, test_move_bounds)
{
	static const struct {
		enum insn_memory memory;
		uint32_t depth, bytes;
	} pads[] = {
		{ INSN_UOP, 8192, 4 }, { INSN_WGT, 1024, WGT_BYTES }, { INSN_INP, 2048, INP_BYTES },
		{ INSN_ACC, 2048, ACC_BYTES }, { INSN_ACC_8BIT, 2048, 16 },
		{ INSN_OUT, 2048, OUT_BYTES },
	};

	for (size_t i = 0; i < sizeof(pads) / sizeof(*pads); i++) {
		struct insn_move m = { .opcode = INSN_LOAD, .memory = pads[i].memory,
				       .dram_base = element_at(DATA, pads[i].bytes),
				       .y_size = 2, .x_size = 3 };

		if (m.memory == INSN_OUT)
			m.opcode = INSN_STORE;
		m.sram_base = pads[i].depth - 6;
		add_move(b, m);
		run_done(b);
		m.sram_base++;
		add_move(b, m);
		run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
		if (m.opcode == INSN_STORE)
			continue;
		/* Padding counts as well. */
		m.sram_base--;
		m.y_pad_1 = 1;
		add_move(b, m);
		run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
		m.y_pad_1 = 0;
		m.x_pad_1 = 1;
		add_move(b, m);
		run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
	}
}

TEST_F(BENCH, test_loop_bounds)
{
	struct insn_loop gemm = { .opcode = INSN_GEMM, .uop_end = 1, .iter_out = 3, .iter_in = 1 };
	struct insn_loop alu = { .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 3 };

	set_uop(b, 0, 2045, 2045, 1021);
	gemm.dst_out = 1;
	gemm.src_out = 1;
	gemm.wgt_out = 1;
	add_loop(b, gemm);
	alu.dst_in = 1;
	alu.src_in = 1;
	add_loop(b, alu);
	run_done(b);

	for (int i = 0; i < 3; i++) {
		struct insn_loop l = gemm;

		l.dst_out = i == 0 ? 2 : 0;
		l.src_out = i == 1 ? 2 : 0;
		l.wgt_out = i == 2 ? 2 : 0;
		add_loop(b, l);
		run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
	}
	alu.dst_in = 2;
	add_loop(b, alu);
	run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
	alu.dst_in = 0;
	alu.src_in = 2;
	add_loop(b, alu);
	run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
}

TEST_F(BENCH, test_uop_bounds)
{
	struct insn_loop l = { .opcode = INSN_GEMM, .reset = true, .uop_bgn = 8190, .uop_end = 8192,
			       .iter_out = 1, .iter_in = 1 };

	add_loop(b, l);
	run_done(b);
	l.uop_end = 8193;
	add_loop(b, l);
	run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
	/* No round, no index. */
	l.iter_in = 0;
	add_loop(b, l);
	run_done(b);
}

/* A src field as wide as INP's depth can point beyond a smaller ACC. */
TEST(test_src_wider_than_acc)
{
	struct core_config cfg = bench_cfg;
	struct bench *b;

	cfg.log_acc_buff_size = 16;
	b = bench_new(&cfg);
	set_uop(b, 0, 0, 1024, 0);
	add_loop(b, gemm_once(0, 1));
	run_done(b);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1);
	run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
	bench_free(b);
}

TEST_F(BENCH, test_addresses)
{
	struct insn_move load = { .opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 2,
				  .x_size = 2, .x_stride = 4 };
	struct insn_move store = store_to_result(2, 2, 4);
	uint32_t first = BASE / 16, end = (BASE + SIZE) / 16;

	load.dram_base = end - 6;
	store.dram_base = end - 6;
	add_move(b, load);
	add_move(b, store);
	run_done(b);

	load.dram_base = end - 5;
	add_move(b, load);
	run_fault(b, VTA_FAULT_PAGE, VTA_ACCESS_LOAD, 0);
	load.dram_base = first - 1;
	add_move(b, load);
	run_fault(b, VTA_FAULT_PAGE, VTA_ACCESS_LOAD, 0);
	load.dram_base = first + 0x10000000;	/* times 16: the right one plus 2^32 */
	add_move(b, load);
	run_fault(b, VTA_FAULT_PAGE, VTA_ACCESS_LOAD, 0);

	store.dram_base = end - 5;
	add_move(b, store);
	run_fault(b, VTA_FAULT_PAGE, VTA_ACCESS_STORE, 0);
	load.memory = INSN_UOP;
	load.dram_base = BASE / 4 - 1;
	add_move(b, load);
	run_fault(b, VTA_FAULT_PAGE, VTA_ACCESS_UOP, 0);
}

/* ---- Streams ------------------------------------------------------------- */

TEST_F(BENCH, test_opcodes)
{
	for (uint64_t opcode = 5; opcode < 8; opcode++) {
		add_loop(b, gemm_once(0, 1));
		add(b, (struct insn){ { opcode, 0 } });
		run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 1);
	}
	for (unsigned int memory = 0; memory < 8; memory++) {
		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = memory, .y_size = 1, .x_size = 1,
			 .dram_base = element_at(DATA, WGT_BYTES) * 64);
		if (memory == INSN_OUT || memory > INSN_ACC_8BIT)
			run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
		else
			b->count = 0;
	}
}

TEST_F(BENCH, test_finish)
{
	set_uop(b, 0, 0, 0, 0);
	add(b, insn_finish(0, (struct insn){ { 0, 0 } }));
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = INSN_ADD, .use_imm = true, .imm = 1);
	add(b, insn_finish(0, (struct insn){ { 0, 0 } }));
	run_done(b);
	assert_acc(b, 0, 1);

	add(b, insn_finish(0, (struct insn){ { 0, 0 } }));
	add(b, (struct insn){ { 7, 0 } });
	run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 1);
}

/* Load and store finish what they have even if compute is at FINISH. */
TEST_F(BENCH, test_finish_waits_for_all)
{
	b->mem.bytes[DATA] = 3;
	set_acc(b, 0, 4);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 1, .x_size = 1,
		 .dram_base = element_at(DATA, INP_BYTES));
	add_move(b, store_to_result(1, 1, 1));
	add(b, insn_finish(0, (struct insn){ { 0, 0 } }));
	run_done(b);
	assert_int_equal(b->ref.inp.v[0], 3);
	assert_int_equal(b->mem.bytes[RESULT], 4);

	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .flags = INSN_POP_NEXT);
	add(b, insn_finish(0, (struct insn){ { 0, 0 } }));
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

TEST_F(BENCH, test_counts_and_addresses_of_streams)
{
	assert_true(ref_run(&b->ref, &b->mem, BASE, 0, 0, &b->fault));
	assert_false(ref_run(&b->ref, &b->mem, BASE + 8, 1, 0, &b->fault));
	assert_int_equal(b->fault.reason, VTA_FAULT_ALIGN);
	assert_int_equal(b->fault.access, VTA_ACCESS_INSN);

	insn_to_bytes(insn_finish(0, (struct insn){ { 0, 0 } }), b->mem.bytes + SIZE - 16);
	assert_true(ref_run(&b->ref, &b->mem, BASE + SIZE - 16, 1, 0, &b->fault));
	assert_false(ref_run(&b->ref, &b->mem, BASE + SIZE - 16, 100, 0, &b->fault));
	assert_int_equal(b->fault.insn_index, 1);
	add_loop(b, gemm_once(0, 0));
	memcpy(b->mem.bytes + SIZE - 16, b->mem.bytes, 16);
	assert_false(ref_run(&b->ref, &b->mem, BASE + SIZE - 16, 2, 0, &b->fault));
	assert_int_equal(b->fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(b->fault.access, VTA_ACCESS_INSN);
	assert_int_equal(b->fault.insn_index, 1);
}

/* ---- Tokens -------------------------------------------------------------- */

static void add_nothing(struct bench *b, char module, unsigned int flags)
{
	ADD_MOVE(b, .opcode = module == 's' ? INSN_STORE : INSN_LOAD,
		 .memory = module == 'l' ? INSN_INP : INSN_UOP, .flags = flags);
}

/* STORE what LOAD ACC has yet to fetch: only the token makes it wait. */
static void add_load_and_store(struct bench *b, bool token)
{
	struct insn_move store = store_to_result(1, 1, 1);

	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_ACC_8BIT, .dram_base = element_at(DATA, 16),
		 .y_size = 1, .x_size = 1, .flags = token ? INSN_PUSH_NEXT : 0);
	store.flags = token ? INSN_POP_PREV : 0;
	add_move(b, store);
}

TEST_F(BENCH, test_tokens_order)
{
	int late = 0;

	for (uint64_t schedule = 0; schedule < 20; schedule++) {
		b->mem.bytes[DATA] = 42;
		b->mem.bytes[RESULT] = 0;
		ref_clear(&b->ref);
		add_load_and_store(b, true);
		assert_true(run(b, schedule));
		assert_int_equal(b->mem.bytes[RESULT], 42);

		b->mem.bytes[RESULT] = 0;
		ref_clear(&b->ref);
		add_load_and_store(b, false);
		assert_true(run(b, schedule));
		late += b->mem.bytes[RESULT] == 42;
	}
	/* Without the token, either happens. */
	assert_in_range(late, 1, 19);
}

/* Each of the four queues: a push serves exactly one pop, of that queue only. */
TEST_F(BENCH, test_token_queues)
{
	static const struct {
		char from, to;
		unsigned int push, pop;
	} queues[] = {
		{ 'l', 'c', INSN_PUSH_NEXT, INSN_POP_PREV },
		{ 'c', 'l', INSN_PUSH_PREV, INSN_POP_NEXT },
		{ 'c', 's', INSN_PUSH_NEXT, INSN_POP_PREV },
		{ 's', 'c', INSN_PUSH_PREV, INSN_POP_NEXT },
	};

	for (int q = 0; q < 4; q++) {
		for (int p = 0; p < 4; p++) {
			add_nothing(b, queues[p].from, queues[p].push);
			add_nothing(b, queues[q].to, queues[q].pop);
			if (p == q)
				run_done(b);
			else
				run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 1);
		}
		/* The pop may stand first in the stream. */
		add_nothing(b, queues[q].to, queues[q].pop);
		add_nothing(b, queues[q].from, queues[q].push);
		run_done(b);
		/* One push, two pops. */
		add_nothing(b, queues[q].from, queues[q].push);
		add_nothing(b, queues[q].to, queues[q].pop);
		add_nothing(b, queues[q].to, queues[q].pop);
		run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 2);
	}
}

/* An instruction that pops twice needs both. */
TEST_F(BENCH, test_two_pops)
{
	add_nothing(b, 'c', INSN_POP_PREV | INSN_POP_NEXT);
	add_nothing(b, 'l', INSN_PUSH_NEXT);
	add_nothing(b, 's', INSN_PUSH_PREV);
	run_done(b);
	add_nothing(b, 'c', INSN_POP_PREV | INSN_POP_NEXT);
	add_nothing(b, 'l', INSN_PUSH_NEXT);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

/* Load has nothing before it, store nothing behind it: those flags are unused. */
TEST_F(BENCH, test_edge_flags)
{
	add_nothing(b, 'l', INSN_POP_PREV | INSN_PUSH_PREV);
	add_nothing(b, 's', INSN_POP_NEXT | INSN_PUSH_NEXT);
	run_done(b);
}

TEST_F(BENCH, test_deadlock_report)
{
	add_nothing(b, 'c', 0);
	add_nothing(b, 's', INSN_POP_PREV);
	add_nothing(b, 'c', INSN_POP_PREV);
	add_nothing(b, 's', 0);
	add_nothing(b, 'l', 0);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 1);
	assert_int_equal(b->fault.waiting[REF_LOAD], VTA_FAULT_NO_INSN);
	assert_int_equal(b->fault.waiting[REF_COMPUTE], 2);
	assert_int_equal(b->fault.waiting[REF_STORE], 1);
}

TEST_F(BENCH, test_runs_start_without_tokens)
{
	add_nothing(b, 'l', INSN_PUSH_NEXT);
	run_done(b);
	add_nothing(b, 'c', INSN_POP_PREV);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

TEST_F(BENCH, test_tokens_of_instructions_that_do_nothing)
{
	struct insn_loop l = { .opcode = INSN_GEMM, .flags = INSN_PUSH_NEXT };

	add_loop(b, l);
	l.opcode = INSN_ALU;
	add_loop(b, l);
	add_nothing(b, 's', INSN_POP_PREV);
	add_nothing(b, 's', INSN_POP_PREV | INSN_PUSH_PREV);
	add(b, insn_finish(INSN_POP_NEXT, (struct insn){ { 0, 0 } }));
	run_done(b);
	add(b, insn_finish(INSN_POP_NEXT, (struct insn){ { 0, 0 } }));
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

/* ---- Scratchpads --------------------------------------------------------- */

TEST_F(BENCH, test_scratchpads_persist)
{
	b->mem.bytes[DATA] = 42;
	add_load_and_store(b, true);
	run_done(b);
	b->mem.bytes[RESULT] = 0;
	add_move(b, store_to_result(1, 1, 1));
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 42);

	ref_clear(&b->ref);
	add_move(b, store_to_result(1, 1, 1));
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 0);
}

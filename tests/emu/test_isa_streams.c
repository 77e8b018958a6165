// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_isa_streams.c - streams of instructions: bounds, fetch, tokens, scratchpads between runs
 *
 * As test_isa.c, for the rules about what is illegal and what comes first.
 */
#include <string.h>

#include "isa_bench.h"

/* ---- Bounds and addresses ------------------------------------------------ */

static void check_bounds(struct bench *b, struct insn_move m, bool inside)
{
	add_move(b, m);
	if (inside)
		run_done(b);
	else
		run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
}

CASE(move_bounds, ON_ALL)
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
				       .sram_base = pads[i].depth - 6, .y_size = 2, .x_size = 3 };

		if (m.memory == INSN_OUT)
			m.opcode = INSN_STORE;
		check_bounds(b, m, true);
		m.sram_base++;
		check_bounds(b, m, false);
		if (m.opcode == INSN_STORE)
			continue;
		/* Padding counts as well. */
		m.sram_base--;
		m.y_pad_1 = 1;
		check_bounds(b, m, false);
		m.y_pad_1 = 0;
		m.x_pad_1 = 1;
		check_bounds(b, m, false);
		m = (struct insn_move){ .opcode = INSN_LOAD, .memory = pads[i].memory,
					.dram_base = element_at(DATA, pads[i].bytes),
					.y_size = 65535, .x_size = 65535 };
		check_bounds(b, m, false);
		/* Nothing moves, so nothing is out of bounds. */
		m.sram_base = 65535;
		m.y_size = 0;
		check_bounds(b, m, true);
		m.y_size = 5;
		m.x_size = 0;
		check_bounds(b, m, true);
	}
}

CASE(addresses, ON_ALL)
{
	struct insn_move load = { .opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 2,
				  .x_size = 2, .x_stride = 4 };
	struct insn_move store = store_to_result(2, 2, 4);
	uint32_t end = BASE + SIZE;

	load.dram_base = end / 16 - 6;
	store.dram_base = end / 16 - 6;
	add_move(b, load);
	add_move(b, store);
	run_done(b);

	load.dram_base = end / 16 - 5;
	add_move(b, load);
	run_page_fault(b, VTA_ACCESS_LOAD, end);
	load.dram_base = BASE / 16 - 1;
	add_move(b, load);
	run_page_fault(b, VTA_ACCESS_LOAD, BASE - 16);
	load.dram_base = BASE / 16 + 0x10000000;	/* times 16: the right one plus 2^32 */
	add_move(b, load);
	run_page_fault(b, VTA_ACCESS_LOAD, BASE);
	load.memory = INSN_WGT;
	load.dram_base = end / 256 - 1;
	add_move(b, load);
	run_page_fault(b, VTA_ACCESS_LOAD, end);

	store.dram_base = end / 16 - 5;
	add_move(b, store);
	run_page_fault(b, VTA_ACCESS_STORE, end);
	/* Element 2^32 - 1 of 16 bytes is far beyond 32 bits of address. */
	store.dram_base = 0xffffffff;
	add_move(b, store);
	run_page_fault(b, VTA_ACCESS_STORE, 0xfffffff0);

	load.memory = INSN_UOP;
	load.dram_base = BASE / 4 - 1;
	add_move(b, load);
	run_page_fault(b, VTA_ACCESS_UOP, BASE - 4);
	load.dram_base = 0x3fffffff;
	add_move(b, load);
	run_page_fault(b, VTA_ACCESS_UOP, 0xfffffffc);
}

static void check_loop(struct bench *b, struct insn_loop l, bool inside)
{
	add_loop(b, l);
	if (inside)
		run_done(b);
	else
		run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 0);
}

CASE(loop_bounds, ON_ALL)
{
	struct insn_loop gemm = { .opcode = INSN_GEMM, .uop_end = 1, .iter_out = 3, .iter_in = 1 };
	struct insn_loop alu = { .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 3 };

	set_uop(b, 0, 2045, 2045, 1021);
	gemm.dst_out = 1;
	gemm.src_out = 1;
	gemm.wgt_out = 1;
	check_loop(b, gemm, true);
	alu.dst_in = 1;
	alu.src_in = 1;
	check_loop(b, alu, true);
	for (int i = 0; i < 3; i++) {
		struct insn_loop l = gemm;

		l.dst_out = i == 0 ? 2 : 0;
		l.src_out = i == 1 ? 2 : 0;
		l.wgt_out = i == 2 ? 2 : 0;
		check_loop(b, l, false);
	}
	alu.dst_in = 2;
	check_loop(b, alu, false);
	alu.dst_in = 0;
	alu.src_in = 2;
	check_loop(b, alu, false);
}

/* The last element of each scratchpad, and one beyond it, by each factor. */
CASE(loop_checks_each_index, ON_ALL)
{
	for (uint32_t i = 0; i < 3; i++) {
		struct insn_loop l = gemm_once(i, i + 1);

		set_uop(b, i, i == 0 ? 2047 : 0, i == 1 ? 2047 : 0, i == 2 ? 1023 : 0);
		l.dst_out = i == 0;
		l.src_out = i == 1;
		l.wgt_out = i == 2;
		l.dst_in = l.dst_out;
		l.src_in = l.src_out;
		l.wgt_in = l.wgt_out;
		check_loop(b, l, true);
		l.iter_out = 2;
		check_loop(b, l, false);
		l.iter_out = 1;
		l.iter_in = 2;
		check_loop(b, l, false);
		l.reset = true;
		check_loop(b, l, i != 0);
		l.reset = false;
		if (i < 2) {
			l.opcode = INSN_ALU;
			l.alu_opcode = INSN_ADD;
			check_loop(b, l, false);
			l.use_imm = true;
			check_loop(b, l, i != 0);
			l.opcode = INSN_GEMM;
		}
		/* Indices that no iteration reaches are not checked. */
		l.iter_in = 0;
		l.iter_out = 2;
		l.uop_end = 16383;
		check_loop(b, l, true);
		l.iter_in = 2;
		l.uop_bgn = 8191;
		l.uop_end = 3;
		check_loop(b, l, true);
	}
}

/* One index too large, in each place of many micro-ops. */
CASE(loop_checks_each_uop, ON_ALL)
{
	enum { UOPS = 103 };
	struct insn_loop l = gemm_once(0, UOPS);

	l.dst_out = 1;
	l.src_out = 1;
	l.wgt_out = 1;
	for (uint32_t u = 0; u < UOPS; u++)
		set_uop(b, u, 2046, 2046, 1022);
	l.iter_out = 2;
	check_loop(b, l, true);
	for (uint32_t u = 0; u < UOPS; u++) {
		set_uop(b, u, u % 3 == 0 ? 2047 : 0, u % 3 == 1 ? 2047 : 0,
			u % 3 == 2 ? 1023 : 0);
		check_loop(b, l, false);
		set_uop(b, u, 0, 0, 0);
	}
	check_loop(b, l, true);
}

CASE(uop_bounds, ON_ALL)
{
	struct insn_loop l = { .opcode = INSN_GEMM, .reset = true, .uop_bgn = 8190, .uop_end = 8192,
			       .iter_out = 1, .iter_in = 1 };

	add_loop(b, l);
	run_done(b);
	add_loop(b, l);
	l.uop_end = 8193;
	add_loop(b, l);
	run_fault(b, VTA_FAULT_BOUNDS, VTA_ACCESS_NONE, 1);
	/* No round, no index. */
	l.iter_in = 0;
	check_loop(b, l, true);
}

/* A src field as wide as INP's depth can point beyond a smaller ACC. */
CASE(src_wider_than_acc, ON_ALL)
{
	struct core_config cfg = core_config_default;
	struct insn_loop alu = gemm_once(0, 1);

	cfg.log_acc_buff_size = 16;
	bench_configure(b, &cfg);
	set_uop(b, 0, 0, 1024, 0);
	check_loop(b, gemm_once(0, 1), true);
	alu.opcode = INSN_ALU;
	check_loop(b, alu, false);
}

/* ---- Fetch --------------------------------------------------------------- */

CASE(illegal_opcodes_fault, ON_ALL)
{
	for (uint64_t opcode = 5; opcode < 8; opcode++) {
		add_loop(b, gemm_once(0, 1));
		add(b, (struct insn){ { opcode, 0 } });
		run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 1);
		add_nothing(b, 'c', 0);
		add(b, (struct insn){ { ~7ull | opcode, ~0ull } });
		run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 1);
		if (b->core) {
			assert_int_equal(b->fault.insn[0], 0xfffffff8 | opcode);
			assert_int_equal(b->fault.insn[3], 0xffffffff);
		}
	}
}

/* Padding; by the store module, whatever token the instruction would wait for. */
CASE(illegal_stores_fault, ON_CORES)
{
	struct insn_move store = store_to_result(1, 1, 0);

	store.y_pad_0 = 1;
	store.flags = INSN_POP_PREV;
	add_nothing(b, 'c', 0);
	add_move(b, store);
	run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 1);
	/* Not before its predecessor there, which waits for ever. */
	add_nothing(b, 's', INSN_POP_PREV);
	store.flags = 0;
	add_move(b, store);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

/* A runtime that appends to a stream which has failed hands over: old FINISH new FINISH. */
CASE(the_count_ends_a_stream, ON_ALL)
{
	struct insn_move store = store_to_result(1, 1, 1);

	set_acc(b, 0, 76);
	add_finish(b, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = INSN_ADD, .use_imm = true, .imm = 1);
	/* reserved bits mean nothing */
	add(b, insn_finish(INSN_PUSH_NEXT, (struct insn){ { 0, UINT64_MAX } }));
	store.flags = INSN_POP_PREV | INSN_PUSH_PREV;
	add_move(b, store);
	add_finish(b, INSN_POP_NEXT);
	run_done(b);
	if (b->core)
		assert_int_equal(b->stats.insns, 5);
	assert_acc(b, 0, 77);
	assert_int_equal(b->mem.bytes[RESULT], 77);

	add_finish(b, 0);
	add(b, (struct insn){ { 7, 0 } });
	run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 1);
}

/* Other modules complete what they have when compute reaches FINISH. */
CASE(finish_waits_for_all, ON_ALL)
{
	struct insn_move store = store_to_result(1, 1, 1);

	b->mem.bytes[DATA] = 3;
	set_acc(b, 0, 4);
	add_row(b, INSN_INP, 0, 1);
	add_move(b, store);
	add_finish(b, 0);
	run_done(b);
	assert_int_equal(get_value(b, INSN_INP, 0, 0), 3);
	assert_int_equal(b->mem.bytes[RESULT], 4);

	set_acc(b, 0, 77);
	add_nothing(b, 'c', INSN_PUSH_NEXT);
	store.flags = INSN_POP_PREV;
	add_move(b, store);
	add_finish(b, 0);
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 77);

	add_nothing(b, 'l', INSN_POP_NEXT);
	add_finish(b, 0);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

CASE(empty_stream, ON_ALL)
{
	assert_int_equal(run_at(b, 0xfffffff0, 0), CORE_DONE);
	assert_int_equal(b->stats.cycles, 0);
	assert_int_equal(b->mem.fetched, 0);
}

CASE(misaligned_stream, ON_ALL)
{
	assert_int_equal(run_at(b, BASE + 8, 1), CORE_FAULT);
	assert_int_equal(b->fault.reason, VTA_FAULT_ALIGN);
	assert_int_equal(b->fault.access, VTA_ACCESS_INSN);
	assert_int_equal(b->fault.insn_index, VTA_FAULT_NO_INSN);
	if (b->core)
		assert_int_equal(b->fault.addr, BASE + 8);
	assert_int_equal(b->mem.fetched, 0);
}

/* The stream ends where memory does: a larger count makes fetching fault, as the last fault. */
CASE(fetch_faults_come_last, ON_ALL)
{
	const uint32_t end = BASE + SIZE;
	uint8_t *last = b->mem.bytes + SIZE - 3 * 16;

	add_nothing(b, 'l', 0);
	add_finish(b, 0);
	add_nothing(b, 'l', INSN_POP_PREV);
	memcpy(last, b->mem.bytes, sizeof(struct insn) * 3);
	b->count = 0;
	for (uint32_t n = 1; n <= 3; n++) {
		assert_int_equal(run_at(b, end - n * 16, n), CORE_DONE);
		assert_int_equal(run_at(b, end - n * 16, n == 3 ? UINT32_MAX : n + 1), CORE_FAULT);
		assert_int_equal(b->fault.reason, VTA_FAULT_PAGE);
		assert_int_equal(b->fault.access, VTA_ACCESS_INSN);
		assert_int_equal(b->fault.insn_index, n);
		if (b->core)
			assert_int_equal(b->fault.addr, end);
	}
	/* All that could be executed was executed. */
	insn_to_bytes(insn_finish(INSN_POP_PREV, (struct insn){ { 0, 0 } }), last + 32);
	assert_int_equal(run_at(b, end - 48, 4), CORE_FAULT);
	assert_int_equal(b->fault.insn_index, 3);
	if (b->core)
		assert_int_equal(b->stats.insns, 2);
}

/* ---- Tokens -------------------------------------------------------------- */

/* STORE what LOAD ACC has yet to fetch: only the token makes it wait. */
static void add_load_and_store(struct bench *b, bool token)
{
	struct insn_move store = store_to_result(1, 1, 1);

	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_ACC_8BIT, .dram_base = element_at(DATA, 16),
		 .y_size = 1, .x_size = 1, .flags = token ? INSN_PUSH_NEXT : 0);
	store.flags = token ? INSN_POP_PREV : 0;
	add_move(b, store);
}

CASE(tokens_order, ON_REF | ON_RANDOM)
{
	int late = 0;

	for (b->schedule = 0; b->schedule < 20; b->schedule++) {
		b->mem.bytes[DATA] = 42;
		b->mem.bytes[RESULT] = 0;
		bench_clear(b);
		add_load_and_store(b, true);
		run_done(b);
		assert_int_equal(b->mem.bytes[RESULT], 42);

		b->mem.bytes[RESULT] = 0;
		bench_clear(b);
		add_load_and_store(b, false);
		run_done(b);
		late += b->mem.bytes[RESULT] == 42;
	}
	/* Without the token, either happens. */
	assert_in_range(late, 1, 19);
}

/* Each of the four queues: a push serves exactly one pop, of that queue only. */
CASE(token_queues, ON_ALL)
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
		/* The pop may be first in the stream. */
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

CASE(tokens_pass, ON_ALL)
{
	add_nothing(b, 'l', INSN_POP_NEXT | INSN_PUSH_NEXT);
	add_nothing(b, 's', INSN_POP_PREV | INSN_PUSH_PREV);
	add_nothing(b, 'c', INSN_PUSH_PREV | INSN_PUSH_NEXT);
	add_nothing(b, 'c', INSN_POP_PREV | INSN_POP_NEXT);
	run_done(b);
	if (b->core)
		assert_int_equal(b->stats.insns, 4);
}

/* An instruction that pops twice needs both. */
CASE(two_pops, ON_ALL)
{
	add_nothing(b, 'c', INSN_POP_PREV | INSN_POP_NEXT);
	add_nothing(b, 'l', INSN_PUSH_NEXT);
	add_nothing(b, 's', INSN_PUSH_PREV);
	run_done(b);
	add_nothing(b, 'c', INSN_POP_PREV | INSN_POP_NEXT);
	add_nothing(b, 'l', INSN_PUSH_NEXT);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
	add_nothing(b, 'l', INSN_PUSH_NEXT);
	add_nothing(b, 'c', INSN_POP_PREV | INSN_POP_NEXT);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 1);
}

/* Load has nothing before it, store nothing behind it: those flags are unused. */
CASE(no_neighbour_no_token, ON_ALL)
{
	add_nothing(b, 'l', INSN_POP_PREV | INSN_PUSH_PREV);
	add_nothing(b, 's', INSN_POP_NEXT | INSN_PUSH_NEXT);
	run_done(b);
	if (b->core)
		assert_int_equal(b->stats.insns, 2);
}

/* The oldest of the instructions that wait is reported. */
CASE(deadlock_is_reported, ON_ALL)
{
	add_nothing(b, 'l', 0);
	add_nothing(b, 'c', INSN_POP_PREV);
	add_nothing(b, 'l', 0);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 1);
	if (b->core)
		assert_int_equal(b->stats.insns, 2);

	add_nothing(b, 's', INSN_POP_PREV);
	add_nothing(b, 'l', INSN_POP_NEXT);
	add_nothing(b, 'c', INSN_POP_PREV | INSN_PUSH_NEXT);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);

	add_nothing(b, 'c', 0);
	add_nothing(b, 's', INSN_POP_PREV);
	add_nothing(b, 'c', INSN_POP_PREV);
	add_nothing(b, 's', 0);
	add_nothing(b, 'l', 0);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 1);
	if (!b->core) {
		assert_int_equal(b->waiting[REF_LOAD], VTA_FAULT_NO_INSN);
		assert_int_equal(b->waiting[REF_COMPUTE], 2);
		assert_int_equal(b->waiting[REF_STORE], 1);
	}
}

/* Of three modules that wait, in any order and behind some instructions. */
CASE(oldest_of_three_is_reported, ON_ALL)
{
	static const char orders[][4] = { "lcs", "lsc", "cls", "csl", "slc", "scl" };

	for (uint32_t before = 0; before < 4; before++)
		for (size_t o = 0; o < sizeof(orders) / sizeof(*orders); o++) {
			for (uint32_t i = 0; i < before; i++)
				add_nothing(b, 'c', 0);
			for (size_t i = 0; i < 3; i++)
				add_nothing(b, orders[o][i],
					    orders[o][i] == 'l' ? INSN_POP_NEXT : INSN_POP_PREV);
			run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, before);
		}
}

CASE(runs_start_without_tokens, ON_ALL)
{
	add_nothing(b, 'l', INSN_PUSH_NEXT);
	add_nothing(b, 'c', INSN_PUSH_PREV | INSN_PUSH_NEXT);
	add_nothing(b, 's', INSN_PUSH_PREV);
	run_done(b);
	add_nothing(b, 'c', INSN_POP_PREV);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

CASE(tokens_of_instructions_that_do_nothing, ON_ALL)
{
	struct insn_loop l = { .opcode = INSN_GEMM, .flags = INSN_PUSH_NEXT };

	add_loop(b, l);
	l.opcode = INSN_ALU;
	add_loop(b, l);
	add_nothing(b, 's', INSN_POP_PREV);
	add_nothing(b, 's', INSN_POP_PREV | INSN_PUSH_PREV);
	add_finish(b, INSN_POP_NEXT);
	run_done(b);
	add_finish(b, INSN_POP_NEXT);
	run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, 0);
}

/* A load waits for a token that comes @n instructions later. */
static enum core_result run_late_token(struct bench *b, uint32_t n)
{
	add_nothing(b, 'l', INSN_POP_NEXT);
	for (uint32_t i = 0; i < n; i++)
		add_nothing(b, 'l', 0);
	add_nothing(b, 'c', INSN_PUSH_PREV);
	return run(b);
}

/* The default configuration with queues of 2^@log; returns their depth. */
static uint32_t have_depth(struct bench *b, unsigned int log)
{
	struct core_config cfg = core_config_default;

	cfg.log_tokens = log;
	cfg.log_waiting = log;
	bench_configure(b, &cfg);
	return 1u << (log ? log : 16);
}

static const unsigned int logs[] = { 0, 3, 8, 9, 16 };

CASE(waiting_instructions_are_limited, ON_CORES)
{
	for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++) {
		uint32_t depth = have_depth(b, logs[i]);

		assert_int_equal(run_late_token(b, depth - 2), CORE_DONE);
		assert_int_equal(b->stats.insns, depth);
		assert_int_equal(run_late_token(b, depth - 1), CORE_FAULT);
		assert_int_equal(b->fault.reason, VTA_FAULT_DEADLOCK);
		assert_int_equal(b->fault.insn_index, 0);
	}
}

static void add_pushes(struct bench *b, uint32_t n)
{
	while (n--)
		add_nothing(b, 'l', INSN_PUSH_NEXT);
}

CASE(tokens_are_limited, ON_CORES)
{
	for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++) {
		uint32_t depth = have_depth(b, logs[i]);

		add_pushes(b, depth);
		run_done(b);
		add_pushes(b, depth + 1);
		run_fault(b, VTA_FAULT_DEADLOCK, VTA_ACCESS_NONE, depth);
		/* With one popped, there is room. */
		add_pushes(b, depth + 1);
		add_nothing(b, 'c', INSN_POP_PREV);
		run_done(b);
	}
}

/* ---- Scratchpads --------------------------------------------------------- */

CASE(scratchpads_persist_until_cleared, ON_ALL)
{
	struct insn_loop far = { .opcode = INSN_ALU, .uop_end = 1, .iter_out = 2, .iter_in = 1,
				 .dst_out = 1500, .alu_opcode = INSN_ADD, .use_imm = true,
				 .imm = 9 };

	b->mem.bytes[DATA] = 42;
	add_load_and_store(b, true);
	run_done(b);
	b->mem.bytes[RESULT] = 0;
	add_move(b, store_to_result(1, 1, 1));
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 42);
	add_loop(b, far);
	run_done(b);
	assert_int_equal(get_acc(b, 0, 0), 42 + 9);
	assert_acc(b, 1500, 9);

	bench_clear(b);
	assert_acc(b, 0, 0);
	assert_acc(b, 1500, 0);
	add_move(b, store_to_result(1, 1, 1));
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 0);
}

int main(void)
{
	return isa_main("instruction streams");
}

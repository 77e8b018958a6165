// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_core.c - the VTA core's arithmetic, against results worked out by hand
 */
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "core_machine.h"

/* ---- LOAD and STORE --------------------------------------------------------- */

TEST_F(MACHINE, store_truncates)
{
	static const int32_t values[] = { 0x17f, -129, 127, (int32_t)0x80000080 };
	static const uint8_t want[] = { 0x7f, 0x7f, 0x7f, 0x80 };
	int i;

	load_acc(m, values, 4);
	m->mem[RESULT - 1] = 0xee;
	m->mem[RESULT + 64] = 0xee;
	emit_row(m, VTA_ISA_STORE, VTA_ISA_OUT, 0, RESULT / 16, 4);
	run_ok(m);
	for (i = 0; i < 64; i++)
		assert_int_equal(m->mem[RESULT + i], want[i / 16]);
	assert_int_equal(m->mem[RESULT - 1], 0xee);
	assert_int_equal(m->mem[RESULT + 64], 0xee);
}

TEST_F(MACHINE, load_pads_every_side)
{
	/* 1 row above, 2 below, 1 column left, 2 right of 2 rows of 3, 4 apart. */
	static const int32_t want[] = {
		0, 0, 0, 0, 0, 0,
		0, 1, 2, 3, 0, 0,
		0, 5, 6, 7, 0, 0,
		0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0,
	};
	int32_t before[40];
	uint32_t i;

	for (i = 0; i < 40; i++)
		before[i] = -1;
	load_acc(m, before, 40);
	for (i = 0; i < 8 * 16; i++)
		put32(m, DATA + 4 * i, 1 + i / 16);
	emit_mem(m, VTA_ISA_LOAD, VTA_ISA_ACC, 5, DATA / 64, (struct rows){
		 .y = 2, .x = 3, .stride = 4, .y0 = 1, .y1 = 2, .x0 = 1, .x1 = 2 });
	run_ok(m);
	assert_int_equal(acc_lane(m, 4, 15), -1);
	assert_int_equal(acc_lane(m, 35, 0), -1);
	for (i = 0; i < 30; i++)
		assert_int_equal(acc_lane(m, 5 + i, i % 16), want[i]);
}

TEST_F(MACHINE, load_without_rows_pads)
{
	static const int32_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	uint32_t i;

	load_acc(m, ones, 8);
	emit_mem(m, VTA_ISA_LOAD, VTA_ISA_ACC, 1, 0,
		 (struct rows){ .x = 2, .y0 = 1, .y1 = 1, .x0 = 1 });
	run_ok(m);
	for (i = 0; i < 8; i++)
		assert_int_equal(acc_lane(m, i, 3), i == 0 || i == 7);

	/* Without columns not even pads are written. */
	load_acc(m, ones, 8);
	emit_mem(m, VTA_ISA_LOAD, VTA_ISA_ACC, 1, 0,
		 (struct rows){ .y = 2, .y0 = 1, .y1 = 1, .x0 = 1, .x1 = 1 });
	run_ok(m);
	for (i = 0; i < 8; i++)
		assert_int_equal(acc_lane(m, i, 3), 1);
}

TEST_F(MACHINE, strides_may_overlap)
{
	static const int32_t values[] = { 10, 11, 12, 13 };

	load_acc(m, values, 4);
	emit_mem(m, VTA_ISA_LOAD, VTA_ISA_ACC, 4, DATA / 64, (struct rows){ .y = 3, .x = 2 });
	run_ok(m);
	assert_int_equal(acc_lane(m, 4, 0), 10);
	assert_int_equal(acc_lane(m, 8, 0), 10);
	assert_int_equal(acc_lane(m, 9, 0), 11);

	/* Elements 0 to 3 to rows at 0 and 1: the last row wins. */
	emit_mem(m, VTA_ISA_STORE, VTA_ISA_OUT, 0, RESULT / 16,
		 (struct rows){ .y = 2, .x = 2, .stride = 1 });
	run_ok(m);
	assert_int_equal(m->mem[RESULT], 10);
	assert_int_equal(m->mem[RESULT + 16], 12);
	assert_int_equal(m->mem[RESULT + 32], 13);
	assert_int_equal(m->mem[RESULT + 48], 0);
}

TEST_F(MACHINE, load_acc_8bit_extends)
{
	uint32_t i;

	for (i = 0; i < 32; i++)
		m->mem[DATA + i] = (uint8_t)(i < 16 ? i : 256 - i);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_ACC_8BIT, 3, DATA / 16, 2);
	run_ok(m);
	assert_int_equal(acc_lane(m, 3, 15), 15);
	assert_int_equal(acc_lane(m, 4, 0), -16);
	assert_int_equal(acc_lane(m, 4, 15), -31);
}

TEST_F(MACHINE, bounds_of_scratchpads)
{
	static const uint32_t depth[] = { 8192, 1024, 2048, 2048, 0, 2048 };
	uint32_t type;

	for (type = VTA_ISA_UOP; type <= VTA_ISA_ACC_8BIT; type++) {
		if (type == VTA_ISA_OUT)
			continue;
		emit_row(m, VTA_ISA_LOAD, type, depth[type] - 2, 0, 2);
		run_ok(m);
		emit_row(m, VTA_ISA_LOAD, type, depth[type] - 2, 0, 3);
		run_faults(m, VTA_FAULT_BOUNDS, 0);
		/* A pad that does not fit is as bad. */
		emit_mem(m, VTA_ISA_LOAD, type, depth[type] - 2, 0,
			 (struct rows){ .y = 1, .x = 2, .x1 = 1 });
		run_faults(m, VTA_FAULT_BOUNDS, 0);
		emit_mem(m, VTA_ISA_LOAD, type, 0, 0, (struct rows){ .y = 65535, .x = 65535 });
		run_faults(m, VTA_FAULT_BOUNDS, 0);
		/* Nothing moves, so nothing is out of bounds. */
		emit_mem(m, VTA_ISA_LOAD, type, 65535, 0, (struct rows){ .x = 5 });
		run_ok(m);
		emit_mem(m, VTA_ISA_LOAD, type, 65535, 0, (struct rows){ .y = 5 });
		run_ok(m);
	}
	emit_row(m, VTA_ISA_STORE, VTA_ISA_OUT, 2047, RESULT / 16, 1);
	run_ok(m);
	emit_row(m, VTA_ISA_STORE, VTA_ISA_OUT, 2047, RESULT / 16, 2);
	run_faults(m, VTA_FAULT_BOUNDS, 0);
	core_clear(m->core);
}

TEST_F(MACHINE, memory_faults)
{
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_WGT, 0, MEM_SIZE / 256 - 1, 2);
	run_faults(m, VTA_FAULT_PAGE, 0);
	assert_int_equal(m->fault.access, VTA_ACCESS_LOAD);
	assert_int_equal(m->fault.addr, MEM_SIZE);

	emit_row(m, VTA_ISA_LOAD, VTA_ISA_UOP, 0, 0x3fffffff, 1);
	run_faults(m, VTA_FAULT_PAGE, 0);
	assert_int_equal(m->fault.access, VTA_ACCESS_UOP);
	assert_int_equal(m->fault.addr, 0xfffffffc);

	/* Element 2^32 - 1 of 16 bytes is far beyond 32 bits of address. */
	emit_row(m, VTA_ISA_STORE, VTA_ISA_OUT, 0, 0xffffffff, 1);
	run_faults(m, VTA_FAULT_PAGE, 0);
	assert_int_equal(m->fault.access, VTA_ACCESS_STORE);
	assert_int_equal(m->fault.addr, 0xfffffff0);
}

TEST_F(MACHINE, operands_of_store)
{
	uint32_t type;

	for (type = 0; type < 8; type++) {
		emit_mem(m, VTA_ISA_STORE, type, 0, RESULT / 16,
			 (struct rows){ .y = 1, .y0 = 3, .x1 = 1 });
		run_ok(m);
		emit_row(m, VTA_ISA_STORE, type, 0, RESULT / 16, 1);
		if (type == VTA_ISA_OUT)
			run_ok(m);
		else
			run_faults(m, VTA_FAULT_INSN, 0);
		emit_mem(m, VTA_ISA_STORE, type, 0, RESULT / 16,
			 (struct rows){ .y = 1, .x = 1, .y1 = 1 });
		run_faults(m, VTA_FAULT_INSN, 0);
	}
}

TEST_F(MACHINE, operands_of_load)
{
	static const uint32_t bad[] = { VTA_ISA_OUT, 6, 7 };
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		emit_row(m, VTA_ISA_LOAD, bad[i], 0, 0, 0);
		emit_row(m, VTA_ISA_LOAD, bad[i], 0, 0, 1);
		run_faults(m, VTA_FAULT_INSN, 1);
		assert_int_equal(m->fault.access, VTA_ACCESS_NONE);
		assert_int_equal(m->fault.insn[0], bad[i] << 7);
		assert_int_equal(m->fault.insn[2], 1 << 16 | 1);
	}
}

/* ---- GEMM ------------------------------------------------------------------- */

/* inp[0][k] = k - 8, inp[1][k] = 1; wgt[0][o][k] = o * (k == 3), wgt[1] all -128 */
static void load_matrices(struct machine *m)
{
	uint32_t i;

	for (i = 0; i < 16; i++) {
		m->mem[DATA + i] = (uint8_t)(i - 8);
		m->mem[DATA + 16 + i] = 1;
	}
	for (i = 0; i < 256; i++) {
		m->mem[DATA + 256 + i] = i % 16 == 3 ? (uint8_t)(i / 16) : 0;
		m->mem[DATA + 512 + i] = 0x80;
	}
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_INP, 0, DATA / 16, 2);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_WGT, 0, DATA / 256 + 1, 2);
	run_ok(m);
}

TEST_F(MACHINE, gemm_multiplies)
{
	static const uint32_t uops[] = { 0 };
	static const struct core_index out = { .dst = 2, .wgt = 1 }, in = { .dst = 1, .src = 1 };
	uint32_t o;

	load_uops(m, uops, 1);
	load_matrices(m);
	emit(m, loop_word(VTA_ISA_GEMM, 0, 1, 2, 2), gemm_word(out, in));
	run_ok(m);
	assert_int_equal(m->stats.gemm_uops, 4);
	for (o = 0; o < 16; o++) {
		assert_int_equal(acc_lane(m, 0, o), -5 * (int32_t)o);
		assert_int_equal(acc_lane(m, 1, o), o);
		assert_int_equal(acc_lane(m, 2, o), 8 * 128);	/* the k - 8 sum to -8 */
		assert_int_equal(acc_lane(m, 3, o), 16 * -128);
	}
	/* Again, it adds; with reset, it clears, and its other indices are free. */
	emit(m, loop_word(VTA_ISA_GEMM, 0, 1, 2, 2), gemm_word(out, in));
	emit(m, loop_word(VTA_ISA_GEMM, 0, 1, 3, 1) | GEMM_RESET,
	     gemm_word((struct core_index){ .dst = 1, .src = 2047, .wgt = 1023 }, no_index));
	run_ok(m);
	assert_int_equal(m->stats.gemm_uops, 4);
	assert_int_equal(acc_lane(m, 0, 3), 0);
	assert_int_equal(acc_lane(m, 2, 3), 0);
	assert_int_equal(acc_lane(m, 3, 3), 2 * 16 * -128);
}

TEST_F(MACHINE, gemm_wraps)
{
	static const uint32_t uops[] = { 1 << 11 | 1 << 22 };	/* adds 16 * -128 */
	static const int32_t least[] = { INT32_MIN };

	load_uops(m, uops, 1);
	load_matrices(m);
	load_acc(m, least, 1);
	emit(m, loop_word(VTA_ISA_GEMM, 0, 1, 1, 1), 0);
	run_ok(m);
	assert_int_equal(acc_lane(m, 0, 5), INT32_MIN + (int64_t)16 * -128 + (INT64_C(1) << 32));
}

TEST_F(MACHINE, gemm_checks_indices)
{
	const uint32_t uops[] = {
		uop_word(2047, 0, 0), uop_word(0, 2047, 0), uop_word(0, 0, 1023),
	};
	static const struct core_index one[] = { { .dst = 1 }, { .src = 1 }, { .wgt = 1 } };
	uint32_t i;

	load_uops(m, uops, 3);
	for (i = 0; i < 3; i++) {
		emit(m, loop_word(VTA_ISA_GEMM, i, i + 1, 1, 1), gemm_word(one[i], one[i]));
		run_ok(m);
		emit(m, loop_word(VTA_ISA_GEMM, i, i + 1, 2, 1), gemm_word(one[i], no_index));
		run_faults(m, VTA_FAULT_BOUNDS, 0);
		emit(m, loop_word(VTA_ISA_GEMM, i, i + 1, 1, 2), gemm_word(no_index, one[i]));
		run_faults(m, VTA_FAULT_BOUNDS, 0);
		emit(m, loop_word(VTA_ISA_GEMM, i, i + 1, 1, 2) | GEMM_RESET,
		     gemm_word(no_index, one[i]));
		if (i)
			run_ok(m);
		else
			run_faults(m, VTA_FAULT_BOUNDS, 0);
		/* Indices that no iteration reaches are not checked. */
		emit(m, loop_word(VTA_ISA_GEMM, 0, 16383, 2, 0), gemm_word(one[i], one[i]));
		emit(m, loop_word(VTA_ISA_GEMM, 8191, 3, 2, 2), gemm_word(one[i], one[i]));
		run_ok(m);
	}
	emit(m, loop_word(VTA_ISA_GEMM, 8191, 8192, 1, 1), 0);
	emit(m, loop_word(VTA_ISA_GEMM, 8191, 8193, 1, 1), 0);
	run_faults(m, VTA_FAULT_BOUNDS, 1);
}

/* All scratchpads at random, then a GEMM of every micro-op, twice and thrice. */
static void random_gemm(struct machine *m, unsigned int seed)
{
	const struct core_config *c = &m->core->cfg;
	struct vta_isa_shape d = core_config_shape(c);
	int log_src = d.acc > d.inp ? d.acc : d.inp;
	uint64_t uops = UINT64_C(1) << d.uop;
	static const struct {
		enum vta_isa_memory type;
		uint32_t addr;
	} loads[] = {
		{ VTA_ISA_UOP, RESULT }, { VTA_ISA_INP, DATA },
		{ VTA_ISA_WGT, DATA }, { VTA_ISA_ACC, DATA },
	};
	const int depths[] = { d.uop, d.inp, d.wgt, d.acc };
	uint32_t i;

	srand(seed);
	for (i = DATA; i < RESULT; i++)
		m->mem[i] = (uint8_t)rand();
	for (i = 0; i < uops; i++)
		put32(m, RESULT + 4 * i, (uint32_t)rand() % (1u << d.acc) |
		      (uint32_t)rand() % (1u << d.inp) << d.acc |
		      (uint32_t)rand() % (1u << d.wgt) << (d.acc + log_src));
	for (i = 0; i < ARRAY_SIZE(loads); i++)
		emit_row(m, VTA_ISA_LOAD, loads[i].type, 0,
			 loads[i].addr / core_mem_elem_size(m->core, loads[i].type),
			 1u << depths[i]);
	emit(m, VTA_ISA_GEMM | uops << (8 + d.uop) | UINT64_C(3) << (9 + 2 * d.uop) |
	     UINT64_C(2) << (23 + 2 * d.uop), 0);
	run_ok(m);
	assert_int_equal(m->stats.gemm_uops, 6 * uops);
}

TEST(gemm_kernels_agree)
{
	static const struct core_config shapes[] = {
		{ 3, 3, 5, 0, 4, 12, 12, 16, 13, 1 },	{ 3, 3, 5, 2, 4, 12, 12, 16, 13, 1 },
		{ 2, 1, 5, 1, 3, 12, 12, 12, 13, 1 },	{ 3, 3, 5, 1, 5, 12, 12, 16, 13, 1 },
		{ 1, 2, 5, 0, 6, 12, 12, 16, 13, 1 },	{ 3, 3, 5, 3, 1, 12, 12, 8, 13, 1 },
		{ 3, 2, 5, 1, 2, 12, 12, 12, 13, 1 },	{ 1, 3, 5, 1, 1, 12, 12, 8, 13, 1 },
	};
	struct machine *best, *portable;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		best = machine_new(&shapes[i], CORE_ORDER_INORDER);
		portable = machine_new(&shapes[i], CORE_ORDER_INORDER);
		core_force_portable(portable->core);
		random_gemm(best, i);
		random_gemm(portable, i);
		assert_memory_equal(best->core->acc.mem, portable->core->acc.mem,
				    best->core->acc.elem_size * best->core->acc.depth);
		machine_free(best);
		machine_free(portable);
	}
}

/* int4 inputs and int2 weights, 1x2: every value by hand. */
TEST(sub_byte_types)
{
	static const struct core_config cfg = { 2, 1, 5, 0, 1, 4, 4, 4, 8, 1 };
	struct machine *m = machine_new(&cfg, CORE_ORDER_INORDER);
	const int32_t *a = m->core->acc.mem;

	m->mem[DATA] = 0x87;		/* 7, -8 */
	m->mem[DATA + 16] = 0xe1;	/* rows 1, 0 and -2, -1: 01 00 10 11 from bit 0 up */
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_INP, 0, DATA, 1);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_WGT, 0, DATA + 16, 1);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_UOP, 0, DATA / 4 + 16, 1);
	emit(m, VTA_ISA_GEMM | 1 << 10 | 1 << 13 | 1 << 27, 0);
	emit_row(m, VTA_ISA_STORE, VTA_ISA_OUT, 0, RESULT, 1);
	emit_row(m, VTA_ISA_LOAD, VTA_ISA_ACC_8BIT, 1, DATA / 2, 1);
	run_ok(m);
	/* OUT is as wide as INP: the low 4 bits, low value first. */
	assert_int_equal(a[0], 7);
	assert_int_equal(a[1], 7 * -2 + -8 * -1);
	assert_int_equal(m->mem[RESULT], 0xa7);
	assert_int_equal(a[2], (int8_t)0x87);
	machine_free(m);
}

/* ---- ALU -------------------------------------------------------------------- */

static int32_t alu(struct machine *m, uint64_t op, int32_t a, int32_t b, bool use_imm)
{
	const int32_t values[] = { a, b };

	load_acc(m, values, 2);
	emit(m, loop_word(VTA_ISA_ALU, 0, 1, 1, 1), alu_word(no_index, no_index, op, use_imm, b));
	run_ok(m);
	assert_int_equal(m->stats.alu_uops, 1);
	assert_int_equal(acc_lane(m, 0, 0), acc_lane(m, 0, 15));
	assert_int_equal(acc_lane(m, 1, 7), b);
	return acc_lane(m, 0, 0);
}

TEST_F(MACHINE, alu_operations)
{
	static const struct {
		enum vta_isa_alu op;
		int32_t a, b, want;
	} cases[] = {
		{ VTA_ISA_MIN, 3, -4, -4 },
		{ VTA_ISA_MAX, 3, -4, 3 },
		{ VTA_ISA_ADD, INT32_MAX, 1, INT32_MIN },
		{ VTA_ISA_ADD, 5, -32768, -32763 },
		{ VTA_ISA_MUL, 0x10001, 0x7fff, 0x7fff7fff },
		{ VTA_ISA_MUL, INT32_MIN, -1, INT32_MIN },
		{ VTA_ISA_SHR, -5, 1, -3 },
		{ VTA_ISA_SHR, 5, 0, 5 },
		{ VTA_ISA_SHR, -5, 31, -1 },
		{ VTA_ISA_SHR, -5, 32, -1 },
		{ VTA_ISA_SHR, INT32_MAX, 32767, 0 },
		{ VTA_ISA_SHR, 3, -4, 48 },
		{ VTA_ISA_SHR, -3, -31, INT32_MIN },
		{ VTA_ISA_SHR, -3, -32, 0 },
		{ VTA_ISA_SHR, -3, -32768, 0 },
	};
	const uint32_t uops[] = { uop_word(0, 1, 0) };
	uint32_t i;

	load_uops(m, uops, 1);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(alu(m, cases[i].op, cases[i].a, cases[i].b, true), cases[i].want);
		assert_int_equal(alu(m, cases[i].op, cases[i].a, cases[i].b, false), cases[i].want);
	}
	/* Amounts that an immediate cannot hold. */
	assert_int_equal(alu(m, VTA_ISA_SHR, -5, INT32_MAX, false), -1);
	assert_int_equal(alu(m, VTA_ISA_SHR, -5, INT32_MIN, false), 0);
	assert_int_equal(alu(m, VTA_ISA_MUL, 65536, 65537, false), 65536);
	for (i = VTA_ISA_MUL + 1; i < 8; i++) {
		emit(m, loop_word(VTA_ISA_ALU, 0, 0, 0, 0),
		     alu_word(no_index, no_index, i, true, 0));
		run_faults(m, VTA_FAULT_INSN, 0);
	}
}

TEST_F(MACHINE, alu_is_in_sequence)
{
	static const int32_t values[] = { 1, 0, 0, 0 };
	const uint32_t uops[] = { uop_word(1, 0, 0), uop_word(1, 1, 0) };
	static const struct core_index one = { .dst = 1, .src = 1 };

	/* acc[i + 1] += acc[i], then doubled: each sees the one before. */
	load_uops(m, uops, 2);
	load_acc(m, values, 4);
	emit(m, loop_word(VTA_ISA_ALU, 0, 2, 1, 3),
	     alu_word(no_index, one, VTA_ISA_ADD, false, 0));
	run_ok(m);
	assert_int_equal(acc_lane(m, 0, 9), 1);
	assert_int_equal(acc_lane(m, 1, 9), 2);
	assert_int_equal(acc_lane(m, 2, 9), 4);
	assert_int_equal(acc_lane(m, 3, 9), 8);
}

TEST_F(MACHINE, alu_checks_indices)
{
	const uint32_t uops[] = { uop_word(0, 2047, 0), uop_word(2047, 0, 0) };
	static const struct core_index one = { .dst = 1, .src = 1 };

	load_uops(m, uops, 2);
	emit(m, loop_word(VTA_ISA_ALU, 0, 1, 2, 1),
	     alu_word(one, no_index, VTA_ISA_ADD, false, 0));
	run_faults(m, VTA_FAULT_BOUNDS, 0);
	emit(m, loop_word(VTA_ISA_ALU, 0, 1, 2, 1), alu_word(one, no_index, VTA_ISA_ADD, true, 0));
	run_ok(m);
	emit(m, loop_word(VTA_ISA_ALU, 0, 2, 1, 2), alu_word(no_index, one, VTA_ISA_ADD, true, 0));
	run_faults(m, VTA_FAULT_BOUNDS, 0);
}

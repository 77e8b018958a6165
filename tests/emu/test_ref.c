// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_ref.c - the reference interpreter against results computed by hand
 *
 * One case for each rule about what an instruction does, so that a
 * disagreement between the core and the reference can be settled here.
 */

#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "ref_bench.h"

/* ---- Encoding ------------------------------------------------------------ */

/* Assembled by hand from the field tables, not by insn.c. */
TEST_F(BENCH, test_fields)
{
	struct insn insn;

	/* LOAD, push_next, INP, sram 5, dram 0x10400; 1 row of 2, stride 9, pads 0 0 1 2 */
	insn.word[0] = 0ull | 1ull << 6 | 2ull << 7 | 5ull << 10 | 0x10400ull << 26;
	insn.word[1] = 1ull | 2ull << 16 | 9ull << 32 | 1ull << 56 | 2ull << 60;
	b->mem.bytes[0x4000] = 0x80;
	b->mem.bytes[0x401f] = 0x7f;
	b->ref.inp.v[5 * 16] = 99;
	b->ref.inp.v[9 * 16 + 15] = 99;
	b->ref.inp.v[10 * 16] = 99;
	add(b, insn);
	/* GEMM, pop_prev: micro-op 3, 1 round, dst factors 0: acc[1] += inp[6] * wgt[2] */
	insn.word[0] = 2ull | 1ull << 3 | 3ull << 8 | 4ull << 21 | 1ull << 35 | 1ull << 49;
	insn.word[1] = 0;
	b->ref.uop.v[3] = (int32_t)(1u | 6u << 11 | 2u << 22);
	for (int o = 0; o < 16; o++)
		b->ref.wgt.v[2 * 256 + o * 16] = o;
	add(b, insn);
	/* ALU ADD of -7 to acc[1 + 2]: two rounds out with dst factor 2, src unused */
	insn.word[0] = 4ull | 3ull << 8 | 4ull << 21 | 2ull << 35 | 1ull << 49;
	insn.word[1] = 2ull | 2ull << 44 | 1ull << 47 | 0xfff9ull << 48;
	add(b, insn);
	run_done(b);

	assert_int_equal(b->ref.inp.v[5 * 16], 0);	/* padding */
	assert_int_equal(b->ref.inp.v[6 * 16], -128);
	assert_int_equal(b->ref.inp.v[7 * 16 + 15], 127);
	assert_int_equal(b->ref.inp.v[9 * 16 + 15], 0);	/* padding */
	assert_int_equal(b->ref.inp.v[10 * 16], 99);	/* beyond it */
	for (int o = 0; o < 16; o++)
		assert_int_equal(acc(b, 1)[o], -128 * o - 7);
	assert_acc(b, 3, -7);
	assert_acc(b, 2, 0);
}

TEST_F(BENCH, test_insn_builders)
{
	struct insn insn = insn_move(&(struct insn_move){
		.opcode = INSN_STORE, .flags = INSN_POP_PREV | INSN_PUSH_PREV, .memory = INSN_OUT,
		.sram_base = 0x1234, .dram_base = 0x89abcdef, .y_size = 0x1111, .x_size = 0x2222,
		.x_stride = 0x3333, .y_pad_0 = 4, .y_pad_1 = 5, .x_pad_0 = 6, .x_pad_1 = 7,
		.junk = { { ~0ull, ~0ull } } });
	uint8_t bytes[16];

	assert_int_equal(insn.word[0], 1ull | 1ull << 3 | 1ull << 5 | 4ull << 7 | 0x1234ull << 10 |
			 0x89abcdefull << 26 | 0x3full << 58);
	assert_int_equal(insn.word[1], 0x7654333322221111ull);
	insn = insn_loop(&bench_cfg, &(struct insn_loop){
		.opcode = INSN_GEMM, .flags = INSN_POP_NEXT | INSN_PUSH_NEXT, .reset = true,
		.uop_bgn = 0x1555, .uop_end = 0x2aaa, .iter_out = 0x1234, .iter_in = 0x2345,
		.dst_out = 1, .dst_in = 2, .src_out = 3, .src_in = 4, .wgt_out = 5, .wgt_in = 6 });
	assert_int_equal(insn.word[0], 2ull | 1ull << 4 | 1ull << 6 | 1ull << 7 | 0x1555ull << 8 |
			 0x2aaaull << 21 | 0x1234ull << 35 | 0x2345ull << 49);
	assert_int_equal(insn.word[1], 1ull | 2ull << 11 | 3ull << 22 | 4ull << 33 | 5ull << 44 |
			 6ull << 54);
	insn = insn_loop(&bench_cfg, &(struct insn_loop){
		.opcode = INSN_ALU, .dst_out = 1, .dst_in = 2, .src_out = 3, .src_in = 4,
		.alu_opcode = INSN_MUL, .use_imm = true, .imm = -2 });
	assert_int_equal(insn.word[1], 1ull | 2ull << 11 | 3ull << 22 | 4ull << 33 | 4ull << 44 |
			 1ull << 47 | 0xfffeull << 48);
	assert_int_equal(insn_uop(&bench_cfg, 1, 2, 3, ~0u), 1u | 2u << 11 | 3u << 22);
	insn_to_bytes((struct insn){ { 0x0807060504030201ull, 0x100f0e0d0c0b0a09ull } }, bytes);
	for (int i = 0; i < 16; i++)
		assert_int_equal(bytes[i], i + 1);
}

TEST_F(BENCH, test_reserved_bits)
{
	static const struct insn junk = { { ~0ull, ~0ull } };

	b->ref.uop.v[0] = 0;
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 1, .x_size = 1,
		 .dram_base = element_at(DATA, INP_BYTES), .junk = junk);
	/* reset means nothing to ALU, and word 0 has a bit left over */
	ADD_LOOP(b, .opcode = INSN_ALU, .reset = true, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = INSN_ADD, .use_imm = true, .imm = 5, .junk = junk);
	add(b, insn_finish(0, junk));
	run_done(b);
	assert_acc(b, 0, 5);
}

/* ---- LOAD ---------------------------------------------------------------- */

static void load_pattern(struct bench *b, enum insn_memory memory, uint32_t bytes)
{
	for (uint32_t i = 0; i < 8 * bytes; i++)
		b->mem.bytes[DATA + i] = (uint8_t)(1 + i / bytes);
	/* Rows {1,2} and {4,5} of elements, inside a frame: 1 0 (columns) 1 2 (rows) */
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = memory, .sram_base = 3,
		 .dram_base = element_at(DATA, bytes), .y_size = 2, .x_size = 2, .x_stride = 3,
		 .x_pad_0 = 1, .y_pad_0 = 1, .y_pad_1 = 2);
}

static void check_pattern(const struct ref_pad *pad, int32_t byte_to_value)
{
	static const int rows[5][3] = { { 0 }, { 0, 1, 2 }, { 0, 4, 5 }, { 0 }, { 0 } };

	for (uint32_t n = 0; n < pad->values; n++) {
		assert_int_equal(pad->v[2 * pad->values + n], 77);
		assert_int_equal(pad->v[18 * pad->values + n], 77);
		for (uint32_t i = 0; i < 15; i++)
			assert_int_equal(pad->v[(3 + i) * pad->values + n],
					 rows[i / 3][i % 3] * byte_to_value);
	}
}

static void fill_pad(struct ref_pad *pad)
{
	for (uint32_t i = 0; i < 20 * pad->values; i++)
		pad->v[i] = 77;
}

TEST_F(BENCH, test_load_2d_padding)
{
	fill_pad(&b->ref.inp);
	load_pattern(b, INSN_INP, INP_BYTES);
	run_done(b);
	check_pattern(&b->ref.inp, 1);

	fill_pad(&b->ref.wgt);
	load_pattern(b, INSN_WGT, WGT_BYTES);
	run_done(b);
	check_pattern(&b->ref.wgt, 1);

	fill_pad(&b->ref.acc);
	load_pattern(b, INSN_ACC, ACC_BYTES);
	run_done(b);
	check_pattern(&b->ref.acc, 0x01010101);

	fill_pad(&b->ref.acc);
	load_pattern(b, INSN_ACC_8BIT, 16);
	run_done(b);
	check_pattern(&b->ref.acc, 1);

	fill_pad(&b->ref.uop);
	load_pattern(b, INSN_UOP, 4);
	run_done(b);
	check_pattern(&b->ref.uop, 0x01010101);
}

TEST_F(BENCH, test_load_x_pad_1)
{
	fill_pad(&b->ref.uop);
	for (uint32_t i = 0; i < 4; i++)
		b->mem.bytes[DATA + 4 * i] = (uint8_t)(1 + i);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_UOP, .dram_base = element_at(DATA, 4),
		 .y_size = 2, .x_size = 1, .x_stride = 2, .x_pad_1 = 2);
	run_done(b);
	assert_int_equal(b->ref.uop.v[0], 1);
	assert_int_equal(b->ref.uop.v[1], 0);
	assert_int_equal(b->ref.uop.v[2], 0);
	assert_int_equal(b->ref.uop.v[3], 3);
	assert_int_equal(b->ref.uop.v[5], 0);
	assert_int_equal(b->ref.uop.v[6], 77);
}

TEST_F(BENCH, test_load_small_strides)
{
	for (uint32_t i = 0; i < 6; i++)
		b->mem.bytes[DATA + 4 * i] = (uint8_t)(1 + i);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_UOP, .dram_base = element_at(DATA, 4),
		 .y_size = 2, .x_size = 3, .x_stride = 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_UOP, .sram_base = 6,
		 .dram_base = element_at(DATA, 4), .y_size = 2, .x_size = 2, .x_stride = 0);
	run_done(b);
	for (uint32_t i = 0; i < 10; i++) {
		static const int32_t want[] = { 1, 2, 3, 2, 3, 4, 1, 2, 1, 2 };

		assert_int_equal(b->ref.uop.v[i], want[i]);
	}
}

TEST_F(BENCH, test_load_acc_8bit)
{
	for (uint32_t i = 0; i < 16; i++)
		b->mem.bytes[DATA + 16 + i] = (uint8_t)(0x7e + i);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_ACC_8BIT, .sram_base = 2,
		 .dram_base = element_at(DATA, 16) + 1, .y_size = 1, .x_size = 1);
	run_done(b);
	assert_int_equal(acc(b, 2)[0], 126);
	assert_int_equal(acc(b, 2)[1], 127);
	for (int i = 2; i < 16; i++)
		assert_int_equal(acc(b, 2)[i], -130 + i);
}

TEST_F(BENCH, test_load_acc_little_endian)
{
	memcpy(b->mem.bytes + DATA + 4, "\x01\x02\x03\x84", 4);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_ACC,
		 .dram_base = element_at(DATA, ACC_BYTES), .y_size = 1, .x_size = 1);
	run_done(b);
	assert_int_equal(acc(b, 0)[1], (int32_t)0x84030201);
}

/* Nothing is written, no type, address or index is looked at. */
TEST_F(BENCH, test_load_x_size_0)
{
	fill_pad(&b->ref.inp);
	for (unsigned int memory = 0; memory < 8; memory++)
		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = memory, .sram_base = 0xffff,
			 .dram_base = 0xffffffff, .y_size = 3, .x_pad_0 = 2, .y_pad_0 = 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 3, .x_pad_0 = 2,
		 .y_pad_0 = 1);
	run_done(b);
	for (uint32_t i = 0; i < 20 * 16; i++)
		assert_int_equal(b->ref.inp.v[i], 77);
}

TEST_F(BENCH, test_load_y_size_0)
{
	fill_pad(&b->ref.inp);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .sram_base = 1,
		 .dram_base = 0xffffffff, .x_size = 2, .x_pad_1 = 1, .y_pad_0 = 1, .y_pad_1 = 2);
	run_done(b);
	assert_int_equal(b->ref.inp.v[15], 77);
	for (uint32_t i = 1 * 16; i < 10 * 16; i++)
		assert_int_equal(b->ref.inp.v[i], 0);
	assert_int_equal(b->ref.inp.v[10 * 16], 77);
}

TEST(test_load_sub_byte)
{
	struct core_config cfg = bench_cfg;
	struct bench *b;

	cfg.log_inp_width = 1;
	cfg.log_inp_buff_size = 13;
	cfg.log_wgt_width = 2;
	cfg.log_wgt_buff_size = 17;
	b = bench_new(&cfg);
	b->mem.bytes[DATA] = 0xe4;		/* 2-bit 0, 1, -2, -1 */
	b->mem.bytes[DATA + 3] = 0x80;		/* the last is -2 */
	b->mem.bytes[DATA + 128] = 0x7f;	/* 4-bit -1, 7 */
	b->mem.bytes[DATA + 255] = 0x80;	/* the last is -8 */
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .dram_base = element_at(DATA, 4),
		 .y_size = 1, .x_size = 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_WGT, .sram_base = 1,
		 .dram_base = element_at(DATA, 128) + 1, .y_size = 1, .x_size = 1);
	run_done(b);
	assert_int_equal(b->ref.inp.v[0], 0);
	assert_int_equal(b->ref.inp.v[1], 1);
	assert_int_equal(b->ref.inp.v[2], -2);
	assert_int_equal(b->ref.inp.v[3], -1);
	assert_int_equal(b->ref.inp.v[15], -2);
	assert_int_equal(b->ref.wgt.v[256], -1);
	assert_int_equal(b->ref.wgt.v[257], 7);
	assert_int_equal(b->ref.wgt.v[511], -8);
	bench_free(b);
}

/* ---- STORE --------------------------------------------------------------- */

TEST_F(BENCH, test_store_truncates)
{
	static const int32_t from[] = { 0, 127, 128, -128, -129, 256, 0x12345678, INT32_MIN };
	static const uint8_t want[] = { 0, 0x7f, 0x80, 0x80, 0x7f, 0, 0x78, 0 };

	memcpy(acc(b, 0), from, sizeof(from));
	add_move(b, store_to_result(1, 1, 1));
	run_done(b);
	assert_memory_equal(b->mem.bytes + RESULT, want, sizeof(want));
}

TEST(test_store_sub_byte)
{
	static const int32_t from[] = { 0, 1, -2, -1, 2, 5, 7, -8 };
	static const uint8_t want[] = { 0xe4, 0x36 };
	struct core_config cfg = bench_cfg;
	struct bench *b;

	cfg.log_inp_width = 1;
	cfg.log_inp_buff_size = 13;
	b = bench_new(&cfg);
	memcpy(acc(b, 1), from, sizeof(from));
	memset(b->mem.bytes + RESULT, 0xff, 12);
	ADD_MOVE(b, .opcode = INSN_STORE, .memory = INSN_OUT, .sram_base = 1,
		 .dram_base = element_at(RESULT, 4) + 1, .y_size = 1, .x_size = 1);
	run_done(b);
	assert_memory_equal(b->mem.bytes + RESULT, "\xff\xff\xff\xff", 4);
	assert_memory_equal(b->mem.bytes + RESULT + 4, want, 2);
	assert_memory_equal(b->mem.bytes + RESULT + 6, "\0\0\xff\xff\xff\xff", 6);
	bench_free(b);
}

TEST_F(BENCH, test_store_rows)
{
	static const uint8_t want[] = { 1, 2, 0xff, 3, 4, 0xff };

	for (int i = 0; i < 4; i++)
		set_acc(b, (uint32_t)i, i + 1);
	memset(b->mem.bytes + RESULT, 0xff, 6 * OUT_BYTES);
	add_move(b, store_to_result(2, 2, 3));
	run_done(b);
	for (uint32_t i = 0; i < 6 * OUT_BYTES; i++)
		assert_int_equal(b->mem.bytes[RESULT + i], want[i / OUT_BYTES]);
}

TEST_F(BENCH, test_store_overlap)
{
	for (int i = 0; i < 6; i++)
		set_acc(b, (uint32_t)i, i + 1);
	add_move(b, store_to_result(3, 2, 1));
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 1);
	assert_int_equal(b->mem.bytes[RESULT + 1 * OUT_BYTES], 3);
	assert_int_equal(b->mem.bytes[RESULT + 2 * OUT_BYTES], 5);
	assert_int_equal(b->mem.bytes[RESULT + 3 * OUT_BYTES], 6);

	add_move(b, store_to_result(3, 2, 0));
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 5);
	assert_int_equal(b->mem.bytes[RESULT + OUT_BYTES], 6);
}

TEST_F(BENCH, test_store_x_size_0)
{
	for (unsigned int memory = 0; memory < 8; memory++)
		ADD_MOVE(b, .opcode = INSN_STORE, .memory = memory, .sram_base = 0xffff,
			 .dram_base = 0xffffffff, .y_size = 9, .x_pad_0 = memory);
	run_done(b);
}

TEST_F(BENCH, test_store_illegal)
{
	for (int i = 0; i < 4; i++) {
		struct insn_move m = store_to_result(1, 1, 1);
		uint32_t *pads[] = { &m.y_pad_0, &m.y_pad_1, &m.x_pad_0, &m.x_pad_1 };

		*pads[i] = 1;
		add_move(b, m);
		run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
	}
	for (unsigned int memory = 0; memory < 8; memory++) {
		struct insn_move m = store_to_result(1, 1, 1);

		m.memory = memory;
		add_move(b, m);
		if (memory == INSN_OUT)
			run_done(b);
		else
			run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
	}
}

/* ---- GEMM ---------------------------------------------------------------- */

TEST_F(BENCH, test_gemm)
{
	for (int k = 0; k < 16; k++)
		b->ref.inp.v[3 * 16 + k] = k + 1;
	for (int o = 0; o < 16; o++)
		for (int k = 0; k < 16; k++)
			b->ref.wgt.v[5 * 256 + o * 16 + k] = k == 15 ? -o : o;
	set_acc(b, 7, 1000);
	set_uop(b, 0, 7, 3, 5);
	add_loop(b, gemm_once(0, 1));
	run_done(b);
	/* 1 + ... + 15 - 16 = 104 */
	for (int o = 0; o < 16; o++)
		assert_int_equal(acc(b, 7)[o], 1000 + 104 * o);
}

TEST(test_gemm_batch)
{
	struct core_config cfg = bench_cfg;
	struct bench *b;

	cfg.log_batch = 1;
	b = bench_new(&cfg);
	b->ref.inp.v[2] = 1;		/* row 0: column 2 of the weights */
	b->ref.inp.v[16 + 3] = 10;	/* row 1: ten times column 3 */
	for (int o = 0; o < 16; o++) {
		b->ref.wgt.v[o * 16 + 2] = 100 + o;
		b->ref.wgt.v[o * 16 + 3] = -o;
	}
	add_loop(b, gemm_once(0, 1));
	run_done(b);
	for (int o = 0; o < 16; o++) {
		assert_int_equal(acc(b, 0)[o], 100 + o);
		assert_int_equal(acc(b, 0)[16 + o], -10 * o);
	}
	bench_free(b);
}

TEST_F(BENCH, test_gemm_wraps)
{
	set_acc(b, 0, INT32_MAX - 1);
	b->ref.inp.v[0] = -128;
	b->ref.wgt.v[0] = -128;
	b->ref.wgt.v[16] = 127;
	add_loop(b, gemm_once(0, 1));
	run_done(b);
	assert_int_equal(acc(b, 0)[0], INT32_MIN + 16382);
	assert_int_equal(acc(b, 0)[1], INT32_MAX - 1 - 16256);
	assert_int_equal(acc(b, 0)[2], INT32_MAX - 1);
}

/* inp and wgt are not read, so their indices do not matter. */
TEST_F(BENCH, test_gemm_reset)
{
	struct insn_loop l = gemm_once(0, 1);

	set_acc(b, 0, 5);
	set_acc(b, 1, 6);
	set_uop(b, 0, 1, 2047, 1023);
	l.reset = true;
	l.iter_in = 2;
	l.dst_in = 2046;
	l.src_in = 2047;
	l.wgt_in = 1023;
	set_acc(b, 2047, 7);
	add_loop(b, l);
	run_done(b);
	assert_acc(b, 0, 5);
	assert_acc(b, 1, 0);
	assert_acc(b, 2047, 0);
}

TEST_F(BENCH, test_gemm_factors)
{
	/* One value each, so that the product shows which two met. */
	for (int s = 0; s < 32; s++)
		b->ref.inp.v[s * 16] = s;
	for (int w = 0; w < 32; w++)
		b->ref.wgt.v[w * 256] = w + 1;
	set_uop(b, 4, 1, 2, 3);
	ADD_LOOP(b, .opcode = INSN_GEMM, .uop_bgn = 4, .uop_end = 5, .iter_out = 2, .iter_in = 3,
		 .dst_out = 10, .dst_in = 1, .src_out = 7, .src_in = 2, .wgt_out = 5, .wgt_in = 4);
	run_done(b);
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++)
			assert_int_equal(acc(b, (uint32_t)(1 + 10 * i + j))[0],
					 (2 + 7 * i + 2 * j) * (3 + 5 * i + 4 * j + 1));
	assert_acc(b, 0, 0);
	assert_acc(b, 4, 0);
}

/* ---- ALU ----------------------------------------------------------------- */

static int32_t alu_imm(struct bench *b, unsigned int opcode, int32_t a, int16_t imm)
{
	set_uop(b, 0, 1, 0, 0);
	set_acc(b, 1, a);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = opcode, .use_imm = true, .imm = imm);
	run_done(b);
	assert_acc(b, 1, acc(b, 1)[0]);
	return acc(b, 1)[0];
}

static int32_t alu_tensor(struct bench *b, unsigned int opcode, int32_t a, int32_t operand)
{
	set_uop(b, 0, 1, 2, 0);
	set_acc(b, 1, a);
	set_acc(b, 2, operand);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = opcode, .imm = 99);
	run_done(b);
	assert_acc(b, 2, operand);
	assert_acc(b, 1, acc(b, 1)[0]);
	return acc(b, 1)[0];
}

TEST_F(BENCH, test_alu)
{
	assert_int_equal(alu_imm(b, INSN_MIN, 5, -3), -3);
	assert_int_equal(alu_imm(b, INSN_MIN, -5, -3), -5);
	assert_int_equal(alu_imm(b, INSN_MAX, 5, -3), 5);
	assert_int_equal(alu_imm(b, INSN_MAX, -5, -3), -3);
	assert_int_equal(alu_imm(b, INSN_ADD, 5, -32768), -32763);
	assert_int_equal(alu_imm(b, INSN_ADD, INT32_MAX, 1), INT32_MIN);
	assert_int_equal(alu_imm(b, INSN_MUL, -7, 6), -42);
	assert_int_equal(alu_imm(b, INSN_MUL, 0x10001, 0x7fff), 0x7fff7fff);
	assert_int_equal(alu_imm(b, INSN_MUL, 0x40000000, 2), INT32_MIN);
	assert_int_equal(alu_imm(b, INSN_MUL, INT32_MIN, -1), INT32_MIN);

	assert_int_equal(alu_tensor(b, INSN_MIN, INT32_MAX, INT32_MIN), INT32_MIN);
	assert_int_equal(alu_tensor(b, INSN_MAX, INT32_MAX, INT32_MIN), INT32_MAX);
	assert_int_equal(alu_tensor(b, INSN_ADD, INT32_MIN, INT32_MIN), 0);
	assert_int_equal(alu_tensor(b, INSN_MUL, 0x10000, 0x10000), 0);
	assert_int_equal(alu_tensor(b, INSN_MUL, 100000, 100000), 1410065408);
}

TEST_F(BENCH, test_alu_shifts)
{
	static const struct {
		int32_t a, n, want;
	} cases[] = {
		{ -5, 0, -5 }, { -5, 1, -3 }, { 5, 1, 2 }, { INT32_MIN, 31, -1 },
		{ INT32_MAX, 31, 0 }, { INT32_MIN, 32, -1 }, { INT32_MAX, 32, 0 },
		{ -1, 1000, -1 }, { 1, -1, 2 }, { 3, -30, (int32_t)0xc0000000 },
		{ 1, -31, INT32_MIN }, { -1, -31, INT32_MIN }, { -1, -32, 0 }, { -1, -33, 0 },
		{ 7, -1000, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(alu_imm(b, INSN_SHR, cases[i].a, (int16_t)cases[i].n),
				 cases[i].want);
		assert_int_equal(alu_tensor(b, INSN_SHR, cases[i].a, cases[i].n), cases[i].want);
	}
	assert_int_equal(alu_tensor(b, INSN_SHR, -9, INT32_MAX), -1);
	assert_int_equal(alu_tensor(b, INSN_SHR, -9, INT32_MIN), 0);
}

/* Only values in the same place meet. */
TEST_F(BENCH, test_alu_element_wise)
{
	for (int n = 0; n < 16; n++) {
		acc(b, 0)[n] = n;
		acc(b, 1)[n] = 100 * n;
	}
	set_uop(b, 0, 0, 1, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = INSN_ADD);
	run_done(b);
	for (int n = 0; n < 16; n++)
		assert_int_equal(acc(b, 0)[n], 101 * n);
}

TEST_F(BENCH, test_alu_imm_ignores_src)
{
	set_uop(b, 0, 0, 2047, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 2, .iter_in = 2, .src_out = 2047,
		 .src_in = 2047, .alu_opcode = INSN_ADD, .use_imm = true, .imm = 3);
	run_done(b);
	assert_acc(b, 0, 12);
}

TEST_F(BENCH, test_alu_opcodes)
{
	for (unsigned int opcode = 5; opcode < 8; opcode++) {
		ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
			 .alu_opcode = opcode);
		run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
	}
}

/* ---- Loops --------------------------------------------------------------- */

/* acc[n + 1] += acc[n] for n = 0 to 3, and that twice. */
TEST_F(BENCH, test_uops_in_sequence)
{
	set_acc(b, 0, 1);
	for (uint32_t u = 0; u < 4; u++)
		set_uop(b, u, u + 1, u, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 4, .iter_out = 1, .iter_in = 2,
		 .alu_opcode = INSN_ADD);
	run_done(b);
	assert_acc(b, 1, 2);
	assert_acc(b, 2, 3);
	assert_acc(b, 3, 4);
	assert_acc(b, 4, 5);
}

/* acc[i] += acc[j] for i, j in (0,0) (0,1) (1,0) (1,1): in another order, not this. */
TEST_F(BENCH, test_loop_order)
{
	set_acc(b, 0, 1);
	set_acc(b, 1, 10);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 2, .iter_in = 2, .dst_out = 1,
		 .src_in = 1, .alu_opcode = INSN_ADD);
	run_done(b);
	assert_acc(b, 0, 12);
	assert_acc(b, 1, 44);
}

TEST_F(BENCH, test_loops_of_0)
{
	struct insn_loop l = { .opcode = INSN_GEMM, .reset = true, .uop_bgn = 2, .uop_end = 3,
			       .iter_out = 1, .iter_in = 1 };

	set_acc(b, 0, 9);
	l.iter_out = 0;
	add_loop(b, l);
	l.iter_out = 1;
	l.iter_in = 0;
	add_loop(b, l);
	l.iter_in = 1;
	l.uop_end = 2;
	add_loop(b, l);
	l.uop_end = 1;
	add_loop(b, l);
	l.opcode = INSN_ALU;
	l.alu_opcode = INSN_MUL;
	l.use_imm = true;
	add_loop(b, l);
	run_done(b);
	assert_acc(b, 0, 9);
}

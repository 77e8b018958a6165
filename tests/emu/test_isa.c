// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_isa.c - what instructions do, against results computed by hand
 *
 * At least one case for each rule of docs/isa.md, so that a disagreement between the core and the
 * reference can be settled here.
 */
#include <string.h>

#include "isa_bench.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* ---- Encoding ------------------------------------------------------------ */

/* Assembled by hand from the field tables, not by insn.c. */
CASE(fields, ON_ALL)
{
	struct insn insn;

	/* LOAD, push_next, INP, sram 5; 1 row of 2, stride 9, pads 0 0 1 2 */
	insn.word[0] = 0ull | 1ull << 6 | 2ull << 7 | 5ull << 10 |
		       (uint64_t)((BASE + DATA) / 16) << 26;
	insn.word[1] = 1ull | 2ull << 16 | 9ull << 32 | 1ull << 56 | 2ull << 60;
	b->mem.bytes[DATA] = 0x80;
	b->mem.bytes[DATA + 0x1f] = 0x7f;
	set_value(b, INSN_INP, 5, 0, 99);
	set_value(b, INSN_INP, 9, 15, 99);
	set_value(b, INSN_INP, 10, 0, 99);
	add(b, insn);
	/* GEMM, pop_prev: micro-op 3, 1 round, dst factors 0: acc[1] += inp[6] * wgt[2] */
	insn.word[0] = 2ull | 1ull << 3 | 3ull << 8 | 4ull << 21 | 1ull << 35 | 1ull << 49;
	insn.word[1] = 0;
	set_value(b, INSN_UOP, 3, 0, (int32_t)(1u | 6u << 11 | 2u << 22));
	for (int o = 0; o < 16; o++)
		set_value(b, INSN_WGT, 2, (uint32_t)o * 16, o);
	add(b, insn);
	/* ALU ADD of -7 to acc[1 + 2]: two rounds out with dst factor 2, src unused */
	insn.word[0] = 4ull | 3ull << 8 | 4ull << 21 | 2ull << 35 | 1ull << 49;
	insn.word[1] = 2ull | 2ull << 44 | 1ull << 47 | 0xfff9ull << 48;
	add(b, insn);
	run_done(b);

	assert_int_equal(get_value(b, INSN_INP, 5, 0), 0);	/* padding */
	assert_int_equal(get_value(b, INSN_INP, 6, 0), -128);
	assert_int_equal(get_value(b, INSN_INP, 7, 15), 127);
	assert_int_equal(get_value(b, INSN_INP, 9, 15), 0);	/* padding */
	assert_int_equal(get_value(b, INSN_INP, 10, 0), 99);	/* beyond it */
	for (int o = 0; o < 16; o++)
		assert_int_equal(get_acc(b, 1, (uint32_t)o), -128 * o - 7);
	assert_acc(b, 3, -7);
	assert_acc(b, 2, 0);
}

CASE(insn_builders, ON_REF)
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
	insn = insn_loop(&b->cfg, &(struct insn_loop){
		.opcode = INSN_GEMM, .flags = INSN_POP_NEXT | INSN_PUSH_NEXT, .reset = true,
		.uop_bgn = 0x1555, .uop_end = 0x2aaa, .iter_out = 0x1234, .iter_in = 0x2345,
		.dst_out = 1, .dst_in = 2, .src_out = 3, .src_in = 4, .wgt_out = 5, .wgt_in = 6 });
	assert_int_equal(insn.word[0], 2ull | 1ull << 4 | 1ull << 6 | 1ull << 7 | 0x1555ull << 8 |
			 0x2aaaull << 21 | 0x1234ull << 35 | 0x2345ull << 49);
	assert_int_equal(insn.word[1], 1ull | 2ull << 11 | 3ull << 22 | 4ull << 33 | 5ull << 44 |
			 6ull << 54);
	insn = insn_loop(&b->cfg, &(struct insn_loop){
		.opcode = INSN_ALU, .dst_out = 1, .dst_in = 2, .src_out = 3, .src_in = 4,
		.alu_opcode = INSN_MUL, .use_imm = true, .imm = -2 });
	assert_int_equal(insn.word[1], 1ull | 2ull << 11 | 3ull << 22 | 4ull << 33 | 4ull << 44 |
			 1ull << 47 | 0xfffeull << 48);
	assert_int_equal(insn_uop(&b->cfg, 1, 2, 3, ~0u), 1u | 2u << 11 | 3u << 22);
	insn_to_bytes((struct insn){ { 0x0807060504030201ull, 0x100f0e0d0c0b0a09ull } }, bytes);
	for (int i = 0; i < 16; i++)
		assert_int_equal(bytes[i], i + 1);
}

CASE(reserved_bits, ON_ALL)
{
	static const struct insn junk = { { ~0ull, ~0ull } };

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

CASE(load_pads_every_side, ON_ALL)
{
	static const struct {
		enum insn_memory memory, pad;
		uint32_t bytes;
		int32_t value;	/* of the data's byte 1 */
	} types[] = {
		{ INSN_INP, INSN_INP, INP_BYTES, 1 },
		{ INSN_WGT, INSN_WGT, WGT_BYTES, 1 },
		{ INSN_ACC, INSN_ACC, ACC_BYTES, 0x01010101 },
		{ INSN_ACC_8BIT, INSN_ACC, 16, 1 },
		{ INSN_UOP, INSN_UOP, 4, 0x01010101 },
	};
	/* 1 row above, 2 below, 1 column left, 2 right of 2 rows of 3, 4 apart. */
	static const int want[] = {
		0, 0, 0, 0, 0, 0,
		0, 1, 2, 3, 0, 0,
		0, 5, 6, 7, 0, 0,
		0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0,
	};

	for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
		fill_pad(b, types[t].pad, 40, 77);
		for (uint32_t i = 0; i < 8 * types[t].bytes; i++)
			b->mem.bytes[DATA + i] = (uint8_t)(1 + i / types[t].bytes);
		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = types[t].memory, .sram_base = 5,
			 .dram_base = element_at(DATA, types[t].bytes), .y_size = 2, .x_size = 3,
			 .x_stride = 4, .y_pad_0 = 1, .y_pad_1 = 2, .x_pad_0 = 1, .x_pad_1 = 2);
		run_done(b);
		assert_element(b, types[t].pad, 4, 77);
		for (uint32_t i = 0; i < 30; i++)
			assert_element(b, types[t].pad, 5 + i, want[i] * types[t].value);
		assert_element(b, types[t].pad, 35, 77);
	}
}

CASE(load_small_strides, ON_ALL)
{
	static const int32_t want[] = { 1, 2, 3, 2, 3, 4, 1, 2, 1, 2 };

	for (uint32_t i = 0; i < 6; i++)
		b->mem.bytes[DATA + 4 * i] = (uint8_t)(1 + i);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_UOP, .dram_base = element_at(DATA, 4),
		 .y_size = 2, .x_size = 3, .x_stride = 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_UOP, .sram_base = 6,
		 .dram_base = element_at(DATA, 4), .y_size = 2, .x_size = 2, .x_stride = 0);
	run_done(b);
	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_element(b, INSN_UOP, i, want[i]);
}

CASE(load_acc_8bit_extends, ON_ALL)
{
	for (uint32_t i = 0; i < 16; i++)
		b->mem.bytes[DATA + 16 + i] = (uint8_t)(0x7e + i);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_ACC_8BIT, .sram_base = 2,
		 .dram_base = element_at(DATA, 16) + 1, .y_size = 1, .x_size = 1);
	run_done(b);
	assert_int_equal(get_acc(b, 2, 0), 126);
	assert_int_equal(get_acc(b, 2, 1), 127);
	for (int i = 2; i < 16; i++)
		assert_int_equal(get_acc(b, 2, (uint32_t)i), -130 + i);
}

CASE(load_acc_little_endian, ON_ALL)
{
	memcpy(b->mem.bytes + DATA + 4, "\x01\x02\x03\x84", 4);
	add_row(b, INSN_ACC, 0, 1);
	run_done(b);
	assert_int_equal(get_acc(b, 0, 1), (int32_t)0x84030201);
}

/* Nothing is written, not even padding; no type, address or index is checked. */
CASE(load_x_size_0, ON_ALL)
{
	fill_pad(b, INSN_INP, 20, 77);
	fill_pad(b, INSN_ACC, 20, 77);
	for (unsigned int memory = 0; memory < 8; memory++)
		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = memory, .sram_base = 0xffff,
			 .dram_base = 0xffffffff, .y_size = 3, .x_pad_0 = 2, .y_pad_0 = 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_INP, .y_size = 3, .x_pad_0 = 2,
		 .y_pad_0 = 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_ACC, .y_size = 2, .x_pad_0 = 1,
		 .x_pad_1 = 1, .y_pad_0 = 1, .y_pad_1 = 1);
	run_done(b);
	for (uint32_t i = 0; i < 20; i++) {
		assert_element(b, INSN_INP, i, 77);
		assert_element(b, INSN_ACC, i, 77);
	}
}

CASE(load_y_size_0, ON_ALL)
{
	static const enum insn_memory memories[] = { INSN_INP, INSN_ACC };

	for (size_t m = 0; m < ARRAY_SIZE(memories); m++) {
		fill_pad(b, memories[m], 20, 77);
		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = memories[m], .sram_base = 1,
			 .dram_base = 0xffffffff, .x_size = 2, .x_pad_1 = 1, .y_pad_0 = 1,
			 .y_pad_1 = 2);
		run_done(b);
		assert_element(b, memories[m], 0, 77);
		for (uint32_t i = 1; i < 10; i++)
			assert_element(b, memories[m], i, 0);
		assert_element(b, memories[m], 10, 77);
	}
}

CASE(load_sub_byte, ON_ALL)
{
	static const int32_t inp[] = { 0, 1, -2, -1 };
	struct core_config cfg = core_config_default;

	cfg.log_inp_width = 1;
	cfg.log_inp_buff_size = 13;
	cfg.log_wgt_width = 2;
	cfg.log_wgt_buff_size = 17;
	bench_configure(b, &cfg);
	b->mem.bytes[DATA] = 0xe4;		/* 2-bit 0, 1, -2, -1 */
	b->mem.bytes[DATA + 3] = 0x80;		/* the last is -2 */
	b->mem.bytes[DATA + 128] = 0x7f;	/* 4-bit -1, 7 */
	b->mem.bytes[DATA + 255] = 0x80;	/* the last is -8 */
	add_row(b, INSN_INP, 0, 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_WGT, .sram_base = 1,
		 .dram_base = element_at(DATA, 128) + 1, .y_size = 1, .x_size = 1);
	run_done(b);
	for (uint32_t i = 0; i < ARRAY_SIZE(inp); i++)
		assert_int_equal(get_value(b, INSN_INP, 0, i), inp[i]);
	assert_int_equal(get_value(b, INSN_INP, 0, 15), -2);
	assert_int_equal(get_value(b, INSN_WGT, 1, 0), -1);
	assert_int_equal(get_value(b, INSN_WGT, 1, 1), 7);
	assert_int_equal(get_value(b, INSN_WGT, 1, 255), -8);
}

CASE(operands_of_load, ON_ALL)
{
	static const unsigned int bad[] = { INSN_OUT, 6, 7 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = bad[i], .y_size = 1);
		ADD_MOVE(b, .opcode = INSN_LOAD, .memory = bad[i], .y_size = 1, .x_size = 1,
			 .dram_base = element_at(DATA, 4));
		run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 1);
		if (b->core) {
			assert_int_equal(b->fault.insn[0] & 0x3ffffff, bad[i] << 7);
			assert_int_equal(b->fault.insn[2], 1 << 16 | 1);
		}
	}
}

/* ---- STORE --------------------------------------------------------------- */

CASE(store_truncates, ON_ALL)
{
	static const int32_t from[] = {
		0, 127, 128, -128, -129, 256, 0x12345678, INT32_MIN, 0x17f, (int32_t)0x80000080
	};
	static const uint8_t want[] = { 0, 0x7f, 0x80, 0x80, 0x7f, 0, 0x78, 0, 0x7f, 0x80 };

	for (uint32_t i = 0; i < ARRAY_SIZE(from); i++)
		set_value(b, INSN_ACC, 0, i, from[i]);
	b->mem.bytes[RESULT - 1] = 0xee;
	b->mem.bytes[RESULT + OUT_BYTES] = 0xee;
	add_move(b, store_to_result(1, 1, 1));
	run_done(b);
	assert_memory_equal(b->mem.bytes + RESULT, want, sizeof(want));
	assert_int_equal(b->mem.bytes[RESULT - 1], 0xee);
	assert_int_equal(b->mem.bytes[RESULT + OUT_BYTES], 0xee);
}

CASE(store_sub_byte, ON_ALL)
{
	static const int32_t from[] = { 0, 1, -2, -1, 2, 5, 7, -8 };
	static const uint8_t want[] = { 0xe4, 0x36 };
	struct core_config cfg = core_config_default;

	cfg.log_inp_width = 1;
	cfg.log_inp_buff_size = 13;
	bench_configure(b, &cfg);
	for (uint32_t i = 0; i < ARRAY_SIZE(from); i++)
		set_value(b, INSN_ACC, 1, i, from[i]);
	memset(b->mem.bytes + RESULT, 0xff, 12);
	ADD_MOVE(b, .opcode = INSN_STORE, .memory = INSN_OUT, .sram_base = 1,
		 .dram_base = element_at(RESULT, 4) + 1, .y_size = 1, .x_size = 1);
	run_done(b);
	assert_memory_equal(b->mem.bytes + RESULT, "\xff\xff\xff\xff", 4);
	assert_memory_equal(b->mem.bytes + RESULT + 4, want, 2);
	assert_memory_equal(b->mem.bytes + RESULT + 6, "\0\0\xff\xff\xff\xff", 6);
}

/* int4 inputs and int2 weights, 1x2: every value by hand. */
CASE(sub_byte_types, ON_ALL)
{
	static const struct core_config cfg = { 2, 1, 5, 0, 1, 4, 4, 4, 8, 1, 0, 0 };

	bench_configure(b, &cfg);
	b->mem.bytes[DATA] = 0x87;	/* 7, -8 */
	b->mem.bytes[DATA + 16] = 0xe1;	/* rows 1, 0 and -2, -1: 01 00 10 11 from bit 0 up */
	add_row(b, INSN_INP, 0, 1);
	ADD_MOVE(b, .opcode = INSN_LOAD, .memory = INSN_WGT, .y_size = 1, .x_size = 1,
		 .dram_base = element_at(DATA, 1) + 16);
	run_done(b);
	add_loop(b, gemm_once(0, 1));
	add_row(b, INSN_ACC_8BIT, 1, 1);
	run_done(b);
	ADD_MOVE(b, .opcode = INSN_STORE, .memory = INSN_OUT, .y_size = 1, .x_size = 1,
		 .dram_base = element_at(RESULT, 1));
	run_done(b);
	/* OUT is as wide as INP: the low 4 bits, low value first. */
	assert_int_equal(get_acc(b, 0, 0), 7);
	assert_int_equal(get_acc(b, 0, 1), 7 * -2 + -8 * -1);
	assert_int_equal(b->mem.bytes[RESULT], 0xa7);
	assert_int_equal(get_acc(b, 1, 0), (int8_t)0x87);
}

CASE(store_rows, ON_ALL)
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

/* The last row wins. */
CASE(store_overlap, ON_ALL)
{
	static const uint8_t want[] = { 1, 3, 5, 6, 0 };

	for (int i = 0; i < 6; i++)
		set_acc(b, (uint32_t)i, i + 1);
	add_move(b, store_to_result(3, 2, 1));
	run_done(b);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(b->mem.bytes[RESULT + i * OUT_BYTES], want[i]);

	add_move(b, store_to_result(3, 2, 0));
	run_done(b);
	assert_int_equal(b->mem.bytes[RESULT], 5);
	assert_int_equal(b->mem.bytes[RESULT + OUT_BYTES], 6);
}

CASE(store_x_size_0, ON_ALL)
{
	for (unsigned int memory = 0; memory < 8; memory++)
		ADD_MOVE(b, .opcode = INSN_STORE, .memory = memory, .sram_base = 0xffff,
			 .dram_base = 0xffffffff, .y_size = 9, .x_pad_0 = memory, .y_pad_0 = 3);
	run_done(b);
}

CASE(operands_of_store, ON_ALL)
{
	for (int i = 0; i < 4; i++) {
		struct insn_move m = store_to_result(1, 1, 1);
		uint32_t *pads[] = { &m.y_pad_0, &m.y_pad_1, &m.x_pad_0, &m.x_pad_1 };

		*pads[i] = 1;
		for (m.memory = 0; m.memory < 8; m.memory++) {
			add_move(b, m);
			run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
		}
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

CASE(gemm_multiplies, ON_ALL)
{
	for (int k = 0; k < 16; k++)
		set_value(b, INSN_INP, 3, (uint32_t)k, k + 1);
	for (int o = 0; o < 16; o++)
		for (int k = 0; k < 16; k++)
			set_value(b, INSN_WGT, 5, (uint32_t)(o * 16 + k), k == 15 ? -o : o);
	set_acc(b, 7, 1000);
	set_uop(b, 0, 7, 3, 5);
	/* 1 + ... + 15 - 16 = 104; and again, it adds */
	for (int times = 1; times <= 2; times++) {
		add_loop(b, gemm_once(0, 1));
		run_done(b);
		for (int o = 0; o < 16; o++)
			assert_int_equal(get_acc(b, 7, (uint32_t)o), 1000 + times * 104 * o);
	}
}

CASE(gemm_batch, ON_ALL)
{
	struct core_config cfg = core_config_default;

	cfg.log_batch = 1;
	bench_configure(b, &cfg);
	set_value(b, INSN_INP, 0, 2, 1);	/* row 0: column 2 of the weights */
	set_value(b, INSN_INP, 0, 16 + 3, 10);	/* row 1: ten times column 3 */
	for (int o = 0; o < 16; o++) {
		set_value(b, INSN_WGT, 0, (uint32_t)o * 16 + 2, 100 + o);
		set_value(b, INSN_WGT, 0, (uint32_t)o * 16 + 3, -o);
	}
	add_loop(b, gemm_once(0, 1));
	run_done(b);
	for (int o = 0; o < 16; o++) {
		assert_int_equal(get_acc(b, 0, (uint32_t)o), 100 + o);
		assert_int_equal(get_acc(b, 0, 16 + (uint32_t)o), -10 * o);
	}
}

CASE(gemm_wraps, ON_ALL)
{
	set_acc(b, 0, INT32_MAX - 1);
	set_value(b, INSN_INP, 0, 0, -128);
	set_value(b, INSN_WGT, 0, 0, -128);
	set_value(b, INSN_WGT, 0, 16, 127);
	add_loop(b, gemm_once(0, 1));
	run_done(b);
	assert_int_equal(get_acc(b, 0, 0), INT32_MIN + 16382);
	assert_int_equal(get_acc(b, 0, 1), INT32_MAX - 1 - 16256);
	assert_int_equal(get_acc(b, 0, 2), INT32_MAX - 1);

	set_acc(b, 0, INT32_MIN);
	add_loop(b, gemm_once(0, 1));
	run_done(b);
	assert_int_equal(get_acc(b, 0, 0), INT32_MIN + 16384);
	assert_int_equal(get_acc(b, 0, 1), INT32_MAX - 16255);
}

/* inp and wgt are not read, so their indices do not matter. */
CASE(gemm_reset, ON_ALL)
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
	assert_int_equal(b->stats.gemm_uops, 0);
}

CASE(gemm_factors, ON_ALL)
{
	/* One value each, so that the product shows which two met. */
	for (int s = 0; s < 32; s++)
		set_value(b, INSN_INP, (uint32_t)s, 0, s);
	for (int w = 0; w < 32; w++)
		set_value(b, INSN_WGT, (uint32_t)w, 0, w + 1);
	set_uop(b, 4, 1, 2, 3);
	ADD_LOOP(b, .opcode = INSN_GEMM, .uop_bgn = 4, .uop_end = 5, .iter_out = 2, .iter_in = 3,
		 .dst_out = 10, .dst_in = 1, .src_out = 7, .src_in = 2, .wgt_out = 5, .wgt_in = 4);
	run_done(b);
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++)
			assert_int_equal(get_acc(b, (uint32_t)(1 + 10 * i + j), 0),
					 (2 + 7 * i + 2 * j) * (3 + 5 * i + 4 * j + 1));
	assert_acc(b, 0, 0);
	assert_acc(b, 4, 0);
	if (b->core)
		assert_int_equal(b->stats.gemm_uops, 6);
}

/* ---- ALU ----------------------------------------------------------------- */

static int32_t compute(struct bench *b, unsigned int opcode, int32_t a, int32_t operand,
		       bool use_imm)
{
	set_uop(b, 0, 1, 2, 0);
	set_acc(b, 1, a);
	set_acc(b, 2, operand);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = opcode, .use_imm = use_imm, .imm = use_imm ? (int16_t)operand : 99);
	run_done(b);
	if (b->core)
		assert_int_equal(b->stats.alu_uops, 1);
	assert_acc(b, 2, operand);
	assert_acc(b, 1, get_acc(b, 1, 0));
	return get_acc(b, 1, 0);
}

CASE(alu_operations, ON_ALL)
{
	static const struct {
		enum insn_alu_opcode op;
		int32_t a, operand, want;
	} tests[] = {
		{ INSN_MIN, 5, -3, -3 }, { INSN_MIN, -5, -3, -5 },
		{ INSN_MIN, INT32_MAX, INT32_MIN, INT32_MIN },
		{ INSN_MAX, 5, -3, 5 }, { INSN_MAX, -5, -3, -3 },
		{ INSN_MAX, INT32_MAX, INT32_MIN, INT32_MAX },
		{ INSN_ADD, 5, -32768, -32763 }, { INSN_ADD, INT32_MAX, 1, INT32_MIN },
		{ INSN_ADD, INT32_MIN, INT32_MIN, 0 },
		{ INSN_MUL, -7, 6, -42 }, { INSN_MUL, 0x10001, 0x7fff, 0x7fff7fff },
		{ INSN_MUL, 0x40000000, 2, INT32_MIN }, { INSN_MUL, INT32_MIN, -1, INT32_MIN },
		{ INSN_MUL, 0x10000, 0x10000, 0 }, { INSN_MUL, 65536, 65537, 65536 },
		{ INSN_MUL, 100000, 100000, 1410065408 },
		{ INSN_SHR, -5, 0, -5 }, { INSN_SHR, -5, 1, -3 }, { INSN_SHR, 5, 1, 2 },
		{ INSN_SHR, 5, 0, 5 }, { INSN_SHR, -5, 31, -1 }, { INSN_SHR, -5, 32, -1 },
		{ INSN_SHR, INT32_MIN, 31, -1 }, { INSN_SHR, INT32_MAX, 31, 0 },
		{ INSN_SHR, INT32_MIN, 32, -1 }, { INSN_SHR, INT32_MAX, 32, 0 },
		{ INSN_SHR, INT32_MAX, 32767, 0 }, { INSN_SHR, -1, 1000, -1 },
		{ INSN_SHR, -9, INT32_MAX, -1 }, { INSN_SHR, -9, INT32_MIN, 0 },
		{ INSN_SHR, 1, -1, 2 }, { INSN_SHR, 3, -4, 48 },
		{ INSN_SHR, 3, -30, (int32_t)0xc0000000 }, { INSN_SHR, 1, -31, INT32_MIN },
		{ INSN_SHR, -1, -31, INT32_MIN }, { INSN_SHR, -3, -31, INT32_MIN },
		{ INSN_SHR, -1, -32, 0 }, { INSN_SHR, -1, -33, 0 }, { INSN_SHR, 7, -1000, 0 },
		{ INSN_SHR, -3, -32768, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		int32_t a = tests[i].a, operand = tests[i].operand;

		assert_int_equal(compute(b, tests[i].op, a, operand, false), tests[i].want);
		if (operand == (int16_t)operand)
			assert_int_equal(compute(b, tests[i].op, a, operand, true), tests[i].want);
	}
}

/* Only values in the same place meet. */
CASE(alu_element_wise, ON_ALL)
{
	for (int n = 0; n < 16; n++) {
		set_value(b, INSN_ACC, 0, (uint32_t)n, n);
		set_value(b, INSN_ACC, 1, (uint32_t)n, 100 * n);
	}
	set_uop(b, 0, 0, 1, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 1, .iter_in = 1,
		 .alu_opcode = INSN_ADD);
	run_done(b);
	for (int n = 0; n < 16; n++)
		assert_int_equal(get_acc(b, 0, (uint32_t)n), 101 * n);
}

CASE(alu_imm_ignores_src, ON_ALL)
{
	set_uop(b, 0, 0, 2047, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 2, .iter_in = 2, .src_out = 2047,
		 .src_in = 2047, .alu_opcode = INSN_ADD, .use_imm = true, .imm = 3);
	run_done(b);
	assert_acc(b, 0, 12);
}

CASE(alu_opcodes, ON_ALL)
{
	for (unsigned int opcode = 5; opcode < 8; opcode++) {
		for (unsigned int rounds = 0; rounds < 2; rounds++) {
			ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = rounds, .iter_out = rounds,
				 .iter_in = rounds, .alu_opcode = opcode);
			run_fault(b, VTA_FAULT_INSN, VTA_ACCESS_NONE, 0);
		}
	}
}

/* ---- Loops --------------------------------------------------------------- */

/* acc[n + 1] += acc[n] for n = 0 to 3, and that twice. */
CASE(uops_in_sequence, ON_ALL)
{
	set_acc(b, 0, 1);
	for (uint32_t u = 0; u < 4; u++)
		set_uop(b, u, u + 1, u, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 4, .iter_out = 1, .iter_in = 2,
		 .alu_opcode = INSN_ADD);
	run_done(b);
	for (int n = 1; n <= 4; n++)
		assert_acc(b, (uint32_t)n, n + 1);
}

/* acc[i + 1] += acc[i], then doubled: each sees the one before. */
CASE(rounds_in_sequence, ON_ALL)
{
	set_acc(b, 0, 1);
	set_uop(b, 0, 1, 0, 0);
	set_uop(b, 1, 1, 1, 0);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 2, .iter_out = 1, .iter_in = 3, .dst_in = 1,
		 .src_in = 1, .alu_opcode = INSN_ADD);
	run_done(b);
	for (int n = 0; n <= 3; n++)
		assert_acc(b, (uint32_t)n, 1 << n);
}

/* acc[i] += acc[j] for i, j in (0,0) (0,1) (1,0) (1,1): in another order, not this. */
CASE(loop_order, ON_ALL)
{
	set_acc(b, 0, 1);
	set_acc(b, 1, 10);
	ADD_LOOP(b, .opcode = INSN_ALU, .uop_end = 1, .iter_out = 2, .iter_in = 2, .dst_out = 1,
		 .src_in = 1, .alu_opcode = INSN_ADD);
	run_done(b);
	assert_acc(b, 0, 12);
	assert_acc(b, 1, 44);
}

CASE(loops_of_0, ON_ALL)
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

int main(void)
{
	return isa_main("instructions");
}

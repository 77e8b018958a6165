// SPDX-License-Identifier: GPL-2.0-only
/* ref_bench.c - a reference, its memory and a stream (see ref_bench.h) */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ref_bench.h"

const struct core_config bench_cfg = {
	.log_inp_width = 3,
	.log_wgt_width = 3,
	.log_acc_width = 5,
	.log_batch = 0,
	.log_block = 4,
	.log_uop_buff_size = 15,
	.log_inp_buff_size = 15,
	.log_wgt_buff_size = 18,
	.log_acc_buff_size = 17,
	.hw_ver = 2,
};

struct bench *bench_new(const struct core_config *cfg)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	ref_init(&b->ref, cfg);
	b->mem = (struct ref_mem){ .bytes = calloc(1, SIZE), .base = BASE, .size = SIZE };
	assert_non_null(b->mem.bytes);
	return b;
}

void bench_free(struct bench *b)
{
	ref_free(&b->ref);
	free(b->mem.bytes);
	free(b);
}

int bench_setup(void **state)
{
	*state = bench_new(&bench_cfg);
	return 0;
}

int bench_teardown(void **state)
{
	bench_free(*state);
	return 0;
}

void add(struct bench *b, struct insn insn)
{
	insn_to_bytes(insn, b->mem.bytes + 16 * b->count++);
}

void add_move(struct bench *b, struct insn_move move)
{
	add(b, insn_move(&move));
}

void add_loop(struct bench *b, struct insn_loop loop)
{
	add(b, insn_loop(&b->ref.cfg, &loop));
}

/* Run what was added, and start a new stream. */
bool run(struct bench *b, uint64_t schedule)
{
	uint32_t count = b->count;

	b->count = 0;
	return ref_run(&b->ref, &b->mem, BASE, count, schedule, &b->fault);
}

void run_done(struct bench *b)
{
	assert_true(run(b, 0));
	assert_int_equal(b->fault.reason, VTA_FAULT_NONE);
}

void run_fault(struct bench *b, enum vta_fault_reason reason, enum vta_access access,
	       uint32_t index)
{
	assert_false(run(b, 0));
	assert_int_equal(b->fault.reason, reason);
	assert_int_equal(b->fault.access, access);
	assert_int_equal(b->fault.insn_index, index);
}

uint32_t element_at(uint32_t offset, uint32_t bytes)
{
	return (BASE + offset) / bytes;
}

int32_t *acc(struct bench *b, uint32_t index)
{
	return &b->ref.acc.v[index * b->ref.acc.values];
}

void set_acc(struct bench *b, uint32_t index, int32_t value)
{
	for (uint32_t n = 0; n < b->ref.acc.values; n++)
		acc(b, index)[n] = value;
}

/* All values of an element alike. */
void assert_acc(struct bench *b, uint32_t index, int32_t value)
{
	for (uint32_t n = 0; n < b->ref.acc.values; n++)
		assert_int_equal(acc(b, index)[n], value);
}

void set_uop(struct bench *b, uint32_t index, uint32_t dst, uint32_t src, uint32_t wgt)
{
	b->ref.uop.v[index] = (int32_t)insn_uop(&b->ref.cfg, dst, src, wgt, 0);
}

struct insn_move store_to_result(uint32_t y_size, uint32_t x_size, uint32_t x_stride)
{
	return (struct insn_move){ .opcode = INSN_STORE, .memory = INSN_OUT,
				   .dram_base = element_at(RESULT, OUT_BYTES), .y_size = y_size,
				   .x_size = x_size, .x_stride = x_stride };
}

struct insn_loop gemm_once(uint32_t uop_bgn, uint32_t uop_end)
{
	return (struct insn_loop){ .opcode = INSN_GEMM, .uop_bgn = uop_bgn, .uop_end = uop_end,
				   .iter_out = 1, .iter_in = 1 };
}

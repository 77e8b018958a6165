/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ref_bench.h - a reference, its memory and a stream, for hand-made cases
 *
 * The cases run on TVM's default configuration unless they make a bench of
 * their own. The functions fail the cmocka test that calls them.
 */
#ifndef TESTS_EMU_REF_BENCH_H
#define TESTS_EMU_REF_BENCH_H

#include "insn.h"
#include "ref.h"

/* Streams go to the start of memory, data where the cases put it. */
#define BASE		0x100000u
#define SIZE		0x10000u
#define DATA		0x4000u
#define RESULT		0x8000u

/* The default's elements in memory. */
#define INP_BYTES	16u
#define WGT_BYTES	256u
#define ACC_BYTES	64u
#define OUT_BYTES	16u

extern const struct core_config bench_cfg;	/* TVM's default */

struct bench {
	struct ref ref;
	struct ref_mem mem;
	struct ref_fault fault;
	uint32_t count;		/* instructions that add() has put in place */
};

struct bench *bench_new(const struct core_config *cfg);
void bench_free(struct bench *b);

/* cmocka fixtures: a bench with bench_cfg. */
int bench_setup(void **state);
int bench_teardown(void **state);
#define BENCH struct bench *b, bench_setup, bench_teardown

/* Append to the stream. */
void add(struct bench *b, struct insn insn);
void add_move(struct bench *b, struct insn_move move);
void add_loop(struct bench *b, struct insn_loop loop);

/* The same with the fields named in place: ADD_MOVE(b, .opcode = INSN_LOAD, ...). */
#define ADD_MOVE(b, ...)	add_move(b, (struct insn_move){ __VA_ARGS__ })
#define ADD_LOOP(b, ...)	add_loop(b, (struct insn_loop){ __VA_ARGS__ })

/* Run what was added, and start a new stream. */
bool run(struct bench *b, uint64_t schedule);
void run_done(struct bench *b);
void run_fault(struct bench *b, enum vta_fault_reason reason, enum vta_access access,
	       uint32_t index);

/* Address of memory at @offset, in elements of @bytes. */
uint32_t element_at(uint32_t offset, uint32_t bytes);

/* The values of an ACC element; all of them alike. */
int32_t *acc(struct bench *b, uint32_t index);
void set_acc(struct bench *b, uint32_t index, int32_t value);
void assert_acc(struct bench *b, uint32_t index, int32_t value);

void set_uop(struct bench *b, uint32_t index, uint32_t dst, uint32_t src, uint32_t wgt);

/* STORE from the start of ACC to RESULT; GEMM of a range of micro-ops, once. */
struct insn_move store_to_result(uint32_t y_size, uint32_t x_size, uint32_t x_stride);
struct insn_loop gemm_once(uint32_t uop_bgn, uint32_t uop_end);

#endif /* TESTS_EMU_REF_BENCH_H */

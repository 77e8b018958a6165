/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * isa_bench.h - cases of the instruction set, run on the reference and on the core
 *
 *	CASE(name, targets) { ... }
 *
 * is a test for each of the targets: the reference, the core in each order of its modules, and a
 * model of the core (core/core_model.h) in a program that sets isa_model, which runs no other. It
 * has a struct bench *b: TVM's default configuration, zeroed scratchpads and memory. A file of
 * cases has a main() that returns isa_main(). All functions fail the case that calls them.
 */
#ifndef TESTS_EMU_ISA_BENCH_H
#define TESTS_EMU_ISA_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/core_impl.h"
#include "core/core_model.h"
#include "flat.h"
#include "insn.h"
#include "ref.h"

/* Memory, from BASE on: the stream at its start; the cases read DATA and write RESULT. */
#define BASE		0x100000u
#define SIZE		0x400000u
#define DATA		0x200000u
#define RESULT		0x300000u

/* Bytes in memory of the default's elements. */
#define INP_BYTES	16u
#define WGT_BYTES	256u
#define ACC_BYTES	64u
#define OUT_BYTES	16u

enum target {
	ON_REF		= 1,
	ON_INORDER	= 2,
	ON_GREEDY	= 4,
	ON_RANDOM	= 8,
	ON_MODEL	= 16,
	ON_CORES	= ON_INORDER | ON_GREEDY | ON_RANDOM | ON_MODEL,
	ON_ALL		= ON_REF | ON_CORES,
};

struct bench;

struct isa_case {
	const char *name;
	void (*run)(struct bench *b);
	unsigned int targets;
};

struct bench {
	const struct isa_case *test;
	enum target target;
	struct core_config cfg;
	struct flat mem;
	uint32_t count;			/* instructions that add() has put in place */
	uint64_t cycle_limit;		/* of a core's runs */
	uint64_t schedule;		/* of the reference's runs */
	struct core_fault fault;	/* addr and insn are not known of the reference */
	struct core_stats stats;	/* of a core's last run */
	uint32_t waiting[REF_MODULES];	/* of the reference's last run, see struct ref_fault */
	struct ref ref;
	struct core *core;		/* NULL: the target is the reference */
	uint8_t *state;			/* of a model: its state in memory, */
	bool known;			/* which is the present one, */
	bool changed;			/* or what is to be restored before the next run */
};

/* Finds the model of a configuration; it may return NULL: cases of that one are skipped. */
extern const struct core_model *(*isa_model)(const struct core_config *cfg);

void isa_add(const struct isa_case *test);
int isa_main(const char *group);

/* A constructor's priority is the case's place in the file. */
#define CASE(name, targets) \
	static void name(struct bench *b); \
	static void __attribute__((constructor(1000 + __COUNTER__))) add_##name(void) \
	{ \
		static const struct isa_case test = { #name, name, targets }; \
		\
		isa_add(&test); \
	} \
	static void name(struct bench *b __attribute__((unused)))

struct bench *bench_new(const struct core_config *cfg, enum target target);
void bench_free(struct bench *b);
/* Begin again with another configuration; or with zeroed scratchpads. */
void bench_configure(struct bench *b, const struct core_config *cfg);
void bench_clear(struct bench *b);

/* Append to the stream. */
void add(struct bench *b, struct insn insn);
void add_move(struct bench *b, struct insn_move move);
void add_loop(struct bench *b, struct insn_loop loop);
void add_finish(struct bench *b, unsigned int flags);

/* The same with the fields named in place: ADD_MOVE(b, .opcode = INSN_LOAD, ...). */
#define ADD_MOVE(b, ...)	add_move(b, (struct insn_move){ __VA_ARGS__ })
#define ADD_LOOP(b, ...)	add_loop(b, (struct insn_loop){ __VA_ARGS__ })

/* An instruction that does nothing but its tokens, of the module 'l', 'c' or 's'. */
void add_nothing(struct bench *b, char module, unsigned int flags);
/* LOAD of one row of @n elements from DATA; STORE from the start of ACC to RESULT. */
void add_row(struct bench *b, enum insn_memory memory, uint32_t sram, uint32_t n);
struct insn_move store_to_result(uint32_t y_size, uint32_t x_size, uint32_t x_stride);
/* GEMM of a range of micro-ops, once. */
struct insn_loop gemm_once(uint32_t uop_bgn, uint32_t uop_end);

/* Run instructions at an address; or the stream, and start a new one. */
enum core_result run_at(struct bench *b, uint32_t addr, uint32_t count);
enum core_result run(struct bench *b);
void run_done(struct bench *b);
void run_fault(struct bench *b, enum vta_fault_reason reason, enum vta_access access,
	       uint32_t index);
/* A fault PAGE whose first missing byte is @addr, if the target reports it. */
void run_page_fault(struct bench *b, enum vta_access access, uint32_t addr);

/* Address of memory at @offset, in elements of @bytes. */
uint32_t element_at(uint32_t offset, uint32_t bytes);

/* Value @n of a scratchpad's element: INSN_UOP, INSN_WGT, INSN_INP or INSN_ACC. */
uint32_t values_of(const struct bench *b, enum insn_memory pad);
int32_t get_value(const struct bench *b, enum insn_memory pad, uint32_t element, uint32_t n);
void set_value(struct bench *b, enum insn_memory pad, uint32_t element, uint32_t n,
	       int32_t value);
void set_uop(struct bench *b, uint32_t index, uint32_t dst, uint32_t src, uint32_t wgt);

/* The first @n elements of a scratchpad: all values alike. */
void fill_pad(struct bench *b, enum insn_memory pad, uint32_t n, int32_t value);
void assert_element(const struct bench *b, enum insn_memory pad, uint32_t element,
		    int32_t value);
/* The same for one element of ACC; and one value of it. */
void set_acc(struct bench *b, uint32_t element, int32_t value);
void assert_acc(const struct bench *b, uint32_t element, int32_t value);
int32_t get_acc(const struct bench *b, uint32_t element, uint32_t n);

#endif /* TESTS_EMU_ISA_BENCH_H */

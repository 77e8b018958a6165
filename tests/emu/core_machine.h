/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_machine.h - a VTA core with memory, for the tests that run it alone
 *
 * Memory is a flat array from device address 0 on; beyond it nothing is
 * mapped. Helpers that run a program assert that it runs well, unless they say
 * otherwise. Programs are for the default configuration (1x16 int8).
 */
#ifndef TESTS_EMU_CORE_MACHINE_H
#define TESTS_EMU_CORE_MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/core_impl.h"

#define MEM_SIZE	(4u << 20)
#define STREAM		0x1000u		/* where programs are put */
#define DATA		0x100000u	/* where they read */
#define RESULT		0x200000u	/* and write */

/* Bits of an instruction's word 0. */
#define POP_PREV	0x08u
#define POP_NEXT	0x10u
#define PUSH_PREV	0x20u
#define PUSH_NEXT	0x40u
#define GEMM_RESET	0x80u

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct machine {
	struct core *core;
	struct core_stats stats;
	struct core_fault fault;
	uint32_t insns;		/* in the program so far */
	uint64_t fetched;	/* bytes of instructions that the core has read */
	uint64_t asked;		/* how often, whether to stop */
	uint64_t stop_after;	/* that many; 0: never */
	uint8_t mem[MEM_SIZE];
};

/* A machine's memory as core_run() wants it. */
extern const struct core_mem_ops mem_ops;

struct machine *machine_new(const struct core_config *cfg, enum core_order order);
void machine_free(struct machine *m);

/* For cmocka: a machine of the default configuration, in order. */
int machine_setup(void **state);
int machine_teardown(void **state);
#define MACHINE struct machine *m, machine_setup, machine_teardown

void put32(struct machine *m, uint32_t addr, uint32_t value);

/* Rows of a LOAD or STORE: how many, how long, how far apart, and padding. */
struct rows {
	uint64_t y, x, stride, y0, y1, x0, x1;
};

/* These append to the program. */
void emit(struct machine *m, uint64_t word0, uint64_t word1);
void emit_mem(struct machine *m, uint64_t op, uint64_t type, uint64_t sram, uint64_t dram,
	      struct rows r);
void emit_row(struct machine *m, uint64_t op, uint64_t type, uint64_t sram, uint64_t dram,
	      uint64_t x);

extern const struct core_index no_index;

uint64_t loop_word(uint64_t op, uint64_t bgn, uint64_t end, uint64_t out, uint64_t in);
uint64_t gemm_word(struct core_index out, struct core_index in);
uint64_t alu_word(struct core_index out, struct core_index in, uint64_t op, bool use_imm, int imm);
uint32_t uop_word(uint32_t dst, uint32_t src, uint32_t wgt);

/* These run the program and begin a new one. */
enum core_result run_limited(struct machine *m, uint64_t cycles);
enum core_result run_program(struct machine *m);
void run_ok(struct machine *m);
void run_faults(struct machine *m, enum vta_fault_reason reason, uint32_t index);

/* Accumulators from 0 on: one value for all 16 lanes of each. */
void load_acc(struct machine *m, const int32_t *values, uint32_t n);
void load_uops(struct machine *m, const uint32_t *uops, uint32_t n);
int32_t acc_lane(const struct machine *m, uint32_t element, uint32_t lane);

#endif /* TESTS_EMU_CORE_MACHINE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* A VTA core with memory, for tests of the operators: the emulator's, or a card's. */
#ifndef TESTS_OPS_MACHINE_H
#define TESTS_OPS_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "vtaops.h"

/* Counts of a run, as far as they are known. */
struct machine_stats {
	uint64_t cycles, gemm_uops, alu_uops;
};

struct machine {
	struct vtaops_core core;
	uint8_t *mem;
	uint32_t base;			/* device address of the memory */
	uint32_t size, used;
	size_t insns, uops;		/* of the last run */
	struct machine_stats stats;	/* likewise */
	/* Runs a stream; ends the program if the card will not. */
	void (*run)(struct machine *m, uint32_t insn_addr, uint32_t insns);
	void *model;			/* the run function's */
};

typedef int (*lower_fn)(struct vtaops_builder *b, const void *op);

/* Ends the program, with the reason in a line. */
void machine_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Memory for the core, a device address; machine_reset() frees all. */
uint32_t machine_alloc(struct machine *m, size_t size);
void machine_reset(struct machine *m);
void *machine_at(struct machine *m, uint32_t addr);

/*
 * Lower twice, to count and to make, and run. Returns the builder's error, and
 * its reason in @why. That a run takes the cycles that the builder counts is
 * checked here.
 */
int machine_run(struct machine *m, lower_fn lower, const void *op, const char **why);

/* ---- A machine of the emulator's core, without card and VM ---- */

/*
 * The logarithms, for vtaops_core_init() to check. The core's token queues hold 256 tokens, and 512
 * instructions wait in it: streams must run with those, whatever @cfg says.
 */
struct vtaops_core emulated_core(const struct core_config *cfg);
void emulated_init(struct machine *m, const struct core_config *cfg, uint32_t size,
		   enum core_order order, uint64_t seed);
/* Run a stream that may fault: 0, or -1 with the fault in @fault; with a cycle limit. */
int emulated_try(struct machine *m, uint32_t insn_addr, uint32_t insns, uint64_t cycles,
		 struct core_fault *fault);
void emulated_fini(struct machine *m);

#endif /* TESTS_OPS_MACHINE_H */

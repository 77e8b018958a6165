/* SPDX-License-Identifier: GPL-2.0-only */
/* A VTA core of the emulator with memory, for tests of the operators. */
#ifndef TESTS_OPS_MACHINE_H
#define TESTS_OPS_MACHINE_H

#include "core.h"
#include "vtaops.h"

#define MACHINE_BASE	0x10000u	/* device address of the memory */

struct machine {
	struct core_config cfg;
	struct vtaops_core core;
	struct core *model;
	uint8_t *mem;
	uint32_t size, used;
	struct core_stats stats;	/* of the last run */
	size_t insns, uops;		/* likewise */
};

typedef int (*lower_fn)(struct vtaops_builder *b, const void *op);

/* Whatever fails ends the program with a line that says what. */
void machine_init(struct machine *m, const struct core_config *cfg, uint32_t size,
		  enum core_order order, uint64_t seed);
void machine_fini(struct machine *m);

/* Memory for the core, a device address; machine_reset() frees all. */
uint32_t machine_alloc(struct machine *m, size_t size);
void machine_reset(struct machine *m);
void *machine_at(struct machine *m, uint32_t addr);

/*
 * Lower twice, to count and to make, and run. Returns the builder's error, and
 * its reason in @why. That a run ends well and takes the cycles that the
 * builder says is checked here.
 */
int machine_run(struct machine *m, lower_fn lower, const void *op, const char **why);

#endif /* TESTS_OPS_MACHINE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ref.h - a plain interpreter of VTA's instruction set, to compare with
 *
 * Written from the instruction set alone and for reading, not for speed: one
 * value per int32_t, one loop per sentence of the specification. It shares
 * nothing with the emulator's core but the configuration's structure.
 */
#ifndef TESTS_EMU_REF_H
#define TESTS_EMU_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"	/* struct core_config */

enum ref_module {
	REF_LOAD,
	REF_COMPUTE,
	REF_STORE,
	REF_MODULES,
};

/* Device addresses @base to @base + @size - 1; everything else faults. */
struct ref_mem {
	uint8_t *bytes;
	uint32_t base;
	uint32_t size;
};

/*
 * A scratchpad: @depth elements of @values values, @width bits each in memory.
 * @v holds them sign-extended; micro-ops are one value of 32 bits.
 */
struct ref_pad {
	uint32_t depth;
	uint32_t values;
	unsigned int width;
	int32_t *v;
};

/* count[a][b]: pushed by module a, not yet popped by module b. */
struct ref_tokens {
	uint32_t count[REF_MODULES][REF_MODULES];
};

struct ref {
	struct core_config cfg;
	struct ref_pad uop, inp, wgt, acc;
	struct ref_tokens tokens;	/* that the last stream has left */
	bool keep_tokens;
};

struct ref_fault {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t insn_index;
	/*
	 * On a deadlock the instruction that each module waits at, or
	 * VTA_FAULT_NO_INSN where it has none left; @insn_index is the first.
	 * Every schedule ends in this same state: each token queue has one
	 * module that pushes and one that pops.
	 */
	uint32_t waiting[REF_MODULES];
};

/* Allocates, with all scratchpads zero; aborts when memory is short. */
void ref_init(struct ref *ref, const struct core_config *cfg);
void ref_free(struct ref *ref);

/* Zero all scratchpads. */
void ref_clear(struct ref *ref);

/* The next stream begins with the tokens that the last one has left. */
void ref_keep_tokens(struct ref *ref);

/*
 * Run @insn_count instructions at @insn_addr; true when the stream completed,
 * false with @fault filled in. With @schedule 0 the first of load, compute, store that can move
 * does so; any other value seeds a random order.
 */
bool ref_run(struct ref *ref, const struct ref_mem *mem, uint32_t insn_addr,
	     uint32_t insn_count, uint64_t schedule, struct ref_fault *fault);

#endif /* TESTS_EMU_REF_H */

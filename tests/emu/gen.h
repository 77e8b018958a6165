/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gen.h - seeded random VTA instruction streams
 *
 * A valid stream does not fault and has one result whatever the interleaving:
 * every hazard between modules, in scratchpads and in memory, is ordered by
 * tokens, and hardly more than that, so that an implementation which loses a
 * token gets another result or deadlocks. An invalid stream has exactly one
 * thing wrong with it.
 *
 * One struct gen describes one core and its memory from core_new() or
 * core_clear() on: the streams it makes are to be run in the order they were
 * made, each over the memory and the scratchpads that the last one left.
 */
#ifndef TESTS_EMU_GEN_H
#define TESTS_EMU_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"	/* struct core_config */
#include "insn.h"

#define GEN_INSNS_MAX	1024

struct gen;

struct gen_stream {
	struct insn insns[GEN_INSNS_MAX];
	uint32_t count;
};

/* The fault that an invalid stream must end in. */
struct gen_expect {
	enum vta_fault_reason reason;
	enum vta_access access;
	uint32_t addr;		/* the first byte that is not there, or 0 */
	uint32_t insn_index;
	const char *what;
};

/* Never NULL; aborts when memory is short. @base is a multiple of 64 KiB. */
struct gen *gen_new(const struct core_config *cfg, uint64_t seed, uint32_t base);
void gen_free(struct gen *gen);

/*
 * The memory that the streams need: @base to @base + size - 1, at most 4 MiB,
 * as it is before the first stream. It can end at 2^32.
 */
const uint8_t *gen_image(const struct gen *gen);
uint32_t gen_image_size(const struct gen *gen);
uint32_t gen_base_for_top(const struct core_config *cfg);	/* the base that does end there */

/* The address of a stream's instructions, inside that memory; put them there. */
uint32_t gen_insn_addr(const struct gen *gen);
void gen_put_insns(const struct gen_stream *stream, uint8_t *memory);

/* A valid stream of some 1 to 200 instructions. */
void gen_valid(struct gen *gen, struct gen_stream *stream);

/*
 * The next stream begins with the tokens that the last one leaves: its first
 * pops may take them, and then order nothing.
 */
void gen_keep_tokens(struct gen *gen);

/*
 * An invalid one. Nothing can follow it but a new struct gen on a cleared
 * core.
 */
void gen_invalid(struct gen *gen, struct gen_stream *stream, struct gen_expect *expect);

/*
 * Make a valid stream invalid by dropping one token push. It may still be
 * served by a surplus one: whether it deadlocks is for the caller to find out.
 * False if nothing is pushed.
 */
bool gen_drop_push(struct gen *gen, struct gen_stream *stream);

/*
 * Dump the scratchpads to memory by the core itself: a valid
 * stream that stores all of ACC, and after it all of INP (@wgt false) or
 * some rows of every WGT element. It changes scratchpads, so it comes last.
 */
void gen_dump(struct gen *gen, bool wgt, struct gen_stream *stream);

#endif /* TESTS_EMU_GEN_H */

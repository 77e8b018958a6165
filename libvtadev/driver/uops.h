/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uops.h - which micro-ops a stream takes from earlier runs
 *
 * Runtimes keep micro-ops in the scratchpad from run to run. The card keeps them
 * only until somebody else runs. So each handle knows what it has loaded, and a
 * stream that uses micro-ops without loading them is given them again.
 */
#ifndef DRIVER_UOPS_H
#define DRIVER_UOPS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct uops - the micro-op scratchpad as the streams of one handle left it
 * @log_depth: log2 of its depth
 * @known: bits: what has been loaded by any stream so far
 * @fresh: bits: what has been loaded by the stream that is looked at
 * @now: the micro-ops
 * @before: those among them that the stream takes from before: from @first on
 * @first: the first of these; @count of them, 0: none
 * @count: see @first
 */
struct uops {
	unsigned int log_depth;
	uint64_t *known, *fresh;
	uint32_t *now, *before;
	uint32_t first, count;
};

/* -ENOMEM, or 0. */
int uops_init(struct uops *u, unsigned int log_depth);
void uops_destroy(struct uops *u);

/* An instruction as it is in memory. */
struct insn {
	uint64_t word[2];	/* little-endian */
};

/*
 * Follow a stream from its start to its end, within the space: loads are read
 * from the memory they will be made from.
 */
void uops_follow(struct uops *u, const struct insn *stream, uint32_t count);

/* How many instructions uops_restore() makes at most. */
#define UOPS_RESTORE_MAX	2

/*
 * Instructions that load @u->count micro-ops from device address @addr to where
 * the stream wants them. Returns how many.
 */
uint32_t uops_restore(const struct uops *u, uint32_t addr, struct insn *insn);

#endif /* DRIVER_UOPS_H */

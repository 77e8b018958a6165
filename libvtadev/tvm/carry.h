/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry.h - a handle's state from run to run, on a card that keeps none
 *
 * Such a card (vtadev_info.save_size is 0) leaves scratchpads as they are between RUNs of one
 * context, but drops tokens, and gives the scratchpads to any other context that runs. So the next
 * stream gets the tokens by instructions in front of it; and the card's counters say whether
 * another context had the core meanwhile. Functions of one carry must not be called at the same
 * time.
 */
#ifndef VTA_DRIVER_CARRY_H
#define VTA_DRIVER_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtadev.h"

#define CARRY_QUEUES	4	/* of tokens */

/**
 * struct carry - the state; all zero at first
 * @tokens: left by the last run
 * @next: left by the stream in hand, if it completes
 * @prologue: instructions in front of that stream
 * @before: counters of the card after the last run
 * @buf: memory for a stream with a prologue, or NULL
 * @map: the same, as the CPU sees it
 * @size: bytes of it
 */
struct carry {
	uint32_t tokens[CARRY_QUEUES], next[CARRY_QUEUES];
	uint32_t prologue;
	struct carry_counters {
		uint64_t switches, resets, runs;
	} before;
	struct vtadev_buf *buf;
	void *map;
	size_t size;
};

/* Returns true if @dev has the counters that a carry needs. */
bool carry_is_possible(struct vtadev *dev);

/**
 * carry_begin() - prepare a stream
 * @c: the carry
 * @dev: the card
 * @insns: the stream, as the CPU sees it
 * @addr: in and out: its device address
 * @count: in and out: its instructions
 *
 * With tokens to carry, the stream is copied behind instructions that push them. Returns 0, or an
 * error of vtadev_buf_alloc().
 */
int carry_begin(struct carry *c, struct vtadev *dev, const void *insns, uint32_t *addr,
		uint32_t *count);

/**
 * carry_end() - record a completed stream
 * @c: the carry
 * @dev: the card
 * @first: the stream needs no state
 *
 * Returns true if the stream found the state of the last one, or needs none.
 */
bool carry_end(struct carry *c, struct vtadev *dev, bool first);

/* Drop the state. */
void carry_drop(struct carry *c);

/* Drop the state and the memory. */
void carry_free(struct carry *c);

#endif /* VTA_DRIVER_CARRY_H */

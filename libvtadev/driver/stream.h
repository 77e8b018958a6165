/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - a program's stream as it is run: itself, or a copy of it behind
 * loads of the micro-ops that it takes from before
 */
#ifndef DRIVER_STREAM_H
#define DRIVER_STREAM_H

#include <stdint.h>

#include "uops.h"
#include "vtadev.h"

/**
 * struct staging - a handle's memory for such copies
 * @buf: it, or NULL
 * @ptr: where the CPU sees it
 * @seq: the run that used it last
 */
struct staging {
	struct vtadev_buf *buf;
	void *ptr;
	uint64_t seq;
};

void staging_free(struct staging *s);

/**
 * stream_build() - write micro-ops, loads and stream to the staging memory
 * @s: the staging memory, made larger if need be; nobody may be using it
 * @dev: the card
 * @u: which micro-ops, more than none
 * @stream: the program's stream
 * @count: its instructions
 * @desc: out: the descriptor's address and count
 *
 * Errors: those of vtadev_buf_alloc(), and -EINVAL if it gets too long.
 */
int stream_build(struct staging *s, struct vtadev *dev, const struct uops *u,
		 const struct insn *stream, uint32_t count, struct vta_desc *desc);

#endif /* DRIVER_STREAM_H */

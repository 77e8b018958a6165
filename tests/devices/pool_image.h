/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pool_image.h - a program for the tests of pools: 16 bytes come back, and 16 of the weights
 *
 * Input "x" and outputs "y" and "w". The stream has a GEMM of a given duration
 * to, loads 64 bytes of weights, and stores their low bytes.
 */
#ifndef TESTS_DEVICES_POOL_IMAGE_H
#define TESTS_DEVICES_POOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtaimage.h"

#define POOL_BYTES	16u

struct pool_program {
	const struct vtaops_core *core;
	uint32_t outer, inner;		/* iterations of the GEMM, up to 16,383 each; 0: none */
	uint32_t more_weights;		/* bytes that nothing reads, a multiple of 64 */
	bool cpu;			/* what comes back goes through a step of the CPU's */
	bool long_cpu;			/* and another step of the CPU's takes long */
	bool deadlock;			/* the stream waits for a token that does not come */
	uint64_t cycles;		/* the cycles of its stream, as in the image */
};

/* The bytes of the file, to be freed, and the image opened; NULL if it is not valid. */
uint8_t *pool_image(const struct pool_program *program, size_t *size, struct vtaimage *image);

/* Byte @i of "w". */
uint8_t pool_weight(unsigned int i);

#endif /* TESTS_DEVICES_POOL_IMAGE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - inputs of runs that are measured
 */
#ifndef VTADEV_BENCH_IMPL_H
#define VTADEV_BENCH_IMPL_H

#include <stdint.h>
#include <sys/uio.h>

#include "vtaimage.h"

/* Values of all inputs, in the order of vtadev_pool_tensor(). */
struct bench_inputs {
	struct iovec *io;
	unsigned int count;
	uint8_t *values;	/* random ones, or NULL: the caller's */
};

/* Copies what the caller has given, or makes random values; -EINVAL: not the program's sizes. */
int bench_inputs_make(struct bench_inputs *inputs, const struct vtaimage *image,
		      const struct iovec *given, unsigned int count);
void bench_inputs_free(struct bench_inputs *inputs);

#endif /* VTADEV_BENCH_IMPL_H */

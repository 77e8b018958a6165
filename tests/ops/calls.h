/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calling the kernels for the CPU with random operands, and what their results are
 * compared with: the formulas of vtacpu.h.
 */
#ifndef CPU_CALLS_H
#define CPU_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "vtacpu.h"

uint32_t rnd(uint32_t below);
float rnd_float(void);		/* -2 to 2 */

/*
 * A kernel's operands, filled at random; those of 4 bytes hold floats if @floats. They
 * are of the size that vtacpu_need() returns, so that the sanitizer sees what goes beyond.
 */
struct call {
	struct vtacpu_need need;
	void *io[VTACPU_OPERANDS_MAX];
	void *scratch;
};

void prepare(struct call *c, uint32_t kernel, const void *params, int floats);
void run(struct call *c, uint32_t kernel, const void *params);
void drop(struct call *c);

/* Within a 100,000th of @scale and the value. */
void same_float(double got, double want, double scale);

double act(const struct vtacpu_act *a, double x);
struct vtacpu_act rnd_act(void);

/* @vectors are bias, muls and shifts of post(). */
int32_t post(const struct vtacpu_post *p, void *const *vectors, uint32_t channel, int32_t acc);
struct vtacpu_post rnd_post(int is_unsigned, int vectors);
/* Operands @first to @first + 2. */
void rnd_vectors(struct call *c, uint32_t first);

int32_t byte(const void *x, size_t at, uint32_t is_unsigned);

#endif /* CPU_CALLS_H */

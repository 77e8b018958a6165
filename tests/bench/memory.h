/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memory.h - the benchmarks of memory. Each prints a table and adds to the results.
 */
#ifndef TESTS_BENCH_MEMORY_H
#define TESTS_BENCH_MEMORY_H

#include "bench.h"

void bench_copy(struct bench *bench);
void bench_choice(struct bench *bench);
/* With BENCH_MODELLED opened. */
void bench_transfer(struct bench *bench);
void bench_map(struct bench *bench);
void bench_alloc(struct bench *bench);
void bench_walks(struct bench *bench);

#endif /* TESTS_BENCH_MEMORY_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Goals of the compiler for well-known architectures, as targets of the part "model" */
#ifndef TESTS_BENCH_GOALS_H
#define TESTS_BENCH_GOALS_H

#include "bench.h"
#include "lower/program.h"

/*
 * roofline.c: the least cycles of @node, of its multiplications, or of its bytes at 16 a cycle
 * (docs/ops.md)
 */
uint64_t model_roofline(const struct vtac_node *node, const struct vtaops_core *core);

/*
 * goals.c: compile each architecture with random weights (networks.py) for @core, print what of it
 * the card computes, and set the targets. A quick run takes one of them.
 */
void model_goals(struct bench *bench, const struct vtaops_core *core);

#endif /* TESTS_BENCH_GOALS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps that lead from a position's sums to its two numbers. They are those of the card's ALU,
 * and have one definition: the card's stream and vtaops_norm_factors() are both made of it.
 */
#ifndef OPS_NORM_STEPS_H
#define OPS_NORM_STEPS_H

#include "ops_impl.h"

/* Accumulators that steps have; SUM and SQUARES are given, the others of any value. */
enum norm_reg {
	NORM_SUM, NORM_SQUARES, NORM_MEAN, NORM_PLACE, NORM_ROOT, NORM_TEMP,
	NORM_SPARE, NORM_SPARE_2, NORM_REGS,
};

/* Afterwards in these: the factor, and what takes the place of x * factor = 0. */
#define NORM_FACTOR	NORM_ROOT
#define NORM_OFFSET	NORM_MEAN

/* Executes steps: in a stream, or on the host. */
struct norm_steps {
	void (*clear)(void *priv, enum norm_reg dst);
	void (*imm)(void *priv, enum norm_reg dst, enum vta_isa_alu op, int imm);
	void (*pair)(void *priv, enum norm_reg dst, enum norm_reg src, enum vta_isa_alu op);
	void *priv;
};

void norm_take_steps(const struct norm_steps *s, const struct vtaops_norm_form *f);

#endif /* OPS_NORM_STEPS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the pass `shape` (shape.c) that follow sizes which data decides: sizes.c */
#ifndef VTAC_SIZES_H
#define VTAC_SIZES_H

#include "passes.h"

/* Inputs of a node that may have such a size, but for those of a Concat */
#define SIZES_INPUTS	8u

/* shape.c: shape a node that was made, and fold it or leave it out. */
int vtac_shape_made(struct vtac_graph *g, struct vtac_node *node);

/* Before a node is shaped: replace bounded inputs by constants where the operator needs these. */
int vtac_bound_inputs(struct vtac_graph *g, struct vtac_node *node);
/* After it: sizes and bounds of its outputs, by the @n_in inputs @in that it had before. */
int vtac_set_sizes(struct vtac_graph *g, struct vtac_node *node, struct vtac_tensor *const *in,
		   unsigned int n_in);
/* At the end: make sizes of outputs outputs, after those of the file. */
int vtac_output_sizes(struct vtac_graph *g);
/* The size of the constant list @t is known: cut it off. */
int vtac_shrink(struct vtac_graph *g, struct vtac_tensor *t, int64_t n);

#endif /* VTAC_SIZES_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the pass `shape` (shape.c) that follow sizes which data decides: sizes.c */
#ifndef VTAC_SIZES_H
#define VTAC_SIZES_H

#include "passes.h"

/* Inputs of a node that may have such a size, but for those of a Concat */
#define SIZES_INPUTS	8u

/* shape.c: shape a node that was made, and fold it or leave it out. */
int vtac_shape_made(struct vtac_graph *g, struct vtac_node *node);
/* The same of nodes @first to @end, not included; those that fail are refused. */
int vtac_shape_nodes(struct vtac_graph *g, unsigned int first, unsigned int end);
/* Shape a node that computes all memory of inputs whose sizes data decides, and fold it. */
int vtac_shape_memory(struct vtac_graph *g, struct vtac_node *node);

/* control.c: an If, Loop or Scan? */
bool vtac_is_control(enum vtac_op op);
/* Replace it by nodes made of its sub-graphs, which are shaped. */
int vtac_expand(struct vtac_graph *g, struct vtac_node *node);

/* Before a node is shaped: replace bounded inputs by constants where the operator needs these. */
int vtac_bound_inputs(struct vtac_graph *g, struct vtac_node *node);
/* After it: sizes and bounds of its outputs, by the @n_in inputs @in that it had before. */
int vtac_set_sizes(struct vtac_graph *g, struct vtac_node *node, struct vtac_tensor *const *in,
		   unsigned int n_in);
/* At the end: make the sizes of outputs also outputs, after those of the file. */
int vtac_output_sizes(struct vtac_graph *g);
/* The size of the constant list @t is known: cut it off. */
int vtac_shrink(struct vtac_graph *g, struct vtac_tensor *t, int64_t n);

/* ---- private: sizes.c, sizes_reshape.c, bounds.c ---- */

#define BOUNDS_MAX	VTAC_RANK_MAX

/* A node whose outputs' sizes are followed. */
struct sizes {
	struct vtac_graph *g;
	struct vtac_node *node;
	struct vtac_tensor *in[SIZES_INPUTS];	/* before constants moved to attributes */
	unsigned int n_in;
};

/* Make a constant, or a node; and shape the node: its output. NULL after an error. */
struct vtac_tensor *sizes_integer(struct sizes *s, int64_t value);
struct vtac_node *sizes_node(struct sizes *s, enum vtac_op op, struct vtac_tensor *const *in,
			     unsigned int n_in);
struct vtac_tensor *sizes_finish(struct sizes *s, struct vtac_node *node);
struct vtac_tensor *sizes_two(struct sizes *s, enum vtac_op op, struct vtac_tensor *a,
			      struct vtac_tensor *b);
/* @x in another shape, or itself if it has this one. */
struct vtac_tensor *sizes_reshaped(struct sizes *s, struct vtac_tensor *x, int rank,
				   const int64_t *dims);

/* Dimension @d of the output @y is in use as far as @size says; NULL for @y: nothing to do. */
int sizes_set(struct sizes *s, struct vtac_tensor *y, int d, struct vtac_tensor *size);
/* Elements of @t's dimensions before @d. */
int64_t sizes_before(const struct vtac_tensor *t, int d);
/* Of a Reshape: the dimension is kept, or one of several that are joined, or is split. */
int sizes_reshape(struct sizes *s);

bool bounds_known(const struct vtac_bound *b);
/* Get what is known of the integers of @t: false if nothing, or there are too many. */
bool bounds_get(const struct vtac_tensor *t, struct vtac_bound bounds[BOUNDS_MAX]);
/* Integer @i of @t, whose bound is @b, as a scalar of int64. */
struct vtac_tensor *bounds_size(struct sizes *s, struct vtac_tensor *t, int i,
				const struct vtac_bound *b);
/* Bounds of the node's output, by those of its inputs: of arithmetic, Concat, Gather and Slice, */
int bounds_pair(struct sizes *s);
int bounds_joined(struct sizes *s);
int bounds_chosen(struct sizes *s);
/* of reductions, and of operators that keep the values. */
int bounds_reduced(struct sizes *s);
int bounds_same(struct sizes *s);
int bounds_where(struct sizes *s);
/* Of the scalar @size: at most @most. */
int bounds_most(struct sizes *s, struct vtac_tensor *size, int64_t most);
/* Of @y, which is either @a or @b, of the same shape. */
int bounds_either(struct sizes *s, struct vtac_tensor *y, const struct vtac_tensor *a,
		  const struct vtac_tensor *b);

#endif /* VTAC_SIZES_H */

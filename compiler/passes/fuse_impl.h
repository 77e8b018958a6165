/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of fusion. Each rule is about one node. */
#ifndef VTAC_FUSE_IMPL_H
#define VTAC_FUSE_IMPL_H

#include "ir/graph.h"

/* 1: the graph was changed, 0: not, -1: an error. */
typedef int (*fuse_rule)(struct vtac_graph *g, struct vtac_node *node);

/* @first computes what @last did, which goes; @last's output stays. */
int fuse_take(struct vtac_node *first, struct vtac_node *last);
/* The node that computes @t, if it is an @op, has no other user and no quantisation. */
struct vtac_node *fuse_from(const struct vtac_graph *g, const struct vtac_tensor *t,
			    enum vtac_op op);
/* A constant of floats? */
bool fuse_is_const(const struct vtac_tensor *t);
/* One constant float? */
bool fuse_number(const struct vtac_tensor *t, float *value);
/* A constant like @t with other values, which the caller fills in; NULL: no memory. */
float *fuse_copy(struct vtac_graph *g, const struct vtac_tensor *t, struct vtac_tensor **copy);

/* fuse_scale.c */
int fuse_batch_norm(struct vtac_graph *g, struct vtac_node *node);
int fuse_channel_mul(struct vtac_graph *g, struct vtac_node *node);
int fuse_channel_add(struct vtac_graph *g, struct vtac_node *node);
int fuse_lone_batch_norm(struct vtac_graph *g, struct vtac_node *node);
int fuse_forward(struct vtac_graph *g, struct vtac_node *node);
int fuse_lone_factor(struct vtac_graph *g, struct vtac_node *node);

/* fuse_form.c */
/* Exchange @node and the Reshape @shape, which makes its input @i: 1, or -1 without memory. */
int fuse_before_reshape(struct vtac_graph *g, struct vtac_node *node, unsigned int i,
			struct vtac_node *shape);
int fuse_pad(struct vtac_graph *g, struct vtac_node *node);
int fuse_gemm(struct vtac_graph *g, struct vtac_node *node);
int fuse_matmul(struct vtac_graph *g, struct vtac_node *node);
int fuse_mean(struct vtac_graph *g, struct vtac_node *node);
int fuse_hard_swish(struct vtac_graph *g, struct vtac_node *node);
int fuse_reshaped(struct vtac_graph *g, struct vtac_node *node);
int fuse_flat_pair(struct vtac_graph *g, struct vtac_node *node);
int fuse_flat_gemm(struct vtac_graph *g, struct vtac_node *node);
int fuse_reshapes(struct vtac_graph *g, struct vtac_node *node);
int fuse_same_shape(struct vtac_graph *g, struct vtac_node *node);
int fuse_transposes(struct vtac_graph *g, struct vtac_node *node);

/* fuse_function.c */
int fuse_function(struct vtac_graph *g, struct vtac_node *node);
int fuse_flat_function(struct vtac_graph *g, struct vtac_node *node);
int fuse_limit(struct vtac_graph *g, struct vtac_node *node);
int fuse_slope(struct vtac_graph *g, struct vtac_node *node);
int fuse_power(struct vtac_graph *g, struct vtac_node *node);

/* fuse_channels.c */
int fuse_shuffle(struct vtac_graph *g, struct vtac_node *node);
int fuse_gather(struct vtac_graph *g, struct vtac_node *node);

/* fuse_columns.c */
int fuse_columns(struct vtac_graph *g, struct vtac_node *node);

/* fuse_norm.c */
int fuse_turned_norm(struct vtac_graph *g, struct vtac_node *node);
int fuse_flat_norm(struct vtac_graph *g, struct vtac_node *node);

/* fuse_product.c */
int fuse_product(struct vtac_graph *g, struct vtac_node *node);

/* fuse_window.c */
int fuse_dead_taps(struct vtac_graph *g, struct vtac_node *node);
int fuse_wide_pads(struct vtac_graph *g, struct vtac_node *node);
int fuse_transposed_end(struct vtac_graph *g, struct vtac_node *node);

/* fuse_quant.c */
int fuse_cast(struct vtac_graph *g, struct vtac_node *node);
int fuse_weights(struct vtac_graph *g, struct vtac_node *node);
int fuse_quant(struct vtac_graph *g, struct vtac_node *node);
int fuse_moved(struct vtac_graph *g, struct vtac_node *node);
int fuse_border(struct vtac_graph *g, struct vtac_node *node);
/*
 * Give what moves values, or limits them, the scale of its inputs or output. After all rules, which
 * keep tensors that have one.
 */
void fuse_inherit_scales(struct vtac_graph *g);

#endif /* VTAC_FUSE_IMPL_H */

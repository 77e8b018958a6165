/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of shape inference. */
#ifndef VTAC_SHAPE_IMPL_H
#define VTAC_SHAPE_IMPL_H

#include "graph.h"

/* Limits of what a window may be, which keep all arithmetic far from 64 bits' end. */
#define SHAPE_PARAM_MAX	65535

typedef int (*shape_fn)(struct vtac_graph *g, struct vtac_node *node);

/* Check and set a shape of output 0, with the type of input 0. */
int shape_out(struct vtac_graph *g, struct vtac_node *node, int rank, const int64_t *dims);
/* An axis of the file as an index: 0 to rank - 1. */
int shape_axis(struct vtac_graph *g, const struct vtac_node *node, int axis, int rank, int *index);
/*
 * The integers of input @i, or the most that each can be if it has bounds; it must be a constant of
 * one dimension at most: their number, -1 if there is no such input, -2 and an error.
 */
int shape_ints(struct vtac_graph *g, const struct vtac_node *node, unsigned int i,
	       int64_t *values, int max);
/* The shape that numpy broadcasts @a and @b to. */
int shape_broadcast(struct vtac_graph *g, const struct vtac_node *node, int *rank, int64_t *dims,
		    const struct vtac_tensor *b);

/* shape_window.c */
int shape_lrn(struct vtac_graph *g, struct vtac_node *node);
int shape_conv(struct vtac_graph *g, struct vtac_node *node);
int shape_conv_transpose(struct vtac_graph *g, struct vtac_node *node);
int shape_pool(struct vtac_graph *g, struct vtac_node *node);
int shape_resize(struct vtac_graph *g, struct vtac_node *node);
int shape_depth_to_space(struct vtac_graph *g, struct vtac_node *node);

/* shape_sample.c */
int shape_conv_3d(struct vtac_graph *g, struct vtac_node *node);
int shape_pool_3d(struct vtac_graph *g, struct vtac_node *node);
int shape_dft(struct vtac_graph *g, struct vtac_node *node);
int shape_grid_sample(struct vtac_graph *g, struct vtac_node *node);
int shape_roi_align(struct vtac_graph *g, struct vtac_node *node);
int shape_einsum(struct vtac_graph *g, struct vtac_node *node);

/* shape_choose.c */
int shape_non_zero(struct vtac_graph *g, struct vtac_node *node);
int shape_unique(struct vtac_graph *g, struct vtac_node *node);
int shape_nms(struct vtac_graph *g, struct vtac_node *node);
int shape_count(struct vtac_graph *g, struct vtac_node *node);

/* shape_move.c */
int shape_concat(struct vtac_graph *g, struct vtac_node *node);
int shape_split(struct vtac_graph *g, struct vtac_node *node);
int shape_slice(struct vtac_graph *g, struct vtac_node *node);
int shape_pad(struct vtac_graph *g, struct vtac_node *node);
int shape_transpose(struct vtac_graph *g, struct vtac_node *node);
int shape_reshape(struct vtac_graph *g, struct vtac_node *node);
int shape_expand(struct vtac_graph *g, struct vtac_node *node);
int shape_constant_of_shape(struct vtac_graph *g, struct vtac_node *node);
int shape_shape(struct vtac_graph *g, struct vtac_node *node);

/* shape_index.c */
int shape_gather(struct vtac_graph *g, struct vtac_node *node);
int shape_gather_elements(struct vtac_graph *g, struct vtac_node *node);
int shape_gather_nd(struct vtac_graph *g, struct vtac_node *node);
int shape_scatter_elements(struct vtac_graph *g, struct vtac_node *node);
int shape_scatter_nd(struct vtac_graph *g, struct vtac_node *node);
int shape_arg(struct vtac_graph *g, struct vtac_node *node);
int shape_top(struct vtac_graph *g, struct vtac_node *node);
int shape_one_hot(struct vtac_graph *g, struct vtac_node *node);
int shape_reverse_sequence(struct vtac_graph *g, struct vtac_node *node);
int shape_det(struct vtac_graph *g, struct vtac_node *node);
int shape_eye(struct vtac_graph *g, struct vtac_node *node);
int shape_mel_weights(struct vtac_graph *g, struct vtac_node *node);
int shape_cum_sum(struct vtac_graph *g, struct vtac_node *node);
int shape_norm(struct vtac_graph *g, struct vtac_node *node);
int shape_recurrent(struct vtac_graph *g, struct vtac_node *node);
int shape_tile(struct vtac_graph *g, struct vtac_node *node);
int shape_range(struct vtac_graph *g, struct vtac_node *node);
int shape_trilu(struct vtac_graph *g, struct vtac_node *node);

#endif /* VTAC_SHAPE_IMPL_H */

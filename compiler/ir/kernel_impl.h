/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that make calls of kernels. */
#ifndef VTAC_KERNEL_IMPL_H
#define VTAC_KERNEL_IMPL_H

#include "kernel.h"

/* Append calls; @calls has room for as many as the node has inputs or outputs. */
typedef int (*kernel_fn)(struct vtac_graph *g, const struct vtac_node *node,
			 struct vtac_call *calls, unsigned int *n);

struct vtacpu_act kernel_act(const struct vtac_node *node);
struct vtac_call *kernel_call(struct vtac_call *call, enum vtacpu_kernel kernel);
const struct vtac_tensor *kernel_in(const struct vtac_node *node, unsigned int i);
/* Values of @t from one place to the next in dimension @d of @rank; 0 where it repeats. */
uint32_t kernel_stride(const struct vtac_tensor *t, int rank, int d);
/* Products of the dimensions before @axis and of those after it. */
void kernel_around(const struct vtac_tensor *t, int axis, uint32_t *outer, uint32_t *inner);

/* Fill in what calls need, and check that their operands have it: kernel.c */
int kernel_check(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int n);

/* The parameters that float and integer kernels share. */
struct vtacpu_window kernel_window(const struct vtac_node *node);
struct vtacpu_pool_window kernel_pool(const struct vtac_node *node);
struct vtacpu_broadcast kernel_broadcast(const struct vtac_node *node);
/* Of a VTAC_BATCH_GEMM. */
struct vtacpu_matrices kernel_heads(const struct vtac_node *node);
bool kernel_all_empty(const struct vtac_node *node);

/* kernel_move.c */
int kernel_concat(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n);
int kernel_split(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n);
int kernel_slice(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n);
int kernel_pad(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n);
int kernel_transpose(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		     unsigned int *n);
int kernel_depth_to_space(struct vtac_graph *g, const struct vtac_node *node,
			  struct vtac_call *calls, unsigned int *n);
int kernel_channels(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n);
int kernel_copy(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		unsigned int *n);
/* Of a VTAC_COPY, which may add channels. */
int kernel_transfer(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n);

int kernel_expand(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n);
int kernel_tile(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		unsigned int *n);

/* kernel_index.c */
int kernel_where(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n);
int kernel_cast(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		unsigned int *n);
int kernel_arg(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n);
int kernel_top(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n);
int kernel_cum_sum(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n);
int kernel_gather(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n);
int kernel_one_hot(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n);
int kernel_reverse_sequence(struct vtac_graph *g, const struct vtac_node *node,
			    struct vtac_call *calls, unsigned int *n);
/* Of VTAC_GATHER_ELEMENTS, VTAC_SCATTER_ELEMENTS; of VTAC_GATHER_ND, VTAC_SCATTER_ND. */
int kernel_elements(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n);
int kernel_slices(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n);

/* kernel_sample.c */
int kernel_conv_3d(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n);
int kernel_pool_3d(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		   unsigned int *n);
int kernel_dft(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n);
int kernel_resize(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n);
int kernel_grid_sample(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		       unsigned int *n);
int kernel_roi_align(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		     unsigned int *n);
int kernel_einsum(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n);

/* kernel_choose.c */
int kernel_non_zero(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		    unsigned int *n);
int kernel_unique(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		  unsigned int *n);
int kernel_nms(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
	       unsigned int *n);
int kernel_count(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call *calls,
		 unsigned int *n);

#endif /* VTAC_KERNEL_IMPL_H */

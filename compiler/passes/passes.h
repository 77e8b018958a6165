/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes on the float graph and on the quantised one
 *
 * A pass is int vtac_pass_NAME(graph, options) in the file NAME.c: 0, or -1 with graph->error.
 * The table in api/compile.c has all of them in order, and those of quant.h.
 */
#ifndef VTAC_PASSES_H
#define VTAC_PASSES_H

#include "ir/options.h"

int vtac_pass_shape(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_fuse(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_partition(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_legalize(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_rounded(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_exact(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_channels(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_input_affine(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_space_to_depth(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_align_channels(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_pad_channels(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_layout(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_schedule(struct vtac_graph *g, const struct vtac_options *opt);

/* shape.c: compute a node whose inputs are constant; its outputs become constants. */
int vtac_fold_node(struct vtac_graph *g, struct vtac_node *node);

/* input_affine.c: the number that the user knows image @i by */
unsigned int vtac_image_number(const struct vtac_images *images, unsigned int i);
/* Values of image @i for the input @t, in its type. An error has the image and the reason. */
int vtac_read_image(struct vtac_graph *g, const struct vtac_images *images, unsigned int i,
		    const struct vtac_tensor *t, void *data);

/* space_to_depth.c: squares of @stride positions of a convolution's input as channels */
struct vtac_fold {
	int64_t stride;
	struct vtac_window window;	/* of the convolution of these */
};

/* Can the input of @node become squares, and would that save products of blocks? */
bool vtac_find_fold(const struct vtac_graph *g, const struct vtac_node *node, int64_t block,
		    struct vtac_fold *fold);
/* Returns weights of @node for squares, NULL without memory. */
struct vtac_tensor *vtac_fold_weights(struct vtac_graph *g, const struct vtac_node *node,
				      const struct vtac_fold *fold);
/* Let the CPU move squares into channels, and @node read these with @weights. */
int vtac_fold_input(struct vtac_graph *g, struct vtac_node *node, const struct vtac_fold *fold,
		    struct vtac_tensor *weights);

/* partition_cost.c: move nodes of the card to the CPU that gain less than their copies cost. */
int vtac_prune(struct vtac_graph *g, const struct vtac_options *opt);

/* legalize.c: is the operator one that the card has in another form? */
/*
 * fuse_product.c: let a BATCH_GEMM put heads side by side, if only that is done with its output:
 * 1, 0 if not, -1.
 */
int vtac_join_heads(struct vtac_graph *g, struct vtac_node *node);
bool vtac_has_form(const struct vtac_node *node);

/* channels.c: does a Slice leave out channels alone? */
bool vtac_slices_channels(const struct vtac_node *node);
/* The Concat of channels becomes a node that brings them to their lanes. */
int vtac_join_channels(struct vtac_graph *g, struct vtac_node *concat);

/* align_channels.c: a convolution on the card without groups, with float weights? */
bool vtac_is_plain_conv(const struct vtac_node *node);
/* Has a convolution no bias, or a constant one that passes may change? */
bool vtac_has_float_bias(const struct vtac_node *node);
/* Add @more outputs, which are always 0, to the plain convolution that computes @part. */
int vtac_widen_outputs(struct vtac_graph *g, struct vtac_tensor *part, int64_t more);
/* Add @more inputs with weights 0 to a plain convolution, before channel @at. */
int vtac_widen_inputs(struct vtac_graph *g, struct vtac_node *node, int64_t at, int64_t more);

/*
 * layout.c: can @part be written inside of the tensor that a Concat makes? Its producer must be
 * on the card and write @part itself, not another name of its input.
 */
bool vtac_can_place(const struct vtac_graph *g, const struct vtac_tensor *part);

#endif /* VTAC_PASSES_H */

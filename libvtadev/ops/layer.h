/* SPDX-License-Identifier: Apache-2.0 */
/* Layers whose sums GEMM makes, their tiles, and the pipeline that runs them. */
#ifndef OPS_LAYER_H
#define OPS_LAYER_H

#include "post.h"

/*
 * One direction of a layer. Outputs come in groups of @step, which differ by
 * the taps that reach them: 1, but for a transposed convolution its stride.
 * Group g needs @span inputs from g · @scale - @pad on.
 */
struct axis {
	uint32_t in;		/* input positions */
	uint32_t out;		/* outputs to be stored, */
	uint32_t crop;		/* behind so many that are not, */
	uint32_t all;		/* of so many computed: a multiple of step */
	uint32_t taps, dilation;
	uint32_t step, scale, pad, span;
	bool flip;		/* transposed: the taps spread an input over outputs */
};

/* Does tap @k reach outputs @phase of a group, and where in the group's span from? */
bool axis_tap(const struct axis *a, uint32_t phase, uint32_t k, uint32_t *offset);

/* The places of a matrix's rows in memory: of group g, from row 0 of it on. */
struct rows {
	uint32_t stride;		/* elements from one row to the next */
	uint32_t image, head;		/* elements from one to the next */
};

/* In elements. */
struct layer {
	uint32_t inp, wgt, out, res;	/* indices; res is valid if has_res */
	uint32_t out_low, res_low;	/* likewise, of 16 bits: if has_out_low, has_res_low */
	uint32_t images, groups;
	uint32_t ic, oc;		/* channel blocks of a group */
	struct axis y, x;
	bool rows;			/* a matrix: positions are its rows, in y */
	uint32_t heads;			/* rows: groups of an image */
	struct rows from, to;		/* rows: of the input and of the output */
	bool has_res, has_around, has_out_low, has_res_low;
	uint32_t around;		/* has_around: an element of each input block */
	unsigned int res_shift;
	struct ops_post post;
};

/*
 * The part of a layer that the scratchpads hold at a time. Each of them holds @..._parts of it, so
 * that one can be filled while the other is used.
 */
struct tile {
	uint32_t ic, oc;		/* channel blocks */
	uint32_t kh, kw;		/* taps */
	uint32_t oh, ow;		/* outputs, crop included */
	uint32_t ih, iw;		/* inputs that they need */
	uint32_t inp_parts, wgt_parts, acc_parts;
	bool hold_inp;			/* all outputs of an input before the next input */
};

/* The cheapest tile; fails with what is missing if none fits. */
int ops_choose_tile(struct vtaops_builder *b, const struct layer *l, struct tile *best);

/* Emit the layer with this tile. */
int ops_run_layer(struct vtaops_builder *b, const struct layer *l, const struct tile *t);

/* Values that the sums begin with, if not with zeros */
struct residual {
	uint32_t addr, muls;	/* device addresses, 0: none */
	uint32_t start;		/* likewise, instead of both */
	unsigned int shift;
	uint32_t around;	/* likewise: what is around the input, not zeros */
	struct vtaops_fine low;	/* likewise: low halves of residual and result */
};

/*
 * Lower a layer whose shape is set: conv.c sets its operands, given as device addresses, its output
 * stage and residual, and chooses the tile.
 */
int ops_lower_layer(struct vtaops_builder *b, struct layer *l, uint32_t inp, uint32_t wgt,
		    uint32_t out, const struct vtaops_post *post, const struct residual *res);

static inline uint32_t tile_elements(const struct tile *t)
{
	return t->oc * t->oh * t->ow;
}

#endif /* OPS_LAYER_H */

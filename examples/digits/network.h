/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network for digits: its arithmetic, its file, and its scores by the CPU.
 *
 * Input: 28 x 28 pixels of 0..255 (ink is bright), one channel, int8 value pixel >> 1.
 *
 * Every layer is a convolution of the input or of an earlier layer's output; the dense
 * one is a convolution whose kernel is as large as its input, so that its weights read
 * as a row of channel, row, column. For each output value, in this order:
 *
 *	acc  = bias + sum of input * weight	int32; positions outside the input are 0
 *	acc += residual << res_shift		if the layer has one
 *	acc  = acc >> shift			arithmetic
 *	acc  = max(acc, 0)			if the layer has relu
 *	out  = clip(acc, -128, 127)		int8
 *
 * The bias holds 1 << (shift - 1) besides the trained value, so the shift rounds
 * to nearest (halves up). No accumulator reaches 2^24.
 *
 * The last layer's ten outputs are the scores (digits_best()).
 */
#pragma once

#include <assert.h>
#include <stdint.h>

enum {
	DIGITS_SIDE = 28,
	DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE,
	DIGITS_CLASSES = 10,
	DIGITS_LAYERS_MAX = 10,
	DIGITS_INPUT = -1,	/* as a source: the image */
	DIGITS_NONE = -1,	/* as a residual */
};

/* train.py writes weights.bin in this layout, little-endian. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights.bin is read in place");

struct digits_layer {
	char name[12];
	int32_t source, res;		/* layers that make the input and the residual */
	uint32_t in_channels, in_side;
	uint32_t out_channels, out_side;
	uint32_t kernel, stride, pad;	/* equal in both directions */
	uint32_t res_shift;		/* 0..31 */
	uint32_t shift;			/* 1..31 */
	uint32_t relu;			/* 0 or 1 */
	uint32_t weights, bias;		/* offsets in the file: digits_weights(), digits_bias() */
};

struct digits_network {
	uint32_t layers;		/* 1..DIGITS_LAYERS_MAX */
	struct digits_layer layer[];
};

/* The weights.bin that the program is built with. */
extern const struct digits_network digits_network;

/* [out_channels][in_channels][kernel][kernel] */
const int8_t *digits_weights(const struct digits_layer *l);

/* [out_channels], rounding constant included */
const int32_t *digits_bias(const struct digits_layer *l);

/* Run layer @l in plain loops. @res is NULL if it has no residual. Order: channel, row, column. */
void digits_run_layer(const struct digits_layer *l, const int8_t *in, const int8_t *res,
		      int8_t *out);

/*
 * Compute the ten scores of one image by digits_run_layer(); the card's must be equal bit for
 * bit. Thread-safe: it only reads constants.
 */
void digits_reference(const uint8_t image[DIGITS_PIXELS], int8_t scores[DIGITS_CLASSES]);

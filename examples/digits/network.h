/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digits network: what its numbers mean, and the shape of one layer.
 *
 * Input: 28 x 28 pixels of 0..255 (ink is bright), one channel, int8 value pixel >> 1.
 *
 * Every layer is a convolution; the dense one is a convolution whose kernel is as
 * large as its input, so that its weights read as a row of channel, row, column.
 * For each output value, in this order:
 *
 *	acc  = bias + sum of input * weight	int32; positions outside the input are 0
 *	acc  = acc >> shift			arithmetic
 *	acc  = max(acc, 0)			where the layer has relu
 *	out  = clip(acc, -128, 127)		int8
 *
 * The bias holds 1 << (shift - 1) besides the trained value, so the shift rounds
 * to nearest (halves up). No accumulator of this network reaches 2^24.
 *
 * The last layer's ten outputs are the scores. The digit is the index of the
 * highest; the lowest index of several equal ones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	DIGITS_SIDE = 28,
	DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE,
	DIGITS_CLASSES = 10,
	DIGITS_LAYERS = 4,
};

struct digits_layer {
	const char *name;
	const int8_t *weights;	/* [out_channels][in_channels][kernel][kernel] */
	const int32_t *bias;	/* [out_channels], rounding constant included */
	uint16_t in_channels, in_height, in_width;
	uint16_t out_channels, out_height, out_width;
	uint8_t kernel, stride, pad;	/* equal in both directions */
	uint8_t shift;			/* 1..31 */
	bool relu;
};

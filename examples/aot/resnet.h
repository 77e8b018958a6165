/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The residual network: what its numbers mean, and the shape of one layer.
 *
 * Input: 28 x 28 pixels of 0..255, one channel, int8 value pixel >> 1. Every layer
 * is a convolution of an earlier tensor, or of the input. For each output value:
 *
 *	acc  = bias + sum of input * weight	int32; positions outside the input are 0
 *	acc += residual << res_shift		where the layer has one
 *	acc  = acc >> shift			arithmetic
 *	acc  = max(acc, 0)			where the layer has relu
 *	out  = clip(acc, -128, 127)		int8
 *
 * The bias holds 1 << (shift - 1), so that the shift rounds to nearest. The last
 * layer's ten outputs are the scores; the digit is the index of the first of the
 * highest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	RESNET_SIDE = 28,
	RESNET_PIXELS = RESNET_SIDE * RESNET_SIDE,
	RESNET_CLASSES = 10,
	RESNET_LAYERS = 10,
	RESNET_INPUT = -1,	/* as a source: the image */
	RESNET_NONE = -1,	/* as a residual: there is none */
};

struct resnet_layer {
	const char *name;
	const int8_t *weights;	/* [out_channels][in_channels][kernel][kernel] */
	const int32_t *bias;	/* [out_channels], rounding constant included */
	int source, res;	/* layers that make the input and the residual */
	uint16_t in_channels, in_side;
	uint16_t out_channels, out_side;
	uint8_t kernel, stride, pad;
	uint8_t res_shift;	/* 0..31 */
	uint8_t shift;		/* 1..31 */
	bool relu;
};

/* weights.c, as trained. */
extern const struct resnet_layer resnet_layers[RESNET_LAYERS];

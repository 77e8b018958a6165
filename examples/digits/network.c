// SPDX-License-Identifier: Apache-2.0
/*
 * network.c - the network in weights.bin, and its scores in plain loops
 */
#include <stddef.h>
#include <string.h>

#include "network.h"

/* The build defines the network; an analyser need not know. */
#ifndef WEIGHTS
#define WEIGHTS "/dev/null"
#endif

__asm__(".section .rodata\n"
	".balign 4\n"
	".global digits_network\n.hidden digits_network\n"
	"digits_network: .incbin \"" WEIGHTS "\"\n"
	".previous\n");

/* Values of the largest input or output; digits_reference() checks that it is. */
enum { VALUES_MAX = 16 * DIGITS_PIXELS };

const int8_t *digits_weights(const struct digits_layer *l)
{
	return (const int8_t *)&digits_network + l->weights;
}

const int32_t *digits_bias(const struct digits_layer *l)
{
	return (const int32_t *)&digits_network + l->bias / sizeof(int32_t);
}

static int32_t accumulate(const struct digits_layer *l, const int8_t *in,
			  unsigned int oc, unsigned int oy, unsigned int ox)
{
	const int8_t *w = digits_weights(l) + (size_t)oc * l->in_channels * l->kernel * l->kernel;
	int32_t acc = digits_bias(l)[oc];

	for (unsigned int ic = 0; ic < l->in_channels; ic++)
		for (unsigned int ky = 0; ky < l->kernel; ky++)
			for (unsigned int kx = 0; kx < l->kernel; kx++, w++) {
				/* Both wrap above or left of the input. */
				unsigned int y = oy * l->stride + ky - l->pad;
				unsigned int x = ox * l->stride + kx - l->pad;

				if (y < l->in_side && x < l->in_side)
					acc += in[(ic * l->in_side + y) * l->in_side + x] * *w;
			}
	return acc;
}

static int8_t requantise(const struct digits_layer *l, int32_t acc)
{
	acc >>= l->shift;
	if (l->relu && acc < 0)
		acc = 0;
	if (acc < INT8_MIN)
		return INT8_MIN;
	return acc > INT8_MAX ? INT8_MAX : (int8_t)acc;
}

void digits_run_layer(const struct digits_layer *l, const int8_t *in, const int8_t *res,
		      int8_t *out)
{
	for (unsigned int oc = 0; oc < l->out_channels; oc++)
		for (unsigned int oy = 0; oy < l->out_side; oy++)
			for (unsigned int ox = 0; ox < l->out_side; ox++) {
				int32_t acc = accumulate(l, in, oc, oy, ox);

				if (res)
					acc += *res++ * (1 << l->res_shift);
				*out++ = requantise(l, acc);
			}
}

void digits_reference(const uint8_t image[DIGITS_PIXELS], int8_t scores[DIGITS_CLASSES])
{
	int8_t values[DIGITS_LAYERS_MAX + 1][VALUES_MAX];

	for (unsigned int i = 0; i < DIGITS_PIXELS; i++)
		values[0][i] = (int8_t)(image[i] >> 1);
	for (unsigned int i = 0; i < digits_network.layers; i++) {
		const struct digits_layer *l = &digits_network.layer[i];

		assert(l->out_channels * l->out_side * l->out_side <= VALUES_MAX);
		digits_run_layer(l, values[l->source + 1],
				 l->res == DIGITS_NONE ? NULL : values[l->res + 1], values[i + 1]);
	}
	memcpy(scores, values[digits_network.layers], DIGITS_CLASSES);
}

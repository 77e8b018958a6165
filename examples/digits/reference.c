// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <assert.h>
#include <string.h>

#include "weights.h"

/* Holds any layer's input or output; forward() checks that it does. */
enum { MAX_VALUES = 4096 };

static int32_t accumulate(const struct digits_layer *l, const int8_t *in,
			  int oc, int oy, int ox)
{
	int32_t acc = l->bias[oc];

	for (int ic = 0; ic < l->in_channels; ic++) {
		for (int ky = 0; ky < l->kernel; ky++) {
			for (int kx = 0; kx < l->kernel; kx++) {
				int y = oy * l->stride + ky - l->pad;
				int x = ox * l->stride + kx - l->pad;

				if (y < 0 || y >= l->in_height || x < 0 || x >= l->in_width)
					continue;
				acc += in[(ic * l->in_height + y) * l->in_width + x] *
				       l->weights[((oc * l->in_channels + ic) * l->kernel + ky) *
						  l->kernel + kx];
			}
		}
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

/* Input and output are ordered channel, row, column. */
static void forward(const struct digits_layer *l, const int8_t *in, int8_t *out)
{
	assert(l->in_channels * l->in_height * l->in_width <= MAX_VALUES);
	assert(l->out_channels * l->out_height * l->out_width <= MAX_VALUES);

	for (int oc = 0; oc < l->out_channels; oc++) {
		for (int oy = 0; oy < l->out_height; oy++) {
			for (int ox = 0; ox < l->out_width; ox++)
				*out++ = requantise(l, accumulate(l, in, oc, oy, ox));
		}
	}
}

void digits_reference(const uint8_t image[DIGITS_PIXELS], int8_t scores[DIGITS_CLASSES])
{
	int8_t values[2][MAX_VALUES];

	for (int i = 0; i < DIGITS_PIXELS; i++)
		values[0][i] = (int8_t)(image[i] >> 1);
	for (int i = 0; i < DIGITS_LAYERS; i++)
		forward(&digits_layers[i], values[i % 2], values[(i + 1) % 2]);
	memcpy(scores, values[DIGITS_LAYERS % 2], DIGITS_CLASSES);
}

unsigned int digits_best(const int8_t scores[DIGITS_CLASSES])
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < DIGITS_CLASSES; i++) {
		if (scores[i] > scores[best])
			best = i;
	}
	return best;
}

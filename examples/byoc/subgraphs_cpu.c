// SPDX-License-Identifier: Apache-2.0
/*
 * subgraphs_cpu.c - the functions that stayed on the CPU
 */
#include "reference.h"
#include "subgraphs.h"
#include "weights.h"

static int32_t conv_at(const struct digits_layer *l, const int8_t *in, unsigned int o,
		       unsigned int y, unsigned int x)
{
	const int8_t *w = l->weights + (size_t)o * l->in_channels * l->kernel * l->kernel;
	int32_t sum = l->bias[o];

	for (unsigned int c = 0; c < l->in_channels; c++)
		for (unsigned int i = 0; i < l->kernel; i++)
			for (unsigned int j = 0; j < l->kernel; j++, w++) {
				unsigned int row = y * l->stride + i - l->pad;
				unsigned int col = x * l->stride + j - l->pad;

				if (row < l->in_height && col < l->in_width)
					sum += in[(c * l->in_height + row) * l->in_width + col] *
					       *w;
			}
	return sum;
}

static int8_t requantised(const struct digits_layer *l, int32_t sum)
{
	sum >>= l->shift;
	if (l->relu && sum < 0)
		sum = 0;
	return (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
}

int32_t digits_cpu_conv1(DLTensor *image, DLTensor *out)
{
	const struct digits_layer *l = &digits_layers[0];
	const int8_t *in = image->data;
	int8_t *to = out->data;

	for (int64_t n = 0; n < image->shape[0]; n++) {
		for (unsigned int o = 0; o < l->out_channels; o++)
			for (unsigned int y = 0; y < l->out_height; y++)
				for (unsigned int x = 0; x < l->out_width; x++)
					*to++ = requantised(l, conv_at(l, in, o, y, x));
		in += l->in_channels * l->in_height * l->in_width;
	}
	return 0;
}

int32_t digits_cpu_argmax(DLTensor *scores, DLTensor *digit)
{
	const int8_t *in = scores->data;
	int32_t *out = digit->data;

	for (int64_t n = 0; n < scores->shape[0]; n++)
		out[n] = (int32_t)digits_best(in + n * DIGITS_CLASSES);
	return 0;
}

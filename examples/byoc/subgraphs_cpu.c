// SPDX-License-Identifier: Apache-2.0
/*
 * subgraphs_cpu.c - the functions that stayed on the CPU
 */
#include "network.h"
#include "subgraphs.h"
#include "testset.h"

int32_t digits_cpu_conv1(DLTensor *image, DLTensor *out)
{
	const struct digits_layer *l = &digits_network.layer[0];
	const int8_t *in = image->data;
	int8_t *to = out->data;

	for (int64_t n = 0; n < image->shape[0]; n++) {
		digits_run_layer(l, in, NULL, to);
		in += l->in_channels * l->in_side * l->in_side;
		to += l->out_channels * l->out_side * l->out_side;
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

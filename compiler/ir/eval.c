// SPDX-License-Identifier: Apache-2.0
/* Operators on shapes, which only the compiler can compute. */
#include <math.h>
#include <string.h>

#include "kernel.h"

bool vtac_is_shape_op(enum vtac_op op)
{
	return op == VTAC_SHAPE || op == VTAC_CONSTANT_OF_SHAPE || op == VTAC_RANGE ||
	       op == VTAC_EYE || op == VTAC_MEL_WEIGHTS;
}

static void eval_range(const struct vtac_node *node, const void *const *in, void *out)
{
	for (int64_t i = 0; i < vtac_elements(node->out[0]); i++) {
		const int64_t *start = in[0], *step = in[2];
		const int32_t *start32 = in[0], *step32 = in[2];
		const float *startf = in[0], *stepf = in[2];

		if (node->out[0]->dtype == VTAC_F32)
			((float *)out)[i] = *startf + (float)i * *stepf;
		else if (node->out[0]->dtype == VTAC_I32)
			((int32_t *)out)[i] = (int32_t)(*start32 + i * *step32);
		else
			((int64_t *)out)[i] = (int64_t)((uint64_t)*start +
							(uint64_t)i * (uint64_t)*step);
	}
}

/* @out is zeros. */
static void eval_eye(const struct vtac_node *node, void *out)
{
	const struct vtac_tensor *y = node->out[0];
	size_t bytes = vtac_dtype_size(y->dtype);
	static const int64_t integer = 1;
	static const float number = 1;

	memset(out, 0, (size_t)vtac_bytes(y));
	for (int64_t i = 0; i < y->dims[0]; i++) {
		int64_t j;

		if (!__builtin_add_overflow(i, node->attr.eye.k, &j) && j >= 0 && j < y->dims[1])
			memcpy((char *)out + (size_t)(i * y->dims[1] + j) * bytes,
			       y->dtype == VTAC_F32 ? (const void *)&number : &integer, bytes);
	}
}

/* Further than any bin */
#define EDGE_MAX	(INT64_C(1) << 40)

static double mel_of(double hz)
{
	return 2595 * log10(1 + hz / 700);
}

/* The bin of edge @i of @bins + 2, which are equally far apart in mel. */
static int64_t mel_edge(const double *v, int64_t i)
{
	double lo = mel_of(v[3]), hi = mel_of(v[4]);
	double hz = 700 * (pow(10, (lo + (double)i * (hi - lo) / (v[0] + 2)) / 2595) - 1);
	double bin = floor((v[1] + 1) * hz / v[2]);

	/* Edges may be any numbers. */
	return bin > -EDGE_MAX ? bin < EDGE_MAX ? (int64_t)bin : EDGE_MAX : -EDGE_MAX;
}

/* Triangles from the edge before to the edge after, as ONNX's reference has them. */
static void eval_mel(const struct vtac_node *node, float *out)
{
	int64_t rows = node->out[0]->dims[0], bins = node->out[0]->dims[1];
	const double *v = node->attr.mel;

	memset(out, 0, (size_t)(rows * bins) * sizeof(*out));
	for (int64_t k = 0; k < bins; k++) {
		int64_t lo = mel_edge(v, k), mid = mel_edge(v, k + 1), hi = mel_edge(v, k + 2);

		if (lo == mid && mid >= 0 && mid < rows)
			out[mid * bins + k] = 1;
		for (int64_t i = lo > 0 ? lo : 0; lo != mid && i <= mid && i < rows; i++)
			out[i * bins + k] = (float)((double)(i - lo) / (double)(mid - lo));
		for (int64_t i = mid > 0 ? mid : 0; hi != mid && i < hi && i < rows; i++)
			out[i * bins + k] = (float)((double)(hi - i) / (double)(hi - mid));
	}
}

void vtac_eval(const struct vtac_node *node, const void *const *in, void *out)
{
	size_t bytes = vtac_dtype_size(node->out[0]->dtype);

	if (node->op == VTAC_EYE)
		eval_eye(node, out);
	else if (node->op == VTAC_MEL_WEIGHTS)
		eval_mel(node, out);
	else if (node->op == VTAC_RANGE)
		eval_range(node, in, out);
	else if (node->op == VTAC_SHAPE)
		memcpy(out, node->in[0]->dims + node->attr.shape.start,
		       (size_t)vtac_bytes(node->out[0]));
	else
		for (int64_t i = 0; i < vtac_elements(node->out[0]); i++)
			memcpy((char *)out + (size_t)i * bytes, in[1], bytes);
}

// SPDX-License-Identifier: Apache-2.0
/* Read operators on signals: windows and transforms. */
#include "onnx_impl.h"

/* The coefficients of a window: a - b cos(2 pi i / n) + c cos(4 pi i / n) */
struct cosines {
	float a, b, c;
};

/* a + b cos(turns * i), or @y less that */
static struct vtac_tensor *add_cosine(struct onnx_node *n, struct vtac_tensor *y, enum vtac_op op,
				      float b, struct vtac_tensor *angle)
{
	struct vtac_tensor *cosine = onnx_unary(n, VTACPU_ACT_COS, angle);

	return onnx_two(n, op, y, onnx_two(n, VTAC_MUL, onnx_float(n, b), cosine));
}

static int read_window_function(struct onnx_node *n)
{
	const struct cosines *k = n->op->row;
	struct vtac_tensor *size = onnx_cast(n, VTAC_F32, n->in[0]), *angle, *y;
	struct vtac_node *range = onnx_between(n, VTAC_RANGE, 3);
	int64_t periodic, type;

	if (!range || !size || onnx_attr_int(n, "periodic", 1, &periodic) ||
	    onnx_attr_int(n, "output_datatype", 1, &type) ||
	    vtac_node_set_in(n->g, range, 0, onnx_float(n, 0)) ||
	    vtac_node_set_in(n->g, range, 1, size) ||
	    vtac_node_set_in(n->g, range, 2, onnx_float(n, 1)))
		return -1;
	if (!periodic)
		size = onnx_two(n, VTAC_SUB, size, onnx_float(n, 1));
	angle = onnx_two(n, VTAC_MUL, range->out[0], onnx_float(n, 6.28318530717958647692f));
	angle = onnx_two(n, VTAC_DIV, angle, size);
	y = add_cosine(n, onnx_float(n, k->a), VTAC_SUB, k->b, angle);
	if (k->c != 0)
		y = add_cosine(n, y, VTAC_ADD, k->c,
			       onnx_two(n, VTAC_MUL, angle, onnx_float(n, 2)));
	return onnx_result(n, 0, onnx_cast_to(n, y, type));
}

/* By the weights 0 and 1 of the spectrum's bins: mel bins, DFT size, rate, edges. */
static int read_mel(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_MEL_WEIGHTS, 5);
	int64_t type;

	if (!node || onnx_attr_int(n, "output_datatype", 1, &type))
		return -1;
	return onnx_dtype((int32_t)type) == VTAC_F32 ? 0 :
	       onnx_fail(n, "It makes %s, which is not supported.", onnx_type_name(type));
}

static int read_dft(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_DFT, 3);
	int64_t inverse, onesided;

	if (!node || onnx_attr_int(n, "inverse", 0, &inverse) ||
	    onnx_attr_int(n, "onesided", 0, &onesided) ||
	    onnx_attr_axis(n, n->r->opset < 20 ? 1 : -2, &node->attr.dft.axis))
		return -1;
	if (inverse && onesided)
		return onnx_fail(n, "The inverse of half a transform is not supported.");
	node->attr.dft.inverse = inverse;
	node->attr.dft.onesided = onesided;
	return 0;
}

static int read_stft(struct onnx_node *n)
{
	struct vtac_node *node = onnx_make(n, VTAC_DFT, 4);
	int64_t onesided;

	if (!node || onnx_attr_int(n, "onesided", 1, &onesided))
		return -1;
	node->attr.dft.onesided = onesided;
	node->attr.dft.frames = true;
	return 0;
}

#define WINDOW(name, a, b, c) \
	{ name, 1, 1, 1, read_window_function, &(const struct cosines){ a, b, c } }

const struct onnx_op onnx_signal_ops[] = {
	WINDOW("BlackmanWindow", 0.42f, 0.5f, 0.08f),
	WINDOW("HammingWindow", 25.0f / 46, 21.0f / 46, 0),
	WINDOW("HannWindow", 0.5f, 0.5f, 0),
	{ "DFT", 1, 3, 1, read_dft, NULL },
	{ "MelWeightMatrix", 5, 5, 1, read_mel, NULL },
	{ "STFT", 2, 4, 1, read_stft, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

// SPDX-License-Identifier: Apache-2.0
/* Shapes of samples, windows of three dimensions, transforms, and products by labels. */
#include <string.h>

#include "shape_impl.h"

/* Times channels of a tensor, of which there are at most 2^40, they stay within 64 bits. */
#define SHAPE_GROUPS_MAX	(1 << 22)

int shape_grid_sample(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *grid = node->in[1];
	int64_t dims[VTAC_RANK_MAX];

	if ((x->rank != 4 && x->rank != 5) || grid->rank != x->rank ||
	    grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != x->rank - 2)
		return vtac_fail(g, node, "Its grid does not fit its input.");
	memcpy(dims, x->dims, sizeof(dims));
	for (int i = 2; i < x->rank; i++)
		dims[i] = grid->dims[i - 1];
	return shape_out(g, node, x->rank, dims);
}

int shape_roi_align(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *rois = node->in[1], *image = node->in[2];

	if (x->rank != 4 || x->dtype != VTAC_F32 || rois->rank != 2 || rois->dims[1] != 4 ||
	    image->rank != 1 || image->dims[0] != rois->dims[0] || image->dtype != VTAC_I64 ||
	    rois->dtype != VTAC_F32)
		return vtac_fail(g, node, "Its regions do not fit its input.");
	if (node->attr.roi.h < 1 || node->attr.roi.h > SHAPE_PARAM_MAX || node->attr.roi.w < 1 ||
	    node->attr.roi.w > SHAPE_PARAM_MAX || node->attr.roi.samples < 0 ||
	    node->attr.roi.samples > SHAPE_PARAM_MAX)
		return vtac_fail(g, node, "Its sizes are out of range.");
	return shape_out(g, node, 4, (const int64_t[]){ rois->dims[0], x->dims[1],
							node->attr.roi.h, node->attr.roi.w });
}

/* ---- windows of three dimensions ---- */

/* Sizes of a plain window's output in its last dimensions. */
static int64_t window_out(struct vtac_window_3d *w, int i, int64_t in)
{
	int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1, room, out;

	if (w->auto_pad != VTAC_PAD_EXPLICIT) {
		int64_t total = (in - 1) / w->stride[i] * w->stride[i] + extent - in;

		total = total > 0 ? total : 0;
		w->pad[i] = w->auto_pad == VTAC_PAD_SAME_UPPER ? total / 2 : total - total / 2;
		w->pad[3 + i] = total - w->pad[i];
	}
	room = in + w->pad[i] + w->pad[3 + i] - extent;
	if (room < 0)
		return 0;
	out = (room + (w->ceil ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
	return w->ceil && (out - 1) * w->stride[i] >= in + w->pad[i] ? out - 1 : out;
}

/* As of a convolution of pictures: an excess goes to pads, a lack to out_pad. */
static int64_t transposed_out(struct vtac_window_3d *w, int i, int64_t in)
{
	int64_t full = (in - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 +
		w->out_pad[i];
	int64_t want = w->out_shape[i] ? w->out_shape[i] :
		w->auto_pad != VTAC_PAD_EXPLICIT ? in * w->stride[i] : 0, excess;

	if (!want)
		return full - w->pad[i] - w->pad[3 + i];
	excess = full > want ? full - want : 0;
	w->pad[i] = w->auto_pad == VTAC_PAD_SAME_UPPER ? excess / 2 : excess - excess / 2;
	w->pad[3 + i] = excess - w->pad[i];
	return want;
}

static int window_sizes(struct vtac_graph *g, const struct vtac_node *node,
			struct vtac_window_3d *w, int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	int axes = x->rank - 2;

	for (int i = 0; i < 3; i++) {
		int64_t in = i < 3 - axes ? 1 : x->dims[i + axes - 1];

		if (w->kernel[i] < 1 || w->kernel[i] > SHAPE_PARAM_MAX || w->stride[i] < 1 ||
		    w->stride[i] > SHAPE_PARAM_MAX || w->dilation[i] < 1 ||
		    w->dilation[i] > SHAPE_PARAM_MAX || w->pad[i] < 0 || w->pad[3 + i] < 0 ||
		    w->pad[i] > SHAPE_PARAM_MAX || w->pad[3 + i] > SHAPE_PARAM_MAX ||
		    w->out_pad[i] < 0 || w->out_pad[i] > SHAPE_PARAM_MAX ||
		    w->out_shape[i] < 0 || w->out_shape[i] > INT32_MAX || in < 1)
			return vtac_fail(g, node, "Its kernel, strides, dilations or pads are out "
					 "of range.");
		dims[i] = w->transposed ? transposed_out(w, i, in) : window_out(w, i, in);
		if (dims[i] < 1 || dims[i] > INT32_MAX)
			return vtac_fail(g, node, "Its kernel is larger than its padded input.");
		if (w->pad[i] > INT32_MAX || w->pad[3 + i] > INT32_MAX)
			return vtac_fail(g, node, "Its output is much smaller than its input.");
	}
	w->auto_pad = VTAC_PAD_EXPLICIT;
	for (int i = 0; i < 3; i++) {
		w->out_shape[i] = w->out_shape[i] ? dims[i] : 0;
		w->out_pad[i] = w->out_shape[i] ? 0 : w->out_pad[i];
	}
	return 0;
}

int shape_conv_3d(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *k = node->in[1];
	struct vtac_window_3d *w = &node->attr.window_3d;
	int64_t dims[5], channels;

	if (x->rank != 5 || k->rank != 5)
		return vtac_fail(g, node, "Its input has %d dimensions, its weights %d.", x->rank,
				 k->rank);
	for (int i = 0; i < 3; i++)
		w->kernel[i] = k->dims[2 + i];
	if (w->groups < 1 || w->groups > SHAPE_GROUPS_MAX)
		return vtac_fail(g, node, "It has %lld groups.", (long long)w->groups);
	channels = w->transposed ? k->dims[0] : k->dims[1] * w->groups;
	if (x->dims[1] != channels ||
	    x->dims[1] % w->groups || (!w->transposed && k->dims[0] % w->groups))
		return vtac_fail(g, node, "Its weights are for %lld channels, its input has %lld.",
				 (long long)channels, (long long)x->dims[1]);
	dims[0] = x->dims[0];
	dims[1] = w->transposed ? k->dims[1] * w->groups : k->dims[0];
	if (node->n_in > 2 && node->in[2] && vtac_elements(node->in[2]) != dims[1])
		return vtac_fail(g, node, "Its bias is not one value for each channel.");
	return window_sizes(g, node, w, dims + 2) ? -1 : shape_out(g, node, 5, dims);
}

int shape_pool_3d(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_window_3d *w = &node->attr.window_3d;
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[5] = { 0 }, sizes[3];

	if (x->rank < 3 || x->rank > 5)
		return vtac_fail(g, node, "Its input has %d dimensions.", x->rank);
	if (window_sizes(g, node, w, sizes))
		return -1;
	for (int i = 0; i < x->rank; i++)
		dims[i] = i < 2 ? x->dims[i] : sizes[i - 2 + 5 - x->rank];
	if (shape_out(g, node, x->rank, dims))
		return -1;
	if (w->kind == VTACPU_POOL_3D_PLACE)
		node->out[0]->dtype = VTAC_I64;
	return 0;
}

/* ---- transforms ---- */

/* Frames of a signal: [batch][length][1 or 2], by a step and a window or a length. */
static int shape_frames(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[4] = { x->dims[0] }, n, step = 0, count = 0;
	struct vtac_tensor *window = node->n_in > 2 ? node->in[2] : NULL;

	if (x->rank != 3 || shape_ints(g, node, 1, &step, 1) != 1 ||
	    shape_ints(g, node, 3, &count, 1) == -2)
		return vtac_fail(g, node, "Its signal, step or length is not as it must be.");
	if (!count && window)
		count = vtac_elements(window);
	if (step < 1 || step > INT32_MAX || count < 1 || count > x->dims[1] ||
	    (window && vtac_elements(window) != count))
		return vtac_fail(g, node, "Its frames do not fit its signal.");
	n = (x->dims[1] - count) / step + 1;
	node->attr.dft.step = step;
	node->attr.dft.count = count;
	node->attr.dft.axis = 1;
	dims[1] = n;
	dims[2] = node->attr.dft.onesided ? count / 2 + 1 : count;
	dims[3] = 2;
	if (vtac_node_set_in(g, node, 1, window) || vtac_node_resize_in(g, node, 2))
		return -1;
	return shape_out(g, node, 4, dims);
}

int shape_dft(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[VTAC_RANK_MAX], count = 0, value;
	bool has_axis = node->n_in > 2 && node->in[2];
	int axis = node->attr.dft.axis;

	if (node->n_in <= 2 && node->out[0]->rank >= 0)
		return 0;	/* done before */
	if (x->rank < 2 || x->dims[x->rank - 1] < 1 || x->dims[x->rank - 1] > 2)
		return vtac_fail(g, node, "Its last dimension is not 1 or 2.");
	if (node->attr.dft.frames)
		return shape_frames(g, node);
	if (shape_ints(g, node, 1, &count, 1) == -2)
		return -1;
	if (has_axis && shape_ints(g, node, 2, &value, 1) != 1)
		return vtac_fail(g, node, "Its axis is not one constant.");
	if (has_axis)
		axis = value < -VTAC_RANK_MAX || value > VTAC_RANK_MAX ? VTAC_RANK_MAX : (int)value;
	if (shape_axis(g, node, axis, x->rank, &axis))
		return -1;
	count = node->n_in > 1 && node->in[1] ? count : x->dims[axis];
	if (axis == x->rank - 1 || count < 1 || count > INT32_MAX)
		return vtac_fail(g, node, "Its axis or length is out of range.");
	memcpy(dims, x->dims, sizeof(dims));
	dims[axis] = node->attr.dft.onesided ? count / 2 + 1 : count;
	dims[x->rank - 1] = 2;
	node->attr.dft.axis = axis;
	node->attr.dft.count = count;
	node->attr.dft.step = 1;
	if (vtac_node_set_in(g, node, 1, NULL) || vtac_node_resize_in(g, node, 2))
		return -1;
	return shape_out(g, node, x->rank, dims);
}

/* ---- products by labels ---- */

/* Put digits for the dimensions of '.', as many as there are: the last one is always '7'. */
static int expand_labels(struct vtac_graph *g, const struct vtac_node *node,
			 char labels[VTAC_LABELS_MAX], int rank, int *any)
{
	char *dot = strchr(labels, '.'), own[2 * VTAC_LABELS_MAX];
	int n = dot ? rank - ((int)strlen(labels) - 1) : 0, k = 0;

	if (rank > VTAC_RANK_MAX || n < 0 || (!dot && (int)strlen(labels) != rank))
		return vtac_fail(g, node, "Its equation has %zu labels for %d dimensions.",
				 strlen(labels), rank);
	for (const char *p = labels; *p; p++) {
		if (*p != '.')
			own[k++] = *p;
		for (int i = 0; *p == '.' && i < n; i++)
			own[k++] = (char)('8' - n + i);
	}
	own[k] = 0;
	memcpy(labels, own, (size_t)k + 1);
	*any = n > *any ? n : *any;
	return 0;
}

/* The size of @label in an operand, or -1. */
static int64_t size_of_label(const struct vtac_tensor *t, const char *labels, char label)
{
	int64_t size = -1;

	for (int i = 0; labels[i]; i++)
		if (labels[i] == label)
			size = size == -1 || size == 1 ? t->dims[i] : size;
	return size;
}

static int check_labels(struct vtac_graph *g, const struct vtac_node *node,
			const struct vtac_tensor *t, const char *labels)
{
	for (int i = 0; labels[i]; i++) {
		int64_t a = size_of_label(node->in[0], node->attr.einsum.a, labels[i]);
		int64_t b = node->n_in > 1 ?
			size_of_label(node->in[1], node->attr.einsum.b, labels[i]) : -1;
		int64_t most = a > b ? a : b;

		if (t->dims[i] != most && t->dims[i] != 1)
			return vtac_fail(g, node, "Its label %c has sizes that differ.", labels[i]);
	}
	return 0;
}

int shape_einsum(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_einsum *e = &node->attr.einsum;
	int64_t dims[VTAC_RANK_MAX];
	int any = 0, rank;

	if (expand_labels(g, node, e->a, node->in[0]->rank, &any) ||
	    (node->n_in > 1 && expand_labels(g, node, e->b, node->in[1]->rank, &any)))
		return -1;
	rank = (int)strlen(e->y) + (strchr(e->y, '.') ? any - 1 : 0);
	if (expand_labels(g, node, e->y, rank, &any) || check_labels(g, node, node->in[0], e->a) ||
	    (node->n_in > 1 && check_labels(g, node, node->in[1], e->b)))
		return -1;
	for (int i = 0; i < rank; i++) {
		int64_t a = size_of_label(node->in[0], e->a, e->y[i]);
		int64_t b = node->n_in > 1 ? size_of_label(node->in[1], e->b, e->y[i]) : -1;

		dims[i] = a > b ? a : b;
		if (dims[i] < 0 || strchr(e->y + i + 1, e->y[i]))
			return vtac_fail(g, node, "Its output's label %c is not one of an input.",
					 e->y[i]);
	}
	return shape_out(g, node, rank, dims);
}

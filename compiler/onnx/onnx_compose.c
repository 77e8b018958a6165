// SPDX-License-Identifier: Apache-2.0
/* Read operators that are made of others: places to sample at, parts of pictures put together. */
#include <string.h>

#include "onnx_impl.h"

/* ---- sizes, which are known when the graph has its shapes ---- */

static struct vtac_tensor *integers_1(struct onnx_node *n, int64_t a)
{
	return onnx_integers(n, &a, 1);
}

/* Dimensions @first to @end of @x, not included */
static struct vtac_tensor *sizes_of(struct onnx_node *n, struct vtac_tensor *x, int64_t first,
				    int64_t end)
{
	struct vtac_tensor *y = onnx_shape(n, x);

	if (!y)
		return NULL;
	y->producer->attr.shape.start = first;
	y->producer->attr.shape.end = end;
	return y;
}

static struct vtac_tensor *joined(struct onnx_node *n, struct vtac_tensor *a, struct vtac_tensor *b,
				  int axis)
{
	struct vtac_node *node = onnx_of_two(n, VTAC_CONCAT, a, b);

	if (!node)
		return NULL;
	node->attr.axis.axis = axis;
	return node->out[0];
}

static struct vtac_tensor *taken(struct onnx_node *n, struct vtac_tensor *x, int64_t i, int axis)
{
	struct vtac_node *node = onnx_of_two(n, VTAC_GATHER, x, onnx_integer(n, i));

	if (!node)
		return NULL;
	node->attr.axis.axis = axis;
	return node->out[0];
}

/* @x with dimensions of 1 at @axes */
static struct vtac_tensor *widened(struct onnx_node *n, struct vtac_tensor *x, const int64_t *axes,
				   int64_t count)
{
	return count ? onnx_reshape(n, VTAC_UNSQUEEZE, x, onnx_integers(n, axes, count)) : x;
}

/* 0, 1, 2, .. below the number in the list @count, as floats */
static struct vtac_tensor *places_below(struct onnx_node *n, struct vtac_tensor *count)
{
	struct vtac_node *ones = onnx_of_two(n, VTAC_CONSTANT_OF_SHAPE, count, onnx_float(n, 1));
	struct vtac_node *sums = ones ? onnx_of_two(n, VTAC_CUM_SUM, ones->out[0],
						    onnx_integer(n, 0)) : NULL;

	return sums ? onnx_two(n, VTAC_SUB, sums->out[0], onnx_float(n, 1)) : NULL;
}

/* @x * @scale + @add */
static struct vtac_tensor *linear(struct onnx_node *n, struct vtac_tensor *x, float scale,
				  float add)
{
	return onnx_two(n, VTAC_ADD, onnx_two(n, VTAC_MUL, x, onnx_float(n, scale)),
			onnx_float(n, add));
}

/* ---- AffineGrid ---- */

/* The places of a line of as many as the list @count says, from -1 to 1 */
static struct vtac_tensor *grid_line(struct onnx_node *n, struct vtac_tensor *count, bool align)
{
	struct vtac_tensor *at = places_below(n, count), *size = onnx_cast(n, VTAC_F32, count);

	if (!align)
		return linear(n, onnx_two(n, VTAC_DIV, linear(n, at, 2, 1), size), 1, -1);
	/* One place alone is at -1. */
	size = onnx_two(n, VTAC_MAX, linear(n, size, 1, -1), onnx_float(n, 1));
	return linear(n, onnx_two(n, VTAC_DIV, linear(n, at, 2, 0), size), 1, -1);
}

/*
 * theta [images][axes][axes + 1], sizes [images, channels, .., height, width]: for each place of a
 * picture the sum of theta's columns times its coordinates, x first, and of the last column.
 */
static int read_affine_grid(struct onnx_node *n)
{
	static const int64_t ones[] = { 1, 2, 3, 4 };
	const struct vtac_tensor *sizes = n->in[1];
	struct vtac_tensor *y = NULL, *part;
	int64_t align, axes;

	if (onnx_attr_int(n, "align_corners", 0, &align))
		return -1;
	axes = sizes->rank == 1 && sizes->dims[0] > 0 ? sizes->dims[0] - 2 : 0;
	if (axes < 1 && n->in[0]->rank == 3)
		axes = n->in[0]->dims[1];
	if (axes != 2 && axes != 3)
		return onnx_fail(n, "The file does not say that its grid has 2 or 3 dimensions.");
	for (int64_t k = 0; k <= axes; k++) {
		/* Column k, [images][1]..[axes]; x is the last size. */
		part = widened(n, taken(n, n->in[0], k, 2), ones, axes);
		if (k < axes) {
			struct vtac_tensor *line = taken(n, n->in[1], axes + 1 - k, 0);

			line = onnx_reshape(n, VTAC_TO_SHAPE, line, integers_1(n, 1));
			line = widened(n, grid_line(n, line, align), ones, k + 1);
			part = onnx_two(n, VTAC_MUL, part, line);
		}
		y = k ? onnx_two(n, VTAC_ADD, y, part) : part;
	}
	return onnx_result(n, 0, y);
}

/* ---- CenterCropPad ---- */

/* Half of what @a has more than @b, or 0 */
static struct vtac_tensor *half_more(struct onnx_node *n, struct vtac_tensor *a,
				     struct vtac_tensor *b)
{
	struct vtac_tensor *more = onnx_two(n, VTAC_MAX, onnx_two(n, VTAC_SUB, a, b),
					    integers_1(n, 0));

	return onnx_two(n, VTAC_DIV, more, integers_1(n, 2));
}

/* The middle of @x, as large as the second input says, and zeros around it */
static int read_center_crop_pad(struct onnx_node *n)
{
	const Onnx__AttributeProto *a = onnx_attr(n, "axes");
	struct vtac_tensor *to = n->in[1], *axes, *from, *first, *kept, *before, *pads;
	struct vtac_node *slice, *pad;
	int64_t all[VTAC_RANK_MAX];
	size_t count = a ? a->n_ints : 0;

	if (!a && to->rank == 1 && to->dims[0] > 0)
		count = (size_t)to->dims[0];
	if (count < 1 || count > VTAC_RANK_MAX)
		return onnx_fail(n, "The file does not say how many sizes it has.");
	for (size_t i = 0; i < count; i++)
		all[i] = a ? a->ints[i] : (int64_t)i;
	axes = onnx_integers(n, all, (int64_t)count);
	from = onnx_shape(n, n->in[0]);
	if (a)
		from = onnx_two(n, VTAC_GATHER, from, axes);
	first = half_more(n, from, to);
	kept = onnx_two(n, VTAC_MIN, from, to);
	before = half_more(n, to, from);
	pads = onnx_two(n, VTAC_SUB, onnx_two(n, VTAC_SUB, to, kept), before);
	pads = joined(n, before, pads, 0);
	slice = pads ? onnx_between(n, VTAC_SLICE, 5) : NULL;
	if (!slice || vtac_node_set_in(n->g, slice, 0, n->in[0]) ||
	    vtac_node_set_in(n->g, slice, 1, first) ||
	    vtac_node_set_in(n->g, slice, 2, onnx_two(n, VTAC_ADD, first, kept)) ||
	    vtac_node_set_in(n->g, slice, 3, axes))
		return -1;
	pad = onnx_between(n, VTAC_PAD, 4);
	if (!pad || vtac_node_set_in(n->g, pad, 0, slice->out[0]) ||
	    vtac_node_set_in(n->g, pad, 1, pads) || vtac_node_set_in(n->g, pad, 3, axes))
		return -1;
	return onnx_result(n, 0, pad->out[0]);
}

/* ---- Col2Im ---- */

struct blocks {
	int64_t image[2], kernel[2], dilation[2], stride[2], pad[4], count[2];
};

/* The constant integers of input @i, of which a picture of one row has one */
static int read_sizes(struct onnx_node *n, unsigned int i, int64_t sizes[2])
{
	const struct vtac_tensor *t = n->in[i];
	int64_t count = t->data && t->dtype == VTAC_I64 ? vtac_elements(t) : 0;

	if (count < 1 || count > 2)
		return onnx_fail(n, "Its input %.120s is not one constant or two.", t->name);
	sizes[0] = 1;
	memcpy(sizes + 2 - count, t->data, (size_t)count * sizeof(*sizes));
	for (int k = 0; k < 2; k++)
		if (sizes[k] < 1 || sizes[k] > INT32_MAX)
			return onnx_fail(n, "A size of it is %lld.", (long long)sizes[k]);
	return 0;
}

static bool in_range(int64_t v, int64_t least)
{
	return v >= least && v <= INT32_MAX;
}

static int read_blocks(struct onnx_node *n, struct blocks *b)
{
	size_t axes, first;
	int64_t pads[4] = { 0 };

	*b = (struct blocks){ .dilation = { 1, 1 }, .stride = { 1, 1 } };
	if (read_sizes(n, 1, b->image) || read_sizes(n, 2, b->kernel))
		return -1;
	axes = (size_t)vtac_elements(n->in[1]);
	first = 2 - axes;
	if (onnx_attr_ints(n, "dilations", b->dilation + first, axes) ||
	    onnx_attr_ints(n, "strides", b->stride + first, axes) ||
	    onnx_attr_ints(n, "pads", pads, 2 * axes))
		return -1;
	for (size_t i = 0; i < axes; i++) {
		b->pad[first + i] = pads[i];
		b->pad[2 + first + i] = pads[axes + i];
	}
	for (int i = 0; i < 2; i++) {
		if (!in_range(b->dilation[i], 1) || !in_range(b->stride[i], 1) ||
		    !in_range(b->pad[i], 0) || !in_range(b->pad[2 + i], 0))
			return onnx_fail(n, "A stride, pad or dilation of it is out of range.");
		b->count[i] = b->image[i] + b->pad[i] + b->pad[2 + i] -
			      b->dilation[i] * (b->kernel[i] - 1) - 1;
		if (b->count[i] < 0)
			return onnx_fail(n, "Its blocks are larger than the picture.");
		b->count[i] = b->count[i] / b->stride[i] + 1;
	}
	return 0;
}

/* Each value of a block as a channel that a transposed convolution puts to its place. */
static struct vtac_tensor *place_weights(struct onnx_node *n, const struct blocks *b)
{
	int64_t k = b->kernel[0] * b->kernel[1], dims[] = { k, 1, b->kernel[0], b->kernel[1] };
	float *w;

	if (k > 4096) {
		onnx_fail(n, "Its blocks have %lld values; 4096 are supported.", (long long)k);
		return NULL;
	}
	w = vtac_alloc(n->g, (uint64_t)(k * k), sizeof(*w));
	for (int64_t i = 0; w && i < k; i++)
		w[i * k + i] = 1;
	return w ? vtac_tensor_const(n->g, "places", VTAC_F32, 4, dims, w, false) : NULL;
}

/* x [images][channels * block][blocks]: sums of blocks at their places */
static int read_col_2_im(struct onnx_node *n)
{
	struct blocks b;
	struct vtac_tensor *x, *shape;
	struct vtac_node *node;
	struct vtac_window *w;

	if (read_blocks(n, &b))
		return -1;
	x = onnx_reshape(n, VTAC_TO_SHAPE, n->in[0], onnx_integers(n, (int64_t[]){
		-1, b.kernel[0] * b.kernel[1], b.count[0], b.count[1] }, 4));
	node = onnx_of_two(n, VTAC_CONV_TRANSPOSE, x, place_weights(n, &b));
	if (!node || vtac_node_resize_in(n->g, node, 3))
		return -1;
	w = &node->attr.conv.window;
	node->attr.conv.groups = 1;
	w->auto_pad = VTAC_PAD_EXPLICIT;
	for (int i = 0; i < 2; i++) {
		w->kernel[i] = b.kernel[i];
		w->stride[i] = b.stride[i];
		w->dilation[i] = b.dilation[i];
		w->pad[i] = b.pad[i];
		w->pad[2 + i] = b.pad[2 + i];
		node->attr.conv.out_pad[i] = b.image[i] + b.pad[i] + b.pad[2 + i] -
			(b.count[i] - 1) * b.stride[i] - b.dilation[i] * (b.kernel[i] - 1) - 1;
	}
	shape = joined(n, sizes_of(n, n->in[0], 0, 1), integers_1(n, -1), 0);
	shape = joined(n, shape, n->in[1], 0);
	return onnx_result(n, 0, onnx_reshape(n, VTAC_TO_SHAPE, node->out[0], shape));
}

/* ---- DeformConv ---- */

struct deformed {
	int64_t kernel[2], stride[2], dilation[2], pad[4], groups, offsets;
};

static int read_deformed(struct onnx_node *n, struct deformed *d)
{
	const struct vtac_tensor *w = n->in[1];

	*d = (struct deformed){ .stride = { 1, 1 }, .dilation = { 1, 1 } };
	if (w->rank == 4) {
		d->kernel[0] = w->dims[2];
		d->kernel[1] = w->dims[3];
	}
	if (onnx_attr_ints(n, "kernel_shape", d->kernel, 2) ||
	    onnx_attr_ints(n, "strides", d->stride, 2) ||
	    onnx_attr_ints(n, "dilations", d->dilation, 2) ||
	    onnx_attr_ints(n, "pads", d->pad, 4) || onnx_attr_int(n, "group", 1, &d->groups) ||
	    onnx_attr_int(n, "offset_group", 1, &d->offsets))
		return -1;
	for (int i = 0; i < 2; i++) {
		if (d->kernel[i] < 1 || d->kernel[i] > 64)
			return onnx_fail(n, "Its kernel has a size of %lld; 1 to 64 are supported.",
					 (long long)d->kernel[i]);
		if (d->dilation[i] < 1 || d->dilation[i] > INT32_MAX)
			return onnx_fail(n, "Its dilation is %lld.", (long long)d->dilation[i]);
	}
	if (d->offsets < 1 || d->offsets > INT32_MAX)
		return onnx_fail(n, "It has %lld groups of offsets.", (long long)d->offsets);
	return 0;
}

/*
 * Places in dimension @i of x, between -1 and 1, for [images and groups][kernel][height][width]:
 * that of the window, that within the window, and the offset
 */
static struct vtac_tensor *places(struct onnx_node *n, const struct deformed *d,
				  struct vtac_tensor *offsets, int i)
{
	static const int64_t behind[] = { 1, 2 };
	int64_t k = d->kernel[0] * d->kernel[1], dims[] = { k, 1, 1 };
	struct vtac_tensor *at = places_below(n, sizes_of(n, n->in[2], 2 + i, 3 + i)), *size;
	float *within = vtac_alloc(n->g, (uint64_t)k, sizeof(*within));

	if (!within)
		return NULL;
	for (int64_t j = 0; j < k; j++)
		within[j] = (float)((i ? j % d->kernel[1] : j / d->kernel[1]) * d->dilation[i]);
	at = widened(n, linear(n, at, (float)d->stride[i], -(float)d->pad[i]), behind, 1 - i);
	at = onnx_two(n, VTAC_ADD, at, vtac_tensor_const(n->g, "window", VTAC_F32, 3, dims, within,
							 false));
	at = onnx_two(n, VTAC_ADD, taken(n, offsets, i, 2), at);
	size = onnx_cast(n, VTAC_F32, sizes_of(n, n->in[0], 2 + i, 3 + i));
	at = linear(n, onnx_two(n, VTAC_DIV, linear(n, at, 2, 1), size), 1, -1);
	return widened(n, at, (const int64_t[]){ 4 }, 1);
}

/* x, weights, offsets, [bias], [mask]: what GridSample finds, and a convolution of 1 x 1 of it */
static int read_deform_conv(struct onnx_node *n)
{
	struct vtac_tensor *mask = n->n_in > 4 ? n->in[4] : NULL, *x, *grid, *out, *w;
	struct vtac_node *node;
	struct deformed d;
	int64_t k;

	if (read_deformed(n, &d))
		return -1;
	k = d.kernel[0] * d.kernel[1];
	out = sizes_of(n, n->in[2], 2, 4);
	x = onnx_reshape(n, VTAC_TO_SHAPE, n->in[2],
			 joined(n, onnx_integers(n, (int64_t[]){ -1, k, 2 }, 3), out, 0));
	grid = joined(n, places(n, &d, x, 1), places(n, &d, x, 0), 4);
	x = joined(n, integers_1(n, -1), onnx_two(n, VTAC_MUL, out,
						  onnx_integers(n, (int64_t[]){ k, 1 }, 2)), 0);
	grid = onnx_reshape(n, VTAC_TO_SHAPE, grid, joined(n, x, integers_1(n, 2), 0));
	/* Groups of offsets are images. */
	w = onnx_two(n, VTAC_DIV, sizes_of(n, n->in[0], 1, 2), integers_1(n, d.offsets));
	x = joined(n, joined(n, integers_1(n, -1), w, 0), sizes_of(n, n->in[0], 2, 4), 0);
	node = onnx_of_two(n, VTAC_GRID_SAMPLE, onnx_reshape(n, VTAC_TO_SHAPE, n->in[0], x), grid);
	if (!node)
		return -1;
	node->attr.grid.mode = VTAC_LINEAR;
	x = node->out[0];
	if (mask) {
		w = onnx_two(n, VTAC_MUL, out, onnx_integers(n, (int64_t[]){ k, 1 }, 2));
		w = joined(n, onnx_integers(n, (int64_t[]){ -1, 1 }, 2), w, 0);
		x = onnx_two(n, VTAC_MUL, x, onnx_reshape(n, VTAC_TO_SHAPE, mask, w));
	}
	w = onnx_two(n, VTAC_MUL, sizes_of(n, n->in[0], 1, 2), integers_1(n, k));
	w = joined(n, joined(n, integers_1(n, -1), w, 0), out, 0);
	x = onnx_reshape(n, VTAC_TO_SHAPE, x, w);
	w = joined(n, sizes_of(n, n->in[1], 0, 1),
		   onnx_integers(n, (int64_t[]){ -1, 1, 1 }, 3), 0);
	node = onnx_of_two(n, VTAC_CONV, x, onnx_reshape(n, VTAC_TO_SHAPE, n->in[1], w));
	if (!node || vtac_node_resize_in(n->g, node, 3) ||
	    vtac_node_set_in(n->g, node, 2, n->n_in > 3 ? n->in[3] : NULL))
		return -1;
	node->attr.conv.groups = d.groups;
	node->attr.conv.window = (struct vtac_window){ .stride = { 1, 1 }, .dilation = { 1, 1 } };
	return onnx_result(n, 0, node->out[0]);
}

const struct onnx_op onnx_compose_ops[] = {
	{ "AffineGrid", 2, 2, 1, read_affine_grid, NULL },
	{ "CenterCropPad", 2, 2, 1, read_center_crop_pad, NULL },
	{ "Col2Im", 3, 3, 1, read_col_2_im, NULL },
	{ "DeformConv", 3, 5, 1, read_deform_conv, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

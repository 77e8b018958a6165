// SPDX-License-Identifier: Apache-2.0
/* Read operators on windows of pictures, and those that resize pictures. */
#include <string.h>

#include "onnx_impl.h"

/* Does the operator have windows of one dimension? By its attributes, or its weights. */
static bool is_line(struct onnx_node *n)
{
	static const char *const names[] = { "kernel_shape", "strides", "dilations" };
	const struct vtac_tensor *w = n->n_in > 1 ? n->in[1] : NULL;

	for (unsigned int i = 0; i < 3; i++) {
		const Onnx__AttributeProto *a = onnx_attr(n, names[i]);

		if (a)
			return a->n_ints == 1;
	}
	return w && w->rank == 3;
}

/* A line is a picture of one row. */
static int read_window(struct onnx_node *n, struct vtac_window *w)
{
	static const char *const auto_pads[] = { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID",
						 NULL };
	size_t dims = is_line(n) ? 1 : 2, first = 2 - dims;
	int64_t pads[4] = { 0 };	/* all begins, then all ends */
	int kind;

	*w = (struct vtac_window){ .stride = { 1, 1 }, .dilation = { 1, 1 } };
	if (onnx_attr_ints(n, "kernel_shape", w->kernel + first, dims) ||
	    onnx_attr_ints(n, "strides", w->stride + first, dims) ||
	    onnx_attr_ints(n, "dilations", w->dilation + first, dims) ||
	    onnx_attr_ints(n, "pads", pads, 2 * dims) ||
	    onnx_attr_word(n, "auto_pad", auto_pads, 0, &kind))
		return -1;
	if (dims == 1 && w->kernel[1])
		w->kernel[0] = 1;
	for (size_t i = 0; i < dims && kind == 0; i++) {
		w->pad[first + i] = pads[i];
		w->pad[2 + first + i] = pads[dims + i];
	}
	w->auto_pad = kind == 1 ? VTAC_PAD_SAME_UPPER : kind == 2 ? VTAC_PAD_SAME_LOWER :
		VTAC_PAD_EXPLICIT;
	return 0;
}

/* @t with a dimension 2 of one, or without it: between lines and pictures. */
static struct vtac_node *make_row(struct onnx_node *n, enum vtac_reshape_kind kind,
				  struct vtac_tensor *t)
{
	static const int64_t one = 1, axis = 2;
	struct vtac_tensor *axes = vtac_tensor_const(n->g, "axes", VTAC_I64, 1, &one, &axis, true);
	struct vtac_node *node = axes && t ? onnx_between(n, VTAC_RESHAPE, 2) : NULL;

	if (!node || vtac_node_set_in(n->g, node, 0, t) || vtac_node_set_in(n->g, node, 1, axes))
		return NULL;
	node->attr.reshape.kind = kind;
	return node;
}

/* Input and weights of an operator on lines become those of one on pictures, as its output. */
static struct vtac_node *make_windowed(struct onnx_node *n, enum vtac_op op, unsigned int n_in)
{
	struct vtac_node *node = onnx_make(n, op, is_line(n) ? 0 : n_in), *row;
	struct vtac_tensor *t;

	if (!node || !is_line(n))
		return node;
	t = vtac_tensor_new(n->g, vtac_text(n->g, "%s.row", n->stub.name), VTAC_F32);
	if (!t || vtac_node_resize_in(n->g, node, n_in))
		return NULL;
	vtac_node_set_out(node, 0, t);
	row = make_row(n, VTAC_SQUEEZE, t);
	if (!row)
		return NULL;
	vtac_node_set_out(row, 0, n->out[0]);
	for (unsigned int i = 0; i < n_in && i < n->n_in; i++) {
		if (!n->in[i])
			continue;
		t = n->in[i];
		if (i < 2) {
			row = make_row(n, VTAC_UNSQUEEZE, t);
			if (!row)
				return NULL;
			t = row->out[0];
		}
		if (vtac_node_set_in(n->g, node, i, t))
			return NULL;
	}
	return node;
}

/* Does the operator have windows of three dimensions? */
static bool is_volume(struct onnx_node *n)
{
	const Onnx__AttributeProto *a = onnx_attr(n, "kernel_shape");
	const struct vtac_tensor *w = n->n_in > 1 ? n->in[1] : NULL;

	return a ? a->n_ints == 3 : w && w->rank == 5;
}

/* The attributes of windows of up to three dimensions, which are the last. */
static int read_window_3d(struct onnx_node *n, struct vtac_window_3d *w)
{
	static const char *const auto_pads[] = { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID",
						 NULL };
	const Onnx__AttributeProto *a = onnx_attr(n, "kernel_shape");
	size_t axes = a ? a->n_ints : 3, first = 3 - axes;
	int64_t pads[6] = { 0 };	/* all begins, then all ends */
	int64_t ceil = 0;
	int kind;

	if (axes < 1 || axes > 3)
		return onnx_fail(n, "Its kernel has %zu dimensions.", axes);
	*w = (struct vtac_window_3d){ .kernel = { 1, 1, 1 }, .stride = { 1, 1, 1 },
				      .dilation = { 1, 1, 1 }, .groups = 1 };
	if (onnx_attr_ints(n, "kernel_shape", w->kernel + first, axes) ||
	    onnx_attr_ints(n, "strides", w->stride + first, axes) ||
	    onnx_attr_ints(n, "dilations", w->dilation + first, axes) ||
	    onnx_attr_ints(n, "pads", pads, 2 * axes) || onnx_attr_int(n, "ceil_mode", 0, &ceil) ||
	    onnx_attr_word(n, "auto_pad", auto_pads, 0, &kind))
		return -1;
	for (size_t i = 0; i < axes && kind == 0; i++) {
		w->pad[first + i] = pads[i];
		w->pad[3 + first + i] = pads[axes + i];
	}
	w->ceil = ceil;
	w->auto_pad = kind == 1 ? VTAC_PAD_SAME_UPPER : kind == 2 ? VTAC_PAD_SAME_LOWER :
		VTAC_PAD_EXPLICIT;
	return 0;
}

static int read_conv_3d(struct onnx_node *n, bool transposed)
{
	struct vtac_node *node = onnx_make(n, VTAC_CONV_3D, 3);
	struct vtac_window_3d *w = node ? &node->attr.window_3d : NULL;

	if (!w || read_window_3d(n, w) || onnx_attr_int(n, "group", 1, &w->groups))
		return -1;
	w->transposed = transposed;
	return transposed && (onnx_attr_ints(n, "output_padding", w->out_pad, 3) ||
			      onnx_attr_ints(n, "output_shape", w->out_shape, 3)) ? -1 : 0;
}

/* Output @i of a pool of one to three dimensions. */
static int read_pool_3d(struct onnx_node *n, unsigned int i, enum vtacpu_pool_3d_kind kind)
{
	struct vtac_node *node = onnx_of_one(n, VTAC_POOL_3D, n->in[0]);
	int64_t order = 0;

	if (!node || read_window_3d(n, &node->attr.window_3d) ||
	    onnx_attr_int(n, "storage_order", 0, &order) ||
	    onnx_attr_int(n, "p", 2, &node->attr.window_3d.power))
		return -1;
	if (node->attr.window_3d.power < 1 || node->attr.window_3d.power > 1000)
		return onnx_fail(n, "Its p is %lld.", (long long)node->attr.window_3d.power);
	node->attr.window_3d.kind = kind;
	node->attr.window_3d.by_column = order;
	return onnx_result(n, i, node->out[0]);
}

static int read_lp_pool(struct onnx_node *n)
{
	return read_pool_3d(n, 0, VTACPU_POOL_3D_LP);
}

/* Of all but images and channels: the root @p of the sum of powers of magnitudes. */
static int read_global_power_pool(struct onnx_node *n, float p)
{
	struct vtac_tensor *y = onnx_unary(n, VTACPU_ACT_ABS, n->in[0]);

	y = onnx_binary(n, VTACPU_POW, y, onnx_float(n, p));
	y = onnx_reduce(n, VTACPU_REDUCE_SUM, y, onnx_integer(n, 2));
	if (!y)
		return -1;
	y->producer->attr.reduce.onward = true;
	return onnx_result(n, 0, onnx_binary(n, VTACPU_POW, y, onnx_float(n, 1 / p)));
}

/* Of all but images and channels: the sum of magnitudes, or the root of that of squares. */
static int read_global_lp_pool(struct onnx_node *n)
{
	struct vtac_tensor *y;
	int64_t p;

	if (onnx_attr_int(n, "p", 2, &p))
		return -1;
	if (p < 1 || p > 1000)
		return onnx_fail(n, "Its p is %lld.", (long long)p);
	if (p > 2)
		return read_global_power_pool(n, (float)p);
	y = onnx_reduce(n, p == 1 ? VTACPU_REDUCE_L1 : VTACPU_REDUCE_SUM_SQUARE, n->in[0],
			onnx_integer(n, 2));
	if (!y)
		return -1;
	y->producer->attr.reduce.onward = true;
	return onnx_result(n, 0, p == 1 ? y : onnx_unary(n, VTACPU_ACT_SQRT, y));
}

static int read_conv(struct onnx_node *n)
{
	struct vtac_node *node;

	if (is_volume(n))
		return read_conv_3d(n, false);
	node = make_windowed(n, VTAC_CONV, 3);

	if (!node || read_window(n, &node->attr.conv.window))
		return -1;
	return onnx_attr_int(n, "group", 1, &node->attr.conv.groups);
}

static int read_conv_transpose(struct onnx_node *n)
{
	size_t first = is_line(n);
	struct vtac_node *node;

	if (is_volume(n))
		return read_conv_3d(n, true);
	node = make_windowed(n, VTAC_CONV_TRANSPOSE, 3);
	if (!node || read_window(n, &node->attr.conv.window) ||
	    onnx_attr_ints(n, "output_padding", node->attr.conv.out_pad + first, 2 - first) ||
	    onnx_attr_ints(n, "output_shape", node->attr.conv.out_shape + first, 2 - first))
		return -1;
	if (first && node->attr.conv.out_shape[1])
		node->attr.conv.out_shape[0] = 1;
	return onnx_attr_int(n, "group", 1, &node->attr.conv.groups);
}

static int read_pool(struct onnx_node *n, enum vtac_op op)
{
	int64_t ceil, count = 0, order = 0;
	struct vtac_node *node;

	if (is_volume(n)) {
		if (op == VTAC_AVG_POOL && onnx_attr_int(n, "count_include_pad", 0, &count))
			return -1;
		return read_pool_3d(n, 0, op == VTAC_MAX_POOL ? VTACPU_POOL_3D_MAX :
				    count ? VTACPU_POOL_3D_AVG_PAD : VTACPU_POOL_3D_AVG);
	}
	node = make_windowed(n, op, 1);
	if (!node || read_window(n, &node->attr.pool) || onnx_attr_int(n, "ceil_mode", 0, &ceil))
		return -1;
	if (op == VTAC_AVG_POOL && onnx_attr_int(n, "count_include_pad", 0, &count))
		return -1;
	if (op == VTAC_MAX_POOL && onnx_attr_int(n, "storage_order", 0, &order))
		return -1;
	if (!node->attr.pool.kernel[0] || !node->attr.pool.kernel[1])
		return onnx_fail(n, "Its kernel has no size.");
	node->attr.pool.ceil = ceil;
	node->attr.pool.count_pad = count;
	return 0;
}

static int read_max_pool(struct onnx_node *n)
{
	if (n->n_out > 2)
		return onnx_fail(n, "It has %u outputs.", n->n_out);
	if (n->n_out > 1 && n->out[1] && read_pool_3d(n, 1, VTACPU_POOL_3D_PLACE))
		return -1;
	n->n_out = 1;
	return n->out[0] ? read_pool(n, VTAC_MAX_POOL) : 0;
}

/* The sizes that a pool with these windows makes @x of: d * stride + kernel - stride - pads. */
static struct vtac_tensor *unpooled_shape(struct onnx_node *n, struct vtac_tensor *x)
{
	int64_t kernel[3], strides[3] = { 1, 1, 1 }, pads[6] = { 0 }, factors[5] = { 1, 1 },
		offsets[5] = { 0 };
	const Onnx__AttributeProto *a = onnx_attr(n, "kernel_shape");
	size_t axes = a ? a->n_ints : 0;

	if (axes < 1 || axes > 3) {
		onnx_fail(n, "It has windows of %zu dimensions; 1 to 3 are supported.", axes);
		return NULL;
	}
	if (onnx_attr_ints(n, "kernel_shape", kernel, axes) ||
	    onnx_attr_ints(n, "strides", strides, axes) ||
	    onnx_attr_ints(n, "pads", pads, 2 * axes))
		return NULL;
	for (size_t i = 0; i < axes; i++) {
		const int64_t v[] = { kernel[i], strides[i], pads[i], pads[axes + i] };
		static const int64_t least[] = { 1, 1, 0, 0 };

		for (size_t k = 0; k < 4; k++)
			if (v[k] < least[k] || v[k] > INT32_MAX) {
				onnx_fail(n, "A kernel, stride or pad of it is %lld.",
					  (long long)v[k]);
				return NULL;
			}
		factors[2 + i] = strides[i];
		offsets[2 + i] = kernel[i] - strides[i] - pads[i] - pads[axes + i];
	}
	x = onnx_two(n, VTAC_MUL, onnx_shape(n, x), onnx_integers(n, factors, 2 + (int64_t)axes));
	return onnx_two(n, VTAC_ADD, x, onnx_integers(n, offsets, 2 + (int64_t)axes));
}

/* @x with zeros behind it, up to @shape. */
static struct vtac_tensor *fill_up(struct onnx_node *n, struct vtac_tensor *x,
				   struct vtac_tensor *from, struct vtac_tensor *shape)
{
	struct vtac_tensor *more = onnx_two(n, VTAC_SUB, shape, from);
	struct vtac_tensor *none = onnx_two(n, VTAC_SUB, from, from);
	struct vtac_node *pads = onnx_of_two(n, VTAC_CONCAT, none, more);
	struct vtac_node *node = pads ? onnx_between(n, VTAC_PAD, 4) : NULL;

	return node && !vtac_node_set_in(n->g, node, 0, x) &&
	       !vtac_node_set_in(n->g, node, 1, pads->out[0]) ? node->out[0] : NULL;
}

/*
 * The values go to their places among all values of a picture of zeros, which is as large as the
 * windows say; a shape that is given adds zeros.
 */
static int read_max_unpool(struct onnx_node *n)
{
	const int64_t line = -1;
	struct vtac_tensor *shape = unpooled_shape(n, n->in[0]), *y, *to, *count;
	struct vtac_node *node;

	to = onnx_integers(n, &line, 1);
	count = onnx_reduce(n, VTACPU_REDUCE_PROD, shape, onnx_integer(n, 0));
	y = onnx_two(n, VTAC_EXPAND, onnx_float(n, 0), count);
	node = y && to ? onnx_between(n, VTAC_SCATTER_ELEMENTS, 3) : NULL;
	if (!node || vtac_node_set_in(n->g, node, 0, y))
		return -1;
	for (unsigned int i = 1; i < 3; i++) {
		y = onnx_reshape(n, VTAC_TO_SHAPE, n->in[i == 1], to);
		if (!y || vtac_node_set_in(n->g, node, i, y))
			return -1;
	}
	y = onnx_reshape(n, VTAC_TO_SHAPE, node->out[0], shape);
	if (n->n_in > 2 && n->in[2])
		y = y ? fill_up(n, y, shape, n->in[2]) : NULL;
	return onnx_result(n, 0, y);
}

static int read_avg_pool(struct onnx_node *n)
{
	return read_pool(n, VTAC_AVG_POOL);
}

/* The kernel is all of the picture: 0 until its size is known. */
static int read_global_pool(struct onnx_node *n, enum vtac_op op)
{
	struct vtac_node *node = onnx_make(n, op, 1);

	if (!node)
		return -1;
	node->attr.pool = (struct vtac_window){ .stride = { 1, 1 }, .dilation = { 1, 1 } };
	return 0;
}

static int read_global_avg_pool(struct onnx_node *n)
{
	return read_global_pool(n, VTAC_AVG_POOL);
}

static int read_global_max_pool(struct onnx_node *n)
{
	return read_global_pool(n, VTAC_MAX_POOL);
}

/* Read the dimensions that are resized, and the aspect policy: opset 18. */
static int read_resize_axes(struct onnx_node *n, struct vtac_resize *r)
{
	static const char *const aspects[] = { "stretch", "not_larger", "not_smaller", NULL };
	const Onnx__AttributeProto *axes = onnx_attr(n, "axes");
	int64_t antialias, exclude;
	int aspect;

	if (onnx_attr_int(n, "antialias", 0, &antialias) ||
	    onnx_attr_int(n, "exclude_outside", 0, &exclude) ||
	    onnx_attr_word(n, "keep_aspect_ratio_policy", aspects, 0, &aspect))
		return -1;
	r->antialias = antialias;
	r->exclude = exclude;
	if (axes && axes->n_ints > VTAC_RANK_MAX)
		return onnx_fail(n, "It has %zu axes.", axes->n_ints);
	r->aspect = (enum vtac_resize_aspect)aspect;
	r->n_axes = axes ? (int)axes->n_ints : 0;
	for (int i = 0; i < r->n_axes; i++) {
		if (axes->ints[i] < -VTAC_RANK_MAX || axes->ints[i] >= VTAC_RANK_MAX)
			return onnx_fail(n, "Its axis is %lld.", (long long)axes->ints[i]);
		r->axes[i] = (int)axes->ints[i];
	}
	return 0;
}

/*
 * Inputs of the graph's node: x, scales, sizes, region of interest. Opset 10 has no sizes and no
 * way to give where coordinates are.
 */
static int read_resize(struct onnx_node *n)
{
	static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
	static const char *const coords[] = { "half_pixel", "pytorch_half_pixel", "asymmetric",
					      "align_corners", "half_pixel_symmetric",
					      "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL };
	static const char *const rounds[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
					      "ceil", NULL };
	bool old = n->r->opset < 11;
	struct vtac_node *node = onnx_make(n, VTAC_RESIZE, 4);
	int mode, coord, round;
	float cubic, outside;

	if (!node || onnx_attr_word(n, "mode", modes, 0, &mode) ||
	    onnx_attr_word(n, "coordinate_transformation_mode", coords, old ? 2 : 0, &coord) ||
	    onnx_attr_word(n, "nearest_mode", rounds, old ? 2 : 0, &round) ||
	    onnx_attr_float(n, "cubic_coeff_a", -0.75f, &cubic) ||
	    onnx_attr_float(n, "extrapolation_value", 0, &outside))
		return -1;
	node->attr.resize = (struct vtac_resize){
		.mode = (enum vtac_resize_mode)mode, .coord = (enum vtac_resize_coord)coord,
		.round = (enum vtac_resize_round)round, .cubic = cubic, .extrapolation = outside,
	};
	if (old)
		return 0;
	if (read_resize_axes(n, &node->attr.resize))
		return -1;
	return vtac_node_set_in(n->g, node, 1, n->n_in > 2 ? n->in[2] : NULL) ||
	       vtac_node_set_in(n->g, node, 2, n->n_in > 3 ? n->in[3] : NULL) ||
	       vtac_node_set_in(n->g, node, 3, n->n_in > 1 ? n->in[1] : NULL);
}

/* Read Upsample, the Resize of opsets before 10. */
static int read_upsample(struct onnx_node *n)
{
	static const char *const modes[] = { "nearest", "linear", NULL };
	struct vtac_node *node = onnx_make(n, VTAC_RESIZE, 3);
	struct vtac_tensor *scales;
	int mode;

	if (!node || onnx_attr_word(n, "mode", modes, 0, &mode) ||
	    onnx_attr_const(n, "scales", &scales))
		return -1;
	node->attr.resize = (struct vtac_resize){
		.mode = (enum vtac_resize_mode)mode, .coord = VTAC_ASYMMETRIC,
		.round = VTAC_ROUND_FLOOR,
	};
	return scales ? vtac_node_set_in(n->g, node, 1, scales) : 0;
}

static int read_grid_sample(struct onnx_node *n)
{
	/* The names of opset 20, and those of 16 */
	static const char *const modes[] = { "nearest", "linear", "cubic", "bilinear", "bicubic",
					     NULL };
	static const char *const pads[] = { "zeros", "border", "reflection", NULL };
	struct vtac_node *node = onnx_make(n, VTAC_GRID_SAMPLE, 2);
	int64_t align;
	int mode, pad;

	if (!node || onnx_attr_word(n, "mode", modes, 1, &mode) ||
	    onnx_attr_word(n, "padding_mode", pads, 0, &pad) ||
	    onnx_attr_int(n, "align_corners", 0, &align))
		return -1;
	node->attr.grid.mode = (enum vtac_resize_mode)(mode > 2 ? mode - 2 : mode);
	node->attr.grid.pad = (enum vtacpu_grid_pad)pad;
	node->attr.grid.align = align;
	return 0;
}

static int read_roi_align(struct onnx_node *n)
{
	static const char *const modes[] = { "avg", "max", NULL };
	static const char *const coords[] = { "half_pixel", "output_half_pixel", NULL };
	struct vtac_node *node = onnx_make(n, VTAC_ROI_ALIGN, 3);
	int mode, coord;

	if (!node || onnx_attr_word(n, "mode", modes, 0, &mode) ||
	    onnx_attr_word(n, "coordinate_transformation_mode", coords, n->r->opset < 16,
			   &coord) ||
	    onnx_attr_int(n, "output_height", 1, &node->attr.roi.h) ||
	    onnx_attr_int(n, "output_width", 1, &node->attr.roi.w) ||
	    onnx_attr_int(n, "sampling_ratio", 0, &node->attr.roi.samples) ||
	    onnx_attr_float(n, "spatial_scale", 1, &node->attr.roi.scale))
		return -1;
	node->attr.roi.max = mode;
	node->attr.roi.half = !coord;
	return 0;
}

const struct onnx_op onnx_window_ops[] = {
	{ "AveragePool", 1, 1, 1, read_avg_pool, NULL },
	{ "Conv", 2, 3, 1, read_conv, NULL },
	{ "ConvTranspose", 2, 3, 1, read_conv_transpose, NULL },
	{ "GlobalAveragePool", 1, 1, 1, read_global_avg_pool, NULL },
	{ "GlobalLpPool", 1, 1, 1, read_global_lp_pool, NULL },
	{ "GlobalMaxPool", 1, 1, 1, read_global_max_pool, NULL },
	{ "GridSample", 2, 2, 1, read_grid_sample, NULL },
	{ "LpPool", 1, 1, 1, read_lp_pool, NULL },
	{ "MaxPool", 1, 1, UINT32_MAX, read_max_pool, NULL },
	{ "MaxUnpool", 2, 3, 1, read_max_unpool, NULL },
	{ "Resize", 1, 4, 1, read_resize, NULL },
	{ "RoiAlign", 3, 3, 1, read_roi_align, NULL },
	{ "Upsample", 1, 2, 1, read_upsample, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

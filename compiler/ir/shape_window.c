// SPDX-License-Identifier: Apache-2.0
/* Shapes of operators on windows, and of resized pictures */
#include <math.h>

#include "shape_impl.h"

static int check_picture(struct vtac_graph *g, const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if (x->rank != 4)
		return vtac_fail(g, node, "Its input has %d dimensions; pictures have 4.", x->rank);
	for (int i = 0; i < 4; i++)
		if (x->dims[i] < 1 || x->dims[i] > INT32_MAX)
			return vtac_fail(g, node, "Its input has the size %lld in dimension %d.",
					 (long long)x->dims[i], i);
	return 0;
}

static bool in_range(int64_t value, int64_t lo)
{
	return value >= lo && value <= SHAPE_PARAM_MAX;
}

static int check_window(struct vtac_graph *g, const struct vtac_node *node,
			const struct vtac_window *w)
{
	for (int i = 0; i < 2; i++)
		if (!in_range(w->kernel[i], 1) || !in_range(w->stride[i], 1) ||
		    !in_range(w->dilation[i], 1) || !in_range(w->pad[i], 0) ||
		    !in_range(w->pad[i + 2], 0))
			return vtac_fail(g, node,
					 "Its kernel, strides, dilations or pads are out of "
					 "range.");
	return 0;
}

static int64_t extent(const struct vtac_window *w, int i)
{
	return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

/* Pads that make the output as large as input / stride; the odd one is after or before. */
static void resolve_auto_pad(struct vtac_window *w, const struct vtac_tensor *x)
{
	if (w->auto_pad == VTAC_PAD_EXPLICIT)
		return;
	for (int i = 0; i < 2; i++) {
		int64_t out = (x->dims[2 + i] - 1) / w->stride[i] + 1;
		int64_t total = (out - 1) * w->stride[i] + extent(w, i) - x->dims[2 + i];

		total = total > 0 ? total : 0;
		w->pad[i] = w->auto_pad == VTAC_PAD_SAME_UPPER ? total / 2 : total - total / 2;
		w->pad[i + 2] = total - w->pad[i];
	}
	w->auto_pad = VTAC_PAD_EXPLICIT;
}

static int64_t window_out(const struct vtac_window *w, int64_t in, int i)
{
	int64_t room = in + w->pad[i] + w->pad[i + 2] - extent(w, i);
	int64_t out;

	if (room < 0)
		return 0;
	out = (room + (w->ceil ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
	/* A window that begins behind the picture is none. */
	if (w->ceil && (out - 1) * w->stride[i] >= in + w->pad[i])
		out--;
	return out;
}

static int set_windows(struct vtac_graph *g, struct vtac_node *node, const struct vtac_window *w,
		       int64_t channels)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[4] = { x->dims[0], channels, window_out(w, x->dims[2], 0),
			    window_out(w, x->dims[3], 1) };

	if (!dims[2] || !dims[3])
		return vtac_fail(g, node, "Its kernel is larger than its padded input.");
	return shape_out(g, node, 4, dims);
}

static int check_bias(struct vtac_graph *g, const struct vtac_node *node, int64_t channels)
{
	const struct vtac_tensor *b = node->n_in > 2 ? node->in[2] : NULL;

	if (b && (b->rank != 1 || b->dims[0] != channels))
		return vtac_fail(g, node,
				 "Its bias does not have one value for each of %lld channels.",
				 (long long)channels);
	return 0;
}

/* The kernel's size is the weights'; the file's attribute does not count. */
static int check_weights(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1];
	struct vtac_conv *c = &node->attr.conv;

	if (check_picture(g, node))
		return -1;
	if (w->rank != 4)
		return vtac_fail(g, node, "Its weights have %d dimensions instead of 4.", w->rank);
	for (int i = 0; i < 2; i++) {
		if (c->window.kernel[i] && c->window.kernel[i] != w->dims[2 + i])
			return vtac_fail(g, node, "Its kernel has another size than its weights.");
		c->window.kernel[i] = w->dims[2 + i];
	}
	if (c->groups < 1 || c->groups > INT32_MAX || !w->dims[0] || !w->dims[1])
		return vtac_fail(g, node, "It has %lld groups.", (long long)c->groups);
	return check_window(g, node, &c->window);
}

int shape_conv(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *w = node->in[1];
	struct vtac_conv *c = &node->attr.conv;

	if (check_weights(g, node) || check_bias(g, node, w->dims[0]))
		return -1;
	if (x->dims[1] % c->groups || w->dims[1] != x->dims[1] / c->groups ||
	    w->dims[0] % c->groups)
		return vtac_fail(g, node,
				 "Its weights are for %lld channels in %lld groups, its input has "
				 "%lld.",
				 (long long)w->dims[1], (long long)c->groups,
				 (long long)x->dims[1]);
	resolve_auto_pad(&c->window, x);
	return set_windows(g, node, &c->window, w->dims[0]);
}

/* An excess of the largest output goes to pads; a lack, to out_pad. */
static void resolve_transposed(struct vtac_conv *c, const struct vtac_tensor *x)
{
	struct vtac_window *w = &c->window;

	for (int i = 0; i < 2; i++) {
		int64_t full = (x->dims[2 + i] - 1) * w->stride[i] + extent(w, i) + c->out_pad[i];
		int64_t want = c->out_shape[i] ? c->out_shape[i] :
			w->auto_pad != VTAC_PAD_EXPLICIT ? x->dims[2 + i] * w->stride[i] : 0;

		if (!want)
			continue;
		if (full < want)
			c->out_pad[i] += want - full;
		full = full > want ? full - want : 0;
		w->pad[i] = w->auto_pad == VTAC_PAD_SAME_UPPER ? full / 2 : full - full / 2;
		w->pad[i + 2] = full - w->pad[i];
		c->out_shape[i] = 0;
	}
	w->auto_pad = VTAC_PAD_EXPLICIT;
}

int shape_conv_transpose(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *w = node->in[1];
	struct vtac_conv *c = &node->attr.conv;
	int64_t dims[4];

	if (check_weights(g, node))
		return -1;
	if (w->dims[0] != x->dims[1] || x->dims[1] % c->groups)
		return vtac_fail(g, node, "Its weights are for %lld channels, its input has %lld.",
				 (long long)w->dims[0], (long long)x->dims[1]);
	for (int i = 0; i < 2; i++)
		if (!in_range(c->out_pad[i], 0) || c->out_shape[i] < 0 ||
		    c->out_shape[i] > INT32_MAX)
			return vtac_fail(g, node, "Its output's padding or shape is out of range.");
	resolve_transposed(c, x);
	dims[0] = x->dims[0];
	if (__builtin_mul_overflow(w->dims[1], c->groups, &dims[1]) ||
	    check_bias(g, node, dims[1]))
		return vtac_fail(g, node, "It has too many channels.");
	for (int i = 0; i < 2; i++) {
		dims[2 + i] = (x->dims[2 + i] - 1) * c->window.stride[i] + extent(&c->window, i) +
			c->out_pad[i] - c->window.pad[i] - c->window.pad[i + 2];
		if (dims[2 + i] < 1)
			return vtac_fail(g, node, "Its pads leave nothing of its output.");
	}
	return shape_out(g, node, 4, dims);
}

/* A window of all of what is no picture is a reduction. */
static int reduce_all(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[VTAC_RANK_MAX];

	for (int i = 0; i < x->rank; i++)
		dims[i] = i < 2 ? x->dims[i] : 1;
	node->attr.reduce.op = node->op == VTAC_AVG_POOL ? VTACPU_REDUCE_MEAN : VTACPU_REDUCE_MAX;
	node->attr.reduce.axes = ((1u << x->rank) - 1) & ~3u;
	node->attr.reduce.keep = true;
	node->attr.reduce.noop = false;
	node->op = VTAC_REDUCE;
	return shape_out(g, node, x->rank, dims);
}

int shape_pool(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_window *w = &node->attr.pool;
	const struct vtac_tensor *x = node->in[0];

	if (!w->kernel[0] && !w->kernel[1] && x->rank > 2 && x->rank != 4)
		return reduce_all(g, node);
	if (check_picture(g, node))
		return -1;
	for (int i = 0; i < 2; i++)
		if (!w->kernel[i])
			w->kernel[i] = x->dims[2 + i];
	if (check_window(g, node, w))
		return -1;
	resolve_auto_pad(w, x);
	for (int i = 0; i < 4; i++)
		if (w->pad[i] >= extent(w, i % 2))
			return vtac_fail(g, node, "Its pads are as large as its kernel.");
	return set_windows(g, node, w, x->dims[1]);
}

/* ---- pictures of another size ---- */

/* Dimension @dim becomes x * @scale. */
static int resize_by(struct vtac_graph *g, struct vtac_node *node, int dim, float scale,
		     double size, int64_t *dims)
{
	if (!(scale > 0) || !(size >= 1) || size > INT32_MAX)
		return vtac_fail(g, node, "Its scale %g makes dimension %d empty or too large.",
				 (double)scale, dim);
	dims[dim] = (int64_t)size;
	node->attr.resize.scale[dim] = scale;
	return 0;
}

static int resize_scales(struct vtac_graph *g, struct vtac_node *node, int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0], *s = node->in[1];
	const struct vtac_resize *r = &node->attr.resize;
	const float *scale = s->data;

	if (s->dtype != VTAC_F32 || !s->data || vtac_elements(s) != r->n_axes)
		return vtac_fail(g, node,
				 "Its scales are not constant, or not one for each dimension.");
	for (int i = 0; i < r->n_axes; i++) {
		double part = (double)r->end[r->axes[i]] - (double)r->start[r->axes[i]];
		double size = floor((double)x->dims[r->axes[i]] * part * (double)scale[i]);

		if (resize_by(g, node, r->axes[i], scale[i], size, dims))
			return -1;
	}
	return 0;
}

/* One scale for all axes, by which they come as near to the sizes as the file asks for. */
static int resize_alike(struct vtac_graph *g, struct vtac_node *node, int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	const struct vtac_resize *r = &node->attr.resize;
	float scale = r->scale[r->axes[0]];

	for (int i = 1; i < r->n_axes; i++) {
		float other = r->scale[r->axes[i]];

		if (r->aspect == VTAC_NOT_LARGER ? other < scale : other > scale)
			scale = other;
	}
	for (int i = 0; i < r->n_axes; i++) {
		double size = floor((double)x->dims[r->axes[i]] * (double)scale + 0.5);

		if (resize_by(g, node, r->axes[i], scale, size, dims))
			return -1;
	}
	return 0;
}

static int resize_sizes(struct vtac_graph *g, struct vtac_node *node, int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	struct vtac_resize *r = &node->attr.resize;
	int64_t sizes[VTAC_RANK_MAX];
	int n = shape_ints(g, node, 2, sizes, VTAC_RANK_MAX);

	if (n == -2)
		return -1;
	if (n != r->n_axes)
		return vtac_fail(g, node, "It has neither scales nor sizes for each dimension.");
	for (int i = 0; i < n; i++) {
		int dim = r->axes[i];

		if (sizes[i] < 1 || sizes[i] > INT32_MAX || x->dims[dim] < 1)
			return vtac_fail(g, node, "Its sizes are empty or too large.");
		dims[dim] = sizes[i];
		r->scale[dim] = (float)sizes[i] / (float)x->dims[dim];
	}
	return n && r->aspect != VTAC_STRETCH ? resize_alike(g, node, dims) : 0;
}

/* The axes that the file names, as indices, and scales of 1 for the others. */
static int resize_axes(struct vtac_graph *g, struct vtac_node *node, int64_t *dims)
{
	const struct vtac_tensor *x = node->in[0];
	struct vtac_resize *r = &node->attr.resize;
	uint32_t seen = 0;

	for (int i = 0; i < x->rank; i++) {
		dims[i] = x->dims[i];
		r->scale[i] = 1;
		if (!r->n_axes)
			r->axes[i] = i;
	}
	if (!r->n_axes)
		r->n_axes = x->rank;
	for (int i = 0; i < r->n_axes; i++) {
		int axis;

		if (shape_axis(g, node, r->axes[i], x->rank, &axis))
			return -1;
		if (seen >> axis & 1)
			return vtac_fail(g, node, "Its axis %d is repeated.", axis);
		seen |= 1u << axis;
		r->axes[i] = axis;
	}
	return 0;
}

/* The region of a crop: all starts, then all ends, of the axes. Scales are of this region. */
static int resize_region(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *t = node->n_in > 3 ? node->in[3] : NULL;
	struct vtac_resize *r = &node->attr.resize;

	for (int i = 0; i < VTAC_RANK_MAX; i++) {
		r->start[i] = 0;
		r->end[i] = 1;
	}
	if (r->coord != VTAC_CROP)
		return 0;
	if (!t || !t->data || t->dtype != VTAC_F32 || vtac_elements(t) != 2 * r->n_axes)
		return vtac_fail(g, node, "Its region of interest is not constant floats, two for "
				 "each dimension.");
	for (int i = 0; i < r->n_axes; i++) {
		r->start[r->axes[i]] = ((const float *)t->data)[i];
		r->end[r->axes[i]] = ((const float *)t->data)[r->n_axes + i];
	}
	return 0;
}

int shape_resize(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[VTAC_RANK_MAX];
	bool sizes = node->n_in > 2 && node->in[2];
	bool scales = node->n_in > 1 && node->in[1] && vtac_elements(node->in[1]);

	if (node->n_in > 1) {
		if (!scales && !sizes)
			return vtac_fail(g, node, "It has neither scales nor sizes.");
		if (resize_axes(g, node, dims) || resize_region(g, node) ||
		    (sizes ? resize_sizes(g, node, dims) : resize_scales(g, node, dims)))
			return -1;
		if (vtac_node_resize_in(g, node, 1))
			return -1;
		return shape_out(g, node, x->rank, dims);
	}
	return 0;
}

static int shape_space_to_depth(struct vtac_graph *g, struct vtac_node *node, int64_t b)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[4] = { x->dims[0] };

	if (!in_range(b, 1) || x->dims[2] % b || x->dims[3] % b)
		return vtac_fail(g, node, "Its height or width is not a multiple of its block.");
	dims[1] = x->dims[1] * b * b;
	dims[2] = x->dims[2] / b;
	dims[3] = x->dims[3] / b;
	return shape_out(g, node, 4, dims);
}

int shape_depth_to_space(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t b = node->attr.depth_to_space.block;
	int64_t dims[4];

	if (check_picture(g, node))
		return -1;
	if (node->attr.depth_to_space.inverse)
		return shape_space_to_depth(g, node, b);
	if (!in_range(b, 1) || x->dims[1] % (b * b))
		return vtac_fail(g, node,
				 "Its %lld channels are not a multiple of its block's %lld squared.",
				 (long long)x->dims[1], (long long)b);
	dims[0] = x->dims[0];
	dims[1] = x->dims[1] / (b * b);
	dims[2] = x->dims[2] * b;
	dims[3] = x->dims[3] * b;
	return shape_out(g, node, 4, dims);
}

int shape_lrn(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if (x->rank < 2 || !in_range(node->attr.lrn.size, 1))
		return vtac_fail(g, node, "Its size is %lld, and its input has %d dimensions.",
				 (long long)node->attr.lrn.size, x->rank);
	return shape_out(g, node, x->rank, x->dims);
}

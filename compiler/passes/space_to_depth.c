// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `space_to_depth`. A picture has three channels, and the card multiplies blocks of 16: a
 * first layer with strides would waste most of each product. The CPU moves squares of positions
 * into channels, as it converts the input anyhow, and the convolution of these has strides of 1
 * and fewer taps, with weights of 0 where the window does not reach. A 7 x 7 window on 3 channels
 * with strides of 2 becomes one of 4 x 4 on 12 channels: 16 products of blocks instead of 49.
 *
 * The squares are whole: inside of the picture or in its padding. So what is exact with padding
 * remains so (input_affine.c, pad_channels.c). A picture whose last squares are not whole gets rows
 * and columns that no window reaches: their weights are 0.
 */
#include <string.h>

#include "passes.h"

/* One dimension of the window; false if squares do not fit the picture or the outputs. */
static bool fold_side(const struct vtac_node *node, int64_t stride, int side,
		      struct vtac_window *to)
{
	const struct vtac_window *w = &node->attr.conv.window;
	int64_t in = node->in[0]->dims[2 + side], out = node->out[0]->dims[2 + side];
	int64_t pad = w->pad[side], before = (pad + stride - 1) / stride;
	int64_t taps = (w->kernel[side] - 1 - pad + before * stride) / stride + 1;
	int64_t behind = out - 1 + taps - (in + stride - 1) / stride - before;
	bool inside = (out - 1) * stride + w->kernel[side] - pad <= in;

	if (w->stride[side] != stride || w->dilation[side] != 1 || pad >= w->kernel[side] ||
	    (in % stride && !inside) || behind < 0 || behind >= taps)
		return false;
	to->kernel[side] = taps;
	to->pad[side] = before;
	to->pad[side + 2] = behind;
	return true;
}

/* Is @t made by the CPU, for @node alone? */
static bool is_own_input(const struct vtac_graph *g, const struct vtac_node *node,
			 const struct vtac_tensor *t)
{
	return t->rank == 4 && t->dtype == VTAC_F32 && !t->data && !t->size &&
	       vtac_only_user(g, t) == node && (!t->producer || t->producer->device == VTAC_CPU);
}

/* Zeros have the scale of the weights. */
static bool has_foldable_weights(const struct vtac_tensor *w)
{
	return w->data && w->dtype == VTAC_F32 && (w->quant.n <= 1 || !w->quant.axis);
}

static int64_t blocks_of(int64_t channels, int64_t block)
{
	return (channels + block - 1) / block;
}

bool vtac_find_fold(const struct vtac_graph *g, const struct vtac_node *node, int64_t block,
		    struct vtac_fold *fold)
{
	const struct vtac_conv *conv = &node->attr.conv;
	int64_t stride = conv->window.stride[0], channels;

	if (node->op != VTAC_CONV || node->device != VTAC_CARD || conv->groups != 1 ||
	    conv->spare || conv->file.channels || stride < 2 ||
	    !is_own_input(g, node, node->in[0]) || !has_foldable_weights(node->in[1]))
		return false;
	*fold = (struct vtac_fold) { .stride = stride, .window = conv->window };
	fold->window.stride[0] = 1;
	fold->window.stride[1] = 1;
	if (!fold_side(node, stride, 0, &fold->window) ||
	    !fold_side(node, stride, 1, &fold->window))
		return false;
	channels = node->in[0]->dims[1] * stride * stride;
	/* Channels that fill no block would cross PCIe with what fills it up. */
	if (channels > block && channels % block)
		return false;
	return blocks_of(channels, block) * fold->window.kernel[0] * fold->window.kernel[1] <
	       blocks_of(node->in[0]->dims[1], block) * conv->window.kernel[0] *
	       conv->window.kernel[1];
}

/* The weights of an output channel @from as those of folded channels @to, which are 0 */
static void fold_output(const struct vtac_fold *fold, const struct vtac_window *old,
			int64_t channels, const float *from, float *to)
{
	const struct vtac_window *new = &fold->window;
	int64_t s = fold->stride, area = new->kernel[0] * new->kernel[1];

	for (int64_t c = 0; c < channels; c++) {
		for (int64_t y = 0; y < old->kernel[0]; y++) {
			for (int64_t x = 0; x < old->kernel[1]; x++) {
				int64_t row = y - old->pad[0] + new->pad[0] * s;
				int64_t col = x - old->pad[1] + new->pad[1] * s;
				int64_t channel = (row % s * s + col % s) * channels + c;

				to[channel * area + row / s * new->kernel[1] + col / s] = *from++;
			}
		}
	}
}

struct vtac_tensor *vtac_fold_weights(struct vtac_graph *g, const struct vtac_node *node,
				      const struct vtac_fold *fold)
{
	const struct vtac_tensor *w = node->in[1];
	const struct vtac_window *to = &fold->window;
	int64_t dims[4] = { w->dims[0], w->dims[1] * fold->stride * fold->stride, to->kernel[0],
			    to->kernel[1] };
	int64_t per = w->dims[1] * w->dims[2] * w->dims[3], each = dims[1] * dims[2] * dims[3];
	float *data = vtac_alloc(g, (uint64_t)(dims[0] * each) + 1, sizeof(*data));
	struct vtac_tensor *made;

	if (!data)
		return NULL;
	for (int64_t o = 0; o < dims[0]; o++)
		fold_output(fold, &node->attr.conv.window, w->dims[1],
			    (const float *)w->data + o * per, data + o * each);
	made = vtac_tensor_const(g, w->name, VTAC_F32, 4, dims, data, false);
	if (made)
		made->quant = w->quant;
	return made;
}

/* @x with zeros behind it, so that all squares of @s are whole. */
static struct vtac_tensor *fill_squares(struct vtac_graph *g, struct vtac_tensor *x, int64_t s)
{
	int64_t dims[4] = { x->dims[0], x->dims[1], (x->dims[2] + s - 1) / s * s,
			    (x->dims[3] + s - 1) / s * s };
	struct vtac_tensor *y;
	struct vtac_node *pad;
	const char *name;

	if (dims[2] == x->dims[2] && dims[3] == x->dims[3])
		return x;
	name = vtac_text(g, "%s/whole", x->name);
	pad = vtac_node_new(g, VTAC_PAD, name, 1, 1);
	y = vtac_tensor_shaped(g, name, VTAC_F32, 4, dims);
	if (!pad || !y || vtac_node_set_in(g, pad, 0, x))
		return NULL;
	for (int i = 2; i < 4; i++)
		pad->attr.pad.after[i] = dims[i] - x->dims[i];
	y->quant = x->quant;
	vtac_node_set_out(pad, 0, y);
	pad->device = VTAC_CPU;
	pad->why = "Fills up squares of positions, which no window reaches.";
	return y;
}

int vtac_fold_input(struct vtac_graph *g, struct vtac_node *node, const struct vtac_fold *fold,
		    struct vtac_tensor *weights)
{
	struct vtac_tensor *x = node->in[0], *y;
	int64_t s = fold->stride;
	int64_t dims[4] = { x->dims[0], x->dims[1] * s * s, (x->dims[2] + s - 1) / s,
			    (x->dims[3] + s - 1) / s };
	const char *name = vtac_text(g, "%s/squares", x->name);
	struct vtac_node *move = vtac_node_new(g, VTAC_DEPTH_TO_SPACE, name, 1, 1);
	struct vtac_conv *conv = &node->attr.conv;

	y = vtac_tensor_shaped(g, name, VTAC_F32, 4, dims);
	x = fill_squares(g, x, s);
	if (!move || !y || !x || vtac_node_set_in(g, node, 0, y) ||
	    vtac_node_set_in(g, move, 0, x) || vtac_node_set_in(g, node, 1, weights))
		return -1;
	y->quant = x->quant;
	vtac_node_set_out(move, 0, y);
	move->device = VTAC_CPU;
	move->why = "Moves positions into channels, which the card multiplies together.";
	move->attr.depth_to_space.block = s;
	move->attr.depth_to_space.inverse = true;
	conv->file.channels = x->dims[1];
	memcpy(conv->file.kernel, conv->window.kernel, sizeof(conv->file.kernel));
	conv->window = fold->window;
	return 0;
}

int vtac_pass_space_to_depth(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = g->n_nodes;

	for (unsigned int i = 0; i < n; i++) {
		struct vtac_node *node = g->nodes[i];
		struct vtac_tensor *weights;
		struct vtac_fold fold;

		if (!vtac_find_fold(g, node, opt->core.block, &fold))
			continue;
		weights = vtac_fold_weights(g, node, &fold);
		if (!weights || vtac_fold_input(g, node, &fold, weights))
			return -1;
	}
	return vtac_graph_dce(g);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Fusion: taps that meet padding alone, and windows that the card has only in two steps. A
 * convolution of each channel by one 1 moves a picture: with pads around it adds zeros, without
 * them it cuts rows and columns off the end.
 */
#include <string.h>

#include "fuse_impl.h"

/* That convolution: a kernel whose 1 is at @at, with pads; @y has its shape. */
struct mover {
	int64_t kernel[2], at[2], pad[4];
};

static struct vtac_node *add_mover(struct vtac_graph *g, const struct vtac_node *node,
				   struct vtac_tensor *x, struct vtac_tensor *y,
				   const struct mover *m)
{
	int64_t channels = x->dims[1], area = m->kernel[0] * m->kernel[1];
	const int64_t dims[4] = { channels, 1, m->kernel[0], m->kernel[1] };
	float *v = vtac_alloc(g, (uint64_t)(channels * area), sizeof(*v));
	struct vtac_node *mover = vtac_node_new(g, VTAC_CONV, node->name, 3, 1);
	struct vtac_tensor *w;

	for (int64_t c = 0; v && c < channels; c++)
		v[c * area + m->at[0] * m->kernel[1] + m->at[1]] = 1;
	w = v && mover ? vtac_tensor_const(g, "mover", VTAC_F32, 4, dims, v, false) : NULL;
	if (!w || !y || vtac_node_set_in(g, mover, 0, x) || vtac_node_set_in(g, mover, 1, w))
		return NULL;
	mover->file_op = node->file_op;
	mover->attr.conv = (struct vtac_conv){
		.window = { .kernel = { dims[2], dims[3] }, .stride = { 1, 1 },
			    .dilation = { 1, 1 },
			    .pad = { m->pad[0], m->pad[1], m->pad[2], m->pad[3] } },
		.groups = channels,
	};
	vtac_node_set_out(mover, 0, y);
	return mover;
}

static int64_t reach_of(const struct vtac_window *w, int i)
{
	return (w->kernel[i] - 1) * w->dilation[i];
}

/* Does tap @k of axis @i meet a value of the input at any of @out outputs? */
static bool is_live(const struct vtac_window *w, int i, int64_t k, int64_t in, int64_t out)
{
	int64_t at = k * w->dilation[i] - w->pad[i], last = at + (out - 1) * w->stride[i];

	if (at >= 0)
		return at < in;
	/* The first output whose place is not before the input. */
	return last >= 0 && at + (-at + w->stride[i] - 1) / w->stride[i] * w->stride[i] < in;
}

/* Taps [*first, *end) of axis @i: the live ones, and others if their pads would be negative. */
static void find_live(const struct vtac_window *w, int i, int64_t in, int64_t out,
		      int64_t *first, int64_t *end)
{
	int64_t dil = w->dilation[i];

	*first = 0;
	*end = w->kernel[i];
	while (*first + 1 < *end && (*first + 1) * dil <= w->pad[i] &&
	       !is_live(w, i, *first, in, out))
		++*first;
	while (*end - 1 > *first && (w->kernel[i] - *end + 1) * dil <= w->pad[2 + i] &&
	       !is_live(w, i, *end - 1, in, out))
		--*end;
}

/* Widely dilated kernels at small pictures, as in DeepLab's pyramid, lose their outer taps. */
int fuse_dead_taps(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_window *w = &node->attr.conv.window;
	const struct vtac_tensor *from = node->n_in > 1 ? node->in[1] : NULL;
	int64_t first[2], end[2], dims[4], planes;
	struct vtac_tensor *t;
	float *to;

	if (node->op != VTAC_CONV || !from || !fuse_is_const(from) ||
	    vtac_elements(node->out[0]) < 1)
		return 0;
	for (int i = 0; i < 2; i++) {
		find_live(w, i, node->in[0]->dims[2 + i], node->out[0]->dims[2 + i], &first[i],
			  &end[i]);
		dims[2 + i] = end[i] - first[i];
	}
	if (dims[2] == w->kernel[0] && dims[3] == w->kernel[1])
		return 0;
	dims[0] = from->dims[0];
	dims[1] = from->dims[1];
	planes = dims[0] * dims[1];
	to = vtac_alloc(g, (uint64_t)(planes * dims[2] * dims[3]), sizeof(*to));
	if (!to)
		return -1;
	for (int64_t p = 0; p < planes; p++)
		for (int64_t y = 0; y < dims[2]; y++)
			memcpy(to + (p * dims[2] + y) * dims[3],
			       (const float *)from->data +
			       (p * w->kernel[0] + first[0] + y) * w->kernel[1] + first[1],
			       (size_t)dims[3] * sizeof(*to));
	t = vtac_tensor_const(g, from->name, VTAC_F32, 4, dims, to, false);
	if (!t || vtac_node_set_in(g, node, 1, t))
		return -1;
	t->quant = from->quant;
	for (int i = 0; i < 2; i++) {
		w->pad[i] -= first[i] * w->dilation[i];
		w->pad[2 + i] -= (w->kernel[i] - end[i]) * w->dilation[i];
		w->kernel[i] = dims[2 + i];
	}
	return 1;
}

/* More zeros do not belong to a network, and their kernel would be large. */
#define MORE_MAX	15

/* Zeros before and behind that the card's windows do not reach. */
static bool find_excess(const struct vtac_window *w, int64_t more[4])
{
	bool any = false;

	for (int i = 0; i < 4; i++) {
		int64_t reach = reach_of(w, i % 2);

		more[i] = w->pad[i] > reach ? w->pad[i] - reach : 0;
		any = any || more[i];
		if (more[i] > MORE_MAX)
			return false;
	}
	return any;
}

int fuse_wide_pads(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_window *w = &node->attr.conv.window;
	const struct vtac_tensor *x = node->in[0];
	struct vtac_tensor *y;
	struct mover m = { 0 };
	int64_t more[4];

	if (node->op != VTAC_CONV || x->data || !find_excess(w, more))
		return 0;
	for (int i = 0; i < 2; i++) {
		m.kernel[i] = more[i] + more[i + 2] + 1;
		m.at[i] = more[i + 2];
		m.pad[i] = more[i] + more[i + 2];
		m.pad[i + 2] = m.pad[i];
	}
	y = vtac_tensor_shaped(g, x->name, VTAC_F32, 4,
			       (const int64_t[]){ x->dims[0], x->dims[1],
						  x->dims[2] + more[0] + more[2],
						  x->dims[3] + more[1] + more[3] });
	if (!add_mover(g, node, node->in[0], y, &m) || vtac_node_set_in(g, node, 0, y))
		return -1;
	y->quant = x->quant;
	for (int i = 0; i < 4; i++)
		w->pad[i] -= more[i];
	return 1;
}

/*
 * Rows or columns that are cut off the end beside those that are cut off the beginning; or off the
 * beginning, as many as a stride or more beyond those that are cut off the end.
 */
int fuse_transposed_end(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_window *w = &node->attr.conv.window;
	const struct vtac_tensor *x = node->in[0];
	struct vtac_tensor *y = node->out[0], *t;
	struct mover m = { 0 };
	int64_t dims[4];

	if (node->op != VTAC_CONV_TRANSPOSE)
		return 0;
	for (int i = 0; i < 2; i++) {
		int64_t even = (x->dims[2 + i] - 1) * w->stride[i] + reach_of(w, i) + 1 -
			2 * w->pad[i];
		int64_t more = even - y->dims[2 + i];

		int64_t before = -more - w->stride[i] + 1;

		before = before > 0 ? before : 0;
		if (more > MORE_MAX || before > MORE_MAX || before > w->pad[i])
			return 0;
		m.kernel[i] = more > 0 ? more + 1 : before + 1;
		m.at[i] = before;
		dims[2 + i] = y->dims[2 + i] + m.kernel[i] - 1;
	}
	if (m.kernel[0] == 1 && m.kernel[1] == 1)
		return 0;
	dims[0] = y->dims[0];
	dims[1] = y->dims[1];
	t = vtac_tensor_shaped(g, y->name, VTAC_F32, 4, dims);
	if (!t)
		return -1;
	t->quant = y->quant;
	vtac_node_set_out(node, 0, t);
	for (int i = 0; i < 2; i++) {
		w->pad[i] -= m.at[i];
		w->pad[2 + i] = w->pad[i];
	}
	return add_mover(g, node, t, y, &m) ? 1 : -1;
}

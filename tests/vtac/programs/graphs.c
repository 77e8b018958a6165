// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random networks: branches, residuals, concatenations, squeeze-and-excite, nodes left to
 * the CPU.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

#define LIVE_MAX	24

struct maker {
	struct vtac_graph *g;
	const struct vtaops_core *core;
	uint64_t rng;
	struct vtac_tensor *live[LIVE_MAX];	/* of four dimensions */
	unsigned int n;
	unsigned int cpu_share;			/* one of so many nodes is the CPU's; 0: none */
	bool raw;				/* as a file has it: nothing is fused */
	bool more;				/* with operators that few files have */
};

static uint32_t rnd(struct maker *m, uint32_t below)
{
	m->rng = m->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(m->rng >> 33) % below;
}

/* About normal, of variance 1. */
static float noise(struct maker *m)
{
	float sum = 0;

	for (int i = 0; i < 6; i++)
		sum += (float)rnd(m, 20001) / 10000.0f - 1;
	return sum * 0.7f;
}

static struct vtac_tensor *pick(struct maker *m)
{
	/* The newest most of the time. */
	return m->live[rnd(m, 3) ? m->n - 1 - rnd(m, m->n < 3 ? m->n : 3) : rnd(m, m->n)];
}

static struct vtac_tensor *weights(struct maker *m, int rank, const int64_t *dims, int64_t each)
{
	struct vtac_tensor *t;
	int64_t n = 1;
	float *v;

	for (int i = 0; i < rank; i++)
		n *= dims[i];
	v = vtac_alloc(m->g, (uint64_t)n, sizeof(*v));
	for (int64_t i = 0; v && i < n; i += each) {
		/* Channels that differ, and dead ones. */
		uint32_t kind = rnd(m, 12);
		float scale = kind == 0 ? 0 : kind == 1 ? 8 : kind == 2 ? 0.01f : 1;

		for (int64_t k = i; k < i + each && k < n; k++)
			v[k] = noise(m) * scale / sqrtf((float)each);
	}
	t = v ? vtac_tensor_const(m->g, "w", VTAC_F32, rank, dims, v, false) : NULL;
	return t;
}

static struct vtac_activation activation(struct maker *m)
{
	static const struct vtac_activation acts[] = {
		{ .kind = VTAC_ACT_NONE }, { .kind = VTAC_ACT_CLIP, .lo = 0, .hi = INFINITY },
		{ .kind = VTAC_ACT_CLIP, .lo = 0, .hi = 1.5f },
		{ .kind = VTAC_ACT_CLIP, .lo = -1, .hi = 1 },
	};

	return acts[rnd(m, 4)];
}

/* Add an activation behind @t as a node, as files have it. */
static struct vtac_tensor *activated(struct maker *m, struct vtac_tensor *t,
				     struct vtac_activation act)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_CLIP, NULL, 1, 1);
	struct vtac_tensor *y = vtac_tensor_shaped(m->g, NULL, VTAC_F32, t->rank, t->dims);

	if (!node || !y || vtac_node_set_in(m->g, node, 0, t))
		return NULL;
	node->attr.clip.lo = act.lo;
	node->attr.clip.hi = act.hi;
	vtac_node_set_out(node, 0, y);
	return y;
}

/* A node's output, of four dimensions, which later nodes may take. */
static struct vtac_tensor *finish(struct maker *m, struct vtac_node *node, int64_t n, int64_t c,
				  int64_t h, int64_t w)
{
	struct vtac_tensor *t = vtac_tensor_shaped(m->g, NULL, VTAC_F32, 4,
						   (int64_t[]) { n, c, h, w });

	if (!t || !node)
		return NULL;
	vtac_node_set_out(node, 0, t);
	if (m->raw && node->act.kind == VTAC_ACT_CLIP) {
		t = activated(m, t, node->act);
		node->act = (struct vtac_activation) { .kind = VTAC_ACT_NONE };
		if (!t)
			return NULL;
	}
	node->device = m->cpu_share && !rnd(m, m->cpu_share) ? VTAC_CPU : VTAC_CARD;
	if (m->n == LIVE_MAX)
		memmove(m->live, m->live + 1, --m->n * sizeof(m->live[0]));
	m->live[m->n++] = t;
	return t;
}

static int64_t out_size(int64_t in, int64_t k, int64_t dil, int64_t stride, int64_t before,
			int64_t behind)
{
	return (in + before + behind - (k - 1) * dil - 1) / stride + 1;
}

static void random_window(struct maker *m, const struct vtac_tensor *x, struct vtac_window *w)
{
	for (int i = 0; i < 2; i++) {
		int64_t in = x->dims[2 + i], reach;

		w->kernel[i] = 1 + rnd(m, in < 4 ? (uint32_t)in : 4);
		w->stride[i] = 1 + rnd(m, 2);
		w->dilation[i] = w->kernel[i] > 1 && !rnd(m, 6) &&
				 (w->kernel[i] - 1) * 2 + 1 <= in ? 2 : 1;
		reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
		w->pad[i] = rnd(m, (uint32_t)(reach < 4 ? reach : 4));
		if (m->raw && !rnd(m, 12))
			w->pad[i] = reach + rnd(m, 3);
		w->pad[2 + i] = rnd(m, 2) ? w->pad[i] : rnd(m, (uint32_t)(reach < 4 ? reach : 4));
	}
}

static void same_window(struct maker *m, const struct vtac_tensor *x, struct vtac_window *w)
{
	for (int i = 0; i < 2; i++) {
		w->kernel[i] = x->dims[2 + i] >= 3 && rnd(m, 2) ? 3 : 1;
		w->stride[i] = 1;
		w->dilation[i] = 1;
		w->pad[i] = w->kernel[i] / 2;
		w->pad[2 + i] = w->pad[i];
	}
}

/* The sum of @t and @res, or a constant, behind a convolution that is not fused yet. */
static int add_residual(struct maker *m, struct vtac_tensor *t, struct vtac_tensor *res)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_ADD, NULL, 2, 1);
	unsigned int first = rnd(m, 2);

	if (!rnd(m, 8))
		res = weights(m, 4, t->dims, t->dims[2] * t->dims[3]);
	if (!node || !res || vtac_node_set_in(m->g, node, first, t) ||
	    vtac_node_set_in(m->g, node, 1 - first, res))
		return -1;
	node->act = activation(m);
	return finish(m, node, t->dims[0], t->dims[1], t->dims[2], t->dims[3]) ? 0 : -1;
}

/* A convolution of @x, and @res or NULL added to it */
static int conv_of(struct maker *m, struct vtac_tensor *x, struct vtac_tensor *res)
{
	struct vtac_tensor *w, *b = NULL, *y;
	struct vtac_node *node = vtac_node_new(m->g, VTAC_CONV, NULL, m->raw ? 3 : 4, 1);
	int64_t oc, groups = 1, ic = x->dims[1], oh, ow;
	struct vtac_window *win;

	if (!node)
		return -1;
	win = &node->attr.conv.window;
	if (res && (res->dims[2] != x->dims[2] || res->dims[3] != x->dims[3]))
		res = x;
	oc = res ? res->dims[1] : 1 + rnd(m, 40);
	if (res)
		same_window(m, x, win);
	else
		random_window(m, x, win);
	if (!res && !rnd(m, 5)) {
		groups = ic;
		oc = ic;
	} else if (!res && !rnd(m, 6) && ic % 2 == 0) {
		groups = 2;
		oc += oc % 2;
	}
	node->attr.conv.groups = groups;
	w = weights(m, 4, (int64_t[]) { oc, ic / groups, win->kernel[0], win->kernel[1] },
		    ic / groups * win->kernel[0] * win->kernel[1]);
	if (rnd(m, 4))
		b = weights(m, 1, &oc, 1);
	oh = out_size(x->dims[2], win->kernel[0], win->dilation[0], win->stride[0], win->pad[0],
		      win->pad[2]);
	ow = out_size(x->dims[3], win->kernel[1], win->dilation[1], win->stride[1], win->pad[1],
		      win->pad[3]);
	if (!m->raw || !res)
		node->act = activation(m);
	if (!w || vtac_node_set_in(m->g, node, 0, x) || vtac_node_set_in(m->g, node, 1, w) ||
	    vtac_node_set_in(m->g, node, 2, b))
		return -1;
	if (!m->raw && vtac_node_set_in(m->g, node, 3, res))
		return -1;
	y = finish(m, node, x->dims[0], oc, oh, ow);
	return !y || (m->raw && res && add_residual(m, y, res)) ? -1 : 0;
}

static int add_conv(struct maker *m, bool residual)
{
	struct vtac_tensor *x = pick(m);

	return conv_of(m, x, residual ? pick(m) : NULL);
}

/* Add convolutions that each add what the one before it made. */
static int add_skips(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	int err = 0;

	for (uint32_t i = 2 + rnd(m, 2); i && !err; i--) {
		err = conv_of(m, x, x);
		x = m->live[m->n - 1];
	}
	return err;
}

static int add_transposed(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *w;
	struct vtac_node *node = vtac_node_new(m->g, VTAC_CONV_TRANSPOSE, NULL, 3, 1);
	int64_t oc = 1 + rnd(m, 20), size[2];

	if (!node || x->dims[2] * x->dims[3] > 100)
		return node ? add_conv(m, false) : -1;
	node->attr.conv.groups = 1;
	for (int i = 0; i < 2; i++) {
		struct vtac_window *win = &node->attr.conv.window;

		win->stride[i] = 1 + rnd(m, 2);
		win->kernel[i] = win->stride[i] + rnd(m, 2);
		win->dilation[i] = 1;
		if (m->raw && !rnd(m, 3))
			win->pad[2 + i] = rnd(m, (uint32_t)win->kernel[i]);
		size[i] = (x->dims[2 + i] - 1) * win->stride[i] + win->kernel[i] - win->pad[2 + i];
	}
	w = weights(m, 4,
		    (int64_t[]) { x->dims[1], oc, node->attr.conv.window.kernel[0],
				  node->attr.conv.window.kernel[1] }, 4);
	return !w || vtac_node_set_in(m->g, node, 0, x) || vtac_node_set_in(m->g, node, 1, w) ||
	       !finish(m, node, x->dims[0], oc, size[0], size[1]) ? -1 : 0;
}

static int add_pair(struct maker *m)
{
	static const enum vtac_op ops[] = {
		VTAC_ADD, VTAC_ADD, VTAC_MUL, VTAC_MAX, VTAC_MIN };
	struct vtac_tensor *a = pick(m), *b = a;
	struct vtac_node *node = vtac_node_new(m->g, ops[rnd(m, 5)], NULL, 2, 1);

	for (unsigned int i = 0; i < m->n; i++)
		if (vtac_same_shape(m->live[i], a) && rnd(m, 2))
			b = m->live[i];
	if (m->raw && !rnd(m, 5))
		b = weights(m, 4, a->dims, a->dims[2] * a->dims[3]);
	else if (m->raw && !rnd(m, 4))
		b = weights(m, 3, (int64_t[]) { a->dims[1], 1, 1 }, 1);
	if (!node || !b)
		return -1;
	node->act = activation(m);
	/* Squares of squares would have no end. */
	if (node->op == VTAC_MUL)
		node->act = (struct vtac_activation) { .kind = VTAC_ACT_CLIP, .lo = -2, .hi = 2 };
	return vtac_node_set_in(m->g, node, 0, a) || vtac_node_set_in(m->g, node, 1, b) ||
	       !finish(m, node, a->dims[0], a->dims[1], a->dims[2], a->dims[3]) ? -1 : 0;
}

static int add_pool(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	bool max = rnd(m, 2);
	struct vtac_node *node = vtac_node_new(m->g, max ? VTAC_MAX_POOL : VTAC_AVG_POOL, NULL,
					       1, 1);
	struct vtac_window *w;

	if (!node)
		return -1;
	w = &node->attr.pool;
	random_window(m, x, w);
	for (int i = 0; i < 2; i++) {
		w->dilation[i] = 1;
		/* A window in the padding alone has no greatest value. */
		for (int k = i; k < 4; k += 2)
			w->pad[k] = max ? w->pad[k] % w->kernel[i] : 0;
	}
	return vtac_node_set_in(m->g, node, 0, x) ||
	       !finish(m, node, x->dims[0], x->dims[1],
		       out_size(x->dims[2], w->kernel[0], 1, w->stride[0], w->pad[0], w->pad[2]),
		       out_size(x->dims[3], w->kernel[1], 1, w->stride[1], w->pad[1], w->pad[3])) ?
	       -1 : 0;
}

static int add_clip(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	struct vtac_node *node = vtac_node_new(m->g, VTAC_CLIP, NULL, 1, 1);

	if (!node)
		return -1;
	node->attr.clip.lo = rnd(m, 2) ? 0 : -0.5f;
	node->attr.clip.hi = rnd(m, 2) ? INFINITY : 1;
	if (m->raw && !rnd(m, 8))
		node->attr.clip.hi = -0.75f;
	return vtac_node_set_in(m->g, node, 0, x) ||
	       !finish(m, node, x->dims[0], x->dims[1], x->dims[2], x->dims[3]) ? -1 : 0;
}

/* All parts but the last have whole blocks, but in a file. */
static int add_concat(struct maker *m)
{
	struct vtac_tensor *parts[3] = { NULL }, *last = pick(m);
	unsigned int n = 0;
	struct vtac_node *node;
	int64_t c = last->dims[1];

	for (unsigned int i = 0; i < m->n && n < 2; i++) {
		struct vtac_tensor *t = m->live[i];

		if (t->dims[2] == last->dims[2] && t->dims[3] == last->dims[3] &&
		    (m->raw || t->dims[1] % m->core->block == 0)) {
			parts[n++] = t;
			c += t->dims[1];
		}
	}
	if (!n)
		return add_conv(m, true);
	parts[n++] = last;
	node = vtac_node_new(m->g, VTAC_CONCAT, NULL, n, 1);
	if (!node)
		return -1;
	node->attr.axis.axis = 1;
	for (unsigned int i = 0; i < n; i++)
		if (vtac_node_set_in(m->g, node, i, parts[i]))
			return -1;
	return finish(m, node, last->dims[0], c, last->dims[2], last->dims[3]) ? 0 : -1;
}

/* Other tensors of @x's images and size, and @x itself, at most @max. */
static unsigned int like_sized(const struct maker *m, struct vtac_tensor *x,
			       struct vtac_tensor **like, unsigned int max)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < m->n && n + 1 < max; i++) {
		struct vtac_tensor *t = m->live[i];

		if (t != x && t->dims[0] == x->dims[0] && t->dims[2] == x->dims[2] &&
		    t->dims[3] == x->dims[3])
			like[n++] = t;
	}
	like[n++] = x;
	return n;
}

/* Channels of some tensors: in turns, in a row, or any. */
static int add_channels(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *from[3];
	unsigned int n = like_sized(m, x, from, 1 + rnd(m, 3)), kind = rnd(m, 3);
	struct vtac_node *node = vtac_node_new(m->g, VTAC_CHANNELS, NULL, n, 1);
	int64_t c = 1 + rnd(m, 2 * m->core->block + 4);
	struct vtaops_pick *picks = vtac_alloc(m->g, (uint64_t)c, sizeof(*picks));

	if (!node || !picks)
		return -1;
	for (unsigned int i = 0; i < n; i++)
		if (vtac_node_set_in(m->g, node, i, from[i]))
			return -1;
	for (unsigned int i = 0; i < c; i++) {
		uint32_t source = kind == 0 ? i % n : kind == 1 ? i * n / (uint32_t)c : rnd(m, n);
		uint32_t channels = (uint32_t)from[source]->dims[1];

		picks[i] = (struct vtaops_pick) {
			source, kind == 0 ? i / n % channels : kind == 1 ? i % channels :
			rnd(m, channels) };
	}
	node->attr.channels.picks = picks;
	return finish(m, node, x->dims[0], c, x->dims[2], x->dims[3]) ? 0 : -1;
}

/* Two or three parts, some of whole blocks, or one that leaves out the rest; only in files. */
static int add_split(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	int64_t c = x->dims[1], first = c > m->core->block && rnd(m, 2) ? m->core->block :
		c > 1 ? 1 + rnd(m, (uint32_t)c - 1) : 1;
	unsigned int parts = c - first > 1 ? 3 : c > first ? 2 : 1;
	int64_t sizes[3] = { first, parts > 2 ? 1 + rnd(m, (uint32_t)(c - first) - 1) : c - first };
	struct vtac_node *node = vtac_node_new(m->g, VTAC_SPLIT, NULL, 2, parts);
	struct vtac_tensor *given;
	int64_t count = parts;

	sizes[2] = c - first - sizes[1];
	given = vtac_tensor_const(m->g, NULL, VTAC_I64, 1, &count, sizes, true);
	if (!node || !given || vtac_node_set_in(m->g, node, 0, x) ||
	    vtac_node_set_in(m->g, node, 1, given))
		return -1;
	node->attr.axis.axis = 1;
	for (unsigned int i = 0; i < parts; i++) {
		struct vtac_tensor *t, *first_part = node->out[0];

		/* finish() gives each the first output's place. */
		node->out[0] = NULL;
		t = finish(m, node, x->dims[0], sizes[i], x->dims[2], x->dims[3]);
		if (!t)
			return -1;
		node->out[0] = first_part;
		vtac_node_set_out(node, i, t);
	}
	return 0;
}

static int to_shape(struct maker *m, struct vtac_tensor *x, struct vtac_node *node, int rank,
		    const int64_t *dims)
{
	struct vtac_tensor *shape = vtac_tensor_const(m->g, NULL, VTAC_I64, 1,
						      (int64_t[]) { rank }, dims, true);

	return !node || !shape || vtac_node_set_in(m->g, node, 0, x) ||
	       vtac_node_set_in(m->g, node, 1, shape) ? -1 : 0;
}

/* Groups of channels take turns, as files have it. */
static int add_shuffle(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *split, *turned;
	int64_t *d = x->dims, groups = d[1] % 3 == 0 ? 3 : d[1] % 2 == 0 ? 2 : 1;
	int64_t parts[5] = { d[0], groups, d[1] / groups, d[2], d[3] };
	struct vtac_node *first = vtac_node_new(m->g, VTAC_RESHAPE, NULL, 2, 1);
	struct vtac_node *turn = vtac_node_new(m->g, VTAC_TRANSPOSE, NULL, 1, 1);
	struct vtac_node *last = vtac_node_new(m->g, VTAC_RESHAPE, NULL, 2, 1);

	split = vtac_tensor_shaped(m->g, NULL, VTAC_F32, 5, parts);
	turned = vtac_tensor_shaped(m->g, NULL, VTAC_F32, 5, (int64_t[]) {
		parts[0], parts[2], parts[1], parts[3], parts[4] });
	if (!split || !turned || !turn || to_shape(m, x, first, 5, parts) ||
	    vtac_node_set_in(m->g, turn, 0, split) || to_shape(m, turned, last, 4, d))
		return -1;
	vtac_node_set_out(first, 0, split);
	vtac_node_set_out(turn, 0, turned);
	for (int i = 0; i < 5; i++)
		turn->attr.transpose.perm[i] = i == 1 || i == 2 ? 3 - i : i;
	return finish(m, last, d[0], d[1], d[2], d[3]) ? 0 : -1;
}

/* Some channels of one tensor, as files have it. */
static int add_gather(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *indices;
	struct vtac_node *node = vtac_node_new(m->g, VTAC_GATHER, NULL, 2, 1);
	int64_t which[20], c = 1 + rnd(m, 20);

	for (int64_t i = 0; i < c; i++)
		which[i] = (int64_t)rnd(m, 2 * (uint32_t)x->dims[1]) - x->dims[1];
	indices = vtac_tensor_const(m->g, NULL, VTAC_I64, 1, &c, which, true);
	if (!node || !indices || vtac_node_set_in(m->g, node, 0, x) ||
	    vtac_node_set_in(m->g, node, 1, indices))
		return -1;
	node->attr.axis.axis = 1;
	return finish(m, node, x->dims[0], c, x->dims[2], x->dims[3]) ? 0 : -1;
}

static int add_moved(struct maker *m)
{
	if (!m->raw)
		return add_channels(m);
	switch (rnd(m, 4)) {
	case 0:
		return add_gather(m);
	case 1:
		return add_shuffle(m);
	default:
		return add_split(m);
	}
}

static int add_resize(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	struct vtac_node *node;

	if (x->dims[2] * x->dims[3] > 80)
		return add_conv(m, true);
	node = vtac_node_new(m->g, VTAC_RESIZE, NULL, 1, 1);
	if (!node)
		return -1;
	node->attr.resize = (struct vtac_resize) {
		.mode = VTAC_NEAREST, .coord = VTAC_ASYMMETRIC, .round = VTAC_ROUND_FLOOR,
		.scale = { 1, 1, 2, 2 } };
	return vtac_node_set_in(m->g, node, 0, x) ||
	       !finish(m, node, x->dims[0], x->dims[1], 2 * x->dims[2], 2 * x->dims[3]) ? -1 : 0;
}

/* The mean of each channel, and a dense layer. */
static int add_head(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *w, *flat, *y;
	struct vtac_node *node = vtac_node_new(m->g, VTAC_AVG_POOL, NULL, 1, 1), *gemm, *shape;
	int64_t units = 1 + rnd(m, 30);

	if (!node || vtac_node_set_in(m->g, node, 0, x))
		return -1;
	for (int i = 0; i < 2; i++) {
		node->attr.pool.kernel[i] = x->dims[2 + i];
		node->attr.pool.stride[i] = 1;
		node->attr.pool.dilation[i] = 1;
	}
	x = finish(m, node, x->dims[0], x->dims[1], 1, 1);
	shape = vtac_node_new(m->g, VTAC_RESHAPE, NULL, 1, 1);
	gemm = vtac_node_new(m->g, VTAC_GEMM, NULL, m->raw ? 3 : 4, 1);
	if (!x || !shape || !gemm)
		return -1;
	shape->attr.reshape = (struct vtac_reshape) { .kind = VTAC_FLATTEN, .axis = 1 };
	flat = vtac_tensor_shaped(m->g, NULL, VTAC_F32, 2, x->dims);
	y = vtac_tensor_shaped(m->g, NULL, VTAC_F32, 2, (int64_t[]) { x->dims[0], units });
	w = weights(m, 2, (int64_t[]) { units, x->dims[1] }, x->dims[1]);
	if (!flat || !y || !w)
		return -1;
	gemm->attr.gemm = (struct vtac_gemm) { .trans_w = true, .alpha = 1, .beta = 1 };
	shape->device = VTAC_CARD;
	gemm->device = VTAC_CARD;
	vtac_node_set_out(shape, 0, flat);
	vtac_node_set_out(gemm, 0, y);
	return vtac_node_set_in(m->g, shape, 0, x) || vtac_node_set_in(m->g, gemm, 0, flat) ||
	       vtac_node_set_in(m->g, gemm, 1, w) ||
	       vtac_node_set_in(m->g, gemm, 2, weights(m, 1, &units, 1)) ? -1 : 0;
}

/* A value for each channel, made of them all, times all of a channel's; or added to it. */
static int add_squeeze(struct maker *m)
{
	static const enum vtac_op ops[] = { VTAC_MUL, VTAC_MUL, VTAC_ADD, VTAC_MAX, VTAC_MIN };
	struct vtac_tensor *x = pick(m), *mean, *w, *scale;
	struct vtac_node *pool = vtac_node_new(m->g, VTAC_AVG_POOL, NULL, 1, 1);
	struct vtac_node *conv = vtac_node_new(m->g, VTAC_CONV, NULL, 4, 1);
	struct vtac_node *node = vtac_node_new(m->g, ops[rnd(m, 5)], NULL, 2, 1);
	unsigned int first = rnd(m, 2);

	if (!pool || !conv || !node || vtac_node_set_in(m->g, pool, 0, x))
		return -1;
	for (int i = 0; i < 2; i++) {
		pool->attr.pool.kernel[i] = x->dims[2 + i];
		pool->attr.pool.stride[i] = 1;
		pool->attr.pool.dilation[i] = 1;
	}
	mean = finish(m, pool, x->dims[0], x->dims[1], 1, 1);
	w = weights(m, 4, (int64_t[]) { x->dims[1], x->dims[1], 1, 1 }, x->dims[1]);
	conv->attr.conv = (struct vtac_conv) {
		.window = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } },
		.groups = 1 };
	conv->act = (struct vtac_activation) { .kind = VTAC_ACT_CLIP, .lo = 0, .hi = 1 };
	if (!mean || !w || vtac_node_set_in(m->g, conv, 0, mean) ||
	    vtac_node_set_in(m->g, conv, 1, w))
		return -1;
	scale = finish(m, conv, x->dims[0], x->dims[1], 1, 1);
	node->act = activation(m);
	return !scale || vtac_node_set_in(m->g, node, first, x) ||
	       vtac_node_set_in(m->g, node, 1 - first, scale) ||
	       !finish(m, node, x->dims[0], x->dims[1], x->dims[2], x->dims[3]) ? -1 : 0;
}

/* Add a function of each value. */
static int add_unary(struct maker *m)
{
	static const enum vtac_op ops[] = { VTAC_HARD_SWISH, VTAC_HARD_SIGMOID, VTAC_LEAKY_RELU,
					    VTAC_UNARY, VTAC_IDENTITY };
	static const enum vtacpu_act_kind kinds[] = {
		VTACPU_ACT_SIGMOID, VTACPU_ACT_TANH, VTACPU_ACT_ABS, VTACPU_ACT_ERF, VTACPU_ACT_SIN,
		VTACPU_ACT_SOFTPLUS, VTACPU_ACT_ELU, VTACPU_ACT_MISH, VTACPU_ACT_GELU,
		VTACPU_ACT_GELU_TANH, VTACPU_ACT_SWISH, VTACPU_ACT_SOFTSIGN, VTACPU_ACT_SHRINK,
		VTACPU_ACT_ROUND,
	};
	struct vtac_tensor *x = pick(m);
	struct vtac_node *node = vtac_node_new(m->g, ops[rnd(m, 5)], NULL, 1, 1);

	if (!node)
		return -1;
	node->attr.unary.alpha = 0.2f;
	node->attr.unary.beta = node->op == VTAC_HARD_SIGMOID ? 0.5f : 0;
	if (node->op == VTAC_UNARY)
		node->attr.unary.kind = kinds[rnd(m, 14)];
	return vtac_node_set_in(m->g, node, 0, x) ||
	       !finish(m, node, x->dims[0], x->dims[1], x->dims[2], x->dims[3]) ? -1 : 0;
}

static int add_norm(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *values[4];
	struct vtac_node *node = vtac_node_new(m->g, VTAC_BATCH_NORM, NULL, 5, 1);
	float *variance;

	if (!node || vtac_node_set_in(m->g, node, 0, x))
		return -1;
	for (unsigned int i = 0; i < 4; i++) {
		values[i] = weights(m, 1, &x->dims[1], 1);
		if (!values[i] || vtac_node_set_in(m->g, node, i + 1, values[i]))
			return -1;
	}
	variance = (float *)(uintptr_t)values[3]->data;
	for (int64_t i = 0; i < x->dims[1]; i++)
		variance[i] = fabsf(variance[i]) + 0.5f;
	node->attr.batch_norm.epsilon = 0.001f;
	node->act = activation(m);
	return finish(m, node, x->dims[0], x->dims[1], x->dims[2], x->dims[3]) ? 0 : -1;
}

/* @x and a constant for all, each channel or each value, on either side. */
static struct vtac_tensor *with_constant(struct maker *m, struct vtac_tensor *x, enum vtac_op op)
{
	unsigned int shape = rnd(m, 3), first = op == VTAC_BINARY ? 0 : rnd(m, 2);
	int64_t dims[] = { shape ? x->dims[1] : 1, shape == 2 ? x->dims[2] : 1,
			   shape == 2 ? x->dims[3] : 1 };
	struct vtac_node *node = vtac_node_new(m->g, op, NULL, 2, 1);
	struct vtac_tensor *c = weights(m, 3, dims, 1);

	if (!node || !c || vtac_node_set_in(m->g, node, first, x) ||
	    vtac_node_set_in(m->g, node, 1 - first, c))
		return NULL;
	if (op == VTAC_BINARY)
		node->attr.binary.op = VTACPU_PRELU;
	return finish(m, node, x->dims[0], x->dims[1], x->dims[2], x->dims[3]);
}

/* A factor, and perhaps a term; a limit; slopes for negative values. */
static int add_constants(struct maker *m)
{
	static const enum vtac_op ops[] = { VTAC_MUL, VTAC_MUL, VTAC_BINARY, VTAC_MAX, VTAC_SUB };
	struct vtac_tensor *x = with_constant(m, pick(m), ops[rnd(m, 5)]);

	if (x && rnd(m, 2))
		x = with_constant(m, x, rnd(m, 2) ? VTAC_ADD : VTAC_SUB);
	return x ? 0 : -1;
}

static int add_pad(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	struct vtac_node *node = vtac_node_new(m->g, VTAC_PAD, NULL, 1, 1);

	if (!node)
		return -1;
	for (int i = 2; i < 4; i++) {
		node->attr.pad.before[i] = rnd(m, 2);
		node->attr.pad.after[i] = rnd(m, 2);
	}
	return vtac_node_set_in(m->g, node, 0, x) ||
	       !finish(m, node, x->dims[0], x->dims[1],
		       x->dims[2] + node->attr.pad.before[2] + node->attr.pad.after[2],
		       x->dims[3] + node->attr.pad.before[3] + node->attr.pad.after[3]) ? -1 : 0;
}

/* As Transpose does it, height and width change places: no operator of the card. */
static int add_transpose(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	struct vtac_node *node = vtac_node_new(m->g, VTAC_TRANSPOSE, NULL, 1, 1);

	if (!node)
		return -1;
	for (int i = 0; i < 4; i++)
		node->attr.transpose.perm[i] = i < 2 ? i : 5 - i;
	return vtac_node_set_in(m->g, node, 0, x) ||
	       !finish(m, node, x->dims[0], x->dims[1], x->dims[3], x->dims[2]) ? -1 : 0;
}

/* Add a difference from, or a quotient by, values of each channel. */
static int add_quotient(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *c = weights(m, 3, (int64_t[]) { x->dims[1], 1, 1 }, 1);
	struct vtac_node *node = vtac_node_new(m->g, rnd(m, 2) ? VTAC_SUB : VTAC_DIV, NULL, 2, 1);
	float *v = c ? (float *)(uintptr_t)c->data : NULL;

	for (int64_t i = 0; v && i < x->dims[1]; i++)
		v[i] += v[i] < 0 ? -1 : 1;
	return !node || !v || vtac_node_set_in(m->g, node, 0, x) ||
	       vtac_node_set_in(m->g, node, 1, c) ||
	       !finish(m, node, x->dims[0], x->dims[1], x->dims[2], x->dims[3]) ? -1 : 0;
}

/* Add one value of each channel, of each row, or of each place. */
static int add_reduced(struct maker *m)
{
	static const enum vtacpu_reduce_op ops[] = {
		VTACPU_REDUCE_MEAN, VTACPU_REDUCE_SUM, VTACPU_REDUCE_MAX, VTACPU_REDUCE_MIN,
		VTACPU_REDUCE_L1,
	};
	static const uint32_t axes[] = { 12, 8, 2 };
	struct vtac_node *node = vtac_node_new(m->g, VTAC_REDUCE, NULL, 1, 1);
	struct vtac_tensor *x = pick(m);
	int64_t dims[4];

	if (!node || vtac_node_set_in(m->g, node, 0, x))
		return -1;
	node->attr.reduce.op = ops[rnd(m, 5)];
	node->attr.reduce.axes = axes[rnd(m, 3)];
	node->attr.reduce.keep = true;
	for (int i = 0; i < 4; i++)
		dims[i] = node->attr.reduce.axes >> i & 1 ? 1 : x->dims[i];
	return finish(m, node, dims[0], dims[1], dims[2], dims[3]) ? 0 : -1;
}

/* Add rows less their mean, in units of their deviation. */
static int add_normalised(struct maker *m)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_NORM, NULL, 3, 1);
	struct vtac_tensor *x = pick(m);

	if (!node || vtac_node_set_in(m->g, node, 0, x) ||
	    vtac_node_set_in(m->g, node, 1, weights(m, 1, &x->dims[3], 1)) ||
	    vtac_node_set_in(m->g, node, 2, weights(m, 1, &x->dims[3], 1)))
		return -1;
	node->attr.norm.axis = 3;
	node->attr.norm.epsilon = 0.01f;
	node->attr.norm.rms = !rnd(m, 3);
	return finish(m, node, x->dims[0], x->dims[1], x->dims[2], x->dims[3]) ? 0 : -1;
}

/* Add some channels, rows and columns, perhaps each other one. */
static int add_slice(struct maker *m)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_SLICE, NULL, 1, 1);
	struct vtac_tensor *x = pick(m);
	int64_t dims[4];

	if (!node || vtac_node_set_in(m->g, node, 0, x))
		return -1;
	for (int i = 0; i < 4; i++) {
		uint32_t size = (uint32_t)x->dims[i];

		node->attr.slice.start[i] = i ? rnd(m, size < 3 ? size : 3) : 0;
		node->attr.slice.step[i] = i && !rnd(m, 3) ? 2 : 1;
		dims[i] = (x->dims[i] - node->attr.slice.start[i] +
			   node->attr.slice.step[i] - 1) / node->attr.slice.step[i];
	}
	return finish(m, node, dims[0], dims[1], dims[2], dims[3]) ? 0 : -1;
}

/* Add squares of places as channels. */
static int add_space_to_depth(struct maker *m)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_DEPTH_TO_SPACE, NULL, 1, 1);
	struct vtac_tensor *x = pick(m);
	int64_t block = x->dims[2] % 2 || x->dims[3] % 2 ? 1 : 2;

	if (!node || vtac_node_set_in(m->g, node, 0, x))
		return -1;
	node->attr.depth_to_space.block = block;
	node->attr.depth_to_space.inverse = true;
	return finish(m, node, x->dims[0], x->dims[1] * block * block, x->dims[2] / block,
		      x->dims[3] / block) ? 0 : -1;
}

/* ---- attention, as files have it ---- */

static struct vtac_tensor *made(struct maker *m, struct vtac_node *node, int rank,
				const int64_t *dims)
{
	struct vtac_tensor *y = node ? vtac_tensor_shaped(m->g, NULL, VTAC_F32, rank, dims) : NULL;

	if (y)
		vtac_node_set_out(node, 0, y);
	return y;
}

static struct vtac_tensor *reshaped(struct maker *m, struct vtac_tensor *x, int rank,
				    const int64_t *dims)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_RESHAPE, NULL, 2, 1);

	return x && !to_shape(m, x, node, rank, dims) ? made(m, node, rank, dims) : NULL;
}

static struct vtac_tensor *transposed(struct maker *m, struct vtac_tensor *x, const int *perm)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_TRANSPOSE, NULL, 1, 1);
	int64_t dims[VTAC_RANK_MAX];

	if (!x || !node || vtac_node_set_in(m->g, node, 0, x))
		return NULL;
	for (int i = 0; i < x->rank; i++) {
		node->attr.transpose.perm[i] = perm[i];
		dims[i] = x->dims[perm[i]];
	}
	return made(m, node, x->rank, dims);
}

static struct vtac_tensor *multiplied(struct maker *m, struct vtac_tensor *a, struct vtac_tensor *b)
{
	struct vtac_node *node = vtac_node_new(m->g, VTAC_MATMUL, NULL, 2, 1);
	int64_t dims[VTAC_RANK_MAX];

	if (!a || !b || !node || vtac_node_set_in(m->g, node, 0, a) ||
	    vtac_node_set_in(m->g, node, 1, b))
		return NULL;
	memcpy(dims, a->dims, sizeof(dims));
	dims[a->rank - 1] = b->dims[b->rank - 1];
	return made(m, node, a->rank, dims);
}

/* x, [N][tokens][C], times constant weights for @outputs. */
static struct vtac_tensor *projected(struct maker *m, struct vtac_tensor *x, int64_t outputs)
{
	int64_t c = x ? x->dims[x->rank - 1] : 1;

	return multiplied(m, x, weights(m, 2, (int64_t[]) { c, outputs }, outputs));
}

struct heads {
	int64_t n, tokens, heads, size;
};

/* Queries, keys and values by a product each, or by one: [N][heads][tokens][size]. */
static void split_heads(struct maker *m, struct vtac_tensor *x, const struct heads *s,
			struct vtac_tensor **qkv)
{
	const int64_t dims[] = { s->n, s->tokens, 3, s->heads, s->size };
	const int64_t each[] = { s->n, s->tokens, s->heads, s->size };
	const int64_t slice[] = { 1, s->n, s->heads, s->tokens, s->size };
	bool joined = rnd(m, 2);
	struct vtac_node *split;
	struct vtac_tensor *all;

	for (int i = 0; i < 3 && !joined; i++)
		qkv[i] = transposed(m, reshaped(m, projected(m, x, s->heads * s->size), 4, each),
				    (int[]) { 0, 2, 1, 3 });
	if (!joined)
		return;
	all = transposed(m, reshaped(m, projected(m, x, 3 * s->heads * s->size), 5, dims),
			 (int[]) { 2, 0, 3, 1, 4 });
	split = vtac_node_new(m->g, VTAC_SPLIT, NULL, 1, 3);
	if (!all || !split || vtac_node_set_in(m->g, split, 0, all))
		return;
	split->attr.axis.axis = 0;
	for (unsigned int i = 0; i < 3; i++) {
		struct vtac_tensor *t = vtac_tensor_shaped(m->g, NULL, VTAC_F32, 5, slice);

		if (!t)
			return;
		vtac_node_set_out(split, i, t);
		qkv[i] = reshaped(m, t, 4, slice + 1);
	}
}

/* The part of each head times one matrix, with limits. */
static struct vtac_tensor *hidden(struct maker *m, struct vtac_tensor *x, const struct heads *h)
{
	int64_t units = rnd(m, 2) ? m->core->block : 1 + rnd(m, 20);
	struct vtac_node *clip = vtac_node_new(m->g, VTAC_CLIP, NULL, 1, 1);

	x = x ? reshaped(m, x, 3, (int64_t[]) { h->n, h->tokens * h->heads, h->size }) : NULL;
	x = projected(m, x, units);
	if (!x || !clip || vtac_node_set_in(m->g, clip, 0, x))
		return NULL;
	clip->attr.clip.lo = -1;
	clip->attr.clip.hi = 2;
	return reshaped(m, made(m, clip, 3, x->dims), 3,
			(int64_t[]) { h->n, h->tokens, h->heads * units });
}

/* Add attention over the pixels of a picture, with Softmax or without. */
static int add_attention(struct maker *m)
{
	struct vtac_tensor *x = pick(m), *qkv[3] = { NULL }, *s, *number;
	struct heads h = { x->dims[0], x->dims[2] * x->dims[3], 1 + rnd(m, 3),
			   rnd(m, 2) ? m->core->block : 1 + rnd(m, 20) };
	int64_t outputs = 1 + rnd(m, 20);
	const int64_t shape[] = { h.n, outputs, x->dims[2], x->dims[3] };
	struct vtac_node *scale = vtac_node_new(m->g, VTAC_MUL, NULL, 2, 1), *last;
	struct vtac_node *softmax = vtac_node_new(m->g, VTAC_SOFTMAX, NULL, 1, 1);
	bool normal = rnd(m, 2);
	/* Without Softmax products grow with the tokens. */
	const float factor = normal ? 0.25f : 0.5f / (float)(h.tokens * h.size);

	x = reshaped(m, x, 3, (int64_t[]) { h.n, x->dims[1], h.tokens });
	split_heads(m, transposed(m, x, (int[]) { 0, 2, 1 }), &h, qkv);
	number = vtac_tensor_const(m->g, NULL, VTAC_F32, 0, NULL, &factor, true);
	if (!scale || !number || !softmax || !qkv[0] || !qkv[2] ||
	    vtac_node_set_in(m->g, scale, 0, qkv[0]) || vtac_node_set_in(m->g, scale, 1, number))
		return -1;
	s = multiplied(m, made(m, scale, 4, qkv[0]->dims),
		       transposed(m, qkv[1], (int[]) { 0, 1, 3, 2 }));
	if (s && normal) {
		if (vtac_node_set_in(m->g, softmax, 0, s))
			return -1;
		softmax->attr.softmax.axis = 3;
		s = made(m, softmax, 4, s->dims);
	} else {
		softmax->dead = true;
	}
	s = transposed(m, multiplied(m, s, qkv[2]), (int[]) { 0, 2, 1, 3 });
	s = reshaped(m, s, 3, (int64_t[]) { h.n, h.tokens, h.heads * h.size });
	if (rnd(m, 2))
		s = hidden(m, s, &h);
	s = transposed(m, projected(m, s, outputs), (int[]) { 0, 2, 1 });
	last = vtac_node_new(m->g, VTAC_RESHAPE, NULL, 2, 1);
	if (!s || to_shape(m, s, last, 4, shape))
		return -1;
	return finish(m, last, h.n, outputs, shape[2], shape[3]) ? 0 : -1;
}

/* Files are for any core; other graphs are the card's, whatever it has. */
static bool can_normalise(const struct maker *m, const struct vtac_tensor *x)
{
	struct vtaops_norm op = {
		.ones = m->core->acc_bytes, .n = (uint32_t)x->dims[0], .h = (uint32_t)x->dims[2],
		.w = (uint32_t)x->dims[3], .form = { .c = (uint32_t)x->dims[1] },
		.post = { .muls = m->core->acc_bytes, .bias = m->core->acc_bytes },
	};
	struct vtaops_builder b;

	vtaops_begin(&b, m->core, NULL, 0, NULL, 0, 0);
	return m->raw || !vtaops_norm(&b, &op);
}

/* Pixels by their channels; of a file between Transposes, or over rows of rows. */
static int add_layer_norm(struct maker *m)
{
	struct vtac_tensor *x = pick(m);
	struct vtac_node *node = can_normalise(m, x) ?
		vtac_node_new(m->g, VTAC_NORM, NULL, 3, 1) : NULL;
	int64_t *d = x->dims, rows[4] = { d[0], d[2], d[3], d[1] };

	if (!node)
		return can_normalise(m, x) ? -1 : add_unary(m);
	node->attr.norm.epsilon = rnd(m, 4) ? 0.00001f : 0.5f;
	node->attr.norm.rms = !rnd(m, 4);
	for (unsigned int i = 1; i < 3; i++) {
		struct vtac_tensor *t = rnd(m, 4) ? weights(m, 1, &d[1], 1) : NULL;

		if (t && vtac_node_set_in(m->g, node, i, t))
			return -1;
	}
	if (m->raw && rnd(m, 2)) {
		struct vtac_node *turn = vtac_node_new(m->g, VTAC_TRANSPOSE, NULL, 1, 1);
		struct vtac_tensor *t = transposed(m, x, (int[]) { 0, 2, 3, 1 });

		node->attr.norm.axis = rnd(m, 2) ? 3 : -1;
		if (!t || !turn || vtac_node_set_in(m->g, node, 0, t))
			return -1;
		t = made(m, node, 4, rows);
		memcpy(turn->attr.transpose.perm, (int[]) { 0, 3, 1, 2 }, 4 * sizeof(int));
		return !t || vtac_node_set_in(m->g, turn, 0, t) ||
		       !finish(m, turn, d[0], d[1], d[2], d[3]) ? -1 : 0;
	}
	node->attr.norm.axis = 1;
	node->attr.norm.across = true;
	return vtac_node_set_in(m->g, node, 0, x) ||
	       !finish(m, node, d[0], d[1], d[2], d[3]) ? -1 : 0;
}

/* Add a node that only files have: passes replace it, or leave it to the CPU. */
static int add_unfused(struct maker *m)
{
	switch (rnd(m, m->more ? 12 : 7)) {
	case 0:
	case 1:
		return add_unary(m);
	case 2:
	case 3:
		return add_norm(m);
	case 4:
		return add_pad(m);
	case 5:
		return add_attention(m);
	case 7:
		return add_quotient(m);
	case 8:
		return add_reduced(m);
	case 9:
		return add_normalised(m);
	case 10:
		return add_slice(m);
	case 11:
		return add_space_to_depth(m);
	default:
		return add_transpose(m);
	}
}

static int add_any(struct maker *m)
{
	if (m->raw && !rnd(m, 4))
		return add_unfused(m);
	switch (rnd(m, 14)) {
	case 0:
	case 1:
	case 2:
		return add_conv(m, false);
	case 3:
	case 4:
		return add_conv(m, true);
	case 5:
		return m->raw ? add_conv(m, true) : add_skips(m);
	case 6:
	case 7:
		return add_pair(m);
	case 8:
		return add_pool(m);
	case 9:
		return rnd(m, 2) ? add_concat(m) : add_moved(m);
	case 10:
		return rnd(m, 2) ? add_resize(m) : add_transposed(m);
	case 11:
		return add_squeeze(m);
	case 12:
		return rnd(m, 2) ? add_unary(m) : add_layer_norm(m);
	default:
		return add_clip(m);
	}
}

/* A picture of a few channels, and a first layer with strides that alone reads it. */
static int add_stem(struct maker *m)
{
	int64_t stride = 2 + rnd(m, 3), channels = 1 + rnd(m, 4), oc = 1 + rnd(m, 40), size[2];
	struct vtac_node *node = vtac_node_new(m->g, VTAC_CONV, NULL, 2, 1);
	struct vtac_window *win = node ? &node->attr.conv.window : NULL;
	struct vtac_tensor *x, *w;

	x = vtac_tensor_shaped(m->g, "picture", VTAC_F32, 4, (int64_t[]) {
		m->live[0]->dims[0], channels, stride * (2 + rnd(m, 4)) - rnd(m, 2),
		stride * (2 + rnd(m, 4)) });
	if (!node || !x || vtac_graph_input(m->g, x))
		return -1;
	for (int i = 0; i < 2; i++) {
		win->kernel[i] = stride + rnd(m, 4);
		win->stride[i] = stride;
		win->dilation[i] = 1;
		win->pad[i] = rnd(m, (uint32_t)(win->kernel[i]));
		win->pad[2 + i] = rnd(m, (uint32_t)(win->kernel[i]));
		size[i] = out_size(x->dims[2 + i], win->kernel[i], 1, stride, win->pad[i],
				   win->pad[2 + i]);
	}
	node->attr.conv.groups = 1;
	w = weights(m, 4, (int64_t[]) { oc, channels, win->kernel[0], win->kernel[1] },
		    channels * win->kernel[0] * win->kernel[1]);
	return !w || vtac_node_set_in(m->g, node, 0, x) || vtac_node_set_in(m->g, node, 1, w) ||
	       !finish(m, node, x->dims[0], oc, size[0], size[1]) ? -1 : 0;
}

static struct vtac_graph *make_graph(const struct vtaops_core *core, uint64_t seed, bool raw)
{
	struct maker m = { .g = vtac_graph_new(0), .core = core, .rng = seed * 2 + 1,
			   .raw = raw, .more = raw && seed % 4 == 1 };
	unsigned int nodes;
	struct vtac_tensor *x;
	uint64_t rng;

	if (!m.g)
		return NULL;
	rnd(&m, 2);
	nodes = 3 + rnd(&m, 10);
	m.cpu_share = rnd(&m, 3) ? 0 : 6;
	x = vtac_tensor_shaped(m.g, "x", VTAC_F32, 4, (int64_t[]) {
		rnd(&m, 3) ? 1 : 1 + rnd(&m, 3), rnd(&m, 3) ? 1 + rnd(&m, 20) : core->block,
		4 + rnd(&m, 9), 4 + rnd(&m, 9) });
	if (!x || vtac_graph_input(m.g, x))
		goto fail;
	m.live[m.n++] = x;
	rng = m.rng;
	if (raw && !rnd(&m, 4) && add_stem(&m))
		goto fail;
	m.rng = rng;
	for (unsigned int i = 0; i < nodes; i++)
		if (add_any(&m))
			goto fail;
	if (raw && rnd(&m, 2) && (add_constants(&m) || add_conv(&m, false)))
		goto fail;
	if (rnd(&m, 2) && add_head(&m))
		goto fail;
	for (unsigned int i = 0; i < m.g->n_tensors; i++) {
		struct vtac_tensor *t = m.g->tensors[i];

		if (t->producer && !t->n_users && vtac_graph_output(m.g, t))
			goto fail;
	}
	if (!vtac_graph_dce(m.g) && !vtac_graph_verify(m.g, 0, 1))
		return m.g;
fail:
	vtac_graph_free(m.g);
	return NULL;
}

struct vtac_graph *random_graph(const struct vtaops_core *core, uint64_t seed)
{
	return make_graph(core, seed, false);
}

struct vtac_graph *random_model(const struct vtaops_core *core, uint64_t seed)
{
	return make_graph(core, seed, true);
}

/* Pixels, all 256 of them possible, less an integer and times a scale for each channel. */
static void random_pixels(struct maker *m, const struct vtac_tensor *t, float *values)
{
	int64_t plane = t->dims[2] * t->dims[3];

	for (int64_t i = 0; i < t->dims[0] * t->dims[1]; i++)
		for (int64_t k = 0; k < plane; k++) {
			uint32_t pixel = k < 2 ? 255 * (uint32_t)k : rnd(m, 256);
			int64_t c = i % t->dims[1];

			*values++ = (float)(pixel - 100.0 - (double)c) *
				    (0.01f + 0.003f * (float)(c % 3));
		}
}

/* Image @i of a seed, always the same. */
void random_image(uint64_t seed, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct maker m = { .rng = (seed * 64 + i) * 2 + 1 };

	rnd(&m, 2);
	if (seed % 3 == 1) {
		random_pixels(&m, t, values);
		return;
	}
	for (int64_t k = 0; k < vtac_elements(t); k++)
		values[k] = noise(&m);
}

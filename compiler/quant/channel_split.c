// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `channel_split`: finer steps for small values of the first layers. The output x of such
 * a layer, never negative, is computed as two sets of channels, x = low + high with
 *	low = min(x, t)		high = max(x - t, 0)
 * Both have all integers for their part of the range, and what reads them has the same
 * weights for both. Smooth pictures need it: filters for edges give values near 0 there, whose
 * rounding errors are noise in all later layers. Greatest values of windows are greatest in both
 * sets, so max pools keep the sum.
 *
 * Errors of the first layers go through all others. Twice as many channels take cycles; so only the
 * first layer is split, which has few, or as many as a part of the network's multiplications
 * allows.
 */
#include <math.h>

#include "passes/passes.h"
#include "quant.h"

/* Ratio of the high part to the low one: weights have one scale for both. */
#define HIGH_PER_LOW	3.0f
/* Images that suffice to estimate the greatest value, and a margin for others */
#define IMAGES_MAX	8u
#define MARGIN		1.25f
/* Part of the network's multiplications that splitting more than the first layer may add */
#define MORE_WORK	(1 / 6.0)

/* Returns the tensor that convolutions read of @t, behind max pools; NULL: others read it. */
static struct vtac_tensor *read_tensor(const struct vtac_graph *g, struct vtac_tensor *t)
{
	const struct vtac_node *user = vtac_only_user(g, t);

	while (user && user->op == VTAC_MAX_POOL && user->device == VTAC_CARD) {
		t = user->out[0];
		user = vtac_only_user(g, t);
	}
	if (vtac_is_output(g, t) || !t->n_users)
		return NULL;
	for (unsigned int i = 0; i < t->n_users; i++) {
		user = t->users[i];
		if (!vtac_is_plain_conv(user) || user->in[0] != t || user->attr.conv.spare ||
		    (user->n_in > 3 && user->in[3] == t))
			return NULL;
	}
	return t;
}

/* Values of a constant that has just been widened, and is this graph's alone. */
static float *own_values(const struct vtac_tensor *t)
{
	return (float *)(uintptr_t)t->data;
}

/* Scale the first half of a constant's rows by @low, and write it less @less times @high behind. */
static void scale_rows(const struct vtac_tensor *t, float low, float high, float less)
{
	int64_t n = vtac_elements(t) / 2;
	float *v = own_values(t);

	for (int64_t k = 0; k < n; k++) {
		v[n + k] = (v[k] - less) * high;
		v[k] *= low;
	}
}

/* Scale the weights of the low part's inputs, and write those of the high part behind. */
static void scale_inputs(const struct vtac_tensor *w, int64_t channels, float low, float high)
{
	int64_t half = channels * w->dims[2] * w->dims[3];
	float *v = own_values(w);

	for (int64_t o = 0; o < w->dims[0]; o++, v += 2 * half)
		for (int64_t k = 0; k < half; k++) {
			v[half + k] = v[k] * high;
			v[k] *= low;
		}
}

/* Add a bias of zeros if there is none. */
static int add_bias(struct vtac_graph *g, struct vtac_node *node)
{
	int64_t n = node->out[0]->dims[1];
	float *zeros = vtac_alloc(g, (uint64_t)n, sizeof(*zeros));
	struct vtac_tensor *b;

	if (node->n_in > 2 && node->in[2])
		return 0;
	if (!zeros || (node->n_in < 3 && vtac_node_resize_in(g, node, 3)))
		return -1;
	b = vtac_tensor_const(g, vtac_text(g, "%s/bias", node->name), VTAC_F32, 1, &n, zeros,
			      false);
	return b ? vtac_node_set_in(g, node, 2, b) : -1;
}

/* Returns the tensor that convolutions read of a layer that can be split; NULL: it cannot. */
static struct vtac_tensor *splittable(const struct vtac_graph *g, const struct vtac_node *node)
{
	if (!vtac_is_plain_conv(node) || (node->n_in > 3 && node->in[3]) ||
	    node->act.kind != VTAC_ACT_CLIP || node->act.lo != 0 || node->act.hi < INFINITY ||
	    node->out[0]->quant.given)
		return NULL;
	return read_tensor(g, node->out[0]);
}

/* Does @node read a tensor that the card has not computed? */
static bool is_first(const struct vtac_node *node)
{
	return !node->in[0]->producer || node->in[0]->producer->device != VTAC_CARD;
}

/* The only layer that is first and can be split; NULL: there is none, or several. */
static struct vtac_node *first_layer(const struct vtac_graph *g)
{
	struct vtac_node *found = NULL;

	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *node = g->nodes[i];

		if (!vtac_is_plain_conv(node) || (node->n_in > 3 && node->in[3]) || !is_first(node))
			continue;
		if (found || !splittable(g, node))
			return NULL;
		found = node;
	}
	return found;
}

double vtac_work(const struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1];
	bool conv = node->op == VTAC_CONV;
	int64_t spare = conv ? node->attr.conv.spare : 0;
	double real = (double)(w->dims[1] - spare) / (double)w->dims[1];

	if (conv && node->attr.conv.file.channels)
		return (double)vtac_elements(node->out[0]) *
		       (double)(node->attr.conv.file.channels * node->attr.conv.file.kernel[0] *
				node->attr.conv.file.kernel[1]);
	return (double)vtac_elements(node->out[0]) * (double)vtac_elements(w) * real /
	       (double)w->dims[0];
}

/* Returns the multiplications that splitting @node adds. */
static double more_work(const struct vtac_node *node, const struct vtac_tensor *last)
{
	double sum = vtac_work(node);

	for (unsigned int i = 0; i < last->n_users; i++)
		sum += vtac_work(last->users[i]);
	return sum;
}

bool vtac_can_channel_split(const struct vtac_graph *g)
{
	return first_layer(g);
}

/* Split @node, whose values reach @most, into two sets of channels, as far as @last. */
static int split_layer(struct vtac_graph *g, struct vtac_node *node, struct vtac_tensor *last,
		       float most)
{
	const float parts = HIGH_PER_LOW + 1;
	struct vtac_tensor *t = node->out[0];
	int64_t channels = t->dims[1];

	if (add_bias(g, node) || vtac_widen_outputs(g, t, channels))
		return -1;
	/* low is shown as low * parts, high as high * parts / HIGH_PER_LOW: both from 0 to most. */
	scale_rows(node->in[1], parts, parts / HIGH_PER_LOW, 0);
	scale_rows(node->in[2], parts, parts / HIGH_PER_LOW, most / parts);
	node->act.hi = most;
	for (; t != last; t = t->users[0]->out[0])
		t->users[0]->out[0]->dims[1] += channels;
	for (unsigned int i = 0; i < last->n_users; i++) {
		if (vtac_widen_inputs(g, last->users[i], channels, channels))
			return -1;
		scale_inputs(last->users[i]->in[1], channels, 1 / parts, HIGH_PER_LOW / parts);
	}
	return 0;
}

/* Returns the multiplications that splitting may add. */
static double more_allowed(const struct vtac_graph *g)
{
	double all = 0;

	for (unsigned int i = 0; i < g->n_nodes; i++)
		all += vtac_is_plain_conv(g->nodes[i]) ? vtac_work(g->nodes[i]) : 0;
	return all * MORE_WORK;
}

/* Is @node to be split, whose outputs convolutions read as @last? Takes its work from @left. */
static bool is_wanted(const struct vtac_node *node, const struct vtac_tensor *last,
		      const struct vtac_node *first, enum vtac_split how, double *left)
{
	if (!last || (how == VTAC_SPLIT_FIRST && node != first))
		return false;
	*left -= more_work(node, last);
	return node == first || *left >= 0;
}

/* Returns the number of nodes up to the last one that may be split. */
static unsigned int nodes_to_last(const struct vtac_graph *g, const struct vtac_node *first,
				  enum vtac_split how)
{
	double left = more_allowed(g);
	unsigned int n = 0;

	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (is_wanted(g->nodes[i], splittable(g, g->nodes[i]), first, how, &left))
			n = i + 1;
	return n;
}

/* Each layer that is split makes the next ones larger, so fewer layers are split than counted. */
int vtac_pass_channel_split(struct vtac_graph *g, const struct vtac_options *opt)
{
	enum vtac_split how = g->how && !g->counted ? g->how->split : VTAC_SPLIT_NONE;
	const struct vtac_node *first = first_layer(g);
	unsigned int n = first && how >= VTAC_SPLIT_FIRST ? nodes_to_last(g, first, how) : 0;
	double left = more_allowed(g);

	if (!n)
		return 0;
	if (vtac_collect_stats(g, opt, IMAGES_MAX, n, false))
		return -1;
	for (unsigned int i = 0; i < n; i++) {
		struct vtac_node *node = g->nodes[i];
		struct vtac_tensor *last = splittable(g, node);
		float most = last && node->out[0]->stats ? node->out[0]->stats->hi * MARGIN : 0;

		if (most > 0 && is_wanted(node, last, first, how, &left) &&
		    split_layer(g, node, last, most))
			return -1;
	}
	return 0;
}

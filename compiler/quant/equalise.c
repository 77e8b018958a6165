// SPDX-License-Identifier: Apache-2.0
/*
 * Cross-layer equalisation. Channels of one tensor share a scale, so the greatest channel
 * decides the precision of the others. Between two layers with weights, each channel is divided by
 * a factor in the first and multiplied by it in the second: the network computes the same, and
 * every channel uses the whole range.
 *
 * Channels that are added, compared or joined need the same number. So channels are in
 * classes, and a class is left alone if one of its tensors is seen by anything else.
 *
 * Factors near 1 leave the weights of the second layer what they are, whose rounding suffers from
 * those that are not: half of each range is equalised. But a convolution of each channel alone has
 * a scale for each channel's weights, so what only such ones read is equalised wholly. (Unless an
 * activation has a limit, which would clip what other images have beyond the ranges.)
 *
 * Inputs of merged sums (merge_conv_add.c) are made to reach equally far in any case. The network
 * is not run again: stats and Hessians are divided, too.
 */
#include <math.h>
#include <string.h>

#include "quant.h"

/* Least range of a channel, as a part of the tensor's */
#define LEAST_SHARE	(1.0f / 1024)
/* Margin for other images, below an activation's limit */
#define LIMIT_MARGIN	1.1f
/* The number that the input of a merged sum is multiplied by, or divided, at most */
#define BY_MAX		1e6f

struct equaliser {
	struct vtac_graph *g;
	int64_t *first;		/* by tensor id: number of its first channel; -1: none */
	int64_t n;		/* channels */
	int64_t *parent;	/* path to the class' root */
	float *range;		/* by root: the greatest value */
	float *limit;		/* by root: an activation's upper limit; 0: none */
	float *also;		/* by root: another divisor; 0: none */
	float power;		/* of ranges, for their divisors */
	bool *fixed;		/* by root */
	bool *mixed;		/* by root: sums of several channels read it */
	unsigned int ids;	/* tensors that there were */
};

static int64_t find_class(struct equaliser *e, int64_t i)
{
	while (e->parent[i] != i) {
		e->parent[i] = e->parent[e->parent[i]];
		i = e->parent[i];
	}
	return i;
}

static int64_t channels_of(const struct vtac_tensor *t)
{
	return t->rank >= 2 ? t->dims[1] : 0;
}

static bool has_channels(const struct equaliser *e, const struct vtac_tensor *t)
{
	return t && t->id < e->ids && e->first[t->id] >= 0;
}

static void fix_tensor(struct equaliser *e, const struct vtac_tensor *t)
{
	if (has_channels(e, t))
		for (int64_t c = 0; c < channels_of(t); c++)
			e->fixed[find_class(e, e->first[t->id] + c)] = true;
}

static void fix_node(struct equaliser *e, const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		fix_tensor(e, node->in[i]);
	for (unsigned int i = 0; i < node->n_out; i++)
		fix_tensor(e, node->out[i]);
}

static void unite_channels(struct equaliser *e, int64_t a, int64_t b)
{
	int64_t x = find_class(e, a), y = find_class(e, b);

	if (x == y)
		return;
	e->parent[y] = x;
	e->fixed[x] = e->fixed[x] || e->fixed[y];
	e->range[x] = fmaxf(e->range[x], e->range[y]);
	if (e->limit[y] > 0 && (!e->limit[x] || e->limit[y] < e->limit[x]))
		e->limit[x] = e->limit[y];
}

/* Channel @at of @a and channel 0 of @b, and those that follow both. */
static void unite(struct equaliser *e, const struct vtac_tensor *a, int64_t at,
		  const struct vtac_tensor *b)
{
	if (!has_channels(e, a) || !has_channels(e, b) ||
	    at + channels_of(b) > channels_of(a)) {
		fix_tensor(e, a);
		fix_tensor(e, b);
		return;
	}
	for (int64_t c = 0; c < channels_of(b); c++)
		unite_channels(e, e->first[a->id] + at + c, e->first[b->id] + c);
}

/* ---- the classes ---- */

static void add_limits(struct equaliser *e, const struct vtac_node *node, float lo, float hi)
{
	const struct vtac_tensor *t = node->out[0];

	if (lo != 0 && lo != -INFINITY) {
		fix_tensor(e, t);
		return;
	}
	for (int64_t c = 0; hi < INFINITY && has_channels(e, t) && c < channels_of(t); c++) {
		int64_t i = find_class(e, e->first[t->id] + c);

		if (!e->limit[i] || hi < e->limit[i])
			e->limit[i] = hi;
	}
}

/* A product has the scale of one factor if the other is from 0 to 1, as a gate is. */
static void unite_product(struct equaliser *e, const struct vtac_node *node)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct vtac_node *gate = node->in[i]->producer;

		if (gate && gate->act.kind == VTAC_ACT_CLIP && gate->act.lo == 0 &&
		    gate->act.hi == 1 && node->in[i] != node->in[1 - i] &&
		    vtac_same_shape(node->in[1 - i], node->out[0])) {
			fix_tensor(e, node->in[i]);
			unite(e, node->out[0], 0, node->in[1 - i]);
			return;
		}
	}
	fix_node(e, node);
}

static void unite_parts(struct equaliser *e, const struct vtac_node *node)
{
	int64_t at = 0;

	if (node->attr.axis.axis != 1) {
		fix_node(e, node);
		return;
	}
	for (unsigned int i = 0; i < node->n_in; i++) {
		unite(e, node->out[0], at, node->in[i]);
		at += channels_of(node->in[i]);
	}
}

static void unite_picked(struct equaliser *e, const struct vtac_node *node)
{
	const struct vtac_tensor *y = node->out[0];
	bool known = has_channels(e, y);

	for (unsigned int i = 0; i < node->n_in; i++)
		known = known && has_channels(e, node->in[i]);
	if (!known) {
		fix_node(e, node);
		return;
	}
	for (int64_t c = 0; c < channels_of(y); c++) {
		const struct vtaops_pick *p = &node->attr.channels.picks[c];

		unite_channels(e, e->first[node->in[p->source]->id] + p->channel,
			       e->first[y->id] + c);
	}
}

static bool has_float_weights(const struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1], *b = node->n_in > 2 ? node->in[2] : NULL;

	return w->data && w->dtype == VTAC_F32 && !w->quant.given &&
	       (!b || (b->data && b->dtype == VTAC_F32 && !b->quant.given)) &&
	       (node->n_in < 4 || !node->in[3]);
}

static void unite_node(struct equaliser *e, const struct vtac_node *node)
{
	if (node->act.kind == VTAC_ACT_CLIP)
		add_limits(e, node, node->act.lo, node->act.hi);
	if (node->device != VTAC_CARD) {
		fix_node(e, node);
		return;
	}
	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
	case VTAC_GEMM:
		if (!has_float_weights(node))
			fix_node(e, node);
		break;
	case VTAC_ADD:
	case VTAC_MAX:
	case VTAC_MIN:
		if (channels_of(node->in[0]) != channels_of(node->in[1])) {
			fix_node(e, node);
			break;
		}
		unite(e, node->out[0], 0, node->in[0]);
		unite(e, node->out[0], 0, node->in[1]);
		break;
	case VTAC_MUL:
		unite_product(e, node);
		break;
	case VTAC_CLIP:
		add_limits(e, node, node->attr.clip.lo, node->attr.clip.hi);
		unite(e, node->out[0], 0, node->in[0]);
		break;
	case VTAC_RESHAPE:
		if (channels_of(node->in[0]) != channels_of(node->out[0])) {
			fix_node(e, node);
			break;
		}
		unite(e, node->out[0], 0, node->in[0]);
		break;
	case VTAC_MAX_POOL:
	case VTAC_AVG_POOL:
	case VTAC_RESIZE:
	case VTAC_IDENTITY:
		unite(e, node->out[0], 0, node->in[0]);
		break;
	case VTAC_CONCAT:
		unite_parts(e, node);
		break;
	case VTAC_SLICE:
		unite(e, node->in[0], node->attr.slice.start[1], node->out[0]);
		break;
	case VTAC_CHANNELS:
		unite_picked(e, node);
		break;
	default:
		fix_node(e, node);
	}
}

/* ---- the numbers ---- */

static int number_channels(struct equaliser *e)
{
	e->ids = e->g->next_id;
	e->first = vtac_alloc(e->g, e->ids, sizeof(e->first[0]));
	if (!e->first)
		return -1;
	for (unsigned int i = 0; i < e->ids; i++)
		e->first[i] = -1;
	for (unsigned int i = 0; i < e->g->n_tensors; i++) {
		const struct vtac_tensor *t = e->g->tensors[i];

		if (t->data || !t->stats || t->stats->channels != channels_of(t))
			continue;
		e->first[t->id] = e->n;
		e->n += channels_of(t);
	}
	e->parent = vtac_alloc(e->g, (uint64_t)e->n + 1, sizeof(e->parent[0]));
	e->range = vtac_alloc(e->g, (uint64_t)e->n + 1, sizeof(e->range[0]));
	e->limit = vtac_alloc(e->g, (uint64_t)e->n + 1, sizeof(e->limit[0]));
	e->also = vtac_alloc(e->g, (uint64_t)e->n + 1, sizeof(e->also[0]));
	e->fixed = vtac_alloc(e->g, (uint64_t)e->n + 1, sizeof(e->fixed[0]));
	e->mixed = vtac_alloc(e->g, (uint64_t)e->n + 1, sizeof(e->mixed[0]));
	return e->parent && e->range && e->limit && e->also && e->fixed && e->mixed ? 0 : -1;
}

static void add_ranges(struct equaliser *e)
{
	for (int64_t i = 0; i < e->n; i++)
		e->parent[i] = i;
	for (unsigned int i = 0; i < e->g->n_tensors; i++) {
		const struct vtac_tensor *t = e->g->tensors[i];
		const struct vtac_stats *s = t->stats;

		if (!has_channels(e, t))
			continue;
		for (int64_t c = 0; c < s->channels; c++)
			e->range[e->first[t->id] + c] =
				fmaxf(s->most[c], fmaxf(-s->lo, s->hi) * LEAST_SHARE);
		if (!t->producer || vtac_is_output(e->g, t) || t->quant.given)
			fix_tensor(e, t);
	}
}

/* Once classes are known: mark those whose channels @node adds up. */
static void mark_mixed(struct equaliser *e, const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if ((node->op != VTAC_CONV && node->op != VTAC_CONV_TRANSPOSE && node->op != VTAC_GEMM) ||
	    !has_channels(e, x) ||
	    (node->op == VTAC_CONV && node->attr.conv.groups == channels_of(x)))
		return;
	for (int64_t c = 0; c < channels_of(x); c++)
		e->mixed[find_class(e, e->first[x->id] + c)] = true;
}

/* Returns the divisor of channel @c of @t. */
static float divisor_of(struct equaliser *e, const struct vtac_tensor *t, int64_t c)
{
	float also;
	int64_t i;

	if (!has_channels(e, t))
		return 1;
	i = find_class(e, e->first[t->id] + c);
	also = e->also[i] > 0 ? e->also[i] : 1;
	if (e->fixed[i] || !(e->range[i] > 0))
		return also;
	if (e->limit[i] > 0)
		return also * powf(fminf(1, e->range[i] * LIMIT_MARGIN / e->limit[i]), e->power);
	return also * powf(e->range[i], e->power > 0 && !e->mixed[i] ? 1 : e->power);
}

/* The divisors of @t's channels; NULL without memory. */
static float *divisors_of(struct equaliser *e, const struct vtac_tensor *t)
{
	float *by = vtac_alloc(e->g, (uint64_t)channels_of(t) + 1, sizeof(*by));

	for (int64_t c = 0; by && c < channels_of(t); c++)
		by[c] = divisor_of(e, t, c);
	return by;
}

/* ---- inputs of merged sums ---- */

/* Sets the range of @t's integers if all of them are on one side of 0. */
static int find_range(struct equaliser *e, const struct vtac_tensor *t,
		      const struct vtac_options *opt, float *range)
{
	const struct vtac_quant_options *how = e->g->how;
	int levels = (1 << (1 << opt->core.log_inp_width)) - 1;
	const float *by = divisors_of(e, t);
	const struct vtac_stats *s = by ? vtac_stats_divided(e->g, t->stats, by) : NULL;

	if (!s)
		return -1;
	*range = vtac_stats_range(s, how->range, how->percentile, levels);
	return 0;
}

/* Let the input of @node that no other reads reach as far as the other one. */
static int match_inputs(struct equaliser *e, const struct vtac_node *node,
			const struct vtac_options *opt)
{
	const struct vtac_tensor *t = node->in[node->joins - 1], *other = node->in[2 - node->joins];
	float from, to, by;

	if (!has_channels(e, t) || !has_channels(e, other) || !has_float_weights(t->producer))
		return 0;
	if (find_range(e, t, opt, &from) || find_range(e, other, opt, &to))
		return -1;
	/* The ratio is limited, as floats are. */
	by = from > 0 && to > 0 ? fminf(fmaxf(to / from, 1 / BY_MAX), BY_MAX) : 1;
	for (int64_t c = 0; c < channels_of(t); c++)
		e->also[find_class(e, e->first[t->id] + c)] = 1 / by;
	t->producer->act.lo *= by;
	t->producer->act.hi *= by;
	return 0;
}

static bool has_merged(const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->joins)
			return true;
	return false;
}

/* ---- what is divided ---- */

static bool all_are_one(const float *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (v[i] != 1)
			return false;
	return true;
}

static int scale_weights(struct equaliser *e, struct vtac_node *node)
{
	const struct vtac_tensor *w = node->in[1], *x = node->in[0], *y = node->out[0];
	const struct vtac_tensor *b = node->n_in > 2 ? node->in[2] : NULL;
	bool transposed = node->op == VTAC_CONV_TRANSPOSE;
	int64_t groups = node->op == VTAC_GEMM ? 1 : node->attr.conv.groups;
	int64_t rows = w->dims[0], cols = w->dims[1];
	int64_t area = vtac_elements(w) / (rows * cols), outs = transposed ? cols * groups : rows;
	int64_t ins = transposed ? rows : cols * groups;
	float *bias = b ? vtac_alloc(e->g, (uint64_t)outs, sizeof(*bias)) : NULL;
	float *in_by = vtac_alloc(e->g, (uint64_t)ins, sizeof(*in_by));
	float *out_by = vtac_alloc(e->g, (uint64_t)outs, sizeof(*out_by)), *to;

	if ((b && !bias) || !in_by || !out_by)
		return -1;
	for (int64_t i = 0; i < ins; i++)
		in_by[i] = divisor_of(e, x, i);
	for (int64_t i = 0; i < outs; i++)
		out_by[i] = divisor_of(e, y, i);
	if (all_are_one(in_by, ins) && all_are_one(out_by, outs))
		return 0;
	if (node->hessian && vtac_gptq_divide(e->g, node, in_by))
		return -1;
	to = vtac_alloc(e->g, (uint64_t)vtac_elements(w), sizeof(*to));
	if (!to)
		return -1;
	for (int64_t r = 0; r < rows; r++)
		for (int64_t k = 0; k < cols; k++) {
			int64_t in = transposed ? r : r / (rows / groups) * cols + k;
			int64_t out = transposed ? r / (rows / groups) * cols + k : r;
			float by = in_by[in] / out_by[out];

			for (int64_t i = 0; i < area; i++)
				to[(r * cols + k) * area + i] =
					((const float *)w->data)[(r * cols + k) * area + i] * by;
		}
	if (vtac_node_set_floats(e->g, node, 1, to))
		return -1;
	if (!b)
		return 0;
	for (int64_t o = 0; o < outs; o++)
		bias[o] = ((const float *)b->data)[o] / out_by[o];
	return vtac_node_set_floats(e->g, node, 2, bias);
}

/* Tensors record the divisors of their channels, for comparisons. */
static int divide_stats(struct equaliser *e)
{
	for (unsigned int i = 0; i < e->g->n_tensors; i++) {
		struct vtac_tensor *t = e->g->tensors[i];
		const float *by;

		if (!has_channels(e, t))
			continue;
		by = divisors_of(e, t);
		if (!by)
			return -1;
		if (all_are_one(by, channels_of(t)))
			continue;
		t->stats = vtac_stats_divided(e->g, t->stats, by);
		if (!t->stats)
			return -1;
		t->channel_scale = by;
	}
	return 0;
}

static int equalise(struct vtac_graph *g, const struct vtac_options *opt, float power)
{
	struct equaliser e = { .g = g, .power = power };

	if (number_channels(&e))
		return -1;
	add_ranges(&e);
	for (unsigned int i = 0; i < g->n_nodes; i++)
		unite_node(&e, g->nodes[i]);
	for (unsigned int i = 0; i < g->n_nodes; i++)
		mark_mixed(&e, g->nodes[i]);
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->joins && match_inputs(&e, g->nodes[i], opt))
			return -1;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *node = g->nodes[i];

		if (node->device == VTAC_CARD &&
		    (node->op == VTAC_CONV || node->op == VTAC_CONV_TRANSPOSE ||
		     node->op == VTAC_GEMM) && has_float_weights(node) &&
		    scale_weights(&e, node))
			return -1;
	}
	return divide_stats(&e) ? -1 : vtac_graph_dce(g);
}

bool vtac_will_equalise(const struct vtac_graph *g)
{
	return has_merged(g) || (g->how && (g->how->equalise == VTAC_EQUALISE_HALF ||
					    g->how->equalise == VTAC_EQUALISE_FULL));
}

int vtac_pass_equalise(struct vtac_graph *g, const struct vtac_options *opt)
{
	enum vtac_equalise how = g->how ? g->how->equalise : VTAC_EQUALISE_NONE;

	return !vtac_will_equalise(g) ? 0 :
		equalise(g, opt, how == VTAC_EQUALISE_FULL ? 1 :
			how == VTAC_EQUALISE_HALF ? 0.5f : 0);
}

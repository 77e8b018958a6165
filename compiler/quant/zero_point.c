// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `zero_point`: scales (scales.c) and zero points. A tensor whose values lie on one side
 * of 0 wastes half of the integers if its zero point is 0. A non-zero zero point is used if every
 * producer and consumer supports it exactly: sums fold it into their bias, and have it around their
 * input if `calibrate` found that better, or spare channels (pad_channels.c). Products of two
 * tensors do not support it.
 */
#include <math.h>

#include "quant_impl.h"

/* Offsets have 18 bits: scales of what is added may differ by 8. */
#define APART_MAX	256.0f

static bool are_near(const struct quantiser *q, const struct vtac_node *node)
{
	const struct vtac_tensor *t[3] = { node->in[0], node->in[node->n_in - 1], node->out[0] };
	float least = INFINITY, most = 0;

	for (unsigned int i = 0; i < 3; i++) {
		float scale = calibrated(q, t[i], q->in_top);

		least = fminf(least, scale);
		most = fmaxf(most, scale);
	}
	return most <= least * APART_MAX;
}

/* A file's zero points stay. */
static bool may_pad(const struct quantiser *q, const struct vtac_node *node)
{
	return q->how.padding != VTAC_PADDING_ZERO || node->attr.conv.spare ||
	       vtac_is_given(node->in[0]) || !vtac_has_padding(&node->attr.conv.window);
}

static bool user_may(const struct quantiser *q, const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_AVG_POOL:
		return !vtac_has_padding(&node->attr.pool);
	case VTAC_ADD:
		return are_near(q, node);
	case VTAC_CONV:
		return may_pad(q, node);
	case VTAC_GEMM:
	case VTAC_NORM:
		return true;
	case VTAC_CLIP:
		return are_near(q, node);
	default:
		return vtac_is_function(node) ||
		       (vtac_moves_values(node->op) && node->op != VTAC_PAD);
	}
}

static bool producer_may(const struct quantiser *q, const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
	case VTAC_AVG_POOL:
	case VTAC_GEMM:
	case VTAC_NORM:
		return true;
	case VTAC_ADD:
	case VTAC_CLIP:
		return are_near(q, node);
	default:
		return vtac_is_function(node) ||
		       (vtac_moves_values(node->op) && node->op != VTAC_PAD);
	}
}

bool may_shift_zero(const struct quantiser *q, const struct vtac_tensor *t)
{
	if ((!t->stats && !t->quant.given) || t->coarse)
		return false;
	/* Both parts of a pair (precision.c) have the zero point 0. */
	if (vtac_rest_of(t))
		return false;
	if (t->producer && t->producer->device == VTAC_CARD && !producer_may(q, t->producer))
		return false;
	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->device == VTAC_CARD && !user_may(q, t->users[i]))
			return false;
	return true;
}

static int init_tables(struct quantiser *q)
{
	q->ids = q->g->next_id;
	q->scale = vtac_alloc(q->g, q->ids, sizeof(q->scale[0]));
	q->zero = vtac_alloc(q->g, q->ids, sizeof(q->zero[0]));
	q->lo = vtac_alloc(q->g, q->ids, sizeof(q->lo[0]));
	q->hi = vtac_alloc(q->g, q->ids, sizeof(q->hi[0]));
	q->fixed = vtac_alloc(q->g, q->ids, sizeof(q->fixed[0]));
	if (!q->scale || !q->zero || !q->lo || !q->hi || !q->fixed)
		return -1;
	for (unsigned int i = 0; i < q->ids; i++) {
		q->lo[i] = -q->in_top;
		q->hi[i] = q->in_top;
	}
	return 0;
}

int vtac_pass_zero_point(struct vtac_graph *g, const struct vtac_options *opt)
{
	struct quantiser *q = vtac_alloc(g, 1, sizeof(*q));

	if (!q)
		return -1;
	*q = quantiser_of(g, opt);
	if (init_tables(q) || choose_scales(q))
		return -1;
	g->quantiser = q;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Fusion: factors and terms of each channel go into weights and biases. */
#include <math.h>

#include "fuse_impl.h"

/* The node whose weights and bias @node's channels could go to; NULL: none. */
static struct vtac_node *weighted(const struct vtac_graph *g, const struct vtac_tensor *x)
{
	struct vtac_node *node = x->producer;

	if (!node || (node->op != VTAC_CONV && node->op != VTAC_CONV_TRANSPOSE &&
		      node->op != VTAC_GEMM))
		return NULL;
	if (!fuse_from(g, x, node->op) || node->act.kind != VTAC_ACT_NONE ||
	    !fuse_is_const(node->in[1]) || node->in[1]->quant.given)
		return NULL;
	if ((node->n_in > 2 && node->in[2] && (!fuse_is_const(node->in[2]) ||
					       node->in[2]->quant.given)) ||
	    (node->n_in > 3 && node->in[3]))
		return NULL;
	/* A Gemm is in the form [n][k], with one term for each column. */
	if (node->op == VTAC_GEMM && (!node->attr.gemm.trans_w || node->attr.gemm.alpha != 1 ||
				      (node->in[2] && node->in[2]->rank != 1)))
		return NULL;
	return node;
}

/* Returns the output channel of the weight at @i. */
static int64_t channel_of(const struct vtac_node *node, int64_t i)
{
	const struct vtac_tensor *w = node->in[1];
	int64_t plane = 1, in_of_group;

	for (int d = node->op == VTAC_CONV_TRANSPOSE ? 2 : 1; d < w->rank; d++)
		plane *= w->dims[d];
	if (node->op != VTAC_CONV_TRANSPOSE)
		return i / plane;
	in_of_group = w->dims[0] / node->attr.conv.groups;
	return i / plane / w->dims[1] / in_of_group * w->dims[1] + i / plane % w->dims[1];
}

/* y = x * mul + add for each channel, in the weights; NULL is 1 or 0. */
static int scale_weights(struct vtac_graph *g, struct vtac_node *node, const double *mul,
			 const double *add)
{
	const struct vtac_tensor *w = node->in[1];
	const struct vtac_tensor *b = node->n_in > 2 ? node->in[2] : NULL;
	int64_t channels = node->out[0]->dims[1];
	struct vtac_tensor *w2, *b2;
	float *to;

	if (mul) {
		to = fuse_copy(g, w, &w2);
		if (!to)
			return -1;
		for (int64_t i = 0; i < vtac_elements(w); i++)
			to[i] = (float)(((const float *)w->data)[i] * mul[channel_of(node, i)]);
		if (vtac_node_set_in(g, node, 1, w2))
			return -1;
	}
	b2 = vtac_tensor_new(g, b ? b->name : "bias", VTAC_F32);
	to = b2 ? vtac_alloc(g, (uint64_t)channels, sizeof(*to)) : NULL;
	if (!to)
		return -1;
	for (int64_t i = 0; i < channels; i++)
		to[i] = (float)((b ? (double)((const float *)b->data)[i] : 0) *
				(mul ? mul[i] : 1) + (add ? add[i] : 0));
	b2->data = to;
	if (vtac_set_shape(g, node, b2, 1, &channels) ||
	    (node->n_in < 3 && vtac_node_resize_in(g, node, 3)))
		return -1;
	return vtac_node_set_in(g, node, 2, b2);
}

/* ---- batch normalisation: (x - mean) / sqrt(variance + epsilon) * scale + bias ---- */

static bool norm_is_const(const struct vtac_node *node)
{
	for (unsigned int i = 1; i < 5; i++)
		if (!fuse_is_const(node->in[i]))
			return false;
	return true;
}

static int norm_factors(struct vtac_graph *g, const struct vtac_node *node, double **mul,
			double **add)
{
	int64_t n = node->in[1]->dims[0];
	const float *scale = node->in[1]->data, *bias = node->in[2]->data;
	const float *mean = node->in[3]->data, *variance = node->in[4]->data;

	*mul = vtac_alloc(g, (uint64_t)n, sizeof(**mul));
	*add = vtac_alloc(g, (uint64_t)n, sizeof(**add));
	if (!*mul || !*add)
		return -1;
	for (int64_t i = 0; i < n; i++) {
		double v = (double)variance[i] + (double)node->attr.batch_norm.epsilon;

		if (!(v > 0))
			return vtac_fail(g, node,
					 "Its variance %lld is not positive.", (long long)i);
		(*mul)[i] = (double)scale[i] / sqrt(v);
		(*add)[i] = (double)bias[i] - (double)mean[i] * (*mul)[i];
	}
	return 0;
}

int fuse_batch_norm(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *from;
	double *mul, *add;

	if (node->op != VTAC_BATCH_NORM || !norm_is_const(node))
		return 0;
	from = weighted(g, node->in[0]);
	if (!from)
		return 0;
	if (norm_factors(g, node, &mul, &add) || scale_weights(g, from, mul, add))
		return -1;
	return fuse_take(from, node);
}

/* One that follows no weights is a convolution of each channel by one number. */
int fuse_lone_batch_norm(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t dims[4] = { 0, 1, 1, 1 };
	struct vtac_tensor *w, *b;
	double *mul, *add;
	float *wv, *bv;

	if (node->op != VTAC_BATCH_NORM || x->rank != 4 || !norm_is_const(node))
		return 0;
	dims[0] = x->dims[1];
	wv = vtac_alloc(g, (uint64_t)dims[0], sizeof(*wv));
	bv = vtac_alloc(g, (uint64_t)dims[0], sizeof(*bv));
	if (!wv || !bv || norm_factors(g, node, &mul, &add))
		return -1;
	for (int64_t i = 0; i < dims[0]; i++) {
		wv[i] = (float)mul[i];
		bv[i] = (float)add[i];
	}
	w = vtac_tensor_const(g, node->in[1]->name, VTAC_F32, 4, dims, wv, false);
	b = vtac_tensor_const(g, node->in[2]->name, VTAC_F32, 1, dims, bv, false);
	if (!w || !b || vtac_node_set_in(g, node, 1, w) || vtac_node_set_in(g, node, 2, b) ||
	    vtac_node_resize_in(g, node, 3))
		return -1;
	node->op = VTAC_CONV;
	node->attr = (union vtac_attr){ .conv = {
		.window = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } },
		.groups = x->dims[1],
	} };
	return 1;
}

/* ---- a constant for each channel ---- */

/*
 * The factors or terms that @t has for @channels, if it is a constant that broadcasts
 * along channels alone: one value, [C] behind a matrix product, [C][1][1] in pictures.
 */
static int channel_values(struct vtac_graph *g, const struct vtac_tensor *t,
			  const struct vtac_tensor *y, double **values)
{
	int channel = t->rank - (y->rank - 1);
	int64_t n = y->rank > 1 ? y->dims[1] : 0;

	*values = NULL;
	if (!fuse_is_const(t) || y->rank < 2 || t->rank > y->rank || t->quant.given)
		return 0;
	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] != 1 && (i != channel || t->dims[i] != n))
			return 0;
	*values = vtac_alloc(g, (uint64_t)n, sizeof(**values));
	if (!*values)
		return -1;
	for (int64_t i = 0; i < n; i++)
		(*values)[i] = ((const float *)t->data)[vtac_elements(t) == 1 ? 0 : i];
	return 0;
}

/* @mul: the node is a product, else a sum (or difference). */
static int fuse_channels(struct vtac_graph *g, struct vtac_node *node, bool mul)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct vtac_node *from = weighted(g, node->in[i]);
		double *values = NULL;

		if (!from || !vtac_same_shape(node->in[i], node->out[0]))
			continue;
		if (channel_values(g, node->in[1 - i], node->out[0], &values))
			return -1;
		if (!values || (node->op == VTAC_SUB && i))
			continue;
		for (int64_t k = 0; node->op == VTAC_SUB && k < node->out[0]->dims[1]; k++)
			values[k] = -values[k];
		if (scale_weights(g, from, mul ? values : NULL, mul ? NULL : values))
			return -1;
		from->act = node->act;
		return fuse_take(from, node);
	}
	return 0;
}

int fuse_channel_mul(struct vtac_graph *g, struct vtac_node *node)
{
	return node->op == VTAC_MUL ? fuse_channels(g, node, true) : 0;
}

int fuse_channel_add(struct vtac_graph *g, struct vtac_node *node)
{
	return node->op == VTAC_ADD || node->op == VTAC_SUB ? fuse_channels(g, node, false) : 0;
}

/* ---- a constant for each channel of what convolutions read ---- */

/*
 * Can convolution @user, which reads @x, take factors or @terms of its channels? Terms are not
 * there where it pads.
 */
static bool takes_channels(const struct vtac_node *user, const struct vtac_tensor *x, bool terms)
{
	if (user->op != VTAC_CONV || user->in[0] != x || !fuse_is_const(user->in[1]) ||
	    user->in[1]->quant.given || (terms && vtac_has_padding(&user->attr.conv.window)))
		return false;
	for (unsigned int i = 1; i < user->n_in; i++)
		if (user->in[i] == x)
			return false;
	return user->n_in < 3 || !user->in[2] ||
	       (fuse_is_const(user->in[2]) && !user->in[2]->quant.given);
}

/* Multiply the weights of input channels of @user by @mul. */
static int scale_inputs(struct vtac_graph *g, struct vtac_node *user, const double *mul)
{
	const struct vtac_tensor *w = user->in[1];
	int64_t in = w->dims[1], plane = w->dims[2] * w->dims[3];
	int64_t units = w->dims[0] / user->attr.conv.groups;
	struct vtac_tensor *made;
	float *to = fuse_copy(g, w, &made);

	if (!to)
		return -1;
	for (int64_t i = 0; i < vtac_elements(w); i++)
		to[i] = (float)(((const float *)w->data)[i] *
				mul[i / plane / in / units * in + i / plane % in]);
	return vtac_node_set_in(g, user, 1, made);
}

/* Add to the bias of @user what the terms @add of its input channels come to. */
static int add_inputs(struct vtac_graph *g, struct vtac_node *user, const double *add)
{
	const struct vtac_tensor *w = user->in[1];
	int64_t in = w->dims[1], plane = w->dims[2] * w->dims[3];
	int64_t units = w->dims[0] / user->attr.conv.groups;
	double *sums = vtac_alloc(g, (uint64_t)w->dims[0], sizeof(*sums));

	if (!sums)
		return -1;
	for (int64_t i = 0; i < vtac_elements(w); i++)
		sums[i / plane / in] += (double)((const float *)w->data)[i] *
			add[i / plane / in / units * in + i / plane % in];
	return scale_weights(g, user, NULL, sums);
}

/* The values of channels that @node multiplies by or adds; NULL: it does something else. */
static int values_of(struct vtac_graph *g, const struct vtac_node *node, unsigned int *x,
		     double **values)
{
	*values = NULL;
	if ((node->op != VTAC_MUL && node->op != VTAC_ADD && node->op != VTAC_SUB) ||
	    node->act.kind != VTAC_ACT_NONE || node->out[0]->rank != 4 ||
	    node->out[0]->dtype != VTAC_F32 || node->out[0]->quant.given)
		return 0;
	for (*x = 0; *x < 2; ++*x)
		if (!node->in[*x]->data && vtac_same_shape(node->in[*x], node->out[0]))
			break;
	if (*x == 2 || !node->in[1 - *x]->data || (node->op == VTAC_SUB && *x))
		return 0;
	if (channel_values(g, node->in[1 - *x], node->out[0], values))
		return -1;
	for (int64_t k = 0; *values && node->op == VTAC_SUB && k < node->out[0]->dims[1]; k++)
		(*values)[k] = -(*values)[k];
	return 0;
}

int fuse_forward(struct vtac_graph *g, struct vtac_node *node)
{
	bool terms = node->op != VTAC_MUL;
	struct vtac_tensor *y = node->out[0];
	unsigned int x;
	double *values;

	if (values_of(g, node, &x, &values))
		return -1;
	if (vtac_is_output(g, y) || !y->n_users)
		return 0;
	for (unsigned int i = 0; values && i < y->n_users; i++)
		if (!takes_channels(y->users[i], y, terms))
			values = NULL;
	if (!values)
		return 0;
	while (y->n_users) {
		struct vtac_node *user = y->users[0];

		if ((terms ? add_inputs(g, user, values) : scale_inputs(g, user, values)) ||
		    vtac_node_set_in(g, user, 0, node->in[x]))
			return -1;
	}
	vtac_node_remove(node);
	return 1;
}

/* Makes a convolution of each channel by its factor, which takes the term that is added then. */
int fuse_lone_factor(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_node *user = node->n_out ? vtac_only_user(g, node->out[0]) : NULL;
	int64_t dims[4] = { 0, 1, 1, 1 };
	double *values, *terms;
	struct vtac_tensor *w;
	unsigned int x, other;
	float *to;

	if (node->op != VTAC_MUL || !user || user->op == VTAC_MUL)
		return 0;
	if (values_of(g, node, &x, &values) || values_of(g, user, &other, &terms))
		return -1;
	if (!values || !terms)
		return 0;
	dims[0] = node->out[0]->dims[1];
	to = vtac_alloc(g, (uint64_t)dims[0], sizeof(*to));
	for (int64_t i = 0; to && i < dims[0]; i++)
		to[i] = (float)values[i];
	w = to ? vtac_tensor_const(g, "weights", VTAC_F32, 4, dims, to, false) : NULL;
	if (!w || vtac_node_set_in(g, node, 0, node->in[x]) || vtac_node_set_in(g, node, 1, w))
		return -1;
	node->op = VTAC_CONV;
	node->attr = (union vtac_attr){ .conv = {
		.window = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } },
		.groups = dims[0],
	} };
	return 1;
}

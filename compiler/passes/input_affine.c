// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `input_affine`: integers of inputs that are pixels. A picture has 256 values for each
 * channel, even if a mean was subtracted: offset + step * n. A per-tensor scale cannot represent
 * these values exactly; smooth images lose accuracy. If the values of all calibration images are
 * such integers, the CPU computes them for each channel,
 *	y = (x - offset) / step
 * and the convolution has weights times step. If it does not pad, its bias has the offsets. A
 * padded convolution must not add the offset outside the image, so the offset comes from extra
 * constant input channels, which are zero in the padding.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

/* Values may differ from a multiple by this part of a step: floats are rounded. */
#define OFF_MAX		0.001
/* Fewer different values of a channel do not show the step. */
#define LEVELS_LEAST	32u
#define LEVELS_MAX	256u
/* The same pixel may be several floats. */
#define VALUES_MAX	(4 * LEVELS_MAX)
/* Pictures have no more channels. */
#define CHANNELS_MAX	64
/* Finer steps have no reciprocal. */
#define STEP_LEAST	(1 / 1e30)
/* The greatest constant. */
#define CONST_MOST	127
/* Steps as near to 1 as this are 1. */
#define STEP_OFF	0.000001

/* One channel. */
struct affine {
	float values[VALUES_MAX];	/* that were seen, in order */
	unsigned int n;
	double step, offset;		/* the latter becomes the integer 0 */
};

/* The channels of an input. Those of squares (space_to_depth.c) follow each other in turns. */
struct pixels {
	struct affine *channel;
	int64_t count;
};

/* Input channels of a constant, behind the others */
struct const_channels {
	int64_t channels;		/* 0: the offsets are in the bias */
	double value;
};

static const struct affine *channel_of(const struct pixels *p, int64_t c)
{
	return &p->channel[c % p->count];
}

/* False if there are too many. */
static bool add_value(struct affine *c, float v)
{
	unsigned int lo = 0, hi = c->n;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (c->values[mid] < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < c->n && c->values[lo] == v)
		return true;
	if (c->n == VALUES_MAX || !isfinite(v))
		return false;
	memmove(c->values + lo + 1, c->values + lo, (c->n - lo) * sizeof(v));
	c->values[lo] = v;
	c->n++;
	return true;
}

static bool add_image(struct affine *all, const struct vtac_tensor *t, const float *v)
{
	int64_t channels = t->dims[1], plane = t->dims[2] * t->dims[3];

	for (int64_t i = 0; i < t->dims[0] * channels; i++, v += plane)
		for (int64_t k = 0; k < plane; k++)
			if ((!k || v[k] != v[k - 1]) && !add_value(&all[i % channels], v[k]))
				return false;
	return true;
}

static void to_type(const float *v, int64_t n, enum vtac_dtype type, void *to)
{
	for (int64_t i = 0; i < n; i++) {
		float whole = rintf(v[i]);

		if (type == VTAC_I32)
			((int32_t *)to)[i] = (int32_t)fminf(fmaxf(whole, -2e9f), 2e9f);
		else if (type == VTAC_I64)
			((int64_t *)to)[i] = (int64_t)fminf(fmaxf(whole, -9e18f), 9e18f);
		else if (type == VTAC_I8)
			((int8_t *)to)[i] = (int8_t)fminf(fmaxf(whole, -128), 127);
		else
			((uint8_t *)to)[i] = (uint8_t)fminf(fmaxf(whole, 0), 255);
	}
}

/* An input of integers has the floats of its images, rounded. */
static int read_values(const struct vtac_images *images, unsigned int i,
		       const struct vtac_tensor *t, void *data)
{
	struct vtac_tensor as = *t;
	float *v;
	int err;

	if (t->dtype == VTAC_F32)
		return images->read(images->priv, i, t, data);
	as.dtype = VTAC_F32;
	v = malloc((size_t)vtac_bytes(&as) + 1);
	err = !v || images->read(images->priv, i, t, v);
	if (!err)
		to_type(v, vtac_elements(t), t->dtype, data);
	free(v);
	return err;
}

unsigned int vtac_image_number(const struct vtac_images *images, unsigned int i)
{
	return images->number ? images->number(images->priv, i) : i;
}

int vtac_read_image(struct vtac_graph *g, const struct vtac_images *images, unsigned int i,
		    const struct vtac_tensor *t, void *data)
{
	const struct vtac_error *error = images->error;

	if (!read_values(images, i, t, data))
		return 0;
	if (error && error->text[0])
		return vtac_fail(g, NULL, "Image %u cannot be read: %s",
				 vtac_image_number(images, i), error->text);
	return vtac_fail(g, NULL, "Image %u cannot be read.", vtac_image_number(images, i));
}

/* 1: all values of @images were seen; 0: there are too many; -1 */
static int collect_values(struct vtac_graph *g, const struct vtac_images *images,
			  const struct vtac_tensor *t, struct affine *all)
{
	float *v = vtac_alloc(g, (uint64_t)vtac_elements(t) + 1, sizeof(*v));

	if (!v)
		return -1;
	for (unsigned int i = 0; i < images->count; i++) {
		if (vtac_read_image(g, images, i, t, v))
			return -1;
		if (!add_image(all, t, v))
			return 0;
	}
	return 1;
}

/* Values closer than any step are one. */
static unsigned int count_levels(const struct affine *c)
{
	float least = (c->values[c->n - 1] - c->values[0]) / (2 * LEVELS_MAX);
	unsigned int levels = 1;

	for (unsigned int i = 1; i < c->n; i++)
		levels += c->values[i] - c->values[i - 1] > least;
	return levels;
}

static bool is_on(const struct affine *c, double step)
{
	for (unsigned int i = 0; i < c->n; i++) {
		double at = ((double)c->values[i] - c->values[0]) / step;

		if (fabs(at - rint(at)) > OFF_MAX)
			return false;
	}
	return true;
}

/*
 * Find the widest step. The values are in the middle of the integers, and 0 is among these if
 * they suffice: other images may have the value that a layer pads with.
 */
static bool find_affine(struct affine *c)
{
	double range = c->n ? (double)c->values[c->n - 1] - c->values[0] : 0, zero, least, most;
	unsigned int levels = range > 0 ? count_levels(c) : 0, last = levels - 1;

	if (levels < LEVELS_LEAST || levels > LEVELS_MAX)
		return false;
	while (last < LEVELS_MAX && !is_on(c, range / last))
		last++;
	c->step = range / last;
	if (last >= LEVELS_MAX || c->step < STEP_LEAST)
		return false;
	zero = rint(-c->values[0] / c->step);
	least = fmin(zero, 0);
	most = fmax(zero, last);
	if (most - least >= LEVELS_MAX) {
		least = 0;
		most = last;
	}
	c->offset = c->values[0] + c->step * floor((least + most + 1) / 2);
	return true;
}

/* The only node of the card that reads @t, if it is a convolution; else NULL. */
static struct vtac_node *only_reader(const struct vtac_tensor *t)
{
	struct vtac_node *found = NULL;

	for (unsigned int i = 0; i < t->n_users; i++) {
		if (t->users[i]->device != VTAC_CARD)
			continue;
		if (found || !vtac_is_plain_conv(t->users[i]) || t->users[i]->in[0] != t)
			return NULL;
		found = t->users[i];
	}
	return found;
}

/* The offsets' sum at tap @k of output @o. */
static double offset_of(const struct vtac_tensor *w, const struct pixels *all, int64_t o, int64_t k)
{
	int64_t area = w->dims[2] * w->dims[3];
	const float *v = (const float *)w->data + o * w->dims[1] * area + k;
	double sum = 0;

	for (int64_t c = 0; c < w->dims[1]; c++)
		sum += v[c * area] * channel_of(all, c)->offset;
	return sum;
}

/* The greatest sum of offsets at a tap, divided by the greatest weight of its output. */
static double most_of_offsets(const struct vtac_tensor *w, const struct pixels *all)
{
	int64_t area = w->dims[2] * w->dims[3], per = w->dims[1] * area;
	double most = 0;

	for (int64_t o = 0; o < w->dims[0]; o++) {
		const float *v = (const float *)w->data + o * per;
		double greatest = 0, sums = 0;

		for (int64_t i = 0; i < per; i++)
			greatest = fmax(greatest, fabs(v[i] * channel_of(all, i / area)->step));
		for (int64_t k = 0; k < area; k++)
			sums = fmax(sums, fabs(offset_of(w, all, o, k)));
		if (greatest > 0)
			most = fmax(most, sums / greatest);
	}
	return most;
}

/*
 * Find the fewest channels, and for them the least constant whose weights are no greater than the
 * others @w of a convolution, in the last block of channels. Each channel costs the compiler time
 * and memory. Returns false if there are none.
 */
static bool find_const_channels(const struct vtac_tensor *w, bool padded, const struct pixels *all,
				int64_t block, struct const_channels *extra)
{
	double most = most_of_offsets(w, all);
	int64_t room = (block - w->dims[1] % block) % block;

	*extra = (struct const_channels) { 0 };
	if (!padded || most == 0)
		return true;
	if (!(most <= (double)room * CONST_MOST))
		return false;
	extra->channels = (int64_t)ceil(most / CONST_MOST);
	extra->value = ceil(most / (double)extra->channels);
	return extra->value <= CONST_MOST;
}

/* A node of the CPU that reads @t; its output. */
static struct vtac_tensor *add_node(struct vtac_graph *g, enum vtac_op op, struct vtac_tensor *t,
				    struct vtac_tensor *other, const int64_t *dims,
				    const char *name)
{
	struct vtac_node *node = vtac_node_new(g, op, name, other ? 2 : 1, 1);
	struct vtac_tensor *y = vtac_tensor_shaped(g, name, VTAC_F32, 4, dims);

	if (!node || !y || vtac_node_set_in(g, node, 0, t) ||
	    (other && vtac_node_set_in(g, node, 1, other)))
		return NULL;
	node->device = VTAC_CPU;
	node->why = "Converts the input to integers, per channel.";
	vtac_node_set_out(node, 0, y);
	return y;
}

/* @t and a value for each channel: -offset or 1 / step. */
static struct vtac_tensor *add_values(struct vtac_graph *g, enum vtac_op op,
				      struct vtac_tensor *t, const struct pixels *all,
				      const char *name)
{
	int64_t dims[4] = { 1, t->dims[1], 1, 1 };
	float *v = vtac_alloc(g, (uint64_t)t->dims[1], sizeof(*v));
	struct vtac_tensor *values;

	if (!v)
		return NULL;
	for (int64_t c = 0; c < t->dims[1]; c++)
		v[c] = (float)(op == VTAC_ADD ? -channel_of(all, c)->offset :
						1 / channel_of(all, c)->step);
	values = vtac_tensor_const(g, vtac_text(g, "%s/values", name), VTAC_F32, 4, dims, v,
				   false);
	return values ? add_node(g, op, t, values, t->dims, name) : NULL;
}

static struct vtac_tensor *add_const_channels(struct vtac_graph *g, struct vtac_tensor *t,
					      const struct const_channels *extra)
{
	int64_t dims[4] = { t->dims[0], t->dims[1] + extra->channels, t->dims[2], t->dims[3] };
	struct vtac_tensor *y = add_node(g, VTAC_PAD, t, NULL, dims,
					 vtac_text(g, "%s/constant", t->name));

	if (!y)
		return NULL;
	y->producer->why = "Adds constant channels, so that the card can pad exactly.";
	y->producer->attr.pad.after[1] = extra->channels;
	y->producer->attr.pad.value = (float)extra->value;
	return y;
}

/* The integers of @t, whose scale is 1. */
static struct vtac_tensor *add_integers(struct vtac_graph *g, struct vtac_tensor *t,
					const struct pixels *all,
					const struct const_channels *extra)
{
	struct vtac_tensor *y = add_values(g, VTAC_ADD, t, all,
					   vtac_text(g, "%s/shifted", t->name));
	float *one = vtac_alloc(g, 1, sizeof(*one));
	bool wide = false;

	for (int64_t c = 0; c < t->dims[1]; c++)
		wide = wide || fabs(channel_of(all, c)->step - 1) > STEP_OFF;
	if (y && wide)
		y = add_values(g, VTAC_MUL, y, all, vtac_text(g, "%s/integers", t->name));
	if (y && extra->channels)
		y = add_const_channels(g, y, extra);
	if (!y || !one)
		return NULL;
	*one = 1;
	y->quant = (struct vtac_quant) { .scale = one, .n = 1, .type = VTAC_I8, .given = true };
	return y;
}

/* Weights of output @o for the integers, and for the constant. Returns what the bias needs. */
static double change_output(const struct vtac_tensor *w, const struct pixels *all,
			    const struct const_channels *extra, int64_t o, float *to)
{
	int64_t area = w->dims[2] * w->dims[3], per = w->dims[1] * area;
	const float *from = (const float *)w->data + o * per;
	double sum = 0;

	for (int64_t i = 0; i < per; i++)
		to[i] = (float)(from[i] * channel_of(all, i / area)->step);
	for (int64_t k = 0; k < area; k++) {
		double offset = offset_of(w, all, o, k);

		sum += offset;
		for (int64_t c = 0; c < extra->channels; c++)
			to[per + c * area + k] =
				(float)(offset / ((double)extra->channels * extra->value));
	}
	return extra->channels ? 0 : sum;
}

/* @node gets weights and a bias for the integers. */
static int change_weights(struct vtac_graph *g, struct vtac_node *node, const struct pixels *all,
			  const struct const_channels *extra)
{
	const struct vtac_tensor *w = node->in[1], *b = node->n_in > 2 ? node->in[2] : NULL;
	int64_t dims[4] = { w->dims[0], w->dims[1] + extra->channels, w->dims[2], w->dims[3] };
	int64_t per = dims[1] * dims[2] * dims[3];
	float *to = vtac_alloc(g, (uint64_t)(dims[0] * per), sizeof(*to));
	float *bias = vtac_alloc(g, (uint64_t)dims[0], sizeof(*bias));
	struct vtac_tensor *made[2];

	if (!to || !bias)
		return -1;
	for (int64_t o = 0; o < dims[0]; o++)
		bias[o] = (float)((b ? ((const float *)b->data)[o] : 0) +
				  change_output(w, all, extra, o, to + o * per));
	made[0] = vtac_tensor_const(g, w->name, VTAC_F32, 4, dims, to, false);
	made[1] = vtac_tensor_const(g, b ? b->name : vtac_text(g, "%s/bias", node->name),
				    VTAC_F32, 1, dims, bias, false);
	if (!made[0] || !made[1] || (node->n_in < 3 && vtac_node_resize_in(g, node, 3)))
		return -1;
	return vtac_node_set_in(g, node, 1, made[0]) || vtac_node_set_in(g, node, 2, made[1]) ?
		-1 : 0;
}

/* Returns the input of @node, as squares if these are exact; NULL: neither is, or an error. */
static struct vtac_tensor *exact_input(struct vtac_graph *g, struct vtac_node *node,
				       const struct pixels *all, int64_t block,
				       struct const_channels *extra)
{
	bool padded = vtac_has_padding(&node->attr.conv.window);
	struct vtac_tensor *weights;
	struct vtac_fold fold;

	if (vtac_find_fold(g, node, block, &fold)) {
		weights = vtac_fold_weights(g, node, &fold);
		if (!weights)
			return NULL;
		if (find_const_channels(weights, padded, all, block, extra))
			return vtac_fold_input(g, node, &fold, weights) ? NULL : node->in[0];
	}
	return find_const_channels(node->in[1], padded, all, block, extra) ? node->in[0] : NULL;
}

static int convert_input(struct vtac_graph *g, const struct vtac_options *opt,
			 struct vtac_tensor *t)
{
	struct vtac_node *node = t->rank == 4 ? only_reader(t) : NULL;
	struct const_channels extra = { 0 };
	struct vtac_tensor *x, *y;
	struct pixels all;
	int seen;

	if (!node || !vtac_has_float_bias(node) || t->dtype != VTAC_F32 || t->quant.given ||
	    vtac_elements(t) < 1 || t->dims[1] > CHANNELS_MAX)
		return 0;
	all.count = t->dims[1];
	all.channel = vtac_alloc(g, (uint64_t)all.count, sizeof(*all.channel));
	seen = all.channel ? collect_values(g, opt->images, t, all.channel) : -1;
	if (seen <= 0)
		return seen;
	for (int64_t c = 0; c < all.count; c++)
		if (!find_affine(&all.channel[c]))
			return 0;
	x = exact_input(g, node, &all, opt->core.block, &extra);
	if (!x)
		return g->error.text[0] ? -1 : 0;
	y = add_integers(g, x, &all, &extra);
	node->attr.conv.spare = extra.channels;
	return !y || change_weights(g, node, &all, &extra) ? -1 : vtac_node_set_in(g, node, 0, y);
}

int vtac_pass_input_affine(struct vtac_graph *g, const struct vtac_options *opt)
{
	if (!opt->images || !opt->images->read || opt->core.log_inp_width != 3)
		return 0;
	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (convert_input(g, opt, g->inputs[i]))
			return -1;
	return vtac_graph_dce(g);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Normalisations: the operator's form, and an output stage of a multiplier and a bias for each
 * channel. With s the scale of the input and n the channels, the card's variance is that of
 * integers, and its epsilon what the file's is in these: epsilon / s^2.
 */
#include <math.h>

#include "quant_impl.h"

#define MUL_MAX		32767
#define SHIFT_MAX	30
/* Values before the output stage have 15 bits, and multipliers the same. */
#define ACC_MAX		32768.0
/* Of a value of 8 bits from another */
#define DEVIATION_MAX	255.0

struct vectors {
	int32_t *mul, *bias, *shift;
};

static double value_at(const struct vtac_tensor *t, int64_t i, double otherwise)
{
	return t ? (double)((const float *)t->data)[i] : otherwise;
}

static const struct vtac_tensor *input(const struct vtac_node *node, unsigned int i)
{
	return i < node->n_in ? node->in[i] : NULL;
}

/* The greatest factor of all channels, and the greatest addend, in steps of the output. */
static void find_greatest(const struct quantiser *q, const struct vtac_node *node, double *factor,
			  double *addend)
{
	const struct vtac_tensor *y = node->out[0], *scale = input(node, 1);
	const struct vtac_tensor *bias = input(node, 2);

	*factor = 0;
	*addend = 0;
	for (int64_t i = 0; i < y->dims[1]; i++) {
		double by = (double)q->scale[y->id];

		*factor = fmax(*factor, fabs(value_at(scale, i, 1) / by));
		*addend = fmax(*addend, fabs(value_at(bias, i, 0) / by + q->zero[y->id]));
	}
}

/* Each factor as mul / 2^shift of values with @places, and addends with half of the last step. */
static void set_vectors(const struct quantiser *q, const struct vtac_node *node, int places,
			int shift, const struct vectors *v)
{
	const struct vtac_tensor *y = node->out[0], *scale = input(node, 1);
	const struct vtac_tensor *bias = input(node, 2);
	double by = (double)q->scale[y->id], unit = exp2(shift);
	bool none = true;

	for (int64_t i = 0; i < y->dims[1]; i++) {
		double addend = value_at(bias, i, 0) / by + q->zero[y->id];

		v->mul[i] = (int32_t)rint(value_at(scale, i, 1) / by * unit * exp2(-places));
		v->bias[i] = (int32_t)floor(addend * unit + unit / 2);
		v->shift[i] = shift;
		none = none && !v->mul[i];
	}
	/* A multiplier of 0 for all channels is none to the card; a 65536th of a step is little. */
	for (int64_t i = 0; none && i < y->dims[1]; i++)
		v->mul[i] = 1;
}

/* The greatest normalised value of all inputs, and some more: a great epsilon leaves less. */
static double reach_of(const struct vtaops_norm_form *f, double epsilon)
{
	double most = sqrt(f->c);

	if (epsilon > 0)
		most = fmin(most, DEVIATION_MAX / sqrt(epsilon));
	return most * 1.01 + 0.1;
}

/* The form of @node, whose values are below 2^15 then; false: epsilon is no integer. */
static bool set_form(const struct quantiser *q, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	struct vtaops_norm_form *f = &node->post.norm;
	double s = (double)q->scale[x->id], epsilon, unit;

	*f = (struct vtaops_norm_form) {
		.c = (uint32_t)x->dims[1], .rms = node->attr.norm.rms,
		.zero = node->attr.norm.rms ? q->zero[x->id] : 0 };
	unit = f->c * exp2(vtaops_norm_places(f->c));
	epsilon = (double)node->attr.norm.epsilon / (s * s) * unit;
	if (!(epsilon <= exp2(28)))
		return false;
	f->epsilon = (uint32_t)rint(epsilon);
	while (exp2(VTAOPS_NORM_PLACES - (int)f->shift) * reach_of(f, f->epsilon / unit) > ACC_MAX)
		f->shift++;
	return true;
}

int fit_norm(struct quantiser *q, struct vtac_node *node)
{
	int64_t c = node->in[0]->dims[1];
	struct vectors v = { filled(q->g, c, 0), filled(q->g, c, 0), filled(q->g, c, 0) };
	int shift = SHIFT_MAX, places;
	double factor, addend;

	if (!v.mul || !v.bias || !v.shift || set_limits(q, node, node->out[0]))
		return -1;
	if (!set_form(q, node))
		return unfit(q, node, "Its epsilon is greater than any variance at its scale.");
	find_greatest(q, node, &factor, &addend);
	places = VTAOPS_NORM_PLACES - (int)node->post.norm.shift;
	/* The product has 30 bits, and the addend with half of a step as many. */
	while (shift >= 0 && (factor * exp2(shift - places) > MUL_MAX - 1 ||
			      (addend + 1) * exp2(shift) > exp2(30)))
		shift--;
	if (shift < 0)
		return unfit(q, node, "Its factors and the scale of its output are too far apart.");
	/* If no multiplier is greater than a half, the least one is 1. */
	if (factor * exp2(shift - places) <= 0.5 && shift < 16)
		return unfit(q, node, "Its scale is small, and its bias is great.");
	set_vectors(q, node, places, shift, &v);
	node->post.mul = v.mul;
	node->post.bias = v.bias;
	node->post.shift = v.shift;
	node->post.per_channel = true;
	return vtac_node_resize_in(q->g, node, 1);
}

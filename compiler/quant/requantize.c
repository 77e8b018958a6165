// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `requantize`: integer weights (weights.c) and output stages of the card's nodes. A node
 * without weights has one multiplier of 15 bits and a shift. The CPU gets nodes whose scales leave
 * no such integers.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "crew.h"
#include "lower/program.h"
#include "quant_impl.h"

#define MUL_MAX		32767
#define SHIFT_MAX	15	/* half of the step is an immediate of 16 bits */

int32_t *filled(struct vtac_graph *g, int64_t count, int32_t value)
{
	int32_t *v = vtac_alloc(g, (uint64_t)count, sizeof(*v));

	for (int64_t i = 0; v && i < count; i++)
		v[i] = value;
	return v;
}

int unfit(struct quantiser *q, struct vtac_node *node, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	node->why = vtac_text(q->g, "%s", text);
	return node->why ? 1 : -1;
}

/*
 * Set the limits of what the rounding of another tensor leaves. It widens the range of a tensor
 * without an upper limit.
 */
static void limit_rest(struct quantiser *q, struct vtac_node *node, const struct vtac_tensor *t)
{
	const struct vtac_node *coarse = t->coarse->producer;
	bool limited = coarse->post.down && coarse->act.hi < INFINITY;

	node->post.lo = limited ? -t->steps : -q->in_top;
	node->post.hi = coarse->post.down ? 0 : q->in_top;
	q->lo[t->id] = node->post.lo;
	q->hi[t->id] = node->post.hi;
}

int set_limits(struct quantiser *q, struct vtac_node *node, const struct vtac_tensor *t)
{
	int32_t least = least_of(q, t), most = q->in_top;
	float lo, hi;

	if (t->coarse) {
		limit_rest(q, node, t);
		return 0;
	}
	if (node->act.kind == VTAC_ACT_LEAKY)
		return vtac_fail(q->g, node, "The card does not compute leaky activations.");
	vtac_limits(t, &lo, &hi);
	lo = rintf(lo / q->scale[t->id]) + (float)q->zero[t->id];
	hi = rintf(hi / q->scale[t->id]) + (float)q->zero[t->id];
	least = lo > (float)most ? most : lo > (float)least ? (int32_t)lo : least;
	/* The rest reaches up to the limit. */
	hi -= node->post.down && node->act.hi < INFINITY ? 1 : 0;
	most = hi < (float)least ? least : hi < (float)most ? (int32_t)hi : most;
	node->post.lo = least;
	node->post.hi = most;
	q->lo[t->id] = least;
	q->hi[t->id] = most;
	return 0;
}

/* sum * @factor as (sum * mul + half) >> shift, for sums of up to @most. */
static int set_factor(struct quantiser *q, struct vtac_node *node, double factor, int64_t most)
{
	int shift = SHIFT_MAX;
	double mul;

	while (shift > 0 && (factor * exp2(shift) > MUL_MAX ||
			     (double)most * (rint(factor * exp2(shift)) + 1) > INT32_MAX))
		shift--;
	mul = rint(factor * exp2(shift));
	/* The output's steps are so wide that all sums become 0. */
	if (mul < 1 && factor * (double)most < 0.5 && most < 1 << (SHIFT_MAX - 1)) {
		shift = SHIFT_MAX;
		mul = 1;
	}
	if (mul > MUL_MAX || mul < 1 || (double)most * mul + exp2(shift) > INT32_MAX)
		return unfit(q, node,
			     "The scales of its inputs and output are too far apart (a factor of %g).",
			     factor);
	node->post.mul = filled(q->g, 1, (int32_t)mul);
	node->post.shift = filled(q->g, 1, shift);
	node->post.round = shift > 0;
	return node->post.mul && node->post.shift ? set_limits(q, node, node->out[0]) : -1;
}

static int64_t most_of(const struct quantiser *q, const struct vtac_tensor *t)
{
	int64_t lo = -(int64_t)q->lo[t->id], hi = q->hi[t->id];

	return lo > hi ? lo : hi;
}

/* Zero points need places behind the point: an offset is rounded once, to a 32nd. */
#define OFFSET_PLACES	5

/* The offset that takes away zero points before mul, and adds the output's. */
static bool set_offset(struct quantiser *q, struct vtac_node *node, double zeros, double factor)
{
	double offset = rint(q->zero[node->out[0]->id] / factor - zeros);

	if (fabs(offset) > VTAOPS_OFFSET_MAX)
		return false;
	node->post.offset = (int32_t)offset;
	return true;
}

/* Operands of one scale, by shifts; their sum is the widest that can be. */
static int requantize_add(struct quantiser *q, struct vtac_node *node)
{
	const struct vtac_tensor *a = node->in[0], *b = node->in[1];
	float sa = q->scale[a->id], sb = q->scale[b->id];
	int apart = (int)lrintf(log2f(sa / sb)), places;
	double factor;
	int64_t most;

	if (fabsf(log2f(sa / sb) - (float)apart) > 0.001f || abs(apart) > 16)
		return unfit(q, node, "Its operands' scales differ by no power of two.");
	places = q->zero[a->id] || q->zero[b->id] || q->zero[node->out[0]->id] ? OFFSET_PLACES : 0;
	do {
		node->post.a_shift = (unsigned int)(places + (apart > 0 ? apart : 0));
		node->post.b_shift = (unsigned int)(places + (apart < 0 ? -apart : 0));
		factor = (double)(apart > 0 ? sb : sa) * exp2(-places) /
			 q->scale[node->out[0]->id];
	} while (!set_offset(q, node, exp2(node->post.a_shift) * q->zero[a->id] +
				      exp2(node->post.b_shift) * q->zero[b->id], factor) &&
		 places-- > 0);
	if (places < 0)
		return unfit(q, node,
			     "The scales of its operands are too far apart for their zero points.");
	most = (most_of(q, a) << node->post.a_shift) + (most_of(q, b) << node->post.b_shift) +
	       abs(node->post.offset);
	return set_factor(q, node, factor, most);
}

static int requantize_mul(struct quantiser *q, struct vtac_node *node)
{
	const struct vtac_tensor *a = node->in[0], *b = node->in[1];

	return set_factor(q, node, (double)q->scale[a->id] * q->scale[b->id] /
				   q->scale[node->out[0]->id], most_of(q, a) * most_of(q, b));
}

/* Neither operand has a zero point. */
static int requantize_product(struct quantiser *q, struct vtac_node *node)
{
	const struct vtac_tensor *a = node->in[0], *b = node->in[1];

	if (node->attr.batch_gemm.alpha <= 0)
		return unfit(q, node, "Its factor %g is not positive.",
			     (double)node->attr.batch_gemm.alpha);
	return set_factor(q, node, (double)q->scale[a->id] * q->scale[b->id] /
				   q->scale[node->out[0]->id] *
				   (double)node->attr.batch_gemm.alpha,
			  most_of(q, a) * most_of(q, b) * vtac_product_of(node).k);
}

static int requantize_average(struct quantiser *q, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t count = node->attr.pool.kernel[0] * node->attr.pool.kernel[1];

	struct vtac_packed s = vtac_packed_shape(node->out[0]);
	int32_t zy = q->zero[node->out[0]->id], bias;
	int err = set_factor(q, node, (double)q->scale[x->id] / q->scale[node->out[0]->id] /
				      (double)count, 2 * most_of(q, x) * count);

	if (err)
		return err;
	bias = zy * (1 << node->post.shift[0]) -
	       node->post.mul[0] * (int32_t)count * q->zero[x->id];
	if (bias)
		node->post.bias = filled(q->g, s.c, bias);
	return bias && !node->post.bias ? -1 : 0;
}

static int requantize_one(struct quantiser *q, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	int places = q->zero[x->id] || q->zero[node->out[0]->id] ? OFFSET_PLACES : 0;
	double factor = (double)q->scale[x->id] * exp2(-places) / q->scale[node->out[0]->id];

	node->post.a_shift = (unsigned int)places;
	if (!set_offset(q, node, exp2(places) * q->zero[x->id], factor))
		return unfit(q, node, "The scales of its input and output are too far apart.");
	return set_factor(q, node, factor, (most_of(q, x) << places) + abs(node->post.offset));
}

/* Values stay as they are; what limits them may be narrower by an activation. */
static int requantize_kept(struct quantiser *q, struct vtac_node *node)
{
	int32_t lo = q->in_top, hi = -q->in_top - 1;

	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (!t || t->data)
			continue;
		lo = q->lo[t->id] < lo ? q->lo[t->id] : lo;
		hi = q->hi[t->id] > hi ? q->hi[t->id] : hi;
	}
	if (node->op == VTAC_PAD) {
		lo = lo > 0 ? 0 : lo;
		hi = hi < 0 ? 0 : hi;
	}
	if (set_limits(q, node, node->out[0]))
		return -1;
	/* Narrower by what the inputs have; if that is outside of the limits, one value is left. */
	lo = lo < node->post.lo ? node->post.lo : lo > node->post.hi ? node->post.hi : lo;
	hi = hi < node->post.lo ? node->post.lo : hi > node->post.hi ? node->post.hi : hi;
	node->post.lo = lo;
	node->post.hi = hi;
	for (unsigned int i = 0; i < node->n_out; i++) {
		q->lo[node->out[i]->id] = node->post.lo;
		q->hi[node->out[i]->id] = node->post.hi;
	}
	return 0;
}

static int requantize_node(struct quantiser *q, struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_ADD:
	case VTAC_SUB:
	case VTAC_MAX:
	case VTAC_MIN:
		return requantize_add(q, node);
	case VTAC_MUL:
		return requantize_mul(q, node);
	case VTAC_BATCH_GEMM:
		return requantize_product(q, node);
	case VTAC_AVG_POOL:
		return requantize_average(q, node);
	case VTAC_CLIP:
		return requantize_one(q, node);
	case VTAC_NORM:
		return fit_norm(q, node);
	default:
		if (vtac_is_function(node))
			return fit_function(q, node);
		if (vtac_moves_values(node->op))
			return requantize_kept(q, node);
		return vtac_fail(q->g, node, "There are no integers for operator %s.",
				 vtac_op_name(node->op));
	}
}

/*
 * Make the factors of node @i. Without memory, weights are rounded by one that asks again. A rest
 * (precision.c) has the Hessian of its coarse tensor's node, and one thread writes a factor.
 */
static void factorise_node(void *arg, unsigned int i)
{
	const struct vtac_graph *g = arg;
	const struct vtac_node *node = g->nodes[i];

	if (node->hessian && node->out[0]->coarse)
		return;
	for (int64_t k = 0; node->hessian && k < node->attr.conv.groups; k++)
		if (vtac_gptq_factorise(node->hessian, k))
			return;
}

static bool is_of_pair(const struct vtac_tensor *t)
{
	return t && (t->coarse || vtac_rest_of(t));
}

/*
 * A sum that was merged is two in another candidate, and parts of a pair, or halves of 16 bits,
 * have no meaning alone.
 */
static bool may_leave(const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (is_of_pair(node->in[i]))
			return false;
	for (unsigned int i = 0; i < node->n_out; i++)
		if (is_of_pair(node->out[i]))
			return false;
	return !node->joins && !vtac_low_of(node);
}

/* Let the CPU compute @node with floats, whose reason node->why has. */
static int leave_to_cpu(struct quantiser *q, struct vtac_node *node)
{
	const char *why = node->why;

	if (!may_leave(node)) {
		node->why = NULL;
		return vtac_fail(q->g, node, "%s", why);
	}
	node->device = VTAC_CPU;
	node->cycles = 0;
	node->post = (struct vtac_post){ .mul = NULL };
	for (unsigned int i = 0; i < node->n_out; i++) {
		q->lo[node->out[i]->id] = least_of(q, node->out[i]);
		q->hi[node->out[i]->id] = q->in_top;
	}
	return 0;
}

int vtac_pass_requantize(struct vtac_graph *g, const struct vtac_options *opt)
{
	struct quantiser *q = g->quantiser;

	(void)opt;
	crew_run(g->crew, factorise_node, g, g->n_nodes);
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *node = g->nodes[i];
		int err = 0;

		/* A low half may have gone on the way. */
		if (node->device != VTAC_CARD || node->dead)
			continue;
		if (node->op == VTAC_CONV || node->op == VTAC_CONV_TRANSPOSE ||
		    node->op == VTAC_GEMM)
			err = quantise_sums(q, node);
		else
			err = requantize_node(q, node);
		if (err < 0 || (err && leave_to_cpu(q, node)))
			return -1;
	}
	return vtac_graph_dce(g);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `precision`: a tensor of finer steps than 8 bits, as two int8 tensors. Of a sum
 * y = w * x + b, the coarse tensor t is y in steps of s, and a second sum has what its rounding
 * left, in finer steps:
 *	r = t - (w * x + b) = -w * x - b + t
 * It is a convolution with t as residual, whose factor the card multiplies exactly: y = t - r. In
 * floats r is 0. The CPU subtracts the two. A convolution of the card reads both as channels of
 * one tensor, with the weights w and -w / steps: two products in one sum of 32 bits.
 *
 * Steps. The CPU gets as many as r has integers. For a convolution there are STEPS_INSIDE, since
 * r's weights are rounded to integers of the same scale as those of t: more steps are finer, but
 * their weights are coarser.
 *
 * An activation clips t but not r, whose sign then tells the two apart: t is rounded down, so that
 * r is at most 0 if t is not clipped, and clipped to 0 below. The greatest t is a step lower than
 * the activation's, and r is limited to a step.
 *
 * Residuals, which convolutions add to their sums, have 16 bits in another form: skip.c.
 */
#include <math.h>
#include <string.h>

#include "passes/passes.h"
#include "quant_impl.h"

#define STEPS_OUTSIDE	254
#define STEPS_INSIDE	12

/* Does @node of the card only move values that the CPU reads then? It can do so on the CPU. */
static bool moves_out(const struct vtac_node *node)
{
	const struct vtac_tensor *t = node->out[0];

	if (node->op != VTAC_RESHAPE && node->op != VTAC_IDENTITY && node->op != VTAC_TRANSPOSE &&
	    node->op != VTAC_CONCAT)
		return false;
	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->device == VTAC_CARD && !moves_out(t->users[i]))
			return false;
	return true;
}

/* The device that reads @t by @user, once what moves it out is on the CPU */
static enum vtac_device reader_of(const struct vtac_node *user)
{
	return user->device == VTAC_CARD && !moves_out(user) ? VTAC_CARD : VTAC_CPU;
}

static bool is_read_by(const struct vtac_graph *g, const struct vtac_tensor *t,
		       enum vtac_device device)
{
	for (unsigned int i = 0; i < t->n_users; i++)
		if (reader_of(t->users[i]) == device)
			return true;
	return device == VTAC_CPU && vtac_is_output(g, t);
}

/* Leave what moves @t out of the card to the CPU. */
static void move_out(struct vtac_tensor *t)
{
	for (unsigned int i = 0; i < t->n_users; i++) {
		struct vtac_node *user = t->users[i];

		if (user->device != VTAC_CARD || !moves_out(user))
			continue;
		move_out(user->out[0]);
		user->device = VTAC_CPU;
		user->why = "Moves values of 16 bits, which the CPU adds of two halves.";
		user->out[0]->device = VTAC_CPU;
	}
}

/* Can all of the card's nodes that read @t read two tensors? */
static bool can_pair(const struct vtac_tensor *t, int64_t block)
{
	if (t->rank != 4 || t->dims[1] % block || t->producer->op != VTAC_CONV)
		return false;
	for (unsigned int i = 0; i < t->n_users; i++) {
		const struct vtac_node *user = t->users[i];

		if (reader_of(user) == VTAC_CARD &&
		    (!vtac_is_plain_conv(user) || user->in[0] != t ||
		     (user->n_in > 3 && user->in[3] == t)))
			return false;
	}
	return true;
}

const char *vtac_not_precise(const struct vtac_graph *g, const struct vtac_node *node,
			     const struct vtac_options *opt)
{
	const struct vtac_tensor *w = node->n_in > 1 ? node->in[1] : NULL, *t = node->out[0];
	bool card = is_read_by(g, t, VTAC_CARD), pair = can_pair(t, opt->core.block);

	if (node->device != VTAC_CARD)
		return "the CPU computes it in floats";
	if (is_skip(node))
		return skip_not_precise(g, node, opt);
	if ((node->op != VTAC_CONV && node->op != VTAC_GEMM) || !w || !w->data)
		return "it is no convolution or product by constant weights";
	if (w->dtype != VTAC_F32 || w->quant.given || t->quant.given ||
	    !vtac_has_float_bias(node))
		return "the file gives it integers";
	if (node->n_in > 3 && node->in[3])
		return "a residual is added to its sums";
	if (node->act.kind == VTAC_ACT_LEAKY || t->rank != (node->op == VTAC_CONV ? 4 : 2))
		return "its output stage has no room for it";
	if (opt->core.log_inp_width != 3)
		return "the core's integers have no 8 bits";
	if (card && !pair && (node->act.kind == VTAC_ACT_CLIP || !is_read_by(g, t, VTAC_CPU)))
		return "other operators than convolutions without groups read it, or its "
		       "channels are no whole blocks";
	return NULL;
}

/* Returns the constant @t times @by. */
static struct vtac_tensor *scaled(struct vtac_graph *g, const struct vtac_tensor *t, float by)
{
	int64_t n = vtac_elements(t);
	const float *from = t->data;
	float *to = vtac_alloc(g, (uint64_t)n + 1, sizeof(*to));

	for (int64_t i = 0; to && i < n; i++)
		to[i] = from[i] * by;
	return to ? vtac_tensor_const(g, t->name, VTAC_F32, t->rank, t->dims, to, false) : NULL;
}

struct vtac_stats *stats_beside(struct vtac_graph *g, const struct vtac_stats *first,
				int64_t channels)
{
	struct vtac_stats *s = vtac_alloc(g, 1, sizeof(*s));

	if (!s)
		return NULL;
	if (first)
		*s = *first;
	else
		s->range = 1;
	s->channels = channels;
	s->mean = vtac_alloc(g, (uint64_t)channels, sizeof(s->mean[0]));
	s->most = vtac_alloc(g, (uint64_t)channels, sizeof(s->most[0]));
	if (!s->mean || !s->most)
		return NULL;
	if (first && first->channels <= channels) {
		memcpy(s->mean, first->mean, (size_t)first->channels * sizeof(s->mean[0]));
		memcpy(s->most, first->most, (size_t)first->channels * sizeof(s->most[0]));
	}
	return s;
}

struct vtac_tensor *tensor_beside(struct vtac_graph *g, const struct vtac_tensor *t,
				  const char *what)
{
	struct vtac_tensor *made = vtac_tensor_shaped(g, vtac_text(g, "%s/%s", t->name, what),
						      t->dtype, t->rank, t->dims);

	if (made)
		made->device = VTAC_CARD;
	return made;
}

/* Returns @t with @rank dimensions, of which the first two are @t's and others 1, by @device. */
static struct vtac_tensor *with_rank(struct vtac_graph *g, struct vtac_tensor *t, int rank,
				     enum vtac_device device)
{
	int64_t dims[4] = { t->dims[0], t->dims[1], 1, 1 };
	struct vtac_tensor *made;
	struct vtac_node *node;

	if (t->rank == rank)
		return t;
	made = vtac_tensor_shaped(g, vtac_text(g, "%s/%dd", t->name, rank), t->dtype, rank, dims);
	node = vtac_node_new(g, VTAC_RESHAPE, vtac_text(g, "%s/%dd", t->name, rank), 1, 1);
	if (!made || !node)
		return NULL;
	made->device = device;
	made->stats = t->stats;
	node->device = device;
	vtac_node_set_out(node, 0, made);
	return vtac_node_set_in(g, node, 0, t) ? NULL : made;
}

/* A product of rows is a convolution of pictures of one pixel. */
static union vtac_attr attr_of(const struct vtac_node *node)
{
	union vtac_attr attr = node->attr;

	if (node->op == VTAC_CONV)
		return attr;
	memset(&attr, 0, sizeof(attr));
	attr.conv = (struct vtac_conv) {
		.groups = 1,
		.window = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } },
	};
	return attr;
}

/* Returns what the rounding of @node's output leaves, in so many @steps of one of it. */
static struct vtac_tensor *add_rest(struct vtac_graph *g, struct vtac_node *node, int steps)
{
	struct vtac_tensor *x = with_rank(g, node->in[0], 4, VTAC_CARD);
	struct vtac_tensor *t = with_rank(g, node->out[0], 4, VTAC_CARD);
	struct vtac_tensor *w = scaled(g, node->in[1], -1), *b = NULL, *r;
	struct vtac_node *rest;

	if (!x || !t || !w)
		return NULL;
	if (w->rank == 2) {
		w->rank = 4;
		w->dims[2] = 1;
		w->dims[3] = 1;
	}
	if (node->n_in > 2 && node->in[2])
		b = scaled(g, node->in[2], -1);
	r = tensor_beside(g, t, "rest");
	rest = vtac_node_new(g, VTAC_CONV, vtac_text(g, "%s/rest", node->name), 4, 1);
	if (!r || !rest || (node->n_in > 2 && node->in[2] && !b))
		return NULL;
	r->coarse = node->out[0];
	r->steps = steps;
	r->stats = stats_beside(g, NULL, t->dims[1]);
	rest->attr = attr_of(node);
	rest->file_op = node->file_op;
	rest->device = VTAC_CARD;
	rest->hessian = node->op == VTAC_CONV ? node->hessian : NULL;
	if (node->act.kind == VTAC_ACT_CLIP) {
		node->post.down = true;
		rest->act = (struct vtac_activation) { .kind = VTAC_ACT_CLIP };
		r->steps = steps / 2;
	}
	vtac_node_set_out(rest, 0, r);
	return !r->stats || vtac_node_set_in(g, rest, 0, x) || vtac_node_set_in(g, rest, 1, w) ||
	       (b && vtac_node_set_in(g, rest, 2, b)) || vtac_node_set_in(g, rest, 3, t) ?
		NULL : r;
}

/* Give the CPU's nodes that read @t, and the graph's outputs, the difference of @t and @r. */
static int subtract(struct vtac_graph *g, struct vtac_tensor *t, struct vtac_tensor *r)
{
	struct vtac_node *node = vtac_node_new(g, VTAC_SUB, vtac_text(g, "%s/sum", t->name), 2, 1);
	struct vtac_tensor *y = vtac_tensor_shaped(g, vtac_text(g, "%s/sum", t->name), t->dtype,
						   t->rank, t->dims);

	r = with_rank(g, r, t->rank, VTAC_CPU);
	if (!node || !y || !r)
		return -1;
	node->device = VTAC_CPU;
	node->why = "Adds the two halves of a tensor of 16 bits.";
	for (unsigned int i = t->n_users; i-- > 0; )
		for (unsigned int k = 0; t->users[i]->device == VTAC_CPU &&
		     k < t->users[i]->n_in; k++)
			if (t->users[i]->in[k] == t) {
				if (vtac_node_set_in(g, t->users[i], k, y))
					return -1;
				break;
			}
	for (unsigned int i = 0; i < g->n_outputs; i++)
		if (g->outputs[i] == t)
			g->outputs[i] = y;
	vtac_node_set_out(node, 0, y);
	return vtac_node_set_in(g, node, 0, t) || vtac_node_set_in(g, node, 1, r) ? -1 : 0;
}

/* Let convolution @user read @pair: channels of the tensor as before, and of its rest. */
static int read_pair(struct vtac_graph *g, struct vtac_node *user, struct vtac_tensor *pair,
		     int steps)
{
	int64_t channels = pair->dims[1] / 2, half;
	float *w;

	if (vtac_widen_inputs(g, user, channels, channels))
		return -1;
	/* Just made, and this graph's alone */
	w = (float *)(uintptr_t)user->in[1]->data;
	half = channels * user->in[1]->dims[2] * user->in[1]->dims[3];
	for (int64_t o = 0; o < user->in[1]->dims[0]; o++, w += 2 * half)
		for (int64_t k = 0; k < half; k++)
			w[half + k] = -w[k] / (float)steps;
	user->attr.conv.spare = 0;
	return vtac_node_set_in(g, user, 0, pair);
}

/* Means of the rest's integers: half of its steps of what is rounded down and not clipped. */
static void set_means(struct vtac_stats *s, const struct vtac_tensor *t,
		      const struct vtac_tensor *r)
{
	const struct vtac_stats *of = t->stats;
	double part = of->count ? 1 - (double)of->hist[0] / (double)of->count : 0;

	for (int64_t i = s->channels / 2; t->producer->post.down && i < s->channels; i++)
		s->mean[i] = -part * r->steps / 2;
}

const struct vtac_tensor *vtac_rest_of(const struct vtac_tensor *t)
{
	const struct vtac_node *node = t->producer;

	return node && node->op == VTAC_CONCAT && node->n_in == 2 && node->in[1] &&
	       node->in[1]->coarse ? node->in[1] : NULL;
}

/* Join @t and @r for the convolutions that read @t. */
static int join(struct vtac_graph *g, struct vtac_tensor *t, struct vtac_tensor *r,
		const struct vtac_node *rest)
{
	struct vtac_node *node = vtac_node_new(g, VTAC_CONCAT, vtac_text(g, "%s/pair", t->name), 2,
					       1);
	struct vtac_tensor *pair = tensor_beside(g, t, "pair");

	if (!node || !pair || !t->stats)
		return -1;
	pair->dims[1] *= 2;
	pair->stats = stats_beside(g, t->stats, pair->dims[1]);
	if (!pair->stats)
		return -1;
	set_means(pair->stats, t, r);
	node->device = VTAC_CARD;
	node->attr.axis.axis = 1;
	for (unsigned int i = t->n_users; i-- > 0; )
		if (t->users[i]->device == VTAC_CARD && t->users[i] != rest &&
		    t->users[i]->in[0] == t && read_pair(g, t->users[i], pair, r->steps))
			return -1;
	vtac_node_set_out(node, 0, pair);
	return vtac_node_set_in(g, node, 0, t) || vtac_node_set_in(g, node, 1, r) ? -1 : 0;
}

static int make_precise(struct vtac_graph *g, struct vtac_node *node, int64_t block)
{
	struct vtac_tensor *t = node->out[0], *r;
	bool outside = is_read_by(g, t, VTAC_CPU), clipped = node->act.kind == VTAC_ACT_CLIP;

	move_out(t);
	if (is_read_by(g, t, VTAC_CARD) && can_pair(t, block)) {
		/* A clipped tensor has half of them. */
		r = add_rest(g, node, clipped ? 2 * STEPS_INSIDE : STEPS_INSIDE);
		if (!r || join(g, t, r, r->producer))
			return -1;
	}
	if (outside) {
		r = add_rest(g, node, STEPS_OUTSIDE);
		if (!r || subtract(g, t, r))
			return -1;
	}
	return 0;
}

static bool is_named(const struct vtac_node *node, const char *name)
{
	return !strcmp(node->name, name) || (node->n_out && !strcmp(node->out[0]->name, name));
}

static const struct vtac_precision_option *option_of(const struct vtac_node *node,
						     const struct vtac_options *opt)
{
	for (unsigned int i = 0; i < opt->n_precisions; i++)
		if (is_named(node, opt->precisions[i].node))
			return &opt->precisions[i];
	return NULL;
}

enum vtac_precision vtac_precision_of(const struct vtac_node *node,
				      const struct vtac_options *opt)
{
	const struct vtac_precision_option *own = option_of(node, opt);

	if (own)
		return own->precision;
	return opt->quant ? opt->quant->precision : VTAC_PRECISION_8;
}

int vtac_check_precise(struct vtac_graph *g, const struct vtac_options *opt)
{
	for (unsigned int i = 0; i < opt->n_precisions; i++) {
		bool found = false;

		for (unsigned int k = 0; k < g->n_nodes && !found; k++)
			found = is_named(g->nodes[k], opt->precisions[i].node);
		if (!found)
			return vtac_fail(g, NULL, "There is no node %.120s for --precision.",
					 opt->precisions[i].node);
	}
	return 0;
}

void vtac_mark_precise(struct vtac_graph *g, const struct vtac_options *opt)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		g->nodes[i]->precise = g->nodes[i]->n_out &&
			vtac_precision_of(g->nodes[i], opt) == VTAC_PRECISION_16;
}

int stay_coarse(struct vtac_graph *g, struct vtac_node *node, const char *why)
{
	node->precise = false;
	node->coarse_why = why;
	return node->named ? vtac_fail(g, node, "Its output stays at 8 bits: %s.", why) : 0;
}

int vtac_pass_precision(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = g->n_nodes;

	for (unsigned int i = 0; i < n; i++) {
		struct vtac_node *node = g->nodes[i];

		const char *why = node->precise ? vtac_not_precise(g, node, opt) : NULL;

		node->named = option_of(node, opt);
		node->coarse_why = NULL;
		if (why && stay_coarse(g, node, why))
			return -1;
		if (node->precise && (is_skip(node) ? make_low(g, node, opt) :
						      make_precise(g, node, opt->core.block)))
			return -1;
	}
	return vtac_graph_dce(g);
}

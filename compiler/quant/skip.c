// SPDX-License-Identifier: Apache-2.0
/*
 * Residuals of 16 bits (a part of the pass `precision`). Along a skip connection each sum rounds
 * what the next one adds, so that the noise of all of them comes together. The card has the sum in
 * 32 bits and stores two halves of
 *	value = 256 * high + low
 * high is what it is with 8 bits, rounded to the nearest, and low, from -128 to 127, what that
 * leaves. A convolution that adds the tensor adds both; all other nodes read the high half.
 *
 * The low half is the output of a node of its own, which has the same inputs, and the high half as
 * another. It is a value to the interpreter alone: the card computes both at once.
 */
#include <math.h>

#include "lower/program.h"
#include "passes/passes.h"
#include "quant_impl.h"

#define LOW_BITS	8
#define LOW_STEPS	256

/* Cycles of an element, at most: docs/ops.md, with the wait for the first STORE */
#define OUT_CYCLES	4
#define RES_CYCLES	6

static bool is_float_conv(const struct vtac_node *node)
{
	return node->op == VTAC_CONV && node->device == VTAC_CARD && node->attr.conv.groups == 1 &&
	       node->in[1]->data && node->in[1]->dtype == VTAC_F32 && !node->in[1]->quant.given &&
	       !node->out[0]->quant.given && vtac_has_float_bias(node);
}

/* As vtac_low_of() */
static struct vtac_node *low_of(struct vtac_node *node)
{
	const struct vtac_node *low = vtac_low_of(node);

	return low ? low->out[0]->producer : NULL;
}

bool adds_fine(const struct vtac_node *user, const struct vtac_tensor *t)
{
	return user->n_in > 3 && user->in[3] == t && is_float_conv(user);
}

bool is_skip(const struct vtac_node *node)
{
	const struct vtac_tensor *t = node->out[0];

	for (unsigned int i = 0; i < t->n_users; i++)
		if (t->users[i]->op == VTAC_CONV && t->users[i]->n_in > 3 &&
		    t->users[i]->in[3] == t)
			return true;
	return false;
}

const char *skip_not_precise(const struct vtac_graph *g, const struct vtac_node *node,
			     const struct vtac_options *opt)
{
	const struct vtac_quant_options *how = g->how ? g->how : opt->quant;
	const struct vtac_tensor *t = node->out[0];
	bool added = false;

	for (unsigned int i = 0; i < t->n_users; i++)
		added = added || adds_fine(t->users[i], t);
	if (node->op != VTAC_CONV || node->attr.conv.groups != 1)
		return "it is no convolution without groups";
	if (!is_float_conv(node))
		return "the file gives it integers";
	if (!added)
		return "no convolution of floats without groups adds it";
	if (node->act.kind == VTAC_ACT_LEAKY)
		return "its output stage has no room for it";
	if (opt->core.log_inp_width != 3)
		return "the core's integers have no 8 bits";
	if (how && (how->per_tensor || how->power_of_two))
		return "channels have no multipliers of their own";
	return NULL;
}

/* Let @node add no more than the high half of what it adds. */
static int drop_added(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *own = low_of(node);

	return vtac_node_set_in(g, node, 4, NULL) || (own && vtac_node_set_in(g, own, 4, NULL)) ?
		-1 : 0;
}

/* Take away the low half of @node's output, whatever adds it: @why. */
static int drop_low(struct vtac_graph *g, struct vtac_node *node, const char *why)
{
	struct vtac_node *low = low_of(node);

	while (low->out[0]->n_users)
		if (drop_added(g, low->out[0]->users[0]))
			return -1;
	vtac_node_remove(low);
	return stay_coarse(g, node, why);
}

int drop_halves(struct vtac_graph *g, struct vtac_node *node, bool both, const char *why)
{
	struct vtac_tensor *added = node->n_in > 4 ? node->in[4] : NULL;

	if (low_of(node) && drop_low(g, node, why))
		return -1;
	if (!added || !both)
		return 0;
	if (drop_added(g, node))
		return -1;
	return added->n_users ? 0 :
		drop_low(g, added->producer->in[5]->producer, "what adds it cannot be so fine");
}

/* Does the core fail to compute @node, or what adds its output, with both halves? */
static int find_unfit(struct vtac_graph *g, struct vtac_node *node,
		      const struct vtac_options *opt, const char **why)
{
	const struct vtac_tensor *low = vtac_low_of(node)->out[0];
	uint64_t cycles;

	if (vtac_dry_run(g, node, opt, &cycles, why))
		return -1;
	for (unsigned int i = 0; i < low->n_users && !*why; i++)
		if (low->users[i]->n_in < 6 &&
		    vtac_dry_run(g, low->users[i], opt, &cycles, why))
			return -1;
	return 0;
}

static int add_low(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_node *made = vtac_node_new(g, VTAC_CONV, vtac_text(g, "%s/low", node->name), 6,
					       1);
	struct vtac_tensor *high = node->out[0], *low = tensor_beside(g, high, "low");

	if (!made || !low)
		return -1;
	low->coarse = high;
	low->steps = LOW_STEPS;
	low->stats = stats_beside(g, NULL, high->dims[1]);
	made->attr = node->attr;
	made->act = node->act;
	made->file_op = node->file_op;
	made->device = VTAC_CARD;
	vtac_node_set_out(made, 0, low);
	for (unsigned int i = 0; i < node->n_in && i < 5; i++)
		if (vtac_node_set_in(g, made, i, node->in[i]))
			return -1;
	if (!low->stats || vtac_node_set_in(g, made, 5, high))
		return -1;
	for (unsigned int i = 0; i < high->n_users; i++) {
		struct vtac_node *user = high->users[i];

		if (user != made && adds_fine(user, high) &&
		    ((user->n_in < 5 && vtac_node_resize_in(g, user, 5)) ||
		     vtac_node_set_in(g, user, 4, low)))
			return -1;
	}
	return 0;
}

int make_low(struct vtac_graph *g, struct vtac_node *node, const struct vtac_options *opt)
{
	const char *why = NULL;

	if (add_low(g, node) || find_unfit(g, node, opt, &why))
		return -1;
	return why ? drop_low(g, node, "the core has no room for it") : 0;
}

static uint64_t elements(const struct vtac_tensor *t, const struct vtac_options *opt)
{
	struct vtac_packed s = vtac_packed_shape(t);

	return vtaops_act_bytes(&opt->core, s.n, s.c, s.h, s.w) / opt->core.inp_bytes;
}

uint64_t low_cycles(const struct vtac_node *node, const struct vtac_options *opt)
{
	const struct vtac_tensor *t = node->out[0];
	uint64_t each = OUT_CYCLES;

	for (unsigned int i = 0; i < t->n_users; i++)
		each += adds_fine(t->users[i], t) ? RES_CYCLES : 0;
	return each * elements(t, opt);
}

bool has_low_steps(const int32_t *shifts, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (shifts[i] < LOW_BITS)
			return false;
	return true;
}

/*
 * The stage of both halves: 8 bits less to shift, as has_low_steps() has said, and half of a step
 * for the high half alone.
 */
static int set_stage(struct quantiser *q, struct vtac_node *node, const struct vtac_post *high)
{
	int64_t n = node->out[0]->dims[1];
	int32_t *shift = vtac_alloc(q->g, (uint64_t)n, sizeof(*shift));
	int32_t *bias = vtac_alloc(q->g, (uint64_t)n, sizeof(*bias));

	if (!shift || !bias)
		return -1;
	for (int64_t i = 0; i < n; i++) {
		int32_t of = high->shift[high->per_channel ? i : 0];

		shift[i] = of - LOW_BITS;
		bias[i] = (int32_t)((int64_t)high->bias[i] - (INT64_C(1) << (of - 1)));
	}
	node->post = *high;
	node->post.shift = shift;
	node->post.bias = bias;
	node->post.lo = high->lo * LOW_STEPS;
	node->post.hi = high->hi * LOW_STEPS;
	node->post.low = true;
	return 0;
}

int quantise_low(struct quantiser *q, struct vtac_node *node)
{
	const struct vtac_tensor *high = node->in[5], *low = node->out[0];

	if (vtac_node_set_in(q->g, node, 1, high->producer->in[1]) ||
	    vtac_node_set_in(q->g, node, 2, NULL) || set_stage(q, node, &high->producer->post))
		return -1;
	q->scale[low->id] = q->scale[high->id] / LOW_STEPS;
	q->lo[low->id] = -128;
	q->hi[low->id] = 127;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `channels`: on the card, splits, slices, joins and shuffles of channels that follow each
 * other are one step at most. Each tensor that others than these nodes read is traced to the
 * tensors that its channels come from, and is then made of these alone:
 *	whole blocks of one tensor	another name for a part of its memory: a Slice
 *	whole blocks of several		a Concat, whose parts are computed in their places
 *	anything else			a node `channels`, which brings channels to their lanes
 */
#include "passes.h"

/* Channel @channel of tensor @t */
struct origin {
	struct vtac_tensor *t;
	uint32_t channel;
};

/* Channels that follow each other in @t, too */
struct stretch {
	struct vtac_tensor *t;
	int64_t start, count;
};

enum form { FORM_NONE, FORM_KEPT, FORM_SAME, FORM_PART, FORM_JOINED, FORM_PICKED };

struct tracer {
	struct vtac_graph *g;
	int64_t block;
	/* By tensor id: */
	struct origin **from;		/* of each channel of what a mover makes, or NULL */
	enum form *form;		/* how it is made again */
	struct vtac_tensor **made;	/* what is in its place; NULL: itself */
	unsigned int ids;
};

bool vtac_slices_channels(const struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *y = node->out[0];

	for (int i = 0; i < x->rank; i++)
		if (i != 1 && (node->attr.slice.start[i] || x->dims[i] != y->dims[i] ||
			       (y->dims[i] > 1 && node->attr.slice.step[i] != 1)))
			return false;
	return x->rank > 1;
}

static bool is_mover(const struct vtac_node *node)
{
	if (node->device != VTAC_CARD)
		return false;
	switch (node->op) {
	case VTAC_SPLIT:
	case VTAC_CONCAT:
		return node->attr.axis.axis == 1;
	case VTAC_SLICE:
	case VTAC_CHANNELS:
		return true;
	default:
		return false;
	}
}

/* ---- where channels come from ---- */

static struct origin origin_of(const struct tracer *r, struct vtac_tensor *t, int64_t channel)
{
	/* A tensor that is written is an origin itself; a part of one has the whole's channels. */
	bool written = !r->from[t->id] || r->form[t->id] == FORM_JOINED ||
		r->form[t->id] == FORM_PICKED || r->form[t->id] == FORM_KEPT;

	return written ? (struct origin) { t, (uint32_t)channel } : r->from[t->id][channel];
}

/* Sets the input and its channel that is channel @c of output @out. */
static struct vtac_tensor *step_back(const struct vtac_node *node, unsigned int out, int64_t c,
				     int64_t *channel)
{
	unsigned int i = 0;

	switch (node->op) {
	case VTAC_SPLIT:
		for (*channel = c; i < out; i++)
			*channel += node->out[i]->dims[1];
		return node->in[0];
	case VTAC_SLICE:
		*channel = node->attr.slice.start[1] + c * node->attr.slice.step[1];
		return node->in[0];
	case VTAC_CONCAT:
		for (; c >= node->in[i]->dims[1]; i++)
			c -= node->in[i]->dims[1];
		*channel = c;
		return node->in[i];
	default:
		*channel = node->attr.channels.picks[c].channel;
		return node->in[node->attr.channels.picks[c].source];
	}
}

static int trace(struct tracer *r, const struct vtac_node *node, unsigned int out)
{
	struct vtac_tensor *y = node->out[out];
	struct origin *o = vtac_alloc(r->g, (uint64_t)y->dims[1], sizeof(*o));

	if (!o)
		return -1;
	for (int64_t c = 0; c < y->dims[1]; c++) {
		int64_t channel;
		struct vtac_tensor *x = step_back(node, out, c, &channel);

		o[c] = origin_of(r, x, channel);
	}
	r->from[y->id] = o;
	return 0;
}

/* The stretch of channels of @t that begins at channel @c. */
static struct stretch stretch_at(const struct tracer *r, const struct vtac_tensor *t, int64_t c)
{
	const struct origin *o = r->from[t->id];
	struct stretch s = { .t = o[c].t, .start = o[c].channel, .count = 1 };

	for (; c + s.count < t->dims[1]; s.count++)
		if (o[c + s.count].t != s.t || o[c + s.count].channel != s.start + s.count)
			break;
	return s;
}

static enum form form_of(const struct tracer *r, const struct vtac_tensor *t)
{
	struct stretch s = stretch_at(r, t, 0);
	int64_t n = t->dims[1];

	if (s.count == n)
		return s.t->dims[1] == n ? FORM_SAME :
		       s.start % r->block ? FORM_PICKED : FORM_PART;
	for (int64_t c = 0; c < n; c += s.count) {
		s = stretch_at(r, t, c);
		if (s.start % r->block || (c + s.count < n && s.count % r->block))
			return FORM_PICKED;
	}
	return FORM_JOINED;
}

/* Do others than movers read @t, or do its integers have another meaning than their origins? */
static bool is_needed(const struct tracer *r, const struct vtac_tensor *t)
{
	const struct origin *o = r->from[t->id];

	if (vtac_is_output(r->g, t))
		return true;
	for (unsigned int i = 0; i < t->n_users; i++)
		if (!is_mover(t->users[i]))
			return true;
	for (int64_t c = 0; t->quant.given && c < t->dims[1]; c++)
		if (!vtac_same_quant(&t->quant, &o[c].t->quant))
			return true;
	return false;
}

/* A Concat of tensors that no mover makes stays: align_channels may widen its parts. */
static bool joins_origins(const struct tracer *r, const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_in; i++)
		if (origin_of(r, node->in[i], 0).t != node->in[i])
			return false;
	return node->op == VTAC_CONCAT;
}

static int trace_node(struct tracer *r, const struct vtac_node *node)
{
	for (unsigned int i = 0; i < node->n_out; i++) {
		struct vtac_tensor *t = node->out[i];

		if (!t)
			continue;
		if (trace(r, node, i))
			return -1;
		if (is_needed(r, t))
			r->form[t->id] = joins_origins(r, node) ? FORM_KEPT : form_of(r, t);
	}
	return 0;
}

/* ---- making it of them ---- */

static struct vtac_tensor *made_of(const struct tracer *r, struct vtac_tensor *t)
{
	return r->made[t->id] ? r->made[t->id] : t;
}

static struct vtac_tensor *like(struct vtac_graph *g, const struct vtac_tensor *t, int64_t channels)
{
	struct vtac_tensor *y = vtac_tensor_shaped(g, t->name, t->dtype, t->rank, t->dims);

	if (!y)
		return NULL;
	y->dims[1] = channels;
	y->quant = t->quant;
	return y;
}

static struct vtac_node *add_node(struct tracer *r, enum vtac_op op, struct vtac_tensor *y,
				  const struct vtac_node *from, unsigned int n_in)
{
	struct vtac_node *node = y ? vtac_node_new(r->g, op, from->name, n_in, 1) : NULL;

	if (!node)
		return NULL;
	node->file_op = from->file_op;
	node->device = VTAC_CARD;
	vtac_node_set_out(node, 0, y);
	return node;
}

/* Returns channels of @s as a tensor of their own, @y or a new one. */
static struct vtac_tensor *make_part(struct tracer *r, const struct stretch *s,
				     const struct vtac_node *from, struct vtac_tensor *y)
{
	struct vtac_tensor *x = made_of(r, s->t);
	struct vtac_node *node;

	y = y ? y : like(r->g, x, s->count);
	node = add_node(r, VTAC_SLICE, y, from, 1);
	if (!node)
		return NULL;
	for (int i = 0; i < VTAC_RANK_MAX; i++)
		node->attr.slice.step[i] = 1;
	node->attr.slice.start[1] = s->start;
	return vtac_node_set_in(r->g, node, 0, x) ? NULL : y;
}

static int make_joined(struct tracer *r, const struct vtac_tensor *t, struct vtac_tensor *y)
{
	struct vtac_node *node = add_node(r, VTAC_CONCAT, y, t->producer, 0);
	struct stretch s;

	if (!node)
		return -1;
	node->attr.axis.axis = 1;
	for (int64_t c = 0; c < t->dims[1]; c += s.count) {
		struct vtac_tensor *part;

		s = stretch_at(r, t, c);
		part = s.count == s.t->dims[1] ? made_of(r, s.t) :
		       make_part(r, &s, t->producer, NULL);
		if (!part || vtac_node_resize_in(r->g, node, node->n_in + 1) ||
		    vtac_node_set_in(r->g, node, node->n_in - 1, part))
			return -1;
	}
	return 0;
}

static int make_picked(struct tracer *r, const struct vtac_tensor *t, struct vtac_tensor *y)
{
	struct vtac_node *node = add_node(r, VTAC_CHANNELS, y, t->producer, 0);
	struct vtaops_pick *picks = vtac_alloc(r->g, (uint64_t)t->dims[1], sizeof(*picks));
	const struct origin *o = r->from[t->id];

	if (!node || !picks)
		return -1;
	node->attr.channels.picks = picks;
	for (int64_t c = 0; c < t->dims[1]; c++) {
		struct vtac_tensor *x = made_of(r, o[c].t);
		uint32_t i = 0;

		while (i < node->n_in && node->in[i] != x)
			i++;
		if (i == node->n_in && (vtac_node_resize_in(r->g, node, i + 1) ||
					vtac_node_set_in(r->g, node, i, x)))
			return -1;
		picks[c] = (struct vtaops_pick) { i, o[c].channel };
	}
	return 0;
}

static int make_same(struct tracer *r, const struct vtac_tensor *t, struct vtac_tensor *y)
{
	struct vtac_node *node = add_node(r, VTAC_IDENTITY, y, t->producer, 1);

	return node ? vtac_node_set_in(r->g, node, 0, made_of(r, r->from[t->id][0].t)) : -1;
}

static int make_form(struct tracer *r, struct vtac_tensor *t)
{
	struct stretch s = stretch_at(r, t, 0);
	struct vtac_tensor *y;
	int err;

	if (r->form[t->id] == FORM_SAME && !vtac_is_output(r->g, t)) {
		r->made[t->id] = made_of(r, s.t);
		return vtac_tensor_replace(r->g, t, r->made[t->id]);
	}
	y = like(r->g, t, t->dims[1]);
	if (!y)
		return -1;
	switch (r->form[t->id]) {
	case FORM_SAME:
		err = make_same(r, t, y);
		break;
	case FORM_PART:
		err = make_part(r, &s, t->producer, y) ? 0 : -1;
		break;
	case FORM_JOINED:
		err = make_joined(r, t, y);
		break;
	default:
		err = make_picked(r, t, y);
	}
	r->made[t->id] = y;
	return err ? err : vtac_tensor_replace(r->g, t, y);
}

int vtac_join_channels(struct vtac_graph *g, struct vtac_node *concat)
{
	struct vtaops_pick *picks = vtac_alloc(g, (uint64_t)concat->out[0]->dims[1],
					       sizeof(*picks));
	int64_t at = 0;

	if (!picks)
		return -1;
	for (unsigned int i = 0; i < concat->n_in; i++)
		for (int64_t c = 0; c < concat->in[i]->dims[1]; c++)
			picks[at++] = (struct vtaops_pick) { i, (uint32_t)c };
	concat->op = VTAC_CHANNELS;
	concat->attr = (union vtac_attr){ .channels = { picks } };
	return 0;
}

int vtac_pass_channels(struct vtac_graph *g, const struct vtac_options *opt)
{
	struct tracer r = { .g = g, .block = opt->core.block, .ids = g->next_id };
	unsigned int n = g->n_nodes;

	r.from = vtac_alloc(g, r.ids, sizeof(struct origin *));
	r.form = vtac_alloc(g, r.ids, sizeof(*r.form));
	r.made = vtac_alloc(g, r.ids, sizeof(struct vtac_tensor *));
	if (!r.from || !r.form || !r.made)
		return -1;
	for (unsigned int i = 0; i < n; i++)
		if (is_mover(g->nodes[i]) && trace_node(&r, g->nodes[i]))
			return -1;
	for (unsigned int i = 0; i < n; i++) {
		const struct vtac_node *node = g->nodes[i];

		for (unsigned int k = 0; k < node->n_out; k++)
			if (node->out[k] && node->out[k]->id < r.ids &&
			    r.form[node->out[k]->id] > FORM_KEPT && make_form(&r, node->out[k]))
				return -1;
	}
	return vtac_graph_dce(g);
}

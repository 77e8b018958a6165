// SPDX-License-Identifier: Apache-2.0
/* Read recurrent layers: states of all steps, and by slices of them the last ones. */
#include <string.h>
#include <strings.h>

#include "onnx_impl.h"

struct layer {
	enum vtacpu_recurrent_kind kind;
	int64_t batch_first;		/* the attribute layout */
	int direction;			/* 0 forward, 1 reverse, 2 both */
	bool linear;
	struct vtac_tensor *x, *h, *c;	/* with steps first */
	struct vtac_tensor *lengths;	/* of sequences, if some may be shorter; else NULL */
};

/* Other activations than the default ones are refused. */
static int check_activations(struct onnx_node *n, enum vtacpu_recurrent_kind kind)
{
	static const char *const defaults[][3] = {
		[VTACPU_RNN] = { "Tanh" }, [VTACPU_GRU] = { "Sigmoid", "Tanh" },
		[VTACPU_LSTM] = { "Sigmoid", "Tanh", "Tanh" },
	};
	const Onnx__AttributeProto *a = onnx_attr(n, "activations");
	size_t each = kind == VTACPU_LSTM ? 3 : kind == VTACPU_GRU ? 2 : 1;

	for (size_t i = 0; a && i < a->n_strings; i++) {
		const char *name = defaults[kind][i % each];

		if (a->strings[i].len != strlen(name) ||
		    strncasecmp((const char *)a->strings[i].data, name, a->strings[i].len))
			return onnx_fail(n, "Its activations are not the default ones.");
	}
	return 0;
}

static int read_attributes(struct onnx_node *n, struct layer *l)
{
	static const char *const ways[] = { "forward", "reverse", "bidirectional", NULL };
	int64_t hidden, linear = 0, forget = 0;
	float clip;

	if (check_activations(n, l->kind) ||
	    onnx_attr_word(n, "direction", ways, 0, &l->direction) ||
	    onnx_attr_int(n, "hidden_size", 0, &hidden) ||
	    onnx_attr_int(n, "layout", 0, &l->batch_first) ||
	    onnx_attr_float(n, "clip", 0, &clip))
		return -1;
	if (l->kind == VTACPU_GRU && onnx_attr_int(n, "linear_before_reset", 0, &linear))
		return -1;
	if (l->kind == VTACPU_LSTM && onnx_attr_int(n, "input_forget", 0, &forget))
		return -1;
	l->linear = linear;
	if (clip != 0 || forget)
		return onnx_fail(n, "Its clip or input_forget is not supported.");
	return 0;
}

static struct vtac_tensor *make_transpose(struct onnx_node *n, struct vtac_tensor *t,
					  const int *perm, int rank)
{
	struct vtac_node *node = t ? onnx_between(n, VTAC_TRANSPOSE, 1) : NULL;

	if (!node || vtac_node_set_in(n->g, node, 0, t))
		return NULL;
	for (int i = 0; i < VTAC_RANK_MAX; i++)
		node->attr.transpose.perm[i] = i < rank ? perm[i] : -1;
	return node->out[0];
}

/* States or cells of the inputs @in of all of the node's directions, or of one in reverse order */
static struct vtac_tensor *make_states(struct onnx_node *n, const struct layer *l, bool cell,
				       bool reverse, struct vtac_tensor *const in[8])
{
	struct vtac_node *node = onnx_between(n, VTAC_RECURRENT, 8);

	if (!node)
		return NULL;
	for (unsigned int i = 0; i < 8; i++)
		if (vtac_node_set_in(n->g, node, i, in[i]))
			return NULL;
	node->attr.recurrent.kind = l->kind;
	node->attr.recurrent.reverse = reverse;
	node->attr.recurrent.linear = l->linear;
	node->attr.recurrent.cell = cell;
	node->attr.recurrent.summed = !n->in[1];
	return node->out[0];
}

static struct vtac_tensor *make_list(struct onnx_node *n, int64_t a, int64_t b)
{
	static const int64_t two = 2;

	return vtac_tensor_const(n->g, "list", VTAC_I64, 1, &two, (int64_t[]){ a, b }, true);
}

/* Direction @d of @y at step @from, where -1 is the last. */
static struct vtac_tensor *make_part(struct onnx_node *n, struct vtac_tensor *y, int64_t from,
				     int64_t d)
{
	struct vtac_node *node = y ? onnx_between(n, VTAC_SLICE, 5) : NULL;

	if (!node || vtac_node_set_in(n->g, node, 0, y) ||
	    vtac_node_set_in(n->g, node, 1, make_list(n, from, d)) ||
	    vtac_node_set_in(n->g, node, 2, make_list(n, from < 0 ? INT64_MAX : 1, d + 1)) ||
	    vtac_node_set_in(n->g, node, 3, make_list(n, 0, 1)))
		return NULL;
	return node->out[0];
}

/* ---- sequences of different lengths ---- */

/* Each sequence of @x, [steps][batch].., backwards; what is behind its end stays there. */
static struct vtac_tensor *turn(struct onnx_node *n, const struct layer *l, struct vtac_tensor *x)
{
	struct vtac_node *node = onnx_of_two(n, VTAC_REVERSE_SEQUENCE, x,
					     onnx_cast(n, VTAC_I64, l->lengths));

	return node ? node->out[0] : NULL;
}

/* Part @d of what has a part for each direction; NULL if @t is left out. */
static struct vtac_tensor *direction_of(struct onnx_node *n, struct vtac_tensor *t, int64_t d)
{
	struct vtac_node *node = t ? onnx_between(n, VTAC_SLICE, 5) : NULL;
	int64_t end = d + 1;

	if (!node || vtac_node_set_in(n->g, node, 0, t) ||
	    vtac_node_set_in(n->g, node, 1, onnx_integers(n, &d, 1)) ||
	    vtac_node_set_in(n->g, node, 2, onnx_integers(n, &end, 1)))
		return NULL;
	return node->out[0];
}

/* One direction: the other way round is forward over sequences that are turned. */
static struct vtac_tensor *make_direction(struct onnx_node *n, const struct layer *l, bool cell,
					  int64_t d, struct vtac_tensor *const all[8])
{
	static const int64_t one = 1;
	bool turned = l->direction == 1 || d;
	struct vtac_tensor *in[8] = { turned ? turn(n, l, all[0]) : all[0] }, *y;

	for (unsigned int i = 1; i < 7; i++) {
		in[i] = l->direction == 2 ? direction_of(n, all[i], d) : all[i];
		if (all[i] && !in[i])
			return NULL;
	}
	y = in[0] ? make_states(n, l, cell, false, in) : NULL;
	if (!turned)
		return y;
	y = onnx_reshape(n, VTAC_SQUEEZE, y, onnx_integers(n, &one, 1));
	return onnx_reshape(n, VTAC_UNSQUEEZE, turn(n, l, y), onnx_integers(n, &one, 1));
}

/* Dimension @i of @x as a list of one */
static struct vtac_tensor *size_of(struct onnx_node *n, struct vtac_tensor *x, int64_t i)
{
	struct vtac_tensor *y = onnx_shape(n, x);

	if (!y)
		return NULL;
	y->producer->attr.shape.start = i;
	y->producer->attr.shape.end = i + 1;
	return y;
}

/* 0, 1, 2, .. below the number in the list @count */
static struct vtac_tensor *numbers_below(struct onnx_node *n, struct vtac_tensor *count)
{
	struct vtac_node *ones = onnx_of_two(n, VTAC_CONSTANT_OF_SHAPE, count, onnx_integer(n, 1));
	struct vtac_node *sums = ones ? onnx_of_two(n, VTAC_CUM_SUM, ones->out[0],
						    onnx_integer(n, 0)) : NULL;

	return sums ? onnx_two(n, VTAC_SUB, sums->out[0], onnx_integer(n, 1)) : NULL;
}

/* @y with zeros behind the ends of sequences */
static struct vtac_tensor *cut_off(struct onnx_node *n, const struct layer *l,
				   struct vtac_tensor *y)
{
	static const int64_t behind[] = { 1, 2, 3 }, around[] = { 0, 1, 3 };
	struct vtac_tensor *at = onnx_reshape(n, VTAC_UNSQUEEZE,
					      numbers_below(n, size_of(n, y, 0)),
					      onnx_integers(n, behind, 3));
	struct vtac_tensor *ends = onnx_reshape(n, VTAC_UNSQUEEZE,
						onnx_cast(n, VTAC_I64, l->lengths),
						onnx_integers(n, around, 3));
	struct vtac_tensor *in[] = { onnx_binary(n, VTACPU_LESS, at, ends), y, onnx_float(n, 0) };
	struct vtac_node *node = in[0] ? onnx_between(n, VTAC_WHERE, 3) : NULL;

	for (unsigned int i = 0; node && i < 3; i++)
		if (vtac_node_set_in(n->g, node, i, in[i]))
			return NULL;
	return node ? node->out[0] : NULL;
}

/* Direction 0 of @y at the last step of each sequence, [1][1][batch][hidden] */
static struct vtac_tensor *last_of_each(struct onnx_node *n, const struct layer *l,
					struct vtac_tensor *y)
{
	static const int64_t axes[] = { 0, 1, 3 }, zero;
	struct vtac_tensor *at = onnx_two(n, VTAC_SUB, onnx_cast(n, VTAC_I64, l->lengths),
					  onnx_integer(n, 1));
	struct vtac_tensor *like = direction_of(n, y, 0), *index;
	struct vtac_node *node;

	/* An empty sequence has zeros, as in its first step. */
	at = onnx_two(n, VTAC_MAX, at, onnx_integers(n, &zero, 1));
	at = onnx_reshape(n, VTAC_UNSQUEEZE, at, onnx_integers(n, axes, 3));
	index = onnx_two(n, VTAC_EXPAND, at, like ? onnx_shape(n, like) : NULL);
	node = onnx_of_two(n, VTAC_GATHER_ELEMENTS, y, index);
	return node ? node->out[0] : NULL;
}

/* Have all sequences the same length? Then it is that of x, or an error. */
static bool has_one_length(const struct onnx_node *n, const struct vtac_tensor *t)
{
	const struct vtac_tensor *x = n->in[0];
	const int32_t *v = t->data;

	if (!v || t->dtype != VTAC_I32 || !n->in[1])
		return !n->in[1];
	for (int64_t i = 0; i < vtac_elements(t); i++)
		if (v[i] != v[0] || (x->rank == 3 && x->dims[0] > 0 && v[i] != x->dims[0]))
			return false;
	return true;
}

/* The layer's states or cells: [steps][directions][batch][hidden]. */
static struct vtac_tensor *make_layer(struct onnx_node *n, const struct layer *l, bool cell)
{
	struct vtac_tensor *in[8] = { l->x, n->in[1], n->in[2], n->n_in > 3 ? n->in[3] : NULL,
				      l->h, l->c, n->n_in > 7 ? n->in[7] : NULL,
				      n->n_in > 4 ? n->in[4] : NULL };
	struct vtac_tensor *y, *other;
	struct vtac_node *node;

	if (!l->lengths)
		return make_states(n, l, cell, l->direction == 1, in);
	y = make_direction(n, l, cell, 0, in);
	if (l->direction != 2)
		return cut_off(n, l, y);
	other = make_direction(n, l, cell, 1, in);
	node = onnx_of_two(n, VTAC_CONCAT, y, other);
	if (!node)
		return NULL;
	node->attr.axis.axis = 1;
	return cut_off(n, l, node->out[0]);
}

/* Output @i: what each direction computed last, [directions][batch][hidden]. */
static int make_last(struct onnx_node *n, const struct layer *l, struct vtac_tensor *y,
		     unsigned int i)
{
	const int64_t one = 1, zero = 0;
	static const int batch_first[] = { 1, 0, 2 };
	struct vtac_tensor *axes = vtac_tensor_const(n->g, "axes", VTAC_I64, 1, &one, &zero, true);
	struct vtac_tensor *last, *other;
	struct vtac_node *node;

	if (l->lengths && y && l->direction != 1)
		last = make_part(n, last_of_each(n, l, y), 0, 0);
	else
		last = y ? make_part(n, y, l->direction == 1 ? 0 : -1, 0) : NULL;
	if (l->direction == 2) {
		other = last ? make_part(n, y, 0, 1) : NULL;
		node = other ? onnx_between(n, VTAC_CONCAT, 2) : NULL;
		if (!node || vtac_node_set_in(n->g, node, 0, last) ||
		    vtac_node_set_in(n->g, node, 1, other))
			return -1;
		node->attr.axis.axis = 1;
		last = node->out[0];
	}
	node = axes && last ? onnx_between(n, VTAC_RESHAPE, 2) : NULL;
	if (!node || vtac_node_set_in(n->g, node, 0, last) || vtac_node_set_in(n->g, node, 1, axes))
		return -1;
	node->attr.reshape.kind = VTAC_SQUEEZE;
	if (l->batch_first) {
		last = make_transpose(n, node->out[0], batch_first, 3);
		if (!last)
			return -1;
		node = last->producer;
	}
	vtac_node_set_out(node, 0, n->out[i]);
	return 0;
}

static int read_layer(struct onnx_node *n, enum vtacpu_recurrent_kind kind)
{
	static const int steps_first[] = { 1, 0, 2 }, y_perm[] = { 2, 0, 1, 3 };
	struct layer l = { .kind = kind, .x = n->in[0] };
	struct vtac_tensor *y, *cells;

	if (n->n_out > (kind == VTACPU_LSTM ? 3 : 2))
		return onnx_fail(n, "It has %u outputs.", n->n_out);
	if (read_attributes(n, &l))
		return -1;
	l.h = n->n_in > 5 ? n->in[5] : NULL;
	l.c = n->n_in > 6 ? n->in[6] : NULL;
	if (n->n_in > 4 && n->in[4] && !has_one_length(n, n->in[4]))
		l.lengths = n->in[4];
	if (l.batch_first) {
		l.x = make_transpose(n, l.x, steps_first, 3);
		l.h = make_transpose(n, l.h, steps_first, 3);
		l.c = make_transpose(n, l.c, steps_first, 3);
	}
	y = l.x ? make_layer(n, &l, false) : NULL;
	if (!y || (n->n_out > 1 && n->out[1] && make_last(n, &l, y, 1)))
		return -1;
	if (n->n_out > 2 && n->out[2]) {
		cells = make_layer(n, &l, true);
		if (!cells || make_last(n, &l, cells, 2))
			return -1;
	}
	if (!n->out[0])
		return 0;
	if (l.batch_first) {
		y = make_transpose(n, y, y_perm, 4);
		if (!y)
			return -1;
		vtac_node_set_out(y->producer, 0, n->out[0]);
		return 0;
	}
	return onnx_result(n, 0, y);
}

static int read_rnn(struct onnx_node *n)
{
	return read_layer(n, VTACPU_RNN);
}

static int read_gru(struct onnx_node *n)
{
	return read_layer(n, VTACPU_GRU);
}

static int read_lstm(struct onnx_node *n)
{
	return read_layer(n, VTACPU_LSTM);
}

int onnx_read_lstm_of_sums(struct onnx_node *n)
{
	struct vtac_tensor *in[8] = { n->in[0] };
	struct onnx_node m = *n;
	int err;

	for (unsigned int i = 1; i < n->n_in && i < 7; i++)
		in[i + 1] = n->in[i];
	m.in = in;
	m.n_in = 8;
	err = read_layer(&m, VTACPU_LSTM);
	n->used |= m.used;
	return err;
}

const struct onnx_op onnx_recurrent_ops[] = {
	{ "GRU", 3, 6, UINT32_MAX, read_gru, NULL },
	{ "LSTM", 3, 8, UINT32_MAX, read_lstm, NULL },
	{ "RNN", 3, 6, UINT32_MAX, read_rnn, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

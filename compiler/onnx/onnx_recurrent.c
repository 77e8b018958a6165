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

/* The layer's states or cells: [steps][directions][batch][hidden]. */
static struct vtac_tensor *make_layer(struct onnx_node *n, const struct layer *l, bool cell)
{
	struct vtac_node *node = onnx_between(n, VTAC_RECURRENT, 8);
	struct vtac_tensor *in[8] = { l->x, n->in[1], n->in[2], n->n_in > 3 ? n->in[3] : NULL,
				      l->h, l->c, n->n_in > 7 ? n->in[7] : NULL,
				      n->n_in > 4 ? n->in[4] : NULL };

	if (!node)
		return NULL;
	for (unsigned int i = 0; i < 8; i++)
		if (vtac_node_set_in(n->g, node, i, in[i]))
			return NULL;
	node->attr.recurrent.kind = l->kind;
	node->attr.recurrent.reverse = l->direction == 1;
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
	struct vtac_node *node = onnx_between(n, VTAC_SLICE, 5);

	if (!node || vtac_node_set_in(n->g, node, 0, y) ||
	    vtac_node_set_in(n->g, node, 1, make_list(n, from, d)) ||
	    vtac_node_set_in(n->g, node, 2, make_list(n, from < 0 ? INT64_MAX : 1, d + 1)) ||
	    vtac_node_set_in(n->g, node, 3, make_list(n, 0, 1)))
		return NULL;
	return node->out[0];
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
	struct vtac_node *node;

	if (n->n_out > (kind == VTACPU_LSTM ? 3 : 2))
		return onnx_fail(n, "It has %u outputs.", n->n_out);
	if (read_attributes(n, &l))
		return -1;
	l.h = n->n_in > 5 ? n->in[5] : NULL;
	l.c = n->n_in > 6 ? n->in[6] : NULL;
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
	node = onnx_between(n, VTAC_IDENTITY, 1);
	if (!node)
		return -1;
	vtac_node_set_out(node, 0, n->out[0]);
	return vtac_node_set_in(n->g, node, 0, y);
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

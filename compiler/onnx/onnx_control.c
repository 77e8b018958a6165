// SPDX-License-Identifier: Apache-2.0
/*
 * Read If, Loop and Scan. Their sub-graphs become patterns (struct vtac_body), of which the pass
 * `shape` makes nodes: as often as a loop runs, in the branch that a condition takes, or in both.
 */
#include <string.h>

#include "onnx_impl.h"

/* ---- sub-graphs ---- */

struct reading {
	struct onnx_node *n;
	const char *attr;	/* the attribute that has the sub-graph */
	const Onnx__GraphProto *file;
	struct onnx_scope scope;
	struct vtac_body *body;
	unsigned int first_node, first_tensor;	/* of the sub-graph, in the graph */
};

/* Names are defined before nodes are read: any other is one of a graph around it. */
static int define(struct reading *s, const char *name)
{
	if (!name || !name[0])
		return onnx_fail(s->n, "A value of its %s has no name.", s->attr);
	if (onnx_find(s->n->r, name))
		return onnx_fail(s->n, "Two values of its %s have the name %.120s.", s->attr,
				 name);
	return onnx_define(s->n->r, name) ? 0 : -1;
}

static int define_all(struct reading *s)
{
	const Onnx__GraphProto *file = s->file;

	for (size_t i = 0; i < file->n_input; i++) {
		if (define(s, file->input[i]->name))
			return -1;
		s->body->in[i] = onnx_find(s->n->r, file->input[i]->name);
	}
	for (size_t i = 0; i < file->n_initializer; i++)
		if (define(s, file->initializer[i]->name))
			return -1;
	for (size_t i = 0; i < file->n_node; i++)
		for (size_t k = 0; k < file->node[i]->n_output; k++) {
			const char *name = file->node[i]->output[k];

			if (name && name[0] && define(s, name))
				return -1;
		}
	return 0;
}

static int read_outputs(struct reading *s)
{
	for (size_t i = 0; i < s->file->n_output; i++) {
		const char *name = s->file->output[i]->name;

		if (!name || !name[0])
			return onnx_fail(s->n, "An output of its %s has no name.", s->attr);
		s->body->out[i] = onnx_tensor(s->n->r, name);
		if (!s->body->out[i])
			return -1;
	}
	return 0;
}

/* Captures, but for constants, are inputs too. */
static int set_inputs(struct reading *s)
{
	struct vtac_body *body = s->body;
	struct vtac_tensor **in = vtac_alloc(s->n->g, body->n_in + s->scope.n_captures,
					     sizeof(void *));

	if (!in)
		return -1;
	memcpy(in, body->in, body->n_in * sizeof(void *));
	for (unsigned int i = 0; i < s->scope.n_captures; i++)
		if (!s->scope.inner[i]->data)
			in[body->n_in + body->n_captures++] = s->scope.inner[i];
	body->in = in;
	return 0;
}

static void number_one(struct vtac_body *body, struct vtac_tensor *t, bool again)
{
	if (t && !again)
		t->id = UINT32_MAX;
	else if (t && t->id == UINT32_MAX)
		t->id = body->n_tensors++;
}

/* Number the tensors of the body: all lose their number first, then each gets one. */
static void number_tensors(struct vtac_body *body)
{
	for (int again = 0; again < 2; again++) {
		for (unsigned int i = 0; i < body->n_in + body->n_captures; i++)
			number_one(body, body->in[i], again);
		for (unsigned int i = 0; i < body->n_nodes; i++) {
			for (unsigned int k = 0; k < body->nodes[i]->n_in; k++)
				number_one(body, body->nodes[i]->in[k], again);
			for (unsigned int k = 0; k < body->nodes[i]->n_out; k++)
				number_one(body, body->nodes[i]->out[k], again);
		}
		for (unsigned int i = 0; i < body->n_out; i++)
			number_one(body, body->out[i], again);
	}
}

/* Each value is computed before it is used. After a refused node, that is not known. */
static int check_order(struct reading *s, bool *defined)
{
	const struct vtac_body *body = s->body;

	for (unsigned int i = 0; i < body->n_in + body->n_captures; i++)
		defined[body->in[i]->id] = true;
	for (unsigned int i = 0; i < body->n_nodes && !s->n->g->refusals; i++) {
		const struct vtac_node *node = body->nodes[i];

		for (unsigned int k = 0; k < node->n_in; k++)
			if (node->in[k] && !node->in[k]->data && !defined[node->in[k]->id])
				return vtac_fail(s->n->g, node,
						 "Nothing before it computes its input %.120s.",
						 node->in[k]->name);
		for (unsigned int k = 0; k < node->n_out; k++)
			if (node->out[k])
				defined[node->out[k]->id] = true;
	}
	for (unsigned int i = 0; i < body->n_out && !s->n->g->refusals; i++)
		if (!body->out[i]->data && !defined[body->out[i]->id])
			return onnx_fail(s->n, "Nothing computes output %.120s of its %s.",
					 body->out[i]->name, s->attr);
	return 0;
}

/* Take what was read out of the graph, into the body. */
static int take_out(struct reading *s)
{
	struct vtac_graph *g = s->n->g;
	struct vtac_body *body = s->body;
	bool *defined;

	body->n_nodes = g->n_nodes - s->first_node;
	body->nodes = vtac_alloc(g, body->n_nodes + 1u, sizeof(void *));
	if (!body->nodes || set_inputs(s))
		return -1;
	if (body->n_nodes)
		memcpy(body->nodes, g->nodes + s->first_node, body->n_nodes * sizeof(void *));
	g->n_nodes = s->first_node;
	g->n_tensors = s->first_tensor;
	number_tensors(body);
	defined = vtac_alloc(g, body->n_tensors + 1u, sizeof(*defined));
	return defined ? check_order(s, defined) : -1;
}

static int read_body(struct reading *s)
{
	struct onnx_reader *r = s->n->r;

	if (define_all(s) || onnx_read_initializers(r, s->file))
		return -1;
	for (size_t i = 0; i < s->file->n_node; i++)
		if (onnx_read_node(r, s->file->node[i]))
			return -1;
	return read_outputs(s) ? -1 : take_out(s);
}

/* Read the sub-graph in the attribute @attr, which has @n_in inputs and @least outputs or more. */
static int read_subgraph(struct reading *s, struct onnx_node *n, const char *attr,
			 unsigned int n_in, unsigned int least)
{
	const Onnx__AttributeProto *a = onnx_attr(n, attr);
	int err;

	*s = (struct reading){ .n = n, .attr = attr, .file = a ? a->g : NULL,
			       .first_node = n->g->n_nodes, .first_tensor = n->g->n_tensors };
	s->body = vtac_alloc(n->g, 1, sizeof(*s->body));
	if (!s->body)
		return -1;
	if (!s->file)
		return onnx_fail(n, "It has no sub-graph %s.", attr);
	if (s->file->n_input != n_in || s->file->n_output < least || s->file->n_output > 65536)
		return onnx_fail(n, "Its %s has %zu inputs and %zu outputs, for %u and %u.", attr,
				 s->file->n_input, s->file->n_output, n_in, least);
	s->body->n_in = n_in;
	s->body->n_out = (unsigned int)s->file->n_output;
	s->body->in = vtac_alloc(n->g, n_in + 1u, sizeof(void *));
	s->body->out = vtac_alloc(n->g, s->body->n_out + 1u, sizeof(void *));
	if (!s->body->in || !s->body->out)
		return -1;
	onnx_scope_begin(n->r, &s->scope, s->file);
	err = read_body(s);
	n->r->scope = s->scope.parent;
	return err;
}

/* ---- nodes ---- */

/* A node with the inputs of the file, and then those that the @count sub-graphs capture. */
static int make_node(struct onnx_node *n, enum vtac_op op, const struct vtac_control *control,
		     const struct reading *s, unsigned int count)
{
	struct vtac_node *node = onnx_make_all(n, op);
	unsigned int at = n->n_in;

	if (!node)
		return -1;
	node->attr.control = control;
	for (unsigned int i = 0; i < count; i++)
		at += s[i].body->n_captures;
	if (vtac_node_resize_in(n->g, node, at))
		return -1;
	at = n->n_in;
	for (unsigned int i = 0; i < count; i++)
		for (unsigned int k = 0; k < s[i].scope.n_captures; k++)
			if (!s[i].scope.inner[k]->data &&
			    vtac_node_set_in(n->g, node, at++, s[i].scope.outer[k]))
				return -1;
	return 0;
}

static int read_if(struct onnx_node *n)
{
	struct vtac_control *control = vtac_alloc(n->g, 1, sizeof(*control));
	struct reading s[2];

	if (!control || read_subgraph(&s[0], n, "then_branch", 0, n->n_out) ||
	    read_subgraph(&s[1], n, "else_branch", 0, n->n_out))
		return -1;
	control->body[0] = s[0].body;
	control->body[1] = s[1].body;
	return make_node(n, VTAC_IF, control, s, 2);
}

/* Carried values and lists are given. */
static int check_given(struct onnx_node *n, unsigned int first)
{
	for (unsigned int i = first; i < n->n_in; i++)
		if (!n->in[i])
			return onnx_fail(n, "Its input %u is missing.", i);
	return 0;
}

static int read_loop(struct onnx_node *n)
{
	struct vtac_control *control = vtac_alloc(n->g, 1, sizeof(*control));
	struct reading s;

	if (!control)
		return -1;
	if (n->n_in < 2 || n->n_out < n->n_in - 2)
		return onnx_fail(n, "It has %u inputs and %u outputs.", n->n_in, n->n_out);
	if (check_given(n, 2) || read_subgraph(&s, n, "body", n->n_in, n->n_out + 1))
		return -1;
	control->body[0] = s.body;
	control->n_carried = n->n_in - 2;
	return make_node(n, VTAC_LOOP, control, &s, 1);
}

/* @count numbers, 0 if the attribute is left out. */
static int read_numbers(struct onnx_node *n, const char *name, unsigned int count,
			const int64_t **to)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);
	int64_t *own = vtac_alloc(n->g, count + 1u, sizeof(*own));

	*to = own;
	if (!own)
		return -1;
	if (!a)
		return 0;
	if (a->n_ints != count)
		return onnx_fail(n, "Its attribute %s has %zu values, for %u.", name, a->n_ints,
				 count);
	memcpy(own, a->ints, count * sizeof(*own));
	return 0;
}

/*
 * Make a Scan over the images of a batch, whose body is the Scan @inner with the sub-graph of @s:
 * all inputs are lists of images, and all outputs become such lists.
 */
static int make_batch(struct onnx_node *n, const struct vtac_control *inner, struct reading *s)
{
	unsigned int first_node = n->g->n_nodes, first_tensor = n->g->n_tensors;
	unsigned int n_in = n->n_in + s->body->n_captures;
	struct vtac_control *outer = vtac_alloc(n->g, 1, sizeof(*outer));
	struct vtac_body *body = vtac_alloc(n->g, 1, sizeof(*body));
	struct vtac_tensor **tensors = vtac_alloc(n->g, n_in + n->n_out, sizeof(void *));
	int64_t *zeros = vtac_alloc(n->g, n_in + n->n_out, sizeof(*zeros));
	struct vtac_node *node = vtac_node_new(n->g, VTAC_SCAN, n->stub.name, n_in, n->n_out);

	if (!outer || !body || !tensors || !zeros || !node)
		return -1;
	node->file_op = n->stub.file_op;
	node->attr.control = inner;
	for (unsigned int i = 0; i < n_in + n->n_out; i++) {
		tensors[i] = vtac_tensor_new(n->g, n->stub.name, VTAC_F32);
		if (!tensors[i] || (i < n_in && vtac_node_set_in(n->g, node, i, tensors[i])))
			return -1;
		if (i >= n_in)
			vtac_node_set_out(node, i - n_in, tensors[i]);
	}
	*body = (struct vtac_body){
		.nodes = vtac_alloc(n->g, 1, sizeof(void *)), .n_nodes = 1, .in = tensors,
		.n_in = n->n_in, .n_captures = s->body->n_captures, .out = tensors + n_in,
		.n_out = n->n_out,
	};
	if (!body->nodes)
		return -1;
	body->nodes[0] = node;
	n->g->n_nodes = first_node;
	n->g->n_tensors = first_tensor;
	number_tensors(body);
	*outer = (struct vtac_control){ .body = { body }, .n_lists = n->n_in, .axis = zeros,
					.out_axis = zeros, .reverse = zeros, .out_reverse = zeros };
	s->body = body;
	return make_node(n, VTAC_SCAN, outer, s, 1);
}

/* Attributes of opset 8: lists have an axis of images, and then that of their entries. */
static int read_batched(struct onnx_node *n, struct vtac_control *control)
{
	int64_t *zeros = vtac_alloc(n->g, n->n_in + n->n_out, sizeof(*zeros));

	control->axis = zeros;
	control->out_axis = zeros;
	control->out_reverse = zeros;
	return zeros ? read_numbers(n, "directions", control->n_lists, &control->reverse) : -1;
}

static int read_axes(struct onnx_node *n, struct vtac_control *control)
{
	unsigned int made = n->n_out - control->n_carried;

	return read_numbers(n, "scan_input_axes", control->n_lists, &control->axis) ||
	       read_numbers(n, "scan_input_directions", control->n_lists, &control->reverse) ||
	       read_numbers(n, "scan_output_axes", made, &control->out_axis) ||
	       read_numbers(n, "scan_output_directions", made, &control->out_reverse) ? -1 : 0;
}

static int read_scan(struct onnx_node *n)
{
	struct vtac_control *control = vtac_alloc(n->g, 1, sizeof(*control));
	bool batched = n->r->opset < 9;
	struct reading s;
	int64_t lists;

	if (!control || onnx_attr_int(n, "num_scan_inputs", 0, &lists))
		return -1;
	if (batched && n->n_in && n->in[0])
		return onnx_fail(n, "Sequences of several lengths are not supported.");
	if (batched && n->n_in) {
		n->in++;
		n->n_in--;
	}
	if (lists < 1 || lists > n->n_in || n->n_out < n->n_in - lists)
		return onnx_fail(n, "It has %u inputs, %lld of them lists, and %u outputs.",
				 n->n_in, (long long)lists, n->n_out);
	control->n_lists = (unsigned int)lists;
	control->n_carried = n->n_in - control->n_lists;
	if (check_given(n, 0) || (batched ? read_batched(n, control) : read_axes(n, control)) ||
	    read_subgraph(&s, n, "body", n->n_in, n->n_out))
		return -1;
	control->body[0] = s.body;
	return batched ? make_batch(n, control, &s) : make_node(n, VTAC_SCAN, control, &s, 1);
}

const struct onnx_op onnx_control_ops[] = {
	{ "If", 1, 1, UINT32_MAX, read_if, NULL },
	{ "Loop", 0, 65536, UINT32_MAX, read_loop, NULL },
	{ "Scan", 0, 65536, UINT32_MAX, read_scan, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

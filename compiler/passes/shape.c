// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `shape`: shapes of all tensors, and constants out of what is computed of
 * constants alone. Both at once, in the order of the nodes: a shape may be the result
 * of arithmetic on shapes before it.
 */
#include <string.h>

#include "ir/interp.h"
#include "ir/kernel.h"
#include "sizes.h"

/* ---- the shapes of the graph's inputs ---- */

static int apply_shape(struct vtac_graph *g, const struct vtac_shape_option *o)
{
	struct vtac_tensor *t = NULL;

	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (o->input ? !strcmp(g->inputs[i]->name, o->input) : g->n_inputs == 1)
			t = g->inputs[i];
	if (!t)
		return vtac_fail(g, NULL, "The model has no input %.120s to give a shape to.",
				 o->input ? o->input : "that is the only one");
	if (o->rank != t->rank)
		return vtac_fail(g, NULL, "Input %.120s has %d dimensions, the shape given has %d.",
				 t->name, t->rank, o->rank);
	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] > 0 && t->dims[i] != o->dims[i] && i)
			return vtac_fail(g, NULL,
					 "Dimension %d of input %.120s is %lld in the file.", i,
					 t->name, (long long)t->dims[i]);
	return vtac_set_shape(g, NULL, t, o->rank, o->dims);
}

/* An open number of images is 1; other open dimensions are an error. */
static int complete_input(struct vtac_graph *g, struct vtac_tensor *t)
{
	if (t->rank > 0 && t->dims[0] < 0)
		t->dims[0] = 1;
	for (int i = 0; i < t->rank; i++)
		if (!t->dims[i])
			return vtac_fail(g, NULL,
					 "Dimension %d of input %.120s is 0 in the file, so that it "
					 "has no values: give its shape by --shape.",
					 i, t->name);
	for (int i = 1; i < t->rank; i++)
		if (t->dims[i] < 0)
			return vtac_fail(g, NULL,
					 "The file leaves dimension %d of input %.120s open: give "
					 "its shape by --shape.",
					 i, t->name);
	return vtac_set_shape(g, NULL, t, t->rank, t->dims);
}

static int input_shapes(struct vtac_graph *g, const struct vtac_options *opt)
{
	for (unsigned int i = 0; opt && i < opt->n_shapes; i++)
		if (apply_shape(g, &opt->shapes[i]))
			return -1;
	for (unsigned int i = 0; i < g->n_inputs; i++)
		if (complete_input(g, g->inputs[i]))
			return -1;
	return 0;
}

/* ---- folding ---- */

/*
 * Multiplications for all nodes that are folded: some seconds. A file with more of them is compiled
 * too, if its program can do the rest.
 */
#define FOLD_MAX	(UINT64_C(1) << 32)

/* Does what @node takes leave time for it? Its calls are made only to know that. */
static bool is_short(struct vtac_graph *g, const struct vtac_node *node)
{
	struct vtac_call *calls = NULL;
	unsigned int n = 0;
	uint64_t work = 0;

	/* Errors are found again by what folds it, or lowers it. */
	if (vtac_is_shape_op(node->op) || vtac_calls(g, node, &calls, &n))
		return true;
	for (unsigned int i = 0; i < n; i++)
		work += calls[i].need.work;
	if (work > FOLD_MAX - g->folded)
		return false;
	g->folded += work;
	return true;
}

/* Operators that take long are left to the run; scales stay for quantisation. */
static bool is_foldable(const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_SHAPE:
	case VTAC_EYE:
		return true;
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
	case VTAC_GEMM:
	case VTAC_MATMUL:
	case VTAC_MAX_POOL:
	case VTAC_AVG_POOL:
	case VTAC_DEQUANTIZE:
		return false;
	default:
		break;
	}
	for (unsigned int i = 0; i < node->n_in; i++)
		if (node->in[i] && !node->in[i]->data)
			return false;
	return node->n_in > 0;
}

int vtac_fold_node(struct vtac_graph *g, struct vtac_node *node)
{
	void **data = vtac_alloc(g, node->n_out, sizeof(*data));

	if (!data)
		return -1;
	for (unsigned int i = 0; i < node->n_out; i++) {
		if (!node->out[i])
			continue;
		data[i] = vtac_alloc(g, (uint64_t)vtac_bytes(node->out[i]) + 1, 1);
		if (!data[i])
			return -1;
	}
	if (vtac_run_constant(g, node, data))
		return -1;
	for (unsigned int i = 0; i < node->n_out; i++) {
		struct vtac_tensor *t = node->out[i];

		vtac_node_set_out(node, i, NULL);
		if (t)
			t->data = data[i];
	}
	vtac_node_remove(node);
	return 0;
}

/*
 * Leave out a node that changes nothing. A graph's output keeps its name: then it is the
 * producer that writes it.
 */
static int bypass(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *x = node->in[0], *y = node->out[0];
	struct vtac_node *from = x->producer;

	if (!vtac_is_output(g, y)) {
		vtac_node_remove(node);
		return vtac_tensor_replace(g, y, x);
	}
	if (!from || vtac_is_output(g, x))
		return 0;
	vtac_node_remove(node);
	for (unsigned int i = 0; i < from->n_out; i++)
		if (from->out[i] == x)
			vtac_node_set_out(from, i, y);
	return vtac_tensor_replace(g, x, y);
}

static bool is_nothing(const struct vtac_node *node)
{
	switch (node->op) {
	case VTAC_IDENTITY:
		return true;
	case VTAC_CAST:
		return node->in[0]->dtype == node->attr.cast.to;
	case VTAC_RESHAPE:
	case VTAC_EXPAND:
		return vtac_same_shape(node->in[0], node->out[0]) &&
		       vtac_same_size(node->in[0], node->out[0]);
	case VTAC_SLICE:
		return vtac_slice_is_whole(node) && vtac_same_size(node->in[0], node->out[0]);
	case VTAC_CONCAT:
		return node->n_in == 1;
	case VTAC_TRANSPOSE:
		for (int i = 0; i < node->in[0]->rank; i++)
			if (node->attr.transpose.perm[i] != i)
				return false;
		return true;
	case VTAC_PAD:
		for (int i = 0; i < node->in[0]->rank; i++)
			if (node->attr.pad.before[i] || node->attr.pad.after[i])
				return false;
		return true;
	default:
		return false;
	}
}

/* Cut a constant list off behind its entries, which have been counted. */
static int fold_count(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_tensor *list = node->in[0], *n = node->out[0];

	if (vtac_fold_node(g, node))
		return -1;
	return list->size == n ? vtac_shrink(g, list, *(const int64_t *)n->data) : 0;
}

static int shape_with_sizes(struct vtac_graph *g, struct vtac_node *node)
{
	unsigned int n = node->n_in < SIZES_INPUTS ? node->n_in : SIZES_INPUTS;
	struct vtac_tensor *in[SIZES_INPUTS];

	if (!g->has_sizes)
		return vtac_shape_node(g, node);
	if (vtac_bound_inputs(g, node))
		return -1;
	memcpy(in, node->in, n * sizeof(struct vtac_tensor *));
	return vtac_shape_node(g, node) || vtac_set_sizes(g, node, in, n) ? -1 : 0;
}

int vtac_shape_memory(struct vtac_graph *g, struct vtac_node *node)
{
	if (vtac_shape_node(g, node))
		return -1;
	return is_foldable(node) && is_short(g, node) ? vtac_fold_node(g, node) : 0;
}

int vtac_shape_made(struct vtac_graph *g, struct vtac_node *node)
{
	if (vtac_is_control(node->op))
		return vtac_expand(g, node);
	if (shape_with_sizes(g, node))
		return -1;
	if (is_foldable(node) && is_short(g, node))
		return node->op == VTAC_COUNT ? fold_count(g, node) : vtac_fold_node(g, node);
	return is_nothing(node) ? bypass(g, node) : 0;
}

/* Does @node depend on one that was refused? Nothing can be said of it. */
static bool follows_refusal(const struct vtac_graph *g, const struct vtac_node *node)
{
	for (unsigned int i = 0; g->refusals && i < node->n_in; i++)
		if (node->in[i] && node->in[i]->rank < 0)
			return true;
	return false;
}

/* Go on behind @node, whose outputs have no shape; -1 if the error is of another kind. */
static int refuse_shape(struct vtac_graph *g, struct vtac_node *node)
{
	if (vtac_refuse(g, node))
		return -1;
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i])
			node->out[i]->rank = -1;
	return 0;
}

int vtac_shape_nodes(struct vtac_graph *g, unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++) {
		struct vtac_node *node = g->nodes[i];

		if (!node->dead && !follows_refusal(g, node) && vtac_shape_made(g, node) &&
		    refuse_shape(g, node))
			return -1;
	}
	return 0;
}

int vtac_pass_shape(struct vtac_graph *g, const struct vtac_options *opt)
{
	/* Nodes that are made meanwhile have been shaped. */
	if (input_shapes(g, opt) || vtac_shape_nodes(g, 0, g->n_nodes))
		return -1;
	return vtac_refused(g) || vtac_output_sizes(g) || vtac_graph_dce(g) ? -1 : 0;
}

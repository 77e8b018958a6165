// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `rounded`: a product that stays on the CPU, of values that a node rounds to 256 steps
 * and weights that the file has as integers of 8 bits, is computed with integers.
 */
#include "passes.h"

#define DEPTH	32768	/* of vtacpu_gemm_rounded() */

/* Weights as int8, with what they are multiplied by. */
struct weights {
	int8_t *values;
	int32_t *zeros;
	int64_t n, k, scales;
};

static bool is_on_cpu(const struct vtac_node *node, enum vtac_op op)
{
	return node && node->op == op && node->device == VTAC_CPU;
}

/* The node that rounds @x, which may be a Reshape of what it makes; or NULL. */
static struct vtac_node *rounding_of(const struct vtac_tensor *x)
{
	struct vtac_node *node = x->producer;

	if (is_on_cpu(node, VTAC_RESHAPE))
		node = node->in[0]->producer;
	return is_on_cpu(node, VTAC_ROUND) ? node : NULL;
}

/* A product of the form that fuse makes, without residual. */
static bool is_plain(const struct vtac_node *node)
{
	const struct vtac_gemm *a = &node->attr.gemm;
	const struct vtac_tensor *w = node->in[1], *c = node->n_in > 2 ? node->in[2] : NULL;

	if (node->n_in > 3 && node->in[3])
		return false;
	return !a->trans_x && a->trans_w && a->alpha == 1 && a->beta == 1 && w->data &&
	       w->dtype == VTAC_F32 && w->dims[1] <= DEPTH &&
	       (!c || (c->rank == 1 && c->dims[0] == w->dims[0]));
}

/* Of the float @v: true, and the integer, if that stands for exactly this float. */
static bool integer_of(float v, float scale, int32_t zero, int32_t offset, int8_t *to)
{
	float q = v / scale;
	int32_t i;

	if (!(q >= -512 && q <= 512))
		return false;
	i = (int32_t)(q < 0 ? q - 0.5f : q + 0.5f) + zero - offset;
	*to = (int8_t)i;
	return i >= -128 && i <= 127 && (float)(i + offset - zero) * scale == v;
}

/* Are the floats of @t those of integers of 8 bits? Unsigned ones become int8. */
static bool find_integers(const struct vtac_tensor *t, const struct weights *w)
{
	const struct vtac_quant *q = &t->quant;
	int32_t offset = q->type == VTAC_U8 ? 128 : 0;
	const float *from = t->data;

	for (int64_t i = 0; i < w->n; i++) {
		int64_t scale = w->scales > 1 ? i : 0;
		int32_t zero = q->zero ? q->zero[scale] : 0;

		for (int64_t l = 0; l < w->k; l++)
			if (!integer_of(from[i * w->k + l], q->scale[scale], zero, offset,
					&w->values[i * w->k + l]))
				return false;
		w->zeros[scale] = zero - offset;
	}
	return true;
}

static bool has_integers(const struct vtac_tensor *t)
{
	const struct vtac_quant *q = &t->quant;

	return q->scale && q->given && (q->type == VTAC_I8 || q->type == VTAC_U8) &&
	       (q->n == 1 || (q->axis == 0 && q->n == t->dims[0]));
}

/* @x in the shape of @like, as another node may have it already. */
static struct vtac_tensor *reshaped(struct vtac_graph *g, const struct vtac_node *node,
				    struct vtac_tensor *x, const struct vtac_tensor *like)
{
	struct vtac_node *made;
	struct vtac_tensor *t;

	if (vtac_same_shape(x, like))
		return x;
	for (unsigned int i = 0; i < x->n_users; i++)
		if (is_on_cpu(x->users[i], VTAC_RESHAPE) &&
		    vtac_same_shape(x->users[i]->out[0], like))
			return x->users[i]->out[0];
	made = vtac_node_new(g, VTAC_RESHAPE, node->name, 1, 1);
	t = made ? vtac_tensor_shaped(g, x->name, VTAC_F32, like->rank, like->dims) : NULL;
	if (!t || vtac_node_set_in(g, made, 0, x))
		return NULL;
	made->file_op = node->file_op;
	made->why = node->why;
	vtac_node_set_out(made, 0, t);
	return t;
}

static int replace(struct vtac_graph *g, struct vtac_node *node, const struct vtac_node *rounding,
		   const struct weights *w)
{
	const struct vtac_tensor *from = node->in[1];
	struct vtac_tensor *in[] = {
		reshaped(g, node, rounding->in[0], node->in[0]), rounding->in[1],
		vtac_tensor_const(g, from->name, VTAC_I8, 2, from->dims, w->values, false),
		vtac_tensor_const(g, "scales", VTAC_F32, 1, &w->scales, from->quant.scale, false),
		vtac_tensor_const(g, "zeros", VTAC_I32, 1, &w->scales, w->zeros, false),
		node->n_in > 2 ? node->in[2] : NULL,
	};

	if (!in[0] || !in[2] || !in[3] || !in[4] || vtac_node_resize_in(g, node, 6))
		return -1;
	for (unsigned int i = 0; i < 6; i++)
		if (vtac_node_set_in(g, node, i, in[i]))
			return -1;
	node->op = VTAC_GEMM_ROUNDED;
	node->attr = (union vtac_attr){ 0 };
	return 0;
}

static int try_node(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_node *rounding = is_on_cpu(node, VTAC_GEMM) ? rounding_of(node->in[0]) :
		NULL;
	const struct vtac_tensor *t = node->in[1];
	struct weights w;

	if (!rounding || !is_plain(node) || !has_integers(t))
		return 0;
	w = (struct weights){
		.values = vtac_alloc(g, (uint64_t)vtac_elements(t) + 1, 1),
		.zeros = vtac_alloc(g, (uint64_t)t->quant.n, sizeof(*w.zeros)),
		.n = t->dims[0], .k = t->dims[1], .scales = t->quant.n,
	};
	if (!w.values || !w.zeros)
		return -1;
	return find_integers(t, &w) ? replace(g, node, rounding, &w) : 0;
}

int vtac_pass_rounded(struct vtac_graph *g, const struct vtac_options *opt)
{
	unsigned int n = g->n_nodes;

	(void)opt;
	for (unsigned int i = 0; i < n; i++)
		if (try_node(g, g->nodes[i]))
			return -1;
	return vtac_graph_dce(g);
}

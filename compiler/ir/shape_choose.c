// SPDX-License-Identifier: Apache-2.0
/* Shapes of lists whose length data decides: the longest that they can be. */
#include <math.h>

#include "shape_impl.h"

/* The list's size is that of dimension @open, once the reader has made what counts it. */
static int list_shape(struct vtac_graph *g, struct vtac_node *node, int rank, const int64_t *dims)
{
	node->out[0]->dtype = VTAC_I64;
	return vtac_set_shape(g, node, node->out[0], rank, dims);
}

int shape_non_zero(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];

	if (!x->rank)
		return vtac_fail(g, node, "Its input is a single value.");
	return list_shape(g, node, 2, (const int64_t[]){ x->rank, vtac_elements(x) });
}

int shape_unique(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0];
	int64_t n = vtac_elements(x);
	int axis = 0;

	if (!node->attr.unique.flat) {
		if (shape_axis(g, node, node->attr.unique.axis, x->rank, &axis))
			return -1;
		n = x->dims[axis];
	}
	node->attr.unique.axis = axis;
	return list_shape(g, node, 1, &n);
}

/* One constant number of input @i, or the default @value. */
static int constant_float(struct vtac_graph *g, const struct vtac_node *node, unsigned int i,
			  float *value)
{
	const struct vtac_tensor *t = i < node->n_in ? node->in[i] : NULL;

	if (!t)
		return 0;
	if (!t->data || vtac_elements(t) != 1 || t->dtype != VTAC_F32)
		return vtac_fail(g, node, "Its input %.120s is not one constant float.", t->name);
	*value = *(const float *)t->data;
	return 0;
}

/* Constants move to the attributes; the number of boxes in use stays, as input 2. */
int shape_nms(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *b = node->in[0], *s = node->in[1];
	int64_t most = 0;

	if (node->n_in <= 3 && node->out[0]->rank >= 0)
		return 0;	/* done before */
	if (b->rank != 3 || s->rank != 3 || b->dims[2] != 4 || b->dims[0] != s->dims[0] ||
	    b->dims[1] != s->dims[2] || b->dtype != VTAC_F32 || s->dtype != VTAC_F32)
		return vtac_fail(g, node, "Its boxes and scores do not fit each other.");
	if (shape_ints(g, node, 2, &most, 1) == -2 ||
	    constant_float(g, node, 3, &node->attr.nms.overlap) ||
	    constant_float(g, node, 4, &node->attr.nms.score))
		return -1;
	node->attr.nms.has_score = node->n_in > 4 && node->in[4];
	most = most < 0 ? 0 : most < b->dims[1] ? most : b->dims[1];
	if (!most) {
		/* Room for one, as lists have, but no score is high enough. */
		most = 1;
		node->attr.nms.has_score = true;
		node->attr.nms.score = INFINITY;
	}
	node->attr.nms.most = most;
	if (vtac_node_set_in(g, node, 2, node->n_in > 5 ? node->in[5] : NULL) ||
	    vtac_node_resize_in(g, node, 3))
		return -1;
	return list_shape(g, node, 2, (const int64_t[]){ b->dims[0] * s->dims[1] * most, 3 });
}

int shape_count(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_bound *bound = vtac_alloc(g, 1, sizeof(*bound));
	const struct vtac_tensor *x = node->in[0];

	if (!bound)
		return -1;
	if (x->dtype != VTAC_I64 || x->open >= x->rank)
		return vtac_fail(g, node, "Its input is not a list of indices.");
	*bound = (struct vtac_bound){ .most = x->dims[x->open], .size = node->out[0] };
	node->out[0]->bounds = bound;
	node->out[0]->dtype = VTAC_I64;
	return vtac_set_shape(g, node, node->out[0], 0, NULL);
}

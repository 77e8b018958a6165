// SPDX-License-Identifier: Apache-2.0
/* Shapes of samples of pictures, and of products by labels. */
#include <string.h>

#include "shape_impl.h"

int shape_grid_sample(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *grid = node->in[1];
	int64_t dims[VTAC_RANK_MAX];

	if ((x->rank != 4 && x->rank != 5) || grid->rank != x->rank ||
	    grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != x->rank - 2)
		return vtac_fail(g, node, "Its grid does not fit its input.");
	memcpy(dims, x->dims, sizeof(dims));
	for (int i = 2; i < x->rank; i++)
		dims[i] = grid->dims[i - 1];
	return shape_out(g, node, x->rank, dims);
}

int shape_roi_align(struct vtac_graph *g, struct vtac_node *node)
{
	const struct vtac_tensor *x = node->in[0], *rois = node->in[1], *image = node->in[2];

	if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || image->rank != 1 ||
	    image->dims[0] != rois->dims[0] || image->dtype != VTAC_I64 ||
	    rois->dtype != VTAC_F32)
		return vtac_fail(g, node, "Its regions do not fit its input.");
	if (node->attr.roi.h < 1 || node->attr.roi.h > SHAPE_PARAM_MAX || node->attr.roi.w < 1 ||
	    node->attr.roi.w > SHAPE_PARAM_MAX || node->attr.roi.samples < 0)
		return vtac_fail(g, node, "Its sizes are out of range.");
	return shape_out(g, node, 4, (const int64_t[]){ rois->dims[0], x->dims[1],
							node->attr.roi.h, node->attr.roi.w });
}

/* ---- products by labels ---- */

/* Put digits for the dimensions of '.', as many as there are: the last one is always '7'. */
static int expand_labels(struct vtac_graph *g, const struct vtac_node *node,
			 char labels[VTAC_LABELS_MAX], int rank, int *any)
{
	char *dot = strchr(labels, '.'), own[2 * VTAC_LABELS_MAX];
	int n = dot ? rank - ((int)strlen(labels) - 1) : 0, k = 0;

	if (rank > VTAC_RANK_MAX || n < 0 || (!dot && (int)strlen(labels) != rank))
		return vtac_fail(g, node, "Its equation has %zu labels for %d dimensions.",
				 strlen(labels), rank);
	for (const char *p = labels; *p; p++) {
		if (*p != '.')
			own[k++] = *p;
		for (int i = 0; *p == '.' && i < n; i++)
			own[k++] = (char)('8' - n + i);
	}
	own[k] = 0;
	memcpy(labels, own, (size_t)k + 1);
	*any = n > *any ? n : *any;
	return 0;
}

/* The size of @label in an operand, or -1. */
static int64_t size_of_label(const struct vtac_tensor *t, const char *labels, char label)
{
	int64_t size = -1;

	for (int i = 0; labels[i]; i++)
		if (labels[i] == label)
			size = size == -1 || size == 1 ? t->dims[i] : size;
	return size;
}

static int check_labels(struct vtac_graph *g, const struct vtac_node *node,
			const struct vtac_tensor *t, const char *labels)
{
	for (int i = 0; labels[i]; i++) {
		int64_t a = size_of_label(node->in[0], node->attr.einsum.a, labels[i]);
		int64_t b = node->n_in > 1 ?
			size_of_label(node->in[1], node->attr.einsum.b, labels[i]) : -1;
		int64_t most = a > b ? a : b;

		if (t->dims[i] != most && t->dims[i] != 1)
			return vtac_fail(g, node, "Its label %c has sizes that differ.", labels[i]);
	}
	return 0;
}

int shape_einsum(struct vtac_graph *g, struct vtac_node *node)
{
	struct vtac_einsum *e = &node->attr.einsum;
	int64_t dims[VTAC_RANK_MAX];
	int any = 0, rank;

	if (expand_labels(g, node, e->a, node->in[0]->rank, &any) ||
	    (node->n_in > 1 && expand_labels(g, node, e->b, node->in[1]->rank, &any)))
		return -1;
	rank = (int)strlen(e->y) + (strchr(e->y, '.') ? any - 1 : 0);
	if (expand_labels(g, node, e->y, rank, &any) || check_labels(g, node, node->in[0], e->a) ||
	    (node->n_in > 1 && check_labels(g, node, node->in[1], e->b)))
		return -1;
	for (int i = 0; i < rank; i++) {
		int64_t a = size_of_label(node->in[0], e->a, e->y[i]);
		int64_t b = node->n_in > 1 ? size_of_label(node->in[1], e->b, e->y[i]) : -1;

		dims[i] = a > b ? a : b;
		if (dims[i] < 0 || strchr(e->y + i + 1, e->y[i]))
			return vtac_fail(g, node, "Its output's label %c is not one of an input.",
					 e->y[i]);
	}
	return shape_out(g, node, rank, dims);
}

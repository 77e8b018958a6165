/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a tensor in another order, without moving them: a view by strides. */
#ifndef VTAC_VIEWS_H
#define VTAC_VIEWS_H

#include "ir/graph.h"

#define VIEW_ATOMS_MAX	16

/* A dimension of a view, or a factor of one: @size places that are @stride values apart */
struct view_atom {
	int64_t size, stride;
	int dim;
};

/*
 * The values of a tensor of @rank dimensions in those of @t: the atoms of each dimension, from the
 * outer to the inner, lead from @offset on to values of @t, whose plain order counts. Real values
 * are times @alpha. @quant is what the file gives these values nearest to @t, @t's own not counted.
 */
struct view {
	struct vtac_tensor *t;
	int64_t offset;
	float alpha;
	const struct vtac_quant *quant;	/* the file's, of a tensor between, or NULL */
	int rank, n;
	struct view_atom atoms[VIEW_ATOMS_MAX];
};

/* The view that @t is of itself; false if it has too many dimensions. */
bool view_init(struct view *v, struct vtac_tensor *t);
/*
 * Let @v be a view of the input of the node that moves the values of its tensor, or that multiplies
 * them by a number. Returns false, and leaves @v, if its producer is no such node, or the places
 * have no strides.
 */
bool view_step(struct view *v);
/* Joins neighbours of one dimension that are a single stride; drops those of one place. */
void view_join(struct view *v);

#endif /* VTAC_VIEWS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the passes of a normalisation. */
#ifndef OPS_NORM_IMPL_H
#define OPS_NORM_IMPL_H

#include "ops_impl.h"

#define NORM_DIGITS	4		/* of each number */
#define NORM_DIGIT	8		/* bits */
#define NORM_BYTES	(2 * NORM_DIGITS)	/* of a position */

struct norm_job {
	struct vtaops_builder *b;
	const struct vtaops_norm *op;
	uint32_t each;			/* positions of a group */
	uint32_t blocks;		/* of channels */
	uint32_t images, positions, groups;	/* elements of images; of each of these */
	bool rows;			/* blocks follow each other, not positions */
	bool gathers;
	uint32_t src, out;		/* element indices */
	uint32_t planes;		/* likewise: where measure reads, */
	uint32_t plane;			/* and elements from one block to the next */
	uint32_t digits;		/* element index: [images][NORM_BYTES][groups] */
	uint32_t ones;			/* ACC element of the last block's mask */
	uint32_t tables_wgt, tables_acc;
	uint32_t steps;
};

/* A part of several planes: one move, or one for each if they are too far apart for that. */
void norm_move_planes(struct norm_job *j, struct ops_move m, bool store);

/* norm_measure.c, norm_apply.c: the second and the third pass. Return the builder's error. */
int norm_measure(struct norm_job *j);
int norm_apply(struct norm_job *j);

#endif /* OPS_NORM_IMPL_H */

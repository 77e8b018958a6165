/* SPDX-License-Identifier: Apache-2.0 */
/* Post-processing of accumulators before they are stored: struct vtaops_post. */
#ifndef OPS_POST_H
#define OPS_POST_H

#include "ops_impl.h"

enum ops_vector { VEC_BIAS, VEC_MUL, VEC_SHIFT, VEC_RES, VEC_START, VEC_KINDS };

struct ops_post {
	const struct vtaops_post *post;
	uint32_t vectors;		/* of per-channel values, each with a slot below that */
	uint32_t slot[VEC_KINDS];
	uint32_t at[VEC_KINDS];		/* by slot, rising: element indices */
	bool has[VEC_KINDS];
	bool in_range;			/* accumulators are within OUT's range before it */
};

/* @channels: number of elements of each vector. Errors: as vtaops.h. */
int ops_post_init(struct vtaops_builder *b, struct ops_post *p, const struct vtaops_post *post,
		  uint64_t channels);
/* One more vector, at address @addr: VEC_RES or VEC_START, for what comes before the sums. */
int ops_post_add_vector(struct vtaops_builder *b, struct ops_post *p, enum ops_vector vector,
			uint32_t addr, uint64_t channels);

/* Micro-ops for one place of a tile: ops_post_uops() makes, ops_post_apply() takes them. */
static inline uint32_t ops_post_uop_count(const struct ops_post *p)
{
	return p->vectors ? p->vectors : 1;
}

/* For a tile at @acc with its vectors, of @channels elements each, at @params. */
uint32_t ops_post_uops(struct vtaops_builder *b, const struct ops_post *p, uint32_t acc,
		       uint32_t params, uint32_t channels);

/* Load @channels elements of each vector, from element @first on, to @params. */
void ops_post_load(struct vtaops_builder *b, const struct ops_post *p, uint32_t params,
		   uint32_t first, uint32_t channels);

/* The loops of a tile; src factors lead from an accumulator to its channel. */
void ops_post_apply(struct vtaops_builder *b, const struct ops_post *p, uint32_t uop,
		    const struct ops_loop *loop);

/* Likewise, of accumulators that a residual was loaded to. */
void ops_post_residual(struct vtaops_builder *b, const struct ops_post *p, uint32_t uop,
		       const struct ops_loop *loop);

/* Likewise: what accumulators hold, not less than OUT can, becomes what their sums begin with. */
void ops_post_start(struct vtaops_builder *b, const struct ops_post *p, uint32_t uop,
		    const struct ops_loop *loop);

/* Add @offset to the accumulators of @loop, in immediates of 16 bits. */
void ops_add_offset(struct vtaops_builder *b, const struct ops_loop *loop, int offset);

/*
 * Micro-ops of two operands of @size accumulators each, from @acc on: of the first, of the second,
 * and of both. Returns the first one's place.
 */
uint32_t ops_pair_uops(struct vtaops_builder *b, uint32_t acc, uint32_t size);

/* Approximate cycles of ops_post_apply() for @elements. */
uint64_t ops_post_cost(const struct ops_post *p, uint64_t elements);

#endif /* OPS_POST_H */

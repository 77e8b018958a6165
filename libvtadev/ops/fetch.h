/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of INP's width into the accumulators, for what ALU computes. */
#ifndef OPS_FETCH_H
#define OPS_FETCH_H

#include "ops_impl.h"

/*
 * LOAD widens int8 only. Narrower values go through the inp scratchpad and GEMM,
 * with the identity as weights.
 */
struct ops_fetch {
	bool by_gemm;
	uint32_t identity;	/* element index */
	uint32_t fetches;	/* so far */
};

/* @identity: device address, needed where inputs are narrower than 8 bits. */
int ops_fetch_init(struct vtaops_builder *b, struct ops_fetch *f, uint32_t identity);

/* The largest number of elements of one fetch. */
uint32_t ops_fetch_max(const struct vtaops_builder *b, const struct ops_fetch *f);

/*
 * Bring a region (its type and sram are not used) of each of @planes planes that follow each other
 * to the accumulators from @acc on; @uop is a micro-op in the scratchpad with @acc, 0, 0.
 */
void ops_fetch(struct vtaops_builder *b, struct ops_fetch *f, const struct ops_region *r,
	       uint32_t planes, uint32_t acc, uint32_t uop);

/* ops_barrier()'s @to_load. */
static inline unsigned int ops_fetch_tokens(const struct ops_fetch *f)
{
	return f->by_gemm && f->fetches;
}

#endif /* OPS_FETCH_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lowering. */
#ifndef VTAC_LOWER_IMPL_H
#define VTAC_LOWER_IMPL_H

#include "program.h"

/* Device addresses of a node's constants. */
struct lowered {
	uint32_t wgt, bias, muls, shifts, res_muls, identity;
	uint32_t start;		/* of sums, instead of the bias */
	uint32_t around;	/* the input of a convolution, instead of zeros */
	uint32_t ones;		/* of a product or normalisation of no whole blocks */
	uint32_t depthwise;	/* weights for the ALU, if that is faster */
};

struct lowering {
	struct vtac_graph *g;
	const struct vtac_options *opt;
	struct vtac_program *p;
	struct vtac_node *node;		/* that errors are about */
	const struct vtac_node *step_node;	/* that steps are made of */
	struct vtaops_builder b;
	struct vtaops_insn *insns;
	uint32_t *uops;
	uint64_t uops_at, align;
	struct lowered *constants;	/* by node id, from @first_id on */
	unsigned int first_id;
	uint32_t identity;		/* device address, 0: not made yet */
	uint32_t norm_tables;		/* likewise: vtaops_pack_norm() */
	uint64_t work;			/* of the CPU's kernels */
	uint64_t scratch_at;		/* in host; the same for all steps */
	uint64_t card_scratch_at;	/* in the arena, behind all tensors; likewise */
};

/* Reserve @bytes of @s, the model or the consts. It grows: pointers into it change. */
int lower_reserve(struct lowering *l, struct vtac_segment *s, uint64_t bytes, uint64_t align,
		  uint64_t *offset);
/*
 * Shares a constant of @bytes at @offset, the end of @s: if @s has the same bytes already, these
 * are removed, and @offset becomes that of the others.
 */
int lower_share(struct lowering *l, struct vtac_segment *s, uint64_t bytes, uint64_t *offset);
/* The device address of a tensor on the card. */
uint32_t lower_tensor(const struct vtac_tensor *t);

/* lower_node.c */
int lower_constants(struct lowering *l, const struct vtac_node *node);
int lower_node(struct lowering *l, const struct vtac_node *node);

#endif /* VTAC_LOWER_IMPL_H */

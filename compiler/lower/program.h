/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a quantised graph as a program: streams for the card, calls for the CPU
 *
 * Memory, all planned here:
 *	model	what does not change and the card reads: streams, micro-ops, weights
 *	card	what the card computes, packed as vtaops.h says
 *	host	what the CPU computes and packs, and its kernels' scratch memory
 * Addresses in streams are VTAIMAGE_MODEL and VTAIMAGE_ARENA + offset (vtaimage.h).
 */
#ifndef VTAC_PROGRAM_H
#define VTAC_PROGRAM_H

#include "ir/kernel.h"
#include "ir/options.h"
#include "vtaimage.h"

/* One thing that lives from step @first to step @last, at an offset that plan finds. */
struct vtac_live_range {
	uint64_t bytes, offset;
	unsigned int first, last;
};

/*
 * Offsets for @n blocks, multiples of @align, so that those that live at one time do not
 * overlap. Returns the bytes in all; @bound gets the most that lives at one time.
 */
int vtac_plan_ranges(struct vtac_graph *g, struct vtac_live_range *blocks, unsigned int n,
		     uint64_t align, uint64_t *total, uint64_t *bound);

enum vtac_step_kind { VTAC_STEP_CARD, VTAC_STEP_CPU, VTAC_STEP_COPY, VTAC_STEP_FILL };

struct vtac_step {
	enum vtac_step_kind kind;
	/* CARD: a stream in the model */
	uint32_t insn_at, insn_count;	/* offset, instructions */
	uint64_t cycles;
	const struct vtac_node *node;		/* CPU, COPY, FILL */
	const struct vtac_call *call;		/* CPU */
	/* COPY: of what is packed, between host and card */
	const struct vtac_tensor *from, *to;
	uint32_t bytes, rows, pitch;	/* as struct vtaimage_step has them */
	/* FILL: @bytes from @skip on of @to's memory */
	uint32_t skip, pattern;
};

struct vtac_program {
	struct vtac_graph *graph;
	struct vtaops_core core;
	uint8_t *model;
	uint64_t model_bytes, model_max;
	uint64_t card_bytes, card_bound;	/* the arena, and the least that it could be */
	uint64_t host_bytes, host_bound;
	uint64_t scratch_at;			/* of the CPU's kernels, at the end of host */
	uint64_t weight_bytes;
	struct vtac_step *steps;
	unsigned int n_steps, max_steps;
	uint64_t cycles;
	unsigned int regions;
};

/*
 * dry_run.c: the cycles that the card takes for a node, or the reason why it cannot compute it.
 * Returns -1 without memory.
 */
int vtac_dry_run(struct vtac_graph *g, struct vtac_node *node, const struct vtac_options *opt,
		 uint64_t *cycles, const char **why);
/* Is operand @i of two a value for each channel, and the other of the output's shape? */
bool vtac_is_channel_operand(const struct vtac_node *node, unsigned int i);

/* Offsets of all tensors (vtac_tensor.offset): memory_plan.c. */
int vtac_memory_plan(struct vtac_program *p, const struct vtac_options *opt);
/* The whole of it; free with the graph, but for vtac_program_free(). */
int vtac_lower(struct vtac_graph *g, const struct vtac_options *opt, struct vtac_program *p);
void vtac_program_free(struct vtac_program *p);

/* image.c: what a program image has beside the program. */
struct vtac_image_options {
	const char *name;		/* NULL: the graph's */
	bool internals;			/* tensors of the card are listed, too */
	const char *text[VTAIMAGE_TEXTS];	/* labels, reports; or NULL */
	const struct vtaimage_preprocess *preprocess;
	unsigned int preprocess_count;
};

/* The bytes of a .vtap file, to be freed. The same program gives the same bytes. */
int vtac_image(const struct vtac_program *p, const struct vtac_image_options *opt,
	       uint8_t **image, size_t *size);

/* Bytes of a tensor in its layout. */
uint64_t vtac_tensor_bytes(const struct vtac_program *p, const struct vtac_tensor *t);

/* A tensor on the card as vtaops.h has it: N, C, H, W. */
struct vtac_packed {
	uint32_t n, c, h, w;
};
struct vtac_packed vtac_packed_shape(const struct vtac_tensor *t);

#endif /* VTAC_PROGRAM_H */

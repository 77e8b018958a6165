/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a quantised graph as a program: streams for the card, calls for the CPU
 *
 * Memory, all planned by memory_plan and here:
 *	model	constants of the card: streams, micro-ops, weights
 *	consts	constants of the CPU
 *	card	tensors of the card, packed as vtaops.h says
 *	host	tensors of the CPU, packed ones too, and behind them scratch memory of its kernels
 * Addresses in streams are VTAIMAGE_MODEL and VTAIMAGE_ARENA + offset (vtaimage.h).
 */
#ifndef VTAC_PROGRAM_H
#define VTAC_PROGRAM_H

#include "ir/kernel.h"
#include "ir/options.h"
#include "vtaimage.h"

/* A block of memory that lives from step @first to step @last, at an offset that the plan finds. */
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

/* Memory that grows; @max bytes are allocated. Constants of the same contents are in it once. */
struct vtac_segment {
	uint8_t *data;
	uint64_t bytes, max;
	struct vtac_content *contents;	/* of the constants, by hash; half of the table is free */
	unsigned int n_contents, max_contents;
};

struct vtac_program {
	struct vtac_graph *graph;
	struct vtaops_core core;
	struct vtac_segment model, consts;
	uint64_t card_bytes, card_bound;	/* the arena, and the least that it could be */
	uint64_t host_bytes, host_bound;
	uint64_t weight_bytes;
	struct vtaimage_stream *streams;	/* one of each region of the card */
	struct vtaimage_step *steps;
	const struct vtac_node **step_nodes;	/* of each step; of a RUN, the region's first */
	unsigned int n_streams, n_steps;
	uint64_t cycles;
};

/*
 * dry_run.c: the cycles that the card takes for a node, or the reason why it cannot compute it.
 * Returns -1 without memory.
 */
int vtac_dry_run(struct vtac_graph *g, struct vtac_node *node, const struct vtac_options *opt,
		 uint64_t *cycles, const char **why);
/*
 * sum_start.c: the value at which a sum begins so that the multiplier makes a bias of it:
 *	start * mul = bias mod 2^32
 * Returns false if none is at most @least, the least of OUT, as struct vtaops_conv2d needs it.
 */
bool vtac_sum_start(int32_t mul, int32_t bias, int32_t least, int32_t *start);
/* Is operand @i of two a value for each channel, and the other of the output's shape? */
bool vtac_is_channel_operand(const struct vtac_node *node, unsigned int i);

/* memory_plan.c: offsets of all tensors (vtac_tensor.offset), and graph->plan */
int vtac_pass_memory_plan(struct vtac_graph *g, const struct vtac_options *opt);
/*
 * Lower a planned graph. The program uses the graph; vtac_program_free() frees the rest of it.
 */
int vtac_lower(struct vtac_graph *g, const struct vtac_options *opt, struct vtac_program *p);
/*
 * The same for a program of the same file for other shapes: it takes over model and consts of
 * @before, if not NULL, and shares their constants. Of @before all else stays.
 */
int vtac_lower_variant(struct vtac_graph *g, const struct vtac_options *opt,
		       struct vtac_program *before, struct vtac_program *p);
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
/*
 * The same for @n variants, each lowered behind the one before it. All but the reports is read from
 * @opt[0] alone. An error is in the graph of the last.
 */
int vtac_image_variants(const struct vtac_program *p, const struct vtac_image_options *opt,
			unsigned int n, uint8_t **image, size_t *size);

/* Bytes of a tensor in its layout. */
uint64_t vtac_tensor_bytes(const struct vtaops_core *core, const struct vtac_tensor *t);

/* A tensor on the card as vtaops.h has it: N, C, H, W. */
struct vtac_packed {
	uint32_t n, c, h, w;
};
struct vtac_packed vtac_packed_shape(const struct vtac_tensor *t);
/*
 * Are the values of two shapes in the same order when packed? So it is if images and channels are
 * the same, or both are matrices of whole blocks, whose rows follow each other.
 */
bool vtac_has_same_order(const struct vtaops_core *core, const struct vtac_tensor *a,
			 const struct vtac_tensor *b);

#endif /* VTAC_PROGRAM_H */

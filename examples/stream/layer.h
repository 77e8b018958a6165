/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - layers to stream batches through: data, streams, and results by the CPU
 */
#ifndef STREAM_LAYER_H
#define STREAM_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtaops.h"

struct layer_kind {
	const char *name, *help;
	bool dense;			/* or an element-wise sum of two */
	uint32_t rows, in, units;	/* the sum: two inputs of rows x in values */
};

/* Ended by one without a name. */
extern const struct layer_kind layer_kinds[];

/* A layer on a core. Sizes are bytes on the card, in whole elements. */
struct layer {
	const struct layer_kind *kind;
	struct vtaops_core core;
	size_t in_bytes, out_bytes;	/* of a batch */
	size_t wgt_bytes, bias_bytes;	/* 0: there are none */
	size_t insns, uops;		/* of a stream, which is made for one slot */
	int8_t *wgt;			/* plain, as the CPU has them */
	int32_t *bias;
};

/* Device addresses. */
struct layer_addrs {
	uint32_t in, out, wgt, bias, uop;
};

/* Returns 0, or -1 with a sentence in *why and nothing to free. */
int layer_init(struct layer *layer, const struct layer_kind *kind,
	       const struct vtaops_core *core, const char **why);
void layer_free(struct layer *layer);

/* Pack weights and biases for the card. */
void layer_pack(const struct layer *layer, void *wgt, void *bias);

/* Write the stream for one slot: layer.insns instructions, layer.uops micro-ops. */
int layer_lower(const struct layer *layer, const struct layer_addrs *at,
		struct vtaops_insn *insn, uint32_t *uop, const char **why);

/*
 * Make batch @number, and the result that the card must give; both packed.
 * Returns 0, or -1 if there is no memory.
 */
int layer_batch(const struct layer *layer, uint64_t number, void *in, void *want);

#endif /* STREAM_LAYER_H */

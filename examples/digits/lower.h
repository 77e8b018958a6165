/* SPDX-License-Identifier: Apache-2.0 */
/* The network's layers as operators of the card, and places for what they read and write. */
#pragma once

#include "network.h"
#include "vtaops.h"

/* Offsets in two regions of memory, all multiples of @align. */
struct digits_plan {
	const struct vtaops_core *core;
	uint32_t n, align;			/* images at a time */
	size_t act[DIGITS_LAYERS_MAX + 1];	/* activations: of the images, of each layer */
	size_t wgt[DIGITS_LAYERS_MAX], bias[DIGITS_LAYERS_MAX];	/* model */
	size_t acts_size, model_size;
};

/* Take @bytes, aligned, from the region of which @used bytes are in use. Returns their offset. */
size_t digits_take(const struct digits_plan *p, size_t *used, size_t bytes);

/* Fill all from @act on, for a plan with @core, @n and @align. */
void digits_place(struct digits_plan *p);

/* Return the bytes of act[@i]. */
size_t digits_act_bytes(const struct digits_plan *p, unsigned int i);

/* Pack weights and biases into @model, which has room for model_size bytes. */
void digits_pack(const struct digits_plan *p, uint8_t *model);

/* Push layer @i for regions at the device addresses @acts and @model. */
void digits_lower(struct vtaops_builder *b, const struct digits_plan *p, unsigned int i,
		  uint32_t acts, uint32_t model);

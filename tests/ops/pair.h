/* SPDX-License-Identifier: GPL-2.0-only */
/* An image of two variants, which copy "x" to "y": of 2 values, and of 8 through an output "z". */
#ifndef TESTS_OPS_PAIR_H
#define TESTS_OPS_PAIR_H

#include "vtaimage.h"

struct pair {
	struct vtaimage_source source;
	struct vtaimage_tensor tensors[5];
	struct vtaimage_step steps[3];
	struct vtaimage_variant variants[2];
	uint32_t count;
	uint8_t *image;
	size_t size;
};

/* Make the source and the image, for @core, which lives as long. */
void pair_make(struct pair *p, const struct vtaops_core *core);
/* Write the image again, of a source that was changed; it may be invalid. */
void pair_write(struct pair *p);
void pair_free(struct pair *p);

/* A tensor of @n floats at @offset in the host's memory. */
struct vtaimage_tensor pair_tensor(const char *name, enum vtaimage_role role, uint32_t n,
				   uint32_t offset);

#endif /* TESTS_OPS_PAIR_H */

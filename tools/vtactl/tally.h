/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tally.h - how many of a set's images a classifier gets right
 */
#ifndef VTACTL_TALLY_H
#define VTACTL_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtaimage.h"

struct json_object;
struct labels;

/* No class: all values of an output are NaN. */
#define TALLY_NONE	UINT32_MAX

/* Images of class @truth that were taken for @found. */
struct tally_pair {
	uint32_t truth, found;
	size_t images;
};

struct tally {
	size_t images;		/* counted */
	size_t classes;
	uint32_t top;		/* k of the top-k figure; 1: top-1 alone */
	size_t right, right_top;
	size_t *of;		/* [classes] images of each class */
	size_t *wrong;		/* [classes] those of them that were taken for others */
	struct tally_pair *pairs;	/* an image each; after tally_end() one for each pair */
	size_t pair_count, pair_room;
	uint32_t crc;		/* CRC-32 (IEEE 802.3) of all counted outputs, in their order */
};

/* tally_begin() - 0, or -ENOMEM; @top is at most @classes. tally_free() in both cases */
int tally_begin(struct tally *tally, size_t classes, uint32_t top);
void tally_free(struct tally *tally);

/*
 * tally_add() - count an image of class @truth by the values of its output
 *
 * Of equal values, the class with the smaller number comes first; NaN comes after all numbers.
 * 0, or -ENOMEM.
 */
int tally_add(struct tally *tally, const struct vtaimage_tensor *output, const void *values,
	      uint32_t truth);

/* tally_end() - join the pairs, those of most images first; before tally_print(), tally_json() */
void tally_end(struct tally *tally);

/* Both name classes by @names. */
void tally_print(const struct tally *tally, const struct labels *names);
void tally_json(const struct tally *tally, const struct labels *names, struct json_object *to);

#endif /* VTACTL_TALLY_H */

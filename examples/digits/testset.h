/* SPDX-License-Identifier: Apache-2.0 */
/* The labelled images of testset.bin; DATA.md gives the format and the source. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "network.h"

struct digits_testset {
	uint32_t count;
	const uint8_t (*images)[DIGITS_PIXELS];	/* count images, row by row */
	const uint8_t *labels;			/* count digits, 0..9 */
	void *memory;				/* which images and labels point into */
};

/*
 * Read a test set. Returns 0, or a negative errno: that of opening or reading the
 * file, -EINVAL if it is not a test set of this network's image size and exactly as
 * long as its header has it, -ENOMEM. On failure *set is untouched.
 */
int digits_load(const char *path, struct digits_testset *set);

/* Free what digits_load() allocated; the set's pointers are then NULL. */
void digits_unload(struct digits_testset *set);

/* Return the digit that has these scores: the first of the highest. */
unsigned int digits_best(const int8_t scores[DIGITS_CLASSES]);

/* Return the exit status of a program: 0 if @ok and all of its results could be printed. */
int digits_status(const char *program, bool ok);

/* SPDX-License-Identifier: GPL-2.0-only */
/* vtactl program: describe a program image, and run it. */
#ifndef VTACTL_PROGRAM_H
#define VTACTL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "vtaimage.h"

struct json_object;

struct program_run {
	const char *path;	/* of the image */
	const char *cards;	/* "all", or names with commas between; NULL: the first */
	char **assigns;		/* NAME=FILE or @NUMBER=FILE: inputs, and outputs to be kept */
	int count;
	char **pictures;	/* files, for the input that has preprocessing */
	int picture_count;	/* one at most, but with @cards */
	const char *labels;	/* a file, or NULL: the image's own */
	uint32_t top;		/* classes to print, or 0 */
	struct json_object *json;	/* gets what else is printed as text, or NULL */
};

/* Print the reason if they fail, and return the exit status. */
int program_info(const char *path, bool json);
int program_run(const struct program_run *run);
int program_run_pool(const struct program_run *run, const struct vtaimage *image);

/* Open the image of a file. Returns its bytes, to be freed; NULL if it is no image. */
uint8_t *program_read(const char *path, struct vtaimage *image);

/* The FILE of NAME=FILE, or @NUMBER=FILE, for a tensor of the image, or NULL. */
const char *program_file_of(const struct vtaimage *image, uint32_t tensor,
			    const struct program_run *run);

/* Converts a picture to plain values of an input, to be freed; NULL if it fails. */
void *program_picture(const struct vtaimage *image, const struct vtaimage_tensor *tensor,
		      const char *path);

/* Prints the likeliest classes of run @number's output, as many as @run asks for. */
int program_print_top(const struct vtaimage *image, const struct vtaimage_tensor *tensor,
		      const void *values, const struct program_run *run, size_t number);

#endif /* VTACTL_PROGRAM_H */

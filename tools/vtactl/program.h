/* SPDX-License-Identifier: GPL-2.0-only */
/* vtactl program: say what a program image is, and run it. */
#ifndef VTACTL_PROGRAM_H
#define VTACTL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "vtaimage.h"

struct program_run {
	const char *path;	/* of the image */
	const char *card;	/* or NULL: the first */
	char **assigns;		/* NAME=FILE for inputs and for the outputs to be kept */
	int count;
	const char *picture;	/* a file, for the input that has preprocessing, or NULL */
	const char *labels;	/* a file, or NULL: the image's own */
	uint32_t top;		/* classes to print, or 0 */
};

/* They say on stderr what is wrong, and return the exit status. */
int program_info(const char *path, bool json);
int program_run(const struct program_run *run);

/* A file and what it is, to be freed; NULL if it is no image. */
uint8_t *program_read(const char *path, size_t *size, struct vtaimage *image);

#endif /* VTACTL_PROGRAM_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * program_profile.h - the measured run of a program
 */
#ifndef VTACTL_PROGRAM_PROFILE_H
#define VTACTL_PROGRAM_PROFILE_H

#include <stdint.h>
#include <stdio.h>

#include "program_layers.h"

/* A part of the run. */
struct profile_row {
	struct vtaprog_span span;
	struct vtaimage_step step;
	const char *name, *op;
	uint64_t bytes;			/* that the card moves */
	const struct program_layer *layer;	/* of a RUN, or NULL */
};

/* The run with the median time, from @begin to @end: ns of CLOCK_MONOTONIC. */
struct profile {
	const struct vtaimage *image;
	const char *card;		/* "vta0", "soft" */
	uint32_t clock_khz;
	uint64_t runs;
	int64_t begin, end;
	int64_t plain_ns;		/* median time of runs that are not recorded */
	int64_t error_ns;		/* of the clocks of card and host */
	struct program_layers layers;
	struct profile_row *rows;
	uint32_t count;
};

/* Name of a row's device: "card", "copy" or "CPU". */
const char *profile_device(const struct profile_row *row);

/* Writes the run in the Trace Event Format. */
void profile_write_trace(const struct profile *profile, FILE *file);

#endif /* VTACTL_PROGRAM_PROFILE_H */

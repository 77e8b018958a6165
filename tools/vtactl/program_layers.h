/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * program_layers.h - layers of a program: names by the compiler's report, work by its streams
 */
#ifndef VTACTL_PROGRAM_LAYERS_H
#define VTACTL_PROGRAM_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "vtaimage.h"
#include "vtaprog.h"

struct json_object;

/* A layer of a stream, from an instruction on. */
struct program_layer {
	uint32_t stream, insn;
	const char *name, *op;		/* as long as the layers */
	bool counted;			/* the next is known */
	struct vtaops_work work;
};

struct program_layers {
	struct json_object *report;	/* has the names; may be NULL */
	struct program_layer *layers;	/* by stream and instruction */
	uint32_t count;
	struct vtaprog_cut *cuts;	/* between them */
	uint32_t cut_count;
};

/* Finds the layers; without a report each stream is one. Prints the reason if it fails. */
int program_find_layers(const struct vtaimage *image, struct program_layers *layers);
void program_free_layers(struct program_layers *layers);

/* The layer of a RUN, by its first instruction; NULL: none. */
const struct program_layer *program_layer_at(const struct program_layers *layers,
					     uint32_t stream, uint32_t insn);

/* Name and operator of a step; "" if the report does not have them. */
const char *program_step_name(const struct program_layers *layers, uint32_t step);
const char *program_step_op(const struct program_layers *layers, uint32_t step);

#endif /* VTACTL_PROGRAM_LAYERS_H */

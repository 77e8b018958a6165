/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs on the emulator's core, without card, library and VM, and random networks. */
#ifndef TESTS_VTAC_PROGRAMS_H
#define TESTS_VTAC_PROGRAMS_H

#include "core/core.h"
#include "ir/interp.h"
#include "lower/program.h"

struct native {
	const struct vtac_program *p;
	void *model;			/* the core */
	uint8_t *card, *host;		/* arenas */
	uint64_t cycles;		/* of the card, in the last run */
	uint64_t copied;		/* bytes between host and card, likewise */
	uint32_t doorbells;		/* likewise */
	char why[200];			/* after an error */
};

/* Finds the model of a configuration (core/core_model.h), on which programs run; or NULL. */
extern const struct core_model *(*native_model)(const struct core_config *cfg);

/* The configuration that native_init() makes of @cfg: 256 tokens, 512 waiting instructions. */
struct core_config native_shallow(const struct core_config *cfg);
struct vtaops_core native_core(const struct core_config *cfg);
int native_init(struct native *n, const struct vtac_program *p, const struct core_config *cfg,
		enum core_order order, uint64_t seed);
/* Memory of a tensor in its arena. */
void *native_at(const struct native *n, const struct vtac_tensor *t);
/* Inputs are asked for as an interpreter does: 0, or -1 with why. */
int native_run(struct native *n, const struct vtac_interp *io);
void native_fini(struct native *n);

/* ---- graphs.c: random networks for a core, and images for them ---- */

/* Devices are set; the same seed makes the same network. NULL: no memory. */
struct vtac_graph *random_graph(const struct vtaops_core *core, uint64_t seed);
/* As a file has it: activations, norms and pads by themselves, no devices yet. */
struct vtac_graph *random_model(const struct vtaops_core *core, uint64_t seed);
void random_image(uint64_t seed, unsigned int i, const struct vtac_tensor *t, float *values);

#endif /* TESTS_VTAC_PROGRAMS_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Random networks for a core, and images for them. */
#ifndef TESTS_VTAC_GRAPHS_H
#define TESTS_VTAC_GRAPHS_H

#include "ir/graph.h"
#include "vtaops.h"

/* Devices are set; the same seed makes the same network. NULL: no memory. */
struct vtac_graph *random_graph(const struct vtaops_core *core, uint64_t seed);
/* As a file has it: activations, norms and pads by themselves, no devices yet. */
struct vtac_graph *random_model(const struct vtaops_core *core, uint64_t seed);
void random_image(uint64_t seed, unsigned int i, const struct vtac_tensor *t, float *values);

#endif /* TESTS_VTAC_GRAPHS_H */

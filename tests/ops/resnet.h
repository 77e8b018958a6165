/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The convolutions of ResNet-18 as the VTA literature numbers them, and its
 * dense layer, run on the emulator's core and compared with the roofline
 * (docs/ops.md).
 */
#ifndef TESTS_OPS_RESNET_H
#define TESTS_OPS_RESNET_H

#include "machine.h"

struct resnet_layer {
	const char *name;
	uint32_t size, in, units, k, stride;	/* square; 3 x 3 has a padding of 1 */
};

enum { RESNET_LAYERS = 12 };
extern const struct resnet_layer resnet_layers[RESNET_LAYERS];

struct resnet_result {
	uint64_t macs, cycles;		/* by the card's model */
	uint64_t compute, memory;	/* the roofline's two bounds, in cycles */
	double ratio;			/* the larger of them / cycles */
	uint64_t gemm_uops, alu_uops;	/* executed */
	size_t insns, uops;		/* in the stream */
	int exact;			/* outputs equal the CPU's; -1 if not compared */
};

/* Bytes of memory that a core has to have for a layer. */
#define RESNET_MEMORY	(16u << 20)

/* A layer with made-up data on a core; the output compared with the CPU's if @compare. */
void resnet_run_on(struct machine *m, const struct resnet_layer *layer, int compare,
		   struct resnet_result *result);

/* The same on the emulator's. */
void resnet_run(const struct resnet_layer *layer, const struct core_config *cfg, int compare,
		struct resnet_result *result);

#endif /* TESTS_OPS_RESNET_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * layers.h - layers of ResNet-18 on a card or device, each output compared with the CPU's
 *
 * TVM's default core; streams, weights and tensors in card memory.
 */
#ifndef TESTS_BENCH_LAYERS_H
#define TESTS_BENCH_LAYERS_H

#include "bench.h"
#include "resnet.h"

#define MACS_PER_UOP	256.0

struct layers {
	char name[64];
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	struct vtadev_buf *stamp;
	struct machine machine;
	unsigned int rounds;
	double ns;		/* of the last layer, from submission to the end of the wait */
	double executed_ns;	/* of that by the card's own clock; the least of all rounds, both */
};

/* @name is vtadev_open()'s. An error ends the program. */
void layers_open(struct layers *on, const char *name, unsigned int rounds);
void layers_close(struct layers *on);

/* Micro-ops of GEMM that the layer takes. */
double layers_run(struct layers *on, const struct resnet_layer *layer);

#endif /* TESTS_BENCH_LAYERS_H */

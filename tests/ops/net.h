/* SPDX-License-Identifier: GPL-2.0-only */
/* A small network, as a program image: all on the card, or in part on the CPU. */
#ifndef TESTS_OPS_NET_H
#define TESTS_OPS_NET_H

#include "vtaimage.h"

/* Of the input and, less one, of the output. */
enum { NET_C = 20, NET_H = 9, NET_UNITS = 24 };

/* A convolution, a pool, and the sum of it with itself. */
struct net {
	struct vtaops_core core;
	uint8_t *model;
	uint32_t model_bytes, arena_bytes, insn_at;
	uint32_t inp, mid, pool, out;		/* in the arena */
	uint32_t wgt, bias;			/* in the model */
	uint32_t identity;
	uint8_t *image;
	size_t size;
	struct vtaops_builder builder;
};

/* For @core, with weights by @seed; tensors "in", "conv/mid.1" (internal), "out". */
void net_compile(struct net *net, const struct vtaops_core *core, uint64_t seed);
void net_free(struct net *net);

#define MIXED_PATTERN	0x7f0180feu

/*
 * "image", a grey picture of float [1][1][NET_H][NET_H], becomes int8 and all channels of
 * the network; that runs twice, the second time with the sign changed by a table
 * and the last element of the input filled with MIXED_PATTERN;
 * the outputs' sum becomes float, is averaged for each channel and becomes "scores", float
 * [1][NET_UNITS]. @net is of net_compile(); the image is to be freed.
 */
uint8_t *mixed_compile(const struct net *net, size_t *size);

#endif /* TESTS_OPS_NET_H */

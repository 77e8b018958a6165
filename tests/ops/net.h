/* SPDX-License-Identifier: GPL-2.0-only */
/* A small network, as a program image. */
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

#endif /* TESTS_OPS_NET_H */

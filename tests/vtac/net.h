/* SPDX-License-Identifier: GPL-2.0-only */
/* Networks made node by node, and what they compute. */
#ifndef TESTS_VTAC_NET_H
#define TESTS_VTAC_NET_H

#include "ir/interp.h"
#include "passes/passes.h"

struct net {
	struct vtac_graph *g;
	uint64_t seed;
	float *out;		/* of the last run: the first output */
	int64_t n_out;
};

/* Every call that fails ends the test with the graph's error. */
void net_begin(struct net *net, uint64_t seed);
void net_end(struct net *net);
uint32_t net_random(struct net *net, uint32_t below);

/* Reads image @i of struct vtac_images: values from -1 to 1, the same for each @i. */
int net_random_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values);

struct vtac_tensor *net_input(struct net *net, int64_t c, int64_t h, int64_t w);
struct vtac_tensor *net_const(struct net *net, int rank, const int64_t *dims);
/* A node on inputs (NULL: the end) with an output of unknown shape. */
struct vtac_node *net_node(struct net *net, enum vtac_op op, const char *name,
			   struct vtac_tensor *a, struct vtac_tensor *b, struct vtac_tensor *c);
/* Convolution k x k with bias, same size, and what often follows it. */
struct vtac_tensor *net_conv(struct net *net, struct vtac_tensor *x, const char *name,
			     int64_t in, int64_t out, int64_t k);
struct vtac_tensor *net_norm(struct net *net, struct vtac_tensor *x, const char *name, int64_t c);
struct vtac_tensor *net_relu(struct net *net, struct vtac_tensor *x, const char *name);
/* @t as uint8 and back, as a quantised file has it. */
struct vtac_tensor *net_uint8(struct net *net, struct vtac_tensor *t, float scale, uint8_t zero);
void net_output(struct net *net, struct vtac_tensor *t);

/* Run it in float on an image that the seed makes; the values stay in net->out. */
void net_run(struct net *net);
/* Run a pass; the graph stays consistent. */
void net_pass(struct net *net, vtac_pass_fn run, const struct vtac_options *opt);
/* The same values before and after it, within what sums in another order lose. */
void net_keeps_values(struct net *net, vtac_pass_fn run, const struct vtac_options *opt);
/* Returns the number of nodes with that operator. */
unsigned int net_count(const struct net *net, enum vtac_op op);
/* Returns the node of that name. */
struct vtac_node *net_find(const struct net *net, const char *name);

/* The core of TVM's default configuration. */
void net_core(struct vtac_options *opt);

#endif /* TESTS_VTAC_NET_H */

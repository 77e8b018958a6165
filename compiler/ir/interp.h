/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a graph in float, on the CPU's kernels
 *
 * The float results are the reference that quantisation is measured against. Tensors with
 * a quantisation given by the file (vtac_quant.given) take its values only.
 */
#ifndef VTAC_INTERP_H
#define VTAC_INTERP_H

#include "graph.h"

/* Values are given and taken by tensor. */
struct vtac_interp {
	/* Fill @data (vtac_bytes() of it) for a graph input: 0, or -1. */
	int (*input)(void *priv, const struct vtac_tensor *t, void *data);
	/* See a tensor, input or computed; only valid during the call. NULL: none. */
	void (*tensor)(void *priv, const struct vtac_tensor *t, const void *data);
	/* After each node: @done of @total. NULL: none. */
	void (*progress)(void *priv, unsigned int done, unsigned int total);
	/* Before each node: true ends the run, which fails. NULL: none. */
	bool (*ended)(void *priv);
	/* Only so many of the graph's nodes, from the first; 0: all. */
	unsigned int nodes;
	void *priv;
};

/*
 * A graph made ready to run any number of times, as long as nothing changes it; by several threads
 * at once, too. Large kernels are shared with the threads of the graph's crew that have no work.
 */
struct vtac_float;
struct vtac_float *vtac_float_new(struct vtac_graph *g);
int vtac_float_run(struct vtac_float *f, const struct vtac_interp *io);
struct vtac_graph *vtac_float_graph(const struct vtac_float *f);
/* Bytes of the values that are there at once in a run. */
uint64_t vtac_float_bytes(const struct vtac_float *f);
void vtac_float_free(struct vtac_float *f);

/* The three of them, once. */
int vtac_interp_float(struct vtac_graph *g, const struct vtac_interp *io);

/* Compute a node whose inputs are constant into memory for each output. */
int vtac_run_constant(struct vtac_graph *g, struct vtac_node *node, void *const *out);

#endif /* VTAC_INTERP_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a node to the calls of vtacpu.h that compute it
 *
 * The interpreter makes them, and so does what lowers a node to the CPU. Most nodes are
 * one call; a Concat is one for each part. A float node has float kernels; a node of the
 * card has, after quantise, the integer kernels whose results the card's are.
 */
#ifndef VTAC_KERNEL_H
#define VTAC_KERNEL_H

#include "graph.h"
#include "vtacpu.h"

struct vtac_call {
	enum vtacpu_kernel kernel;
	union vtacpu_params p;
	struct vtacpu_need need;	/* checked */
	/* Operands; the last is the output. Constants may be in no graph: made for the call. */
	const struct vtac_tensor *io[VTACPU_OPERANDS_MAX];
};

/*
 * The calls that compute @node, in the graph's arena. None (0 of them) if its outputs
 * are empty. An error names what of the node no kernel can do.
 */
int vtac_calls(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call **calls,
	       unsigned int *n_calls);

/* enum vtacpu_type */
uint32_t vtac_cpu_type(enum vtac_dtype dtype);
/*
 * Weights of a transposed convolution, [in][out / groups] in ONNX, as kernels and the card take
 * them: [out][in / groups]. NULL without memory.
 */
float *vtac_swap_weights(struct vtac_graph *g, const struct vtac_tensor *w, int64_t groups);

struct crew;

/* The parts that @threads threads run @call in, a large convolution or product; or 1. */
unsigned int vtac_shared_parts(const struct vtac_call *call, unsigned int threads);

/*
 * Run @call in @n parts of vtac_shared_parts() by the threads of @crew, which may be NULL, with
 * operands @io. The outputs are the same bits for any @n. Returns 0, or -1 without memory.
 */
int vtac_run_parts(const struct vtac_call *call, struct crew *crew, unsigned int n,
		   void *const *io);

/* Likewise, in as many parts as there are threads without work. */
int vtac_run_shared(const struct vtac_call *call, struct crew *crew, void *const *io);

/* Is it a node of the card that computes with integers, and its calls: kernel_int.c */
bool vtac_is_int(const struct vtac_node *node);
int vtac_calls_int(struct vtac_graph *g, const struct vtac_node *node, struct vtac_call **calls,
		   unsigned int *n_calls);

/* Is it an operator on shapes, which only the compiler can compute? */
bool vtac_is_shape_op(enum vtac_op op);
/* Compute such a node: data of each input and output. */
void vtac_eval(const struct vtac_node *node, const void *const *in, void *out);

#endif /* VTAC_KERNEL_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.h - calls functions one after the other, each on its device
 *
 * Between two functions on different devices stands a copy, which also packs or
 * unpacks; between two on the same device stands nothing.
 */
#ifndef BYOC_EXECUTOR_H
#define BYOC_EXECUTOR_H

#include <stdbool.h>

#include <dlpack/dlpack.h>

#define EXECUTOR_NDIM	4

struct vtaops_core;

/* A function, where it runs, and the tensor that comes out of it. */
struct node {
	const char *name;
	int32_t (*call)(DLTensor *arg, DLTensor *out);
	DLDeviceType device;
	DLDataType type;
	int64_t shape[EXECUTOR_NDIM];
};

struct edge;

struct executor {
	const struct node *nodes;
	unsigned int count;
	DLDevice card;
	const struct vtaops_core *core;
	struct edge *edges;		/* what goes into node i; the last comes out */
	unsigned int copies;		/* made so far */
	const char *at;			/* the node that failed */
};

/*
 * @input: what goes into the first node, a tensor of the CPU's, without its data.
 * Makes all tensors; nothing is allocated when it runs. 0, or a negative errno.
 */
int executor_init(struct executor *e, const struct node *nodes, unsigned int count,
		  const struct node *input, DLDevice card, const struct vtaops_core *core);
void executor_exit(struct executor *e);

/* Runs all nodes. 0, or what a function or a copy returned. */
int executor_run(struct executor *e);

/* The CPU's tensor that goes into node @i, or comes out of the last (i = count). */
DLTensor *executor_tensor(struct executor *e, unsigned int i);

#endif /* BYOC_EXECUTOR_H */

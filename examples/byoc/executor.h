/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h - calls functions one after the other, on tensors of the CPU */
#ifndef BYOC_EXECUTOR_H
#define BYOC_EXECUTOR_H

#include <dlpack/dlpack.h>

#define EXECUTOR_NDIM	4

/* A function, and the type of its output. */
struct node {
	const char *name;
	int32_t (*call)(DLTensor *arg, DLTensor *out);
	DLDataType type;
	int64_t shape[EXECUTOR_NDIM];
};

struct executor {
	const struct node *nodes;
	unsigned int count;
	DLTensor *tensors;		/* the input of node i; the last is the output */
	const char *at;			/* the node that failed */
};

/*
 * Allocate all tensors, so that runs allocate nothing. @input is that of the first node.
 * Returns 0 or a negative errno.
 */
int executor_init(struct executor *e, const struct node *nodes, unsigned int count,
		  const struct node *input);
void executor_exit(struct executor *e);

/* Run all nodes. Returns 0, or the first error of a function. */
int executor_run(struct executor *e);

#endif /* BYOC_EXECUTOR_H */

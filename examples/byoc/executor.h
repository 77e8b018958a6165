/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h - calls functions one after the other, on tensors of the CPU */
#ifndef BYOC_EXECUTOR_H
#define BYOC_EXECUTOR_H

#include <dlpack/dlpack.h>

#define EXECUTOR_NDIM	4

/* A function, and the tensor that comes out of it. */
struct node {
	const char *name;
	int32_t (*call)(DLTensor *arg, DLTensor *out);
	DLDataType type;
	int64_t shape[EXECUTOR_NDIM];
};

struct executor {
	const struct node *nodes;
	unsigned int count;
	DLTensor *tensors;		/* what goes into node i; the last comes out */
	const char *at;			/* the node that failed */
};

/*
 * @input: the tensor that goes into the first node. Makes all tensors; nothing is
 * allocated when it runs. 0, or a negative errno.
 */
int executor_init(struct executor *e, const struct node *nodes, unsigned int count,
		  const struct node *input);
void executor_exit(struct executor *e);

/* Runs all nodes. 0, or what a function returned. */
int executor_run(struct executor *e);

#endif /* BYOC_EXECUTOR_H */

// SPDX-License-Identifier: Apache-2.0
/*
 * executor.c - calls functions one after the other, on tensors of the CPU
 */
#include <errno.h>
#include <stdlib.h>

#include "executor.h"

static size_t bytes_of(const DLTensor *t)
{
	size_t bytes = (t->dtype.bits * t->dtype.lanes + 7u) / 8;

	for (int i = 0; i < t->ndim; i++)
		bytes *= (size_t)t->shape[i];
	return bytes;
}

static int tensor_init(DLTensor *t, const struct node *source)
{
	*t = (DLTensor) {
		.device = { kDLCPU, 0 }, .ndim = EXECUTOR_NDIM, .dtype = source->type,
		.shape = (int64_t *)(uintptr_t)source->shape,
	};
	t->data = calloc(1, bytes_of(t));
	return t->data ? 0 : -ENOMEM;
}

int executor_init(struct executor *e, const struct node *nodes, unsigned int count,
		  const struct node *input)
{
	int err = 0;

	*e = (struct executor) { .nodes = nodes, .count = count };
	e->tensors = calloc(count + 1, sizeof(*e->tensors));
	if (!e->tensors)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i <= count; i++)
		err = tensor_init(&e->tensors[i], i ? &nodes[i - 1] : input);
	return err;
}

void executor_exit(struct executor *e)
{
	for (unsigned int i = 0; e->tensors && i <= e->count; i++)
		free(e->tensors[i].data);
	free(e->tensors);
	e->tensors = NULL;
}

int executor_run(struct executor *e)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < e->count; i++) {
		e->at = e->nodes[i].name;
		err = e->nodes[i].call(&e->tensors[i], &e->tensors[i + 1]);
	}
	return err;
}

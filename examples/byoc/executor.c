// SPDX-License-Identifier: Apache-2.0
/*
 * executor.c - calls functions one after the other, each on its device
 */
#include <errno.h>
#include <stdlib.h>

#include "executor.h"
#include "vta_device_api.h"
#include "vtaops.h"

static const DLDevice cpu = { kDLCPU, 0 };

/*
 * A value of the graph: on the device of the function that makes it, and if
 * another device needs it, there too. Staging is its packed form on the CPU.
 */
struct edge {
	DLTensor made, used;		/* the same tensor, if the device is */
	int64_t shape[EXECUTOR_NDIM];
	void *staging;
	size_t packed;			/* bytes of it */
	bool crosses;
};

static size_t plain_bytes(const DLTensor *t)
{
	size_t bytes = (t->dtype.bits * t->dtype.lanes + 7u) / 8;

	for (int i = 0; i < t->ndim; i++)
		bytes *= (size_t)t->shape[i];
	return bytes;
}

static size_t packed_bytes(const struct executor *e, const int64_t *shape)
{
	return vtaops_act_bytes(e->core, (uint32_t)shape[0], (uint32_t)shape[1],
				(uint32_t)shape[2], (uint32_t)shape[3]);
}

static int tensor_init(struct executor *e, struct edge *edge, DLTensor *t, DLDeviceType type,
		       DLDataType dtype)
{
	*t = (DLTensor) {
		.device = type == kDLCPU ? cpu : e->card, .ndim = EXECUTOR_NDIM,
		.dtype = dtype, .shape = edge->shape,
	};
	if (type != kDLCPU)
		return vta_api_alloc_data_space(e->card, packed_bytes(e, edge->shape), 0, dtype,
						&t->data);
	t->data = calloc(1, plain_bytes(t));
	return t->data ? 0 : -ENOMEM;
}

/* From what @maker makes to where it is used. */
static int edge_init(struct executor *e, struct edge *edge, const struct node *maker,
		     DLDeviceType used)
{
	int err;

	for (int i = 0; i < EXECUTOR_NDIM; i++)
		edge->shape[i] = maker->shape[i];
	edge->crosses = maker->device != used;
	err = tensor_init(e, edge, &edge->made, maker->device, maker->type);
	if (err || !edge->crosses) {
		edge->used = edge->made;
		return err;
	}
	edge->packed = packed_bytes(e, edge->shape);
	edge->staging = calloc(1, edge->packed);
	if (!edge->staging)
		return -ENOMEM;
	return tensor_init(e, edge, &edge->used, used, maker->type);
}

int executor_init(struct executor *e, const struct node *nodes, unsigned int count,
		  const struct node *input, DLDevice card, const struct vtaops_core *core)
{
	int err = 0;

	*e = (struct executor) { .nodes = nodes, .count = count, .card = card, .core = core };
	e->edges = calloc(count + 1, sizeof(*e->edges));
	if (!e->edges)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i <= count; i++)
		err = edge_init(e, &e->edges[i], i ? &nodes[i - 1] : input,
				i < count ? nodes[i].device : kDLCPU);
	return err;
}

static void tensor_exit(const struct executor *e, const DLTensor *t)
{
	if (t->device.device_type == kDLCPU)
		free(t->data);
	else if (t->data)
		vta_api_free_data_space(e->card, t->data);
}

void executor_exit(struct executor *e)
{
	for (unsigned int i = 0; e->edges && i <= e->count; i++) {
		tensor_exit(e, &e->edges[i].made);
		if (e->edges[i].crosses)
			tensor_exit(e, &e->edges[i].used);
		free(e->edges[i].staging);
	}
	free(e->edges);
	e->edges = NULL;
}

static int to_card(const struct executor *e, const struct edge *edge)
{
	vtaops_pack_act(e->core, edge->staging, edge->made.data, (uint32_t)edge->shape[0],
			(uint32_t)edge->shape[1], (uint32_t)edge->shape[2],
			(uint32_t)edge->shape[3]);
	return vta_api_copy_data_from_to(edge->staging, 0, edge->used.data, 0, edge->packed, cpu,
					 e->card, edge->made.dtype, NULL);
}

/* Waits for what the card is doing. */
static int from_card(const struct executor *e, const struct edge *edge)
{
	int err = vta_api_copy_data_from_to(edge->made.data, 0, edge->staging, 0, edge->packed,
					    e->card, cpu, edge->made.dtype, NULL);

	if (!err)
		vtaops_unpack_act(e->core, edge->used.data, edge->staging,
				  (uint32_t)edge->shape[0], (uint32_t)edge->shape[1],
				  (uint32_t)edge->shape[2], (uint32_t)edge->shape[3]);
	return err;
}

static int cross(struct executor *e, const struct edge *edge)
{
	if (!edge->crosses)
		return 0;
	e->copies++;
	return edge->made.device.device_type == kDLCPU ? to_card(e, edge) : from_card(e, edge);
}

int executor_run(struct executor *e)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < e->count; i++) {
		e->at = e->nodes[i].name;
		err = cross(e, &e->edges[i]);
		if (!err)
			err = e->nodes[i].call(&e->edges[i].used, &e->edges[i + 1].made);
	}
	return err ? err : cross(e, &e->edges[e->count]);
}

DLTensor *executor_tensor(struct executor *e, unsigned int i)
{
	struct edge *edge = &e->edges[i];

	return edge->made.device.device_type == kDLCPU ? &edge->made : &edge->used;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_usage.c - usage of an open file, and of all files of a card
 *
 * The card counts work in each queue's status record, from the start of the queue. When a queue is
 * stopped or started again, its counts are added to totals. Reading usage does not access the card.
 */
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_queue.h"
#include "vta_user.h"

static void vta_usage_add(struct vta_usage *to, const struct vta_usage *from)
{
	to->descriptors += from->descriptors;
	to->cycles += from->cycles;
	to->runs += from->runs;
	to->copies += from->copies;
	to->run_ns += from->run_ns;
	to->copy_ns += from->copy_ns;
}

static void vta_usage_of_queue(struct vta_queue *q, struct vta_usage *usage)
{
	const struct vta_status *rec = &q->record->status;

	*usage = (struct vta_usage) {
		.descriptors = le64_to_cpu(READ_ONCE(rec->seq)) - q->usage_start,
		.cycles = le64_to_cpu(READ_ONCE(rec->cycles)),
		.runs = le64_to_cpu(READ_ONCE(rec->runs)),
		.copies = le64_to_cpu(READ_ONCE(rec->copies)),
		.run_ns = le64_to_cpu(READ_ONCE(rec->run_time)),
		.copy_ns = le64_to_cpu(READ_ONCE(rec->copy_time)),
	};
}

void vta_usage_collect(struct vta_queue *q)
{
	struct vta_device *vdev = q->ctx->vdev;
	struct vta_usage usage;

	spin_lock(&vdev->usage_lock);
	if (!list_empty(&q->usage_node)) {
		list_del_init(&q->usage_node);
		vta_usage_of_queue(q, &usage);
		vta_usage_add(&q->ctx->usage, &usage);
		vta_usage_add(&vdev->usage, &usage);
	}
	spin_unlock(&vdev->usage_lock);
}

void vta_usage_start(struct vta_queue *q, u64 seq)
{
	struct vta_device *vdev = q->ctx->vdev;

	spin_lock(&vdev->usage_lock);
	q->usage_start = seq;
	list_add(&q->usage_node, &vdev->usage_queues);
	spin_unlock(&vdev->usage_lock);
}

/* Adds the usage of the queues of a context, or of all contexts. */
static void vta_usage_add_queues(struct vta_device *vdev, const struct vta_ctx *ctx,
				 struct vta_usage *usage)
{
	struct vta_usage part;
	struct vta_queue *q;

	list_for_each_entry(q, &vdev->usage_queues, usage_node) {
		if (ctx && q->ctx != ctx)
			continue;
		vta_usage_of_queue(q, &part);
		vta_usage_add(usage, &part);
	}
}

void vta_usage_of_ctx(struct vta_ctx *ctx, struct vta_usage *usage)
{
	struct vta_device *vdev = ctx->vdev;

	spin_lock(&vdev->usage_lock);
	*usage = ctx->usage;
	vta_usage_add_queues(vdev, ctx, usage);
	spin_unlock(&vdev->usage_lock);
}

void vta_usage_of_card(struct vta_device *vdev, struct vta_usage *usage)
{
	spin_lock(&vdev->usage_lock);
	*usage = vdev->usage;
	vta_usage_add_queues(vdev, NULL, usage);
	spin_unlock(&vdev->usage_lock);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_usage.c - what has been done for an open file, and for all of a card's
 *
 * Launches do not pass through the driver. The card counts them in each queue's
 * status record, from the start of the queue; what it had counted before the
 * queue was stopped or started anew is added up here. Nobody asks the card: these
 * are memory.
 */
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_queue.h"
#include "vta_usage.h"

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

void vta_usage_take(struct vta_queue *q)
{
	struct vta_usage usage;

	lockdep_assert_held(&q->ctx->lock);

	if (!q->usage_counts)
		return;
	q->usage_counts = false;
	vta_usage_of_queue(q, &usage);
	vta_usage_add(&q->ctx->usage, &usage);
}

void vta_usage_start(struct vta_queue *q, u64 seq)
{
	lockdep_assert_held(&q->ctx->lock);

	q->usage_start = seq;
	q->usage_counts = true;
}

void vta_usage_of_ctx(struct vta_ctx *ctx, struct vta_usage *usage)
{
	struct vta_usage part;
	struct vta_queue *q;
	unsigned long handle;

	lockdep_assert_held(&ctx->lock);

	*usage = ctx->usage;
	xa_for_each(&ctx->queues, handle, q) {
		if (!q->usage_counts)
			continue;
		vta_usage_of_queue(q, &part);
		vta_usage_add(usage, &part);
	}
}

void vta_usage_of_card(struct vta_device *vdev, struct vta_usage *usage)
{
	struct vta_usage part;
	struct vta_ctx *ctx;

	lockdep_assert_held(&vdev->lock);

	*usage = vdev->usage;
	list_for_each_entry(ctx, &vdev->ctxs, node) {
		mutex_lock(&ctx->lock);
		vta_usage_of_ctx(ctx, &part);
		mutex_unlock(&ctx->lock);
		vta_usage_add(usage, &part);
	}
}

void vta_usage_close(struct vta_ctx *ctx)
{
	struct vta_usage usage;

	lockdep_assert_held(&ctx->vdev->lock);

	mutex_lock(&ctx->lock);
	vta_usage_of_ctx(ctx, &usage);
	mutex_unlock(&ctx->lock);
	vta_usage_add(&ctx->vdev->usage, &usage);
}

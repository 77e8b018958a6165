// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_record.c - the records that the card writes for a queue: progress and halts
 *
 * docs/hardware.md, sections 6 and 8. The records are read under the vector's lock, so the known
 * state of a queue never goes back, and are not trusted: a queue with an inconsistent record
 * counts as halted. A fault record is copied once and checked; the copy does not change until the
 * queue is started again.
 */
#include <linux/ratelimit.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_history.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_trace.h"
#include "vta_user.h"

void vta_record_clear_fault(struct vta_queue *q)
{
	q->fault = (struct vta_queue_fault) {
		.reason = VTA_FAULT_NONE,
		.access = VTA_ACCESS_NONE,
		.insn_index = VTA_FAULT_NO_INSN,
	};
}

/* Sets vta_queue.fault to a fault that the driver has found. */
static void vta_record_set_fault(struct vta_queue *q, enum vta_fault_reason reason)
{
	vta_record_clear_fault(q);
	q->fault.reason = reason;
	q->fault.seq = q->seq + 1;
}

/* Copies and checks the card's fault record; VTA_FAULT_CARD if it is inconsistent. */
static void vta_record_read_fault(struct vta_queue *q)
{
	const struct vta_fault *rec = &q->record->fault;
	struct vta_queue_fault *fault = &q->fault;
	unsigned int i;

	dma_rmb();	/* the card writes it before the state */
	fault->reason = le32_to_cpu(READ_ONCE(rec->reason));
	fault->access = le32_to_cpu(READ_ONCE(rec->access));
	fault->addr = le32_to_cpu(READ_ONCE(rec->addr));
	fault->seq = le64_to_cpu(READ_ONCE(rec->seq));
	fault->insn_index = le32_to_cpu(READ_ONCE(rec->insn_index));
	for (i = 0; i < ARRAY_SIZE(fault->insn); i++)
		fault->insn[i] = le32_to_cpu(READ_ONCE(rec->insn[i]));
	fault->time = le64_to_cpu(READ_ONCE(rec->time));

	if (fault->reason < VTA_FAULT_PAGE || fault->reason > VTA_FAULT_TIME ||
	    fault->access > VTA_ACCESS_STATE || fault->seq != q->seq + 1 ||
	    le32_to_cpu(READ_ONCE(rec->queue)) != q->id ||
	    le32_to_cpu(READ_ONCE(rec->context)) != q->ctx->mmu.id)
		vta_record_set_fault(q, VTA_FAULT_CARD);
}

/* Marks the queue as halted by vta_queue.fault; reports it to trace, history and kernel log. */
static void vta_record_report_halt(struct vta_queue *q)
{
	const struct vta_queue_fault *fault = &q->fault;
	struct vta_ctx *ctx = q->ctx;

	q->halted = true;
	q->waiters.armed = false;
	trace_vta_queue_fault(q);
	atomic64_inc(&ctx->vdev->vectors[VTA_EVENT_VECTOR].credit);
	vta_user_charge_fault(ctx->user);
	vta_history_add_fault(q);
	if (__ratelimit(&ctx->user->log))
		dev_warn(&ctx->vdev->dev,
			 "queue %u of %s[%d] halted: %s; descriptor %llu, instruction %d, %s at %#010x\n",
			 q->id, ctx->comm, ctx->tgid, vta_fault_reason(fault->reason)->text,
			 fault->seq, (int)fault->insn_index,
			 vta_fault_access(fault->access)->text, fault->addr);
}

/* Halts the queue for the fault that the card has recorded. */
static void vta_record_halt(struct vta_queue *q)
{
	vta_record_read_fault(q);
	vta_record_report_halt(q);
}

/* Halts the queue for a fault that the driver has found. */
static void vta_record_halt_for(struct vta_queue *q, enum vta_fault_reason reason)
{
	vta_record_set_fault(q, reason);
	vta_record_report_halt(q);
}

void vta_record_sample(struct vta_queue *q)
{
	u32 state;
	u64 seq;

	lockdep_assert_held(&q->vector->lock);

	if (q->error || q->halted || q->paused)
		return;
	if (q->abort_reason) {
		vta_record_halt_for(q, q->abort_reason);
		return;
	}

	/* The state is read first: if the queue has halted, the number read after it is final. */
	state = vta_queue_record_state(q);
	dma_rmb();
	seq = vta_queue_record_seq(q);

	if (seq < q->seq || (state != VTA_QUEUE_ACTIVE && state != VTA_QUEUE_HALTED)) {
		vta_record_halt_for(q, VTA_FAULT_CARD);
		return;
	}
	q->seq = seq;
	if (state == VTA_QUEUE_HALTED)
		vta_record_halt(q);
	else if (q->waiters.armed && q->seq >= q->waiters.arm_seq)
		q->waiters.armed = false;
}

/* The card keeps the fault record of a stopped queue until the queue's next start. */
void vta_record_sample_final(struct vta_queue *q)
{
	lockdep_assert_held(&q->vector->lock);

	if (q->halted)
		return;
	q->seq = max(q->seq, vta_queue_record_seq(q));
	if (q->abort_reason)
		vta_record_halt_for(q, q->abort_reason);
	else if (READ_ONCE(q->record->fault.reason))
		vta_record_halt(q);
}

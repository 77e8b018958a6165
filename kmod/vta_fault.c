// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_fault.c - why a queue halted
 *
 * The card's fault record (docs/hardware.md, section 8) is copied once, checked
 * and then believed. A queue's fault never changes once it is there.
 */
#include <linux/string.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_fault.h"
#include "vta_history.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_trace.h"
#include "vta_user.h"

/**
 * struct vta_fault_word - a code of the fault record
 * @name: a word, for logs that programs read
 * @text: for the kernel log
 */
struct vta_fault_word {
	const char *name;
	const char *text;
};

static const struct vta_fault_word *vta_fault_reason(u32 reason)
{
	static const struct vta_fault_word words[] = {
		[VTA_FAULT_NONE] = { "none", "no fault" },
		[VTA_FAULT_PAGE] = { "page", "address not mapped" },
		[VTA_FAULT_PERM] = { "perm", "write to read-only memory" },
		[VTA_FAULT_ENTRY] = { "entry", "malformed page-table entry" },
		[VTA_FAULT_DMA] = { "dma", "the host refused the access" },
		[VTA_FAULT_DESC] = { "desc", "malformed descriptor" },
		[VTA_FAULT_ALIGN] = { "align", "misaligned address" },
		[VTA_FAULT_INSN] = { "insn", "illegal instruction" },
		[VTA_FAULT_BOUNDS] = { "bounds", "index outside a scratchpad" },
		[VTA_FAULT_CYCLES] = { "cycles", "cycle limit reached" },
		[VTA_FAULT_DEADLOCK] = { "deadlock", "dependency deadlock" },
		[VTA_FAULT_DOORBELL] = { "doorbell", "more submitted than the ring holds" },
		[VTA_FAULT_TIME] = { "time", "time limit reached" },
	};
	static const struct vta_fault_word hang = { "hang", "the card hangs" };
	static const struct vta_fault_word sleep = { "sleep", "aborted for the machine to sleep" };
	static const struct vta_fault_word card = { "card", "the card's records make no sense" };

	if (reason == VTA_FAULT_HANG)
		return &hang;
	if (reason == VTA_FAULT_SLEEP)
		return &sleep;
	return reason < ARRAY_SIZE(words) ? &words[reason] : &card;
}

static const struct vta_fault_word vta_fault_accesses[] = {
	[VTA_ACCESS_NONE] = { "none", "no access" },
	[VTA_ACCESS_RING] = { "ring", "descriptor fetch" },
	[VTA_ACCESS_INSN] = { "insn", "instruction fetch" },
	[VTA_ACCESS_UOP] = { "uop", "micro-op load" },
	[VTA_ACCESS_LOAD] = { "load", "load" },
	[VTA_ACCESS_STORE] = { "store", "store" },
	[VTA_ACCESS_COPY_SRC] = { "copy_src", "copy source" },
	[VTA_ACCESS_COPY_DST] = { "copy_dst", "copy or fill destination" },
	[VTA_ACCESS_SIGNAL] = { "signal", "signal" },
	[VTA_ACCESS_WAIT] = { "wait", "wait" },
	[VTA_ACCESS_STAMP] = { "stamp", "stamp" },
	[VTA_ACCESS_STATE] = { "state", "save or restore of the core's state" },
};

const char *vta_fault_reason_name(u32 reason)
{
	return vta_fault_reason(reason)->name;
}

const char *vta_fault_access_name(u32 access)
{
	return vta_fault_accesses[access].name;
}

static void vta_fault_report(struct vta_queue *q)
{
	const struct vta_queue_fault *fault = &q->fault;
	struct vta_ctx *ctx = q->ctx;

	trace_vta_queue_fault(q);
	atomic64_inc(&ctx->vdev->vectors[VTA_EVENT_VECTOR].credit);
	vta_user_charge_fault(ctx->user);
	vta_history_fault(q);
	dev_warn_ratelimited(&ctx->vdev->dev,
			     "queue %u of %s[%d] halted: %s; descriptor %llu, instruction %d, %s at %#010x\n",
			     q->id, ctx->comm, ctx->tgid, vta_fault_reason(fault->reason)->text,
			     fault->seq, (int)fault->insn_index,
			     vta_fault_accesses[fault->access].text, fault->addr);
}

void vta_fault_none(struct vta_queue *q)
{
	q->fault = (struct vta_queue_fault) {
		.reason = VTA_FAULT_NONE,
		.access = VTA_ACCESS_NONE,
		.insn_index = VTA_FAULT_NO_INSN,
	};
}

void vta_fault_invent(struct vta_queue *q, enum vta_fault_reason reason)
{
	vta_fault_none(q);
	q->fault.reason = reason;
	q->fault.seq = q->seq + 1;
	vta_fault_report(q);
}

void vta_fault_take(struct vta_queue *q)
{
	const struct vta_fault *rec = &q->record->fault;
	struct vta_queue_fault *fault = &q->fault;
	unsigned int i;

	dma_rmb();	/* it was written before the state */
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
	    le32_to_cpu(READ_ONCE(rec->context)) != q->ctx->mmu.id) {
		vta_fault_invent(q, VTA_FAULT_CARD);
		return;
	}
	vta_fault_report(q);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_fault.c - why a queue halted
 *
 * The card's fault record (docs/hardware.md, section 8) is copied once, checked and then trusted.
 * A queue's fault never changes afterwards.
 */
#include <linux/string.h>

#include "vta_ctx.h"
#include "vta_faults.h"
#include "vta_queue.h"

#define VTA_FAULT_WORD(_NAME, _word, _text) \
	[VTA_FAULT_##_NAME] = { _word, _text },
#define VTA_DRIVER_FAULT_WORD(_NAME, _word, _text) \
	[VTA_FAULT_##_NAME - VTA_FAULT_CARD] = { _word, _text },
#define VTA_ACCESS_WORD(_NAME, _word, _text) \
	[VTA_ACCESS_##_NAME] = { _word, _text },

const struct vta_fault_word *vta_fault_reason(u32 reason)
{
	static const struct vta_fault_word card[] = { VTA_CARD_FAULTS(VTA_FAULT_WORD) };
	static const struct vta_fault_word driver[] = { VTA_DRIVER_FAULTS(VTA_DRIVER_FAULT_WORD) };

	if (reason < ARRAY_SIZE(card))
		return &card[reason];
	reason -= VTA_FAULT_CARD;
	return &driver[reason < ARRAY_SIZE(driver) ? reason : 0];
}

const struct vta_fault_word *vta_fault_access(u32 access)
{
	static const struct vta_fault_word accesses[] = { VTA_ACCESSES(VTA_ACCESS_WORD) };

	return &accesses[access];
}

void vta_fault_clear(struct vta_queue *q)
{
	q->fault = (struct vta_queue_fault) {
		.reason = VTA_FAULT_NONE,
		.access = VTA_ACCESS_NONE,
		.insn_index = VTA_FAULT_NO_INSN,
	};
}

void vta_fault_synthesise(struct vta_queue *q, enum vta_fault_reason reason)
{
	vta_fault_clear(q);
	q->fault.reason = reason;
	q->fault.seq = q->seq + 1;
}

void vta_fault_read_record(struct vta_queue *q)
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
	    le32_to_cpu(READ_ONCE(rec->context)) != q->ctx->mmu.id)
		vta_fault_synthesise(q, VTA_FAULT_CARD);
}

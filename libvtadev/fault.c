// SPDX-License-Identifier: Apache-2.0
/*
 * fault.c - why a queue halted, as a record and as a sentence
 */
#include <errno.h>
#include <stdio.h>

#include "dev.h"
#include "queue.h"
#include "trace.h"
#include "vta_isa.h"

int vtadev_fault(struct vtadev_queue *queue, struct vtadev_fault *fault)
{
	struct vta_queue_fault req = { .queue = queue->handle };
	int err;

	err = dev_ioctl(queue->dev, VTA_IOCTL_FAULT, &req);
	if (err)
		return err;
	*fault = (struct vtadev_fault){
		.reason = (enum vta_fault_reason)req.reason,
		.access = (enum vta_access)req.access,
		.seq = req.seq,
		.addr = req.addr,
		.insn_index = req.insn_index,
		.insn = { req.insn[0], req.insn[1], req.insn[2], req.insn[3] },
		.queue = req.queue,
		.time = req.time,
	};
	return 0;
}

/*
 * The kernel restarts the queue at a number that was submitted, so the completed number never
 * exceeds the submitted one. The queue's lock keeps other threads from submitting with the old
 * number meanwhile.
 */
int vtadev_recover(struct vtadev_queue *queue)
{
	struct vta_queue_recover req = { .queue = queue->handle };
	int err;

	if (dev_is_parents(queue->dev))
		return -ECHILD;
	queue_lock(queue);
	if (queue->trace)
		trace_halted(queue->trace);
	err = dev_ioctl(queue->dev, VTA_IOCTL_QUEUE_RECOVER, &req);
	if (!err && queue->trace)
		trace_recovered(queue->trace, req.seq);
	if (!err)
		atomic_store_explicit(&queue->submitted, req.seq, memory_order_release);
	queue_unlock(queue);
	return err;
}

/* The operation that failed; the device address follows. */
static const char *access_text(enum vta_access access)
{
	switch (access) {
	case VTA_ACCESS_NONE:
		return "access to";
	case VTA_ACCESS_RING:
		return "fetching the descriptor from";
	case VTA_ACCESS_INSN:
		return "fetching instructions from";
	case VTA_ACCESS_UOP:
		return "loading micro-ops from";
	case VTA_ACCESS_LOAD:
		return "loading from";
	case VTA_ACCESS_STORE:
		return "storing to";
	case VTA_ACCESS_COPY_SRC:
		return "copying from";
	case VTA_ACCESS_COPY_DST:
		return "copying or filling to";
	case VTA_ACCESS_SIGNAL:
		return "signalling to";
	case VTA_ACCESS_WAIT:
		return "waiting on";
	case VTA_ACCESS_STAMP:
		return "writing a stamp to";
	case VTA_ACCESS_STATE:
		return "moving the core's state from or to";
	}
	return "unknown access to";
}

static const char *insn_text(const uint32_t insn[4])
{
	static const char *const names[8] = {
#define NAME(name, number) \
	[number] = #name,
		VTA_ISA_OPCODES(NAME)
#undef NAME
	};
	const char *name = names[insn[0] & 7];

	return name ? name : "unknown";
}

static int where_text(const struct vtadev_fault *fault, char *text, size_t size)
{
	if (fault->reason == VTA_FAULT_DOORBELL || fault->access == VTA_ACCESS_STATE)
		return snprintf(text, size, "queue %u", fault->queue);
	if (fault->insn_index == VTA_FAULT_NO_INSN)
		return snprintf(text, size, "queue %u, descriptor %llu",
				fault->queue, (unsigned long long)fault->seq);
	/* An instruction that could not be fetched has no name. */
	return snprintf(text, size, "queue %u, descriptor %llu, instruction %u%s%s%s",
			fault->queue, (unsigned long long)fault->seq,
			fault->insn_index,
			fault->access == VTA_ACCESS_INSN ? "" : " (",
			fault->access == VTA_ACCESS_INSN ? "" : insn_text(fault->insn),
			fault->access == VTA_ACCESS_INSN ? "" : ")");
}

/* For reasons that are about an address: what is wrong with it. */
static const char *addr_text(enum vta_fault_reason reason)
{
	switch (reason) {
	case VTA_FAULT_PAGE:
		return "which is not mapped";
	case VTA_FAULT_PERM:
		return "which is read-only for the card";
	case VTA_FAULT_ENTRY:
		return "whose page-table entry is malformed";
	case VTA_FAULT_DMA:
		return "which the host refused";
	case VTA_FAULT_ALIGN:
		return "which is misaligned";
	default:
		return NULL;
	}
}

static const char *reason_text(enum vta_fault_reason reason)
{
	switch (reason) {
	case VTA_FAULT_DESC:
		return "malformed descriptor: unknown operation, or a reserved field is not 0";
	case VTA_FAULT_INSN:
		return "illegal instruction or operand";
	case VTA_FAULT_BOUNDS:
		return "an index is outside of its scratchpad";
	case VTA_FAULT_CYCLES:
		return "the cycle limit was reached";
	case VTA_FAULT_DEADLOCK:
		return "deadlock: an instruction waits for a dependency token that never comes";
	case VTA_FAULT_DOORBELL:
		return "more descriptors were submitted than the ring holds";
	case VTA_FAULT_TIME:
		return "the time limit was reached";
	case VTA_FAULT_CARD:
		return "inconsistent queue record: the card or its slot is broken";
	case VTA_FAULT_HANG:
		return "the card hung on this descriptor, which was aborted";
	case VTA_FAULT_SLEEP:
		return "it did not end before the machine went to sleep, and was aborted";
	default:
		return NULL;
	}
}

int vtadev_fault_text(const struct vtadev_fault *fault, char *text, size_t size)
{
	char where[96];

	if (fault->reason == VTA_FAULT_NONE)
		return snprintf(text, size, "queue %u has not halted", fault->queue);
	where_text(fault, where, sizeof(where));
	if (addr_text(fault->reason))
		return snprintf(text, size, "%s: %s device address 0x%08x, %s",
				where, access_text(fault->access), fault->addr,
				addr_text(fault->reason));
	if (reason_text(fault->reason))
		return snprintf(text, size, "%s: %s", where,
				reason_text(fault->reason));
	return snprintf(text, size, "%s: unknown reason %u", where,
			(unsigned int)fault->reason);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_fault.h - why a queue halted
 */
#ifndef VTA_FAULT_H
#define VTA_FAULT_H

#include <linux/types.h>

#include "vta.h"

struct vta_queue;

/* In one word, for programs; and for the kernel log. */
const char *vta_fault_reason_name(u32 reason);
const char *vta_fault_access_name(u32 access);
const char *vta_fault_reason_text(u32 reason);
const char *vta_fault_access_text(u32 access);

/* Otherwise it was found between two descriptors. */
static inline bool vta_fault_is_of_descriptor(const struct vta_queue_fault *fault)
{
	return fault->reason != VTA_FAULT_DOORBELL && fault->access != VTA_ACCESS_STATE;
}

/* The contents of a queue's fault before it faults. */
void vta_fault_clear(struct vta_queue *q);

/*
 * Both fill vta_queue.fault, under the vector's lock. The first
 * copies the card's record, the second is for a card that does not keep to the contract.
 */
void vta_fault_read_record(struct vta_queue *q);
void vta_fault_synthesise(struct vta_queue *q, enum vta_fault_reason reason);

#endif /* VTA_FAULT_H */

// SPDX-License-Identifier: Apache-2.0
/*
 * status.c - read a queue's status page, which anything may be written to
 */
#include <endian.h>
#include <errno.h>

#include "arch.h"
#include "dev.h"
#include "queue.h"

/*
 * The order of the reads matters. @submitted last: it never goes back, so a
 * descriptor that has completed is counted in it. @seen before seq: seq never
 * goes back either. The state before seq: when the card has written HALTED it
 * writes seq no more, so a descriptor is not taken for lost that completed
 * between the two.
 */
int status_read(struct vtadev_queue *queue, struct status *now)
{
	const struct vta_status *status = &queue->status->status;
	uint64_t seen, seq, submitted;
	uint32_t state;

	if (__builtin_expect(dev_is_parents(queue->dev), 0))
		return -ECHILD;
	seen = atomic_load_explicit(&queue->seen, memory_order_acquire);
	state = le32toh(__atomic_load_n(&status->state, __ATOMIC_ACQUIRE));
	seq = le64toh(__atomic_load_n(&status->seq, __ATOMIC_ACQUIRE));
	arch_rmb();
	submitted = atomic_load_explicit(&queue->submitted, memory_order_acquire);

	if (seq < seen || seq > submitted) {
		/*
		 * After a reset the kernel puts an empty page here, perhaps
		 * since the state was read. An empty page means DISABLED.
		 */
		state = le32toh(__atomic_load_n(&status->state, __ATOMIC_ACQUIRE));
		if (state != VTA_QUEUE_DISABLED)
			return -EPROTO;
		seq = seen;
	}
	if (state > VTA_QUEUE_HALTED)
		return -EPROTO;
	if (seq != seen)
		atomic_store_explicit(&queue->seen, seq, memory_order_release);
	now->seq = seq;
	now->state = (enum vta_queue_state)state;
	return 0;
}

/*
 * The card was taken away, or the kernel has stopped the queue, as it does with
 * one that hangs, or is just about to start it again. The kernel knows.
 */
static int status_stopped(struct vtadev_queue *queue)
{
	const struct vta_status *status = &queue->status->status;
	struct vta_queue_fault fault = { .queue = queue->handle };

	if (dev_ioctl(queue->dev, VTA_IOCTL_FAULT, &fault))
		return -ENODEV;
	if (fault.reason != VTA_FAULT_NONE)
		return -EIO;
	if (le32toh(__atomic_load_n(&status->state, __ATOMIC_ACQUIRE)) == VTA_QUEUE_DISABLED)
		return -ENODEV;
	return 0;
}

int status_not_active(struct vtadev_queue *queue, const struct status *now)
{
	return now->state == VTA_QUEUE_HALTED ? -EIO : status_stopped(queue);
}

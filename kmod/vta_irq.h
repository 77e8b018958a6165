/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_irq.h - interrupt vectors
 *
 * The first vector is the card's own: faults and failure. The others are the queues', shared when
 * there are fewer than queues. A host that gives only one has it shared by all.
 */
#ifndef VTA_IRQ_H
#define VTA_IRQ_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "vta_device.h"

#define VTA_EVENT_VECTOR	0

/**
 * struct vta_vector - an interrupt vector, and the queues that use it
 * @vdev: the card
 * @nr: its number
 * @name: in /proc/interrupts
 * @lock: Protects: the lists, and what vta_queue.h says; taken in interrupts
 * @queues: all running queues (vta_queue.vector_node)
 * @waiting: queues with waiters (vta_waiters.node)
 * @credit: since @second_start, interrupts that were asked for and have not come, less those that came
 * without being asked for
 * @second_start: jiffies when a second began
 * @masked: it is turned off because it does not stop
 */
struct vta_vector {
	struct vta_device *vdev;
	unsigned int nr;
	char name[24];
	spinlock_t lock; /* Protects: see above */
	struct list_head queues;
	struct list_head waiting;
	atomic64_t credit;
	unsigned long second_start;
	bool masked;
};

/* The vectors are disabled until the card is VTA_STATE_LIVE. */
int vta_irq_init(struct vta_device *vdev);
void vta_irq_fini(struct vta_device *vdev);
/* For vta_card_set_state(). */
void vta_irq_disable(struct vta_device *vdev);
void vta_irq_enable(struct vta_device *vdev);
/* Where a queue interrupts. */
static inline struct vta_vector *vta_irq_vector(struct vta_device *vdev, unsigned int queue)
{
	if (vdev->nr_vectors == 1)
		return &vdev->vectors[VTA_EVENT_VECTOR];
	return &vdev->vectors[1 + queue % (vdev->nr_vectors - 1)];
}

#endif /* VTA_IRQ_H */

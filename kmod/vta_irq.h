/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_irq.h - interrupt vectors
 *
 * The first vector is the card's own, for faults and failures. The queues have the others, and
 * share them if there are too few. If a host gives only one vector, it serves card and queues.
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
 * @lock: Protects: the lists, and the fields that vta_queue.h names; taken in interrupts
 * @queues: all running queues (vta_queue.vector_node)
 * @waiting: queues with waiters (vta_waiters.node)
 * @credit: interrupts armed minus interrupts received in the current second
 * @second_start: start of that second, in jiffies
 * @masked: disabled, because of an interrupt storm
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

/**
 * vta_irq_init() - allocate and request the vectors, disabled
 * @vdev: the card
 *
 * Context: probe, under vta_device.lock.
 * Return: 0 or an error.
 */
int vta_irq_init(struct vta_device *vdev);

/**
 * vta_irq_fini() - free the vectors
 * @vdev: the card; vta_irq_init() may have failed
 *
 * Context: remove. No handler runs afterwards.
 */
void vta_irq_fini(struct vta_device *vdev);

/**
 * vta_irq_disable() - disable all vectors
 * @vdev: the card
 *
 * Context: vta_card_set_state(). No handler runs afterwards.
 */
void vta_irq_disable(struct vta_device *vdev);

/**
 * vta_irq_enable() - enable all vectors
 * @vdev: the card
 *
 * Context: vta_card_set_state().
 */
void vta_irq_enable(struct vta_device *vdev);

/**
 * vta_irq_vector() - the vector of a queue
 * @vdev: the card
 * @queue: number of the queue
 *
 * Return: the vector.
 */
static inline struct vta_vector *vta_irq_vector(struct vta_device *vdev, unsigned int queue)
{
	if (vdev->nr_vectors == 1)
		return &vdev->vectors[VTA_EVENT_VECTOR];
	return &vdev->vectors[1 + queue % (vdev->nr_vectors - 1)];
}

#endif /* VTA_IRQ_H */

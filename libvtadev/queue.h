/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - a queue's rings and numbers
 *
 * The ring belongs to the submitting thread, which is one, or, if the queue is
 * shared, the one that has the lock. The status page is the card's. What
 * the card says is believed only after it was compared with @submitted and
 * @seen.
 */
#ifndef VTADEV_QUEUE_H
#define VTADEV_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "spin.h"
#include "vtadev.h"

struct vtadev_queue {
	struct vtadev *dev;
	uint32_t handle;
	uint32_t entries;			/* a power of two */
	bool shared;				/* submitters take the lock */
	bool block;				/* and wait when the ring is full */
	pthread_mutex_t lock;
	struct spin spin;
	size_t copy_min;			/* transfers by the card, from here on */
	struct vta_desc *ring;
	const struct vta_status_page *status;
	volatile uint32_t *doorbell;
	struct trace *trace;			/* NULL: not traced */
	struct local_queue *local;		/* NULL: the card is the kernel's */
	size_t page;				/* bytes mapped of each of the two */
	atomic_uint_least64_t submitted;	/* written by the submitting thread */
	atomic_uint_least64_t seen;		/* completed, by the last look */
	atomic_uint_least64_t armed;		/* number that poll() reports, or 0 */
	atomic_bool event;			/* an eventfd is signalled, not poll() */
};

static inline void queue_lock(struct vtadev_queue *queue)
{
	if (queue->shared)
		pthread_mutex_lock(&queue->lock);
}

static inline void queue_unlock(struct vtadev_queue *queue)
{
	if (queue->shared)
		pthread_mutex_unlock(&queue->lock);
}

/* vtadev_wait() that leaves alone what poll() says. */
int queue_wait(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns);
/* What poll() returns for a number that was seen without the kernel. */
void queue_drop_event(struct vtadev_queue *queue);
/* From vtadev_done() after the kernel has said that a number is reached. */
int queue_confirmed(int done);

#endif /* VTADEV_QUEUE_H */

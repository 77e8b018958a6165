/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - a queue's rings, numbers and checked status records
 *
 * The ring belongs to the only submitting thread, or, if the queue is shared, to the thread that
 * has the lock. The card writes the status page, whose contents are not trusted: they are compared
 * with @submitted and @seen.
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

/* vtadev_wait(), without an effect on poll(). */
int queue_wait(struct vtadev_queue *queue, uint64_t seq, int64_t timeout_ns);
/* Clear a stale POLLIN: the armed number was already seen complete in user space. */
void queue_drop_event(struct vtadev_queue *queue);
/* Result after the kernel reported completion; -EPROTO if the status page disagrees. */
int queue_confirmed(int done);

struct status {
	uint64_t seq;			/* completed, at most those submitted */
	enum vta_queue_state state;
};

/*
 * Read the status page. If the state is not ACTIVE, seq is final. Memory that the card wrote for
 * descriptors up to seq can be read after this. Returns 0, or -EPROTO if the records are
 * inconsistent.
 */
int status_read(struct vtadev_queue *queue, struct status *now);

/*
 * Returns 0 if the queue takes descriptors, -EIO if it has halted or was stopped because the card
 * hangs, -ENODEV if the card is lost.
 */
int status_running(struct vtadev_queue *queue, const struct status *now);

#endif /* VTADEV_QUEUE_H */

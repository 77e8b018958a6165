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

#include "arch.h"
#include "spin.h"
#include "vtadev.h"

/*
 * A wait that has seen no progress since @since rings the doorbell again, in case the card has lost
 * it. A card whose counter of doorbells does not move is deaf.
 */
#define RING_AGAIN_NS	1000000000
#define RING_AGAIN_MAX	3			/* times in a row that the card may be deaf */

struct ring_again {
	uint64_t seq, submitted;		/* at @since */
	int64_t since;
	unsigned int deaf;
};

struct vtadev_queue {
	struct vtadev *dev;
	uint32_t handle;
	uint32_t entries;			/* a power of two */
	bool shared;				/* submitters take the lock */
	bool block;				/* and wait when the ring is full */
	pthread_mutex_t lock;
	atomic_bool submitting;			/* a thread writes the ring or the doorbell */
	atomic_bool checking;			/* a thread is in queue_ring_again(), and has ... */
	struct ring_again again;		/* ... this */
	struct spin spin;
	size_t copy_min;			/* transfers by the card, from here on */
	struct vta_desc *ring;
	const struct vta_status_page *status;
	volatile uint32_t *doorbell;
	struct trace *trace;			/* NULL: not traced */
	struct local_queue *local;		/* NULL: the card is the kernel's */
	size_t page;				/* bytes mapped of each of the two */
	atomic_uint_least64_t submitted;	/* written by the submitting thread */
	atomic_uint_least64_t seen;		/* completed, at the last check */
	atomic_uint_least64_t armed;		/* number that poll() reports, or 0 */
	atomic_bool event;			/* an eventfd is signalled, not poll() */
};

/* One thread submits at a time: only queue_ring_again() contends for @submitting, for a store. */
static inline void queue_lock(struct vtadev_queue *queue)
{
	if (queue->shared)
		pthread_mutex_lock(&queue->lock);
	while (atomic_exchange_explicit(&queue->submitting, true, memory_order_acquire))
		arch_relax();
}

static inline void queue_unlock(struct vtadev_queue *queue)
{
	atomic_store_explicit(&queue->submitting, false, memory_order_release);
	if (queue->shared)
		pthread_mutex_unlock(&queue->lock);
}

/*
 * Ring the doorbell again if the queue has made no progress for RING_AGAIN_NS. Call it whenever a
 * wait has not ended for as long. Returns 0, or -EPROTO if the card was deaf RING_AGAIN_MAX times.
 */
int queue_ring_again(struct vtadev_queue *queue);
/* The earlier of @deadline and the time to call queue_ring_again(). */
int64_t queue_until(int64_t deadline);
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
 * descriptors up to seq can be read after this. Returns 0, -EPROTO if the records are
 * inconsistent, or -ECHILD.
 */
int status_read(struct vtadev_queue *queue, struct status *now);

/* status_running() of a queue whose state is not ACTIVE. */
int status_not_active(struct vtadev_queue *queue, const struct status *now);

/*
 * Returns 0 if the queue takes descriptors, -EIO if it has halted or was stopped because the card
 * hangs, -ENODEV if the card is lost.
 */
static inline int status_running(struct vtadev_queue *queue, const struct status *now)
{
	return now->state == VTA_QUEUE_ACTIVE ? 0 : status_not_active(queue, now);
}

#endif /* VTADEV_QUEUE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_wait.h - who waits for a queue's sequence numbers, and who is told
 */
#ifndef VTA_WAIT_H
#define VTA_WAIT_H

#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "vta.h"

struct vta_ctx;
struct vta_queue;
struct vta_vector;

/**
 * struct vta_waiter - one that waits for a number of a queue
 * @node: in vta_queue.waiters while @pending; all under vta_vector.lock
 * @seq: what it waits for (constant)
 * @pending: it still does
 * @ret: afterwards: 0, or why @seq will not be reached
 * @wake: is called once, with the lock held and @ret set; not if the waiter is
 *        removed before
 */
struct vta_waiter {
	struct rb_node node;
	u64 seq;
	bool pending;
	int ret;
	void (*wake)(struct vta_waiter *waiter);
};

/*
 * Is there an answer without waiting? -EINPROGRESS if not, -EINVAL if @seq
 * cannot be waited for. @done: descriptors completed. @seen: POLLIN has been.
 */
int vta_wait_check(struct vta_queue *q, u64 seq, u64 *done, bool seen);
/*
 * Waits: @waiter is woken, perhaps before this returns, or must be removed. With
 * -ENOMEM if too many wait.
 */
void vta_wait_add(struct vta_queue *q, struct vta_waiter *waiter);
/* Does not wait any more. Returns what the waiter's @ret is then. */
int vta_wait_remove(struct vta_queue *q, struct vta_waiter *waiter, u64 *done);

/* VTA_WAIT_POLL: an answer, or -EAGAIN if poll() or the eventfd will tell. */
int vta_wait_ask(struct vta_queue *q, u64 seq, u64 *done);
/* POLLIN and POLLPRI of one queue. @waits: the caller will sleep if there is none. */
__poll_t vta_wait_poll(struct vta_queue *q, bool waits);

/* A queue has been started; it is being stopped, and why; it has stopped. */
void vta_wait_start(struct vta_queue *q);
void vta_wait_stop(struct vta_queue *q, int error);
void vta_wait_stopped(struct vta_queue *q);

/*
 * Where a halted queue can go on: behind the descriptor that faulted, or behind
 * the last one that completed if none did. -EBUSY if it has not halted.
 */
int vta_wait_halted(struct vta_queue *q, u64 *seq);
/* It hangs, so it has halted; under the vector's lock. */
void vta_wait_hung(struct vta_queue *q);
/*
 * It is about to be stopped, and nothing is believed of its records meanwhile. It does not
 * stop, and is given up. It has been stopped: takes what the records say in the end, tells
 * those that have what they wait for, and returns whether it has halted.
 */
void vta_wait_pause(struct vta_queue *q);
void vta_wait_abort(struct vta_queue *q);
bool vta_wait_unpause(struct vta_queue *q);
/* It goes on from there, on a card that has forgotten who waits. */
void vta_wait_resume(struct vta_queue *q);
/* It has been started again, behind @seq. */
void vta_wait_restart(struct vta_queue *q, u64 seq);

/* Reads the records and tells who has what they wait for; under the vector's lock. */
void vta_wait_look_again(struct vta_queue *q);
/* Tells those that have what they wait for on the vector; any context. */
void vta_wait_interrupt(struct vta_vector *vector);
/* Finds queues on the vector that have halted; not in interrupts. */
void vta_wait_find_halted(struct vta_vector *vector);

#endif /* VTA_WAIT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_waiter.h - waiters for a queue's sequence numbers, and their wake-ups
 */
#ifndef VTA_WAITER_H
#define VTA_WAITER_H

#include <linux/list.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "vta.h"

struct vta_event;
struct vta_queue;
struct vta_vector;

/**
 * struct vta_waiter - a waiter for a number of a queue; all under vta_vector.lock
 * @node: in vta_waiters.tree while @pending
 * @seq: the number (constant)
 * @pending: it still waits
 * @ret: afterwards: 0, or why @seq will not be reached
 * @wake: is called once, with the lock held and @ret set; not if the waiter is removed before
 */
struct vta_waiter {
	struct rb_node node;
	u64 seq;
	bool pending;
	int ret;
	void (*wake)(struct vta_waiter *waiter);
};

/**
 * struct vta_waiters - what waits for a queue's sequence numbers; all under vta_vector.lock
 * @node: in vta_vector.waiting, while there are waiters
 * @tree: struct vta_waiter, by number
 * @nr: how many
 * @armed: @arm_seq was written to ARM and has not been reached yet
 * @arm_seq: see @armed
 * @poller: in @tree for VTA_WAIT_POLL
 * @poll_reached: the number of VTA_WAIT_POLL was reached: poll() returns POLLIN
 * @event: the eventfd that is signalled instead, or NULL
 */
struct vta_waiters {
	struct list_head node;
	struct rb_root_cached tree;
	unsigned int nr;
	bool armed;
	u64 arm_seq;
	struct vta_waiter poller;
	bool poll_reached;
	struct vta_event *event;
};

/*
 * The result if there is one without waiting; else -EINPROGRESS, or -EINVAL if @seq cannot be
 * waited for. @done: descriptors completed. @seen: POLLIN was returned.
 */
int vta_waiters_check(struct vta_queue *q, u64 seq, u64 *done, bool seen);
/*
 * Waits: @waiter is woken, perhaps before this returns, or must be removed. With
 * -ENOMEM if too many wait.
 */
void vta_waiter_add(struct vta_queue *q, struct vta_waiter *waiter);
/* Ends the wait, and returns the waiter's @ret. */
int vta_waiter_remove(struct vta_queue *q, struct vta_waiter *waiter, u64 *done);

/* VTA_WAIT_POLL: a result, or -EAGAIN if poll() or the eventfd will signal it. */
int vta_waiters_arm_poll(struct vta_queue *q, u64 seq, u64 *done);
/* POLLIN and POLLPRI of one queue. @waits: the caller will sleep if there is none. */
__poll_t vta_waiters_poll(struct vta_queue *q, bool waits);

/*
 * The queue signals this eventfd, or none; *event is the one before. Or the error of waits, and
 * *event is what it was.
 */
int vta_waiters_set_event(struct vta_queue *q, struct vta_event **event);
/* The queue's fault, or the error of waits. */
int vta_wait_fault(struct vta_queue *q, struct vta_queue_fault *fault);

/* The queue was started; it is being stopped, with the error for waiters; it has stopped. */
void vta_wait_start(struct vta_queue *q);
void vta_wait_stop(struct vta_queue *q, int error);
void vta_wait_stopped(struct vta_queue *q);

/*
 * Where a halted queue can continue: after the descriptor that faulted, or after the last
 * completed one if none faulted. -EBUSY if it has not halted.
 */
int vta_wait_halted(struct vta_queue *q, u64 *seq);
/* The queue hangs and counts as halted; under the vector's lock. */
void vta_wait_hung(struct vta_queue *q);
/*
 * The queue is about to be stopped: its records are ignored meanwhile. It did not stop, and is
 * aborted. It has stopped: reads the final records, wakes the waiters whose number is reached,
 * and returns whether it has halted.
 */
void vta_wait_pause(struct vta_queue *q);
void vta_wait_abort(struct vta_queue *q);
bool vta_wait_unpause(struct vta_queue *q);
/* The queue continues from there, on a card that has lost its ARM registers. */
void vta_wait_resume(struct vta_queue *q);
/* The queue was started again, after @seq. */
void vta_wait_restart(struct vta_queue *q, u64 seq);

/* Reads the records and wakes the waiters whose number is reached; under the vector's lock. */
void vta_waiters_update(struct vta_queue *q);
/* Wakes the waiters of the vector whose number is reached; any context. */
void vta_waiters_interrupt(struct vta_vector *vector);
/* Finds queues on the vector that have halted; not in interrupts. */
void vta_waiters_find_halted(struct vta_vector *vector);

#endif /* VTA_WAITER_H */

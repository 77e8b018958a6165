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
 * struct vta_waiter - a waiter for a number of a queue; protected by vta_vector.lock
 * @node: in vta_waiters.tree while @pending
 * @seq: the number (constant)
 * @pending: the waiter has no result yet
 * @ret: the result: 0, or the error because of which @seq will not be reached
 * @wake: called once, with the lock held and @ret set; not called if the waiter is removed first
 */
struct vta_waiter {
	struct rb_node node;
	u64 seq;
	bool pending;
	int ret;
	void (*wake)(struct vta_waiter *waiter);
};

/**
 * struct vta_waiters - the waiters of a queue; protected by vta_vector.lock
 * @node: in vta_vector.waiting, while there are waiters
 * @tree: struct vta_waiter, by number
 * @nr: number of waiters
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

/**
 * vta_waiters_check() - the result of a wait, without waiting
 * @q: the queue
 * @seq: the number to wait for
 * @done: out: number of completed descriptors
 * @clear_poll: clear POLLIN: the caller sees the result
 *
 * Context: takes vta_vector.lock.
 * Return: 0, an error, -EINPROGRESS if there is no result yet, or -EINVAL if @seq is too far ahead.
 */
int vta_waiters_check(struct vta_queue *q, u64 seq, u64 *done, bool clear_poll);

/**
 * vta_waiter_add() - begin a wait
 * @q: the queue
 * @waiter: the waiter, with @seq and @wake; it is woken, perhaps before this returns (with -ENOMEM
 *          if the queue has too many waiters), or must be removed
 *
 * Context: takes vta_vector.lock.
 */
void vta_waiter_add(struct vta_queue *q, struct vta_waiter *waiter);

/**
 * vta_waiter_remove() - end a wait
 * @q: the queue
 * @waiter: a waiter that was added; @wake is not called any more
 * @done: out: number of completed descriptors
 *
 * Context: takes vta_vector.lock.
 * Return: the waiter's result, or the initial value of @waiter->ret if it has none.
 */
int vta_waiter_remove(struct vta_queue *q, struct vta_waiter *waiter, u64 *done);

/**
 * vta_waiters_arm_poll() - have poll() or the eventfd signal a number (VTA_WAIT_POLL)
 * @q: the queue
 * @seq: the number, which replaces an earlier one
 * @done: out: number of completed descriptors
 *
 * Context: takes vta_vector.lock.
 * Return: a result, or -EAGAIN if the number will be signalled.
 */
int vta_waiters_arm_poll(struct vta_queue *q, u64 seq, u64 *done);

/**
 * vta_waiters_poll() - POLLIN and POLLPRI of a queue
 * @q: the queue
 * @will_sleep: the caller sleeps if there are no events
 *
 * Context: takes vta_vector.lock.
 * Return: the events.
 */
__poll_t vta_waiters_poll(struct vta_queue *q, bool will_sleep);

/**
 * vta_waiters_set_event() - replace the queue's eventfd
 * @q: the queue
 * @event: in: the eventfd, or NULL; out: the previous one, or unchanged after an error
 *
 * Context: takes vta_vector.lock.
 * Return: 0, or the error of waits.
 */
int vta_waiters_set_event(struct vta_queue *q, struct vta_event **event);

/**
 * vta_waiters_wake() - wake the waiters that have a result, and arm the next
 * @q: the queue
 * @was_halted: the queue's halt has been signalled already
 *
 * Context: under vta_vector.lock.
 */
void vta_waiters_wake(struct vta_queue *q, bool was_halted);

/**
 * vta_waiters_update() - read the queue's records, and wake the waiters that have a result
 * @q: the queue
 *
 * Context: under vta_vector.lock.
 */
void vta_waiters_update(struct vta_queue *q);

/**
 * vta_waiters_close() - end all waits with vta_queue.error
 * @q: the queue
 *
 * Context: under vta_vector.lock.
 * Return: the queue's eventfd, signalled, which the caller puts; or NULL.
 */
struct vta_event *vta_waiters_close(struct vta_queue *q);

/**
 * vta_waiters_interrupt() - wake the waiters of a vector whose number is reached
 * @vector: the interrupt vector
 *
 * Context: any; takes vta_vector.lock.
 */
void vta_waiters_interrupt(struct vta_vector *vector);

/**
 * vta_waiters_find_halted() - find the queues of a vector that have halted
 * @vector: the interrupt vector
 *
 * Context: not in interrupts; takes vta_vector.lock.
 */
void vta_waiters_find_halted(struct vta_vector *vector);

#endif /* VTA_WAITER_H */

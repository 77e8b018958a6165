// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_waiter.c - waiters for a queue's sequence numbers, and their wake-ups
 *
 * A queue's waiters are in a tree by number, and the lowest is armed. The interrupt removes the
 * waiters whose number is reached from the left end of the tree, touches no others, and arms the
 * next. No wake-up is lost: a waiter is in the tree before ARM is written, and the records are
 * checked again afterwards, as ARM of a halted queue does nothing.
 */
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_waiter.h"

/* ARM compares 32 bits (docs/hardware.md, section 9). */
#define VTA_WAITER_AHEAD_MAX	BIT_ULL(31)

/* Most that wait for one queue at a time (uapi/vta.h, struct vta_wait). */
#define VTA_WAITERS_MAX	1024

/* Ends the wait. The waiter may be freed when @wake has returned. */
static void vta_waiter_end(struct vta_waiter *waiter, int ret)
{
	waiter->pending = false;
	waiter->ret = ret;
	waiter->wake(waiter);
}

static void vta_waiter_insert(struct vta_waiters *waiters, struct vta_waiter *waiter)
{
	struct rb_node **link = &waiters->tree.rb_root.rb_node, *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (waiter->seq < rb_entry(parent, struct vta_waiter, node)->seq) {
			link = &parent->rb_left;
		} else {	/* the first to come is woken first */
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(&waiter->node, parent, link);
	rb_insert_color_cached(&waiter->node, &waiters->tree, leftmost);
	waiter->pending = true;
	waiters->nr++;
}

static struct vta_waiter *vta_waiter_first(struct vta_waiters *waiters)
{
	return rb_entry_safe(rb_first_cached(&waiters->tree), struct vta_waiter, node);
}

static void vta_waiter_erase(struct vta_waiters *waiters, struct vta_waiter *waiter)
{
	rb_erase_cached(&waiter->node, &waiters->tree);
	waiter->pending = false;
	waiters->nr--;
	if (RB_EMPTY_ROOT(&waiters->tree.rb_root)) {
		list_del_init(&waiters->node);
		waiters->armed = false;	/* no waiter needs that interrupt any more */
	}
}

/* Arms the queue for the lowest waiter, if there is one. */
static void vta_waiters_arm(struct vta_queue *q)
{
	struct vta_waiter *next = vta_waiter_first(&q->waiters);

	if (!next)
		return;
	if (list_empty(&q->waiters.node))
		list_add_tail(&q->waiters.node, &q->vector->waiting);
	if (!q->waiters.armed || q->waiters.arm_seq != next->seq) {
		q->waiters.armed = true;
		q->waiters.arm_seq = next->seq;
		atomic64_inc(&q->vector->credit);
		vta_write(q->ctx->vdev, REG_QUEUE_ARM(q->id), lower_32_bits(next->seq));
	}
}

/* Returns the result of a wait for @seq, or -EINPROGRESS if there is none yet. */
static int vta_waiters_result(const struct vta_queue *q, u64 seq)
{
	if (q->error)
		return q->error;
	if (q->seq >= seq)
		return 0;
	if (q->halted)
		return -EIO;
	return -EINPROGRESS;
}

static void vta_waiters_signal_event(struct vta_queue *q)
{
	if (q->waiters.event)
		vta_notify_event(q->ctx->notify, q->waiters.event);
}

void vta_waiters_wake(struct vta_queue *q, bool was_halted)
{
	struct vta_waiter *waiter;

	lockdep_assert_held(&q->vector->lock);

	while ((waiter = vta_waiter_first(&q->waiters))) {
		int ret = vta_waiters_result(q, waiter->seq);

		if (ret == -EINPROGRESS)
			break;
		vta_waiter_erase(&q->waiters, waiter);
		vta_waiter_end(waiter, ret);
	}
	if (q->halted && !was_halted) {
		vta_notify_poll(q->ctx->notify, EPOLLPRI);
		vta_waiters_signal_event(q);
	}
	vta_waiters_arm(q);
}

void vta_waiters_update(struct vta_queue *q)
{
	bool was_halted = q->halted;

	vta_record_sample(q);
	vta_waiters_wake(q, was_halted);
}

void vta_waiters_interrupt(struct vta_vector *vector)
{
	struct vta_queue *q, *next;
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	list_for_each_entry_safe(q, next, &vector->waiting, waiters.node)
		vta_waiters_update(q);
	spin_unlock_irqrestore(&vector->lock, flags);
}

void vta_waiters_find_halted(struct vta_vector *vector)
{
	struct vta_queue *q;

	spin_lock_irq(&vector->lock);
	list_for_each_entry(q, &vector->queues, vector_node)
		vta_waiters_update(q);
	spin_unlock_irq(&vector->lock);
}

int vta_waiters_check(struct vta_queue *q, u64 seq, u64 *done, bool clear_poll)
{
	int ret;

	spin_lock_irq(&q->vector->lock);
	vta_waiters_update(q);
	if (clear_poll)
		q->waiters.poll_reached = false;
	ret = vta_waiters_result(q, seq);
	if (ret == -EINPROGRESS && seq - q->seq >= VTA_WAITER_AHEAD_MAX)
		ret = -EINVAL;
	*done = q->seq;
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

static void vta_waiter_add_locked(struct vta_queue *q, struct vta_waiter *waiter)
{
	int ret = vta_waiters_result(q, waiter->seq);

	lockdep_assert_held(&q->vector->lock);

	/* One interrupt may wake all waiters, so their number is limited. */
	if (ret == -EINPROGRESS && q->waiters.nr >= VTA_WAITERS_MAX)
		ret = -ENOMEM;
	if (ret != -EINPROGRESS) {
		vta_waiter_end(waiter, ret);
		return;
	}
	vta_waiter_insert(&q->waiters, waiter);
	q->watch.waited = true;
	vta_card_watch(q->ctx->vdev);
	vta_waiters_arm(q);
	vta_waiters_update(q);
}

void vta_waiter_add(struct vta_queue *q, struct vta_waiter *waiter)
{
	spin_lock_irq(&q->vector->lock);
	vta_waiter_add_locked(q, waiter);
	spin_unlock_irq(&q->vector->lock);
}

int vta_waiter_remove(struct vta_queue *q, struct vta_waiter *waiter, u64 *done)
{
	spin_lock_irq(&q->vector->lock);
	if (waiter->pending)	/* check once more: the number may just have been reached */
		vta_waiters_update(q);
	if (waiter->pending)
		vta_waiter_erase(&q->waiters, waiter);
	*done = q->seq;
	spin_unlock_irq(&q->vector->lock);
	return waiter->ret;
}

struct vta_event *vta_waiters_close(struct vta_queue *q)
{
	struct vta_event *event = NULL;

	lockdep_assert_held(&q->vector->lock);

	q->waiters.poll_reached = false;
	vta_waiters_wake(q, q->halted);
	vta_waiters_signal_event(q);
	swap(q->waiters.event, event);
	return event;
}

/* ---- poll() and eventfds ---- */

/* Only a reached number is signalled here; vta_waiters_wake() signals a halt. */
static void vta_poller_wake(struct vta_waiter *waiter)
{
	struct vta_queue *q = container_of(waiter, struct vta_queue, waiters.poller);

	if (waiter->ret)
		return;
	if (q->waiters.event) {
		vta_waiters_signal_event(q);
	} else {
		q->waiters.poll_reached = true;
		vta_notify_poll(q->ctx->notify, EPOLLIN | EPOLLRDNORM);
	}
}

/* While the call that adds the waiter runs: its result reports that the number is reached. */
static void vta_poller_ignore(struct vta_waiter *waiter)
{
}

int vta_waiters_arm_poll(struct vta_queue *q, u64 seq, u64 *done)
{
	struct vta_waiter *poller = &q->waiters.poller;
	int ret;

	spin_lock_irq(&q->vector->lock);
	if (poller->pending)
		vta_waiter_erase(&q->waiters, poller);
	poller->seq = seq;
	poller->wake = vta_poller_ignore;
	vta_waiter_add_locked(q, poller);
	if (poller->pending) {
		poller->wake = vta_poller_wake;
		ret = -EAGAIN;
	} else {
		ret = poller->ret;
	}
	*done = q->seq;
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

__poll_t vta_waiters_poll(struct vta_queue *q, bool will_sleep)
{
	__poll_t mask = 0;

	spin_lock_irq(&q->vector->lock);
	if (will_sleep && !q->error)
		vta_card_watch(q->ctx->vdev);
	vta_waiters_update(q);
	if (q->waiters.poll_reached)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (q->halted)
		mask |= EPOLLPRI;
	spin_unlock_irq(&q->vector->lock);
	return mask;
}

int vta_waiters_set_event(struct vta_queue *q, struct vta_event **event)
{
	int ret;

	spin_lock_irq(&q->vector->lock);
	ret = q->error;
	if (!ret) {
		swap(q->waiters.event, *event);
		vta_card_watch(q->ctx->vdev);
		if (q->halted)	/* a late eventfd is signalled, too */
			vta_waiters_signal_event(q);
		vta_waiters_update(q);
	}
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

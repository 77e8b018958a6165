// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_waiter.c - waiters for a queue's sequence numbers, and their wake-ups
 *
 * A queue's waiters are in a tree by number, and the lowest is armed. The interrupt removes the
 * waiters whose number is reached from the left end of the tree, touches no others, and arms the
 * next. No wake-up is lost: a waiter is in the tree before ARM is written, and the records are
 * checked again afterwards, as ARM of a halted queue does nothing. They are read under the
 * vector's lock, so that the known state of a queue never goes back.
 */
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_history.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_trace.h"
#include "vta_user.h"
#include "vta_waiter.h"

/* ARM compares 32 bits (docs/hardware.md, section 9). */
#define VTA_WAITER_AHEAD_MAX	BIT_ULL(31)

/* Most that wait for one queue at a time (uapi/vta.h, struct vta_wait). */
#define VTA_WAITERS_MAX	1024

/* The queue has halted, and vta_queue.fault says why: tells trace, history and kernel log. */
static void vta_record_report_halt(struct vta_queue *q)
{
	const struct vta_queue_fault *fault = &q->fault;
	struct vta_ctx *ctx = q->ctx;

	q->halted = true;
	q->waiters.armed = false;
	trace_vta_queue_fault(q);
	atomic64_inc(&ctx->vdev->vectors[VTA_EVENT_VECTOR].credit);
	vta_user_charge_fault(ctx->user);
	vta_history_fault(q);
	dev_warn_ratelimited(&ctx->vdev->dev,
			     "queue %u of %s[%d] halted: %s; descriptor %llu, instruction %d, %s at %#010x\n",
			     q->id, ctx->comm, ctx->tgid, vta_fault_reason(fault->reason)->text,
			     fault->seq, (int)fault->insn_index,
			     vta_fault_access(fault->access)->text, fault->addr);
}

/* By the card's record. */
static void vta_record_halt(struct vta_queue *q)
{
	vta_fault_read_record(q);
	vta_record_report_halt(q);
}

/* Without a record of the card's, or in spite of it. */
static void vta_record_halt_for(struct vta_queue *q, enum vta_fault_reason reason)
{
	vta_fault_synthesise(q, reason);
	vta_record_report_halt(q);
}

/*
 * Reads the queue's records. The state is read first: if the queue has halted, seq is final.
 * Neither is trusted: after an inconsistent record the queue counts as halted.
 */
static void vta_record_sample(struct vta_queue *q)
{
	u32 state;
	u64 seq;

	lockdep_assert_held(&q->vector->lock);

	if (q->error || q->halted || q->paused)
		return;
	if (q->given_up) {
		vta_record_halt_for(q, q->given_up);
		return;
	}

	state = vta_queue_record_state(q);
	dma_rmb();
	seq = vta_queue_record_seq(q);

	if (seq < q->seq || (state != VTA_QUEUE_ACTIVE && state != VTA_QUEUE_HALTED)) {
		vta_record_halt_for(q, VTA_FAULT_CARD);
		return;
	}
	q->seq = seq;
	if (state == VTA_QUEUE_HALTED)
		vta_record_halt(q);
	else if (q->waiters.armed && q->seq >= q->waiters.arm_seq)
		q->waiters.armed = false;
}

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

/* The result of a wait for a number: -EINPROGRESS if there is none yet. */
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
		vta_notify_event(&q->ctx->notify, q->waiters.event);
}

/* Wakes the waiters whose number is reached. */
static void vta_waiters_wake(struct vta_queue *q, bool was_halted)
{
	struct vta_waiter *waiter;

	while ((waiter = vta_waiter_first(&q->waiters))) {
		int ret = vta_waiters_result(q, waiter->seq);

		if (ret == -EINPROGRESS)
			break;
		vta_waiter_erase(&q->waiters, waiter);
		vta_waiter_end(waiter, ret);
	}
	if (q->halted && !was_halted) {
		vta_notify_poll(&q->ctx->notify, EPOLLPRI);
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

int vta_waiters_check(struct vta_queue *q, u64 seq, u64 *done, bool seen)
{
	int ret;

	spin_lock_irq(&q->vector->lock);
	vta_waiters_update(q);
	if (seen)
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

	/* One interrupt ends them all. */
	if (ret == -EINPROGRESS && q->waiters.nr >= VTA_WAITERS_MAX)
		ret = -ENOMEM;
	if (ret != -EINPROGRESS) {
		vta_waiter_end(waiter, ret);
		return;
	}
	vta_waiter_insert(&q->waiters, waiter);
	q->watched.waited = true;
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

/* ---- poll() and eventfds ---- */

/* A halt is signalled on its own: vta_waiters_update(). */
static void vta_poller_wake(struct vta_waiter *waiter)
{
	struct vta_queue *q = container_of(waiter, struct vta_queue, waiters.poller);

	if (waiter->ret)
		return;
	if (q->waiters.event) {
		vta_waiters_signal_event(q);
	} else {
		q->waiters.poll_reached = true;
		vta_notify_poll(&q->ctx->notify, EPOLLIN | EPOLLRDNORM);
	}
}

/* The caller learns of it by the call's result. */
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

__poll_t vta_waiters_poll(struct vta_queue *q, bool waits)
{
	__poll_t mask = 0;

	spin_lock_irq(&q->vector->lock);
	if (waits && !q->error)
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

/* ---- The life of a queue ---- */

void vta_wait_start(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	q->error = 0;
	list_add_tail(&q->vector_node, &q->vector->queues);
	vta_card_watch(q->ctx->vdev);	/* its file may be polled already */
	spin_unlock_irq(&q->vector->lock);
}

void vta_wait_stop(struct vta_queue *q, int error)
{
	struct vta_event *event = NULL;
	struct vta_waiter *waiter;

	spin_lock_irq(&q->vector->lock);
	q->error = error;
	q->waiters.poll_reached = false;
	list_del_init(&q->vector_node);
	while ((waiter = vta_waiter_first(&q->waiters))) {
		vta_waiter_erase(&q->waiters, waiter);
		vta_waiter_end(waiter, error);
	}
	vta_waiters_signal_event(q);
	swap(q->waiters.event, event);
	spin_unlock_irq(&q->vector->lock);
	if (event)
		vta_event_put(event);
}

/*
 * The queue may have halted after the last check. That is a fault like any other, and its record
 * stays until the next start.
 */
static void vta_record_sample_final(struct vta_queue *q)
{
	if (q->halted)
		return;
	q->seq = max(q->seq, vta_queue_record_seq(q));
	if (q->given_up)
		vta_record_halt_for(q, q->given_up);
	else if (READ_ONCE(q->record->fault.reason))
		vta_record_halt(q);
}

void vta_wait_stopped(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	vta_record_sample_final(q);
	spin_unlock_irq(&q->vector->lock);
}

int vta_wait_halted(struct vta_queue *q, u64 *seq)
{
	int ret = -EBUSY;

	spin_lock_irq(&q->vector->lock);
	vta_waiters_update(q);
	if (q->halted) {
		*seq = vta_fault_is_of_descriptor(&q->fault) ? q->fault.seq : q->seq;
		/* The queue may have made progress before it was stopped. */
		if (q->given_up)
			*seq = max(*seq, vta_queue_record_seq(q));
		ret = 0;
	}
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

void vta_wait_hung(struct vta_queue *q)
{
	lockdep_assert_held(&q->vector->lock);

	vta_waiters_update(q);	/* it may have moved after all */
	if (!q->halted)
		q->given_up = VTA_FAULT_HANG;
	vta_waiters_update(q);
}

void vta_wait_abort(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	q->given_up = VTA_FAULT_SLEEP;
	spin_unlock_irq(&q->vector->lock);
}

bool vta_wait_unpause(struct vta_queue *q)
{
	bool was_halted, halted;

	spin_lock_irq(&q->vector->lock);
	was_halted = q->halted;
	q->paused = false;
	vta_record_sample_final(q);
	vta_waiters_wake(q, was_halted);
	halted = q->halted;
	spin_unlock_irq(&q->vector->lock);
	return halted;
}

void vta_wait_pause(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	vta_waiters_update(q);
	q->paused = true;
	spin_unlock_irq(&q->vector->lock);
}

void vta_wait_resume(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	q->waiters.armed = false;
	vta_watched_init(&q->watched, q->seq);
	vta_waiters_update(q);
	spin_unlock_irq(&q->vector->lock);
}

void vta_wait_restart(struct vta_queue *q, u64 seq)
{
	spin_lock_irq(&q->vector->lock);
	q->seq = seq;
	q->halted = false;
	q->given_up = VTA_FAULT_NONE;
	q->waiters.armed = false;
	vta_watched_init(&q->watched, q->seq);
	vta_fault_clear(q);
	vta_waiters_update(q);	/* it may have halted again, unnoticed */
	spin_unlock_irq(&q->vector->lock);
}

int vta_wait_fault(struct vta_queue *q, struct vta_queue_fault *fault)
{
	int ret;

	spin_lock_irq(&q->vector->lock);
	vta_waiters_update(q);
	ret = q->error;
	if (!ret)
		*fault = q->fault;
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

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
#define VTA_WAIT_AHEAD	BIT_ULL(31)

/* Most that wait for one queue at a time (uapi/vta.h, struct vta_wait). */
#define VTA_WAITERS_MAX	1024

/* The queue has halted, and vta_queue.fault says why: tells trace, history and kernel log. */
static void vta_wait_halt(struct vta_queue *q)
{
	const struct vta_queue_fault *fault = &q->fault;
	struct vta_ctx *ctx = q->ctx;

	q->halted = true;
	q->waits.armed = false;
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
static void vta_wait_halt_recorded(struct vta_queue *q)
{
	vta_fault_read_record(q);
	vta_wait_halt(q);
}

/* Without a record of the card's, or in spite of it. */
static void vta_wait_halt_for(struct vta_queue *q, enum vta_fault_reason reason)
{
	vta_fault_synthesise(q, reason);
	vta_wait_halt(q);
}

/*
 * Reads the queue's records. The state is read first: if the queue has halted, seq is final.
 * Neither is trusted: after an inconsistent record the queue counts as halted.
 */
static void vta_wait_look(struct vta_queue *q)
{
	u32 state;
	u64 seq;

	lockdep_assert_held(&q->vector->lock);

	if (q->error || q->halted || q->paused)
		return;
	if (q->given_up) {
		vta_wait_halt_for(q, q->given_up);
		return;
	}

	state = vta_queue_record_state(q);
	dma_rmb();
	seq = vta_queue_record_seq(q);

	if (seq < q->seq || (state != VTA_QUEUE_ACTIVE && state != VTA_QUEUE_HALTED)) {
		vta_wait_halt_for(q, VTA_FAULT_CARD);
		return;
	}
	q->seq = seq;
	if (state == VTA_QUEUE_HALTED)
		vta_wait_halt_recorded(q);
	else if (q->waits.armed && q->seq >= q->waits.arm_seq)
		q->waits.armed = false;
}

/* Ends the wait. The waiter may be freed when @wake has returned. */
static void vta_waiter_end(struct vta_waiter *waiter, int ret)
{
	waiter->pending = false;
	waiter->ret = ret;
	waiter->wake(waiter);
}

static void vta_waiter_insert(struct vta_waits *waits, struct vta_waiter *waiter)
{
	struct rb_node **link = &waits->tree.rb_root.rb_node, *parent = NULL;
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
	rb_insert_color_cached(&waiter->node, &waits->tree, leftmost);
	waiter->pending = true;
	waits->nr++;
}

static struct vta_waiter *vta_waiter_first(struct vta_waits *waits)
{
	return rb_entry_safe(rb_first_cached(&waits->tree), struct vta_waiter, node);
}

static void vta_waiter_erase(struct vta_waits *waits, struct vta_waiter *waiter)
{
	rb_erase_cached(&waiter->node, &waits->tree);
	waiter->pending = false;
	waits->nr--;
	if (RB_EMPTY_ROOT(&waits->tree.rb_root)) {
		list_del_init(&waits->node);
		waits->armed = false;	/* no waiter needs that interrupt any more */
	}
}

/* Arms the queue for the lowest waiter, if there is one. */
static void vta_wait_arm(struct vta_queue *q)
{
	struct vta_waiter *next = vta_waiter_first(&q->waits);

	if (!next)
		return;
	if (list_empty(&q->waits.node))
		list_add_tail(&q->waits.node, &q->vector->waiting);
	if (!q->waits.armed || q->waits.arm_seq != next->seq) {
		q->waits.armed = true;
		q->waits.arm_seq = next->seq;
		atomic64_inc(&q->vector->credit);
		vta_write(q->ctx->vdev, REG_QUEUE_ARM(q->id), lower_32_bits(next->seq));
	}
}

/* The result of a wait for a number: -EINPROGRESS if there is none yet. */
static int vta_wait_result(const struct vta_queue *q, u64 seq)
{
	if (q->error)
		return q->error;
	if (q->seq >= seq)
		return 0;
	if (q->halted)
		return -EIO;
	return -EINPROGRESS;
}

static void vta_wait_signal(struct vta_queue *q)
{
	if (q->waits.event)
		vta_notify_event(&q->ctx->notify, q->waits.event);
}

/* Wakes the waiters whose number is reached. */
static void vta_wait_tell(struct vta_queue *q, bool was_halted)
{
	struct vta_waiter *waiter;

	while ((waiter = vta_waiter_first(&q->waits))) {
		int ret = vta_wait_result(q, waiter->seq);

		if (ret == -EINPROGRESS)
			break;
		vta_waiter_erase(&q->waits, waiter);
		vta_waiter_end(waiter, ret);
	}
	if (q->halted && !was_halted) {
		vta_notify_poll(&q->ctx->notify, EPOLLPRI);
		vta_wait_signal(q);
	}
	vta_wait_arm(q);
}

void vta_wait_update(struct vta_queue *q)
{
	bool was_halted = q->halted;

	vta_wait_look(q);
	vta_wait_tell(q, was_halted);
}

void vta_wait_interrupt(struct vta_vector *vector)
{
	struct vta_queue *q, *next;
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	list_for_each_entry_safe(q, next, &vector->waiting, waits.node)
		vta_wait_update(q);
	spin_unlock_irqrestore(&vector->lock, flags);
}

void vta_wait_find_halted(struct vta_vector *vector)
{
	struct vta_queue *q;

	spin_lock_irq(&vector->lock);
	list_for_each_entry(q, &vector->queues, vector_node)
		vta_wait_update(q);
	spin_unlock_irq(&vector->lock);
}

int vta_wait_check(struct vta_queue *q, u64 seq, u64 *done, bool seen)
{
	int ret;

	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
	if (seen)
		q->waits.poll_reached = false;
	ret = vta_wait_result(q, seq);
	if (ret == -EINPROGRESS && seq - q->seq >= VTA_WAIT_AHEAD)
		ret = -EINVAL;
	*done = q->seq;
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

static void vta_wait_insert(struct vta_queue *q, struct vta_waiter *waiter)
{
	int ret = vta_wait_result(q, waiter->seq);

	lockdep_assert_held(&q->vector->lock);

	/* One interrupt ends them all. */
	if (ret == -EINPROGRESS && q->waits.nr >= VTA_WAITERS_MAX)
		ret = -ENOMEM;
	if (ret != -EINPROGRESS) {
		vta_waiter_end(waiter, ret);
		return;
	}
	vta_waiter_insert(&q->waits, waiter);
	q->watched.waited = true;
	vta_card_watch(q->ctx->vdev);
	vta_wait_arm(q);
	vta_wait_update(q);
}

void vta_wait_add(struct vta_queue *q, struct vta_waiter *waiter)
{
	spin_lock_irq(&q->vector->lock);
	vta_wait_insert(q, waiter);
	spin_unlock_irq(&q->vector->lock);
}

int vta_wait_remove(struct vta_queue *q, struct vta_waiter *waiter, u64 *done)
{
	spin_lock_irq(&q->vector->lock);
	if (waiter->pending)	/* check once more: the number may just have been reached */
		vta_wait_update(q);
	if (waiter->pending)
		vta_waiter_erase(&q->waits, waiter);
	*done = q->seq;
	spin_unlock_irq(&q->vector->lock);
	return waiter->ret;
}

/* ---- poll() and eventfds ---- */

/* A halt is signalled on its own: vta_wait_update(). */
static void vta_poller_wake(struct vta_waiter *waiter)
{
	struct vta_queue *q = container_of(waiter, struct vta_queue, waits.poller);

	if (waiter->ret)
		return;
	if (q->waits.event) {
		vta_wait_signal(q);
	} else {
		q->waits.poll_reached = true;
		vta_notify_poll(&q->ctx->notify, EPOLLIN | EPOLLRDNORM);
	}
}

/* The caller learns of it by the call's result. */
static void vta_poller_asking(struct vta_waiter *waiter)
{
}

int vta_wait_ask(struct vta_queue *q, u64 seq, u64 *done)
{
	struct vta_waiter *poller = &q->waits.poller;
	int ret;

	spin_lock_irq(&q->vector->lock);
	if (poller->pending)
		vta_waiter_erase(&q->waits, poller);
	poller->seq = seq;
	poller->wake = vta_poller_asking;
	vta_wait_insert(q, poller);
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

__poll_t vta_wait_poll(struct vta_queue *q, bool waits)
{
	__poll_t mask = 0;

	spin_lock_irq(&q->vector->lock);
	if (waits && !q->error)
		vta_card_watch(q->ctx->vdev);
	vta_wait_update(q);
	if (q->waits.poll_reached)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (q->halted)
		mask |= EPOLLPRI;
	spin_unlock_irq(&q->vector->lock);
	return mask;
}

int vta_wait_set_event(struct vta_queue *q, struct vta_event **event)
{
	int ret;

	spin_lock_irq(&q->vector->lock);
	ret = q->error;
	if (!ret) {
		swap(q->waits.event, *event);
		vta_card_watch(q->ctx->vdev);
		if (q->halted)	/* a late eventfd is signalled, too */
			vta_wait_signal(q);
		vta_wait_update(q);
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
	q->waits.poll_reached = false;
	list_del_init(&q->vector_node);
	while ((waiter = vta_waiter_first(&q->waits))) {
		vta_waiter_erase(&q->waits, waiter);
		vta_waiter_end(waiter, error);
	}
	vta_wait_signal(q);
	swap(q->waits.event, event);
	spin_unlock_irq(&q->vector->lock);
	if (event)
		vta_event_put(event);
}

/*
 * The queue may have halted after the last check. That is a fault like any other, and its record
 * stays until the next start.
 */
static void vta_wait_look_last(struct vta_queue *q)
{
	if (q->halted)
		return;
	q->seq = max(q->seq, vta_queue_record_seq(q));
	if (q->given_up)
		vta_wait_halt_for(q, q->given_up);
	else if (READ_ONCE(q->record->fault.reason))
		vta_wait_halt_recorded(q);
}

void vta_wait_stopped(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	vta_wait_look_last(q);
	spin_unlock_irq(&q->vector->lock);
}

int vta_wait_halted(struct vta_queue *q, u64 *seq)
{
	int ret = -EBUSY;

	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
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

	vta_wait_update(q);	/* it may have moved after all */
	if (!q->halted)
		q->given_up = VTA_FAULT_HANG;
	vta_wait_update(q);
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
	vta_wait_look_last(q);
	vta_wait_tell(q, was_halted);
	halted = q->halted;
	spin_unlock_irq(&q->vector->lock);
	return halted;
}

void vta_wait_pause(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
	q->paused = true;
	spin_unlock_irq(&q->vector->lock);
}

void vta_wait_resume(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	q->waits.armed = false;
	vta_watched_init(&q->watched, q->seq);
	vta_wait_update(q);
	spin_unlock_irq(&q->vector->lock);
}

void vta_wait_restart(struct vta_queue *q, u64 seq)
{
	spin_lock_irq(&q->vector->lock);
	q->seq = seq;
	q->halted = false;
	q->given_up = VTA_FAULT_NONE;
	q->waits.armed = false;
	vta_watched_init(&q->watched, q->seq);
	vta_fault_clear(q);
	vta_wait_update(q);	/* it may have halted again, unnoticed */
	spin_unlock_irq(&q->vector->lock);
}

int vta_wait_fault(struct vta_queue *q, struct vta_queue_fault *fault)
{
	int ret;

	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
	ret = q->error;
	if (!ret)
		*fault = q->fault;
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

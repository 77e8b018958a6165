// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_wait.c - waiting for sequence numbers
 *
 * The card interrupts when a queue reaches the number written to its ARM
 * register, or at once if it has. Of all that wait for a queue the lowest
 * number is armed; the interrupt wakes those who have what they wait for, and
 * arms the next. No wake-up is lost: whoever waits is in the list before ARM is
 * written, and looks at the records again afterwards, for ARM of a queue that
 * has halted does nothing.
 *
 * The records are read under the vector's lock, so that what is believed of a
 * queue never goes back.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_fault.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_trace.h"
#include "vta_wait.h"

/* ARM compares 32 bits (docs/hardware.md, section 9). */
#define VTA_WAIT_AHEAD	BIT_ULL(31)

/**
 * struct vta_waiter - a thread that waits, on its own stack
 * @node: in vta_queue.waiters while @pending
 * @task: the thread
 * @seq: what it waits for
 * @pending: cleared by who wakes it, after @ret was set
 * @ret: how the wait ended
 */
struct vta_waiter {
	struct list_head node;
	struct task_struct *task;
	u64 seq;
	bool pending;
	int ret;
};

/*
 * Reads the queue's records. The state comes first: if it says that the queue
 * has halted, seq is final. Neither is trusted: what cannot be halts the queue,
 * as far as its owner is concerned.
 */
static void vta_wait_look(struct vta_queue *q)
{
	u32 state;
	u64 seq;

	lockdep_assert_held(&q->vector->lock);

	if (q->error || q->halted)
		return;

	state = le32_to_cpu(READ_ONCE(q->record->status.state));
	dma_rmb();
	seq = le64_to_cpu(READ_ONCE(q->record->status.seq));

	if (seq < q->seq || (state != VTA_QUEUE_ACTIVE && state != VTA_QUEUE_HALTED)) {
		q->halted = true;
		vta_fault_invent(q);
	} else {
		q->seq = seq;
		if (state == VTA_QUEUE_HALTED) {
			q->halted = true;
			vta_fault_take(q);
		}
	}
	if (q->halted || (q->armed && q->seq >= q->arm_seq))
		q->armed = false;
}

static void vta_waiter_wake(struct vta_waiter *waiter, int ret)
{
	struct task_struct *task = waiter->task;

	list_del(&waiter->node);
	waiter->ret = ret;
	/* The waiter takes the lock before it leaves, so task stays. */
	WRITE_ONCE(waiter->pending, false);
	wake_up_process(task);
}

/* Arms the queue for what comes next, if anybody waits. */
static void vta_wait_arm(struct vta_queue *q)
{
	u64 next = U64_MAX;
	struct vta_waiter *waiter;

	list_for_each_entry(waiter, &q->waiters, node)
		next = min(next, waiter->seq);
	if (q->poll == VTA_POLL_ASKED)
		next = min(next, q->poll_seq);
	if (next == U64_MAX) {
		list_del_init(&q->wait_node);
		return;
	}

	if (list_empty(&q->wait_node))
		list_add_tail(&q->wait_node, &q->vector->waiting);
	if (!q->armed || q->arm_seq != next) {
		q->armed = true;
		q->arm_seq = next;
		vta_write(q->ctx->vdev, REG_QUEUE_ARM(q->id), lower_32_bits(next));
	}
}

static void vta_wait_update(struct vta_queue *q)
{
	struct vta_waiter *waiter, *next;
	bool was_halted = q->halted;

	vta_wait_look(q);

	list_for_each_entry_safe(waiter, next, &q->waiters, node) {
		if (q->seq >= waiter->seq)
			vta_waiter_wake(waiter, 0);
		else if (q->halted)
			vta_waiter_wake(waiter, -EIO);
	}
	if (q->poll == VTA_POLL_ASKED) {
		if (q->seq >= q->poll_seq) {
			q->poll = VTA_POLL_REACHED;
			wake_up_poll(&q->ctx->poll_wq, EPOLLIN | EPOLLRDNORM);
		} else if (q->halted) {
			q->poll = VTA_POLL_NONE;
		}
	}
	if (q->halted && !was_halted)
		wake_up_poll(&q->ctx->poll_wq, EPOLLPRI);
	vta_wait_arm(q);
}

void vta_wait_interrupt(struct vta_vector *vector)
{
	struct vta_queue *q, *next;
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	list_for_each_entry_safe(q, next, &vector->waiting, wait_node)
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

void vta_wait_start(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	list_add_tail(&q->vector_node, &q->vector->queues);
	spin_unlock_irq(&q->vector->lock);
}

void vta_wait_stop(struct vta_queue *q, int error)
{
	struct vta_waiter *waiter, *next;

	spin_lock_irq(&q->vector->lock);
	q->error = error;
	q->poll = VTA_POLL_NONE;
	list_del_init(&q->vector_node);
	list_del_init(&q->wait_node);
	list_for_each_entry_safe(waiter, next, &q->waiters, node)
		vta_waiter_wake(waiter, error);
	spin_unlock_irq(&q->vector->lock);
}

int vta_wait_halted(struct vta_queue *q, u64 *seq)
{
	int ret = -EBUSY;

	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
	if (q->halted) {
		*seq = q->fault.reason == VTA_FAULT_DOORBELL ? q->seq : q->fault.seq;
		ret = 0;
	}
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

void vta_wait_restart(struct vta_queue *q, u64 seq)
{
	spin_lock_irq(&q->vector->lock);
	q->seq = seq;
	q->halted = false;
	q->armed = false;
	vta_fault_none(q);
	spin_unlock_irq(&q->vector->lock);
}

__poll_t vta_wait_poll(struct vta_queue *q)
{
	__poll_t mask = 0;

	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
	if (q->poll == VTA_POLL_REACHED)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (q->halted)
		mask |= EPOLLPRI;
	spin_unlock_irq(&q->vector->lock);
	return mask;
}

/* Is there an answer without waiting? -EINPROGRESS if not. */
static int vta_wait_result(struct vta_queue *q, u64 seq)
{
	if (q->error)
		return q->error;
	if (q->seq >= seq)
		return 0;
	if (q->halted)
		return -EIO;
	return -EINPROGRESS;
}

static int vta_wait_sleep(struct vta_waiter *waiter, s64 deadline_ns)
{
	ktime_t deadline = ns_to_ktime(deadline_ns);
	int ret = 0;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!READ_ONCE(waiter->pending))
			break;
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		if (!schedule_hrtimeout_range(deadline_ns == VTA_WAIT_FOREVER ? NULL : &deadline,
					      current->timer_slack_ns, HRTIMER_MODE_ABS)) {
			ret = -ETIMEDOUT;
			break;
		}
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

static int vta_wait_until(struct vta_queue *q, u64 seq, s64 deadline_ns)
{
	struct vta_waiter waiter = { .task = current, .seq = seq, .pending = true };
	int ret;

	spin_lock_irq(&q->vector->lock);
	ret = vta_wait_result(q, seq);
	if (ret == -EINPROGRESS) {
		list_add_tail(&waiter.node, &q->waiters);
		vta_wait_arm(q);
		vta_wait_update(q);
	}
	spin_unlock_irq(&q->vector->lock);
	if (ret != -EINPROGRESS)
		return ret;

	ret = vta_wait_sleep(&waiter, deadline_ns);

	spin_lock_irq(&q->vector->lock);
	if (waiter.pending)	/* look once more: it may just have come */
		vta_wait_update(q);
	if (waiter.pending) {
		list_del(&waiter.node);
		if (list_empty(&q->waiters) && q->poll != VTA_POLL_ASKED)
			list_del_init(&q->wait_node);
	} else {
		ret = waiter.ret;
	}
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

int vta_wait(struct vta_ctx *ctx, struct vta_wait *arg)
{
	struct vta_queue *q;
	int ret;

	arg->done = 0;
	if (arg->flags & ~VTA_WAIT_POLL)
		return -EINVAL;
	q = vta_queue_get(ctx, arg->queue);
	if (IS_ERR(q))
		return PTR_ERR(q);

	trace_vta_wait_begin(q, arg->seq);
	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
	if (q->poll == VTA_POLL_REACHED)
		q->poll = VTA_POLL_NONE;
	ret = vta_wait_result(q, arg->seq);
	if (ret == -EINPROGRESS) {
		if (arg->seq - q->seq >= VTA_WAIT_AHEAD) {
			ret = -EINVAL;
		} else if (arg->flags & VTA_WAIT_POLL) {
			q->poll = VTA_POLL_ASKED;
			q->poll_seq = arg->seq;
			vta_wait_arm(q);
			vta_wait_update(q);
			ret = vta_wait_result(q, arg->seq);
			if (ret == -EINPROGRESS)
				ret = -EAGAIN;
			else
				q->poll = VTA_POLL_NONE;
		} else if (arg->deadline_ns <= (s64)ktime_get_ns()) {
			ret = -ETIMEDOUT;
		}
	}
	spin_unlock_irq(&q->vector->lock);

	if (ret == -EINPROGRESS)
		ret = vta_wait_until(q, arg->seq, arg->deadline_ns);

	spin_lock_irq(&q->vector->lock);
	arg->done = q->seq;
	spin_unlock_irq(&q->vector->lock);
	trace_vta_wait_end(q, arg->seq, arg->done, ret);
	vta_queue_put(q);
	return ret;
}

int vta_wait_fault(struct vta_ctx *ctx, struct vta_queue_fault *arg)
{
	u32 handle = arg->queue;
	struct vta_queue *q;

	if (arg->pad)
		return -EINVAL;
	q = vta_queue_get(ctx, handle);
	if (IS_ERR(q))
		return PTR_ERR(q);

	spin_lock_irq(&q->vector->lock);
	vta_wait_update(q);
	*arg = q->fault;
	spin_unlock_irq(&q->vector->lock);
	arg->queue = handle;
	vta_queue_put(q);
	return 0;
}

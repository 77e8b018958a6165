// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_queue_state.c - the states of a queue: started, halted, paused, stopped, started again
 *
 * docs/hardware.md, section 6. A queue halts by a fault (vta_record.c), until the user recovers or
 * destroys it. It is paused while the machine is suspended, and stopped for ever when the user
 * destroys it or its file loses the card.
 */
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_user.h"
#include "vta_waiter.h"

/* ---- Start and stop ---- */

void vta_queue_abort(struct vta_queue *q)
{
	vta_write(q->ctx->vdev, REG_QUEUE_CTRL(q->id), REG_QUEUE_CTRL_ABORT);
}

/* Has the card continue after descriptor @seq, with the descriptors before @submitted. */
static int vta_queue_start_at(struct vta_queue *q, u64 seq, u32 submitted)
{
	struct vta_device *vdev = q->ctx->vdev;
	int ret;

	q->setup.start = seq;
	q->setup.submitted = submitted;
	vta_usage_collect(q);
	vta_card_enable_events(vdev);	/* else faults stay unreported after a lost one */
	ret = vta_card_start_queue(vdev, q->ctx->mmu.epoch, q->id, &q->setup);
	q->setup.kept = false;
	if (!ret)
		vta_usage_start(q, seq);
	return ret;
}

int vta_queue_start(struct vta_queue *q)
{
	int ret = vta_queue_start_at(q, 0, 0);

	if (ret)
		return ret;
	spin_lock_irq(&q->vector->lock);
	/* If a reset has begun, vta_ctx_hang_up() may not come any more. */
	q->error = vta_ctx_is_lost(q->ctx) ? -ENODEV : 0;
	list_add_tail(&q->vector_node, &q->vector->queues);
	vta_card_watch(q->ctx->vdev);	/* its file may be polled already */
	spin_unlock_irq(&q->vector->lock);
	return 0;
}

void vta_queue_close(struct vta_queue *q, int error)
{
	struct vta_event *event;

	spin_lock_irq(&q->vector->lock);
	q->error = error;
	list_del_init(&q->vector_node);
	event = vta_waiters_close(q);
	spin_unlock_irq(&q->vector->lock);
	if (event)
		vta_event_put(event);
}

void vta_queue_read_final(struct vta_queue *q)
{
	spin_lock_irq(&q->vector->lock);
	vta_record_sample_final(q);
	spin_unlock_irq(&q->vector->lock);
}

/* ---- Halts ---- */

int vta_queue_get_fault(struct vta_queue *q, struct vta_queue_fault *fault)
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

void vta_queue_abort_hung(struct vta_queue *q, u64 ns)
{
	lockdep_assert_held(&q->vector->lock);

	vta_user_charge_hang(q->ctx->user, ns);
	vta_waiters_update(q);	/* it may have made progress after all */
	if (!q->halted)
		q->abort_reason = VTA_FAULT_HANG;
	vta_waiters_update(q);
	/* Counted first: the abort lets other queues go on, whose waiters may read the count. */
	vta_card_count_step(q->ctx->vdev, VTA_STEP_ABORT, 0);
	vta_queue_abort(q);
}

/*
 * Sets *seq to the descriptor after which a halted queue continues: the one that faulted, or the
 * last completed one if none faulted.
 */
static int vta_queue_find_restart(struct vta_queue *q, u64 *seq)
{
	int ret = -EBUSY;

	spin_lock_irq(&q->vector->lock);
	vta_waiters_update(q);
	if (q->halted) {
		*seq = vta_fault_is_of_descriptor(&q->fault) ? q->fault.seq : q->seq;
		/* The queue may have made progress before it was stopped. */
		if (q->abort_reason)
			*seq = max(*seq, vta_queue_record_seq(q));
		ret = 0;
	}
	spin_unlock_irq(&q->vector->lock);
	return ret;
}

int vta_queue_recover(struct vta_queue *q, u64 *seq)
{
	int ret;

	lockdep_assert_held(&q->ctx->lock);

	ret = vta_queue_find_restart(q, seq);
	if (ret)
		return ret;
	vta_queue_abort(q);
	ret = vta_card_wait_queue(q->ctx->vdev, q->ctx->mmu.epoch, q->id);
	if (!ret)
		ret = vta_queue_start_at(q, *seq, lower_32_bits(*seq));
	if (ret)
		return ret;
	spin_lock_irq(&q->vector->lock);
	q->seq = *seq;
	q->halted = false;
	q->abort_reason = VTA_FAULT_NONE;
	q->waiters.armed = false;
	vta_watch_queue_init(&q->watch, q->seq);
	vta_record_clear_fault(q);
	vta_waiters_update(q);	/* it may have halted again, unnoticed */
	spin_unlock_irq(&q->vector->lock);
	return 0;
}

/* ---- Suspend and resume of the machine ---- */

int vta_queue_pause(struct vta_queue *q)
{
	if (q->stopped)
		return 0;
	spin_lock_irq(&q->vector->lock);
	vta_waiters_update(q);
	q->paused = true;
	spin_unlock_irq(&q->vector->lock);
	vta_write(q->ctx->vdev, REG_QUEUE_CTRL(q->id), 0);
	return 0;
}

int vta_queue_paused(struct vta_queue *q)
{
	u32 state = vta_read(q->ctx->vdev, REG_QUEUE_STATE(q->id));

	return q->stopped || !(state & (REG_QUEUE_STATE_STATE | REG_QUEUE_STATE_BUSY)) ? 0 : -EBUSY;
}

int vta_queue_abort_paused(struct vta_queue *q)
{
	if (!vta_queue_paused(q))
		return 0;
	spin_lock_irq(&q->vector->lock);
	q->abort_reason = VTA_FAULT_SLEEP;
	spin_unlock_irq(&q->vector->lock);
	vta_card_count_step(q->ctx->vdev, VTA_STEP_ABORT, 0);
	vta_queue_abort(q);
	return 0;
}

int vta_queue_save_tail(struct vta_queue *q)
{
	if (q->stopped)
		return 0;
	q->setup.submitted = vta_read(q->ctx->vdev, REG_QUEUE_SUBMITTED(q->id));
	q->setup.kept = vta_read(q->ctx->vdev, REG_QUEUE_STATE(q->id)) & REG_QUEUE_STATE_KEPT;
	return 0;
}

/* Wakes the waiters whose number was reached before the queue stopped; true if it has halted. */
static bool vta_queue_unpause(struct vta_queue *q)
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

int vta_queue_resume(struct vta_queue *q)
{
	int ret;

	if (q->stopped || vta_queue_unpause(q))
		return 0;
	ret = vta_queue_start_at(q, q->seq, q->setup.submitted);
	if (ret)
		return ret;
	spin_lock_irq(&q->vector->lock);
	q->waiters.armed = false;
	vta_watch_queue_init(&q->watch, q->seq);
	vta_waiters_update(q);
	spin_unlock_irq(&q->vector->lock);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_watch.c - the watchdog: finds a card that hangs
 *
 * The watchdog checks the card every VTA_WATCH_MS while a thread waits for a queue or polls a file.
 * It reads registers only if a queue that a thread waits for makes no progress in memory. A
 * descriptor that takes vta_hang_ms longer than its queue's limit hangs. Then that queue is
 * aborted; if the engine's next descriptor hangs as well, the card is reset. The checks do not
 * depend on what users write to rings or close: a card that keeps the contract is never found to
 * hang. A failure is reported only after two checks, and time in which the machine was paused does
 * not count (docs/reliability.md).
 */
#include <linux/bitfield.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/wait.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_waiter.h"
#include "vta_watch.h"

/* No value of MOVES. */
#define VTA_WATCH_NEVER		U32_MAX

static unsigned int vta_hang_ms = 10000;
module_param_named(hang_ms, vta_hang_ms, uint, 0644);
MODULE_PARM_DESC(hang_ms,
		 "How much longer than its limit a descriptor may take before the driver takes the card for hung, in ms (default 10000, 0: for ever)");

/* ---- Records in memory ---- */

/*
 * Returns true if an interrupt has been lost. An interrupt may still be on its way, so it counts as
 * lost only if it was overdue at the last check already. Then the watchdog wakes the waiters.
 */
static bool vta_watch_check_interrupt(struct vta_queue *q)
{
	u64 late = 0;
	bool lost;

	if (!q->halted && vta_queue_record_state(q) == VTA_QUEUE_HALTED)
		late = U64_MAX;
	else if (q->waiters.armed && vta_queue_record_seq(q) >= q->waiters.arm_seq)
		late = q->waiters.arm_seq;
	lost = late && late == q->watch.late_seq;
	q->watch.late_seq = late;
	if (late && !lost)
		return false;
	if (lost)
		atomic_inc(&q->ctx->vdev->lost_interrupts);
	vta_waiters_update(q);
	return lost;
}

/* Samples the progress of a queue; under vta_vector.lock. */
static void vta_watch_sample_queue(struct vta_watch *watch, struct vta_queue *q)
{
	bool waited = q->watch.waited || !list_empty(&q->waiters.node);

	if (watch->stale) {
		q->watch.late_seq = 0;
		q->watch.behind = false;
	}
	q->watch.waited = false;
	watch->rearm |= waited || q->waiters.event || wq_has_sleeper(&q->ctx->notify->poll_wq);
	watch->lost_irq |= vta_watch_check_interrupt(q);
	if (q->watch.aborting) {
		watch->rearm = true;
		__set_bit(q->id, watch->stalled);
	} else if (q->seq != q->watch.seq || q->halted) {
		q->watch.seq = q->seq;
		q->watch.behind = false;
		q->watch.stuck = 0;
	} else if (waited) {
		__set_bit(q->id, watch->stalled);
	}
}

/* Samples the progress of all queues. Returns true if registers must be read. */
static bool vta_watch_sample_queues(struct vta_device *vdev)
{
	struct vta_watch *watch = &vdev->watch;
	unsigned int i;

	bitmap_zero(watch->stalled, VTA_QUEUES_MAX);
	for (i = 0; i < vdev->nr_vectors; i++) {
		struct vta_vector *vector = &vdev->vectors[i];
		struct vta_queue *q;

		spin_lock_irq(&vector->lock);
		list_for_each_entry(q, &vector->queues, vector_node)
			vta_watch_sample_queue(watch, q);
		spin_unlock_irq(&vector->lock);
	}
	return watch->lost_irq || !bitmap_empty(watch->stalled, VTA_QUEUES_MAX);
}

/* ---- Registers of queues ---- */

/* Finds the running queue of that number, or NULL. */
static struct vta_queue *vta_watch_find_queue(struct vta_vector *vector, u32 id)
{
	struct vta_queue *q;

	lockdep_assert_held(&vector->lock);

	list_for_each_entry(q, &vector->queues, vector_node) {
		if (q->id == id)
			return q;
	}
	return NULL;
}

/* True if the current descriptor waits for no engine and no SIGNAL, and so takes no time. */
static bool vta_watch_is_stuck(u32 state)
{
	u32 hand = FIELD_GET(REG_QUEUE_STATE_HAND, state);

	return state & REG_QUEUE_STATE_BUSY && (hand == VTA_HAND_NONE || hand == VTA_HAND_SHORT);
}

/* Checks that a queue has stopped that was aborted at the last check. */
static void vta_watch_check_aborted(struct vta_queue *q, u32 state)
{
	if (!(state & (REG_QUEUE_STATE_STATE | REG_QUEUE_STATE_BUSY)))
		q->watch.aborting = false;
	else if (q->watch.stuck++)
		vta_card_request_reset(q->ctx->vdev, "does not stop a queue");
}

/* Checks a queue without progress: registers and records agree by now (hardware.md, section 10). */
static void vta_watch_check_stalled(struct vta_queue *q, u32 state, u64 seq)
{
	unsigned int hang_ms = READ_ONCE(vta_hang_ms);
	bool behind;

	behind = seq > vta_queue_record_seq(q) ||
		 (FIELD_GET(REG_QUEUE_STATE_STATE, state) == VTA_QUEUE_HALTED &&
		  vta_queue_record_state(q) == VTA_QUEUE_ACTIVE);
	if (behind && q->watch.behind)
		vta_card_request_reset(q->ctx->vdev, "does not write status records");
	q->watch.behind = behind;
	q->watch.stuck = vta_watch_is_stuck(state) ? q->watch.stuck + 1 : 0;
	if (hang_ms && q->watch.stuck > hang_ms / VTA_WATCH_MS + 1)
		vta_card_request_reset(q->ctx->vdev,
				       "does not execute descriptors that need no engine");
}

/* Checks a queue. Sets the bit of the engine that its current descriptor waits for. */
static void vta_watch_check_queue(struct vta_device *vdev, u32 id, unsigned long *ready)
{
	u32 state = vta_read(vdev, REG_QUEUE_STATE(id));
	u64 seq = vta_read64(vdev, REG_QUEUE_SEQ_LO(id));
	u32 hand = FIELD_GET(REG_QUEUE_STATE_HAND, state);
	struct vta_vector *vector = vta_irq_vector(vdev, id);
	struct vta_queue *q;

	spin_lock_irq(&vector->lock);
	q = vta_watch_find_queue(vector, id);
	if (q && q->watch.aborting)
		vta_watch_check_aborted(q, state);
	else if (q)
		vta_watch_check_stalled(q, state, seq);
	spin_unlock_irq(&vector->lock);
	if (!q)
		return;

	if (hand == VTA_HAND_FOR_COMPUTE)
		__set_bit(VTA_COMPUTE_ENGINE, ready);
	else if (hand == VTA_HAND_FOR_COPY)
		__set_bit(VTA_COPY_ENGINE, ready);
}

/* ---- Registers of engines ---- */

/* Returns the time limit of a queue's descriptors, in ns of card time; U64_MAX: no limit. */
static u64 vta_watch_time_limit(struct vta_device *vdev, u32 id)
{
	struct vta_vector *vector = vta_irq_vector(vdev, id);
	u64 limit = U64_MAX;
	struct vta_queue *q;

	/* A queue that is being destroyed is not found: the thread that destroys it waits. */
	spin_lock_irq(&vector->lock);
	q = vta_watch_find_queue(vector, id);
	if (q && q->setup.time_limit)
		limit = q->setup.time_limit;
	spin_unlock_irq(&vector->lock);
	return limit;
}

/* Aborts the queue, and charges @ns, if the engine still executes its descriptor. */
static void vta_watch_abort_queue(struct vta_device *vdev, unsigned int e, u32 id, u64 ns)
{
	struct vta_watch_engine *engine = &vdev->watch.engines[e];
	struct vta_vector *vector = vta_irq_vector(vdev, id);
	struct vta_queue *q;

	spin_lock_irq(&vector->lock);
	q = vta_watch_find_queue(vector, id);
	if (q && vta_read(vdev, REG_ENGINE_MOVES(e)) == engine->moves) {
		engine->aborted = engine->moves;
		vta_queue_abort_hung(q, ns);
		q->watch.aborting = true;
		q->watch.stuck = 0;
		vdev->watch.rearm = true;
	}
	spin_unlock_irq(&vector->lock);
}

/* Checks an engine. @ready: a queue waits for it. */
static void vta_watch_check_engine(struct vta_device *vdev, unsigned int e, bool ready)
{
	struct vta_watch_engine *engine = &vdev->watch.engines[e];
	u64 hang = (u64)READ_ONCE(vta_hang_ms) * NSEC_PER_MSEC;
	u32 moves = vta_read(vdev, REG_ENGINE_MOVES(e));
	u32 id = vta_read(vdev, REG_ENGINE_QUEUE(e));
	u64 since = vta_read64(vdev, REG_ENGINE_SINCE_LO(e));
	u64 now = vta_read64(vdev, REG_TIME_LO);
	bool moved = moves != vta_read(vdev, REG_ENGINE_MOVES(e));
	bool busy = moves & REG_ENGINE_MOVES_BUSY;
	bool was_overdue = engine->overdue && engine->moves == moves;
	u64 limit = busy ? vta_watch_time_limit(vdev, id) : ready ? 0 : U64_MAX;

	engine->paused_ns = engine->moves == moves ? engine->paused_ns + vdev->watch.paused_ns : 0;
	since += engine->paused_ns;
	engine->moves = moves;
	engine->overdue = !moved && hang && limit != U64_MAX && now > since + limit + hang;
	if (!engine->overdue || !was_overdue || engine->aborted == moves)
		return;
	if (!busy)
		vta_card_request_reset(vdev, "does not start submitted descriptors");
	/* The abort has ended one descriptor, and this one is the next that has begun. */
	else if (engine->aborted != VTA_WATCH_NEVER &&
		 ((moves - engine->aborted) & REG_ENGINE_MOVES_MAX) == 2)
		vta_card_request_reset(vdev, "hangs");
	else
		vta_watch_abort_queue(vdev, e, id, limit + hang);
}

/* ---- Registers of the card ---- */

/* Checks the card itself. Returns false if a reset was requested. */
static bool vta_watch_check_card(struct vta_device *vdev)
{
	struct vta_watch *watch = &vdev->watch;
	u32 heartbeat = vta_read(vdev, REG_HEARTBEAT);
	u32 status = vta_read(vdev, REG_STATUS);
	bool stopped = watch->have_regs && !watch->stale && heartbeat == watch->heartbeat;

	watch->have_regs = true;
	watch->heartbeat = heartbeat;
	if (!vta_card_is_present(vdev))
		vta_card_request_reset(vdev, "does not answer");
	else if (!(status & REG_STATUS_READY) ||
		 vta_read(vdev, REG_GENERATION) != vdev->card_generation)
		vta_card_request_reset(vdev, "reset itself");
	else if (status & REG_STATUS_FATAL)
		vta_card_request_reset(vdev, "reported a fatal error");
	else if (stopped)
		vta_card_request_reset(vdev, "heartbeat stopped");
	else
		return true;
	return false;
}

void vta_watch_restart(struct vta_device *vdev)
{
	unsigned int e;

	vdev->watch.have_regs = false;
	for (e = 0; e < VTA_NR_ENGINES; e++)
		vdev->watch.engines[e] = (struct vta_watch_engine) { .aborted = VTA_WATCH_NEVER };
}

/* Reads registers; under vta_device.lock, so not during a reset. */
static void vta_watch_check_registers(struct vta_device *vdev)
{
	struct vta_watch *watch = &vdev->watch;
	unsigned long ready = 0;
	unsigned int n;

	if (watch->lost_irq)
		vta_card_enable_events(vdev);

	if (!vta_watch_check_card(vdev))
		return;
	for_each_set_bit(n, watch->stalled, VTA_QUEUES_MAX)
		vta_watch_check_queue(vdev, n, &ready);
	for (n = 0; n < VTA_NR_ENGINES; n++)
		vta_watch_check_engine(vdev, n, test_bit(n, &ready));
}

/* ---- Schedule ---- */

void vta_watch_work(struct work_struct *work)
{
	struct vta_device *vdev = container_of(work, struct vta_device, watch.work.work);
	struct vta_watch *watch = &vdev->watch;
	/* Not jiffies, which lose time in a virtual machine whose ticks are periodic. */
	u64 now = ktime_get_ns(), passed = now - watch->checked_ns;
	/* Between two checks a period passes, and little more, unless the machine is paused. */
	bool late = passed > 2ull * VTA_WATCH_MS * NSEC_PER_MSEC;

	watch->paused_ns = watch->rearm && late ? passed : 0;
	watch->stale = !watch->rearm || late;
	watch->checked_ns = now;
	watch->rearm = xchg(&watch->requested, false);
	if (vta_watch_sample_queues(vdev)) {
		vta_card_lock(vdev);
		if (vdev->state == VTA_STATE_LIVE && vdev->nr_ctxs)
			vta_watch_check_registers(vdev);
		vta_card_unlock(vdev);
	}
	watch->lost_irq = false;
	if (watch->rearm)
		vta_card_schedule_watch(vdev);
}

void vta_watch_stop(struct vta_device *vdev)
{
	cancel_delayed_work_sync(&vdev->watch.work);
	vdev->watch.requested = false;
}

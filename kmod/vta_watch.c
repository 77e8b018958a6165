// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_watch.c - finding a card that hangs
 *
 * The watchdog looks at the card every VTA_WATCH_MS while somebody waits, and
 * ends by itself when nobody does. As long as any queue moves, that is in memory,
 * and no register is read. When nothing has moved from one look to the next it
 * asks the card: is it there, is it ready, does its heart beat, does it write what
 * its registers say? A card that fails here is lost (vta_reset.c).
 *
 * A card that says it is well, and yet does not move for longer than any
 * descriptor may take, hangs in an engine. Then queues are aborted, one at a
 * time, until something moves, so that who only queued behind the hang is spared
 * if it can be. If nothing moves after all, the card is lost, too.
 *
 * Who waits for what was never submitted, or holds a queue by a WAIT, is no hang.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "vta_bo.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_irq.h"
#include "vta_mem.h"
#include "vta_queue.h"
#include "vta_reset.h"
#include "vta_wait.h"
#include "vta_watch.h"

/* From one look to the next. */
#define VTA_WATCH_MS		1000
/* All aborts for one hang together. */
#define VTA_WATCH_ABORT_MS	2000
/* What is left takes this long at most to be seen moving after an abort. */
#define VTA_WATCH_MOVE_MS	100

static unsigned int vta_hang_ms = 10000;
module_param_named(hang_ms, vta_hang_ms, uint, 0644);
MODULE_PARM_DESC(hang_ms,
		 "How much longer than its limit a descriptor may take before the card is said to hang, in ms (default 10000, 0: for ever)");

/* ---- What is seen in memory ---- */

/*
 * An interrupt may be on its way at this very moment. One that has not come from
 * one look to the next has been lost; what it should have told is told here.
 */
static void vta_watch_queue(struct vta_queue *q)
{
	bool reached = q->armed && vta_queue_record_seq(q) >= q->arm_seq;

	if (reached && !q->watch_late) {
		q->watch_late = true;
		return;
	}
	if (reached)
		atomic_inc(&q->ctx->vdev->lost_interrupts);
	q->watch_late = false;
	vta_wait_look_again(q);
}

/* Whether anything has moved since the last call, and whether anybody waits. */
static bool vta_watch_moves(struct vta_device *vdev, bool *waited)
{
	bool moved = false;
	unsigned int i;

	*waited = false;
	for (i = 0; i < vdev->nr_vectors; i++) {
		struct vta_vector *vector = &vdev->vectors[i];
		struct vta_queue *q;

		spin_lock_irq(&vector->lock);
		*waited |= !list_empty(&vector->waiting);
		list_for_each_entry(q, &vector->queues, vector_node) {
			vta_watch_queue(q);
			if (q->seq == q->watch_seq && q->halted == q->watch_halted)
				continue;
			q->watch_seq = q->seq;
			q->watch_halted = q->halted;
			q->watch_moved = jiffies;
			moved = true;
		}
		spin_unlock_irq(&vector->lock);
	}
	return moved;
}

/* ---- What the card says ---- */

/* Under vta_ctx.lock. */
static bool vta_watch_queue_is_behind(struct vta_queue *q)
{
	u32 state = vta_read(q->ctx->vdev, REG_QUEUE_STATE(q->id));
	u64 seq = vta_read64(q->ctx->vdev, REG_QUEUE_SEQ_LO(q->id));
	bool behind;

	/* What the registers say is in memory by now (docs/hardware.md, section 10). */
	spin_lock_irq(&q->vector->lock);
	vta_wait_look_again(q);
	behind = !q->halted && (seq > q->seq ||
				FIELD_GET(REG_QUEUE_STATE_STATE, state) != VTA_QUEUE_ACTIVE);
	spin_unlock_irq(&q->vector->lock);
	return behind;
}

/* It has gone on, and has not said so in memory: twice, for it may be about to. */
static bool vta_watch_is_silent(struct vta_device *vdev)
{
	bool behind, silent = false;
	struct vta_ctx *ctx;
	struct vta_queue *q;
	unsigned long handle;

	list_for_each_entry(ctx, &vdev->ctxs, node) {
		mutex_lock(&ctx->lock);
		xa_for_each(&ctx->queues, handle, q) {
			if (q->stopped || list_empty_careful(&q->wait_node))
				continue;
			behind = vta_watch_queue_is_behind(q);
			silent |= behind && q->watch_behind;
			q->watch_behind = behind;
		}
		mutex_unlock(&ctx->lock);
	}
	return silent;
}

/* A queue whose descriptor is, or is to be, in an engine. */
static bool vta_watch_needs_engine(const struct vta_queue *q)
{
	u32 state = vta_read(q->ctx->vdev, REG_QUEUE_STATE(q->id));

	return !q->halted && !q->stopped && state & REG_QUEUE_STATE_BUSY &&
	       vta_queue_next_op(q) != VTA_OP_WAIT;
}

/*
 * The one of those that has not moved for longest, or NULL; @limit is the longest
 * time that a descriptor of any may take, in ms, or 0 if one has no limit. Under
 * vta_device.lock, by which all of them stay.
 */
static struct vta_queue *vta_watch_find_stuck(struct vta_device *vdev, u64 *limit)
{
	struct vta_queue *q, *stuck = NULL;
	bool endless = false;
	struct vta_ctx *ctx;
	unsigned long handle;

	*limit = 0;
	list_for_each_entry(ctx, &vdev->ctxs, node) {
		mutex_lock(&ctx->lock);
		xa_for_each(&ctx->queues, handle, q) {
			if (!vta_watch_needs_engine(q))
				continue;
			endless |= !q->cycles;
			*limit = max(*limit, q->cycles / vdev->caps.clock_khz + 1);
			if (!stuck || time_before(q->watch_moved, stuck->watch_moved))
				stuck = q;
		}
		mutex_unlock(&ctx->lock);
	}
	if (endless)
		*limit = 0;
	return stuck;
}

/*
 * Aborts queues until another moves. If none does, and this was of no use, the
 * next hang will tell. One that does not stop has the card reset.
 */
static void vta_watch_abort(struct vta_device *vdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(VTA_WATCH_ABORT_MS);
	struct vta_watch *watch = &vdev->watch;
	struct vta_queue *q;
	bool waited;
	u64 limit;

	watch->aborted = true;
	while ((q = vta_watch_find_stuck(vdev, &limit))) {
		if (time_after(jiffies, end)) {
			vta_card_lost(vdev, "hangs");
			return;
		}
		if (vta_queue_give_up(q))
			return;
		vta_watch_moves(vdev, &waited);	/* it has, but not by itself */
		msleep(VTA_WATCH_MOVE_MS);
		if (vta_watch_moves(vdev, &waited)) {
			watch->aborted = false;
			return;
		}
	}
}

static void vta_watch_engines(struct vta_device *vdev)
{
	struct vta_watch *watch = &vdev->watch;
	unsigned int hang_ms = READ_ONCE(vta_hang_ms);
	u64 limit;

	if (!vta_watch_find_stuck(vdev, &limit) || !limit || !hang_ms) {
		watch->since = jiffies;
		return;
	}
	if (time_before(jiffies, watch->since + msecs_to_jiffies(limit + hang_ms)))
		return;
	watch->still = false;
	if (watch->aborted)
		vta_card_lost(vdev, "hangs");
	else
		vta_watch_abort(vdev);
}

/* Nothing has moved: why? Under vta_device.lock, so not amid a reset. */
static void vta_watch_ask(struct vta_device *vdev)
{
	struct vta_watch *watch = &vdev->watch;
	u32 heartbeat = vta_read(vdev, REG_HEARTBEAT);
	u32 status = vta_read(vdev, REG_STATUS);

	if (!vta_card_is_there(vdev)) {
		vta_card_lost(vdev, "does not answer");
	} else if (!(status & REG_STATUS_READY) ||
		   vta_read(vdev, REG_GENERATION) != vdev->card_generation) {
		vta_card_lost(vdev, "was reset by nobody");
	} else if (status & REG_STATUS_FATAL) {
		vta_card_lost(vdev, "has given up");
	} else if (!watch->still) {
		watch->still = true;
		watch->since = jiffies;
	} else if (heartbeat == watch->heartbeat) {
		vta_card_lost(vdev, "stands still");
	} else if (vta_watch_is_silent(vdev)) {
		vta_card_lost(vdev, "does not write status records");
	} else {
		vta_watch_engines(vdev);
	}
	watch->heartbeat = heartbeat;
}

/* ---- When ---- */

static void vta_watch_again(struct vta_device *vdev)
{
	queue_delayed_work(system_freezable_wq, &vdev->watch.work,
			   msecs_to_jiffies(VTA_WATCH_MS));
}

static void vta_watch_work(struct work_struct *work)
{
	struct vta_device *vdev = container_of(work, struct vta_device, watch.work.work);
	struct vta_watch *watch = &vdev->watch;
	bool asked = xchg(&watch->asked, false);
	bool moved, waited;

	moved = vta_watch_moves(vdev, &waited);
	if (moved) {
		watch->still = false;
		watch->aborted = false;
	}
	if (!waited && !asked) {
		watch->still = false;
		return;
	}
	if (!moved) {
		mutex_lock(&vdev->lock);
		if (!vdev->gone)
			vta_watch_ask(vdev);
		mutex_unlock(&vdev->lock);
	}
	vta_watch_again(vdev);
}

void vta_watch_init(struct vta_device *vdev)
{
	INIT_DELAYED_WORK(&vdev->watch.work, vta_watch_work);
}

/* What comes while the work runs has it run again. */
void vta_watch_start(struct vta_device *vdev)
{
	if (READ_ONCE(vdev->watch.asked))
		return;
	WRITE_ONCE(vdev->watch.asked, true);
	vta_watch_again(vdev);
}

void vta_watch_stop(struct vta_device *vdev)
{
	cancel_delayed_work_sync(&vdev->watch.work);
	vdev->watch.asked = false;
	vdev->watch.still = false;
}

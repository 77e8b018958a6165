// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_watch.c - finding a card that hangs
 *
 * The watchdog looks at the card every VTA_WATCH_MS while somebody waits, and
 * ends by itself when nobody does. As long as all that is waited for moves, that
 * is in memory, and no register is read. When a queue has not moved from one look
 * to the next it asks the card: is it there, is it ready, does its heart beat,
 * does it write what its registers say? A card that fails here is lost
 * (vta_reset.c).
 *
 * Descriptors that need an engine, while no other that needs it moves either for
 * longer than any of them may take, hang. Then queues are aborted, one at a time,
 * until another moves, so that who only queued behind the hang is spared if it
 * can be. If that was of no use, the card is lost, too. But what a queue needs is
 * read from its ring, where its owner can write what is not so: one user's queues
 * alone do not cost others the card. That an engine moves is read from what the card
 * writes.
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
#include "vta_user.h"
#include "vta_wait.h"
#include "vta_watch.h"

/* From one look to the next. */
#define VTA_WATCH_MS		1000
/* What is left takes this long at most to be seen moving after an abort. */
#define VTA_WATCH_MOVE_MS	100
/* Most aborts for one hang: two seconds, and what stopping takes. */
#define VTA_WATCH_ABORTS	20

static unsigned int vta_hang_ms = 10000;
module_param_named(hang_ms, vta_hang_ms, uint, 0644);
MODULE_PARM_DESC(hang_ms,
		 "How much longer than its limit a descriptor may take before the card is said to hang, in ms (default 10000, 0: for ever)");

/* ---- What is seen in memory ---- */

/*
 * An interrupt may be on its way at this very moment. One that has not come from
 * one look to the next has been lost; what it should have told is told here.
 */
static bool vta_watch_queue(struct vta_queue *q)
{
	u64 late = 0;
	bool lost;

	if (!q->halted && vta_queue_record_state(q) == VTA_QUEUE_HALTED)
		late = U64_MAX;
	else if (q->armed && vta_queue_record_seq(q) >= q->arm_seq)
		late = q->arm_seq;
	lost = late && late == q->watch_late;
	q->watch_late = late;
	if (late && !lost)
		return false;
	if (lost)
		atomic_inc(&q->ctx->vdev->lost_interrupts);
	vta_wait_look_again(q);
	return lost;
}

/* Whether somebody is to be told what becomes of it, without waiting for a number. */
static bool vta_watch_is_listened_to(struct vta_queue *q)
{
	return q->event || wq_has_sleeper(&q->ctx->poll_wq);
}

/* What its owner says in the ring that it needs next. */
static enum vta_engine vta_watch_engine(const struct vta_queue *q)
{
	switch (vta_queue_next_op(q)) {
	case VTA_OP_RUN:
		return VTA_ENGINE_COMPUTE;
	case VTA_OP_COPY:
	case VTA_OP_FILL:
		return VTA_ENGINE_COPY;
	case VTA_OP_WAIT:
		return VTA_ENGINE_HELD;
	default:
		return VTA_ENGINE_NONE;
	}
}

/* In which engine the card found what a queue has halted for. */
static enum vta_engine vta_watch_fault_engine(const struct vta_queue_fault *fault)
{
	if (fault->reason == VTA_FAULT_ALIGN)
		return VTA_ENGINE_NONE;	/* before it took one */
	switch (fault->access) {
	case VTA_ACCESS_INSN:
	case VTA_ACCESS_UOP:
	case VTA_ACCESS_LOAD:
	case VTA_ACCESS_STORE:
		return VTA_ENGINE_COMPUTE;
	case VTA_ACCESS_COPY_SRC:
	case VTA_ACCESS_COPY_DST:
		return VTA_ENGINE_COPY;
	}
	return fault->insn_index == VTA_FAULT_NO_INSN ? VTA_ENGINE_NONE : VTA_ENGINE_COMPUTE;
}

static void vta_watch_credit(struct vta_watch *watch, enum vta_engine engine)
{
	watch->moved[engine] = watch->time;
	watch->aborted[engine] = false;
}

/*
 * A queue has moved by itself. Which engine has served it is the card's to say, and
 * not the ring's, where one could hide what one has, or make it up.
 */
static void vta_watch_moved(struct vta_watch *watch, struct vta_queue *q)
{
	const struct vta_status *rec = &q->record->status;
	u64 cycles, copies;

	dma_rmb();	/* they were written before seq */
	cycles = le64_to_cpu(READ_ONCE(rec->cycles));
	copies = le64_to_cpu(READ_ONCE(rec->copies));

	if (cycles != q->watch_cycles)
		vta_watch_credit(watch, VTA_ENGINE_COMPUTE);
	if (copies != q->watch_copies)
		vta_watch_credit(watch, VTA_ENGINE_COPY);
	if (q->watch_engine == VTA_ENGINE_NONE)
		vta_watch_credit(watch, VTA_ENGINE_NONE);
	if (q->halted)
		vta_watch_credit(watch, vta_watch_fault_engine(&q->fault));
	q->watch_cycles = cycles;
	q->watch_copies = copies;
}

void vta_watch_started(struct vta_queue *q)
{
	lockdep_assert_held(&q->vector->lock);

	q->watch_cycles = 0;
	q->watch_copies = 0;
}

/* Whether somebody waits for one that has not moved since it was last looked at. */
static bool vta_watch_queue_stands(struct vta_watch *watch, struct vta_queue *q)
{
	bool moved = q->seq != q->watch_seq || q->halted != q->watch_halted;

	if (moved) {
		if (!q->hung)
			vta_watch_moved(watch, q);
		q->watch_seq = q->seq;
		q->watch_halted = q->halted;
		q->watch_busy = false;
		q->watch_behind = false;
	}
	q->watch_engine = vta_watch_engine(q);
	q->watch_stands = !moved && (q->watch_waited || !list_empty(&q->wait_node));
	q->watch_waited = false;
	return q->watch_stands;
}

/*
 * Whether any of those that are waited for stands still, or an interrupt was lost; and
 * whether to look again.
 */
static bool vta_watch_look(struct vta_device *vdev, bool *waited)
{
	bool stands = false;
	unsigned int i;

	*waited = false;
	for (i = 0; i < vdev->nr_vectors; i++) {
		struct vta_vector *vector = &vdev->vectors[i];
		struct vta_queue *q;

		spin_lock_irq(&vector->lock);
		*waited |= !list_empty(&vector->waiting);
		list_for_each_entry(q, &vector->queues, vector_node) {
			*waited |= q->watch_waited || vta_watch_is_listened_to(q);
			vdev->watch.lost |= vta_watch_queue(q);
			stands |= vta_watch_queue_stands(&vdev->watch, q);
		}
		spin_unlock_irq(&vector->lock);
	}
	return stands || vdev->watch.lost;
}

/* ---- What the card says ---- */

/* Under vta_ctx.lock. What registers say is in memory by then (hardware.md, 10). */
static bool vta_watch_queue_is_behind(const struct vta_queue *q)
{
	u32 state = vta_read(q->ctx->vdev, REG_QUEUE_STATE(q->id));
	u64 seq = vta_read64(q->ctx->vdev, REG_QUEUE_SEQ_LO(q->id));

	return seq > vta_queue_record_seq(q) ||
	       (FIELD_GET(REG_QUEUE_STATE_STATE, state) == VTA_QUEUE_HALTED &&
		le32_to_cpu(READ_ONCE(q->record->status.state)) == VTA_QUEUE_ACTIVE);
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
			if (q->stopped || !q->watch_stands)
				continue;
			behind = vta_watch_queue_is_behind(q);
			silent |= behind && q->watch_behind;
			q->watch_behind = behind;
		}
		mutex_unlock(&ctx->lock);
	}
	return silent;
}

/* Finds those that have something in hand that is not to be waited for. */
static void vta_watch_mark_busy(struct vta_device *vdev)
{
	struct vta_ctx *ctx;
	struct vta_queue *q;
	unsigned long handle;
	bool busy;

	list_for_each_entry(ctx, &vdev->ctxs, node) {
		mutex_lock(&ctx->lock);
		xa_for_each(&ctx->queues, handle, q) {
			q->watch_active = !vta_queue_is_idle(q);
			busy = q->watch_active && q->watch_engine != VTA_ENGINE_HELD;
			if (busy && !q->watch_busy)
				q->watch_since = vdev->watch.time;
			q->watch_busy = busy;
		}
		mutex_unlock(&ctx->lock);
	}
}

/*
 * The longest that a descriptor may take in the engine, in jiffies; 0 if that is for
 * ever. Whatever its ring shows, each queue that has something in hand may be in there.
 */
static unsigned long vta_watch_limit(struct vta_device *vdev, enum vta_engine engine)
{
	unsigned int hang_ms = READ_ONCE(vta_hang_ms);
	bool endless = !hang_ms;
	struct vta_ctx *ctx;
	struct vta_queue *q;
	unsigned long handle;
	u64 cycles = 0;

	list_for_each_entry(ctx, &vdev->ctxs, node) {
		mutex_lock(&ctx->lock);
		xa_for_each(&ctx->queues, handle, q) {
			if (!q->watch_active)
				continue;
			endless |= !q->cycles && q->watch_busy && q->watch_engine == engine;
			cycles = max(cycles, q->cycles);
		}
		mutex_unlock(&ctx->lock);
	}
	return endless ? 0 : msecs_to_jiffies(min_t(u64, cycles / vdev->caps.clock_khz + hang_ms,
						    INT_MAX));
}

/*
 * One that has waited for its engine for longer than it may, and so has everyone
 * else; the one that has for longest, with a reference: it may be destroyed at any
 * time, while its context stays, by vta_device.lock.
 */
static struct vta_queue *vta_watch_find_hung(struct vta_device *vdev, enum vta_engine engine)
{
	unsigned long limit = vta_watch_limit(vdev, engine), now = vdev->watch.time;
	struct vta_queue *q, *hung = NULL;
	struct vta_ctx *ctx;
	unsigned long handle;

	if (!limit || time_before(now, vdev->watch.moved[engine] + limit))
		return NULL;
	list_for_each_entry(ctx, &vdev->ctxs, node) {
		mutex_lock(&ctx->lock);
		xa_for_each(&ctx->queues, handle, q) {
			if (!q->watch_busy || q->watch_engine != engine ||
			    time_before(now, q->watch_since + limit))
				continue;
			if (hung && !time_before(q->watch_since, hung->watch_since))
				continue;
			if (hung)
				vta_queue_put(hung);
			kref_get(&q->ref);
			hung = q;
		}
		mutex_unlock(&ctx->lock);
	}
	return hung;
}

/* It was aborted, and nothing else moved. */
static void vta_watch_blame(struct vta_watch *watch, enum vta_engine engine, kuid_t uid)
{
	if (!watch->aborted[engine])
		watch->aborted_of[engine] = uid;
	else if (!uid_eq(watch->aborted_of[engine], uid))
		watch->aborted_of[engine] = INVALID_UID;
	watch->aborted[engine] = true;
}

/* One more hang of that user's: is it the card's? */
static bool vta_watch_is_believed(struct vta_device *vdev, enum vta_engine engine, kuid_t uid)
{
	struct vta_watch *watch = &vdev->watch;
	struct vta_ctx *ctx;

	if (!watch->aborted[engine])
		return false;
	if (!uid_eq(watch->aborted_of[engine], uid))
		return true;
	list_for_each_entry(ctx, &vdev->ctxs, node) {
		if (!uid_eq(ctx->user->uid, uid))
			return false;
	}
	return true;
}

/*
 * Aborts queues until another moves. If none does, and this was of no use, the
 * next hang will tell. One that does not stop has the card reset.
 */
static void vta_watch_abort(struct vta_device *vdev, enum vta_engine engine)
{
	struct vta_watch *watch = &vdev->watch;
	unsigned long moved = watch->moved[engine];
	bool again = watch->aborted[engine], late, waited;
	unsigned int aborts = 0;
	struct vta_queue *q;
	kuid_t uid;
	int ret;

	while ((q = vta_watch_find_hung(vdev, engine))) {
		if (READ_ONCE(vdev->history.why)) {
			vta_queue_put(q);
			return;
		}
		uid = q->ctx->user->uid;
		late = aborts++ == VTA_WATCH_ABORTS;
		if ((again || late) && vta_watch_is_believed(vdev, engine, uid)) {
			vta_card_lost(vdev, "hangs");
			ret = -EIO;
		} else {	/* what is left can wait for the next look */
			ret = late ? -EAGAIN : vta_queue_give_up(q);
		}
		vta_queue_put(q);
		if (ret)
			return;
		msleep(VTA_WATCH_MOVE_MS);
		vta_watch_look(vdev, &waited);
		if (watch->moved[engine] != moved)
			return;
		vta_watch_blame(watch, engine, uid);
	}
}

/* Something stands still: why? Under vta_device.lock, so not amid a reset. */
static void vta_watch_ask(struct vta_device *vdev)
{
	struct vta_watch *watch = &vdev->watch;
	u32 heartbeat = vta_read(vdev, REG_HEARTBEAT);
	u32 status = vta_read(vdev, REG_STATUS);
	enum vta_engine engine;

	if (watch->lost)
		vta_card_enable_events(vdev);
	watch->lost = false;
	if (watch->generation != vdev->generation) {	/* it has been reset meanwhile */
		watch->generation = vdev->generation;
		watch->still = false;
		memset(watch->aborted, 0, sizeof(watch->aborted));
	}

	if (!vta_card_is_there(vdev)) {
		vta_card_lost(vdev, "does not answer");
	} else if (!(status & REG_STATUS_READY) ||
		   vta_read(vdev, REG_GENERATION) != vdev->card_generation) {
		vta_card_lost(vdev, "was reset by nobody");
	} else if (status & REG_STATUS_FATAL) {
		vta_card_lost(vdev, "has given up");
	} else if (watch->still && heartbeat == watch->heartbeat) {
		vta_card_lost(vdev, "stands still");
	} else if (vta_watch_is_silent(vdev)) {
		vta_card_lost(vdev, "does not write status records");
	} else {
		vta_watch_mark_busy(vdev);
		for (engine = 0; engine < VTA_ENGINES; engine++)
			vta_watch_abort(vdev, engine);
	}
	watch->still = true;
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
	unsigned long now = jiffies;
	bool stands, waited;

	/*
	 * From one look to the next passes a period, and little more. More has passed where
	 * nobody waited, or for a machine that stood still, and maybe the card with it.
	 */
	watch->time += min(now - watch->looked, 2 * msecs_to_jiffies(VTA_WATCH_MS));
	watch->looked = now;
	stands = vta_watch_look(vdev, &waited);
	if (stands) {
		mutex_lock(&vdev->lock);
		/* When nobody has it any more, it may sleep. */
		if (vdev->state == VTA_STATE_LIVE && vdev->nr_ctxs)
			vta_watch_ask(vdev);
		mutex_unlock(&vdev->lock);
	} else {
		watch->still = false;
	}
	if (waited || asked)
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
}

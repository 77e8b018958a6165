// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_history.c - the last faults and resets of a card, and their uevents
 *
 * All users may receive uevents, so they do not name a queue's owner (docs/operating.md). Faults
 * occur in interrupts, as often as a user likes. So they are recorded, and a work sends uevents, at
 * a limited rate for each user; the next uevent counts those that were left out. No user's faults
 * take the room or the uevents of another's.
 */
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/ratelimit.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_history.h"
#include "vta_queue.h"
#include "vta_user.h"

/* ---- Recording ---- */

static void vta_history_queue_work(struct vta_history *history)
{
	if (!history->closed)
		mod_delayed_work(system_freezable_wq, &history->work, 0);
}

static unsigned int vta_history_faults_of(const struct vta_history *history, uid_t uid)
{
	unsigned int i, nr = 0;

	for (i = 0; i < history->kept_faults; i++)
		nr += history->faults[i].uid == uid;
	return nr;
}

/*
 * Drops the oldest fault of the user with the most, counting the next one of @uid, if there is no
 * room. So each of n users keeps VTA_HISTORY / n faults, whatever the others do.
 */
static void vta_history_make_room(struct vta_history *history, uid_t uid)
{
	struct vta_past_fault *faults = history->faults;
	unsigned int i, nr, most = 0, drop = 0;

	if (history->kept_faults < VTA_HISTORY)
		return;
	for (i = 0; i < VTA_HISTORY; i++) {
		nr = vta_history_faults_of(history, faults[i].uid) + (faults[i].uid == uid);
		if (nr <= most)
			continue;
		most = nr;
		drop = i;
	}
	history->kept_faults--;
	memmove(&faults[drop], &faults[drop + 1], (VTA_HISTORY - 1 - drop) * sizeof(*faults));
}

/* Schedules one uevent for all faults that get none of their own. */
static void vta_history_suppress(struct vta_history *history)
{
	if (history->suppressed || history->closed)
		return;
	history->suppressed = true;
	history->summary = jiffies + VTA_HISTORY_WINDOW;
	queue_delayed_work(system_freezable_wq, &history->work, VTA_HISTORY_WINDOW);
}

void vta_history_add_fault(const struct vta_queue *q)
{
	const struct vta_ctx *ctx = q->ctx;
	struct vta_history *history = &ctx->vdev->history;
	uid_t uid = from_kuid(&init_user_ns, ctx->user->uid);
	struct vta_past_fault *past;
	unsigned long flags;

	spin_lock_irqsave(&history->lock, flags);
	vta_history_make_room(history, uid);
	past = &history->faults[history->kept_faults++];
	*past = (struct vta_past_fault) {
		.number = history->nr_faults++,
		.report = __ratelimit(&ctx->user->uevents),
		.time_ns = ktime_get_boottime_ns(),
		.queue = q->id,
		.ctx = ctx->mmu.id,
		.tgid = ctx->tgid,
		.uid = uid,
		.fault = q->fault,
	};
	memcpy(past->comm, ctx->comm, sizeof(past->comm));
	if (past->report)
		vta_history_queue_work(history);
	else
		vta_history_suppress(history);
	spin_unlock_irqrestore(&history->lock, flags);
}

const char *vta_history_set_reason(struct vta_device *vdev, enum vta_cause cause,
				   const char *reason)
{
	struct vta_history *history = &vdev->history;
	unsigned long flags;

	spin_lock_irqsave(&history->lock, flags);
	if (!history->reason) {
		WRITE_ONCE(history->reason, reason);
		history->cause = cause;
	}
	reason = history->reason;
	spin_unlock_irqrestore(&history->lock, flags);
	return reason;
}

void vta_history_add_reset(struct vta_device *vdev, int ret)
{
	struct vta_history *history = &vdev->history;
	unsigned long flags;

	spin_lock_irqsave(&history->lock, flags);
	history->resets[history->nr_resets++ % VTA_HISTORY] = (struct vta_past_reset) {
		.time_ns = ktime_get_boottime_ns(),
		.reason = history->reason,
		.ret = ret,
		.generation = READ_ONCE(vdev->generation),
	};
	WRITE_ONCE(history->reason, NULL);
	vta_history_queue_work(history);
	spin_unlock_irqrestore(&history->lock, flags);
}

/* ---- Uevents ---- */

static void vta_history_send(struct vta_device *vdev, char *env[])
{
	if (device_is_registered(&vdev->dev))
		kobject_uevent_env(&vdev->dev.kobj, KOBJ_CHANGE, env);
}

static void vta_history_send_fault(struct vta_device *vdev, const struct vta_past_fault *past,
				   u64 left_out)
{
	char queue[24], reason[32], missed[40];
	char *env[5] = { "VTA_EVENT=fault", queue, reason, missed, NULL };

	snprintf(queue, sizeof(queue), "VTA_QUEUE=%u", past->queue);
	snprintf(reason, sizeof(reason), "VTA_REASON=%s",
		 vta_fault_reason(past->fault.reason)->name);
	snprintf(missed, sizeof(missed), "VTA_LEFT_OUT=%llu", left_out);
	vta_history_send(vdev, env);
}

static void vta_history_send_reset(struct vta_device *vdev, const struct vta_past_reset *past)
{
	char reason[96], generation[32], error[24];
	char *env[5] = { past->ret ? "VTA_EVENT=given-up" : "VTA_EVENT=reset", reason, generation,
			 error, NULL };

	snprintf(reason, sizeof(reason), "VTA_REASON=%s", past->reason);
	snprintf(generation, sizeof(generation), "VTA_GENERATION=%u", past->generation);
	snprintf(error, sizeof(error), "VTA_ERROR=%d", -past->ret);
	vta_history_send(vdev, env);
}

/* Finds the next reset whose uevent is due. */
static bool vta_history_next_reset(struct vta_history *history, struct vta_past_reset *past)
{
	bool found;

	spin_lock_irq(&history->lock);
	if (history->nr_resets - history->sent_resets > VTA_HISTORY)
		history->sent_resets = history->nr_resets - VTA_HISTORY;
	found = history->sent_resets < history->nr_resets;
	if (found)
		*past = history->resets[history->sent_resets++ % VTA_HISTORY];
	spin_unlock_irq(&history->lock);
	return found;
}

/* Finds the oldest fault, from number @from on, that gets a uevent. */
static const struct vta_past_fault *vta_history_find(const struct vta_history *history, u64 from)
{
	unsigned int i;

	for (i = 0; i < history->kept_faults; i++) {
		if (history->faults[i].report && history->faults[i].number >= from)
			return &history->faults[i];
	}
	return NULL;
}

/*
 * Finds the next fault whose uevent is due, and sets *left_out to the number of faults before it
 * without one. If there is none, *wait is the delay of the next one in jiffies, or 0.
 */
static bool vta_history_next_fault(struct vta_history *history, struct vta_past_fault *past,
				   u64 *left_out, unsigned long *wait)
{
	const struct vta_past_fault *next;
	unsigned long now = jiffies;

	*wait = 0;
	spin_lock_irq(&history->lock);
	next = vta_history_find(history, history->sent_faults);
	if (!next && history->suppressed) {
		if (time_before(now, history->summary))
			*wait = history->summary - now;
		else	/* the last one counts for all */
			next = &history->faults[history->kept_faults - 1];
	}
	if (next) {
		*past = *next;
		*left_out = next->number - history->sent_faults;
		history->sent_faults = next->number + 1;
		if (history->sent_faults == history->nr_faults)
			history->suppressed = false;
	}
	spin_unlock_irq(&history->lock);
	return next;
}

static void vta_history_work(struct work_struct *work)
{
	struct vta_history *history = container_of(work, struct vta_history, work.work);
	struct vta_device *vdev = container_of(history, struct vta_device, history);
	struct vta_past_reset reset;
	struct vta_past_fault fault;
	unsigned long wait;
	u64 left_out;

	while (vta_history_next_fault(history, &fault, &left_out, &wait))
		vta_history_send_fault(vdev, &fault, left_out);
	while (vta_history_next_reset(history, &reset))
		vta_history_send_reset(vdev, &reset);

	spin_lock_irq(&history->lock);
	if (wait && !history->closed)
		queue_delayed_work(system_freezable_wq, &history->work, wait);
	spin_unlock_irq(&history->lock);
}

/* ---- Logs ---- */

static void vta_history_print_time(struct vta_text *text, u64 time_ns)
{
	u32 ns;
	u64 s = div_u64_rem(time_ns, NSEC_PER_SEC, &ns);

	vta_print(text, "time=%llu.%09u", s, ns);
}

void vta_history_print_faults(struct vta_device *vdev, bool owners, struct vta_text *text)
{
	struct vta_history *history = &vdev->history;
	unsigned int i;

	spin_lock_irq(&history->lock);
	for (i = 0; i < history->kept_faults; i++) {
		const struct vta_past_fault *past = &history->faults[i];
		const struct vta_queue_fault *fault = &past->fault;

		vta_history_print_time(text, past->time_ns);
		vta_print(text, " queue=%u context=%u reason=%s access=%s addr=%#010x",
			  past->queue, past->ctx, vta_fault_reason(fault->reason)->name,
			  vta_fault_access(fault->access)->name, fault->addr);
		vta_print(text, " seq=%llu insn=%d pid=%d", fault->seq, (int)fault->insn_index,
			  past->tgid);
		if (owners)
			vta_print(text, " uid=%u comm=%s", past->uid, past->comm);
		vta_print(text, "\n");
	}
	spin_unlock_irq(&history->lock);
}

void vta_history_print_resets(struct vta_device *vdev, struct vta_text *text)
{
	struct vta_history *history = &vdev->history;
	struct vta_past_reset past;
	u64 n, nr;

	spin_lock_irq(&history->lock);
	nr = history->nr_resets;
	for (n = nr > VTA_HISTORY ? nr - VTA_HISTORY : 0; n < nr; n++) {
		past = history->resets[n % VTA_HISTORY];
		vta_history_print_time(text, past.time_ns);
		vta_print(text, " result=%s error=%d generation=%u why=%s\n",
			  past.ret ? "given-up" : "reset", -past.ret, past.generation, past.reason);
	}
	spin_unlock_irq(&history->lock);
}

/* ---- Init and close ---- */

void vta_history_init(struct vta_device *vdev)
{
	spin_lock_init(&vdev->history.lock);
	INIT_DELAYED_WORK(&vdev->history.work, vta_history_work);
}

void vta_history_close(struct vta_device *vdev)
{
	struct vta_history *history = &vdev->history;

	spin_lock_irq(&history->lock);
	history->closed = true;
	spin_unlock_irq(&history->lock);
	cancel_delayed_work_sync(&history->work);
}

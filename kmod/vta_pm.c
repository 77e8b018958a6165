// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_pm.c - power management: system suspend, hibernation, shutdown, runtime PM
 *
 * When the machine is suspended, processes have been frozen. All queues stop after their current
 * descriptor, and the card memory in use is copied to the host (vta_shadow.c). Resume resets the
 * card, programs it again, and restarts each queue after its last completed descriptor. A card
 * without open files, and without dma-bufs of its memory, may be put into D3hot at any time.
 */
#include <linux/iopoll.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/suspend.h>

#include "vta_cardmem.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_history.h"
#include "vta_pm.h"
#include "vta_queue.h"
#include "vta_reset.h"

/* Time for a paused queue to complete its descriptor. */
#define VTA_PM_STOP_MS		5000
/* Time for an aborted queue to stop. */
#define VTA_PM_ABORT_MS		(30 * VTA_ABORT_MS)
/* An idle card is suspended after this time. */
#define VTA_PM_IDLE_MS		1000

/* ---- The queues ---- */

static int vta_pm_for_queues(struct vta_device *vdev, int (*each)(struct vta_queue *q))
{
	struct vta_ctx *ctx;
	int ret = 0;

	list_for_each_entry(ctx, &vdev->ctxs, node) {
		ret = vta_ctx_for_queues(ctx, each);
		if (ret)
			break;
	}
	return ret;
}

static bool vta_pm_wait_paused(struct vta_device *vdev, unsigned int ms)
{
	int busy;

	return !read_poll_timeout(vta_pm_for_queues, busy, !busy, 1000, ms * 1000, false, vdev,
				  vta_queue_paused);
}

static int vta_pm_pause_queues(struct vta_device *vdev)
{
	vta_pm_for_queues(vdev, vta_queue_pause);
	if (!vta_pm_wait_paused(vdev, VTA_PM_STOP_MS)) {
		dev_warn(&vdev->dev,
			 "a descriptor takes longer than %d ms: its queue is aborted, so that the machine can suspend\n",
			 VTA_PM_STOP_MS);
		vta_pm_for_queues(vdev, vta_queue_abort_paused);
		if (!vta_pm_wait_paused(vdev, VTA_PM_ABORT_MS))
			return -ETIME;
	}
	vta_pm_for_queues(vdev, vta_queue_save_tail);
	/* An absent card may read as zeroes, like queues that have stopped. */
	return vta_card_is_present(vdev) ? 0 : -ENODEV;
}

/* ---- System suspend and resume ---- */

/*
 * Owns the card when no file is being closed that stops its queues. Processes are frozen, so only
 * threads of the kernel are waited for.
 */
static void vta_pm_lock(struct vta_device *vdev)
{
	vta_card_lock(vdev);
	while (vdev->nr_stopping) {
		vta_card_unlock(vdev);
		wait_var_event(&vdev->nr_stopping, !READ_ONCE(vdev->nr_stopping));
		vta_card_lock(vdev);
	}
}

/* Checks that the card was neither reset nor without power since vta_pm_stop_card(). */
static bool vta_pm_card_is_intact(struct vta_device *vdev)
{
	return vta_card_is_present(vdev) && vta_read(vdev, REG_EVENT_ENABLE) == REG_EVENT_ALL &&
	       vta_read(vdev, REG_GENERATION) == vdev->card_generation;
}

/* Disables an idle card, which is not accessed any more until it resumes. */
static void vta_pm_stop_card(struct vta_device *vdev)
{
	vta_write(vdev, REG_CONTROL, 0);
	vta_card_set_state(vdev, VTA_STATE_SUSPENDED);
}

/* Resets the card, and restores its memory, contexts and queues. */
static int vta_pm_restore_card(struct vta_device *vdev)
{
	struct vta_ctx *ctx;
	bool intact;
	int ret;

	vta_card_set_state(vdev, VTA_STATE_RESETTING);
	pci_set_master(vdev->pdev);
	intact = vta_pm_card_is_intact(vdev) || vta_shadow_is_saved(vdev) ||
	       vta_cardmem_avail(vdev->cardmem) == vdev->caps.mem_size;
	ret = vta_card_wait_ready(vdev);
	if (!ret)
		ret = vta_card_reset(vdev);
	if (ret)
		return ret;
	if (vta_read64(vdev, REG_SERIAL_LO) != vdev->caps.serial) {
		dev_err(&vdev->dev, "another card is in the slot after resume\n");
		return -ENODEV;
	}
	if (!intact)
		return -ENODATA;
	vta_card_start(vdev);
	ret = vta_shadow_restore(vdev);
	if (ret)
		return ret;
	vta_user_restore_weights(vdev);	/* no group owes the time of the copies */
	list_for_each_entry(ctx, &vdev->ctxs, node) {
		ret = vta_ctx_resume(ctx);
		if (ret)
			return ret;
	}
	vta_card_set_state(vdev, VTA_STATE_LIVE);
	return 0;
}

static void vta_pm_resume_card(struct vta_device *vdev)
{
	int ret = vta_pm_restore_card(vdev);

	if (!ret)
		return;
	dev_err(&vdev->dev, "does not wake up (%d): resetting the card\n", ret);
	vta_card_recover(vdev, VTA_CAUSE_WAKE, "did not wake up");
}

/*
 * Suspends a live card; with @save, copies its memory. A card that fails is reset, and then has
 * nothing to be saved. Without memory for the copy, the card resumes and suspend fails.
 */
static int vta_pm_suspend_card(struct vta_device *vdev, bool save)
{
	int ret = save ? vta_shadow_reserve(vdev) : 0;

	if (ret)
		return ret;
	ret = vta_pm_pause_queues(vdev);
	if (!ret && save)
		ret = vta_shadow_save(vdev);
	if (ret == -ENOMEM) {
		vta_pm_resume_card(vdev);
		return ret;
	}
	if (ret)
		vta_card_recover(vdev, VTA_CAUSE_SLEEP, "failed when the machine went to sleep");
	if (vdev->state == VTA_STATE_LIVE)
		vta_pm_stop_card(vdev);
	return 0;
}

static void vta_pm_report_no_memory(struct vta_device *vdev, int ret)
{
	dev_err(&vdev->dev, "no host memory to save the card's memory (%d): end programs that use the card, then suspend again\n",
		ret);
}

static int vta_pm_suspend_device(struct device *dev, bool save)
{
	struct vta_device *vdev = dev_get_drvdata(dev);
	int ret = 0;

	vta_pm_lock(vdev);
	if (vdev->state == VTA_STATE_LIVE)
		ret = vta_pm_suspend_card(vdev, save);
	vta_card_unlock(vdev);
	if (ret)
		vta_pm_report_no_memory(vdev, ret);
	return ret;
}

static int __maybe_unused vta_pm_suspend(struct device *dev)
{
	return vta_pm_suspend_device(dev, true);
}

/* The hibernation image contains the card's memory already. */
static int __maybe_unused vta_pm_poweroff(struct device *dev)
{
	return vta_pm_suspend_device(dev, false);
}

static int __maybe_unused vta_pm_resume(struct device *dev)
{
	struct vta_device *vdev = dev_get_drvdata(dev);

	vta_pm_lock(vdev);
	if (vdev->state == VTA_STATE_SUSPENDED)
		vta_pm_resume_card(vdev);
	vta_card_unlock(vdev);
	return 0;
}

/*
 * Allocates memory for the copy while processes run, so that memory can be reclaimed, and before
 * hibernation allocates memory for its image.
 */
static int vta_pm_notify(struct notifier_block *notifier, unsigned long event, void *data)
{
	struct vta_device *vdev = container_of(notifier, struct vta_device, pm_notifier);
	int ret;

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		ret = vta_shadow_reserve(vdev);
		if (!ret)
			return NOTIFY_OK;
		vta_pm_report_no_memory(vdev, ret);
		vta_shadow_release(vdev);
		return notifier_from_errno(ret);
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		vta_shadow_release(vdev);
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

/* Waits for no user: the card is off the bus, so memory need not be freed. */
void vta_pm_shutdown(struct pci_dev *pdev)
{
	vta_card_retire(pci_get_drvdata(pdev), VTA_CAUSE_SHUTDOWN);
}

/* ---- Runtime PM ---- */

static int __maybe_unused vta_pm_runtime_suspend(struct device *dev)
{
	struct vta_device *vdev = dev_get_drvdata(dev);
	bool busy;

	vta_card_lock(vdev);
	/* Open files keep the card awake, but a dma-buf can be mapped without an open file. */
	busy = vta_cardmem_avail(vdev->cardmem) != vdev->caps.mem_size;
	if (!busy && vdev->state == VTA_STATE_LIVE)
		vta_pm_stop_card(vdev);
	vta_card_unlock(vdev);
	if (!busy)
		return 0;
	pm_runtime_mark_last_busy(dev);
	return -EBUSY;
}

/*
 * A card in D3hot keeps its registers, unless its slot had no power. Then the card is restored; no
 * file was open, and this does not count as a reset that the card needed.
 */
static int __maybe_unused vta_pm_runtime_resume(struct device *dev)
{
	struct vta_device *vdev = dev_get_drvdata(dev);

	vta_card_lock(vdev);
	if (vdev->state != VTA_STATE_SUSPENDED)
		goto out;
	vta_card_set_state(vdev, VTA_STATE_RESETTING);
	if (vta_pm_card_is_intact(vdev)) {
		vta_card_start(vdev);
		vta_card_set_state(vdev, VTA_STATE_LIVE);
	} else if (vta_pm_restore_card(vdev)) {
		vta_history_set_reason(vdev, VTA_CAUSE_WAKE, "did not wake up");
		vta_card_request_reset(vdev, "does not wake up");
	}
out:
	vta_card_unlock(vdev);
	return 0;
}

const struct dev_pm_ops vta_pm_ops = {
#ifdef CONFIG_PM_SLEEP
	.suspend = vta_pm_suspend,
	.resume = vta_pm_resume,
	.freeze = vta_pm_suspend,
	.thaw = vta_pm_resume,
	.poweroff = vta_pm_poweroff,
	.restore = vta_pm_resume,
#endif
	SET_RUNTIME_PM_OPS(vta_pm_runtime_suspend, vta_pm_runtime_resume, NULL)
};

/* Runtime PM begins when an administrator writes "auto" to power/control. */
void vta_pm_begin(struct vta_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;

	pm_runtime_set_autosuspend_delay(dev, VTA_PM_IDLE_MS);
	pm_runtime_use_autosuspend(dev);
	vdev->pm_notifier.notifier_call = vta_pm_notify;
	register_pm_notifier(&vdev->pm_notifier);
	vta_card_put(vdev);
}

void vta_pm_end(struct vta_device *vdev)
{
	unregister_pm_notifier(&vdev->pm_notifier);
	pm_runtime_get_noresume(&vdev->pdev->dev);
	pm_runtime_dont_use_autosuspend(&vdev->pdev->dev);
}

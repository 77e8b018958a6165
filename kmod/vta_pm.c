// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_pm.c - the machine sleeps, hibernates and is shut down; the card does
 *
 * When the machine goes to sleep, processes have been stopped. What they had
 * submitted is finished; then the card's memory that is in use is copied to the
 * host's, and the card is reset and set up again on the way back, from what the
 * driver knows. So contexts survive, with the state that queues keep of the core. If
 * the work is not finished in its time (it may wait for a process), there is a
 * reset before, as by anything else. If the host has no memory for the copy, the
 * machine does not go to sleep.
 *
 * A card that nobody has open, and nobody has memory of, may be put into D3hot at
 * any time (runtime power management); it has nothing to lose but its registers.
 */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "vta_cardmem.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_history.h"
#include "vta_host.h"
#include "vta_pm.h"
#include "vta_reset.h"

/* What is under way is given so long to end. */
#define VTA_PM_DRAIN_MS		5000
/* Nobody has needed the card for so long. */
#define VTA_PM_IDLE_MS		1000

/* ---- Card memory ---- */

/**
 * struct vta_pm_copy - what the card's memory held
 * @host: pages of the host, as many as there are set bits
 * @used: a bit for each page of the card's memory
 */
struct vta_pm_copy {
	struct vta_host host;
	unsigned long used[];
};

static unsigned long vta_pm_pages(const struct vta_device *vdev)
{
	return vdev->caps.mem_size >> PAGE_SHIFT;
}

void vta_pm_forget(struct vta_device *vdev)
{
	if (!vdev->copy)
		return;
	vta_host_free(&vdev->copy->host);
	kvfree(vdev->copy);
	vdev->copy = NULL;
}

/* Makes room. */
static int vta_pm_prepare(struct vta_device *vdev)
{
	unsigned long pages = vta_pm_pages(vdev), used;
	int ret;

	vdev->copy = kvzalloc(struct_size(vdev->copy, used, BITS_TO_LONGS(pages)), GFP_KERNEL);
	if (!vdev->copy)
		return -ENOMEM;
	vta_cardmem_used(vdev->cardmem, vdev->copy->used);
	used = bitmap_weight(vdev->copy->used, pages);
	if (!used)
		return 0;
	ret = vta_host_alloc(&vdev->copy->host, (u64)used << PAGE_SHIFT);
	if (ret) {
		kvfree(vdev->copy);
		vdev->copy = NULL;
	}
	return ret;
}

static void vta_pm_move(struct vta_device *vdev, bool save)
{
	unsigned long bit, i = 0;

	for_each_set_bit(bit, vdev->copy->used, vta_pm_pages(vdev)) {
		void __iomem *card = vdev->mem + ((u64)bit << PAGE_SHIFT);
		void *page = page_address(vdev->copy->host.pages[i++]);

		if (save)
			memcpy_fromio(page, card, PAGE_SIZE);
		else
			memcpy_toio(card, page, PAGE_SIZE);
		cond_resched();
	}
	wmb();	/* out of the write-combining buffers */
}

/* ---- Sleep of the machine ---- */

static bool vta_pm_is_idle(struct vta_device *vdev)
{
	struct vta_ctx *ctx;
	bool idle = true;

	list_for_each_entry(ctx, &vdev->ctxs, node)
		idle = idle && vta_ctx_is_idle(ctx);
	return idle;
}

/*
 * The card alone knows what has been submitted: there is no number that could be
 * waited for by an interrupt.
 */
static bool vta_pm_drain(struct vta_device *vdev)
{
	bool idle;

	return !read_poll_timeout(vta_pm_is_idle, idle, idle, 10000, VTA_PM_DRAIN_MS * 1000,
				  false, vdev);
}

/* The card finishes what it has begun, which is nothing, and is not accessed any more. */
static void vta_pm_doze(struct vta_device *vdev)
{
	vta_write(vdev, REG_CONTROL, 0);
	vta_card_set_state(vdev, VTA_STATE_ASLEEP);
}

static int vta_pm_put_away(struct vta_device *vdev)
{
	struct vta_ctx *ctx;
	int ret;

	list_for_each_entry(ctx, &vdev->ctxs, node) {
		ret = vta_ctx_suspend(ctx);
		if (ret)
			return ret;
	}
	return 0;
}

static int __maybe_unused vta_pm_suspend(struct device *dev)
{
	struct vta_device *vdev = dev_get_drvdata(dev);
	int ret = 0;

	mutex_lock(&vdev->lock);
	if (vdev->state == VTA_STATE_LIVE && !vta_pm_drain(vdev)) {
		dev_warn(&vdev->dev, "is not done with its work in %d ms\n", VTA_PM_DRAIN_MS);
		vta_card_recover(vdev, VTA_CAUSE_SLEEP,
				 "was not done with its work when the machine went to sleep");
	}
	if (vdev->state != VTA_STATE_LIVE)
		goto out;
	ret = vta_pm_prepare(vdev);
	if (ret) {
		dev_err(&vdev->dev, "no memory for a copy of the card's (%d): close what uses it before the machine sleeps\n",
			ret);
		goto out;
	}
	/* There will be a copy of the card's memory then, though nobody has any. */
	if (vta_pm_put_away(vdev))
		vta_card_recover(vdev, VTA_CAUSE_SLEEP,
				 "did not stop its queues when the machine went to sleep");
	if (vdev->state != VTA_STATE_LIVE)
		goto out;
	vta_pm_doze(vdev);
	vta_pm_move(vdev, true);
out:
	mutex_unlock(&vdev->lock);
	return ret;
}

/* The card as it was; what it does not remember, the driver does. */
static int vta_pm_restore(struct vta_device *vdev)
{
	struct vta_ctx *ctx;
	int ret;

	vta_card_set_state(vdev, VTA_STATE_RESETTING);
	pci_set_master(vdev->pdev);
	ret = vta_card_wait_ready(vdev);
	if (!ret)
		ret = vta_card_reset(vdev);
	if (ret)
		return ret;
	if (vta_read64(vdev, REG_SERIAL_LO) != vdev->caps.serial) {
		dev_err(&vdev->dev, "another card has come back\n");
		return -ENODEV;
	}
	if (vdev->copy)
		vta_pm_move(vdev, false);
	vta_card_start(vdev);
	list_for_each_entry(ctx, &vdev->ctxs, node) {
		ret = vta_ctx_resume(ctx);
		if (ret)
			return ret;
	}
	vta_card_set_state(vdev, VTA_STATE_LIVE);
	return 0;
}

static int __maybe_unused vta_pm_resume(struct device *dev)
{
	struct vta_device *vdev = dev_get_drvdata(dev);
	int ret;

	mutex_lock(&vdev->lock);
	if (vdev->state == VTA_STATE_ASLEEP) {
		ret = vta_pm_restore(vdev);
		if (ret) {
			dev_err(&vdev->dev, "does not wake up (%d): resetting the card\n", ret);
			vta_card_recover(vdev, VTA_CAUSE_WAKE, "did not wake up");
		}
	}
	vta_pm_forget(vdev);
	mutex_unlock(&vdev->lock);
	return 0;
}

void vta_pm_shutdown(struct pci_dev *pdev)
{
	vta_card_retire(pci_get_drvdata(pdev), VTA_CAUSE_SHUTDOWN);
}

/* ---- Sleep of the card ---- */

static int __maybe_unused vta_pm_runtime_suspend(struct device *dev)
{
	struct vta_device *vdev = dev_get_drvdata(dev);
	bool busy;

	mutex_lock(&vdev->lock);
	/* An open file keeps the card awake; a dma-buf can be mapped when none is. */
	busy = vta_cardmem_avail(vdev->cardmem) != vdev->caps.mem_size;
	if (!busy && vdev->state == VTA_STATE_LIVE)
		vta_pm_doze(vdev);
	mutex_unlock(&vdev->lock);
	if (!busy)
		return 0;
	pm_runtime_mark_last_busy(dev);
	return -EBUSY;
}

/*
 * D3hot keeps registers; a slot without power does not. No file has lost anything by
 * that, nor is it a reset that the card needed.
 */
static int __maybe_unused vta_pm_runtime_resume(struct device *dev)
{
	struct vta_device *vdev = dev_get_drvdata(dev);

	mutex_lock(&vdev->lock);
	if (vdev->state != VTA_STATE_ASLEEP)
		goto out;
	vta_card_set_state(vdev, VTA_STATE_RESETTING);
	if (vta_card_is_there(vdev) && vta_read(vdev, REG_EVENT_ENABLE) == REG_EVENT_ALL &&
	    vta_read(vdev, REG_GENERATION) == vdev->card_generation) {
		vta_card_start(vdev);
		vta_card_set_state(vdev, VTA_STATE_LIVE);
	} else if (vta_pm_restore(vdev)) {
		vta_history_why(vdev, VTA_CAUSE_WAKE, "did not wake up");
		vta_card_lost(vdev, "does not wake up");
	}
out:
	mutex_unlock(&vdev->lock);
	return 0;
}

const struct dev_pm_ops vta_pm_ops = {
	SET_SYSTEM_SLEEP_PM_OPS(vta_pm_suspend, vta_pm_resume)
	SET_RUNTIME_PM_OPS(vta_pm_runtime_suspend, vta_pm_runtime_resume, NULL)
};

/* If it does is the administrator's business: power/control is "on" at first. */
void vta_pm_begin(struct vta_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;

	pm_runtime_set_autosuspend_delay(dev, VTA_PM_IDLE_MS);
	pm_runtime_use_autosuspend(dev);
	vta_pm_put(vdev);
}

void vta_pm_end(struct vta_device *vdev)
{
	pm_runtime_get_noresume(&vdev->pdev->dev);
	pm_runtime_dont_use_autosuspend(&vdev->pdev->dev);
}

int vta_pm_get(struct vta_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;
	int ret = pm_runtime_get_sync(dev);

	if (ret >= 0)
		return 0;
	pm_runtime_put_noidle(dev);
	return -ENODEV;
}

void vta_pm_put(struct vta_device *vdev)
{
	pm_runtime_mark_last_busy(&vdev->pdev->dev);
	pm_runtime_put_autosuspend(&vdev->pdev->dev);
}

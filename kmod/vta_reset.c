// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_reset.c - starting, resetting and giving up the card
 *
 * A card that does not keep its promises (a queue that does not stop, a TLB
 * that does not answer, STATUS.FATAL) may touch memory at any time, so nothing
 * of that memory is freed until the card has been reset or cannot master the
 * bus any more. That is decided here and nowhere else: everyone else reports
 * to vta_card_lost() and keeps what it has.
 *
 * A reset takes the card from every open file. They get ENODEV from then on,
 * until they are closed; opening again works.
 */
#include <linux/iopoll.h>
#include <linux/pci.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_export.h"
#include "vta_irq.h"
#include "vta_reset.h"

/* How much longer than the contract says the card is given. */
#define VTA_PATIENCE	2

int vta_card_wait_ready(struct vta_device *vdev)
{
	u32 status;
	int ret;

	ret = readl_poll_timeout(vdev->regs + REG_STATUS, status, status & REG_STATUS_READY,
				 1000, VTA_PATIENCE * VTA_READY_MS * 1000);
	return vta_is_dead(status) ? -ENODEV : ret;
}

/* Afterwards, the card does nothing that it was told to do before. */
int vta_card_reset(struct vta_device *vdev)
{
	u32 generation = vta_read(vdev, REG_GENERATION);
	int ret;

	if (vta_is_dead(generation))
		return -ENODEV;
	vta_write(vdev, REG_CONTROL, REG_CONTROL_RESET);
	ret = vta_card_wait_ready(vdev);
	if (ret)
		return ret;
	/* Ready, but was it reset? */
	if (vta_read(vdev, REG_GENERATION) == generation)
		return -EIO;
	return 0;
}

void vta_card_start(struct vta_device *vdev)
{
	vta_write(vdev, REG_EVENT_VECTOR, VTA_EVENT_VECTOR);
	vta_write(vdev, REG_EVENT_ENABLE, REG_EVENT_ALL);
	vta_write(vdev, REG_CONTROL, REG_CONTROL_ENABLE);
}

/* Everybody is sent home, and nothing more is heard of the card. */
static void vta_reset_begin(struct vta_device *vdev)
{
	struct vta_ctx *ctx;

	lockdep_assert_held(&vdev->lock);

	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_revoke(ctx);
	vta_export_revoke(vdev);
	vta_irq_disable(vdev);
	/* Who could ask for a reset of the card as it was has been stopped. */
	WRITE_ONCE(vdev->reset_wanted, false);
}

/* The card is still, or must be made so: @ret says if it has been reset. */
static void vta_reset_end(struct vta_device *vdev, int ret)
{
	struct vta_ctx *ctx;

	lockdep_assert_held(&vdev->lock);

	if (ret)
		pci_clear_master(vdev->pdev);
	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_drop(ctx);
	if (ret) {
		vdev->gone = true;
		dev_err(&vdev->dev, "cannot be reset (%d), given up: power it off and on, then bind the driver again\n",
			ret);
	} else {
		vdev->generation++;
		pci_set_master(vdev->pdev);	/* a card given up had lost it */
		vta_card_start(vdev);
		dev_warn_ratelimited(&vdev->dev, "was reset; files opened before must be opened again\n");
	}
	vta_irq_enable(vdev);
}

void vta_card_recover(struct vta_device *vdev)
{
	vta_reset_begin(vdev);
	vta_reset_end(vdev, vta_card_reset(vdev));
}

void vta_reset_work(struct work_struct *work)
{
	struct vta_device *vdev = container_of(work, struct vta_device, reset_work);

	mutex_lock(&vdev->lock);
	if (READ_ONCE(vdev->reset_wanted) && !vdev->gone)
		vta_card_recover(vdev);
	mutex_unlock(&vdev->lock);
}

void vta_card_lost(struct vta_device *vdev, const char *why)
{
	dev_err_ratelimited(&vdev->dev, "%s: resetting the card\n", why);
	WRITE_ONCE(vdev->reset_wanted, true);
	schedule_work(&vdev->reset_work);
}

void vta_card_retire(struct vta_device *vdev)
{
	struct vta_ctx *ctx;
	int ret;

	mutex_lock(&vdev->lock);
	vdev->gone = true;
	vta_reset_begin(vdev);
	ret = vta_card_reset(vdev);
	if (ret)
		dev_warn(&vdev->dev, "gone, or cannot be reset (%d)\n", ret);
	pci_clear_master(vdev->pdev);
	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_drop(ctx);
	mutex_unlock(&vdev->lock);
}

/*
 * Somebody else resets the function: sysfs, or the PCI core. The lock is held
 * from one call to the other, as through any reset.
 */
static void vta_reset_prepare(struct pci_dev *pdev)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);

	mutex_lock(&vdev->lock);
	vta_reset_begin(vdev);
}

static void vta_reset_done(struct pci_dev *pdev)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);
	int ret = vta_card_wait_ready(vdev);

	/* Memory is about to be freed, so do not take others' word for it. */
	if (!ret)
		ret = vta_card_reset(vdev);

	/* This may have helped a card that had been given up. */
	if (!ret)
		vdev->gone = false;
	vta_reset_end(vdev, ret);
	mutex_unlock(&vdev->lock);
}

const struct pci_error_handlers vta_reset_handlers = {
	.reset_prepare = vta_reset_prepare,
	.reset_done = vta_reset_done,
};

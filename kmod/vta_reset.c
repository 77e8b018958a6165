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

void vta_card_recover(struct vta_device *vdev)
{
	struct vta_ctx *ctx;
	int ret;

	lockdep_assert_held(&vdev->lock);

	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_revoke(ctx);
	/* Who could ask for a reset of the card as it was has been stopped. */
	WRITE_ONCE(vdev->reset_wanted, false);

	vta_irq_disable(vdev);
	ret = vta_card_reset(vdev);
	if (ret)
		pci_clear_master(vdev->pdev);
	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_drop(ctx);
	if (!ret)
		vta_card_start(vdev);
	vta_irq_enable(vdev);

	if (ret) {
		vdev->gone = true;
		dev_err(&vdev->dev, "cannot be reset (%d), given up: power the card off and on, then bind the driver again\n",
			ret);
		return;
	}
	vdev->generation++;
	dev_warn(&vdev->dev, "was reset; files opened before must be opened again\n");
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
	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_revoke(ctx);
	vta_irq_disable(vdev);
	ret = vta_card_reset(vdev);
	if (ret)
		dev_warn(&vdev->dev, "gone, or cannot be reset (%d)\n", ret);
	pci_clear_master(vdev->pdev);
	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_drop(ctx);
	vta_irq_enable(vdev);
	mutex_unlock(&vdev->lock);
}

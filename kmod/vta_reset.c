// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_reset.c - starting, resetting and giving up the card
 *
 * A card that does not keep its promises (a queue that does not stop, a TLB
 * that does not answer, STATUS.FATAL, a heart that does not beat) may touch
 * memory at any time, so nothing of that memory is freed until the card has been
 * reset or cannot master the bus any more. That is decided here and nowhere else:
 * everyone else reports to vta_card_lost() and keeps what it has.
 *
 * The card is brought back by the weakest means that works: soft reset, then
 * Function Level Reset, each with its own deadline. A card that neither helps, or
 * that needs it time and again, is given up: it loses the bus, and opening it
 * fails until an administrator or the PCI core has reset it. (The step before
 * these, aborting single queues, is the watchdog's: vta_watch.c.)
 *
 * A reset takes the card from every open file. They get ENODEV from then on,
 * until they are closed; opening again works.
 */
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/wait_bit.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_dump.h"
#include "vta_export.h"
#include "vta_irq.h"
#include "vta_pm.h"
#include "vta_reset.h"
#include "vta_trace.h"

/* How much longer than the contract says the card is given. */
#define VTA_PATIENCE	3

static unsigned int vta_max_resets = 5;
module_param_named(max_resets, vta_max_resets, uint, 0644);
MODULE_PARM_DESC(max_resets,
		 "Most resets that a card may need in a minute before it is given up (default 5, 0: no limit)");

/* A card, and not what bridges answer for one that is not there: ones, or zeroes. */
bool vta_card_is_there(struct vta_device *vdev)
{
	return vta_read(vdev, REG_MAGIC) == REG_MAGIC_VALUE;
}

int vta_card_wait_ready(struct vta_device *vdev)
{
	u32 status;
	int ret;

	ret = vta_read_poll(vdev, REG_STATUS, status, status & REG_STATUS_READY,
			    1000, VTA_PATIENCE * VTA_READY_MS);
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
	return vta_card_is_there(vdev) ? 0 : -ENODEV;
}

void vta_card_start(struct vta_device *vdev)
{
	vdev->card_generation = vta_read(vdev, REG_GENERATION);
	vta_write(vdev, REG_EVENT_VECTOR, VTA_EVENT_VECTOR);
	vta_write(vdev, REG_EVENT_ENABLE, REG_EVENT_ALL);
	vta_write(vdev, REG_CONTROL, REG_CONTROL_ENABLE);
}

/* ---- The steps ---- */

void vta_step(struct vta_device *vdev, enum vta_step step, int ret)
{
	atomic_inc(&vdev->steps[step]);
	trace_vta_recovery(vdev, step, ret);
	if (step == VTA_STEP_GIVE_UP)
		vta_history_reset(vdev, ret);
}

static int vta_soft_reset(struct vta_device *vdev)
{
	/* The card takes no reset while it is in one. */
	int ret = vta_card_wait_ready(vdev);

	return ret ? ret : vta_card_reset(vdev);
}

static int vta_function_reset(struct vta_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	u32 devcap = 0;
	int ret;

	/* The PCI core would wait for a minute for one that is not there. */
	if (!pci_device_is_present(pdev))
		return -ENODEV;
	pcie_capability_read_dword(pdev, PCI_EXP_DEVCAP, &devcap);
	if (!(devcap & PCI_EXP_DEVCAP_FLR))
		return -EOPNOTSUPP;
	ret = pcie_flr(pdev);
	if (ret)
		return ret;
	vta_card_restore_config(vdev);
	ret = vta_card_wait_ready(vdev);
	if (ret)
		return ret;
	return vta_card_is_there(vdev) ? 0 : -ENODEV;
}

/* As weak as may be, and as strong as must be. */
static int vta_reset_climb(struct vta_device *vdev)
{
	int ret = vta_soft_reset(vdev);

	vta_step(vdev, VTA_STEP_SOFT_RESET, ret);
	if (ret) {
		ret = vta_function_reset(vdev);
		vta_step(vdev, VTA_STEP_FUNCTION_RESET, ret);
	}
	/* All that is known of it is of the card that was bound. */
	if (!ret && vta_read64(vdev, REG_SERIAL_LO) != vdev->caps.serial) {
		dev_err(&vdev->dev, "another card has come back: unbind the driver from it, and bind it again\n");
		return -ENODEV;
	}
	return ret;
}

/* Counts one, too. */
static bool vta_reset_too_often(struct vta_device *vdev)
{
	unsigned int max = READ_ONCE(vta_max_resets);

	if (!vdev->resets || time_after(jiffies, vdev->resets_since + 60 * HZ)) {
		vdev->resets = 0;
		vdev->resets_since = jiffies;
	}
	vdev->resets++;
	return max && vdev->resets > max;
}

/* ---- Before and after ---- */

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

/* What contexts had is free. The card is still, or cannot reach memory any more. */
static void vta_reset_drop(struct vta_device *vdev)
{
	struct vta_ctx *ctx;

	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_drop(ctx);
}

/* What those are told who have just lost it. */
static void vta_reset_tell(struct vta_device *vdev, enum vta_fate fate, enum vta_cause cause)
{
	struct vta_ctx *ctx;

	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_tell(ctx, fate, cause);
}

/* The card is still, or must be made so: @ret says if it has been reset. */
static void vta_reset_end(struct vta_device *vdev, int ret)
{
	enum vta_cause cause;

	lockdep_assert_held(&vdev->lock);

	vta_history_next_why(vdev, &cause);
	vta_reset_tell(vdev, ret ? VTA_FATE_GIVEN_UP : VTA_FATE_RESET, cause);
	if (ret)
		pci_clear_master(vdev->pdev);
	vta_reset_drop(vdev);
	if (ret) {
		vdev->gone = true;
		vta_step(vdev, VTA_STEP_GIVE_UP, ret);
		dev_err(&vdev->dev, "given up (%d): reset it (vtactl reset), or power it off and on\n",
			ret);
		return;
	}
	vdev->gone = false;
	vdev->generation++;
	pci_set_master(vdev->pdev);	/* a card given up had lost it */
	vta_card_start(vdev);
	vta_irq_enable(vdev);
	vta_history_reset(vdev, 0);
	dev_warn_ratelimited(&vdev->dev, "was reset; files opened before must be opened again\n");
}

/* ---- Who resets ---- */

void vta_card_recover(struct vta_device *vdev)
{
	vta_dump_leave(vdev);
	vta_reset_begin(vdev);
	if (vta_reset_too_often(vdev))
		vta_reset_end(vdev, -ETIME);
	else
		vta_reset_end(vdev, vta_reset_climb(vdev));
}

void vta_reset_work(struct work_struct *work)
{
	struct vta_device *vdev = container_of(work, struct vta_device, reset_work);

	if (vta_pm_get(vdev))
		return;
	mutex_lock(&vdev->lock);
	if (READ_ONCE(vdev->reset_wanted) && !vdev->gone)
		vta_card_recover(vdev);
	mutex_unlock(&vdev->lock);
	vta_pm_put(vdev);
}

void vta_card_lost(struct vta_device *vdev, const char *why)
{
	dev_err_ratelimited(&vdev->dev, "%s: resetting the card\n", why);
	trace_vta_card_lost(vdev, why);
	vta_history_why(vdev, VTA_CAUSE_CARD, why);
	WRITE_ONCE(vdev->reset_wanted, true);
	queue_work(system_freezable_wq, &vdev->reset_work);
}

/* By an administrator, or after somebody else's: none that the card needed. */
int vta_card_reset_now(struct vta_device *vdev, enum vta_cause cause, const char *why)
{
	int ret;

	ret = vta_pm_get(vdev);
	if (ret)
		return ret;
	vta_history_why(vdev, cause, why);
	mutex_lock(&vdev->lock);
	if (!vdev->gone)
		vta_dump_leave(vdev);
	vta_reset_begin(vdev);
	ret = vta_reset_climb(vdev);
	vdev->resets = 0;
	vta_reset_end(vdev, ret);
	mutex_unlock(&vdev->lock);
	vta_pm_put(vdev);
	return ret;
}

void vta_card_retire(struct vta_device *vdev, enum vta_cause cause)
{
	int ret;

	mutex_lock(&vdev->lock);
	vdev->gone = true;
	vta_reset_begin(vdev);
	/* Pulled out, it is not asked: each read would have to time out. */
	ret = pci_channel_offline(vdev->pdev) ? -ENODEV : vta_card_reset(vdev);
	if (ret)
		dev_warn(&vdev->dev, "gone, or cannot be reset (%d)\n", ret);
	pci_clear_master(vdev->pdev);
	vta_reset_tell(vdev, VTA_FATE_REMOVED,
		       vta_card_is_there(vdev) ? cause : VTA_CAUSE_UNPLUGGED);
	vta_reset_drop(vdev);
	vta_pm_forget(vdev);	/* pulled out while the machine slept */
	mutex_unlock(&vdev->lock);
	/* They still unmap memory from the card. */
	wait_var_event(&vdev->nr_closing, !atomic_read(&vdev->nr_closing));
}

/*
 * The card is out of our hands: everybody is sent home, and it gets off the bus, so that
 * their memory can go. The PCI core takes a lock of its own between the calls that come
 * now, and inside them, so ours cannot be held from one to the other.
 */
static void vta_reset_lend(struct vta_device *vdev, enum vta_fate fate, enum vta_cause cause,
			   const char *why)
{
	vta_history_why(vdev, cause, why);
	mutex_lock(&vdev->lock);
	vta_reset_begin(vdev);
	pci_clear_master(vdev->pdev);
	vta_reset_tell(vdev, fate, cause);
	vta_reset_drop(vdev);
	vdev->gone = true;
	mutex_unlock(&vdev->lock);
}

static const char vta_why_function[] = "the PCI function was reset";
static const char vta_why_bus[] = "of an error on the bus";

/* Somebody else resets the function: sysfs, or the PCI core. */
static void vta_reset_prepare(struct pci_dev *pdev)
{
	vta_reset_lend(pci_get_drvdata(pdev), VTA_FATE_PENDING, VTA_CAUSE_FUNCTION,
		       vta_why_function);
}

/*
 * Files are about to be opened again, so do not take others' word for it. This may help
 * a card that had been given up.
 */
static void vta_reset_done(struct pci_dev *pdev)
{
	vta_card_reset_now(pci_get_drvdata(pdev), VTA_CAUSE_FUNCTION, vta_why_function);
}

/*
 * The PCI core has found an error on the way to the card. What was under way is
 * lost, nobody knows what, and the card may not be heard until the core says that it
 * is over. If the write that takes it off the bus does not arrive, the link is down, and
 * nothing of the card's arrives either.
 */
static pci_ers_result_t vta_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);

	if (state == pci_channel_io_perm_failure) {
		vta_reset_lend(vdev, VTA_FATE_GIVEN_UP, VTA_CAUSE_BUS, vta_why_bus);
		vta_step(vdev, VTA_STEP_GIVE_UP, -ENODEV);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	vta_reset_lend(vdev, VTA_FATE_PENDING, VTA_CAUSE_BUS, vta_why_bus);
	return PCI_ERS_RESULT_NEED_RESET;
}

/*
 * A card that did not come back is given up when the core says that it is over. It is
 * none of the core's business before: that would give up all others on the bus with it.
 */
static pci_ers_result_t vta_slot_reset(struct pci_dev *pdev)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);
	bool there;

	mutex_lock(&vdev->lock);
	vta_card_restore_config(vdev);
	pci_clear_master(pdev);
	there = vta_card_is_there(vdev);
	mutex_unlock(&vdev->lock);
	return there ? PCI_ERS_RESULT_RECOVERED : PCI_ERS_RESULT_NONE;
}

static void vta_error_resume(struct pci_dev *pdev)
{
	vta_card_reset_now(pci_get_drvdata(pdev), VTA_CAUSE_BUS, vta_why_bus);
}

const struct pci_error_handlers vta_reset_handlers = {
	.error_detected = vta_error_detected,
	.slot_reset = vta_slot_reset,
	.resume = vta_error_resume,
	.reset_prepare = vta_reset_prepare,
	.reset_done = vta_reset_done,
};

/* ---- Configuration space ---- */

int vta_card_save_config(struct vta_device *vdev)
{
	int ret = pci_save_state(vdev->pdev);

	if (ret)
		return ret;
	vdev->config = pci_store_saved_state(vdev->pdev);
	return vdev->config ? 0 : -ENOMEM;
}

/* As it was when the driver had set it up. */
void vta_card_restore_config(struct vta_device *vdev)
{
	pci_load_saved_state(vdev->pdev, vdev->config);
	pci_restore_state(vdev->pdev);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_reset.c - starting, resetting and giving up the card
 *
 * A card that breaks the contract may access memory at any time. So none of that memory is freed
 * until the card has been reset or cannot master the bus any more. Only this file decides that:
 * other code calls vta_card_request_reset() and keeps its memory. docs/reliability.md has the
 * steps. A reset revokes the card from every open file.
 *
 * Locks. A thread that resets holds the lock of the PCI device, which the PCI core's resets need,
 * and inside it vta_device.lock. A thread without these locks queues vta_reset_work(). A function
 * reset takes locks of the PCI core, under which the core also calls the error handlers below. So
 * vta_device.lock is released during a function reset (VTA_STATE_FUNCTION_RESET): the lock of the
 * PCI device excludes other resets, suspend and removal, and vta_card_enter_settled() all else.
 */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/wait_bit.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_history.h"
#include "vta_irq.h"
#include "vta_mem.h"
#include "vta_mmu.h"
#include "vta_pm.h"
#include "vta_reset.h"
#include "vta_user.h"
#include "vta_watch.h"

/* Delay of another try if the PCI device is locked, or the card does not resume. */
#define VTA_RESET_RETRY_MS	20
/* A soft reset waits for files so long, twice: for their mappings, and for their numbers. */
#define VTA_RESET_FILES_MS	500

static unsigned int vta_max_resets = 5;
module_param_named(max_resets, vta_max_resets, uint, 0644);
MODULE_PARM_DESC(max_resets,
		 "Most resets that a card may need in a minute before it is given up (default 5, 0: no limit)");

void vta_card_start(struct vta_device *vdev)
{
	vta_watch_restart(vdev);
	vta_mmu_restart(vdev);
	vdev->card_generation = vta_read(vdev, REG_GENERATION);
	vta_write(vdev, REG_EVENT_VECTOR, VTA_EVENT_VECTOR);
	vta_card_enable_events(vdev);
	vta_user_restore_weights(vdev);
	vta_write(vdev, REG_CONTROL, REG_CONTROL_ENABLE);
}

void vta_card_set_state(struct vta_device *vdev, enum vta_state state)
{
	enum vta_state old = vdev->state;

	lockdep_assert_held(&vdev->lock);

	if (state == old)
		return;
	if (old == VTA_STATE_LIVE)
		vta_irq_disable(vdev);
	WRITE_ONCE(vdev->state, state);
	if (state == VTA_STATE_LIVE) {
		vta_irq_enable(vdev);
		/* If the work ran while the card was suspended, it has done nothing. */
		if (vta_card_reset_is_pending(vdev))
			vta_card_queue_reset(vdev, 0);
	}
	/* Keep the card awake while the PCI core owns it. */
	if (state == VTA_STATE_PCI_OWNED)
		pm_runtime_get_noresume(&vdev->pdev->dev);
	if (old == VTA_STATE_PCI_OWNED)
		pm_runtime_put_noidle(&vdev->pdev->dev);
	/* A thread that is about to wait is either woken, or sees the new state. */
	smp_mb();
	wake_up_var(&vdev->state);
}

/*
 * Waits until the works have revoked all mappings and freed all numbers that they shall. Returns
 * false if that takes too long: a file whose user is throttled takes any time, and keeps its
 * numbers until its work has freed them. Such a user's doorbells and card memory may be written
 * while the card is reset by its register, which ignores that; but not while the function is.
 */
static bool vta_reset_wait_for_files(struct vta_device *vdev)
{
	return wait_var_event_timeout(&vdev->nr_revoking, !atomic_read(&vdev->nr_revoking),
				      msecs_to_jiffies(VTA_RESET_FILES_MS));
}

/*
 * Records why each open file lost the card, and has it drop what it has of it. The card must be
 * stopped or off the bus.
 */
static void vta_reset_drop_ctxs(struct vta_device *vdev, enum vta_fate fate, enum vta_cause cause)
{
	struct vta_ctx *ctx;

	list_for_each_entry(ctx, &vdev->ctxs, node) {
		vta_ctx_set_lost(ctx, fate, cause);
		vta_ctx_drop(ctx);
	}
	vta_reset_wait_for_files(vdev);
}

/* ---- The steps ---- */

/*
 * Saves the present configuration, which may have changed since probe. A card that has lost it in
 * an unannounced reset gets the one saved by probe.
 */
static void vta_reset_keep_config(struct vta_device *vdev)
{
	u16 command = 0;

	pci_read_config_word(vdev->pdev, PCI_COMMAND, &command);
	if (!(command & PCI_COMMAND_MEMORY) || pci_save_state(vdev->pdev))
		pci_load_saved_state(vdev->pdev, vdev->pci_config);
}

/*
 * Resets the PCI function. The card is off the bus meanwhile, so files may be closed. No process
 * may access it, for which machine checks are the answer of some hosts.
 */
static int vta_reset_function(struct vta_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	int ret;

	device_lock_assert(&pdev->dev);

	/* The PCI core would wait a minute for an absent card. */
	if (!pci_device_is_present(pdev))
		return -ENODEV;
	wait_var_event(&vdev->nr_revoking, !atomic_read(&vdev->nr_revoking));
	/* The PCI core holds this lock while it calls vta_reset_done(). */
	if (!pci_cfg_access_trylock(pdev))
		return -EBUSY;
	pci_clear_master(pdev);
	vta_reset_drop_ctxs(vdev, VTA_FATE_PENDING, READ_ONCE(vdev->history.cause));
	vta_card_set_state(vdev, VTA_STATE_FUNCTION_RESET);
	vta_card_unlock(vdev);
	vta_reset_keep_config(vdev);
	ret = __pci_reset_function_locked(pdev);
	pci_restore_state(pdev);
	pci_clear_master(pdev);
	pci_cfg_access_unlock(pdev);
	vta_card_lock(vdev);
	vta_card_set_state(vdev, VTA_STATE_RESETTING);
	if (ret)
		return ret;
	ret = vta_card_wait_ready(vdev);
	if (ret)
		return ret;
	return vta_card_is_present(vdev) ? 0 : -ENODEV;
}

/* Resets the card by the mildest step that works. */
static int vta_reset_escalate(struct vta_device *vdev)
{
	/* The card ignores a reset while it is in reset. */
	int ret = vta_card_wait_ready(vdev);

	if (!ret)
		ret = vta_card_reset(vdev);
	vta_card_count_step(vdev, VTA_STEP_SOFT_RESET, ret);
	if (ret) {
		ret = vta_reset_function(vdev);
		vta_card_count_step(vdev, VTA_STEP_FUNCTION_RESET, ret);
	}
	/* The driver's state belongs to the card that was bound. */
	if (!ret && vta_read64(vdev, REG_SERIAL_LO) != vdev->caps.serial) {
		dev_err(&vdev->dev, "another card is in the slot: unbind the driver from it, and bind it again\n");
		return -ENODEV;
	}
	return ret;
}

/* Counts a reset that the card needed; true if there were too many in a minute. */
static bool vta_reset_is_too_often(struct vta_device *vdev)
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

/* Revokes the card from all files, and disables its interrupts. */
static void vta_reset_begin(struct vta_device *vdev, enum vta_state state)
{
	struct vta_ctx *ctx;

	lockdep_assert_held(&vdev->lock);

	spin_lock(&vdev->gate);
	WRITE_ONCE(vdev->epoch, vdev->epoch + 1);
	spin_unlock(&vdev->gate);
	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_ctx_revoke(ctx);
	vta_export_revoke(vdev);
	if (!vta_reset_wait_for_files(vdev)) {
		list_for_each_entry(ctx, &vdev->ctxs, node)
			vta_ctx_hang_up(ctx);
	}
	vta_card_set_state(vdev, state);
}

/* Restarts the card after a reset; with an error in @ret, gives it up and takes it off the bus. */
static void vta_reset_end(struct vta_device *vdev, int ret)
{
	lockdep_assert_held(&vdev->lock);

	if (ret)
		pci_clear_master(vdev->pdev);
	vta_reset_drop_ctxs(vdev, ret ? VTA_FATE_GIVEN_UP : VTA_FATE_RESET,
			    READ_ONCE(vdev->history.cause));
	if (ret) {
		vta_card_count_step(vdev, VTA_STEP_GIVE_UP, ret);
		vta_history_add_reset(vdev, ret);
		vta_card_set_state(vdev, VTA_STATE_GIVEN_UP);
		dev_err(&vdev->dev, "given up (%d): reset it (vtactl reset), or power it off and on\n",
			ret);
		return;
	}
	vdev->generation++;
	pci_set_master(vdev->pdev);	/* cleared if the card had been given up */
	vta_card_start(vdev);
	/* Requests from now on mean the next reset. */
	vta_history_add_reset(vdev, 0);
	vta_card_set_state(vdev, VTA_STATE_LIVE);
	dev_warn_ratelimited(&vdev->dev, "was reset; files opened before must be opened again\n");
}

void vta_card_recover(struct vta_device *vdev, enum vta_cause cause, const char *reason)
{
	vta_dump_coredump(vdev, vta_history_set_reason(vdev, cause, reason));
	vta_reset_begin(vdev, VTA_STATE_RESETTING);
	if (vta_reset_is_too_often(vdev))
		vta_reset_end(vdev, -ETIME);
	else
		vta_reset_end(vdev, vta_reset_escalate(vdev));
}

/*
 * Resets the card if the PCI device is not locked. Does not wait for the lock: removal of the
 * driver holds it, and waits for this work.
 */
static bool vta_reset_try_recover(struct vta_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;

	if (!device_trylock(dev))
		return false;
	if (vta_card_get(vdev)) {
		device_unlock(dev);
		return false;
	}
	vta_card_lock(vdev);
	if (vta_card_reset_is_pending(vdev))
		vta_card_recover(vdev, VTA_CAUSE_CARD, NULL);
	vta_card_unlock(vdev);
	vta_card_put(vdev);
	device_unlock(dev);
	return true;
}

void vta_reset_work(struct work_struct *work)
{
	struct vta_device *vdev = container_of(work, struct vta_device, reset_work.work);

	if (!vta_card_reset_is_pending(vdev))
		return;
	if (!vta_reset_try_recover(vdev))
		vta_card_queue_reset(vdev, VTA_RESET_RETRY_MS);
}

int vta_card_reset_now(struct vta_device *vdev, enum vta_cause cause, const char *reason)
{
	int ret;

	ret = vta_card_get(vdev);
	if (ret)
		return ret;
	vta_card_lock(vdev);
	reason = vta_history_set_reason(vdev, cause, reason);
	if (vdev->state == VTA_STATE_LIVE)
		vta_dump_coredump(vdev, reason);
	vta_reset_begin(vdev, VTA_STATE_RESETTING);
	ret = vta_reset_escalate(vdev);
	vdev->resets = 0;
	vta_reset_end(vdev, ret);
	vta_card_unlock(vdev);
	vta_card_put(vdev);
	return ret;
}

void vta_card_retire(struct vta_device *vdev, enum vta_cause cause)
{
	bool pci_owned;
	int ret;

	vta_card_lock(vdev);
	/* The driver may be unbound while the PCI core owns the card. */
	pci_owned = vdev->state == VTA_STATE_PCI_OWNED;
	vta_reset_begin(vdev, pci_owned ? VTA_STATE_PCI_OWNED : VTA_STATE_RESETTING);
	/* A card that was pulled out is not accessed: each read would time out. */
	ret = pci_owned || pci_channel_offline(vdev->pdev) ? -ENODEV : vta_card_reset(vdev);
	if (ret)
		dev_warn(&vdev->dev, "gone, or cannot be reset (%d)\n", ret);
	pci_clear_master(vdev->pdev);
	vta_reset_drop_ctxs(vdev, VTA_FATE_REMOVED,
			    pci_owned || vta_card_is_present(vdev) ? cause : VTA_CAUSE_UNPLUGGED);
	vta_card_set_state(vdev, VTA_STATE_REMOVED);
	vta_card_unlock(vdev);
	vta_shadow_release(vdev);	/* there is one if the card was pulled out during suspend */
}

/* ---- Owned by the PCI core ---- */

/*
 * Revokes the card from all files, and takes it off the bus to free their memory. The PCI core
 * takes a lock of its own between and inside its next calls, so vta_device.lock cannot be held
 * from one call to the next.
 */
static void vta_reset_give_to_pci(struct vta_device *vdev, enum vta_fate fate, enum vta_cause cause,
				  const char *reason)
{
	vta_card_lock(vdev);
	vta_history_set_reason(vdev, cause, reason);
	vta_reset_begin(vdev, VTA_STATE_PCI_OWNED);
	pci_clear_master(vdev->pdev);
	vta_reset_drop_ctxs(vdev, fate, cause);
	vta_card_unlock(vdev);
	wait_var_event(&vdev->nr_revoking, !atomic_read(&vdev->nr_revoking));
}

static const char vta_reason_function[] = "the PCI function was reset";
static const char vta_reason_bus[] = "of an error on the bus";

/* The PCI core is about to reset the function, for example for an administrator. */
static void vta_reset_prepare(struct pci_dev *pdev)
{
	vta_reset_give_to_pci(pci_get_drvdata(pdev), VTA_FATE_PENDING, VTA_CAUSE_FUNCTION,
			      vta_reason_function);
}

/* Resets the card once more before files can be opened, even a card that was given up. */
static void vta_reset_done(struct pci_dev *pdev)
{
	vta_card_reset_now(pci_get_drvdata(pdev), VTA_CAUSE_FUNCTION, vta_reason_function);
}

/*
 * The PCI core has found an error on the way to the card. With a working link only one transaction
 * was lost; if it was the card's, the card raises a fault. Else the card may not be accessed until
 * the core calls vta_error_resume(). If the write that takes the card off the bus does not arrive,
 * the link is down, and no write of the card arrives either.
 */
static pci_ers_result_t vta_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);

	switch (state) {
	case pci_channel_io_normal:
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_perm_failure:
		vta_reset_give_to_pci(vdev, VTA_FATE_GIVEN_UP, VTA_CAUSE_BUS, vta_reason_bus);
		vta_card_lock(vdev);
		vta_card_count_step(vdev, VTA_STEP_GIVE_UP, -ENODEV);
		vta_history_add_reset(vdev, -ENODEV);
		vta_card_set_state(vdev, VTA_STATE_GIVEN_UP);
		vta_card_unlock(vdev);
		return PCI_ERS_RESULT_DISCONNECT;
	default:
		vta_reset_give_to_pci(vdev, VTA_FATE_PENDING, VTA_CAUSE_BUS, vta_reason_bus);
		return PCI_ERS_RESULT_NEED_RESET;
	}
}

/* No device on the bus needs a reset of the link. Checks that this card still works. */
static pci_ers_result_t vta_mmio_enabled(struct pci_dev *pdev)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);

	vta_card_lock(vdev);
	if (vdev->state == VTA_STATE_LIVE && !vta_card_is_present(vdev))
		vta_card_request_reset(vdev, "does not answer");
	vta_card_unlock(vdev);
	return PCI_ERS_RESULT_RECOVERED;
}

/*
 * The link was reset. A card that does not answer is given up by vta_error_resume(). Do not return
 * DISCONNECT before that: the PCI core would disconnect every device on the bus. The state is not
 * PCI_OWNED yet if another device on the bus needed this reset, or if the driver was bound after
 * the error.
 */
static pci_ers_result_t vta_slot_reset(struct pci_dev *pdev)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);
	u32 magic;

	if (READ_ONCE(vdev->state) != VTA_STATE_PCI_OWNED)
		vta_reset_give_to_pci(vdev, VTA_FATE_PENDING, VTA_CAUSE_BUS, vta_reason_bus);
	vta_card_lock(vdev);
	pci_load_saved_state(pdev, vdev->pci_config);
	pci_restore_state(pdev);
	pci_clear_master(pdev);
	magic = readl(vdev->regs + REG_MAGIC);
	vta_card_unlock(vdev);
	return magic == REG_MAGIC_VALUE ? PCI_ERS_RESULT_RECOVERED : PCI_ERS_RESULT_NONE;
}

static void vta_error_resume(struct pci_dev *pdev)
{
	struct vta_device *vdev = pci_get_drvdata(pdev);

	if (READ_ONCE(vdev->state) == VTA_STATE_PCI_OWNED)
		vta_card_reset_now(vdev, VTA_CAUSE_BUS, vta_reason_bus);
}

const struct pci_error_handlers vta_reset_handlers = {
	.error_detected = vta_error_detected,
	.mmio_enabled = vta_mmio_enabled,
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
	vdev->pci_config = pci_store_saved_state(vdev->pdev);
	return vdev->pci_config ? 0 : -ENOMEM;
}

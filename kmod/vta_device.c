// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_device.c - the card: its structure in the kernel, requests to it, and its properties
 */
#include <linux/bitfield.h>
#include <linux/iopoll.h>
#include <linux/pm_runtime.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "vta_cardmem.h"
#include "vta_compat.h"
#include "vta_device.h"
#include "vta_trace.h"
#include "vta_user.h"
#include "vta.h"

/* A card may take this many times the contract's limit. */
#define VTA_READY_FACTOR	3

/*
 * The contract's limit is for the card alone; this one allows for a busy host, too. Only a card
 * that will be reset uses all of it.
 */
#define VTA_QUEUE_WAIT_MS	(30 * VTA_ABORT_MS)

/* Minor numbers; each is freed when the last file of its card is closed. */
static DEFINE_IDA(vta_minors);

static void vta_device_release(struct device *dev)
{
	struct vta_device *vdev = to_vta_device(dev);

	if (vdev->dmem)
		dmem_cgroup_unregister_region(vdev->dmem);
	vta_cardmem_destroy(vdev->cardmem);
	vta_user_free_all(vdev);
	ida_destroy(&vdev->queue_ids);
	ida_destroy(&vdev->ctx_ids);
	ida_free(&vta_minors, MINOR(dev->devt));
	mutex_destroy(&vdev->lock);
	if (vdev->works)
		destroy_workqueue(vdev->works);
	pci_dev_put(vdev->pdev);
	kfree(vdev->vectors);
	kfree(vdev->pci_config);
	kfree(vdev);
}

struct vta_device *vta_device_create(struct pci_dev *pdev, dev_t base)
{
	struct vta_device *vdev;
	int minor, ret;

	vdev = kzalloc(sizeof(*vdev), GFP_KERNEL);
	if (!vdev)
		return ERR_PTR(-ENOMEM);

	minor = ida_alloc_max(&vta_minors, VTA_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(vdev);
		return ERR_PTR(minor);
	}

	vdev->pdev = pci_dev_get(pdev);
	mutex_init(&vdev->lock);
	spin_lock_init(&vdev->gate);
	spin_lock_init(&vdev->tlb_lock);
	spin_lock_init(&vdev->users_lock);
	INIT_LIST_HEAD(&vdev->users);
	spin_lock_init(&vdev->exports_lock);
	INIT_LIST_HEAD(&vdev->ctxs);
	spin_lock_init(&vdev->usage_lock);
	INIT_LIST_HEAD(&vdev->usage_queues);
	ida_init(&vdev->queue_ids);
	ida_init(&vdev->ctx_ids);

	device_initialize(&vdev->dev);
	vdev->dev.parent = &pdev->dev;
	vdev->dev.devt = MKDEV(MAJOR(base), MINOR(base) + minor);
	vdev->dev.release = vta_device_release;
	ret = dev_set_name(&vdev->dev, "vta%d", minor);
	if (ret)
		goto err_put;
	/* A work may wait long for a user: those of others have workers of their own. */
	vdev->works = alloc_workqueue("vta%d", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE, minor);
	if (vdev->works)
		return vdev;
	ret = -ENOMEM;
err_put:
	put_device(&vdev->dev);
	return ERR_PTR(ret);
}

/* ---- Requests to a card ---- */

bool vta_card_is_present(struct vta_device *vdev)
{
	return vta_read(vdev, REG_MAGIC) == REG_MAGIC_VALUE;
}

int vta_card_wait_ready(struct vta_device *vdev)
{
	u32 status;
	int ret;

	ret = vta_read_poll(vdev, REG_STATUS, status, status & REG_STATUS_READY,
			    1000, VTA_READY_FACTOR * VTA_READY_MS);
	return vta_is_dead(status) ? -ENODEV : ret;
}

int vta_card_reset(struct vta_device *vdev)
{
	u32 generation;
	int ret;

	if (!vta_card_is_present(vdev))
		return -ENODEV;
	generation = vta_read(vdev, REG_GENERATION);
	vta_write(vdev, REG_CONTROL, REG_CONTROL_RESET);
	ret = vta_card_wait_ready(vdev);
	if (ret)
		return ret;
	/* The card is ready. Check that it was reset. */
	if (vta_read(vdev, REG_GENERATION) == generation)
		return -EIO;
	return vta_card_is_present(vdev) ? 0 : -ENODEV;
}

void vta_card_enable_events(struct vta_device *vdev)
{
	vta_write(vdev, REG_EVENT_ENABLE, REG_EVENT_ALL);
}

static void vta_card_write_queue(struct vta_device *vdev, u32 id,
				 const struct vta_queue_setup *setup)
{
	vta_write(vdev, REG_QUEUE_CONTEXT(id), setup->context);
	vta_write(vdev, REG_QUEUE_RING_ORDER(id), setup->ring_order);
	vta_write(vdev, REG_QUEUE_RING_ADDR(id), setup->ring_addr);
	vta_write(vdev, REG_QUEUE_VECTOR(id), setup->vector);
	vta_write64(vdev, REG_QUEUE_STATUS_LO(id), setup->status);
	vta_write64(vdev, REG_QUEUE_CYCLES_LO(id), setup->cycles);
	vta_write64(vdev, REG_QUEUE_TIME_LIMIT_LO(id), setup->time_limit);
	vta_write(vdev, REG_QUEUE_GROUP(id), setup->group);
	vta_write64(vdev, REG_QUEUE_START_LO(id), setup->start);
	vta_write(vdev, REG_QUEUE_SUBMITTED(id), setup->submitted);
	vta_write(vdev, REG_QUEUE_SAVE(id), setup->save);
	vta_write(vdev, REG_QUEUE_CTRL(id), REG_QUEUE_CTRL_ENABLE |
		  (setup->kept ? REG_QUEUE_CTRL_KEPT : 0) |
		  FIELD_PREP(REG_QUEUE_CTRL_PRIORITY, setup->priority));
}

int vta_card_start_queue(struct vta_device *vdev, unsigned int epoch, u32 id,
			 const struct vta_queue_setup *setup)
{
	bool current_epoch;
	u32 state;
	int ret;

	spin_lock(&vdev->gate);
	current_epoch = vta_card_is_current(vdev, epoch);
	if (current_epoch)
		vta_card_write_queue(vdev, id, setup);
	spin_unlock(&vdev->gate);
	if (!current_epoch)
		return -ENODEV;

	/*
	 * The card writes the status page before it changes STATE. The user can ring the doorbell
	 * at any time, so the queue may have halted already.
	 */
	ret = vta_read_poll(vdev, REG_QUEUE_STATE(id), state,
			    FIELD_GET(REG_QUEUE_STATE_STATE, state) != VTA_QUEUE_DISABLED ||
			    !vta_card_is_current(vdev, epoch), 50, VTA_QUEUE_WAIT_MS);
	if (ret || FIELD_GET(REG_QUEUE_STATE_STATE, state) > VTA_QUEUE_HALTED ||
	    !vta_card_is_current(vdev, epoch))
		return vta_card_fail(vdev, epoch, "does not start a queue");
	return 0;
}

/* A queue has stopped when its state is DISABLED and not BUSY. */
int vta_card_wait_queue(struct vta_device *vdev, unsigned int epoch, u32 id)
{
	u32 state;
	int ret;

	ret = vta_read_poll(vdev, REG_QUEUE_STATE(id), state,
			    !(state & (REG_QUEUE_STATE_STATE | REG_QUEUE_STATE_BUSY)) ||
			    vta_is_dead(state) || !vta_card_is_current(vdev, epoch),
			    50, VTA_QUEUE_WAIT_MS);
	/* The registers of an absent card, or of one in reset, may also read as zeroes. */
	if (ret || !vta_card_is_present(vdev) || !vta_card_is_current(vdev, epoch))
		return vta_card_fail(vdev, epoch, "does not stop a queue");
	return 0;
}

int vta_card_get(struct vta_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;
	int ret = pm_runtime_get_sync(dev);

	if (ret >= 0)
		return 0;
	pm_runtime_put_noidle(dev);
	return -ENODEV;
}

void vta_card_put(struct vta_device *vdev)
{
	pm_runtime_mark_last_busy(&vdev->pdev->dev);
	pm_runtime_put_autosuspend(&vdev->pdev->dev);
}

/* ---- Requests for a reset, and for the watchdog ---- */

void vta_card_queue_reset(struct vta_device *vdev, unsigned int ms)
{
	queue_delayed_work(system_freezable_wq, &vdev->reset_work, msecs_to_jiffies(ms));
}

void vta_card_request_reset(struct vta_device *vdev, const char *reason)
{
	dev_err_ratelimited(&vdev->dev, "%s: resetting the card\n", reason);
	trace_vta_reset_request(vdev, reason);
	vta_history_set_reason(vdev, VTA_CAUSE_CARD, reason);
	vta_card_queue_reset(vdev, 0);
}

int vta_card_fail(struct vta_device *vdev, unsigned int epoch, const char *reason)
{
	spin_lock(&vdev->gate);
	if (vta_card_is_current(vdev, epoch))
		vta_card_request_reset(vdev, reason);
	spin_unlock(&vdev->gate);
	return -ENODEV;
}

int vta_card_settle(struct vta_device *vdev)
{
	return wait_var_event_killable(&vdev->state, !vta_card_reset_is_pending(vdev)) ? -EINTR : 0;
}

/* ---- Owning the card, and entering it ---- */

static void vta_card_set_owned(struct vta_device *vdev, bool owned)
{
	spin_lock(&vdev->gate);
	vdev->owned = owned;
	spin_unlock(&vdev->gate);
}

void vta_card_lock(struct vta_device *vdev)
{
	mutex_lock(&vdev->lock);
	vta_card_set_owned(vdev, true);
}

void vta_card_unlock(struct vta_device *vdev)
{
	vta_card_set_owned(vdev, false);
	mutex_unlock(&vdev->lock);
	/* A thread that is about to wait is either woken, or enters. */
	smp_mb();
	wake_up_var(&vdev->state);
}

/* Enters the card unless it is owned or, with @settled, its function is being reset. */
static bool vta_card_try_enter(struct vta_device *vdev, bool settled)
{
	spin_lock(&vdev->gate);
	if (!vdev->owned && !(settled && vdev->state == VTA_STATE_FUNCTION_RESET)) {
		__release(&vdev->gate);	/* the caller holds it, which sparse cannot know */
		return true;
	}
	spin_unlock(&vdev->gate);
	return false;
}

void vta_card_enter(struct vta_device *vdev)
{
	might_lock(&vdev->lock);
	wait_var_event(&vdev->state, vta_card_try_enter(vdev, false));
}

int vta_card_enter_killable(struct vta_device *vdev)
{
	might_lock(&vdev->lock);
	return wait_var_event_killable(&vdev->state, vta_card_try_enter(vdev, false)) ? -EINTR : 0;
}

int vta_card_enter_settled(struct vta_device *vdev)
{
	might_lock(&vdev->lock);
	return wait_var_event_killable(&vdev->state, vta_card_try_enter(vdev, true)) ? -EINTR : 0;
}

void vta_card_leave(struct vta_device *vdev)
{
	__acquire(&vdev->gate);
	spin_unlock(&vdev->gate);
}

void vta_card_count_step(struct vta_device *vdev, enum vta_step step, int ret)
{
	atomic_inc(&vdev->steps[step]);
	trace_vta_recovery(vdev, step, ret);
}

void vta_card_schedule_watch(struct vta_device *vdev)
{
	queue_delayed_work(system_freezable_wq, &vdev->watch.work, msecs_to_jiffies(VTA_WATCH_MS));
}

/* A request while the work runs makes the work run again. */
void vta_card_watch(struct vta_device *vdev)
{
	if (READ_ONCE(vdev->watch.requested))
		return;
	WRITE_ONCE(vdev->watch.requested, true);
	vta_card_schedule_watch(vdev);
}

/* ---- The card's description of itself, and its resources ---- */

bool vta_device_has_bar(struct vta_device *vdev, int bar)
{
	struct pci_dev *pdev = vdev->pdev;

	if (pci_resource_flags(pdev, bar) & IORESOURCE_MEM && pci_resource_len(pdev, bar))
		return true;
	dev_err(&pdev->dev,
		"BAR%d has no address: not a VTA card, or the firmware of this machine gave it no room (look for \"above 4G decoding\")\n",
		bar);
	return false;
}

static bool vta_caps_check(struct vta_device *vdev, const char *name, u64 val, u64 min, u64 max)
{
	if (val >= min && val <= max)
		return true;
	dev_err(&vdev->pdev->dev,
		"the card says %s = %llu, which must be %llu to %llu: the card's firmware is broken\n",
		name, val, min, max);
	return false;
}

static void vta_caps_read_config(struct vta_device *vdev)
{
	u32 config0 = vta_read(vdev, REG_CONFIG0);
	u32 config1 = vta_read(vdev, REG_CONFIG1);
	u32 config2 = 0;

	if (FIELD_GET(REG_CONTRACT_MINOR, vdev->caps.contract) >= 1)
		config2 = vta_read(vdev, REG_CONFIG2);
	vdev->caps.log_tokens = vta_isa_log_queue(FIELD_GET(REG_CONFIG2_LOG_TOKENS, config2));
	vdev->caps.log_waiting = vta_isa_log_queue(FIELD_GET(REG_CONFIG2_LOG_WAITING, config2));
	vdev->caps.config = (struct vta_isa_config) {
		.log_inp_width = FIELD_GET(REG_CONFIG0_LOG_INP_WIDTH, config0),
		.log_wgt_width = FIELD_GET(REG_CONFIG0_LOG_WGT_WIDTH, config0),
		.log_acc_width = FIELD_GET(REG_CONFIG0_LOG_ACC_WIDTH, config0),
		.log_batch = FIELD_GET(REG_CONFIG0_LOG_BATCH, config0),
		.log_block = FIELD_GET(REG_CONFIG0_LOG_BLOCK, config0),
		.log_uop_buff_size = FIELD_GET(REG_CONFIG1_LOG_UOP_BUFF_SIZE, config1),
		.log_inp_buff_size = FIELD_GET(REG_CONFIG1_LOG_INP_BUFF_SIZE, config1),
		.log_wgt_buff_size = FIELD_GET(REG_CONFIG1_LOG_WGT_BUFF_SIZE, config1),
		.log_acc_buff_size = FIELD_GET(REG_CONFIG1_LOG_ACC_BUFF_SIZE, config1),
	};
}

static bool vta_caps_valid(struct vta_device *vdev)
{
	const struct vta_caps *caps = &vdev->caps;
	struct pci_dev *pdev = vdev->pdev;
	struct vta_isa_limit limit;

	if (!vta_caps_check(vdev, "QUEUES", caps->queues, 1, VTA_QUEUES_MAX) ||
	    !vta_caps_check(vdev, "CONTEXTS", caps->contexts, 1, VTA_CONTEXTS_MAX) ||
	    !vta_caps_check(vdev, "RING_ORDER_MAX", caps->ring_order_max,
			    1, VTA_RING_ORDER_LIMIT) ||
	    !vta_caps_check(vdev, "DOORBELL_SHIFT", caps->doorbell_shift,
			  VTA_DOORBELL_SHIFT_MIN, VTA_DOORBELL_SHIFT_LIMIT) ||
	    !vta_caps_check(vdev, "CLOCK_KHZ", caps->clock_khz, 1, U32_MAX) ||
	    !vta_caps_check(vdev, "SAVE_SIZE", caps->save_size, 0, VTA_SAVE_SIZE_MAX) ||
	    !vta_caps_check(vdev, "SAVE_SIZE modulo 4096", caps->save_size % VTA_PAGE_SIZE, 0, 0) ||
	    (caps->mem_size &&
	     !vta_caps_check(vdev, "MEM_SIZE", caps->mem_size, SZ_1M, BIT_ULL(51))) ||
	    !vta_caps_check(vdev, "LOG_TOKENS", caps->log_tokens, VTA_ISA_LOG_QUEUE_MIN,
			    VTA_ISA_LOG_QUEUE_MAX) ||
	    !vta_caps_check(vdev, "LOG_WAITING", caps->log_waiting, VTA_ISA_LOG_QUEUE_MIN,
			    VTA_ISA_LOG_QUEUE_MAX) ||
	    (!vta_isa_config_valid(&caps->config, &limit) &&
	     !vta_caps_check(vdev, limit.name, limit.value, limit.least, limit.most)))
		return false;

	if (caps->mem_size && !vta_device_has_bar(vdev, VTA_BAR_MEM))
		return false;
	if (caps->mem_size != pci_resource_len(pdev, VTA_BAR_MEM)) {
		dev_err(&pdev->dev,
			"the card has %llu bytes of memory but BAR%d shows %llu: the card's firmware is broken\n",
			caps->mem_size, VTA_BAR_MEM,
			(u64)pci_resource_len(pdev, VTA_BAR_MEM));
		return false;
	}
	if (pci_resource_len(pdev, VTA_BAR_DOORBELLS) < (u64)caps->queues << caps->doorbell_shift) {
		dev_err(&pdev->dev,
			"BAR%d has no room for %u doorbells: the card's firmware is broken\n",
			VTA_BAR_DOORBELLS, caps->queues);
		return false;
	}
	/* A page mapped into a process must not contain a doorbell of another process. */
	if (caps->doorbell_shift < PAGE_SHIFT) {
		dev_err(&pdev->dev,
			"doorbells are %lu bytes apart, less than this kernel's pages of %lu: use a kernel with smaller pages or a card with a wider stride\n",
			BIT(caps->doorbell_shift), PAGE_SIZE);
		return false;
	}
	return true;
}

int vta_device_identify(struct vta_device *vdev)
{
	struct vta_caps *caps = &vdev->caps;
	struct device *dev = &vdev->pdev->dev;
	u32 magic;
	int ret;

	magic = vta_read(vdev, REG_MAGIC);
	if (vta_is_dead(magic)) {
		dev_err(dev, "the card does not answer: power it off and on, check its seat and firmware\n");
		return -ENODEV;
	}
	ret = vta_card_wait_ready(vdev);
	if (ret) {
		dev_err(dev, "the card is not ready within %d ms: power it off and on\n",
			VTA_READY_MS);
		return ret;
	}
	magic = vta_read(vdev, REG_MAGIC);
	if (magic != REG_MAGIC_VALUE) {
		dev_err(dev, "not a VTA card: magic number is %#x, not %#x\n",
			magic, REG_MAGIC_VALUE);
		return -ENODEV;
	}
	caps->contract = vta_read(vdev, REG_CONTRACT);
	if (FIELD_GET(REG_CONTRACT_MAJOR, caps->contract) != VTA_CONTRACT) {
		dev_err(dev, "the card follows contract %u.%u, this driver version %u: update the older one\n",
			VTA_CONTRACT_MAJOR(caps->contract), VTA_CONTRACT_MINOR(caps->contract),
			VTA_CONTRACT);
		return -ENODEV;
	}

	ret = vta_card_reset(vdev);
	if (ret) {
		dev_err(dev, "the card cannot be reset (%d): power it off and on\n", ret);
		return ret;
	}

	caps->features = vta_read64(vdev, REG_FEATURES_LO);
	caps->queues = vta_read(vdev, REG_QUEUES);
	caps->contexts = vta_read(vdev, REG_CONTEXTS);
	caps->mem_size = vta_read64(vdev, REG_MEM_SIZE_LO);
	caps->doorbell_shift = vta_read(vdev, REG_DOORBELL_SHIFT);
	caps->ring_order_max = vta_read(vdev, REG_RING_ORDER_MAX);
	caps->clock_khz = vta_read(vdev, REG_CLOCK_KHZ);
	caps->save_size = vta_read(vdev, REG_SAVE_SIZE);
	caps->hw_ver = vta_read(vdev, REG_HW_VER);
	vta_caps_read_config(vdev);
	caps->serial = vta_read64(vdev, REG_SERIAL_LO);

	return vta_caps_valid(vdev) ? 0 : -ENODEV;
}

static int vta_device_claim_bar(struct vta_device *vdev, int bar)
{
	struct pci_dev *pdev = vdev->pdev;

	/* The region outlives vdev, so its name must, too. */
	if (devm_request_mem_region(&pdev->dev, pci_resource_start(pdev, bar),
				    pci_resource_len(pdev, bar), pci_name(pdev)))
		return 0;
	dev_err(&pdev->dev, "BAR%d is in use by another driver: see /proc/iomem\n", bar);
	return -EBUSY;
}

/*
 * All of card memory stays mapped: the driver clears it through this mapping, which also makes x86
 * map it write-combined for users.
 */
int vta_device_map(struct vta_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	struct dmem_cgroup_region *dmem;
	int ret;

	ret = vta_device_claim_bar(vdev, VTA_BAR_DOORBELLS);
	if (ret)
		return ret;
	vdev->doorbell_phys = pci_resource_start(pdev, VTA_BAR_DOORBELLS);

	vdev->cardmem = vta_cardmem_create(vdev->caps.mem_size);
	if (!vdev->cardmem)
		return -ENOMEM;
	if (!vdev->caps.mem_size)
		return 0;

	ret = vta_device_claim_bar(vdev, VTA_BAR_MEM);
	if (ret)
		return ret;
	vdev->mem_phys = pci_resource_start(pdev, VTA_BAR_MEM);
	vdev->mem = devm_ioremap_wc(&pdev->dev, vdev->mem_phys, vdev->caps.mem_size);
	if (!vdev->mem) {
		dev_err(&pdev->dev, "cannot map %llu bytes of card memory\n", vdev->caps.mem_size);
		return -ENOMEM;
	}

	dmem = vta_dmem_register(vdev->caps.mem_size, pci_name(pdev));
	if (IS_ERR(dmem))
		return PTR_ERR(dmem);
	vdev->dmem = dmem;
	return 0;
}

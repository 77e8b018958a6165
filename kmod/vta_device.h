/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_device.h - the card
 */
#ifndef VTA_DEVICE_H
#define VTA_DEVICE_H

#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "vta_history.h"
#include "vta_regs.h"
#include "vta_usage.h"
#include "vta_watch.h"

struct dentry;
struct gen_pool;
struct vta_pm_copy;
struct vta_vector;

/* How a card is brought back, from the weakest means to the strongest. */
enum vta_step {
	VTA_STEP_ABORT,		/* of one queue, by the watchdog */
	VTA_STEP_SOFT_RESET,
	VTA_STEP_FUNCTION_RESET,
	VTA_STEP_GIVE_UP,
	VTA_STEPS
};

/*
 * struct vta_caps - what the card says it is
 *
 * Read once at probe and checked against the contract; nothing of it is ever
 * read again. Names are those of the registers (docs/hardware.md, section 3).
 */
struct vta_caps {
	u32 contract;
	u64 features;
	u64 mem_size;
	u64 serial;
	u32 queues;
	u32 contexts;
	u32 ring_order_max;
	u32 doorbell_shift;
	u32 clock_khz;
	u32 hw_ver;
	u32 config0;
	u32 config1;
};

/*
 * struct vta_device - one card
 *
 * Lifetime. The memory belongs to @dev's reference count. The PCI driver holds
 * one reference from probe to remove; @cdev is a child of @dev, so each open
 * file holds one until after its release; memory made for the card holds one,
 * which dma-bufs can keep for longer than files. Open cannot race removal: it takes
 * @lock and finds @gone.
 *
 * The card itself (@pdev, @regs, @mem, interrupts, DMA) may be used only
 * between probe and remove. Each user is stopped before: contexts and all they
 * own are revoked, under the lock of each (vta_ctx.h); sysfs files end with
 * @dev's registration; interrupt handlers are freed; @reset_work is cancelled.
 *
 * Lock order, outermost first:
 *
 *	vta_device.lock > vta_ctx.lock > vta_device.tlb_lock
 *	                  vta_ctx.lock > that of vta_ctx.queues > vta_vector.lock
 *	                                 vta_vector.lock > vta_ctx.poll_wq.lock,
 *	                                                   an eventfd's lock
 *	                  vta_ctx.lock > vta_device.exports_lock
 *	                  vta_ctx.lock > a dma-buf's reservation lock
 *	      mmap_lock > vta_ctx.lock
 *
 * so a user's memory must not be touched under any of them.
 */
struct vta_device {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	void __iomem *regs;
	void __iomem *mem;		/* all card memory, write-combined */
	phys_addr_t mem_phys;
	phys_addr_t doorbell_phys;
	struct vta_caps caps;
	struct gen_pool *mem_pool;	/* card memory, see vta_pool.c */
	atomic64_t host_bytes;		/* host memory in buffers, for sysfs */
	atomic64_t pinned_bytes;	/* memory of processes in buffers */
	atomic64_t table_bytes;		/* page tables */
	struct vta_vector *vectors;
	unsigned int nr_vectors;
	atomic_t events;		/* REG_EVENT bits seen, not yet handled */
	atomic64_t halts;		/* of queues, each worth an interrupt: vta_irq.c */
	struct ida queue_ids;
	struct ida ctx_ids;
	atomic_t nr_queues;
	atomic_t nr_closing;		/* contexts that are out of @ctxs and not yet free */
	atomic_t throttled;		/* calls that waited for faults to be forgotten */
	struct vta_pm_copy *copy;	/* of card memory, while the machine sleeps */
	struct pci_saved_state *config;	/* see vta_card_save_config() */
	struct device *hwmon;		/* NULL: no sensors */
	struct dentry *debugfs;
	struct vta_history history;
	struct work_struct reset_work;
	bool reset_wanted;
	struct vta_watch watch;
	atomic_t steps[VTA_STEPS];	/* of recovery, taken so far */
	atomic_t lost_interrupts;
	atomic_t interrupt_storms;
	struct mutex tlb_lock;		/* Protects: REG_TLB_INVALIDATE */
	spinlock_t users_lock;		/* Protects: @users and what is in it */
	struct list_head users;		/* struct vta_user */
	struct mutex exports_lock;	/* Protects: @exports, and what vta_mem.h says */
	struct list_head exports;	/* struct vta_export */
	/*
	 * Protects: everything below. Held during opening and closing of files
	 * and all through a reset of this driver's, so that they wait for each other.
	 * While the PCI core resets the card, it is @gone.
	 */
	struct mutex lock;
	struct list_head ctxs;
	struct vta_usage usage;		/* of those that have been closed */
	unsigned int nr_ctxs;
	unsigned int generation;	/* resets since probe */
	u32 card_generation;		/* what the card says */
	unsigned int resets;		/* that the card needed since @resets_since */
	unsigned long resets_since;	/* jiffies */
	bool irqs_off;
	bool gone;			/* given up, removed, or the PCI core's: opening fails */
};

static inline struct vta_device *to_vta_device(struct device *dev)
{
	return container_of(dev, struct vta_device, dev);
}

static inline u32 vta_read(struct vta_device *vdev, u32 reg)
{
	return readl(vdev->regs + reg);
}

static inline void vta_write(struct vta_device *vdev, u32 reg, u32 val)
{
	writel(val, vdev->regs + reg);
}

/* 64-bit registers: reading the low half latches the high one where it must. */
static inline u64 vta_read64(struct vta_device *vdev, u32 reg_lo)
{
	u32 lo = vta_read(vdev, reg_lo);

	return lo | (u64)vta_read(vdev, reg_lo + 4) << 32;
}

static inline void vta_write64(struct vta_device *vdev, u32 reg_lo, u64 val)
{
	vta_write(vdev, reg_lo, lower_32_bits(val));
	vta_write(vdev, reg_lo + 4, upper_32_bits(val));
}

/* No register of a live card reads as all ones (docs/hardware.md, section 2). */
static inline bool vta_is_dead(u32 val)
{
	return val == U32_MAX;
}

/*
 * As readl_poll_timeout(), but in two halves: when a machine that stood still goes on (a
 * guest that was not run), its time is over at once, and the card has not had it.
 */
#define vta_read_poll(vdev, reg, val, cond, sleep_us, timeout_ms)				\
({											\
	unsigned int _left = 2;								\
	int _ret;									\
											\
	do {										\
		_ret = readl_poll_timeout((vdev)->regs + (reg), val, cond, sleep_us,	\
					  (timeout_ms) * 500);				\
	} while (_ret && --_left);							\
	_ret;										\
})

#define VTA_MINORS	256

struct vta_device *vta_device_create(struct pci_dev *pdev, dev_t base);
int vta_device_identify(struct vta_device *vdev);
int vta_device_map(struct vta_device *vdev);

#endif /* VTA_DEVICE_H */

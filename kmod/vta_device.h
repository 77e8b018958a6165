/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_device.h - the card
 */
#ifndef VTA_DEVICE_H
#define VTA_DEVICE_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/types.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "vta_history.h"
#include "vta_isa.h"
#include "vta_regs.h"
#include "vta_user.h"
#include "vta_watch.h"

struct dmem_cgroup_region;
struct vta_cardmem;
struct vta_shadow;
struct vta_vector;

/* How a card is brought back, from the weakest means to the strongest. */
enum vta_step {
	VTA_STEP_ABORT,		/* of one queue, by the watchdog */
	VTA_STEP_SOFT_RESET,
	VTA_STEP_FUNCTION_RESET,
	VTA_STEP_GIVE_UP,
	VTA_STEPS
};

/**
 * enum vta_state - what may be done with the card
 * @VTA_STATE_RESETTING: the driver alone has it: it is being probed, reset or woken up
 * @VTA_STATE_LIVE: it works; interrupts are on
 * @VTA_STATE_PCI_OWNED: the PCI core has it, to reset it or to recover the bus
 * @VTA_STATE_FUNCTION_RESET: the PCI core resets the function, because the driver asked it to
 * @VTA_STATE_SUSPENDED: the card or the machine sleeps
 * @VTA_STATE_GIVEN_UP: no reset has helped, and the card is off the bus
 * @VTA_STATE_REMOVED: the driver is unbound, or about to be
 *
 * Registers are accessed in the first two states only: vta_read(), vta_write().
 * vta_card_set_state() changes the state, under vta_device.lock. It leaves LIVE only
 * when no file can use the card any more, or while all processes are frozen.
 */
enum vta_state {
	VTA_STATE_RESETTING,
	VTA_STATE_LIVE,
	VTA_STATE_PCI_OWNED,
	VTA_STATE_FUNCTION_RESET,
	VTA_STATE_SUSPENDED,
	VTA_STATE_GIVEN_UP,
	VTA_STATE_REMOVED,
};

/*
 * struct vta_caps - the card's description of itself
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
	u32 save_size;
	u32 hw_ver;
	struct vta_isa_config config;
};

/*
 * struct vta_device - one card
 *
 * Lifetime. The memory belongs to @dev's reference count. The PCI driver holds
 * one reference from probe to remove; @cdev is a child of @dev, so each open
 * file holds one until after its release; memory made for the card holds one,
 * which dma-bufs can keep for longer than files. Open cannot race removal: it takes
 * @lock and looks at @state.
 *
 * The card itself (@pdev, @regs, @mem, interrupts, DMA) may be used only between probe and remove.
 * Each user is stopped before: contexts and all they own are revoked, under the lock of each
 * (vta_ctx.h), and calls that map memory for them are waited for (vta_dma_get()); sysfs files end
 * with @dev's registration; interrupt handlers are freed; @reset_work is cancelled.
 *
 * Lock order, outermost first:
 *
 *	vta_device.lock > vta_ctx.lock > vta_device.tlb_lock
 *	                  vta_ctx.lock > that of vta_ctx.queues > vta_vector.lock
 *	                  vta_ctx.lock > vta_device.exports_lock
 *	      mmap_lock > vta_ctx.lock
 *
 * so a user's memory must not be touched under any of them. Nor is memory allocated that
 * is charged to a user, or another driver called: both may sleep for as long as a user
 * or that driver likes, and a reset, for which all users wait, takes all of these locks.
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
	struct vta_cardmem *cardmem;
	struct dmem_cgroup_region *dmem;	/* the same, for cgroups */
	atomic64_t host_bytes;		/* host memory in buffers, for sysfs */
	atomic64_t pinned_bytes;	/* memory of processes in buffers */
	atomic64_t table_bytes;		/* page tables */
	struct vta_vector *vectors;
	unsigned int nr_vectors;
	atomic_t events;		/* REG_EVENT bits seen, not yet handled */
	struct ida queue_ids;
	struct ida ctx_ids;
	atomic_t nr_queues;
	atomic_t nr_closing;		/* contexts that are out of @ctxs and not yet free */
	atomic_t nr_dma;		/* calls that map memory for the card: vta_dma_get() */
	atomic_t throttled;		/* calls that waited for faults to be forgotten */
	struct vta_shadow *shadow;	/* copy of card memory, while the machine sleeps */
	struct notifier_block pm_notifier;
	struct pci_saved_state *pci_config;	/* see vta_card_save_config() */
	struct device *hwmon;		/* NULL: no sensors */
	struct vta_history history;
	struct delayed_work reset_work;
	struct vta_watch watch;
	atomic_t steps[VTA_STEPS];	/* of recovery, taken so far */
	atomic_t lost_interrupts;
	atomic_t interrupt_storms;
	struct mutex tlb_lock;		/* Protects: REG_TLB_INVALIDATE */
	spinlock_t users_lock;		/* Protects: @users and what is in it, @groups */
	struct list_head users;		/* struct vta_user */
	DECLARE_BITMAP(groups, VTA_CONTEXTS_MAX);	/* of the card, that users have */
	struct mutex exports_lock;	/* Protects: @exports, and what vta_mem.h says */
	struct list_head exports;	/* struct vta_export */
	spinlock_t usage_lock;		/* Protects: the next two, and usage in contexts */
	struct vta_usage usage;		/* of starts of queues that have ended */
	struct list_head usage_queues;	/* those that have not: struct vta_queue */

	/*
	 * Protects: everything below. Held during opening and closing of files
	 * and all through a reset of this driver's, so that they wait for each other.
	 */
	struct mutex lock;
	enum vta_state state;		/* may be read without the lock */
	struct list_head ctxs;
	unsigned int nr_ctxs;
	unsigned int generation;	/* resets since probe */
	u32 card_generation;		/* what the card says */
	unsigned int resets;		/* that the card needed since @resets_since */
	unsigned long resets_since;	/* jiffies */
};

static inline struct vta_device *to_vta_device(struct device *dev)
{
	return container_of(dev, struct vta_device, dev);
}

static inline bool vta_may_access(const struct vta_device *vdev)
{
	return READ_ONCE(vdev->state) <= VTA_STATE_LIVE;
}

/* All ones, as of a card that is not there, in states that forbid the access. */
static inline u32 vta_read(struct vta_device *vdev, u32 reg)
{
	return vta_may_access(vdev) ? readl(vdev->regs + reg) : U32_MAX;
}

static inline void vta_write(struct vta_device *vdev, u32 reg, u32 val)
{
	if (vta_may_access(vdev))
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
 * As read_poll_timeout(), but in two halves: a paused guest may wake past its deadline, so check
 * again with half the time-out.
 */
#define vta_read_poll(vdev, reg, val, cond, sleep_us, timeout_ms)				\
({											\
	unsigned int _left = 2;								\
	int _ret;									\
											\
	do {										\
		_ret = read_poll_timeout(vta_read, val, cond, sleep_us,			\
					 (timeout_ms) * 500, false, vdev, reg);		\
	} while (_ret && --_left);							\
	_ret;										\
})

/*
 * Between the two calls the driver is not unbound, so memory may be mapped for the card, and
 * unmapped, outside of all locks. The first is called under vta_ctx.lock, of a context that is
 * alive, or under @lock, of a card that is live.
 */
static inline void vta_dma_get(struct vta_device *vdev)
{
	atomic_inc(&vdev->nr_dma);
}

static inline void vta_dma_put(struct vta_device *vdev)
{
	if (atomic_dec_and_test(&vdev->nr_dma))
		wake_up_var(&vdev->nr_dma);
}

/* A card answers, and not a bridge in its place with ones or zeroes. */
bool vta_card_is_present(struct vta_device *vdev);
int vta_card_wait_ready(struct vta_device *vdev);
/* Afterwards, the card executes nothing that was submitted before. */
int vta_card_reset(struct vta_device *vdev);
/* The card sends the interrupt for events that it still has: one that was lost. */
void vta_card_enable_events(struct vta_device *vdev);

/* What a queue of the card is started with, by the names of its registers. */
struct vta_queue_setup {
	u32 context;
	u32 ring_order;
	u32 ring_addr;
	u32 vector;
	u64 status;
	u64 cycles;
	u64 time_limit;
	u32 group;
	u64 start;
	u32 submitted;
	u32 save;
	bool kept;
	u32 priority;
};

/*
 * Both for any queue of the card, by its number: starts it; waits until it has stopped. They
 * return when that is done; if not, a reset has been requested.
 */
int vta_card_start_queue(struct vta_device *vdev, u32 id, const struct vta_queue_setup *setup);
int vta_card_wait_queue(struct vta_device *vdev, u32 id);

/* Keeps the card awake, waking it first; before any lock. */
int vta_card_get(struct vta_device *vdev);
void vta_card_put(struct vta_device *vdev);

/* Asks for a reset; from any context. @reason is a constant, for the kernel log. */
void vta_card_request_reset(struct vta_device *vdev, const char *reason);
/* The work that resets runs in @ms. */
void vta_card_queue_reset(struct vta_device *vdev, unsigned int ms);

/* A reset was asked for, and has not begun. */
static inline bool vta_card_reset_is_pending(const struct vta_device *vdev)
{
	return vta_may_access(vdev) && READ_ONCE(vdev->history.reason);
}

/*
 * Returns when no reset is wanted any more: the card works, or it cannot be used.
 * -EINTR if the caller is killed.
 */
int vta_card_settle(struct vta_device *vdev);

/*
 * Takes vta_device.lock, but not amid a reset of the function, in which the PCI core has the
 * card and the lock is released. -EINTR if the caller is killed.
 */
int vta_card_lock(struct vta_device *vdev);

/* A step of recovery was taken, with that result: trace and counters. */
void vta_card_count_step(struct vta_device *vdev, enum vta_step step, int ret);

/* A wait or a poll begins: the watchdog looks at the card from now on; any context. */
void vta_card_watch(struct vta_device *vdev);
/* For the watchdog: it looks once more. */
void vta_card_schedule_watch(struct vta_device *vdev);

#define VTA_MINORS	256

struct vta_device *vta_device_create(struct pci_dev *pdev, dev_t base);
int vta_device_identify(struct vta_device *vdev);
int vta_device_map(struct vta_device *vdev);

#endif /* VTA_DEVICE_H */

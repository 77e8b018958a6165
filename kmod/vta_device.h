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

/* Steps of recovery, from the weakest to the strongest. */
enum vta_step {
	VTA_STEP_ABORT,		/* of one queue, by the watchdog or before suspend */
	VTA_STEP_SOFT_RESET,
	VTA_STEP_FUNCTION_RESET,
	VTA_STEP_GIVE_UP,
	VTA_STEPS
};

/**
 * enum vta_state - state of the card
 * @VTA_STATE_RESETTING: only the driver uses it: the card is probed, reset or resumed
 * @VTA_STATE_LIVE: it works; interrupts are enabled
 * @VTA_STATE_PCI_OWNED: the PCI core owns it, to reset it or to recover the bus
 * @VTA_STATE_FUNCTION_RESET: the PCI core resets the function, for the driver
 * @VTA_STATE_SUSPENDED: the card or the machine is suspended
 * @VTA_STATE_GIVEN_UP: no reset has helped, and the card is off the bus
 * @VTA_STATE_REMOVED: the driver is unbound, or is being unbound
 *
 * Registers are accessed in the first two states only: vta_read(), vta_write(). The state is
 * changed by vta_card_set_state(), under vta_device.lock, and leaves LIVE only in a new epoch, or
 * while all processes are frozen.
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
 * Read once at probe, and checked against the contract. The fields are named for their registers
 * (docs/hardware.md, section 3).
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
	int log_tokens, log_waiting;	/* never 0 */
	struct vta_isa_config config;
};

/*
 * struct vta_device - one card
 *
 * Lifetime. @dev's reference count holds the memory. The PCI driver has one reference from probe to
 * remove. @cdev is a child of @dev, so each open file has one until after its release. Memory made
 * for the card has one, which dma-bufs can keep for longer than files. Open cannot race removal: it
 * enters the card and checks @state.
 *
 * The card itself (@pdev, @regs, @mem, interrupts, DMA) may be used only between probe and remove.
 * Remove stops each user first: contexts and all they own are revoked, under the lock of each
 * (vta_ctx.h); calls that map memory for them are waited for (vta_dma_get()); sysfs files end with
 * @dev's registration; interrupt handlers are freed; @reset_work is cancelled.
 *
 * Lock order, outermost first:
 *
 *	vta_device.lock > vta_device.gate > vta_device.users_lock > vta_device.exports_lock
 *	vta_device.lock > vta_ctx.lock > vta_device.tlb_lock
 *	                  vta_ctx.lock > vta_device.gate
 *	                  vta_ctx.lock > that of vta_ctx.queues > vta_vector.lock
 *	                  vta_ctx.lock > vta_device.exports_lock
 *	      mmap_lock > vta_ctx.lock
 *
 * So a user's memory must not be touched under any of them. Nor may memory be allocated that is
 * charged to a user, or another driver be called: both may sleep for as long as a user or that
 * driver likes. Suspend of the machine, when processes are frozen, takes all of these locks.
 *
 * A user's thread may be throttled for any time wherever it can be preempted. So it takes only
 * spinlocks of the card, and mutexes of its own context. @lock is for threads of the kernel and of
 * root: its holder owns the card, vta_card_lock(). A user's thread enters a card without an
 * owner, vta_card_enter(), for a few steps, which exclude the owner.
 *
 * A reset takes no vta_ctx.lock, either. It begins a new @epoch, and @works, one for each file,
 * take the card from the files under that lock. A soft reset waits for them for a limited time. So
 * a thread may find that the epoch of its context has passed while it holds vta_ctx.lock: its
 * requests to the card fail then (vta_card_is_current()), and the card's numbers and memory that
 * it has are its own until the work has had the lock.
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
	struct dmem_cgroup_region *dmem;	/* card memory, for cgroups */
	atomic64_t host_bytes;		/* host memory in buffers, for sysfs */
	atomic64_t pinned_bytes;	/* memory of processes in buffers */
	atomic64_t table_bytes;		/* page tables */
	struct vta_vector *vectors;
	unsigned int nr_vectors;
	atomic_t events;		/* REG_EVENT bits seen, not yet handled */
	struct ida queue_ids;
	struct ida ctx_ids;
	atomic_t nr_queues;
	struct workqueue_struct *works;	/* take the lost card from files and dma-bufs */
	atomic_t nr_revoking;		/* steps of these works that a reset waits for */
	atomic_t nr_closing;		/* contexts that have left @ctxs and are not freed yet */
	atomic_t nr_lost;		/* dropped contexts whose memory is not freed yet */
	atomic_t nr_dma;		/* calls that map memory for the card: vta_dma_get() */
	atomic_t throttled;		/* calls that vta_user_throttle() has delayed */
	struct vta_shadow *shadow;	/* copy of card memory, while the machine is suspended */
	struct notifier_block pm_notifier;
	struct pci_saved_state *pci_config;	/* by vta_card_save_config() */
	struct device *hwmon;		/* NULL: no sensors */
	struct vta_history history;
	struct delayed_work reset_work;
	struct vta_watch watch;
	atomic_t steps[VTA_STEPS];	/* counts of recovery steps */
	atomic_t lost_interrupts;
	atomic_t interrupt_storms;
	spinlock_t tlb_lock;		/* Protects: REG_TLB_INVALIDATE, and the next three */
	u64 tlb_started;		/* invalidations */
	u32 tlb_ctx;			/* context of the last one */
	bool tlb_busy;			/* the last one is not known to have ended */
	spinlock_t users_lock;		/* Protects: @users and its elements, @groups */
	struct list_head users;		/* struct vta_user */
	DECLARE_BITMAP(groups, VTA_CONTEXTS_MAX);	/* the card's groups in use */
	spinlock_t exports_lock;	/* Protects: vta_user.exports */
	spinlock_t usage_lock;		/* Protects: the next two, and usage in contexts */
	struct vta_usage usage;		/* of queues until their last stop */
	struct list_head usage_queues;	/* running queues, struct vta_queue */

	/*
	 * Protects: everything below, for the owner: throughout a reset by this driver, for which
	 * files that are opened and closed wait.
	 */
	struct mutex lock;
	spinlock_t gate;		/* Protects: the same, in vta_card_enter() */
	bool owned;
	enum vta_state state;		/* may be read without the lock */
	struct list_head ctxs;
	unsigned int nr_ctxs;
	unsigned int nr_stopping;	/* those whose files are being closed */
	unsigned int epoch;		/* times that files have lost the card; also by @gate */
	unsigned int generation;	/* resets since probe */
	u32 card_generation;		/* GENERATION when the card was started */
	unsigned int resets;		/* resets that the card needed since @resets_since */
	unsigned long resets_since;	/* jiffies */
};

/**
 * to_vta_device() - the card of a class device
 * @dev: vta_device.dev
 *
 * Return: the card.
 */
static inline struct vta_device *to_vta_device(struct device *dev)
{
	return container_of(dev, struct vta_device, dev);
}

/**
 * vta_may_access() - check whether the driver may access registers
 * @vdev: the card
 *
 * Return: true in VTA_STATE_RESETTING and VTA_STATE_LIVE.
 */
static inline bool vta_may_access(const struct vta_device *vdev)
{
	return READ_ONCE(vdev->state) <= VTA_STATE_LIVE;
}

/**
 * vta_read() - read a register
 * @vdev: the card
 * @reg: REG_x
 *
 * Return: the value; all ones if the card is absent, or the state forbids the access.
 */
static inline u32 vta_read(struct vta_device *vdev, u32 reg)
{
	return vta_may_access(vdev) ? readl(vdev->regs + reg) : U32_MAX;
}

/**
 * vta_write() - write a register, unless the state forbids it
 * @vdev: the card
 * @reg: REG_x
 * @val: the value
 */
static inline void vta_write(struct vta_device *vdev, u32 reg, u32 val)
{
	if (vta_may_access(vdev))
		writel(val, vdev->regs + reg);
}

/**
 * vta_read64() - read a 64-bit register; where it matters, the low half latches the high one
 * @vdev: the card
 * @reg_lo: REG_x_LO
 *
 * Return: the value, as vta_read().
 */
static inline u64 vta_read64(struct vta_device *vdev, u32 reg_lo)
{
	u32 lo = vta_read(vdev, reg_lo);

	return lo | (u64)vta_read(vdev, reg_lo + 4) << 32;
}

/**
 * vta_write64() - write a 64-bit register, the low half first
 * @vdev: the card
 * @reg_lo: REG_x_LO
 * @val: the value
 */
static inline void vta_write64(struct vta_device *vdev, u32 reg_lo, u64 val)
{
	vta_write(vdev, reg_lo, lower_32_bits(val));
	vta_write(vdev, reg_lo + 4, upper_32_bits(val));
}

/**
 * vta_is_dead() - check for the value of an absent card
 * @val: value of MAGIC, STATUS, STATE or TIME, or of a register with undefined bits
 *
 * Return: true for all ones, which none of these has on a live card (docs/hardware.md, section 2).
 */
static inline bool vta_is_dead(u32 val)
{
	return val == U32_MAX;
}

/*
 * As read_poll_timeout(), but in two halves: a paused guest may wake past its deadline, so check
 * again with half the time-out.
 */
#define vta_poll_twice(op, val, cond, sleep_us, timeout_ms, args...)			\
({											\
	unsigned int _left = 2;								\
	int _ret;									\
											\
	do {										\
		_ret = read_poll_timeout(op, val, cond, sleep_us,			\
					 (timeout_ms) * 500, false, args);		\
	} while (_ret && --_left);							\
	_ret;										\
})

#define vta_read_poll(vdev, reg, val, cond, sleep_us, timeout_ms)				\
	vta_poll_twice(vta_read, val, cond, sleep_us, timeout_ms, vdev, reg)

/**
 * vta_dma_get() - keep the driver bound
 * @vdev: the card
 *
 * Until vta_dma_put(), memory may be mapped for the card and unmapped outside of all locks. Removal
 * of the card waits, so no memory may be allocated that sleeps for a user's.
 *
 * Context: under vta_ctx.lock of a live context, or inside of a live card (vta_card_enter()).
 */
static inline void vta_dma_get(struct vta_device *vdev)
{
	atomic_inc(&vdev->nr_dma);
}

/**
 * vta_dec_and_wake() - count down, and wake the threads that wait for zero
 * @count: the count
 */
static inline void vta_dec_and_wake(atomic_t *count)
{
	if (atomic_dec_and_test(count))
		wake_up_var(count);
}

/**
 * vta_dma_put() - undo vta_dma_get()
 * @vdev: the card
 */
static inline void vta_dma_put(struct vta_device *vdev)
{
	vta_dec_and_wake(&vdev->nr_dma);
}

/**
 * vta_card_is_current() - check that no file has lost the card since an epoch
 * @vdev: the card
 * @epoch: vta_device.epoch at some time
 *
 * A register that was read before this returned true was read before the next reset.
 *
 * Return: true if not.
 */
static inline bool vta_card_is_current(const struct vta_device *vdev, unsigned int epoch)
{
	return READ_ONCE(vdev->epoch) == epoch;
}

/**
 * vta_card_is_present() - check that the card answers
 * @vdev: the card
 *
 * Return: false if a bridge answers in its place, with ones or zeroes.
 */
bool vta_card_is_present(struct vta_device *vdev);

/**
 * vta_card_wait_ready() - wait until the card is ready
 * @vdev: the card
 *
 * Return: 0, -ENODEV if the card does not answer, or -ETIMEDOUT.
 */
int vta_card_wait_ready(struct vta_device *vdev);

/**
 * vta_card_reset() - reset the card by its CONTROL register
 * @vdev: the card
 *
 * Return: 0, and the card executes nothing that was submitted before; or an error.
 */
int vta_card_reset(struct vta_device *vdev);

/**
 * vta_card_enable_events() - enable events; the card interrupts for those that are pending
 * @vdev: the card
 */
void vta_card_enable_events(struct vta_device *vdev);

/* Values of a queue's registers at its start; the fields are named for the registers. */
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

/**
 * vta_card_start_queue() - start a queue of the card, and wait until it runs
 * @vdev: the card
 * @epoch: of the caller's context; a card of a later one is not changed
 * @id: number of the queue
 * @setup: its registers
 *
 * Return: 0, or -ENODEV if a reset has been requested or @epoch has passed.
 */
int vta_card_start_queue(struct vta_device *vdev, unsigned int epoch, u32 id,
			 const struct vta_queue_setup *setup);

/**
 * vta_card_wait_queue() - wait until a queue has stopped
 * @vdev: the card
 * @epoch: of the caller's context
 * @id: number of the queue
 *
 * Return: 0, or -ENODEV if a reset has been requested or @epoch has passed.
 */
int vta_card_wait_queue(struct vta_device *vdev, unsigned int epoch, u32 id);

/**
 * vta_card_get() - resume the card, and keep it awake
 * @vdev: the card
 *
 * Context: may sleep; before any lock.
 * Return: 0 or -ENODEV.
 */
int vta_card_get(struct vta_device *vdev);

/**
 * vta_card_put() - undo vta_card_get()
 * @vdev: the card
 */
void vta_card_put(struct vta_device *vdev);

/**
 * vta_card_request_reset() - request a reset
 * @vdev: the card
 * @reason: a constant, for the log: what the card has done
 *
 * Context: any.
 */
void vta_card_request_reset(struct vta_device *vdev, const char *reason);

/**
 * vta_card_fail() - request a reset, for a user's thread, which may come late
 * @vdev: the card
 * @epoch: of the caller's context; if it has passed, no other reset is needed
 * @reason: as that of vta_card_request_reset()
 *
 * Return: -ENODEV.
 */
int vta_card_fail(struct vta_device *vdev, unsigned int epoch, const char *reason);

/**
 * vta_card_queue_reset() - queue vta_device.reset_work
 * @vdev: the card
 * @ms: delay
 *
 * Context: any.
 */
void vta_card_queue_reset(struct vta_device *vdev, unsigned int ms);

/**
 * vta_card_reset_is_pending() - check for a requested reset
 * @vdev: the card
 *
 * Return: true if a reset was requested and has not begun.
 */
static inline bool vta_card_reset_is_pending(const struct vta_device *vdev)
{
	return vta_may_access(vdev) && READ_ONCE(vdev->history.reason);
}

/**
 * vta_card_settle() - wait until no reset is pending: the card works, or cannot be used
 * @vdev: the card
 *
 * Return: 0, or -EINTR if the caller is killed.
 */
int vta_card_settle(struct vta_device *vdev);

/**
 * vta_card_lock() - own the card: take vta_device.lock
 * @vdev: the card
 *
 * Context: threads of the kernel, and calls that only root may make; sleeps.
 */
void vta_card_lock(struct vta_device *vdev);

/**
 * vta_card_unlock() - undo vta_card_lock()
 * @vdev: the card
 */
void vta_card_unlock(struct vta_device *vdev);

/**
 * vta_card_enter() - keep others from owning the card, for a few steps
 * @vdev: the card
 *
 * Context: any thread; sleeps until the card has no owner, and then disables preemption.
 */
void vta_card_enter(struct vta_device *vdev);

/**
 * vta_card_enter_killable() - vta_card_enter(), unless the caller is killed
 * @vdev: the card
 *
 * Return: 0, or -EINTR.
 */
int vta_card_enter_killable(struct vta_device *vdev);

/**
 * vta_card_enter_settled() - vta_card_enter_killable(), but not in VTA_STATE_FUNCTION_RESET
 * @vdev: the card
 *
 * The card has no owner while the PCI core resets the function for the driver.
 *
 * Return: 0, or -EINTR.
 */
int vta_card_enter_settled(struct vta_device *vdev);

/**
 * vta_card_leave() - undo vta_card_enter()
 * @vdev: the card
 */
void vta_card_leave(struct vta_device *vdev);

/**
 * vta_card_count_step() - count and trace a step of recovery
 * @vdev: the card
 * @step: the step
 * @ret: its result
 *
 * Context: any.
 */
void vta_card_count_step(struct vta_device *vdev, enum vta_step step, int ret);

/**
 * vta_card_watch() - start the watchdog, for a wait or a poll that begins
 * @vdev: the card
 *
 * Context: any.
 */
void vta_card_watch(struct vta_device *vdev);

/**
 * vta_card_schedule_watch() - schedule the watchdog's next check
 * @vdev: the card
 *
 * Context: any.
 */
void vta_card_schedule_watch(struct vta_device *vdev);

#define VTA_MINORS	256

/**
 * vta_device_create() - allocate the structure of a card, and its minor number
 * @pdev: the PCI device
 * @base: the first device number
 *
 * Context: probe.
 * Return: the card, whose only reference the caller drops with put_device(); or an ERR_PTR.
 */
struct vta_device *vta_device_create(struct pci_dev *pdev, dev_t base);

/**
 * vta_device_has_bar() - check that a BAR has an address; prints the reason if not
 * @vdev: the card
 * @bar: its number
 *
 * Return: true if it has.
 */
bool vta_device_has_bar(struct vta_device *vdev, int bar);

/**
 * vta_device_identify() - check that this is a card of the contract, reset it, read vta_device.caps
 * @vdev: the card, in any state
 *
 * Context: probe.
 * Return: 0, or an error, which was logged.
 */
int vta_device_identify(struct vta_device *vdev);

/**
 * vta_device_map() - claim doorbells and card memory, and map the latter
 * @vdev: the card
 *
 * Context: probe; undone by devres and by the device's release.
 * Return: 0 or an error.
 */
int vta_device_map(struct vta_device *vdev);

#endif /* VTA_DEVICE_H */

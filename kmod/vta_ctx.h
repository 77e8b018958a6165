/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_ctx.h - contexts: the resources of an open file
 */
#ifndef VTA_CTX_H
#define VTA_CTX_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "vta_device.h"
#include "vta_event.h"
#include "vta_mmu.h"
#include "vta_user.h"
#include "vta.h"

struct inode;
struct page;

/**
 * enum vta_ctx_memory - numbers on the card, and memory, of a context
 * @VTA_CTX_HELD: the context has them until its file is closed
 * @VTA_CTX_LOST: the card has stopped, and the context's work frees them
 * @VTA_CTX_FREED: they have been freed
 */
enum vta_ctx_memory {
	VTA_CTX_HELD,
	VTA_CTX_LOST,
	VTA_CTX_FREED,
};

/**
 * struct vta_ctx - a context
 * @vdev: the card
 * @file: the open file, which holds the context; the context does not hold the file
 * @inode: lists the mappings of this file only
 * @node: in vta_device.ctxs
 * @client: a number that no other file has had since the module was loaded
 * @tgid: the process that opened the file, for messages
 * @comm: its name, sanitised to one word
 * @user: the user that is charged
 * @generation: of the card, when the file was opened
 * @work: takes the lost card from the file
 * @revoked: by @work, which alone uses this
 * @hung_up: the waits of the lost file have ended, though @work has not come to it yet
 * @notify: signals poll() and eventfds
 * @iova: free device addresses
 * @usage: usage of queues that have ended, and of others before their last start;
 *         vta_device.usage_lock
 * @lost: why the card was lost; vta_device.lock
 * @memory: of its queues, buffers and page tables; vta_device.lock
 * @lock: Protects: all below, and the use of the card for this context: a holder that finds @dead
 *        false may access its registers, map DMA and publish memory. The card may be reset
 *        meanwhile (vta_device.h). Not held while a user's memory is touched or allocated: page
 *        faults on CPU mappings take it
 * @dead: the card was revoked, no mapping is left; every call fails with ENODEV
 * @mmu: device address space
 * @bufs: memory that can be mmap()ed, struct vta_buf by page offset
 * @buf_list: all buffers, even those that only CPU mappings hold
 * @removed: buffers that were removed from @bufs, until vta_buf_unlock()
 * @queues: struct vta_queue by handle; may be searched under the xarray's lock alone
 * @nr_queues: number of queues
 * @host_bytes: host memory in buffers
 * @card_bytes: card memory in buffers
 * @pinned_bytes: memory of processes in buffers
 * @imported_bytes: memory of dma-bufs in buffers
 * @blank: zero page installed in revoked mappings
 *
 * A context has either all it needs of the card or nothing: after a reset its work frees its
 * queues, numbers and memory.
 */
struct vta_ctx {
	struct vta_device *vdev;
	struct file *file;
	struct inode *inode;
	struct list_head node;
	u64 client;
	pid_t tgid;
	char comm[TASK_COMM_LEN];
	struct vta_user *user;
	unsigned int generation;
	struct work_struct work;
	bool revoked;
	bool hung_up;
	struct vta_notify *notify;
	struct vta_iova *iova;
	struct vta_lost lost;
	enum vta_ctx_memory memory;
	struct vta_usage usage;

	struct mutex lock; /* Protects: see above */
	bool dead;
	struct vta_mmu mmu;
	struct xarray bufs;
	struct list_head buf_list;
	struct list_head removed;
	struct xarray queues;
	unsigned int nr_queues;
	u64 host_bytes;
	u64 card_bytes;
	u64 pinned_bytes;
	u64 imported_bytes;
	struct page *blank;
};

/**
 * vta_ctx_open() - make the context of a file
 * @vdev: the card
 * @file: the file that is being opened
 *
 * Context: may sleep for the caller's memory, and until a reset has ended.
 * Return: the context, or an ERR_PTR.
 */
struct vta_ctx *vta_ctx_open(struct vta_device *vdev, struct file *file);

/**
 * vta_ctx_close() - stop and free a context
 * @ctx: the context
 *
 * Context: the last close of its file; may sleep until a reset has ended.
 */
void vta_ctx_close(struct vta_ctx *ctx);

/**
 * vta_ctx_get_dma() - vta_dma_get() for a context
 * @ctx: the context
 *
 * Context: takes vta_ctx.lock.
 * Return: 0, or -ENODEV if the card was revoked.
 */
static inline int vta_ctx_get_dma(struct vta_ctx *ctx)
{
	int ret = -ENODEV;

	mutex_lock(&ctx->lock);
	if (!ctx->dead) {
		vta_dma_get(ctx->vdev);
		ret = 0;
	}
	mutex_unlock(&ctx->lock);
	return ret;
}

/**
 * vta_ctx_is_lost() - check whether the card was revoked, or is about to be
 * @ctx: the context
 *
 * Return: true from the beginning of a reset on; vta_ctx.dead follows.
 */
static inline bool vta_ctx_is_lost(const struct vta_ctx *ctx)
{
	return !vta_card_is_current(ctx->vdev, ctx->mmu.epoch);
}

/**
 * vta_ctx_revoke() - have the context's work fail all waiters and revoke all mappings
 * @ctx: the context
 *
 * The work counts in vta_device.nr_revoking until then.
 *
 * Context: under vta_device.lock, in a new epoch.
 */
void vta_ctx_revoke(struct vta_ctx *ctx);

/**
 * vta_ctx_hang_up() - fail all waiters of a file whose work waits for a thread with vta_ctx.lock
 * @ctx: a context after vta_ctx_revoke()
 *
 * Context: under vta_device.lock.
 */
void vta_ctx_hang_up(struct vta_ctx *ctx);

/**
 * vta_ctx_drop() - have the context's work free queues and numbers on the card, then memory
 * @ctx: a context after vta_ctx_revoke(); the card has stopped, or is off the bus
 *
 * The work counts in vta_device.nr_revoking until the numbers are free, and in nr_lost until the
 * memory is.
 *
 * Context: under vta_device.lock.
 */
void vta_ctx_drop(struct vta_ctx *ctx);

/**
 * vta_ctx_set_lost() - record the state and cause of a card's loss
 * @ctx: a context that was revoked
 * @fate: the state of the card, unless a final one is recorded
 * @cause: the cause, unless one is recorded
 *
 * Context: under vta_device.lock.
 */
void vta_ctx_set_lost(struct vta_ctx *ctx, enum vta_fate fate, enum vta_cause cause);

/**
 * vta_ctx_for_queues() - call a function for all queues, up to the first error
 * @ctx: the context; nothing is called if it has lost the card
 * @each: the function, called under vta_ctx.lock
 *
 * Context: suspend and resume of the machine, under vta_device.lock.
 * Return: 0 or that error.
 */
int vta_ctx_for_queues(struct vta_ctx *ctx, int (*each)(struct vta_queue *q));

/**
 * vta_ctx_resume() - program the context on a card that was reset, and resume its queues
 * @ctx: the context
 *
 * Context: resume of the machine, under vta_device.lock.
 * Return: 0, or -ENODEV if a reset has been requested.
 */
int vta_ctx_resume(struct vta_ctx *ctx);

/* ---- An inode for one open file (vta_inode.c) ---- */

/**
 * vta_inode_new() - make an inode
 *
 * Return: the inode, or an ERR_PTR.
 */
struct inode *vta_inode_new(void);

/**
 * vta_inode_put() - drop the inode
 * @inode: the inode
 */
void vta_inode_put(struct inode *inode);

#endif /* VTA_CTX_H */

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
 * struct vta_ctx - a context
 * @vdev: the card
 * @file: the open file, which holds the context and not the other way round
 * @inode: lists the mappings of the file, and of no other
 * @node: in vta_device.ctxs
 * @client: a number that no other file has had since the module was loaded
 * @tgid: the process that opened the file, for messages
 * @comm: its name, sanitised to one word
 * @user: the user that it is counted against
 * @generation: of the card, when it was opened
 * @notify: signals poll() and eventfds
 * @iova: free device addresses
 * @usage: what queues have used that have ended, or before they were started anew;
 *         vta_device.usage_lock
 * @lost: what has become of the card; written under vta_device.lock and @lock
 * @lock: Protects: all below, and that the card may be used for this context:
 *        a holder that finds @dead false may touch registers, map DMA and
 *        publish memory. Never held while touching or allocating a user's memory: page
 *        faults on CPU mappings take it, and so does a reset (vta_device.h)
 * @dead: the card has been taken away; every call gets ENODEV
 * @mmu: device address space
 * @bufs: what can be mmap()ed of memory, struct vta_buf by page offset
 * @buf_list: all buffers, also those that only CPU mappings hold
 * @removed: buffers that were taken out of @bufs, until vta_buf_unlock()
 * @queues: struct vta_queue by handle; found under its own lock alone, too
 * @nr_queues: how many
 * @host_bytes: host memory in buffers
 * @card_bytes: card memory in buffers
 * @pinned_bytes: memory of processes in buffers
 * @imported_bytes: memory of dma-bufs in buffers
 * @blank: what mappings of the file show that have lost what they showed
 *
 * A context has either all it needs of the card or nothing: vta_ctx_drop()
 * takes it, at the latest when the file is closed.
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
	struct vta_notify notify;
	struct vta_iova *iova;
	struct vta_lost lost;
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

struct vta_ctx *vta_ctx_open(struct vta_device *vdev, struct file *file);
void vta_ctx_close(struct vta_ctx *ctx);

/* vta_dma_get(), or -ENODEV. */
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

/*
 * Revokes the card. First all waiters of the context are released, under vta_device.lock. When
 * the card has stopped, or has dropped the context, its memory is freed.
 */
void vta_ctx_revoke(struct vta_ctx *ctx);
void vta_ctx_drop(struct vta_ctx *ctx);
/* Then, under vta_device.lock, sets the fate and cause; an earlier report stays. */
void vta_ctx_set_lost(struct vta_ctx *ctx, enum vta_fate fate, enum vta_cause cause);

/*
 * Under vta_device.lock, while the machine goes to sleep: calls @each for all queues, up to the
 * first error. Then, when the card has been reset, it is told anew of the context, and its
 * queues go on.
 */
int vta_ctx_for_queues(struct vta_ctx *ctx, int (*each)(struct vta_queue *q));
int vta_ctx_resume(struct vta_ctx *ctx);

/* For vta_ctx.c: an inode for one open file (vta_inode.c). */
struct inode *vta_inode_new(void);
void vta_inode_put(struct inode *inode);

#endif /* VTA_CTX_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_buf.h - buffers
 */
#ifndef VTA_BUF_H
#define VTA_BUF_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#include "vta_mmu.h"
#include "vta.h"

struct sg_table;
struct vta_ctx;
struct vta_mem;

/* In vta_buf.flags beside VTA_BUF_*. */
#define VTA_BUF_KERNEL	0x80000000u	/* made for a queue: not the user's to free */
#define VTA_BUF_STATUS	0x40000000u	/* has no device address; users only read */
#define VTA_BUF_BORROWED	0x20000000u	/* not the driver's memory: no mmap(), no export */
#define VTA_BUF_HIDDEN	0x10000000u	/* no mmap() */

/**
 * struct vta_buf - a buffer: memory with a place in a context
 * @ref: held by the context's table and by CPU mappings
 * @ctx: the context (constant)
 * @size: bytes, a multiple of the CPU's page (constant)
 * @flags: VTA_BUF_* | VTA_BUF_* (constant)
 * @pgoff: where it can be mmap()ed, in pages: its place in the context's table,
 *         and the user's handle (constant)
 * @addr: its device address; 0 if it has none, or has lost it. The rest is
 *        protected by vta_ctx.lock
 * @mem: its memory, NULL if it has lost it
 * @sgt: bus addresses of the driver's own or pinned memory while the card may reach it
 * @node: in vta_ctx.buf_list, from publishing until the last reference goes
 * @removed: in vta_ctx.removed, when the context's table has it no more
 */
struct vta_buf {
	struct kref ref;
	struct vta_ctx *ctx;
	u64 size;
	u32 flags;
	u32 pgoff;
	u64 addr;
	struct vta_mem *mem;
	struct sg_table *sgt;
	struct list_head node;
	struct list_head removed;
};

/*
 * Makes a buffer that is not published yet; takes over the caller's reference to @mem, also if it
 * fails. @addr: the device address, or 0 for any multiple of @align, or of a page if that is 0;
 * with VTA_BUF_STATUS, there is none and @pgoff of the buffer is the caller's to set.
 */
struct vta_buf *vta_buf_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags, u64 align,
			       u64 addr);

/*
 * Shows the buffer to the card and puts it into the context's table, which has
 * the only reference then. If that fails, the buffer is gone too.
 */
int vta_buf_publish(struct vta_buf *buf);

/* Drops a reference; a buffer that was not published has one. */
void vta_buf_put(struct vta_buf *buf);

/*
 * Releases vta_ctx.lock, and then gives back what buffers had that were taken out under it:
 * their bus addresses and their memory.
 */
void vta_buf_unlock(struct vta_ctx *ctx);

/* ---- The following are called under vta_ctx.lock, to be left by vta_buf_unlock() ---- */

/*
 * Removes the buffer from the card and from the context's table. If that fails, the card may
 * still access the buffer, and nothing has been freed.
 */
int vta_buf_unpublish(struct vta_buf *buf);

/* Drops the memory of all buffers, even mapped ones; the card must have stopped. */
void vta_buf_drop_all(struct vta_ctx *ctx);

int vta_buf_mmap(struct vta_buf *buf, struct vm_area_struct *vma);

#endif /* VTA_BUF_H */

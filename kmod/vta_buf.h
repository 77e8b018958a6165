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

/* In vta_buf.flags besides VTA_BUF_* of uapi/vta.h. */
#define VTA_BUF_KERNEL	0x80000000u	/* made for a queue: the user cannot free it */
#define VTA_BUF_STATUS	0x40000000u	/* has no device address; users only read it */
#define VTA_BUF_BORROWED	0x20000000u	/* not memory of the driver: no mmap(), no export */
#define VTA_BUF_HIDDEN	0x10000000u	/* no mmap() */

/**
 * struct vta_buf - a buffer: memory with a device address in a context
 * @ref: held by the context's table and by CPU mappings
 * @ctx: the context (constant)
 * @size: bytes, a multiple of the CPU's page (constant)
 * @flags: VTA_BUF_* of uapi/vta.h and the driver's own above (constant)
 * @pgoff: mmap() offset in pages, index in the context's table, and the user's handle (constant)
 * @addr: its device address; 0 if it has none, or has lost it; this and the following fields are
 *        protected by vta_ctx.lock
 * @mem: its memory, NULL if it has lost it
 * @sgt: bus addresses of the driver's own or pinned memory while the card may reach it
 * @node: in vta_ctx.buf_list, from publishing until the last reference is dropped
 * @removed: in vta_ctx.removed, then in a list of vta_buf_unlock(), which will free the buffer
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

/**
 * vta_buf_create() - make a buffer, which is not published yet
 * @ctx: the context
 * @mem: its memory; takes over the caller's reference, even on failure
 * @flags: VTA_BUF_*; with VTA_BUF_STATUS there is no address, and the caller sets @pgoff
 * @align: alignment of the device address; 0: a page
 * @addr: the device address; 0: any
 *
 * Context: may sleep for the caller's memory; not under vta_ctx.lock.
 * Return: the buffer with one reference, or an ERR_PTR.
 */
struct vta_buf *vta_buf_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags, u64 align,
			       u64 addr);

/**
 * vta_buf_publish() - map the buffer for the card, and add it to the context's table
 * @buf: the buffer; the table takes over the only reference, and on failure the buffer is freed
 *
 * Context: may sleep for the caller's memory; takes vta_ctx.lock.
 * Return: 0 or an error.
 */
int vta_buf_publish(struct vta_buf *buf);

/**
 * vta_buf_put() - drop a reference
 * @buf: the buffer
 *
 * Context: takes vta_ctx.lock.
 */
void vta_buf_put(struct vta_buf *buf);

/**
 * vta_buf_unlock() - unlock vta_ctx.lock, then unmap and free the buffers removed under it
 * @ctx: the context
 */
void vta_buf_unlock(struct vta_ctx *ctx);

/**
 * vta_buf_unpublish() - unmap the buffer from the card, and remove it from the context's table
 * @buf: the buffer
 *
 * Context: under vta_ctx.lock, which vta_buf_unlock() releases.
 * Return: 0; or -ENODEV: the card may still access the buffer, which stays where it is.
 */
int vta_buf_unpublish(struct vta_buf *buf);

/**
 * vta_buf_drop() - drop a part of the buffers, and the memory even of mapped ones
 * @ctx: the context, which the card does not use any more
 *
 * Context: takes vta_ctx.lock.
 * Return: true if there are more.
 */
bool vta_buf_drop(struct vta_ctx *ctx);

/**
 * vta_buf_mmap() - map a buffer into a process
 * @buf: the buffer
 * @vma: the mapping
 *
 * Context: under vta_ctx.lock.
 * Return: 0, -EINVAL or -EACCES.
 */
int vta_buf_mmap(struct vta_buf *buf, struct vm_area_struct *vma);

#endif /* VTA_BUF_H */

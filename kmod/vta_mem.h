/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_mem.h - memory that buffers show to the card: of the host, of the card, pinned, dma-bufs
 */
#ifndef VTA_MEM_H
#define VTA_MEM_H

#include <linux/dma-direction.h>
#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "vta_cardmem.h"
#include "vta.h"

struct cred;
struct device;
struct dma_buf;
struct dma_buf_attachment;
struct dmem_cgroup_pool_state;
struct page;
struct sg_table;
struct vta_ctx;
struct vta_device;
struct vta_mem;
struct vta_user;

/* ---- Pages of the host (vta_host.c) ---- */

/**
 * struct vta_host - pages of host memory
 * @pages: the pages, which need not be neighbours
 * @nr: how many
 */
struct vta_host {
	struct page **pages;
	unsigned long nr;
};

/* Allocates the list for the pages of @size bytes, without pages. */
int vta_host_init(struct vta_host *host, u64 size);
/* Zeroed pages; each can be mapped into a process. */
int vta_host_alloc(struct vta_host *host, u64 size);
void vta_host_free(struct vta_host *host);

/*
 * Maps the pages for a device, in order. ERR_PTR(-EOPNOTSUPP) if this
 * machine would copy what the device reads and writes.
 */
struct sg_table *vta_host_map(const struct vta_host *host, struct device *dev,
			      enum dma_data_direction dir);
void vta_host_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir);

/* ---- Memory of any kind ---- */

/**
 * struct vta_foreign - a dma-buf of another driver
 * @dmabuf: the dma-buf
 * @attach: of the card's
 * @sgt: bus addresses
 * @dir: what the card may do there
 * @work: gives all of it back
 */
struct vta_foreign {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	enum dma_data_direction dir;
	struct work_struct work;
};

enum vta_mem_kind {
	VTA_MEM_HOST,		/* pages of our own */
	VTA_MEM_CARD,		/* a piece of the card's memory */
	VTA_MEM_PINNED,		/* pages of a process */
	VTA_MEM_FOREIGN,	/* a dma-buf of another driver */
};

/**
 * struct vta_mem_ops - how memory of a kind is given back
 * @release: when the last reference has gone; may sleep for another driver
 * @release_later: the same under a lock: by a worker, which calls vta_mem_discard() as well;
 *                 NULL: @release does not sleep for others
 *
 * Pointers, since the files that make memory of a kind stand above this one: they take what
 * all kinds have in common from here, and alone know what they have to give back.
 */
struct vta_mem_ops {
	void (*release)(struct vta_mem *mem);
	void (*release_later)(struct vta_mem *mem);
};

/**
 * struct vta_mem - memory; all but @lost, @blank and @ref is constant
 * @ref: held by buffers and by exported dma-bufs
 * @kind: which of the following there are
 * @ops: how it is given back
 * @vdev: the card it was made for, of which its structure stays
 * @size: bytes, a multiple of the CPU's page
 * @skew: where in a large page of the card's it starts best
 * @host: HOST, PINNED: the pages
 * @mm: PINNED: the process that is charged for it
 * @cred: PINNED: names that process's user, which is charged as well
 * @dirty: PINNED: the card may write it
 * @foreign: FOREIGN: the dma-buf
 * @extents: CARD: where
 * @dmem: CARD: the cgroup that is charged for it
 * @user: HOST, CARD, PINNED: the user it is counted against
 * @lost: CARD: the card has been reset or is gone; vta_device.exports_lock
 * @blank: CARD: what mappings of a dma-buf show then; vta_device.exports_lock
 */
struct vta_mem {
	struct kref ref;
	enum vta_mem_kind kind;
	const struct vta_mem_ops *ops;
	struct vta_device *vdev;
	u64 size;
	u64 skew;
	struct vta_host host;
	struct mm_struct *mm;
	const struct cred *cred;
	bool dirty;
	struct vta_foreign foreign;
	struct vta_extents extents;
	struct dmem_cgroup_pool_state *dmem;
	struct vta_user *user;
	bool lost;
	struct page *blank;
};

/* Zeroed memory, of the host or of the card. */
struct vta_mem *vta_mem_alloc(struct vta_ctx *ctx, enum vta_mem_kind kind, u64 size);

/* The start of one: to be filled in, or discarded. */
struct vta_mem *vta_mem_new(struct vta_device *vdev, enum vta_mem_kind kind,
			    const struct vta_mem_ops *ops, u64 size);
void vta_mem_discard(struct vta_mem *mem);

struct vta_mem *vta_mem_get(struct vta_mem *mem);
void vta_mem_put(struct vta_mem *mem);
/* The same under a lock: another driver is asked by a worker to take its memory back. */
void vta_mem_put_later(struct vta_mem *mem);

/* ---- CPU mappings ---- */

/* What all mappings of the driver have in common. */
int vta_vma_init(struct vm_area_struct *vma);

/* How HOST and CARD memory is cached. */
void vta_mem_mmap(const struct vta_mem *mem, struct vm_area_struct *vma);

/*
 * Before the next two, and before the lock under which they are called: allocates the
 * process's page table and, if the mapping has lost what it showed, @blank. 0 or an error.
 */
vm_fault_t vta_mem_fault_begin(struct page **blank, struct vm_fault *vmf);

/* Resolves a page fault; @first is the page offset of the first page. */
vm_fault_t vta_mem_fault(const struct vta_mem *mem, struct vm_fault *vmf, unsigned long first);

/*
 * Resolves it with a page of zeroes: a mapping that has lost what it showed is harmless, not
 * fatal. Without @blank the CPU tries again.
 */
vm_fault_t vta_mem_fault_blank(struct page *blank, struct vm_fault *vmf);

/* ---- Memory of a process (vta_pin.c) ---- */

/* Pins @size bytes of the caller's from @start, whole pages; charged to process and users. */
struct vta_mem *vta_pin_mem(struct vta_ctx *ctx, unsigned long start, u64 size, bool write);

/* ---- dma-bufs of any exporter (vta_import.c) ---- */

int vta_import_init(void);
void vta_import_exit(void);

/* The memory of the caller's dma-buf, with a reference. */
struct vta_mem *vta_import_mem(struct vta_ctx *ctx, int fd, bool write);

/* ---- dma-bufs made of buffers (vta_export.c) ---- */

/* A dma-buf of the memory; takes over the caller's reference to @mem, also if it fails. */
struct dma_buf *vta_export_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags);

/* The memory of a dma-buf; NULL if it was not exported by this driver. */
struct vta_mem *vta_export_mem(struct dma_buf *dmabuf);

/*
 * Revokes card memory from all dma-bufs. Called under vta_device.lock when no context is left
 * that could export more.
 */
void vta_export_revoke(struct vta_device *vdev);

#endif /* VTA_MEM_H */

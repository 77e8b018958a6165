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
 * @nr: number of pages
 */
struct vta_host {
	struct page **pages;
	unsigned long nr;
};

/**
 * vta_host_init() - allocate the list of pages, without pages
 * @host: the list
 * @size: bytes that the pages will have
 *
 * Return: 0 or -ENOMEM.
 */
int vta_host_init(struct vta_host *host, u64 size);

/**
 * vta_host_alloc() - allocate zeroed pages, each of which can be mapped into a process
 * @host: the pages
 * @size: bytes
 *
 * Context: may sleep for the caller's memory.
 * Return: 0, -ENOMEM, or -EINTR after a fatal signal.
 */
int vta_host_alloc(struct vta_host *host, u64 size);

/**
 * vta_host_free() - free pages and list
 * @host: the pages
 */
void vta_host_free(struct vta_host *host);

/**
 * vta_host_sgt_alloc() - allocate the list of bus addresses
 * @host: the pages
 * @dev: the device
 *
 * Context: may sleep for the caller's memory.
 * Return: the list, or ERR_PTR(-ENOMEM).
 */
struct sg_table *vta_host_sgt_alloc(const struct vta_host *host, struct device *dev);

/**
 * vta_host_sgt_free() - free a list that is not mapped
 * @sgt: the list
 */
void vta_host_sgt_free(struct sg_table *sgt);

/**
 * vta_host_sgt_map() - map pages for a device, in their order
 * @host: the pages
 * @sgt: their list
 * @dev: the device
 * @dir: direction of the device's accesses
 *
 * Context: does not sleep for the caller's memory.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP if this host would bounce the device's DMA.
 */
int vta_host_sgt_map(const struct vta_host *host, struct sg_table *sgt, struct device *dev,
		     enum dma_data_direction dir);

/**
 * vta_host_sgt_unmap() - undo vta_host_sgt_map()
 * @sgt: the list
 * @dev: the device
 * @dir: direction of the device's accesses
 */
void vta_host_sgt_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir);

/**
 * vta_host_map() - allocate the list of bus addresses, and map pages for a device
 * @host: the pages
 * @dev: the device
 * @dir: direction of the device's accesses
 *
 * Return: bus addresses, or an ERR_PTR: -ENOMEM, or -EOPNOTSUPP if this host would bounce the
 * device's DMA.
 */
struct sg_table *vta_host_map(const struct vta_host *host, struct device *dev,
			      enum dma_data_direction dir);

/**
 * vta_host_unmap() - undo vta_host_map()
 * @sgt: the bus addresses
 * @dev: the device
 * @dir: direction of the device's accesses
 */
void vta_host_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir);

/* ---- Memory of any kind ---- */

/**
 * struct vta_foreign - a dma-buf of another driver
 * @dmabuf: the dma-buf
 * @attach: the card's attachment
 * @sgt: bus addresses
 * @dir: direction of the card's accesses
 * @work: gives the dma-buf back
 */
struct vta_foreign {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	enum dma_data_direction dir;
	struct work_struct work;
};

enum vta_mem_kind {
	VTA_MEM_HOST,		/* pages of the driver */
	VTA_MEM_CARD,		/* card memory */
	VTA_MEM_PINNED,		/* pages of a process */
	VTA_MEM_FOREIGN,	/* a dma-buf of another driver */
};

/**
 * struct vta_mem_ops - operations of a kind of memory
 * @release: gives the memory back, after the last reference; may sleep for another driver
 * @release_later: the same, called under a lock: a worker gives the memory back, and calls
 *                 vta_mem_discard(); NULL: @release does not sleep for others
 *
 * The files that make a kind of memory are above vta_mem.c, and pass it these functions.
 */
struct vta_mem_ops {
	void (*release)(struct vta_mem *mem);
	void (*release_later)(struct vta_mem *mem);
};

/**
 * struct vta_mem - memory; constant, except for @ref and @blank
 * @ref: held by buffers and by exported dma-bufs
 * @kind: the kind, which decides which of the following fields are used
 * @ops: operations of the kind
 * @vdev: the card that it was made for; holds a reference to the device
 * @size: bytes, a multiple of the CPU's page
 * @skew: best offset of its start in a large page of the card
 * @host: HOST, PINNED: the pages
 * @mm: PINNED: the process that is charged
 * @cred: PINNED: credentials of that process, whose user is charged as well
 * @dirty: PINNED: the card may write it
 * @foreign: FOREIGN: the dma-buf
 * @extents: CARD: the card memory
 * @dmem: CARD: the cgroup that is charged
 * @user: HOST, CARD, PINNED: the user that is charged
 * @epoch: CARD: that of the context, vta_mem_is_lost()
 * @blank: CARD: zero page installed in mappings of a dma-buf then
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
	unsigned int epoch;
	struct page *blank;
};

/**
 * vta_mem_alloc() - allocate zeroed memory
 * @ctx: the context, whose user is charged
 * @kind: VTA_MEM_HOST or VTA_MEM_CARD
 * @size: bytes, a multiple of the CPU's page
 *
 * Context: may sleep for the caller's memory; takes vta_ctx.lock.
 * Return: the memory with a reference, or an ERR_PTR.
 */
struct vta_mem *vta_mem_alloc(struct vta_ctx *ctx, enum vta_mem_kind kind, u64 size);

/**
 * vta_mem_new() - allocate the structure, which the caller fills in
 * @vdev: the card
 * @kind: the kind
 * @ops: operations of the kind
 * @size: bytes, a multiple of the CPU's page
 *
 * Return: the structure, or ERR_PTR(-ENOMEM).
 */
struct vta_mem *vta_mem_new(struct vta_device *vdev, enum vta_mem_kind kind,
			    const struct vta_mem_ops *ops, u64 size);

/**
 * vta_mem_discard() - free the structure, without releasing memory
 * @mem: the structure
 */
void vta_mem_discard(struct vta_mem *mem);

/**
 * vta_mem_is_lost() - check whether card memory was lost
 * @mem: card memory
 *
 * Return: true if the card has been reset since, or is gone.
 */
bool vta_mem_is_lost(const struct vta_mem *mem);

/**
 * vta_mem_get() - take a reference
 * @mem: the memory
 *
 * Return: @mem.
 */
struct vta_mem *vta_mem_get(struct vta_mem *mem);

/**
 * vta_mem_put() - drop a reference
 * @mem: the memory
 *
 * Context: may sleep for another driver; not under a lock.
 */
void vta_mem_put(struct vta_mem *mem);

/**
 * vta_mem_put_later() - drop a reference under a lock
 * @mem: the memory; a worker gives memory of other drivers back
 */
void vta_mem_put_later(struct vta_mem *mem);

/* ---- CPU mappings ---- */

/**
 * vta_vma_init() - check and set the flags of any mapping of this driver
 * @vma: the mapping
 *
 * Return: 0, -EINVAL or -EACCES.
 */
int vta_vma_init(struct vm_area_struct *vma);

/**
 * vta_mem_mmap() - set the cache attributes of a mapping of HOST or CARD memory
 * @mem: the memory
 * @vma: the mapping
 */
void vta_mem_mmap(const struct vta_mem *mem, struct vm_area_struct *vma);

/**
 * vta_mem_fault_begin() - allocate what a page fault needs, before a lock is taken
 * @blank: for a revoked mapping, where to store its zero page; else NULL
 * @vmf: the page fault
 *
 * Context: may sleep for the process's memory; not under a lock.
 * Return: 0 or VM_FAULT_OOM.
 */
vm_fault_t vta_mem_fault_begin(struct page **blank, struct vm_fault *vmf);

/**
 * vta_mem_fault() - resolve a page fault
 * @mem: the memory
 * @vmf: the page fault
 * @first: page offset of the first page of @mem
 *
 * Context: after vta_mem_fault_begin(), under the lock that protects the mapping's memory.
 * Return: VM_FAULT_NOPAGE, or an error.
 */
vm_fault_t vta_mem_fault(const struct vta_mem *mem, struct vm_fault *vmf, unsigned long first);

/**
 * vta_mem_fault_blank() - resolve a page fault of a revoked mapping with a zero page
 * @blank: the page; if NULL, the CPU faults again
 * @vmf: the page fault
 *
 * Context: as vta_mem_fault().
 * Return: VM_FAULT_NOPAGE, or an error.
 */
vm_fault_t vta_mem_fault_blank(struct page *blank, struct vm_fault *vmf);

/* ---- Memory of a process (vta_pin.c) ---- */

/**
 * vta_pin_mem() - pin memory of the caller
 * @ctx: the context, whose user is charged; the caller is, too
 * @start: address, of a page
 * @size: bytes, whole pages
 * @write: the card may write the memory
 *
 * Context: may sleep for the caller's memory.
 * Return: the memory with a reference, or an ERR_PTR.
 */
struct vta_mem *vta_pin_mem(struct vta_ctx *ctx, unsigned long start, u64 size, bool write);

/* ---- dma-bufs of any exporter (vta_import.c) ---- */

/**
 * vta_import_init() - make the workqueue
 *
 * Context: module load.
 * Return: 0 or -ENOMEM.
 */
int vta_import_init(void);

/**
 * vta_import_exit() - wait for all work, and destroy the workqueue
 *
 * Context: module unload.
 */
void vta_import_exit(void);

/**
 * vta_import_mem() - the memory of a dma-buf
 * @ctx: the context
 * @fd: the caller's descriptor of the dma-buf
 * @write: the card may write the memory
 *
 * Context: may sleep for the exporter; not under a lock.
 * Return: the memory with a reference, or an ERR_PTR.
 */
struct vta_mem *vta_import_mem(struct vta_ctx *ctx, int fd, bool write);

/* ---- dma-bufs made of buffers (vta_export.c) ---- */

/**
 * vta_export_create() - make a dma-buf
 * @ctx: the context
 * @mem: the memory; takes over the caller's reference, even on failure
 * @flags: O_RDWR or 0, O_CLOEXEC
 *
 * Return: the dma-buf, or an ERR_PTR.
 */
struct dma_buf *vta_export_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags);

/**
 * vta_export_mem() - the memory of a dma-buf of this driver
 * @dmabuf: the dma-buf
 *
 * Return: the memory, without a reference; NULL if another driver has exported the dma-buf.
 */
struct vta_mem *vta_export_mem(struct dma_buf *dmabuf);

/**
 * vta_export_revoke() - have a work for each user revoke all mappings of lost card memory
 * @vdev: the card, on which no context can export any more
 *
 * The works count in vta_device.nr_revoking.
 *
 * Context: under vta_device.lock, in a new epoch.
 */
void vta_export_revoke(struct vta_device *vdev);

#endif /* VTA_MEM_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_buf.c - buffers: memory with a device address in a context
 *
 * Lifetime. A buffer is in its context's table from vta_buf_publish() until the user frees it or
 * the context ends; then the card cannot reach it any more. The buffer is freed with its last CPU
 * mapping, and drops its memory (vta_mem.c). After a card was reset or removed, vta_buf_drop()
 * drops the memory of mapped buffers, too: mappings have been revoked.
 *
 * A reset waits for vta_ctx.lock of each context for some time, and all users wait for a reset. So
 * slow steps, and those that may sleep for the user's memory, are outside of that lock: tables and
 * bus addresses are allocated before a buffer is published, and memory is freed after
 * vta_buf_unlock() has released the lock. Removal of the card waits for vta_dma_put(), so nothing
 * sleeps for the user's memory after vta_ctx_get_dma(), either.
 */
#include <linux/dma-buf.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/ratelimit.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vta_buf.h"
#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_ioctl.h"
#include "vta_mem.h"
#include "vta_mmu.h"
#include "vta_trace.h"
#include "vta_user.h"

#define VTA_ALIGN_MAX	SZ_1G

/* Buffers that are dropped between two moments at which others may take vta_ctx.lock. */
#define VTA_DROP_BATCH	64

/* Checks the address and alignment that a user asks for. */
static bool vta_buf_addr_valid(u64 size, u32 flags, u64 align, u64 addr)
{
	if (align && (!is_power_of_2(align) || align > VTA_ALIGN_MAX))
		return false;
	if (!(flags & VTA_BUF_FIXED))
		return !addr;
	return addr && IS_ALIGNED(addr, PAGE_SIZE) && (!align || IS_ALIGNED(addr, align)) &&
	       addr < VTA_ADDR_END && size <= VTA_ADDR_END - addr;
}

static int vta_buf_alloc_addr(struct vta_buf *buf, u64 align, u64 addr)
{
	struct vta_iova *iova = buf->ctx->iova;
	int ret;

	if (addr)
		ret = vta_iova_reserve(iova, buf->size, addr);
	else
		ret = vta_iova_alloc(iova, buf->size, max_t(u64, align, PAGE_SIZE),
				     buf->mem->skew, &addr);
	if (ret)
		return ret;
	buf->addr = addr;
	buf->pgoff = addr >> PAGE_SHIFT;
	return 0;
}

static void vta_buf_free_addr(struct vta_buf *buf)
{
	if (buf->addr)
		vta_iova_free(buf->ctx->iova, buf->addr, buf->size);
	buf->addr = 0;
}

/* Returns the count in fdinfo that includes the buffer. */
static u64 *vta_buf_counter(struct vta_buf *buf)
{
	struct vta_ctx *ctx = buf->ctx;

	if (buf->mem->kind == VTA_MEM_PINNED)
		return &ctx->pinned_bytes;
	if (buf->flags & VTA_BUF_BORROWED)
		return &ctx->imported_bytes;
	return buf->mem->kind == VTA_MEM_CARD ? &ctx->card_bytes : &ctx->host_bytes;
}

/*
 * Host memory for a buffer, besides that which it shows to the card: structures, a node of
 * vta_ctx.bufs, and lists of up to 64 bytes for each page. Without this charge, a user could map a
 * page a million times for free.
 */
static u64 vta_buf_overhead(const struct vta_buf *buf)
{
	return SZ_1K + SZ_256 + buf->size / 64;
}

/* Takes the memory, if the buffer still has it. */
static struct vta_mem *vta_buf_take_mem(struct vta_buf *buf)
{
	struct vta_mem *mem = buf->mem;

	lockdep_assert_held(&buf->ctx->lock);

	if (mem && !list_empty(&buf->node))
		*vta_buf_counter(buf) -= buf->size;
	list_del_init(&buf->node);
	buf->mem = NULL;
	return mem;
}

/* Called with vta_ctx.lock held, and releases it. */
static void vta_buf_release(struct kref *ref)
{
	struct vta_buf *buf = container_of(ref, struct vta_buf, ref);
	struct vta_mem *mem = vta_buf_take_mem(buf);
	struct vta_ctx *ctx = buf->ctx;

	mutex_unlock(&ctx->lock);

	vta_buf_free_addr(buf);
	if (mem)
		vta_mem_put(mem);
	vta_user_uncharge(ctx->vdev, ctx->user, VTA_USER_HOST_MEM, vta_buf_overhead(buf));
	kfree(buf);
}

void vta_buf_put(struct vta_buf *buf)
{
	kref_put_mutex(&buf->ref, vta_buf_release, &buf->ctx->lock);
}

struct vta_buf *vta_buf_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags, u64 align,
			       u64 addr)
{
	struct vta_buf *buf;
	int ret;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf) {
		vta_mem_put(mem);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&buf->ref);
	INIT_LIST_HEAD(&buf->node);
	INIT_LIST_HEAD(&buf->removed);
	buf->ctx = ctx;
	buf->size = mem->size;
	buf->flags = flags;
	buf->mem = mem;

	ret = vta_user_charge(ctx->vdev, ctx->user, VTA_USER_HOST_MEM, vta_buf_overhead(buf),
			      ctx->file);
	if (ret) {
		vta_mem_put(mem);
		kfree(buf);
		return ERR_PTR(ret);
	}
	if (!(flags & VTA_BUF_STATUS)) {
		ret = vta_buf_alloc_addr(buf, align, addr);
		if (ret) {
			vta_buf_put(buf);
			return ERR_PTR(ret);
		}
	}
	return buf;
}

static enum dma_data_direction vta_buf_dir(const struct vta_buf *buf)
{
	return buf->flags & VTA_BUF_READONLY ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/* Allocates the list of bus addresses; for memory of another driver its exporter has one. */
static int vta_buf_alloc_sgt(struct vta_buf *buf)
{
	struct vta_mem *mem = buf->mem;
	struct sg_table *sgt;

	if (mem->kind == VTA_MEM_CARD || mem->kind == VTA_MEM_FOREIGN)
		return 0;
	sgt = vta_host_sgt_alloc(&mem->host, &mem->vdev->pdev->dev);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	buf->sgt = sgt;
	return 0;
}

static void vta_buf_free_sgt(struct vta_buf *buf)
{
	if (buf->sgt)
		vta_host_sgt_free(buf->sgt);
	buf->sgt = NULL;
}

/* Checks that card memory has not been lost before the context was made. */
static int vta_buf_check_epoch(const struct vta_buf *buf)
{
	if (buf->mem->epoch == buf->ctx->mmu.epoch)
		return 0;
	return vta_ctx_is_lost(buf->ctx) ? -ENODEV : -ENOENT;
}

/* Maps host memory for DMA. */
static int vta_buf_map_dma(struct vta_buf *buf)
{
	struct vta_device *vdev = buf->ctx->vdev;
	int ret;

	if (buf->mem->kind == VTA_MEM_CARD)
		return vta_buf_check_epoch(buf);
	if (!buf->sgt)
		return 0;
	ret = vta_host_sgt_map(&buf->mem->host, buf->sgt, &vdev->pdev->dev, vta_buf_dir(buf));
	if (ret == -EOPNOTSUPP && __ratelimit(&buf->ctx->user->log))
		dev_err(&vdev->dev,
			"this host would bounce the card's DMA: boot without swiotlb=force or memory encryption, or with an IOMMU\n");
	return ret;
}

static void vta_buf_unmap_dma(struct vta_buf *buf)
{
	if (buf->sgt)
		vta_host_sgt_unmap(buf->sgt, &buf->ctx->vdev->pdev->dev, vta_buf_dir(buf));
}

/* A piece of scattered memory, which the card sees as one buffer. */
struct vta_piece {
	u64 addr;
	u64 bus;
	u64 len;
};

typedef void vta_piece_fn(struct vta_buf *buf, const struct vta_piece *piece, void *arg);

static void vta_buf_each_piece(struct vta_buf *buf, vta_piece_fn *each, void *arg)
{
	const struct vta_mem *mem = buf->mem;
	struct sg_table *sgt = mem->kind == VTA_MEM_FOREIGN ? mem->foreign.sgt : buf->sgt;
	struct vta_piece piece = { .addr = buf->addr };
	struct scatterlist *sg;
	u64 left = buf->size;
	unsigned long n;
	unsigned int i;

	if (mem->kind == VTA_MEM_CARD) {
		for (n = 0; n < mem->extents.nr; n++, piece.addr += piece.len) {
			piece.bus = mem->extents.v[n].offset;
			piece.len = (u64)mem->extents.v[n].pages << PAGE_SHIFT;
			each(buf, &piece, arg);
		}
		return;
	}
	for_each_sgtable_dma_sg(sgt, sg, i) {
		piece.bus = sg_dma_address(sg);
		piece.len = min_t(u64, sg_dma_len(sg), left);
		each(buf, &piece, arg);
		piece.addr += piece.len;
		left -= piece.len;
	}
}

static void vta_buf_count_piece(struct vta_buf *buf, const struct vta_piece *piece, void *arg)
{
	vta_mmu_count_missing(&buf->ctx->mmu, piece->addr, piece->bus, piece->len, arg);
}

static void vta_buf_map_piece(struct vta_buf *buf, const struct vta_piece *piece, void *arg)
{
	u64 flags = (buf->flags & VTA_BUF_READONLY ? 0 : VTA_PTE_WRITE) |
		    (buf->mem->kind == VTA_MEM_CARD ? VTA_PTE_CARD : 0);

	vta_mmu_map(&buf->ctx->mmu, piece->addr, piece->bus, piece->len, flags, arg);
}

/* Publishes to card and user. Returns -EAGAIN if @spare has fewer tables than *missing. */
static int vta_buf_publish_locked(struct vta_buf *buf, struct vta_spare *spare,
				  unsigned int *missing)
{
	struct vta_missing count = {};
	struct vta_ctx *ctx = buf->ctx;

	lockdep_assert_held(&ctx->lock);

	/* A card in reset does not clear memory. */
	if (vta_ctx_is_lost(ctx))
		return -ENODEV;
	if (buf->addr)
		vta_buf_each_piece(buf, vta_buf_count_piece, &count);
	*missing = count.nr;
	if (count.nr > spare->nr)
		return -EAGAIN;
	if (buf->addr)
		vta_buf_each_piece(buf, vta_buf_map_piece, spare);
	xa_store(&ctx->bufs, buf->pgoff, buf, GFP_NOWAIT);	/* the entry is reserved */
	list_add_tail(&buf->node, &ctx->buf_list);
	*vta_buf_counter(buf) += buf->size;
	trace_vta_buf_alloc(buf);
	return 0;
}

/*
 * Allocates missing tables and tries again: other threads use and free the same tables. Returns
 * -ENOMEM if *missing tables cannot be had without waiting for the caller's memory.
 */
static int vta_buf_publish_with_tables(struct vta_buf *buf, unsigned int *missing)
{
	struct vta_spare spare = VTA_SPARE_INIT(spare);
	struct vta_ctx *ctx = buf->ctx;
	int ret;

	do {
		ret = vta_spare_add(&spare, &ctx->mmu, *missing);
		if (ret)
			break;
		mutex_lock(&ctx->lock);
		ret = vta_buf_publish_locked(buf, &spare, missing);
		mutex_unlock(&ctx->lock);
	} while (ret == -EAGAIN);
	vta_spare_free(&spare, &ctx->mmu);
	return ret;
}

/* Publishes, or returns an error as vta_buf_publish_with_tables(). Removal of the card waits. */
static int vta_buf_try_publish(struct vta_buf *buf, unsigned int *missing)
{
	struct vta_ctx *ctx = buf->ctx;
	int ret = vta_ctx_get_dma(ctx);

	*missing = 0;
	if (ret)
		return ret;
	ret = vta_buf_map_dma(buf);
	if (!ret) {
		ret = vta_buf_publish_with_tables(buf, missing);
		if (ret)
			vta_buf_unmap_dma(buf);
	}
	vta_dma_put(ctx->vdev);
	return ret;
}

int vta_buf_publish(struct vta_buf *buf)
{
	unsigned int missing, tries = VTA_ROOM_TRIES;
	struct vta_ctx *ctx = buf->ctx;
	int ret;

	ret = xa_reserve(&ctx->bufs, buf->pgoff, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_put;
	ret = vta_buf_alloc_sgt(buf);
	if (ret)
		goto err_reserved;
	do {
		ret = vta_buf_try_publish(buf, &missing);
	} while (ret == -ENOMEM && missing && tries-- && !vta_mmu_make_room(missing));
	if (!ret)
		return 0;

	vta_buf_free_sgt(buf);
err_reserved:
	xa_release(&ctx->bufs, buf->pgoff);
err_put:
	vta_buf_put(buf);
	return ret;
}

/*
 * Removes the buffer from the context's table, and takes over the table's reference; without an
 * entry, takes one. vta_buf_unlock() frees the rest.
 */
static void vta_buf_remove(struct vta_buf *buf)
{
	struct vta_ctx *ctx = buf->ctx;

	if (xa_load(&ctx->bufs, buf->pgoff) == buf)
		xa_erase(&ctx->bufs, buf->pgoff);
	else
		kref_get(&buf->ref);
	list_add_tail(&buf->removed, &ctx->removed);
	vta_dma_get(ctx->vdev);
}

int vta_buf_unpublish(struct vta_buf *buf)
{
	struct vta_ctx *ctx = buf->ctx;
	int ret;

	lockdep_assert_held(&ctx->lock);

	if (buf->addr) {
		ret = vta_mmu_unmap(&ctx->mmu, buf->addr, buf->size);
		if (ret)
			return ret;
	}
	trace_vta_buf_free(buf);
	vta_buf_remove(buf);
	return 0;
}

/* Frees what the card has seen of a removed buffer, and the memory of one that lost the card. */
static void vta_buf_finish(struct vta_buf *buf)
{
	struct vta_ctx *ctx = buf->ctx;
	struct vta_mem *mem = NULL;

	vta_buf_free_addr(buf);
	vta_buf_unmap_dma(buf);
	vta_buf_free_sgt(buf);
	mutex_lock(&ctx->lock);
	INIT_LIST_HEAD(&buf->removed);
	if (ctx->dead)
		mem = vta_buf_take_mem(buf);
	mutex_unlock(&ctx->lock);
	if (mem)
		vta_mem_put_later(mem);
	vta_buf_put(buf);
}

void vta_buf_unlock(struct vta_ctx *ctx)
{
	struct vta_device *vdev = ctx->vdev;
	struct vta_buf *buf, *next;
	LIST_HEAD(removed);

	list_splice_init(&ctx->removed, &removed);
	mutex_unlock(&ctx->lock);
	list_for_each_entry_safe(buf, next, &removed, removed) {
		vta_buf_finish(buf);
		vta_dma_put(vdev);
	}
}

bool vta_buf_drop(struct vta_ctx *ctx)
{
	unsigned int nr = 0;
	struct vta_buf *buf;

	mutex_lock(&ctx->lock);
	list_for_each_entry(buf, &ctx->buf_list, node) {
		if (!list_empty(&buf->removed))
			continue;	/* another thread is about to free it */
		vta_buf_remove(buf);
		if (++nr == VTA_DROP_BATCH)
			break;
	}
	vta_buf_unlock(ctx);
	cond_resched();
	return nr == VTA_DROP_BATCH;
}

/* ---- CPU mappings ---- */

static vm_fault_t vta_buf_fault(struct vm_fault *vmf)
{
	struct vta_buf *buf = vmf->vma->vm_private_data;
	struct vta_ctx *ctx = buf->ctx;
	vm_fault_t ret;

	ret = vta_mem_fault_begin(READ_ONCE(ctx->dead) ? &ctx->blank : NULL, vmf);
	if (ret)
		return ret;
	mutex_lock(&ctx->lock);
	if (ctx->dead)	/* the memory is freed, or is about to be */
		ret = vta_mem_fault_blank(ctx->blank, vmf);
	else
		ret = vta_mem_fault(buf->mem, vmf, buf->pgoff);
	mutex_unlock(&ctx->lock);
	return ret;
}

static void vta_buf_vm_open(struct vm_area_struct *vma)
{
	struct vta_buf *buf = vma->vm_private_data;

	kref_get(&buf->ref);
}

static void vta_buf_vm_close(struct vm_area_struct *vma)
{
	vta_buf_put(vma->vm_private_data);
}

static const struct vm_operations_struct vta_buf_vm_ops = {
	.open = vta_buf_vm_open,
	.close = vta_buf_vm_close,
	.fault = vta_buf_fault,
};

int vta_buf_mmap(struct vta_buf *buf, struct vm_area_struct *vma)
{
	lockdep_assert_held(&buf->ctx->lock);

	if (buf->flags & (VTA_BUF_BORROWED | VTA_BUF_HIDDEN) ||
	    vma->vm_end - vma->vm_start > buf->size)
		return -EINVAL;
	if (buf->flags & VTA_BUF_STATUS) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vta_mem_mmap(buf->mem, vma);
	kref_get(&buf->ref);
	vma->vm_private_data = buf;
	vma->vm_ops = &vta_buf_vm_ops;
	return 0;
}

/* ---- Ioctls ---- */

int vta_ioctl_buf_alloc(struct vta_ctx *ctx, void *data)
{
	struct vta_buf_alloc *arg = data;
	struct vta_mem *mem;
	struct vta_buf *buf;
	u64 size;

	if (arg->flags & ~(VTA_BUF_CARD | VTA_BUF_FIXED | VTA_BUF_READONLY) ||
	    !arg->size || arg->size > VTA_BUF_SIZE_MAX)
		return -EINVAL;
	size = PAGE_ALIGN(arg->size);
	if (!vta_buf_addr_valid(size, arg->flags, arg->align, arg->addr))
		return -EINVAL;

	mem = vta_mem_alloc(ctx, arg->flags & VTA_BUF_CARD ? VTA_MEM_CARD : VTA_MEM_HOST, size);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	buf = vta_buf_create(ctx, mem, arg->flags, arg->align, arg->addr);
	if (IS_ERR(buf))
		return PTR_ERR(buf);

	/*
	 * Another thread may guess the handle and free the buffer, so do not use it after
	 * publishing.
	 */
	arg->size = size;
	arg->addr = buf->addr;
	arg->mmap_offset = (u64)buf->pgoff << PAGE_SHIFT;
	arg->handle = buf->pgoff;
	return vta_buf_publish(buf);
}

int vta_ioctl_buf_pin(struct vta_ctx *ctx, void *data)
{
	struct vta_buf_pin *arg = data;
	unsigned long start = untagged_addr((unsigned long)arg->user_addr);
	unsigned int offset = offset_in_page(start);
	struct vta_mem *mem;
	struct vta_buf *buf;
	u64 size, end;

	if (arg->flags & ~(VTA_BUF_FIXED | VTA_BUF_READONLY) || !arg->size ||
	    arg->size > VTA_BUF_SIZE_MAX || check_add_overflow((u64)start, arg->size, &end))
		return -EINVAL;
	size = PAGE_ALIGN(offset + arg->size);
	if (size > VTA_BUF_SIZE_MAX ||
	    !vta_buf_addr_valid(size, arg->flags, arg->align, arg->addr))
		return -EINVAL;
	if (!access_ok((void __user *)(start - offset), size))
		return -EFAULT;

	mem = vta_pin_mem(ctx, start - offset, size, !(arg->flags & VTA_BUF_READONLY));
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	buf = vta_buf_create(ctx, mem, arg->flags | VTA_BUF_BORROWED, arg->align, arg->addr);
	if (IS_ERR(buf))
		return PTR_ERR(buf);

	arg->addr = buf->addr + offset;
	arg->handle = buf->pgoff;
	return vta_buf_publish(buf);
}

int vta_ioctl_buf_import(struct vta_ctx *ctx, void *data)
{
	struct vta_buf_import *arg = data;
	u32 flags = arg->flags | VTA_BUF_BORROWED;
	struct vta_mem *mem;
	struct vta_buf *buf;

	if (arg->flags & ~(VTA_BUF_FIXED | VTA_BUF_READONLY) || arg->pad)
		return -EINVAL;
	/* The size is not known yet: check all but that. */
	if (!vta_buf_addr_valid(PAGE_SIZE, arg->flags, arg->align, arg->addr))
		return -EINVAL;

	mem = vta_import_mem(ctx, arg->fd, !(arg->flags & VTA_BUF_READONLY));
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	if (!vta_buf_addr_valid(mem->size, arg->flags, arg->align, arg->addr)) {
		vta_mem_put(mem);
		return -EINVAL;
	}
	if (mem->kind == VTA_MEM_CARD)
		flags |= VTA_BUF_CARD;
	buf = vta_buf_create(ctx, mem, flags, arg->align, arg->addr);
	if (IS_ERR(buf))
		return PTR_ERR(buf);

	arg->size = buf->size;
	arg->addr = buf->addr;
	arg->handle = buf->pgoff;
	arg->flags |= flags & VTA_BUF_CARD;
	return vta_buf_publish(buf);
}

/* Find a buffer of the user. Returns an ERR_PTR on failure. */
static struct vta_buf *vta_buf_find(struct vta_ctx *ctx, u32 handle)
{
	struct vta_buf *buf;

	lockdep_assert_held(&ctx->lock);

	if (ctx->dead)
		return ERR_PTR(-ENODEV);
	buf = xa_load(&ctx->bufs, handle);
	if (!buf || buf->flags & VTA_BUF_KERNEL)
		return ERR_PTR(-ENOENT);
	return buf;
}

int vta_ioctl_buf_free(struct vta_ctx *ctx, void *data)
{
	struct vta_buf_free *arg = data;
	struct vta_buf *buf;
	int ret;

	if (arg->pad)
		return -EINVAL;

	mutex_lock(&ctx->lock);
	buf = vta_buf_find(ctx, arg->handle);
	ret = IS_ERR(buf) ? PTR_ERR(buf) : vta_buf_unpublish(buf);
	vta_buf_unlock(ctx);
	return ret;
}

/* Returns the memory of a buffer, with a reference, if it may be exported with these flags. */
static struct vta_mem *vta_buf_find_export(struct vta_ctx *ctx, u32 handle, u32 flags)
{
	struct vta_mem *mem;
	struct vta_buf *buf;

	mutex_lock(&ctx->lock);
	buf = vta_buf_find(ctx, handle);
	if (IS_ERR(buf))
		mem = ERR_CAST(buf);
	else if (buf->flags & VTA_BUF_BORROWED)
		mem = ERR_PTR(-EOPNOTSUPP);
	else if (buf->flags & VTA_BUF_READONLY && flags & O_RDWR)
		mem = ERR_PTR(-EACCES);
	else
		mem = vta_mem_get(buf->mem);
	mutex_unlock(&ctx->lock);
	return mem;
}

int vta_ioctl_buf_export(struct vta_ctx *ctx, void *data)
{
	struct vta_exported *exported = data;
	struct vta_buf_export *arg = &exported->arg;
	struct dma_buf *dmabuf;
	struct vta_mem *mem;
	int fd;

	if (arg->flags & ~(O_CLOEXEC | O_RDWR) || arg->pad)
		return -EINVAL;
	fd = get_unused_fd_flags(arg->flags & O_CLOEXEC);
	if (fd < 0)
		return fd;
	mem = vta_buf_find_export(ctx, arg->handle, arg->flags);
	dmabuf = IS_ERR(mem) ? ERR_CAST(mem) : vta_export_create(ctx, mem, arg->flags);
	if (IS_ERR(dmabuf)) {
		put_unused_fd(fd);
		return PTR_ERR(dmabuf);
	}
	arg->fd = fd;
	exported->file = dmabuf->file;
	return 0;
}

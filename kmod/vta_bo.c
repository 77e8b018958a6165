// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_bo.c - buffers: memory with a place in a context
 *
 * Who frees a buffer? It is in its context's table from vta_bo_publish() until
 * the user frees it, or the context ends. Taken out of the table it is out of
 * the card's reach; it goes when the last CPU mapping has gone too, and drops
 * its memory (vta_mem.c). Only vta_bo_drop() is quicker: when a card is reset or
 * removed, mappings have been revoked and the memory is dropped at once, whoever
 * still has a reference.
 *
 * A reset takes vta_ctx.lock of each context, and all users wait for a reset. So what may
 * sleep for the user's memory, or takes long, is done before that lock is taken, or
 * after: tables and bus addresses are made before a buffer is published, and memory is
 * given back when vta_ctx_unlock() has released it.
 */
#include <linux/dma-buf.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "vta_bo.h"
#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_mem.h"
#include "vta_mmu.h"
#include "vta_pool.h"
#include "vta_trace.h"

#define VTA_ALIGN_MAX	SZ_1G

bool vta_bo_place_valid(u64 size, u32 flags, u64 align, u64 addr)
{
	if (align && (!is_power_of_2(align) || align > VTA_ALIGN_MAX))
		return false;
	if (!(flags & VTA_BUF_FIXED))
		return !addr;
	return addr && IS_ALIGNED(addr, PAGE_SIZE) && (!align || IS_ALIGNED(addr, align)) &&
	       addr < VTA_ADDR_END && size <= VTA_ADDR_END - addr;
}

static int vta_bo_place(struct vta_bo *bo, u64 align, u64 addr)
{
	struct vta_pool *pool = bo->ctx->addr_pool;
	int ret;

	if (addr)
		ret = vta_pool_take(pool, bo->size, addr);
	else
		ret = vta_pool_alloc(pool, bo->size, max_t(u64, align, PAGE_SIZE),
				     bo->mem->skew, &addr);
	if (ret)
		return ret;
	bo->addr = addr;
	bo->pgoff = addr >> PAGE_SHIFT;
	return 0;
}

static void vta_bo_unplace(struct vta_bo *bo)
{
	if (bo->addr)
		vta_pool_free(bo->ctx->addr_pool, bo->addr, bo->size);
	bo->addr = 0;
}

/* Where fdinfo counts it. */
static u64 *vta_bo_account(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;

	if (bo->mem->kind == VTA_MEM_PINNED)
		return &ctx->pinned_bytes;
	if (bo->flags & VTA_BO_BORROWED)
		return &ctx->imported_bytes;
	return bo->mem->kind == VTA_MEM_CARD ? &ctx->card_bytes : &ctx->host_bytes;
}

/* With vta_ctx.lock, which it releases. */
static void vta_bo_release(struct kref *ref)
{
	struct vta_bo *bo = container_of(ref, struct vta_bo, ref);

	if (bo->mem && !list_empty(&bo->node))
		*vta_bo_account(bo) -= bo->size;
	list_del(&bo->node);
	mutex_unlock(&bo->ctx->lock);

	vta_bo_unplace(bo);
	if (bo->mem)
		vta_mem_put(bo->mem);
	kfree(bo);
}

void vta_bo_put(struct vta_bo *bo)
{
	kref_put_mutex(&bo->ref, vta_bo_release, &bo->ctx->lock);
}

struct vta_bo *vta_bo_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags, u64 align,
			     u64 addr)
{
	struct vta_bo *bo;
	int ret;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo) {
		vta_mem_put(mem);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&bo->ref);
	INIT_LIST_HEAD(&bo->node);
	INIT_LIST_HEAD(&bo->gone);
	bo->ctx = ctx;
	bo->size = mem->size;
	bo->flags = flags;
	bo->mem = mem;

	if (!(flags & VTA_BO_STATUS)) {
		ret = vta_bo_place(bo, align, addr);
		if (ret) {
			vta_bo_put(bo);
			return ERR_PTR(ret);
		}
	}
	return bo;
}

static struct sg_table *vta_bo_sgt(const struct vta_bo *bo)
{
	return bo->mem->kind == VTA_MEM_FOREIGN ? bo->mem->foreign.sgt : bo->sgt;
}

static enum dma_data_direction vta_bo_dir(const struct vta_bo *bo)
{
	return bo->flags & VTA_BUF_READONLY ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/* Gives host memory bus addresses. That of another driver has them. */
static int vta_bo_map_dma(struct vta_bo *bo)
{
	struct vta_device *vdev = bo->ctx->vdev;
	struct sg_table *sgt;

	if (bo->mem->kind == VTA_MEM_CARD)
		return READ_ONCE(bo->mem->lost) ? -ENOENT : 0;
	if (bo->mem->kind == VTA_MEM_FOREIGN)
		return 0;
	sgt = vta_host_map(&bo->mem->host, &vdev->pdev->dev, vta_bo_dir(bo));
	if (PTR_ERR_OR_ZERO(sgt) == -EOPNOTSUPP)
		dev_err_ratelimited(&vdev->dev,
				    "this host would copy what card and processes share: boot without swiotlb=force or memory encryption, or with an IOMMU\n");
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	bo->sgt = sgt;
	return 0;
}

static void vta_bo_unmap_dma(struct vta_bo *bo)
{
	if (bo->sgt)
		vta_host_unmap(bo->sgt, &bo->ctx->vdev->pdev->dev, vta_bo_dir(bo));
	WRITE_ONCE(bo->sgt, NULL);
}

/* Memory may be in many pieces, of which the card sees one buffer. */
struct vta_piece {
	u64 addr;
	u64 bus;
	u64 len;
};

typedef void vta_each_piece(struct vta_bo *bo, const struct vta_piece *piece, void *arg);

static void vta_bo_each_extent(struct vta_bo *bo, vta_each_piece *each, void *arg)
{
	const struct vta_extents *extents = &bo->mem->extents;
	unsigned long i;

	for (i = 0; i < extents->nr; i++) {
		const struct vta_extent *extent = &extents->v[i];
		const struct vta_piece piece = {
			.addr = bo->addr + ((u64)extent->first << PAGE_SHIFT),
			.bus = extent->offset,
			.len = (u64)extent->pages << PAGE_SHIFT,
		};

		each(bo, &piece, arg);
	}
}

static void vta_bo_each_piece(struct vta_bo *bo, vta_each_piece *each, void *arg)
{
	struct vta_piece piece = { .addr = bo->addr };
	struct scatterlist *sg;
	u64 left = bo->size;
	unsigned int i;

	if (bo->mem->kind == VTA_MEM_CARD) {
		vta_bo_each_extent(bo, each, arg);
		return;
	}
	for_each_sgtable_dma_sg(vta_bo_sgt(bo), sg, i) {
		piece.bus = sg_dma_address(sg);
		piece.len = min_t(u64, sg_dma_len(sg), left);
		each(bo, &piece, arg);
		piece.addr += piece.len;
		left -= piece.len;
	}
}

static void vta_bo_count_piece(struct vta_bo *bo, const struct vta_piece *piece, void *arg)
{
	vta_mmu_count_missing(&bo->ctx->mmu, piece->addr, piece->bus, piece->len, arg);
}

static void vta_bo_map_piece(struct vta_bo *bo, const struct vta_piece *piece, void *arg)
{
	u64 flags = (bo->flags & VTA_BUF_READONLY ? 0 : VTA_PTE_WRITE) |
		    (bo->mem->kind == VTA_MEM_CARD ? VTA_PTE_CARD : 0);

	vta_mmu_map(&bo->ctx->mmu, piece->addr, piece->bus, piece->len, flags, arg);
}

/* To card and user, if there are tables enough: else @missing says how many it takes. */
static int vta_bo_show(struct vta_bo *bo, struct vta_spare *spare, unsigned int *missing)
{
	struct vta_missing count = {};
	struct vta_ctx *ctx = bo->ctx;

	lockdep_assert_held(&ctx->lock);

	if (ctx->dead)
		return -ENODEV;
	if (bo->addr)
		vta_bo_each_piece(bo, vta_bo_count_piece, &count);
	*missing = count.nr;
	if (count.nr > spare->nr)
		return -EAGAIN;
	if (bo->addr)
		vta_bo_each_piece(bo, vta_bo_map_piece, spare);
	xa_store(&ctx->bos, bo->pgoff, bo, GFP_NOWAIT);	/* into a place that is reserved */
	list_add_tail(&bo->node, &ctx->bo_list);
	*vta_bo_account(bo) += bo->size;
	trace_vta_buf_alloc(bo);
	return 0;
}

/* Other threads take the same tables, and free some: what is missing is counted again. */
static int vta_bo_show_with_tables(struct vta_bo *bo)
{
	struct vta_spare spare = VTA_SPARE_INIT(spare);
	struct vta_ctx *ctx = bo->ctx;
	unsigned int missing = 0;
	int ret;

	do {
		ret = vta_spare_add(&spare, ctx->vdev, missing);
		if (ret)
			break;
		mutex_lock(&ctx->lock);
		ret = vta_bo_show(bo, &spare, &missing);
		mutex_unlock(&ctx->lock);
	} while (ret == -EAGAIN);
	vta_spare_free(&spare, ctx->vdev);
	return ret;
}

int vta_bo_publish(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;
	struct vta_device *vdev = ctx->vdev;
	int ret;

	ret = vta_ctx_get_dma(ctx);
	if (ret)
		goto err_put;
	ret = xa_reserve(&ctx->bos, bo->pgoff, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_dma;
	ret = vta_bo_map_dma(bo);
	if (ret)
		goto err_reserved;
	ret = vta_bo_show_with_tables(bo);
	if (ret)
		goto err_mapped;
	vta_dma_put(vdev);
	return 0;

err_mapped:
	vta_bo_unmap_dma(bo);
err_reserved:
	xa_release(&ctx->bos, bo->pgoff);
err_dma:
	vta_dma_put(vdev);
err_put:
	vta_bo_put(bo);
	return ret;
}

/* Out of the table; what else it has, vta_bo_bury() gives back. */
static void vta_bo_take_out(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;

	xa_erase(&ctx->bos, bo->pgoff);
	list_add_tail(&bo->gone, &ctx->gone);
	vta_dma_get(ctx->vdev);
}

int vta_bo_withdraw(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;
	int ret;

	lockdep_assert_held(&ctx->lock);

	if (bo->addr) {
		ret = vta_mmu_unmap(&ctx->mmu, bo->addr, bo->size);
		if (ret)
			return ret;
	}
	trace_vta_buf_free(bo);
	vta_bo_take_out(bo);
	return 0;
}

void vta_bo_bury(struct vta_bo *bo)
{
	struct vta_device *vdev = bo->ctx->vdev;

	vta_bo_unplace(bo);
	vta_bo_unmap_dma(bo);
	vta_bo_put(bo);
	vta_dma_put(vdev);
}

void vta_bo_drop_all(struct vta_ctx *ctx)
{
	struct vta_bo *bo;
	unsigned long index;

	lockdep_assert_held(&ctx->lock);

	list_for_each_entry(bo, &ctx->bo_list, node) {
		if (list_empty(&bo->gone))
			vta_bo_unmap_dma(bo);
		else if (READ_ONCE(bo->sgt))
			continue;	/* another thread is about to bury it */
		if (!bo->mem)
			continue;
		*vta_bo_account(bo) -= bo->size;
		vta_mem_put_later(bo->mem);
		bo->mem = NULL;
	}
	xa_for_each(&ctx->bos, index, bo)
		vta_bo_take_out(bo);
}

/* ---- CPU mappings ---- */

static vm_fault_t vta_bo_fault(struct vm_fault *vmf)
{
	struct vta_bo *bo = vmf->vma->vm_private_data;
	struct vta_ctx *ctx = bo->ctx;
	vm_fault_t ret;

	ret = vta_mem_fault_begin(READ_ONCE(ctx->dead) ? &ctx->blank : NULL, vmf);
	if (ret)
		return ret;
	mutex_lock(&ctx->lock);
	if (ctx->dead)	/* the memory is about to go, or has gone */
		ret = vta_mem_fault_blank(ctx->blank, vmf);
	else
		ret = vta_mem_fault(bo->mem, vmf, bo->pgoff);
	mutex_unlock(&ctx->lock);
	return ret;
}

static void vta_bo_vm_open(struct vm_area_struct *vma)
{
	struct vta_bo *bo = vma->vm_private_data;

	kref_get(&bo->ref);
}

static void vta_bo_vm_close(struct vm_area_struct *vma)
{
	vta_bo_put(vma->vm_private_data);
}

static const struct vm_operations_struct vta_bo_vm_ops = {
	.open = vta_bo_vm_open,
	.close = vta_bo_vm_close,
	.fault = vta_bo_fault,
};

int vta_bo_mmap(struct vta_bo *bo, struct vm_area_struct *vma)
{
	lockdep_assert_held(&bo->ctx->lock);

	if (bo->flags & (VTA_BO_BORROWED | VTA_BO_HIDDEN) || vma->vm_end - vma->vm_start > bo->size)
		return -EINVAL;
	if (bo->flags & VTA_BO_STATUS) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vta_mem_mmap(bo->mem, vma);
	kref_get(&bo->ref);
	vma->vm_private_data = bo;
	vma->vm_ops = &vta_bo_vm_ops;
	return 0;
}

/* ---- Ioctls ---- */

int vta_bo_alloc(struct vta_ctx *ctx, struct vta_buf_alloc *arg)
{
	struct vta_mem *mem;
	struct vta_bo *bo;
	u64 size;

	if (arg->flags & ~(VTA_BUF_CARD | VTA_BUF_FIXED | VTA_BUF_READONLY) ||
	    !arg->size || arg->size > VTA_BO_SIZE_MAX)
		return -EINVAL;
	size = PAGE_ALIGN(arg->size);
	if (!vta_bo_place_valid(size, arg->flags, arg->align, arg->addr))
		return -EINVAL;

	mem = vta_mem_alloc(ctx, arg->flags & VTA_BUF_CARD ? VTA_MEM_CARD : VTA_MEM_HOST, size);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	bo = vta_bo_create(ctx, mem, arg->flags, arg->align, arg->addr);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	/* Another thread may guess the handle, so do not look once it is there. */
	arg->size = size;
	arg->addr = bo->addr;
	arg->mmap_offset = (u64)bo->pgoff << PAGE_SHIFT;
	arg->handle = bo->pgoff;
	return vta_bo_publish(bo);
}

struct vta_bo *vta_bo_find(struct vta_ctx *ctx, u32 handle)
{
	struct vta_bo *bo;

	lockdep_assert_held(&ctx->lock);

	if (ctx->dead)
		return ERR_PTR(-ENODEV);
	bo = xa_load(&ctx->bos, handle);
	if (!bo || bo->flags & VTA_BO_KERNEL)
		return ERR_PTR(-ENOENT);
	return bo;
}

int vta_bo_free(struct vta_ctx *ctx, struct vta_buf_free *arg)
{
	struct vta_bo *bo;
	int ret;

	if (arg->pad)
		return -EINVAL;

	mutex_lock(&ctx->lock);
	bo = vta_bo_find(ctx, arg->handle);
	ret = IS_ERR(bo) ? PTR_ERR(bo) : vta_bo_withdraw(bo);
	vta_ctx_unlock(ctx);
	return ret;
}

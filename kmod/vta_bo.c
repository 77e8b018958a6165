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
#include "vta_import.h"
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
	struct gen_pool *pool = bo->ctx->addr_pool;
	int ret;

	if (addr)
		ret = vta_pool_take_addrs(pool, bo->size, addr);
	else
		ret = vta_pool_alloc_addrs(pool, bo->size, max_t(u64, align, PAGE_SIZE),
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
		vta_pool_free_addrs(bo->ctx->addr_pool, bo->addr, bo->size);
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

static void vta_bo_drop_memory(struct vta_bo *bo)
{
	if (!bo->mem)
		return;
	if (!list_empty(&bo->node))
		*vta_bo_account(bo) -= bo->size;
	vta_mem_put(bo->mem);
	bo->mem = NULL;
}

static void vta_bo_release(struct kref *ref)
{
	struct vta_bo *bo = container_of(ref, struct vta_bo, ref);

	vta_bo_unplace(bo);
	vta_bo_drop_memory(bo);
	list_del(&bo->node);
	kfree(bo);
}

void vta_bo_put(struct vta_bo *bo)
{
	lockdep_assert_held(&bo->ctx->lock);
	kref_put(&bo->ref, vta_bo_release);
}

void vta_bo_discard(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;

	mutex_lock(&ctx->lock);
	vta_bo_put(bo);
	mutex_unlock(&ctx->lock);
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
	bo->ctx = ctx;
	bo->size = mem->size;
	bo->flags = flags;
	bo->mem = mem;

	if (!(flags & VTA_BO_STATUS)) {
		ret = vta_bo_place(bo, align, addr);
		if (ret) {
			vta_bo_discard(bo);
			return ERR_PTR(ret);
		}
	}
	return bo;
}

static enum dma_data_direction vta_bo_dir(const struct vta_bo *bo)
{
	return bo->flags & VTA_BUF_READONLY ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/* Gives host memory bus addresses. */
static int vta_bo_map_dma(struct vta_bo *bo)
{
	struct vta_device *vdev = bo->ctx->vdev;
	struct device *dev = &vdev->pdev->dev;
	struct sg_table *sgt;

	if (bo->mem->kind == VTA_MEM_CARD)
		return READ_ONCE(bo->mem->lost) ? -ENOENT : 0;
	if (bo->mem->kind == VTA_MEM_FOREIGN)
		sgt = vta_import_map(bo->mem, dev, vta_bo_dir(bo), &bo->attach);
	else
		sgt = vta_host_map(&bo->mem->host, dev, vta_bo_dir(bo));
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
	struct device *dev = &bo->ctx->vdev->pdev->dev;

	if (!bo->sgt)
		return;
	if (bo->mem->kind == VTA_MEM_FOREIGN)
		vta_import_unmap(bo->mem, bo->attach, bo->sgt, vta_bo_dir(bo));
	else
		vta_host_unmap(bo->sgt, dev, vta_bo_dir(bo));
	bo->sgt = NULL;
	bo->attach = NULL;
}

static int vta_bo_map_card(struct vta_bo *bo, u64 flags)
{
	const struct vta_extents *extents = &bo->mem->extents;
	unsigned long i;
	int ret = 0;

	for (i = 0; i < extents->nr && !ret; i++) {
		const struct vta_extent *extent = &extents->v[i];

		ret = vta_mmu_map(&bo->ctx->mmu, bo->addr + ((u64)extent->first << PAGE_SHIFT),
				  extent->offset, (u64)extent->pages << PAGE_SHIFT,
				  flags | VTA_PTE_CARD);
	}
	return ret;
}

/* Memory may be in many pieces, of which the card sees one buffer. */
static int vta_bo_map(struct vta_bo *bo)
{
	u64 flags = bo->flags & VTA_BUF_READONLY ? 0 : VTA_PTE_WRITE;
	struct vta_mmu *mmu = &bo->ctx->mmu;
	u64 addr = bo->addr, left = bo->size, len;
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	if (bo->mem->kind == VTA_MEM_CARD)
		return vta_bo_map_card(bo, flags);

	for_each_sgtable_dma_sg(bo->sgt, sg, i) {
		len = min_t(u64, sg_dma_len(sg), left);
		ret = vta_mmu_map(mmu, addr, sg_dma_address(sg), len, flags);
		if (ret)
			return ret;
		addr += len;
		left -= len;
	}
	return 0;
}

int vta_bo_publish(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;
	int ret;

	lockdep_assert_held(&ctx->lock);

	if (ctx->dead)
		ret = -ENODEV;
	else
		ret = xa_insert(&ctx->bos, bo->pgoff, bo, GFP_KERNEL_ACCOUNT);
	if (ret) {
		vta_bo_put(bo);
		return ret;
	}
	list_add_tail(&bo->node, &ctx->bo_list);
	*vta_bo_account(bo) += bo->size;

	ret = vta_bo_map_dma(bo);
	if (!ret && bo->addr)
		ret = vta_bo_map(bo);
	if (ret) {
		/* Should this fail too, the card's reset will do it. */
		vta_bo_withdraw(bo);
		return ret;
	}
	trace_vta_buf_alloc(bo);
	return 0;
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
	vta_bo_unplace(bo);
	vta_bo_unmap_dma(bo);
	xa_erase(&ctx->bos, bo->pgoff);
	vta_bo_put(bo);
	return 0;
}

void vta_bo_drop(struct vta_bo *bo)
{
	lockdep_assert_held(&bo->ctx->lock);

	vta_bo_unplace(bo);
	vta_bo_unmap_dma(bo);
	vta_bo_drop_memory(bo);
}

/* ---- CPU mappings ---- */

static vm_fault_t vta_bo_fault(struct vm_fault *vmf)
{
	struct vta_bo *bo = vmf->vma->vm_private_data;
	vm_fault_t ret;

	mutex_lock(&bo->ctx->lock);
	if (bo->ctx->dead)	/* the memory is about to go, or has gone */
		ret = vta_mem_fault_blank(&bo->ctx->blank, vmf);
	else
		ret = vta_mem_fault(bo->mem, vmf, bo->pgoff);
	mutex_unlock(&bo->ctx->lock);
	return ret;
}

static void vta_bo_vm_open(struct vm_area_struct *vma)
{
	struct vta_bo *bo = vma->vm_private_data;

	kref_get(&bo->ref);
}

static void vta_bo_vm_close(struct vm_area_struct *vma)
{
	struct vta_bo *bo = vma->vm_private_data;
	struct vta_ctx *ctx = bo->ctx;

	mutex_lock(&ctx->lock);
	vta_bo_put(bo);
	mutex_unlock(&ctx->lock);
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
	int ret;

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

	mutex_lock(&ctx->lock);
	ret = vta_bo_publish(bo);
	mutex_unlock(&ctx->lock);
	return ret;
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
	mutex_unlock(&ctx->lock);
	return ret;
}

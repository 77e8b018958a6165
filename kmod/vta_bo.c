// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_bo.c - buffers
 *
 * Who frees a buffer? It is in its context's table from vta_bo_publish() until
 * the user frees it, or the context ends. Taken out of the table it is out of
 * the card's reach; its memory goes when the last CPU mapping has gone too.
 * Only vta_bo_drop() is quicker: when a card is reset or removed, mappings have
 * been revoked and the memory goes at once, whoever still has a reference.
 */
#include <linux/genalloc.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "vta_bo.h"
#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_mmu.h"
#include "vta_trace.h"

/* gen_pool gives alignments as int. */
#define VTA_ALIGN_MAX	SZ_1G

/* The pool of card memory starts here, because 0 is its way to say no. */
#define VTA_MEM_BASE	VTA_L1_SIZE

/* A CPU page fault maps this much, if the buffer is there. */
#define VTA_FAULT_AROUND	SZ_2M

/* Clearing card memory gives others a chance in between. */
#define VTA_CLEAR_STEP	SZ_1M

static struct gen_pool *vta_pool_create(unsigned long base, u64 size)
{
	struct gen_pool *pool = gen_pool_create(PAGE_SHIFT, NUMA_NO_NODE);

	if (!pool)
		return NULL;
	if (gen_pool_add(pool, base, size, NUMA_NO_NODE)) {
		gen_pool_destroy(pool);
		return NULL;
	}
	return pool;
}

struct gen_pool *vta_mem_pool_create(u64 size)
{
	return vta_pool_create(VTA_MEM_BASE, size);
}

struct gen_pool *vta_addr_pool_create(void)
{
	return vta_pool_create(PAGE_SIZE, VTA_ADDR_END - PAGE_SIZE);
}

/* 0 if there is no room. */
static unsigned long vta_pool_alloc(struct gen_pool *pool, u64 size, u64 align)
{
	struct genpool_data_align data = { .align = align };

	return gen_pool_alloc_algo(pool, size, gen_pool_first_fit_align, &data);
}

/* What is large is placed so that large page-table entries can map it. */
static unsigned long vta_pool_alloc_large(struct gen_pool *pool, u64 size, u64 align)
{
	unsigned long addr = 0;

	if (size >= VTA_L1_SIZE && align < VTA_L1_SIZE)
		addr = vta_pool_alloc(pool, size, VTA_L1_SIZE);
	return addr ? addr : vta_pool_alloc(pool, size, align);
}

static int vta_bo_place(struct vta_bo *bo, u64 align, u64 addr)
{
	struct gen_pool *pool = bo->ctx->addr_pool;

	if (addr) {
		struct genpool_data_fixed data = { .offset = addr - PAGE_SIZE };

		bo->addr = gen_pool_alloc_algo(pool, bo->size, gen_pool_fixed_alloc, &data);
		if (!bo->addr)
			return -EEXIST;
	} else {
		bo->addr = vta_pool_alloc_large(pool, bo->size, align);
		if (!bo->addr)
			return -ENOSPC;
	}
	bo->pgoff = bo->addr >> PAGE_SHIFT;
	return 0;
}

static void vta_bo_unplace(struct vta_bo *bo)
{
	if (bo->addr)
		gen_pool_free(bo->ctx->addr_pool, bo->addr, bo->size);
	bo->addr = 0;
}

/* What its last user left in card memory is nobody's business. */
static int vta_bo_clear(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;
	u64 done, step;

	for (done = 0; done < bo->size; done += step) {
		step = min_t(u64, bo->size - done, VTA_CLEAR_STEP);
		mutex_lock(&ctx->lock);
		if (ctx->dead) {
			mutex_unlock(&ctx->lock);
			return -ENODEV;
		}
		memset_io(ctx->vdev->mem + bo->offset + done, 0, step);
		mutex_unlock(&ctx->lock);
		cond_resched();
	}
	wmb();	/* out of the write-combining buffers, before the card is told */
	return 0;
}

static int vta_bo_populate(struct vta_bo *bo)
{
	unsigned long addr;
	int ret;

	if (!(bo->flags & VTA_BUF_CARD)) {
		ret = vta_host_alloc(&bo->host, bo->size);
		bo->has_memory = !ret;
		return ret;
	}

	addr = vta_pool_alloc_large(bo->ctx->vdev->mem_pool, bo->size, PAGE_SIZE);
	if (!addr)
		return -ENOSPC;
	bo->offset = addr - VTA_MEM_BASE;
	bo->has_memory = true;
	return vta_bo_clear(bo);
}

static void vta_bo_free_memory(struct vta_bo *bo)
{
	struct vta_ctx *ctx = bo->ctx;

	if (!bo->has_memory)
		return;
	bo->has_memory = false;

	if (bo->flags & VTA_BUF_CARD) {
		gen_pool_free(ctx->vdev->mem_pool, VTA_MEM_BASE + bo->offset, bo->size);
		if (!list_empty(&bo->node))
			ctx->card_bytes -= bo->size;
	} else {
		vta_host_free(&bo->host);
		if (!list_empty(&bo->node))
			ctx->host_bytes -= bo->size;
	}
}

static void vta_bo_release(struct kref *ref)
{
	struct vta_bo *bo = container_of(ref, struct vta_bo, ref);

	vta_bo_unplace(bo);
	vta_bo_free_memory(bo);
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

struct vta_bo *vta_bo_create(struct vta_ctx *ctx, u64 size, u32 flags, u64 align, u64 addr)
{
	struct vta_bo *bo;
	int ret;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	kref_init(&bo->ref);
	INIT_LIST_HEAD(&bo->node);
	bo->ctx = ctx;
	bo->size = size;
	bo->flags = flags;

	if (!(flags & VTA_BO_STATUS)) {
		ret = vta_bo_place(bo, align, addr);
		if (ret)
			goto err_discard;
	}
	ret = vta_bo_populate(bo);
	if (ret)
		goto err_discard;
	return bo;

err_discard:
	vta_bo_discard(bo);
	return ERR_PTR(ret);
}

/* Host memory may be in many pieces, of which the card sees one buffer. */
static int vta_bo_map(struct vta_bo *bo)
{
	u64 flags = bo->flags & VTA_BUF_READONLY ? 0 : VTA_PTE_WRITE;
	struct vta_mmu *mmu = &bo->ctx->mmu;
	struct scatterlist *sg;
	u64 addr = bo->addr;
	unsigned int i;
	int ret;

	if (bo->flags & VTA_BUF_CARD)
		return vta_mmu_map(mmu, addr, bo->offset, bo->size, flags | VTA_PTE_CARD);

	for_each_sgtable_dma_sg(&bo->host.sgt, sg, i) {
		ret = vta_mmu_map(mmu, addr, sg_dma_address(sg), sg_dma_len(sg), flags);
		if (ret)
			return ret;
		addr += sg_dma_len(sg);
	}
	return 0;
}

int vta_bo_publish(struct vta_bo *bo)
{
	enum dma_data_direction dir = DMA_BIDIRECTIONAL;
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
	if (bo->flags & VTA_BUF_CARD)
		ctx->card_bytes += bo->size;
	else
		ctx->host_bytes += bo->size;

	if (bo->flags & VTA_BUF_READONLY)
		dir = DMA_TO_DEVICE;
	if (!(bo->flags & VTA_BUF_CARD))
		ret = vta_host_map(&bo->host, ctx->vdev, dir);
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
	vta_host_unmap(&bo->host, ctx->vdev);
	xa_erase(&ctx->bos, bo->pgoff);
	vta_bo_put(bo);
	return 0;
}

void vta_bo_drop(struct vta_bo *bo)
{
	lockdep_assert_held(&bo->ctx->lock);

	vta_bo_unplace(bo);
	vta_host_unmap(&bo->host, bo->ctx->vdev);
	vta_bo_free_memory(bo);
}

/* ---- CPU mappings ---- */

static unsigned long vta_bo_pfn(struct vta_bo *bo, unsigned long page)
{
	if (bo->flags & VTA_BUF_CARD)
		return PHYS_PFN(bo->ctx->vdev->mem_phys + bo->offset) + page;
	return page_to_pfn(bo->host.pages[page]);
}

static vm_fault_t vta_bo_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vta_bo *bo = vma->vm_private_data;
	unsigned long hit = vmf->address & PAGE_MASK;
	unsigned long addr, end;
	vm_fault_t ret;

	mutex_lock(&bo->ctx->lock);
	if (bo->ctx->dead) {	/* the memory is about to go, or has gone */
		ret = vta_ctx_fault_blank(bo->ctx, vmf);
		goto out;
	}

	ret = vmf_insert_pfn(vma, hit, vta_bo_pfn(bo, vmf->pgoff - bo->pgoff));
	addr = max(ALIGN_DOWN(hit, VTA_FAULT_AROUND), vma->vm_start);
	end = min(ALIGN_DOWN(hit, VTA_FAULT_AROUND) + VTA_FAULT_AROUND, vma->vm_end);
	for (; addr < end && ret == VM_FAULT_NOPAGE; addr += PAGE_SIZE) {
		unsigned long pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);

		if (addr != hit)
			ret = vmf_insert_pfn(vma, addr, vta_bo_pfn(bo, pgoff - bo->pgoff));
	}
out:
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

	if (vma->vm_end - vma->vm_start > bo->size)
		return -EINVAL;
	if (bo->flags & VTA_BO_STATUS) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	if (bo->flags & VTA_BUF_CARD)
		vma->vm_page_prot = pgprot_decrypted(pgprot_writecombine(vma->vm_page_prot));
	kref_get(&bo->ref);
	vma->vm_private_data = bo;
	vma->vm_ops = &vta_bo_vm_ops;
	return 0;
}

/* ---- Ioctls ---- */

static bool vta_buf_alloc_valid(const struct vta_buf_alloc *arg)
{
	if (arg->flags & ~(VTA_BUF_CARD | VTA_BUF_FIXED | VTA_BUF_READONLY))
		return false;
	if (!arg->size || arg->size > VTA_ADDR_END - PAGE_SIZE)
		return false;
	if (arg->align && (!is_power_of_2(arg->align) || arg->align > VTA_ALIGN_MAX))
		return false;
	if (!(arg->flags & VTA_BUF_FIXED))
		return !arg->addr;
	return arg->addr && IS_ALIGNED(arg->addr, PAGE_SIZE) &&
	       (!arg->align || IS_ALIGNED(arg->addr, arg->align)) &&
	       arg->addr < VTA_ADDR_END && PAGE_ALIGN(arg->size) <= VTA_ADDR_END - arg->addr;
}

int vta_bo_alloc(struct vta_ctx *ctx, struct vta_buf_alloc *arg)
{
	struct vta_bo *bo;
	u64 size;
	int ret;

	if (!vta_buf_alloc_valid(arg))
		return -EINVAL;
	size = PAGE_ALIGN(arg->size);

	bo = vta_bo_create(ctx, size, arg->flags, max_t(u64, arg->align, PAGE_SIZE), arg->addr);
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

int vta_bo_free(struct vta_ctx *ctx, struct vta_buf_free *arg)
{
	struct vta_bo *bo;
	int ret;

	if (arg->pad)
		return -EINVAL;

	mutex_lock(&ctx->lock);
	bo = xa_load(&ctx->bos, arg->handle);
	if (ctx->dead)
		ret = -ENODEV;
	else if (!bo || bo->flags & VTA_BO_KERNEL)
		ret = -ENOENT;
	else
		ret = vta_bo_withdraw(bo);
	mutex_unlock(&ctx->lock);
	return ret;
}

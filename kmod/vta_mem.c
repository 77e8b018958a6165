// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_mem.c - memory, of any kind, that buffers show to the card
 *
 * Memory is freed with its last reference. A buffer (vta_buf.c) holds one until neither the card
 * nor a CPU mapping can reach it; an exported dma-buf (vta_export.c) holds one until its last
 * descriptor, mapping and importer has gone.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_mem.h"
#include "vta_user.h"

/* Size of the aligned area that a CPU page fault maps. */
#define VTA_FAULT_AROUND	SZ_2M

/* Bytes of card memory that are cleared in one critical section. */
#define VTA_CLEAR_STEP	SZ_1M

struct vta_mem *vta_mem_new(struct vta_device *vdev, enum vta_mem_kind kind,
			    const struct vta_mem_ops *ops, u64 size)
{
	struct vta_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	kref_init(&mem->ref);
	mem->kind = kind;
	mem->ops = ops;
	mem->vdev = vdev;
	mem->size = size;
	get_device(&vdev->dev);
	return mem;
}

static int vta_mem_alloc_host(struct vta_mem *mem, struct vta_ctx *ctx)
{
	struct vta_device *vdev = mem->vdev;
	int ret;

	ret = vta_user_charge(vdev, ctx->user, VTA_USER_HOST_MEM, mem->size, ctx->file);
	if (ret)
		return ret;
	ret = vta_host_alloc(&mem->host, mem->size);
	if (ret) {
		vta_user_uncharge(vdev, ctx->user, VTA_USER_HOST_MEM, mem->size);
		return ret;
	}
	mem->user = ctx->user;
	atomic64_add(mem->size, &vdev->host_bytes);
	return 0;
}

static void vta_mem_release_host(struct vta_mem *mem)
{
	vta_host_free(&mem->host);
	vta_user_uncharge(mem->vdev, mem->user, VTA_USER_HOST_MEM, mem->size);
	atomic64_sub(mem->size, &mem->vdev->host_bytes);
}

static const struct vta_mem_ops vta_mem_host_ops = {
	.release = vta_mem_release_host,
};

/* Allocates extents. If there are too few, waits for those that a reset has taken from files. */
static int vta_mem_alloc_extents(struct vta_mem *mem)
{
	struct vta_device *vdev = mem->vdev;
	int lost, ret;

	do {
		lost = atomic_read(&vdev->nr_lost);
		ret = vta_cardmem_alloc(vdev->cardmem, mem->size, &mem->extents);
		if (ret != -ENOSPC || !lost)
			return ret;
	} while (!wait_var_event_killable(&vdev->nr_lost, !atomic_read(&vdev->nr_lost)));
	return -EINTR;
}

static int vta_mem_alloc_card(struct vta_mem *mem, struct vta_ctx *ctx)
{
	struct vta_device *vdev = mem->vdev;
	int ret;

	if (!vdev->caps.mem_size)
		return -ENOSPC;
	ret = vta_user_charge(vdev, ctx->user, VTA_USER_CARD_MEM, mem->size, ctx->file);
	if (ret)
		return ret;
	/* The controller has an errno of its own; this driver has one for all limits. */
	ret = dmem_cgroup_try_charge(vdev->dmem, mem->size, &mem->dmem, NULL);
	if (ret) {
		ret = ret == -EAGAIN ? -EDQUOT : ret;
		goto err_user;
	}
	ret = vta_mem_alloc_extents(mem);
	if (ret)
		goto err_dmem;
	mem->user = ctx->user;
	mem->epoch = ctx->mmu.epoch;
	return 0;

err_dmem:
	dmem_cgroup_uncharge(mem->dmem, mem->size);
err_user:
	vta_user_uncharge(vdev, ctx->user, VTA_USER_CARD_MEM, mem->size);
	return ret;
}

static void vta_mem_release_card(struct vta_mem *mem)
{
	vta_cardmem_free(mem->vdev->cardmem, &mem->extents);
	dmem_cgroup_uncharge(mem->dmem, mem->size);
	vta_user_uncharge(mem->vdev, mem->user, VTA_USER_CARD_MEM, mem->size);
	if (mem->blank)
		__free_page(mem->blank);
}

static const struct vta_mem_ops vta_mem_card_ops = {
	.release = vta_mem_release_card,
};

static int vta_mem_clear_extent(struct vta_mem *mem, struct vta_ctx *ctx,
				const struct vta_extent *extent)
{
	u64 size = (u64)extent->pages << PAGE_SHIFT, done, step;

	for (done = 0; done < size; done += step) {
		step = min_t(u64, size - done, VTA_CLEAR_STEP);
		mutex_lock(&ctx->lock);
		if (ctx->dead) {
			mutex_unlock(&ctx->lock);
			return -ENODEV;
		}
		memset_io(mem->vdev->mem + extent->offset + done, 0, step);
		mutex_unlock(&ctx->lock);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Clears card memory, so that a user does not see the data of another. */
static int vta_mem_clear(struct vta_mem *mem, struct vta_ctx *ctx)
{
	unsigned long i;
	int ret = 0;

	for (i = 0; i < mem->extents.nr && !ret; i++)
		ret = vta_mem_clear_extent(mem, ctx, &mem->extents.v[i]);
	if (ret)
		return ret;
	wmb();	/* drain write-combined writes before the card can use the memory */
	return 0;
}

struct vta_mem *vta_mem_alloc(struct vta_ctx *ctx, enum vta_mem_kind kind, u64 size)
{
	bool host = kind == VTA_MEM_HOST;
	struct vta_mem *mem;
	int ret;

	mem = vta_mem_new(ctx->vdev, kind, host ? &vta_mem_host_ops : &vta_mem_card_ops, size);
	if (IS_ERR(mem))
		return mem;
	ret = host ? vta_mem_alloc_host(mem, ctx) : vta_mem_alloc_card(mem, ctx);
	if (ret) {
		vta_mem_discard(mem);
		return ERR_PTR(ret);
	}
	ret = host ? 0 : vta_mem_clear(mem, ctx);
	if (ret) {
		vta_mem_put(mem);
		return ERR_PTR(ret);
	}
	return mem;
}

void vta_mem_discard(struct vta_mem *mem)
{
	put_device(&mem->vdev->dev);
	kfree(mem);
}

static void vta_mem_release(struct kref *ref)
{
	struct vta_mem *mem = container_of(ref, struct vta_mem, ref);

	mem->ops->release(mem);
	vta_mem_discard(mem);
}

bool vta_mem_is_lost(const struct vta_mem *mem)
{
	return !vta_card_is_current(mem->vdev, mem->epoch);
}

struct vta_mem *vta_mem_get(struct vta_mem *mem)
{
	kref_get(&mem->ref);
	return mem;
}

void vta_mem_put(struct vta_mem *mem)
{
	kref_put(&mem->ref, vta_mem_release);
}

static void vta_mem_release_later(struct kref *ref)
{
	struct vta_mem *mem = container_of(ref, struct vta_mem, ref);

	if (mem->ops->release_later)
		mem->ops->release_later(mem);
	else
		vta_mem_release(ref);
}

void vta_mem_put_later(struct vta_mem *mem)
{
	kref_put(&mem->ref, vta_mem_release_later);
}

/* ---- CPU mappings ---- */

int vta_vma_init(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	vm_flags_clear(vma, VM_MAYEXEC);
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

void vta_mem_mmap(const struct vta_mem *mem, struct vm_area_struct *vma)
{
	if (mem->kind == VTA_MEM_CARD)
		vma->vm_page_prot = pgprot_decrypted(pgprot_writecombine(vma->vm_page_prot));
}

static unsigned long vta_mem_pfn(const struct vta_mem *mem, unsigned long page)
{
	if (mem->kind == VTA_MEM_CARD)
		return PHYS_PFN(mem->vdev->mem_phys + vta_extents_offset(&mem->extents, page));
	return page_to_pfn(mem->host.pages[page]);
}

static int vta_mem_no_pte(pte_t *pte, unsigned long addr, void *data)
{
	return 0;
}

/* A revoked mapping that may be written needs a page of its own; else ZERO_PAGE serves. */
static bool vta_mem_may_write(const struct vm_fault *vmf)
{
	return vmf->vma->vm_flags & VM_MAYWRITE;
}

vm_fault_t vta_mem_fault_begin(struct page **blank, struct vm_fault *vmf)
{
	struct page *page;

	if (apply_to_page_range(vmf->vma->vm_mm, vmf->address & PAGE_MASK, PAGE_SIZE,
				vta_mem_no_pte, NULL))
		return VM_FAULT_OOM;
	if (!blank || READ_ONCE(*blank) || !vta_mem_may_write(vmf))
		return 0;
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		return VM_FAULT_OOM;
	if (cmpxchg(blank, NULL, page))
		__free_page(page);	/* another thread was faster */
	return 0;
}

vm_fault_t vta_mem_fault(const struct vta_mem *mem, struct vm_fault *vmf, unsigned long first)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long hit = vmf->address & PAGE_MASK;
	unsigned long addr, end;
	vm_fault_t ret;

	ret = vmf_insert_pfn(vma, hit, vta_mem_pfn(mem, vmf->pgoff - first));
	addr = max(ALIGN_DOWN(hit, VTA_FAULT_AROUND), vma->vm_start);
	end = min(ALIGN_DOWN(hit, VTA_FAULT_AROUND) + VTA_FAULT_AROUND, vma->vm_end);
	for (; addr < end && ret == VM_FAULT_NOPAGE; addr += PAGE_SIZE) {
		unsigned long pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);

		if (addr != hit)
			ret = vmf_insert_pfn(vma, addr, vta_mem_pfn(mem, pgoff - first));
	}
	return ret;
}

vm_fault_t vta_mem_fault_blank(struct page *blank, struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page *page = vta_mem_may_write(vmf) ? blank : ZERO_PAGE(vmf->address);

	if (!page)
		return VM_FAULT_NOPAGE;
	/* The page is ordinary memory, so do not use the cache attributes of the mapping. */
	return vmf_insert_pfn_prot(vma, vmf->address, page_to_pfn(page),
				   vm_get_page_prot(vma->vm_flags));
}

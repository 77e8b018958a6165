/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_compat.h - functions that other kernels lack or declare differently
 *
 * The only place that knows of differences between kernels. VTA_HAVE_x come from Kbuild, which
 * searches the headers of the kernel it builds for.
 */
#ifndef VTA_COMPAT_H
#define VTA_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/scatterlist.h>

#ifndef VTA_HAVE_VM_FLAGS_SET	/* before 6.3 */
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/**
 * vta_page_is_swap_backed() - check that no file system cleans a page
 * @page: the page
 *
 * Return: true if the page is written to swap, or not at all.
 */
static inline bool vta_page_is_swap_backed(struct page *page)
{
#ifdef VTA_HAVE_FOLIO_SWAPBACKED	/* these kernels test folios only */
	struct folio *folio = page_folio(page);

	return folio_test_anon(folio) || folio_test_swapbacked(folio) ||
	       folio_test_hugetlb(folio);
#else
	return PageAnon(page) || PageSwapBacked(page) || PageHuge(page);
#endif
}

/**
 * vta_pin_read_flags() - flags besides FOLL_LONGTERM to pin pages for reading
 * @addr: address of the first page
 * @nr: number of pages; out: number of pages that may be pinned with these flags
 *
 * A copy-on-write page must be copied now, or the process will write to one page while the card
 * reads another. Kernels that keep FOLL_* in mm_types.h (since 6.3) do so. Older ones copy the page
 * only if it is pinned for writing.
 *
 * Return: FOLL_*.
 */
static inline unsigned int vta_pin_read_flags(unsigned long addr, unsigned long *nr)
{
	unsigned int flags = 0;
#ifndef VTA_HAVE_FOLL_LONGTERM
	struct vm_area_struct *vma;

	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, addr);
	if (vma && vma->vm_start <= addr) {
		*nr = min(*nr, (vma->vm_end - addr) >> PAGE_SHIFT);
		if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE | VM_READ)) ==
		    (VM_MAYWRITE | VM_READ))
			flags = FOLL_WRITE | FOLL_FORCE;
	}
	mmap_read_unlock(current->mm);
#endif
	return flags;
}

#ifndef VTA_HAVE_MAP_ATTACHMENT_UNLOCKED	/* before 6.2 */
static inline struct sg_table *
dma_buf_map_attachment_unlocked(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	return dma_buf_map_attachment(attach, dir);
}

static inline void
dma_buf_unmap_attachment_unlocked(struct dma_buf_attachment *attach, struct sg_table *sgt,
				  enum dma_data_direction dir)
{
	dma_buf_unmap_attachment(attach, sgt, dir);
}
#endif

#ifndef VTA_HAVE_SG_ALLOC_SEGMENT	/* before 5.15 */
static inline int
sg_alloc_table_from_pages_segment(struct sg_table *sgt, struct page **pages, unsigned int nr,
				  unsigned int offset, unsigned long size,
				  unsigned int max_segment, gfp_t gfp)
{
	return PTR_ERR_OR_ZERO(__sg_alloc_table_from_pages(sgt, pages, nr, offset, size,
							   max_segment, NULL, 0, gfp));
}
#endif

#ifdef VTA_HAVE_DMEM_CGROUP	/* since 6.14 */
#include <linux/cgroup_dmem.h>
#else
struct dmem_cgroup_pool_state;
struct dmem_cgroup_region;

static inline void dmem_cgroup_unregister_region(struct dmem_cgroup_region *region)
{
}

static inline int dmem_cgroup_try_charge(struct dmem_cgroup_region *region, u64 size,
					 struct dmem_cgroup_pool_state **pool,
					 struct dmem_cgroup_pool_state **limit)
{
	*pool = NULL;
	return 0;
}

static inline void dmem_cgroup_uncharge(struct dmem_cgroup_pool_state *pool, u64 size)
{
}
#endif

/**
 * vta_dmem_register() - register the memory of a card with the dmem controller
 * @size: bytes
 * @card: name of the card
 *
 * Return: the region, NULL if the kernel has no dmem controller, or an ERR_PTR.
 */
static inline struct dmem_cgroup_region *vta_dmem_register(u64 size, const char *card)
{
#ifdef VTA_HAVE_DMEM_CGROUP_INIT	/* since 7.3 */
	struct dmem_cgroup_init init = { .size = size };

	return dmem_cgroup_register_region(&init, "vta/%s", card);
#elif defined(VTA_HAVE_DMEM_CGROUP)
	return dmem_cgroup_register_region(size, "vta/%s", card);
#else
	return NULL;
#endif
}

/**
 * vta_poll_waits() - check whether the caller of poll() will sleep
 * @wait: argument of poll()
 *
 * Return: false if the caller only asks for the present events.
 */
static inline bool vta_poll_waits(const poll_table *wait)
{
#ifdef VTA_HAVE_POLL_DOES_NOT_WAIT	/* before 7.2 */
	return !poll_does_not_wait(wait);
#else
	return wait && wait->_qproc;
#endif
}

/**
 * vta_eventfd_signal() - add 1 to an eventfd's count
 * @ctx: the eventfd
 */
static inline void vta_eventfd_signal(struct eventfd_ctx *ctx)
{
#ifdef VTA_HAVE_EVENTFD_SIGNAL_ONE	/* since 6.8 */
	eventfd_signal(ctx);
#else
	eventfd_signal(ctx, 1);
#endif
}

#ifdef VTA_HAVE_IMPORT_NS_STRING	/* since 6.13 */
#define VTA_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define VTA_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#endif

/* Assigns a __string() in TP_fast_assign(). */
#ifdef VTA_HAVE_ASSIGN_STR_ONE	/* since 6.10 */
#define vta_assign_str(dst, src)	__assign_str(dst)
#else
#define vta_assign_str(dst, src)	__assign_str(dst, src)
#endif

#endif /* VTA_COMPAT_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_iova.c - allocation of a context's device addresses
 *
 * A bitmap, charged to the user that opens the card. Buffers get addresses that large page-table
 * entries can map.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "vta_mmu.h"

#define VTA_IOVA_PAGES	((unsigned long)(VTA_ADDR_END >> PAGE_SHIFT))

/**
 * struct vta_iova - device addresses of a context
 * @lock: Protects: @taken
 * @taken: a bit for each page, set if the page is in use; page 0 always is
 */
struct vta_iova {
	struct mutex lock; /* Protects: see above */
	unsigned long taken[];
};

struct vta_iova *vta_iova_create(void)
{
	struct vta_iova *iova = kvzalloc(struct_size(iova, taken, BITS_TO_LONGS(VTA_IOVA_PAGES)),
					 GFP_KERNEL_ACCOUNT);

	if (!iova)
		return NULL;
	mutex_init(&iova->lock);
	__set_bit(0, iova->taken);
	return iova;
}

void vta_iova_destroy(struct vta_iova *iova)
{
	mutex_destroy(&iova->lock);
	kvfree(iova);
}

/* Allocates the first free range that begins @skew bytes after a multiple of @align; 0: none. */
static u64 vta_iova_find(struct vta_iova *iova, u64 size, u64 align, u64 skew)
{
	unsigned long mask = (align >> PAGE_SHIFT) - 1;
	unsigned long page;

	page = bitmap_find_next_zero_area_off(iova->taken, VTA_IOVA_PAGES, 0, size >> PAGE_SHIFT,
					      mask, -(skew >> PAGE_SHIFT) & mask);
	if (page >= VTA_IOVA_PAGES)
		return 0;
	bitmap_set(iova->taken, page, size >> PAGE_SHIFT);
	return (u64)page << PAGE_SHIFT;
}

int vta_iova_alloc(struct vta_iova *iova, u64 size, u64 align, u64 skew, u64 *addr)
{
	*addr = 0;
	mutex_lock(&iova->lock);
	/* Large buffers get addresses that large page-table entries can map. */
	if (size >= VTA_L1_SIZE && align < VTA_L1_SIZE && IS_ALIGNED(skew, align))
		*addr = vta_iova_find(iova, size, VTA_L1_SIZE, skew);
	if (!*addr)
		*addr = vta_iova_find(iova, size, align, 0);
	mutex_unlock(&iova->lock);
	return *addr ? 0 : -ENOSPC;
}

int vta_iova_reserve(struct vta_iova *iova, u64 size, u64 addr)
{
	unsigned long page = addr >> PAGE_SHIFT, nr = size >> PAGE_SHIFT;
	int ret = -EEXIST;

	mutex_lock(&iova->lock);
	if (find_next_bit(iova->taken, page + nr, page) >= page + nr) {
		bitmap_set(iova->taken, page, nr);
		ret = 0;
	}
	mutex_unlock(&iova->lock);
	return ret;
}

void vta_iova_free(struct vta_iova *iova, u64 addr, u64 size)
{
	mutex_lock(&iova->lock);
	bitmap_clear(iova->taken, addr >> PAGE_SHIFT, size >> PAGE_SHIFT);
	mutex_unlock(&iova->lock);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_iova.c - allocation of a context's device addresses
 *
 * A bitmap, charged to the user that opens the card. Buffers are placed so that large page-table
 * entries can map them.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "vta_mmu.h"

#define VTA_POOL_PAGES	((unsigned long)(VTA_ADDR_END >> PAGE_SHIFT))

/**
 * struct vta_pool - device addresses
 * @lock: Protects: @taken
 * @taken: a bit for each page; page 0 is never used
 */
struct vta_pool {
	struct mutex lock; /* Protects: see above */
	unsigned long taken[];
};

struct vta_pool *vta_pool_create(void)
{
	struct vta_pool *pool = kvzalloc(struct_size(pool, taken, BITS_TO_LONGS(VTA_POOL_PAGES)),
					 GFP_KERNEL_ACCOUNT);

	if (!pool)
		return NULL;
	mutex_init(&pool->lock);
	__set_bit(0, pool->taken);
	return pool;
}

void vta_pool_destroy(struct vta_pool *pool)
{
	mutex_destroy(&pool->lock);
	kvfree(pool);
}

/* The first free pages from @skew behind a multiple of @align on, as an address; 0: none. */
static u64 vta_pool_find(struct vta_pool *pool, u64 size, u64 align, u64 skew)
{
	unsigned long mask = (align >> PAGE_SHIFT) - 1;
	unsigned long page;

	page = bitmap_find_next_zero_area_off(pool->taken, VTA_POOL_PAGES, 0, size >> PAGE_SHIFT,
					      mask, -(skew >> PAGE_SHIFT) & mask);
	if (page >= VTA_POOL_PAGES)
		return 0;
	bitmap_set(pool->taken, page, size >> PAGE_SHIFT);
	return (u64)page << PAGE_SHIFT;
}

int vta_pool_alloc(struct vta_pool *pool, u64 size, u64 align, u64 skew, u64 *addr)
{
	*addr = 0;
	mutex_lock(&pool->lock);
	/* What is large is placed so that large page-table entries can map it. */
	if (size >= VTA_L1_SIZE && align < VTA_L1_SIZE && IS_ALIGNED(skew, align))
		*addr = vta_pool_find(pool, size, VTA_L1_SIZE, skew);
	if (!*addr)
		*addr = vta_pool_find(pool, size, align, 0);
	mutex_unlock(&pool->lock);
	return *addr ? 0 : -ENOSPC;
}

int vta_pool_take(struct vta_pool *pool, u64 size, u64 addr)
{
	unsigned long page = addr >> PAGE_SHIFT, nr = size >> PAGE_SHIFT;
	int ret = -EEXIST;

	mutex_lock(&pool->lock);
	if (find_next_bit(pool->taken, page + nr, page) >= page + nr) {
		bitmap_set(pool->taken, page, nr);
		ret = 0;
	}
	mutex_unlock(&pool->lock);
	return ret;
}

void vta_pool_free(struct vta_pool *pool, u64 addr, u64 size)
{
	mutex_lock(&pool->lock);
	bitmap_clear(pool->taken, addr >> PAGE_SHIFT, size >> PAGE_SHIFT);
	mutex_unlock(&pool->lock);
}

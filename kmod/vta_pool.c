// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_pool.c - allocation of a context's device addresses
 */
#include <linux/bitmap.h>
#include <linux/genalloc.h>
#include <linux/kernel.h>
#include <linux/mm.h>

#include "vta_mmu.h"
#include "vta_pool.h"

struct gen_pool *vta_pool_create_addrs(void)
{
	struct gen_pool *pool = gen_pool_create(PAGE_SHIFT, NUMA_NO_NODE);

	if (!pool)
		return NULL;
	if (gen_pool_add(pool, PAGE_SIZE, VTA_ADDR_END - PAGE_SIZE, NUMA_NO_NODE)) {
		gen_pool_destroy(pool);
		return NULL;
	}
	return pool;
}

/**
 * struct vta_fit - what is looked for
 * @align: a power of two
 * @skew: added to a multiple of @align, and less than that
 */
struct vta_fit {
	u64 align;
	u64 skew;
};

/* gen_pool's own first fit knows no skew. */
static unsigned long vta_pool_first_fit(unsigned long *map, unsigned long size,
					unsigned long start, unsigned int nr, void *data,
					struct gen_pool *pool, unsigned long start_addr)
{
	const struct vta_fit *fit = data;

	return bitmap_find_next_zero_area_off(map, size, start, nr,
					      (fit->align >> PAGE_SHIFT) - 1,
					      ((start_addr - fit->skew) & (fit->align - 1)) >>
					      PAGE_SHIFT);
}

/* 0 if there is no room. */
static unsigned long vta_pool_alloc(struct gen_pool *pool, u64 size, u64 align, u64 skew)
{
	struct vta_fit fit = { .align = align, .skew = skew };

	return gen_pool_alloc_algo(pool, size, vta_pool_first_fit, &fit);
}

/* What is large is placed so that large page-table entries can map it. */
static unsigned long vta_pool_alloc_large(struct gen_pool *pool, u64 size, u64 align, u64 skew)
{
	unsigned long addr = 0;

	if (size >= VTA_L1_SIZE && align < VTA_L1_SIZE && IS_ALIGNED(skew, align))
		addr = vta_pool_alloc(pool, size, VTA_L1_SIZE, skew);
	return addr ? addr : vta_pool_alloc(pool, size, align, 0);
}

int vta_pool_alloc_addrs(struct gen_pool *pool, u64 size, u64 align, u64 skew, u64 *addr)
{
	*addr = vta_pool_alloc_large(pool, size, align, skew);
	return *addr ? 0 : -ENOSPC;
}

int vta_pool_take_addrs(struct gen_pool *pool, u64 size, u64 addr)
{
	struct genpool_data_fixed data = { .offset = addr - PAGE_SIZE };

	return gen_pool_alloc_algo(pool, size, gen_pool_fixed_alloc, &data) ? 0 : -EEXIST;
}

void vta_pool_free_addrs(struct gen_pool *pool, u64 addr, u64 size)
{
	gen_pool_free(pool, addr, size);
}

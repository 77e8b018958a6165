/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_pool.h - who has what: card memory of a card, device addresses of a context
 *
 * The kernel's gen_pool, with what large page-table entries want of it.
 */
#ifndef VTA_POOL_H
#define VTA_POOL_H

#include <linux/types.h>

struct gen_pool;

struct gen_pool *vta_pool_create_mem(u64 size);
struct gen_pool *vta_pool_create_addrs(void);

/*
 * An offset in card memory. Returns -ENOSPC if there is no room.
 */
int vta_pool_alloc_mem(struct gen_pool *pool, u64 size, u64 *offset);
void vta_pool_free_mem(struct gen_pool *pool, u64 offset, u64 size);

/*
 * Device addresses, a multiple of @align. @skew is where in a large page the
 * memory to be mapped starts: it is placed so that its large pages meet those
 * of the card, if it has any. Returns -ENOSPC if there is no room.
 */
int vta_pool_alloc_addrs(struct gen_pool *pool, u64 size, u64 align, u64 skew, u64 *addr);
/* These device addresses. Returns -EEXIST if one of them is taken. */
int vta_pool_take_addrs(struct gen_pool *pool, u64 size, u64 addr);
void vta_pool_free_addrs(struct gen_pool *pool, u64 addr, u64 size);

/* Sets a bit for each page of card memory that is taken; whether none is. */
void vta_pool_used_mem(struct gen_pool *pool, unsigned long *map, unsigned long pages);
bool vta_pool_is_free(struct gen_pool *pool);

#endif /* VTA_POOL_H */

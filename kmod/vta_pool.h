/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_pool.h - allocation of a context's device addresses
 *
 * The kernel's gen_pool, with what large page-table entries want of it.
 */
#ifndef VTA_POOL_H
#define VTA_POOL_H

#include <linux/types.h>

struct gen_pool;

struct gen_pool *vta_pool_create_addrs(void);

/*
 * Device addresses, a multiple of @align. @skew is where in a large page the
 * memory to be mapped starts: it is placed so that its large pages meet those
 * of the card, if it has any. Returns -ENOSPC if there is no room.
 */
int vta_pool_alloc_addrs(struct gen_pool *pool, u64 size, u64 align, u64 skew, u64 *addr);
/* These device addresses. Returns -EEXIST if one of them is taken. */
int vta_pool_take_addrs(struct gen_pool *pool, u64 size, u64 addr);
void vta_pool_free_addrs(struct gen_pool *pool, u64 addr, u64 size);

#endif /* VTA_POOL_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_pool.h - allocation of a context's device addresses
 */
#ifndef VTA_POOL_H
#define VTA_POOL_H

#include <linux/types.h>

struct vta_pool;

/* NULL: no memory. */
struct vta_pool *vta_pool_create(void);
void vta_pool_destroy(struct vta_pool *pool);

/*
 * Device addresses, a multiple of @align. @skew is where in a large page the
 * memory to be mapped starts: it is placed so that its large pages meet those
 * of the card, if it has any. Returns -ENOSPC if there is no room.
 */
int vta_pool_alloc(struct vta_pool *pool, u64 size, u64 align, u64 skew, u64 *addr);
/* These device addresses. Returns -EEXIST if one of them is taken. */
int vta_pool_take(struct vta_pool *pool, u64 size, u64 addr);
void vta_pool_free(struct vta_pool *pool, u64 addr, u64 size);

#endif /* VTA_POOL_H */

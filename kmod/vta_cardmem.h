/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_cardmem.h - allocation of a card's own memory
 *
 * An allocation fails only if fewer pages are free than it has: scattered pages serve as well as
 * chunks of 2 MiB, which one page-table entry maps, since the card translates them.
 */
#ifndef VTA_CARDMEM_H
#define VTA_CARDMEM_H

#include <linux/types.h>

struct vta_cardmem;

/**
 * struct vta_extent - neighbouring pages of card memory
 * @offset: in card memory, bytes
 * @first: the first page's place in the allocation
 * @pages: how many
 */
struct vta_extent {
	u64 offset;
	unsigned long first;
	unsigned long pages;
};

/**
 * struct vta_extents - an allocation: its extents in order
 * @v: the extents
 * @nr: how many
 * @max: room in @v
 */
struct vta_extents {
	struct vta_extent *v;
	unsigned long nr;
	unsigned long max;
};

struct vta_cardmem *vta_cardmem_create(u64 size);
void vta_cardmem_destroy(struct vta_cardmem *cm);

/*
 * Allocates @size bytes, a multiple of the CPU's page; @extents is empty before.
 * Returns -ENOSPC if fewer are free, -ENOMEM, or -EINTR after a fatal signal.
 * vta_cardmem_free() leaves @extents empty.
 */
int vta_cardmem_alloc(struct vta_cardmem *cm, u64 size, struct vta_extents *extents);
void vta_cardmem_free(struct vta_cardmem *cm, struct vta_extents *extents);

/* The offset in card memory of a page of an allocation. */
u64 vta_extents_offset(const struct vta_extents *extents, unsigned long page);

/* Free bytes; without a lock. */
u64 vta_cardmem_avail(const struct vta_cardmem *cm);
/* Sets a bit in @map for each page that is allocated. */
void vta_cardmem_mark_used(struct vta_cardmem *cm, unsigned long *map);

#endif /* VTA_CARDMEM_H */

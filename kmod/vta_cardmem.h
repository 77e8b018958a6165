/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_cardmem.h - allocation of a card's own memory
 *
 * An allocation fails only if it needs more pages than are free. The card translates addresses, so
 * scattered pages serve as well as chunks of 2 MiB, which one page-table entry maps.
 */
#ifndef VTA_CARDMEM_H
#define VTA_CARDMEM_H

#include <linux/types.h>

struct vta_cardmem;

/**
 * struct vta_extent - neighbouring pages of card memory
 * @offset: in card memory, in bytes
 * @first: index of the first page in the allocation
 * @pages: number of pages
 */
struct vta_extent {
	u64 offset;
	unsigned long first;
	unsigned long pages;
};

/**
 * struct vta_extents - an allocation: its extents in order
 * @v: the extents
 * @nr: number of extents
 * @max: room in @v
 */
struct vta_extents {
	struct vta_extent *v;
	unsigned long nr;
	unsigned long max;
};

/**
 * vta_cardmem_create() - make the allocator of a card's memory
 * @size: bytes of card memory
 *
 * Return: the allocator, or NULL.
 */
struct vta_cardmem *vta_cardmem_create(u64 size);

/**
 * vta_cardmem_destroy() - free the allocator
 * @cm: the allocator, or NULL
 */
void vta_cardmem_destroy(struct vta_cardmem *cm);

/**
 * vta_cardmem_alloc() - allocate card memory
 * @cm: the allocator
 * @size: bytes, a multiple of the CPU's page
 * @extents: empty; out: the allocation
 *
 * Context: may sleep.
 * Return: 0, -ENOSPC if fewer bytes are free, -ENOMEM, or -EINTR after a fatal signal.
 */
int vta_cardmem_alloc(struct vta_cardmem *cm, u64 size, struct vta_extents *extents);

/**
 * vta_cardmem_free() - free card memory
 * @cm: the allocator
 * @extents: the allocation, empty afterwards
 *
 * Context: may sleep.
 */
void vta_cardmem_free(struct vta_cardmem *cm, struct vta_extents *extents);

/**
 * vta_extents_offset() - the place of a page in card memory
 * @extents: the allocation
 * @page: index of the page in the allocation
 *
 * Return: the offset, in bytes.
 */
u64 vta_extents_offset(const struct vta_extents *extents, unsigned long page);

/**
 * vta_cardmem_avail() - the amount of free memory
 * @cm: the allocator
 *
 * Context: any; takes no lock.
 * Return: free bytes.
 */
u64 vta_cardmem_avail(const struct vta_cardmem *cm);

/**
 * vta_cardmem_mark_used() - find the pages in use
 * @cm: the allocator
 * @map: a bit for each page of card memory; those of allocated pages are set
 *
 * Context: may sleep.
 */
void vta_cardmem_mark_used(struct vta_cardmem *cm, unsigned long *map);

#endif /* VTA_CARDMEM_H */

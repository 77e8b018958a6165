// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_cardmem.c - allocation of a card's own memory
 *
 * A request takes whole chunks of 2 MiB first, and the rest from partial chunks, so that small
 * buffers stay together. Each step has the lock for itself, and is in one chunk, so other callers
 * wait no longer for the lock, however large or scattered the allocation is. The first step
 * reserves the number of pages, so that the following steps are sure to find them.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "vta_cardmem.h"
#include "vta_mmu.h"

#define VTA_CHUNK_PAGES	((unsigned long)(VTA_L1_SIZE >> PAGE_SHIFT))

/* Initial room for extents. */
#define VTA_EXTENTS_MIN		4

/**
 * struct vta_chunk - 2 MiB of card memory
 * @node: in vta_cardmem.whole or .partial; in no list if no page is free
 * @nr_free: number of free pages
 * @free: a bit for each page, set if the page is free
 */
struct vta_chunk {
	struct list_head node;
	unsigned int nr_free;
	DECLARE_BITMAP(free, VTA_CHUNK_PAGES);
};

/**
 * struct vta_cardmem - the memory of a card
 * @lock: Protects: all below
 * @avail: free pages that no allocation has reserved; may be read without the lock
 * @whole: chunks whose pages are all free
 * @partial: chunks with free and allocated pages
 * @pages: number of pages (constant)
 * @nr: number of chunks (constant)
 * @chunks: in the order of their addresses
 */
struct vta_cardmem {
	spinlock_t lock; /* Protects: see above */
	unsigned long avail;
	struct list_head whole;
	struct list_head partial;
	unsigned long pages;
	unsigned long nr;
	struct vta_chunk chunks[];
};

/* Moves the chunk to the list for its number of free pages. */
static void vta_chunk_relist(struct vta_cardmem *cm, struct vta_chunk *chunk)
{
	if (!chunk->nr_free)
		list_del_init(&chunk->node);
	else if (chunk->nr_free == VTA_CHUNK_PAGES)
		list_move(&chunk->node, &cm->whole);
	else
		list_move(&chunk->node, &cm->partial);
}

struct vta_cardmem *vta_cardmem_create(u64 size)
{
	unsigned long pages = size >> PAGE_SHIFT, i;
	unsigned long nr = DIV_ROUND_UP(pages, VTA_CHUNK_PAGES);
	struct vta_cardmem *cm = kvzalloc(struct_size(cm, chunks, nr), GFP_KERNEL);

	if (!cm)
		return NULL;
	spin_lock_init(&cm->lock);
	INIT_LIST_HEAD(&cm->whole);
	INIT_LIST_HEAD(&cm->partial);
	cm->avail = pages;
	cm->pages = pages;
	cm->nr = nr;
	/* The lowest addresses are the first in the lists. */
	for (i = nr; i--;) {
		struct vta_chunk *chunk = &cm->chunks[i];

		chunk->nr_free = min(pages - i * VTA_CHUNK_PAGES, VTA_CHUNK_PAGES);
		bitmap_set(chunk->free, 0, chunk->nr_free);
		INIT_LIST_HEAD(&chunk->node);
		vta_chunk_relist(cm, chunk);
	}
	return cm;
}

void vta_cardmem_destroy(struct vta_cardmem *cm)
{
	kvfree(cm);
}

/* Takes up to @want neighbouring pages, at least one. */
static unsigned long vta_cardmem_take_pages(struct vta_cardmem *cm, unsigned long want, u64 *offset)
{
	struct vta_chunk *chunk;
	unsigned long page, end;
	bool from_whole;

	spin_lock(&cm->lock);
	from_whole = want >= VTA_CHUNK_PAGES || list_empty(&cm->partial);
	if (from_whole && list_empty(&cm->whole))
		from_whole = false;
	chunk = list_first_entry(from_whole ? &cm->whole : &cm->partial, struct vta_chunk, node);
	page = find_first_bit(chunk->free, VTA_CHUNK_PAGES);
	end = find_next_zero_bit(chunk->free, min(page + want, VTA_CHUNK_PAGES), page);
	bitmap_clear(chunk->free, page, end - page);
	chunk->nr_free -= end - page;
	vta_chunk_relist(cm, chunk);
	spin_unlock(&cm->lock);
	*offset = (u64)(chunk - cm->chunks) * VTA_L1_SIZE + ((u64)page << PAGE_SHIFT);
	return end - page;
}

/* Frees pages, of several chunks if vta_extents_add() has joined their extents. */
static void vta_cardmem_give_pages(struct vta_cardmem *cm, u64 offset, unsigned long pages)
{
	while (pages) {
		struct vta_chunk *chunk = &cm->chunks[offset >> VTA_L1_SHIFT];
		unsigned long page = (offset & (VTA_L1_SIZE - 1)) >> PAGE_SHIFT;
		unsigned long step = min(pages, VTA_CHUNK_PAGES - page);

		spin_lock(&cm->lock);
		bitmap_set(chunk->free, page, step);
		chunk->nr_free += step;
		vta_chunk_relist(cm, chunk);
		cm->avail += step;
		spin_unlock(&cm->lock);
		cond_resched();
		offset += (u64)step << PAGE_SHIFT;
		pages -= step;
	}
}

static void vta_extents_add(struct vta_extents *extents, u64 offset, unsigned long first,
			    unsigned long pages)
{
	struct vta_extent *last = extents->nr ? &extents->v[extents->nr - 1] : NULL;

	if (last && last->offset + ((u64)last->pages << PAGE_SHIFT) == offset)
		last->pages += pages;
	else
		extents->v[extents->nr++] = (struct vta_extent) {
			.offset = offset, .first = first, .pages = pages,
		};
}

/* Makes room for more extents. Scattered memory needs a long list, so the caller is charged. */
static int vta_extents_grow(struct vta_extents *extents)
{
	unsigned long max = max(2 * extents->max, (unsigned long)VTA_EXTENTS_MIN);
	struct vta_extent *v;

	if (extents->nr < extents->max)
		return 0;
	v = kvmalloc_array(max, sizeof(*v), GFP_KERNEL_ACCOUNT);
	if (!v)
		return -ENOMEM;
	if (extents->nr)
		memcpy(v, extents->v, extents->nr * sizeof(*v));
	kvfree(extents->v);
	extents->v = v;
	extents->max = max;
	return 0;
}

static int vta_cardmem_reserve(struct vta_cardmem *cm, unsigned long pages)
{
	int ret = -ENOSPC;

	spin_lock(&cm->lock);
	if (pages <= cm->avail) {
		cm->avail -= pages;
		ret = 0;
	}
	spin_unlock(&cm->lock);
	return ret;
}

int vta_cardmem_alloc(struct vta_cardmem *cm, u64 size, struct vta_extents *extents)
{
	unsigned long pages = size >> PAGE_SHIFT, done = 0, step;
	int ret = vta_cardmem_reserve(cm, pages);
	u64 offset;

	if (ret)
		return ret;
	for (; done < pages; done += step) {
		ret = fatal_signal_pending(current) ? -EINTR : vta_extents_grow(extents);
		if (ret)
			break;
		step = vta_cardmem_take_pages(cm, pages - done, &offset);
		vta_extents_add(extents, offset, done, step);
		cond_resched();
	}
	if (!ret)
		return 0;
	spin_lock(&cm->lock);
	cm->avail += pages - done;	/* reserved, and not found yet */
	spin_unlock(&cm->lock);
	vta_cardmem_free(cm, extents);
	return ret;
}

void vta_cardmem_free(struct vta_cardmem *cm, struct vta_extents *extents)
{
	unsigned long i;

	for (i = 0; i < extents->nr; i++)
		vta_cardmem_give_pages(cm, extents->v[i].offset, extents->v[i].pages);
	kvfree(extents->v);
	*extents = (struct vta_extents) {};
}

u64 vta_extents_offset(const struct vta_extents *extents, unsigned long page)
{
	unsigned long lo = 0, hi = extents->nr;

	/* Find the last extent that begins at or before the page. */
	while (hi - lo > 1) {
		unsigned long mid = lo + (hi - lo) / 2;

		if (extents->v[mid].first <= page)
			lo = mid;
		else
			hi = mid;
	}
	return extents->v[lo].offset + ((u64)(page - extents->v[lo].first) << PAGE_SHIFT);
}

u64 vta_cardmem_avail(const struct vta_cardmem *cm)
{
	return (u64)READ_ONCE(cm->avail) << PAGE_SHIFT;
}

void vta_cardmem_mark_used(struct vta_cardmem *cm, unsigned long *map)
{
	unsigned long page, end;

	for (page = 0; page < cm->pages; ) {
		const unsigned long *free = cm->chunks[page / VTA_CHUNK_PAGES].free;

		end = min(page + VTA_CHUNK_PAGES, cm->pages);
		spin_lock(&cm->lock);
		for (; page < end; page++) {
			if (!test_bit(page % VTA_CHUNK_PAGES, free))
				__set_bit(page, map);
		}
		spin_unlock(&cm->lock);
		cond_resched();
	}
}

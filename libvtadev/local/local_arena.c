// SPDX-License-Identifier: Apache-2.0
/*
 * local_arena.c - a device's own memory: which pages of it buffers have, and the page table
 *
 * A buffer is one run of pages, the first that is long enough. The table leads the device's
 * runs there from device addresses: it has an entry for each page of 32-bit addresses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "local_impl.h"

#define TABLE_ENTRIES	((1ull << 32) / VTA_PAGE_SIZE)

int local_arena_init(struct local_space *space, uint64_t mem_size)
{
	struct local_arena *arena = &space->arena;

	if (!space->ops->map)
		return 0;
	arena->pages = (size_t)(mem_size / VTA_PAGE_SIZE);
	arena->used = calloc(arena->pages, sizeof(*arena->used));
	arena->table = calloc(TABLE_ENTRIES, sizeof(*arena->table));
	if (arena->used && arena->table)
		return 0;
	local_arena_destroy(space);
	return -ENOMEM;
}

void local_arena_destroy(struct local_space *space)
{
	free(space->arena.used);
	free(space->arena.table);
}

/* The first of @n free pages; @pages if there are not so many in one piece. */
static size_t find_free(const struct local_arena *arena, size_t n)
{
	size_t found = 0;

	for (size_t at = 0; at < arena->pages; at++) {
		found = arena->used[at] ? 0 : found + 1;
		if (found == n)
			return at + 1 - n;
	}
	return arena->pages;
}

/* The buffer's entries in the table: pages from @page on, and what is allowed; 0: none. */
static int map(struct local_space *space, const struct local_mem *mem, size_t page,
	       uint32_t allowed)
{
	uint32_t first = mem->addr / VTA_PAGE_SIZE, *entries = space->arena.table + first;
	size_t count = (size_t)(mem->size / VTA_PAGE_SIZE);

	for (size_t i = 0; i < count; i++)
		entries[i] = allowed ? (uint32_t)(page + i) << VTADEV_DEVICE_ENTRY_SHIFT | allowed :
				       0;
	return space->ops->map(space->device, first, count, entries);
}

static uint32_t allowed_of(const struct local_mem *mem)
{
	if (mem->flags & VTA_BUF_READONLY)
		return VTADEV_DEVICE_ENTRY_READ;
	return VTADEV_DEVICE_ENTRY_READ | VTADEV_DEVICE_ENTRY_WRITE;
}

int local_arena_alloc(struct local_space *space, struct local_mem *mem)
{
	size_t n = (size_t)(mem->size / VTA_PAGE_SIZE), page = find_free(&space->arena, n);
	int err;

	if (page == space->arena.pages)
		return -ENOSPC;
	mem->offset = (uint64_t)page * VTA_PAGE_SIZE;
	err = space->ops->clear(space->device, mem->offset, (size_t)mem->size);
	if (err)
		return err;
	err = map(space, mem, page, allowed_of(mem));
	if (err)
		map(space, mem, 0, 0);
	else
		memset(&space->arena.used[page], true, n);
	return err;
}

void local_arena_free(struct local_space *space, const struct local_mem *mem)
{
	map(space, mem, 0, 0);
	memset(&space->arena.used[mem->offset / VTA_PAGE_SIZE], false,
	       (size_t)(mem->size / VTA_PAGE_SIZE));
}

// SPDX-License-Identifier: Apache-2.0
/*
 * memory.c - the calls of vta/driver.h that are about memory
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "device.h"
#include "report.h"
#include "space.h"
#include "vta/driver.h"

void *VTAMemAlloc(size_t size, int cached)
{
	void *ptr;
	int err;

	(void)cached;
	if (space_is_parents(__func__))
		return NULL;
	err = space_alloc(size, &ptr);
	if (!err)
		return ptr;
	if (err != -SPACE_SAID)
		report("%s: %zu bytes: %s", __func__, size, space_strerror(err));
	return NULL;
}

void VTAMemFree(void *buf)
{
	if (!buf || space_is_parents(NULL))
		return;
	devices_drain();
	if (space_free(buf))
		report("%s: %p is not what VTAMemAlloc gave, or was freed before", __func__, buf);
}

vta_phy_addr_t VTAMemGetPhyAddr(void *buf)
{
	const struct mem *mem;
	unsigned int generation;
	uint32_t addr = 0;

	space_enter(&generation);
	mem = space_find_ptr(buf);
	if (mem)
		addr = mem->addr + (uint32_t)((char *)buf - mem->ptr);
	space_leave();
	if (!mem)
		report("%s: %p is not in memory of VTAMemAlloc", __func__, buf);
	return addr;
}

/* Check that @size bytes from @ptr on are of VTAMemAlloc(), and @other is not NULL. */
static bool can_copy(const char *call, const void *ptr, const void *other, size_t size)
{
	const struct mem *mem = space_find_ptr(ptr);

	if (!mem)
		report("%s: %p is not in memory of VTAMemAlloc", call, ptr);
	else if (size > mem->size - (size_t)((char *)ptr - mem->ptr))
		report("%s: %zu bytes at %p reach beyond the %zu bytes of VTAMemAlloc at %p",
		       call, size, ptr, mem->size, (void *)mem->ptr);
	else if (!other)
		report("%s: the program's memory is NULL", call);
	else
		return true;
	return false;
}

/* @mem is VTAMemAlloc()'s, @other anything at all; @to_mem is the direction. */
static void copy(const char *call, void *mem, void *other, size_t size, bool to_mem)
{
	unsigned int generation;
	bool can;

	if (!size || space_is_parents(call))
		return;
	devices_drain();
	/* While it copies, the memory cannot be freed. */
	space_enter(&generation);
	can = can_copy(call, mem, other, size);
	if (can && to_mem)
		memmove(mem, other, size);
	else if (can)
		memmove(other, mem, size);
	space_leave();
	if (!can)
		devices_copy_failed();
}

void VTAMemCopyFromHost(void *dst, const void *src, size_t size)
{
	copy(__func__, dst, (void *)src, size, true);
}

void VTAMemCopyToHost(void *dst, const void *src, size_t size)
{
	copy(__func__, (void *)src, dst, size, false);
}

void VTAFlushCache(void *vir_addr, vta_phy_addr_t phy_addr, int size)
{
	(void)vir_addr;
	(void)phy_addr;
	(void)size;
	atomic_thread_fence(memory_order_seq_cst);
}

void VTAInvalidateCache(void *vir_addr, vta_phy_addr_t phy_addr, int size)
{
	(void)vir_addr;
	(void)phy_addr;
	(void)size;
	atomic_thread_fence(memory_order_seq_cst);
}

void VTAProgram(const char *bitstream)
{
	(void)bitstream;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_mmu.h - the page table through which the card sees a context's memory, and its addresses
 */
#ifndef VTA_MMU_H
#define VTA_MMU_H

#include <linux/list.h>
#include <linux/types.h>

#include "vta_regs.h"

struct file;
struct vta_device;
struct vta_iova;
struct vta_user;

#define VTA_L1_SIZE	BIT_ULL(VTA_L1_SHIFT)	/* mapped by a first-level entry */
#define VTA_L2_SIZE	BIT_ULL(VTA_L2_SHIFT)	/* mapped by a second-level entry */
#define VTA_ADDR_END	((u64)VTA_L1_ENTRIES << VTA_L1_SHIFT)
/* No buffer has the first page of device addresses. */
#define VTA_BUF_SIZE_MAX	(VTA_ADDR_END - PAGE_SIZE)

struct vta_table;

/**
 * struct vta_mmu - a device address space; protected by vta_ctx.lock
 * @vdev: the card
 * @epoch: of the card, when it was last enabled
 * @id: number of the context on the card
 * @user: the user that second-level tables are charged to; NULL: the driver's own address space
 * @file: the open file of @user
 * @l1: first-level table
 * @l1_bus: its bus address
 * @tables: second-level tables by first-level index
 * @stale: removed tables that the card may still read
 */
struct vta_mmu {
	struct vta_device *vdev;
	unsigned int epoch;
	unsigned int id;
	struct vta_user *user;
	const struct file *file;
	__le64 *l1;
	dma_addr_t l1_bus;
	struct vta_table **tables;
	struct list_head stale;
};

/**
 * struct vta_spare - second-level tables that no address space uses yet
 * @tables: the tables
 * @nr: number of tables
 */
struct vta_spare {
	struct list_head tables;
	unsigned int nr;
};

#define VTA_SPARE_INIT(spare)	{ .tables = LIST_HEAD_INIT((spare).tables) }

/**
 * struct vta_missing - count of the second-level tables that a mapping needs; zeroes at first
 * @nr: number of tables
 * @end: index of the first-level entry at which counting continues
 */
struct vta_missing {
	unsigned int nr;
	unsigned int end;
};

/* The number of times that a caller tries again after vta_mmu_make_room(). */
#define VTA_ROOM_TRIES	16

/**
 * vta_mmu_init() - make an address space without a first-level table
 * @mmu: the address space; the caller has set the user and the file, if any
 * @vdev: the card
 * @id: number of the context on the card
 *
 * Context: may sleep for the caller's memory; not under vta_ctx.lock.
 * Return: 0 or -ENOMEM.
 */
int vta_mmu_init(struct vta_mmu *mmu, struct vta_device *vdev, unsigned int id);

/**
 * vta_mmu_alloc_root() - allocate the first-level table
 * @mmu: the address space
 *
 * Context: after vta_dma_get(); does not sleep for the caller's memory.
 * Return: 0; or -ENOMEM, after which vta_mmu_make_room() may help.
 */
int vta_mmu_alloc_root(struct vta_mmu *mmu);

/**
 * vta_mmu_free_root() - free the first-level table, if there is one
 * @mmu: the address space, which the card does not use
 *
 * Context: after vta_dma_get().
 */
void vta_mmu_free_root(struct vta_mmu *mmu);

/**
 * vta_mmu_make_room() - make memory available for tables, without allocating them
 * @nr: number of second-level tables; there will be room for a first-level one, too
 *
 * Other threads may be faster to use the memory.
 *
 * Context: may sleep for the caller's memory; without vta_dma_get().
 * Return: 0, -ENOMEM or -EINTR.
 */
int vta_mmu_make_room(unsigned int nr);

/**
 * vta_mmu_fini() - free an address space
 * @mmu: the address space, which the card does not use any more
 *
 * Context: after vta_dma_get(), if there is a first-level table.
 */
void vta_mmu_fini(struct vta_mmu *mmu);

/**
 * vta_spare_add() - allocate spare tables
 * @spare: the spare tables
 * @mmu: the address space that will use them
 * @nr: number of tables that @spare has afterwards, at least
 *
 * Context: after vta_dma_get(); does not sleep for the caller's memory.
 * Return: 0, -EDQUOT; or -ENOMEM, after which vta_mmu_make_room() may help.
 */
int vta_spare_add(struct vta_spare *spare, struct vta_mmu *mmu, unsigned int nr);

/**
 * vta_spare_free() - free the remaining spare tables
 * @spare: the spare tables
 * @mmu: the address space that they were allocated for
 */
void vta_spare_free(struct vta_spare *spare, struct vta_mmu *mmu);

/**
 * vta_mmu_restart() - forget an invalidation that a reset has ended
 * @vdev: the card
 *
 * Context: under vta_device.lock.
 */
void vta_mmu_restart(struct vta_device *vdev);

/**
 * vta_mmu_enable() - have the card use the address space for its context
 * @mmu: the address space
 */
void vta_mmu_enable(struct vta_mmu *mmu);

/**
 * vta_mmu_disable() - have the card forget the address space
 * @mmu: the address space
 *
 * Return: 0, or -ENODEV if a reset has been requested.
 */
int vta_mmu_disable(struct vta_mmu *mmu);

/**
 * vta_mmu_count_missing() - count the tables that vta_mmu_map() will take from the spare ones
 * @mmu: the address space
 * @addr: device address
 * @bus: bus address, or offset in card memory
 * @len: bytes
 * @missing: the count; for several pieces call in the order of their addresses
 *
 * @addr, @bus and @len are multiples of VTA_L2_SIZE.
 *
 * Context: under vta_ctx.lock.
 */
void vta_mmu_count_missing(const struct vta_mmu *mmu, u64 addr, u64 bus, u64 len,
			   struct vta_missing *missing);

/**
 * vta_mmu_map() - map memory
 * @mmu: the address space
 * @addr: device address
 * @bus: bus address, or offset in card memory
 * @len: bytes
 * @flags: VTA_PTE_WRITE, VTA_PTE_CARD
 * @spare: at least as many tables as vta_mmu_count_missing() has counted
 *
 * Context: under vta_ctx.lock.
 */
void vta_mmu_map(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags,
		 struct vta_spare *spare);

/**
 * vta_mmu_map_new() - map memory in an address space of the driver's own
 * @mmu: the address space
 * @addr: device address
 * @bus: bus address, or offset in card memory
 * @len: bytes
 * @flags: VTA_PTE_WRITE, VTA_PTE_CARD
 *
 * Return: 0 or -ENOMEM.
 */
int vta_mmu_map_new(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags);

/**
 * vta_mmu_unmap() - unmap memory, and wait until the card does not access it any more
 * @mmu: the address space
 * @addr: device address
 * @len: bytes
 *
 * Context: under vta_ctx.lock.
 * Return: 0, or -ENODEV if a reset has been requested: until then the card may access the memory.
 */
int vta_mmu_unmap(struct vta_mmu *mmu, u64 addr, u64 len);

/* ---- Free device addresses (vta_iova.c) ---- */

/**
 * vta_iova_create() - make the allocator of a context's device addresses
 *
 * Context: may sleep for the caller's memory.
 * Return: the allocator, or NULL.
 */
struct vta_iova *vta_iova_create(void);

/**
 * vta_iova_destroy() - free the allocator
 * @iova: the allocator
 */
void vta_iova_destroy(struct vta_iova *iova);

/**
 * vta_iova_alloc() - allocate device addresses
 * @iova: the allocator
 * @size: bytes, whole pages
 * @align: alignment, a power of two
 * @skew: offset in a large page at which the memory to be mapped starts: if possible, the
 *        large pages of memory and card coincide
 * @addr: out: the device address
 *
 * Return: 0 or -ENOSPC.
 */
int vta_iova_alloc(struct vta_iova *iova, u64 size, u64 align, u64 skew, u64 *addr);

/**
 * vta_iova_reserve() - allocate given device addresses
 * @iova: the allocator
 * @size: bytes, whole pages
 * @addr: the device address
 *
 * Return: 0, or -EEXIST if one of the pages is in use.
 */
int vta_iova_reserve(struct vta_iova *iova, u64 size, u64 addr);

/**
 * vta_iova_free() - free device addresses
 * @iova: the allocator
 * @addr: the device address
 * @size: bytes
 */
void vta_iova_free(struct vta_iova *iova, u64 addr, u64 size);

#endif /* VTA_MMU_H */

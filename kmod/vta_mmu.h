/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_mmu.h - the page table through which the card sees a context's memory, and its addresses
 */
#ifndef VTA_MMU_H
#define VTA_MMU_H

#include <linux/list.h>
#include <linux/types.h>

#include "vta_regs.h"

struct vta_device;
struct vta_iova;

#define VTA_L1_SIZE	BIT_ULL(VTA_L1_SHIFT)	/* what a first-level entry maps */
#define VTA_L2_SIZE	BIT_ULL(VTA_L2_SHIFT)	/* what a second-level entry maps */
#define VTA_ADDR_END	((u64)VTA_L1_ENTRIES << VTA_L1_SHIFT)
/* The first page has no address that a buffer could have. */
#define VTA_BUF_SIZE_MAX	(VTA_ADDR_END - PAGE_SIZE)

struct vta_table;

/**
 * struct vta_mmu - a device address space; protected by vta_ctx.lock
 * @vdev: the card
 * @id: number of the context on the card
 * @l1: first-level table
 * @l1_bus: its bus address
 * @tables: second-level tables by first-level index
 * @stale: tables taken out that the card may still read
 */
struct vta_mmu {
	struct vta_device *vdev;
	unsigned int id;
	__le64 *l1;
	dma_addr_t l1_bus;
	struct vta_table **tables;
	struct list_head stale;
};

/**
 * struct vta_spare - second-level tables that no address space has yet
 * @tables: the tables
 * @nr: how many
 */
struct vta_spare {
	struct list_head tables;
	unsigned int nr;
};

#define VTA_SPARE_INIT(spare)	{ .tables = LIST_HEAD_INIT((spare).tables) }

/**
 * struct vta_missing - second-level tables that are needed and not there; zeroes at first
 * @nr: how many
 * @end: first-level entries from here on have not been looked at
 */
struct vta_missing {
	unsigned int nr;
	unsigned int end;
};

/* These allocate memory of the caller's, and may sleep for it: not under vta_ctx.lock. */
int vta_mmu_init(struct vta_mmu *mmu, struct vta_device *vdev, unsigned int id);
void vta_mmu_fini(struct vta_mmu *mmu);
/* Makes it @nr tables, if it has fewer; -ENOMEM. */
int vta_spare_add(struct vta_spare *spare, struct vta_device *vdev, unsigned int nr);
void vta_spare_free(struct vta_spare *spare, struct vta_device *vdev);

/* Makes the card use the table; makes it forget it. */
void vta_mmu_enable(struct vta_mmu *mmu);
int vta_mmu_disable(struct vta_mmu *mmu);

/*
 * Maps bytes from device address @addr to bus address @bus; all multiples of VTA_L2_SIZE. @flags:
 * VTA_PTE_WRITE, VTA_PTE_CARD. @spare has the tables that are missing, which are counted before:
 * for all pieces of a buffer, in the order of their addresses.
 */
void vta_mmu_count_missing(const struct vta_mmu *mmu, u64 addr, u64 bus, u64 len,
			   struct vta_missing *missing);
void vta_mmu_map(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags,
		 struct vta_spare *spare);
/* The same for an address space of the driver's own; -ENOMEM. */
int vta_mmu_map_new(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags);

/*
 * When it has returned 0, the card does not touch what was mapped there. When
 * it fails, it may, and a reset has been requested.
 */
int vta_mmu_unmap(struct vta_mmu *mmu, u64 addr, u64 len);

/* ---- Device addresses that are free (vta_iova.c) ---- */

/* NULL: no memory. */
struct vta_iova *vta_iova_create(void);
void vta_iova_destroy(struct vta_iova *iova);

/*
 * Device addresses, a multiple of @align. @skew is where in a large page the
 * memory to be mapped starts: it is placed so that its large pages meet those
 * of the card, if it has any. Returns -ENOSPC if there is no room.
 */
int vta_iova_alloc(struct vta_iova *iova, u64 size, u64 align, u64 skew, u64 *addr);
/* These device addresses. Returns -EEXIST if one of them is taken. */
int vta_iova_reserve(struct vta_iova *iova, u64 size, u64 addr);
void vta_iova_free(struct vta_iova *iova, u64 addr, u64 size);

#endif /* VTA_MMU_H */

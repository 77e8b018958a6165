/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_mmu.h - the page table through which the card sees a context's memory
 */
#ifndef VTA_MMU_H
#define VTA_MMU_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "vta_regs.h"

struct vta_device;

#define VTA_L1_SIZE	BIT_ULL(VTA_L1_SHIFT)	/* what a first-level entry maps */
#define VTA_L2_SIZE	BIT_ULL(VTA_L2_SHIFT)	/* what a second-level entry maps */
#define VTA_ADDR_END	((u64)VTA_L1_ENTRIES << VTA_L1_SHIFT)

/**
 * struct vta_mmu - a device address space; protected by vta_ctx.lock
 * @vdev: the card
 * @id: number of the context on the card
 * @borrowed: the number is not the table's own
 * @l1: first-level table
 * @l1_bus: its bus address
 * @tables: second-level tables, struct vta_table, by first-level index
 * @stale: tables taken out that the card may still read
 */
struct vta_mmu {
	struct vta_device *vdev;
	unsigned int id;
	bool borrowed;
	__le64 *l1;
	dma_addr_t l1_bus;
	struct xarray tables;
	struct list_head stale;
};

int vta_mmu_init(struct vta_mmu *mmu, struct vta_device *vdev);
/* With a context's number that is not free; it is not given back. */
int vta_mmu_borrow(struct vta_mmu *mmu, struct vta_device *vdev, unsigned int id);
void vta_mmu_fini(struct vta_mmu *mmu);

/* Makes the card use the table; makes it forget it. */
void vta_mmu_enable(struct vta_mmu *mmu);
int vta_mmu_disable(struct vta_mmu *mmu);

/*
 * Maps bytes from device address @addr to bus address @bus; all multiples of
 * VTA_L2_SIZE. @flags: VTA_PTE_WRITE, VTA_PTE_CARD. If it fails, a part may be
 * mapped: unmap it.
 */
int vta_mmu_map(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags);

/*
 * When it has returned 0, the card does not touch what was mapped there. When
 * it fails, it may, and vta_card_lost() has been told.
 */
int vta_mmu_unmap(struct vta_mmu *mmu, u64 addr, u64 len);

#endif /* VTA_MMU_H */

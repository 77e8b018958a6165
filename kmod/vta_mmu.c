// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_mmu.c - the page table through which the card sees a context's memory
 *
 * docs/hardware.md, section 5. The card keeps valid entries, but never invalid
 * ones: mapping needs no invalidation, unmapping needs one, whatever its size,
 * before the memory or a table may be used for anything else.
 *
 * A second-level table exists as long as it has a valid entry.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "vta_device.h"
#include "vta_mmu.h"
#include "vta_reset.h"

#define VTA_L1_BYTES	(VTA_L1_ENTRIES * sizeof(__le64))
#define VTA_L2_BYTES	(VTA_L2_ENTRIES * sizeof(__le64))

/* The contract's time is for the card alone; this is for a host that is busy. */
#define VTA_INVALIDATE_WAIT_MS	(3 * VTA_INVALIDATE_MS)

/**
 * struct vta_table - a second-level table
 * @entries: what the card reads
 * @bus: its bus address
 * @used: valid entries
 * @node: in vta_mmu.stale
 */
struct vta_table {
	__le64 *entries;
	dma_addr_t bus;
	unsigned int used;
	struct list_head node;
};

/* The card reads entries as 64-bit words. */
static void vta_mmu_set(__le64 *entry, u64 val)
{
	WRITE_ONCE(*entry, cpu_to_le64(val));
}

static u64 vta_mmu_get(const __le64 *entry)
{
	return le64_to_cpu(READ_ONCE(*entry));
}

/* Zeroed memory for a table. */
static __le64 *vta_mmu_alloc(struct vta_device *vdev, size_t size, dma_addr_t *bus)
{
	__le64 *entries = dma_alloc_coherent(&vdev->pdev->dev, size, bus,
					     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (entries)
		atomic64_add(size, &vdev->table_bytes);
	return entries;
}

static void vta_mmu_free(struct vta_device *vdev, size_t size, __le64 *entries, dma_addr_t bus)
{
	dma_free_coherent(&vdev->pdev->dev, size, entries, bus);
	atomic64_sub(size, &vdev->table_bytes);
}

static void vta_table_free(struct vta_mmu *mmu, struct vta_table *table)
{
	vta_mmu_free(mmu->vdev, VTA_L2_BYTES, table->entries, table->bus);
	kfree(table);
}

/* The table for a first-level entry, made if it is not there. */
static struct vta_table *vta_mmu_table(struct vta_mmu *mmu, unsigned int index)
{
	struct vta_table *table = xa_load(&mmu->tables, index);

	if (table)
		return table;

	table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;
	table->entries = vta_mmu_alloc(mmu->vdev, VTA_L2_BYTES, &table->bus);
	if (!table->entries) {
		kfree(table);
		return NULL;
	}
	if (xa_err(xa_store(&mmu->tables, index, table, GFP_KERNEL_ACCOUNT))) {
		vta_table_free(mmu, table);
		return NULL;
	}

	dma_wmb();	/* the card must not see the table before its zeroes */
	vta_mmu_set(&mmu->l1[index], table->bus | VTA_PTE_VALID);
	return table;
}

int vta_mmu_map(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags)
{
	u64 end = addr + len;

	dma_wmb();	/* a queue that runs must not see pages before their zeroes */
	while (addr < end) {
		unsigned int index = addr >> VTA_L1_SHIFT;
		struct vta_table *table;
		u64 step;

		if (IS_ALIGNED(addr | bus, VTA_L1_SIZE) && end - addr >= VTA_L1_SIZE) {
			vta_mmu_set(&mmu->l1[index], bus | flags | VTA_PTE_BLOCK | VTA_PTE_VALID);
			step = VTA_L1_SIZE;
		} else {
			table = vta_mmu_table(mmu, index);
			if (!table)
				return -ENOMEM;
			vta_mmu_set(&table->entries[(addr >> VTA_L2_SHIFT) % VTA_L2_ENTRIES],
				    bus | flags | VTA_PTE_VALID);
			table->used++;
			step = VTA_L2_SIZE;
		}
		addr += step;
		bus += step;
		if (IS_ALIGNED(addr, VTA_L1_SIZE))	/* GiBs of pages take their time */
			cond_resched();
	}
	return 0;
}

static int vta_mmu_invalidate(struct vta_mmu *mmu)
{
	struct vta_device *vdev = mmu->vdev;
	u32 val;
	int ret;

	mutex_lock(&vdev->tlb_lock);
	/* The register write comes after all entries: writel() sees to that. */
	vta_write(vdev, REG_TLB_INVALIDATE, mmu->id);
	ret = vta_read_poll(vdev, REG_TLB_INVALIDATE, val,
			    !(val & REG_TLB_INVALIDATE_BUSY) || vta_is_dead(val),
			    50, VTA_INVALIDATE_WAIT_MS);
	mutex_unlock(&vdev->tlb_lock);

	/*
	 * What was written reads back, which zeroes and ones of no card do not, but for
	 * contexts 0 and 255.
	 */
	if (ret || vta_is_dead(val) || FIELD_GET(REG_TLB_INVALIDATE_CONTEXT, val) != mmu->id ||
	    (!mmu->id && !vta_card_is_there(vdev))) {
		vta_card_lost(vdev, "does not let go of memory");
		return -ENODEV;
	}
	return 0;
}

/* Clears entries of one table, from one address to another. */
static void vta_mmu_clear(struct vta_mmu *mmu, struct vta_table *table, u64 addr, u64 end)
{
	unsigned int index = addr >> VTA_L1_SHIFT;
	__le64 *entry;

	for (; addr < end; addr += VTA_L2_SIZE) {
		entry = &table->entries[(addr >> VTA_L2_SHIFT) % VTA_L2_ENTRIES];
		if (vta_mmu_get(entry) & VTA_PTE_VALID) {
			vta_mmu_set(entry, 0);
			table->used--;
		}
	}
	if (!table->used) {
		vta_mmu_set(&mmu->l1[index], 0);
		xa_erase(&mmu->tables, index);
		list_add(&table->node, &mmu->stale);
	}
}

int vta_mmu_unmap(struct vta_mmu *mmu, u64 addr, u64 len)
{
	struct vta_table *table, *tmp;
	u64 end = addr + len;
	u64 next;
	int ret;

	for (; addr < end; addr = next) {
		next = min(ALIGN(addr + 1, VTA_L1_SIZE), end);
		table = xa_load(&mmu->tables, addr >> VTA_L1_SHIFT);
		if (table)
			vta_mmu_clear(mmu, table, addr, next);
		else	/* a block, or nothing */
			vta_mmu_set(&mmu->l1[addr >> VTA_L1_SHIFT], 0);
		cond_resched();
	}

	ret = vta_mmu_invalidate(mmu);
	if (ret)
		return ret;
	list_for_each_entry_safe(table, tmp, &mmu->stale, node) {
		list_del(&table->node);
		vta_table_free(mmu, table);
	}
	return 0;
}

void vta_mmu_enable(struct vta_mmu *mmu)
{
	vta_write64(mmu->vdev, REG_CONTEXT_ROOT_LO(mmu->id), mmu->l1_bus);
	vta_write(mmu->vdev, REG_CONTEXT_CTRL(mmu->id), REG_CONTEXT_CTRL_ENABLE);
}

int vta_mmu_disable(struct vta_mmu *mmu)
{
	vta_write(mmu->vdev, REG_CONTEXT_CTRL(mmu->id), 0);
	return vta_mmu_invalidate(mmu);
}

int vta_mmu_borrow(struct vta_mmu *mmu, struct vta_device *vdev, unsigned int id)
{
	/* Coherent memory is aligned to its size. */
	mmu->l1 = vta_mmu_alloc(vdev, VTA_L1_BYTES, &mmu->l1_bus);
	if (!mmu->l1)
		return -ENOMEM;
	mmu->vdev = vdev;
	mmu->id = id;
	mmu->borrowed = true;
	xa_init(&mmu->tables);
	INIT_LIST_HEAD(&mmu->stale);
	return 0;
}

int vta_mmu_init(struct vta_mmu *mmu, struct vta_device *vdev)
{
	int id, ret;

	id = ida_alloc_max(&vdev->ctx_ids, vdev->caps.contexts - 1, GFP_KERNEL);
	if (id < 0)
		return id;
	ret = vta_mmu_borrow(mmu, vdev, id);
	if (ret)
		ida_free(&vdev->ctx_ids, id);
	mmu->borrowed = false;
	return ret;
}

void vta_mmu_fini(struct vta_mmu *mmu)
{
	struct vta_table *table, *tmp;
	unsigned long index;

	xa_for_each(&mmu->tables, index, table)
		vta_table_free(mmu, table);
	xa_destroy(&mmu->tables);
	list_for_each_entry_safe(table, tmp, &mmu->stale, node)
		vta_table_free(mmu, table);
	vta_mmu_free(mmu->vdev, VTA_L1_BYTES, mmu->l1, mmu->l1_bus);
	mmu->l1 = NULL;
	if (!mmu->borrowed)
		ida_free(&mmu->vdev->ctx_ids, mmu->id);
}

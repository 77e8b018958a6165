// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_mmu.c - the page table through which the card sees a context's memory
 *
 * docs/hardware.md, section 5. The card caches valid entries, but never invalid ones. So mapping
 * needs no invalidation; unmapping needs one before the memory or a table may be used for anything
 * else. A second-level table exists as long as it has a valid entry.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vta_device.h"
#include "vta_mmu.h"
#include "vta_user.h"

/*
 * Tables are charged to the caller, and fail instead of starting the OOM killer. A user's tables
 * are allocated while removal of the card waits, without sleeping for the user's memory.
 */
#define VTA_TABLE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define VTA_NOWAIT_GFP	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

#define VTA_L1_BYTES	(VTA_L1_ENTRIES * sizeof(__le64))
#define VTA_L2_BYTES	(VTA_L2_ENTRIES * sizeof(__le64))

/* The contract's limit is for the card alone; this one allows for a busy host, too. */
#define VTA_INVALIDATE_WAIT_MS	(3 * VTA_INVALIDATE_MS)

/**
 * struct vta_table - a second-level table
 * @entries: the entries, as the card reads them
 * @bus: its bus address
 * @used: number of valid entries
 * @node: in vta_spare.tables or vta_mmu.stale
 */
struct vta_table {
	__le64 *entries;
	dma_addr_t bus;
	unsigned int used;
	struct list_head node;
};

/* The card reads entries as 64-bit words, so they are written at once. */
static void vta_pte_write(__le64 *entry, u64 val)
{
	WRITE_ONCE(*entry, cpu_to_le64(val));
}

static u64 vta_pte_read(const __le64 *entry)
{
	return le64_to_cpu(READ_ONCE(*entry));
}

static gfp_t vta_mmu_gfp(const struct vta_mmu *mmu)
{
	return mmu->user ? VTA_NOWAIT_GFP : VTA_TABLE_GFP;
}

/* Allocates zeroed memory for a table. */
static __le64 *vta_mmu_alloc_entries(struct vta_mmu *mmu, size_t size, dma_addr_t *bus)
{
	__le64 *entries = dma_alloc_coherent(&mmu->vdev->pdev->dev, size, bus, vta_mmu_gfp(mmu));

	if (entries)
		atomic64_add(size, &mmu->vdev->table_bytes);
	return entries;
}

static void vta_mmu_free_entries(struct vta_device *vdev, size_t size, __le64 *entries,
				 dma_addr_t bus)
{
	dma_free_coherent(&vdev->pdev->dev, size, entries, bus);
	atomic64_sub(size, &vdev->table_bytes);
}

/* Charges a second-level table to the user, if the address space is one's. */
static int vta_table_charge(struct vta_mmu *mmu)
{
	return mmu->user ? vta_user_charge(mmu->vdev, mmu->user, VTA_USER_HOST_MEM, VTA_L2_BYTES,
					   mmu->file) : 0;
}

static void vta_table_uncharge(struct vta_mmu *mmu)
{
	if (mmu->user)
		vta_user_uncharge(mmu->vdev, mmu->user, VTA_USER_HOST_MEM, VTA_L2_BYTES);
}

static void vta_table_free(struct vta_mmu *mmu, struct vta_table *table)
{
	vta_mmu_free_entries(mmu->vdev, VTA_L2_BYTES, table->entries, table->bus);
	kfree(table);
	vta_table_uncharge(mmu);
}

static void vta_tables_free(struct vta_mmu *mmu, struct list_head *tables)
{
	struct vta_table *table, *tmp;

	list_for_each_entry_safe(table, tmp, tables, node)
		vta_table_free(mmu, table);
	INIT_LIST_HEAD(tables);
}

static struct vta_table *vta_table_alloc(struct vta_mmu *mmu)
{
	struct vta_table *table;
	int ret = vta_table_charge(mmu);

	if (ret)
		return ERR_PTR(ret);
	table = kzalloc(sizeof(*table), vta_mmu_gfp(mmu));
	if (!table)
		goto err_charge;
	table->entries = vta_mmu_alloc_entries(mmu, VTA_L2_BYTES, &table->bus);
	if (!table->entries)
		goto err_free;
	return table;

err_free:
	kfree(table);
err_charge:
	vta_table_uncharge(mmu);
	return ERR_PTR(-ENOMEM);
}

int vta_spare_add(struct vta_spare *spare, struct vta_mmu *mmu, unsigned int nr)
{
	for (; spare->nr < nr; spare->nr++) {
		struct vta_table *table = vta_table_alloc(mmu);

		if (IS_ERR(table))
			return PTR_ERR(table);
		list_add(&table->node, &spare->tables);
		cond_resched();
	}
	return 0;
}

void vta_spare_free(struct vta_spare *spare, struct vta_mmu *mmu)
{
	vta_tables_free(mmu, &spare->tables);
	spare->nr = 0;
}

/* Memory of the size of a table, until it is freed for one. */
struct vta_room {
	struct list_head node;
	size_t size;
};

static int vta_room_add(struct list_head *rooms, size_t size)
{
	struct vta_room *room = (void *)__get_free_pages(VTA_TABLE_GFP, get_order(size));

	if (!room)
		return -ENOMEM;
	room->size = size;
	list_add(&room->node, rooms);
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

int vta_mmu_make_room(unsigned int nr)
{
	struct vta_room *room, *next;
	LIST_HEAD(rooms);
	int ret;

	ret = vta_room_add(&rooms, VTA_L1_BYTES);
	for (; nr && !ret; nr--)
		ret = vta_room_add(&rooms, VTA_L2_BYTES);
	list_for_each_entry_safe(room, next, &rooms, node)
		free_pages((unsigned long)room, get_order(room->size));
	return ret;
}

/* Returns the table of a first-level entry; if there is none yet, it is a spare one. */
static struct vta_table *vta_mmu_get_table(struct vta_mmu *mmu, unsigned int index,
					   struct vta_spare *spare)
{
	struct vta_table *table = mmu->tables[index];

	if (table)
		return table;

	table = list_first_entry(&spare->tables, struct vta_table, node);
	list_del(&table->node);
	spare->nr--;
	mmu->tables[index] = table;
	dma_wmb();	/* the card must not see the table before its zeroes */
	vta_pte_write(&mmu->l1[index], table->bus | VTA_PTE_VALID);
	return table;
}

/* Checks whether one first-level entry maps the memory at @addr. */
static bool vta_mmu_is_block(u64 addr, u64 bus, u64 end)
{
	return IS_ALIGNED(addr | bus, VTA_L1_SIZE) && end - addr >= VTA_L1_SIZE;
}

void vta_mmu_count_missing(const struct vta_mmu *mmu, u64 addr, u64 bus, u64 len,
			   struct vta_missing *missing)
{
	u64 end = addr + len, next;

	for (; addr < end; bus += next - addr, addr = next) {
		unsigned int index = addr >> VTA_L1_SHIFT;

		next = min(ALIGN(addr + 1, VTA_L1_SIZE), end);
		if (mmu->tables[index] || vta_mmu_is_block(addr, bus, end) || missing->end > index)
			continue;
		missing->nr++;
		missing->end = index + 1;
	}
}

void vta_mmu_map(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags,
		 struct vta_spare *spare)
{
	u64 end = addr + len;

	dma_wmb();	/* a running queue must not see pages before their zeroes */
	while (addr < end) {
		unsigned int index = addr >> VTA_L1_SHIFT;
		struct vta_table *table;
		u64 step;

		if (vta_mmu_is_block(addr, bus, end)) {
			vta_pte_write(&mmu->l1[index], bus | flags | VTA_PTE_BLOCK | VTA_PTE_VALID);
			step = VTA_L1_SIZE;
		} else {
			table = vta_mmu_get_table(mmu, index, spare);
			vta_pte_write(&table->entries[(addr >> VTA_L2_SHIFT) % VTA_L2_ENTRIES],
				      bus | flags | VTA_PTE_VALID);
			table->used++;
			step = VTA_L2_SIZE;
		}
		addr += step;
		bus += step;
		if (IS_ALIGNED(addr, VTA_L1_SIZE))	/* GiBs of pages take long */
			cond_resched();
	}
}

int vta_mmu_map_new(struct vta_mmu *mmu, u64 addr, u64 bus, u64 len, u64 flags)
{
	struct vta_spare spare = VTA_SPARE_INIT(spare);
	struct vta_missing missing = {};
	int ret;

	vta_mmu_count_missing(mmu, addr, bus, len, &missing);
	ret = vta_spare_add(&spare, mmu, missing.nr);
	if (!ret)
		vta_mmu_map(mmu, addr, bus, len, flags, &spare);
	vta_spare_free(&spare, mmu);
	return ret;
}

/* Returns 0 if the last invalidation has ended, -EBUSY, or -ENODEV if the card has failed. */
static int vta_mmu_check_invalidation(struct vta_device *vdev)
{
	u32 val;

	lockdep_assert_held(&vdev->tlb_lock);

	if (!vdev->tlb_busy)
		return 0;
	val = vta_read(vdev, REG_TLB_INVALIDATE);
	if (vta_is_dead(val))
		return -ENODEV;
	if (val & REG_TLB_INVALIDATE_BUSY)
		return -EBUSY;
	/*
	 * The register reads back the context. An absent card reads as zeroes or ones, which are
	 * contexts 0 and 255.
	 */
	if (FIELD_GET(REG_TLB_INVALIDATE_CONTEXT, val) != vdev->tlb_ctx ||
	    (!vdev->tlb_ctx && !vta_card_is_present(vdev)))
		return -ENODEV;
	vdev->tlb_busy = false;
	return 0;
}

/*
 * Starts an invalidation, and sets *nr to its number; returns -EBUSY while another one runs. With
 * *nr set, returns as vta_mmu_check_invalidation(), for that one. No lock is held from one call to
 * the next, since the thread may be throttled: the next invalidation starts after this one has
 * ended, no matter who finds out.
 */
static int vta_mmu_try_invalidate(struct vta_mmu *mmu, u64 *nr)
{
	struct vta_device *vdev = mmu->vdev;
	int ret = 0;

	spin_lock(&vdev->tlb_lock);
	if (!*nr || *nr == vdev->tlb_started)
		ret = vta_mmu_check_invalidation(vdev);
	if (!*nr && !ret) {
		/* writel() orders the register write after those to the entries. */
		vta_write(vdev, REG_TLB_INVALIDATE, mmu->id);
		vdev->tlb_busy = true;
		vdev->tlb_ctx = mmu->id;
		*nr = ++vdev->tlb_started;
	}
	/* A card in reset may read as one that has ended it. */
	if (!vta_card_is_current(vdev, mmu->epoch))
		ret = -ENODEV;
	spin_unlock(&vdev->tlb_lock);
	return ret;
}

static int vta_mmu_invalidate(struct vta_mmu *mmu)
{
	struct vta_device *vdev = mmu->vdev;
	u64 nr = 0, started;
	int ret, busy;

	/* The time-out is that of each invalidation before this one. */
	do {
		started = READ_ONCE(vdev->tlb_started);
		ret = vta_poll_twice(vta_mmu_try_invalidate, busy, busy != -EBUSY,
				     50, VTA_INVALIDATE_WAIT_MS, mmu, &nr);
	} while (ret && READ_ONCE(vdev->tlb_started) != started);
	if (!ret && !busy)
		ret = vta_poll_twice(vta_mmu_try_invalidate, busy, busy != -EBUSY,
				     50, VTA_INVALIDATE_WAIT_MS, mmu, &nr);
	if (!ret && !busy)
		return 0;
	return vta_card_fail(vdev, mmu->epoch, "TLB invalidation timed out");
}

void vta_mmu_restart(struct vta_device *vdev)
{
	spin_lock(&vdev->tlb_lock);
	vdev->tlb_busy = false;
	spin_unlock(&vdev->tlb_lock);
}

/* Clears the entries of one table for the addresses from @addr to @end. */
static void vta_mmu_clear_entries(struct vta_mmu *mmu, struct vta_table *table, u64 addr, u64 end)
{
	unsigned int index = addr >> VTA_L1_SHIFT;
	__le64 *entry;

	for (; addr < end; addr += VTA_L2_SIZE) {
		entry = &table->entries[(addr >> VTA_L2_SHIFT) % VTA_L2_ENTRIES];
		if (vta_pte_read(entry) & VTA_PTE_VALID) {
			vta_pte_write(entry, 0);
			table->used--;
		}
	}
	if (!table->used) {
		vta_pte_write(&mmu->l1[index], 0);
		mmu->tables[index] = NULL;
		list_add(&table->node, &mmu->stale);
	}
}

int vta_mmu_unmap(struct vta_mmu *mmu, u64 addr, u64 len)
{
	struct vta_table *table;
	u64 end = addr + len;
	u64 next;
	int ret;

	for (; addr < end; addr = next) {
		next = min(ALIGN(addr + 1, VTA_L1_SIZE), end);
		table = mmu->tables[addr >> VTA_L1_SHIFT];
		if (table)
			vta_mmu_clear_entries(mmu, table, addr, next);
		else	/* a block, or unmapped */
			vta_pte_write(&mmu->l1[addr >> VTA_L1_SHIFT], 0);
		cond_resched();
	}

	ret = vta_mmu_invalidate(mmu);
	if (!ret)
		vta_tables_free(mmu, &mmu->stale);
	return ret;
}

void vta_mmu_enable(struct vta_mmu *mmu)
{
	mmu->epoch = mmu->vdev->epoch;
	vta_write64(mmu->vdev, REG_CONTEXT_ROOT_LO(mmu->id), mmu->l1_bus);
	vta_write(mmu->vdev, REG_CONTEXT_CTRL(mmu->id), REG_CONTEXT_CTRL_ENABLE);
}

int vta_mmu_disable(struct vta_mmu *mmu)
{
	vta_write(mmu->vdev, REG_CONTEXT_CTRL(mmu->id), 0);
	return vta_mmu_invalidate(mmu);
}

int vta_mmu_init(struct vta_mmu *mmu, struct vta_device *vdev, unsigned int id)
{
	mmu->vdev = vdev;
	mmu->id = id;
	INIT_LIST_HEAD(&mmu->stale);
	mmu->tables = kvcalloc(VTA_L1_ENTRIES, sizeof(*mmu->tables), VTA_TABLE_GFP);
	return mmu->tables ? 0 : -ENOMEM;
}

int vta_mmu_alloc_root(struct vta_mmu *mmu)
{
	/* Coherent memory is aligned to its size. */
	mmu->l1 = vta_mmu_alloc_entries(mmu, VTA_L1_BYTES, &mmu->l1_bus);
	return mmu->l1 ? 0 : -ENOMEM;
}

void vta_mmu_free_root(struct vta_mmu *mmu)
{
	if (mmu->l1)
		vta_mmu_free_entries(mmu->vdev, VTA_L1_BYTES, mmu->l1, mmu->l1_bus);
	mmu->l1 = NULL;
}

void vta_mmu_fini(struct vta_mmu *mmu)
{
	unsigned int i;

	for (i = 0; i < VTA_L1_ENTRIES; i++) {
		if (mmu->tables[i])
			vta_table_free(mmu, mmu->tables[i]);
	}
	kvfree(mmu->tables);
	vta_tables_free(mmu, &mmu->stale);
	vta_mmu_free_root(mmu);
}

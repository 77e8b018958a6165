// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_host.c - pages of host memory, and their mapping for a device
 *
 * The pages are allocated in chunks of 2 MiB while these are available cheaply, so that large
 * page-table entries can map them. Card and CPU use the pages at the same time, with no call in
 * between. So a bus address must lead to the page itself, and a host that would bounce DMA is
 * refused.
 */
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vta_compat.h"
#include "vta_mem.h"
#include "vta_mmu.h"

#define VTA_CHUNK_ORDER	(VTA_L1_SHIFT - PAGE_SHIFT)

/*
 * Large requests fail instead of starting the OOM killer. The same applies to tables whose size
 * grows with the number of pages.
 */
#define VTA_TABLE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define VTA_PAGE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define VTA_CHUNK_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN)

/*
 * The memory is coherent, so there is nothing to synchronise. It may also be mapped several times:
 * a process may pin a page twice, and have the card write it through both mappings.
 */
#define VTA_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/* Adds 2^order pages. */
static int vta_host_grow(struct vta_host *host, gfp_t gfp, unsigned int order)
{
	struct page *page = alloc_pages(gfp, order);
	unsigned long i;

	if (!page)
		return -ENOMEM;
	split_page(page, order);
	for (i = 0; i < BIT(order); i++)
		host->pages[host->nr++] = page + i;
	return 0;
}

int vta_host_init(struct vta_host *host, u64 size)
{
	host->pages = kvcalloc(size >> PAGE_SHIFT, sizeof(*host->pages), VTA_TABLE_GFP);
	host->nr = 0;
	return host->pages ? 0 : -ENOMEM;
}

int vta_host_alloc(struct vta_host *host, u64 size)
{
	unsigned long total = size >> PAGE_SHIFT;
	bool chunks = true;
	int ret;

	/*
	 * Check first that the pages and their tables, of up to 48 bytes a page, are available,
	 * instead of exhausting the machine's memory.
	 */
	if ((long)(total + total / 64) > si_mem_available())
		return -ENOMEM;
	ret = vta_host_init(host, size);
	while (host->nr < total && !ret) {
		if (chunks && total - host->nr >= BIT(VTA_CHUNK_ORDER))
			chunks = !vta_host_grow(host, VTA_CHUNK_GFP, VTA_CHUNK_ORDER);
		else
			ret = vta_host_grow(host, VTA_PAGE_GFP, 0);
		if (fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	if (ret)
		vta_host_free(host);
	return ret;
}

void vta_host_free(struct vta_host *host)
{
	unsigned long i;

	for (i = 0; i < host->nr; i++) {
		__free_page(host->pages[i]);
		if (i % BIT(VTA_CHUNK_ORDER) == 0)
			cond_resched();
	}
	kvfree(host->pages);
	host->pages = NULL;
	host->nr = 0;
}

/* Returns the physical address behind a bus address. */
static phys_addr_t vta_bus_to_phys(struct device *dev, dma_addr_t bus)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	/* A pass-through domain may not translate addresses. */
	if (domain && domain->type & __IOMMU_DOMAIN_PAGING)
		return iommu_iova_to_phys(domain, bus);
	return dma_to_phys(dev, bus);
}

/* Checks each piece, because pieces are bounced one by one. */
static bool vta_host_is_direct(const struct vta_host *host, struct sg_table *sgt,
			       struct device *dev)
{
	struct scatterlist *sg;
	unsigned long page = 0;
	unsigned int i;

	if (!dev_is_dma_coherent(dev))
		return false;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (vta_bus_to_phys(dev, sg_dma_address(sg)) != page_to_phys(host->pages[page]))
			return false;
		page += sg_dma_len(sg) >> PAGE_SHIFT;
	}
	return true;
}

struct sg_table *vta_host_sgt_alloc(const struct vta_host *host, struct device *dev)
{
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table_from_pages_segment(sgt, host->pages, host->nr, 0,
						(u64)host->nr << PAGE_SHIFT,
						ALIGN_DOWN(dma_get_max_seg_size(dev), PAGE_SIZE),
						VTA_TABLE_GFP);
	if (!ret)
		return sgt;
	/* Before 5.15 a failed call leaves a part of the table. */
	vta_host_sgt_free(sgt);
	return ERR_PTR(ret);
}

void vta_host_sgt_free(struct sg_table *sgt)
{
	sg_free_table(sgt);
	kfree(sgt);
}

int vta_host_sgt_map(const struct vta_host *host, struct sg_table *sgt, struct device *dev,
		     enum dma_data_direction dir)
{
	int ret = dma_map_sgtable(dev, sgt, dir, VTA_DMA_ATTRS);

	/* Any other error means that bounce buffers were too small. */
	if (ret)
		return ret == -ENOMEM ? ret : -EOPNOTSUPP;
	if (vta_host_is_direct(host, sgt, dev))
		return 0;
	vta_host_sgt_unmap(sgt, dev, dir);
	return -EOPNOTSUPP;
}

void vta_host_sgt_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir)
{
	dma_unmap_sgtable(dev, sgt, dir, VTA_DMA_ATTRS);
}

struct sg_table *vta_host_map(const struct vta_host *host, struct device *dev,
			      enum dma_data_direction dir)
{
	struct sg_table *sgt = vta_host_sgt_alloc(host, dev);
	int ret;

	if (IS_ERR(sgt))
		return sgt;
	ret = vta_host_sgt_map(host, sgt, dev, dir);
	if (!ret)
		return sgt;
	vta_host_sgt_free(sgt);
	return ERR_PTR(ret);
}

void vta_host_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir)
{
	vta_host_sgt_unmap(sgt, dev, dir);
	vta_host_sgt_free(sgt);
}

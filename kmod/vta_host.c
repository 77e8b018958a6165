// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_host.c - host memory that the card can reach
 *
 * The pages are scattered; only the card's view of them is contiguous. They
 * come in chunks of 2 MiB while those are to be had cheaply, for the sake of
 * large entries in the page tables.
 *
 * Card and CPU use the pages at the same time, with no call in between. So the
 * bus address must lead to the page itself and the host must be coherent. A
 * host that would bounce the card's DMA is refused.
 */
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vta_device.h"
#include "vta_host.h"
#include "vta_mmu.h"

#define VTA_CHUNK_ORDER	(VTA_L1_SHIFT - PAGE_SHIFT)

/* Never the OOM killer: a user asks for much, and the user is told no. */
#define VTA_PAGE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define VTA_CHUNK_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN)

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

int vta_host_alloc(struct vta_host *host, u64 size)
{
	unsigned long total = size >> PAGE_SHIFT;
	bool chunks = true;
	int ret = 0;

	/* Do not drive the machine to the wall to find that it does not fit. */
	if ((long)total > si_mem_available())
		return -ENOMEM;
	host->pages = kvcalloc(total, sizeof(*host->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!host->pages)
		return -ENOMEM;

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

/* What is really there behind a bus address. */
static phys_addr_t vta_bus_to_phys(struct device *dev, dma_addr_t bus)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain ? iommu_iova_to_phys(domain, bus) : dma_to_phys(dev, bus);
}

/* Pages are bounced piece by piece, so each piece is looked at. */
static bool vta_host_is_direct(struct vta_host *host, struct device *dev)
{
	struct scatterlist *sg;
	unsigned long page = 0;
	unsigned int i;

	if (!dev_is_dma_coherent(dev))
		return false;
	for_each_sgtable_dma_sg(&host->sgt, sg, i) {
		if (vta_bus_to_phys(dev, sg_dma_address(sg)) != page_to_phys(host->pages[page]))
			return false;
		page += sg_dma_len(sg) >> PAGE_SHIFT;
	}
	return true;
}

int vta_host_map(struct vta_host *host, struct vta_device *vdev, enum dma_data_direction dir)
{
	struct device *dev = &vdev->pdev->dev;
	int ret;

	ret = sg_alloc_table_from_pages(&host->sgt, host->pages, host->nr, 0,
					(u64)host->nr << PAGE_SHIFT, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	host->dir = dir;
	ret = dma_map_sgtable(dev, &host->sgt, dir, 0);
	if (!ret && vta_host_is_direct(host, dev))
		return 0;

	if (ret)
		sg_free_table(&host->sgt);
	else
		vta_host_unmap(host, vdev);
	if (ret == -ENOMEM)
		return ret;
	dev_err_ratelimited(&vdev->dev,
			    "this host would copy what card and processes share: boot without swiotlb=force or memory encryption, or with an IOMMU\n");
	return -EOPNOTSUPP;
}

void vta_host_unmap(struct vta_host *host, struct vta_device *vdev)
{
	if (!host->sgt.sgl)
		return;
	dma_unmap_sgtable(&vdev->pdev->dev, &host->sgt, host->dir, 0);
	sg_free_table(&host->sgt);
}

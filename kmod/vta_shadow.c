// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_shadow.c - the card's memory, kept in host memory during suspend
 *
 * The CPU would read uncached memory at some 50 MB/s, so the card's copy engine copies it. All
 * queues have been stopped, and the driver will program them again, so queue 0 and context 0 can be
 * used. For each batch of pages, those of card and host are mapped to consecutive device addresses,
 * and one COPY moves them.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "vta_cardmem.h"
#include "vta_device.h"
#include "vta_mem.h"
#include "vta_mmu.h"
#include "vta_pm.h"
#include "vta.h"

/* Bytes of one COPY, which takes some ms and at most 16 second-level tables for each side. */
#define VTA_SHADOW_BATCH		SZ_32M
/* Time-out of one COPY, on a busy host. */
#define VTA_SHADOW_MS		10000

/* Device addresses. */
#define VTA_SHADOW_RING		SZ_2M
#define VTA_SHADOW_HOST		SZ_512M
#define VTA_SHADOW_CARD		SZ_1G

/* The context and the queue that are used. */
#define VTA_SHADOW_CTX		0
#define VTA_SHADOW_QUEUE		0

/**
 * struct vta_shadow - a copy of the card's memory
 * @host: pages of the host, at least one for each bit that is set in @used
 * @sgt: their bus addresses
 * @saved: the pages in use have been copied to @host
 * @shared: ring and status page of the queue
 * @shared_bus: its bus address
 * @mmu: the context
 * @submitted: descriptors submitted to the queue since its start
 * @used: a bit for each page of the card's memory, set if the page is in use
 */
struct vta_shadow {
	struct vta_host host;
	struct sg_table *sgt;
	bool saved;
	void *shared;
	dma_addr_t shared_bus;
	struct vta_mmu mmu;
	u32 submitted;
	unsigned long used[];
};

/* Layout of vta_shadow.shared: a ring of two descriptors, and the status page. */
#define VTA_SHADOW_RING_ORDER	1
#define VTA_SHADOW_STATUS		VTA_STATUS_ALIGN

static unsigned long vta_shadow_pages(const struct vta_device *vdev)
{
	return vdev->caps.mem_size >> PAGE_SHIFT;
}

/* ---- Memory for the copy ---- */

static void vta_shadow_free_host(struct vta_device *vdev)
{
	struct vta_shadow *shadow = vdev->shadow;

	if (shadow->sgt)
		vta_host_unmap(shadow->sgt, &vdev->pdev->dev, DMA_BIDIRECTIONAL);
	shadow->sgt = NULL;
	vta_host_free(&shadow->host);
}

static int vta_shadow_alloc_host(struct vta_device *vdev, unsigned long pages)
{
	struct vta_shadow *shadow = vdev->shadow;
	struct sg_table *sgt;
	int ret;

	vta_shadow_free_host(vdev);
	ret = vta_host_alloc(&shadow->host, (u64)pages << PAGE_SHIFT);
	if (ret)
		return ret;
	sgt = vta_host_map(&shadow->host, &vdev->pdev->dev, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	shadow->sgt = sgt;
	return 0;
}

/* Allocates the context, and ring and status page of the queue. */
static int vta_shadow_create(struct vta_device *vdev)
{
	struct device *dev = &vdev->pdev->dev;
	struct vta_shadow *shadow;
	int ret;

	shadow = kvzalloc(struct_size(shadow, used, BITS_TO_LONGS(vta_shadow_pages(vdev))),
			  GFP_KERNEL);
	if (!shadow)
		return -ENOMEM;
	ret = vta_mmu_init(&shadow->mmu, vdev, VTA_SHADOW_CTX);
	if (ret)
		goto err_free;
	ret = vta_mmu_alloc_root(&shadow->mmu);
	if (ret)
		goto err_mmu;
	ret = -ENOMEM;
	shadow->shared = dma_alloc_coherent(dev, PAGE_SIZE, &shadow->shared_bus, GFP_KERNEL);
	if (!shadow->shared)
		goto err_mmu;
	ret = vta_mmu_map_new(&shadow->mmu, VTA_SHADOW_RING, shadow->shared_bus, PAGE_SIZE, 0);
	if (ret)
		goto err_shared;
	vdev->shadow = shadow;
	return 0;

err_shared:
	dma_free_coherent(dev, PAGE_SIZE, shadow->shared, shadow->shared_bus);
err_mmu:
	vta_mmu_fini(&shadow->mmu);
err_free:
	kvfree(shadow);
	return ret;
}

void vta_shadow_release(struct vta_device *vdev)
{
	struct vta_shadow *shadow = vdev->shadow;

	if (!shadow)
		return;
	vta_shadow_free_host(vdev);
	dma_free_coherent(&vdev->pdev->dev, PAGE_SIZE, shadow->shared, shadow->shared_bus);
	vta_mmu_fini(&shadow->mmu);
	kvfree(shadow);
	vdev->shadow = NULL;
}

int vta_shadow_reserve(struct vta_device *vdev)
{
	unsigned long pages = vta_shadow_pages(vdev), used;
	int ret = 0;

	if (!vdev->shadow && vta_cardmem_avail(vdev->cardmem) < vdev->caps.mem_size)
		ret = vta_shadow_create(vdev);
	if (ret || !vdev->shadow)
		return ret;
	vdev->shadow->saved = false;
	vta_cardmem_mark_used(vdev->cardmem, vdev->shadow->used);
	used = bitmap_weight(vdev->shadow->used, pages);
	return used > vdev->shadow->host.nr ? vta_shadow_alloc_host(vdev, used) : 0;
}

/* ---- Copying ---- */

/* Starts queue 0 in context 0, with the driver's own ring. */
static int vta_shadow_start_queue(struct vta_device *vdev)
{
	struct vta_shadow *shadow = vdev->shadow;
	const struct vta_queue_setup setup = {
		.context = VTA_SHADOW_CTX,
		.ring_order = VTA_SHADOW_RING_ORDER,
		.ring_addr = VTA_SHADOW_RING,
		.status = shadow->shared_bus + VTA_SHADOW_STATUS,
	};
	int ret;

	shadow->submitted = 0;
	shadow->mmu.epoch = vdev->epoch;
	ret = vta_mmu_disable(&shadow->mmu);	/* a file may use context 0 */
	if (ret)
		return ret;
	vta_mmu_enable(&shadow->mmu);
	return vta_card_start_queue(vdev, vdev->epoch, VTA_SHADOW_QUEUE, &setup);
}

/* Stops the queue. If that fails, takes the card off the bus, because the ring will be freed. */
static int vta_shadow_stop_queue(struct vta_device *vdev)
{
	int ret;

	vta_write(vdev, REG_QUEUE_CTRL(VTA_SHADOW_QUEUE), 0);
	ret = vta_card_wait_queue(vdev, vdev->epoch, VTA_SHADOW_QUEUE);
	if (!ret)
		ret = vta_mmu_disable(&vdev->shadow->mmu);
	if (ret)
		pci_clear_master(vdev->pdev);
	return ret;
}

/* Submits one COPY, and waits for it. */
static int vta_shadow_copy_batch(struct vta_device *vdev, u32 dst, u32 src, u32 size)
{
	struct vta_shadow *shadow = vdev->shadow;
	struct vta_status *status = shadow->shared + VTA_SHADOW_STATUS;
	struct vta_desc *desc = shadow->shared;
	unsigned int ms;

	desc += shadow->submitted % BIT(VTA_SHADOW_RING_ORDER);
	*desc = (struct vta_desc) {
		.op_flags = cpu_to_le32(VTA_OP_COPY),
		.copy = {
			.dst = cpu_to_le32(dst),
			.src = cpu_to_le32(src),
			.width = cpu_to_le32(size),
			.rows = cpu_to_le32(1),
		},
	};
	vta_write(vdev, REG_QUEUE_SUBMITTED(VTA_SHADOW_QUEUE), ++shadow->submitted);
	for (ms = 0; ms < VTA_SHADOW_MS; ms++) {
		if (le64_to_cpu(READ_ONCE(status->seq)) == shadow->submitted)
			return 0;
		if (le32_to_cpu(READ_ONCE(status->state)) != VTA_QUEUE_ACTIVE)
			return -EIO;
		usleep_range(500, 1000);
	}
	return -ETIME;
}

/* Maps a batch of pages from *bit on. Returns the number of bytes mapped, or an error. */
static long vta_shadow_map_batch(struct vta_device *vdev, struct sg_dma_page_iter *host,
				 unsigned long *bit)
{
	struct vta_shadow *shadow = vdev->shadow;
	unsigned long pages = vta_shadow_pages(vdev);
	struct vta_mmu *mmu = &shadow->mmu;
	u32 at = 0;
	int ret = 0;

	for (; *bit < pages && at < VTA_SHADOW_BATCH && !ret; at += PAGE_SIZE) {
		if (!__sg_page_iter_dma_next(host))
			return -EIO;
		ret = vta_mmu_map_new(mmu, VTA_SHADOW_HOST + at, sg_page_iter_dma_address(host),
				      PAGE_SIZE, VTA_PTE_WRITE);
		if (!ret)
			ret = vta_mmu_map_new(mmu, VTA_SHADOW_CARD + at, (u64)*bit << PAGE_SHIFT,
					      PAGE_SIZE, VTA_PTE_WRITE | VTA_PTE_CARD);
		*bit = find_next_bit(shadow->used, pages, *bit + 1);
	}
	return ret ? ret : at;
}

static int vta_shadow_copy_all(struct vta_device *vdev, bool save)
{
	struct vta_shadow *shadow = vdev->shadow;
	unsigned long bit = find_first_bit(shadow->used, vta_shadow_pages(vdev));
	struct sg_dma_page_iter host;
	long size;
	int ret;

	__sg_page_iter_start(&host.base, shadow->sgt->sgl, shadow->sgt->nents, 0);
	while (bit < vta_shadow_pages(vdev)) {
		size = vta_shadow_map_batch(vdev, &host, &bit);
		if (size < 0)
			return size;
		if (save)
			ret = vta_shadow_copy_batch(vdev, VTA_SHADOW_HOST, VTA_SHADOW_CARD, size);
		else
			ret = vta_shadow_copy_batch(vdev, VTA_SHADOW_CARD, VTA_SHADOW_HOST, size);
		if (!ret)
			ret = vta_mmu_unmap(&shadow->mmu, VTA_SHADOW_HOST, size);
		if (!ret)
			ret = vta_mmu_unmap(&shadow->mmu, VTA_SHADOW_CARD, size);
		if (ret)
			return ret;
	}
	return 0;
}

static int vta_shadow_run(struct vta_device *vdev, bool save)
{
	int ret = vta_shadow_start_queue(vdev);
	int end;

	if (!ret)
		ret = vta_shadow_copy_all(vdev, save);
	end = vta_shadow_stop_queue(vdev);
	return ret ? ret : end;
}

int vta_shadow_save(struct vta_device *vdev)
{
	int ret;

	if (!vdev->shadow || bitmap_empty(vdev->shadow->used, vta_shadow_pages(vdev)))
		return 0;
	ret = vta_shadow_run(vdev, true);
	vdev->shadow->saved = !ret;
	return ret;
}

bool vta_shadow_is_saved(const struct vta_device *vdev)
{
	return vdev->shadow && vdev->shadow->saved;
}

int vta_shadow_restore(struct vta_device *vdev)
{
	int ret;

	if (!vta_shadow_is_saved(vdev))
		return 0;
	ret = vta_shadow_run(vdev, false);
	vdev->shadow->saved = ret;
	return ret;
}

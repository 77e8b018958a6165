// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_import.c - dma-bufs of any exporter, as buffers
 *
 * Memory of this driver is shared directly. For other memory the exporter makes bus addresses,
 * which are valid until the buffer is freed or the card is lost. An exporter may take any time, so
 * it is called outside of all locks.
 */
#include <linux/dma-buf.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/file.h>
#include <linux/iommu.h>
#include <linux/ratelimit.h>
#include <linux/scatterlist.h>

#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_mem.h"
#include "vta_mmu.h"
#include "vta_user.h"

/* An exporter that does not return blocks only its own work. */
static struct workqueue_struct *vta_import_wq;

int vta_import_init(void)
{
	vta_import_wq = alloc_workqueue("vta-import", WQ_UNBOUND, 0);
	return vta_import_wq ? 0 : -ENOMEM;
}

void vta_import_exit(void)
{
	destroy_workqueue(vta_import_wq);
}

/* Addresses that a page-table entry can hold. */
#define VTA_BUS_END	BIT_ULL(52)

/*
 * Checks that no address is that of a bounce buffer. Only the exporter knows the pages behind the
 * addresses. With an IOMMU, whole pages are never bounced. Without, the DMA API says that bounce
 * buffers must be synchronised.
 */
static bool vta_import_is_direct(struct sg_table *sgt, struct device *dev, u64 size)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	bool translated = domain && domain->type & __IOMMU_DOMAIN_PAGING;
	struct scatterlist *sg;
	unsigned int i;
	u64 total = 0;

	if (!dev_is_dma_coherent(dev))
		return false;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		u64 addr = sg_dma_address(sg);
		u64 len = sg_dma_len(sg);

		if (!IS_ALIGNED(addr | len, VTA_L2_SIZE) || addr > VTA_BUS_END - len)
			return false;
		if (!translated && dma_need_sync(dev, addr))
			return false;
		total += len;
	}
	return total >= size;
}

static int vta_import_map(struct vta_foreign *foreign, struct device *dev, u64 size)
{
	int ret;

	foreign->attach = dma_buf_attach(foreign->dmabuf, dev);
	if (IS_ERR(foreign->attach))
		return PTR_ERR(foreign->attach);
	foreign->sgt = dma_buf_map_attachment_unlocked(foreign->attach, foreign->dir);
	if (IS_ERR(foreign->sgt)) {
		ret = PTR_ERR(foreign->sgt);
		goto err_detach;
	}
	if (vta_import_is_direct(foreign->sgt, dev, size))
		return 0;
	ret = -EOPNOTSUPP;
	dma_buf_unmap_attachment_unlocked(foreign->attach, foreign->sgt, foreign->dir);
err_detach:
	dma_buf_detach(foreign->dmabuf, foreign->attach);
	return ret;
}

static void vta_import_release(struct vta_mem *mem)
{
	struct vta_foreign *foreign = &mem->foreign;

	dma_buf_unmap_attachment_unlocked(foreign->attach, foreign->sgt, foreign->dir);
	dma_buf_detach(foreign->dmabuf, foreign->attach);
	dma_buf_put(foreign->dmabuf);
	vta_dma_put(mem->vdev);
}

static void vta_import_work(struct work_struct *work)
{
	struct vta_mem *mem = container_of(work, struct vta_mem, foreign.work);

	vta_import_release(mem);
	vta_mem_discard(mem);
}

static void vta_import_release_later(struct vta_mem *mem)
{
	INIT_WORK(&mem->foreign.work, vta_import_work);
	queue_work(vta_import_wq, &mem->foreign.work);
}

static const struct vta_mem_ops vta_import_ops = {
	.release = vta_import_release,
	.release_later = vta_import_release_later,
};

/* Takes over the caller's reference to @dmabuf on success; vta_import_release() undoes the rest. */
static struct vta_mem *vta_import_foreign(struct vta_ctx *ctx, struct dma_buf *dmabuf, bool write)
{
	struct vta_device *vdev = ctx->vdev;
	struct vta_mem *mem;
	int ret;

	if (dmabuf->size > VTA_BUF_SIZE_MAX)
		return ERR_PTR(-ENOSPC);
	if (!dmabuf->size || !PAGE_ALIGNED(dmabuf->size))
		return ERR_PTR(-EOPNOTSUPP);
	mem = vta_mem_new(vdev, VTA_MEM_FOREIGN, &vta_import_ops, dmabuf->size);
	if (IS_ERR(mem))
		return mem;
	mem->foreign.dmabuf = dmabuf;
	mem->foreign.dir = write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	ret = vta_ctx_get_dma(ctx);
	if (ret)
		goto err_discard;
	ret = vta_import_map(&mem->foreign, &vdev->pdev->dev, mem->size);
	if (!ret)
		return mem;
	vta_dma_put(vdev);
	if (ret == -ENOMEM || ret == -EINTR)
		goto err_discard;
	/* Exporters use many errors for unsupported imports. */
	if (__ratelimit(&ctx->user->log))
		dev_err(&vdev->dev,
			"a dma-buf of %s cannot be imported (%d): its driver refuses this card, or this host would bounce the card's DMA\n",
			dmabuf->exp_name, ret);
	ret = -EOPNOTSUPP;
err_discard:
	vta_mem_discard(mem);
	return ERR_PTR(ret);
}

struct vta_mem *vta_import_mem(struct vta_ctx *ctx, int fd, bool write)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	struct vta_device *vdev = ctx->vdev;
	struct vta_mem *mem;

	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	if (write && !(dmabuf->file->f_mode & FMODE_WRITE)) {
		mem = ERR_PTR(-EACCES);
		goto out;
	}
	mem = vta_export_mem(dmabuf);
	if (!mem) {
		mem = vta_import_foreign(ctx, dmabuf, write);
		if (!IS_ERR(mem))
			return mem;
	} else if (mem->kind == VTA_MEM_CARD && mem->vdev != vdev) {
		mem = ERR_PTR(-EOPNOTSUPP);
	} else {
		vta_mem_get(mem);
	}
out:
	dma_buf_put(dmabuf);
	return mem;
}

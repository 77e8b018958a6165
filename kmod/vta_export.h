/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_export.h - dma-bufs made of buffers
 */
#ifndef VTA_EXPORT_H
#define VTA_EXPORT_H

#include <linux/types.h>

struct dma_buf;
struct vta_ctx;
struct vta_device;
struct vta_mem;

/* A dma-buf of the memory; takes over the caller's reference to @mem, also if it fails. */
struct dma_buf *vta_export_create(struct vta_ctx *ctx, struct vta_mem *mem, u32 flags);

/* The memory of a dma-buf; NULL if it was not exported by this driver. */
struct vta_mem *vta_export_mem(struct dma_buf *dmabuf);

/*
 * Revokes card memory from all dma-bufs. Called under vta_device.lock when no context is left
 * that could export more.
 */
void vta_export_revoke(struct vta_device *vdev);

#endif /* VTA_EXPORT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_export.h - dma-bufs made of buffers
 */
#ifndef VTA_EXPORT_H
#define VTA_EXPORT_H

#include "vta.h"

struct dma_buf;
struct file;
struct vta_ctx;
struct vta_device;
struct vta_mem;

/* What a dma-buf was made of; NULL if it is not of this driver. */
struct vta_mem *vta_export_mem(struct dma_buf *dmabuf);

/*
 * Takes card memory from all dma-bufs, for good. Called when no context is left
 * that could make another, under vta_device.lock.
 */
void vta_export_revoke(struct vta_device *vdev);

#endif /* VTA_EXPORT_H */

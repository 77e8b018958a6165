/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_import.h - dma-bufs of whoever, as buffers
 */
#ifndef VTA_IMPORT_H
#define VTA_IMPORT_H

#include <linux/dma-direction.h>

#include "vta.h"

struct device;
struct dma_buf_attachment;
struct sg_table;
struct vta_ctx;
struct vta_mem;

/* The ioctl. */
int vta_import(struct vta_ctx *ctx, struct vta_buf_import *arg);

/*
 * What the card is to see of FOREIGN memory. ERR_PTR(-EOPNOTSUPP) if it cannot
 * reach the memory itself.
 */
struct sg_table *vta_import_map(const struct vta_mem *mem, struct device *dev,
				enum dma_data_direction dir, struct dma_buf_attachment **attach);
void vta_import_unmap(const struct vta_mem *mem, struct dma_buf_attachment *attach,
		      struct sg_table *sgt, enum dma_data_direction dir);

#endif /* VTA_IMPORT_H */

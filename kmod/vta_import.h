/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_import.h - dma-bufs of any exporter, as buffers
 */
#ifndef VTA_IMPORT_H
#define VTA_IMPORT_H

#include <linux/dma-direction.h>
#include <linux/workqueue.h>

#include "vta.h"

struct dma_buf;
struct dma_buf_attachment;
struct sg_table;
struct vta_ctx;
struct vta_mem;

/**
 * struct vta_foreign - a dma-buf of another driver
 * @dmabuf: the dma-buf
 * @attach: of the card's
 * @sgt: bus addresses
 * @dir: what the card may do there
 * @work: gives all of it back
 */
struct vta_foreign {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	enum dma_data_direction dir;
	struct work_struct work;
};

int vta_import_init(void);
void vta_import_exit(void);

/* The memory of the caller's dma-buf, with a reference. */
struct vta_mem *vta_import_mem(struct vta_ctx *ctx, int fd, bool write);

#endif /* VTA_IMPORT_H */

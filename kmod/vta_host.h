/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_host.h - host memory that the card can reach
 */
#ifndef VTA_HOST_H
#define VTA_HOST_H

#include <linux/dma-direction.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

struct vta_device;
struct page;

/**
 * struct vta_host - pages, and their bus addresses while they are mapped
 * @pages: zeroed pages, as many as @nr; each can be mapped into a process
 * @nr: how many
 * @sgt: what the card is to see of them, in order; empty if not mapped
 * @dir: how it was mapped
 */
struct vta_host {
	struct page **pages;
	unsigned long nr;
	struct sg_table sgt;
	enum dma_data_direction dir;
};

int vta_host_alloc(struct vta_host *host, u64 size);
void vta_host_free(struct vta_host *host);

/* -EOPNOTSUPP if this machine would copy what the card reads and writes. */
int vta_host_map(struct vta_host *host, struct vta_device *vdev, enum dma_data_direction dir);
/* Does nothing if it is not mapped. */
void vta_host_unmap(struct vta_host *host, struct vta_device *vdev);

#endif /* VTA_HOST_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_host.h - pages of host memory, and showing them to a device
 */
#ifndef VTA_HOST_H
#define VTA_HOST_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct device;
struct page;
struct sg_table;

/**
 * struct vta_host - pages of host memory
 * @pages: the pages, which need not be neighbours
 * @nr: how many
 */
struct vta_host {
	struct page **pages;
	unsigned long nr;
};

/* Allocates the list for the pages of @size bytes, without pages. */
int vta_host_init(struct vta_host *host, u64 size);
/* Zeroed pages; each can be mapped into a process. */
int vta_host_alloc(struct vta_host *host, u64 size);
void vta_host_free(struct vta_host *host);

/*
 * Maps the pages for a device, in order. ERR_PTR(-EOPNOTSUPP) if this
 * machine would copy what the device reads and writes.
 */
struct sg_table *vta_host_map(const struct vta_host *host, struct device *dev,
			      enum dma_data_direction dir);
void vta_host_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir);

#endif /* VTA_HOST_H */

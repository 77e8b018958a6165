/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_foreign.h - drivers other than vta that make and take dma-bufs
 */
#ifndef VTA_FOREIGN_H
#define VTA_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum foreign {
	FOREIGN_UDMABUF,	/* of pages of a memfd */
	FOREIGN_VGEM,		/* of a graphics card that is none */
};

/* A dma-buf of @size bytes, read-write; -ENODEV if there is no such driver. */
int foreign_export(enum foreign exporter, size_t size);

/* Has vgem attach to a dma-buf and take its pages. */
int foreign_attach(int dmabuf);

/* A fence of a virtual device in a dma-buf. */
struct foreign_fence {
	int device;
	uint32_t number;
};

/*
 * Has vgem put a fence into a dma-buf, as a device that writes or only reads it; the fence is
 * done when this returns it, or by itself after 10 s.
 */
int foreign_begin(int dmabuf, bool writes, struct foreign_fence *fence);
int foreign_end(const struct foreign_fence *fence);

#endif /* VTA_FOREIGN_H */

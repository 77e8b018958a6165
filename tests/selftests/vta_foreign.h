/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_foreign.h - drivers other than vta that make and take dma-bufs
 */
#ifndef VTA_FOREIGN_H
#define VTA_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

enum foreign {
	FOREIGN_UDMABUF,	/* of pages of a memfd */
	FOREIGN_VGEM,		/* of a graphics card that is none */
};

/* A dma-buf of @size bytes, read-write; -ENODEV if there is no such driver. */
int foreign_export(enum foreign who, size_t size);

/* Has vgem attach to a dma-buf and take its pages. */
int foreign_attach(int dmabuf);

#endif /* VTA_FOREIGN_H */

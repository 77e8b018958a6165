/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a buffer, whatever its memory is
 */
#ifndef VTADEV_BUF_H
#define VTADEV_BUF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "vtadev.h"

/*
 * Only the CPU's mapping changes in a buffer's life. It is ours to unmap if @map_size is
 * not 0; that of pinned memory is the program's, that of a device in the process the
 * device's, and both are there from the start. @map_fd is the card's file or, of an
 * imported buffer, our descriptor of its dma-buf.
 */
struct vtadev_buf {
	struct vtadev *dev;
	size_t size;			/* as asked for */
	size_t map_size;		/* whole pages */
	off_t map_offset;
	int map_fd;
	unsigned int flags;		/* VTADEV_* */
	bool imported;
	bool traced;			/* known to the trace */
	bool cpu_readonly;		/* the dma-buf may only be read */
	uint32_t addr;
	uint32_t handle;
	atomic_uintptr_t ptr;		/* CPU mapping, 0 until asked for */
};

bool buf_in_range(const struct vtadev_buf *buf, size_t offset, size_t len);

/* Around the CPU's accesses to a dma-buf: DMA_BUF_SYNC_*. */
int dmabuf_sync(const struct vtadev_buf *buf, uint64_t flags);

#endif /* VTADEV_BUF_H */

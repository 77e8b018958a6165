/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest memory as the card sees it: bus address ranges that the client mapped
 * with VFIO_USER_DMA_MAP, each backed by a shared file that is mapped here.
 *
 * Threads: every access function may be called from any thread at any time.
 * Accesses hold the map's lock shared; map, unmap and enable hold it
 * exclusively, so when an unmap (or clearing Bus Master Enable) has been
 * answered, no access through the old state is left. Writers are preferred:
 * a thread that is inside vfu_dma_begin/vfu_dma_end must not call a function
 * that takes the lock (all but vfu_dma_at), nor wait for the server's thread.
 *
 * The server checks that a file covers its range when it is mapped. Its pages
 * may be missing all the same: the client has shrunk it, its tmpfs is full, or
 * there are no huge pages. The access that finds this (SIGBUS) and all later
 * ones to this range are refused, until the client maps memory anew.
 */
#ifndef VTA_EMU_VFU_DMA_H
#define VTA_EMU_VFU_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VFU_DMA_PAGE		4096u
#define VFU_DMA_MAX_MAPS	65535u

#define VFU_DMA_READ		0x1u	/* the card may read */
#define VFU_DMA_WRITE		0x2u	/* the card may write */

struct vfu_dma;

struct vfu_dma *vfu_dma_new(void);	/* disabled; NULL without memory */
void vfu_dma_free(struct vfu_dma *dma);

/*
 * Maps [iova, iova + size) to fd from offset on. fd stays the caller's. With
 * fd -1 the range is remembered but cannot be accessed (the client shares no
 * memory for it, as QEMU does for ROMs and other devices' BARs).
 * Returns 0, -EINVAL (not page aligned, empty, wraps around, unknown flags,
 * not a regular file or one of FUSE, file too short), -EEXIST (overlaps a range), -ENOSPC
 * (too many ranges), or the errno of mmap.
 */
int vfu_dma_map(struct vfu_dma *dma, uint64_t iova, uint64_t size,
		uint32_t flags, int fd, uint64_t offset);
/*
 * Drops every range that lies wholly within [iova, iova + size); none there is
 * not an error. -EINVAL, and nothing dropped, when the bounds cut a range or
 * wrap around.
 */
int vfu_dma_unmap(struct vfu_dma *dma, uint64_t iova, uint64_t size);
void vfu_dma_unmap_all(struct vfu_dma *dma);
/* The gate that follows Bus Master Enable and the power state. */
void vfu_dma_enable(struct vfu_dma *dma, bool on);

unsigned int vfu_dma_count(struct vfu_dma *dma);	/* ranges now */
uint64_t vfu_dma_faults(struct vfu_dma *dma);	/* accesses refused, ever */

/*
 * Copies of any length and alignment, across adjoining ranges. Return 0,
 * -EFAULT (some byte is not mapped), -EACCES (mapped, but not for this), or
 * -EPERM (bus mastering is off). A refused access moves nothing.
 */
int vfu_dma_read(struct vfu_dma *dma, uint64_t iova, void *buf, size_t len);
int vfu_dma_write(struct vfu_dma *dma, uint64_t iova, const void *buf,
		  size_t len);
/*
 * One naturally aligned little-endian 64-bit access, never torn. The store is
 * a release (all earlier stores of this thread are seen before it), the load
 * an acquire. -EINVAL when not aligned, otherwise as above.
 */
int vfu_dma_write64(struct vfu_dma *dma, uint64_t iova, uint64_t val);
int vfu_dma_read64(struct vfu_dma *dma, uint64_t iova, uint64_t *val);

/*
 * Direct access. Between begin and end the pointers of vfu_dma_at stay valid
 * and unmapping waits, so keep it short: about a MiB of work. Any number of
 * pointers (a source and a destination) may be taken in one such section.
 *
 * vfu_dma_at returns the memory at iova and sets *len to the bytes that follow
 * in the same range, at most what *len was; NULL with *err set (as for the
 * copies) when not one byte is accessible. flags are those needed.
 *
 * vfu_dma_end returns 0, or -EFAULT: meanwhile some memory was found to be
 * missing, so what was read or written may not be what it should.
 */
void vfu_dma_begin(struct vfu_dma *dma);
void *vfu_dma_at(struct vfu_dma *dma, uint64_t iova, size_t *len,
		 uint32_t flags, int *err);
int vfu_dma_end(struct vfu_dma *dma);

#endif

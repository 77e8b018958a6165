// SPDX-License-Identifier: Apache-2.0
/*
 * buf.c - memory that the card and the CPU see
 */
#include <errno.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch.h"
#include "buf.h"
#include "dev.h"
#include "local/local.h"
#include "trace.h"

int vtadev_buf_alloc_at(struct vtadev *dev, size_t size, unsigned int flags,
			size_t align, uint32_t addr, struct vtadev_buf **out)
{
	struct vta_buf_alloc req = {
		.size = size,
		.align = align,
		.addr = addr,
	};
	struct vtadev_buf *buf;
	int err;

	if (flags & ~(VTADEV_HOST | VTADEV_CARD | VTADEV_READONLY))
		return -EINVAL;
	if (!dev->info.mem_size)
		flags &= ~VTADEV_CARD;
	req.flags = flags | (addr ? VTA_BUF_FIXED : 0);
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return -ENOMEM;
	err = dev_ioctl(dev, VTA_IOCTL_BUF_ALLOC, &req);
	if (err) {
		free(buf);
		return err;
	}

	buf->dev = dev_get(dev);
	buf->size = size;
	buf->flags = flags;
	buf->addr = (uint32_t)req.addr;
	buf->handle = req.handle;
	if (dev->local) {
		buf->map_fd = -1;
		atomic_init(&buf->ptr, (uintptr_t)local_map(req.mmap_offset));
	} else {
		buf->map_size = (size_t)req.size;
		buf->map_offset = (off_t)req.mmap_offset;
		buf->map_fd = dev->fd;
		atomic_init(&buf->ptr, 0);
	}
	buf->traced = trace_wanted() && trace_buf_add(buf);
	*out = buf;
	return 0;
}

int vtadev_buf_alloc(struct vtadev *dev, size_t size, unsigned int flags,
		     struct vtadev_buf **out)
{
	return vtadev_buf_alloc_at(dev, size, flags, 0, 0, out);
}

int vtadev_buf_pin(struct vtadev *dev, void *ptr, size_t size, unsigned int flags,
		   struct vtadev_buf **out)
{
	struct vta_buf_pin req = {
		.user_addr = (uintptr_t)ptr,
		.size = size,
		.flags = flags,
	};
	struct vtadev_buf *buf;
	int err;

	if (flags & ~VTADEV_READONLY)
		return -EINVAL;
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return -ENOMEM;
	err = dev_ioctl(dev, VTA_IOCTL_BUF_PIN, &req);
	if (err) {
		free(buf);
		return err;
	}

	buf->dev = dev_get(dev);
	buf->size = size;
	buf->map_fd = -1;
	buf->flags = flags;
	buf->addr = (uint32_t)req.addr;
	buf->handle = req.handle;
	atomic_init(&buf->ptr, (uintptr_t)ptr);
	buf->traced = trace_wanted() && trace_buf_add(buf);
	*out = buf;
	return 0;
}

void vtadev_buf_free(struct vtadev_buf *buf)
{
	struct vta_buf_free req;
	uintptr_t ptr;

	if (!buf)
		return;
	if (buf->traced)
		trace_buf_del(buf);
	ptr = atomic_load_explicit(&buf->ptr, memory_order_acquire);
	if (ptr && buf->map_size)
		munmap((void *)ptr, buf->map_size);
	/* Fails if the card was reset; then the kernel frees on close. In a child it fails, too. */
	req = (struct vta_buf_free){ .handle = buf->handle };
	dev_ioctl(buf->dev, VTA_IOCTL_BUF_FREE, &req);
	if (buf->imported)
		close(buf->map_fd);
	dev_put(buf->dev);
	free(buf);
}

uint32_t vtadev_buf_addr(const struct vtadev_buf *buf)
{
	return buf->addr;
}

size_t vtadev_buf_size(const struct vtadev_buf *buf)
{
	return buf->size;
}

/* Memory that its device alone sees. */
static bool is_unseen(const struct vtadev_buf *buf)
{
	return buf->dev->local && buf->map_fd < 0 &&
	       !atomic_load_explicit(&buf->ptr, memory_order_relaxed);
}

int vtadev_buf_map(struct vtadev_buf *buf, void **out)
{
	uintptr_t there = atomic_load_explicit(&buf->ptr, memory_order_acquire);
	int prot = buf->cpu_readonly ? PROT_READ : PROT_READ | PROT_WRITE;
	void *ptr;

	if (dev_is_parents(buf->dev))
		return -ECHILD;
	if (is_unseen(buf))
		return -EOPNOTSUPP;
	if (!there) {
		ptr = mmap(NULL, buf->map_size, prot, MAP_SHARED, buf->map_fd,
			   buf->map_offset);
		if (ptr == MAP_FAILED)
			return -errno;
		if (atomic_compare_exchange_strong(&buf->ptr, &there, (uintptr_t)ptr))
			there = (uintptr_t)ptr;
		else	/* another thread was first */
			munmap(ptr, buf->map_size);
	}
	*out = (void *)there;
	return 0;
}

bool buf_in_range(const struct vtadev_buf *buf, size_t offset, size_t len)
{
	return offset <= buf->size && len <= buf->size - offset;
}

/* Map @buf for an access by the CPU. Returns NULL and sets *err if that fails. */
static char *begin_access(struct vtadev_buf *buf, uint64_t access, int *err)
{
	void *ptr = NULL;

	*err = vtadev_buf_map(buf, &ptr);
	if (!*err)
		*err = dmabuf_sync(buf, DMA_BUF_SYNC_START | access);
	return *err ? NULL : ptr;
}

int vtadev_buf_write(struct vtadev_buf *buf, size_t offset, const void *src,
		     size_t len)
{
	char *ptr;
	int err;

	if (!buf_in_range(buf, offset, len))
		return -ERANGE;
	if (buf->cpu_readonly)
		return -EACCES;
	if (!len)
		return 0;
	if (dev_is_parents(buf->dev))
		return -ECHILD;
	if (is_unseen(buf))
		return local_transfer(buf->dev->local, buf->addr + (uint32_t)offset, (void *)src,
				      len, true);
	ptr = begin_access(buf, DMA_BUF_SYNC_WRITE, &err);
	if (!ptr)
		return err;
	memcpy(ptr + offset, src, len);
	/* The thread that submits may be another: it cannot flush this one's writes. */
	if (buf->flags & VTADEV_CARD)
		arch_wmb();
	return dmabuf_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
}

int vtadev_buf_read(struct vtadev_buf *buf, size_t offset, void *dst, size_t len)
{
	char *ptr;
	int err;

	if (!buf_in_range(buf, offset, len))
		return -ERANGE;
	if (!len)
		return 0;
	if (dev_is_parents(buf->dev))
		return -ECHILD;
	if (is_unseen(buf))
		return local_transfer(buf->dev->local, buf->addr + (uint32_t)offset, dst, len,
				      false);
	ptr = begin_access(buf, DMA_BUF_SYNC_READ, &err);
	if (!ptr)
		return err;
	memcpy(dst, ptr + offset, len);
	return dmabuf_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
}

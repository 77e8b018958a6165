// SPDX-License-Identifier: Apache-2.0
/*
 * buf.c - memory that the card and the CPU see
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dev.h"

struct vtadev_buf {
	struct vtadev *dev;
	size_t size;			/* as asked for */
	size_t map_size;		/* whole pages */
	off_t map_offset;
	uint32_t addr;
	uint32_t handle;
	atomic_uintptr_t ptr;		/* CPU mapping, 0 until asked for */
};

int vtadev_buf_alloc_at(struct vtadev *dev, size_t size, unsigned int flags,
			size_t align, uint32_t addr, struct vtadev_buf **out)
{
	struct vta_buf_alloc req = {
		.size = size,
		.align = align,
		.addr = addr,
		.flags = flags | (addr ? VTA_BUF_FIXED : 0),
	};
	struct vtadev_buf *buf;
	int err;

	if (flags & ~(VTADEV_HOST | VTADEV_CARD | VTADEV_READONLY))
		return -EINVAL;
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
	buf->map_size = (size_t)req.size;
	buf->map_offset = (off_t)req.mmap_offset;
	buf->addr = (uint32_t)req.addr;
	buf->handle = req.handle;
	atomic_init(&buf->ptr, 0);
	*out = buf;
	return 0;
}

int vtadev_buf_alloc(struct vtadev *dev, size_t size, unsigned int flags,
		     struct vtadev_buf **out)
{
	return vtadev_buf_alloc_at(dev, size, flags, 0, 0, out);
}

void vtadev_buf_free(struct vtadev_buf *buf)
{
	struct vta_buf_free req;
	uintptr_t ptr;

	if (!buf)
		return;
	ptr = atomic_load_explicit(&buf->ptr, memory_order_acquire);
	if (ptr)
		munmap((void *)ptr, buf->map_size);
	/* Fails only if the card was reset; then the kernel frees on close. */
	req = (struct vta_buf_free){ .handle = buf->handle };
	dev_ioctl(buf->dev, VTA_IOCTL_BUF_FREE, &req);
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

/* Map it unless it is mapped. NULL, and errno, if that fails. */
static void *mapping(struct vtadev_buf *buf)
{
	uintptr_t there = atomic_load_explicit(&buf->ptr, memory_order_acquire);
	void *ptr;

	if (there)
		return (void *)there;
	ptr = mmap(NULL, buf->map_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   buf->dev->fd, buf->map_offset);
	if (ptr == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&buf->ptr, &there, (uintptr_t)ptr))
		return ptr;
	munmap(ptr, buf->map_size);	/* another thread was first */
	return (void *)there;
}

int vtadev_buf_map(struct vtadev_buf *buf, void **out)
{
	void *ptr = mapping(buf);

	if (!ptr)
		return -errno;
	*out = ptr;
	return 0;
}

static bool in_range(const struct vtadev_buf *buf, size_t offset, size_t len)
{
	return offset <= buf->size && len <= buf->size - offset;
}

int vtadev_buf_write(struct vtadev_buf *buf, size_t offset, const void *src,
		     size_t len)
{
	void *ptr;

	if (!in_range(buf, offset, len))
		return -ERANGE;
	if (!len)
		return 0;
	ptr = mapping(buf);
	if (!ptr)
		return -errno;
	memcpy((char *)ptr + offset, src, len);
	return 0;
}

int vtadev_buf_read(struct vtadev_buf *buf, size_t offset, void *dst, size_t len)
{
	void *ptr;

	if (!in_range(buf, offset, len))
		return -ERANGE;
	if (!len)
		return 0;
	ptr = mapping(buf);
	if (!ptr)
		return -errno;
	memcpy(dst, (const char *)ptr + offset, len);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * dmabuf.c - buffers shared with other processes and devices
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "buf.h"
#include "dev.h"

int vtadev_buf_export(struct vtadev_buf *buf, unsigned int flags, int *fd)
{
	struct vta_buf_export req = {
		.handle = buf->handle,
		.flags = O_CLOEXEC | (flags & VTADEV_READONLY ? O_RDONLY : O_RDWR),
	};
	int err;

	if (flags & ~VTADEV_READONLY)
		return -EINVAL;
	err = dev_ioctl(buf->dev, VTA_IOCTL_BUF_EXPORT, &req);
	if (!err)
		*fd = req.fd;
	return err;
}

/* The file's mode, or a negative errno. */
static int access_mode(int fd)
{
	int mode = fcntl(fd, F_GETFL);

	return mode < 0 ? -errno : mode & O_ACCMODE;
}

static int import(struct vtadev *dev, size_t align, uint32_t addr, struct vtadev_buf *buf)
{
	struct vta_buf_import req = {
		.fd = buf->map_fd,
		.flags = buf->flags | (addr ? VTA_BUF_FIXED : 0),
		.align = align,
		.addr = addr,
	};
	int mode, err;

	mode = access_mode(buf->map_fd);
	if (mode < 0)
		return mode;
	err = dev_ioctl(dev, VTA_IOCTL_BUF_IMPORT, &req);
	if (err)
		return err;
	buf->dev = dev_get(dev);
	buf->size = (size_t)req.size;
	buf->map_size = (size_t)req.size;
	buf->flags |= req.flags & VTADEV_CARD;
	buf->cpu_readonly = mode == O_RDONLY;
	buf->imported = true;
	buf->addr = (uint32_t)req.addr;
	buf->handle = req.handle;
	atomic_init(&buf->ptr, 0);
	return 0;
}

int vtadev_buf_import_at(struct vtadev *dev, int fd, unsigned int flags, size_t align,
			 uint32_t addr, struct vtadev_buf **out)
{
	struct vtadev_buf *buf;
	int err;

	if (flags & ~VTADEV_READONLY)
		return -EINVAL;
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return -ENOMEM;
	buf->flags = flags;
	buf->map_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (buf->map_fd < 0) {
		err = -errno;
		free(buf);
		return err;
	}
	err = import(dev, align, addr, buf);
	if (err) {
		close(buf->map_fd);
		free(buf);
		return err;
	}
	*out = buf;
	return 0;
}

int vtadev_buf_import(struct vtadev *dev, int fd, unsigned int flags,
		      struct vtadev_buf **out)
{
	return vtadev_buf_import_at(dev, fd, flags, 0, 0, out);
}

int dmabuf_sync(const struct vtadev_buf *buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };
	int ret;

	if (!buf->imported)
		return 0;
	do {
		ret = ioctl(buf->map_fd, DMA_BUF_IOCTL_SYNC, &sync);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	/* A buffer of a device in the process is exported as ordinary shared memory. */
	if (ret < 0 && errno == ENOTTY && buf->dev->local)
		return 0;
	return ret < 0 ? -errno : 0;
}

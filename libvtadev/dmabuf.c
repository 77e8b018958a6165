// SPDX-License-Identifier: Apache-2.0
/*
 * dmabuf.c - buffers shared with other processes and devices
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "dev.h"

#ifndef DMA_BUF_IOCTL_EXPORT_SYNC_FILE	/* headers before Linux 6.0 */
struct dma_buf_export_sync_file {
	uint32_t flags;
	int32_t fd;
};
#define DMA_BUF_IOCTL_EXPORT_SYNC_FILE	_IOWR(DMA_BUF_BASE, 2, struct dma_buf_export_sync_file)
#endif

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
	buf->map_fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
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
	err = vtadev_buf_wait(buf, flags, -1);
	if (err) {
		vtadev_buf_free(buf);
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

static int dmabuf_ioctl(const struct vtadev_buf *buf, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(buf->map_fd, request, arg);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret < 0 ? -errno : 0;
}

int dmabuf_sync(const struct vtadev_buf *buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };
	int err;

	if (!buf->imported)
		return 0;
	err = dmabuf_ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync);
	/* A buffer of a device in the process is exported as ordinary shared memory. */
	return err == -ENOTTY && buf->dev->local ? 0 : err;
}

/* ---- Fences of other devices ---- */

static int poll_until(struct pollfd *pfd, int64_t deadline)
{
	int n;

	do {
		int64_t now = clock_ns(), left = deadline > now ? deadline - now : 0;
		const struct timespec ts = {
			.tv_sec = left / NS_PER_S,
			.tv_nsec = left % NS_PER_S,
		};

		n = ppoll(pfd, 1, deadline == VTA_WAIT_FOREVER ? NULL : &ts, NULL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

/*
 * A sync file has the fences that are there now. Kernels before 6.0 make none, but poll()
 * of the dma-buf itself waits for the same, and for those that come meanwhile.
 */
int vtadev_buf_wait(struct vtadev_buf *buf, unsigned int flags, int64_t timeout_ns)
{
	bool reads = flags & VTADEV_READONLY;
	struct dma_buf_export_sync_file fences = {
		.flags = reads ? DMA_BUF_SYNC_READ : DMA_BUF_SYNC_RW,
		.fd = -1,
	};
	struct pollfd pfd = { .fd = buf->map_fd, .events = reads ? POLLIN : POLLOUT };
	int err;

	if (flags & ~VTADEV_READONLY)
		return -EINVAL;
	if (!buf->imported)
		return 0;
	err = dmabuf_ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &fences);
	if (err && err != -ENOTTY)
		return err;
	if (!err)
		pfd = (struct pollfd) { .fd = fences.fd, .events = POLLIN };
	err = poll_until(&pfd, clock_deadline(timeout_ns));
	if (fences.fd >= 0)
		close(fences.fd);
	return err;
}

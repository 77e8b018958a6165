// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vta_foreign.h"

/*
 * The interface of DRM (Documentation/gpu/drm-uapi.rst): its header comes with a
 * library that is not needed otherwise.
 */
struct drm_version {
	int major, minor, patch;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};

struct drm_create_dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct drm_prime {
	uint32_t handle;
	uint32_t flags;
	int32_t fd;
};

struct vgem_fence_attach {
	uint32_t handle, flags, fence, pad;
};

struct vgem_fence_signal {
	uint32_t fence, flags;
};

#define VGEM_FENCE_WRITE	1

#define VGEM_FENCE_ATTACH	_IOWR('d', 0x41, struct vgem_fence_attach)
#define VGEM_FENCE_SIGNAL	_IOW('d', 0x42, struct vgem_fence_signal)
#define DRM_VERSION		_IOWR('d', 0x00, struct drm_version)
#define DRM_PRIME_EXPORT	_IOWR('d', 0x2d, struct drm_prime)
#define DRM_PRIME_IMPORT	_IOWR('d', 0x2e, struct drm_prime)
#define DRM_CREATE_DUMB		_IOWR('d', 0xb2, struct drm_create_dumb)

static int udmabuf_export(size_t size)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int fd = -1;

	if (device < 0)
		return -ENODEV;
	create.memfd = (uint32_t)memfd_create("udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (!ftruncate((int)create.memfd, (off_t)size) &&
	    !fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(device, UDMABUF_CREATE, &create);
	if (fd < 0)
		fd = -errno;
	close((int)create.memfd);
	close(device);
	return fd;
}

/* The card that is vgem's. */
static int vgem_open(void)
{
	char name[16];
	struct drm_version version = { .name = name, .name_len = sizeof(name) };
	glob_t found = {};
	int fd = -ENODEV;

	glob("/dev/dri/card*", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && fd < 0; i++) {
		fd = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0 && (ioctl(fd, DRM_VERSION, &version) || version.name_len != 4 ||
				memcmp(name, "vgem", 4))) {
			close(fd);
			fd = -ENODEV;
		}
	}
	globfree(&found);
	return fd;
}

static int vgem_export(size_t size)
{
	struct drm_create_dumb create = { .height = 1, .width = (uint32_t)size, .bpp = 8 };
	struct drm_prime prime = { .flags = O_CLOEXEC | O_RDWR };
	int device = vgem_open();
	int err = 0;

	if (device < 0)
		return device;
	if (ioctl(device, DRM_CREATE_DUMB, &create))
		err = -errno;
	prime.handle = create.handle;
	if (!err && ioctl(device, DRM_PRIME_EXPORT, &prime))
		err = -errno;
	close(device);
	return err ? err : prime.fd;
}

int foreign_export(enum foreign exporter, size_t size)
{
	return exporter == FOREIGN_UDMABUF ? udmabuf_export(size) : vgem_export(size);
}

int foreign_attach(int dmabuf)
{
	struct drm_prime prime = { .fd = dmabuf };
	int device = vgem_open();
	int err;

	if (device < 0)
		return device;
	err = ioctl(device, DRM_PRIME_IMPORT, &prime) ? -errno : 0;
	close(device);
	return err;
}

int foreign_begin(int dmabuf, bool writes, struct foreign_fence *fence)
{
	struct vgem_fence_attach attach = { .flags = writes ? VGEM_FENCE_WRITE : 0 };
	struct drm_prime prime = { .fd = dmabuf };

	fence->device = vgem_open();
	if (fence->device < 0)
		return fence->device;
	if (ioctl(fence->device, DRM_PRIME_IMPORT, &prime))
		return -errno;
	attach.handle = prime.handle;
	if (ioctl(fence->device, VGEM_FENCE_ATTACH, &attach))
		return -errno;
	fence->number = attach.fence;
	return 0;
}

int foreign_end(const struct foreign_fence *fence)
{
	struct vgem_fence_signal signal = { .fence = fence->number };
	int err = ioctl(fence->device, VGEM_FENCE_SIGNAL, &signal) ? -errno : 0;

	close(fence->device);
	return err;
}

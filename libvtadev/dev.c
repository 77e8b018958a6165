// SPDX-License-Identifier: Apache-2.0
/*
 * dev.c - open and close a card; its properties
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dev.h"
#include "fd.h"
#include "local/local.h"

const char *vtadev_version(void)
{
	return VTADEV_VERSION;
}

unsigned int dev_forks;

static void count_fork(void)
{
	dev_forks++;
}

static __attribute__((constructor)) void follow_forks(void)
{
	pthread_atfork(NULL, NULL, count_fork);
}

int dev_ioctl(const struct vtadev *dev, unsigned long request, void *arg)
{
	int ret;

	if (dev_is_parents(dev))
		return -ECHILD;
	if (dev->local)
		return local_request(dev->local, request, arg);
	do {
		ret = ioctl(dev->fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

void *dev_map(const struct vtadev *dev, size_t size, int prot, uint64_t offset)
{
	void *ptr;

	if (dev->local)
		return local_map(offset);
	ptr = mmap(NULL, size, prot, MAP_SHARED, dev->fd, (off_t)offset);
	return ptr == MAP_FAILED ? NULL : ptr;
}

void dev_unmap(const struct vtadev *dev, const volatile void *ptr, size_t size)
{
	if (ptr && !dev->local && !dev_is_parents(dev))
		munmap((void *)ptr, size);
}

struct vtadev *dev_get(struct vtadev *dev)
{
	atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
	return dev;
}

void dev_put(struct vtadev *dev)
{
	if (atomic_fetch_sub_explicit(&dev->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (dev->sysfs >= 0)
		close(dev->sysfs);
	if (dev->local)
		local_close(dev->local);
	else if (dev->fd >= 0)
		close(dev->fd);
	free(dev);
}

static int open_node(const char *node)
{
	int fd;

	do {
		fd = fd_above_streams(open(node, O_RDWR | O_CLOEXEC));
	} while (fd < 0 && errno == EINTR);
	if (fd >= 0)
		return fd;
	return errno == ENXIO ? -ENOENT : -errno;	/* a node with no card */
}

static struct vtadev *new_dev(void)
{
	struct vtadev *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return NULL;
	atomic_init(&dev->refs, 1);
	dev->forks = dev_forks;
	dev->opened = clock_mark();
	dev->sysfs = -1;
	dev->fd = -1;
	return dev;
}

/* A card of the kernel's, at a node. */
static int open_card(struct vtadev *dev, const char *node)
{
	dev->fd = open_node(node);
	return dev->fd < 0 ? dev->fd : 0;
}

/* A device of a plugin's, by its name. */
static int open_device(struct vtadev *dev, const char *which, char *why, size_t size)
{
	int err = local_open(which, &dev->local, why, size);

	if (!err)
		dev->fd = local_fd(dev->local);
	return err;
}

static int describe(struct vtadev *dev, const char *node)
{
	struct vta_info raw = { 0 };
	int err;

	err = dev_ioctl(dev, VTA_IOCTL_INFO, &raw);
	if (!err)
		err = info_derive(&raw, &dev->info);
	if (err)
		return err;
	dev->abi = raw.abi;
	if (!dev->local)
		dev->sysfs = card_of_fd(dev->fd, &dev->info.card);
	if (dev->sysfs < 0) {
		dev->info.card.index = UINT_MAX;
		snprintf(dev->info.card.node, sizeof(dev->info.card.node), "%.*s",
			 (int)sizeof(dev->info.card.node) - 1, node);
	}
	return 0;
}

int dev_open(const char *which, struct vtadev **out, char *why, size_t size)
{
	struct vtadev_card card;
	struct vtadev *dev;
	const char *node;
	bool named;
	int err;

	which = card_or_default(which);
	named = plugin_is_name(which);
	node = which;
	if (!named && !card_is_path(which)) {
		err = vtadev_find(which, &card);
		if (err)
			return err;
		node = card.node;
	}
	dev = new_dev();
	if (!dev)
		return -ENOMEM;
	err = named ? open_device(dev, which, why, size) : open_card(dev, node);
	if (!err)
		err = describe(dev, node);
	if (err) {
		dev_put(dev);
		return err;
	}
	*out = dev;
	return 0;
}

int vtadev_open(const char *which, struct vtadev **out)
{
	char why[VTADEV_DEVICE_WHY_MAX];

	return dev_open(which, out, why, sizeof(why));
}

void vtadev_close(struct vtadev *dev)
{
	if (dev)
		dev_put(dev);
}

int vtadev_fd(const struct vtadev *dev)
{
	return dev->fd;
}

const struct vtadev_info *vtadev_info(const struct vtadev *dev)
{
	return &dev->info;
}

int vtadev_mem_free(struct vtadev *dev, uint64_t *bytes)
{
	struct vta_info raw = { 0 };
	int err;

	err = dev_ioctl(dev, VTA_IOCTL_INFO, &raw);
	if (!err)
		*bytes = raw.mem_free;
	return err;
}

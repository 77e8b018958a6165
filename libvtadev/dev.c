// SPDX-License-Identifier: Apache-2.0
/*
 * dev.c - open and close a card, and what it tells of itself
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "card.h"
#include "dev.h"
#include "info.h"

const char *vtadev_version(void)
{
	return VTADEV_VERSION;
}

int dev_ioctl(const struct vtadev *dev, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(dev->fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
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
	close(dev->fd);
	free(dev);
}

static int open_node(const char *node)
{
	int fd;

	do {
		fd = open(node, O_RDWR | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd >= 0)
		return fd;
	return errno == ENXIO ? -ENOENT : -errno;	/* a node with no card */
}

int vtadev_open(const char *which, struct vtadev **out)
{
	struct vta_info raw = { 0 };
	struct vtadev_card card;
	const char *node = which;
	struct vtadev *dev;
	int err;

	if (!card_is_path(which)) {
		err = vtadev_find(which, &card);
		if (err)
			return err;
		node = card.node;
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	atomic_init(&dev->refs, 1);
	dev->opened = clock_mark();
	dev->sysfs = -1;
	dev->fd = open_node(node);
	if (dev->fd < 0) {
		err = dev->fd;
		free(dev);
		return err;
	}

	err = dev_ioctl(dev, VTA_IOCTL_INFO, &raw);
	if (!err)
		err = info_derive(&raw, &dev->info);
	dev->abi = raw.abi;
	if (err) {
		dev_put(dev);
		return err;
	}

	dev->sysfs = card_of_fd(dev->fd, &dev->info.card);
	if (dev->sysfs < 0) {
		dev->info.card.index = UINT_MAX;
		snprintf(dev->info.card.node, sizeof(dev->info.card.node), "%.*s",
			 (int)sizeof(dev->info.card.node) - 1, node);
	}
	*out = dev;
	return 0;
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

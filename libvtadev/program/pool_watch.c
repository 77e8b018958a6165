// SPDX-License-Identifier: Apache-2.0
/*
 * pool_watch.c - the kernel's events of cards, as libudev gives them
 *
 * They come from the kernel itself, so no daemon is needed. In a container there are none:
 * then cards that come back are found by trying.
 */
#include <libudev.h>
#include <stddef.h>

#include "pool.h"

#define SUBSYSTEM	"vta"

void pool_watch_open(struct pool_watch *watch)
{
	*watch = (struct pool_watch){ .udev = udev_new(), .fd = -1 };
	if (!watch->udev)
		return;
	watch->monitor = udev_monitor_new_from_netlink(watch->udev, "kernel");
	if (watch->monitor &&
	    udev_monitor_filter_add_match_subsystem_devtype(watch->monitor, SUBSYSTEM, NULL) >= 0 &&
	    udev_monitor_enable_receiving(watch->monitor) >= 0)
		watch->fd = udev_monitor_get_fd(watch->monitor);
}

void pool_watch_drain(struct pool_watch *watch)
{
	struct udev_device *device;

	if (watch->fd < 0)
		return;
	while ((device = udev_monitor_receive_device(watch->monitor)))
		udev_device_unref(device);
}

void pool_watch_close(struct pool_watch *watch)
{
	if (watch->monitor)
		udev_monitor_unref(watch->monitor);
	if (watch->udev)
		udev_unref(watch->udev);
	watch->fd = -1;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_drv.h - entry points: file operations, sysfs groups, hwmon
 */
#ifndef VTA_DRV_H
#define VTA_DRV_H

#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kconfig.h>

struct vta_device;

extern const struct file_operations vta_fops;
extern const struct attribute_group *vta_groups[];

#if IS_REACHABLE(CONFIG_HWMON)
/**
 * vta_hwmon_init() - register the sensors of a card, if the card has any
 * @vdev: the card
 *
 * Context: probe. Failure is logged, and the card works without sensors.
 */
void vta_hwmon_init(struct vta_device *vdev);

/**
 * vta_hwmon_fini() - unregister the sensors of a card
 * @vdev: the card
 *
 * Context: remove.
 */
void vta_hwmon_fini(struct vta_device *vdev);
#else
static inline void vta_hwmon_init(struct vta_device *vdev) { }
static inline void vta_hwmon_fini(struct vta_device *vdev) { }
#endif

#endif /* VTA_DRV_H */

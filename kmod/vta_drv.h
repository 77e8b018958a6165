/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_drv.h - what the module takes from the files that are its doors
 */
#ifndef VTA_DRV_H
#define VTA_DRV_H

#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kconfig.h>

struct vta_device;

extern const struct file_operations vta_fops;
extern const struct attribute_group *vta_groups[];

/* ---- Sensors (vta_hwmon.c) ---- */

#if IS_REACHABLE(CONFIG_HWMON)
/* Between probe and remove; a card goes on without. */
void vta_hwmon_init(struct vta_device *vdev);
void vta_hwmon_fini(struct vta_device *vdev);
#else
static inline void vta_hwmon_init(struct vta_device *vdev) { }
static inline void vta_hwmon_fini(struct vta_device *vdev) { }
#endif

#endif /* VTA_DRV_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_hwmon.h - temperature and power of cards that have sensors
 */
#ifndef VTA_HWMON_H
#define VTA_HWMON_H

#include <linux/kconfig.h>

struct vta_device;

#if IS_REACHABLE(CONFIG_HWMON)
/* Between probe and remove; a card goes on without. */
void vta_hwmon_init(struct vta_device *vdev);
void vta_hwmon_fini(struct vta_device *vdev);
#else
static inline void vta_hwmon_init(struct vta_device *vdev) { }
static inline void vta_hwmon_fini(struct vta_device *vdev) { }
#endif

#endif /* VTA_HWMON_H */

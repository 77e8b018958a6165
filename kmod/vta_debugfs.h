/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_debugfs.h - what only those want to see who work on the driver
 */
#ifndef VTA_DEBUGFS_H
#define VTA_DEBUGFS_H

struct vta_device;

/* The module's directory. */
void vta_debugfs_init(void);
void vta_debugfs_exit(void);

/* A card's. */
void vta_debugfs_add(struct vta_device *vdev);
void vta_debugfs_remove(struct vta_device *vdev);

#endif /* VTA_DEBUGFS_H */

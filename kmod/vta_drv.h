/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_drv.h - globals of the module
 */
#ifndef VTA_DRV_H
#define VTA_DRV_H

#include <linux/device.h>
#include <linux/fs.h>

extern const struct file_operations vta_fops;
extern const struct attribute_group *vta_groups[];

#endif /* VTA_DRV_H */

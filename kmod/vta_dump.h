/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_dump.h - the state of a card and of the driver, as text
 */
#ifndef VTA_DUMP_H
#define VTA_DUMP_H

struct vta_device;

/*
 * Leaves it to userspace as a devcoredump, before the card is reset; under vta_device.lock. Of
 * a card that may not be accessed, it is without the registers.
 */
void vta_dump_coredump(struct vta_device *vdev, const char *why);

/* The present state is in debugfs, in a directory for each card below that of the module. */
void vta_dump_add(struct vta_device *vdev);
void vta_dump_remove(struct vta_device *vdev);
void vta_dump_init(void);
void vta_dump_exit(void);

#endif /* VTA_DUMP_H */

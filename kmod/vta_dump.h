/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_dump.h - the state of a card and of the driver, as text
 */
#ifndef VTA_DUMP_H
#define VTA_DUMP_H

struct vta_device;
struct vta_text;

/* As much as one needs at most. */
#define VTA_DUMP_SIZE	(128 * 1024)

/* Both under vta_device.lock; of a card that may not be accessed, without its registers. */
void vta_dump_print(struct vta_device *vdev, const char *why, struct vta_text *text);
/* Leaves it to userspace as a devcoredump: before the card is reset. */
void vta_dump_leave(struct vta_device *vdev, const char *why);

#endif /* VTA_DUMP_H */

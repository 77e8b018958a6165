/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_shadow.h - the card's memory, kept in the host's while the machine sleeps
 */
#ifndef VTA_SHADOW_H
#define VTA_SHADOW_H

#include <linux/types.h>

struct vta_device;

/*
 * Takes host memory for what is in use of the card's now, if what is there already is not
 * enough. For transitions of the machine alone, which come one after the other. -ENOMEM.
 */
int vta_shadow_reserve(struct vta_device *vdev);
void vta_shadow_release(struct vta_device *vdev);

/*
 * Under vta_device.lock. Copies what was in use to the host; and back, once, if it has been
 * copied since it was reserved. The card does it, by its first context and its first queue:
 * all queues have been stopped, no context is needed, and neither is as it was afterwards.
 */
int vta_shadow_out(struct vta_device *vdev);
int vta_shadow_in(struct vta_device *vdev);
bool vta_shadow_is_full(const struct vta_device *vdev);

#endif /* VTA_SHADOW_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_pm.h - the machine sleeps, hibernates and is shut down; the card does
 */
#ifndef VTA_PM_H
#define VTA_PM_H

#include <linux/pm.h>

struct pci_dev;
struct vta_device;

extern const struct dev_pm_ops vta_pm_ops;

void vta_pm_shutdown(struct pci_dev *pdev);

/* From the end of probe to the beginning of remove the card may sleep when idle. */
void vta_pm_begin(struct vta_device *vdev);
void vta_pm_end(struct vta_device *vdev);

/* ---- The copy of the card's memory, while the machine sleeps (vta_shadow.c) ---- */

/*
 * Reserves host memory for the card memory in use now, if the present reservation is too small.
 * For transitions of the machine alone, which come one after the other. -ENOMEM.
 */
int vta_shadow_reserve(struct vta_device *vdev);
void vta_shadow_release(struct vta_device *vdev);

/*
 * Under vta_device.lock. Copies what was in use to the host; and back, once, if it has been
 * copied since it was reserved. The card does it, by its first context and its first queue:
 * all queues have been stopped, no context is needed, and neither is as it was afterwards.
 */
int vta_shadow_save(struct vta_device *vdev);
int vta_shadow_restore(struct vta_device *vdev);
bool vta_shadow_is_saved(const struct vta_device *vdev);

#endif /* VTA_PM_H */

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

/* Keeps the card awake, waking it first; before any lock. */
int vta_pm_get(struct vta_device *vdev);
void vta_pm_put(struct vta_device *vdev);

#endif /* VTA_PM_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_pm.h - power management: system suspend, hibernation, shutdown, runtime PM
 */
#ifndef VTA_PM_H
#define VTA_PM_H

#include <linux/pm.h>

struct pci_dev;
struct vta_device;

extern const struct dev_pm_ops vta_pm_ops;

/**
 * vta_pm_shutdown() - revoke the card from all files, and reset it
 * @pdev: the card
 *
 * Context: the machine shuts down.
 */
void vta_pm_shutdown(struct pci_dev *pdev);

/**
 * vta_pm_begin() - allow runtime PM, and watch for system suspend
 * @vdev: the card
 *
 * Context: the end of probe; drops the reference that keeps the card awake.
 */
void vta_pm_begin(struct vta_device *vdev);

/**
 * vta_pm_end() - undo vta_pm_begin()
 * @vdev: the card
 *
 * Context: the beginning of remove.
 */
void vta_pm_end(struct vta_device *vdev);

/* ---- The copy of the card's memory during suspend (vta_shadow.c) ---- */

/**
 * vta_shadow_reserve() - reserve host memory for the card memory in use
 * @vdev: the card
 *
 * An earlier reservation is replaced if it is too small.
 *
 * Context: suspend and hibernation of the machine, which are serialized.
 * Return: 0, -ENOMEM, or another error of vta_host_map().
 */
int vta_shadow_reserve(struct vta_device *vdev);

/**
 * vta_shadow_release() - free the reservation and the copy, if there are any
 * @vdev: the card
 *
 * Context: as vta_shadow_reserve(), or remove.
 */
void vta_shadow_release(struct vta_device *vdev);

/**
 * vta_shadow_save() - copy the card memory in use to the host
 * @vdev: the card
 *
 * Uses the card's copy engine through context 0 and queue 0. All queues must be stopped; context 0
 * and queue 0 must be programmed again afterwards.
 *
 * Context: under vta_device.lock.
 * Return: 0 or an error.
 */
int vta_shadow_save(struct vta_device *vdev);

/**
 * vta_shadow_restore() - copy the memory back, if it was saved, and forget the copy
 * @vdev: the card, after a reset
 *
 * Uses context 0 and queue 0, as vta_shadow_save().
 *
 * Context: under vta_device.lock.
 * Return: 0 or an error.
 */
int vta_shadow_restore(struct vta_device *vdev);

/**
 * vta_shadow_is_saved() - check for a copy of the card's memory
 * @vdev: the card
 *
 * Context: under vta_device.lock.
 * Return: true if vta_shadow_restore() will copy the memory back.
 */
bool vta_shadow_is_saved(const struct vta_device *vdev);

#endif /* VTA_PM_H */

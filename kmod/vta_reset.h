/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_reset.h - starting, resetting and giving up the card
 */
#ifndef VTA_RESET_H
#define VTA_RESET_H

#include <linux/pci.h>
#include <linux/workqueue.h>

#include "vta_device.h"

/* For resets that others start. */
extern const struct pci_error_handlers vta_reset_handlers;

bool vta_card_is_there(struct vta_device *vdev);
int vta_card_wait_ready(struct vta_device *vdev);
int vta_card_reset(struct vta_device *vdev);
void vta_card_start(struct vta_device *vdev);

/* Asks for a reset; from any context. Why is said in the kernel log. */
void vta_card_lost(struct vta_device *vdev, const char *why);
void vta_reset_work(struct work_struct *work);

/* A step of recovery was taken, with that result: trace and counters. */
void vta_step(struct vta_device *vdev, enum vta_step step, int ret);

/* Resets it at once, also if it had been given up; may sleep for seconds. */
int vta_card_reset_now(struct vta_device *vdev, enum vta_cause cause, const char *why);

/* Configuration space when all was set up, for after a reset of the function. */
int vta_card_save_config(struct vta_device *vdev);
void vta_card_restore_config(struct vta_device *vdev);

/* Under vta_device.lock. */
void vta_card_recover(struct vta_device *vdev);

/* Takes everything from everybody, for good. @cause: unless the card is gone. */
void vta_card_retire(struct vta_device *vdev, enum vta_cause cause);

#endif /* VTA_RESET_H */

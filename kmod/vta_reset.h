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
/* Starts the card; it interrupts in VTA_STATE_LIVE only. */
void vta_card_start(struct vta_device *vdev);

/* The card sends the interrupt for events that it still has: one that was lost. */
void vta_card_enable_events(struct vta_device *vdev);

/* Under vta_device.lock. Interrupts are on in VTA_STATE_LIVE alone. */
void vta_card_set_state(struct vta_device *vdev, enum vta_state state);

/* Asks for a reset; from any context. @why is a constant, for the kernel log. */
void vta_card_request_reset(struct vta_device *vdev, const char *why);
void vta_reset_work(struct work_struct *work);
/*
 * Returns when no reset is wanted any more: the card works, or it cannot be used.
 * -EINTR if the caller is killed.
 */
int vta_card_settle(struct vta_device *vdev);

/*
 * Takes vta_device.lock, but not amid a reset of the function, in which the PCI core has the
 * card and the lock is released. -EINTR if the caller is killed.
 */
int vta_card_lock(struct vta_device *vdev);

/* A step of recovery was taken, with that result: trace and counters. */
void vta_step(struct vta_device *vdev, enum vta_step step, int ret);

/*
 * Resets the card at once, also if it had been given up; may sleep for seconds. The
 * caller holds the lock of the PCI device.
 */
int vta_card_reset_now(struct vta_device *vdev, enum vta_cause cause, const char *why);

/* Configuration space when all was set up, for after a reset that has lost it. */
int vta_card_save_config(struct vta_device *vdev);

/* Under vta_device.lock and that of the PCI device. */
void vta_card_recover(struct vta_device *vdev, enum vta_cause cause, const char *why);

/* Revokes the card from all files. @cause: unless the card has been pulled out. */
void vta_card_retire(struct vta_device *vdev, enum vta_cause cause);

#endif /* VTA_RESET_H */

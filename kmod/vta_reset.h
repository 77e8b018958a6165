/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_reset.h - starting, resetting and giving up the card
 */
#ifndef VTA_RESET_H
#define VTA_RESET_H

#include <linux/pci.h>

#include "vta_device.h"

/* For resets that others start. */
extern const struct pci_error_handlers vta_reset_handlers;

/* Of vta_device.reset_work. */
void vta_reset_work(struct work_struct *work);

/* Starts the card; it interrupts in VTA_STATE_LIVE only. */
void vta_card_start(struct vta_device *vdev);

/* Under vta_device.lock. Interrupts are on in VTA_STATE_LIVE alone. */
void vta_card_set_state(struct vta_device *vdev, enum vta_state state);

/*
 * Resets the card at once, also if it had been given up; may sleep for seconds. The
 * caller holds the lock of the PCI device.
 */
int vta_card_reset_now(struct vta_device *vdev, enum vta_cause cause, const char *reason);

/* Configuration space when all was set up, for after a reset that has lost it. */
int vta_card_save_config(struct vta_device *vdev);

/* Under vta_device.lock and that of the PCI device. */
void vta_card_recover(struct vta_device *vdev, enum vta_cause cause, const char *reason);

/* Revokes the card from all files. @cause: unless the card has been pulled out. */
void vta_card_retire(struct vta_device *vdev, enum vta_cause cause);

#endif /* VTA_RESET_H */

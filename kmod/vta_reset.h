/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_reset.h - starting, resetting and giving up the card
 */
#ifndef VTA_RESET_H
#define VTA_RESET_H

#include <linux/pci.h>

#include "vta_device.h"

/* For resets by the PCI core. */
extern const struct pci_error_handlers vta_reset_handlers;

/**
 * vta_reset_work() - reset the card, if a reset has been requested
 * @work: vta_device.reset_work
 *
 * Context: a worker.
 */
void vta_reset_work(struct work_struct *work);

/**
 * vta_card_start() - program a card that was reset, and enable it
 * @vdev: the card
 *
 * Context: under vta_device.lock.
 */
void vta_card_start(struct vta_device *vdev);

/**
 * vta_card_set_state() - change the state, and enable or disable interrupts as it needs
 * @vdev: the card
 * @state: the new state; interrupts are enabled only in VTA_STATE_LIVE
 *
 * Context: under vta_device.lock; wakes those who wait for vta_device.state.
 */
void vta_card_set_state(struct vta_device *vdev, enum vta_state state);

/**
 * vta_card_reset_now() - reset the card at once, even a card that was given up
 * @vdev: the card
 * @cause: for the files that lose the card
 * @reason: a constant, for the log
 *
 * Used for administrators and after resets by the PCI core; does not count as a reset that the
 * card needed.
 *
 * Context: under the lock of the PCI device; may sleep for seconds.
 * Return: 0, or the error for which the card was given up.
 */
int vta_card_reset_now(struct vta_device *vdev, enum vta_cause cause, const char *reason);

/**
 * vta_card_save_config() - save the PCI configuration space
 * @vdev: the card, set up
 *
 * A card that loses its configuration in a reset gets it back.
 *
 * Context: probe.
 * Return: 0 or an error.
 */
int vta_card_save_config(struct vta_device *vdev);

/**
 * vta_card_recover() - revoke the card from all files, and reset it or give it up
 * @vdev: the card
 * @cause: for the files, unless a reset was requested before
 * @reason: a constant, for the log, unless a reset was requested before
 *
 * Context: under vta_device.lock and that of the PCI device.
 */
void vta_card_recover(struct vta_device *vdev, enum vta_cause cause, const char *reason);

/**
 * vta_card_retire() - revoke the card from all files for ever, and take it off the bus
 * @vdev: the card
 * @cause: for the files, unless the card has been pulled out
 *
 * Context: remove and shutdown; memory may be freed and unmapped later.
 */
void vta_card_retire(struct vta_device *vdev, enum vta_cause cause);

#endif /* VTA_RESET_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* card.h - the card in sysfs */
#ifndef VTA_MATRIX_CARD_H
#define VTA_MATRIX_CARD_H

#include <stdbool.h>

int card_find(void);		/* once, while the driver is bound */
bool card_bound(void);		/* selects its node for later calls */
int card_bind(void);
int card_unbind(void);
int card_pci_reset(void);
/* Remove the PCI function, and scan the bus. */
int card_remove(void);
int card_rescan(void);
int card_suspend(void);
/* The name of a counter in sysfs that is not back to its initial value, or NULL. */
const char *card_leftover(void);

#endif

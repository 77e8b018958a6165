/* SPDX-License-Identifier: GPL-2.0-only */
/* card.h - the card in sysfs */
#ifndef VTA_MATRIX_CARD_H
#define VTA_MATRIX_CARD_H

#include <stdbool.h>

int card_find(void);		/* once, while the driver is bound */
bool card_bound(void);		/* and its node is the one that others use */
int card_bind(void);
int card_unbind(void);
int card_pci_reset(void);
/* Makes the kernel forget the function, and look for it. */
int card_remove(void);
int card_rescan(void);
int card_suspend(void);
/* A name of a counter in sysfs that is not back to where it was, or NULL. */
const char *card_leftover(void);

#endif

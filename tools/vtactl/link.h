/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * link.h - a card's PCI Express link, from its configuration space or from sysfs
 */
#ifndef VTACTL_LINK_H
#define VTACTL_LINK_H

#include <stdbool.h>

struct link {
	double speed, speed_max;	/* GT/s a lane; 0 if the code is unknown */
	unsigned int width, width_max;	/* lanes */
};

/*
 * Reads the link of the function at @address ("0000:01:00.0"). False if it has no PCI Express
 * capability, or the user no permission to read it (Linux shows only root the capabilities).
 */
bool link_read(const char *address, struct link *link);

/* The same from files that all users may read; @card is the card's directory. */
bool link_read_sysfs(int card, struct link *link);

#endif /* VTACTL_LINK_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gather.h - the status of a card, read without opening it
 */
#ifndef VTACTL_GATHER_H
#define VTACTL_GATHER_H

#include <stdbool.h>

struct json_object;
struct vtadev_card;

/*
 * Gathers the status of a card, with null for unknown values. --json prints it, and the text is
 * made from it. NULL if there is no memory, or the card was removed.
 */
struct json_object *gather(const struct vtadev_card *card);

/* Opens a device in the process, and gathers the same of it; an error of vtadev_open(). */
int gather_device(const char *which, struct json_object **status);

/* Prints it as text: all of it, or what fits a screen. */
void gather_print(struct json_object *status, bool all);

/* A card's PCI Express link. */
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

#endif /* VTACTL_GATHER_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gather.h - the status of a card, read without opening it
 */
#ifndef VTACTL_GATHER_H
#define VTACTL_GATHER_H

struct json_object;
struct vtadev_card;

/*
 * Gathers the status of a card, with null for unknown values. --json prints it, and the text is
 * made from it. NULL if there is no memory, or the card was removed.
 */
struct json_object *gather(const struct vtadev_card *card);

/* Prints it as text. */
void gather_print(struct json_object *status);

#endif /* VTACTL_GATHER_H */

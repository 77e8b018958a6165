/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gather.h - everything that can be told of a card without opening it
 */
#ifndef VTACTL_GATHER_H
#define VTACTL_GATHER_H

struct json_object;
struct vtadev_card;

/*
 * Gather the status of a card; what cannot be told is null. This is what
 * --json prints and what the text is made from. NULL if there is no memory, or
 * the card has gone.
 */
struct json_object *gather(const struct vtadev_card *card);

/* Print it for people. */
void gather_print(struct json_object *status);

#endif /* VTACTL_GATHER_H */

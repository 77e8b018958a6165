/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card.h - cards as sysfs knows them
 */
#ifndef VTADEV_CARD_H
#define VTADEV_CARD_H

#include <stdbool.h>

struct vtadev_card;

/* @which, or what VTADEV_DEVICE says if that is nothing. */
const char *card_or_default(const char *which);

/* Whether @which names a card by the path of its node. */
bool card_is_path(const char *which);

/*
 * Describe the card that is open as @fd. Returns a descriptor of its sysfs
 * directory, or -ENODEV if sysfs does not have it.
 */
int card_of_fd(int fd, struct vtadev_card *card);

#endif /* VTADEV_CARD_H */

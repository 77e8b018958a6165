/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card.h - cards as sysfs knows them
 */
#ifndef VTADEV_CARD_H
#define VTADEV_CARD_H

#include <stddef.h>

struct vtadev_card;

/*
 * The node of the card that @which names, as vtadev_open() describes it, into
 * @node. Returns 0, -EINVAL, -ENOENT or -ENOMEM.
 */
int card_find(const char *which, char *node, size_t size);

/*
 * Describe the card that is open as @fd. Returns a descriptor of its sysfs
 * directory, or -ENODEV if sysfs does not have it.
 */
int card_of_fd(int fd, struct vtadev_card *card);

#endif /* VTADEV_CARD_H */

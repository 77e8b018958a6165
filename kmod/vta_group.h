/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_group.h - each user's share of the engines
 */
#ifndef VTA_GROUP_H
#define VTA_GROUP_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct vta_device;
struct vta_user;

/**
 * struct vta_group - the group of a user's queues; protected by vta_device.users_lock
 * @nr: number of the card's group; with -1 the user has none
 * @weight: of the user, with or without a group
 * @until: without contexts, the group is kept until then, in ns of CLOCK_MONOTONIC
 */
struct vta_group {
	int nr;
	unsigned int weight;
	u64 until;
};

void vta_group_init(struct vta_group *group);

/*
 * Gives a user with a context a group, as long as the user has contexts. Under
 * vta_device.lock, with a card that is live. Fails with -ENOSPC if contexts of other
 * users are about to end, which are as many as the card has.
 */
int vta_group_join(struct vta_device *vdev, struct vta_user *user);

/* The following five are called under vta_device.users_lock. */

/* The user's last context has ended. */
void vta_group_linger(struct vta_group *group);
/* Whether the group does not keep the user any more. */
bool vta_group_is_idle(const struct vta_group *group);
/* The user is forgotten. */
void vta_group_leave(struct vta_device *vdev, struct vta_group *group);
void vta_group_set_weight(struct vta_device *vdev, struct vta_group *group, unsigned int weight);

/* Writes all weights to a card that was reset; under vta_device.lock. */
void vta_group_restore(struct vta_device *vdev);

#endif /* VTA_GROUP_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_user.h - what one user has of a card, over all of the user's open files
 */
#ifndef VTA_USER_H
#define VTA_USER_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct vta_device;

/**
 * struct vta_user - a user of a card; protected by vta_device.users_lock
 * @node: in vta_device.users
 * @uid: who (constant)
 * @refs: held by contexts and by card memory
 * @mem: bytes of card memory
 * @queues: queues of the card
 */
struct vta_user {
	struct list_head node;
	kuid_t uid;
	unsigned int refs;
	u64 mem;
	unsigned int queues;
};

/* The caller's user. */
struct vta_user *vta_user_get(struct vta_device *vdev);
void vta_user_put(struct vta_device *vdev, struct vta_user *user);

/* -EDQUOT if that is more than a user may have; @exempt may have all there is. */
int vta_user_charge_mem(struct vta_device *vdev, struct vta_user *user, u64 size, bool exempt);
void vta_user_uncharge_mem(struct vta_device *vdev, struct vta_user *user, u64 size);
int vta_user_charge_queue(struct vta_device *vdev, struct vta_user *user, bool exempt);
void vta_user_uncharge_queue(struct vta_device *vdev, struct vta_user *user);

#endif /* VTA_USER_H */

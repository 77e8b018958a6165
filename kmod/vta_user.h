/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_user.h - a user's resources, over all of the user's open files
 */
#ifndef VTA_USER_H
#define VTA_USER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "vta_event.h"
#include "vta_group.h"

struct file;
struct vta_device;
struct vta_text;

/* Limited resources of a user: bytes of memory, queues and contexts. */
enum vta_user_what {
	VTA_USER_CARD_MEM,
	VTA_USER_HOST_MEM,	/* of the driver's, in buffers */
	VTA_USER_QUEUES,
	VTA_USER_CTXS,
	VTA_USER_WHATS
};

/**
 * struct vta_user - a user of a card; protected by vta_device.users_lock
 * @node: in vta_device.users
 * @uid: the user's ID (constant)
 * @refs: held by contexts and by all that is @used; without any, the user is remembered
 *        as long as the faults and the group are
 * @used: how much, by enum vta_user_what
 * @group: share of the engines
 * @notifier: signals poll() and eventfds of the user's files; by itself
 * @faults_until: when all faults so far would have happened at the rate allowed, and
 *                all time that hangs have cost would have passed again, in ns of
 *                CLOCK_MONOTONIC; changed without the lock
 */
struct vta_user {
	struct list_head node;
	kuid_t uid;
	unsigned int refs;
	u64 used[VTA_USER_WHATS];
	struct vta_group group;
	struct vta_notifier notifier;
	atomic64_t faults_until;
};

/* A user's limit of a resource. */
u64 vta_user_limit(const struct vta_device *vdev, enum vta_user_what what);

/* The caller's user. */
struct vta_user *vta_user_get(struct vta_device *vdev);
void vta_user_put(struct vta_device *vdev, struct vta_user *user);
/*
 * Sets the weight of a user, even without an open file; -ENOMEM. Prints those that
 * are not 1, a line each: user and weight.
 */
int vta_user_set_weight(struct vta_device *vdev, kuid_t uid, unsigned int weight);
void vta_user_print_weights(struct vta_device *vdev, struct vta_text *text);
/* Called when no user is left. */
void vta_user_forget_all(struct vta_device *vdev);

/*
 * Charges the user for a queue that halted, or for a hang of @ns; any context. A user with too
 * many of these waits before the next queue: -ERESTARTSYS if interrupted.
 */
void vta_user_charge_fault(struct vta_user *user);
void vta_user_charge_hang(struct vta_user *user, u64 ns);
int vta_user_wait_faults(struct vta_device *vdev, struct vta_user *user);

/*
 * -EDQUOT if that is more than a user may have; if @file was opened with CAP_SYS_RESOURCE,
 * there is no limit.
 */
int vta_user_charge(struct vta_device *vdev, struct vta_user *user, enum vta_user_what what,
		    u64 nr, const struct file *file);
void vta_user_uncharge(struct vta_device *vdev, struct vta_user *user, enum vta_user_what what,
		       u64 nr);

#endif /* VTA_USER_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_user.h - what one user has of a card, over all of the user's open files
 */
#ifndef VTA_USER_H
#define VTA_USER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "vta_group.h"

struct file;
struct vta_device;
struct vta_text;

/* What a user cannot have all of: bytes of memory, queues and contexts. */
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
 * @uid: who (constant)
 * @refs: held by contexts and by all that is @used; without any, the user is remembered
 *        as long as the faults and the group are
 * @used: how much, by enum vta_user_what
 * @group: share of the engines
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
	atomic64_t faults_until;
};

/* How much one user may have of it. */
u64 vta_user_limit(const struct vta_device *vdev, enum vta_user_what what);

/* The caller's user. */
struct vta_user *vta_user_get(struct vta_device *vdev);
void vta_user_put(struct vta_device *vdev, struct vta_user *user);
/*
 * Sets the weight of a user, who need not have the card open; -ENOMEM. Prints those that
 * are not 1, a line each: user and weight.
 */
int vta_user_set_weight(struct vta_device *vdev, kuid_t uid, unsigned int weight);
void vta_user_print_weights(struct vta_device *vdev, struct vta_text *text);
/* When nobody is left who uses the card. */
void vta_user_forget_all(struct vta_device *vdev);

/*
 * A queue of the user's has halted, or hangs an engine, which costs @ns; from any context. A
 * user with too many of those waits before the next queue: -ERESTARTSYS if interrupted.
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

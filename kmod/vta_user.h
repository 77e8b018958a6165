/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_user.h - a user's resources, over all of the user's open files: limits, share, usage
 */
#ifndef VTA_USER_H
#define VTA_USER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "vta_event.h"

struct file;
struct vta_ctx;
struct vta_device;
struct vta_queue;
struct vta_text;

/* Limited resources of a user: bytes of memory, queues and contexts. */
enum vta_user_resource {
	VTA_USER_CARD_MEM,
	VTA_USER_HOST_MEM,	/* of the driver's, in buffers */
	VTA_USER_PINNED,	/* of processes: has RLIMIT_MEMLOCK for a limit */
	VTA_USER_QUEUES,
	VTA_USER_CTXS,
	VTA_USER_RESOURCES
};

/**
 * struct vta_user - a user of a card; protected by vta_device.users_lock
 * @node: in vta_device.users
 * @uid: the user's ID (constant)
 * @refs: held by contexts and by all that is @used; without any, the user is remembered
 *        as long as the faults and the group are
 * @used: how much, by enum vta_user_resource
 * @group: number of the card's group of the user's queues; with -1 the user has none
 * @weight: share of the engines, with or without a group
 * @group_until: without contexts, the group is kept until then, in ns of CLOCK_MONOTONIC
 * @notifier: signals poll() and eventfds of the user's files; by itself
 * @faults_until: when all faults so far would have happened at the rate allowed, and
 *                all time that hangs have cost would have passed again, in ns of
 *                CLOCK_MONOTONIC; changed without the lock
 */
struct vta_user {
	struct list_head node;
	kuid_t uid;
	unsigned int refs;
	u64 used[VTA_USER_RESOURCES];
	int group;
	unsigned int weight;
	u64 group_until;
	struct vta_notifier notifier;
	atomic64_t faults_until;
};

/* A user's limit of a resource. */
u64 vta_user_limit(const struct vta_device *vdev, enum vta_user_resource res);

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
void vta_user_free_all(struct vta_device *vdev);

/*
 * Charges the user for a queue that halted, or for a hang of @ns; any context. A user with too
 * many of these waits before the next queue: -ERESTARTSYS if interrupted.
 */
void vta_user_charge_fault(struct vta_user *user);
void vta_user_charge_hang(struct vta_user *user, u64 ns);
int vta_user_throttle(struct vta_device *vdev, struct vta_user *user);

/*
 * -EDQUOT if that is more than a user may have; if @file was opened with CAP_SYS_RESOURCE,
 * there is no limit.
 */
int vta_user_charge(struct vta_device *vdev, struct vta_user *user, enum vta_user_resource res,
		    u64 nr, const struct file *file);
/* The same, with a limit of the caller's for all that the user has. */
int vta_user_charge_below(struct vta_device *vdev, struct vta_user *user,
			  enum vta_user_resource res, u64 nr, u64 limit);
void vta_user_uncharge(struct vta_device *vdev, struct vta_user *user, enum vta_user_resource res,
		       u64 nr);

/*
 * Gives a user with a context a group, as long as the user has contexts. Under
 * vta_device.lock, with a card that is live. Fails with -ENOSPC if contexts of other
 * users are about to end, which are as many as the card has.
 */
int vta_user_join_group(struct vta_device *vdev, struct vta_user *user);
/* Writes all weights to a card that was reset; under vta_device.lock. */
void vta_user_restore_weights(struct vta_device *vdev);

/* ---- What was used (vta_usage.c) ---- */

/**
 * struct vta_usage - completed work
 * @descriptors: completed
 * @cycles: compute cycles
 * @runs: RUNs completed
 * @copies: COPYs and FILLs completed
 * @run_ns: time in which the compute engine executed them
 * @copy_ns: time in which the copy engine executed them
 *
 * Each only grows, and comes from the card's status records.
 */
struct vta_usage {
	u64 descriptors;
	u64 cycles;
	u64 runs;
	u64 copies;
	u64 run_ns;
	u64 copy_ns;
};

/*
 * The queue was stopped, or will be started again: adds its usage to its context and the card.
 * Counts once for each start, and while the record exists.
 */
void vta_usage_collect(struct vta_queue *q);
/* The queue was started after descriptor @seq. */
void vta_usage_start(struct vta_queue *q, u64 seq);

/* Usage of an open file; of all files since the driver was bound. Neither waits for a user. */
void vta_usage_of_ctx(struct vta_ctx *ctx, struct vta_usage *usage);
void vta_usage_of_card(struct vta_device *vdev, struct vta_usage *usage);

#endif /* VTA_USER_H */

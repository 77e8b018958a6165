/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_user.h - a user's resources, in all of the user's open files: limits, share, usage
 */
#ifndef VTA_USER_H
#define VTA_USER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/ratelimit_types.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "vta_event.h"

struct file;
struct vta_ctx;
struct vta_device;
struct vta_queue;
struct vta_text;

/* Limited resources of a user: bytes of memory, queues and contexts. */
enum vta_user_resource {
	VTA_USER_CARD_MEM,
	VTA_USER_HOST_MEM,	/* of the driver, in buffers */
	VTA_USER_PINNED,	/* of processes: limited by RLIMIT_MEMLOCK */
	VTA_USER_QUEUES,
	VTA_USER_CTXS,
	VTA_USER_RESOURCES
};

/**
 * struct vta_user - a user of a card; protected by vta_device.users_lock
 * @node: in vta_device.users
 * @vdev: the card (constant)
 * @uid: the user's ID (constant)
 * @refs: held by contexts, by each charge in @used and by @export_work; a user without references
 *        is kept until the faults, the signals and the group have ended
 * @used: amounts in use, by enum vta_user_resource
 * @group: the card's group of the user's queues; -1: none
 * @weight: share of the engines, with or without a group
 * @group_until: a user without contexts keeps the group until then, in ns of CLOCK_MONOTONIC
 * @nr_lost: contexts that a reset has dropped, and whose memory is not freed yet; changed without
 *           the lock
 * @notifier: signals poll() and eventfds of the user's files (constant)
 * @faults_until: time at which all faults so far would have happened at the allowed rate, and all
 *                time lost to hangs would have passed again, in ns of CLOCK_MONOTONIC; changed
 *                without the lock
 * @log: rate of the user's lines in the kernel log; has a lock of its own
 * @uevents: rate of uevents of the user's faults; has a lock of its own
 * @exports: dma-bufs of card memory that the user is charged for, lost ones first (vta_export.c);
 *           vta_device.exports_lock
 * @export_work: revokes the lost ones
 */
struct vta_user {
	struct list_head node;
	struct vta_device *vdev;
	kuid_t uid;
	unsigned int refs;
	u64 used[VTA_USER_RESOURCES];
	int group;
	unsigned int weight;
	u64 group_until;
	atomic_t nr_lost;
	struct vta_notifier *notifier;
	atomic64_t faults_until;
	struct ratelimit_state log;
	struct ratelimit_state uevents;
	struct list_head exports;
	struct work_struct export_work;
};

/**
 * vta_user_limit() - the limit of a resource for each user
 * @vdev: the card
 * @res: the resource, not VTA_USER_PINNED
 *
 * Return: the limit.
 */
u64 vta_user_limit(const struct vta_device *vdev, enum vta_user_resource res);

/**
 * vta_user_get() - find the caller's user, or make it
 * @vdev: the card
 *
 * Context: may sleep for the caller's memory.
 * Return: the user with a reference, or ERR_PTR(-ENOMEM).
 */
struct vta_user *vta_user_get(struct vta_device *vdev);

/**
 * vta_user_get_by_id() - find the user of an ID, even one without an open file, or make it
 * @vdev: the card
 * @uid: the ID
 *
 * Context: may sleep for the caller's memory.
 * Return: the user with a reference, or ERR_PTR(-ENOMEM).
 */
struct vta_user *vta_user_get_by_id(struct vta_device *vdev, kuid_t uid);

/**
 * vta_user_put() - drop a reference
 * @vdev: the card
 * @user: the user
 */
void vta_user_put(struct vta_device *vdev, struct vta_user *user);

/**
 * vta_user_for_each() - call a function for all users
 * @vdev: the card
 * @each: the function, called under vta_device.users_lock
 */
void vta_user_for_each(struct vta_device *vdev, void (*each)(struct vta_user *user));

/**
 * vta_user_set_weight() - set a user's share
 * @vdev: the card
 * @user: the user
 * @weight: the weight
 *
 * Context: under vta_device.lock.
 */
void vta_user_set_weight(struct vta_device *vdev, struct vta_user *user, unsigned int weight);

/**
 * vta_user_print_weights() - print a line, user and weight, for each weight that is not 1
 * @vdev: the card
 * @text: the text
 */
void vta_user_print_weights(struct vta_device *vdev, struct vta_text *text);

/**
 * vta_user_free_all() - free all users
 * @vdev: the card, of which no user has references
 */
void vta_user_free_all(struct vta_device *vdev);

/**
 * vta_user_charge_fault() - charge a user for a queue that has halted
 * @user: the user
 *
 * Context: any.
 */
void vta_user_charge_fault(struct vta_user *user);

/**
 * vta_user_charge_hang() - charge a user for a hang
 * @user: the user
 * @ns: duration of the hang
 *
 * Context: any.
 */
void vta_user_charge_hang(struct vta_user *user, u64 ns);

/**
 * vta_user_throttle() - delay a user whose queues fault too often
 * @vdev: the card
 * @user: the user
 *
 * Context: sleeps without locks.
 * Return: 0, or -ERESTARTSYS if interrupted.
 */
int vta_user_throttle(struct vta_device *vdev, struct vta_user *user);

/**
 * vta_user_charge() - charge a user for a resource, within the user's limit
 * @vdev: the card
 * @user: the user
 * @res: the resource
 * @nr: the amount
 * @file: the open file; if it was opened with CAP_SYS_RESOURCE, there is no limit
 *
 * Return: 0 or -EDQUOT.
 */
int vta_user_charge(struct vta_device *vdev, struct vta_user *user, enum vta_user_resource res,
		    u64 nr, const struct file *file);

/**
 * vta_user_charge_below() - vta_user_charge() with a limit of the caller's
 * @vdev: the card
 * @user: the user
 * @res: the resource
 * @nr: the amount
 * @limit: limit of all that the user has of the resource
 *
 * Return: 0 or -EDQUOT.
 */
int vta_user_charge_below(struct vta_device *vdev, struct vta_user *user,
			  enum vta_user_resource res, u64 nr, u64 limit);

/**
 * vta_user_uncharge() - undo a charge
 * @vdev: the card
 * @user: the user
 * @res: the resource
 * @nr: the amount
 */
void vta_user_uncharge(struct vta_device *vdev, struct vta_user *user, enum vta_user_resource res,
		       u64 nr);

/**
 * vta_user_join_group() - give a user a group of the card, for as long as the user has contexts
 * @vdev: a live card
 * @user: a user with a context
 *
 * Context: inside of the card (vta_card_enter()).
 * Return: 0, or -ENOSPC if other users have all groups, because their contexts are about to end.
 */
int vta_user_join_group(struct vta_device *vdev, struct vta_user *user);

/**
 * vta_user_restore_weights() - write all weights to a card that was reset
 * @vdev: the card
 *
 * Context: under vta_device.lock.
 */
void vta_user_restore_weights(struct vta_device *vdev);

/* ---- Usage (vta_usage.c) ---- */

/**
 * struct vta_usage - completed work, from the card's status records; each count only grows
 * @descriptors: descriptors completed
 * @cycles: compute cycles
 * @runs: RUNs completed
 * @copies: COPYs and FILLs completed
 * @run_ns: time of the compute engine for these RUNs
 * @copy_ns: time of the copy engine for these COPYs and FILLs
 */
struct vta_usage {
	u64 descriptors;
	u64 cycles;
	u64 runs;
	u64 copies;
	u64 run_ns;
	u64 copy_ns;
};

/**
 * vta_usage_collect() - add a queue's usage since its start to its context and the card
 * @q: a queue that was stopped, or will be started again; its record still exists
 *
 * Counts once for each start.
 */
void vta_usage_collect(struct vta_queue *q);

/**
 * vta_usage_start() - count a queue's usage from now on
 * @q: the queue
 * @seq: sequence number after which the queue was started
 */
void vta_usage_start(struct vta_queue *q, u64 seq);

/**
 * vta_usage_of_ctx() - usage of an open file
 * @ctx: its context
 * @usage: out: the usage
 *
 * Context: waits for no user.
 */
void vta_usage_of_ctx(struct vta_ctx *ctx, struct vta_usage *usage);

/**
 * vta_usage_of_card() - usage of all files since the driver was bound
 * @vdev: the card
 * @usage: out: the usage
 *
 * Context: waits for no user.
 */
void vta_usage_of_card(struct vta_device *vdev, struct vta_usage *usage);

#endif /* VTA_USER_H */

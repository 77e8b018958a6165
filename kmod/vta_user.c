// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_user.c - a user's resources, in all of the user's open files: limits, share
 *
 * The driver's host memory is limited like the card's resources: it belongs to no process, so the
 * OOM killer does not find its user. Pinned memory is counted for RLIMIT_MEMLOCK (vta_pin.c).
 *
 * The card shares its engines between groups of queues, by time and weight, and records the debt
 * of each group (docs/hardware.md, section 6). Each user with a context has a group. A user that
 * closes all files keeps the group until the largest possible debt would be paid off, so that
 * opening the card again does not cancel a debt. If groups run out, such a group is given to
 * another user.
 */
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "vta_device.h"
#include "vta_history.h"
#include "vta_user.h"

static unsigned int vta_max_user_mem = 75;
module_param_named(max_user_mem, vta_max_user_mem, uint, 0644);
MODULE_PARM_DESC(max_user_mem,
		 "Most that one user may have of a card's memory, in percent (default 75); CAP_SYS_RESOURCE is exempt");

static unsigned int vta_max_user_host = 25;
module_param_named(max_user_host, vta_max_user_host, uint, 0644);
MODULE_PARM_DESC(max_user_host,
		 "Most host memory that one user may have in buffers for a card, in percent of the host's memory (default 25); CAP_SYS_RESOURCE is exempt");

static unsigned int vta_max_user_queues = 75;
module_param_named(max_user_queues, vta_max_user_queues, uint, 0644);
MODULE_PARM_DESC(max_user_queues,
		 "Most that one user may have of a card's queues, in percent, but at least one (default 75); CAP_SYS_RESOURCE is exempt");

static unsigned int vta_max_user_contexts = 75;
module_param_named(max_user_contexts, vta_max_user_contexts, uint, 0644);
MODULE_PARM_DESC(max_user_contexts,
		 "Most that one user may have of a card's contexts (open files), in percent, but at least one (default 75); CAP_SYS_RESOURCE is exempt");

static unsigned int vta_max_user_faults = 100;
module_param_named(max_user_faults, vta_max_user_faults, uint, 0644);
MODULE_PARM_DESC(max_user_faults,
		 "Most faults that one user's queues may cause in a second before the driver delays creating and recovering that user's queues (default 100, 0: no limit)");

/* No group owes more than this (docs/hardware.md, section 6, "Scheduling"). */
#define VTA_GROUP_DEBT_MAX_NS	BIT_ULL(34)

/*
 * Returns the user who is charged for all processes of a user namespace: its owner or, if root has
 * made it, the ID that is root inside. INVALID_UID if there is none, or it is the host's root: such
 * a namespace is for users of the host, as systemd's PrivateUsers=.
 */
static kuid_t vta_user_of_namespace(struct user_namespace *ns)
{
	kuid_t root;

	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	root = make_kuid(ns, 0);
	return uid_eq(root, GLOBAL_ROOT_UID) ? INVALID_UID : root;
}

/*
 * Returns the user to be charged. A user can have many IDs in a user namespace, and make more
 * namespaces inside of it, so the outermost namespace decides.
 */
static kuid_t vta_user_uid(void)
{
	struct user_namespace *ns;
	kuid_t uid = current_uid(), user;

	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent) {
		user = vta_user_of_namespace(ns);
		if (uid_valid(user))
			uid = user;
	}
	return uid;
}

/* True if the user has no references, and its faults, signals and group have ended. */
static bool vta_user_is_idle(const struct vta_user *user)
{
	u64 now = ktime_get_ns();

	return !user->refs && user->weight == 1 &&
	       (user->group < 0 || user->group_until <= now) &&
	       atomic64_read(&user->faults_until) <= (s64)now &&
	       vta_notifier_is_idle(user->notifier);
}

static void vta_user_free(struct vta_user *user)
{
	if (user)
		vta_notifier_put(user->notifier);
	kfree(user);
}

/* Frees idle users; others are kept, so that closing all files does not clear the faults. */
static void vta_user_free_idle(struct vta_device *vdev)
{
	struct vta_user *user, *next;

	list_for_each_entry_safe(user, next, &vdev->users, node) {
		if (!vta_user_is_idle(user))
			continue;
		list_del(&user->node);
		if (user->group >= 0)
			__clear_bit(user->group, vdev->groups);
		vta_user_free(user);
	}
}

void vta_user_free_all(struct vta_device *vdev)
{
	struct vta_user *user, *next;

	list_for_each_entry_safe(user, next, &vdev->users, node)
		vta_user_free(user);
}

static struct vta_user *vta_user_alloc(struct vta_device *vdev, kuid_t uid)
{
	struct vta_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->notifier = vta_notifier_new();
	if (!user->notifier) {
		kfree(user);
		return NULL;
	}
	user->vdev = vdev;
	user->uid = uid;
	user->group = -1;
	user->weight = 1;
	ratelimit_default_init(&user->log);
	ratelimit_state_init(&user->uevents, VTA_HISTORY_WINDOW, VTA_HISTORY_BURST);
	/* A uevent counts those that were left out. */
	ratelimit_set_flags(&user->uevents, RATELIMIT_MSG_ON_RELEASE);
	INIT_LIST_HEAD(&user->exports);
	return user;
}

/* Finds the existing user, or adds *new and sets it to NULL; under users_lock. */
static struct vta_user *vta_user_find(struct vta_device *vdev, struct vta_user **new)
{
	struct vta_user *user;

	vta_user_free_idle(vdev);
	list_for_each_entry(user, &vdev->users, node) {
		if (uid_eq(user->uid, (*new)->uid))
			return user;
	}
	user = *new;
	*new = NULL;
	list_add_tail(&user->node, &vdev->users);
	return user;
}

struct vta_user *vta_user_get_by_id(struct vta_device *vdev, kuid_t uid)
{
	struct vta_user *user, *new = vta_user_alloc(vdev, uid);

	if (!new)
		return ERR_PTR(-ENOMEM);
	spin_lock(&vdev->users_lock);
	user = vta_user_find(vdev, &new);
	user->refs++;
	spin_unlock(&vdev->users_lock);
	vta_user_free(new);
	return user;
}

struct vta_user *vta_user_get(struct vta_device *vdev)
{
	return vta_user_get_by_id(vdev, vta_user_uid());
}

void vta_user_for_each(struct vta_device *vdev, void (*each)(struct vta_user *user))
{
	struct vta_user *user;

	spin_lock(&vdev->users_lock);
	list_for_each_entry(user, &vdev->users, node)
		each(user);
	spin_unlock(&vdev->users_lock);
}

/* Writes the weight of the user's group, if any; the card sets the group's credit to 0. */
static void vta_user_write_weight(struct vta_device *vdev, const struct vta_user *user)
{
	lockdep_assert_held(&vdev->users_lock);

	if (user->group >= 0)
		vta_write(vdev, REG_GROUP_WEIGHT(user->group), user->weight);
}

void vta_user_set_weight(struct vta_device *vdev, struct vta_user *user, unsigned int weight)
{
	lockdep_assert_held(&vdev->lock);

	spin_lock(&vdev->users_lock);
	user->weight = weight;
	vta_user_write_weight(vdev, user);
	spin_unlock(&vdev->users_lock);
}

void vta_user_print_weights(struct vta_device *vdev, struct vta_text *text)
{
	struct vta_user *user;

	spin_lock(&vdev->users_lock);
	list_for_each_entry(user, &vdev->users, node) {
		if (user->weight != 1)
			vta_print(text, "%u %u\n", from_kuid(&init_user_ns, user->uid),
				  user->weight);
	}
	spin_unlock(&vdev->users_lock);
}

/* Finds the user that has a group, and has had no contexts for the longest time. */
static struct vta_user *vta_user_find_oldest(struct vta_device *vdev)
{
	struct vta_user *user, *oldest = NULL;

	list_for_each_entry(user, &vdev->users, node) {
		if (user->used[VTA_USER_CTXS] || user->group < 0)
			continue;
		if (!oldest || user->group_until < oldest->group_until)
			oldest = user;
	}
	return oldest;
}

static int vta_user_alloc_group(struct vta_device *vdev)
{
	unsigned int nr = find_first_zero_bit(vdev->groups, vdev->caps.contexts);
	struct vta_user *oldest;

	if (nr < vdev->caps.contexts) {
		__set_bit(nr, vdev->groups);
		return nr;
	}
	oldest = vta_user_find_oldest(vdev);
	if (!oldest)
		return -ENOSPC;
	nr = oldest->group;
	oldest->group = -1;
	return nr;
}

int vta_user_join_group(struct vta_device *vdev, struct vta_user *user)
{
	int ret = 0;

	lockdep_assert_held(&vdev->gate);

	spin_lock(&vdev->users_lock);
	if (user->group < 0) {
		ret = vta_user_alloc_group(vdev);
		if (ret >= 0) {
			user->group = ret;
			vta_user_write_weight(vdev, user);
			ret = 0;
		}
	}
	spin_unlock(&vdev->users_lock);
	return ret;
}

void vta_user_restore_weights(struct vta_device *vdev)
{
	struct vta_user *user;

	lockdep_assert_held(&vdev->lock);

	spin_lock(&vdev->users_lock);
	list_for_each_entry(user, &vdev->users, node)
		vta_user_write_weight(vdev, user);
	spin_unlock(&vdev->users_lock);
}

void vta_user_put(struct vta_device *vdev, struct vta_user *user)
{
	spin_lock(&vdev->users_lock);
	user->refs--;
	vta_user_free_idle(vdev);
	spin_unlock(&vdev->users_lock);
}

u64 vta_user_limit(const struct vta_device *vdev, enum vta_user_resource res)
{
	static const unsigned int * const percents[] = {
		[VTA_USER_CARD_MEM] = &vta_max_user_mem,
		[VTA_USER_HOST_MEM] = &vta_max_user_host,
		[VTA_USER_QUEUES] = &vta_max_user_queues,
		[VTA_USER_CTXS] = &vta_max_user_contexts,
	};
	const u64 totals[] = {
		[VTA_USER_CARD_MEM] = vdev->caps.mem_size,
		[VTA_USER_HOST_MEM] = (u64)totalram_pages() << PAGE_SHIFT,
		[VTA_USER_QUEUES] = vdev->caps.queues,
		[VTA_USER_CTXS] = vdev->caps.contexts,
	};
	u64 limit = totals[res] * min(READ_ONCE(*percents[res]), 100u) / 100;

	/* At least one queue and one context, even if the card has few. */
	return limit || res < VTA_USER_QUEUES ? limit : 1;
}

int vta_user_charge_below(struct vta_device *vdev, struct vta_user *user,
			  enum vta_user_resource res, u64 nr, u64 limit)
{
	int ret = -EDQUOT;

	spin_lock(&vdev->users_lock);
	if (user->used[res] <= limit && nr <= limit - user->used[res]) {
		user->used[res] += nr;
		user->refs++;
		ret = 0;
	}
	spin_unlock(&vdev->users_lock);
	return ret;
}

int vta_user_charge(struct vta_device *vdev, struct vta_user *user, enum vta_user_resource res,
		    u64 nr, const struct file *file)
{
	int ret = vta_user_charge_below(vdev, user, res, nr, vta_user_limit(vdev, res));

	/* The opener's capability matters only if the limit is reached. */
	if (ret && file_ns_capable(file, &init_user_ns, CAP_SYS_RESOURCE))
		ret = vta_user_charge_below(vdev, user, res, nr, U64_MAX);
	return ret;
}

void vta_user_uncharge(struct vta_device *vdev, struct vta_user *user, enum vta_user_resource res,
		       u64 nr)
{
	spin_lock(&vdev->users_lock);
	user->used[res] -= nr;
	if (res == VTA_USER_CTXS && !user->used[res])
		user->group_until = ktime_get_ns() + VTA_GROUP_DEBT_MAX_NS;
	spin_unlock(&vdev->users_lock);
	vta_user_put(vdev, user);
}

static void vta_user_charge_ns(struct vta_user *user, u64 ns)
{
	s64 old = atomic64_read(&user->faults_until), new;

	do {
		new = max_t(s64, old, ktime_get_ns()) + ns;
	} while (!atomic64_try_cmpxchg(&user->faults_until, &old, new));
}

void vta_user_charge_fault(struct vta_user *user)
{
	unsigned int rate = READ_ONCE(vta_max_user_faults);

	if (rate)
		vta_user_charge_ns(user, NSEC_PER_SEC / rate);
}

void vta_user_charge_hang(struct vta_user *user, u64 ns)
{
	if (READ_ONCE(vta_max_user_faults))
		vta_user_charge_ns(user, ns);
}

/* Returns the time to wait: the faults that are allowed in a second are free. */
static s64 vta_user_faults_ahead_ns(const struct vta_user *user)
{
	if (!READ_ONCE(vta_max_user_faults))
		return 0;
	return atomic64_read(&user->faults_until) - (s64)ktime_get_ns() - NSEC_PER_SEC;
}

int vta_user_throttle(struct vta_device *vdev, struct vta_user *user)
{
	s64 ahead = vta_user_faults_ahead_ns(user);

	if (ahead <= 0)
		return 0;
	atomic_inc(&vdev->throttled);
	for (; ahead > 0; ahead = vta_user_faults_ahead_ns(user)) {
		/* The limit may be changed meanwhile. */
		if (msleep_interruptible(min_t(s64, ahead / NSEC_PER_MSEC + 1, 100)))
			return -ERESTARTSYS;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_group.c - each user's share of the engines
 *
 * The card shares its engines between groups of queues, by time and weight, and records the debt
 * of each (docs/hardware.md, section 6). Each user with a context has one. A user that closes all
 * files keeps it until the largest possible debt would be paid off, so that opening again does not
 * cancel a debt. If groups run out, such a group is given to another user.
 */
#include <linux/bitmap.h>
#include <linux/ktime.h>

#include "vta_device.h"
#include "vta_user.h"

/* No group owes more than this (docs/hardware.md, section 6, "Scheduling"). */
#define VTA_GROUP_DEBT_MAX_NS	BIT_ULL(34)

void vta_group_init(struct vta_group *group)
{
	group->nr = -1;
	group->weight = 1;
}

/* This clears the card's record of the group. */
static void vta_group_tell(struct vta_device *vdev, const struct vta_group *group)
{
	vta_write(vdev, REG_GROUP_WEIGHT(group->nr), group->weight);
}

/* The group of the user that has been without contexts for longest. */
static struct vta_group *vta_group_oldest(struct vta_device *vdev)
{
	struct vta_group *oldest = NULL;
	struct vta_user *user;

	list_for_each_entry(user, &vdev->users, node) {
		if (user->used[VTA_USER_CTXS] || user->group.nr < 0)
			continue;
		if (!oldest || user->group.until < oldest->until)
			oldest = &user->group;
	}
	return oldest;
}

static int vta_group_alloc(struct vta_device *vdev)
{
	unsigned int nr = find_first_zero_bit(vdev->groups, vdev->caps.contexts);
	struct vta_group *oldest;

	if (nr < vdev->caps.contexts) {
		__set_bit(nr, vdev->groups);
		return nr;
	}
	oldest = vta_group_oldest(vdev);
	if (!oldest)
		return -ENOSPC;
	nr = oldest->nr;
	oldest->nr = -1;
	return nr;
}

int vta_group_join(struct vta_device *vdev, struct vta_user *user)
{
	struct vta_group *group = &user->group;
	int ret = 0;

	lockdep_assert_held(&vdev->lock);

	spin_lock(&vdev->users_lock);
	if (group->nr < 0) {
		ret = vta_group_alloc(vdev);
		if (ret >= 0) {
			group->nr = ret;
			vta_group_tell(vdev, group);
			ret = 0;
		}
	}
	spin_unlock(&vdev->users_lock);
	return ret;
}

void vta_group_linger(struct vta_group *group)
{
	group->until = ktime_get_ns() + VTA_GROUP_DEBT_MAX_NS;
}

bool vta_group_is_idle(const struct vta_group *group)
{
	return group->weight == 1 && (group->nr < 0 || group->until <= ktime_get_ns());
}

void vta_group_leave(struct vta_device *vdev, struct vta_group *group)
{
	if (group->nr >= 0)
		__clear_bit(group->nr, vdev->groups);
}

void vta_group_set_weight(struct vta_device *vdev, struct vta_group *group, unsigned int weight)
{
	lockdep_assert_held(&vdev->users_lock);

	group->weight = weight;
	if (group->nr >= 0)
		vta_group_tell(vdev, group);
}

void vta_group_restore(struct vta_device *vdev)
{
	struct vta_user *user;

	lockdep_assert_held(&vdev->lock);

	spin_lock(&vdev->users_lock);
	list_for_each_entry(user, &vdev->users, node) {
		if (user->group.nr >= 0)
			vta_group_tell(vdev, &user->group);
	}
	spin_unlock(&vdev->users_lock);
}

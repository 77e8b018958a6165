// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_user.c - what one user has of a card, over all of the user's open files
 *
 * Card memory and queues are few, so that one user must not have all of them.
 * Host memory is not counted here: memory cgroups and RLIMIT_MEMLOCK do that.
 */
#include <linux/cred.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "vta_device.h"
#include "vta_user.h"

static unsigned int vta_max_user_mem = 75;
module_param_named(max_user_mem, vta_max_user_mem, uint, 0644);
MODULE_PARM_DESC(max_user_mem,
		 "Most that one user may have of a card's memory, in percent (default 75); CAP_SYS_RESOURCE is exempt");

static unsigned int vta_max_user_queues = 75;
module_param_named(max_user_queues, vta_max_user_queues, uint, 0644);
MODULE_PARM_DESC(max_user_queues,
		 "Most that one user may have of a card's queues, in percent, but at least one (default 75); CAP_SYS_RESOURCE is exempt");

/*
 * Who makes a user namespace can be many users in it, so what counts is who
 * made it.
 */
static kuid_t vta_user_uid(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

struct vta_user *vta_user_get(struct vta_device *vdev)
{
	kuid_t uid = vta_user_uid();
	struct vta_user *user, *new;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->uid = uid;
	new->refs = 1;

	spin_lock(&vdev->users_lock);
	list_for_each_entry(user, &vdev->users, node) {
		if (uid_eq(user->uid, uid)) {
			user->refs++;
			goto out;
		}
	}
	user = new;
	new = NULL;
	list_add_tail(&user->node, &vdev->users);
out:
	spin_unlock(&vdev->users_lock);
	kfree(new);
	return user;
}

void vta_user_put(struct vta_device *vdev, struct vta_user *user)
{
	bool last;

	spin_lock(&vdev->users_lock);
	last = !--user->refs;
	if (last)
		list_del(&user->node);
	spin_unlock(&vdev->users_lock);
	if (last)
		kfree(user);
}

int vta_user_charge_mem(struct vta_device *vdev, struct vta_user *user, u64 size, bool exempt)
{
	unsigned int percent = min(READ_ONCE(vta_max_user_mem), 100u);
	u64 limit = exempt ? U64_MAX : vdev->caps.mem_size * percent / 100;
	int ret = -EDQUOT;

	spin_lock(&vdev->users_lock);
	if (user->mem <= limit && size <= limit - user->mem) {
		user->mem += size;
		user->refs++;
		ret = 0;
	}
	spin_unlock(&vdev->users_lock);
	return ret;
}

void vta_user_uncharge_mem(struct vta_device *vdev, struct vta_user *user, u64 size)
{
	spin_lock(&vdev->users_lock);
	user->mem -= size;
	spin_unlock(&vdev->users_lock);
	vta_user_put(vdev, user);
}

int vta_user_charge_queue(struct vta_device *vdev, struct vta_user *user, bool exempt)
{
	unsigned int percent = min(READ_ONCE(vta_max_user_queues), 100u);
	unsigned int limit = exempt ? UINT_MAX : max(vdev->caps.queues * percent / 100, 1u);
	int ret = -EDQUOT;

	spin_lock(&vdev->users_lock);
	if (user->queues < limit) {
		user->queues++;
		ret = 0;
	}
	spin_unlock(&vdev->users_lock);
	return ret;
}

void vta_user_uncharge_queue(struct vta_device *vdev, struct vta_user *user)
{
	spin_lock(&vdev->users_lock);
	user->queues--;
	spin_unlock(&vdev->users_lock);
}

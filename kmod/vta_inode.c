// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_inode.c - an inode of its own for each open file
 *
 * Files that are opened by the same name share its inode, and so the list of all their mappings.
 * Then revoking the mappings of one file would search, and revoke, those of other users' files.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "vta_ctx.h"

#define VTA_FS_MAGIC	0x31415456	/* "VTA1" */

static struct vfsmount *vta_mount;
static int vta_mount_users;

static int vta_inode_init_fs(struct fs_context *fc)
{
	return init_pseudo(fc, VTA_FS_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type vta_fs_type = {
	.name = "vta",
	.owner = THIS_MODULE,
	.init_fs_context = vta_inode_init_fs,
	.kill_sb = kill_anon_super,
};

/* The file system holds the module, so it is mounted only while there is an inode. */
struct inode *vta_inode_new(void)
{
	struct inode *inode;
	int ret;

	ret = simple_pin_fs(&vta_fs_type, &vta_mount, &vta_mount_users);
	if (ret)
		return ERR_PTR(ret);
	inode = alloc_anon_inode(vta_mount->mnt_sb);
	if (IS_ERR(inode))
		simple_release_fs(&vta_mount, &vta_mount_users);
	return inode;
}

void vta_inode_put(struct inode *inode)
{
	iput(inode);
	simple_release_fs(&vta_mount, &vta_mount_users);
}

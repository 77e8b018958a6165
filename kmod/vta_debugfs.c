// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_debugfs.c - what only those want to see who work on the driver
 *
 * /sys/kernel/debug/vta/vtaN/state: what a devcoredump would have, of now. Its form is
 * no interface.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "vta_debugfs.h"
#include "vta_device.h"
#include "vta_dump.h"
#include "vta_text.h"

static struct dentry *vta_debugfs_root;

static int vta_state_show(struct seq_file *m, void *data)
{
	struct vta_device *vdev = m->private;
	struct vta_text text = {};
	int ret;

	text.size = seq_get_buf(m, &text.buf);
	ret = mutex_lock_interruptible(&vdev->lock);
	if (ret)
		return ret;
	vta_dump_print(vdev, "an administrator asked", &text);
	mutex_unlock(&vdev->lock);
	seq_commit(m, text.len);
	return 0;
}

/* With room for all of it, so that it is of one moment. */
static int vta_state_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, vta_state_show, inode->i_private, VTA_DUMP_SIZE);
}

static const struct file_operations vta_state_fops = {
	.owner = THIS_MODULE,
	.open = vta_state_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

void vta_debugfs_add(struct vta_device *vdev)
{
	vdev->debugfs = debugfs_create_dir(dev_name(&vdev->dev), vta_debugfs_root);
	debugfs_create_file("state", 0400, vdev->debugfs, vdev, &vta_state_fops);
}

/* Returns when nobody reads the card's state any more. */
void vta_debugfs_remove(struct vta_device *vdev)
{
	debugfs_remove_recursive(vdev->debugfs);
}

void vta_debugfs_init(void)
{
	vta_debugfs_root = debugfs_create_dir("vta", NULL);
}

void vta_debugfs_exit(void)
{
	debugfs_remove_recursive(vta_debugfs_root);
}

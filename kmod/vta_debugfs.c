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
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "vta_debugfs.h"
#include "vta_device.h"
#include "vta_dump.h"
#include "vta_text.h"

static struct dentry *vta_debugfs_root;

/* All of it is written when the file is opened, so that it is of one moment. */
static int vta_state_open(struct inode *inode, struct file *file)
{
	struct vta_device *vdev = inode->i_private;
	struct vta_text *text;
	int ret;

	text = kzalloc(sizeof(*text), GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	text->size = VTA_DUMP_SIZE;
	text->buf = vmalloc(VTA_DUMP_SIZE);
	ret = text->buf ? mutex_lock_interruptible(&vdev->lock) : -ENOMEM;
	if (ret) {
		vfree(text->buf);
		kfree(text);
		return ret;
	}
	vta_dump_print(vdev, "an administrator asked", text);
	mutex_unlock(&vdev->lock);
	file->private_data = text;
	return 0;
}

static ssize_t vta_state_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct vta_text *text = file->private_data;

	return simple_read_from_buffer(buf, count, pos, text->buf, text->len);
}

static int vta_state_release(struct inode *inode, struct file *file)
{
	struct vta_text *text = file->private_data;

	vfree(text->buf);
	kfree(text);
	return 0;
}

static const struct file_operations vta_state_fops = {
	.owner = THIS_MODULE,
	.open = vta_state_open,
	.read = vta_state_read,
	.release = vta_state_release,
	.llseek = default_llseek,
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

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_ioctl.h - the calls of uapi/vta.h, one function each; vta_file.c has their table
 */
#ifndef VTA_IOCTL_H
#define VTA_IOCTL_H

#include "vta.h"

struct file;
struct vta_ctx;

/**
 * typedef vta_ioctl_fn - vta_ioctl_NAME() implements VTA_IOCTL_NAME
 * @ctx: the context of the file
 * @data: the structure of the call in uapi/vta.h, as the caller has sent it, followed by zeroes
 *
 * Context: may sleep; without locks.
 * Return: 0, and @data is copied to the caller; or an error.
 */
typedef int vta_ioctl_fn(struct vta_ctx *ctx, void *data);

vta_ioctl_fn vta_ioctl_lost;

vta_ioctl_fn vta_ioctl_buf_alloc;
vta_ioctl_fn vta_ioctl_buf_free;
vta_ioctl_fn vta_ioctl_buf_pin;
vta_ioctl_fn vta_ioctl_buf_import;
vta_ioctl_fn vta_ioctl_buf_export;	/* @data: struct vta_exported */

vta_ioctl_fn vta_ioctl_queue_create;
vta_ioctl_fn vta_ioctl_queue_destroy;
vta_ioctl_fn vta_ioctl_queue_recover;
vta_ioctl_fn vta_ioctl_queue_event;
vta_ioctl_fn vta_ioctl_fault;
vta_ioctl_fn vta_ioctl_wait;
vta_ioctl_fn vta_ioctl_wait_many;

/**
 * struct vta_exported - the result of VTA_IOCTL_BUF_EXPORT
 * @arg: the call's structure; @arg.fd is reserved
 * @file: to be installed at @arg.fd, or put if the call fails
 */
struct vta_exported {
	struct vta_buf_export arg;
	struct file *file;
};

#endif /* VTA_IOCTL_H */

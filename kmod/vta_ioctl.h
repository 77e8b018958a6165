/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_ioctl.h - the calls of uapi/vta.h, a function each, by their names
 *
 * @data is the call's structure of uapi/vta.h: what the caller has sent, zero behind it. What
 * the function leaves there goes back to the caller if it returns 0. vta_file.c has the table.
 */
#ifndef VTA_IOCTL_H
#define VTA_IOCTL_H

#include "vta.h"

struct file;
struct vta_ctx;

int vta_ioctl_lost(struct vta_ctx *ctx, void *data);

int vta_ioctl_buf_alloc(struct vta_ctx *ctx, void *data);
int vta_ioctl_buf_free(struct vta_ctx *ctx, void *data);
int vta_ioctl_buf_pin(struct vta_ctx *ctx, void *data);
int vta_ioctl_buf_import(struct vta_ctx *ctx, void *data);
/* @data: struct vta_exported */
int vta_ioctl_buf_export(struct vta_ctx *ctx, void *data);

int vta_ioctl_queue_create(struct vta_ctx *ctx, void *data);
int vta_ioctl_queue_destroy(struct vta_ctx *ctx, void *data);
int vta_ioctl_queue_recover(struct vta_ctx *ctx, void *data);
int vta_ioctl_queue_event(struct vta_ctx *ctx, void *data);
int vta_ioctl_fault(struct vta_ctx *ctx, void *data);
int vta_ioctl_wait(struct vta_ctx *ctx, void *data);
int vta_ioctl_wait_many(struct vta_ctx *ctx, void *data);

/**
 * struct vta_exported - the answer of VTA_IOCTL_BUF_EXPORT
 * @arg: of which @arg.fd is reserved
 * @file: is to be installed there; or both are to be dropped
 */
struct vta_exported {
	struct vta_buf_export arg;
	struct file *file;
};

#endif /* VTA_IOCTL_H */

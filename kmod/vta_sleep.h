/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_sleep.h - threads that sleep until queues have come so far
 */
#ifndef VTA_SLEEP_H
#define VTA_SLEEP_H

#include "vta.h"

struct vta_ctx;

/* Ioctls. */
int vta_sleep(struct vta_ctx *ctx, struct vta_wait *arg);
int vta_sleep_many(struct vta_ctx *ctx, struct vta_wait_many *arg);

#endif /* VTA_SLEEP_H */

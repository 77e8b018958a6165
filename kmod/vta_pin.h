/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_pin.h - memory of a process, pinned for the card
 */
#ifndef VTA_PIN_H
#define VTA_PIN_H

#include "vta.h"

struct vta_ctx;
struct vta_mem;

/* The ioctl. */
int vta_pin(struct vta_ctx *ctx, struct vta_buf_pin *arg);

/* For vta_mem.c: gives the pages back. */
void vta_pin_release(struct vta_mem *mem);

#endif /* VTA_PIN_H */

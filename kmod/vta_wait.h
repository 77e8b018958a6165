/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_wait.h - waiting for sequence numbers
 */
#ifndef VTA_WAIT_H
#define VTA_WAIT_H

#include <linux/poll.h>

#include "vta.h"

struct vta_ctx;
struct vta_queue;
struct vta_vector;

/* Ioctls. */
int vta_wait(struct vta_ctx *ctx, struct vta_wait *arg);
int vta_wait_fault(struct vta_ctx *ctx, struct vta_queue_fault *arg);

/* POLLIN and POLLPRI of one queue. */
__poll_t vta_wait_poll(struct vta_queue *q);

/* A queue has been started; it is being stopped, and why. */
void vta_wait_start(struct vta_queue *q);
void vta_wait_stop(struct vta_queue *q, int error);

/*
 * Where a halted queue can go on: behind the descriptor that faulted, or behind
 * the last one that completed if none did. -EBUSY if it has not halted.
 */
int vta_wait_halted(struct vta_queue *q, u64 *seq);
/* It has been started again, behind @seq. */
void vta_wait_restart(struct vta_queue *q, u64 seq);

/* Wakes who has what they wait for on the vector; any context. */
void vta_wait_interrupt(struct vta_vector *vector);
/* Finds queues on the vector that have halted; not in interrupts. */
void vta_wait_find_halted(struct vta_vector *vector);

#endif /* VTA_WAIT_H */

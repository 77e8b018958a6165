/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_usage.h - usage of an open file, and of all files of a card
 */
#ifndef VTA_USAGE_H
#define VTA_USAGE_H

#include <linux/types.h>

struct vta_ctx;
struct vta_device;
struct vta_queue;

/**
 * struct vta_usage - completed work
 * @descriptors: completed
 * @cycles: compute cycles
 * @runs: RUNs completed
 * @copies: COPYs and FILLs completed
 * @run_ns: time in which the compute engine executed them
 * @copy_ns: time in which the copy engine executed them
 *
 * Each only grows, and comes from the card's status records.
 */
struct vta_usage {
	u64 descriptors;
	u64 cycles;
	u64 runs;
	u64 copies;
	u64 run_ns;
	u64 copy_ns;
};

/*
 * The queue was stopped, or will be started again: adds its usage to its context and the card.
 * Counts once for each start, and while the record exists.
 */
void vta_usage_take(struct vta_queue *q);
/* The queue was started after descriptor @seq. */
void vta_usage_start(struct vta_queue *q, u64 seq);

/* Usage of an open file; of all files since the driver was bound. Neither waits for a user. */
void vta_usage_of_ctx(struct vta_ctx *ctx, struct vta_usage *usage);
void vta_usage_of_card(struct vta_device *vdev, struct vta_usage *usage);

#endif /* VTA_USAGE_H */

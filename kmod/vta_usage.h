/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_usage.h - what has been done for an open file, and for all of a card's
 */
#ifndef VTA_USAGE_H
#define VTA_USAGE_H

#include <linux/types.h>

struct vta_ctx;
struct vta_device;
struct vta_queue;

/**
 * struct vta_usage - what the card has done
 * @descriptors: completed
 * @cycles: compute cycles
 * @runs: RUNs completed
 * @copies: COPYs and FILLs completed
 * @run_ns: time in which the compute engine executed them
 * @copy_ns: time in which the copy engine executed them
 *
 * Each only grows. It is the card's word, from status records.
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
 * The queue was stopped, or will be started anew: what it has used is kept for its
 * context and the card. Counts once for each start; while the record is there.
 */
void vta_usage_take(struct vta_queue *q);
/* It has been started behind descriptor @seq. */
void vta_usage_start(struct vta_queue *q, u64 seq);

/* Of an open file; of all files of the card since it was found. They wait for no user. */
void vta_usage_of_ctx(struct vta_ctx *ctx, struct vta_usage *usage);
void vta_usage_of_card(struct vta_device *vdev, struct vta_usage *usage);

#endif /* VTA_USAGE_H */

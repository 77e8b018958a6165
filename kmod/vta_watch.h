/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_watch.h - finding a card that hangs
 */
#ifndef VTA_WATCH_H
#define VTA_WATCH_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct vta_device;

/**
 * struct vta_watch - what is known of the card's getting on
 * @work: looks again
 * @asked: somebody has begun to wait since the last look
 * @still: nothing has moved from one look to the next; what follows is known
 * @since: jiffies, since when work for the engines has not moved either
 * @heartbeat: the card's, when last read
 * @aborted: queues have been aborted for it, in vain as far as is known
 */
struct vta_watch {
	struct delayed_work work;
	bool asked;
	bool still;
	unsigned long since;
	u32 heartbeat;
	bool aborted;
};

void vta_watch_init(struct vta_device *vdev);
/* Somebody waits; any context. */
void vta_watch_start(struct vta_device *vdev);
/* When nobody can wait any more. */
void vta_watch_stop(struct vta_device *vdev);

#endif /* VTA_WATCH_H */

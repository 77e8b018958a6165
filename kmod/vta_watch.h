/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_watch.h - finding a card that hangs
 */
#ifndef VTA_WATCH_H
#define VTA_WATCH_H

#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct vta_device;
struct vta_queue;

/* What a descriptor needs. */
enum vta_engine {
	VTA_ENGINE_NONE,	/* NOP, SIGNAL, and what is not known */
	VTA_ENGINE_COMPUTE,
	VTA_ENGINE_COPY,
	VTA_ENGINE_HELD,	/* WAIT: it is not the card that is waited for */
	VTA_ENGINES
};

/**
 * struct vta_watch - what is known of the card's getting on
 * @work: looks again
 * @looked: jiffies at the last look
 * @time: jiffies in which it was looked
 * @generation: of the card that all this is known of
 * @asked: somebody has begun to wait since the last look
 * @still: something stood still at the last look, when there was this
 * @lost: an interrupt that should have come has not
 * @heartbeat: of the card
 * @moved: @time when something that needed the engine was last seen to move
 * @aborted: something that needed it has been aborted since, and nothing moved
 * @aborted_of: whose that was; INVALID_UID: it was several users'
 *
 * Nobody but the work knows of it, but for @asked.
 */
struct vta_watch {
	struct delayed_work work;
	unsigned long looked;
	unsigned long time;
	unsigned int generation;
	bool asked;
	bool still;
	bool lost;
	u32 heartbeat;
	unsigned long moved[VTA_ENGINES];
	bool aborted[VTA_ENGINES];
	kuid_t aborted_of[VTA_ENGINES];
};

/* Under vta_vector.lock: the card counts from 0 again what it does for the queue. */
void vta_watch_started(struct vta_queue *q);
void vta_watch_init(struct vta_device *vdev);
/* Somebody waits; any context. */
void vta_watch_start(struct vta_device *vdev);
/* When nobody can wait any more. */
void vta_watch_stop(struct vta_device *vdev);

#endif /* VTA_WATCH_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_watch.h - finding a card that hangs
 */
#ifndef VTA_WATCH_H
#define VTA_WATCH_H

#include <linux/bitmap.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "vta_regs.h"

struct vta_device;

/* Period of the checks. */
#define VTA_WATCH_MS	1000

/**
 * struct vta_watch_engine - an engine at the last look
 * @moves: its MOVES
 * @over: it had not moved for too long
 * @stood: ns since then in which the machine was paused
 * @aborted: its MOVES when the descriptor in it was last aborted, or VTA_WATCH_NEVER
 */
struct vta_watch_engine {
	u32 moves;
	bool over;
	u64 stood;
	u32 aborted;
};

/**
 * struct vta_watch - what the watchdog saw of the card at its last look
 * @work: looks again
 * @asked: a wait or a poll has begun since
 * @again: something was waited for, so that there is another look
 * @lost: an interrupt that should have come has not
 * @looked: ktime_get_ns() then
 * @stood: ns from the look before to this one, if the machine stood still
 * @first: the look before is too long ago for what was seen then to count
 * @standing: queues that were waited for and had made no progress, by number
 * @still: registers have been read, and @heartbeat was this
 * @heartbeat: see @still
 * @engines: the engines
 *
 * From @still on it is of the card since its last start, and under vta_device.lock. The
 * rest is the work's alone, but for @asked.
 */
struct vta_watch {
	struct delayed_work work;
	bool asked;
	bool again;
	bool lost;
	u64 looked;
	u64 stood;
	bool first;
	DECLARE_BITMAP(standing, VTA_QUEUES_MAX);
	bool still;
	u32 heartbeat;
	struct vta_watch_engine engines[VTA_NR_ENGINES];
};

/**
 * struct vta_watched - what the watchdog saw of a queue; under vta_vector.lock
 * @waited: a waiter has come since its last look
 * @seq: the last sequence number then
 * @late: no interrupt had come then for this number in ARM, or U64_MAX: for the halt; or 0
 * @behind: the registers were ahead of the record then
 * @stuck: for so many looks it has made no progress with what takes no time
 * @abort: it has been aborted, and has not been seen to stop
 */
struct vta_watched {
	bool waited;
	u64 seq;
	u64 late;
	bool behind;
	unsigned int stuck;
	bool abort;
};

/* The queue is started again after @seq: what was seen is of its last start. */
static inline void vta_watched_init(struct vta_watched *watched, u64 seq)
{
	*watched = (struct vta_watched) { .waited = watched->waited, .seq = seq };
}

/* Of vta_watch.work. */
void vta_watch_work(struct work_struct *work);
/* The card is started: what was known is of the one before its reset or its sleep. */
void vta_watch_forget(struct vta_device *vdev);
/* When no file can wait any more. */
void vta_watch_stop(struct vta_device *vdev);

#endif /* VTA_WATCH_H */

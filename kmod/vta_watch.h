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
 * @overdue: it had not moved for too long
 * @paused_ns: ns since then in which the machine was paused
 * @aborted: its MOVES when the descriptor in it was last aborted, or VTA_WATCH_NEVER
 */
struct vta_watch_engine {
	u32 moves;
	bool overdue;
	u64 paused_ns;
	u32 aborted;
};

/**
 * struct vta_watch - what the watchdog saw of the card at its last look
 * @work: looks again
 * @requested: a wait or a poll has begun since
 * @rearm: something was waited for, so that there is another look
 * @lost_irq: an interrupt that should have come has not
 * @checked_ns: ktime_get_ns() then
 * @paused_ns: ns from the look before to this one, if the machine stood still
 * @stale: the look before is too long ago for what was seen then to count
 * @stalled: queues that were waited for and had made no progress, by number
 * @have_regs: registers have been read, and @heartbeat was this
 * @heartbeat: see @have_regs
 * @engines: the engines
 *
 * From @have_regs on it is of the card since its last start, and under vta_device.lock. The
 * rest is the work's alone, but for @requested.
 */
struct vta_watch {
	struct delayed_work work;
	bool requested;
	bool rearm;
	bool lost_irq;
	u64 checked_ns;
	u64 paused_ns;
	bool stale;
	DECLARE_BITMAP(stalled, VTA_QUEUES_MAX);
	bool have_regs;
	u32 heartbeat;
	struct vta_watch_engine engines[VTA_NR_ENGINES];
};

/**
 * struct vta_watch_queue - what the watchdog saw of a queue; under vta_vector.lock
 * @waited: a waiter has come since its last look
 * @seq: the last sequence number then
 * @late_seq: no interrupt had come then for this number in ARM, or U64_MAX: for the halt; or 0
 * @behind: the registers were ahead of the record then
 * @stuck: for so many looks it has made no progress with what takes no time
 * @aborting: it has been aborted, and has not been seen to stop
 */
struct vta_watch_queue {
	bool waited;
	u64 seq;
	u64 late_seq;
	bool behind;
	unsigned int stuck;
	bool aborting;
};

/* The queue is started again after @seq: what was seen is of its last start. */
static inline void vta_watch_queue_init(struct vta_watch_queue *watch, u64 seq)
{
	*watch = (struct vta_watch_queue) { .waited = watch->waited, .seq = seq };
}

/* Of vta_watch.work. */
void vta_watch_work(struct work_struct *work);
/* The card is started: what was known is of the one before its reset or its sleep. */
void vta_watch_restart(struct vta_device *vdev);
/* When no file can wait any more. */
void vta_watch_stop(struct vta_device *vdev);

#endif /* VTA_WATCH_H */

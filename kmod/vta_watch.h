/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_watch.h - the watchdog: finds a card that hangs
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
 * struct vta_watch_engine - an engine at the last check
 * @moves: its MOVES
 * @overdue: MOVES had not changed for too long
 * @paused_ns: time since MOVES changed in which the machine was paused
 * @aborted: its MOVES when its descriptor was last aborted, or VTA_WATCH_NEVER
 */
struct vta_watch_engine {
	u32 moves;
	bool overdue;
	u64 paused_ns;
	u32 aborted;
};

/**
 * struct vta_watch - the watchdog of a card, and the card at the last check
 * @work: makes a check
 * @requested: a wait or a poll has begun since the last check; may be set from any context
 * @rearm: a thread waits, so there will be another check
 * @lost_irq: an interrupt is missing
 * @checked_ns: ktime_get_ns() at the check
 * @paused_ns: time since the previous check if the machine was paused, else 0
 * @stale: the previous check is too long ago to be compared with
 * @stalled: queues without progress that a thread waits for, by number
 * @have_regs: registers have been read since the card's last start
 * @heartbeat: HEARTBEAT, if @have_regs
 * @engines: the engines
 *
 * @have_regs and the following fields are reset by each start of the card, under vta_device.lock.
 * The fields before @have_regs are used by @work alone, except for @requested.
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
 * struct vta_watch_queue - a queue at the last check; protected by vta_vector.lock
 * @waited: a waiter was added since the last check
 * @seq: its sequence number
 * @late_seq: sequence number whose interrupt was overdue (U64_MAX: the halt event; 0: none)
 * @behind: its registers were ahead of its record
 * @stuck: number of checks in which a descriptor that needs no time has made no progress
 * @aborting: it was aborted, and has not been found stopped
 */
struct vta_watch_queue {
	bool waited;
	u64 seq;
	u64 late_seq;
	bool behind;
	unsigned int stuck;
	bool aborting;
};

/**
 * vta_watch_queue_init() - forget the checks of a queue's previous start
 * @watch: the queue's part of the watchdog
 * @seq: sequence number at which the queue starts
 *
 * Context: under vta_vector.lock.
 */
static inline void vta_watch_queue_init(struct vta_watch_queue *watch, u64 seq)
{
	*watch = (struct vta_watch_queue) { .waited = watch->waited, .seq = seq };
}

/**
 * vta_watch_work() - check the card
 * @work: vta_watch.work
 *
 * Context: a worker.
 */
void vta_watch_work(struct work_struct *work);

/**
 * vta_watch_restart() - forget the registers of a card that was reset
 * @vdev: the card
 *
 * Context: under vta_device.lock.
 */
void vta_watch_restart(struct vta_device *vdev);

/**
 * vta_watch_stop() - stop the watchdog
 * @vdev: the card, which no file can use any more
 *
 * Context: remove; sleeps until the work has ended.
 */
void vta_watch_stop(struct vta_device *vdev);

#endif /* VTA_WATCH_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_history.h - the last faults and resets of a card, their uevents, and its state as text
 */
#ifndef VTA_HISTORY_H
#define VTA_HISTORY_H

#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "vta.h"

struct vta_device;
struct vta_queue;

/**
 * struct vta_text - a text that is being written
 * @buf: where
 * @size: bytes of it
 * @len: bytes written; what has no room is left out
 */
struct vta_text {
	char *buf;
	size_t size;
	size_t len;
};

__printf(2, 3)
static inline void vta_print(struct vta_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->len += vscnprintf(text->buf + text->len, text->size - text->len, format, args);
	va_end(args);
}

#define VTA_HISTORY	16

/**
 * struct vta_past_fault - a queue that has halted
 * @time_ns: when, on CLOCK_BOOTTIME
 * @queue: number of the card's queue
 * @ctx: number of the card's context
 * @tgid: the process that opened the file
 * @uid: the user that it is counted against, in the first user namespace
 * @comm: the name of that process, of printable characters
 * @fault: why
 */
struct vta_past_fault {
	u64 time_ns;
	u32 queue;
	u32 ctx;
	pid_t tgid;
	uid_t uid;
	char comm[TASK_COMM_LEN];
	struct vta_queue_fault fault;
};

/**
 * struct vta_past_reset - the card was reset, or given up
 * @time_ns: when, on CLOCK_BOOTTIME
 * @reason: in words
 * @ret: 0, or why it was given up
 * @generation: of the card afterwards
 */
struct vta_past_reset {
	u64 time_ns;
	const char *reason;
	int ret;
	unsigned int generation;
};

/**
 * struct vta_history - the last faults and resets of a card
 * @work: tells userspace
 * @lock: Protects: all below; taken with interrupts off, inside any other
 * @closed: no more events are sent
 * @faults: the last ones, number n at n % VTA_HISTORY
 * @nr_faults: how many there were
 * @sent_faults: how many of them userspace has been told of, or knows it was not
 * @resets: the same
 * @nr_resets: the same
 * @sent_resets: the same
 * @reason: why the next reset will be; NULL if none is wanted, and none is under way.
 *       May be read without the lock
 * @cause: the same, for the processes that lose the card by it
 * @window_start: jiffies when @in_window was 0
 * @in_window: events of faults sent since
 * @suppressed: some were left out
 */
struct vta_history {
	struct delayed_work work;
	spinlock_t lock; /* Protects: see above */
	bool closed;
	struct vta_past_fault faults[VTA_HISTORY];
	u64 nr_faults;
	u64 sent_faults;
	struct vta_past_reset resets[VTA_HISTORY];
	u64 nr_resets;
	u64 sent_resets;
	const char *reason;
	enum vta_cause cause;
	unsigned long window_start;
	unsigned int in_window;
	bool suppressed;
};

void vta_history_init(struct vta_device *vdev);
/* Before the device goes away. */
void vta_history_close(struct vta_device *vdev);

/* Any context. */
void vta_history_add_fault(const struct vta_queue *q);
/*
 * Sets the reason of the next reset, a constant; the first one counts until vta_history_add_reset(),
 * and is returned. With NULL, returns the reason.
 */
const char *vta_history_set_reason(struct vta_device *vdev, enum vta_cause cause,
				   const char *reason);
/* The card was reset, or given up with an error. */
void vta_history_add_reset(struct vta_device *vdev, int ret);

/* A line each, the oldest first. @owners: with the owners. */
void vta_history_print_faults(struct vta_device *vdev, bool owners, struct vta_text *text);
void vta_history_print_resets(struct vta_device *vdev, struct vta_text *text);

/* ---- The state of card and driver, as text (vta_dump.c) ---- */

/*
 * Leaves it to userspace as a devcoredump, before the card is reset; under vta_device.lock. The
 * kernel drops it if it still has an earlier one of the card.
 */
void vta_dump_coredump(struct vta_device *vdev, const char *reason);
/* The same of a card that is not reset: root has written to its file "coredump" in sysfs. */
int vta_dump_state(struct vta_device *vdev);

#endif /* VTA_HISTORY_H */

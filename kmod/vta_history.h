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
 * @buf: the text
 * @size: bytes of @buf
 * @len: bytes written; a text that is too long is cut
 */
struct vta_text {
	char *buf;
	size_t size;
	size_t len;
};

/**
 * vta_print() - append to a text
 * @text: the text
 * @format: as printf()
 */
__printf(2, 3)
static inline void vta_print(struct vta_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->len += vscnprintf(text->buf + text->len, text->size - text->len, format, args);
	va_end(args);
}

#define VTA_HISTORY	16

/* At most so many uevents of one user's faults in so many jiffies. */
#define VTA_HISTORY_BURST	8
#define VTA_HISTORY_WINDOW	(10 * HZ)

/**
 * struct vta_past_fault - a queue that has halted
 * @number: number of faults of the card before
 * @report: a uevent is sent for it
 * @time_ns: time of CLOCK_BOOTTIME
 * @queue: number of the card's queue
 * @ctx: number of the card's context
 * @tgid: the process that opened the file
 * @uid: the user that the queue is counted against, in the initial user namespace
 * @comm: the name of that process, in printable characters
 * @fault: the fault
 */
struct vta_past_fault {
	u64 number;
	bool report;
	u64 time_ns;
	u32 queue;
	u32 ctx;
	pid_t tgid;
	uid_t uid;
	char comm[TASK_COMM_LEN];
	struct vta_queue_fault fault;
};

/**
 * struct vta_past_reset - a reset of the card, or its end
 * @time_ns: time of CLOCK_BOOTTIME
 * @reason: in words
 * @ret: 0, or the error for which the card was given up
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
 * @work: sends uevents
 * @lock: Protects: all below; taken with interrupts off, inside any other lock
 * @closed: no more uevents are sent
 * @faults: the last faults, the oldest first; each user has room, see vta_history_make_room()
 * @kept_faults: number of elements of @faults
 * @nr_faults: number of faults
 * @sent_faults: number of faults whose uevents were sent, or left out
 * @suppressed: faults after @sent_faults get no uevent of their own
 * @summary: jiffies when a uevent is sent for all of them, if @suppressed
 * @resets: the last resets, number n at n % VTA_HISTORY
 * @nr_resets: number of resets
 * @sent_resets: number of resets whose uevents were sent, or left out
 * @reason: reason of the requested or current reset, else NULL; may be read without the lock
 * @cause: the same, for the files that lose the card
 */
struct vta_history {
	struct delayed_work work;
	spinlock_t lock; /* Protects: see above */
	bool closed;
	struct vta_past_fault faults[VTA_HISTORY];
	unsigned int kept_faults;
	u64 nr_faults;
	u64 sent_faults;
	bool suppressed;
	unsigned long summary;
	struct vta_past_reset resets[VTA_HISTORY];
	u64 nr_resets;
	u64 sent_resets;
	const char *reason;
	enum vta_cause cause;
};

/**
 * vta_history_init() - initialise vta_device.history
 * @vdev: the card
 *
 * Context: probe.
 */
void vta_history_init(struct vta_device *vdev);

/**
 * vta_history_close() - send no more uevents
 * @vdev: the card
 *
 * Context: remove, before the device is deleted.
 */
void vta_history_close(struct vta_device *vdev);

/**
 * vta_history_add_fault() - record that a queue has halted
 * @q: the queue
 *
 * Context: any; under vta_vector.lock.
 */
void vta_history_add_fault(const struct vta_queue *q);

/**
 * vta_history_set_reason() - set the reason of the next reset, unless it is set already
 * @vdev: the card
 * @cause: for the files that lose the card
 * @reason: a constant, or NULL to get the reason
 *
 * Context: any.
 * Return: the reason, which stays until vta_history_add_reset().
 */
const char *vta_history_set_reason(struct vta_device *vdev, enum vta_cause cause,
				   const char *reason);

/**
 * vta_history_add_reset() - record that the card was reset or given up, and clear the reason
 * @vdev: the card
 * @ret: 0, or the error for which the card was given up
 *
 * Context: under vta_device.lock.
 */
void vta_history_add_reset(struct vta_device *vdev, int ret);

/**
 * vta_history_print_faults() - print a line for each fault, the oldest first
 * @vdev: the card
 * @owners: name the owners of the queues, too
 * @text: the text
 */
void vta_history_print_faults(struct vta_device *vdev, bool owners, struct vta_text *text);

/**
 * vta_history_print_resets() - print a line for each reset, the oldest first
 * @vdev: the card
 * @text: the text
 */
void vta_history_print_resets(struct vta_device *vdev, struct vta_text *text);

/* ---- The state of card and driver, as text (vta_dump.c) ---- */

/**
 * vta_dump_coredump() - make a devcoredump, before the card is reset
 * @vdev: the card
 * @reason: of the reset
 *
 * The kernel drops the dump if userspace has not read an earlier one of the card yet.
 *
 * Context: under vta_device.lock.
 */
void vta_dump_coredump(struct vta_device *vdev, const char *reason);

/**
 * vta_dump_state() - make a devcoredump for an administrator
 * @vdev: the card
 *
 * Context: takes vta_device.lock.
 */
void vta_dump_state(struct vta_device *vdev);

#endif /* VTA_HISTORY_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_queue.h - queues of a context, their states, records and faults
 */
#ifndef VTA_QUEUE_H
#define VTA_QUEUE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#include "vta_device.h"
#include "vta_waiter.h"
#include "vta.h"

struct vta_buf;
struct vta_ctx;

/*
 * Memory of a queue. It is removed in this order: as long as the queue is in its context's table,
 * the driver reads the status page.
 */
enum vta_queue_buf {
	VTA_QUEUE_RING,		/* the user writes, the card reads */
	VTA_QUEUE_SAVE,		/* the card saves the core's state, with VTA_QUEUE_KEEP */
	VTA_QUEUE_STATUS,	/* the card writes, the user reads */
	VTA_QUEUE_BUFS
};

/**
 * struct vta_queue - a queue
 * @ref: held by the context's table, by waits, and by mappings of the doorbell
 * @ctx: the context; outlives the queue, since all holders hold the file
 * @id: number of the card's queue, and the user's handle
 * @bufs: its memory, by enum vta_queue_buf (constant)
 * @record: the status page, as the kernel reads it
 * @setup: the registers that the card starts the queue with; constant except for @start,
 *         @submitted and @kept, which each start sets under vta_ctx.lock
 * @stopped: under vta_ctx.lock: the queue has ended, and has lost its doorbell
 * @vector: interrupt vector of completions; the following fields are protected by its lock
 * @vector_node: in vta_vector.queues, from start to stop
 * @waiters: the waiters for its sequence numbers
 * @error: error of waits: 0, or ENOENT before the start, ENOENT or ENODEV after the stop
 * @seq: the last sequence number seen; never goes back
 * @halted: the queue has halted, for @fault
 * @fault: checked copy of the card's fault record
 * @abort_reason: the driver has aborted the queue for VTA_FAULT_HANG or VTA_FAULT_SLEEP; else
 *                VTA_FAULT_NONE
 * @paused: the queue stops, or has stopped, for the machine's suspend: its records are not read
 * @usage_start: sequence number of its last start; vta_device.usage_lock
 * @usage_node: in vta_device.usage_queues while the record counts usage that the totals do not
 *              include; vta_device.usage_lock
 * @watch: the watchdog's last sample of the queue
 */
struct vta_queue {
	struct kref ref;
	struct vta_ctx *ctx;
	unsigned int id;
	struct vta_buf *bufs[VTA_QUEUE_BUFS];
	const struct vta_status_page *record;
	struct vta_queue_setup setup;
	bool stopped;

	struct vta_vector *vector;
	struct list_head vector_node;
	struct vta_waiters waiters;
	int error;
	u64 seq;
	bool halted;
	struct vta_queue_fault fault;
	enum vta_fault_reason abort_reason;
	bool paused;
	u64 usage_start;
	struct list_head usage_node;
	struct vta_watch_queue watch;
};

/**
 * vta_queue_get() - find a queue
 * @ctx: the context
 * @id: number of the queue
 *
 * Return: the queue, in any state, with a reference; or an ERR_PTR.
 */
struct vta_queue *vta_queue_get(struct vta_ctx *ctx, u32 id);

/**
 * vta_queue_next() - find the queue with the next number
 * @ctx: the context
 * @q: a queue, whose reference the call drops; NULL for the first one
 *
 * A loop over all queues may sleep, and drops its reference if it ends before the last one.
 *
 * Return: the queue, in any state, with a reference; NULL if there is none.
 */
struct vta_queue *vta_queue_next(struct vta_ctx *ctx, struct vta_queue *q);

/**
 * vta_queue_put() - drop a reference
 * @q: the queue
 */
void vta_queue_put(struct vta_queue *q);

/**
 * vta_queue_revoke() - fail all waiters, and revoke the doorbell
 * @q: the queue; nothing happens if it was revoked before
 * @error: for the waiters
 *
 * The first step of the end; then vta_queue_abort(), vta_card_wait_queue(), vta_queue_free().
 *
 * Context: under vta_ctx.lock.
 */
void vta_queue_revoke(struct vta_queue *q, int error);

/**
 * vta_queue_free() - remove the queue from its context, and free its number
 * @q: the queue, which the card has dropped
 *
 * Context: under vta_ctx.lock.
 */
void vta_queue_free(struct vta_queue *q);

/**
 * vta_queue_mmap() - map a doorbell
 * @ctx: the context
 * @vma: the mapping, at the doorbell's offset
 *
 * Context: under vta_ctx.lock.
 * Return: 0, or -EINVAL if no doorbell has this offset.
 */
int vta_queue_mmap(struct vta_ctx *ctx, struct vm_area_struct *vma);

/* ---- States (vta_queue_state.c) ---- */

/**
 * vta_queue_start() - start a new queue, and accept waiters
 * @q: the queue
 *
 * Context: under vta_ctx.lock.
 * Return: 0, or -ENODEV if a reset has been requested.
 */
int vta_queue_start(struct vta_queue *q);

/**
 * vta_queue_abort() - have the card stop the queue, and abort its descriptor
 * @q: the queue
 *
 * Context: any; vta_card_wait_queue() waits for the end.
 */
void vta_queue_abort(struct vta_queue *q);

/**
 * vta_queue_close() - fail all waiters, and accept no more
 * @q: the queue
 * @error: for the waiters
 *
 * Context: takes vta_vector.lock.
 */
void vta_queue_close(struct vta_queue *q, int error);

/**
 * vta_queue_read_final() - read the final records of a queue that has stopped
 * @q: the queue
 *
 * Context: takes vta_vector.lock.
 */
void vta_queue_read_final(struct vta_queue *q);

/**
 * vta_queue_get_fault() - the reason why a queue has halted
 * @q: the queue
 * @fault: out: its fault, VTA_FAULT_NONE if it has not halted
 *
 * Context: takes vta_vector.lock.
 * Return: 0, or the error of waits.
 */
int vta_queue_get_fault(struct vta_queue *q, struct vta_queue_fault *fault);

/**
 * vta_queue_abort_hung() - halt a queue that hangs an engine, and abort it without waiting
 * @q: the queue
 * @ns: time that its user is charged for
 *
 * Context: under vta_vector.lock.
 */
void vta_queue_abort_hung(struct vta_queue *q, u64 ns);

/**
 * vta_queue_recover() - start a halted queue again
 * @q: the queue
 * @seq: out: number of the last descriptor that counts as completed
 *
 * Context: under vta_ctx.lock.
 * Return: 0, -EBUSY if the queue has not halted, or -ENODEV if a reset has been requested.
 */
int vta_queue_recover(struct vta_queue *q, u64 *seq);

/*
 * Suspend and resume of the machine, in this order, under vta_ctx.lock. They return int for
 * vta_ctx_for_queues().
 */

/**
 * vta_queue_pause() - stop fetching; the current descriptor completes
 * @q: the queue
 *
 * Return: 0.
 */
int vta_queue_pause(struct vta_queue *q);

/**
 * vta_queue_paused() - check whether a paused queue has stopped
 * @q: the queue
 *
 * Return: 0, or -EBUSY while the queue still runs.
 */
int vta_queue_paused(struct vta_queue *q);

/**
 * vta_queue_abort_paused() - abort a paused queue that has not stopped in time
 * @q: the queue
 *
 * Return: 0.
 */
int vta_queue_abort_paused(struct vta_queue *q);

/**
 * vta_queue_save_tail() - save the registers that resume needs
 * @q: the queue, which has stopped
 *
 * Return: 0.
 */
int vta_queue_save_tail(struct vta_queue *q);

/**
 * vta_queue_resume() - restart the queue after the card's reset, unless it has halted
 * @q: the queue
 *
 * Return: 0, or -ENODEV if a reset has been requested.
 */
int vta_queue_resume(struct vta_queue *q);

/* ---- Records (vta_record.c) ---- */

/**
 * vta_queue_record_seq() - the completed number in the card's record
 * @q: the queue
 *
 * Return: the number, which the card stores with one write.
 */
static inline u64 vta_queue_record_seq(const struct vta_queue *q)
{
	return le64_to_cpu(READ_ONCE(q->record->status.seq));
}

/**
 * vta_queue_record_state() - the state in the card's record
 * @q: the queue
 *
 * Return: enum vta_queue_state, unless the card writes nonsense.
 */
static inline u32 vta_queue_record_state(const struct vta_queue *q)
{
	return le32_to_cpu(READ_ONCE(q->record->status.state));
}

/**
 * vta_record_sample() - read the records of a running queue: its progress, or its halt
 * @q: the queue
 *
 * Context: under vta_vector.lock.
 */
void vta_record_sample(struct vta_queue *q);

/**
 * vta_record_sample_final() - read the records of a queue that has stopped
 * @q: the queue
 *
 * A halt after the last sample is a fault like any other.
 *
 * Context: under vta_vector.lock.
 */
void vta_record_sample_final(struct vta_queue *q);

/**
 * vta_record_clear_fault() - set the fault of a queue to VTA_FAULT_NONE
 * @q: the queue
 *
 * Context: under vta_vector.lock, or before the queue is published.
 */
void vta_record_clear_fault(struct vta_queue *q);

/* ---- Words for faults (vta_fault.c) ---- */

/**
 * struct vta_fault_word - a code of the fault record
 * @name: a word, for logs that programs read
 * @text: for the kernel log
 */
struct vta_fault_word {
	const char *name;
	const char *text;
};

/**
 * vta_fault_reason() - words for a fault
 * @reason: enum vta_fault_reason
 *
 * Return: the words; those of VTA_FAULT_CARD for unknown codes.
 */
const struct vta_fault_word *vta_fault_reason(u32 reason);

/**
 * vta_fault_access() - words for the access that faulted
 * @access: enum vta_access, checked
 *
 * Return: the words.
 */
const struct vta_fault_word *vta_fault_access(u32 access);

/**
 * vta_fault_is_of_descriptor() - check whether a descriptor has faulted
 * @fault: the fault
 *
 * Return: false if the fault was found between two descriptors.
 */
static inline bool vta_fault_is_of_descriptor(const struct vta_queue_fault *fault)
{
	return fault->reason != VTA_FAULT_DOORBELL && fault->access != VTA_ACCESS_STATE;
}

#endif /* VTA_QUEUE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_queue.h - queues of the card in the hands of a context, and why they halt
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

/* Memory of a queue. */
enum vta_queue_buf {
	VTA_QUEUE_RING,		/* the user writes, the card reads */
	VTA_QUEUE_STATUS,	/* the card writes, the user reads */
	VTA_QUEUE_SAVE,		/* the card's, for the core's state, if the queue keeps it */
	VTA_QUEUE_BUFS
};

/**
 * struct vta_queue - a queue
 * @ref: held by the context's table, by waits, and by mappings of the doorbell
 * @ctx: the context; outlives the queue, since all holders hold the file
 * @id: number of the card's queue, by which the user knows it, too
 * @bufs: its memory, by enum vta_queue_buf (constant)
 * @record: the status page, as the kernel reads it
 * @setup: what the card starts it with; constant but for what the next start continues with:
 *         @start, @submitted and @kept, under vta_ctx.lock
 * @stopped: under vta_ctx.lock: the doorbell is not the queue's any more
 * @vector: where completions interrupt; the rest is protected by its lock
 * @vector_node: in vta_vector.queues, from start to stop
 * @waiters: what waits for its sequence numbers
 * @error: error of waits: 0, or ENOENT before the start, ENOENT or ENODEV after the stop
 * @seq: the last sequence number seen; never goes back
 * @halted: the queue has halted, @fault says why
 * @fault: checked copy of the card's fault record
 * @given_up: by the driver, for VTA_FAULT_HANG or VTA_FAULT_SLEEP; else VTA_FAULT_NONE
 * @paused: it stops, or has been stopped, because the machine goes to sleep: its records
 *          are not looked at
 * @usage_start: where it was started; vta_device.usage_lock
 * @usage_node: in vta_device.usage_queues while the record counts what the sums do not
 *              have; vta_device.usage_lock
 * @watched: what the watchdog has seen of it
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
	enum vta_fault_reason given_up;
	bool paused;
	u64 usage_start;
	struct list_head usage_node;
	struct vta_watched watched;
};

/* The queue of that name with a reference, in whatever state, or an error. */
struct vta_queue *vta_queue_get(struct vta_ctx *ctx, u32 id);
void vta_queue_put(struct vta_queue *q);

/*
 * Steps of the end, under vta_ctx.lock: waiters and doorbell are revoked; the card is told to
 * stop, which vta_card_wait_queue() waits for; all resources are freed.
 */
void vta_queue_revoke(struct vta_queue *q, int error);
void vta_queue_abort(struct vta_queue *q);
void vta_queue_free(struct vta_queue *q);

/* The completed number in the card's record, which the card stores at once; the state. */
static inline u64 vta_queue_record_seq(const struct vta_queue *q)
{
	return le64_to_cpu(READ_ONCE(q->record->status.seq));
}

static inline u32 vta_queue_record_state(const struct vta_queue *q)
{
	return le32_to_cpu(READ_ONCE(q->record->status.state));
}

/*
 * While the machine goes to sleep, under vta_ctx.lock: the queue is told to stop behind the
 * descriptor in hand; -EBUSY if it has not yet; it is given up, if it does not; when all have
 * stopped, what is left to do is noted. Then, when the card has been reset, it goes on.
 */
int vta_queue_pause(struct vta_queue *q);
int vta_queue_paused(struct vta_queue *q);
int vta_queue_abort_paused(struct vta_queue *q);
int vta_queue_note(struct vta_queue *q);
int vta_queue_resume(struct vta_queue *q);

/*
 * The queue hangs an engine: charges the time to its user, halts the queue, and has the card
 * abort it without waiting. Under the vector's lock.
 */
void vta_queue_give_up(struct vta_queue *q, u64 ns);

/* Maps a doorbell, under vta_ctx.lock. */
int vta_queue_mmap(struct vta_ctx *ctx, struct vm_area_struct *vma);

/* ---- Why it halted (vta_fault.c) ---- */

/**
 * struct vta_fault_word - a code of the fault record
 * @name: a word, for logs that programs read
 * @text: for the kernel log
 */
struct vta_fault_word {
	const char *name;
	const char *text;
};

const struct vta_fault_word *vta_fault_reason(u32 reason);
const struct vta_fault_word *vta_fault_access(u32 access);

/* Otherwise it was found between two descriptors. */
static inline bool vta_fault_is_of_descriptor(const struct vta_queue_fault *fault)
{
	return fault->reason != VTA_FAULT_DOORBELL && fault->access != VTA_ACCESS_STATE;
}

/* The contents of a queue's fault before it faults. */
void vta_fault_clear(struct vta_queue *q);

/*
 * Both fill vta_queue.fault, under the vector's lock. The first
 * copies the card's record, the second is for a card that does not keep to the contract.
 */
void vta_fault_read_record(struct vta_queue *q);
void vta_fault_synthesise(struct vta_queue *q, enum vta_fault_reason reason);

#endif /* VTA_QUEUE_H */

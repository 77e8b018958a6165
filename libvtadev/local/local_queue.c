// SPDX-License-Identifier: Apache-2.0
/*
 * local_queue.c - queues of a card in the process: their records, and a descriptor's way
 *
 * A queue is protected by the card's lock. The thread that executes the queue's
 * descriptor drops the lock meanwhile; no other function touches the descriptor in hand then.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "local_impl.h"

/* Records in memory are not converted. */
static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "descriptors are little-endian, and so is the host");

struct local_queue *local_find(struct local *card, uint32_t handle)
{
	return handle < LOCAL_QUEUES ? card->queues[handle] : NULL;
}

/* ---- The status page, which others read at any time ---- */

static void put64(__le64 *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void put_state(struct local_queue *q)
{
	/* The reason first: it is not read until the state is set. */
	__atomic_store_n(&q->status->status.fault_reason, q->fault.reason, __ATOMIC_RELAXED);
	__atomic_store_n(&q->status->status.state, q->state, __ATOMIC_RELEASE);
}

static void put_done(struct local_queue *q)
{
	struct vta_status *status = &q->status->status;

	put64(&status->time, local_time(q->card));
	put64(&status->cycles, q->cycles);
	put64(&status->runs, q->runs);
	put64(&status->copies, q->copies);
	put64(&status->run_time, q->run_time);
	put64(&status->copy_time, q->copy_time);
	put64(&status->seq, q->seq);
}

static void start_queue(struct local_queue *q)
{
	memset(&q->fault, 0, sizeof(q->fault));
	q->cycles = 0;
	q->runs = 0;
	q->copies = 0;
	q->run_time = 0;
	q->copy_time = 0;
	q->state = VTA_QUEUE_ACTIVE;
	put_state(q);
	put_done(q);
}

/* ---- Life ---- */

static int queue_new(struct local *card, const struct vta_queue_create *req,
		     struct local_queue **out)
{
	struct local_queue *q;

	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->status = calloc(1, sizeof(*q->status));
	q->ring = calloc((size_t)1 << req->ring_order, sizeof(struct vta_desc));
	if (!q->status || !q->ring) {
		free(q->status);
		free(q->ring);
		free(q);
		return -ENOMEM;
	}
	q->card = card;
	q->order = req->ring_order;
	q->priority = req->priority;
	q->max_cycles = req->max_cycles;
	q->keeps = req->flags & VTA_QUEUE_KEEP;
	q->event = -1;
	atomic_init(&q->give_up, false);
	*out = q;
	return 0;
}

void local_queue_free(struct local_queue *q)
{
	if (q->core)
		q->card->ops->core_free(q->card->device, q->core);
	if (q->loose.core)
		q->card->ops->core_free(q->card->device, q->loose.core);
	if (q->event >= 0)
		close(q->event);
	free(q->status);
	free(q->ring);
	free(q);
}

/* With the lock: its place among the card's queues, or an error. */
static int enter(struct local *card, struct local_queue *q)
{
	int err;

	if (card->lost)
		return -ENODEV;
	err = local_engines_start(card);
	if (!err)
		err = local_core_make(q);
	if (err)
		return err;
	for (uint32_t i = 0; i < LOCAL_QUEUES; i++) {
		if (!card->queues[i]) {
			q->handle = i;
			card->queues[i] = q;
			if (card->queues_end <= i)
				card->queues_end = i + 1;
			start_queue(q);
			return 0;
		}
	}
	return -ENOSPC;
}

int local_queue_create(struct local *card, struct vta_queue_create *req)
{
	struct local_queue *q;
	int err;

	if (req->flags & ~VTA_QUEUE_KEEP || req->priority > VTA_QUEUE_PRIORITY_MAX ||
	    req->ring_order > LOCAL_RING_ORDER_MAX)
		return -EINVAL;
	err = queue_new(card, req, &q);
	if (err)
		return err;
	pthread_mutex_lock(&card->lock);
	err = enter(card, q);
	pthread_mutex_unlock(&card->lock);
	if (err) {
		local_queue_free(q);
		return err;
	}
	req->queue = q->handle;
	req->ring_offset = (uintptr_t)q->ring;
	req->status_offset = (uintptr_t)q->status;
	req->doorbell_offset = (uintptr_t)&q->doorbell;
	req->doorbell_size = sizeof(q->doorbell);
	return 0;
}

int local_queue_destroy(struct local *card, const struct vta_queue_destroy *req)
{
	struct local_queue *q;

	if (req->pad)
		return -EINVAL;
	pthread_mutex_lock(&card->lock);
	q = local_find(card, req->queue);
	if (!q) {
		pthread_mutex_unlock(&card->lock);
		return -ENOENT;
	}
	q->state = VTA_QUEUE_DISABLED;
	atomic_store(&q->give_up, true);
	while (q->phase == LOCAL_EXECUTING)
		pthread_cond_wait(&card->idle, &card->lock);
	card->queues[q->handle] = NULL;
	while (card->queues_end && !card->queues[card->queues_end - 1])
		card->queues_end--;
	local_tell(q);
	local_poll_update(card);
	pthread_mutex_unlock(&card->lock);
	local_queue_free(q);
	return 0;
}

/* Returns true if a descriptor faulted, and not the queue between two. */
static bool fault_is_of_desc(const struct vta_fault *fault)
{
	return fault->reason != VTA_FAULT_DOORBELL && fault->access != VTA_ACCESS_STATE;
}

int local_queue_recover(struct local *card, struct vta_queue_recover *req)
{
	struct local_queue *q;
	int err = 0;

	if (req->flags)
		return -EINVAL;
	pthread_mutex_lock(&card->lock);
	q = local_find(card, req->queue);
	if (!q || card->lost)
		err = q ? -ENODEV : -ENOENT;
	else if (q->state != VTA_QUEUE_HALTED)
		err = -EBUSY;
	if (!err) {
		q->seq += fault_is_of_desc(&q->fault);
		q->submitted = q->seq;
		q->doorbell = (uint32_t)q->seq;
		atomic_store(&q->give_up, false);
		start_queue(q);
		local_tell(q);
		local_poll_update(card);
		req->seq = q->seq;
	}
	pthread_mutex_unlock(&card->lock);
	return err;
}

int local_queue_fault(struct local *card, struct vta_queue_fault *req)
{
	const struct local_queue *q;
	int err = 0;

	pthread_mutex_lock(&card->lock);
	q = local_find(card, req->queue);
	if (!q || card->lost)
		err = card->lost ? -ENODEV : -ENOENT;
	else
		*req = (struct vta_queue_fault){
			.queue = req->queue,
			.reason = q->fault.reason,
			.access = q->fault.access,
			.addr = q->fault.addr,
			.seq = q->fault.seq,
			.insn_index = q->fault.insn_index,
			.insn = { q->fault.insn[0], q->fault.insn[1], q->fault.insn[2],
				  q->fault.insn[3] },
			.time = q->fault.time,
		};
	pthread_mutex_unlock(&card->lock);
	return err;
}

int local_queue_event(struct local *card, const struct vta_queue_event *req)
{
	struct local_queue *q;
	int event = -1;

	if (req->flags || req->pad)
		return -EINVAL;
	if (req->fd >= 0) {
		event = fcntl(req->fd, F_DUPFD_CLOEXEC, 0);
		if (event < 0)
			return -errno;
		if (!local_is_eventfd(event)) {
			close(event);
			return -EINVAL;
		}
	}
	pthread_mutex_lock(&card->lock);
	q = card->lost ? NULL : local_find(card, req->queue);
	if (q) {
		int before = q->event;

		q->event = event;
		event = before;
		q->poll_hit = false;
		if (q->state == VTA_QUEUE_HALTED)
			local_tell(q);
		local_poll_update(card);
	}
	pthread_mutex_unlock(&card->lock);
	if (event >= 0)
		close(event);
	if (q)
		return 0;
	return card->lost ? -ENODEV : -ENOENT;
}

/* ---- A descriptor's way ---- */

/* Halt the queue. The record is written before the state. */
static void halt(struct local_queue *q, const struct local_outcome *outcome)
{
	int cancel;

	q->fault = (struct vta_fault){
		.reason = outcome->reason,
		.access = outcome->access,
		.seq = q->seq + 1,
		.addr = outcome->addr,
		.insn_index = outcome->insn_index,
		.insn = { outcome->insn[0], outcome->insn[1], outcome->insn[2], outcome->insn[3] },
		.queue = q->handle,
		.time = local_time(q->card),
	};
	memcpy(&q->status->fault, &q->fault, sizeof(q->fault));
	q->kept = false;
	q->phase = LOCAL_IDLE;
	q->state = VTA_QUEUE_HALTED;
	q->card->counters.faults++;
	put_state(q);
	/* A doorbell's thread may be the program's, and is to release the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	local_tell(q);
	local_poll_update(q->card);
	pthread_setcancelstate(cancel, NULL);
}

/* Descriptors that wait; a doorbell may have taken back what was begun. */
static uint64_t waiting(const struct local_queue *q)
{
	int64_t n = (int64_t)(q->submitted - q->seq);

	return n > 0 ? (uint64_t)n : 0;
}

/* The thread that rings takes the descriptor in hand, so that only one other has to wake. */
void local_doorbell(struct local_queue *q)
{
	struct local *card = q->card;
	uint32_t value = __atomic_load_n(&q->doorbell, __ATOMIC_ACQUIRE);
	enum vta_unit wake = VTA_UNITS;

	local_lock(card);
	card->counters.doorbells++;
	if (q->state == VTA_QUEUE_ACTIVE) {
		q->submitted = q->seq + (uint32_t)(value - (uint32_t)q->seq);
		q->look = true;
		if (waiting(q) > 1ull << q->order) {
			struct local_outcome outcome = LOCAL_OK;

			outcome.reason = VTA_FAULT_DOORBELL;
			atomic_store(&q->give_up, true);
			if (q->phase != LOCAL_EXECUTING)
				halt(q, &outcome);
		} else if (q->phase == LOCAL_WAITING) {
			wake = VTA_UNIT_FRONT;
		} else if (q->phase == LOCAL_IDLE) {
			local_fetch(q);
			if (q->phase == LOCAL_READY)
				wake = q->unit;
		}
	}
	pthread_mutex_unlock(&card->lock);
	/* Only now: the thread takes the lock at once. */
	if (wake != VTA_UNITS)
		local_engine_wake(card, wake);
}

void local_fetch(struct local_queue *q)
{
	uint64_t index = q->seq & ((1ull << q->order) - 1);
	struct local_outcome outcome = LOCAL_OK;
	struct vta_desc_error error;

	if (q->state != VTA_QUEUE_ACTIVE || q->phase != LOCAL_IDLE || !waiting(q))
		return;
	/* Once: the program can write to the ring at any time. */
	memcpy(&q->desc, &q->ring[index], sizeof(q->desc));
	error = vta_desc_check(&q->desc, q->max_cycles, q->keeps);
	if (error.reason) {
		outcome.reason = error.reason;
		outcome.access = error.access;
		outcome.addr = error.addr;
		halt(q, &outcome);
		return;
	}
	q->unit = vta_desc_unit(&q->desc);
	q->phase = LOCAL_READY;
}

static void put_stamp(struct local_queue *q, struct local_outcome *outcome)
{
	const struct vta_stamp stamp = {
		.start = q->begin,
		.end = local_time(q->card),
		.cycles = outcome->cycles,
		.seq = q->seq + 1,
	};

	if (outcome->reason || !(q->desc.op_flags & VTA_DESC_STAMP))
		return;
	pthread_mutex_unlock(&q->card->lock);
	outcome->reason = local_write(&q->card->space, q->desc.stamp_addr, &stamp, sizeof(stamp),
				      &outcome->addr);
	outcome->access = VTA_ACCESS_STAMP;
	pthread_mutex_lock(&q->card->lock);
}

static void count(struct local_queue *q, const struct local_outcome *outcome)
{
	struct vtadev_counters *counters = &q->card->counters;
	uint64_t took = local_time(q->card) - q->begin;

	counters->descriptors++;
	switch (vta_desc_op(&q->desc)) {
	case VTA_OP_RUN:
		q->cycles += outcome->cycles;
		q->runs++;
		counters->runs++;
		break;
	case VTA_OP_COPY:
	case VTA_OP_FILL:
		q->copies++;
		counters->copies += vta_desc_op(&q->desc) == VTA_OP_COPY;
		counters->fills += vta_desc_op(&q->desc) == VTA_OP_FILL;
		counters->copy_bytes += (uint64_t)q->desc.copy.width * q->desc.copy.rows;
		counters->copy_cycles += outcome->cycles;
		break;
	default:
		break;
	}
	if (q->unit == VTA_UNIT_COMPUTE)
		q->run_time += took;
	else if (q->unit == VTA_UNIT_COPY)
		q->copy_time += took;
}

/* The clock that the device's cycles are of, for the time that the descriptor took. */
static void count_clocks(const struct local_queue *q)
{
	struct local *card = q->card;
	uint64_t took = local_time(card) - q->begin;

	card->clocks[q->unit] += took / 1000000 * card->info.clock_khz +
				 (took % 1000000 * card->info.clock_khz + 999999) / 1000000;
}

void local_finish(struct local_queue *q, struct local_outcome *outcome)
{
	put_stamp(q, outcome);
	count_clocks(q);
	if (q->state != VTA_QUEUE_ACTIVE) {	/* being destroyed */
		q->phase = LOCAL_IDLE;
	} else if (atomic_load(&q->give_up)) {	/* by a doorbell meanwhile */
		*outcome = LOCAL_OK;
		outcome->reason = VTA_FAULT_DOORBELL;
		halt(q, outcome);
	} else if (outcome->reason) {
		halt(q, outcome);
	} else {
		count(q, outcome);
		q->phase = LOCAL_IDLE;
		q->seq++;
		put_done(q);
		local_tell(q);
	}
	pthread_cond_broadcast(&q->card->idle);
}

void local_lose(struct local *card)
{
	card->lost = true;
	for (uint32_t i = 0; i < card->queues_end; i++) {
		struct local_queue *q = card->queues[i];

		if (!q)
			continue;
		q->state = VTA_QUEUE_DISABLED;
		atomic_store(&q->give_up, true);
		memset(&q->fault, 0, sizeof(q->fault));
		put_state(q);
		local_tell(q);
	}
	local_poll_update(card);
}

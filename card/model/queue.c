// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue's life: started, its descriptors fetched and completed, stopped, halted.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "log.h"
#include "model.h"

static_assert(sizeof(struct vta_status_page) == VTA_STATUS_ALIGN, "it never crosses a page");

/* A fault was found whose record is not written yet. */
static bool fault_due(const struct queue *q)
{
	return q->state == VTA_QUEUE_ACTIVE && q->fault.reason;
}

static uint64_t waiting(const struct queue *q)
{
	uint64_t n = q->submitted - q->seq;

	/* A doorbell may have taken back what was begun meanwhile. */
	return (int64_t)n > 0 ? n : 0;
}

bool queue_live(const struct queue *q)
{
	return queue_state(q) == VTA_QUEUE_ACTIVE && !q->stopping && !fault_due(q);
}

bool queue_busy(const struct queue *q)
{
	return q->owned || q->saving || q->unwritten || q->stopping || fault_due(q) ||
	       q->phase != CARD_PHASE_IDLE || (q->state == VTA_QUEUE_ACTIVE && waiting(q));
}

enum vta_queue_state queue_state(const struct queue *q)
{
	return q->unwritten ? VTA_QUEUE_DISABLED : q->state;
}

enum vta_hand queue_hand(const struct queue *q)
{
	static const enum vta_hand waits[] = {
		[VTA_UNIT_FRONT]	= VTA_HAND_SHORT,
		[VTA_UNIT_COMPUTE]	= VTA_HAND_FOR_COMPUTE,
		[VTA_UNIT_COPY]	= VTA_HAND_FOR_COPY,
	};
	static const enum vta_hand executes[] = {
		[VTA_UNIT_FRONT]	= VTA_HAND_SHORT,
		[VTA_UNIT_COMPUTE]	= VTA_HAND_IN_COMPUTE,
		[VTA_UNIT_COPY]	= VTA_HAND_IN_COPY,
	};

	switch (q->phase) {
	case CARD_PHASE_READY:
		return waits[q->unit];
	case CARD_PHASE_EXECUTING:
		return q->held ? VTA_HAND_HELD : executes[q->unit];
	case CARD_PHASE_WAITING:
		return VTA_HAND_HELD;
	default:
		return VTA_HAND_NONE;
	}
}

bool queue_settable(const struct queue *q)
{
	return q->state == VTA_QUEUE_DISABLED && !queue_busy(q);
}

bool queue_wants_front(struct card *card, const struct queue *q)
{
	if (q->owned || q->saving)
		return false;
	if (q->unwritten || fault_due(q))
		return true;
	if (q->stopping)
		return !state_must_be_saved(q);
	if (q->state != VTA_QUEUE_ACTIVE)
		return false;
	switch (q->phase) {
	case CARD_PHASE_IDLE:
		return card_serving(card) && waiting(q);
	case CARD_PHASE_READY:
		return card_serving(card) && q->unit == VTA_UNIT_FRONT;
	case CARD_PHASE_WAITING:
		/* It has been begun, so it may end even if no more are taken. */
		return q->check && !card->fatal;
	default:
		return false;
	}
}

void queue_own(struct queue *q)
{
	q->owned = true;
}

void queue_release(struct card *card, struct queue *q)
{
	q->owned = false;
	if (q->phase == CARD_PHASE_READY && q->unit != VTA_UNIT_FRONT && queue_live(q))
		engine_offer(card, q);
	if (queue_wants_front(card, q))
		front_kick(card, q);
}

void queue_reset(struct queue *q)
{
	unsigned int index = q->index;

	*q = (struct queue) { .index = index };
}

/* ---- Records ---- */

/* Each writes one record, or returns -EPERM while the bus is off. */
typedef int (*record_fn)(struct card *card, struct queue *q);

static int put_state(struct card *card, const struct queue *q, enum vta_queue_state state,
		     enum vta_fault_reason reason)
{
	/* One store for both words: no reader sees HALTED without its reason. */
	return bus_write64(&card->bus, q->status + offsetof(struct vta_status, state),
			   (uint64_t)reason << 32 | state);
}

static int put_start(struct card *card, struct queue *q)
{
	struct vta_status_page page = {
		.status.state = VTA_QUEUE_ACTIVE,
		.status.time = card_time(card),
	};
	const size_t skip = sizeof(page.status.seq);
	int ret;

	ret = bus_write(&card->bus, q->status + skip, (const uint8_t *)&page + skip,
			sizeof(page) - skip);
	return ret ?: bus_write64(&card->bus, q->status, q->seq);
}

/* Returns the number to write to the status record when a descriptor has completed. */
static uint64_t told_seq(struct card *card, const struct queue *q)
{
	struct inject *inject = &card->inject;

	if (inject_take_queue(inject, INJECT_SEQ_BACK, q->index))
		return q->seq - inject_value(inject, INJECT_SEQ_BACK);
	if (inject_take_queue(inject, INJECT_SEQ_JUMP, q->index))
		return q->seq + 1 + inject_value(inject, INJECT_SEQ_JUMP);
	return q->seq + 1;
}

static int put_done(struct card *card, struct queue *q)
{
	const struct {
		uint64_t time, cycles;
		struct queue_usage usage;
	} words = { q->begin + q->took, q->cycles_done, q->usage };
	int ret;

	if (inject_take_queue(&card->inject, INJECT_STATUS_LOST, q->index))
		return 0;
	if (inject_take_queue(&card->inject, INJECT_STATE_WILD, q->index))
		return put_state(card, q, inject_value(&card->inject, INJECT_STATE_WILD), 0);

	static_assert(offsetof(struct vta_status, time) + sizeof(words) ==
		      sizeof(struct vta_status), "written as one");
	ret = bus_write(&card->bus, q->status + offsetof(struct vta_status, time), &words,
			sizeof(words));
	return ret ?: bus_write64(&card->bus, q->status, told_seq(card, q));
}

/* Reports that the queue has halted before the fault record has the reason. */
static int put_torn(struct card *card, struct queue *q)
{
	int ret = put_state(card, q, VTA_QUEUE_HALTED, q->fault.reason);

	pthread_mutex_unlock(&card->lock);
	inject_sleep_ms(&card->inject, INJECT_STATUS_TORN);
	pthread_mutex_lock(&card->lock);
	return ret;
}

static void make_wild(struct vta_fault *fault, uint64_t words)
{
	const uint32_t ones = UINT32_MAX;
	size_t i;

	for (i = 0; i < sizeof(*fault) / sizeof(ones); i++)
		if (words >> i & 1)
			memcpy((char *)fault + i * sizeof(ones), &ones, sizeof(ones));
}

static int put_halt(struct card *card, struct queue *q)
{
	int ret = 0;

	if (inject_take_queue(&card->inject, INJECT_HALT_LOST, q->index))
		return 0;
	if (inject_take_queue(&card->inject, INJECT_RECORD_WILD, q->index))
		make_wild(&q->fault, inject_value(&card->inject, INJECT_RECORD_WILD));
	if (inject_take_queue(&card->inject, INJECT_STATUS_TORN, q->index))
		ret = put_torn(card, q);
	if (ret)
		return ret;
	ret = bus_write(&card->bus, q->status + offsetof(struct vta_status_page, fault),
			&q->fault, sizeof(q->fault));
	return ret ?: put_state(card, q, VTA_QUEUE_HALTED, q->fault.reason);
}

static int put_stop(struct card *card, struct queue *q)
{
	return put_state(card, q, VTA_QUEUE_DISABLED, VTA_FAULT_NONE);
}

/* 0, the host's refusal, or MMU_GIVEN_UP. */
static int put_record(struct card *card, struct queue *q, record_fn put,
		      const atomic_bool *give_up)
{
	unsigned int refused = 0;

	while (bus_wait_locked(&card->bus, give_up, refused)) {
		int ret;

		refused = bus_epoch(&card->bus);
		ret = put(card, q);
		if (ret != -EPERM)
			return ret;
	}
	return MMU_GIVEN_UP;
}

/* ---- Halting ---- */

static void queue_fault(struct card *card, struct queue *q, enum vta_fault_reason reason,
			const struct outcome *outcome)
{
	q->fault = (struct vta_fault) {
		.reason = reason,
		.access = outcome->access,
		.seq = q->seq + 1,
		.addr = outcome->addr,
		.insn_index = outcome->insn_index,
		.queue = q->index,
		.context = q->context,
		.time = card_time(card),
	};
	memcpy(q->fault.insn, outcome->insn, sizeof(q->fault.insn));
	q->armed = false;
	state_drop(q);
	engine_withdraw(card, q);
}

static void queue_halted(struct card *card, struct queue *q)
{
	log_info("queue %u of context %u halted at descriptor %llu: reason %u, access %u, address %#x, instruction %d",
		 q->index, q->context, (unsigned long long)q->fault.seq, q->fault.reason,
		 q->fault.access, q->fault.addr, (int)q->fault.insn_index);
	q->state = VTA_QUEUE_HALTED;
	q->unwritten = false;
	q->armed = false;
	q->phase = CARD_PHASE_IDLE;
	q->dropped = false;
	atomic_store(&q->give_up, false);
	counter_add(&card->counters, VTA_COUNTER_FAULTS, 1);
}

/* There is nowhere to report a fault: the host refused the status page. */
static void queue_lost(struct card *card, struct queue *q)
{
	if (!q->fault.reason)
		queue_fault(card, q, VTA_FAULT_DMA, &OUTCOME_OK);
	queue_halted(card, q);
	card_set_fatal(card, REG_EVENT_FAULT);
}

/* Before it could be executed, or while it is. */
static void queue_drop(struct card *card, struct queue *q)
{
	q->dropped = true;
	atomic_store(&q->give_up, true);
	pthread_cond_broadcast(&card->bus.changed);
}

void queue_give_up(struct card *card, struct queue *q, enum vta_fault_reason reason,
		   const struct outcome *outcome)
{
	queue_fault(card, q, reason, outcome);
	queue_drop(card, q);
}

/* More may be submitted than the ring holds. */
static void check_submitted(struct card *card, struct queue *q)
{
	if (waiting(q) <= 1ull << q->ring_order)
		return;
	queue_give_up(card, q, VTA_FAULT_DOORBELL, &OUTCOME_OK);
}

void queue_settle(struct card *card, struct queue *q)
{
	int ret;

	if (q->unwritten) {
		ret = put_record(card, q, put_start, &card->resetting);
		if (ret == MMU_GIVEN_UP)
			return;
		q->unwritten = false;
		if (ret)
			queue_lost(card, q);
		else
			check_submitted(card, q);
	}
	if (fault_due(q)) {
		ret = put_record(card, q, put_halt, &card->resetting);
		if (ret == MMU_GIVEN_UP)
			return;
		if (ret) {
			queue_lost(card, q);
		} else {
			queue_halted(card, q);
			card_set_event(card, card->event | REG_EVENT_FAULT);
		}
	}
	if (q->stopping && !state_must_be_saved(q)) {
		ret = put_record(card, q, put_stop, &card->resetting);
		if (ret == MMU_GIVEN_UP)
			return;
		if (ret)
			card_set_fatal(card, 0);
		q->state = VTA_QUEUE_DISABLED;
		q->stopping = false;
		q->phase = CARD_PHASE_IDLE;
		q->fault.reason = VTA_FAULT_NONE;
		q->dropped = false;
		atomic_store(&q->give_up, false);
	}
}

/* ---- Register writes ---- */

static void queue_stop(struct card *card, struct queue *q, bool abort)
{
	if (inject_take_queue(&card->inject, INJECT_STOP_NEVER, q->index))
		return;
	q->enable = false;
	if (q->state == VTA_QUEUE_DISABLED)
		return;
	q->stopping = true;
	q->armed = false;
	if (abort) {
		state_drop(q);
		queue_drop(card, q);
	} else if (state_must_be_saved(q)) {
		engine_wake(&card->engines[0]);
	}
	engine_withdraw(card, q);
	if (queue_wants_front(card, q))
		front_kick(card, q);
}

static bool save_ok(const struct card *card, const struct queue *q, bool kept)
{
	if (card->config.no_kept_state)
		return !kept;
	if (!q->save)
		return !kept;
	return !(q->save % VTA_PAGE_SIZE) &&
	       q->save + (uint64_t)core_state_size(&card->config.core) <= 1ull << 32;
}

static bool can_start(const struct card *card, const struct queue *q, bool kept)
{
	return save_ok(card, q, kept) &&
	       q->context < card->config.contexts && card->contexts[q->context].enable &&
	       q->group < card->config.contexts &&
	       q->ring_order <= CARD_RING_ORDER_MAX && !(q->ring_addr % VTA_PAGE_SIZE) &&
	       !(q->status % VTA_STATUS_ALIGN);
}

static void queue_start(struct card *card, struct queue *q, bool kept)
{
	int ret;

	q->enable = true;
	q->state = VTA_QUEUE_ACTIVE;
	q->submitted = q->start + (uint32_t)(q->submitted - q->start);
	q->seq = q->start;
	q->cycles_done = 0;
	q->usage = (struct queue_usage) { 0 };
	q->armed = false;
	q->kept = kept ? QUEUE_KEPT_SAVED : QUEUE_KEPT_NONE;
	memset(&q->fault, 0, sizeof(q->fault));

	ret = bus_epoch_on(bus_epoch(&card->bus)) ? put_start(card, q) : -EPERM;
	if (ret == -EPERM) {
		q->unwritten = true;
		front_kick(card, q);
	} else if (ret) {
		queue_lost(card, q);
	} else {
		check_submitted(card, q);
		if (queue_wants_front(card, q))
			front_kick(card, q);
	}
}

bool queue_ctrl(struct card *card, struct queue *q, uint32_t val)
{
	bool kept = val & REG_QUEUE_CTRL_KEPT;

	q->priority = field_get(REG_QUEUE_CTRL_PRIORITY, val);
	if (val & REG_QUEUE_CTRL_ABORT || !(val & REG_QUEUE_CTRL_ENABLE)) {
		queue_stop(card, q, val & REG_QUEUE_CTRL_ABORT);
		return true;
	}
	if (!queue_settable(q))
		return true;
	if (!can_start(card, q, kept))
		return false;
	if (inject_take_queue(&card->inject, INJECT_START_NEVER, q->index))
		return true;
	queue_start(card, q, kept);
	return true;
}

void queue_submit(struct card *card, struct queue *q, uint32_t val)
{
	if (q->state == VTA_QUEUE_HALTED || fault_due(q))
		return;
	q->submitted = q->seq + (uint32_t)(val - q->seq);
	if (!queue_live(q))
		return;
	check_submitted(card, q);
	q->check = true;
	if (queue_wants_front(card, q))
		front_kick(card, q);
}

bool queue_doorbell(struct card *card, struct queue *q, uint32_t val)
{
	if (q->state == VTA_QUEUE_HALTED || fault_due(q))
		return false;
	if (inject_take_queue(&card->inject, INJECT_DOORBELL_LOST, q->index))
		return true;
	counter_add(&card->counters, VTA_COUNTER_DOORBELLS, 1);
	queue_submit(card, q, val);
	return true;
}

/* Numbers are compared modulo 2^32, half of them ahead and half behind. */
static bool number_reached(const struct queue *q, uint32_t number)
{
	return (uint32_t)q->seq - number < 1u << 31;
}

void queue_arm(struct card *card, struct queue *q, uint32_t val)
{
	if (!queue_live(q) || inject_take_queue(&card->inject, INJECT_ARM_LOST, q->index))
		return;
	counter_add(&card->counters, VTA_COUNTER_ARMS, 1);
	q->arm = val;
	q->armed = !number_reached(q, val);
	if (!q->armed)
		bus_irq(&card->bus, q->vector);
}

/* ---- A descriptor's way ---- */

void queue_fetch(struct card *card, struct queue *q)
{
	const struct mmu_port port = card_port(card, q);
	uint64_t index = q->seq & ((1ull << q->ring_order) - 1);
	uint64_t addr = q->ring_addr + index * sizeof(q->desc);
	struct outcome outcome = OUTCOME_OK;
	struct vta_desc desc;
	struct vta_desc_error error;

	if (!queue_live(q) || q->phase != CARD_PHASE_IDLE || !waiting(q) || !card_serving(card))
		return;
	pthread_mutex_unlock(&card->lock);
	outcome.ret = mmu_read(&port, addr, &desc, sizeof(desc), &outcome.addr);
	pthread_mutex_lock(&card->lock);

	if (atomic_load(&q->give_up))
		return;
	if (outcome.ret) {
		outcome.access = VTA_ACCESS_RING;
		queue_fault(card, q, outcome.ret, &outcome);
		return;
	}
	error = vta_desc_check(&desc, q->cycles, q->save && !card->config.no_kept_state);
	if (error.reason) {
		outcome.access = error.access;
		outcome.addr = error.addr;
		queue_fault(card, q, error.reason, &outcome);
		return;
	}
	q->desc = desc;
	q->unit = vta_desc_unit(&desc);
	q->held = false;
	q->phase = CARD_PHASE_READY;
}

void queue_begin(struct card *card, struct queue *q)
{
	q->begin = card_time(card);
	q->number = q->seq + 1;
}

void queue_time_out(struct card *card, struct queue *q, struct outcome *outcome)
{
	if (q->dropped || atomic_load(&card->resetting))
		return;
	atomic_store(&q->give_up, false);
	*outcome = (struct outcome) {
		.ret = VTA_FAULT_TIME,
		.insn_index = VTA_FAULT_NO_INSN,
		.cycles = outcome->cycles,
	};
}

static void put_stamp(struct card *card, const struct queue *q, struct outcome *outcome)
{
	const struct mmu_port port = card_port(card, q);
	const struct vta_stamp stamp = {
		.start = q->begin,
		.end = card_time(card),
		.cycles = outcome->cycles,
		.seq = q->seq + 1,
	};

	pthread_mutex_unlock(&card->lock);
	outcome->ret = mmu_write(&port, q->desc.stamp_addr, &stamp, sizeof(stamp),
				 &outcome->addr);
	pthread_mutex_lock(&card->lock);
	outcome->access = VTA_ACCESS_STAMP;
}

static void count_done(struct card *card, const struct queue *q)
{
	struct counters *counters = &card->counters;

	counter_add(counters, VTA_COUNTER_DESCRIPTORS, 1);
	switch (vta_desc_op(&q->desc)) {
	case VTA_OP_RUN:
		counter_add(counters, VTA_COUNTER_RUNS, 1);
		break;
	case VTA_OP_COPY:
		counter_add(counters, VTA_COUNTER_COPIES, 1);
		counter_add(counters, VTA_COUNTER_COPY_BYTES,
			    (uint64_t)q->desc.copy.width * q->desc.copy.rows);
		break;
	case VTA_OP_FILL:
		counter_add(counters, VTA_COUNTER_FILLS, 1);
		counter_add(counters, VTA_COUNTER_COPY_BYTES,
			    (uint64_t)q->desc.fill.width * q->desc.fill.rows);
		break;
	default:
		break;
	}
}

/* Interrupts, and then takes its time with what the interrupt is for. */
static void queue_late(struct card *card, struct queue *q)
{
	if (q->armed && q->arm == (uint32_t)(q->seq + 1)) {
		q->armed = false;
		bus_irq(&card->bus, q->vector);
	}
	pthread_mutex_unlock(&card->lock);
	inject_sleep_ms(&card->inject, INJECT_STATUS_LATE);
	pthread_mutex_lock(&card->lock);
}

/* The time that the descriptor in hand has used, now that it ends. */
static void count_usage(struct queue *q, uint64_t cycles)
{
	switch (vta_desc_op(&q->desc)) {
	case VTA_OP_RUN:
		q->cycles_done += cycles;
		q->usage.runs++;
		break;
	case VTA_OP_COPY:
	case VTA_OP_FILL:
		q->usage.copies++;
		break;
	default:
		break;
	}
	if (q->unit == VTA_UNIT_COMPUTE)
		q->usage.run_time += q->took;
	else if (q->unit == VTA_UNIT_COPY)
		q->usage.copy_time += q->took;
}

static void queue_complete(struct card *card, struct queue *q, uint64_t cycles)
{
	int ret;

	count_usage(q, cycles);
	if (inject_take_queue(&card->inject, INJECT_STATUS_LATE, q->index))
		queue_late(card, q);
	ret = put_record(card, q, put_done, &q->give_up);
	if (ret == MMU_GIVEN_UP)
		return;
	if (ret) {
		queue_lost(card, q);
		return;
	}
	count_done(card, q);
	q->seq++;
	if (!waiting(q))	/* a doorbell may have taken it back */
		q->submitted = q->seq;
	if (q->armed && number_reached(q, q->arm)) {
		q->armed = false;
		bus_irq(&card->bus, q->vector);
	}
}

/*
 * Engines in C have no clock of their own: theirs is card time, at CLOCK_KHZ. A model of the core
 * counts its clocks, those of a save before the RUN included.
 */
static void count_clocks(struct card *card, const struct queue *q)
{
	unsigned __int128 ns_khz = (unsigned __int128)q->took * card->config.clock_khz;
	uint64_t clocks = (uint64_t)((ns_khz + 999999) / 1000000);

	if (q->unit == VTA_UNIT_COMPUTE && card->config.model) {
		clocks = core_clocks(card->core) - card->core_clocks;
		card->core_clocks += clocks;
	}
	if (q->unit == VTA_UNIT_COMPUTE)
		counter_add(&card->counters, VTA_COUNTER_COMPUTE_CLOCKS, clocks);
	else if (q->unit == VTA_UNIT_COPY)
		counter_add(&card->counters, VTA_COUNTER_COPY_CLOCKS, clocks);
}

void queue_finish(struct card *card, struct queue *q, const struct outcome *outcome)
{
	struct outcome done = *outcome;

	if (!done.ret && q->desc.op_flags & VTA_DESC_STAMP)
		put_stamp(card, q, &done);
	q->took = card_time(card) - q->begin;
	count_clocks(card, q);
	if (!done.ret && inject_take_queue(&card->inject, INJECT_FAULT, q->index))
		done.ret = (int)inject_value(&card->inject, INJECT_FAULT);
	if (!atomic_load(&q->give_up)) {
		if (done.ret)
			queue_fault(card, q, done.ret, &done);
		else
			queue_complete(card, q, done.cycles);
	}
	q->phase = CARD_PHASE_IDLE;
}

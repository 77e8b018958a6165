// SPDX-License-Identifier: GPL-2.0-only
/*
 * The owner of the core's state, and the kept state of queues (docs/hardware.md,
 * section 6, "The core's state").
 *
 * Only the compute engine sets the owner. enum queue_kept (card.lock) says whether the
 * owner's saved state is valid; it can become invalid at any time, also while the engine
 * moves it.
 */
#include "log.h"
#include "model.h"

static uint64_t move_cycles(struct card *card)
{
	uint64_t cycles = core_state_cycles(&card->config.core);

	counter_add(&card->counters, VTA_COUNTER_STATE_CYCLES, cycles);
	return cycles;
}

void state_drop(struct queue *q)
{
	q->kept = QUEUE_KEPT_NONE;
}

bool state_must_be_saved(const struct queue *q)
{
	return q->kept == QUEUE_KEPT_CORE;
}

/* Gives up an owner whose state cannot be saved, although it was promised. */
static void give_up_owner(struct card *card, struct queue *q, const struct core_fault *fault)
{
	const struct outcome outcome = {
		.access = fault->access,
		.addr = fault->addr,
		.insn_index = VTA_FAULT_NO_INSN,
	};

	log_info("the state of queue %u cannot be saved", q->index);
	queue_give_up(card, q, fault->reason, &outcome);
}

/* The owner's state leaves the core; returns the cycles it took. */
static uint64_t save_owner(struct card *card, struct queue *q)
{
	struct mmu_port port = card_port(card, q);
	struct core_fault fault = { 0 };
	enum core_result result;

	q->saving = true;
	pthread_mutex_unlock(&card->lock);
	result = core_save(card->core, &engine_core_ops, &port, q->save, &fault);
	pthread_mutex_lock(&card->lock);
	q->saving = false;

	if (q->kept == QUEUE_KEPT_CORE) {
		state_drop(q);
		if (result == CORE_DONE)
			q->kept = QUEUE_KEPT_SAVED;
		else if (result == CORE_FAULT)
			give_up_owner(card, q, &fault);
	}
	if (result == CORE_DONE)
		counter_add(&card->counters, VTA_COUNTER_STATE_SAVES, 1);
	/* It may have waited with an end or a fault until its area is at rest. */
	if (queue_wants_front(card, q))
		front_kick(card, q);
	return result == CORE_DONE ? move_cycles(card) : 0;
}

static uint64_t leave(struct card *card)
{
	struct queue *q = card->owner.queue;
	uint64_t cycles = 0;

	if (q && q->kept == QUEUE_KEPT_CORE)
		cycles = save_owner(card, q);
	core_clear(card->core);
	card->owner = (struct owner) { 0 };
	return cycles;
}

/* The queue's state comes back from its area, as part of its RUN. */
static void restore_owner(struct card *card, const struct queue *q, struct outcome *outcome)
{
	struct mmu_port port = card_port(card, q);
	struct core_fault fault = { 0 };
	enum core_result result;

	pthread_mutex_unlock(&card->lock);
	result = core_restore(card->core, &engine_core_ops, &port, q->save, &fault);
	pthread_mutex_lock(&card->lock);

	if (result == CORE_DONE) {
		counter_add(&card->counters, VTA_COUNTER_STATE_RESTORES, 1);
		outcome->state_cycles += move_cycles(card);
		return;
	}
	core_clear(card->core);
	outcome->ret = result == CORE_FAULT ? (int)fault.reason : MMU_GIVEN_UP;
	outcome->access = fault.access;
	outcome->addr = fault.addr;
}

static bool owns_state(const struct card *card, const struct queue *q, bool keep)
{
	const struct owner *owner = &card->owner;

	if (keep)
		return owner->queue == q && q->kept == QUEUE_KEPT_CORE;
	return owner->used && !owner->queue && owner->context == q->context &&
	       owner->life == atomic_load(&card->contexts[q->context].lives);
}

static void take_over(struct card *card, struct queue *q, bool keep, struct outcome *outcome)
{
	if (card->owner.used)
		counter_add(&card->counters, VTA_COUNTER_CONTEXT_SWITCHES, 1);
	outcome->state_cycles = leave(card);
	if (keep && q->kept == QUEUE_KEPT_SAVED)
		restore_owner(card, q, outcome);
	if (outcome->ret)
		return;
	card->owner = (struct owner) {
		.used = true,
		.queue = keep ? q : NULL,
		.context = q->context,
		.life = atomic_load(&card->contexts[q->context].lives),
	};
}

void state_enter(struct card *card, struct queue *q, struct outcome *outcome)
{
	bool keep = q->desc.op_flags & VTA_DESC_KEEP;

	pthread_mutex_lock(&card->lock);
	if (!owns_state(card, q, keep))
		take_over(card, q, keep, outcome);
	/* A descriptor that was aborted meanwhile has lost its state. */
	if (keep && !outcome->ret && !atomic_load(&q->give_up)) {
		q->kept = QUEUE_KEPT_CORE;
		core_keep_tokens(card->core);
	}
	pthread_mutex_unlock(&card->lock);
}

/* The owner is being stopped, and its end waits for its state. */
bool state_wants_engine(const struct card *card)
{
	const struct queue *q = card->owner.queue;

	return q && q->stopping && state_must_be_saved(q);
}

void state_put_away(struct card *card)
{
	leave(card);
}

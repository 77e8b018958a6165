// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two engines: a thread each that takes the queues' descriptors in turn.
 */
#define _GNU_SOURCE
#include <time.h>

#include "model.h"

/* ---- Arbitration ---- */

void engine_wake(struct engine *engine)
{
	if (!engine->awake) {
		engine->awake = true;
		clock_hold(&engine->card->clock);
	}
	pthread_cond_signal(&engine->wake);
}

static void engine_sleep(struct card *card, struct engine *engine)
{
	if (engine->awake) {
		engine->awake = false;
		card_release_clock(card);
	}
	pthread_cond_wait(&engine->wake, &card->lock);
}

void engine_offer(struct card *card, const struct queue *q)
{
	for (unsigned int i = 0; i < VTA_ENGINES; i++) {
		struct engine *engine = &card->engines[i];

		if (engine->unit == q->unit) {
			arbiter_add(&engine->arbiter, q->group, q->index);
			engine_wake(engine);
		}
	}
}

void engine_withdraw(struct card *card, const struct queue *q)
{
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		arbiter_del(&card->engines[i].arbiter, q->group, q->index);
}

void engine_reset(struct engine *engine)
{
	arbiter_reset(&engine->arbiter, engine->card->config.contexts);
	engine->idle = false;
	engine->moves = 0;
	engine->last = 0;
	engine->seq = 0;
	engine->since = 0;
}

/* It has begun the descriptor in hand, or ended it. */
static void count_move(struct engine *engine, const struct queue *q, uint64_t when)
{
	engine->moves = (engine->moves + 1) & REG_ENGINE_MOVES_MAX;
	engine->last = q->index;
	engine->seq = q->number;
	engine->since = when;
}

/* Time passes for the groups while there is nothing to choose from, too. */
static void pass_idle_time(struct engine *engine, bool idle)
{
	if (idle == engine->idle)
		return;
	if (idle)
		engine->idle_since = card_time(engine->card);
	else
		arbiter_idle(&engine->arbiter, card_time(engine->card) - engine->idle_since);
	engine->idle = idle;
}

static unsigned int priority_of(const void *card, unsigned int queue)
{
	return ((const struct card *)card)->queues[queue].priority;
}

static struct queue *pick_queue(struct engine *engine)
{
	struct card *card = engine->card;
	bool none = !card_serving(card) || queue_set_empty(&engine->arbiter.ready) ||
		    inject_on(&card->inject, INJECT_IDLE_ENGINES);
	unsigned int group;

	pass_idle_time(engine, none);
	if (none)
		return NULL;
	group = (unsigned int)arbiter_choose(&engine->arbiter);
	return &card->queues[arbiter_take(&engine->arbiter, group, priority_of, card)];
}

/* ---- RUN ---- */

static enum vta_fault_reason core_access_result(int ret)
{
	/* The core is stopped before it could report a fault of this kind. */
	return ret == MMU_GIVEN_UP ? VTA_FAULT_DMA : (enum vta_fault_reason)ret;
}

static enum vta_fault_reason core_read(void *priv, uint32_t addr, void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	(void)access;
	return core_access_result(mmu_read(priv, addr, buf, len, fault_addr));
}

static enum vta_fault_reason core_write(void *priv, uint32_t addr, const void *buf, size_t len,
					enum vta_access access, uint32_t *fault_addr)
{
	(void)access;
	return core_access_result(mmu_write(priv, addr, buf, len, fault_addr));
}

static bool core_stop(void *priv)
{
	const struct mmu_port *port = priv;

	return atomic_load(port->give_up);
}

const struct core_mem_ops engine_core_ops = {
	.read = core_read,
	.write = core_write,
	.stop = core_stop,
};

/* The smaller limit, of those that are not 0. */
static uint64_t min_of(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a | b;
	return a < b ? a : b;
}

/*
 * In modelled time: the most cycles that end within TIME_LIMIT, UINT64_MAX if any
 * do. So nothing is executed that faults TIME, or no further than to that point.
 */
static uint64_t limit_cycles(struct card *card, const struct queue *q)
{
	const uint32_t khz = card->config.clock_khz;
	unsigned __int128 cycles = (unsigned __int128)q->time_limit * khz / 1000000;

	if (!clock_modelled(&card->clock) || !q->time_limit || cycles >= UINT64_MAX)
		return UINT64_MAX;
	if (inject_take_queue(&card->inject, INJECT_LIMIT_NEVER, q->index))
		return UINT64_MAX;
	return (uint64_t)cycles;
}

static struct outcome run_execute(struct card *card, struct queue *q, uint64_t most)
{
	uint64_t limit = min_of(q->desc.run.cycle_limit, q->cycles);
	struct mmu_port port = card_port(card, q);
	struct outcome outcome = OUTCOME_OK;
	struct core_stats stats = { 0 };
	struct core_fault fault = { 0 };

	state_enter(card, q, &outcome);
	if (outcome.ret)
		return outcome;
	most = most > outcome.state_cycles ? most - outcome.state_cycles : 0;
	switch (core_run(card->core, &engine_core_ops, &port, q->desc.run.insn_addr,
			 q->desc.run.insn_count, min_of(limit, most + !most), &stats, &fault)) {
	case CORE_DONE:
		break;
	case CORE_FAULT:
		if (fault.reason == VTA_FAULT_CYCLES && (!limit || most < limit)) {
			outcome.ret = VTA_FAULT_TIME;
			break;
		}
		outcome.ret = fault.reason;
		outcome.access = fault.access;
		outcome.addr = fault.addr;
		outcome.insn_index = fault.insn_index;
		for (unsigned int i = 0; i < 4; i++)
			outcome.insn[i] = fault.insn[i];
		break;
	case CORE_STOPPED:
		outcome.ret = MMU_GIVEN_UP;
		break;
	}
	outcome.cycles = stats.cycles;
	counter_add(&card->counters, VTA_COUNTER_COMPUTE_CYCLES, stats.cycles);
	counter_add(&card->counters, VTA_COUNTER_INSNS, stats.insns);
	counter_add(&card->counters, VTA_COUNTER_GEMM_UOPS, stats.gemm_uops);
	counter_add(&card->counters, VTA_COUNTER_ALU_UOPS, stats.alu_uops);
	return outcome;
}

/* ---- The engine ---- */

static struct outcome execute_desc(struct card *card, struct queue *q)
{
	uint64_t most = limit_cycles(card, q);

	if (q->unit == VTA_UNIT_COMPUTE)
		return run_execute(card, q, most);
	if (vta_desc_copy_cycles(&q->desc) > most)
		return (struct outcome) {
			.ret = VTA_FAULT_TIME,
			.insn_index = VTA_FAULT_NO_INSN,
		};
	return vta_desc_op(&q->desc) == VTA_OP_COPY ? copy_execute(card, q) : fill_execute(card, q);
}

/*
 * In modelled time: until the descriptor's end, or until it is given up. No
 * sleep in real time, where it has ended when it has been executed.
 */
static void spend_time(struct engine *engine, const struct queue *q, const struct outcome *outcome)
{
	struct card *card = engine->card;
	uint64_t *due = &card->clock.due[engine - card->engines];
	uint64_t end = q->begin;

	if (!clock_modelled(&card->clock))
		return;
	end += outcome->ret == VTA_FAULT_TIME ? q->time_limit :
	       clock_duration(&card->clock, outcome->state_cycles + outcome->cycles,
			      card->config.clock_khz);
	*due = end;
	card_release_clock(card);
	while (clock_now(&card->clock) < end && !atomic_load(&q->give_up)) {
		uint64_t at = clock_to_host(&card->clock, end);
		const struct timespec ts = {
			.tv_sec = (time_t)(at / 1000000000),
			.tv_nsec = (long)(at % 1000000000),
		};

		if (clock_held(&card->clock))
			pthread_cond_wait(&card->bus.changed, &card->lock);
		else
			pthread_cond_clockwait(&card->bus.changed, &card->lock, CLOCK_MONOTONIC,
					       &ts);
	}
	clock_hold(&card->clock);
	*due = UINT64_MAX;
}

/* True if a fault is injected that keeps the engine from finishing the descriptor. */
static bool engine_held(const struct engine *engine, const struct queue *q)
{
	const struct inject *inject = &engine->card->inject;
	enum inject_kind kind =
		engine->unit == VTA_UNIT_COMPUTE ? INJECT_HANG_COMPUTE : INJECT_HANG_COPY;

	if (engine->card->exiting || atomic_load(&q->give_up))
		return false;
	return inject_on(inject, INJECT_HANG_ALL) || inject_on_queue(inject, kind, q->index);
}

/* Time passes meanwhile. */
static void hang_engine(struct engine *engine, const struct queue *q)
{
	if (!engine_held(engine, q))
		return;
	card_release_clock(engine->card);
	while (engine_held(engine, q))
		pthread_cond_wait(&engine->card->bus.changed, &engine->card->lock);
	clock_hold(&engine->card->clock);
}

static void serve_queue(struct engine *engine, struct queue *q)
{
	struct card *card = engine->card;
	struct outcome outcome;

	queue_own(q);
	engine->queue = q;
	queue_begin(card, q);
	count_move(engine, q, q->begin);
	q->phase = CARD_PHASE_EXECUTING;
	hang_engine(engine, q);
	limit_begin(engine, q->begin, q->time_limit);
	pthread_mutex_unlock(&card->lock);
	if (inject_take_queue(&card->inject, INJECT_SLOW_ENGINE, q->index))
		inject_sleep_ms(&card->inject, INJECT_SLOW_ENGINE);
	outcome = execute_desc(card, q);
	pthread_mutex_lock(&card->lock);
	if (limit_end(engine))
		queue_time_out(card, q, &outcome);
	spend_time(engine, q, &outcome);
	queue_finish(card, q, &outcome);
	arbiter_charge(&engine->arbiter, q->group, q->took);
	count_move(engine, q, card_time(card));
	/*
	 * The next descriptor is read here and not by the front end, so that
	 * it takes part in the arbitration that comes now.
	 */
	queue_fetch(card, q);
	queue_release(card, q);
	engine->queue = NULL;
	pthread_cond_signal(&card->engine_idle);
}

/* Not for a queue's descriptor: a reset waits for it all the same. */
static void put_away(struct engine *engine)
{
	struct card *card = engine->card;

	engine->queue = card->owner.queue;
	state_put_away(card);
	engine->queue = NULL;
	pthread_cond_signal(&card->engine_idle);
}

void *engine_main(void *arg)
{
	struct engine *engine = arg;
	struct card *card = engine->card;

	pthread_mutex_lock(&card->lock);
	while (!card->exiting) {
		struct queue *q;

		if (engine->unit == VTA_UNIT_COMPUTE && state_wants_engine(card))
			put_away(engine);
		q = pick_queue(engine);
		if (q)
			serve_queue(engine, q);
		else
			engine_sleep(card, engine);
	}
	pthread_mutex_unlock(&card->lock);
	return NULL;
}

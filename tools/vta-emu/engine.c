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
	for (unsigned int i = 0; i < DESC_ENGINES; i++) {
		struct engine *engine = &card->engines[i];

		if (engine->unit == q->unit) {
			queue_set_add(&engine->ready, q->index);
			engine_wake(engine);
		}
	}
}

void engine_withdraw(struct card *card, const struct queue *q)
{
	for (unsigned int i = 0; i < DESC_ENGINES; i++)
		queue_set_del(&card->engines[i].ready, q->index);
}

/* In a round by queue number, a queue of priority p has up to 2^p descriptors. */
static struct queue *pick(struct engine *engine)
{
	struct card *card = engine->card;

	if (!card_serving(card))
		return NULL;
	if (!engine->credit || !queue_set_has(&engine->ready, engine->turn)) {
		int n = queue_set_next(&engine->ready, engine->turn);

		if (n < 0)
			return NULL;
		engine->turn = n;
		engine->credit = 1u << card->queues[n].priority;
	}
	engine->credit--;
	queue_set_del(&engine->ready, engine->turn);
	return &card->queues[engine->turn];
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

static const struct core_mem_ops core_ops = {
	.read = core_read,
	.write = core_write,
	.stop = core_stop,
};

/*
 * No context ever sees in the scratchpads what another has left there, nor one
 * that had its number before.
 */
static void enter_context(struct card *card, unsigned int context)
{
	unsigned int life = atomic_load(&card->contexts[context].lives);

	if (card->scratch_used && card->scratch_context == context && card->scratch_life == life)
		return;
	if (card->scratch_used)
		counter_add(&card->counters, VTA_COUNTER_CONTEXT_SWITCHES, 1);
	core_clear(card->core);
	card->scratch_used = true;
	card->scratch_context = context;
	card->scratch_life = life;
}

/* The smaller limit, of those that are not 0. */
static uint64_t cycle_limit(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a | b;
	return a < b ? a : b;
}

static struct outcome run_execute(struct card *card, const struct queue *q)
{
	struct mmu_port port = card_port(card, q);
	struct outcome outcome = OUTCOME_OK;
	struct core_stats stats = { 0 };
	struct core_fault fault = { 0 };

	enter_context(card, q->context);
	switch (core_run(card->core, &core_ops, &port, q->desc.run.insn_addr,
			 q->desc.run.insn_count, cycle_limit(q->desc.run.cycle_limit, q->cycles),
			 &stats, &fault)) {
	case CORE_DONE:
		break;
	case CORE_FAULT:
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

static struct outcome execute(struct card *card, const struct queue *q)
{
	switch (desc_op(&q->desc)) {
	case VTA_OP_RUN:
		return run_execute(card, q);
	case VTA_OP_COPY:
		return copy_execute(card, q);
	default:
		return fill_execute(card, q);
	}
}

/*
 * In modelled time: until the descriptor's end, or until it is given up. No
 * sleep in real time, where it has ended when it has been executed.
 */
static void spend(struct engine *engine, const struct queue *q, uint64_t cycles)
{
	struct card *card = engine->card;
	uint64_t *due = &card->clock.due[engine - card->engines];
	uint64_t end = q->begin + clock_duration(&card->clock, cycles, card->config.clock_khz);

	if (!clock_modelled(&card->clock))
		return;
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

/* The engine was told not to finish what it has. */
static bool held(const struct engine *engine, const struct queue *q)
{
	const struct inject *inject = &engine->card->inject;

	if (engine->card->exiting || atomic_load(&q->give_up))
		return false;
	return inject_on(inject, INJECT_HANG_ALL) ||
	       inject_on(inject, engine->unit == DESC_COMPUTE ? INJECT_HANG_COMPUTE :
								INJECT_HANG_COPY);
}

static void serve(struct engine *engine, struct queue *q)
{
	struct card *card = engine->card;
	struct outcome outcome;

	queue_own(q);
	engine->queue = q;
	queue_begin(card, q);
	q->phase = CARD_PHASE_EXECUTING;
	while (held(engine, q))
		pthread_cond_wait(&card->bus.changed, &card->lock);
	pthread_mutex_unlock(&card->lock);
	if (inject_take_queue(&card->inject, INJECT_SLOW_ENGINE, q->index))
		inject_sleep_ms(&card->inject, INJECT_SLOW_ENGINE);
	outcome = execute(card, q);
	pthread_mutex_lock(&card->lock);
	spend(engine, q, outcome.cycles);
	queue_finish(card, q, &outcome);
	/*
	 * The next descriptor is read here and not by the front end, so that
	 * it takes part in the arbitration that comes now.
	 */
	queue_fetch(card, q);
	queue_release(card, q);
	engine->queue = NULL;
	pthread_cond_signal(&card->engine_idle);
}

void *engine_main(void *arg)
{
	struct engine *engine = arg;
	struct card *card = engine->card;

	pthread_mutex_lock(&card->lock);
	while (!card->exiting) {
		struct queue *q = pick(engine);

		if (q)
			serve(engine, q);
		else
			engine_sleep(card, engine);
	}
	pthread_mutex_unlock(&card->lock);
	return NULL;
}

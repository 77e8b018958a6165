/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct card, for the files that make up the card: card.c (power, reset,
 * events), clock.c, regs.c (registers), queue.c, front.c, engine.c (with
 * copy.c and state.c), mmu.c, bus.c, inject.c; arbiter.c, limit.c.
 *
 * Locks, in the order in which they are taken: card.lock; mmu.lock; whatever is
 * behind the card_ops.
 */
#ifndef VTA_EMU_MODEL_H
#define VTA_EMU_MODEL_H

#include <pthread.h>

#include "arbiter.h"
#include "bus.h"
#include "card.h"
#include "clock.h"
#include "counters.h"
#include "inject.h"
#include "latch.h"
#include "limit.h"
#include "mmu.h"
#include "queue.h"
#include "queue_set.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "registers and records are little-endian, and so is the host");

/* A register's field, by its mask. */
static inline uint32_t field_get(uint32_t mask, uint32_t reg)
{
	return (reg & mask) >> __builtin_ctz(mask);
}

static inline uint32_t field_put(uint32_t mask, uint32_t val)
{
	return val << __builtin_ctz(mask) & mask;
}

/* An engine serves one unit's descriptors; everything but thread: card.lock. */
struct engine {
	struct card *card;
	enum vta_unit unit;
	pthread_t thread;
	pthread_cond_t wake;
	bool awake;		/* has work or is about to check for it: holds the clock */
	struct queue *queue;	/* being served */
	struct arbiter arbiter;
	bool idle;		/* had nothing to choose from, since idle_since */
	uint64_t idle_since;
	struct limit limit;

	/* Registers. */
	uint32_t moves;
	uint32_t last;		/* queue */
	uint64_t seq;
	uint64_t since;
};

struct context {
	uint64_t root;
	bool enable;
	atomic_uint lives;	/* how often it was enabled; read without the lock */
};

/* The owner of the core's state: a queue, by its RUNs with KEEP, or a context, by others. */
struct owner {
	bool used;		/* else without an owner */
	struct queue *queue;	/* NULL: the context */
	unsigned int context;
	unsigned int life;
};

struct card {
	struct card_config config;
	uint64_t power_on;	/* by the host's clock */
	struct counters counters;
	struct inject inject;
	struct bus bus;
	struct mmu mmu;
	void *mem;
	int mem_fd;

	pthread_mutex_t lock;	/* Protects: all below, queues, engines */
	bool exiting;
	struct clock clock;

	/* Reset: begun by a register or card_reset(), done by the front end. */
	atomic_bool resetting;	/* written with the lock, read without */
	bool flr;		/* a reset that clears counters is among them */
	bool stuck;		/* it does not end */
	pthread_cond_t engine_idle;
	uint32_t generation;

	/* Registers. */
	bool enable;
	bool fatal;
	uint32_t event;
	uint32_t event_enable;
	uint32_t event_vector;
	uint32_t tlb_invalidate;
	struct latch time_latch;
	struct latch counter_latch[VTA_COUNTERS];
	struct context contexts[VTA_CONTEXTS_MAX];

	struct queue queues[VTA_QUEUES_MAX];

	pthread_t front_thread;
	pthread_cond_t front_wake;
	bool front_awake;	/* as an engine's */
	struct queue_set kicked;	/* the front end is to check */
	unsigned int front_last;
	struct queue *front_queue;	/* whose descriptor it executes */

	struct engine engines[VTA_ENGINES];
	struct limiter limiter;
	uint8_t weights[VTA_CONTEXTS_MAX];	/* of groups */
	struct core *core;	/* the compute engine's alone */
	uint64_t core_clocks;	/* of a model, counted so far */
	struct owner owner;	/* of what is in the core; the compute engine's to change */
};

/* With the lock held: */

/* TIME: neither 0 nor with a low half of all ones. */
uint64_t card_time(const struct card *card);
void card_release_clock(struct card *card);
void card_begin_reset(struct card *card, bool flr);
/* The front end's part of it: waits for the engines to release the card. */
void card_finish_reset(struct card *card);
/* Descriptors are begun: enabled, not in reset, not fatal. */
bool card_serving(const struct card *card);
/* STATUS as it reads. */
uint32_t card_status(const struct card *card);
/* Sets or clears bits of EVENT; sends what is due. */
void card_set_event(struct card *card, uint32_t event);
/* Writes EVENT_ENABLE; sends what is due, again. */
void card_enable_events(struct card *card, uint32_t enable);
void card_set_weight(struct card *card, unsigned int group, unsigned int weight);
/* The card gives up: it could not write a status page. @event goes with it. */
void card_set_fatal(struct card *card, uint32_t event);
/* All waiting threads check again. */
void card_wake(struct card *card);
/* Serves queues or no longer does. */
void card_set_enable(struct card *card, bool enable);

static inline struct mmu_port card_port(struct card *card, const struct queue *q)
{
	return (struct mmu_port) {
		.mmu = &card->mmu,
		.give_up = &q->give_up,
		.context = q->context,
	};
}

/* ---- front.c ---- */

void *front_main(void *card);
/* With the lock held: have the front end check a queue, or everything else. */
void front_wake(struct card *card);
void front_kick(struct card *card, struct queue *q);

/* ---- engine.c, copy.c ---- */

void *engine_main(void *engine);
/* With the lock held: */
void engine_wake(struct engine *engine);
/* The queue's descriptor is ready for its engine, or no longer. */
void engine_offer(struct card *card, const struct queue *q);
void engine_withdraw(struct card *card, const struct queue *q);
void engine_reset(struct engine *engine);

/* The core's accesses to memory; their priv is a struct mmu_port. */
extern const struct core_mem_ops engine_core_ops;

struct outcome copy_execute(struct card *card, const struct queue *q);
struct outcome fill_execute(struct card *card, const struct queue *q);

/* ---- state.c: for the compute engine, but state_drop() and state_must_be_saved() ---- */

/*
 * Makes the core hold what a RUN is to find. May fail: the RUN ends with *outcome. Takes
 * the lock, as the only one here; all others are called with it.
 */
void state_enter(struct card *card, struct queue *q, struct outcome *outcome);
/* A queue that is being stopped waits for its state to be saved: do that. */
bool state_wants_engine(const struct card *card);
void state_put_away(struct card *card);
/* The queue has no kept state any more. */
void state_drop(struct queue *q);
/* It has, and only the core has it. */
bool state_must_be_saved(const struct queue *q);

#endif

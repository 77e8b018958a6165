/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on demand: a card that breaks the contract (docs/hardware.md) in a way
 * that it was set to, for tests of the driver.
 *
 * A kind of fault is switched on through the control socket and goes off after
 * it has happened so often, or when it is cleared. Each place that can go wrong
 * asks inject_on() or inject_take(): one relaxed load while nothing is on.
 */
#ifndef VTA_EMU_INJECT_H
#define VTA_EMU_INJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum inject_kind {
	/* Queues and engines. */
	INJECT_FAULT,
	INJECT_HANG_COMPUTE,
	INJECT_HANG_COPY,
	INJECT_HANG_FRONT,
	INJECT_IDLE_ENGINES,
	INJECT_HANG_ALL,
	INJECT_SLOW_ENGINE,
	INJECT_START_NEVER,
	INJECT_STOP_NEVER,
	INJECT_LIMIT_NEVER,
	INJECT_DOORBELL_LOST,
	INJECT_ARM_LOST,

	/* Records in memory. */
	INJECT_STATUS_LATE,
	INJECT_STATUS_LOST,
	INJECT_STATUS_TORN,
	INJECT_SEQ_BACK,
	INJECT_SEQ_JUMP,
	INJECT_STATE_WILD,
	INJECT_RECORD_WILD,
	INJECT_HALT_LOST,

	/* Interrupts. */
	INJECT_IRQ_LOST,
	INJECT_IRQ_TWICE,
	INJECT_IRQ_SPURIOUS,
	INJECT_IRQ_STORM,
	INJECT_EVENT_STUCK,

	/* The bus. */
	INJECT_DMA_ABORT,
	INJECT_TLB_BUSY,
	INJECT_TLB_STALE,
	INJECT_ONES,
	INJECT_ZEROS,
	INJECT_GARBAGE,
	INJECT_SLOW,
	INJECT_GONE,
	INJECT_CONFIG_GONE,

	/* The card as a whole. */
	INJECT_HEARTBEAT,
	INJECT_FATAL,
	INJECT_RESET_IGNORED,
	INJECT_RESET_STUCK,
	INJECT_RESET_SLOW,
	INJECT_FLR_STUCK,
	INJECT_GENERATION_SAME,

	/* Registers that read as VALUE: one kind each, see inject_register(). */
	INJECT_REG_MAGIC,
	INJECT_REG_CONTRACT,
	INJECT_REG_FEATURES,
	INJECT_REG_QUEUES,
	INJECT_REG_CONTEXTS,
	INJECT_REG_MEM_SIZE,
	INJECT_REG_DOORBELL_SHIFT,
	INJECT_REG_RING_ORDER_MAX,
	INJECT_REG_CLOCK_KHZ,
	INJECT_REG_SAVE_SIZE,
	INJECT_REG_CONFIG0,
	INJECT_REG_CONFIG1,
	INJECT_REG_CONFIG2,
	INJECT_REG_STATUS,
	INJECT_REG_EVENT,
	INJECT_REG_GENERATION,
	INJECT_REG_SERIAL,
	INJECT_REG_TIME_HI,
	INJECT_REG_TLB_INVALIDATE,

	INJECT_KINDS,
};

_Static_assert(INJECT_KINDS <= 64, "one word has a bit for each");

#define INJECT_ANY	(-1)		/* any queue, any time */
#define INJECT_REGS	(~0ull << INJECT_REG_MAGIC)

struct injection {
	_Atomic uint64_t value;
	_Atomic int queue;		/* that it is for, or INJECT_ANY */
	_Atomic int64_t skip;		/* times that it does not happen yet */
	_Atomic int64_t left;		/* times that it may happen then */
	_Atomic uint64_t count;		/* times that it has happened */
};

struct inject {
	_Atomic uint64_t on;		/* a bit for each kind */
	struct injection kinds[INJECT_KINDS];
	pthread_t storm;
	bool storming;			/* the control socket's thread alone */
};

static inline bool inject_on(const struct inject *inject, enum inject_kind kind)
{
	return atomic_load_explicit(&inject->on, memory_order_relaxed) >> kind & 1;
}

/* The kind is on for this queue. */
static inline bool inject_on_queue(const struct inject *inject, enum inject_kind kind,
				   unsigned int queue)
{
	int only;

	if (!inject_on(inject, kind))
		return false;
	only = atomic_load_explicit(&inject->kinds[kind].queue, memory_order_relaxed);
	return only == INJECT_ANY || only == (int)queue;
}

/* It is the kind's turn for this queue: it is on, and now it has happened. */
bool inject_happens(struct inject *inject, enum inject_kind kind, int queue);

static inline bool inject_take_queue(struct inject *inject, enum inject_kind kind,
				     unsigned int queue)
{
	return inject_on(inject, kind) && inject_happens(inject, kind, (int)queue);
}

static inline bool inject_take(struct inject *inject, enum inject_kind kind)
{
	return inject_on(inject, kind) && inject_happens(inject, kind, INJECT_ANY);
}

static inline uint64_t inject_value(const struct inject *inject, enum inject_kind kind)
{
	return atomic_load_explicit(&inject->kinds[kind].value, memory_order_relaxed);
}

/* Sleeps for the kind's value, in ms or us. */
void inject_sleep_ms(const struct inject *inject, enum inject_kind kind);
void inject_sleep_us(const struct inject *inject, enum inject_kind kind);

/* Replaces the value that a register reads as. */
void inject_garbage(struct inject *inject, uint32_t *val);

/* The register at @off reads as *val instead. */
bool inject_register(struct inject *inject, uint64_t off, uint32_t *val);

/* A reset has ended what can be ended so. */
void inject_reset(struct inject *inject);

/* ---- For the control socket ---- */

struct card;

struct inject_order {
	enum inject_kind kind;
	uint64_t value;
	int queue;
	int64_t skip;
	int64_t times;
};

/*
 * "KIND[=VALUE][@QUEUE][+SKIP]", which is modified, and how often (NULL: until it
 * is cleared). Returns NULL, or what is wrong with it.
 */
const char *inject_parse(struct inject_order *order, char *spec, const char *times);
void inject_start(struct card *card, const struct inject_order *order);
void inject_clear(struct card *card);

const char *inject_name(enum inject_kind kind);
const char *inject_help(enum inject_kind kind);

/* ---- What each card does for it ---- */

/* This card can make such faults. */
bool inject_can(enum inject_kind kind);
/* Around changes; threads that wait for one are woken at the end. */
void inject_lock(struct card *card);
void inject_unlock(struct card *card);
/* With the lock: an interrupt for nothing; the card gives up; nothing is on any more. */
void inject_irq(struct card *card, uint32_t vector);
void inject_fatal(struct card *card);
void inject_cleared(struct card *card);

#endif

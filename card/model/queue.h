/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues (docs/hardware.md, sections 6 to 9): their registers, state and
 * records, and the way of one descriptor through them.
 *
 * A queue is protected by the card's lock. One thread at a time, the front end
 * or an engine, *owns* it: only the owner reads its ring, executes its
 * descriptor and writes its records, and it keeps the queue while the lock is
 * dropped for that. All other threads only note their request (submitted, stopping, a fault due,
 * give_up) and kick the front end.
 */
#ifndef VTA_EMU_QUEUE_H
#define VTA_EMU_QUEUE_H

#include <stdatomic.h>

#include "card.h"
#include "vta_desc.h"
#include "latch.h"
#include "vta.h"

struct card;

/* Totals in the status record after time and cycles, in this order. */
struct queue_usage {
	uint64_t runs;
	uint64_t copies;
	uint64_t run_time;
	uint64_t copy_time;
};

/* The place of a queue's kept state. */
enum queue_kept {
	QUEUE_KEPT_NONE,	/* it has none */
	QUEUE_KEPT_CORE,	/* in the core, which has it for owner */
	QUEUE_KEPT_SAVED,	/* in its save area */
};

struct queue {
	unsigned int index;

	/* Registers as written. */
	bool enable;
	unsigned int priority;
	uint32_t context;
	uint32_t ring_order;
	uint32_t ring_addr;
	uint32_t vector;
	uint64_t status;
	uint64_t cycles;
	uint64_t time_limit;
	uint32_t group;
	uint64_t start;
	uint32_t save;
	struct latch seq_latch;

	enum vta_queue_state state;
	bool unwritten;		/* started, but not yet in the status page */
	bool stopping;		/* ENABLE was cleared; to be DISABLED */
	bool owned;
	enum card_phase phase;
	uint64_t seq;
	uint64_t submitted;	/* as many are waiting as it is ahead of seq */
	uint64_t cycles_done;
	struct queue_usage usage;
	bool armed;
	uint32_t arm;
	bool check;		/* a WAIT is to check its word again */
	bool held;		/* a WAIT has read its word, and was not satisfied */
	enum queue_kept kept;
	bool saving;		/* the compute engine writes to the save area */

	struct vta_desc desc;	/* in hand, unless phase is IDLE */
	enum vta_unit unit;
	uint64_t number;	/* of it, once it has begun */
	uint64_t begin;		/* card time when its execution began, */
	uint64_t took;		/* and ns of it that it took */
	bool dropped;		/* it is not to be completed, nor to fault */
	struct vta_fault fault;	/* due, or written if HALTED; reason 0: none */

	/* The descriptor in hand is to be dropped. Set with the lock, read without. */
	atomic_bool give_up;
};

/* The result of a descriptor. */
struct outcome {
	int ret;		/* 0, enum vta_fault_reason or MMU_GIVEN_UP */
	enum vta_access access;
	uint32_t addr;
	uint32_t insn_index;
	uint32_t insn[4];
	uint64_t cycles;
	uint64_t state_cycles;	/* before these, to save and restore the core's state */
};

#define OUTCOME_OK	((struct outcome) { .insn_index = VTA_FAULT_NO_INSN })

/* All with the card's lock held. */

/* Accepts doorbells and ARM: ACTIVE, and nothing on its way to change that. */
bool queue_live(const struct queue *q);
bool queue_busy(const struct queue *q);
/* The registers that describe the queue can be written. */
bool queue_settable(const struct queue *q);
/* The fields of STATE. */
enum vta_queue_state queue_state(const struct queue *q);
enum vta_hand queue_hand(const struct queue *q);

/* Register writes. False: to be counted as a bad access. */
bool queue_ctrl(struct card *card, struct queue *q, uint32_t val);
bool queue_doorbell(struct card *card, struct queue *q, uint32_t val);
void queue_submit(struct card *card, struct queue *q, uint32_t val);
void queue_arm(struct card *card, struct queue *q, uint32_t val);

/* Halts it, even with a descriptor in hand. */
void queue_give_up(struct card *card, struct queue *q, enum vta_fault_reason reason,
		   const struct outcome *outcome);

/* To reset values. The queue must have no owner. */
void queue_reset(struct queue *q);

/* The front end has something to do for the queue now. */
bool queue_wants_front(struct card *card, const struct queue *q);

/*
 * Ownership. queue_release hands a descriptor that is READY to its engine, and
 * kicks the front end if there is something to do for it.
 */
void queue_own(struct queue *q);
void queue_release(struct card *card, struct queue *q);

/*
 * For the owner. They drop the lock to access memory, and wait for the bus.
 *
 * queue_settle writes the records that are due: start, fault, stop.
 * queue_fetch reads and checks the next descriptor if there is one: then the
 * phase is READY, or a fault is due.
 * queue_finish ends the descriptor in hand: completes it, or makes the fault
 * due, or drops it when it was given up.
 *
 * queue_begin notes that execution begins now. queue_time_out has the descriptor
 * in hand, which was given up, fault TIME, unless something else gave it up, too.
 */
void queue_begin(struct card *card, struct queue *q);
void queue_time_out(struct card *card, struct queue *q, struct outcome *outcome);
void queue_settle(struct card *card, struct queue *q);
void queue_fetch(struct card *card, struct queue *q);
void queue_finish(struct card *card, struct queue *q, const struct outcome *outcome);

#endif

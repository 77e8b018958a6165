// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues that are stopped and continue where they were (docs/hardware.md, section 6,
 * "Submission", "Stop"), and the card's report of the descriptor in hand: SUBMITTED,
 * STATE.HAND, the engines' registers (section 4), EVENT_ENABLE.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

#define DATA	0x00100000u
#define CODE	0x00110000u
#define FIELD(mask, val)	(((val) & (mask)) >> __builtin_ctz(mask))

struct bench {
	struct rig *r;
	struct rig_queue q;
	volatile uint64_t *words;
	void *code;
};

static void bench(struct bench *b, struct rig *r)
{
	b->r = r;
	rig_context(r, 0);
	b->words = rig_map_pages(r, 0, DATA, 1);
	b->code = rig_map_pages(r, 0, CODE, 1);
	rig_queue(r, &b->q, 0, 0, 4);
}

static uint32_t submitted(struct rig_queue *q)
{
	return rig_get(q->r, REG_QUEUE_SUBMITTED(q->n));
}

static enum vta_hand hand(struct rig_queue *q)
{
	return FIELD(REG_QUEUE_STATE_HAND, rig_get(q->r, REG_QUEUE_STATE(q->n)));
}

static void await_hand(struct rig_queue *q, enum vta_hand want)
{
	rig_await(q->r, REG_QUEUE_STATE(q->n), REG_QUEUE_STATE_HAND, want << 8);
}

/* As it is, from where it was. */
static void go_on(struct rig_queue *q)
{
	rig_set64(q->r, REG_QUEUE_START_LO(q->n), rig_get64(q->r, REG_QUEUE_SEQ_LO(q->n)));
	rig_set(q->r, REG_QUEUE_CTRL(q->n), REG_QUEUE_CTRL_ENABLE);
}

static struct vta_desc endless_fill(void)
{
	return vtadev_desc_fill2d(DATA, 0, 0, 1, UINT32_MAX);
}

static struct vta_desc endless_run(struct bench *b)
{
	struct prog p = prog_at(b->code);

	prog_busy(&p);
	return vtadev_desc_run(CODE, p.count, 0);
}

/* ---- SUBMITTED ---- */

TEST_F(RIG, submitted_is_the_doorbell)
{
	struct bench b;

	bench(&b, r);
	rig_queue_start(&b.q, 0xfffffffe);
	assert_int_equal(submitted(&b.q), 0xfffffffe);
	rig_put(&b.q, vtadev_desc_nop());
	rig_put(&b.q, vtadev_desc_nop());
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	rig_wait_seq(&b.q, 0x100000001);
	assert_int_equal(submitted(&b.q), 1);
	/* The register is one more doorbell. */
	rig_put(&b.q, vtadev_desc_nop());
	rig_set(b.r, REG_QUEUE_SUBMITTED(0), 2);
	rig_wait_seq(&b.q, 0x100000002);
	rig_queue_stop(&b.q, false);
	assert_int_equal(submitted(&b.q), 2);
	assert_int_equal(rig_get64(b.r, REG_QUEUE_SEQ_LO(0)), 0x100000002);
}

TEST_F(RIG, stopped_queue_goes_on)
{
	struct bench b;

	bench(&b, r);
	rig_queue_start(&b.q, 100);
	rig_put(&b.q, vtadev_desc_signal(DATA, 1));
	rig_put(&b.q, vtadev_desc_wait(DATA + 8, 1));
	for (uint64_t i = 2; i < 12; i++)
		rig_put(&b.q, vtadev_desc_signal(DATA, i));
	rig_submit(&b.q);
	rig_wait_seq(&b.q, 101);
	await_hand(&b.q, VTA_HAND_HELD);
	rig_queue_stop(&b.q, false);
	assert_int_equal(hand(&b.q), VTA_HAND_NONE);
	assert_int_equal(rig_seq(&b.q), 101);
	assert_int_equal(submitted(&b.q), 112);
	assert_int_equal(b.words[0], 1);

	/* It waits as before, and nothing behind the WAIT is executed. */
	go_on(&b.q);
	await_hand(&b.q, VTA_HAND_HELD);
	assert_int_equal(rig_seq(&b.q), 101);
	b.words[1] = 1;
	rig_submit(&b.q);
	rig_wait_seq(&b.q, 112);
	assert_int_equal(b.words[0], 11);
	assert_int_equal(submitted(&b.q), 112);
}

/* However often it checks: a queue that stays at SHORT would be a card that hangs. */
TEST_F(RIG, wait_that_checks_again_is_held)
{
	struct bench b;

	bench(&b, r);
	rig_queue_start(&b.q, 0);
	rig_put(&b.q, vtadev_desc_wait(DATA, 1));
	rig_submit(&b.q);
	await_hand(&b.q, VTA_HAND_HELD);
	for (unsigned int i = 0; i < 10000; i++) {
		rig_submit(&b.q);
		assert_int_equal(hand(&b.q), VTA_HAND_HELD);
	}
	b.words[0] = 1;
	rig_submit(&b.q);
	rig_wait_seq(&b.q, 1);
	rig_settle(&b.q);
	assert_int_equal(hand(&b.q), VTA_HAND_NONE);
}

/* A descriptor that was read and waits for its engine is read again. */
TEST_F(RIG, waiting_descriptor_is_read_again)
{
	struct rig_queue holder;
	struct bench b;

	bench(&b, r);
	rig_queue(b.r, &holder, 1, 0, 4);
	rig_queue_start(&holder, 0);
	rig_queue_start(&b.q, 0);
	rig_put(&holder, endless_fill());
	rig_submit(&holder);
	await_hand(&holder, VTA_HAND_IN_COPY);
	rig_put(&b.q, vtadev_desc_fill(DATA + 8, 0x11111111, 8));
	rig_submit(&b.q);
	await_hand(&b.q, VTA_HAND_FOR_COPY);
	rig_queue_stop(&b.q, false);
	b.q.ring[0] = vtadev_desc_fill(DATA + 8, 0x22222222, 8);
	go_on(&b.q);
	rig_queue_stop(&holder, true);
	rig_wait_seq(&b.q, 1);
	assert_true(b.words[1] == 0x2222222222222222);
}

/* Stopped again and again while it works: each descriptor is executed once. */
TEST_F(RIG, nothing_is_lost_or_done_twice)
{
	enum { TOTAL = 400 };
	struct rig_queue pong;
	struct bench b;
	uint64_t done;

	bench(&b, r);
	rig_queue(b.r, &pong, 1, 0, 4);
	rig_queue_start(&b.q, 0);
	rig_queue_start(&pong, 0);
	while (b.q.submitted < TOTAL) {
		while (b.q.submitted < TOTAL && b.q.submitted - rig_seq(&b.q) < 16)
			rig_put(&b.q, vtadev_desc_signal(DATA, b.q.submitted + 1));
		/* It may be stopped, stopping or active by now. */
		rig_set(b.r, REG_QUEUE_CTRL(0), 0);
		rig_submit(&b.q);
		rig_await(b.r, REG_QUEUE_STATE(0), REG_QUEUE_STATE_STATE | REG_QUEUE_STATE_BUSY, 0);
		done = rig_seq(&b.q);
		assert_int_equal(b.words[0], done);
		assert_int_equal(submitted(&b.q), b.q.submitted);
		go_on(&b.q);
		if (rand() % 2 && done < b.q.submitted)
			rig_wait_seq(&b.q, done + 1);
	}
	rig_wait_seq(&b.q, TOTAL);
	rig_settle(&b.q);
	assert_int_equal(b.words[0], TOTAL);
	assert_int_equal(rig_counter(b.r, VTA_COUNTER_DESCRIPTORS), TOTAL);
}

TEST_F(RIG, doorbell_of_a_stopped_queue_counts)
{
	struct bench b;

	bench(&b, r);
	rig_queue_start(&b.q, 0);
	rig_queue_stop(&b.q, false);
	rig_put(&b.q, vtadev_desc_nop());
	rig_put(&b.q, vtadev_desc_nop());
	rig_submit(&b.q);
	assert_int_equal(rig_get(b.r, REG_QUEUE_STATE(0)), VTA_QUEUE_DISABLED);
	assert_int_equal(rig_counter(b.r, VTA_COUNTER_BAD_ACCESSES), 0);
	go_on(&b.q);
	rig_wait_seq(&b.q, 2);
}

/* A doorbell beyond the ring's room makes the queue fault when it starts. */
TEST_F(RIG, overflow_while_stopped_faults_at_the_start)
{
	struct vta_fault fault;
	struct bench b;

	bench(&b, r);
	rig_queue_start(&b.q, 7);
	rig_queue_stop(&b.q, false);
	rig_doorbell(b.r, 0, 7 + 17);
	go_on(&b.q);
	fault = rig_halted(&b.q);
	assert_int_equal(fault.reason, VTA_FAULT_DOORBELL);
	assert_int_equal(fault.seq, 8);
	/* HALTED: not heard any more. */
	rig_doorbell(b.r, 0, 8);
	assert_int_equal(rig_counter(b.r, VTA_COUNTER_BAD_ACCESSES), 1);
	rig_queue_stop(&b.q, false);
	rig_queue_start(&b.q, 7);
	/* The ring full to the last. */
	for (int i = 0; i < 16; i++)
		rig_put(&b.q, vtadev_desc_nop());
	rig_queue_stop(&b.q, false);
	rig_submit(&b.q);
	go_on(&b.q);
	rig_wait_seq(&b.q, 23);
}

/* START alone has all waiting that were submitted behind it. */
TEST_F(RIG, start_takes_what_is_submitted)
{
	struct bench b;

	bench(&b, r);
	for (int i = 0; i < 4; i++)
		b.q.ring[i] = vtadev_desc_signal(DATA, (uint64_t)i + 1);
	rig_set64(b.r, REG_QUEUE_START_LO(0), 2);
	rig_set(b.r, REG_QUEUE_SUBMITTED(0), 4);
	rig_set(b.r, REG_QUEUE_CTRL(0), REG_QUEUE_CTRL_ENABLE);
	rig_wait_seq(&b.q, 4);
	rig_settle(&b.q);
	assert_int_equal(b.words[0], 4);
	assert_int_equal(rig_counter(b.r, VTA_COUNTER_DESCRIPTORS), 2);
}

/* Taken back by a doorbell when it was in hand: it counts as submitted after all. */
TEST_F(RIG, taken_back_too_late)
{
	struct bench b;

	bench(&b, r);
	rig_queue_start(&b.q, 0);
	rig_put(&b.q, vtadev_desc_wait(DATA, 1));
	rig_put(&b.q, vtadev_desc_signal(DATA + 8, 1));
	rig_submit(&b.q);
	await_hand(&b.q, VTA_HAND_HELD);
	b.words[0] = 1;
	rig_doorbell(b.r, 0, 0);
	rig_wait_seq(&b.q, 1);
	rig_settle(&b.q);
	assert_int_equal(submitted(&b.q), 1);
	rig_queue_stop(&b.q, false);
	go_on(&b.q);
	rig_await(b.r, REG_QUEUE_STATE(0), 0x1f, VTA_QUEUE_ACTIVE);
	assert_int_equal(rig_seq(&b.q), 1);
	assert_int_equal(b.words[1], 0);
}

TEST_F(RIG, aborted_queue_continues_with_the_same)
{
	struct bench b;

	bench(&b, r);
	rig_queue_start(&b.q, 0);
	rig_put(&b.q, endless_fill());
	rig_put(&b.q, vtadev_desc_signal(DATA + 8, 5));
	rig_submit(&b.q);
	await_hand(&b.q, VTA_HAND_IN_COPY);
	rig_queue_stop(&b.q, true);
	assert_int_equal(submitted(&b.q), 2);
	b.q.ring[0] = vtadev_desc_nop();
	go_on(&b.q);
	rig_wait_seq(&b.q, 2);
	assert_int_equal(b.words[1], 5);
}

/* ---- Engines ---- */

struct look {
	uint32_t moves, queue;
	uint64_t seq, since;
};

/* As software reads it; false if the engine moved meanwhile. */
static bool sample_engine(struct rig *r, unsigned int e, struct look *l)
{
	l->moves = rig_get(r, REG_ENGINE_MOVES(e));
	l->queue = rig_get(r, REG_ENGINE_QUEUE(e));
	l->seq = rig_get64(r, REG_ENGINE_SEQ_LO(e));
	l->since = rig_get64(r, REG_ENGINE_SINCE_LO(e));
	return rig_get(r, REG_ENGINE_MOVES(e)) == l->moves;
}

TEST_F(RIG, engines_report_their_descriptors)
{
	struct rig_queue copy;
	uint64_t before, after;
	struct bench b;
	struct look l;

	bench(&b, r);
	rig_queue(b.r, &copy, 5, 0, 4);
	rig_queue_start(&copy, 0x1fffffffe);
	rig_queue_start(&b.q, 41);
	rig_do(&copy, vtadev_desc_fill(DATA, 0, 8));
	/* It has ended one, and reports which it was. */
	rig_await(b.r, REG_ENGINE_MOVES(VTA_COPY_ENGINE), UINT32_MAX, 2);
	assert_true(sample_engine(b.r, VTA_COPY_ENGINE, &l));
	assert_int_equal(l.queue, 5);
	assert_true(l.seq == 0x1ffffffff);
	assert_int_equal(rig_get(b.r, REG_ENGINE_MOVES(VTA_COMPUTE_ENGINE)), 0);

	before = rig_get64(b.r, REG_TIME_LO);
	rig_put(&copy, endless_fill());
	rig_put(&b.q, endless_run(&b));
	rig_submit(&copy);
	rig_submit(&b.q);
	await_hand(&copy, VTA_HAND_IN_COPY);
	await_hand(&b.q, VTA_HAND_IN_COMPUTE);
	after = rig_get64(b.r, REG_TIME_LO);
	assert_true(sample_engine(b.r, VTA_COPY_ENGINE, &l));
	assert_int_equal(l.moves, 3);
	assert_int_equal(l.queue, 5);
	assert_true(l.seq == 0x200000000);
	assert_true(before < l.since && l.since < after);
	assert_true(sample_engine(b.r, VTA_COMPUTE_ENGINE, &l));
	assert_int_equal(l.moves, 1);
	assert_int_equal(l.queue, 0);
	assert_int_equal(l.seq, 42);
	assert_true(before < l.since && l.since < after);

	/* An abort is an end like any other; a fault, too. */
	rig_queue_stop(&copy, true);
	rig_await(b.r, REG_ENGINE_MOVES(VTA_COPY_ENGINE), UINT32_MAX, 4);
	assert_true(sample_engine(b.r, VTA_COPY_ENGINE, &l));
	assert_true(l.since > after);
	rig_queue_start(&copy, 0);
	rig_fails(&copy, vtadev_desc_fill(0x7000000, 0, 4), VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST,
		  0x7000000);
	rig_await(b.r, REG_ENGINE_MOVES(VTA_COPY_ENGINE), UINT32_MAX, 6);
	/* NOP, SIGNAL and WAIT take no engine; a reset begins anew. */
	assert_int_equal(rig_get(b.r, REG_ENGINE_MOVES(VTA_COMPUTE_ENGINE)), 1);
	rig_set(b.r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(b.r);
	assert_true(sample_engine(b.r, VTA_COPY_ENGINE, &l));
	assert_int_equal(l.moves | l.queue | l.seq | l.since, 0);
}

/* A reader never sees a mixture, even while the card works. */
TEST_F(RIG, reading_is_consistent)
{
	struct rig_queue other;
	unsigned int whole = 0;
	uint32_t moves = 0;
	struct bench b;

	bench(&b, r);
	rig_queue(b.r, &other, 1, 0, 4);
	rig_queue_start(&b.q, 1000000);
	rig_queue_start(&other, 0);
	for (unsigned int i = 0; i < 3000 && whole < 200; i++) {
		struct rig_queue *q = i % 2 ? &b.q : &other;
		struct look l;

		if (q->submitted - rig_seq(q) < 16) {
			rig_put(q, vtadev_desc_fill(DATA, 0, 4000));
			rig_submit(q);
		}
		if (!sample_engine(b.r, VTA_COPY_ENGINE, &l) || !l.moves)
			continue;
		assert_true(l.moves >= moves);
		assert_in_range(l.queue, 0, 1);
		assert_true(l.queue == (l.seq < 1000000));
		moves = l.moves;
		whole++;
	}
	assert_true(whole);
	rig_wait_seq(&b.q, b.q.submitted);
	rig_wait_seq(&other, other.submitted);
}

TEST_F(RIG, hands)
{
	struct rig_queue q[5];
	struct bench b;

	bench(&b, r);
	for (unsigned int i = 1; i < 5; i++) {
		rig_queue(b.r, &q[i], i, 0, 4);
		rig_queue_start(&q[i], 0);
		assert_int_equal(hand(&q[i]), VTA_HAND_NONE);
	}
	rig_put(&q[1], endless_run(&b));
	rig_submit(&q[1]);
	await_hand(&q[1], VTA_HAND_IN_COMPUTE);
	rig_put(&q[2], vtadev_desc_run(CODE, 1, 0));
	rig_submit(&q[2]);
	await_hand(&q[2], VTA_HAND_FOR_COMPUTE);
	rig_put(&q[3], vtadev_desc_wait(DATA, 1));
	rig_submit(&q[3]);
	await_hand(&q[3], VTA_HAND_HELD);
	/* Not begun while the card may not, and so not in hand. */
	rig_set(b.r, REG_CONTROL, 0);
	rig_put(&q[4], vtadev_desc_nop());
	rig_submit(&q[4]);
	assert_int_equal(rig_get(b.r, REG_QUEUE_STATE(4)), VTA_QUEUE_ACTIVE | REG_QUEUE_STATE_BUSY);
	rig_set(b.r, REG_CONTROL, REG_CONTROL_ENABLE);
	rig_wait_seq(&q[4], 1);
	rig_queue_stop(&q[1], true);
	rig_queue_stop(&q[2], true);
}

/* ---- Events ---- */

TEST_F(RIG, enabling_sends_again)
{
	struct bench b;

	bench(&b, r);
	rig_set(b.r, REG_EVENT_VECTOR, 0);
	rig_set(b.r, REG_EVENT_ENABLE, REG_EVENT_ALL);
	rig_queue_start(&b.q, 0);
	rig_put(&b.q, vtadev_desc_fill(0x7000000, 0, 4));
	rig_submit(&b.q);
	rig_halted(&b.q);
	assert_int_equal(vfc_irq_wait(&b.r->c, 0, RIG_SOON), 1);
	/* As if that one had been lost. */
	rig_set(b.r, REG_EVENT_ENABLE, REG_EVENT_ALL);
	assert_int_equal(vfc_irq_wait(&b.r->c, 0, RIG_SOON), 1);
	rig_set(b.r, REG_EVENT_ENABLE, REG_EVENT_FATAL);
	assert_int_equal(vfc_irq_wait(&b.r->c, 0, RIG_NEVER), 0);
	rig_set(b.r, REG_EVENT_ENABLE, REG_EVENT_FAULT);
	assert_int_equal(vfc_irq_wait(&b.r->c, 0, RIG_SOON), 1);
	rig_set(b.r, REG_EVENT, REG_EVENT_FAULT);
	rig_set(b.r, REG_EVENT_ENABLE, REG_EVENT_ALL);
	assert_int_equal(vfc_irq_wait(&b.r->c, 0, RIG_NEVER), 0);
}

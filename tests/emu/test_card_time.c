// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modelled time (--time model): what the card does by itself begins and ends at
 * exact times, whatever the machine is doing meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

#define DATA	0x00100000u	/* guest memory, 4 pages: words, stamps, a stream */
#define STAMPS	(DATA + 0x1000u)
#define STREAM	(DATA + 0x2000u)
#define CARD	0x00200000u	/* card memory, one block */

#define QUEUES	3u
#define GATE	DATA		/* what the queues wait for before they begin */
#define CYCLE	1000u		/* ns */

struct bench {
	struct rig *r;
	uint8_t *data;
	struct rig_queue q[QUEUES];
	unsigned int stamps;
};

static int setup(void **state, const char *khz, const char *time)
{
	const char *const args[] = {
		"--queues", "8", "--mem", "8M", "--clock-khz", khz, "--time", time, NULL
	};
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->r = malloc(sizeof(*b->r));
	rig_start(b->r, args);
	rig_context(b->r, 0);
	rig_map_block(b->r, 0, CARD, 0, RIG_RW | RIG_CARD);
	b->data = rig_map_pages(b->r, 0, DATA, 4);
	for (unsigned int i = 0; i < QUEUES; i++) {
		rig_queue(b->r, &b->q[i], i, 0, 6);
		rig_queue_start(&b->q[i], 0);
	}
	*state = b;
	return 0;
}

static int setup_model(void **state)
{
	return setup(state, "1000", "model");
}

/* A cycle takes a millisecond. */
static int setup_slow_clock(void **state)
{
	return setup(state, "1", "model");
}

static int setup_scaled(void **state)
{
	return setup(state, "1000", "model:1000000");
}

static int teardown(void **state)
{
	struct bench *b = *state;

	rig_stop(b->r);
	free(b->r);
	free(b);
	return 0;
}

#define SCALED struct bench *b, setup_scaled, teardown
#define SLOW_CLOCK struct bench *b, setup_slow_clock, teardown
#define MODEL struct bench *b, setup_model, teardown

/* Puts a descriptor that is stamped; its stamp can be read when it is done. */
static const struct vta_stamp *submit_stamped(struct bench *b, unsigned int q, struct vta_desc desc)
{
	unsigned int n = b->stamps++;
	const uint32_t at = n * (uint32_t)sizeof(struct vta_stamp);

	assert_true(at < VTA_PAGE_SIZE);
	rig_put(&b->q[q], rig_stamped(desc, STAMPS + at));
	return (const void *)(b->data + (STAMPS - DATA) + at);
}

static void finish(struct bench *b)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		rig_wait_seq(&b->q[i], b->q[i].submitted);
}

/* All at once: queues that begin by waiting for the gate continue together. */
static void go(struct bench *b)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		if (b->q[i].submitted)
			rig_submit(&b->q[i]);
	*(uint64_t *)b->data = 1;
	/* One doorbell opens the gate for its queue, which signals the others. */
	rig_submit(&b->q[0]);
	finish(b);
}

/* Queue 0 gets the word from the host, the others from queue 0. */
static void gate(struct bench *b)
{
	rig_put(&b->q[0], vtadev_desc_wait(GATE, 1));
	rig_put(&b->q[0], vtadev_desc_signal(GATE + 8, 1));
	for (unsigned int i = 1; i < QUEUES; i++)
		rig_put(&b->q[i], vtadev_desc_wait(GATE + 8, 1));
}

/* A stream of one instruction that takes the 9 cycles of an ALU step. */
static struct vta_desc short_run(struct bench *b)
{
	struct prog p = prog_at(b->data + (STREAM - DATA));

	prog_add_imm(&p, 1, 0);
	return vtadev_desc_run(STREAM, p.count, 0);
}

#define RUN_CYCLES	10u	/* it begins at 1 */
#define COPY_CYCLES(n)	(17u + (n) / 16u)

static void assert_span(const struct vta_stamp *s, uint64_t start, uint64_t cycles)
{
	assert_int_equal(s->start, start);
	assert_int_equal(s->cycles, cycles);
	assert_int_equal(s->end, start + cycles * CYCLE);
}

/* ---- What the card does by itself ---- */

TEST_F(MODEL, takes_its_cycles)
{
	const struct vta_stamp *s[6];
	uint64_t at;

	gate(b);
	s[0] = submit_stamped(b, 0, vtadev_desc_copy(CARD, CARD + 0x10000, 1600));
	s[1] = submit_stamped(b, 0, vtadev_desc_fill(CARD, 0, 16));
	s[2] = submit_stamped(b, 0, vtadev_desc_nop());
	s[3] = submit_stamped(b, 0, short_run(b));
	s[4] = submit_stamped(b, 0, vtadev_desc_signal(DATA + 64, 1));
	s[5] = submit_stamped(b, 0, vtadev_desc_copy(CARD, CARD + 0x10000, 0));
	go(b);

	at = s[0]->start;
	assert_span(s[0], at, COPY_CYCLES(1600));
	at = s[0]->end;
	assert_span(s[1], at, COPY_CYCLES(16));
	at = s[1]->end;
	assert_span(s[2], at, 0);
	assert_span(s[3], at, RUN_CYCLES);
	at = s[3]->end;
	assert_span(s[4], at, 0);
	assert_span(s[5], at, 17);
	assert_int_equal(b->q[0].page->status.time, s[5]->end);
	assert_int_equal(b->q[0].page->status.runs, 1);
	assert_int_equal(b->q[0].page->status.copies, 3);
	assert_int_equal(b->q[0].page->status.run_time, s[3]->end - s[3]->start);
	assert_int_equal(b->q[0].page->status.copy_time,
			 s[0]->end - s[0]->start + s[1]->end - s[1]->start +
			 s[5]->end - s[5]->start);
}

TEST_F(MODEL, engines_work_at_the_same_time)
{
	const struct vta_stamp *copy[8], *run[8];

	gate(b);
	for (unsigned int i = 0; i < 8; i++) {
		copy[i] = submit_stamped(b, 1, vtadev_desc_copy(CARD, CARD + 0x10000, 16000));
		run[i] = submit_stamped(b, 2, short_run(b));
	}
	go(b);
	assert_int_equal(copy[0]->start, run[0]->start);
	for (unsigned int i = 0; i < 8; i++) {
		assert_span(copy[i], copy[0]->start + i * COPY_CYCLES(16000) * CYCLE,
			    COPY_CYCLES(16000));
		assert_span(run[i], run[0]->start + i * RUN_CYCLES * CYCLE, RUN_CYCLES);
	}
}

TEST_F(MODEL, one_engine_takes_turns)
{
	const struct vta_stamp *s[2][6];
	uint64_t start;

	gate(b);
	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int q = 0; q < 2; q++)
			s[q][i] = submit_stamped(b, 1 + q, vtadev_desc_fill(CARD, 0, 16000));
	go(b);
	/* Whichever queue came first, both alternate without a gap. */
	start = s[0][0]->start < s[1][0]->start ? s[0][0]->start : s[1][0]->start;
	for (unsigned int i = 0; i < 6; i++) {
		unsigned int first = s[0][0]->start == start ? 0 : 1;

		assert_span(s[first][i], start + 2 * i * COPY_CYCLES(16000) * CYCLE,
			    COPY_CYCLES(16000));
		assert_span(s[!first][i], start + (2 * i + 1) * COPY_CYCLES(16000) * CYCLE,
			    COPY_CYCLES(16000));
	}
}

/* A chain from queue to queue and back has no gap either. */
TEST_F(MODEL, signals_take_no_time)
{
	const struct vta_stamp *copy[4], *run[4];

	gate(b);
	for (unsigned int i = 0; i < 4; i++) {
		copy[i] = submit_stamped(b, 1, vtadev_desc_copy(CARD, CARD + 0x10000, 160));
		rig_put(&b->q[1], vtadev_desc_signal(DATA + 64, i + 1));
		rig_put(&b->q[1], vtadev_desc_wait(DATA + 72, i + 1));
		rig_put(&b->q[2], vtadev_desc_wait(DATA + 64, i + 1));
		run[i] = submit_stamped(b, 2, short_run(b));
		rig_put(&b->q[2], vtadev_desc_signal(DATA + 72, i + 1));
	}
	go(b);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(run[i]->start, copy[i]->end);
		if (i)
			assert_int_equal(copy[i]->start, run[i - 1]->end);
	}
}

/* ---- What the host does meanwhile ---- */

static uint64_t host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void rest(void)
{
	nanosleep(&(struct timespec) { .tv_nsec = RIG_NEVER * 1000000 }, NULL);
}

TEST_F(SLOW_CLOCK, the_host_sees_it_take_its_time)
{
	const struct vta_stamp *s = submit_stamped(b, 0, vtadev_desc_fill(CARD, 0, 160));
	uint64_t begun = host_ns();

	rig_submit(&b->q[0]);
	finish(b);
	assert_int_equal(s->end - s->start, COPY_CYCLES(160) * 1000000ull);
	assert_true(host_ns() - begun >= COPY_CYCLES(160) * 1000000ull);
}

TEST_F(MODEL, time_passes_when_idle)
{
	uint64_t before, after, host;

	/* Until the card's threads have come to rest, too. */
	rig_is_idle(b->r, RIG_NEVER);
	host = host_ns();
	before = rig_get64(b->r, REG_TIME_LO);
	rest();
	after = rig_get64(b->r, REG_TIME_LO);
	assert_true(after - before >= RIG_NEVER * 1000000ull / 2);
	assert_true(after - before <= host_ns() - host);
}

/* Descriptors without an engine, and those that are done, need no timer. */
TEST_F(MODEL, idle_takes_no_cpu)
{
	rig_is_idle(b->r, 500);
	submit_stamped(b, 0, vtadev_desc_fill(CARD, 0, 160));
	submit_stamped(b, 0, vtadev_desc_wait(GATE, 1));
	rig_submit(&b->q[0]);
	rig_wait_seq(&b->q[0], 1);
	rig_is_idle(b->r, 500);
	rig_queue_stop(&b->q[0], true);
}

TEST_F(SCALED, time_passes_more_slowly)
{
	const struct vta_stamp *s;
	uint64_t before, after, host = host_ns();
	uint32_t beat = rig_get(b->r, REG_HEARTBEAT);

	before = rig_get64(b->r, REG_TIME_LO);
	rest();
	after = rig_get64(b->r, REG_TIME_LO);
	assert_true(after - before <= (host_ns() - host) / 1000000 + 1);
	assert_int_not_equal(rig_get(b->r, REG_HEARTBEAT), beat);

	/* 20 us of the card's are 20 s of the host's: it is given up before. */
	s = submit_stamped(b, 0, vtadev_desc_fill(CARD, 0, 0));
	rig_submit(&b->q[0]);
	rest();
	assert_int_equal(rig_seq(&b->q[0]), 0);
	assert_int_equal(s->end, 0);
	rig_queue_stop(&b->q[0], true);
}

/* Here a copy takes a minute. */
static void begin_a_minute(struct bench *b)
{
	rig_put(&b->q[0], vtadev_desc_fill(CARD, 0, 1000000));
	rig_submit(&b->q[0]);
	rig_await(b->r, REG_STATUS, REG_STATUS_BUSY, REG_STATUS_BUSY);
	rest();
	assert_int_equal(rig_seq(&b->q[0]), 0);
}

TEST_F(SLOW_CLOCK, abort_does_not_wait)
{
	begin_a_minute(b);
	rig_queue_stop(&b->q[0], true);
	assert_int_equal(rig_seq(&b->q[0]), 0);
}

TEST_F(SLOW_CLOCK, reset_does_not_wait)
{
	begin_a_minute(b);
	rig_set(b->r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(b->r);
	assert_int_equal(rig_seq(&b->q[0]), 0);
}

/* While one engine executes a descriptor, the other and the front end continue. */
TEST_F(SLOW_CLOCK, others_do_not_wait)
{
	const struct vta_stamp *s;

	begin_a_minute(b);
	s = submit_stamped(b, 1, short_run(b));
	submit_stamped(b, 1, vtadev_desc_nop());
	rig_submit(&b->q[1]);
	rig_wait_seq(&b->q[1], 2);
	assert_int_equal(s->end - s->start, RUN_CYCLES * 1000000ull);
	assert_int_equal(rig_seq(&b->q[0]), 0);
	rig_queue_stop(&b->q[0], true);
}

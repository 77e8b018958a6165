// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues and descriptors (docs/hardware.md, sections 6 and 7): operations,
 * completion, stamps, stopping, scheduling.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

/* Device addresses of every context here. */
#define DATA	0x00100000u	/* guest memory, 16 pages */
#define CARD	0x00200000u	/* card memory, one block */
#define CODE	0x00500000u	/* guest memory, 1 page */
#define SCRATCH	0x00600000u	/* guest memory, 1 page: words and stamps */
#define PAGES	16

struct bench {
	struct rig *r;
	uint8_t *data;
	void *code;
	uint64_t *words;
};

static struct bench bench(struct rig *r, unsigned int context)
{
	struct bench b = { .r = r };

	rig_context(r, context);
	b.data = rig_map_pages(r, context, DATA, PAGES);
	rig_map_block(r, context, CARD, 2u << 20, RIG_RW | RIG_CARD);
	b.code = rig_map_pages(r, context, CODE, 1);
	b.words = rig_map_pages(r, context, SCRATCH, 1);
	return b;
}

static void fill_random(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)rand();
}

/* ---- Operations ---- */

TEST_F(RIG, nop_completes)
{
	struct rig_queue q;

	bench(r, 0);
	rig_queue(r, &q, 0, 0, 3);
	rig_queue_start(&q, 0);
	for (int i = 0; i < 40; i++)
		rig_do(&q, vtadev_desc_nop());
	assert_int_equal(rig_get64(r, REG_QUEUE_SEQ_LO(0)), 40);
	assert_true(q.page->status.time > 0);
	assert_int_equal(q.page->status.cycles, 0);
	assert_int_equal(q.page->status.fault_reason, 0);
}

TEST_F(RIG, ring_can_be_full)
{
	struct rig_queue q;

	bench(r, 0);
	rig_queue(r, &q, 0, 0, 6);
	rig_queue_start(&q, 5);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 64; i++)
			rig_put(&q, vtadev_desc_nop());
		rig_submit(&q);
		rig_wait_seq(&q, q.submitted);
	}
	assert_int_equal(rig_seq(&q), 5 + 3 * 64);
	/* A ring of one descriptor is a ring. */
	rig_queue(r, &q, 1, 0, 0);
	rig_queue_start(&q, 0);
	rig_do(&q, vtadev_desc_nop());
	rig_do(&q, vtadev_desc_nop());
}

TEST_F(RIG, sequence_wraps)
{
	struct rig_queue q;

	bench(r, 0);
	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0xfffffffa);
	for (int i = 0; i < 12; i++)
		rig_put(&q, vtadev_desc_nop());
	rig_submit(&q);
	rig_wait_seq(&q, 0x100000006);
	rig_settle(&q);
	assert_true(rig_get64(r, REG_QUEUE_SEQ_LO(0)) == 0x100000006);
	rig_queue_stop(&q, false);
	/* And the whole of it. */
	rig_queue_start(&q, UINT64_MAX - 2);
	for (int i = 0; i < 5; i++)
		rig_put(&q, vtadev_desc_nop());
	rig_submit(&q);
	rig_wait_seq(&q, 2);
	assert_int_equal(rig_seq(&q), 2);
}

struct rows {
	uint32_t dst, src, width, rows, dst_pitch, src_pitch;
};

static void check_copy(struct rig_queue *q, uint8_t *data, uint8_t *want, struct rows c)
{
	struct vta_desc desc = vtadev_desc_copy2d(DATA + c.dst, c.dst_pitch, DATA + c.src,
						  c.src_pitch, c.width, c.rows);

	fill_random(data, PAGES * 4096);
	memcpy(want, data, PAGES * 4096);
	for (uint32_t i = 0; i < c.rows; i++)
		memcpy(want + c.dst + i * c.dst_pitch, data + c.src + i * c.src_pitch, c.width);
	rig_do(q, desc);
	assert_memory_equal(data, want, PAGES * 4096);
}

TEST_F(RIG, copies)
{
	static const struct rows cases[] = {
		{ 0x8000, 0, 1, 1, 0, 0 }, { 0x8001, 0x7, 4093, 1, 0, 0 },
		{ 0x8ffd, 0x1, 9001, 1, 0, 0 }, { 0x8000, 0, 0x8000, 1, 0, 0 },
		{ 0x8000, 0x10, 7, 100, 9, 31 }, { 0x8ff0, 0xff8, 33, 60, 33, 64 },
		{ 0x8000, 0, 5000, 3, 5003, 5001 }, { 0x8000, 0, 64, 8, 64, 0 },
		{ 0x8000, 0, 64, 8, 0, 0 }, { 0x8000, 0, 0, 5, 0, 0 }, { 0x8000, 0, 5, 0, 0, 0 },
	};
	struct bench b = bench(r, 0);
	uint8_t *want = malloc(PAGES * 4096);
	struct rig_queue q;

	assert_non_null(want);
	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0);
	srand(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_copy(&q, b.data, want, cases[i]);
	for (int i = 0; i < 60; i++) {
		struct rows c = {
			.width = rand() % 1000, .rows = rand() % 20, .src = rand() % 4000,
			.dst = 0x8000 + rand() % 4000,
		};

		c.src_pitch = rand() % 1300;
		c.dst_pitch = c.width + rand() % 300;
		check_copy(&q, b.data, want, c);
	}
	free(want);
}

TEST_F(RIG, copies_in_card_memory)
{
	struct bench b = bench(r, 0);
	uint8_t *card = r->c.bar4 + (2u << 20);
	struct rig_queue q;

	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0);
	srand(2);
	fill_random(b.data, 20000);
	rig_do(&q, vtadev_desc_copy(CARD + 0x12345, DATA + 3, 19990));
	assert_memory_equal(card + 0x12345, b.data + 3, 19990);
	rig_do(&q, vtadev_desc_copy(CARD + 0x1f0001, CARD + 0x12346, 19980));
	assert_memory_equal(card + 0x1f0001, b.data + 4, 19980);
	memset(b.data, 0, 20000);
	rig_do(&q, vtadev_desc_copy(DATA + 4, CARD + 0x1f0001, 19980));
	assert_memory_equal(card + 0x1f0001, b.data + 4, 19980);
	assert_int_equal(b.data[3] | b.data[4 + 19980], 0);
}

TEST_F(RIG, fills)
{
	struct bench b = bench(r, 0);
	struct rig_queue q;
	struct vta_desc desc = vtadev_desc_fill2d(DATA + 1, 5001, 0x44332211, 4103, 3);

	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0);
	rig_do(&q, desc);
	for (uint32_t i = 0; i < 4 * 5001; i++) {
		uint32_t at = i ? (i - 1) % 5001 : 5000, row = i ? (i - 1) / 5001 : 0;
		uint8_t want = row < 3 && at < 4103 ? 0x11 * (1 + at % 4) : 0;

		if (b.data[i] != want)
			fail_msg("byte %u is %#x, not %#x", i, b.data[i], want);
	}
}

TEST_F(RIG, stamps)
{
	struct bench b = bench(r, 0);
	volatile struct vta_stamp *stamp = (void *)b.words;
	struct rig_queue q;
	uint64_t before, after;

	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 41);
	before = rig_get64(r, REG_TIME_LO);
	rig_do(&q, rig_stamped(vtadev_desc_nop(), SCRATCH));
	rig_do(&q, rig_stamped(vtadev_desc_copy(DATA, DATA + 4096, 1000), SCRATCH + 32));
	/* Across a page's end. */
	rig_do(&q, rig_stamped(vtadev_desc_fill(DATA, 1, 16), DATA + 4096 - 8));
	after = rig_get64(r, REG_TIME_LO);
	assert_int_equal(stamp[0].seq, 42);
	assert_int_equal(stamp[0].cycles, 0);
	assert_int_equal(stamp[1].seq, 43);
	/* 16 cycles and 1 + 1000 / 16 for the row. */
	assert_int_equal(stamp[1].cycles, 16 + 1 + 63);
	assert_true(before < stamp[0].start && stamp[0].start <= stamp[0].end);
	assert_true(stamp[0].end < stamp[1].start && stamp[1].start < stamp[1].end);
	assert_true(stamp[1].end < after);
	memcpy((void *)stamp, b.data + 4096 - 8, sizeof(*stamp));
	assert_int_equal(stamp[0].cycles, 16 + 1 + 1);
	assert_int_equal(stamp[0].seq, 44);
	assert_true(q.page->status.time > stamp[0].end && q.page->status.time < after);
}

/* ---- RUN ---- */

/* Loads acc[0..1] from DATA in one RUN; a later one stores them. */
static uint32_t put_load(struct bench *b)
{
	struct prog p = prog_at(b->code);

	prog_load(&p, INSN_ACC, 0, DATA, 2, 0);
	prog_finish(&p, 0);
	return p.count;
}

static uint32_t put_store(struct bench *b)
{
	struct prog p = prog_at((uint8_t *)b->code + 1024);

	prog_store(&p, 0, DATA + 4096, 2, 0);
	prog_finish(&p, 0);
	return p.count;
}

TEST_F(RIG, run_executes)
{
	struct bench b = bench(r, 0);
	struct prog p = prog_at(b.code);
	int32_t *acc = (int32_t *)b.data;
	volatile struct vta_stamp *stamp = (void *)b.words;
	struct rig_queue q;

	for (int i = 0; i < 16; i++)
		acc[i] = i * 10;
	prog_load(&p, INSN_ACC, 0, DATA, 1, 0);
	prog_add_imm(&p, 5, INSN_PUSH_NEXT);
	prog_store(&p, 0, CARD + 0x100, 1, INSN_POP_PREV | INSN_PUSH_PREV);
	prog_finish(&p, INSN_POP_NEXT);
	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0);
	rig_do(&q, rig_stamped(vtadev_desc_run(CODE, p.count, 0), SCRATCH));
	for (int i = 0; i < 16; i++)
		assert_int_equal(r->c.bar4[(2u << 20) + 0x100 + i], (uint8_t)(i * 10 + 5));
	assert_true(stamp->cycles > 0);
	assert_int_equal(q.page->status.cycles, stamp->cycles);
	assert_int_equal(rig_counter(r, VTA_COUNTER_COMPUTE_CYCLES), stamp->cycles);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INSNS), 4);
	rig_do(&q, vtadev_desc_run(CODE, p.count, 0));
	assert_int_equal(q.page->status.cycles, 2 * stamp->cycles);
	/* No instructions: done at once, from any aligned address. */
	rig_do(&q, rig_stamped(vtadev_desc_run(0xfffffff0, 0, 0), SCRATCH));
	assert_int_equal(stamp->cycles, 0);
	assert_int_equal(stamp->seq, 3);
	assert_int_equal(rig_counter(r, VTA_COUNTER_RUNS), 3);
}

TEST_F(RIG, scratchpads_stay_in_a_context)
{
	struct bench b = bench(r, 0), other = bench(r, 1);
	struct rig_queue q, same, foreign;
	uint32_t load, store;

	rig_queue(r, &q, 0, 0, 4);
	rig_queue(r, &same, 1, 0, 4);
	rig_queue(r, &foreign, 2, 1, 4);
	rig_queue_start(&q, 0);
	rig_queue_start(&same, 0);
	rig_queue_start(&foreign, 0);
	memset(b.data, 0x77, 128);
	load = put_load(&b);
	store = put_store(&b);
	put_store(&other);
	memset(other.data + 4096, 0xee, 64);

	/* From one RUN to the next, also from another queue of the context. */
	rig_do(&q, vtadev_desc_run(CODE, load, 0));
	rig_do(&same, vtadev_desc_run(CODE + 1024, store, 0));
	assert_int_equal(b.data[4096], 0x77);
	assert_int_equal(b.data[4096 + 31], 0x77);
	assert_int_equal(rig_counter(r, VTA_COUNTER_CONTEXT_SWITCHES), 0);

	/* Another context finds zeros, and so does this one afterwards. */
	rig_do(&foreign, vtadev_desc_run(CODE + 1024, store, 0));
	assert_int_equal(other.data[4096], 0);
	assert_int_equal(other.data[4096 + 31], 0);
	assert_int_equal(other.data[4096 + 32], 0xee);
	assert_int_equal(rig_counter(r, VTA_COUNTER_CONTEXT_SWITCHES), 1);
	rig_do(&q, vtadev_desc_run(CODE + 1024, store, 0));
	assert_int_equal(b.data[4096], 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_CONTEXT_SWITCHES), 2);

	/* An empty stream is no context switch. */
	rig_do(&q, vtadev_desc_run(CODE, load, 0));
	rig_do(&foreign, vtadev_desc_run(CODE, 0, 0));
	rig_do(&q, vtadev_desc_run(CODE + 1024, store, 0));
	assert_int_equal(b.data[4096], 0x77);
	assert_int_equal(rig_counter(r, VTA_COUNTER_CONTEXT_SWITCHES), 2);
}

/* The next user of a context's number is a different context. */
TEST_F(RIG, scratchpads_end_with_a_context)
{
	struct bench b = bench(r, 0);
	struct rig_queue q;
	uint32_t load, store;

	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0);
	memset(b.data, 0x77, 128);
	load = put_load(&b);
	store = put_store(&b);
	rig_do(&q, vtadev_desc_run(CODE, load, 0));
	rig_set(r, REG_CONTEXT_CTRL(0), 0);
	rig_set(r, REG_CONTEXT_CTRL(0), REG_CONTEXT_CTRL_ENABLE);
	rig_do(&q, vtadev_desc_run(CODE + 1024, store, 0));
	assert_int_equal(b.data[4096], 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_CONTEXT_SWITCHES), 1);

	/* Enabling what is enabled changes nothing. */
	rig_do(&q, vtadev_desc_run(CODE, load, 0));
	rig_set(r, REG_CONTEXT_CTRL(0), REG_CONTEXT_CTRL_ENABLE);
	rig_do(&q, vtadev_desc_run(CODE + 1024, store, 0));
	assert_int_equal(b.data[4096], 0x77);
}

/* ---- Stopping ---- */

/* A descriptor that keeps its engine busy until it is given up. */
static struct vta_desc endless_run(struct bench *b)
{
	struct prog p = prog_at(b->code);

	prog_busy(&p);
	return vtadev_desc_run(CODE, p.count, 0);
}

static struct vta_desc endless_fill(void)
{
	return vtadev_desc_fill2d(DATA, 0, 0, 1, UINT32_MAX);
}

static void await_busy(struct rig *r)
{
	rig_await(r, REG_STATUS, REG_STATUS_BUSY, REG_STATUS_BUSY);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Returns how long it took, ns. */
static uint64_t check_abort(struct rig *r, struct rig_queue *q, struct vta_desc desc)
{
	uint64_t seq = rig_seq(q), begin, took;

	rig_put(q, desc);
	rig_put(q, vtadev_desc_nop());
	rig_submit(q);
	await_busy(r);
	rig_set(r, REG_QUEUE_ARM(q->n), (uint32_t)seq + 1);
	begin = now_ns();
	rig_queue_stop(q, true);
	took = now_ns() - begin;
	assert_int_equal(rig_get(r, REG_QUEUE_CTRL(q->n)), 0);
	assert_int_equal(rig_seq(q), seq);
	assert_int_equal(rig_get64(r, REG_QUEUE_SEQ_LO(q->n)), seq);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(q->n), RIG_NEVER), 0);
	assert_int_equal(rig_get(r, REG_STATUS), REG_STATUS_READY);
	rig_queue_start(q, seq);
	rig_do(q, vtadev_desc_nop());
	return took;
}

/* The contract's bound, which a busy machine may exceed now and then. */
static void check_aborts(struct rig *r, struct rig_queue *q, struct vta_desc desc)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t took = check_abort(r, q, desc);

		best = took < best ? took : best;
	}
	assert_in_range(best, 0, VTA_ABORT_MS * 1000000ull);
}

TEST_F(RIG, abort_gives_up)
{
	struct bench b = bench(r, 0);
	struct rig_queue q;

	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 100);
	check_aborts(r, &q, endless_run(&b));
	check_aborts(r, &q, endless_fill());
	check_aborts(r, &q, vtadev_desc_wait(SCRATCH, 1));
	/* One that is idle, or never started. */
	rig_queue_stop(&q, true);
	rig_set(r, REG_QUEUE_CTRL(1), REG_QUEUE_CTRL_ABORT);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(1)), VTA_QUEUE_DISABLED);
}

TEST_F(RIG, others_continue_during_abort)
{
	struct bench b = bench(r, 0);
	struct rig_queue victim, q;

	rig_queue(r, &victim, 0, 0, 4);
	rig_queue(r, &q, 1, 0, 4);
	rig_queue_start(&victim, 0);
	rig_queue_start(&q, 0);
	rig_put(&victim, endless_run(&b));
	rig_submit(&victim);
	/* The copy engine and the front end work meanwhile. */
	rig_do(&q, vtadev_desc_copy(DATA, CARD, 4096));
	rig_do(&q, vtadev_desc_nop());
	/* This one waits for the engine and is dropped from its line. */
	rig_put(&q, vtadev_desc_run(CODE, 1, 0));
	rig_submit(&q);
	rig_queue_stop(&q, false);
	assert_int_equal(rig_seq(&q), 2);
	rig_queue_start(&q, 0);
	rig_put(&q, vtadev_desc_run(CODE + 2048, put_store(&b), 0));
	memcpy((uint8_t *)b.code + 2048, (uint8_t *)b.code + 1024, 64);
	rig_submit(&q);
	rig_queue_stop(&victim, true);
	rig_wait_seq(&q, 1);
}

/* However far it has come: what was begun is done to its end, and no more. */
TEST_F(RIG, disable_finishes)
{
	struct bench b = bench(r, 0);
	struct rig_queue q;
	uint64_t done;

	rig_queue(r, &q, 0, 0, 4);
	rig_queue_start(&q, 0);
	for (uint32_t i = 1; i <= 16; i++)
		rig_put(&q, vtadev_desc_fill2d(DATA, 0, i * 0x01010101, PAGES * 4096, 64));
	rig_submit(&q);
	rig_wait_seq(&q, 1);
	rig_queue_stop(&q, false);
	done = rig_seq(&q);
	assert_int_equal(rig_counter(r, VTA_COUNTER_FILLS), done);
	for (size_t i = 0; i < PAGES * 4096; i++)
		assert_int_equal(b.data[i], done);
	/* A WAIT is given up by this too. */
	rig_queue_start(&q, done);
	rig_put(&q, vtadev_desc_wait(SCRATCH, 1));
	rig_submit(&q);
	rig_queue_stop(&q, false);
	assert_int_equal(rig_seq(&q), done);
}

TEST_F(RIG, card_disable_holds)
{
	struct bench b = bench(r, 0);
	struct rig_queue q, w;

	rig_queue(r, &q, 0, 0, 4);
	rig_queue(r, &w, 1, 0, 4);
	rig_queue_start(&q, 0);
	rig_queue_start(&w, 0);
	rig_put(&w, vtadev_desc_wait(SCRATCH, 1));
	rig_put(&w, vtadev_desc_nop());
	rig_submit(&w);
	await_busy(r);
	rig_set(r, REG_CONTROL, 0);
	for (int i = 0; i < 3; i++)
		rig_put(&q, i == 1 ? vtadev_desc_fill(DATA, 1, 4) : vtadev_desc_nop());
	rig_submit(&q);
	/* A descriptor that has begun can end. */
	b.words[0] = 1;
	rig_submit(&w);
	rig_wait_seq(&w, 1);
	nanosleep(&(struct timespec) { .tv_nsec = RIG_NEVER * 1000000 }, NULL);
	assert_int_equal(rig_seq(&q), 0);
	assert_int_equal(rig_seq(&w), 1);
	rig_set(r, REG_CONTROL, REG_CONTROL_ENABLE);
	rig_wait_seq(&q, 3);
	rig_wait_seq(&w, 2);
}

/* ---- Scheduling ---- */

#define JOBS	16

/* The order in which queues of priorities p were served, by their stamps. */
static void check_rounds(struct rig *r, const unsigned int *p, const char *want, bool runs)
{
	struct rig_queue q[3], holder;
	struct vta_stamp *stamps[3];
	char order[3 * JOBS + 1] = "";

	rig_queue(r, &holder, 7, 0, 4);
	rig_queue_start(&holder, 0);
	/* Holds the engine until all have a descriptor that waits for it. */
	rig_put(&holder, runs ? vtadev_desc_run(CODE, 1, 0) : endless_fill());
	rig_submit(&holder);
	await_busy(r);
	for (unsigned int i = 0; i < 3; i++) {
		rig_queue(r, &q[i], i, 0, 5);
		rig_queue_start(&q[i], 0);
		rig_set(r, REG_QUEUE_CTRL(i), REG_QUEUE_CTRL_ENABLE | p[i] << 8);
		stamps[i] = rig_map_pages(r, 0, 0x01000000 + i * 4096, 1);
		rig_invalidate(r, 0);
		for (unsigned int k = 0; k < JOBS; k++)
			rig_put(&q[i], rig_stamped(runs ? vtadev_desc_run(CODE + 1024, 1, 0) :
							  vtadev_desc_fill(DATA + i, 0, 1),
						   0x01000000 + i * 4096 + k * 32));
		rig_submit(&q[i]);
	}
	/* Their first descriptors have been read when a queue behind them has gone on. */
	rig_queue(r, &q[0], 6, 0, 4);
	rig_queue_start(&q[0], 0);
	rig_do(&q[0], vtadev_desc_nop());
	rig_queue_stop(&holder, true);
	for (unsigned int i = 0; i < 3; i++) {
		rig_await(r, REG_QUEUE_SEQ_LO(i), 0xffffffff, JOBS);
		rig_set(r, REG_QUEUE_CTRL(i), 0);
		rig_await(r, REG_QUEUE_STATE(i), 0x1f, 0);
	}
	rig_queue_stop(&q[0], false);
	for (unsigned int n = 0, at[3] = { 0 }; n < 3 * JOBS; n++) {
		unsigned int first = 3;

		for (unsigned int i = 0; i < 3; i++)
			if (at[i] < JOBS && (first == 3 || stamps[i][at[i]].start <
							   stamps[first][at[first]].start))
				first = i;
		at[first]++;
		order[n] = (char)('0' + first);
	}
	order[strlen(want)] = '\0';
	assert_string_equal(order, want);
}

static void rounds(struct rig *r, bool runs)
{
	struct bench b = bench(r, 0);
	struct prog p = prog_at(b.code), finish = prog_at((uint8_t *)b.code + 1024);

	prog_busy(&p);
	prog_finish(&finish, 0);
	check_rounds(r, (unsigned int[]) { 0, 0, 0 }, "012012012012012012012012", runs);
	check_rounds(r, (unsigned int[]) { 1, 0, 2 }, "0012222001222200122220012222001001001001",
		     runs);
	check_rounds(r, (unsigned int[]) { 0, 3, 0 }, "01111111120111111112020202", runs);
}

TEST_F(RIG, copy_engine_rounds)
{
	rounds(r, false);
}

TEST_F(RIG, compute_engine_rounds)
{
	rounds(r, true);
}

/* Each engine works while the other does. */
TEST_F(RIG, engines_work_together)
{
	struct bench b = bench(r, 0);
	struct rig_queue q[4];
	static char answer[1 << 16];
	uint64_t end = now_ns() + RIG_SOON * 1000000ull;
	const char *begun;

	for (unsigned int i = 0; i < 4; i++) {
		rig_queue(r, &q[i], i, 0, 4);
		rig_queue_start(&q[i], 0);
	}
	rig_put(&q[0], endless_run(&b));
	rig_submit(&q[0]);
	rig_put(&q[1], endless_fill());
	rig_submit(&q[1]);
	rig_do(&q[2], vtadev_desc_signal(SCRATCH, 1));
	rig_do(&q[3], vtadev_desc_wait(SCRATCH, 1));
	/* They begin when their threads get to it. */
	do {
		rig_control(r, "state\n", answer, sizeof(answer));
		begun = strstr(answer, "\"compute_queue\":0,\"copy_queue\":1");
	} while (!begun && now_ns() < end);
	assert_non_null(begun);
	rig_queue_stop(&q[0], true);
	rig_queue_stop(&q[1], true);
}

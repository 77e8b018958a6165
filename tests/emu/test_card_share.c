// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits in time, and groups that share an engine by the time they use
 * (docs/hardware.md, section 6, "Limits", "Scheduling"). In modelled time, so that
 * every number is exact, but for the limits in real time at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

#define DATA	0x00100000u	/* words */
#define CODE	0x00110000u
#define STAMPS	0x00120000u	/* a page for each queue */

#define QUEUES	50u
#define GATE	DATA
#define OPEN	(DATA + 8)
#define Q	VTA_GROUP_QUANTUM_NS
#define US	1000ull
#define MS	1000000ull
#define STAMPS_MAX	(VTA_PAGE_SIZE / sizeof(struct vta_stamp))

struct bench {
	struct rig *r;
	volatile uint64_t *words;
	void *code;
	const struct vta_stamp *stamps[QUEUES];
	struct rig_queue q[QUEUES];
	bool used[QUEUES];
};

static int setup_args(void **state, const char *time)
{
	const char *const args[] = {
		"--queues", "64", "--contexts", "16", "--mem", "8M", "--clock-khz", "1000",
		"--time", time, NULL
	};
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->r = malloc(sizeof(*b->r));
	rig_start(b->r, args);
	rig_context(b->r, 0);
	b->words = rig_map_pages(b->r, 0, DATA, 1);
	b->code = rig_map_pages(b->r, 0, CODE, 1);
	*state = b;
	return 0;
}

static int setup_model(void **state)
{
	return setup_args(state, "model");
}

static int setup_real(void **state)
{
	return setup_args(state, "real");
}

static int teardown(void **state)
{
	struct bench *b = *state;

	rig_stop(b->r);
	free(b->r);
	free(b);
	return 0;
}

#define REAL struct bench *b, setup_real, teardown
#define MODEL struct bench *b, setup_model, teardown

/* A queue of a group, with a limit in ns, started. */
static struct rig_queue *queue(struct bench *b, unsigned int n, unsigned int group,
			       unsigned int priority, uint64_t limit)
{
	struct rig_queue *q = &b->q[n];

	rig_queue(b->r, q, n, 0, 8);
	b->stamps[n] = rig_map_pages(b->r, 0, STAMPS + n * VTA_PAGE_SIZE, 1);
	rig_invalidate(b->r, 0);
	rig_set(b->r, REG_QUEUE_GROUP(n), group);
	rig_set64(b->r, REG_QUEUE_TIME_LIMIT_LO(n), limit);
	rig_queue_start(q, 0);
	rig_set(b->r, REG_QUEUE_CTRL(n), REG_QUEUE_CTRL_ENABLE | priority << 8);
	b->used[n] = true;
	return q;
}

/* Takes so many µs, which are cycles; an even number from 18 on. */
static struct vta_desc fill(uint32_t us)
{
	return vtadev_desc_fill2d(DATA + 64, 0, 0, 1, (us - 16) / 2);
}

/* Its stamp's place is that of its ring entry. */
static void submit_stamped(struct bench *b, unsigned int n, struct vta_desc desc)
{
	uint32_t at = (uint32_t)(b->q[n].submitted % STAMPS_MAX * sizeof(struct vta_stamp));

	rig_put(&b->q[n], rig_stamped(desc, STAMPS + n * VTA_PAGE_SIZE + at));
}

/* Descriptors i (from 1) of queue n. */
static const struct vta_stamp *stamp(struct bench *b, unsigned int n, uint64_t i)
{
	return &b->stamps[n][(i - 1) % STAMPS_MAX];
}

/*
 * Queue 0 is the gate's: the others begin with a WAIT for OPEN, and are ready at the
 * same moment of card time, when it also has its own first descriptor executed.
 */
static void close_gate(struct bench *b)
{
	queue(b, 0, 0, 0, 0);
	rig_put(&b->q[0], vtadev_desc_wait(GATE, 1));
	rig_put(&b->q[0], vtadev_desc_signal(OPEN, 1));
	submit_stamped(b, 0, fill(100));
}

static void open_gate(struct bench *b)
{
	for (unsigned int i = QUEUES; i--; )
		if (b->used[i])
			rig_submit(&b->q[i]);
	b->words[0] = 1;
	rig_submit(&b->q[0]);
	for (unsigned int i = 0; i < QUEUES; i++)
		if (b->used[i])
			rig_wait_seq(&b->q[i], b->q[i].submitted);
}

static void gated(struct bench *b, unsigned int n, unsigned int group, unsigned int priority)
{
	queue(b, n, group, priority, 0);
	rig_put(&b->q[n], vtadev_desc_wait(OPEN, 1));
}

/* ---- TIME_LIMIT, modelled ---- */

TEST_F(MODEL, time_limit_is_exact)
{
	struct rig_queue *q = queue(b, 1, 0, 0, 500 * US);
	struct vta_fault fault;
	uint64_t begin;

	submit_stamped(b, 1, fill(500));
	rig_submit(q);
	rig_wait_seq(q, 1);
	assert_int_equal(stamp(b, 1, 1)->end - stamp(b, 1, 1)->start, 500 * US);
	/* Two cycles more; and it is 2^32 rows for what it is worth. */
	fault = rig_fails(q, fill(502), VTA_FAULT_TIME, VTA_ACCESS_NONE, 0);
	begin = rig_get64(b->r, REG_ENGINE_SINCE_LO(VTA_COPY_ENGINE)) - 500 * US;
	assert_int_equal(fault.seq, 2);
	assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
	assert_true(fault.time >= begin + 500 * US);
	rig_queue_stop(q, false);
	rig_queue_start(q, 0);
	rig_fails(q, vtadev_desc_fill2d(DATA + 64, 0, 0, 1, UINT32_MAX), VTA_FAULT_TIME,
		  VTA_ACCESS_NONE, 0);
	/* Beside CYCLES, which comes first where both would. */
	rig_queue_stop(q, false);
	rig_set64(b->r, REG_QUEUE_CYCLES_LO(1), 400);
	rig_queue_start(q, 0);
	rig_fails(q, fill(502), VTA_FAULT_CYCLES, VTA_ACCESS_NONE, 0);
	rig_queue_stop(q, false);
	rig_set64(b->r, REG_QUEUE_CYCLES_LO(1), 502);
	rig_queue_start(q, 0);
	rig_fails(q, fill(502), VTA_FAULT_TIME, VTA_ACCESS_NONE, 0);
}

TEST_F(MODEL, runs_are_limited)
{
	struct rig_queue *q = queue(b, 1, 0, 0, 20 * US);
	struct prog p = prog_at(b->code);
	struct vta_fault fault;
	struct vta_desc run;

	prog_add_imm(&p, 1, 0);
	submit_stamped(b, 1, vtadev_desc_run(CODE, p.count, 0));
	rig_submit(q);
	rig_wait_seq(q, 1);
	assert_int_equal(stamp(b, 1, 1)->cycles, 10);
	p = prog_at(b->code);
	prog_busy(&p);
	fault = rig_fails(q, vtadev_desc_run(CODE, p.count, 0), VTA_FAULT_TIME, VTA_ACCESS_NONE, 0);
	assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
	assert_int_equal(fault.insn[0] | fault.insn[1] | fault.insn[2] | fault.insn[3], 0);
	/* A limit of its own that is less. */
	rig_queue_stop(q, false);
	rig_queue_start(q, 0);
	run = vtadev_desc_run(CODE, p.count, 0);
	run.run.cycle_limit = 19;
	assert_int_equal(rig_fails(q, run, VTA_FAULT_CYCLES, VTA_ACCESS_NONE, 0).insn_index, 0);
	/* The engine is free again, and other queues are none the worse. */
	rig_do(queue(b, 2, 0, 0, 0), vtadev_desc_run(CODE, 0, 0));
}

/* Not a NOP, a SIGNAL, or a WAIT that holds for longer. */
TEST_F(MODEL, waits_have_no_limit)
{
	struct rig_queue *q = queue(b, 1, 0, 0, 1);

	rig_put(q, vtadev_desc_nop());
	rig_put(q, vtadev_desc_signal(DATA + 64, 1));
	rig_put(q, vtadev_desc_wait(DATA + 72, 1));
	rig_submit(q);
	rig_wait_seq(q, 2);
	/* It has waited while another was executed. */
	rig_do(queue(b, 2, 0, 0, 0), fill(5000));
	b->words[9] = 1;
	rig_submit(q);
	rig_wait_seq(q, 3);
	/* Nor does the time count in which an engine is waited for. */
	rig_queue_stop(q, false);
	rig_set64(b->r, REG_QUEUE_TIME_LIMIT_LO(1), 100 * US);
	rig_queue_start(q, 0);
	submit_stamped(b, 2, fill(50000));
	rig_submit(&b->q[2]);
	rig_await(b->r, REG_QUEUE_STATE(2), REG_QUEUE_STATE_HAND, VTA_HAND_IN_COPY << 8);
	rig_do(q, fill(100));
	rig_wait_seq(&b->q[2], 2);
}

/* ---- Groups ---- */

/* Both have more to do than there is time: how it is shared, at each moment. */
static void check_shares(struct bench *b, unsigned int hostile, uint32_t hostile_us,
			 uint32_t us, unsigned int count)
{
	const unsigned int innocent = 49;
	uint64_t most = hostile_us * US, used = 0, last, first = UINT64_MAX, mine = 0;

	close_gate(b);
	for (unsigned int n = 1; n <= hostile; n++) {
		gated(b, n, 1, 3);
		for (unsigned int i = 0; i < 1 + 2 * count * us / hostile_us / hostile; i++)
			submit_stamped(b, n, fill(hostile_us));
	}
	gated(b, innocent, 2, 0);
	for (unsigned int i = 0; i < count; i++)
		submit_stamped(b, innocent, fill(us));
	open_gate(b);

	last = stamp(b, innocent, 1 + count)->end;
	for (unsigned int n = 1; n <= hostile; n++)
		for (uint64_t i = 2; i <= b->q[n].submitted; i++) {
			const struct vta_stamp *s = stamp(b, n, i);

			first = s->start < first ? s->start : first;
			if (s->end <= last)
				used += s->end - s->start;
		}
	for (uint64_t i = 2; i <= 1 + count; i++)
		mine += stamp(b, innocent, i)->end - stamp(b, innocent, i)->start;
	assert_int_equal(mine, count * us * US);
	/* Half, but for a turn of one of them. */
	assert_in_range(used, mine - Q - us * US, mine + Q + most);
	/* It was never made to wait for longer than that at first. */
	assert_true(stamp(b, innocent, 2)->start < first + Q + most);
	/* Nothing was left idle. The gate's own may have come in between. */
	first = first < stamp(b, innocent, 2)->start ? first : stamp(b, innocent, 2)->start;
	assert_in_range(last - first - used - mine, 0, 100 * US);
}

TEST_F(MODEL, queues_and_priorities_buy_no_time)
{
	check_shares(b, 48, 2000, 100, 120);
}

TEST_F(MODEL, long_descriptors_buy_no_time)
{
	check_shares(b, 3, 20000, 1000, 60);
}

TEST_F(MODEL, weights_are_shares)
{
	uint64_t used = 0, last;

	close_gate(b);
	rig_set(b->r, REG_GROUP_WEIGHT(3), 4);
	gated(b, 1, 3, 0);
	gated(b, 2, 5, 3);
	for (unsigned int i = 0; i < 120; i++) {
		submit_stamped(b, 1, fill(1000));
		submit_stamped(b, 2, fill(1000));
	}
	open_gate(b);
	last = stamp(b, 1, 121)->end;
	for (uint64_t i = 2; i <= 121; i++)
		used += stamp(b, 2, i)->end <= last ? MS : 0;
	/* A quarter of 120 ms. */
	assert_in_range(used, 30 * MS - Q - MS, 30 * MS + Q + MS);
}

TEST_F(MODEL, weight_register)
{
	for (unsigned int g = 0; g < 16; g++)
		assert_int_equal(rig_get(b->r, REG_GROUP_WEIGHT(g)), 1);
	rig_set(b->r, REG_GROUP_WEIGHT(2), 0);
	assert_int_equal(rig_get(b->r, REG_GROUP_WEIGHT(2)), 1);
	rig_set(b->r, REG_GROUP_WEIGHT(2), 0xffffffff);
	assert_int_equal(rig_get(b->r, REG_GROUP_WEIGHT(2)), 255);
	rig_set(b->r, REG_GROUP_WEIGHT(2), 0x100);
	assert_int_equal(rig_get(b->r, REG_GROUP_WEIGHT(2)), 1);
	/* As many as contexts, and no more. */
	rig_clear_counters(b->r);
	assert_int_equal(rig_get(b->r, REG_GROUP_WEIGHT(16)), 0);
	assert_int_equal(rig_counter(b->r, VTA_COUNTER_BAD_ACCESSES), 1);
	rig_set(b->r, REG_GROUP_WEIGHT(15), 77);
	rig_set(b->r, REG_CONTROL, REG_CONTROL_RESET);
	rig_ready(b->r);
	assert_int_equal(rig_get(b->r, REG_GROUP_WEIGHT(15)), 1);
}

TEST_F(MODEL, group_out_of_range_does_not_start)
{
	struct rig_queue *q = &b->q[1];

	rig_queue(b->r, q, 1, 0, 4);
	rig_set(b->r, REG_QUEUE_GROUP(1), 16);
	rig_clear_counters(b->r);
	rig_set(b->r, REG_QUEUE_CTRL(1), REG_QUEUE_CTRL_ENABLE);
	assert_int_equal(rig_get(b->r, REG_QUEUE_CTRL(1)), 0);
	assert_int_equal(rig_counter(b->r, VTA_COUNTER_BAD_ACCESSES), 1);
	rig_set(b->r, REG_QUEUE_GROUP(1), 15);
	rig_queue_start(q, 0);
	/* Kept while it is active. */
	rig_set(b->r, REG_QUEUE_GROUP(1), 3);
	rig_set64(b->r, REG_QUEUE_TIME_LIMIT_LO(1), 5);
	assert_int_equal(rig_get(b->r, REG_QUEUE_GROUP(1)), 15);
	assert_int_equal(rig_get64(b->r, REG_QUEUE_TIME_LIMIT_LO(1)), 0);
}

/* Time that queue 2 of group 2 got of its 80 ms before descriptor n of group 1's queue began. */
static uint64_t got_before(struct bench *b, unsigned int of, unsigned int n)
{
	uint64_t used = 0;

	for (uint64_t i = 2; i <= 81; i++)
		if (stamp(b, 2, i)->start < stamp(b, of, n)->start)
			used += MS;
	return used;
}

static void put_eighty(struct bench *b, uint32_t after)
{
	queue(b, 2, 2, 0, 0);
	rig_put(&b->q[2], vtadev_desc_wait(after, 1));
	for (unsigned int i = 0; i < 80; i++)
		submit_stamped(b, 2, fill(1000));
}

/* Group 1 owes 40 ms, and group 3 keeps the engine until group 2 is there, too. */
TEST_F(MODEL, debts_are_kept)
{
	close_gate(b);
	gated(b, 1, 1, 0);
	submit_stamped(b, 1, fill(40000));
	rig_put(&b->q[1], vtadev_desc_signal(OPEN + 8, 1));
	submit_stamped(b, 1, fill(1000));
	gated(b, 3, 3, 0);
	submit_stamped(b, 3, fill(100000));
	put_eighty(b, OPEN + 8);
	open_gate(b);
	assert_in_range(got_before(b, 1, 4), 40 * MS - 4 * Q, 40 * MS + Q);
}

/* It has paid by the time that passed with nothing to do, when the other comes. */
TEST_F(MODEL, idle_time_reduces_negative_credit)
{
	uint64_t until;

	queue(b, 1, 1, 0, 0);
	submit_stamped(b, 1, fill(40000));
	rig_submit(&b->q[1]);
	rig_wait_seq(&b->q[1], 1);
	until = b->q[1].page->status.time + 45 * MS;
	while (rig_get64(b->r, REG_TIME_LO) < until)
		;
	close_gate(b);
	rig_put(&b->q[1], vtadev_desc_wait(OPEN, 1));
	submit_stamped(b, 1, fill(1000));
	put_eighty(b, OPEN);
	open_gate(b);
	assert_in_range(got_before(b, 1, 3), 0, Q + MS);
}

/* Descriptors that are aborted, or fault, are paid for like all others. */
TEST_F(MODEL, faults_are_charged)
{
	close_gate(b);
	gated(b, 1, 1, 0);
	rig_queue_stop(&b->q[1], true);
	rig_set64(b->r, REG_QUEUE_TIME_LIMIT_LO(1), 40 * MS);
	rig_queue_start(&b->q[1], 0);
	rig_put(&b->q[1], vtadev_desc_wait(OPEN, 1));
	rig_put(&b->q[1], fill(1000000));
	/* Another queue of the group continues. */
	gated(b, 4, 1, 0);
	for (unsigned int i = 0; i < 10; i++)
		submit_stamped(b, 4, fill(1000));
	put_eighty(b, OPEN);
	for (unsigned int i = 5; i--; )
		if (b->used[i])
			rig_submit(&b->q[i]);
	b->words[0] = 1;
	rig_submit(&b->q[0]);
	assert_int_equal(rig_halted(&b->q[1]).reason, VTA_FAULT_TIME);
	rig_wait_seq(&b->q[2], 81);
	rig_wait_seq(&b->q[4], 11);
	assert_in_range(got_before(b, 4, 11), 49 * MS - 4 * Q, 49 * MS + 2 * Q);
}

/* ---- In real time ---- */

static struct vta_desc endless_fill(void)
{
	return vtadev_desc_fill2d(DATA + 64, 0, 0, 1, UINT32_MAX);
}

TEST_F(REAL, real_limits)
{
	struct rig_queue *q = queue(b, 1, 0, 0, 20 * MS), *other = queue(b, 2, 0, 0, 1000000 * MS);
	struct prog p = prog_at(b->code);

	prog_busy(&p);
	for (uint64_t i = 0; i < 3; i++) {
		struct vta_desc endless = i % 2 ? vtadev_desc_run(CODE, p.count,
								  0) : endless_fill();
		struct vta_fault fault = rig_fails(q, endless, VTA_FAULT_TIME, VTA_ACCESS_NONE, 0);

		assert_int_equal(fault.seq, 1);
		assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
		rig_do(other, vtadev_desc_fill(DATA + 64, 0, 8));
		/* Queues within the limit are not affected. */
		rig_queue_stop(q, false);
		rig_queue_start(q, 0);
		rig_do(q, vtadev_desc_fill(DATA + 64, 0, 8));
		rig_queue_stop(q, false);
		rig_queue_start(q, 0);
	}
}

/* An abort that comes amid the limit is an abort. */
TEST_F(REAL, real_limits_and_aborts)
{
	struct rig_queue *q = queue(b, 1, 0, 0, 2 * MS);

	for (unsigned int i = 0; i < 40; i++) {
		rig_put(q, endless_fill());
		rig_submit(q);
		for (unsigned int looks = i % 20; looks; looks--)
			rig_state(q);
		rig_queue_stop(q, true);
		assert_int_equal(rig_get(b->r, REG_STATUS), REG_STATUS_READY);
		rig_queue_start(q, 0);
		assert_int_equal(q->page->fault.reason, VTA_FAULT_NONE);
		rig_do(q, vtadev_desc_fill(DATA + 64, 0, 8));
		rig_queue_stop(q, false);
		rig_queue_start(q, 0);
	}
}

TEST_F(REAL, limits_can_be_broken)
{
	struct rig_queue *q = queue(b, 1, 0, 0, MS);
	char answer[256];

	rig_control(b->r, "inject limit-never 1\n", answer, sizeof(answer));
	rig_put(q, vtadev_desc_fill2d(DATA + 64, 0, 0, 1, 1u << 20));
	rig_submit(q);
	rig_wait_seq(q, 1);
	rig_fails(q, endless_fill(), VTA_FAULT_TIME, VTA_ACCESS_NONE, 0);
}

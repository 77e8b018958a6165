// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipelines on a toy card: whatever order the queues take turns in, each batch
 * finds in its slot what belongs to it, and no caller waits for ever
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "toy.h"
#include "vtadev_pipeline.h"

#define SLOTS	16
#define WORK	3	/* descriptors of a stage */

/* Contents of the slots, and the progress of each stage. */
static struct {
	uint64_t in[SLOTS], out[SLOTS];		/* batch copied in, computed */
	bool computed[SLOTS], taken[SLOTS];	/* not needed any more */
	uint64_t next[VTADEV_STAGES];		/* batch of the next stage, from 1 */
	unsigned int part[VTADEV_STAGES];	/* of its WORK descriptors */
	bool out_stage;
	bool overlapped;			/* a copy in before the last was done */
	unsigned int bad_stage;			/* faults at this batch */
	uint64_t bad_batch;
} model;

/* A descriptor that contains its batch and slot. */
static struct vta_desc work(uint64_t batch, unsigned int slot)
{
	struct vta_desc d = vtadev_desc_op(VTA_OP_RUN);

	d.run.insn_addr = htole32(slot);
	d.run.cycle_limit = htole64(batch);
	return d;
}

static void stage_in(uint64_t batch, unsigned int slot, bool first)
{
	if (first) {
		assert_true(model.computed[slot]);
		model.overlapped |= batch > model.next[VTADEV_STAGE_RUN];
	}
	model.in[slot] = batch;
	model.computed[slot] = false;
}

static void stage_run(uint64_t batch, unsigned int slot, bool last)
{
	assert_int_equal(model.in[slot], batch);
	if (model.out_stage && model.out[slot] != batch)
		assert_true(model.taken[slot]);
	model.out[slot] = batch;
	model.taken[slot] = false;
	model.computed[slot] = last;
}

static bool execute(unsigned int queue, const struct vta_desc *desc)
{
	uint64_t batch = le64toh(desc->run.cycle_limit);
	unsigned int slot = le32toh(desc->run.insn_addr);
	bool first = !model.part[queue], last = model.part[queue] == WORK - 1;

	if (queue == model.bad_stage && batch == model.bad_batch)
		return false;
	assert_int_equal(batch, model.next[queue]);
	switch (queue) {
	case VTADEV_STAGE_IN:
		stage_in(batch, slot, first);
		break;
	case VTADEV_STAGE_RUN:
		stage_run(batch, slot, last);
		break;
	default:
		assert_int_equal(model.out[slot], batch);
		model.taken[slot] = last;
		break;
	}
	model.part[queue] = last ? 0 : model.part[queue] + 1;
	model.next[queue] += last;
	return true;
}

static uint64_t first_seed;

static int setup(void **state)
{
	(void)state;
	memset(&toy, 0, sizeof(toy));
	memset(&model, 0, sizeof(model));
	toy.seed = first_seed;
	toy.execute = execute;
	model.out_stage = true;
	for (unsigned int i = 0; i < SLOTS; i++) {
		model.computed[i] = true;
		model.taken[i] = true;
	}
	for (unsigned int i = 0; i < VTADEV_STAGES; i++)
		model.next[i] = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return toy.queues || toy.bufs;
}

#define TOY void *unused, setup, teardown

static struct vtadev_pipeline *create_pipeline(const struct vtadev_pipeline_opts *opts)
{
	struct vtadev_pipeline *p = NULL;

	assert_int_equal(vtadev_pipeline_create(NULL, opts, &p), 0);
	return p;
}

static int submit(struct vtadev_pipeline *p, uint64_t batch, unsigned int slot,
		  unsigned int stages)
{
	struct vta_desc descs[WORK];
	struct vtadev_batch b = { 0 };
	uint64_t number = 0;
	int err;

	for (unsigned int i = 0; i < WORK; i++)
		descs[i] = work(batch, slot);
	for (unsigned int i = 0; i < stages; i++) {
		b.descs[i] = descs;
		b.n[i] = WORK;
	}
	err = vtadev_pipeline_submit(p, &b, &number);
	if (!err)
		assert_int_equal(number, batch);
	return err;
}

/* Batches from @from to @to; the first error. */
static int stream(struct vtadev_pipeline *p, uint64_t from, uint64_t to, unsigned int depth,
		  unsigned int stages)
{
	unsigned int slot;
	int err = 0;

	for (uint64_t i = from; i <= to && !err; i++) {
		err = vtadev_pipeline_begin(p, -1, &slot);
		if (err)
			break;
		assert_int_equal(slot, (i - 1) % depth);
		err = submit(p, i, slot, stages);
	}
	return err;
}

/* ---- What holds for any pipeline ---- */

TEST_F(TOY, any_shape)
{
	static const unsigned int rings[] = { 1, 2, 4, 64 };

	for (unsigned int i = 0; i < 300; i++) {
		struct vtadev_pipeline_opts opts = { 0 };
		struct vtadev_pipeline *p;

		setup(NULL);
		toy.seed += i;
		opts.depth = 2 + toy_random(4);
		opts.ahead = opts.depth + toy_random(12);
		opts.stages = 2 + toy_random(2);
		for (unsigned int q = 0; q < VTADEV_STAGES; q++)
			opts.queues[q].ring_entries = rings[toy_random(4)];
		model.out_stage = opts.stages == 3;
		p = create_pipeline(&opts);
		assert_int_equal(stream(p, 1, 100, opts.depth, opts.stages), 0);
		assert_int_equal(vtadev_pipeline_drain(p, -1), 0);
		for (unsigned int q = 0; q < opts.stages; q++)
			assert_int_equal(model.next[q], 101);
		vtadev_pipeline_destroy(p);
	}
}

TEST_F(TOY, copies_while_computing)
{
	struct vtadev_pipeline *p = create_pipeline(NULL);

	assert_int_equal(stream(p, 1, 200, 3, 3), 0);
	assert_int_equal(vtadev_pipeline_drain(p, -1), 0);
	assert_true(model.overlapped);
	vtadev_pipeline_destroy(p);
}

/* All that is ahead needs the CPU no more: one doorbell for each stage. */
TEST_F(TOY, cpu_is_not_needed)
{
	const struct vtadev_pipeline_opts opts = { .depth = 2, .ahead = 8 };
	struct vtadev_pipeline *p = create_pipeline(&opts);

	assert_int_equal(stream(p, 1, 8, 2, 3), 0);
	assert_int_equal(toy.doorbells, 8 * 3);
	assert_int_equal(toy.waits, 0);
	while (toy_step())
		;
	assert_int_equal(model.next[VTADEV_STAGE_OUT], 9);
	assert_int_equal(vtadev_pipeline_drain(p, 0), 0);
	vtadev_pipeline_destroy(p);
}

/* Back-pressure: not more than depth batches, and begin reports it. */
TEST_F(TOY, begin_waits_for_a_slot)
{
	struct vtadev_pipeline *p = create_pipeline(NULL);
	unsigned int slot = 99;

	/* The third stage of the first batch can never end. */
	model.bad_stage = 99;
	assert_int_equal(submit(p, 1, 0, 3), 0);
	assert_int_equal(submit(p, 2, 1, 3), 0);
	assert_int_equal(submit(p, 3, 2, 3), 0);
	if (model.next[VTADEV_STAGE_OUT] == 1) {
		assert_int_equal(vtadev_pipeline_begin(p, 0, &slot), -ETIMEDOUT);
		assert_int_equal(slot, 99);
	}
	assert_int_equal(vtadev_pipeline_begin(p, -1, &slot), 0);
	assert_int_equal(slot, 0);
	assert_true(model.next[VTADEV_STAGE_OUT] >= 2);
	/* A time-out has not stopped it. */
	assert_int_equal(submit(p, 4, 0, 3), 0);
	assert_int_equal(vtadev_pipeline_wait(p, 4, -1), 0);
	assert_int_equal(vtadev_pipeline_wait(p, 5, -1), -EINVAL);
	vtadev_pipeline_destroy(p);
}

TEST_F(TOY, empty_stages)
{
	struct vtadev_pipeline *p = create_pipeline(NULL);
	struct vtadev_batch none = { 0 };

	assert_int_equal(vtadev_pipeline_drain(p, 0), 0);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(vtadev_pipeline_submit(p, &none, NULL), 0);
	assert_int_equal(vtadev_pipeline_drain(p, -1), 0);
	vtadev_pipeline_destroy(p);
}

/* ---- Faults ---- */

/* In any stage, at any batch, with rings so short that submitting waits, too. */
TEST_F(TOY, fault_ends_every_wait)
{
	for (unsigned int i = 0; i < 300; i++) {
		struct vtadev_pipeline_opts opts = { .depth = 3, .ahead = 6 };
		struct vtadev_fault fault;
		enum vtadev_stage stage;
		struct vtadev_pipeline *p;
		unsigned int slot;

		setup(NULL);
		toy.seed += i;
		model.bad_stage = toy_random(3);
		model.bad_batch = 1 + toy_random(20);
		for (unsigned int q = 0; q < VTADEV_STAGES; q++) {
			opts.queues[q].ring_entries = 1u << toy_random(6);
			opts.queues[q].flags = toy_random(2) ? VTADEV_QUEUE_BLOCK : 0;
		}
		p = create_pipeline(&opts);
		assert_int_equal(stream(p, 1, 20, 3, 3) ?: vtadev_pipeline_drain(p, -1), -EIO);
		/* And it stays so. */
		assert_int_equal(vtadev_pipeline_begin(p, 0, &slot), -EIO);
		assert_int_equal(submit(p, 21, 0, 3), -EIO);
		assert_int_equal(vtadev_pipeline_drain(p, -1), -EIO);
		assert_int_equal(vtadev_pipeline_fault(p, &stage, &fault), 0);
		assert_int_equal(stage, model.bad_stage);
		assert_int_equal(fault.reason, VTA_FAULT_PAGE);
		assert_int_equal(model.next[model.bad_stage], model.bad_batch);
		vtadev_pipeline_destroy(p);
	}
}

/* Batches that were done before the fault are not lost. */
TEST_F(TOY, earlier_batches_are_done)
{
	const struct vtadev_pipeline_opts opts = { .depth = 2, .ahead = 8 };
	struct vtadev_pipeline *p = create_pipeline(&opts);

	model.bad_stage = VTADEV_STAGE_RUN;
	model.bad_batch = 5;
	stream(p, 1, 8, 2, 3);
	while (toy_step())
		;
	assert_int_equal(model.next[VTADEV_STAGE_OUT], 5);
	assert_int_equal(vtadev_pipeline_wait(p, 4, -1), 0);
	assert_int_equal(vtadev_pipeline_drain(p, -1), -EIO);
	vtadev_pipeline_destroy(p);
}

TEST_F(TOY, no_fault)
{
	struct vtadev_pipeline *p = create_pipeline(NULL);
	enum vtadev_stage stage = VTADEV_STAGE_OUT;
	struct vtadev_fault fault;

	assert_int_equal(vtadev_pipeline_fault(p, &stage, &fault), 0);
	assert_int_equal(fault.reason, VTA_FAULT_NONE);
	assert_int_equal(stage, VTADEV_STAGE_OUT);
	vtadev_pipeline_destroy(p);
}

/* ---- Callbacks ---- */

struct calls {
	uint64_t filled, done;
	unsigned int depth;
	uint64_t fail_fill, fail_done;
	struct vta_desc descs[WORK];
};

static int fill(void *priv, uint64_t number, unsigned int slot, struct vtadev_batch *batch)
{
	struct calls *c = priv;

	assert_int_equal(number, ++c->filled);
	assert_int_equal(slot, (number - 1) % c->depth);
	/* The previous batch of the slot was reported before. */
	assert_true(number <= c->depth || c->done >= number - c->depth);
	if (number == c->fail_fill)
		return -ECHILD;
	for (unsigned int i = 0; i < WORK; i++)
		c->descs[i] = work(number, slot);
	for (unsigned int i = 0; i < VTADEV_STAGES; i++) {
		batch->descs[i] = c->descs;
		batch->n[i] = WORK;
	}
	return 0;
}

static int done(void *priv, uint64_t number, unsigned int slot)
{
	struct calls *c = priv;

	assert_int_equal(number, ++c->done);
	assert_int_equal(slot, (number - 1) % c->depth);
	assert_true(model.next[VTADEV_STAGE_OUT] > number);
	return number == c->fail_done ? -ECHILD : 0;
}

static const struct vtadev_pipeline_ops ops = { fill, done };

TEST_F(TOY, run_calls_in_order)
{
	struct vtadev_pipeline *p = create_pipeline(NULL);
	struct calls c = { .depth = 3 };

	assert_int_equal(vtadev_pipeline_run(p, 0, &ops, &c), 0);
	assert_int_equal(vtadev_pipeline_run(p, 50, &ops, &c), 0);
	assert_int_equal(c.done, 50);
	assert_int_equal(vtadev_pipeline_run(p, 1, &ops, &c), 0);
	assert_int_equal(c.done, 51);
	assert_int_equal(vtadev_pipeline_run(p, 50, &ops, &c), 0);
	assert_int_equal(c.done, 101);
	assert_int_equal(c.filled, 101);
	vtadev_pipeline_destroy(p);
}

TEST_F(TOY, run_ends_with_an_error)
{
	struct vtadev_pipeline *p = create_pipeline(NULL);
	struct calls c = { .depth = 3, .fail_fill = 7 };

	assert_int_equal(vtadev_pipeline_run(p, 50, &ops, &c), -ECHILD);
	assert_int_equal(c.filled, 7);
	vtadev_pipeline_destroy(p);

	setup(NULL);
	p = create_pipeline(NULL);
	c = (struct calls) { .depth = 3, .fail_done = 9 };
	assert_int_equal(vtadev_pipeline_run(p, 50, &ops, &c), -ECHILD);
	assert_int_equal(c.done, 9);
	vtadev_pipeline_destroy(p);

	setup(NULL);
	p = create_pipeline(NULL);
	c = (struct calls) { .depth = 3 };
	model.bad_stage = VTADEV_STAGE_OUT;
	model.bad_batch = 11;
	assert_int_equal(vtadev_pipeline_run(p, 50, &ops, &c), -EIO);
	assert_int_equal(c.done, 10);
	vtadev_pipeline_destroy(p);
}

/* ---- Wrong use ---- */

TEST_F(TOY, bad_options)
{
	static const struct vtadev_pipeline_opts bad[] = {
		{ .depth = 1 },
		{ .depth = 4, .ahead = 3 },
		{ .ahead = 2 },
		{ .ahead = VTADEV_PIPELINE_AHEAD_MAX + 1 },
		{ .depth = VTADEV_PIPELINE_AHEAD_MAX + 1 },
		{ .stages = 1 },
		{ .stages = 4 },
	};
	struct vtadev_pipeline *p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(vtadev_pipeline_create(NULL, &bad[i], &p), -EINVAL);
	for (unsigned int i = 1; i <= 3; i++) {
		toy.fail_queue = i;
		assert_int_equal(vtadev_pipeline_create(NULL, NULL, &p), -ENOSPC);
		assert_int_equal(toy.queues, 0);
	}
	vtadev_pipeline_destroy(NULL);
}

TEST_F(TOY, stage_that_is_not_there)
{
	const struct vtadev_pipeline_opts opts = { .stages = 2 };
	struct vtadev_pipeline *p = create_pipeline(&opts);

	assert_int_equal(submit(p, 1, 0, 3), -EINVAL);
	assert_int_equal(submit(p, 1, 0, 2), 0);
	assert_int_equal(vtadev_pipeline_drain(p, -1), 0);
	assert_null(vtadev_pipeline_queue(p, VTADEV_STAGE_OUT));
	assert_non_null(vtadev_pipeline_queue(p, VTADEV_STAGE_RUN));
	vtadev_pipeline_destroy(p);
}

static int begin(void **state)
{
	const char *seed = getenv("VTA_SEED");

	(void)state;
	first_seed = seed ? strtoull(seed, NULL, 0) : 1;
	printf("VTA_SEED=%llu\n", (unsigned long long)first_seed);
	return 0;
}

GROUP(begin, NULL);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_flood - a process that takes all resources does not stop the victim
 */
#include "../vta_harness.h"
#include "wall.h"

/* Jobs that the victim does meanwhile. */
#define JOBS	20

/* After each flood, others can have as much of the card as before. */
WALL_FIXTURE(flood, EXPECT_TRUE(usage_is(&self->wall.usage)))

/* ---- threads that repeat a call ---- */

struct flooder;
typedef int (*step_fn)(struct flooder *f);

struct flooder {
	pthread_t thread;
	struct wall *w;
	struct queue q;
	step_fn step;
	uint64_t steps;
	int err;
	_Atomic bool stop;
};

static void *flooder_run(void *arg)
{
	struct flooder *f = arg;

	while (!f->stop && !f->err) {
		f->err = f->step(f);
		f->steps++;
	}
	return NULL;
}

/* Fills the ring as soon as there is room, with work for every engine. */
static int step_descriptors(struct flooder *f)
{
	struct queue *q = &f->q;
	struct vta_desc descs[] = {
		desc_copy(OWN_RW, OWN_RW + OWN_SIZE / 2, OWN_SIZE / 2),
		desc_fill(OWN_RW, 1, OWN_SIZE),
		desc_op(VTA_OP_NOP),
		desc_run(OWN_CODE, 256, 0),
		desc_stamp(desc_signal(OWN_RW, 1), OWN_RW + 64),
	};

	while (q->submitted + ARRAY_SIZE(descs) - queue_seq(q) > q->entries)
		if (le32toh(q->status->status.state) != VTA_QUEUE_ACTIVE)
			return -EIO;
	queue_submit(q, descs, ARRAY_SIZE(descs));
	return 0;
}

static int step_doorbells(struct flooder *f)
{
	queue_kick(&f->q);
	return 0;
}

/* Each arms the card, interrupts and wakes. */
static int step_waits(struct flooder *f)
{
	int err = queue_do(&f->q, desc_op(VTA_OP_NOP));

	if (err)
		return err;
	err = queue_wait(&f->q, f->q.submitted + 1, 1, NULL);
	return err == -ETIMEDOUT ? 0 : -EPROTO;
}

static int step_faults(struct flooder *f)
{
	struct queue q;
	int err = queue_open(f->w->fd, &q, NULL);

	if (err)
		return err;
	err = queue_do(&q, desc_fill(HOLE, 0, 1));
	return queue_close(&q) ?: err == -EIO ? 0 : -EPROTO;
}

/* The card drops its TLB each time. */
static int step_buffers(struct flooder *f)
{
	struct mem mem;
	int err = mem_alloc(f->w->fd, &mem, OWN_SIZE, f->steps & 1 ? VTA_BUF_CARD : 0, 0);

	return err ?: mem_free(&mem);
}

static int step_contexts(struct flooder *f)
{
	int fd = card_open();

	(void)f;
	return fd < 0 ? fd : close(fd);
}

enum { FLOODERS = 3 };

WALL_FIXTURE(flood_of, EXPECT_TRUE(usage_is(&self->wall.usage)))

FIXTURE_VARIANT(flood_of) {
	step_fn step;
};

FIXTURE_VARIANT_ADD(flood_of, descriptors) { step_descriptors };
FIXTURE_VARIANT_ADD(flood_of, doorbells) { step_doorbells };
FIXTURE_VARIANT_ADD(flood_of, waits) { step_waits };
FIXTURE_VARIANT_ADD(flood_of, faults) { step_faults };
FIXTURE_VARIANT_ADD(flood_of, buffers) { step_buffers };
FIXTURE_VARIANT_ADD(flood_of, contexts) { step_contexts };

TEST_F(flood_of, does_not_stop_the_victim)
{
	struct vta_queue_create create = {
		.ring_order = 6,
		.priority = VTA_QUEUE_PRIORITY_DEFAULT,
	};
	struct wall *w = &self->wall;
	struct flooder f[FLOODERS];

	for (unsigned int i = 0; i < FLOODERS; i++) {
		f[i] = (struct flooder) { .w = w, .step = variant->step };
		ASSERT_EQ(0, queue_open(w->fd, &f[i].q, &create));
		ASSERT_EQ(0, pthread_create(&f[i].thread, NULL, flooder_run, &f[i]));
	}
	EXPECT_EQ(0, victim_progress(&w->victim, JOBS));
	for (unsigned int i = 0; i < FLOODERS; i++)
		f[i].stop = true;
	for (unsigned int i = 0; i < FLOODERS; i++) {
		ASSERT_EQ(0, pthread_join(f[i].thread, NULL));
		EXPECT_EQ(0, f[i].err);
		EXPECT_LT(0, f[i].steps);
		EXPECT_EQ(0, queue_close(&f[i].q));
	}
}

/* ---- all of a resource ---- */

static bool spent(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

TEST_F(flood, that_takes_all_queues_does_not_stop_the_victim)
{
	struct vta_queue_create create = { .ring_order = 0 };
	struct wall *w = &self->wall;
	int fd = card_open(), ret;
	unsigned int n = 0;

	ASSERT_LE(0, fd);
	while (!(ret = card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &create)) && n <= w->info.queues)
		n++;
	EXPECT_TRUE(spent(ret));
	EXPECT_LT(0, n);
	EXPECT_EQ(0, victim_progress(&w->victim, JOBS));
	close(fd);
}

TEST_F(flood, that_takes_all_contexts_does_not_stop_the_victim)
{
	struct wall *w = &self->wall;
	int fds[257], ret;
	unsigned int n = 0;

	while ((ret = card_open()) >= 0 && n < ARRAY_SIZE(fds))
		fds[n++] = ret;
	EXPECT_TRUE(spent(ret));
	EXPECT_LT(0, n);
	EXPECT_EQ(0, victim_progress(&w->victim, JOBS));
	while (n)
		close(fds[--n]);
}

TEST_F(flood, that_takes_all_card_memory_does_not_stop_the_victim)
{
	struct wall *w = &self->wall;
	struct vta_buf_alloc req;
	int fd = card_open();
	int ret = 0;

	ASSERT_LE(0, fd);
	for (uint64_t size = w->info.mem_size / 4; size >= 4096; size /= 2) {
		do {
			req = (struct vta_buf_alloc) { .size = size, .flags = VTA_BUF_CARD };
			ret = card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &req);
		} while (!ret);
		ASSERT_TRUE(spent(ret));
	}
	EXPECT_EQ(0, victim_progress(&w->victim, JOBS));
	/* There is some for others, if the driver limits what one user may take. */
	if (ret == -EDQUOT) {
		EXPECT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
		EXPECT_EQ(0, victim_order(&w->victim, VICTIM_DROP));
	}
	close(fd);
}

/* ---- jobs without an end ---- */

static struct vta_desc long_copy(struct wall *w)
{
	(void)w;
	return desc_copy2d(OWN_RW, 0, OWN_RW + OWN_SIZE / 2, 0, OWN_SIZE / 2, 100000);
}

static struct vta_desc long_copy_of_bytes(struct wall *w)
{
	(void)w;
	return desc_copy2d(OWN_RW, 0, OWN_RW + 1, 0, 1, 200000000);
}

static struct vta_desc long_fill(struct wall *w)
{
	(void)w;
	return desc_fill2d(OWN_RW, 0, 7, 16, 200000000);
}

static struct vta_desc long_gemm(struct wall *w)
{
	struct vta_isa_loop loops = { .uop_end = 1, .iter_out = 16383, .iter_in = 16383 };

	return wall_stream(w, insn_gemm(&w->core, 0, &loops));
}

static struct vta_desc long_alu(struct wall *w)
{
	struct vta_isa_loop loops = { .uop_end = 1, .iter_out = 16383, .iter_in = 16383 };

	return wall_stream(w, insn_alu(&w->core, 0, VTA_ISA_ADD, 1, &loops));
}

/* Many instructions, each as much as one can be. */
static struct vta_desc long_stream(struct wall *w)
{
	const struct core *c = &w->core;
	struct insn *code = w->code.ptr;
	unsigned int n = OWN_SIZE / sizeof(*code), i;

	for (i = 0; i < n; i++)
		code[i] = insn_move(i & 1 ? VTA_ISA_LOAD : VTA_ISA_STORE,
				    i & 1 ? VTA_ISA_INP : VTA_ISA_OUT, 0, OWN_RW / c->inp_bytes,
				    1, 1u << c->log.inp);
	return desc_run(OWN_CODE, n, 0);
}

/* Rows without end: x_size 0, or the same row again and again. */
static struct vta_desc long_rows(struct wall *w)
{
	struct insn *code = w->code.ptr;
	unsigned int n = OWN_SIZE / sizeof(*code), i;

	for (i = 0; i < n; i++)
		code[i] = insn_load(VTA_ISA_UOP, 0, OWN_RW / 4, i & 1 ? 65535 : 4096, !(i & 1));
	return desc_run(OWN_CODE, n, 0);
}

static struct vta_desc long_wait(struct wall *w)
{
	(void)w;
	return desc_wait(OWN_RW, UINT64_MAX);
}

static struct vta_desc (* const long_jobs[])(struct wall *w) = {
	long_copy, long_copy_of_bytes, long_fill, long_gemm, long_alu, long_stream, long_rows,
	long_wait,
};

/* Without a reset. */
TEST_F(flood, of_jobs_without_end_is_aborted)
{
	struct wall *w = &self->wall;

	for (unsigned int i = 0; i < ARRAY_SIZE(long_jobs); i++) {
		struct vta_desc desc = long_jobs[i](w);
		struct mem mem;

		for (unsigned int k = 0; k < w->q.entries; k++)
			w->q.ring[k] = desc;
		w->q.submitted = w->q.entries;
		queue_kick(&w->q);
		sleep_ms(20);
		/* The TLB can be invalidated meanwhile, for this context and others. */
		ASSERT_EQ(0, mem_alloc(w->fd, &mem, 4096, VTA_BUF_HOST, 0));
		ASSERT_EQ(0, mem_free(&mem));
		ASSERT_EQ(0, wall_new_queue(w)) {
			TH_LOG("job %u", i);
		}
		ASSERT_EQ(0, victim_progress(&w->victim, 1));
	}
}

TEST_F(flood, of_jobs_without_end_reaches_the_limit_of_cycles)
{
	struct vta_queue_create create = { .ring_order = 0, .max_cycles = 100000 };
	struct wall *w = &self->wall;
	struct queue q;

	/* All but the last, which uses no engine. */
	for (unsigned int i = 0; i < ARRAY_SIZE(long_jobs) - 1; i++) {
		struct vta_queue_fault fault;

		ASSERT_EQ(0, queue_open(w->fd, &q, &create));
		EXPECT_EQ(-EIO, queue_do(&q, long_jobs[i](w)));
		ASSERT_EQ(0, queue_fault(&q, &fault));
		EXPECT_EQ(VTA_FAULT_CYCLES, fault.reason);
		EXPECT_EQ(VTA_ACCESS_NONE, fault.access);
		ASSERT_EQ(0, queue_close(&q));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: Apache-2.0
/*
 * pipeline.c - queues that hand batches to each other
 *
 * Each stage has a word in a page that all of them see: the number of batches
 * that it has done. Stage by stage, batch n in a pipeline of depth d is
 *
 *	in:	WAIT run >= n - d, copies, SIGNAL in = n
 *	run:	WAIT in >= n, WAIT out >= n - d, runs, SIGNAL run = n
 *	out:	WAIT run >= n, copies, SIGNAL out = n
 *
 * A WAIT is for what earlier batches do, or for earlier stages of its own.
 * Batches are submitted whole and in order, the stages in the order of the
 * list: so whatever is at the head of a queue can move on without anything that
 * is not submitted yet, unless a queue has halted. The CPU checks all queues
 * whenever it waits, as those that did not halt would wait for ever.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "vtadev_pipeline.h"

#define WORDS_SIZE	4096u
#define WORD_STRIDE	64u	/* a cache line: the CPU's and the card's do not mix */
#define SYNC_MAX	3u	/* WAITs and the SIGNAL of one stage */

struct vtadev_pipeline {
	unsigned int depth;
	unsigned int ahead;
	unsigned int stages;
	struct vtadev_queue *queues[VTADEV_STAGES];
	struct vtadev_buf *words;
	uint64_t submitted;		/* batches */
	uint64_t done;			/* of them, at least */
	/* Of the last @ahead batches, what each stage's SIGNAL has as its number. */
	uint64_t (*last)[VTADEV_STAGES];
	int err;			/* what has stopped it */
	struct vta_desc *descs;		/* one stage of a batch, as it is submitted */
	unsigned int room;		/* of them there */
};

/* ---- Making ---- */

/* A thread that waits for room checks all queues, so no queue blocks on its own. */
static int make_queue(struct vtadev *dev, const struct vtadev_queue_opts *asked,
		      struct vtadev_queue **queue)
{
	struct vtadev_queue_opts opts = *asked;

	opts.flags &= ~VTADEV_QUEUE_BLOCK;
	return vtadev_queue_create(dev, &opts, queue);
}

static int check_opts(const struct vtadev_pipeline_opts *opts, struct vtadev_pipeline *p)
{
	p->depth = opts->depth ? opts->depth : VTADEV_PIPELINE_DEPTH_DEFAULT;
	p->ahead = opts->ahead ? opts->ahead : p->depth;
	p->stages = opts->stages ? opts->stages : VTADEV_STAGES;
	if (p->depth < 2 || p->ahead < p->depth || p->ahead > VTADEV_PIPELINE_AHEAD_MAX ||
	    p->stages < 2 || p->stages > VTADEV_STAGES)
		return -EINVAL;
	return 0;
}

int vtadev_pipeline_create(struct vtadev *dev, const struct vtadev_pipeline_opts *opts,
			   struct vtadev_pipeline **out)
{
	static const struct vtadev_pipeline_opts defaults;
	static const char zero[WORDS_SIZE];
	struct vtadev_pipeline *p;
	int err;

	if (!opts)
		opts = &defaults;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	err = check_opts(opts, p);
	if (!err) {
		p->last = calloc(p->ahead, sizeof(*p->last));
		err = p->last ? 0 : -ENOMEM;
	}
	if (!err)
		err = vtadev_buf_alloc(dev, WORDS_SIZE, VTADEV_HOST, &p->words);
	if (!err)
		err = vtadev_buf_write(p->words, 0, zero, sizeof(zero));
	for (unsigned int i = 0; i < p->stages && !err; i++)
		err = make_queue(dev, &opts->queues[i], &p->queues[i]);
	if (err) {
		vtadev_pipeline_destroy(p);
		return err;
	}
	*out = p;
	return 0;
}

void vtadev_pipeline_destroy(struct vtadev_pipeline *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; i < VTADEV_STAGES; i++)
		vtadev_queue_destroy(p->queues[i]);
	vtadev_buf_free(p->words);
	free(p->last);
	free(p->descs);
	free(p);
}

/* ---- Waiting ---- */

/* Errors of the card stop the pipeline; a time-out does not. */
static int note(struct vtadev_pipeline *p, int err)
{
	if (err && err != -ETIMEDOUT)
		p->err = err;
	return err;
}

static uint64_t *last_of(struct vtadev_pipeline *p, uint64_t number)
{
	return p->last[number % p->ahead];
}

/*
 * All stages, not only the last: it would wait for ever for one that halted.
 * Numbers below the last @ahead ones were waited for before.
 */
static int wait_batch(struct vtadev_pipeline *p, uint64_t number, int64_t timeout_ns)
{
	struct vtadev_fence fences[VTADEV_STAGES];
	int err;

	if (number <= p->done)
		return 0;
	if (p->err)
		return p->err;
	for (unsigned int i = 0; i < p->stages; i++)
		fences[i] = (struct vtadev_fence) { p->queues[i], last_of(p, number)[i] };
	err = note(p, vtadev_wait_all(fences, p->stages, timeout_ns, -1, NULL));
	if (!err)
		p->done = number;
	return err;
}

/* Until a full ring has room, or one of the queues has nothing left to do. */
static int wait_room(struct vtadev_pipeline *p, unsigned int stage)
{
	struct vtadev_fence fences[VTADEV_STAGES];
	unsigned int n = 0;
	uint64_t completed;
	int ret;

	ret = vtadev_completed(p->queues[stage], &completed);
	if (ret)
		return ret;
	/* It may have worked off all of it since the ring was full. */
	if (completed == vtadev_submitted(p->queues[stage]))
		return 0;
	fences[n++] = (struct vtadev_fence) { p->queues[stage], completed + 1 };
	for (unsigned int i = 0; i < p->stages; i++) {
		uint64_t all = vtadev_submitted(p->queues[i]);

		if (i == stage)
			continue;
		ret = vtadev_done(p->queues[i], all);
		if (ret < 0)
			return ret;
		if (!ret)
			fences[n++] = (struct vtadev_fence) { p->queues[i], all };
	}
	return vtadev_wait_any(fences, n, -1, -1, NULL);
}

/* ---- Submitting ---- */

/* As many as there is room for, at most @n; 0 if there is none. */
static int submit_some(struct vtadev_pipeline *p, unsigned int stage,
		       const struct vta_desc *descs, unsigned int n)
{
	int err;

	for (; n; n /= 2) {
		err = vtadev_submit(p->queues[stage], descs, n, NULL);
		if (!err)
			return (int)n;
		/* Longer than the ring, or than what is free of it. */
		if (err != -EAGAIN && err != -EINVAL)
			return err;
	}
	return 0;
}

static int push(struct vtadev_pipeline *p, unsigned int stage, unsigned int n)
{
	unsigned int done = 0;

	while (done < n) {
		int ret = submit_some(p, stage, p->descs + done, n - done);

		if (!ret)
			ret = wait_room(p, stage);
		if (ret < 0)
			return ret;
		done += (unsigned int)ret;
	}
	return 0;
}

static struct vta_desc sync(struct vtadev_pipeline *p, enum vta_op op,
			    enum vtadev_stage stage, uint64_t number)
{
	struct vta_desc d = vtadev_desc_op(op);

	d.sync.addr = htole32(vtadev_buf_addr(p->words) + stage * WORD_STRIDE);
	d.sync.value = htole64(number);
	return d;
}

/* One stage of batch @number into p->descs; returns how many. */
static unsigned int build(struct vtadev_pipeline *p, enum vtadev_stage stage, uint64_t number,
			  const struct vtadev_batch *batch)
{
	/* Number of the batch that used the slot before; 0: none. */
	uint64_t before = number > p->depth ? number - p->depth : 0;
	struct vta_desc *d = p->descs;

	if (stage == VTADEV_STAGE_IN && before)
		*d++ = sync(p, VTA_OP_WAIT, VTADEV_STAGE_RUN, before);
	if (stage == VTADEV_STAGE_RUN)
		*d++ = sync(p, VTA_OP_WAIT, VTADEV_STAGE_IN, number);
	if (stage == VTADEV_STAGE_RUN && before && p->stages > VTADEV_STAGE_OUT)
		*d++ = sync(p, VTA_OP_WAIT, VTADEV_STAGE_OUT, before);
	if (stage == VTADEV_STAGE_OUT)
		*d++ = sync(p, VTA_OP_WAIT, VTADEV_STAGE_RUN, number);
	if (batch->n[stage])
		memcpy(d, batch->descs[stage], batch->n[stage] * sizeof(*d));
	d += batch->n[stage];
	*d++ = sync(p, VTA_OP_SIGNAL, stage, number);
	return (unsigned int)(d - p->descs);
}

static int make_room(struct vtadev_pipeline *p, const struct vtadev_batch *batch)
{
	unsigned int most = 0;
	struct vta_desc *descs;

	for (unsigned int i = 0; i < VTADEV_STAGES; i++) {
		if (batch->n[i] && i >= p->stages)
			return -EINVAL;
		if (batch->n[i] > most)
			most = batch->n[i];
	}
	if (__builtin_add_overflow(most, SYNC_MAX, &most))
		return -ENOMEM;
	if (most <= p->room)
		return 0;
	descs = reallocarray(p->descs, most, sizeof(*descs));
	if (!descs)
		return -ENOMEM;
	p->descs = descs;
	p->room = most;
	return 0;
}

int vtadev_pipeline_begin(struct vtadev_pipeline *p, int64_t timeout_ns, unsigned int *slot)
{
	uint64_t next = p->submitted + 1;
	int err = p->err;

	if (!err && next > p->ahead)
		err = wait_batch(p, next - p->ahead, timeout_ns);
	if (!err && slot)
		*slot = (unsigned int)((next - 1) % p->depth);
	return err;
}

int vtadev_pipeline_submit(struct vtadev_pipeline *p, const struct vtadev_batch *batch,
			   uint64_t *number)
{
	uint64_t next = p->submitted + 1;
	int err;

	err = make_room(p, batch);
	if (!err)
		err = vtadev_pipeline_begin(p, -1, NULL);
	for (unsigned int i = 0; i < p->stages && !err; i++) {
		err = note(p, push(p, i, build(p, i, next, batch)));
		last_of(p, next)[i] = vtadev_submitted(p->queues[i]);
	}
	if (err)
		return err;
	p->submitted = next;
	if (number)
		*number = next;
	return 0;
}

/* ---- Ends ---- */

int vtadev_pipeline_wait(struct vtadev_pipeline *p, uint64_t number, int64_t timeout_ns)
{
	if (number > p->submitted)
		return -EINVAL;
	return wait_batch(p, number, timeout_ns);
}

int vtadev_pipeline_drain(struct vtadev_pipeline *p, int64_t timeout_ns)
{
	return p->err ? p->err : wait_batch(p, p->submitted, timeout_ns);
}

/* Report batches up to @number, which are done or are waited for here. */
static int report_batches(struct vtadev_pipeline *p, uint64_t *told, uint64_t number,
			  const struct vtadev_pipeline_ops *ops, void *priv)
{
	int err = 0;

	while (*told < number && !err) {
		err = wait_batch(p, *told + 1, -1);
		if (err)
			break;
		++*told;
		if (ops->done)
			err = ops->done(priv, *told, (unsigned int)((*told - 1) % p->depth));
	}
	return err;
}

int vtadev_pipeline_run(struct vtadev_pipeline *p, uint64_t batches,
			const struct vtadev_pipeline_ops *ops, void *priv)
{
	uint64_t told = p->submitted, end = p->submitted + batches;
	int err = 0;

	while (p->submitted < end && !err) {
		uint64_t next = p->submitted + 1;
		struct vtadev_batch batch = { 0 };

		if (next > p->ahead)
			err = report_batches(p, &told, next - p->ahead, ops, priv);
		if (!err)
			err = ops->fill(priv, next, (unsigned int)((next - 1) % p->depth), &batch);
		if (!err)
			err = vtadev_pipeline_submit(p, &batch, NULL);
	}
	return err ? err : report_batches(p, &told, end, ops, priv);
}

int vtadev_pipeline_fault(struct vtadev_pipeline *p, enum vtadev_stage *stage,
			  struct vtadev_fault *fault)
{
	for (unsigned int i = 0; i < p->stages; i++) {
		int err = vtadev_fault(p->queues[i], fault);

		if (err)
			return err;
		if (fault->reason == VTA_FAULT_NONE)
			continue;
		if (stage)
			*stage = (enum vtadev_stage)i;
		return 0;
	}
	return 0;
}

struct vtadev_queue *vtadev_pipeline_queue(const struct vtadev_pipeline *p,
					   enum vtadev_stage stage)
{
	return stage < p->stages ? p->queues[stage] : NULL;
}

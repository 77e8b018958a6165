/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_pipeline.h - copy in, compute, copy out, all at the same time
 *
 * A pipeline takes batches through two or three queues of its own. Each batch
 * uses one of a few slots of card memory: while one batch is computed, the next
 * is copied into the next slot and the last is copied out of its own. The queues
 * wait for each other on the card, by SIGNAL and WAIT; the CPU only hands out
 * batches and may do so far ahead.
 *
 *	err = vtadev_pipeline_create(dev, NULL, &pipe);
 *	for (i = 0; i < batches && !err; i++) {
 *		err = vtadev_pipeline_begin(pipe, -1, &slot);
 *		if (err)
 *			break;
 *		in = vtadev_desc_copy(slot_input(slot), host_input(i), size);
 *		run = vtadev_desc_run(stream(slot), insns, 0);
 *		out = vtadev_desc_copy(host_output(i), slot_output(slot), size);
 *		err = vtadev_pipeline_submit(pipe, &(struct vtadev_batch){
 *			.descs = { &in, &run, &out }, .n = { 1, 1, 1 } }, NULL);
 *	}
 *	if (!err)
 *		err = vtadev_pipeline_drain(pipe, -1);
 *
 * Batches are in order: batch n is copied in after batch n - 1, and so on in
 * each stage. What the descriptors of a batch may rely on: those of its earlier
 * stages have completed, and so have those of the batch that had its slot before
 * as far as they matter: its input is not needed any more, and its results have been copied out
 * (with two stages, the caller must ensure the latter).
 *
 * THREADS. One thread at a time for each pipeline. BLOCKING: begin, submit, wait,
 * drain and run sleep.
 */
#ifndef VTADEV_PIPELINE_H
#define VTADEV_PIPELINE_H

#include <stdint.h>

#include "vtadev.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vtadev_pipeline;

enum vtadev_stage {
	VTADEV_STAGE_IN,	/* copies to the card */
	VTADEV_STAGE_RUN,
	VTADEV_STAGE_OUT,	/* copies from the card */
};

#define VTADEV_STAGES			3
#define VTADEV_PIPELINE_DEPTH_DEFAULT	3
#define VTADEV_PIPELINE_AHEAD_MAX	1024

/**
 * struct vtadev_pipeline_opts - how a pipeline is to be; all zero: the defaults
 * @depth: slots, from 2; 0: 3
 * @ahead: batches that may be under way at a time, @depth to 1,024; 0: @depth.
 *         With more than @depth the card finds work while the CPU is late; the
 *         host's memory must not be the slots' then, but the batches'
 * @stages: 3, or 2 for a pipeline without copies out; 0: 3
 * @queues: how the stages' queues are to be. Rings of any length do; the CPU is
 *          not needed while batches are under way that fit: two or three more
 *          descriptors for each stage than those of the batch. VTADEV_QUEUE_BLOCK
 *          changes nothing: a pipeline waits for room in any case
 */
struct vtadev_pipeline_opts {
	unsigned int depth;
	unsigned int ahead;
	unsigned int stages;
	struct vtadev_queue_opts queues[VTADEV_STAGES];
};

/**
 * struct vtadev_batch - what each stage does for one batch
 * @descs: its descriptors, in order; copied
 * @n: how many, 0 too
 */
struct vtadev_batch {
	const struct vta_desc *descs[VTADEV_STAGES];
	unsigned int n[VTADEV_STAGES];
};

/**
 * vtadev_pipeline_create() - make a pipeline
 * @dev: the card
 * @opts: how it is to be, or NULL for the defaults
 * @pipe: out: the pipeline
 *
 * Errors: -EINVAL, and those of vtadev_queue_create() and vtadev_buf_alloc().
 */
int vtadev_pipeline_create(struct vtadev *dev, const struct vtadev_pipeline_opts *opts,
			   struct vtadev_pipeline **pipe);

/**
 * vtadev_pipeline_destroy() - stop a pipeline's queues and free it
 * @pipe: the pipeline, or NULL
 *
 * What has not completed is given up, at once.
 */
void vtadev_pipeline_destroy(struct vtadev_pipeline *pipe);

/**
 * vtadev_pipeline_begin() - wait until another batch may be submitted
 * @pipe: the pipeline
 * @timeout_ns: as for vtadev_wait(); 0 only looks
 * @slot: out: the slot of the next batch, 0 to depth - 1; NULL is allowed
 *
 * That is when fewer than opts.ahead batches are under way. With the default,
 * the batch that had the slot before is done as a whole: the host's memory of
 * that slot can be read and filled again.
 *
 * Errors: -ETIMEDOUT, and those that have stopped the pipeline.
 */
int vtadev_pipeline_begin(struct vtadev_pipeline *pipe, int64_t timeout_ns,
			  unsigned int *slot);

/**
 * vtadev_pipeline_submit() - hand the next batch to the card
 * @pipe: the pipeline
 * @batch: what is to be done, with the slot that vtadev_pipeline_begin() said
 * @number: out: the batch's number, from 1; NULL is allowed
 *
 * Waits as vtadev_pipeline_begin() would, and for room in the rings, for as long as it
 * takes. A queue that halts stops the pipeline and ends the wait.
 *
 * Errors: -EINVAL (descriptors for a stage that is not there), -ENOMEM, and those
 * that have stopped the pipeline.
 */
int vtadev_pipeline_submit(struct vtadev_pipeline *pipe, const struct vtadev_batch *batch,
			   uint64_t *number);

/**
 * vtadev_pipeline_wait() - wait until a batch, and all before it, is done
 * @pipe: the pipeline
 * @number: its number
 * @timeout_ns: as for vtadev_wait()
 *
 * Errors: -EINVAL (@number has not been submitted), -ETIMEDOUT, and those that have
 * stopped the pipeline before.
 */
int vtadev_pipeline_wait(struct vtadev_pipeline *pipe, uint64_t number, int64_t timeout_ns);

/* vtadev_pipeline_drain() - the same for all that have been submitted */
int vtadev_pipeline_drain(struct vtadev_pipeline *pipe, int64_t timeout_ns);

/**
 * struct vtadev_pipeline_ops - what vtadev_pipeline_run() calls
 * @fill: say what is to be done for batch @number, in @slot; the descriptors must
 *        live until the next call
 * @done: the batch is done, its results can be read; NULL is allowed
 *
 * Both are called in the order of batches, by the thread that runs the pipeline.
 * An error that they return ends the run.
 */
struct vtadev_pipeline_ops {
	int (*fill)(void *priv, uint64_t number, unsigned int slot, struct vtadev_batch *batch);
	int (*done)(void *priv, uint64_t number, unsigned int slot);
};

/**
 * vtadev_pipeline_run() - take batches through a pipeline, from the first to the last
 * @pipe: the pipeline, which may have had batches before
 * @batches: how many
 * @ops: what they are
 * @priv: passed on
 *
 * Errors: those of vtadev_pipeline_submit(), and what @ops return. Batches may still
 * be under way then.
 */
int vtadev_pipeline_run(struct vtadev_pipeline *pipe, uint64_t batches,
			const struct vtadev_pipeline_ops *ops, void *priv);

/**
 * vtadev_pipeline_fault() - why a pipeline has stopped
 * @pipe: the pipeline
 * @stage: out: whose queue halted; NULL is allowed
 * @fault: out: why; its reason is VTA_FAULT_NONE if no queue has halted
 *
 * A pipeline that was stopped stays so: destroy it and create another. Errors:
 * -ENODEV.
 */
int vtadev_pipeline_fault(struct vtadev_pipeline *pipe, enum vtadev_stage *stage,
			  struct vtadev_fault *fault);

/*
 * vtadev_pipeline_queue() - a stage's queue, to look at; NULL if there is none.
 * Submitting to it is the pipeline's alone.
 */
struct vtadev_queue *vtadev_pipeline_queue(const struct vtadev_pipeline *pipe,
					   enum vtadev_stage stage);

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_PIPELINE_H */

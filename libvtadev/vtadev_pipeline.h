/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_pipeline.h - copy in, compute and copy out at the same time
 *
 * A pipeline has two or three queues of its own, one for each stage of a batch. Each batch
 * uses one of a few slots of card memory, which the caller allocates: while the card computes one
 * batch, it copies the next one into another slot, and the previous one out of a third. The queues
 * wait for each other on the card, by SIGNAL and WAIT; the CPU only submits
 * batches, possibly many ahead.
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
 * Each stage executes the batches in order. When a stage of a batch begins, the batch's earlier
 * stages have completed. The previous batch in the same slot has completed its stage RUN before
 * the new input is copied in, and its stage OUT before the new batch is computed
 * (with two stages, the caller must ensure the latter).
 *
 * THREADS. One thread at a time for each pipeline.
 *
 * BLOCKING. vtadev_pipeline_begin(), vtadev_pipeline_submit(), vtadev_pipeline_wait(),
 * vtadev_pipeline_drain() and vtadev_pipeline_run() sleep.
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
 * struct vtadev_pipeline_opts - options of a pipeline; all zero: the defaults
 * @depth: number of slots, 2 or more; 0: 3
 * @ahead: most batches in flight at a time, @depth to 1,024; 0: @depth.
 *         With more than @depth the card has work while the CPU is late; host
 *         memory must then be one area for each batch in flight, not for each slot
 * @stages: 3, or 2 for a pipeline without copies out; 0: 3
 * @queues: options of the stages' queues. Rings of any length work; as long as the batches in
 *          flight fit into the rings, submitting does not wait. The pipeline adds 2 descriptors
 *          to a batch in the stages IN and OUT, 3 in the stage RUN. VTADEV_QUEUE_BLOCK
 *          has no effect: a pipeline always waits for room
 */
struct vtadev_pipeline_opts {
	unsigned int depth;
	unsigned int ahead;
	unsigned int stages;
	struct vtadev_queue_opts queues[VTADEV_STAGES];
};

/**
 * struct vtadev_batch - descriptors of one batch
 * @descs: the descriptors of each stage, in order; copied
 * @n: their number in each stage, 0 or more
 */
struct vtadev_batch {
	const struct vta_desc *descs[VTADEV_STAGES];
	unsigned int n[VTADEV_STAGES];
};

/**
 * vtadev_pipeline_create() - create a pipeline
 * @dev: the card
 * @opts: options, or NULL for the defaults
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
 * Batches that have not completed are aborted at once.
 */
void vtadev_pipeline_destroy(struct vtadev_pipeline *pipe);

/**
 * vtadev_pipeline_begin() - wait until another batch may be submitted
 * @pipe: the pipeline
 * @timeout_ns: as for vtadev_wait()
 * @slot: out: the slot of the next batch, 0 to depth - 1; NULL is allowed
 *
 * Waits until fewer than vtadev_pipeline_opts.ahead batches are in flight. With the default,
 * the previous batch in the slot has then completed all stages: the host memory of
 * that slot can be read and filled again.
 *
 * Errors: -ETIMEDOUT, and the error that has stopped the pipeline: one of vtadev_submit() and
 * vtadev_wait_all().
 */
int vtadev_pipeline_begin(struct vtadev_pipeline *pipe, int64_t timeout_ns,
			  unsigned int *slot);

/**
 * vtadev_pipeline_submit() - submit the next batch to the card
 * @pipe: the pipeline
 * @batch: the descriptors, which use the slot of vtadev_pipeline_begin()
 * @number: out: the batch's number, from 1; NULL is allowed
 *
 * Waits as vtadev_pipeline_begin() does, and for room in the rings, without a
 * time-out. A queue that halts stops the pipeline and ends the wait.
 *
 * Errors: -EINVAL (descriptors for a stage that the pipeline does not have), -ENOMEM, and the
 * error that has stopped the pipeline.
 */
int vtadev_pipeline_submit(struct vtadev_pipeline *pipe, const struct vtadev_batch *batch,
			   uint64_t *number);

/**
 * vtadev_pipeline_wait() - wait until a batch, and all before it, is done
 * @pipe: the pipeline
 * @number: its number
 * @timeout_ns: as for vtadev_wait()
 *
 * Errors: -EINVAL (@number has not been submitted), -ETIMEDOUT, and the error that
 * stopped the pipeline before the batch was done.
 */
int vtadev_pipeline_wait(struct vtadev_pipeline *pipe, uint64_t number, int64_t timeout_ns);

/* vtadev_pipeline_drain() - wait for all submitted batches, as vtadev_pipeline_wait() */
int vtadev_pipeline_drain(struct vtadev_pipeline *pipe, int64_t timeout_ns);

/**
 * struct vtadev_pipeline_ops - callbacks of vtadev_pipeline_run()
 * @fill: store the descriptors of batch @number, in @slot, in @batch; they must
 *        exist until the next call
 * @done: batch @number is done, its results can be read; NULL is allowed
 *
 * The thread that called vtadev_pipeline_run() calls both, in the order of batches.
 * A negative errno that they return ends the run; 0 continues it.
 */
struct vtadev_pipeline_ops {
	int (*fill)(void *priv, uint64_t number, unsigned int slot, struct vtadev_batch *batch);
	int (*done)(void *priv, uint64_t number, unsigned int slot);
};

/**
 * vtadev_pipeline_run() - submit batches to a pipeline, and wait until all are done
 * @pipe: the pipeline, which may have had batches before
 * @batches: number of batches
 * @ops: callbacks for the batches
 * @priv: first argument of the callbacks
 *
 * Errors: those of vtadev_pipeline_submit(), and those that @ops return. After an error, batches
 * may still be in flight.
 */
int vtadev_pipeline_run(struct vtadev_pipeline *pipe, uint64_t batches,
			const struct vtadev_pipeline_ops *ops, void *priv);

/**
 * vtadev_pipeline_fault() - why a pipeline has stopped
 * @pipe: the pipeline
 * @stage: out: stage of the queue that halted; NULL is allowed
 * @fault: out: the fault; its reason is VTA_FAULT_NONE if no queue has halted
 *
 * A stopped pipeline cannot be restarted: destroy it and create another. Errors:
 * -ENODEV.
 */
int vtadev_pipeline_fault(struct vtadev_pipeline *pipe, enum vtadev_stage *stage,
			  struct vtadev_fault *fault);

/*
 * vtadev_pipeline_queue() - a stage's queue, for queries; NULL if the pipeline has no such stage
 *
 * Only the pipeline submits to the queue.
 */
struct vtadev_queue *vtadev_pipeline_queue(const struct vtadev_pipeline *pipe,
					   enum vtadev_stage stage);

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_PIPELINE_H */

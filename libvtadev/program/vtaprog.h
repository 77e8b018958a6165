/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaprog.h - run program images (docs/program-image.md) with libvtadev
 *
 *	vtaimage_open(&image, data, size);
 *	vtaprog_load(dev, queue, &image, &prog, why);	// one upload
 *	vtaprog_map(prog, i, &input);		// for values in the layout of vtaprog_tensor()
 *	vtaprog_run(prog, timeout);		// inputs, streams, CPU steps, outputs
 *
 * Consecutive steps of the card are one batch of descriptors, with one
 * doorbell: a network that is entirely on the card is one batch.
 *
 * One thread at a time uses a loaded program, which has at most one run in progress, because
 * its tensors have one place. For runs that overlap, make a twin on another queue of
 * the same context: the card copies for one run while it computes the other, and the CPU
 * executes steps of one run while the card executes the other:
 *
 *	vtaprog_begin(a); vtaprog_begin(b);
 *	for (;;) { vtaprog_end(a, timeout); ... vtaprog_begin(a); the same with b }
 */
#ifndef VTAPROG_H
#define VTAPROG_H

#include "vtadev.h"
#include "vtaimage.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VTAPROG_WHY_MAX	160

struct vtaprog;

/* ---- Programs ------------------------------------------------------------ */

/* vtaprog_core() - the configuration of @dev's core; returns 0, or -EPROTO if it is not valid */
int vtaprog_core(const struct vtadev *dev, struct vtaops_core *core);

/*
 * vtaprog_ring() - vtadev_queue_opts.ring_entries for a queue of @image: at least its steps, if
 * @dev's rings can be as long
 */
uint32_t vtaprog_ring(const struct vtadev *dev, const struct vtaimage *image);

/**
 * vtaprog_load() - load an image on a card
 * @dev: the card
 * @queue: a queue of @dev, which has no work; its ring has an entry for each COPY, FILL and RUN of
 *         the longest sequence of card steps (vtaprog_ring())
 * @image: the opened image; not needed after the call
 * @prog: out: the program
 * @why: out: after an error, a sentence with the reason
 *
 * Waits for the upload, for 60 s at most. Errors: -ENOEXEC (another configuration than the
 * card's), -ENOSPC (the queue's ring is too short), and those of vtadev_buf_alloc(),
 * vtadev_submit() and vtadev_wait().
 */
int vtaprog_load(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaimage *image,
		 struct vtaprog **prog, char why[VTAPROG_WHY_MAX]);

/**
 * vtaprog_twin() - load a program a second time, with the weights of the first
 * @dev: the card
 * @queue: as for vtaprog_load(); the queue of @first only if runs of the two do not overlap
 * @first: the loaded program, whose weights the twin reads: free it after the twin
 * @image: the same image, or a variant of it (vtaimage_variant()), which serves other shapes; not
 *         needed after the call
 * @prog: out: the twin, an ordinary program
 * @why: out: after an error, a sentence with the reason
 *
 * Allocates card memory only for an arena and the instructions, and none for constants. Errors:
 * -EINVAL (the image is another), and as vtaprog_load().
 */
int vtaprog_twin(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaprog *first,
		 const struct vtaimage *image, struct vtaprog **prog, char why[VTAPROG_WHY_MAX]);

#define VTAPROG_THREADS_MAX	64

/**
 * vtaprog_threads() - have several threads execute large steps of the CPU
 * @prog: the program, which has no run in progress
 * @threads: their number, with the caller's, at most VTAPROG_THREADS_MAX; 0: the processors that
 *           this process may use; 1: the caller's alone, as at the beginning
 *
 * Convolutions and matrix products are computed in parts, which changes no bit of the outputs. The
 * threads belong to this program, not to its twins, wait between steps, block all signals, and end
 * with it. If the system has fewer threads, there are fewer. Errors: -EINVAL, -EBUSY, -ENOMEM; the
 * caller's thread is then alone.
 */
int vtaprog_threads(struct vtaprog *prog, unsigned int threads);

/* vtaprog_free() - free a program, whose descriptors must have completed, or NULL */
void vtaprog_free(struct vtaprog *prog);

/* vtaprog_tensors() - number of tensors */
uint32_t vtaprog_tensors(const struct vtaprog *prog);

/* vtaprog_tensor() - tensor @i, from 0, valid as long as the program; NULL if there is none */
const struct vtaimage_tensor *vtaprog_tensor(const struct vtaprog *prog, uint32_t i);

/**
 * vtaprog_map() - address of an input or output in host memory
 * @prog: the program
 * @i: number of the tensor
 * @ptr: out: its bytes, packed or plain as in vtaimage_tensor.layout
 *
 * Errors: -ENOENT (no such tensor, or an internal one), -ECHILD.
 */
int vtaprog_map(struct vtaprog *prog, uint32_t i, void **ptr);

/* vtaprog_bytes() - bytes of a tensor's values, plain and row-major */
size_t vtaprog_bytes(const struct vtaimage_tensor *tensor);

/**
 * vtaprog_put() - copy plain values to an input, packing them if its layout is packed
 * @prog: the program
 * @i: number of the tensor
 * @values: values, row-major, vtaprog_bytes() bytes
 *
 * Put every input before each run: a run may use an input's memory for other values when it has
 * read the input.
 *
 * Errors: as vtaprog_map().
 */
int vtaprog_put(struct vtaprog *prog, uint32_t i, const void *values);

/**
 * vtaprog_get() - copy plain values from an output, unpacking them if its layout is packed
 * @prog: the program
 * @i: number of the tensor
 * @values: out: values, row-major, vtaprog_bytes() bytes
 *
 * Errors: as vtaprog_map() and vtaprog_check(); the values are then undefined.
 */
int vtaprog_get(struct vtaprog *prog, uint32_t i, void *values);

/**
 * vtaprog_size() - the part of an output that is in use, where data decides it
 * @prog: the program, after a run
 * @i: number of the output
 * @dim: out: the dimension that the size is of; others are those of the shape
 *
 * The first so many of that dimension are valid; values lie as in the shape of vtaprog_tensor(),
 * which has the most that there can be. Returns a number from 0 to dims[*dim], to be trusted like
 * the values (vtaprog_check()). Errors: -ENODATA (the shape is the size), and as vtaprog_map().
 */
int64_t vtaprog_size(struct vtaprog *prog, uint32_t i, uint32_t *dim);

/**
 * vtaprog_check() - whether outputs read at vtaprog_map() are valid
 * @prog: the program
 *
 * After a card is lost, its buffers show zeros, possibly already between the
 * end of a run and the reading of its outputs. Call this after reading outputs. Returns 0 if they
 * are valid. Errors: -ENODEV (the card was lost: the outputs may be zeros), -EPROTO.
 */
int vtaprog_check(const struct vtaprog *prog);

/**
 * vtaprog_run() - run a program once, and wait for its end
 * @prog: the program
 * @timeout_ns: as for vtaprog_end()
 *
 * The same as vtaprog_begin() and vtaprog_end().
 */
int vtaprog_run(struct vtaprog *prog, int64_t timeout_ns);

/**
 * vtaprog_begin() - start a run
 * @prog: the program
 *
 * Executes the CPU steps before the first card step in the caller's thread, and submits the
 * first batch of card steps. Errors: -EBUSY (a run is in progress), and as vtadev_submit().
 */
int vtaprog_begin(struct vtaprog *prog);

/**
 * vtaprog_end() - execute the rest of a run, and wait for its end
 * @prog: the program
 * @timeout_ns: time-out in nanoseconds for the whole call, whose CPU steps it does not interrupt;
 *              negative: none
 *
 * Errors: -EINVAL (no run is in progress), and as vtadev_wait() and vtadev_submit(). After
 * -ETIMEDOUT and -EINTR the run is still in progress: call this again. After any other error
 * there is no run, and the outputs are undefined.
 */
int vtaprog_end(struct vtaprog *prog, int64_t timeout_ns);

/**
 * vtaprog_poll() - execute the rest of a run as far as possible without waiting
 * @prog: the program
 *
 * Returns 0 at the end of the run. Returns -ETIMEDOUT if the card is not done: when the queue's
 * eventfd (vtadev_queue_eventfd()) or vtadev_fd() is signalled, or after a second without
 * (vtadev_arm()), call this again. Other errors: as
 * vtaprog_end() and vtadev_arm().
 */
int vtaprog_poll(struct vtaprog *prog);

/**
 * vtaprog_submit() - start a run of a program without CPU steps
 * @prog: the program
 * @seq: out: sequence number in the queue at the end of the run, for vtadev_wait() or others
 *
 * Submits one batch of descriptors: copies of the inputs to the card, streams, and copies of the
 * outputs back. The caller makes sure that an earlier such run has ended. Errors: -EOPNOTSUPP (the
 * program has CPU steps), -EBUSY (a run of vtaprog_begin() is in progress), and as vtadev_submit().
 */
int vtaprog_submit(struct vtaprog *prog, uint64_t *seq);

/* ---- Profiles ------------------------------------------------------------ */

/* A place between two instructions of a stream: @insn is the first one behind it. */
struct vtaprog_cut {
	uint32_t stream, insn;
};

/**
 * struct vtaprog_span - the time of a part of a run
 * @step: number of its step in the image
 * @insn: number of the first instruction in the stream, if the step is a RUN; else 0
 * @insn_count: number of instructions, if the step is a RUN; else 0
 * @begin: ns of CLOCK_MONOTONIC; by the card's stamp, if the step is the card's
 * @end: likewise
 * @cycles: the engine's cycles between these, by the stamp; 0 for a step of the CPU
 */
struct vtaprog_span {
	uint32_t step;
	uint32_t insn, insn_count;
	int64_t begin, end;
	uint64_t cycles;
};

/**
 * vtaprog_profile() - load a program whose runs are recorded
 * @dev: the card
 * @queue: a queue of @dev, which has no work and, if there are @cuts, VTADEV_QUEUE_KEEP; its
 *         ring may be of any length
 * @image: the opened image; not needed after the call
 * @cuts: places where streams are cut, by rising stream and instruction; each part is a RUN,
 *        which continues with the core's state. A stream that vtaimage_work() fails for is not cut
 * @count: number of @cuts, or 0
 * @prog: out: the program
 * @why: out: after an error, a sentence with the reason
 *
 * Each descriptor has a stamp, so a run takes longer than that of vtaprog_load(). vtaprog_submit()
 * returns -EOPNOTSUPP for the program. Errors: -EINVAL (invalid @cuts), and as vtaprog_load(). A
 * run returns -EPROTO if the card has not written the stamps.
 */
int vtaprog_profile(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaimage *image,
		    const struct vtaprog_cut *cuts, uint32_t count, struct vtaprog **prog,
		    char why[VTAPROG_WHY_MAX]);

/**
 * vtaprog_spans() - the record of the last run
 * @prog: a program of vtaprog_profile(), whose last run has ended without an error
 * @spans: out: the record, in the order of execution, valid until the next run begins
 * @error_ns: out: the clocks of card and host are compared at least as exactly as this, in ns; 0 if
 *            the run had no step of the card; may be NULL
 *
 * Returns the number of spans; 0 for a program of another function.
 */
uint32_t vtaprog_spans(const struct vtaprog *prog, const struct vtaprog_span **spans,
		       int64_t *error_ns);

#ifdef __cplusplus
}
#endif

#endif /* VTAPROG_H */

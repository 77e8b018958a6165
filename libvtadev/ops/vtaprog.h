/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaprog.h - run program images (docs/program-image.md) with libvtadev
 *
 *	vtaprog_load(dev, queue, image, size, &prog, why);	// one upload
 *	vtaprog_map(prog, i, &input);		// values there, as vtaprog_tensor() says
 *	vtaprog_run(prog, timeout);		// inputs, launches, CPU steps, outputs
 *
 * What the card does without the CPU in between is one batch of descriptors, with one
 * doorbell: a network that is all on the card is one.
 *
 * A loaded program is used by one thread at a time, and has one run under way at a time:
 * its tensors have one place. For runs that overlap make a twin, on another queue of
 * the same context: the card copies for one while it computes for the other, and the CPU
 * steps of one run while the card has the other:
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

/* The core of a card, as the operators and images want it. */
int vtaprog_core(const struct vtadev *dev, struct vtaops_core *core);

/*
 * vtaprog_ring() - ring_entries for a queue that @image is loaded on: for all that the card
 * does of a run at once, as far as its rings go
 */
uint32_t vtaprog_ring(const struct vtadev *dev, const struct vtaimage *image);

/**
 * vtaprog_load() - bring an image onto a card
 * @dev: the card
 * @queue: of it; idle, as the upload is waited for, and with a ring that holds what
 *         the card does of a run at once: a descriptor for each copy and launch
 * @image: the file's bytes; not needed afterwards
 * @size: how many
 * @prog: out: the program
 * @why: out: what is wrong
 *
 * Errors: -EINVAL (no good image), -ENOEXEC (for a card with another
 * configuration), -ENOSPC (the queue's ring is too short), and what allocating,
 * uploading and waiting may return; @why has a sentence in each case.
 */
int vtaprog_load(struct vtadev *dev, struct vtadev_queue *queue, const void *image, size_t size,
		 struct vtaprog **prog, char why[VTAPROG_WHY_MAX]);

/**
 * vtaprog_twin() - another place for runs of a loaded program
 * @dev: the card
 * @queue: of it, and not the first's; as for vtaprog_load()
 * @first: the program, which the weights are read from: free it after the twin
 * @image: the same file's bytes; not needed afterwards
 * @size: how many
 * @prog: out: the twin, a program as any
 * @why: out: what is wrong
 *
 * Takes card memory for an arena and the instructions alone. Errors: as vtaprog_load().
 */
int vtaprog_twin(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaprog *first,
		 const void *image, size_t size, struct vtaprog **prog,
		 char why[VTAPROG_WHY_MAX]);

/* vtaprog_free() - the queue must be done with it; NULL is allowed */
void vtaprog_free(struct vtaprog *prog);

/* vtaprog_tensors() - how many there are, by vtaprog_tensor()'s numbers */
uint32_t vtaprog_tensors(const struct vtaprog *prog);

/* vtaprog_tensor() - tensor @i; valid as long as the program */
const struct vtaimage_tensor *vtaprog_tensor(const struct vtaprog *prog, uint32_t i);

/**
 * vtaprog_map() - the host's memory of an input or output
 * @prog: the program
 * @i: the tensor
 * @ptr: out: its bytes, packed or plain as the tensor's layout says
 *
 * Errors: -ENOENT (no such tensor, or an internal one).
 */
int vtaprog_map(struct vtaprog *prog, uint32_t i, void **ptr);

/* vtaprog_bytes() - bytes of a tensor's values, plain and row-major */
size_t vtaprog_bytes(const struct vtaimage_tensor *tensor);

/**
 * vtaprog_put() - copy plain values to an input's place, packed if its layout says so
 * @prog: the program
 * @i: the tensor
 * @values: vtaprog_bytes() of them
 *
 * Errors: as vtaprog_map().
 */
int vtaprog_put(struct vtaprog *prog, uint32_t i, const void *values);

/**
 * vtaprog_get() - copy plain values from an output's place
 * @prog: the program
 * @i: the tensor
 * @values: room for vtaprog_bytes()
 *
 * Errors: as vtaprog_map() and vtaprog_check(); then the values mean nothing.
 */
int vtaprog_get(struct vtaprog *prog, uint32_t i, void *values);

/**
 * vtaprog_check() - whether what was read at vtaprog_map() is what the card wrote
 * @prog: the program
 *
 * When a card is lost, the memory of its programs shows zeros from then on, also between the
 * end of a run and the reading of its outputs. Call it after that. Errors: -ENODEV (the card
 * was lost: what was read may mean nothing), -EPROTO.
 */
int vtaprog_check(const struct vtaprog *prog);

/**
 * vtaprog_run() - run once, to the end
 * @prog: the program
 * @timeout_ns: for all of it; -1 for no limit
 *
 * vtaprog_begin() and vtaprog_end() in one.
 */
int vtaprog_run(struct vtaprog *prog, int64_t timeout_ns);

/**
 * vtaprog_begin() - start a run
 * @prog: the program
 *
 * Does the CPU steps in front, in the caller's thread, and submits what the card does
 * then. Errors: -EBUSY (a run is under way), and as vtadev_submit().
 */
int vtaprog_begin(struct vtaprog *prog);

/**
 * vtaprog_end() - wait for a run and do the rest of it
 * @prog: the program
 * @timeout_ns: for all waiting; -1 for no limit
 *
 * Errors: -EINVAL (no run is under way), and as vtadev_wait() and vtadev_submit(). After
 * -ETIMEDOUT and -EINTR the run is still under way: call it again. After any other error
 * there is no run, and the outputs mean nothing.
 */
int vtaprog_end(struct vtaprog *prog, int64_t timeout_ns);

/**
 * vtaprog_poll() - do what can be done of a run now
 * @prog: the program
 *
 * As vtaprog_end() without waiting, but that after -ETIMEDOUT the queue's eventfd
 * (vtadev_queue_eventfd()) is signalled to call this again. Errors: also those of vtadev_arm().
 */
int vtaprog_poll(struct vtaprog *prog);

/**
 * vtaprog_submit() - start a run that is the card's alone
 * @prog: the program
 * @seq: out: what to wait for, with vtadev_wait() or in other ways
 *
 * For programs without CPU steps: one batch of descriptors, the inputs to the card, the
 * launch, the outputs back. Errors: -EOPNOTSUPP (it has CPU steps), -EBUSY (a run that
 * vtaprog_begin() started is under way), and as vtadev_submit().
 */
int vtaprog_submit(struct vtaprog *prog, uint64_t *seq);

#ifdef __cplusplus
}
#endif

#endif /* VTAPROG_H */

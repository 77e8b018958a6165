/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaprog.h - run program images (docs/program-image.md) with libvtadev
 *
 *	vtaprog_load(dev, queue, image, size, &prog, why);	// one upload
 *	vtaprog_map(prog, i, &input);		// vtaops_pack_act() there
 *	vtaprog_submit(prog, &seq);		// one batch: inputs, launch, outputs
 *	vtadev_wait(queue, seq, timeout);	// then vtaops_unpack_act()
 *
 * A loaded program is used by one thread at a time, and has one run under way at
 * a time: its tensors have one place. For runs that overlap, load it again.
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

/**
 * vtaprog_load() - bring an image onto a card
 * @dev: the card
 * @queue: of it; idle, as the upload is waited for, and with a ring that holds a
 *         run: a descriptor for each input and output, and one more
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
 * @ptr: out: its bytes, packed
 *
 * Errors: -ENOENT (no such tensor, or an internal one).
 */
int vtaprog_map(struct vtaprog *prog, uint32_t i, void **ptr);

/**
 * vtaprog_submit() - run once
 * @prog: the program
 * @seq: out: what to wait for
 *
 * One batch of descriptors: the inputs to the card, the launch, the outputs back.
 * Errors: as vtadev_submit().
 */
int vtaprog_submit(struct vtaprog *prog, uint64_t *seq);

#ifdef __cplusplus
}
#endif

#endif /* VTAPROG_H */

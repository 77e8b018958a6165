/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prog.h - a loaded program, and the record of its runs
 */
#ifndef VTADEV_PROG_IMPL_H
#define VTADEV_PROG_IMPL_H

#include <stdbool.h>

#include "vtaprog.h"

/* A CPU step, with addresses. */
struct kernel_step {
	uint32_t kernel;
	union vtacpu_params params;
	void *io[VTACPU_OPERANDS_MAX];
	void *scratch;
	/* For several threads (prog_threads.c); none: it is run as it is. */
	struct vtacpu_part *parts;
	unsigned int part_count;
	size_t scratch_bytes;		/* of each */
};

/* Steps [first, first + count) of descs, or of kernels. */
struct part {
	bool card;
	uint32_t first, count;
	uint32_t span;		/* of the first one, if runs are recorded */
};

struct vtaprog {
	struct vtaops_core core;
	struct vtadev_queue *queue;
	struct vtadev_buf *model, *arena;	/* card memory; each may be NULL */
	/* Of a twin, whose model and constants are another's: the streams, placed for its arena. */
	bool twin;
	struct vtadev_buf *insns;
	uint32_t *streams;			/* where each is: device addresses */
	struct vtadev_buf *host;		/* may be NULL, and map */
	uint8_t *map, *consts;
	uint32_t consts_bytes;
	struct vtaimage_tensor *tensors;
	uint32_t count;
	struct vta_desc *descs;
	struct kernel_step *kernels;
	uint32_t kernel_count;
	struct crew *crew;			/* NULL: one thread */
	void *scratch;				/* of the crew's parts */
	struct part *parts;
	uint32_t part_count;
	/* A run under way: the part that the card has, and what to wait for. */
	bool running;
	uint32_t part;
	uint64_t seq;
	struct profile *profile;		/* NULL: runs are not recorded */
};

/* ---- prog_threads.c ---- */

/* Runs a kernel, by all threads of the program. */
void threads_run(struct vtaprog *prog, const struct kernel_step *k);
/* Ends the threads. */
void threads_free(struct vtaprog *prog);
/* Returns true if the CPU's steps of a run take longer than to wake a thread for them. */
bool threads_pay(const struct vtaprog *prog);

/* ---- vtaprog.c ---- */

/*
 * Returns true if vtaprog_poll() has something to do: the card has done its part of a run under
 * way, or has failed. If not, an event will report it.
 */
bool prog_ready(struct vtaprog *prog);

/* ---- profile.c ---- */

/* A record of the last run. */
struct profile {
	const struct vtaprog_cut *cuts;		/* while the program is loaded */
	uint32_t cut_count;
	struct vtadev_buf *stamps;		/* one for each descriptor */
	const struct vta_stamp *stamp;
	struct vtaprog_span *spans;		/* of descriptors and kernels, in order */
	uint64_t room;				/* spans that there will be */
	uint32_t count;
	int64_t submitted;			/* CLOCK_MONOTONIC, before the last doorbell */
	int64_t low, high;			/* CLOCK_MONOTONIC is so far ahead of the card's */
};

/* Checks @cuts, which exist until the program is loaded. */
int profile_new(const struct vtaimage *image, const struct vtaprog_cut *cuts, uint32_t count,
		struct profile **profile);
void profile_free(struct profile *profile);

/* The cuts of a stream that may be cut, and their number; 0 without a profile. */
uint32_t profile_cuts(const struct profile *profile, const struct vtaimage *image,
		      uint32_t stream, const struct vtaprog_cut **cuts);

/* Appends a span; there is room for each step and each cut. */
void profile_add(struct profile *profile, uint32_t step, uint32_t insn, uint32_t insn_count);

/* Gives each of @count descriptors its stamp. */
int profile_stamp(struct vtadev *dev, struct profile *profile, struct vta_desc *descs,
		  uint32_t count);

/* Of a run: at its begin, when @part of the card has completed, and at its end. */
void profile_begin(struct profile *profile);
int profile_take(struct vtaprog *prog, const struct part *part);
void profile_end(struct vtaprog *prog);

#endif /* VTADEV_PROG_IMPL_H */

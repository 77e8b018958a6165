/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * job.h - work for the compute engine that takes as long as is asked for
 *
 * A job is a RUN of one GEMM on scratchpads that read as zero, so it loads and
 * stores nothing: its time is the engine's alone.
 */
#ifndef TESTS_BENCH_JOB_H
#define TESTS_BENCH_JOB_H

#include "bench.h"
#include "vta_isa.h"

#define JOB_INSNS	2

struct job {
	struct vtadev_buf *stream;
	struct vta_isa_insn insns[JOB_INSNS];	/* of the stream, by this machine's byte order */
	uint64_t uops;		/* rounded up from those asked for */
	struct vta_desc desc;
};

void job_make(struct vtadev *dev, uint64_t uops, struct job *job);
void job_free(struct job *job);

/* Micro-ops per ns, by the card's stamps, when nothing comes between. */
double job_uops_per_ns(struct vtadev *dev, struct vtadev_queue *queue);

#endif /* TESTS_BENCH_JOB_H */

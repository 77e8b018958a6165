// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>

#include "job.h"

/* Micro-ops of a GEMM's innermost loop, and the most rounds of the others. */
#define UOPS		32u
#define ITER_MAX	16383u
#define CALIBRATE	200000u
#define REPEATS		9u

static struct vta_isa_insn gemm(const struct vtadev_info *info, uint64_t outer, uint64_t inner)
{
	const struct vta_isa_config config = VTA_ISA_CONFIG_OF(info);
	const struct vta_isa_shape shape = vta_isa_shape(&config);

	return vta_isa_pack_loop(&shape, 0, &(struct vta_isa_loop) {
		.uop_end = UOPS, .iter_out = (uint32_t)outer, .iter_in = (uint32_t)inner,
	});
}

void job_make(struct vtadev *dev, uint64_t uops, struct job *job)
{
	uint64_t rounds = (uops + UOPS - 1) / UOPS;
	uint64_t outer = rounds / ITER_MAX + 1, inner = (rounds + outer - 1) / outer;
	uint64_t words[2 * JOB_INSNS];

	if (outer > ITER_MAX)
		must(-EINVAL, "a job of that many micro-ops");
	job->insns[0] = gemm(vtadev_info(dev), outer, inner);
	job->insns[1] = vta_isa_pack_finish(0);
	for (unsigned int i = 0; i < 2 * JOB_INSNS; i++)
		words[i] = htole64(job->insns[i / 2].word[i % 2]);
	must(vtadev_buf_alloc(dev, sizeof(words), VTADEV_HOST, &job->stream), "a stream");
	must(vtadev_buf_write(job->stream, 0, words, sizeof(words)), "writing a stream");
	job->uops = outer * inner * UOPS;
	job->desc = vtadev_desc_run(vtadev_buf_addr(job->stream), JOB_INSNS, 0);
}

void job_free(struct job *job)
{
	vtadev_buf_free(job->stream);
}

double job_uops_per_ns(struct vtadev *dev, struct vtadev_queue *queue)
{
	struct vtadev_buf *stamps;
	struct samples samples = { .count = 0 };
	struct vta_stamp stamp;
	struct job job;
	uint64_t seq;

	job_make(dev, CALIBRATE, &job);
	must(vtadev_buf_alloc(dev, sizeof(stamp), VTADEV_HOST, &stamps), "memory for stamps");
	vtadev_desc_stamp(&job.desc, vtadev_buf_addr(stamps));
	for (unsigned int i = 0; i < REPEATS; i++) {
		must(vtadev_submit(queue, &job.desc, 1, &seq), "submitting");
		must(vtadev_wait(queue, seq, -1), "waiting");
		must(vtadev_buf_read(stamps, 0, &stamp, sizeof(stamp)), "reading a stamp");
		sample(&samples, (double)(le64toh(stamp.end) - le64toh(stamp.start)));
	}
	vtadev_buf_free(stamps);
	job_free(&job);
	return (double)job.uops / times_in(&samples).least;
}

// SPDX-License-Identifier: Apache-2.0
/* A program's CPU steps by several threads: the parts of each kernel, made once. */
#include <errno.h>
#include <stdlib.h>

#include "crew.h"
#include "prog.h"

_Static_assert(VTAPROG_THREADS_MAX == CREW_THREADS_MAX, "vtaprog.h has the crew's limit");

/* Memory to work in is not more because a machine has many processors. */
#define SCRATCH_MAX	((uint64_t)64 << 20)
/* Work (struct vtacpu_need) that takes longer than to wake a thread. */
#define WORK_LEAST	500000u

static void clear_parts(struct vtaprog *prog)
{
	for (uint32_t i = 0; i < prog->kernel_count; i++) {
		free(prog->kernels[i].parts);
		prog->kernels[i].parts = NULL;
		prog->kernels[i].part_count = 0;
	}
	free(prog->scratch);
	prog->scratch = NULL;
}

void threads_free(struct vtaprog *prog)
{
	clear_parts(prog);
	crew_free(prog->crew);
	prog->crew = NULL;
}

/* Makes the parts of a kernel, if it has several; @most becomes the scratch memory at least. */
static int make_parts(struct kernel_step *k, unsigned int threads, size_t *most)
{
	struct vtacpu_need need;
	unsigned int n;

	if (vtacpu_need(k->kernel, &k->params, &need))
		return -EPROTO;		/* it was checked when the image was opened */
	n = vtacpu_parts(k->kernel, &k->params, &need, threads);
	k->scratch_bytes = ((size_t)need.scratch + VTAIMAGE_HOST_ALIGN - 1) /
			   VTAIMAGE_HOST_ALIGN * VTAIMAGE_HOST_ALIGN;
	while (n > 1 && n * k->scratch_bytes > SCRATCH_MAX)
		n--;
	if (n < 2)
		return 0;
	k->parts = calloc(n, sizeof(*k->parts));
	if (!k->parts)
		return -ENOMEM;
	k->part_count = n;
	for (unsigned int i = 0; i < n; i++)
		vtacpu_part(k->kernel, &k->params, &need, k->io, i, n, &k->parts[i]);
	*most = n * k->scratch_bytes > *most ? n * k->scratch_bytes : *most;
	return 0;
}

int vtaprog_threads(struct vtaprog *prog, unsigned int threads)
{
	size_t most = VTAIMAGE_HOST_ALIGN;
	int err = 0;

	if (threads > VTAPROG_THREADS_MAX)
		return -EINVAL;
	if (prog->running)
		return -EBUSY;
	threads_free(prog);
	if (!threads)
		threads = crew_processors();
	if (threads < 2)
		return 0;
	for (uint32_t i = 0; i < prog->kernel_count && !err; i++)
		err = make_parts(&prog->kernels[i], threads, &most);
	prog->scratch = err ? NULL : aligned_alloc(VTAIMAGE_HOST_ALIGN, most);
	if (!err && !prog->scratch)
		err = -ENOMEM;
	if (!err)
		err = crew_new(threads, &prog->crew);
	if (err)
		threads_free(prog);
	return err;
}

bool threads_pay(const struct vtaprog *prog)
{
	struct vtacpu_need need;
	uint64_t work = 0;

	for (uint32_t i = 0; i < prog->kernel_count && work < WORK_LEAST; i++)
		if (!vtacpu_need(prog->kernels[i].kernel, &prog->kernels[i].params, &need))
			work += need.work;
	return work >= WORK_LEAST;
}

/* The parts of a kernel that are run, each with memory of its own to work in */
struct shared {
	const struct kernel_step *kernel;
	char *scratch;
};

static void run_part(void *arg, unsigned int i)
{
	const struct shared *s = arg;
	const struct vtacpu_part *part = &s->kernel->parts[i];

	vtacpu_run(part->kernel, &part->params, part->io,
		   s->scratch + i * s->kernel->scratch_bytes);
}

void threads_run(struct vtaprog *prog, const struct kernel_step *k)
{
	struct shared shared = { k, prog->scratch };

	if (k->part_count)
		crew_run(prog->crew, run_part, &shared, k->part_count);
	else
		vtacpu_run(k->kernel, &k->params, k->io, k->scratch);
}

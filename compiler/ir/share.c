// SPDX-License-Identifier: Apache-2.0
/* A kernel in parts, as many as there are threads without work. */
#include <stdlib.h>

#include "crew.h"
#include "kernel.h"

/* A large network has no more memory to work in because the machine has many processors. */
#define SCRATCH_MAX	((size_t)64 << 20)

struct shared {
	struct vtacpu_part parts[CREW_THREADS_MAX];
	char *scratch;
	size_t scratch_bytes;		/* of each */
};

static size_t scratch_of_part(const struct vtac_call *call)
{
	return ((size_t)call->need.scratch + 63) & ~(size_t)63;
}

unsigned int vtac_shared_parts(const struct vtac_call *call, unsigned int threads)
{
	unsigned int n = vtacpu_parts(call->kernel, &call->p, &call->need,
				      threads < CREW_THREADS_MAX ? threads : CREW_THREADS_MAX);

	while (n > 1 && n * scratch_of_part(call) > SCRATCH_MAX)
		n--;
	return n;
}

static void run_part(void *arg, unsigned int i)
{
	struct shared *s = arg;
	const struct vtacpu_part *part = &s->parts[i];

	vtacpu_run(part->kernel, &part->params, part->io, s->scratch + i * s->scratch_bytes);
}

/* Memory for @n parts; one at least is there if any is. */
static char *make_scratch(unsigned int *n, size_t bytes)
{
	char *scratch = aligned_alloc(64, *n * bytes + 64);

	if (scratch || *n == 1)
		return scratch;
	*n = 1;
	return aligned_alloc(64, bytes + 64);
}

int vtac_run_parts(const struct vtac_call *call, struct crew *crew, unsigned int n,
		   void *const *io)
{
	struct shared s = { .scratch_bytes = scratch_of_part(call) };

	s.scratch = make_scratch(&n, s.scratch_bytes);
	if (!s.scratch)
		return -1;
	if (n > 1) {
		for (unsigned int i = 0; i < n; i++)
			vtacpu_part(call->kernel, &call->p, &call->need, io, i, n, &s.parts[i]);
		crew_run(crew, run_part, &s, n);
	} else {
		vtacpu_run(call->kernel, &call->p, io, s.scratch);
	}
	free(s.scratch);
	return 0;
}

int vtac_run_shared(const struct vtac_call *call, struct crew *crew, void *const *io)
{
	return vtac_run_parts(call, crew, vtac_shared_parts(call, 1 + crew_idle(crew)), io);
}

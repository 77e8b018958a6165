// SPDX-License-Identifier: Apache-2.0
/* A kernel's parts, by threads that are started for them. */
#include <pthread.h>
#include <sched.h>

#include "kernel.h"

#define THREADS_MAX	16u
/* A large network has no more memory to work in because the machine has many processors. */
#define SCRATCH_MAX	((size_t)64 << 20)

struct part {
	struct vtacpu_part part;
	void *scratch;
};

unsigned int vtac_threads(void)
{
	unsigned int n = 1;
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set))
		n = (unsigned int)CPU_COUNT(&set);
	return n < THREADS_MAX ? n : THREADS_MAX;
}

static size_t scratch_of_part(const struct vtac_call *call)
{
	return ((size_t)call->need.scratch + 63) & ~(size_t)63;
}

static unsigned int parts_of(const struct vtac_call *call, unsigned int threads)
{
	unsigned int n = vtacpu_parts(call->kernel, &call->p, &call->need, threads);

	while (n > 1 && n * scratch_of_part(call) > SCRATCH_MAX)
		n--;
	return n;
}

size_t vtac_shared_scratch(const struct vtac_call *call, unsigned int threads)
{
	return parts_of(call, threads) * scratch_of_part(call);
}

static void *run(void *arg)
{
	const struct part *part = arg;

	vtacpu_run(part->part.kernel, &part->part.params, part->part.io, part->scratch);
	return NULL;
}

void vtac_run_shared(const struct vtac_call *call, unsigned int threads, void *const *io,
		     void *scratch)
{
	unsigned int n = parts_of(call, threads), started = 1;
	struct part parts[THREADS_MAX];
	pthread_t ids[THREADS_MAX];

	if (n < 2) {
		vtacpu_run(call->kernel, &call->p, io, scratch);
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		vtacpu_part(call->kernel, &call->p, &call->need, io, i, n, &parts[i].part);
		parts[i].scratch = (char *)scratch + i * scratch_of_part(call);
	}
	while (started < n && !pthread_create(&ids[started], NULL, run, &parts[started]))
		started++;
	run(&parts[0]);
	for (unsigned int i = started; i < n; i++)	/* no more threads can be had */
		run(&parts[i]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(ids[i], NULL);
}

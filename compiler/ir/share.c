// SPDX-License-Identifier: Apache-2.0
/*
 * A convolution's output channels, shared out among threads. A kernel adds up each output in the
 * same order whatever else it computes: the number of threads does not change a bit.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "kernel.h"

#define THREADS_MAX	16u
/* To start a thread takes as long as some ten thousand multiplications. */
#define WORK_MIN	1000000u
/* Each thread brings all inputs into its order: with fewer channels that is much of its work. */
#define CHANNELS_MIN	16u
/* A large network has no more memory to work in because the machine has many processors. */
#define SCRATCH_MAX	((size_t)64 << 20)

struct part {
	const struct vtac_call *call;
	union vtacpu_params p;
	void *io[VTACPU_OPERANDS_MAX], *scratch;
};

unsigned int vtac_threads(void)
{
	unsigned int n = 1;
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set))
		n = (unsigned int)CPU_COUNT(&set);
	return n < THREADS_MAX ? n : THREADS_MAX;
}

static const struct vtacpu_window *window_of(const struct vtac_call *call)
{
	return call->kernel == VTACPU_CONV_F32 ? &call->p.conv_f32.win :
	       call->kernel == VTACPU_CONV_I8 ? &call->p.conv_i8.win : NULL;
}

static size_t scratch_of_part(const struct vtac_call *call)
{
	return ((size_t)call->need.scratch + 63) & ~(size_t)63;
}

static unsigned int parts_of(const struct vtac_call *call, unsigned int threads)
{
	const struct vtacpu_window *w = window_of(call);
	unsigned int n = threads;

	if (!w || w->n > 1 || w->groups > 1 || call->need.work < WORK_MIN)
		return 1;
	while (n > 1 && (n > w->oc / CHANNELS_MIN || n * scratch_of_part(call) > SCRATCH_MAX))
		n--;
	return n > 1 ? n : 1;
}

size_t vtac_shared_scratch(const struct vtac_call *call, unsigned int threads)
{
	return parts_of(call, threads) * scratch_of_part(call);
}

/* Output channels @first up to @end. All operands but the input have these as first dimension. */
static void narrow(struct part *part, uint32_t first, uint32_t end)
{
	const struct vtacpu_need *need = &part->call->need;
	uint32_t all = window_of(part->call)->oc;

	for (uint32_t i = 1; i < need->operands; i++)
		if (part->io[i])
			part->io[i] = (char *)part->io[i] + need->bytes[i] / all * first;
	if (part->call->kernel == VTACPU_CONV_F32)
		part->p.conv_f32.win.oc = end - first;
	else
		part->p.conv_i8.win.oc = end - first;
}

static void *run(void *arg)
{
	const struct part *part = arg;

	vtacpu_run(part->call->kernel, &part->p, part->io, part->scratch);
	return NULL;
}

void vtac_run_shared(const struct vtac_call *call, unsigned int threads, void *const *io,
		     void *scratch)
{
	unsigned int n = parts_of(call, threads), started = 1;
	struct part parts[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	uint64_t oc;

	if (n < 2) {
		vtacpu_run(call->kernel, &call->p, io, scratch);
		return;
	}
	oc = window_of(call)->oc;
	for (unsigned int i = 0; i < n; i++) {
		parts[i] = (struct part){ .call = call, .p = call->p };
		memcpy(parts[i].io, io, call->need.operands * sizeof(*io));
		parts[i].scratch = (char *)scratch + i * scratch_of_part(call);
		narrow(&parts[i], (uint32_t)(oc * i / n), (uint32_t)(oc * (i + 1) / n));
	}
	while (started < n && !pthread_create(&ids[started], NULL, run, &parts[started]))
		started++;
	run(&parts[0]);
	for (unsigned int i = started; i < n; i++)	/* no more threads can be had */
		run(&parts[i]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(ids[i], NULL);
}

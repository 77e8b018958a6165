// SPDX-License-Identifier: Apache-2.0
/*
 * spin.c - how long to spin before sleeping
 */
#include <endian.h>

#include "arch.h"
#include "queue.h"
#include "spin.h"

/* Of the waits that are expected to be long, one in so many spins all the same. */
#define PROBE		16
/* A job longer than expected counts by this part. */
#define SLOWLY		8
/* Longer times are as good as this, and do not overflow when multiplied. */
#define JOB_NS_MAX	1000000000ull

void spin_init(struct spin *spin, int64_t max_ns, uint64_t rate)
{
	spin->max_ns = max_ns;
	spin->rate = rate;
	atomic_init(&spin->job_ns, 0);
	atomic_init(&spin->skipped, 0);
}

static uint64_t card_ns(const struct vtadev_queue *queue)
{
	return le64toh(__atomic_load_n(&queue->status->status.time, __ATOMIC_RELAXED));
}

static uint64_t seen(const struct vtadev_queue *queue)
{
	return atomic_load_explicit(&queue->seen, memory_order_relaxed);
}

int64_t spin_begin(struct vtadev_queue *queue, uint64_t seq, struct spin_start *start)
{
	struct spin *spin = &queue->spin;
	uint64_t expected = atomic_load_explicit(&spin->job_ns, memory_order_relaxed);

	start->ticks = arch_ticks();
	start->seq = seen(queue);
	start->card_ns = card_ns(queue);
	if (!spin->max_ns)
		return 0;
	/* Nothing, if another thread has just seen it; else at most 2^16 descriptors. */
	expected *= start->seq < seq ? seq - start->seq : 0;
	if (expected > (uint64_t)spin->max_ns &&
	    atomic_fetch_add_explicit(&spin->skipped, 1, memory_order_relaxed) < PROBE - 1)
		return 0;
	atomic_store_explicit(&spin->skipped, 0, memory_order_relaxed);
	return spin->max_ns;
}

int64_t spin_elapsed(const struct vtadev_queue *queue, const struct spin_start *start)
{
	int64_t ticks = (int64_t)(arch_ticks() - start->ticks), scaled;

	/* A counter that went back, on another processor, was read just now. */
	if (ticks < 0)
		return 0;
	if (__builtin_mul_overflow(ticks, 1000, &scaled))
		return INT64_MAX;
	return scaled / (int64_t)queue->spin.rate;
}

/*
 * Both times can only be too long: the program's has the way back from sleep in
 * it, the card's the time before the first descriptor was there.
 */
void spin_end(struct vtadev_queue *queue, const struct spin_start *start)
{
	uint64_t job = (uint64_t)spin_elapsed(queue, start);
	uint64_t by_card = card_ns(queue) - start->card_ns;
	uint64_t done = seen(queue) - start->seq;
	uint64_t known;

	if (!done || done > queue->entries)	/* another thread checked meanwhile */
		return;
	if (by_card < job)
		job = by_card;
	job = job / done + 1;
	if (job > JOB_NS_MAX)
		job = JOB_NS_MAX;
	known = atomic_load_explicit(&queue->spin.job_ns, memory_order_relaxed);
	if (known && job > known)
		job = known + (job - known + SLOWLY - 1) / SLOWLY;
	atomic_store_explicit(&queue->spin.job_ns, job, memory_order_relaxed);
}

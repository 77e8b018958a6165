// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads - queues of threads, and one that threads share, for a trace of them
 *
 * Ends without destroying the shared queue. Prints how many descriptors were submitted;
 * exits with 1 on any error.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "vtadev.h"

#define THREADS	4	/* of each kind */
#define ROUNDS	200
#define MOST	7	/* descriptors at a time */

static struct vtadev *dev;
static struct vtadev_queue *shared;

static void check(int err)
{
	if (!err)
		return;
	fprintf(stderr, "threads: %s\n", vtadev_strerror(err));
	exit(1);
}

/* Create, use and destroy queues, which a trace has to follow. */
static void *with_own_queue(void *arg)
{
	const struct vtadev_queue_opts opts = { .ring_entries = 16 };
	struct vta_desc descs[MOST];
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	uint64_t seq;

	for (unsigned int i = 0; i < MOST; i++)
		descs[i] = vtadev_desc_nop();
	check(vtadev_queue_create(dev, &opts, &queue));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		check(vtadev_submit_wait(queue, descs, i % MOST + 1, -1, &seq));
		if (i % 10)
			continue;
		check(vtadev_wait(queue, seq, -1));
		check(vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &buf));
		vtadev_buf_free(buf);
	}
	check(vtadev_sync(queue, -1));
	*(uint64_t *)arg = vtadev_submitted(queue);
	vtadev_queue_destroy(queue);
	return NULL;
}

static void *with_shared_queue(void *arg)
{
	struct vta_desc nop = vtadev_desc_nop();

	for (unsigned int i = 0; i < ROUNDS; i++)
		check(vtadev_submit_wait(shared, &nop, 1, -1, NULL));
	*(uint64_t *)arg = 0;
	return NULL;
}

int main(void)
{
	const struct vtadev_queue_opts opts = {
		.ring_entries = 8, .flags = VTADEV_QUEUE_SHARED
	};
	uint64_t counts[2 * THREADS], all;
	pthread_t threads[2 * THREADS];

	check(vtadev_open(NULL, &dev));
	check(vtadev_queue_create(dev, &opts, &shared));
	for (unsigned int i = 0; i < 2 * THREADS; i++)
		check(-pthread_create(&threads[i], NULL, i % 2 ? with_own_queue : with_shared_queue,
				      &counts[i]));
	for (unsigned int i = 0; i < 2 * THREADS; i++)
		check(-pthread_join(threads[i], NULL));
	check(vtadev_sync(shared, -1));
	all = vtadev_submitted(shared);
	for (unsigned int i = 0; i < 2 * THREADS; i++)
		all += counts[i];
	printf("%llu\n", (unsigned long long)all);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_threads.c - threads that submit to, wait for and poll one queue; under
 * ThreadSanitizer, which reports whatever two of them do to the same memory
 * without order
 *
 * The card is a thread, too, but not to the sanitizer: what it sees is ordered by
 * barriers that only processors know of.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../frame.h"
#include "fake.h"

enum { ENTRIES = 16, THREADS = 3, BATCHES = 3000, WAIT_EACH = 50 };

static struct vtadev *dev;
static struct vtadev_queue *q;
static atomic_bool stop;
static atomic_uint odd;		/* answers that may not be */

static void check(int err)
{
	if (err)
		atomic_fetch_add(&odd, 1);
}

__attribute__((no_sanitize("thread")))
static void *play_card(void *arg)
{
	uint32_t done = 0;

	while (!atomic_load(&stop)) {
		uint32_t rung = le32toh(__atomic_load_n(fake.doorbell, __ATOMIC_ACQUIRE));

		if (rung == done)
			sched_yield();
		while (done != rung)
			__atomic_store_n(&fake.status->status.seq, htole64(++done),
					 __ATOMIC_RELEASE);
	}
	return arg;
}

static void submit(unsigned int n, uint64_t *seq)
{
	struct vta_desc descs[3];
	int err;

	for (unsigned int i = 0; i < n; i++)
		descs[i] = vtadev_desc_nop();
	do {
		err = vtadev_submit(q, descs, n, seq);
		if (err == -EAGAIN)
			sched_yield();
	} while (err == -EAGAIN);
	check(err);
}

/* Spins: the kernel is not asked. */
static void wait_for(uint64_t seq, unsigned int how)
{
	struct vtadev_fence fences[2] = { { q, seq }, { q, seq > 1 ? seq - 1 : 1 } };

	if (how == 0)
		check(vtadev_wait(q, seq, -1));
	else if (how == 1)
		check(vtadev_wait_all(fences, 2, -1, -1, NULL));
	else
		check(vtadev_wait_any(fences, 2, -1, -1, NULL));
}

static void *submit_batches(void *arg)
{
	uint64_t seq = 0;

	for (unsigned int i = 0; i < BATCHES; i++) {
		submit(1 + i % 3, &seq);
		if (i % WAIT_EACH == 0)
			wait_for(seq, i / WAIT_EACH % 3);
		if (i % 7 == 0)
			vtadev_kick(q);
	}
	return arg;
}

static void *look_on(void *arg)
{
	uint64_t done = 0, last = 0;

	for (unsigned int i = 0; !atomic_load(&stop); i++) {
		uint64_t submitted;

		check(vtadev_completed(q, &done));
		submitted = vtadev_submitted(q);
		check(done < last || done > submitted);
		last = done;
		if (submitted && i % WAIT_EACH == 0)
			wait_for(submitted, i / WAIT_EACH % 3);
		if (submitted)
			check(vtadev_done(q, submitted) < 0);
		sched_yield();
	}
	return arg;
}

/* As many threads submit as poll. */
static void run(uint32_t flags, unsigned int submitters)
{
	struct vtadev_queue_opts opts = {
		.ring_entries = ENTRIES, .spin_ns = INT32_MAX, .flags = flags,
	};
	pthread_t threads[THREADS], lookers[THREADS], card;
	unsigned int i;

	dev = fake_open();
	assert_int_equal(vtadev_queue_create(dev, &opts, &q), 0);
	fake.calls = 0;
	atomic_store(&stop, false);
	atomic_store(&odd, 0);
	assert_int_equal(pthread_create(&card, NULL, play_card, NULL), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&lookers[i], NULL, look_on, NULL), 0);
	for (i = 0; i < submitters; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, submit_batches, NULL), 0);
	for (i = 0; i < submitters; i++)
		pthread_join(threads[i], NULL);
	check(vtadev_sync(q, -1));
	assert_int_equal(vtadev_submitted(q), (uint64_t)submitters * BATCHES * 2);
	atomic_store(&stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(lookers[i], NULL);
	pthread_join(card, NULL);
	assert_int_equal(odd, 0);
	assert_int_equal(fake.calls, 0);
	vtadev_queue_destroy(q);
	vtadev_close(dev);
}

TEST_F(FAKE, one_submits_others_look_on)
{
	run(0, 1);
}

TEST_F(FAKE, several_share_a_queue)
{
	run(VTADEV_QUEUE_SHARED, THREADS);
}

TEST_F(FAKE, several_share_a_traced_queue)
{
	char path[] = "/tmp/vta-threads.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(setenv("VTADEV_TRACE", path, 1), 0);
	run(VTADEV_QUEUE_SHARED, THREADS);
	unsetenv("VTADEV_TRACE");
	assert_int_equal(unlink(path), 0);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_full.c - full rings, queues that several threads submit to, and what a
 * submit does not do: allocate, lock
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "fake.h"

#define ENTRIES	8u

static struct vtadev *dev;
static struct vtadev_queue *q;

/* Of the library's calls only, by the linker's --wrap. */
static atomic_uint allocations, locks;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	allocations++;
	return __real_realloc(ptr, size);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	locks++;
	return __real_pthread_mutex_lock(mutex);
}

static struct vtadev_queue *queue_with(uint32_t flags)
{
	struct vtadev_queue_opts opts = {
		.ring_entries = ENTRIES, .spin_ns = -1, .flags = flags,
	};
	struct vtadev_queue *queue = NULL;

	assert_int_equal(vtadev_queue_create(dev, &opts, &queue), 0);
	return queue;
}

static int setup(void **state)
{
	fake_setup(state);
	dev = fake_open();
	q = queue_with(0);
	return 0;
}

static int teardown(void **state)
{
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define QUEUE void *unused, setup, teardown

static void fill_ring(struct vtadev_queue *queue)
{
	struct vta_desc descs[ENTRIES];

	for (unsigned int i = 0; i < ENTRIES; i++)
		descs[i] = vtadev_desc_fill(0x1000, i, 4);
	assert_int_equal(vtadev_submit(queue, descs, ENTRIES, NULL), 0);
	fake.calls = 0;
}

static void complete_asked(struct fake *f)
{
	fake_complete(f->wait.seq);
}

TEST_F(QUEUE, unknown_flags)
{
	struct vtadev_queue_opts opts = { .flags = 8 };
	struct vtadev_queue *queue;

	assert_int_equal(vtadev_queue_create(dev, &opts, &queue), -EINVAL);
}

TEST_F(QUEUE, waits_for_the_descriptors_that_make_room)
{
	struct vta_desc descs[3] = { 0 };
	uint64_t seq = 99;

	fill_ring(q);
	fake_complete(1);
	fake.on_wait = complete_asked;
	assert_int_equal(vtadev_submit(q, descs, 3, &seq), -EAGAIN);
	assert_int_equal(fake.calls, 0);
	assert_int_equal(vtadev_submit_wait(q, descs, 3, -1, &seq), 0);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.wait.seq, 3);
	assert_true(fake.wait.deadline_ns != VTA_WAIT_FOREVER);	/* see queue_ring_again() */
	assert_int_equal(seq, ENTRIES + 3);
	/* Descriptors that have not completed are still in the ring. */
	assert_int_equal(le32toh(fake.ring[3].fill.pattern), 3);

	assert_int_equal(vtadev_wait_room(q, ENTRIES, -1), 0);
	assert_int_equal(fake.wait.seq, ENTRIES + 3);
	fake.calls = 0;
	assert_int_equal(vtadev_wait_room(q, ENTRIES, 0), 0);
	assert_int_equal(vtadev_submit_wait(q, descs, 1, 0, NULL), 0);
	assert_int_equal(fake.calls, 0);
}

TEST_F(QUEUE, gives_up_waiting_for_room)
{
	struct vta_desc desc = { 0 };
	uint64_t seq = 99;

	fill_ring(q);
	fake.wait_errno = ETIMEDOUT;
	assert_int_equal(vtadev_submit_wait(q, &desc, 1, 1000, &seq), -ETIMEDOUT);
	assert_int_equal(vtadev_submit_wait(q, &desc, 1, 0, &seq), -ETIMEDOUT);
	assert_int_equal(vtadev_wait_room(q, 1, 1000), -ETIMEDOUT);
	assert_int_equal(seq, 99);
	assert_int_equal(le32toh(*fake.doorbell), ENTRIES);
	fake.wait_errno = EIO;
	assert_int_equal(vtadev_submit_wait(q, &desc, 1, -1, &seq), -EIO);
	assert_int_equal(vtadev_submit_wait(q, &desc, 0, -1, &seq), -EINVAL);
	assert_int_equal(vtadev_submit_wait(q, &desc, ENTRIES + 1, -1, &seq), -EINVAL);
	assert_int_equal(vtadev_wait_room(q, ENTRIES + 1, -1), -EINVAL);
	assert_int_equal(vtadev_wait_room(q, 0, -1), -EINVAL);
}

TEST_F(QUEUE, blocking_queue)
{
	struct vtadev_queue *queue = queue_with(VTADEV_QUEUE_BLOCK);
	struct vtadev_buf *buf;
	struct vta_desc desc = { 0 };
	uint64_t seq;

	assert_int_equal(vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &buf), 0);
	fill_ring(queue);
	fake.on_wait = complete_asked;
	assert_int_equal(vtadev_submit(queue, &desc, 1, &seq), 0);
	assert_int_equal(seq, ENTRIES + 1);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.wait.seq, 1);
	assert_int_equal(vtadev_fill(queue, buf, 0, 0, 4096, &seq), 0);
	assert_int_equal(seq, ENTRIES + 2);
	assert_int_equal(fake.wait.seq, 2);
	fake.on_wait = NULL;
	fake.wait_errno = ENODEV;
	assert_int_equal(vtadev_submit(queue, &desc, 1, &seq), -ENODEV);
	vtadev_buf_free(buf);
	vtadev_queue_destroy(queue);
}

/* The card is reset when @seq has completed, before the caller has read. */
static void lost_before_the_read(struct fake *f)
{
	fake_complete(f->wait.seq);
	f->status->status.state = htole32(VTA_QUEUE_DISABLED);
}

TEST_F(QUEUE, read_after)
{
	struct vtadev_buf *buf;
	uint32_t value = 7;
	char out[4];

	assert_int_equal(vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &buf), 0);
	assert_int_equal(vtadev_buf_write(buf, 8, &value, 4), 0);
	fill_ring(q);
	fake.on_wait = complete_asked;
	assert_int_equal(vtadev_read_after(q, 3, buf, 8, out, 4), 0);
	assert_int_equal(fake.wait.seq, 3);	/* and not the last */
	assert_memory_equal(out, &value, 4);
	assert_int_equal(vtadev_read_after(q, 3, buf, 4094, out, 4), -ERANGE);
	fake.on_wait = NULL;
	fake.wait_errno = EIO;
	assert_int_equal(vtadev_read_after(q, 4, buf, 8, out, 4), -EIO);
	fake.wait_errno = 0;
	fake.on_wait = lost_before_the_read;
	assert_int_equal(vtadev_read_after(q, 4, buf, 8, out, 4), -ENODEV);
	vtadev_buf_free(buf);
}

TEST_F(QUEUE, download_of_a_lost_card)
{
	struct vtadev_buf *buf;
	char out[4];

	assert_int_equal(vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &buf), 0);
	fill_ring(q);
	fake.on_wait = lost_before_the_read;
	assert_int_equal(vtadev_download(q, buf, 0, out, 4), -ENODEV);
	vtadev_buf_free(buf);
}

/* ---- What the fast path does not do ---- */

static void launch_and_wait(struct vtadev_queue *queue)
{
	struct vta_desc descs[ENTRIES] = { 0 };
	struct vtadev_fence fence = { .queue = queue };
	uint64_t done;

	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(vtadev_submit(queue, descs, 1 + i % ENTRIES, &fence.seq), 0);
		fake_complete(fence.seq);
		assert_int_equal(vtadev_done(queue, fence.seq), 1);
		assert_int_equal(vtadev_wait(queue, fence.seq, -1), 0);
		assert_int_equal(vtadev_wait_any(&fence, 1, -1, -1, NULL), 0);
		assert_int_equal(vtadev_wait_room(queue, ENTRIES, -1), 0);
		assert_int_equal(vtadev_completed(queue, &done), 0);
	}
}

TEST_F(QUEUE, no_allocation_and_no_lock)
{
	allocations = 0;
	locks = 0;
	fake.calls = 0;
	launch_and_wait(q);
	assert_int_equal(allocations, 0);
	assert_int_equal(locks, 0);
	assert_int_equal(fake.calls, 0);
	/* Nor when it sleeps. */
	fill_ring(q);
	fake.on_wait = complete_asked;
	allocations = 0;
	assert_int_equal(vtadev_sync(q, -1), 0);
	assert_int_equal(allocations, 0);
	assert_int_equal(fake.calls, 1);
}

TEST_F(QUEUE, shared_queue_has_a_lock)
{
	struct vtadev_queue *queue = queue_with(VTADEV_QUEUE_SHARED);

	allocations = 0;
	locks = 0;
	launch_and_wait(queue);
	assert_int_equal(allocations, 0);
	assert_int_equal(locks, 100);
	vtadev_kick(queue);
	assert_int_equal(locks, 101);
	vtadev_queue_destroy(queue);
}

/* ---- Threads submit to one queue, another plays the card ---- */

enum { THREADS = 4, BATCHES = 50000 };

struct submitter {
	pthread_t thread;
	struct vtadev_queue *queue;
	uint32_t nr;
	uint64_t total;		/* descriptors */
	bool odd;
};

static atomic_bool stop;

static void *submit_batches(void *arg)
{
	struct submitter *s = arg;
	struct vta_desc descs[3];
	uint64_t seq, last = 0;

	for (uint32_t i = 0; i < BATCHES; i++) {
		unsigned int n = 1 + i % 3;
		int err;

		/* Each has its owner, its number, and how many are in a row. */
		for (unsigned int k = 0; k < n; k++)
			descs[k] = vtadev_desc_fill(s->nr, k << 8 | n, i);
		do {
			err = vtadev_submit(s->queue, descs, n, &seq);
			if (err == -EAGAIN)
				sched_yield();
			vtadev_kick(s->queue);
		} while (err == -EAGAIN);
		s->odd |= err || seq < last + n;
		last = seq;
		s->total += n;
	}
	return NULL;
}

/* Batches are whole, in a row, and the doorbell never goes back. */
static void *play_card(void *arg)
{
	uint32_t done = 0, in_row = 0;
	struct vta_desc first = { 0 };
	bool *odd = arg;

	while (!atomic_load(&stop) || le32toh(*fake.doorbell) != done) {
		uint32_t rung = le32toh(__atomic_load_n(fake.doorbell, __ATOMIC_ACQUIRE));
		struct vta_desc d;

		if (rung == done) {
			sched_yield();
			continue;
		}
		*odd |= rung - done > ENTRIES;
		memcpy(&d, &fake.ring[done % ENTRIES], sizeof(d));
		if (!in_row)
			first = d;
		*odd |= le32toh(d.fill.pattern) >> 8 != in_row;
		*odd |= d.fill.dst != first.fill.dst || d.fill.width != first.fill.width;
		in_row++;
		if (in_row >= (le32toh(d.fill.pattern) & 0xff))
			in_row = 0;
		fake_complete(++done);
	}
	return NULL;
}

TEST_F(QUEUE, threads_share_a_queue)
{
	struct vtadev_queue *queue = queue_with(VTADEV_QUEUE_SHARED);
	struct submitter s[THREADS];
	uint64_t total = 0;
	bool odd = false;
	pthread_t card;

	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&card, NULL, play_card, &odd), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		s[i] = (struct submitter){ .queue = queue, .nr = i };
		assert_int_equal(pthread_create(&s[i].thread, NULL, submit_batches, &s[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(s[i].thread, NULL);
		assert_false(s[i].odd);
		total += s[i].total;
	}
	atomic_store(&stop, true);
	pthread_join(card, NULL);
	assert_false(odd);
	assert_int_equal(vtadev_submitted(queue), total);
	vtadev_queue_destroy(queue);
}

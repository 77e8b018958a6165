// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_stress - threads of one file make random calls on each other's buffers and queues: every call
 * returns an allowed error or none, and nothing leaks
 */
#include <stdatomic.h>

#include "vta_harness.h"

enum { THREADS = 6, STEPS = 1500, SLOTS = 8 };

/* Handles in use, valid or stale; each thread takes any of them. */
static atomic_uint queues[SLOTS], buffers[SLOTS];
static _Atomic uint64_t offsets[SLOTS];

struct worker {
	pthread_t thread;
	int fd;
	unsigned int seed;
	int odd;	/* an error that is not allowed */
};

static void expect(struct worker *w, int err, const int *allowed)
{
	while (*allowed && err != *allowed)
		allowed++;
	if (err && !*allowed)
		w->odd = err;
}

static void make_queue(struct worker *w, unsigned int slot)
{
	static const int allowed[] = { -ENOSPC, 0 };
	struct vta_queue_create req = { .ring_order = slot };
	int err = card_ioctl(w->fd, VTA_IOCTL_QUEUE_CREATE, &req);

	expect(w, err, allowed);
	if (!err) {
		atomic_store(&queues[slot], req.queue);
		atomic_store(&offsets[slot], req.doorbell_offset);
	}
}

static void end_queue(struct worker *w, unsigned int slot)
{
	static const int allowed[] = { -ENOENT, 0 };
	struct vta_queue_destroy req = { .queue = atomic_load(&queues[slot]) };

	expect(w, card_ioctl(w->fd, VTA_IOCTL_QUEUE_DESTROY, &req), allowed);
}

static void wait_queue(struct worker *w, unsigned int slot)
{
	static const int allowed[] = { -ENOENT, -ETIMEDOUT, -EAGAIN, -EIO, 0 };
	struct vta_wait req = {
		.queue = atomic_load(&queues[slot]),
		.seq = 1 + slot % 3,
		.flags = slot & 1 ? VTA_WAIT_POLL : 0,
		.deadline_ns = now_ns() + 2000000,
	};

	expect(w, card_ioctl(w->fd, VTA_IOCTL_WAIT, &req), allowed);
}

static void make_buffer(struct worker *w, unsigned int slot)
{
	static const int allowed[] = { -EEXIST, -ENOSPC, 0 };
	struct vta_buf_alloc req = {
		.size = 4096u << (slot % 4),
		.flags = (slot & 1 ? VTA_BUF_CARD : 0) | (slot & 4 ? VTA_BUF_FIXED : 0),
		.addr = slot & 4 ? 0x10000000 + slot * 4096 : 0,
	};
	int err = card_ioctl(w->fd, VTA_IOCTL_BUF_ALLOC, &req);

	expect(w, err, allowed);
	if (!err) {
		atomic_store(&buffers[slot], req.handle);
		atomic_store(&offsets[slot], req.mmap_offset);
	}
}

static void end_buffer(struct worker *w, unsigned int slot)
{
	static const int allowed[] = { -ENOENT, 0 };
	struct vta_buf_free req = { .handle = atomic_load(&buffers[slot]) };

	expect(w, card_ioctl(w->fd, VTA_IOCTL_BUF_FREE, &req), allowed);
}

/* A buffer, or a doorbell that is rung; gone or not by now. */
static void touch_mapping(struct worker *w, unsigned int slot)
{
	volatile uint32_t *ptr;

	ptr = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd,
		   (off_t)atomic_load(&offsets[slot]));
	if ((void *)ptr == MAP_FAILED)
		return;
	*ptr = htole32(1);
	munmap((void *)ptr, 4096);
}

static void read_fault(struct worker *w, unsigned int slot)
{
	static const int allowed[] = { -ENOENT, 0 };
	struct vta_queue_fault fault = { .queue = atomic_load(&queues[slot]) };
	struct pollfd pfd = { .fd = w->fd, .events = POLLIN | POLLPRI };

	expect(w, card_ioctl(w->fd, VTA_IOCTL_FAULT, &fault), allowed);
	if (poll(&pfd, 1, 0) > 0 && pfd.revents & (POLLERR | POLLHUP))
		w->odd = -ENODEV;
}

static void *work(void *arg)
{
	static void (*const steps[])(struct worker *w, unsigned int slot) = {
		make_queue, end_queue, wait_queue, make_buffer, end_buffer, touch_mapping,
		read_fault,
	};
	struct worker *w = arg;

	for (unsigned int i = 0; i < STEPS && !w->odd; i++)
		steps[rand_r(&w->seed) % ARRAY_SIZE(steps)](w, rand_r(&w->seed) % SLOTS);
	return NULL;
}

FIXTURE(stress) { };
FIXTURE_SETUP(stress) { }
FIXTURE_TEARDOWN(stress) { }

/* Some 10,000 calls, on a machine that may do other things besides. */
TEST_F(stress, random_calls_of_threads_leak_nothing)
{
	struct usage before = card_usage();
	struct worker workers[THREADS];
	int fd = card_open();

	ASSERT_LE(0, fd);
	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker) { .fd = fd, .seed = i };
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].odd);
	}
	close(fd);
	EXPECT_TRUE(usage_is(&before));
}

TEST_HARNESS_MAIN

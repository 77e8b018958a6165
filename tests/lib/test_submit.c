// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_submit.c - queues: creation, the ring, the doorbell, a card that lies
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "fake.h"
#include "queue.h"

#define ENTRIES	8u

static struct vtadev *dev;
static struct vtadev_queue *q;

static int setup(void **state)
{
	fake_setup(state);
	dev = fake_open();
	q = fake_queue(dev, ENTRIES);
	return 0;
}

static int teardown(void **state)
{
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define QUEUE void *unused, setup, teardown

/* Descriptor that differs from others. */
static struct vta_desc marked(uint32_t mark)
{
	return vtadev_desc_fill(0x1000, mark, 4);
}

static int submit(unsigned int n, uint32_t mark, uint64_t *seq)
{
	struct vta_desc descs[ENTRIES + 1];

	for (unsigned int i = 0; i < n; i++)
		descs[i] = marked(mark + i);
	return vtadev_submit(q, descs, n, seq);
}

static uint32_t mark_at(unsigned int index)
{
	return le32toh(fake.ring[index].fill.pattern);
}

/* Set the queue's state as if @count descriptors had come and gone. */
static void advance_to(uint64_t count)
{
	atomic_store(&q->submitted, count);
	atomic_store(&q->seen, count);
	fake_complete(count);
}

TEST_F(QUEUE, numbers_and_doorbell)
{
	uint64_t seq = 99;

	assert_int_equal(submit(1, 100, &seq), 0);
	assert_int_equal(seq, 1);
	assert_int_equal(le32toh(*fake.doorbell), 1);
	assert_int_equal(submit(3, 101, &seq), 0);
	assert_int_equal(seq, 4);
	assert_int_equal(le32toh(*fake.doorbell), 4);
	assert_int_equal(vtadev_submitted(q), 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(mark_at(i), 100 + i);
	assert_int_equal(submit(1, 104, NULL), 0);	/* seq is optional */
}

TEST_F(QUEUE, count_of_descriptors)
{
	uint64_t seq = 99;

	assert_int_equal(submit(0, 0, &seq), -EINVAL);
	assert_int_equal(submit(ENTRIES + 1, 0, &seq), -EINVAL);
	assert_int_equal(seq, 99);
	assert_int_equal(submit(ENTRIES, 0, &seq), 0);
	assert_int_equal(seq, ENTRIES);
}

TEST_F(QUEUE, all_or_nothing)
{
	struct vta_desc before[ENTRIES];
	uint64_t seq = 99;

	assert_int_equal(submit(6, 100, NULL), 0);
	memcpy(before, fake.ring, sizeof(before));

	assert_int_equal(submit(3, 200, &seq), -EAGAIN);
	assert_int_equal(seq, 99);
	assert_int_equal(vtadev_submitted(q), 6);
	assert_int_equal(le32toh(*fake.doorbell), 6);
	assert_memory_equal(before, fake.ring, sizeof(before));

	assert_int_equal(submit(2, 200, &seq), 0);
	assert_int_equal(submit(1, 300, &seq), -EAGAIN);
	fake_complete(1);
	assert_int_equal(submit(1, 300, &seq), 0);
	assert_int_equal(seq, 9);
	assert_int_equal(mark_at(0), 300);
	assert_int_equal(mark_at(1), 101);	/* not done: not overwritten */
}

TEST_F(QUEUE, ring_wraps)
{
	assert_int_equal(submit(6, 100, NULL), 0);
	fake_complete(5);
	assert_int_equal(submit(5, 200, NULL), 0);	/* two at the end, three in front */
	assert_int_equal(mark_at(6), 200);
	assert_int_equal(mark_at(7), 201);
	assert_int_equal(mark_at(0), 202);
	assert_int_equal(mark_at(2), 204);
	assert_int_equal(mark_at(5), 105);
	assert_int_equal(le32toh(*fake.doorbell), 11);
	/* The ring ends where it ends. */
	assert_int_equal(fake.ring[ENTRIES].op_flags, 0);
}

TEST_F(QUEUE, numbers_beyond_32_bits)
{
	const uint64_t start = 0xfffffffeull;
	uint64_t seq, done;

	advance_to(start);
	assert_int_equal(submit(4, 100, &seq), 0);
	assert_int_equal(seq, start + 4);
	assert_int_equal(le32toh(*fake.doorbell), 2);
	assert_int_equal(mark_at(6), 100);
	assert_int_equal(mark_at(7), 101);
	assert_int_equal(mark_at(0), 102);
	assert_int_equal(vtadev_done(q, start + 1), 0);
	fake_complete(start + 3);
	assert_int_equal(vtadev_done(q, start + 3), 1);
	assert_int_equal(vtadev_done(q, start + 4), 0);
	assert_int_equal(vtadev_completed(q, &done), 0);
	assert_int_equal(done, start + 3);
}

TEST_F(QUEUE, completed_more_than_submitted)
{
	uint64_t done = 99;

	assert_int_equal(submit(2, 0, NULL), 0);
	fake_complete(3);
	assert_int_equal(vtadev_completed(q, &done), -EPROTO);
	assert_int_equal(done, 99);
	assert_int_equal(vtadev_done(q, 1), -EPROTO);
	assert_int_equal(vtadev_wait(q, 1, -1), -EPROTO);
	assert_int_equal(submit(1, 0, NULL), -EPROTO);
	assert_int_equal(le32toh(*fake.doorbell), 2);
	fake_complete(UINT64_MAX);
	assert_int_equal(submit(1, 0, NULL), -EPROTO);
}

TEST_F(QUEUE, completed_goes_back)
{
	uint64_t done;

	assert_int_equal(submit(4, 0, NULL), 0);
	fake_complete(3);
	assert_int_equal(vtadev_completed(q, &done), 0);
	fake_complete(2);
	assert_int_equal(vtadev_completed(q, &done), -EPROTO);
	assert_int_equal(submit(1, 0, NULL), -EPROTO);
}

TEST_F(QUEUE, unknown_state)
{
	fake_state((enum vta_queue_state)0xffffffff);
	assert_int_equal(submit(1, 0, NULL), -EPROTO);
	fake_state((enum vta_queue_state)3);
	assert_int_equal(submit(1, 0, NULL), -EPROTO);
}

TEST_F(QUEUE, halted_queue)
{
	uint64_t done;

	assert_int_equal(submit(4, 0, NULL), 0);
	fake_complete(2);
	fake_state(VTA_QUEUE_HALTED);
	assert_int_equal(submit(1, 0, NULL), -EIO);
	assert_int_equal(le32toh(*fake.doorbell), 4);
	assert_int_equal(vtadev_done(q, 2), 1);
	assert_int_equal(vtadev_done(q, 3), -EIO);
	assert_int_equal(vtadev_completed(q, &done), 0);
	assert_int_equal(done, 2);
}

TEST_F(QUEUE, reset_card)
{
	uint64_t done;

	assert_int_equal(submit(4, 0, NULL), 0);
	fake_complete(2);
	assert_int_equal(vtadev_completed(q, &done), 0);
	/* The kernel puts an empty page there. */
	memset(fake.status, 0, sizeof(*fake.status));
	assert_int_equal(submit(1, 0, NULL), -ENODEV);
	assert_int_equal(vtadev_completed(q, &done), -ENODEV);
	assert_int_equal(vtadev_done(q, 3), -ENODEV);
}

TEST_F(QUEUE, kick_rings_again)
{
	assert_int_equal(submit(2, 0, NULL), 0);
	*fake.doorbell = 0;
	vtadev_kick(q);
	assert_int_equal(le32toh(*fake.doorbell), 2);
	assert_int_equal(vtadev_submitted(q), 2);
}

/* In strict mode the kernel kills a thread for any call but read, write, exit. */
TEST_F(QUEUE, fast_path_has_no_system_call)
{
	uint64_t seq, done;
	int status;
	pid_t pid;

	/* The library does not notice, as it does fork(): the queue is the child's. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	assert_true(pid >= 0);
	if (!pid) {
		bool good = true;

		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(NO_SECCOMP);
		for (uint64_t i = 1; i <= 100; i++) {
			struct vta_desc d = vtadev_desc_nop();

			good &= !vtadev_submit(q, &d, 1, &seq) && seq == i;
			good &= !vtadev_done(q, seq);
			fake_complete(i);
			good &= vtadev_done(q, seq) == 1;
			good &= !vtadev_wait(q, seq, -1);
			good &= !vtadev_completed(q, &done) && done == i;
		}
		syscall(SYS_exit, good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_F(QUEUE, create_with_defaults)
{
	struct vtadev_queue *other;

	vtadev_queue_destroy(q);
	assert_int_equal(vtadev_queue_create(dev, NULL, &other), 0);
	assert_int_equal(fake.create.ring_order, 8);
	assert_int_equal(vtadev_queue_entries(other), 256);
	assert_int_equal(fake.create.priority, 0);
	assert_int_equal(fake.create.max_cycles, 0);
	vtadev_queue_destroy(other);

	q = fake_queue(dev, 65536);
	assert_int_equal(fake.create.ring_order, 16);
}

TEST_F(QUEUE, create_with_bad_options)
{
	static const struct vtadev_queue_opts bad[] = {
		{ .ring_entries = 3 },
		{ .ring_entries = 131072 },
		{ .ring_entries = UINT32_MAX },
		{ .priority = 4 },
	};
	struct vtadev_queue *other = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(vtadev_queue_create(dev, &bad[i], &other), -EINVAL);
	fake.fail = ENOSPC;
	assert_int_equal(vtadev_queue_create(dev, NULL, &other), -ENOSPC);
	fake.fail = 0;
	fake.bad_offset = 1;	/* mmap refuses it */
	assert_int_equal(vtadev_queue_create(dev, NULL, &other), -ENOMEM);
	assert_null(other);
	assert_int_equal(fake.queues, 1);
}

TEST_F(QUEUE, small_card_small_default)
{
	struct vtadev_queue *other;
	struct vtadev *small;

	fake.info.ring_order_max = 2;
	small = fake_open();
	assert_int_equal(vtadev_queue_create(small, NULL, &other), 0);
	assert_int_equal(fake.create.ring_order, 2);
	vtadev_queue_destroy(other);
	vtadev_close(small);
}

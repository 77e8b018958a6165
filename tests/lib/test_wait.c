// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_wait.c - waiting and arming: what the kernel is asked, and when it is not
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "../frame.h"
#include "fake.h"

static struct vtadev *dev;
static struct vtadev_queue *q;

static int setup(void **state)
{
	struct vta_desc descs[4];

	fake_setup(state);
	dev = fake_open();
	q = fake_queue(dev, 8);
	for (int i = 0; i < 4; i++)
		descs[i] = vtadev_desc_nop();
	assert_int_equal(vtadev_submit(q, descs, 4, NULL), 0);
	fake.calls = 0;
	return 0;
}

static int teardown(void **state)
{
	fake.fail = 0;
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define QUEUE void *unused, setup, teardown

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void complete_all(struct fake *f)
{
	(void)f;
	fake_complete(4);
}

TEST_F(QUEUE, already_done)
{
	fake_complete(3);
	assert_int_equal(vtadev_wait(q, 3, -1), 0);
	assert_int_equal(vtadev_wait(q, 0, -1), 0);
	assert_int_equal(fake.calls, 0);
}

TEST_F(QUEUE, asks_the_kernel)
{
	int64_t before = now_ns();

	fake.on_wait = complete_all;
	assert_int_equal(vtadev_wait(q, 4, 1000000000), 0);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.wait.queue, 7);
	assert_int_equal(fake.wait.flags, 0);
	assert_int_equal(fake.wait.seq, 4);
	assert_in_range(fake.wait.deadline_ns, before + 1000000000, now_ns() + 1000000000);
}

TEST_F(QUEUE, deadlines)
{
	fake.wait_errno = ETIMEDOUT;
	assert_int_equal(vtadev_wait(q, 4, -1), -ETIMEDOUT);
	assert_true(fake.wait.deadline_ns == VTA_WAIT_FOREVER);
	assert_int_equal(vtadev_wait(q, 4, INT64_MAX), -ETIMEDOUT);
	assert_true(fake.wait.deadline_ns == VTA_WAIT_FOREVER);
	assert_int_equal(vtadev_wait(q, 4, 0), -ETIMEDOUT);
	assert_true(fake.wait.deadline_ns <= now_ns());
}

TEST_F(QUEUE, continues_after_signals)
{
	fake.interrupts = 3;
	fake.on_wait = complete_all;
	assert_int_equal(vtadev_wait(q, 4, -1), 0);
	assert_int_equal(fake.calls, 4);
}

TEST_F(QUEUE, passes_errors_on)
{
	static const int errors[] = { ETIMEDOUT, EIO, ENODEV, ENOENT };

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.wait_errno = errors[i];
		assert_int_equal(vtadev_wait(q, 4, -1), -errors[i]);
		assert_int_equal(vtadev_sync(q, -1), -errors[i]);
		assert_int_equal(vtadev_arm(q, 4), -errors[i]);
	}
}

TEST_F(QUEUE, never_submitted)
{
	assert_int_equal(vtadev_wait(q, 5, -1), -EINVAL);
	assert_int_equal(vtadev_done(q, UINT64_MAX), -EINVAL);
	assert_int_equal(vtadev_arm(q, 5), -EINVAL);
	assert_int_equal(fake.calls, 0);
}

TEST_F(QUEUE, halted)
{
	fake_complete(2);
	fake_state(VTA_QUEUE_HALTED);
	assert_int_equal(vtadev_wait(q, 2, -1), 0);
	assert_int_equal(vtadev_wait(q, 3, -1), -EIO);
	assert_int_equal(vtadev_arm(q, 3), -EIO);
	assert_int_equal(fake.calls, 0);
}

/* The kernel says done, and the page does not. */
TEST_F(QUEUE, kernel_and_card_disagree)
{
	assert_int_equal(vtadev_wait(q, 4, -1), -EPROTO);
	assert_int_equal(vtadev_arm(q, 4), -EPROTO);
}

static void complete_too_many(struct fake *f)
{
	(void)f;
	fake_complete(5);
}

TEST_F(QUEUE, wild_number_while_waiting)
{
	fake.on_wait = complete_too_many;
	assert_int_equal(vtadev_wait(q, 4, -1), -EPROTO);
}

TEST_F(QUEUE, sync_waits_for_all)
{
	fake.on_wait = complete_all;
	fake_complete(3);
	assert_int_equal(vtadev_sync(q, -1), 0);
	assert_int_equal(fake.wait.seq, 4);
}

TEST_F(QUEUE, arm)
{
	fake.wait_errno = EAGAIN;
	assert_int_equal(vtadev_arm(q, 4), 0);
	assert_int_equal(fake.wait.flags, VTA_WAIT_POLL);
	assert_int_equal(fake.wait.seq, 4);

	fake.wait_errno = 0;	/* done between the look and the call */
	fake.on_wait = complete_all;
	assert_int_equal(vtadev_arm(q, 4), 1);

	fake.calls = 0;
	assert_int_equal(vtadev_arm(q, 4), 1);
	assert_int_equal(fake.calls, 0);
}

/* POLLIN would stay set without another call to the kernel. */
TEST_F(QUEUE, event_is_dropped)
{
	fake.wait_errno = EAGAIN;
	assert_int_equal(vtadev_arm(q, 3), 0);
	fake.wait_errno = 0;
	fake.calls = 0;

	fake_complete(2);
	assert_int_equal(vtadev_wait(q, 2, -1), 0);
	assert_int_equal(fake.calls, 0);	/* number 3 stays armed */
	fake_complete(3);
	assert_int_equal(vtadev_wait(q, 1, -1), 0);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.wait.flags, 0);
	assert_int_equal(fake.wait.seq, 3);
	assert_int_equal(vtadev_wait(q, 3, -1), 0);
	assert_int_equal(fake.calls, 1);	/* once is enough */

	fake.wait_errno = EAGAIN;
	assert_int_equal(vtadev_arm(q, 4), 0);
	fake.wait_errno = 0;
	fake.calls = 0;
	fake_complete(4);
	assert_int_equal(vtadev_arm(q, 4), 1);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.wait.flags, 0);
}

TEST_F(QUEUE, fault_record)
{
	struct vtadev_fault fault;

	fake.fault = (struct vta_queue_fault){
		.queue = 7, .reason = VTA_FAULT_PAGE, .access = VTA_ACCESS_LOAD,
		.addr = 0x1000, .seq = 3, .insn_index = 5,
		.insn = { 1, 2, 3, 4 }, .time = 99,
	};
	assert_int_equal(vtadev_fault(q, &fault), 0);
	assert_int_equal(fault.queue, 7);
	assert_int_equal(fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(fault.access, VTA_ACCESS_LOAD);
	assert_int_equal(fault.addr, 0x1000);
	assert_int_equal(fault.seq, 3);
	assert_int_equal(fault.insn_index, 5);
	assert_int_equal(fault.insn[3], 4);
	assert_int_equal(fault.time, 99);
	fake.fail = ENODEV;
	assert_int_equal(vtadev_fault(q, &fault), -ENODEV);
}

/* With a spin that outlasts the other thread the kernel is never asked. */
static void *complete_soon(void *arg)
{
	struct timespec moment = { .tv_nsec = 2000000 };

	nanosleep(&moment, NULL);
	fake_complete(1);
	return arg;
}

TEST_F(QUEUE, spins_first)
{
	struct vtadev_queue_opts opts = { .ring_entries = 8, .spin_ns = INT32_MAX };
	struct vta_desc d = vtadev_desc_nop();
	struct vtadev_queue *spinner;
	unsigned int calls;
	pthread_t thread;
	int err, tries = 0;

	/* The other thread may come later than the spin ends, but not each time. */
	do {
		fake_complete(0);
		assert_int_equal(vtadev_queue_create(dev, &opts, &spinner), 0);
		assert_int_equal(vtadev_submit(spinner, &d, 1, NULL), 0);
		fake.calls = 0;
		assert_int_equal(pthread_create(&thread, NULL, complete_soon, NULL), 0);
		err = vtadev_wait(spinner, 1, -1);
		calls = fake.calls;
		assert_int_equal(pthread_join(thread, NULL), 0);
		vtadev_queue_destroy(spinner);
	} while (calls && ++tries < 5);
	assert_int_equal(err, 0);
	assert_int_equal(calls, 0);
}

/* One thread submits, another plays the card, a third waits for each. */
#define ROUNDS	20000

static void *submitter(void *arg)
{
	struct vta_desc d = vtadev_desc_nop();

	for (int i = 0; i < ROUNDS; i++)
		while (vtadev_submit(arg, &d, 1, NULL) == -EAGAIN)
			sched_yield();
	return NULL;
}

static void *card(void *arg)
{
	uint32_t done = 0;

	while (done < ROUNDS) {
		if (__atomic_load_n(fake.doorbell, __ATOMIC_ACQUIRE) == done)
			sched_yield();
		else
			fake_complete(++done);
	}
	return arg;
}

TEST_F(QUEUE, looked_at_while_submitted_to)
{
	struct vtadev_queue *queue = fake_queue(dev, 8);
	pthread_t threads[2];
	uint64_t done = 0, last = 0;

	assert_int_equal(pthread_create(&threads[0], NULL, submitter, queue), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, card, NULL), 0);
	while (done < ROUNDS) {
		assert_int_equal(vtadev_completed(queue, &done), 0);
		assert_true(done >= last);
		assert_true(done <= vtadev_submitted(queue));
		last = done;
	}
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_int_equal(pthread_join(threads[1], NULL), 0);
	vtadev_queue_destroy(queue);
}

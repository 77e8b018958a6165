// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_help.c - threads that wait without a time-out execute the streams that they wait for
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../frame.h"
#include "flaky.h"
#include "rig.h"
#include "vta_desc.h"

#define FINISH		3u
#define LONG		60000000000ll	/* nothing takes as long */
#define STREAMS		20u
#define ROUNDS		200u
/* A thread of the device may be quicker, also often. */
#define ROUNDS_MAX	100000u
#define THREADS		4u

static struct flaky *flaky;		/* of the plugin */
static struct vtadev_buf *code;

static int flaky_setup(void **state)
{
	const uint32_t insn[4] = { FINISH };

	flaky = flaky ? flaky : flaky_find();
	memset(flaky, 0, FLAKY_DEVICES * sizeof(*flaky));
	if (rig_setup(state))
		return -1;
	code = buffer(PAGE, VTADEV_HOST);
	return vtadev_buf_write(code, 0, insn, sizeof(insn));
}

static int flaky_teardown(void **state)
{
	vtadev_buf_free(code);
	return rig_teardown(state);
}

static int one_core_setup(void **state)
{
	rig_device = "flaky:0:cores=1";
	return flaky_setup(state);
}

static int many_cores_setup(void **state)
{
	rig_device = "flaky:0:cores=3";
	return flaky_setup(state);
}

#define ONE_CORE void *unused, one_core_setup, flaky_teardown
#define MANY_CORES void *unused, many_cores_setup, flaky_teardown

static atomic_uint asleep;		/* threads of the device */

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	int ret;

	atomic_fetch_add(&asleep, 1);
	ret = __real_pthread_cond_wait(cond, lock);
	atomic_fetch_sub(&asleep, 1);
	return ret;
}

static atomic_uint waits;		/* that sleep */

int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	atomic_fetch_add(&waits, 1);
	return __real_pthread_cond_timedwait(cond, lock, until);
}

static struct vta_desc run(void)
{
	return vtadev_desc_run(vtadev_buf_addr(code), 1, 0);
}

static bool is_own(void)
{
	return atomic_load(&flaky[0].thread) == gettid();
}

/* Until a stream of the queue has run in this thread. */
static void until_own(void)
{
	unsigned int rounds = 0;

	do {
		works(run());
		assert_true(++rounds < ROUNDS_MAX);
	} while (!is_own());
}

TEST_F(ONE_CORE, a_wait_executes_its_stream)
{
	until_own();
}

/* A RUN cannot be handed over when the time is up. */
TEST_F(ONE_CORE, a_wait_with_a_time_out_does_not)
{
	until_own();
	for (unsigned int i = 0; i < STREAMS; i++) {
		assert_int_equal(vtadev_wait(q, submit(q, run()), LONG), 0);
		assert_false(is_own());
	}
	atomic_store(&flaky[0].hold, true);
	assert_int_equal(vtadev_wait(q, submit(q, run()), 1), -ETIMEDOUT);
	atomic_store(&flaky[0].hold, false);
	assert_int_equal(vtadev_sync(q, LONG), 0);
}

/* The device executes RUNs that the wait leaves in the queue. */
static void leave_some(void)
{
	uint64_t first, last;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct vta_desc descs[4] = { run(), run(), vtadev_desc_nop(), run() };

		assert_int_equal(vtadev_submit(q, descs, 4, &last), 0);
		first = last - 3 + i % 3;
		assert_int_equal(vtadev_wait(q, first, FOREVER), 0);
		assert_int_equal(vtadev_wait(q, last, LONG), 0);
	}
	assert_int_equal(atomic_load(&flaky[0].runs), 3 * ROUNDS);
}

TEST_F(ONE_CORE, what_a_wait_leaves_is_executed)
{
	leave_some();
}

TEST_F(MANY_CORES, what_a_wait_leaves_is_executed_by_one_of_many)
{
	leave_some();
}

static atomic_int waiter;

static void *wait_for_first(void *arg)
{
	struct vta_desc descs[2] = { run(), run() };
	uint64_t last;

	atomic_store(&waiter, gettid());
	if (vtadev_submit(arg, descs, 2, &last))
		return arg;
	return vtadev_wait(arg, last - 1, FOREVER) ? arg : NULL;
}

/* Also if all threads of the device have looked in vain, and sleep, when the wait ends. */
TEST_F(ONE_CORE, what_a_wait_leaves_wakes_a_thread)
{
	unsigned int rounds = 0;
	pthread_t thread;
	void *wrong;
	bool helps;

	do {
		atomic_store(&flaky[0].hold, true);
		assert_int_equal(pthread_create(&thread, NULL, wait_for_first, q), 0);
		while (atomic_load(&flaky[0].runs) < 2 * rounds + 1)
			sched_yield();
		helps = atomic_load(&flaky[0].thread) == atomic_load(&waiter);
		while (helps && atomic_load(&asleep) < VTA_UNITS)
			sched_yield();
		atomic_store(&flaky[0].hold, false);
		assert_int_equal(pthread_join(thread, &wrong), 0);
		assert_null(wrong);
		assert_int_equal(vtadev_sync(q, LONG), 0);
		assert_true(++rounds < ROUNDS_MAX);
	} while (!helps);
}

/* The device goes on, whose threads know the wait. */
static void cancel_and_join(pthread_t thread)
{
	void *result;

	assert_int_equal(pthread_cancel(thread), 0);
	atomic_store(&flaky[0].hold, false);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	works(run());
}

TEST_F(ONE_CORE, a_thread_that_executes_is_not_cancelled)
{
	unsigned int rounds = 0, runs;
	pthread_t thread;
	bool helps;

	do {
		runs = atomic_load(&flaky[0].runs);
		atomic_store(&flaky[0].hold, true);
		assert_int_equal(pthread_create(&thread, NULL, wait_for_first, q), 0);
		while (atomic_load(&flaky[0].runs) == runs)
			sched_yield();
		helps = atomic_load(&flaky[0].thread) == atomic_load(&waiter);
		cancel_and_join(thread);
		assert_true(++rounds < ROUNDS_MAX);
	} while (!helps);
}

static void *wait_long(void *arg)
{
	return vtadev_sync(arg, LONG) ? arg : NULL;
}

TEST_F(ONE_CORE, a_wait_that_sleeps_is_not_cancelled)
{
	unsigned int before = atomic_load(&waits);
	pthread_t thread;

	atomic_store(&flaky[0].hold, true);
	submit(q, run());
	assert_int_equal(pthread_create(&thread, NULL, wait_long, q), 0);
	while (atomic_load(&waits) == before)
		sched_yield();
	cancel_and_join(thread);
}

/* Some waits have a time-out, so that the device's threads execute as well. */
static void *use(void *arg)
{
	struct vta_desc desc = run();

	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t seq;

		if (vtadev_submit(arg, &desc, 1, &seq) ||
		    vtadev_wait(arg, seq, i % 4 ? FOREVER : LONG))
			return arg;
	}
	return NULL;
}

/* Users of a queue each: @cores of them side by side at the most. */
static void use_side_by_side(unsigned int cores)
{
	struct vtadev_queue *queues[THREADS];
	pthread_t threads[THREADS];
	void *wrong;

	for (unsigned int i = 0; i < THREADS; i++) {
		queues[i] = queue(0);
		assert_int_equal(pthread_create(&threads[i], NULL, use, queues[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
		vtadev_queue_destroy(queues[i]);
	}
	assert_int_equal(atomic_load(&flaky[0].runs), THREADS * ROUNDS);
	assert_in_range(atomic_load(&flaky[0].sides), 1, cores);
}

TEST_F(ONE_CORE, one_run_at_a_time)
{
	use_side_by_side(1);
}

TEST_F(MANY_CORES, no_more_runs_than_cores)
{
	use_side_by_side(3);
}

static void *wait_for_last(void *arg)
{
	return vtadev_sync(arg, FOREVER) ? arg : NULL;
}

/* Both wait while the only core is busy: its thread sees to it that they are executed. */
TEST_F(ONE_CORE, waits_for_a_busy_core)
{
	struct vtadev_queue *other = queue(0);
	pthread_t threads[2];
	void *wrong;

	for (unsigned int i = 0; i < ROUNDS / 10; i++) {
		atomic_store(&flaky[0].hold, true);
		submit(q, run());
		submit(other, run());
		assert_int_equal(pthread_create(&threads[0], NULL, wait_for_last, q), 0);
		assert_int_equal(pthread_create(&threads[1], NULL, wait_for_last, other), 0);
		while (atomic_load(&flaky[0].runs) < 2 * i + 1)
			usleep(10);
		atomic_store(&flaky[0].hold, false);
		for (unsigned int t = 0; t < 2; t++) {
			assert_int_equal(pthread_join(threads[t], &wrong), 0);
			assert_null(wrong);
		}
	}
	assert_int_equal(atomic_load(&flaky[0].sides), 1);
	vtadev_queue_destroy(other);
}

TEST_F(ONE_CORE, a_wait_executes_a_stream_that_faults)
{
	unsigned int rounds = 0;

	do {
		until_own();
		atomic_store(&flaky[0].fault, VTA_FAULT_BOUNDS);
		atomic_store(&flaky[0].faults, 1);
		assert_int_equal(fails(run()).reason, VTA_FAULT_BOUNDS);
		assert_int_equal(vtadev_recover(q), 0);
		assert_true(++rounds < ROUNDS_MAX);
	} while (!is_own());
	works(run());
}

TEST_F(ONE_CORE, a_wait_executes_the_last_stream_of_a_device)
{
	until_own();
	atomic_store(&flaky[0].lose, 1);
	assert_int_equal(vtadev_wait(q, submit(q, run()), FOREVER), -ENODEV);
}

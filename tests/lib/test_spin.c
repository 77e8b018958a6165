// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_spin.c - when a queue spins, and what it learns
 */
#include <endian.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../frame.h"
#include "clock.h"
#include "fake.h"
#include "queue.h"

#define SPIN_NS		50000

static struct vtadev *dev;
static struct vtadev_queue *q;

static int setup(void **state)
{
	struct vtadev_queue_opts opts = { .ring_entries = 64, .spin_ns = SPIN_NS };
	struct vta_desc descs[64];

	fake_setup(state);
	dev = fake_open();
	assert_int_equal(vtadev_queue_create(dev, &opts, &q), 0);
	for (int i = 0; i < 64; i++)
		descs[i] = vtadev_desc_nop();
	assert_int_equal(vtadev_submit(q, descs, 64, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define QUEUE void *unused, setup, teardown

static void pause_ns(long ns)
{
	struct timespec moment = { .tv_nsec = ns };

	nanosleep(&moment, NULL);
}

static void complete_at(uint64_t seq, uint64_t card_ns)
{
	__atomic_store_n(&fake.status->status.time, htole64(card_ns), __ATOMIC_RELAXED);
	fake_complete(seq);
}

/* A wait for @n more that takes 2 ms, and by the card's clock @card_ns. */
static void wait_took(uint64_t n, uint64_t card_ns)
{
	uint64_t seq = le64toh(fake.status->status.seq) + n;
	uint64_t before = le64toh(fake.status->status.time);
	struct spin_start start;

	spin_begin(q, seq, &start);
	pause_ns(2000000);
	complete_at(seq, before + card_ns);
	assert_int_equal(vtadev_done(q, seq), 1);
	spin_end(q, &start);
}

static int64_t would_spin(uint64_t n)
{
	struct spin_start start;

	atomic_store(&q->spin.skipped, 0);
	return spin_begin(q, le64toh(fake.status->status.seq) + n, &start);
}

TEST_F(QUEUE, spins_when_it_knows_nothing)
{
	assert_int_equal(would_spin(1), SPIN_NS);
	assert_int_equal(would_spin(64), SPIN_NS);
}

TEST_F(QUEUE, short_jobs_are_spun_for)
{
	wait_took(1, 10000);
	assert_int_equal(would_spin(1), SPIN_NS);
	assert_int_equal(would_spin(4), SPIN_NS);
	assert_int_equal(would_spin(6), 0);	/* all together they are long */
}

TEST_F(QUEUE, long_jobs_are_slept_for)
{
	wait_took(1, 1000000);
	assert_int_equal(would_spin(1), 0);
}

TEST_F(QUEUE, time_is_of_one_descriptor)
{
	wait_took(20, 200000);
	assert_int_equal(would_spin(4), SPIN_NS);
	assert_int_equal(would_spin(6), 0);
}

/* The card was idle before: its clock shows too much. */
TEST_F(QUEUE, less_of_two_clocks_counts)
{
	int64_t begun = clock_ns();
	uint64_t job;

	wait_took(1, 3600000000000);
	job = atomic_load(&q->spin.job_ns);
	/* The rate of the clock is known to 1 %. */
	assert_in_range(job, 1900000, clock_ns() - begun);
	wait_took(1, 7000);
	assert_in_range(atomic_load(&q->spin.job_ns), 7000, 7001);
}

TEST_F(QUEUE, shorter_counts_at_once_longer_by_an_eighth)
{
	wait_took(1, 80000);
	wait_took(1, 8000);
	assert_in_range(atomic_load(&q->spin.job_ns), 8000, 8001);
	wait_took(1, 88000);
	assert_in_range(atomic_load(&q->spin.job_ns), 18000, 18002);
}

TEST_F(QUEUE, every_sixteenth_wait_spins_again)
{
	struct spin_start start;

	wait_took(1, 1000000);
	atomic_store(&q->spin.skipped, 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 15; i++)
			assert_int_equal(spin_begin(q, 2, &start), 0);
		assert_int_equal(spin_begin(q, 2, &start), SPIN_NS);
	}
}

/* Between this thread's check and its decision another thread saw more. */
TEST_F(QUEUE, what_others_have_seen_is_there)
{
	struct spin_start start;

	wait_took(5, 5000000);
	assert_int_equal(would_spin(1), 0);
	assert_int_equal(spin_begin(q, 5, &start), SPIN_NS);
	assert_int_equal(spin_begin(q, 3, &start), SPIN_NS);
}

TEST_F(QUEUE, lessons_that_make_no_sense)
{
	struct spin_start start;

	/* Nothing completed. */
	spin_begin(q, 1, &start);
	spin_end(q, &start);
	assert_int_equal(atomic_load(&q->spin.job_ns), 0);
	/* The card's clock goes back. */
	complete_at(0, 5000);
	spin_begin(q, 1, &start);
	complete_at(1, 10);
	assert_int_equal(vtadev_done(q, 1), 1);
	spin_end(q, &start);
	assert_in_range(atomic_load(&q->spin.job_ns), 1, 1000000000);
}

TEST_F(QUEUE, never_means_never)
{
	struct vtadev_queue *sleeper = fake_queue(dev, 8);
	struct spin_start start;

	for (int i = 0; i < 40; i++)
		assert_int_equal(spin_begin(sleeper, 1, &start), 0);
	vtadev_queue_destroy(sleeper);
}

TEST_F(QUEUE, counter_runs_as_the_clock_does)
{
	struct clock_mark begin = clock_mark();
	struct spin_start start;
	int64_t before, took;

	pause_ns(20000000);
	assert_in_range(clock_rate(&begin), q->spin.rate / 2, q->spin.rate * 2);
	before = clock_ns();
	spin_begin(q, 1, &start);
	pause_ns(50000000);
	took = spin_elapsed(q, &start);
	assert_in_range(took, 25000000, 2 * (clock_ns() - before));
}

/* ---- A wait that ends within the spin makes no system call ---- */

static void *complete_soon(void *arg)
{
	pause_ns(5000000);
	fake_complete(1);
	return arg;
}

static void allow_exit_alone(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(NO_SECCOMP);
}

/* Longer than the longest spin, of 2.1 s. */
#define WAIT_NS	(60 * 1000000000ll)

/* Waits in a child that is killed by any system call; the child's status. */
static int wait_strictly(struct vtadev_queue *spinner, bool many)
{
	struct vtadev_fence fence = { spinner, 1 };
	pthread_t thread;
	int status;
	pid_t pid;

	fake_complete(0);
	atomic_store(&spinner->seen, 0);
	/* The library does not notice, as it does fork(): the queue is the child's. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	assert_true(pid >= 0);
	if (!pid) {
		allow_exit_alone();
		syscall(SYS_exit_group, many ?
			-vtadev_wait_all(&fence, 1, WAIT_NS, -1, NULL) :
			-vtadev_wait(spinner, 1, WAIT_NS));
	}
	assert_int_equal(pthread_create(&thread, NULL, complete_soon, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return status;
}

TEST_F(QUEUE, no_system_call_within_the_spin)
{
	struct vta_desc d = vtadev_desc_nop();
	struct vtadev_queue_opts opts = { .ring_entries = 8, .spin_ns = INT32_MAX };
	struct vtadev_queue *spinner;
	int able = 1;
	int status;

	assert_int_equal(vtadev_queue_create(dev, &opts, &spinner), 0);
	assert_int_equal(vtadev_submit(spinner, &d, 1, NULL), 0);
	for (int many = 0; many < 2; many++) {
		int tries = 0;

		/* The other thread may come later than the spin ends, but not each time. */
		do {
			status = wait_strictly(spinner, many);
		} while (!WIFEXITED(status) && ++tries < 5);
		assert_true(WIFEXITED(status));
		able = WEXITSTATUS(status) != NO_SECCOMP;
		if (able)
			assert_int_equal(WEXITSTATUS(status), 0);
	}
	vtadev_queue_destroy(spinner);
	if (!able)
		skip();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_wait.c - waiting and arming: what the kernel is asked, and when it is not
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../frame.h"
#include "dev.h"
#include "fake.h"

static struct vtadev *dev;
static struct vtadev_queue *q;
static bool stands;		/* the clock shows @frozen, and what is skipped */

static int setup(void **state)
{
	struct vta_desc descs[4];

	stands = false;
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

/* ---- Doorbells that are lost: one wait of the kernel's is at most a second ---- */

static int64_t skipped_ns;
static struct timespec frozen;
static unsigned int parts;		/* of a wait */
static int counter = -1;		/* of doorbells, as sysfs has it */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int ret = __real_clock_gettime(clock, now);

	if (stands)
		*now = frozen;
	now->tv_sec += skipped_ns / 1000000000;
	return ret;
}

/* Nothing happens for a second: a card that has heard no doorbell. */
static void let_time_pass(struct fake *f)
{
	f->wait_errno = ETIMEDOUT;
	skipped_ns += 1000000000;
	parts++;
	assert_true(parts < 100);
}

static void complete_what_is_rung(struct fake *f)
{
	if (*f->doorbell == htole32(4))
		fake_complete(4);
	else
		let_time_pass(f);
	if (f->status->status.seq)
		f->wait_errno = 0;
}

/* From here on no time passes but what is skipped, however long the machine pauses. */
static void lose_doorbell(void (*on_wait)(struct fake *f))
{
	__real_clock_gettime(CLOCK_MONOTONIC, &frozen);
	stands = true;
	*fake.doorbell = 0;
	parts = 0;
	fake.on_wait = on_wait;
}

TEST_F(QUEUE, lost_doorbell_is_rung_again)
{
	lose_doorbell(complete_what_is_rung);
	assert_int_equal(vtadev_wait(q, 4, -1), 0);
	assert_in_range(parts, 1, 3);
}

TEST_F(QUEUE, lost_doorbell_of_a_fence_is_rung_again)
{
	const struct vtadev_fence fence = { q, 4 };

	lose_doorbell(complete_what_is_rung);
	assert_int_equal(vtadev_wait_all(&fence, 1, -1, -1, NULL), 0);
	assert_in_range(parts, 1, 3);
}

TEST_F(QUEUE, lost_doorbell_is_rung_again_by_short_waits)
{
	lose_doorbell(let_time_pass);
	for (int i = 0; i < 3; i++)
		assert_int_equal(vtadev_wait(q, 4, 0), -ETIMEDOUT);
	assert_int_equal(*fake.doorbell, htole32(4));
}

TEST_F(QUEUE, lost_doorbell_is_rung_again_by_arming)
{
	lose_doorbell(let_time_pass);
	fake.on_wait = NULL;
	fake.wait_errno = EAGAIN;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(vtadev_arm(q, 4), 0);
		skipped_ns += 1000000000;
	}
	assert_int_equal(*fake.doorbell, htole32(4));
}

static void complete_one(struct fake *f)
{
	let_time_pass(f);
	assert_int_equal(*fake.doorbell, 0);
	fake_complete(parts);
	f->wait_errno = parts < 4 ? ETIMEDOUT : 0;
}

TEST_F(QUEUE, doorbell_is_not_rung_while_there_is_progress)
{
	lose_doorbell(complete_one);
	assert_int_equal(vtadev_wait(q, 4, -1), 0);
}

static void write_counter(unsigned int value)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u\n", value);

	assert_int_equal(pwrite(counter, text, (size_t)len, 0), len);
}

/* The directory of a card, with that counter alone. */
static void make_counter(char dir[])
{
	assert_non_null(mkdtemp(dir));
	dev->sysfs = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dev->sysfs >= 0);
	assert_int_equal(mkdirat(dev->sysfs, "counters", 0700), 0);
	counter = openat(dev->sysfs, "counters/doorbells", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(counter >= 0);
	write_counter(7);
}

static void remove_counter(const char dir[])
{
	close(counter);
	unlinkat(dev->sysfs, "counters/doorbells", 0);
	unlinkat(dev->sysfs, "counters", AT_REMOVEDIR);
	assert_int_equal(rmdir(dir), 0);
}

TEST_F(QUEUE, card_that_hears_no_doorbell_is_lost)
{
	char dir[] = "/tmp/test_wait-XXXXXX";
	const struct vtadev_fence fence = { q, 4 };
	unsigned int index = 7;

	make_counter(dir);
	lose_doorbell(let_time_pass);
	assert_int_equal(vtadev_wait(q, 4, 3000000000), -ETIMEDOUT);
	assert_int_equal(vtadev_wait(q, 4, -1), -EPROTO);
	assert_in_range(parts, 4, 6);
	assert_int_equal(vtadev_wait_any(&fence, 1, -1, -1, &index), -EPROTO);
	assert_int_equal(index, 0);
	/* It was only very slow. */
	fake_complete(4);
	assert_int_equal(vtadev_wait(q, 4, -1), 0);
	remove_counter(dir);
}

static void count_doorbells(struct fake *f)
{
	let_time_pass(f);
	if (parts > 10)
		fake_complete(4);
	f->wait_errno = parts > 10 ? 0 : ETIMEDOUT;
}

/* Without a counter, no card is found to be lost. */
TEST_F(QUEUE, card_without_counters_may_take_its_time)
{
	lose_doorbell(count_doorbells);
	assert_int_equal(vtadev_wait(q, 4, -1), 0);
	assert_int_equal(parts, 11);
}

TEST_F(QUEUE, passes_errors_on)
{
	static const int errors[] = { ETIMEDOUT, EIO, ENODEV, ENOENT };

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.wait_errno = errors[i];
		assert_int_equal(vtadev_wait(q, 4, 1000), -errors[i]);
		assert_int_equal(vtadev_sync(q, 1000), -errors[i]);
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

/* The kernel reports done, and the page does not. */
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

	fake.wait_errno = 0;	/* done between the check and the call */
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

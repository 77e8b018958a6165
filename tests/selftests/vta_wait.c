// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_wait - VTA_IOCTL_WAIT and poll(): waits end neither early nor late, and no wake-up is lost
 * (kmod/vta_wait.c, kmod/vta_waiter.c)
 */
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>

#include "vta_harness.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

FIXTURE(wait) {
	struct client c;
};

FIXTURE_SETUP(wait)
{
	ASSERT_EQ(0, client_open(&self->c));
}

FIXTURE_TEARDOWN(wait)
{
	close(self->c.fd);
}

static int wait_flags(const struct queue *q, uint64_t seq, uint32_t flags, uint64_t *done)
{
	struct vta_wait req = { .queue = q->id, .flags = flags, .seq = seq };
	int err = card_ioctl(q->fd, VTA_IOCTL_WAIT, &req);

	if (done)
		*done = req.done;
	return err;
}

TEST_F(wait, for_a_reached_number_arms_nothing)
{
	uint64_t arms, interrupts, done = 0;

	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	arms = card_counter("arms");
	interrupts = card_counter("interrupts");
	for (unsigned int i = 0; i < 100; i++) {
		ASSERT_EQ(0, queue_wait(&self->c.q, i % 3, -1, &done));
		ASSERT_EQ(2, done);
	}
	/* So does one with a deadline in the past. */
	EXPECT_EQ(0, wait_flags(&self->c.q, 2, 0, &done));
	EXPECT_EQ(0, wait_flags(&self->c.q, 2, VTA_WAIT_POLL, &done));
	EXPECT_EQ(arms, card_counter("arms"));
	EXPECT_EQ(interrupts, card_counter("interrupts"));
}

TEST_F(wait, deadline_in_the_past_only_checks)
{
	static const int64_t deadlines[] = { 0, 1, -1, INT64_MIN };
	uint64_t arms = card_counter("arms");

	queue_hold(&self->c.q, &self->c.mem, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(deadlines); i++) {
		struct vta_wait req = {
			.queue = self->c.q.id, .seq = 1, .deadline_ns = deadlines[i], .done = 9,
		};

		EXPECT_EQ(-ETIMEDOUT, card_ioctl(self->c.fd, VTA_IOCTL_WAIT, &req));
		EXPECT_EQ(0, req.done);
	}
	EXPECT_EQ(arms, card_counter("arms"));
}

TEST_F(wait, timed_out_can_be_repeated)
{
	uint64_t done = 9;
	int64_t start;

	EXPECT_EQ(0, queue_do(&self->c.q, desc_op(VTA_OP_NOP)));
	queue_hold(&self->c.q, &self->c.mem, 1);
	start = now_ns();
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->c.q, 2, 100, &done));
	EXPECT_LE(100000000, now_ns() - start);
	EXPECT_EQ(1, done);
	/* The descriptor continues: waiting again is possible, and ends. */
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, queue_wait(&self->c.q, 2, PATIENCE_MS, &done));
	EXPECT_EQ(2, done);
}

/* ---- Time namespaces: the caller's clock is not the machine's ---- */

struct opener {
	struct client c;
	pid_t sleeper;
};

static void *open_when_asleep(void *arg)
{
	struct opener *opener = arg;

	while (!task_sleeps(opener->sleeper))
		sched_yield();
	queue_release(&opener->c.q, &opener->c.mem, 1);
	return NULL;
}

/* Longer than this process and the card are ever paused. */
#define BEHIND_S	20

/* Waits, by a clock that is behind, until a moment that the machine's clock has passed. */
static int wait_by_a_clock_behind(void *arg)
{
	struct opener opener = { .sleeper = gettid() };
	pthread_t thread;
	uint64_t seq;
	int err;

	(void)arg;
	MUST(!client_open(&opener.c));
	seq = queue_hold(&opener.c.q, &opener.c.mem, 1);
	MUST(!pthread_create(&thread, NULL, open_when_asleep, &opener));
	err = queue_wait(&opener.c.q, seq, (BEHIND_S - 1) * 1000, NULL);
	/* If the wait did not sleep, the thread has not released the queue. */
	queue_release(&opener.c.q, &opener.c.mem, 1);
	return !HOLDS(!err);
}

/* Waits until a moment that is past by a clock that is ahead. */
static int wait_by_a_clock_ahead(void *arg)
{
	struct client c;

	(void)arg;
	MUST(!client_open(&c));
	return !HOLDS(queue_wait(&c.q, queue_hold(&c.q, &c.mem, 1), 10, NULL) == -ETIMEDOUT);
}

/* Runs @child in a process whose CLOCK_MONOTONIC is @seconds ahead of the machine's. */
static int in_time_namespace(int seconds, int (*child)(void *arg))
{
	char offset[64];

	if (unshare(CLONE_NEWTIME))
		return -errno;
	snprintf(offset, sizeof(offset), "monotonic %d 0", seconds);
	if (file_write("/proc/self/timens_offsets", offset))
		return -errno;
	return in_child(child, NULL);
}

static int behind(void *arg)
{
	(void)arg;
	return in_time_namespace(-BEHIND_S, wait_by_a_clock_behind) ? 1 : 0;
}

static int ahead(void *arg)
{
	(void)arg;
	return in_time_namespace(100000, wait_by_a_clock_ahead) ? 1 : 0;
}

TEST_F(wait, deadlines_are_on_the_callers_clock)
{
	if (access("/proc/self/timens_offsets", F_OK))
		SKIP(return, "this kernel has no time namespaces");
	/* The clock of a namespace does not begin before 0. */
	while (now_ns() < (BEHIND_S + 1) * 1000000000ll)
		sleep_ms(100);
	EXPECT_EQ(0, in_child(behind, NULL));
	EXPECT_EQ(0, in_child(ahead, NULL));
}

TEST_F(wait, for_a_number_not_submitted_yet)
{
	struct vta_desc nop = desc_op(VTA_OP_NOP);
	struct waiter w;

	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->c.q, 1, 20, NULL));
	/* That may have been too late to arm. */
	ASSERT_EQ(0, waiter_arm(&w, &self->c.q, 3, PATIENCE_MS));
	queue_put(&self->c.q, nop);
	queue_put(&self->c.q, nop);
	EXPECT_EQ(0, queue_wait(&self->c.q, 2, PATIENCE_MS, NULL));
	queue_put(&self->c.q, nop);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(3, w.done);
}

/* ARM compares 32 bits, so more than 2^31 ahead cannot be waited for. */
TEST_F(wait, too_far_ahead_is_einval)
{
	EXPECT_EQ(-EINVAL, queue_wait(&self->c.q, 1ull << 31, 10, NULL));
	EXPECT_EQ(-EINVAL, queue_wait(&self->c.q, 1ull << 32, 10, NULL));
	EXPECT_EQ(-EINVAL, queue_wait(&self->c.q, UINT64_MAX, 10, NULL));
	EXPECT_EQ(-EINVAL, wait_flags(&self->c.q, UINT64_MAX, VTA_WAIT_POLL, NULL));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->c.q, (1ull << 31) - 1, 10, NULL));
}

TEST_F(wait, unknown_flags_are_einval)
{
	EXPECT_EQ(-EINVAL, wait_flags(&self->c.q, 0, 2, NULL));
	EXPECT_EQ(-EINVAL, wait_flags(&self->c.q, 0, 0x80000000, NULL));
	EXPECT_EQ(-EINVAL, wait_flags(&self->c.q, 0, UINT32_MAX, NULL));
}

static void nothing(int sig)
{
	(void)sig;
}

TEST_F(wait, signal_interrupts_a_wait_without_end)
{
	struct sigaction action = { .sa_handler = nothing };
	struct waiter w;

	sigaction(SIGUSR1, &action, NULL);
	queue_hold(&self->c.q, &self->c.mem, 1);
	ASSERT_EQ(0, waiter_arm(&w, &self->c.q, 1, -1));
	EXPECT_EQ(0, pthread_kill(w.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, waiter_join(&w));
	/* Call again. */
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, queue_wait(&self->c.q, 1, PATIENCE_MS, NULL));
}

TEST_F(wait, signal_with_restart_continues)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	struct waiter w;

	sigaction(SIGUSR1, &action, NULL);
	queue_hold(&self->c.q, &self->c.mem, 1);
	ASSERT_EQ(0, waiter_arm(&w, &self->c.q, 1, PATIENCE_MS));
	EXPECT_EQ(0, pthread_kill(w.thread, SIGUSR1));
	sleep_ms(20);
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, waiter_join(&w));
}

TEST_F(wait, killed_while_waiting)
{
	uint64_t arms = card_counter("arms");
	pid_t pid;

	queue_hold(&self->c.q, &self->c.mem, 1);
	pid = fork();
	if (!pid) {
		queue_wait(&self->c.q, 1, -1, NULL);
		_exit(0);
	}
	EXPECT_EQ(arms + 1, card_counter_reaches("arms", arms + 1));
	EXPECT_EQ(0, child_kill(pid));
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, queue_wait(&self->c.q, 1, PATIENCE_MS, NULL));
}

/* Several numbers of one queue, started in the worst order. */
TEST_F(wait, several_numbers_of_one_queue_wake_their_waiters)
{
	enum { WAITERS = 8 };
	uint64_t arms, interrupts;
	struct waiter w[WAITERS];

	for (unsigned int i = 0; i < WAITERS; i++)
		queue_hold(&self->c.q, &self->c.mem, i + 1);
	arms = card_counter("arms");
	interrupts = card_counter("interrupts");
	for (unsigned int i = WAITERS; i-- > 0;) {
		ASSERT_EQ(0, waiter_start(&w[i], &self->c.q, i + 1, PATIENCE_MS));
		/* Each is lower than all before, so each arms anew. */
		EXPECT_EQ(arms + WAITERS - i, card_counter_reaches("arms", arms + WAITERS - i));
	}
	for (unsigned int i = 0; i < WAITERS; i++) {
		queue_release(&self->c.q, &self->c.mem, i + 1);
		EXPECT_EQ(0, waiter_join(&w[i]));
		EXPECT_EQ(i + 1, w[i].done);
	}
	EXPECT_EQ(interrupts + WAITERS, card_counter("interrupts"));
}

TEST_F(wait, many_waiters_for_one_number_take_one_interrupt)
{
	enum { WAITERS = 16 };
	struct waiter w[WAITERS];
	uint64_t interrupts;

	queue_hold(&self->c.q, &self->c.mem, 1);
	interrupts = card_counter("interrupts");
	for (unsigned int i = 0; i < WAITERS; i++)
		ASSERT_EQ(0, waiter_start(&w[i], &self->c.q, 1, PATIENCE_MS));
	sleep_ms(50);
	queue_release(&self->c.q, &self->c.mem, 1);
	for (unsigned int i = 0; i < WAITERS; i++)
		EXPECT_EQ(0, waiter_join(&w[i]));
	EXPECT_GE(interrupts + 1, card_counter("interrupts"));
}

TEST_F(wait, lowest_waiter_that_times_out_leaves_the_interrupt_to_others)
{
	struct waiter low, high;

	queue_hold(&self->c.q, &self->c.mem, 1);
	queue_hold(&self->c.q, &self->c.mem, 1);
	ASSERT_EQ(0, waiter_start(&high, &self->c.q, 2, PATIENCE_MS));
	ASSERT_EQ(0, waiter_start(&low, &self->c.q, 1, 50));
	EXPECT_EQ(-ETIMEDOUT, waiter_join(&low));
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, waiter_join(&high));
}

/* The card is so quick that each number may be reached while its wait begins. */
TEST_F(wait, thousands_of_short_waits_lose_no_wakeup)
{
	for (unsigned int i = 1; i <= 3000; i++) {
		uint64_t seq = queue_put(&self->c.q, desc_op(VTA_OP_NOP));

		ASSERT_EQ(0, queue_wait(&self->c.q, seq, PATIENCE_MS, NULL)) {
			TH_LOG("wait %u was lost", i);
		}
	}
}

struct racer {
	pthread_t thread;
	struct queue *q;
	unsigned int rounds;
	int err;
};

static void *race(void *arg)
{
	struct vta_desc nops[3] = {
		desc_op(VTA_OP_NOP), desc_op(VTA_OP_NOP), desc_op(VTA_OP_NOP),
	};
	struct racer *r = arg;

	for (unsigned int i = 0; i < r->rounds && !r->err; i++)
		r->err = queue_wait(r->q, queue_submit(r->q, nops, 1 + i % 3), PATIENCE_MS, NULL);
	return NULL;
}

/* Queues whose interrupts come while others sleep and arm. */
TEST_F(wait, concurrent_waits_of_queues_lose_no_wakeup)
{
	enum { RACERS = 6 };
	struct queue queues[RACERS];
	struct racer racers[RACERS];

	for (unsigned int i = 0; i < RACERS; i++) {
		ASSERT_EQ(0, queue_open(self->c.fd, &queues[i], NULL));
		racers[i] = (struct racer) { .q = &queues[i], .rounds = 300 };
		ASSERT_EQ(0, pthread_create(&racers[i].thread, NULL, race, &racers[i]));
	}
	for (unsigned int i = 0; i < RACERS; i++) {
		pthread_join(racers[i].thread, NULL);
		EXPECT_EQ(0, racers[i].err);
	}
}

/* ---- poll ---- */

TEST_F(wait, poll_reports_completion)
{
	uint64_t arms = card_counter("arms"), interrupts = card_counter("interrupts");
	uint64_t done = 9;

	queue_hold(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, 1, VTA_WAIT_POLL, &done));
	EXPECT_EQ(0, done);
	EXPECT_EQ(0, card_poll(self->c.fd, 20));
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(POLLIN, card_poll(self->c.fd, PATIENCE_MS));
	EXPECT_EQ(arms + 1, card_counter("arms"));
	EXPECT_EQ(interrupts + 1, card_counter("interrupts"));
	/* It stays until a call asks for the queue. */
	EXPECT_EQ(POLLIN, card_poll(self->c.fd, 0));
	EXPECT_EQ(0, queue_wait(&self->c.q, 1, 0, NULL));
	EXPECT_EQ(0, card_poll(self->c.fd, 0));
}

TEST_F(wait, hundreds_of_short_polls_lose_no_event)
{
	for (unsigned int i = 1; i <= 300; i++) {
		int err = wait_flags(&self->c.q, queue_put(&self->c.q, desc_op(VTA_OP_NOP)),
				     VTA_WAIT_POLL, NULL);

		if (err == -EAGAIN)
			err = card_poll(self->c.fd, PATIENCE_MS) == POLLIN ? 0 : -ETIMEDOUT;
		ASSERT_EQ(0, err);
		ASSERT_EQ(0, queue_wait(&self->c.q, i, 0, NULL));
	}
}

static void *open_later(void *arg)
{
	struct queue *q = arg;

	sleep_ms(50);
	queue_kick(q);
	return NULL;
}

TEST_F(wait, poll_sleeps_until_completion)
{
	pthread_t thread;

	queue_hold(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, 1, VTA_WAIT_POLL, NULL));
	/* The card may read the word at any time, but is kicked only later. */
	*(uint64_t *)self->c.mem.ptr = htole64(1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_later, &self->c.q));
	EXPECT_EQ(POLLIN, card_poll(self->c.fd, PATIENCE_MS));
	pthread_join(thread, NULL);
}

/* POLLIN by another name. */
TEST_F(wait, poll_for_pollrdnorm_alone_is_woken)
{
	struct pollfd pfd = { .fd = self->c.fd, .events = POLLRDNORM };
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;
	pthread_t thread;

	queue_hold(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, 1, VTA_WAIT_POLL, NULL));
	*(uint64_t *)self->c.mem.ptr = htole64(1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_later, &self->c.q));
	EXPECT_EQ(1, poll(&pfd, 1, PATIENCE_MS));
	EXPECT_GT(end, now_ns());
	EXPECT_EQ(POLLRDNORM, pfd.revents);
	pthread_join(thread, NULL);
}

TEST_F(wait, poll_is_for_the_number_of_the_last_call)
{
	queue_hold(&self->c.q, &self->c.mem, 1);
	queue_hold(&self->c.q, &self->c.mem, 2);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, 1, VTA_WAIT_POLL, NULL));
	EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, 2, VTA_WAIT_POLL, NULL));
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, card_poll(self->c.fd, 50));
	queue_release(&self->c.q, &self->c.mem, 2);
	EXPECT_EQ(POLLIN, card_poll(self->c.fd, PATIENCE_MS));
}

TEST_F(wait, poll_and_waiters_work_together)
{
	struct waiter w;

	queue_hold(&self->c.q, &self->c.mem, 1);
	queue_hold(&self->c.q, &self->c.mem, 2);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, 2, VTA_WAIT_POLL, NULL));
	ASSERT_EQ(0, waiter_start(&w, &self->c.q, 1, PATIENCE_MS));
	sleep_ms(20);
	queue_release(&self->c.q, &self->c.mem, 1);
	EXPECT_EQ(0, waiter_join(&w));
	queue_release(&self->c.q, &self->c.mem, 2);
	EXPECT_EQ(POLLIN, card_poll(self->c.fd, PATIENCE_MS));
}

TEST_F(wait, edge_triggered_epoll_reports_each_number)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->c.fd, &event));
	for (unsigned int i = 1; i <= 20; i++) {
		queue_hold(&self->c.q, &self->c.mem, i);
		EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, i, VTA_WAIT_POLL, NULL));
		queue_release(&self->c.q, &self->c.mem, i);
		ASSERT_EQ(1, epoll_wait(ep, &event, 1, PATIENCE_MS));
		ASSERT_EQ(EPOLLIN, event.events);
		EXPECT_EQ(0, queue_wait(&self->c.q, i, 0, NULL));
		EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	}
	close(ep);
}

TEST_F(wait, poll_reports_each_queue_of_a_file)
{
	struct queue other;

	ASSERT_EQ(0, queue_open(self->c.fd, &other, NULL));
	queue_hold(&self->c.q, &self->c.mem, 2);
	queue_hold(&other, &self->c.mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->c.q, 1, VTA_WAIT_POLL, NULL));
	EXPECT_EQ(-EAGAIN, wait_flags(&other, 1, VTA_WAIT_POLL, NULL));
	queue_release(&other, &self->c.mem, 1);
	EXPECT_EQ(POLLIN, card_poll(self->c.fd, PATIENCE_MS));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->c.q, 1, 0, NULL));
	EXPECT_EQ(POLLIN, card_poll(self->c.fd, 0));
	EXPECT_EQ(0, queue_wait(&other, 1, 0, NULL));
	EXPECT_EQ(0, card_poll(self->c.fd, 0));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_wait - waiting: never too short, never too long, and never in vain
 */
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>

#include "vta_harness.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

FIXTURE(wait) {
	int fd;
	struct queue q;
	struct mem mem;
	volatile uint64_t *word;	/* what gates wait for */
};

FIXTURE_SETUP(wait)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, 4096, VTA_BUF_HOST, 0));
	self->word = self->mem.ptr;
}

FIXTURE_TEARDOWN(wait)
{
	close(self->fd);
}

/* A descriptor that ends when the gate is opened so far. */
static uint64_t gate(struct queue *q, const struct mem *mem, uint64_t value)
{
	return queue_put(q, desc_wait(mem->addr, value));
}

static void open_gate(struct queue *q, volatile uint64_t *word, uint64_t value)
{
	*word = htole64(value);
	queue_kick(q);
}

static int wait_flags(const struct queue *q, uint64_t seq, uint32_t flags, uint64_t *done)
{
	struct vta_wait req = { .queue = q->id, .flags = flags, .seq = seq };
	int err = card_ioctl(q->fd, VTA_IOCTL_WAIT, &req);

	if (done)
		*done = req.done;
	return err;
}

TEST_F(wait, reached_long_ago)
{
	uint64_t arms, interrupts, done = 0;

	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	arms = card_counter("arms");
	interrupts = card_counter("interrupts");
	for (unsigned int i = 0; i < 100; i++) {
		ASSERT_EQ(0, queue_wait(&self->q, i % 3, -1, &done));
		ASSERT_EQ(2, done);
	}
	/* A deadline in the past only looks, and finds it. */
	EXPECT_EQ(0, wait_flags(&self->q, 2, 0, &done));
	EXPECT_EQ(0, wait_flags(&self->q, 2, VTA_WAIT_POLL, &done));
	EXPECT_EQ(arms, card_counter("arms"));
	EXPECT_EQ(interrupts, card_counter("interrupts"));
}

TEST_F(wait, deadline_in_the_past_only_looks)
{
	static const int64_t deadlines[] = { 0, 1, -1, INT64_MIN };
	uint64_t arms = card_counter("arms");

	gate(&self->q, &self->mem, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(deadlines); i++) {
		struct vta_wait req = {
			.queue = self->q.id, .seq = 1, .deadline_ns = deadlines[i], .done = 9,
		};

		EXPECT_EQ(-ETIMEDOUT, card_ioctl(self->fd, VTA_IOCTL_WAIT, &req));
		EXPECT_EQ(0, req.done);
	}
	EXPECT_EQ(arms, card_counter("arms"));
}

TEST_F(wait, deadline_passes)
{
	uint64_t done = 9;
	int64_t start;

	EXPECT_EQ(0, queue_do(&self->q, desc_op(VTA_OP_NOP)));
	gate(&self->q, &self->mem, 1);
	start = now_ns();
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, 2, 100, &done));
	EXPECT_LE(100000000, now_ns() - start);
	EXPECT_EQ(1, done);
	/* The descriptor continues: waiting again is possible, and ends. */
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(0, queue_wait(&self->q, 2, PATIENCE_MS, &done));
	EXPECT_EQ(2, done);
}

/* ---- Time namespaces: the caller's clock is not the machine's ---- */

struct opener {
	struct queue *q;
	volatile uint64_t *word;
	pid_t sleeper;
};

static void *open_when_asleep(void *arg)
{
	struct opener *opener = arg;

	while (!task_sleeps(opener->sleeper))
		sched_yield();
	open_gate(opener->q, opener->word, 1);
	return NULL;
}

/* Longer than this process and the card are ever not run. */
#define BEHIND_S	20

/* Waits, by a clock that is behind, until a moment that the machine's clock has passed. */
static int wait_by_a_clock_behind(void *arg)
{
	struct opener opener = { .sleeper = gettid() };
	struct mem mem;
	struct queue q;
	pthread_t thread;
	uint64_t seq;
	int fd = card_open(), err;

	(void)arg;
	if (fd < 0 || queue_open(fd, &q, NULL) || mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0))
		return 1;
	opener.q = &q;
	opener.word = mem.ptr;
	seq = gate(&q, &mem, 1);
	if (pthread_create(&thread, NULL, open_when_asleep, &opener))
		return 2;
	err = queue_wait(&q, seq, (BEHIND_S - 1) * 1000, NULL);
	/* A wait that did not sleep leaves the opener to this. */
	open_gate(&q, opener.word, 1);
	return err ? 3 : 0;
}

/* Waits until a moment that is past by a clock that is ahead. */
static int wait_by_a_clock_ahead(void *arg)
{
	struct mem mem;
	struct queue q;
	int fd = card_open();

	(void)arg;
	if (fd < 0 || queue_open(fd, &q, NULL) || mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0))
		return 1;
	return queue_wait(&q, gate(&q, &mem, 1), 10, NULL) == -ETIMEDOUT ? 0 : 3;
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

TEST_F(wait, not_submitted_yet)
{
	struct vta_desc nop = desc_op(VTA_OP_NOP);
	struct waiter w;

	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 20, NULL));
	/* That may have been too late to arm. */
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 3, PATIENCE_MS));
	queue_put(&self->q, nop);
	queue_put(&self->q, nop);
	EXPECT_EQ(0, queue_wait(&self->q, 2, PATIENCE_MS, NULL));
	queue_put(&self->q, nop);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(3, w.done);
}

/* ARM compares 32 bits, so more than 2^31 ahead cannot be waited for. */
TEST_F(wait, too_far_ahead_is_einval)
{
	EXPECT_EQ(-EINVAL, queue_wait(&self->q, 1ull << 31, 10, NULL));
	EXPECT_EQ(-EINVAL, queue_wait(&self->q, 1ull << 32, 10, NULL));
	EXPECT_EQ(-EINVAL, queue_wait(&self->q, UINT64_MAX, 10, NULL));
	EXPECT_EQ(-EINVAL, wait_flags(&self->q, UINT64_MAX, VTA_WAIT_POLL, NULL));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, (1ull << 31) - 1, 10, NULL));
}

TEST_F(wait, unknown_flags_are_einval)
{
	EXPECT_EQ(-EINVAL, wait_flags(&self->q, 0, 2, NULL));
	EXPECT_EQ(-EINVAL, wait_flags(&self->q, 0, 0x80000000, NULL));
	EXPECT_EQ(-EINVAL, wait_flags(&self->q, 0, UINT32_MAX, NULL));
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
	gate(&self->q, &self->mem, 1);
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 1, -1));
	EXPECT_EQ(0, pthread_kill(w.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, waiter_join(&w));
	/* Call again. */
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(0, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
}

TEST_F(wait, signal_with_restart_continues)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	struct waiter w;

	sigaction(SIGUSR1, &action, NULL);
	gate(&self->q, &self->mem, 1);
	ASSERT_EQ(0, waiter_arm(&w, &self->q, 1, PATIENCE_MS));
	EXPECT_EQ(0, pthread_kill(w.thread, SIGUSR1));
	sleep_ms(20);
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(0, waiter_join(&w));
}

TEST_F(wait, killed_while_waiting)
{
	uint64_t arms = card_counter("arms");
	pid_t pid;

	gate(&self->q, &self->mem, 1);
	pid = fork();
	if (!pid) {
		queue_wait(&self->q, 1, -1, NULL);
		_exit(0);
	}
	EXPECT_EQ(arms + 1, card_counter_reaches("arms", arms + 1));
	EXPECT_EQ(0, child_kill(pid));
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(0, queue_wait(&self->q, 1, PATIENCE_MS, NULL));
}

/* Several numbers of one queue, started in the worst order. */
TEST_F(wait, several_waiters_of_one_queue)
{
	enum { WAITERS = 8 };
	uint64_t arms, interrupts;
	struct waiter w[WAITERS];

	for (unsigned int i = 0; i < WAITERS; i++)
		gate(&self->q, &self->mem, i + 1);
	arms = card_counter("arms");
	interrupts = card_counter("interrupts");
	for (unsigned int i = WAITERS; i-- > 0;) {
		ASSERT_EQ(0, waiter_start(&w[i], &self->q, i + 1, PATIENCE_MS));
		/* Each is lower than all before, so each arms anew. */
		EXPECT_EQ(arms + WAITERS - i, card_counter_reaches("arms", arms + WAITERS - i));
	}
	for (unsigned int i = 0; i < WAITERS; i++) {
		open_gate(&self->q, self->word, i + 1);
		EXPECT_EQ(0, waiter_join(&w[i]));
		EXPECT_EQ(i + 1, w[i].done);
	}
	EXPECT_EQ(interrupts + WAITERS, card_counter("interrupts"));
}

TEST_F(wait, many_waiters_for_one_number)
{
	enum { WAITERS = 16 };
	struct waiter w[WAITERS];
	uint64_t interrupts;

	gate(&self->q, &self->mem, 1);
	interrupts = card_counter("interrupts");
	for (unsigned int i = 0; i < WAITERS; i++)
		ASSERT_EQ(0, waiter_start(&w[i], &self->q, 1, PATIENCE_MS));
	sleep_ms(50);
	open_gate(&self->q, self->word, 1);
	for (unsigned int i = 0; i < WAITERS; i++)
		EXPECT_EQ(0, waiter_join(&w[i]));
	EXPECT_GE(interrupts + 1, card_counter("interrupts"));
}

/* A waiter that gives up must not take the others' interrupt along. */
TEST_F(wait, lowest_waiter_gives_up)
{
	struct waiter low, high;

	gate(&self->q, &self->mem, 1);
	gate(&self->q, &self->mem, 1);
	ASSERT_EQ(0, waiter_start(&high, &self->q, 2, PATIENCE_MS));
	ASSERT_EQ(0, waiter_start(&low, &self->q, 1, 50));
	EXPECT_EQ(-ETIMEDOUT, waiter_join(&low));
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(0, waiter_join(&high));
}

/* The card is much faster than the way to sleep: each wait may meet its end. */
TEST_F(wait, thousands_of_short_waits)
{
	for (unsigned int i = 1; i <= 3000; i++) {
		uint64_t seq = queue_put(&self->q, desc_op(VTA_OP_NOP));

		ASSERT_EQ(0, queue_wait(&self->q, seq, PATIENCE_MS, NULL)) {
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
TEST_F(wait, threads_wait_for_queues_of_their_own)
{
	enum { RACERS = 6 };
	struct queue queues[RACERS];
	struct racer racers[RACERS];

	for (unsigned int i = 0; i < RACERS; i++) {
		ASSERT_EQ(0, queue_open(self->fd, &queues[i], NULL));
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

	gate(&self->q, &self->mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->q, 1, VTA_WAIT_POLL, &done));
	EXPECT_EQ(0, done);
	EXPECT_EQ(0, card_poll(self->fd, 20));
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(POLLIN, card_poll(self->fd, PATIENCE_MS));
	EXPECT_EQ(arms + 1, card_counter("arms"));
	EXPECT_EQ(interrupts + 1, card_counter("interrupts"));
	/* It stays until the queue is asked about. */
	EXPECT_EQ(POLLIN, card_poll(self->fd, 0));
	EXPECT_EQ(0, queue_wait(&self->q, 1, 0, NULL));
	EXPECT_EQ(0, card_poll(self->fd, 0));
}

TEST_F(wait, hundreds_of_short_polls)
{
	for (unsigned int i = 1; i <= 300; i++) {
		int err = wait_flags(&self->q, queue_put(&self->q, desc_op(VTA_OP_NOP)),
				     VTA_WAIT_POLL, NULL);

		if (err == -EAGAIN)
			err = card_poll(self->fd, PATIENCE_MS) == POLLIN ? 0 : -ETIMEDOUT;
		ASSERT_EQ(0, err);
		ASSERT_EQ(0, queue_wait(&self->q, i, 0, NULL));
	}
}

static void *open_later(void *arg)
{
	struct queue *q = arg;

	sleep_ms(50);
	queue_kick(q);
	return NULL;
}

TEST_F(wait, poll_sleeps_until_then)
{
	pthread_t thread;

	gate(&self->q, &self->mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->q, 1, VTA_WAIT_POLL, NULL));
	/* The card may look at any time, but is kicked only later. */
	*self->word = htole64(1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_later, &self->q));
	EXPECT_EQ(POLLIN, card_poll(self->fd, PATIENCE_MS));
	pthread_join(thread, NULL);
}

/* Some say POLLIN by another name. */
TEST_F(wait, poll_for_normal_data_alone)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLRDNORM };
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;
	pthread_t thread;

	gate(&self->q, &self->mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->q, 1, VTA_WAIT_POLL, NULL));
	*self->word = htole64(1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_later, &self->q));
	EXPECT_EQ(1, poll(&pfd, 1, PATIENCE_MS));
	EXPECT_GT(end, now_ns());
	EXPECT_EQ(POLLRDNORM, pfd.revents);
	pthread_join(thread, NULL);
}

TEST_F(wait, poll_asked_again_replaces)
{
	gate(&self->q, &self->mem, 1);
	gate(&self->q, &self->mem, 2);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->q, 1, VTA_WAIT_POLL, NULL));
	EXPECT_EQ(-EAGAIN, wait_flags(&self->q, 2, VTA_WAIT_POLL, NULL));
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(0, card_poll(self->fd, 50));
	open_gate(&self->q, self->word, 2);
	EXPECT_EQ(POLLIN, card_poll(self->fd, PATIENCE_MS));
}

TEST_F(wait, poll_and_waiters_together)
{
	struct waiter w;

	gate(&self->q, &self->mem, 1);
	gate(&self->q, &self->mem, 2);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->q, 2, VTA_WAIT_POLL, NULL));
	ASSERT_EQ(0, waiter_start(&w, &self->q, 1, PATIENCE_MS));
	sleep_ms(20);
	open_gate(&self->q, self->word, 1);
	EXPECT_EQ(0, waiter_join(&w));
	open_gate(&self->q, self->word, 2);
	EXPECT_EQ(POLLIN, card_poll(self->fd, PATIENCE_MS));
}

TEST_F(wait, epoll_edge)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &event));
	for (unsigned int i = 1; i <= 20; i++) {
		gate(&self->q, &self->mem, i);
		EXPECT_EQ(-EAGAIN, wait_flags(&self->q, i, VTA_WAIT_POLL, NULL));
		open_gate(&self->q, self->word, i);
		ASSERT_EQ(1, epoll_wait(ep, &event, 1, PATIENCE_MS));
		ASSERT_EQ(EPOLLIN, event.events);
		EXPECT_EQ(0, queue_wait(&self->q, i, 0, NULL));
		EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	}
	close(ep);
}

/* Two queues of one file: each POLLIN is one queue's own. */
TEST_F(wait, poll_of_two_queues)
{
	struct queue other;

	ASSERT_EQ(0, queue_open(self->fd, &other, NULL));
	gate(&self->q, &self->mem, 2);
	gate(&other, &self->mem, 1);
	EXPECT_EQ(-EAGAIN, wait_flags(&self->q, 1, VTA_WAIT_POLL, NULL));
	EXPECT_EQ(-EAGAIN, wait_flags(&other, 1, VTA_WAIT_POLL, NULL));
	open_gate(&other, self->word, 1);
	EXPECT_EQ(POLLIN, card_poll(self->fd, PATIENCE_MS));
	EXPECT_EQ(-ETIMEDOUT, queue_wait(&self->q, 1, 0, NULL));
	EXPECT_EQ(POLLIN, card_poll(self->fd, 0));
	EXPECT_EQ(0, queue_wait(&other, 1, 0, NULL));
	EXPECT_EQ(0, card_poll(self->fd, 0));
}

TEST_HARNESS_MAIN

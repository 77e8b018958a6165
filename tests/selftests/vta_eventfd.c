// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_eventfd - queues that signal an eventfd, and not poll() (kmod/vta_event.c)
 */
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "vta_gates.h"
#include "vta_harness.h"

FIXTURE(eventfd) {
	struct gates g;
};

FIXTURE_SETUP(eventfd)
{
	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, gates_open(&self->g));
}

FIXTURE_TEARDOWN(eventfd)
{
	gates_close(&self->g);
	EXPECT_EQ(0, chmod(card_node(), 0600));
}

TEST_F(eventfd, is_signalled_instead_of_poll)
{
	uint64_t arms = card_counter("arms"), interrupts = card_counter("interrupts");

	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	gate(&self->g, 0, 1);
	EXPECT_EQ(-EAGAIN, queue_poll(&self->g.q[0], 1));
	EXPECT_EQ(0, event_take(self->g.event));
	open_gate(&self->g, 0, 1);
	EXPECT_EQ(1, event_next(self->g.event));
	EXPECT_EQ(0, card_poll(self->g.fd, 0));
	EXPECT_EQ(0, queue_poll(&self->g.q[0], 1));
	EXPECT_EQ(0, event_take(self->g.event));
	EXPECT_EQ(arms + 1, card_counter("arms"));
	EXPECT_EQ(interrupts + 1, card_counter("interrupts"));
}

TEST_F(eventfd, signals_requested_numbers_only)
{
	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	for (unsigned int i = 0; i < 20; i++)
		ASSERT_EQ(0, queue_do(&self->g.q[0], desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, event_take(self->g.event));
}

TEST_F(eventfd, is_signalled_once_a_round_for_hundreds_of_rounds)
{
	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	for (unsigned int i = 1; i <= 300; i++) {
		int err = queue_poll(&self->g.q[0], queue_put(&self->g.q[0], desc_op(VTA_OP_NOP)));

		if (err == -EAGAIN) {
			ASSERT_EQ(1, event_next(self->g.event));
		} else {
			ASSERT_EQ(0, err);
			ASSERT_EQ(0, event_take(self->g.event));
		}
		ASSERT_EQ(0, queue_wait(&self->g.q[0], i, 0, NULL));
	}
}

TEST_F(eventfd, one_eventfd_for_several_queues)
{
	gate_all(&self->g);
	for (unsigned int i = 0; i < QUEUES; i++) {
		ASSERT_EQ(0, queue_event(&self->g.q[i], self->g.event));
		EXPECT_EQ(-EAGAIN, queue_poll(&self->g.q[i], 1));
	}
	for (unsigned int i = 0; i < QUEUES; i++) {
		open_gate(&self->g, i, 1);
		EXPECT_EQ(1, event_next(self->g.event));
	}
}

TEST_F(eventfd, signals_halts_and_the_end_of_a_queue)
{
	/* A halt without a waiter; an earlier halt; and the end of a queue. */
	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	queue_put(&self->g.q[0], desc_fill(0, 0, 4));
	EXPECT_EQ(1, event_next(self->g.event));
	EXPECT_EQ(-EIO, queue_poll(&self->g.q[0], 1));
	EXPECT_EQ(0, event_take(self->g.event));
	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	EXPECT_EQ(1, event_next(self->g.event));
	ASSERT_EQ(0, queue_close(&self->g.q[0]));
	EXPECT_EQ(1, event_next(self->g.event));

	ASSERT_EQ(0, queue_event(&self->g.q[1], self->g.event));
	gate(&self->g, 1, 1);
	EXPECT_EQ(-EAGAIN, queue_poll(&self->g.q[1], 1));
	ASSERT_EQ(0, queue_close(&self->g.q[1]));
	EXPECT_EQ(1, event_next(self->g.event));
	EXPECT_EQ(-ENOENT, queue_event(&self->g.q[1], self->g.event));
}

TEST_F(eventfd, can_be_replaced_and_removed)
{
	int other = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	gate(&self->g, 0, 1);
	gate(&self->g, 0, 2);
	EXPECT_EQ(-EAGAIN, queue_poll(&self->g.q[0], 1));
	ASSERT_EQ(0, queue_event(&self->g.q[0], other));
	open_gate(&self->g, 0, 1);
	EXPECT_EQ(1, event_next(other));
	EXPECT_EQ(0, event_take(self->g.event));

	EXPECT_EQ(-EAGAIN, queue_poll(&self->g.q[0], 2));
	ASSERT_EQ(0, queue_event(&self->g.q[0], -1));
	open_gate(&self->g, 0, 2);
	EXPECT_EQ(POLLIN, card_poll(self->g.fd, PATIENCE_MS));
	EXPECT_EQ(0, event_take(other));
	ASSERT_EQ(0, queue_event(&self->g.q[0], -1));
	close(other);
}

TEST_F(eventfd, malformed_requests_are_refused)
{
	struct vta_queue_event good = { .queue = self->g.q[0].id, .fd = self->g.event }, req;
	int closed = eventfd(0, 0);

	close(closed);
	req = good;
	req.flags = 1;
	EXPECT_EQ(-EINVAL, card_ioctl(self->g.fd, VTA_IOCTL_QUEUE_EVENT, &req));
	req = good;
	req.pad = 1;
	EXPECT_EQ(-EINVAL, card_ioctl(self->g.fd, VTA_IOCTL_QUEUE_EVENT, &req));
	EXPECT_EQ(-EINVAL, queue_event(&self->g.q[0], -2));
	EXPECT_EQ(-EINVAL, queue_event(&self->g.q[0], self->g.fd));
	EXPECT_EQ(-EBADF, queue_event(&self->g.q[0], closed));
	req = good;
	req.queue = self->g.q[0].id + 100;
	EXPECT_EQ(-ENOENT, card_ioctl(self->g.fd, VTA_IOCTL_QUEUE_EVENT, &req));
	req.queue = UINT32_MAX;
	EXPECT_EQ(-ENOENT, card_ioctl(self->g.fd, VTA_IOCTL_QUEUE_EVENT, &req));
}

TEST_F(eventfd, queue_of_another_file_is_enoent)
{
	struct vta_queue_event req = { .queue = self->g.q[0].id, .fd = self->g.event };
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_QUEUE_EVENT, &req));
	close(fd);
}

/* The queue keeps the eventfd, and not its number in the table of files. */
TEST_F(eventfd, is_kept_while_its_descriptors_are_closed_and_reused)
{
	int copy = dup(self->g.event), reused;

	ASSERT_LE(0, copy);
	ASSERT_EQ(0, queue_event(&self->g.q[0], copy));
	gate(&self->g, 0, 1);
	EXPECT_EQ(-EAGAIN, queue_poll(&self->g.q[0], 1));
	close(copy);
	reused = eventfd(0, EFD_NONBLOCK);
	EXPECT_EQ(copy, reused);
	open_gate(&self->g, 0, 1);
	EXPECT_EQ(1, event_next(self->g.event));
	EXPECT_EQ(0, event_take(reused));
	close(reused);

	/* The eventfd has no other reference: nothing happens. */
	copy = eventfd(0, 0);
	ASSERT_EQ(0, queue_event(&self->g.q[1], copy));
	gate(&self->g, 1, 1);
	EXPECT_EQ(-EAGAIN, queue_poll(&self->g.q[1], 1));
	close(copy);
	open_gate(&self->g, 1, 1);
	EXPECT_EQ(0, queue_wait(&self->g.q[1], 1, PATIENCE_MS, NULL));
}

/*
 * A child has the eventfd, as any file, and the card's file. The gate is opened once the child's
 * call has returned: a call that finds the number reached after it has armed returns 0.
 */
TEST_F(eventfd, works_in_a_child)
{
	int status, ret = 0, ends[2];
	pid_t child;

	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	gate(&self->g, 0, 1);
	ASSERT_EQ(0, pipe(ends));
	child = fork();
	if (!child) {
		ret = queue_poll(&self->g.q[0], 1);
		if (write(ends[1], &ret, sizeof(ret)) != sizeof(ret))
			_exit(1);
		_exit(event_next(self->g.event) == 1 ? 0 : 2);
	}
	close(ends[1]);
	EXPECT_EQ((ssize_t)sizeof(ret), read(ends[0], &ret, sizeof(ret)));
	EXPECT_EQ(-EAGAIN, ret);
	close(ends[0]);
	open_gate(&self->g, 0, 1);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status)) {
		TH_LOG("1: no answer from the child; 2: no event");
	}
	EXPECT_EQ(0, event_take(self->g.event));
}

TEST_F(eventfd, signals_that_the_file_was_closed)
{
	struct queue other;
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &other, NULL));
	ASSERT_EQ(0, queue_event(&other, self->g.event));
	queue_unmap(&other);
	close(fd);
	EXPECT_EQ(1, event_next(self->g.event));
}

/* ---- Users whose eventfds are slow to signal ---- */

enum { LISTENERS = 50, MANY_LISTENERS = 500, SIGNALS = 30 };

/* Each test has its own users, as signals may be pending when it ends. */
enum {
	USER_SLOW = 1000, USER_KILLED, USER_CLOSING, USER_REOPENING, USER_NOISY, USER_BUSY,
};

/* Makes the process one of that user's, which ends with the test. */
static int become_slow(unsigned int user)
{
	return become(user) ?: prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void *shared_page(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* A halted queue signals each new eventfd at once. Runs until killed. */
static int signals_slowly(int event, volatile unsigned int *calls)
{
	struct vta_desc bad = desc_fill(0, 0, 4);
	struct queue q;
	int fd;

	if (become_slow(USER_SLOW) || listen_often(event, LISTENERS))
		return 1;
	fd = card_open();
	if (fd < 0 || queue_open(fd, &q, NULL) || queue_do(&q, bad) != -EIO)
		return 2;
	while (!queue_event(&q, event))
		++*calls;
	return 3;
}

/*
 * A call with an eventfd waits until the signals of those before are sent. So there is never a
 * pile of signals for which others would have to wait.
 */
TEST_F(eventfd, slow_listeners_delay_no_other_file)
{
	volatile unsigned int *calls = shared_page();
	int slow = eventfd(0, EFD_NONBLOCK);
	unsigned int before = 0;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, calls);
	ASSERT_EQ(0, queue_event(&self->g.q[0], self->g.event));
	gate(&self->g, 0, 1);
	ASSERT_EQ(-EAGAIN, queue_poll(&self->g.q[0], 1));
	pid = fork();
	if (!pid)
		_exit(signals_slowly(slow, calls));
	while (before < SIGNALS) {
		pid_t ended = waitpid(pid, NULL, WNOHANG);

		ASSERT_EQ(0, ended);
		before = *calls;
		ASSERT_LE(before, signalled(slow) + 1);
	}
	open_gate(&self->g, 0, 1);
	EXPECT_LT(0, event_next(self->g.event));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_EQ(0, child_kill(pid));
}

enum { FAULTY = 16, TRIES = 20 };

/* Opens the card and @queues, all with one slow eventfd. Returns the file, or a negative value. */
static int open_slow(struct queue queues[FAULTY], int slow)
{
	int fd = card_open();

	if (fd < 0 || listen_often(slow, MANY_LISTENERS))
		return -1;
	for (int i = 0; i < FAULTY; i++)
		if (queue_open(fd, &queues[i], NULL) || queue_event(&queues[i], slow))
			return -1;
	return fd;
}

/*
 * The eventfd of queues that have all halted is signalled for one after the other. A process
 * that takes it from one of them waits for that, and is killed. Returns how many signals had
 * been sent when it had ended, or -1. Its files are left open.
 */
static int kill_a_waiter(void *arg)
{
	int slow = eventfd(0, EFD_NONBLOCK);
	struct queue faulty[FAULTY];
	bool waited;
	pid_t pid;

	(void)arg;
	/* It may still see where others wait. */
	if (setreuid(USER_KILLED, 0) || open_slow(faulty, slow) < 0)
		return -1;
	for (int i = 0; i < FAULTY; i++)
		queue_put(&faulty[i], desc_fill(0, 0, 4));
	for (int i = 0; i < FAULTY; i++)
		if (queue_wait(&faulty[i], 1, PATIENCE_MS, NULL) != -EIO)
			return -1;
	pid = fork();
	if (!pid)
		_exit(queue_event(&faulty[0], -1) != 0);
	waited = proc_gets_into(pid, "vta_notify_wait");
	kill(pid, SIGKILL);
	if (waitpid(pid, NULL, 0) != pid)
		return -1;
	return waited ? (int)signalled(slow) : FAULTY;
}

/*
 * It dies on request and not after all signals. On a busy machine all may have been sent
 * before the signal to end was: then that try proves nothing.
 */
TEST_F(eventfd, caller_that_waits_for_listeners_can_be_killed)
{
	int signals = FAULTY;

	for (int i = 0; i < TRIES && signals == FAULTY; i++)
		signals = in_child(kill_a_waiter, NULL);
	EXPECT_LE(0, signals);
	EXPECT_GT(FAULTY, signals);
}

/* Returns how many signals had been sent when the file was closed, once there is one more. */
static int close_slow(void *arg)
{
	int slow = eventfd(0, EFD_NONBLOCK), fd;
	struct queue queues[FAULTY];
	unsigned int signals;

	(void)arg;
	MUST(!become_slow(USER_CLOSING));
	fd = open_slow(queues, slow);
	MUST(fd >= 0);
	for (int i = 0; i < FAULTY; i++)
		queue_unmap(&queues[i]);
	close(fd);
	signals = signalled(slow);
	while (signals < FAULTY && signalled(slow) == signals)
		sleep_ms(10);
	return (int)signals;
}

/* Closing signals each queue's eventfd. On a busy machine all may have been sent at its end. */
TEST_F(eventfd, close_does_not_wait_for_listeners)
{
	int signals = FAULTY;

	for (int i = 0; i < TRIES && signals == FAULTY; i++)
		signals = in_child(close_slow, NULL);
	EXPECT_LE(0, signals);
	EXPECT_GT(FAULTY, signals);
}

static int reopen_slow(void *arg)
{
	int slow = eventfd(0, EFD_NONBLOCK);
	struct queue queue;

	(void)arg;
	MUST(!become_slow(USER_REOPENING));
	MUST(!listen_often(slow, MANY_LISTENERS));
	for (;;) {
		int fd = card_open();

		MUST(fd >= 0);
		MUST(!queue_open(fd, &queue, NULL));
		MUST(!queue_event(&queue, slow));
		queue_unmap(&queue);
		close(fd);
	}
}

/* So their number is limited. */
TEST_F(eventfd, opening_waits_for_signals_of_closed_files)
{
	pid_t pid = child_start(reopen_slow, NULL);

	while (!waitpid(pid, NULL, WNOHANG) && !proc_is_in(pid, "vta_notifier_wait"))
		sleep_ms(10);
	EXPECT_EQ(0, child_kill(pid));
}

enum { NOISY = 4, NOISES = 1 };

/* New signals come faster than they are sent. Runs until killed. */
static int make_noise(volatile unsigned int *noises)
{
	int slow = eventfd(0, EFD_NONBLOCK), fd;
	struct queue queues[QUEUES];

	MUST(!become_slow(USER_NOISY));
	MUST(!listen_often(slow, MANY_LISTENERS));
	fd = card_open();
	for (int i = 0; i < QUEUES; i++) {
		MUST(!queue_open(fd, &queues[i], NULL));
		MUST(!queue_event(&queues[i], slow));
	}
	for (;;) {
		for (int i = 0; i < QUEUES; i++) {
			MUST(queue_poll(&queues[i], queues[i].submitted + 1) == -EAGAIN);
			MUST(!queue_do(&queues[i], desc_op(VTA_OP_NOP)));
		}
		if (*noises < NOISES)
			*noises = signalled(slow);
	}
}

static int be_signalled(void *arg)
{
	int event = eventfd(0, EFD_NONBLOCK);
	struct queue queue;

	(void)arg;
	MUST(!become_slow(USER_NOISY));
	MUST(!queue_open(card_open(), &queue, NULL));
	MUST(queue_do(&queue, desc_fill(0, 0, 4)) == -EIO);
	MUST(!queue_event(&queue, event));
	while (!event_next(event))
		;
	return 0;
}

TEST_F(eventfd, files_that_signal_all_the_time_delay_no_other)
{
	volatile unsigned int *noises = shared_page();
	pid_t pids[NOISY];

	ASSERT_NE(MAP_FAILED, noises);
	for (unsigned int i = 0; i < NOISY; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(make_noise(&noises[i]));
	}
	for (unsigned int i = 0; i < NOISY; i++)
		while (noises[i] < NOISES)
			sleep_ms(10);
	EXPECT_EQ(0, in_child(be_signalled, NULL));
	for (unsigned int i = 0; i < NOISY; i++)
		EXPECT_EQ(0, child_kill(pids[i]));
}

/* Time that one user's signals take: a tenth, and so much at once. */
enum { SHARE = 10, AT_ONCE_MS = 100, BUSY_MS = 3 * AT_ONCE_MS };

/* Signals as often as it can, until its signals have taken more than they may at once. */
static int signal_busily(void *arg)
{
	int64_t sent = 0, longest = 0, start = now_ns();
	int slow = eventfd(0, EFD_NONBLOCK), fd;
	struct queue queue;

	(void)arg;
	MUST(!become_slow(USER_BUSY));
	MUST(!listen_often(slow, LISTENERS));
	fd = card_open();
	MUST(!queue_open(fd, &queue, NULL));
	MUST(queue_do(&queue, desc_fill(0, 0, 4)) == -EIO);
	while (sent < BUSY_MS * 1000000ll) {
		int64_t before = sent;

		MUST(!queue_event(&queue, slow));
		sent = (int64_t)ctx_number(fd, "vta-user-signal-time");
		if (longest < sent - before)
			longest = sent - before;
	}
	MUST(SHARE * (sent - longest) <= now_ns() - start + SHARE * AT_ONCE_MS * 1000000ll);
	return 0;
}

TEST_F(eventfd, signals_take_a_tenth_of_a_processor)
{
	EXPECT_EQ(0, in_child(signal_busily, NULL));
}

TEST_HARNESS_MAIN

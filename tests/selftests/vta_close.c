// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_close - the end at any moment: everything comes back, others go on
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include <kselftest_harness.h>

#include "vta_insn.h"
#include "vta_selftest.h"

FIXTURE(close) {
	struct usage before;
};

FIXTURE_SETUP(close)
{
	self->before = card_usage();
	ASSERT_EQ(0, self->before.queues);
	ASSERT_EQ(0, self->before.contexts);
	ASSERT_EQ(card_attr("mem_size"), self->before.mem_free);
}

/* And the card still works. */
FIXTURE_TEARDOWN(close)
{
	struct usage now = card_usage();
	struct queue q;
	int fd;

	EXPECT_TRUE(usage_equal(&self->before, &now));
	fd = card_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, queue_open(fd, &q, NULL));
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, queue_close(&q));
	close(fd);
}

/* An open card with memory, and a queue that has much to do. */
struct busy {
	int fd;
	struct queue copy, run, gate;
	struct mem host, card, code;
};

/* Some hundred million micro-ops: seconds of work in each RUN. */
static unsigned int long_stream(const struct vta_info *info, struct insn *code)
{
	struct loops loops = { .uop_end = 1, .outer = 16383, .inner = 16383 };
	struct core core = core_of(info);

	code[0] = insn_gemm(&core, 0, 1, &loops);
	code[1] = insn_finish(0);
	return 2;
}

static int busy_start(struct busy *b)
{
	struct vta_desc copies[32], runs[8], wait;
	struct vta_info info;
	unsigned int i, n;
	int err;

	b->fd = card_open();
	if (b->fd < 0)
		return b->fd;
	err = card_ioctl(b->fd, VTA_IOCTL_INFO, &info);
	err = err ? err : queue_open(b->fd, &b->copy, NULL);
	err = err ? err : queue_open(b->fd, &b->run, NULL);
	err = err ? err : queue_open(b->fd, &b->gate, NULL);
	err = err ? err : mem_alloc(b->fd, &b->host, 8 << 20, VTA_BUF_HOST, 0);
	err = err ? err : mem_alloc(b->fd, &b->card, 8 << 20, VTA_BUF_CARD, 0);
	err = err ? err : mem_alloc(b->fd, &b->code, 4096, VTA_BUF_HOST, 0);
	if (err)
		return err;

	n = long_stream(&info, b->code.ptr);
	for (i = 0; i < ARRAY_SIZE(runs); i++)
		runs[i] = desc_run(b->code.addr, n, 0);
	for (i = 0; i < ARRAY_SIZE(copies); i++)
		copies[i] = desc_copy(i & 1 ? b->host.addr : b->card.addr,
				      i & 1 ? b->card.addr : b->host.addr, 8 << 20);
	wait = desc_wait(b->host.addr, UINT64_MAX);
	queue_submit(&b->run, runs, ARRAY_SIZE(runs));
	queue_submit(&b->copy, copies, ARRAY_SIZE(copies));
	queue_submit(&b->gate, &wait, 1);
	return 0;
}

static void busy_unmap(struct busy *b)
{
	munmap(b->host.ptr, b->host.size);
	munmap(b->card.ptr, b->card.size);
	munmap(b->code.ptr, b->code.size);
	queue_unmap(&b->copy);
	queue_unmap(&b->run);
	queue_unmap(&b->gate);
}

TEST_F(close, with_work_in_flight)
{
	struct busy b;
	int64_t start;

	ASSERT_EQ(0, busy_start(&b));
	sleep_ms(30);
	start = now_ns();
	busy_unmap(&b);
	close(b.fd);
	/* Not until the work is done: that would take many seconds. */
	EXPECT_GT(3000000000, now_ns() - start);
}

TEST_F(close, queue_destroyed_with_work_in_flight)
{
	struct busy b;
	int64_t start;

	ASSERT_EQ(0, busy_start(&b));
	sleep_ms(30);
	start = now_ns();
	EXPECT_EQ(0, queue_close(&b.run));
	EXPECT_EQ(0, queue_close(&b.copy));
	EXPECT_EQ(0, queue_close(&b.gate));
	EXPECT_GT(3000000000, now_ns() - start);
	munmap(b.host.ptr, b.host.size);
	munmap(b.card.ptr, b.card.size);
	munmap(b.code.ptr, b.code.size);
	close(b.fd);
}

/* The card writes to a buffer that is taken away under it. */
TEST_F(close, buffer_freed_with_work_in_flight)
{
	struct busy b;

	ASSERT_EQ(0, busy_start(&b));
	EXPECT_EQ(0, mem_free(&b.card));
	EXPECT_EQ(-EIO, queue_wait(&b.copy, b.copy.submitted, PATIENCE_MS, NULL));
	munmap(b.host.ptr, b.host.size);
	munmap(b.code.ptr, b.code.size);
	queue_unmap(&b.copy);
	queue_unmap(&b.run);
	queue_unmap(&b.gate);
	close(b.fd);
}

static int exit_busy(void *arg)
{
	struct busy b;

	(void)arg;
	return busy_start(&b) ? 1 : 0;
}

TEST_F(close, exit_with_everything_open)
{
	EXPECT_EQ(0, in_child(exit_busy, NULL));
}

/* Threads wait for everything, then comes SIGKILL. */
TEST_F(close, killed_while_working_and_waiting)
{
	unsigned int round;

	for (round = 0; round < 5; round++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			struct waiter w[3];
			struct busy b;

			if (busy_start(&b) ||
			    waiter_start(&w[0], &b.run, b.run.submitted, -1) ||
			    waiter_start(&w[1], &b.copy, b.copy.submitted, -1) ||
			    waiter_start(&w[2], &b.gate, 1, -1))
				_exit(1);
			waiter_join(&w[2]);
			_exit(2);
		}
		sleep_ms(100 + round * 20);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/* A call keeps the file: the wait ends as it would have. */
TEST_F(close, while_another_thread_waits)
{
	struct busy b;
	struct waiter w;
	uint64_t arms;

	ASSERT_EQ(0, busy_start(&b));
	arms = card_counter("arms");
	ASSERT_EQ(0, waiter_start(&w, &b.gate, 1, PATIENCE_MS));
	EXPECT_EQ(arms + 1, card_counter_reaches("arms", arms + 1));
	close(b.fd);
	*(volatile uint64_t *)b.host.ptr = UINT64_MAX;
	queue_kick(&b.gate);
	waiter_join(&w);
	EXPECT_EQ(0, w.ret);
	busy_unmap(&b);
}

/* Half of the files end while the other half works. */
TEST_F(close, others_go_on)
{
	struct queue q;
	struct mem mem;
	int fd = card_open();
	unsigned int i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_CARD, 0));
	for (i = 1; i <= 10; i++) {
		struct busy b;

		ASSERT_EQ(0, busy_start(&b));
		ASSERT_EQ(0, queue_do(&q, desc_signal(mem.addr, i)));
		ASSERT_EQ(i, le64toh(*(volatile uint64_t *)mem.ptr));
		busy_unmap(&b);
		close(b.fd);
		ASSERT_EQ(0, queue_do(&q, desc_signal(mem.addr, i + 100)));
		ASSERT_EQ(i + 100, le64toh(*(volatile uint64_t *)mem.ptr));
	}
	munmap(mem.ptr, mem.size);
	queue_unmap(&q);
	close(fd);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}

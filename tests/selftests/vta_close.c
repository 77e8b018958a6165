// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_close - files that end at any moment: all resources are freed, others continue
 * (kmod/vta_ctx.c)
 */
#include <sys/klog.h>
#include <sys/socket.h>

#include "vta_harness.h"
#include "vta_insn.h"

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

/* After each test the card works. */
FIXTURE_TEARDOWN(close)
{
	struct queue q;
	int fd;

	EXPECT_TRUE(usage_is(&self->before));
	fd = card_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, queue_open(fd, &q, NULL));
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(0, queue_close(&q));
	close(fd);
}

/* A close in another process may take some time. */
static bool all_comes_back(const struct usage *before)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;
	struct usage now = card_usage();

	while (!usage_equal(before, &now) && now_ns() < end) {
		sleep_ms(10);
		now = card_usage();
	}
	return usage_equal(before, &now);
}

/* An open card with memory, and a queue that has much to do. */
struct busy {
	int fd;
	struct queue copy, run, gate;
	struct mem host, card, code;
};

/* Offset of the gate's word in the page of the code, which copies do not touch. */
#define GATE	2048

/* Some hundred million micro-ops: seconds of work in each RUN. */
static unsigned int long_stream(const struct vta_info *info, struct insn *code)
{
	const struct vta_isa_loop loops = {
		.reset = 1, .uop_end = 1, .iter_out = 16383, .iter_in = 16383,
	};
	struct core core = core_of(info);

	code[0] = insn_gemm(&core, 0, &loops);
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
		/* The same row again and again: seconds of work, too. */
		copies[i] = desc_copy2d(i & 1 ? b->host.addr : b->card.addr, 0,
					i & 1 ? b->card.addr : b->host.addr, 0, 8 << 20, 512);
	wait = desc_wait(b->code.addr + GATE, UINT64_MAX);
	queue_submit(&b->run, runs, ARRAY_SIZE(runs));
	queue_submit(&b->copy, copies, ARRAY_SIZE(copies));
	queue_put(&b->gate, wait);
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

TEST_F(close, does_not_wait_for_work_in_flight)
{
	int64_t start, took = INT64_MAX;
	struct busy b;

	/* A machine that was paused takes long, too, but not each time. */
	for (int tries = 0; tries < 3 && took >= 3000000000; tries++) {
		ASSERT_EQ(0, busy_start(&b));
		sleep_ms(30);
		start = now_ns();
		busy_unmap(&b);
		close(b.fd);
		took = now_ns() - start;
	}
	/* The work itself would take many seconds. */
	EXPECT_GT(3000000000, took);
}

TEST_F(close, end_of_a_queue_does_not_wait_for_work_in_flight)
{
	int64_t start, took = INT64_MAX;
	struct busy b;

	for (int tries = 0; tries < 3 && took >= 3000000000; tries++) {
		ASSERT_EQ(0, busy_start(&b));
		sleep_ms(30);
		start = now_ns();
		EXPECT_EQ(0, queue_close(&b.run));
		EXPECT_EQ(0, queue_close(&b.copy));
		EXPECT_EQ(0, queue_close(&b.gate));
		took = now_ns() - start;
		munmap(b.host.ptr, b.host.size);
		munmap(b.card.ptr, b.card.size);
		munmap(b.code.ptr, b.code.size);
		close(b.fd);
	}
	EXPECT_GT(3000000000, took);
}

/* The card is writing to the buffer. */
TEST_F(close, buffer_freed_with_work_in_flight_is_a_fault)
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

TEST_F(close, exit_releases_everything)
{
	EXPECT_EQ(0, in_child(exit_busy, NULL));
}

/* Threads wait for everything, then comes SIGKILL. */
TEST_F(close, kill_while_working_and_waiting_releases_everything)
{
	for (unsigned int round = 0; round < 5; round++) {
		pid_t pid = fork();

		if (!pid) {
			struct waiter w[3];
			struct busy b;

			if (busy_start(&b) || waiter_start(&w[0], &b.run, b.run.submitted, -1) ||
			    waiter_start(&w[1], &b.copy, b.copy.submitted,
					 -1) || waiter_start(&w[2], &b.gate, 1, -1))
				_exit(1);
			waiter_join(&w[2]);
			_exit(2);
		}
		sleep_ms(100 + round * 20);
		EXPECT_EQ(0, child_kill(pid));
	}
}

/* ---- card memory that is being cleared ---- */

#define LEFT	0x5ca1ab1eu

#define CHUNK	(2ull << 20)	/* what the driver allocates, in any order */

/* In the last word of each chunk of card memory, by a user whose process has ended. */
static int leave_words(uint64_t size)
{
	struct vta_buf_alloc alloc = { .size = size, .flags = VTA_BUF_CARD };
	int fd = card_open();
	struct queue q;
	int err;

	if (fd < 0)
		return fd;
	err = card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc);
	err = err ? err : queue_open(fd, &q, NULL);
	if (!err) {
		for (uint64_t end = CHUNK; end <= size && !err; end += CHUNK)
			err = queue_do(&q, desc_fill((uint32_t)(alloc.addr + end - 4), LEFT, 4));
		queue_unmap(&q);
	}
	close(fd);
	return err;
}

/* How many are left, read without the driver, which would clear such memory before showing it. */
static int count_words(uint64_t size, unsigned int *left)
{
	char address[32], path[96];
	const uint8_t *memory = MAP_FAILED;
	int fd, err;

	err = card_pci_address(address, sizeof(address));
	err = err ? err : file_write(DRIVER "unbind", address);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource4", address);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	*left = 0;
	if (memory != MAP_FAILED) {
		for (uint64_t end = CHUNK; end <= size; end += CHUNK)
			*left += le32toh(*(const volatile uint32_t *)(memory + end - 4)) == LEFT;
		munmap((void *)memory, size);
	} else {
		err = -errno;
	}
	close(fd);
	return file_write(DRIVER "bind", address) ? -EIO : err;
}

/* Kills a process as soon as it has begun to allocate all; its status. */
static int kill_while_clearing(uint64_t size)
{
	struct vta_buf_alloc alloc = { .size = size, .flags = VTA_BUF_CARD };
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(card_ioctl(card_open(), VTA_IOCTL_BUF_ALLOC, &alloc) ? 1 : 0);
	while (card_usage().mem_free == size && !waitpid(pid, &status, WNOHANG))
		;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

/* On a busy machine the signal may come after the end, but not each time. */
TEST_F(close, kill_ends_the_clearing_of_memory)
{
	uint64_t size = self->before.mem_free;
	unsigned int left = 0;

	for (unsigned int tries = 0; tries < 10 && !left; tries++) {
		int status;

		ASSERT_EQ(0, leave_words(size));
		ASSERT_TRUE(all_comes_back(&self->before));
		status = kill_while_clearing(size);
		ASSERT_TRUE(all_comes_back(&self->before));
		ASSERT_EQ(0, count_words(size, &left));
		EXPECT_TRUE(WIFSIGNALED(status) || !left);
	}
	/* Some words were not cleared; no file could have seen them. */
	EXPECT_LT(0, left);
}

/* ---- other ends of processes and threads ---- */

/* A process that works and waits until it is killed; it writes to the pipe when it has begun. */
static pid_t busy_child(int fds[2])
{
	struct waiter w;
	struct busy b;
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (pid)
		return pid;
	if (busy_start(&b) || waiter_start(&w, &b.gate, 1, -1) || write(fds[1], "", 1) != 1)
		_exit(1);
	waiter_join(&w);
	_exit(2);
}

/* See syslog(2). */
#define CONSOLE_LEVEL	8

/* The kernel logs an OOM kill at length, so the console is silent meanwhile. */
TEST_F(close, oom_kill_releases_everything)
{
	int status, fds[2];
	char path[64], c;
	pid_t pid;

	ASSERT_EQ(0, klogctl(CONSOLE_LEVEL, NULL, 1));
	pid = busy_child(fds);
	ASSERT_LT(0, pid);
	EXPECT_EQ(1, read(fds[0], &c, 1));
	EXPECT_EQ(1, card_usage().contexts);
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	EXPECT_EQ(0, file_write(path, "1000"));
	EXPECT_EQ(0, file_write("/proc/sysrq-trigger", "f"));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
	EXPECT_EQ(0, klogctl(CONSOLE_LEVEL, NULL, 7));
	close(fds[0]);
	close(fds[1]);
}

/* The process continues without its card. */
TEST_F(close, exec_releases_everything)
{
	int status, fds[2], end[2];
	struct busy b;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	ASSERT_EQ(0, pipe(end));
	pid = fork();
	if (!pid) {
		if (busy_start(&b) || dup2(end[0], 0) || close(end[1]))
			_exit(1);
		execl("/bin/sh", "sh", "-c", "read end; exit 3", NULL);
		_exit(2);
	}
	/* exec() closes them: the pipe, too. */
	close(fds[1]);
	EXPECT_EQ(0, read(fds[0], &c, 1));
	EXPECT_TRUE(all_comes_back(&self->before));
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	close(end[0]);
	close(end[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(3, WEXITSTATUS(status));
	close(fds[0]);
}

static void *thread_that_ends(void *arg)
{
	return busy_start(arg) ? arg : NULL;
}

/* The first thread opens the card and ends; the process still uses the file. */
static int main_thread_ends(void *arg)
{
	static struct busy b;
	pthread_t thread;
	struct queue q;
	void *failed;

	(void)arg;
	if (pthread_create(&thread, NULL, thread_that_ends, &b) ||
	    pthread_join(thread, &failed) || failed)
		return 1;
	if (queue_open(b.fd, &q, NULL))
		return 2;
	queue_put(&q, desc_op(VTA_OP_NOP));
	if (queue_wait(&q, 1, PATIENCE_MS, NULL))
		return 3;
	*(volatile uint64_t *)((char *)b.code.ptr + GATE) = UINT64_MAX;
	queue_kick(&b.gate);
	return queue_wait(&b.gate, 1, PATIENCE_MS, NULL) ? 4 : 0;
}

TEST_F(close, file_outlives_the_thread_that_opened_it)
{
	EXPECT_EQ(0, in_child(main_thread_ends, NULL));
}

/* The only reference is in a message that will never be read. */
TEST_F(close, file_in_a_message_never_received_is_released)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { .iov_base = "", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int sockets[2];
	struct busy b;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	ASSERT_EQ(0, busy_start(&b));
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &b.fd, sizeof(int));
	ASSERT_EQ(1, sendmsg(sockets[0], &msg, 0));
	busy_unmap(&b);
	close(b.fd);
	EXPECT_EQ(1, card_usage().contexts);
	EXPECT_EQ(3, card_usage().queues);
	close(sockets[0]);
	close(sockets[1]);
	EXPECT_TRUE(all_comes_back(&self->before));
}

/* A call keeps the file: the wait ends as it would have. */
TEST_F(close, wait_of_another_thread_still_completes)
{
	struct busy b;
	struct waiter w;

	ASSERT_EQ(0, busy_start(&b));
	ASSERT_EQ(0, waiter_arm(&w, &b.gate, 1, PATIENCE_MS));
	close(b.fd);
	*(volatile uint64_t *)((char *)b.code.ptr + GATE) = UINT64_MAX;
	queue_kick(&b.gate);
	waiter_join(&w);
	EXPECT_EQ(0, w.ret);
	busy_unmap(&b);
}

/* Half of the files end while the other half works. */
TEST_F(close, other_files_continue)
{
	struct queue q;
	struct mem mem;
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_CARD, 0));
	for (unsigned int i = 1; i <= 10; i++) {
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

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_call - handles and files of others, and ioctls whose argument is at the
 * edge of a page
 */
#include <sys/socket.h>

#include "../vta_harness.h"
#include "wall.h"

FIXTURE(call) {
	struct wall wall;
	struct holding before;
	struct usage usage;
};

FIXTURE_SETUP(call)
{
	ASSERT_EQ(0, wall_up(&self->wall));
	self->before = holding_of(self->wall.fd);
	self->usage = card_usage();
}

FIXTURE_TEARDOWN(call)
{
	EXPECT_STREQ("intact", wall_down(&self->wall));
}

/* The attacker has gained nothing, and no process has lost anything. */
#define EXPECT_NOTHING_TAKEN()							\
	do {									\
		struct holding _now = holding_of(self->wall.fd);		\
		struct usage _usage = card_usage();				\
										\
		EXPECT_TRUE(holding_equal(&self->before, &_now));			\
		EXPECT_TRUE(usage_equal(&self->usage, &_usage));		\
	} while (0)

/* ---- handles ---- */

TEST_F(call, handles_of_the_victim)
{
	const struct victim_view *view = self->wall.victim.view;
	struct vta_buf_free host = { .handle = view->host_handle };
	struct vta_buf_free card = { .handle = view->card_handle };
	struct vta_buf_free pinned = { .handle = VICTIM_PINNED >> VTA_PAGE_SHIFT };
	struct vta_queue_destroy destroy = { .queue = view->queue };
	struct vta_queue_fault fault = { .queue = view->queue };
	struct vta_wait wait = { .queue = view->queue, .seq = 1 };
	int fd = self->wall.fd;

	ASSERT_NE(view->queue, self->wall.q.id);
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &host));
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &card));
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &pinned));
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &destroy));
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_FAULT, &fault));
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_WAIT, &wait));
	EXPECT_EQ(0, wait.done);
	EXPECT_NOTHING_TAKEN();
}

/* Every queue that there can be, and numbers that are none. */
TEST_F(call, guessed_handles)
{
	int fd = self->wall.fd;
	uint32_t i, guess;

	for (i = 0; i < self->wall.info.queues + 80; i++) {
		guess = i <= self->wall.info.queues + 16 ? i : UINT32_MAX - i;
		struct vta_queue_destroy destroy = { .queue = guess };
		struct vta_queue_fault fault = { .queue = guess };
		struct vta_wait wait = { .queue = guess };

		if (guess == self->wall.q.id)
			continue;
		ASSERT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &destroy));
		ASSERT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_FAULT, &fault));
		ASSERT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_WAIT, &wait));
	}
	/* As handles of buffers: all that is not the attacker's, rings and records included. */
	for (i = 0; i < 4096; i++) {
		struct vta_buf_free req = { .handle = i < 2048 ? i : 0x100000 - 1024 + i - 2048 };

		ASSERT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req));
	}
	EXPECT_NOTHING_TAKEN();
}

/* ---- files ---- */

/* Opened anew by its name in /proc, the file is another context. */
TEST_F(call, file_reopened)
{
	struct vta_buf_free req = { .handle = self->wall.rw.handle };
	char path[64];
	struct mem mem;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->wall.fd);
	fd = open(path, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_NE(self->before.context, holding_of(fd).context);
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req));
	EXPECT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, OWN_RW));
	close(fd);
}

static int send_fd(int sock, int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .head = {
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct iovec iov = { .iov_base = "", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int sock)
{
	char space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = &(char){ 0 }, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -EPIPE;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Gives away a context with one buffer, at HOLE, and one queue. */
static int giver(void *arg)
{
	int fd = card_open();
	struct queue q;
	struct mem mem;

	if (fd < 0 || queue_open(fd, &q, NULL) ||
	    mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, HOLE))
		return 1;
	*(uint32_t *)mem.ptr = q.id;
	return send_fd(*(int *)arg, fd) ? 2 : 0;
}

/* By design, a process that receives the file has the context, but nothing else. */
TEST_F(call, file_passed_on)
{
	struct vta_queue_destroy destroy = { .queue = self->wall.victim.view->queue };
	struct vta_buf_free free = { .handle = HOLE >> VTA_PAGE_SHIFT };
	int socks[2], fd;
	uint32_t *word;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, socks));
	EXPECT_EQ(0, in_child(giver, &socks[0]));
	fd = receive_fd(socks[1]);
	ASSERT_LE(0, fd);
	EXPECT_NE(self->before.context, holding_of(fd).context);
	EXPECT_EQ(1, holding_of(fd).queues);
	word = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, HOLE);
	ASSERT_NE(MAP_FAILED, (void *)word);
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &destroy));
	destroy.queue = *word;
	EXPECT_EQ(0, card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &destroy));
	EXPECT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_FREE, &free));
	munmap(word, 4096);
	close(fd);
	EXPECT_NOTHING_TAKEN();
}

/* ---- pointers ---- */

/* Every call, with an argument that would be taken. */
struct request {
	const char *name;
	unsigned long cmd;
	union {
		struct vta_info info;
		struct vta_buf_alloc alloc;
		struct vta_buf_free free;
		struct vta_buf_pin pin;
		struct vta_buf_export export;
		struct vta_buf_import import;
		struct vta_queue_create create;
		struct vta_queue_destroy destroy;
		struct vta_wait wait;
		struct vta_queue_fault fault;
	} arg;
};

enum { REQUESTS = 12 };

static void fill_requests(const struct wall *w, struct request *r)
{
	const struct request all[REQUESTS] = {
		{ "INFO", VTA_IOCTL_INFO, { { 0 } } },
		{ "LOST", VTA_IOCTL_LOST, { { 0 } } },
		{ "BUF_ALLOC", VTA_IOCTL_BUF_ALLOC, { .alloc = { .size = 8192 } } },
		{ "BUF_ALLOC of card memory", VTA_IOCTL_BUF_ALLOC,
		  { .alloc = { .size = 8192, .flags = VTA_BUF_CARD } } },
		{ "BUF_FREE", VTA_IOCTL_BUF_FREE, { .free = { .handle = w->rw.handle } } },
		{ "BUF_PIN", VTA_IOCTL_BUF_PIN,
		  { .pin = { .user_addr = (uintptr_t)w & ~4095ul, .size = 4096 } } },
		{ "BUF_EXPORT", VTA_IOCTL_BUF_EXPORT, { .export = { .handle = w->rw.handle } } },
		{ "BUF_IMPORT", VTA_IOCTL_BUF_IMPORT, { .import = { .fd = -1 } } },
		{ "QUEUE_CREATE", VTA_IOCTL_QUEUE_CREATE, { .create = { .ring_order = 4 } } },
		{ "QUEUE_DESTROY", VTA_IOCTL_QUEUE_DESTROY, { .destroy = { .queue = w->q.id } } },
		{ "WAIT", VTA_IOCTL_WAIT, { .wait = { .queue = w->q.id } } },
		{ "FAULT", VTA_IOCTL_FAULT, { .fault = { .queue = w->q.id } } },
	};

	memcpy(r, all, sizeof(all));
}

static int count_fds(void)
{
	int n = 0, fd;

	for (fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Cut off by the end of the page, after every word. */
TEST_F(call, argument_across_the_edge_of_a_page)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct request requests[REQUESTS];
	int fds = count_fds();
	uint8_t *area;

	fill_requests(&self->wall, requests);
	area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)area);
	ASSERT_EQ(0, mprotect(area + page, page, PROT_NONE));
	for (unsigned int i = 0; i < REQUESTS; i++) {
		for (size_t cut = 0; cut < _IOC_SIZE(requests[i].cmd); cut += 4) {
			void *arg = area + page - cut;
			int ret;

			memcpy(arg, &requests[i].arg, cut);
			ret = card_ioctl(self->wall.fd, requests[i].cmd, arg);
			if (ret == -ENOTTY)	/* not in this kernel */
				break;
			EXPECT_EQ(-EFAULT, ret) {
				TH_LOG("%s, %zu bytes of it", requests[i].name, cut);
			}
		}
	}
	EXPECT_EQ(fds, count_fds());
	EXPECT_NOTHING_TAKEN();
	EXPECT_EQ(0, queue_do(&self->wall.q, desc_op(VTA_OP_NOP)));
}

/* Where it cannot be, among others the kernel's own memory. */
TEST_F(call, argument_nowhere)
{
	static const uintptr_t nowhere[] = {
		0, 8, 4096, UINTPTR_MAX, UINTPTR_MAX - 7, UINTPTR_MAX - 4095,
		/* Not canonical; the kernel's direct map and text, on x86. */
		(uintptr_t)0x8000000000000000, (uintptr_t)0x0000800000000000,
		(uintptr_t)0xffff888000001000, (uintptr_t)0xffffffff81000000,
	};
	struct request requests[REQUESTS];

	fill_requests(&self->wall, requests);
	for (unsigned int i = 0; i < REQUESTS; i++) {
		for (unsigned int k = 0; k < ARRAY_SIZE(nowhere); k++) {
			int ret = card_ioctl(self->wall.fd, requests[i].cmd, (void *)nowhere[k]);

			if (ret == -ENOTTY)
				break;
			EXPECT_EQ(-EFAULT, ret) {
				TH_LOG("%s at %#lx", requests[i].name, (long)nowhere[k]);
			}
		}
	}
	EXPECT_NOTHING_TAKEN();
}

/* It can be read, but the answer cannot be written: then nothing was done. */
TEST_F(call, argument_that_is_readonly)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct request requests[REQUESTS];
	int fds = count_fds();
	uint8_t *area;

	fill_requests(&self->wall, requests);
	area = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)area);
	for (unsigned int i = 0; i < REQUESTS; i++) {
		int ret;

		if (!(requests[i].cmd & IOC_OUT) || requests[i].cmd == VTA_IOCTL_BUF_IMPORT)
			continue;
		ASSERT_EQ(0, mprotect(area, page, PROT_READ | PROT_WRITE));
		memcpy(area, &requests[i].arg, sizeof(requests[i].arg));
		ASSERT_EQ(0, mprotect(area, page, PROT_READ));
		ret = card_ioctl(self->wall.fd, requests[i].cmd, area);
		if (ret == -ENOTTY)
			continue;
		EXPECT_EQ(-EFAULT, ret) {
			TH_LOG("%s", requests[i].name);
		}
	}
	EXPECT_EQ(fds, count_fds());
	EXPECT_NOTHING_TAKEN();
	EXPECT_EQ(0, queue_do(&self->wall.q, desc_op(VTA_OP_NOP)));
}

/* A newer caller's structure: its tail, too, must be there, and zero. */
TEST_F(call, longer_argument_across_the_edge)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct request requests[REQUESTS];
	uint8_t *area;

	fill_requests(&self->wall, requests);
	area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)area);
	ASSERT_EQ(0, mprotect(area + page, page, PROT_NONE));
	for (unsigned int i = 0; i < REQUESTS; i++) {
		size_t size = _IOC_SIZE(requests[i].cmd);
		unsigned long cmd = (requests[i].cmd & ~(unsigned long)IOCSIZE_MASK) |
				    (size + 8) << IOCSIZE_SHIFT;
		void *arg = area + page - size;
		int ret;

		memcpy(arg, &requests[i].arg, size);
		ret = card_ioctl(self->wall.fd, cmd, arg);
		if (ret == -ENOTTY)
			continue;
		EXPECT_EQ(-EFAULT, ret) {
			TH_LOG("%s", requests[i].name);
		}
		if (!(cmd & IOC_IN))
			continue;
		/* All of it is there, but not zero. */
		memcpy(area, &requests[i].arg, size);
		memset(area + size, 0, 8);
		area[size + 7] = 1;
		EXPECT_EQ(-E2BIG, card_ioctl(self->wall.fd, cmd, area)) {
			TH_LOG("%s", requests[i].name);
		}
	}
	EXPECT_NOTHING_TAKEN();
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_call - handles and files of others, and ioctls whose argument is at the
 * edge of a page
 */
#include <sys/socket.h>

#include "../vta_harness.h"
#include "wall.h"

WALL_FIXTURE(call)

/* ---- handles ---- */

TEST_F(call, handles_of_the_victim_are_enoent)
{
	const struct victim_view *view = self->wall.victim.view;
	struct vta_queue_fault fault = { .queue = view->queue };
	struct vta_wait wait = { .queue = view->queue, .seq = 1 };
	int fd = self->wall.fd;

	ASSERT_NE(view->queue, self->wall.q.id);
	EXPECT_EQ(-ENOENT, buf_release(fd, view->host_handle));
	EXPECT_EQ(-ENOENT, buf_release(fd, view->card_handle));
	EXPECT_EQ(-ENOENT, buf_release(fd, VICTIM_PINNED >> VTA_PAGE_SHIFT));
	EXPECT_EQ(-ENOENT, queue_destroy(fd, view->queue));
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_FAULT, &fault));
	EXPECT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_WAIT, &wait));
	EXPECT_EQ(0, wait.done);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* Every queue that there can be, and numbers that are none. */
TEST_F(call, guessed_handles_are_enoent)
{
	int fd = self->wall.fd;
	uint32_t i, guess;

	for (i = 0; i < self->wall.info.queues + 80; i++) {
		guess = i <= self->wall.info.queues + 16 ? i : UINT32_MAX - i;
		struct vta_queue_fault fault = { .queue = guess };
		struct vta_wait wait = { .queue = guess };

		if (guess == self->wall.q.id)
			continue;
		ASSERT_EQ(-ENOENT, queue_destroy(fd, guess));
		ASSERT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_FAULT, &fault));
		ASSERT_EQ(-ENOENT, card_ioctl(fd, VTA_IOCTL_WAIT, &wait));
	}
	/* As handles of buffers: all that is not the attacker's, rings and records included. */
	for (i = 0; i < 4096; i++)
		ASSERT_EQ(-ENOENT, buf_release(fd, i < 2048 ? i : 0x100000 - 1024 + i - 2048));
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* ---- files ---- */

TEST_F(call, file_reopened_by_its_name_in_proc_is_another_context)
{
	char path[64];
	struct mem mem;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->wall.fd);
	fd = open(path, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_NE(self->wall.before.context, holding_of(fd).context);
	EXPECT_EQ(-ENOENT, buf_release(fd, self->wall.rw.handle));
	EXPECT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, OWN_RW));
	close(fd);
}

/* Gives away a context with one buffer, at HOLE, and one queue. */
static int giver(void *arg)
{
	int fd = card_open();
	struct queue q;
	struct mem mem;

	if (fd < 0 || queue_open(fd, &q, NULL) || mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, HOLE))
		return 1;
	*(uint32_t *)mem.ptr = q.id;
	return fd_send(*(int *)arg, fd) ? 2 : 0;
}

TEST_F(call, received_file_gives_its_context_and_nothing_else)
{
	int socks[2], fd;
	uint32_t *word;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, socks));
	EXPECT_EQ(0, in_child(giver, &socks[0]));
	fd = fd_receive(socks[1]);
	ASSERT_LE(0, fd);
	EXPECT_NE(self->wall.before.context, holding_of(fd).context);
	EXPECT_EQ(1, holding_of(fd).queues);
	word = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, HOLE);
	ASSERT_NE(MAP_FAILED, (void *)word);
	EXPECT_EQ(-ENOENT, queue_destroy(fd, self->wall.victim.view->queue));
	EXPECT_EQ(0, queue_destroy(fd, *word));
	EXPECT_EQ(0, buf_release(fd, HOLE >> VTA_PAGE_SHIFT));
	munmap(word, 4096);
	close(fd);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
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

/* The end of the page cuts it off after every word. */
TEST_F(call, argument_across_the_edge_of_a_page_is_efault)
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
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
	EXPECT_EQ(0, queue_do(&self->wall.q, desc_op(VTA_OP_NOP)));
}

TEST_F(call, argument_outside_of_the_process_is_efault)
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
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_F(call, answer_to_readonly_memory_is_efault_and_nothing_is_done)
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
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
	EXPECT_EQ(0, queue_do(&self->wall.q, desc_op(VTA_OP_NOP)));
}

/* A structure of a newer caller. */
TEST_F(call, tail_of_a_longer_argument_must_be_readable_and_zero)
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
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_open - open files: contexts of their own, and as many as the card has (kmod/vta_file.c,
 * kmod/vta_ctx.c)
 */
#include <sys/socket.h>

#include "vta_harness.h"

FIXTURE(open) {
	struct usage before;
};

FIXTURE_SETUP(open)
{
	self->before = card_usage();
}

/* After each test, no resource is in use. */
FIXTURE_TEARDOWN(open)
{
	EXPECT_TRUE(usage_is(&self->before));
}

TEST_F(open, info_describes_the_card)
{
	struct vta_info info;
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(self->before.contexts + 1, card_usage().contexts);
	ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_INFO, &info));
	EXPECT_EQ(2, VTA_CONTRACT_MAJOR(info.contract));
	EXPECT_LT(0, info.queues);
	EXPECT_LT(0, info.contexts);
	EXPECT_LT(0, info.ring_order_max);
	EXPECT_LT(0, info.clock_khz);
	EXPECT_LT(0, info.vectors);
	EXPECT_LE(info.mem_free, info.mem_size);
	EXPECT_EQ(0, info.pad | info.pad2[0] | info.pad2[1] | info.cores);
	EXPECT_EQ(0, close(fd));
}

TEST_F(open, works_for_reading_only_and_for_writing_only)
{
	static const int modes[] = { O_RDONLY, O_WRONLY };
	struct vta_info info;

	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++) {
		int fd = open(card_node(), modes[i]);

		ASSERT_LE(0, fd);
		EXPECT_EQ(0, card_ioctl(fd, VTA_IOCTL_INFO, &info));
		close(fd);
	}
}

TEST_F(open, for_reading_only_gives_no_resources)
{
	struct vta_queue_create queue = {};
	struct vta_buf_alloc alloc = { .size = 4096 };
	struct vta_buf_pin pin = { .size = 4096 };
	struct vta_buf_export export = { .flags = O_CLOEXEC | O_RDWR };
	struct vta_buf_import import = { .flags = VTA_BUF_READONLY };
	int fd = open(card_node(), O_RDONLY);
	struct vta_lost lost;

	ASSERT_LE(0, fd);
	pin.user_addr = (uintptr_t)&pin & ~4095ul;
	EXPECT_EQ(-EACCES, card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc));
	EXPECT_EQ(-EACCES, card_ioctl(fd, VTA_IOCTL_BUF_PIN, &pin));
	pin.flags = VTA_BUF_READONLY;
	EXPECT_EQ(-EACCES, card_ioctl(fd, VTA_IOCTL_BUF_PIN, &pin));
	EXPECT_EQ(-EACCES, card_ioctl(fd, VTA_IOCTL_BUF_EXPORT, &export));
	EXPECT_EQ(-EACCES, card_ioctl(fd, VTA_IOCTL_BUF_IMPORT, &import));
	EXPECT_EQ(-EACCES, card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &queue));
	EXPECT_EQ(0, card_ioctl(fd, VTA_IOCTL_LOST, &lost));
	close(fd);
}

TEST_F(open, files_cannot_be_read_written_or_sought)
{
	int fd = card_open();
	char byte = 0;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(fd, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, lseek(fd, 1, SEEK_SET));
	EXPECT_EQ(ESPIPE, errno);
	close(fd);
}

TEST_F(open, contexts_have_addresses_of_their_own)
{
	struct mem a, b;
	int fds[2] = { card_open(), card_open() };

	ASSERT_LE(0, fds[0]);
	ASSERT_LE(0, fds[1]);
	ASSERT_EQ(0, mem_alloc(fds[0], &a, 4096, VTA_BUF_HOST, 0x10000000));
	ASSERT_EQ(0, mem_alloc(fds[1], &b, 4096, VTA_BUF_HOST, 0x10000000));
	*(volatile int *)a.ptr = 1;
	*(volatile int *)b.ptr = 2;
	EXPECT_EQ(1, *(volatile int *)a.ptr);
	close(fds[0]);
	close(fds[1]);
	munmap(a.ptr, a.size);
	munmap(b.ptr, b.size);
}

/* One context writes and reads its own memory only, at the same address. */
TEST_F(open, contexts_do_not_see_each_other)
{
	struct mem mine, other, out;
	struct queue q;
	int fds[2] = { card_open(), card_open() };

	ASSERT_EQ(0, mem_alloc(fds[0], &mine, 4096, VTA_BUF_CARD, 0x10000000));
	ASSERT_EQ(0, mem_alloc(fds[1], &other, 4096, VTA_BUF_CARD, 0x10000000));
	ASSERT_EQ(0, mem_alloc(fds[0], &out, 4096, VTA_BUF_HOST, 0x20000000));
	ASSERT_EQ(0, queue_open(fds[0], &q, NULL));
	*(volatile uint32_t *)other.ptr = 0x55555555;

	EXPECT_EQ(0, queue_do(&q, desc_fill(0x10000000, 0x11223344, 4096)));
	EXPECT_EQ(0, queue_do(&q, desc_copy(out.addr, 0x10000000, 4096)));
	EXPECT_EQ(0x11223344, *(volatile uint32_t *)out.ptr);
	EXPECT_EQ(0x55555555, *(volatile uint32_t *)other.ptr);

	/* Memory of the other context alone. */
	ASSERT_EQ(0, mem_free(&mine));
	EXPECT_EQ(-EIO, queue_do(&q, desc_copy(out.addr, 0x10000000, 4096)));
	queue_unmap(&q);
	munmap(out.ptr, out.size);
	munmap(other.ptr, other.size);
	close(fds[0]);
	close(fds[1]);
}

TEST_F(open, is_enospc_when_all_contexts_are_in_use)
{
	unsigned int n = (unsigned int)card_attr("contexts"), i;
	int *fds = calloc(n, sizeof(*fds));

	for (i = 0; i < n - self->before.contexts; i++) {
		fds[i] = card_open();
		ASSERT_LE(0, fds[i]);
	}
	EXPECT_EQ(n, card_usage().contexts);
	EXPECT_EQ(-ENOSPC, card_open());
	close(fds[0]);
	fds[0] = card_open();
	EXPECT_LE(0, fds[0]);
	while (i--)
		close(fds[i]);
}

static int info_of(void *arg)
{
	struct vta_info info;

	return -card_ioctl(*(int *)arg, VTA_IOCTL_INFO, &info);
}

TEST_F(open, fork_shares_the_file)
{
	struct queue q;
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	EXPECT_EQ(0, in_child(info_of, &fd));
	/* The child's end, with all its mappings, takes nothing away. */
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(self->before.contexts + 1, card_usage().contexts);
	EXPECT_EQ(0, queue_close(&q));
	close(fd);
}

/* Gets an open card by a socket and has it fill the buffer at 0x10000000. */
static int work_for_another(void *arg)
{
	int *sockets = arg;
	struct queue q;
	int fd;

	close(sockets[0]);
	fd = fd_receive(sockets[1]);
	if (fd < 0 || queue_open(fd, &q, NULL))
		return 1;
	return queue_do(&q, desc_fill(0x10000000, 0xabababab, 4096)) ? 2 : 0;
}

/* The sender has closed the file by then. */
TEST_F(open, receiver_of_a_file_has_its_context)
{
	int sockets[2], fd;
	struct mem mem;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = child_start(work_for_another, sockets);
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_HOST, 0x10000000));
	ASSERT_EQ(0, fd_send(sockets[0], fd));
	close(fd);
	EXPECT_EQ(0, child_end(pid));
	EXPECT_EQ(0xabababab, *(volatile uint32_t *)mem.ptr);
	munmap(mem.ptr, mem.size);
}

TEST_F(open, poll_reports_nothing)
{
	struct pollfd pfd = { .events = POLLIN | POLLOUT | POLLPRI };

	pfd.fd = card_open();
	ASSERT_LE(0, pfd.fd);
	EXPECT_EQ(0, poll(&pfd, 1, 10));
	close(pfd.fd);
}

TEST_F(open, fdinfo_lists_the_resources)
{
	const unsigned long size = 3 * sysconf(_SC_PAGESIZE);
	struct queue q;
	struct mem mem;
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, ctx_number(fd, "vta-card-bytes"));
	ASSERT_EQ(0, mem_alloc(fd, &mem, size, VTA_BUF_CARD, 0));
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	EXPECT_EQ(size, ctx_number(fd, "vta-card-bytes"));
	EXPECT_EQ(1, ctx_number(fd, "vta-queues"));
	queue_unmap(&q);
	munmap(mem.ptr, mem.size);
	close(fd);
}

TEST_HARNESS_MAIN

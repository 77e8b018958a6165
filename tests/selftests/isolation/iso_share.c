// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_share - pinned and shared memory: only memory that was given can be used, and only as it
 * was given
 */
#include "../vta_harness.h"
#include "wall.h"
#include "writer.h"

#define SIZE	HOARD_BYTES

FIXTURE(share) {
	struct wall wall;
	struct mem out;
	int fd;
};

FIXTURE_SETUP(share)
{
	ASSERT_EQ(0, wall_up(&self->wall));
	if (!self->wall.victim.view->has_pinned || self->wall.victim.view->dma_buf < 0)
		SKIP(return, "the driver neither pins nor exports");
	self->fd = self->wall.fd;
	ASSERT_EQ(0, mem_alloc(self->fd, &self->out, SIZE, VTA_BUF_HOST, 0));
	wall_note(&self->wall);
}

FIXTURE_TEARDOWN(share)
{
	if (self->out.ptr)
		EXPECT_EQ(0, secrets_in(self->out.ptr, SIZE));
	EXPECT_STREQ("intact", wall_down(&self->wall));
}

static int pin(int fd, const volatile void *addr, size_t size, uint32_t flags, uint32_t at)
{
	struct vta_buf_pin req = {
		.user_addr = (uintptr_t)addr, .size = size,
		.addr = at, .flags = flags | (at ? VTA_BUF_FIXED : 0),
	};

	return card_ioctl(fd, VTA_IOCTL_BUF_PIN, &req);
}

static int import(int fd, int dma_buf, uint32_t flags, uint32_t at)
{
	struct vta_buf_import req = {
		.fd = dma_buf, .addr = at, .flags = flags | (at ? VTA_BUF_FIXED : 0),
	};

	return card_ioctl(fd, VTA_IOCTL_BUF_IMPORT, &req);
}

static int export(int fd, uint32_t handle, uint32_t flags)
{
	return buf_export(fd, handle, flags | O_CLOEXEC);
}

static void *anonymous(size_t size, int prot)
{
	return mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int map_error(int fd, size_t size, int prot, off_t offset)
{
	void *ptr = mmap(NULL, size, prot, MAP_SHARED, fd, offset);

	if (ptr == MAP_FAILED)
		return -errno;
	munmap(ptr, size);
	return 0;
}

static const char *attack(struct wall *w, struct vta_desc desc, uint32_t reason, uint32_t access,
			  uint32_t addr)
{
	const struct blame blame = { .reason = reason, .access = access, .addr = addr };
	const char *verdict = wall_attack(w->fd, &w->q, desc, &blame);

	return wall_new_queue(w) ? "no new queue" : verdict;
}

/* ---- pinned memory ---- */

/* Memory of the kernel, of the card, unmapped addresses, and read-only memory. */
TEST_F(share, memory_of_others_cannot_be_pinned)
{
	static const uintptr_t nowhere[] = {
		0, 4096, 0xffff888000001000, 0xffffffff81000000, 0xffffffffff600000,
		0x0000800000000000, 0x00007ffffffff000,
	};
	struct wall *w = &self->wall;
	const volatile void *mapped[] = {
		w->rw.ptr, w->ro.ptr, self->out.ptr, w->q.ring, w->q.status, w->q.doorbell,
	};
	uint8_t *none = anonymous(8192, PROT_NONE), *some = anonymous(8192, PROT_READ);

	for (unsigned int i = 0; i < ARRAY_SIZE(nowhere); i++) {
		EXPECT_EQ(-EFAULT, pin(self->fd, (void *)nowhere[i], 8192, 0, 0));
		EXPECT_EQ(-EFAULT, pin(self->fd, (void *)nowhere[i], 8192, VTA_BUF_READONLY, 0));
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(mapped); i++) {
		EXPECT_EQ(-EFAULT, pin(self->fd, mapped[i], 64, 0, 0));
		EXPECT_EQ(-EFAULT, pin(self->fd, mapped[i], 64, VTA_BUF_READONLY, 0));
	}
	EXPECT_EQ(-EACCES, pin(self->fd, none, 8192, 0, 0));
	EXPECT_EQ(-EACCES, pin(self->fd, none, 8192, VTA_BUF_READONLY, 0));
	EXPECT_EQ(-EACCES, pin(self->fd, some, 8192, 0, 0));
	/* Half of it. */
	ASSERT_EQ(0, mprotect(none, 4096, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EACCES, pin(self->fd, none, 8192, 0, 0));
	EXPECT_EQ(-EACCES, pin(self->fd, none + 4000, 97, 0, 0));
	ASSERT_EQ(0, munmap(none + 4096, 4096));
	EXPECT_EQ(-EFAULT, pin(self->fd, none, 8192, 0, 0));
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* Pages around the pinned ones are not seen. */
TEST_F(share, pin_shows_whole_pages_and_no_more)
{
	uint8_t *area = anonymous(5 * 4096, PROT_READ | PROT_WRITE);
	struct wall *w = &self->wall;

	memset(area, 0x5a, 5 * 4096);
	ASSERT_EQ(0, pin(self->fd, area + 2 * 4096 + 100, 1, 0, HOLE));
	EXPECT_EQ(0, queue_do(&w->q, desc_copy(OWN_RW, HOLE, 4096)));
	EXPECT_STREQ("blamed", attack(w, desc_copy(OWN_RW, HOLE - 1, 1), VTA_FAULT_PAGE,
				      VTA_ACCESS_COPY_SRC, HOLE - 1));
	EXPECT_STREQ("blamed", attack(w, desc_fill(HOLE + 4096, 0, 1), VTA_FAULT_PAGE,
				      VTA_ACCESS_COPY_DST, HOLE + 4096));
	EXPECT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* A file that may only be read, and the page of zeroes that all processes share. */
TEST_F(share, pinned_memory_that_others_read_cannot_be_written)
{
	uint8_t *zeroes = anonymous(4096, PROT_READ), *more = anonymous(4096, PROT_READ);
	int file = open("/proc/self/exe", O_RDONLY);
	struct wall *w = &self->wall;
	uint8_t *text;

	ASSERT_LE(0, file);
	EXPECT_EQ(0, zeroes[0] | more[0]);
	ASSERT_EQ(0, pin(self->fd, zeroes, 4096, VTA_BUF_READONLY, HOLE));
	EXPECT_STREQ("blamed", attack(w, desc_fill(HOLE, 0x66666666, 4096), VTA_FAULT_PERM,
				      VTA_ACCESS_COPY_DST, HOLE));
	EXPECT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
	EXPECT_EQ(0, zeroes[0] | more[0]);

	text = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	ASSERT_NE(MAP_FAILED, text);
	EXPECT_EQ(-EACCES, pin(self->fd, text, 4096, 0, HOLE));
	if (!pin(self->fd, text, 4096, VTA_BUF_READONLY, HOLE)) {
		EXPECT_STREQ("blamed", attack(w, desc_fill(HOLE, 0, 4096), VTA_FAULT_PERM,
					      VTA_ACCESS_COPY_DST, HOLE));
		EXPECT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
	}
	EXPECT_EQ(0, memcmp(text, "\177ELF", 4));
	/* A private copy may be written: by this process alone. */
	munmap(text, 4096);
	text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	ASSERT_NE(MAP_FAILED, text);
	ASSERT_EQ(0, pin(self->fd, text, 4096, 0, HOLE));
	EXPECT_EQ(0, queue_do(&w->q, desc_fill(HOLE, 0x66666666, 4096)));
	EXPECT_EQ(0x66, text[0]);
	EXPECT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
	munmap(text, 4096);
	text = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	EXPECT_EQ(0, memcmp(text, "\177ELF", 4));
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* After unmapping, the card keeps the pages. */
TEST_F(share, pinned_pages_are_given_to_no_other_process)
{
	uint8_t *area = anonymous(SIZE, PROT_READ | PROT_WRITE);
	struct wall *w = &self->wall;

	memset(area, 0x5a, SIZE);
	ASSERT_EQ(0, pin(self->fd, area, SIZE, 0, HOLE));
	munmap(area, SIZE);
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
	ASSERT_EQ(0, queue_do(&w->q, desc_copy(self->out.addr, HOLE, SIZE)));
	EXPECT_EQ(0x5a, ((uint8_t *)self->out.ptr)[0]);
	EXPECT_EQ(0x5a, ((uint8_t *)self->out.ptr)[SIZE - 1]);
	ASSERT_EQ(0, queue_do(&w->q, desc_fill(HOLE, 0xbad0bad0, SIZE)));
	EXPECT_EQ(0, victim_progress(&w->victim, 1));
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_DROP));
	/* Freed, they are others'. */
	ASSERT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
	EXPECT_STREQ("blamed", attack(w, desc_copy(self->out.addr, HOLE, 4096), VTA_FAULT_PAGE,
				      VTA_ACCESS_COPY_SRC, HOLE));
	EXPECT_STREQ("blamed", attack(w, desc_fill(HOLE + SIZE - 4096, 0xbad0bad0, 4096),
				      VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST, HOLE + SIZE - 4096));
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_DROP));
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* The size that was charged is the size that was pinned. */
TEST_F(share, size_to_pin_is_read_once)
{
	struct vta_buf_pin *arg = aligned_alloc(4096, 4096);
	uint8_t *area = anonymous(65536, PROT_READ | PROT_WRITE);
	struct writer writer;

	ASSERT_NE(NULL, arg);
	memset(arg, 0, sizeof(*arg));
	ASSERT_EQ(0, writer_flip(&writer, (uint32_t *)&arg->size, 0x1000, 0x9000));
	for (unsigned int i = 0; i < 100; i++) {
		uint64_t bytes;

		arg->user_addr = (uintptr_t)area;
		arg->addr = HOLE;
		arg->flags = VTA_BUF_FIXED;
		ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_BUF_PIN, arg));
		bytes = holding_of(self->fd).pinned_bytes;
		ASSERT_TRUE(bytes == 0x1000 || bytes == 0x9000);
		ASSERT_EQ(0, queue_do(&self->wall.q, desc_fill(HOLE, i, (uint32_t)bytes)));
		if (i % 10 == 0)
			EXPECT_STREQ("blamed", attack(&self->wall, desc_fill(HOLE + bytes, 0, 4),
						      VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST,
						      HOLE + bytes));
		ASSERT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
	}
	writer_stop(&writer);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* ---- dma-bufs ---- */

/* By handles of others, and of the kernel's objects in the attacker's own context. */
TEST_F(share, buffers_of_others_cannot_be_exported)
{
	const struct victim_view *view = self->wall.victim.view;
	const struct vta_queue_create *q = &self->wall.q.create;

	EXPECT_EQ(-ENOENT, export(self->fd, view->host_handle, O_RDWR));
	EXPECT_EQ(-ENOENT, export(self->fd, view->card_handle, O_RDWR));
	EXPECT_EQ(-ENOENT, export(self->fd, (uint32_t)(q->ring_offset >> 12), O_RDWR));
	EXPECT_EQ(-ENOENT, export(self->fd, (uint32_t)(q->status_offset >> 12), 0));
	EXPECT_EQ(-ENOENT, export(self->fd, (uint32_t)(q->doorbell_offset >> 12), O_RDWR));
	EXPECT_EQ(-EACCES, export(self->fd, self->wall.ro.handle, O_RDWR));
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* The victim's dma-buf, by its number, by its name and by the victim's process. */
TEST_F(share, dma_buf_of_the_victim_cannot_be_had)
{
	const struct victim *v = &self->wall.victim;
	char path[64];
	int pidfd, fd;

	for (fd = -1; fd < 64; fd++)
		EXPECT_GT(0, import(self->fd, fd, 0, 0));
	EXPECT_EQ(-EBADF, import(self->fd, v->view->dma_buf + 64, 0, 0));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", v->pid, v->view->dma_buf);
	EXPECT_EQ(-1, open(path, O_RDWR));
	EXPECT_EQ(EACCES, errno);
	pidfd = (int)syscall(SYS_pidfd_open, v->pid, 0);
	ASSERT_LE(0, pidfd);
	EXPECT_EQ(-1, syscall(SYS_pidfd_getfd, pidfd, v->view->dma_buf, 0));
	EXPECT_EQ(EPERM, errno);
	close(pidfd);
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_F(share, files_that_are_no_dma_bufs_cannot_be_imported)
{
	int fds[] = {
		self->fd, open("/dev/zero", O_RDWR), open("/proc/self/exe", O_RDONLY),
		(int)syscall(SYS_memfd_create, "memfd", 0),
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++) {
		ASSERT_LE(0, fds[i]);
		EXPECT_EQ(-EINVAL, import(self->fd, fds[i], 0, 0));
	}
	EXPECT_EQ(-EBADF, import(self->fd, -1, 0, 0));
	EXPECT_EQ(-EBADF, import(self->fd, INT32_MAX, 0, 0));
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_F(share, dma_buf_given_for_reading_cannot_be_written)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };
	struct wall *w = &self->wall;

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		int owner = card_open(), fd, file;
		struct mem mem;
		char path[64];
		void *ptr;

		ASSERT_LE(0, owner);
		ASSERT_EQ(0, mem_alloc(owner, &mem, OWN_SIZE, kinds[i], 0));
		fd = export(owner, mem.handle, 0);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-EACCES, import(self->fd, fd, 0, HOLE));
		EXPECT_EQ(-EACCES, map_error(fd, OWN_SIZE, PROT_READ | PROT_WRITE, 0));
		EXPECT_EQ(-EINVAL, map_error(fd, OWN_SIZE + 4096, PROT_READ, 0));
		EXPECT_EQ(-EINVAL, map_error(fd, 4096, PROT_READ, OWN_SIZE));
		EXPECT_EQ(-EINVAL, map_error(fd, 8192, PROT_READ, OWN_SIZE - 4096));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		EXPECT_EQ(-1, open(path, O_RDWR));
		EXPECT_EQ(O_RDONLY, fcntl(fd, F_SETFL, O_RDWR) ?: fcntl(fd, F_GETFL) & O_ACCMODE);

		ptr = mmap(NULL, OWN_SIZE, PROT_READ, MAP_SHARED, fd, 0);
		ASSERT_NE(MAP_FAILED, ptr);
		EXPECT_EQ(0, *(volatile int *)ptr);
		EXPECT_EQ(-1, mprotect(ptr, OWN_SIZE, PROT_READ | PROT_WRITE));
		EXPECT_EQ(MAP_FAILED, mremap(ptr, OWN_SIZE, 2 * OWN_SIZE, MREMAP_MAYMOVE));
		file = open("/proc/self/mem", O_RDWR);
		EXPECT_GT(0, pwrite(file, "xxxx", 4, (off_t)(uintptr_t)ptr));
		close(file);

		ASSERT_EQ(0, import(self->fd, fd, VTA_BUF_READONLY, HOLE));
		EXPECT_EQ(0, queue_do(&w->q, desc_copy(OWN_RW, HOLE, OWN_SIZE)));
		EXPECT_STREQ("blamed", attack(w, desc_fill(HOLE, 0xbad0bad0, 4), VTA_FAULT_PERM,
					      VTA_ACCESS_COPY_DST, HOLE));
		/* Borrowed, so that it cannot be given on as something else. */
		EXPECT_EQ(-EOPNOTSUPP, export(self->fd, HOLE >> 12, O_RDWR));
		EXPECT_EQ(-EINVAL, map_error(self->fd, 4096, PROT_READ, HOLE));
		EXPECT_EQ(0, nonzero_in(mem.ptr, OWN_SIZE));
		EXPECT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
		munmap(ptr, OWN_SIZE);
		munmap(mem.ptr, mem.size);
		close(fd);
		close(owner);
	}
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

/* The importer keeps the memory, and sees nothing of later owners. */
TEST_F(share, dma_buf_outlives_its_owner)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };
	struct wall *w = &self->wall;

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		int owner = card_open(), fd;
		struct mem mem;

		ASSERT_LE(0, owner);
		ASSERT_EQ(0, mem_alloc(owner, &mem, SIZE, kinds[i], 0));
		memset(mem.ptr, 0x5a, SIZE);
		fd = export(owner, mem.handle, O_RDWR);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, import(self->fd, fd, 0, HOLE));
		ASSERT_EQ(0, mem_free(&mem));
		close(owner);
		close(fd);
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
		ASSERT_EQ(0, queue_do(&w->q, desc_copy(self->out.addr, HOLE, SIZE)));
		EXPECT_EQ(0x5a, ((uint8_t *)self->out.ptr)[0]);
		EXPECT_EQ(0x5a, ((uint8_t *)self->out.ptr)[SIZE - 1]);
		EXPECT_EQ(0, secrets_in(self->out.ptr, SIZE));
		ASSERT_EQ(0, queue_do(&w->q, desc_fill(HOLE, 0xbad0bad0, SIZE)));
		EXPECT_EQ(0, victim_progress(&w->victim, 1));
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_DROP));

		ASSERT_EQ(0, buf_release(self->fd, HOLE >> VTA_PAGE_SHIFT));
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
		EXPECT_STREQ("blamed", attack(w, desc_copy(self->out.addr, HOLE, 4096),
					      VTA_FAULT_PAGE, VTA_ACCESS_COPY_SRC, HOLE));
		EXPECT_STREQ("blamed", attack(w, desc_fill(HOLE, 0xbad0bad0, SIZE),
					      VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST, HOLE));
		ASSERT_EQ(0, victim_order(&w->victim, VICTIM_DROP));
	}
	EXPECT_TRUE(wall_nothing_taken(&self->wall));
}

TEST_HARNESS_MAIN

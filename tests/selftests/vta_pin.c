// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_pin - pinned memory of a process: every kind of it, its accounting, and that the card and the
 * process see the same pages (kmod/vta_pin.c)
 */
#include <sys/mount.h>
#include <sys/resource.h>

#include "vta_harness.h"

#define PAGE		4096ul
/* Memory that a first-level entry of the card's page table maps. */
#define BLOCK		(2 * MIB)

FIXTURE(pin) {
	uint64_t pinned;
	int fd;
	struct queue q;
	struct mem mem;		/* where the card copies to and from */
};

FIXTURE_SETUP(pin)
{
	ASSERT_EQ(0, card_attr("pinned_bytes"));
	self->pinned = proc_number("status", "VmPin");
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, MIB, VTA_BUF_HOST, 0));
}

FIXTURE_TEARDOWN(pin)
{
	close(self->fd);
	EXPECT_EQ(self->pinned, proc_number("status", "VmPin"));
	EXPECT_EQ(0, card_attr("pinned_bytes"));
}

static void *map(size_t size, int prot, int flags, int fd)
{
	return mmap(NULL, size, prot, flags, fd, 0);
}

static void *map_memory(size_t size)
{
	return map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* The same with addresses that are multiples of BLOCK. */
static uint8_t *map_blocks(size_t size)
{
	uint8_t *ptr = map_memory(size + BLOCK);
	size_t head = (BLOCK - (uintptr_t)ptr % BLOCK) % BLOCK;

	munmap(ptr, head);
	munmap(ptr + head + size, BLOCK - head);
	return ptr + head;
}

static void scribble(void *ptr, size_t size, unsigned int seed)
{
	uint8_t *bytes = ptr;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)((i * 31 + seed) >> 3);
}

/* Returns true if card and process see each other's writes, to the last byte. */
static bool is_shared(struct queue *q, struct mem *mem, void *ptr, uint32_t addr, size_t size)
{
	uint32_t len = (uint32_t)size;

	scribble(ptr, size, 1);
	if (queue_do(q, desc_copy(mem->addr, addr, len)) || memcmp(mem->ptr, ptr, size))
		return false;
	scribble(mem->ptr, size, 2);
	return !queue_do(q, desc_copy(addr, mem->addr, len)) && !memcmp(mem->ptr, ptr, size);
}

/* ---- kinds of memory ---- */

TEST_F(pin, memory_at_any_address_is_shared)
{
	static const struct { size_t at, size; } cases[] = {
		{ 0, 1 }, { 1, 1 }, { 4095, 2 }, { 123, 100000 }, { 8000, 4096 }, { 16, 500001 },
	};
	uint8_t *ptr = malloc(MIB);
	struct vta_buf_pin req;

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t *start = ptr + cases[i].at;
		size_t first = (uintptr_t)start / PAGE;
		size_t last = ((uintptr_t)start + cases[i].size - 1) / PAGE;

		ASSERT_EQ(0, buf_pin(self->fd, start, cases[i].size, 0, &req));
		EXPECT_EQ((uintptr_t)start % PAGE, req.addr % PAGE);
		EXPECT_EQ((last - first + 1) * PAGE, ctx_number(self->fd, "vta-pinned-bytes"));
		EXPECT_EQ((last - first + 1) * PAGE, card_attr("pinned_bytes"));
		EXPECT_EQ(self->pinned + (last - first + 1) * 4, proc_number("status", "VmPin"));
		EXPECT_TRUE(is_shared(&self->q, &self->mem, start, (uint32_t)req.addr,
				      cases[i].size));
		EXPECT_EQ(0, buf_release(self->fd, req.handle));
		EXPECT_EQ(0, ctx_number(self->fd, "vta-pinned-bytes"));
	}
	free(ptr);
}

TEST_F(pin, stack_is_shared)
{
	uint8_t bytes[50000];
	struct vta_buf_pin req;

	ASSERT_EQ(0, buf_pin(self->fd, bytes, sizeof(bytes), 0, &req));
	EXPECT_TRUE(is_shared(&self->q, &self->mem, bytes, (uint32_t)req.addr, sizeof(bytes)));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
}

/* In memory: the card writes to the file, which all processes see. */
TEST_F(pin, memfd_is_shared)
{
	const size_t size = 64 * PAGE;
	int file = memfd_create("pin", MFD_CLOEXEC);
	struct vta_buf_pin req;
	uint8_t *ptr, *copy;

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, (off_t)size));
	ptr = map(size, PROT_READ | PROT_WRITE, MAP_SHARED, file);
	ASSERT_NE(MAP_FAILED, ptr);
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, 0, &req));
	EXPECT_TRUE(is_shared(&self->q, &self->mem, ptr, (uint32_t)req.addr, size));
	copy = malloc(size);
	EXPECT_EQ((ssize_t)size, pread(file, copy, size, 0));
	EXPECT_EQ(0, memcmp(copy, self->mem.ptr, size));
	free(copy);
	/* Truncated, the file has lost the pages, and the card has not. */
	ASSERT_EQ(0, ftruncate(file, 0));
	EXPECT_EQ(0, queue_do(&self->q, desc_fill((uint32_t)req.addr, 5, (uint32_t)size)));
	EXPECT_EQ(0, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)req.addr, 8)));
	EXPECT_EQ(5, *(uint32_t *)self->mem.ptr);
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	close(file);
}

/*
 * Of a file that the file system cleans (ramfs claims to): shared only
 * for reading, privately also for writing.
 */
TEST_F(pin, mapped_file_is_pinned_as_the_mapping_allows)
{
	char dir[] = "/tmp/vta_pin.XXXXXX", name[64];
	const size_t size = 16 * PAGE;
	struct vta_buf_pin req;
	uint8_t *ptr, *text;
	int file;

	ASSERT_NE(NULL, mkdtemp(dir));
	ASSERT_EQ(0, mount("none", dir, "ramfs", 0, NULL));
	snprintf(name, sizeof(name), "%s/file", dir);
	file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, file);
	text = malloc(size);
	scribble(text, size, 3);
	ASSERT_EQ((ssize_t)size, write(file, text, size));

	ptr = map(size, PROT_READ | PROT_WRITE, MAP_SHARED, file);
	ASSERT_NE(MAP_FAILED, ptr);
	EXPECT_EQ(-EOPNOTSUPP, buf_pin(self->fd, ptr, size, 0, &req));
	EXPECT_EQ(0, card_attr("pinned_bytes"));
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, VTA_BUF_READONLY, &req));
	ASSERT_EQ(0, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)req.addr, size)));
	EXPECT_EQ(0, memcmp(text, self->mem.ptr, size));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	munmap(ptr, size);

	ptr = map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
	ASSERT_NE(MAP_FAILED, ptr);
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, 0, &req));
	EXPECT_EQ(0, memcmp(text, ptr, size));
	EXPECT_TRUE(is_shared(&self->q, &self->mem, ptr, (uint32_t)req.addr, size));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	munmap(ptr, size);

	ptr = map(size, PROT_READ, MAP_PRIVATE, file);
	ASSERT_NE(MAP_FAILED, ptr);
	EXPECT_EQ(-EACCES, buf_pin(self->fd, ptr, size, 0, &req));
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, VTA_BUF_READONLY, &req));
	ASSERT_EQ(0, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)req.addr, size)));
	EXPECT_EQ(0, memcmp(text, self->mem.ptr, size));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	munmap(ptr, size);

	free(text);
	close(file);
	umount(dir);
	rmdir(dir);
}

/* Huge pages meet the card's: no second-level table, and one walk for each. */
static bool is_in_blocks(struct queue *q, struct mem *mem, uint8_t *ptr, size_t size)
{
	uint64_t tables = card_attr("page_table_bytes"), walks;
	struct vta_buf_pin req;

	if (buf_pin(q->fd, ptr, size, 0, &req) || req.addr % BLOCK ||
	    card_attr("page_table_bytes") != tables)
		return false;
	/* Fill the TLB with the ring and the destination. */
	if (queue_do(q, desc_copy(mem->addr, (uint32_t)req.addr, 64)))
		return false;
	walks = card_counter("page_walks");
	for (uint32_t at = 0; at < size; at += PAGE)
		if (queue_do(q, desc_copy(mem->addr, (uint32_t)req.addr + at, 64)))
			return false;
	if (card_counter("page_walks") - walks != size / BLOCK - 1)
		return false;
	return is_shared(q, mem, ptr + size - MIB, (uint32_t)(req.addr + size - MIB), MIB) &&
	       !buf_release(q->fd, req.handle);
}

TEST_F(pin, huge_pages_are_mapped_in_blocks)
{
	const size_t size = 2 * BLOCK;
	uint8_t *ptr;

	ASSERT_EQ(0, file_write("/proc/sys/vm/nr_hugepages", "4"));
	ptr = map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	if (ptr == MAP_FAILED)
		SKIP(return, "no huge pages to be had");
	EXPECT_TRUE(is_in_blocks(&self->q, &self->mem, ptr, size));
	munmap(ptr, size);
	EXPECT_EQ(0, file_write("/proc/sys/vm/nr_hugepages", "0"));
}

TEST_F(pin, transparent_huge_pages_are_mapped_in_blocks)
{
	const size_t size = 2 * BLOCK;
	uint8_t *ptr = map_blocks(size);

	madvise(ptr, size, MADV_HUGEPAGE);
	scribble(ptr, size, 0);
	if (proc_number("smaps_rollup", "AnonHugePages") < size / 1024)
		SKIP(return, "no transparent huge pages to be had");
	EXPECT_TRUE(is_in_blocks(&self->q, &self->mem, ptr, size));
	munmap(ptr, size);
}

/* ---- the card and the process see the same pages ---- */

static int scribble_here(void *arg)
{
	scribble(arg, 8 * PAGE, 77);
	return 0;
}

TEST_F(pin, fork_leaves_the_parent_its_pages)
{
	const size_t size = 8 * PAGE;
	uint8_t *ptr = map_memory(size);
	struct vta_buf_pin req;
	int go[2];
	pid_t child;
	char byte;

	scribble(ptr, size, 1);
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, 0, &req));

	/* One child that writes, and one that lives on while the parent writes. */
	EXPECT_EQ(0, in_child(scribble_here, ptr));
	EXPECT_TRUE(is_shared(&self->q, &self->mem, ptr, (uint32_t)req.addr, size));
	ASSERT_EQ(0, pipe(go));
	*(uint32_t *)ptr = 11;
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) == 0 && *(volatile uint32_t *)ptr == 11 ? 0 : 1);
	}
	EXPECT_TRUE(is_shared(&self->q, &self->mem, ptr, (uint32_t)req.addr, size));
	EXPECT_NE(11, *(uint32_t *)ptr);
	close(go[0]);
	close(go[1]);
	EXPECT_EQ(0, child_end(child));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	munmap(ptr, size);
}

TEST_F(pin, card_keeps_unmapped_pages)
{
	const uint32_t size = 8 * PAGE;
	uint8_t *ptr = map_memory(size);
	struct vta_buf_pin req;

	scribble(ptr, size, 4);
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, 0, &req));
	munmap(ptr, size);
	scribble(self->mem.ptr, size, 5);
	EXPECT_EQ(0, queue_do(&self->q, desc_copy((uint32_t)req.addr, self->mem.addr, size)));
	memset(self->mem.ptr, 0, size);
	EXPECT_EQ(0, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)req.addr, size)));
	ptr = map_memory(size);
	scribble(ptr, size, 5);
	EXPECT_EQ(0, memcmp(ptr, self->mem.ptr, size));
	munmap(ptr, size);
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)req.addr, size)));
}

/* Never written before, so that there is only the page of zeroes to be pinned. */
TEST_F(pin, readonly_sees_what_is_written_later)
{
	const uint32_t size = 8 * PAGE;
	uint8_t *ptr = map_memory(size);
	struct vta_buf_pin req;

	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, VTA_BUF_READONLY, &req));
	scribble(ptr, size, 6);
	ASSERT_EQ(0, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)req.addr, size)));
	EXPECT_EQ(0, memcmp(ptr, self->mem.ptr, size));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill((uint32_t)req.addr, 7, 4)));
	EXPECT_EQ(0, memcmp(ptr, self->mem.ptr, size));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	munmap(ptr, size);
}

TEST_F(pin, readonly_memory_is_readonly)
{
	const uint32_t size = 8 * PAGE;
	uint8_t *ptr = map_memory(size);
	struct vta_buf_pin req;

	scribble(ptr, size, 8);
	ASSERT_EQ(0, mprotect(ptr, size, PROT_READ));
	EXPECT_EQ(-EACCES, buf_pin(self->fd, ptr, size, 0, &req));
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, VTA_BUF_READONLY, &req));
	ASSERT_EQ(0, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)req.addr, size)));
	EXPECT_EQ(0, memcmp(ptr, self->mem.ptr, size));
	EXPECT_EQ(-EIO, queue_do(&self->q, desc_fill((uint32_t)req.addr, 7, 4)));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	munmap(ptr, size);
}

/* ---- refusals, after which nothing is pinned ---- */

TEST_F(pin, malformed_requests_are_einval)
{
	uint8_t *ptr = map_memory(PAGE);
	struct vta_buf_pin req;
	const struct vta_buf_pin bad[] = {
		{ .size = 0 },
		{ .size = UINT64_MAX },
		{ .size = 1ull << 32 },
		{ .size = (1ull << 32) - PAGE + 1 },
		{ .user_addr = UINT64_MAX, .size = 2 },
		{ .user_addr = UINT64_MAX - PAGE, .size = 2 * PAGE },
		{ .size = PAGE, .flags = VTA_BUF_CARD },
		{ .size = PAGE, .flags = 0x8 },
		{ .size = PAGE, .flags = 0x20000000 },
		{ .size = PAGE, .flags = 0x80000000 },
		{ .size = PAGE, .align = 3 },
		{ .size = PAGE, .addr = 0x10000000 },
		{ .size = PAGE, .addr = 0x10000001, .flags = VTA_BUF_FIXED },
		{ .size = PAGE, .addr = 1ull << 32, .flags = VTA_BUF_FIXED },
		{ .size = PAGE, .addr = 0, .flags = VTA_BUF_FIXED },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		req = bad[i];
		if (!req.user_addr)
			req.user_addr = (uintptr_t)ptr;
		EXPECT_EQ(-EINVAL, card_ioctl(self->fd, VTA_IOCTL_BUF_PIN, &req)) {
			TH_LOG("request %u", i);
		}
	}
	munmap(ptr, PAGE);
}

TEST_F(pin, ranges_without_memory_are_efault)
{
	uint8_t *ptr = map_memory(4 * PAGE);
	struct vta_buf_pin req;
	struct mem card;

	EXPECT_EQ(-EFAULT, buf_pin(self->fd, NULL, PAGE, 0, &req));
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, (void *)0xffff888000000000ul, PAGE, 0, &req));
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, (void *)-PAGE, PAGE - 1, 0, &req));
	/* A hole in the middle, and an end that is not there. */
	munmap(ptr + 2 * PAGE, PAGE);
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, ptr, 4 * PAGE, 0, &req));
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, ptr + PAGE, PAGE + 1, VTA_BUF_READONLY, &req));
	EXPECT_EQ(0, buf_pin(self->fd, ptr, 2 * PAGE, 0, &req));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	EXPECT_EQ(0, mprotect(ptr, PAGE, PROT_NONE));
	EXPECT_EQ(-EACCES, buf_pin(self->fd, ptr, PAGE, VTA_BUF_READONLY, &req));

	/* Nor can memory of the driver be pinned. */
	ASSERT_EQ(0, mem_alloc(self->fd, &card, PAGE, VTA_BUF_CARD, 0));
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, card.ptr, PAGE, 0, &req));
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, self->mem.ptr, PAGE, 0, &req));
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, self->q.ring, PAGE, 0, &req));
	EXPECT_EQ(-EFAULT, buf_pin(self->fd, (void *)self->q.doorbell, PAGE, 0, &req));
	EXPECT_EQ(0, mem_free(&card));

	EXPECT_EQ(0, card_attr("pinned_bytes"));
	EXPECT_EQ(self->pinned, proc_number("status", "VmPin"));
	munmap(ptr, 4 * PAGE);
}

/* The mapping has two pages, and its file has one. */
TEST_F(pin, pages_beyond_the_end_of_a_file_are_efault)
{
	static const int kinds[] = { MAP_SHARED, MAP_PRIVATE };
	int file = memfd_create("pin", MFD_CLOEXEC);
	struct vta_buf_pin req;
	uint8_t *ptr;

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, (off_t)PAGE));
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		ptr = map(2 * PAGE, PROT_READ | PROT_WRITE, kinds[i], file);
		ASSERT_NE(MAP_FAILED, ptr);
		EXPECT_EQ(-EFAULT, buf_pin(self->fd, ptr, 2 * PAGE, 0, &req));
		EXPECT_EQ(-EFAULT, buf_pin(self->fd, ptr + PAGE, PAGE, 0, &req));
		EXPECT_EQ(-EFAULT, buf_pin(self->fd, ptr + PAGE, PAGE, VTA_BUF_READONLY, &req));
		ASSERT_EQ(0, buf_pin(self->fd, ptr, PAGE, 0, &req));
		EXPECT_EQ(0, buf_release(self->fd, req.handle));
		munmap(ptr, 2 * PAGE);
	}
	EXPECT_EQ(0, card_attr("pinned_bytes"));
	close(file);
}

TEST_F(pin, address_and_alignment_are_as_requested)
{
	uint8_t *ptr = map_memory(4 * PAGE);
	struct vta_buf_pin req = {
		.user_addr = (uintptr_t)ptr + 100, .size = PAGE,
		.addr = 0x40000000, .flags = VTA_BUF_FIXED,
	};
	struct vta_buf_pin other = req;

	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_BUF_PIN, &req));
	EXPECT_EQ(0x40000000 + 100, req.addr);
	EXPECT_EQ(-EEXIST, card_ioctl(self->fd, VTA_IOCTL_BUF_PIN, &other));
	EXPECT_EQ(2 * PAGE, card_attr("pinned_bytes"));
	other.addr = 0;
	other.flags = 0;
	other.align = MIB;
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_BUF_PIN, &other));
	EXPECT_EQ(100, other.addr % MIB);
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	EXPECT_EQ(0, buf_release(self->fd, other.handle));
	munmap(ptr, 4 * PAGE);
}

TEST_F(pin, pinned_buffer_cannot_be_mapped_or_exported)
{
	uint8_t *ptr = map_memory(PAGE);
	struct vta_buf_pin req;

	ASSERT_EQ(0, buf_pin(self->fd, ptr, PAGE, 0, &req));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd,
				   (off_t)req.handle * (off_t)PAGE));
	EXPECT_EQ(-EOPNOTSUPP, buf_export(self->fd, req.handle, O_CLOEXEC));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	munmap(ptr, PAGE);
}

/* ---- accounting ---- */

static int spend_the_limit(void *arg)
{
	const struct rlimit limit = { MIB, MIB };
	uint8_t *ptr = map_memory(2 * MIB);
	int fd = *(int *)arg;
	struct vta_buf_pin req, more;

	MUST(!setrlimit(RLIMIT_MEMLOCK, &limit) && !become(NOBODY));
	MUST(buf_pin(fd, ptr, MIB + 1, 0, &req) == -ENOMEM);
	MUST(!buf_pin(fd, ptr, MIB, 0, &req));
	MUST(proc_number("status", "VmPin") == 1024);
	/* The same pages again are pinned again. */
	MUST(buf_pin(fd, ptr, 1, 0, &more) == -ENOMEM);
	MUST(!buf_release(fd, req.handle) && !proc_number("status", "VmPin"));
	MUST(!buf_pin(fd, ptr + 5, MIB - PAGE, 0, &req) && !buf_release(fd, req.handle));
	return 0;
}

TEST_F(pin, memlock_limit_is_kept)
{
	EXPECT_EQ(0, in_child(spend_the_limit, &self->fd));
}

/* Children that pin through a file of their parent's, and end. */
static int pin_a_half_and_leave(void *arg)
{
	uint8_t *ptr = map_memory(MIB / 2);
	struct vta_buf_pin req;

	return -buf_pin(*(int *)arg, ptr, MIB / 2, 0, &req);
}

static int spend_the_limit_in_children(void *arg)
{
	const struct rlimit limit = { MIB, MIB };

	MUST(!setrlimit(RLIMIT_MEMLOCK, &limit) && !become(NOBODY));
	MUST(in_child(pin_a_half_and_leave, arg) == 0);
	MUST(in_child(pin_a_half_and_leave, arg) == 0);
	return HOLDS(in_child(pin_a_half_and_leave, arg) == ENOMEM) ? 0 : 1;
}

TEST_F(pin, memlock_limit_holds_for_all_processes_of_a_user)
{
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, in_child(spend_the_limit_in_children, &fd));
	/* The pins are the file's until its last descriptor is closed. */
	EXPECT_EQ(MIB, card_attr("pinned_bytes"));
	close(fd);
}

struct gift {
	int fd;
	struct vta_buf_pin *req;
};

static int pin_and_leave(void *arg)
{
	struct gift *gift = arg;
	uint8_t *ptr = map_memory(MIB);

	memset(ptr, 0x5a, MIB);
	return -buf_pin(gift->fd, ptr, MIB, 0, gift->req);
}

/*
 * The process that pinned has ended, but not the buffer; its end must not credit another process.
 */
TEST_F(pin, pin_outlives_the_process)
{
	struct gift gift = { .fd = self->fd };

	gift.req = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, gift.req);
	ASSERT_EQ(0, in_child(pin_and_leave, &gift));
	EXPECT_EQ(MIB, card_attr("pinned_bytes"));
	EXPECT_EQ(self->pinned, proc_number("status", "VmPin"));
	EXPECT_EQ(0, queue_do(&self->q, desc_copy(self->mem.addr, (uint32_t)gift.req->addr, MIB)));
	EXPECT_EQ(0x5a, ((uint8_t *)self->mem.ptr)[MIB - 1]);
	EXPECT_EQ(0, buf_release(self->fd, gift.req->handle));
}

/* Everything goes back with the card, though the file is still open. */
TEST_F(pin, reset_gives_the_pages_back)
{
	uint8_t *ptr = map_memory(MIB);
	struct vta_buf_pin req;

	ASSERT_EQ(0, buf_pin(self->fd, ptr, MIB, 0, &req));
	ASSERT_EQ(0, card_reset_function());
	/* A work gives them back, for which a reset does not wait. */
	EXPECT_TRUE(SOON(!card_attr("pinned_bytes")));
	EXPECT_TRUE(SOON(proc_number("status", "VmPin") == self->pinned));
	EXPECT_EQ(-ENODEV, buf_pin(self->fd, ptr, MIB, 0, &req));
	munmap(ptr, MIB);
}

/* Pinned memory can be pinned again, by this process and by another one. */
TEST_F(pin, memory_can_be_pinned_twice)
{
	uint8_t *ptr = map_memory(MIB);
	struct vta_buf_pin all, part;

	ASSERT_EQ(0, buf_pin(self->fd, ptr, MIB, 0, &all));
	ASSERT_EQ(0, buf_pin(self->fd, ptr + 5 * PAGE, 3 * PAGE, 0, &part));
	EXPECT_NE(all.addr + 5 * PAGE, part.addr);
	EXPECT_TRUE(is_shared(&self->q, &self->mem, ptr, (uint32_t)all.addr, MIB));
	EXPECT_TRUE(is_shared(&self->q, &self->mem, ptr + 5 * PAGE, (uint32_t)part.addr, 3 * PAGE));
	EXPECT_EQ(0, buf_release(self->fd, all.handle));
	EXPECT_TRUE(is_shared(&self->q, &self->mem, ptr + 5 * PAGE, (uint32_t)part.addr, 3 * PAGE));
	EXPECT_EQ(0, buf_release(self->fd, part.handle));
	munmap(ptr, MIB);
}

/* ---- cost ---- */

/* One invalidation for each buffer, whatever its size. */
TEST_F(pin, release_takes_one_invalidation)
{
	static const uint64_t sizes[] = { PAGE, MIB, 16 * MIB, 64 * MIB };
	uint64_t tables = card_attr("page_table_bytes"), before;
	uint8_t *ptr = map_memory(64 * MIB);
	struct vta_buf_pin req;

	/* In pages of 4 KiB. */
	madvise(ptr, 64 * MIB, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		before = card_counter("tlb_invalidations");
		ASSERT_EQ(0, buf_pin(self->fd, ptr, sizes[i], 0, &req));
		EXPECT_EQ(before, card_counter("tlb_invalidations"));
		ASSERT_EQ(0, buf_release(self->fd, req.handle));
		EXPECT_EQ(before + 1, card_counter("tlb_invalidations"));
		EXPECT_EQ(tables, card_attr("page_table_bytes"));
	}
	munmap(ptr, 64 * MIB);
}

/* A process that pins much can be killed at any time. */
TEST_F(pin, process_can_be_killed_while_it_pins)
{
	struct vta_buf_pin req;
	pid_t child;

	for (unsigned int round = 0; round < 8; round++) {
		child = fork();
		if (!child) {
			uint8_t *ptr = map_memory(256 * MIB);
			int fd = card_open();

			while (!buf_pin(fd, ptr, 256 * MIB, 0, &req) &&
			       !buf_release(fd, req.handle))
				;
			_exit(1);
		}
		sleep_ms(20 * round);
		EXPECT_EQ(0, child_kill(child));
		EXPECT_EQ(0, card_attr("pinned_bytes"));
	}
}

TEST_HARNESS_MAIN

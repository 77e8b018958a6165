// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_buf - buffers: addresses, contents, mappings, and no leaks (kmod/vta_buf.c, kmod/vta_mmu.c)
 */
#include "vta_harness.h"

#define ADDR_END	0x100000000ull

FIXTURE(buf) {
	struct usage before;
	int fd;
};

/* Also that the tests before, which ended with everything open, left nothing. */
FIXTURE_SETUP(buf)
{
	self->before = card_usage();
	ASSERT_EQ(card_attr("mem_size"), self->before.mem_free);
	ASSERT_EQ(0, self->before.contexts);
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(buf)
{
	close(self->fd);
}

static int alloc(int fd, struct vta_buf_alloc *req, uint64_t size, uint32_t flags,
		 uint64_t addr, uint64_t align)
{
	*req = (struct vta_buf_alloc) {
		.size = size, .flags = flags, .addr = addr, .align = align,
	};
	return card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, req);
}


static bool all_zero(const void *ptr, size_t size)
{
	const uint64_t *words = ptr;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		if (words[i])
			return false;
	return true;
}

TEST_F(buf, size_is_rounded_up_to_pages)
{
	struct vta_buf_alloc req;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	ASSERT_EQ(0, alloc(self->fd, &req, 1, VTA_BUF_HOST, 0, 0));
	EXPECT_EQ(page, req.size);
	EXPECT_NE(0, req.handle);
	EXPECT_NE(0, req.addr);
	EXPECT_EQ(0, req.addr % VTA_PAGE_SIZE);
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	ASSERT_EQ(0, alloc(self->fd, &req, page + 1, VTA_BUF_CARD, 0, 0));
	EXPECT_EQ(2 * page, req.size);
	EXPECT_EQ(self->before.mem_free - 2 * page, card_usage().mem_free);
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	EXPECT_EQ(self->before.mem_free, card_usage().mem_free);
}

/* The same memory again and again, dirty each time it is given back. */
TEST_F(buf, new_memory_is_zeroed)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };
	struct mem mem;

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (unsigned int round = 0; round < 4; round++) {
			ASSERT_EQ(0, mem_alloc(self->fd, &mem, MIB, kinds[i], 0));
			EXPECT_TRUE(all_zero(mem.ptr, mem.size));
			memset(mem.ptr, 0xa5, mem.size);
			ASSERT_EQ(0, mem_free(&mem));
		}
	}
}

TEST_F(buf, alignment_is_kept)
{
	struct vta_buf_alloc req;

	for (uint64_t align = 1; align <= 64 * MIB; align <<= 1) {
		ASSERT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_HOST, 0, align));
		EXPECT_EQ(0, req.addr % align);
		EXPECT_EQ(0, req.addr % VTA_PAGE_SIZE);
	}
}

TEST_F(buf, fixed_address_is_used)
{
	struct vta_buf_alloc req;

	ASSERT_EQ(0, alloc(self->fd, &req, 8192, VTA_BUF_FIXED, 0x12345000, 0));
	EXPECT_EQ(0x12345000, req.addr);
	/* The first page that can be had, and the last. */
	EXPECT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_FIXED | VTA_BUF_CARD, 4096, 0));
	EXPECT_EQ(4096, req.addr);
	EXPECT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_FIXED, ADDR_END - 4096, 4096));
	EXPECT_EQ(ADDR_END - 4096, req.addr);
}

TEST_F(buf, fixed_overlap_is_eexist)
{
	const uint64_t at = 0x10000000;
	struct vta_buf_alloc req;
	uint32_t handle;

	ASSERT_EQ(0, alloc(self->fd, &req, 8192, VTA_BUF_FIXED, at, 0));
	handle = req.handle;
	EXPECT_EQ(-EEXIST, alloc(self->fd, &req, 4096, VTA_BUF_FIXED, at, 0));
	EXPECT_EQ(-EEXIST, alloc(self->fd, &req, 4096, VTA_BUF_FIXED, at + 4096, 0));
	EXPECT_EQ(-EEXIST, alloc(self->fd, &req, 8192, VTA_BUF_FIXED, at - 4096, 0));
	EXPECT_EQ(-EEXIST, alloc(self->fd, &req, MIB, VTA_BUF_FIXED, at - MIB / 2, 0));
	EXPECT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_FIXED, at - 4096, 0));
	EXPECT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_FIXED, at + 8192, 0));
	ASSERT_EQ(0, buf_release(self->fd, handle));
	EXPECT_EQ(0, alloc(self->fd, &req, 8192, VTA_BUF_FIXED, at, 0));
}

TEST_F(buf, malformed_requests_are_einval)
{
	const uint32_t fixed = VTA_BUF_FIXED;
	struct vta_buf_alloc req;
	int fd = self->fd;

	EXPECT_EQ(-EINVAL, alloc(fd, &req, 0, VTA_BUF_HOST, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 0, VTA_BUF_CARD, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, UINT64_MAX, VTA_BUF_HOST, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, UINT64_MAX - 4096, VTA_BUF_CARD, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, ADDR_END, VTA_BUF_CARD, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, 0x8, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, 0x40000000, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, 0x80000000, 0, 0));
	/* An address without FIXED, and FIXED with an impossible address. */
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, 0, 0x10000000, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, fixed, 0, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, fixed, 0x10000001, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, fixed, 0x10000800, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, fixed, ADDR_END, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 8192, fixed, ADDR_END - 4096, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, fixed, ADDR_END + 0x10000000, 0));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, fixed, UINT64_MAX - 4095, 0));
	/* No power of 2, or not the alignment of the address. */
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, 0, 0, 3));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, 0, 0, 12288));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, 0, 0, 1ull << 63));
	EXPECT_EQ(-EINVAL, alloc(fd, &req, 4096, fixed, 0x10001000, 8192));
}

TEST_F(buf, unknown_handles_are_enoent)
{
	struct vta_buf_free padded = { .pad = 1 };
	struct vta_buf_alloc req;
	int other = card_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_HOST, 0, 0));
	EXPECT_EQ(-ENOENT, buf_release(self->fd, 0));
	EXPECT_EQ(-ENOENT, buf_release(self->fd, req.handle + 1));
	EXPECT_EQ(-ENOENT, buf_release(self->fd, UINT32_MAX));
	/* Another file's. */
	EXPECT_EQ(-ENOENT, buf_release(other, req.handle));
	padded.handle = req.handle;
	EXPECT_EQ(-EINVAL, card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &padded));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	EXPECT_EQ(-ENOENT, buf_release(self->fd, req.handle));
	close(other);
}

/* Down to single pages, so that nothing at all is left; then all in one again. */
TEST_F(buf, card_memory_is_spent_and_comes_back)
{
	uint64_t total = card_attr("mem_size"), sum = 0, size;
	struct vta_buf_alloc req;
	unsigned int n = 0, i;
	uint32_t handles[256];

	EXPECT_EQ(total, self->before.mem_free);
	for (size = total / 4; size >= 4096; size /= 2) {
		while (n < ARRAY_SIZE(handles) &&
		       !alloc(self->fd, &req, size, VTA_BUF_CARD, 0, 0)) {
			handles[n++] = req.handle;
			sum += req.size;
		}
	}
	EXPECT_EQ(total, sum);
	EXPECT_EQ(0, card_usage().mem_free);
	EXPECT_EQ(-ENOSPC, alloc(self->fd, &req, 1, VTA_BUF_CARD, 0, 0));
	/* Host memory is not limited by that. */
	EXPECT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_HOST, 0, 0));
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, buf_release(self->fd, handles[i]));
	EXPECT_EQ(total, card_usage().mem_free);
	EXPECT_EQ(0, alloc(self->fd, &req, total, VTA_BUF_CARD, 0, 0));
	EXPECT_EQ(-ENOSPC, alloc(self->fd, &req, 1, VTA_BUF_CARD, 0, 0));
}

TEST_F(buf, more_than_the_card_has_is_enospc)
{
	struct vta_buf_alloc req;

	EXPECT_EQ(-ENOSPC, alloc(self->fd, &req, card_attr("mem_size") + 1, VTA_BUF_CARD, 0, 0));
	EXPECT_EQ(self->before.mem_free, card_usage().mem_free);
}

TEST_F(buf, more_than_the_host_has_is_enomem)
{
	struct vta_buf_alloc req;

	EXPECT_EQ(-ENOMEM, alloc(self->fd, &req, 3 * 1024 * MIB, VTA_BUF_HOST, 0, 0));
	EXPECT_EQ(0, alloc(self->fd, &req, MIB, VTA_BUF_HOST, 0, 0));
}

/* Handles and addresses of what was freed serve again, thousands of times. */
TEST_F(buf, churn_leaks_nothing)
{
	struct vta_buf_alloc req;

	for (unsigned int i = 0; i < 2000; i++) {
		ASSERT_EQ(0, alloc(self->fd, &req, 4096 * (1 + i % 7),
				   i & 1 ? VTA_BUF_CARD : VTA_BUF_HOST, 0, 0));
		ASSERT_EQ(0, buf_release(self->fd, req.handle));
	}
	EXPECT_EQ(self->before.mem_free, card_usage().mem_free);
}

/* ---- mmap ---- */

static int map(int fd, size_t size, int prot, int flags, uint64_t offset, void **ptr)
{
	*ptr = mmap(NULL, size, prot, flags, fd, (off_t)offset);
	return *ptr == MAP_FAILED ? -errno : 0;
}

TEST_F(buf, mmap_beyond_the_buffer_fails)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct vta_buf_alloc req;
	int fd = self->fd;
	uint64_t offset;
	void *ptr;

	ASSERT_EQ(0, alloc(fd, &req, 8192, VTA_BUF_HOST, 0, 0));
	offset = req.mmap_offset;
	EXPECT_EQ(-EINVAL, map(fd, 4096, rw, MAP_SHARED, 0, &ptr));
	/* Inside the buffer but not its start, behind it, beyond everything. */
	EXPECT_EQ(-EINVAL, map(fd, 4096, rw, MAP_SHARED, offset + 4096, &ptr));
	EXPECT_EQ(-EINVAL, map(fd, 4096, rw, MAP_SHARED, offset + 8192, &ptr));
	EXPECT_EQ(-EINVAL, map(fd, 4096, rw, MAP_SHARED, 1ull << 40, &ptr));
	EXPECT_GT(0, map(fd, 4096, rw, MAP_SHARED, (1ull << 63) - 4096, &ptr));
	/* Too long, private, executable. */
	EXPECT_EQ(-EINVAL, map(fd, 12288, rw, MAP_SHARED, offset, &ptr));
	EXPECT_EQ(-EINVAL, map(fd, 4096, rw, MAP_PRIVATE, offset, &ptr));
	EXPECT_EQ(-EACCES, map(fd, 4096, rw | PROT_EXEC, MAP_SHARED, offset, &ptr));
	EXPECT_EQ(-EACCES, map(fd, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, offset, &ptr));
	/* Freed. */
	ASSERT_EQ(0, buf_release(fd, req.handle));
	EXPECT_EQ(-EINVAL, map(fd, 8192, rw, MAP_SHARED, offset, &ptr));
}

TEST_F(buf, mmap_of_another_file_fails)
{
	struct vta_buf_alloc req;
	int other = card_open();
	void *ptr;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, alloc(self->fd, &req, 4096, VTA_BUF_HOST, 0, 0));
	EXPECT_EQ(-EINVAL, map(other, 4096, PROT_READ, MAP_SHARED, req.mmap_offset, &ptr));
	close(other);
}

TEST_F(buf, mprotect_gives_no_exec)
{
	struct mem mem;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 4096, VTA_BUF_HOST, 0));
	EXPECT_EQ(-1, mprotect(mem.ptr, 4096, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, mprotect(mem.ptr, 4096, PROT_READ));
	EXPECT_EQ(0, mprotect(mem.ptr, 4096, PROT_READ | PROT_WRITE));
	*(volatile int *)mem.ptr = 1;
}

TEST_F(buf, mapping_unmapped_in_part_keeps_the_rest)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct mem mem;
		uint8_t *bytes;

		ASSERT_EQ(0, mem_alloc(self->fd, &mem, 5 * 4096, kinds[i], 0));
		bytes = mem.ptr;
		bytes[0] = 1;
		bytes[4 * 4096] = 5;
		ASSERT_EQ(0, munmap(bytes + 2 * 4096, 4096));
		EXPECT_EQ(1, bytes[0]);
		EXPECT_EQ(5, bytes[4 * 4096]);
		/* Untouched until now: behind the hole the offset is the same. */
		bytes[3 * 4096] = 4;
		EXPECT_EQ(4, bytes[3 * 4096]);
		EXPECT_EQ(0, mem_free(&mem));
	}
	EXPECT_EQ(self->before.mem_free, card_usage().mem_free);
}

TEST_F(buf, mapping_moves_but_does_not_grow)
{
	struct mem mem;
	void *ptr;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 2 * 4096, VTA_BUF_HOST, 0));
	((uint8_t *)mem.ptr)[4096] = 7;
	EXPECT_EQ(MAP_FAILED, mremap(mem.ptr, 2 * 4096, 3 * 4096, MREMAP_MAYMOVE));
	/* The second page moves elsewhere and still shows the second page. */
	ptr = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ptr = mremap((uint8_t *)mem.ptr + 4096, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, ptr);
	ASSERT_NE(MAP_FAILED, ptr);
	EXPECT_EQ(7, *(volatile uint8_t *)ptr);
	munmap(ptr, 4096);
}

/* Memory stays allocated until its last mapping is gone, and is not reused before. */
TEST_F(buf, memory_freed_while_mapped_stays_until_unmapped)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct vta_buf_free req;
		struct mem mem, other;

		ASSERT_EQ(0, mem_alloc(self->fd, &mem, 4096, kinds[i], 0));
		*(volatile int *)mem.ptr = 42;
		req = (struct vta_buf_free) { .handle = mem.handle };
		ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &req));
		ASSERT_EQ(0, mem_alloc(self->fd, &other, 4096, kinds[i], 0));
		memset(other.ptr, 0xff, 4096);
		EXPECT_EQ(42, *(volatile int *)mem.ptr);
		*(volatile int *)mem.ptr = 43;
		EXPECT_EQ(-1, *(volatile int *)other.ptr);
		munmap(mem.ptr, mem.size);
		ASSERT_EQ(0, mem_free(&other));
	}
	EXPECT_EQ(self->before.mem_free, card_usage().mem_free);
}

/* A mapping holds the file. */
TEST_F(buf, mapping_outlives_close)
{
	static const uint32_t kinds[] = { VTA_BUF_HOST, VTA_BUF_CARD };

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		int fd = card_open();
		struct mem mem;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, mem_alloc(fd, &mem, 8192, kinds[i], 0));
		((volatile int *)mem.ptr)[0] = 42;
		close(fd);
		EXPECT_EQ(42, ((volatile int *)mem.ptr)[0]);
		((volatile int *)mem.ptr)[1024] = 43;
		EXPECT_EQ(43, ((volatile int *)mem.ptr)[1024]);
		munmap(mem.ptr, mem.size);
	}
	EXPECT_EQ(self->before.mem_free, card_usage().mem_free);
}

static int read_at(void *arg)
{
	return *(volatile uint8_t *)arg;
}

TEST_F(buf, child_sees_the_mapping)
{
	struct mem mem;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 4096, VTA_BUF_HOST, 0));
	*(volatile uint8_t *)mem.ptr = 99;
	EXPECT_EQ(99, in_child(read_at, mem.ptr));
	EXPECT_EQ(99, *(volatile uint8_t *)mem.ptr);
}

/* ---- the card's side ---- */

TEST_F(buf, freed_buffer_is_inaccessible_to_the_card)
{
	struct mem keep, gone;
	struct queue q;

	ASSERT_EQ(0, mem_alloc(self->fd, &keep, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &gone, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	/* So that the card's TLB knows it. */
	ASSERT_EQ(0, queue_do(&q, desc_copy(keep.addr, gone.addr, 4096)));
	ASSERT_EQ(0, mem_free(&gone));
	EXPECT_EQ(-EIO, queue_do(&q, desc_copy(keep.addr, gone.addr, 4096)));
}

/* The TLB must not know the buffer that had the address before. */
TEST_F(buf, address_used_again_shows_the_new_buffer)
{
	struct mem out, mem;
	struct queue q;

	ASSERT_EQ(0, mem_alloc(self->fd, &out, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	for (unsigned int round = 1; round < 50; round++) {
		ASSERT_EQ(0, mem_alloc(self->fd, &mem, 4096,
				       round & 1 ? VTA_BUF_HOST : VTA_BUF_CARD, 0x40000000));
		*(volatile uint32_t *)mem.ptr = round;
		ASSERT_EQ(0, queue_do(&q, desc_copy(out.addr, mem.addr, 4096)));
		ASSERT_EQ(round, *(volatile uint32_t *)out.ptr);
		ASSERT_EQ(0, mem_free(&mem));
	}
}

/* Sizes around the card's large page, from both kinds, whole to the last byte. */
TEST_F(buf, large_buffers_are_whole)
{
	static const uint64_t sizes[] = { 2 * MIB - 4096, 2 * MIB, 2 * MIB + 4096, 5 * MIB };
	struct queue q;

	if (self->before.mem_free < sizes[3])
		SKIP(return, "the card has too little memory");
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct mem host, card;
		uint64_t wrong = 0, at;

		ASSERT_EQ(0, mem_alloc(self->fd, &host, sizes[i], VTA_BUF_HOST, 0));
		ASSERT_EQ(0, mem_alloc(self->fd, &card, sizes[i], VTA_BUF_CARD, 0));
		for (at = 0; at < sizes[i]; at += 4096)
			*(uint64_t *)((uint8_t *)host.ptr + at) = at + i;
		ASSERT_EQ(0, queue_do(&q, desc_copy(card.addr, host.addr, (uint32_t)sizes[i])));
		memset(host.ptr, 0, sizes[i]);
		ASSERT_EQ(0, queue_do(&q, desc_copy(host.addr, card.addr, (uint32_t)sizes[i])));
		for (at = 0; at < sizes[i]; at += 4096)
			wrong += *(uint64_t *)((uint8_t *)host.ptr + at) != at + i;
		EXPECT_EQ(0, wrong);
		ASSERT_EQ(0, mem_free(&host));
		ASSERT_EQ(0, mem_free(&card));
	}
}

TEST_F(buf, readonly_buffer_can_be_written_by_the_process_alone)
{
	struct mem mem, out;
	struct queue q;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 4096, VTA_BUF_HOST | VTA_BUF_READONLY, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &out, 4096, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	*(volatile uint32_t *)mem.ptr = 5;
	EXPECT_EQ(0, queue_do(&q, desc_copy(out.addr, mem.addr, 4)));
	EXPECT_EQ(5, *(volatile uint32_t *)out.ptr);
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill(mem.addr, 6, 4)));
	EXPECT_EQ(5, *(volatile uint32_t *)mem.ptr);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_large - GiBs of memory, their page tables (kmod/vta_mmu.c), and requests for more than there
 * is, which must fail with an error and not kill any process
 *
 * For a machine with 4 GiB.
 */
#include <sys/sysinfo.h>

#include "vta_harness.h"

#define GIB		(1ull << 30)
/* Past the middle of the device addresses. Each byte is cleared, which is slow in a VM. */
#define LARGE		(2 * GIB + 256 * MIB)
#define STEP		(16 * MIB)
#define BLOCK		(2 * MIB)
#define TABLE		4096

FIXTURE(large) {
	uint64_t tables;	/* bytes of page tables with nothing mapped */
	uint64_t killed;
	int fd;
	struct queue q;
	struct mem mem;
};

/* Number of OOM kills; kernels that do not count them have them in their log alone. */
static uint64_t oom_kills(void)
{
	FILE *file = fopen("/proc/vmstat", "re");
	unsigned long long kills = UINT64_MAX;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "oom_kill %llu", &kills) == 1)
			break;
	if (file)
		fclose(file);
	return kills;
}

FIXTURE_SETUP(large)
{
	self->killed = oom_kills();
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->mem, MIB, VTA_BUF_HOST, 0));
	self->tables = card_attr("page_table_bytes");
}

FIXTURE_TEARDOWN(large)
{
	queue_unmap(&self->q);
	munmap(self->mem.ptr, self->mem.size);
	close(self->fd);
	EXPECT_EQ(0, card_attr("page_table_bytes"));
	EXPECT_EQ(self->killed, oom_kills());
}

/* Returns true if the card sees both ends of each step of @ptr at @addr. */
static bool is_whole(struct queue *q, struct mem *mem, volatile uint8_t *ptr, uint32_t addr)
{
	const uint32_t *seen = mem->ptr;
	uint64_t at, end;

	for (at = 0; at < LARGE; at += STEP) {
		end = at + STEP - 8;
		*(volatile uint32_t *)(ptr + at) = (uint32_t)(at >> 12) + 1;
		*(volatile uint32_t *)(ptr + end) = (uint32_t)(end >> 12) + 2;
	}
	for (at = 0; at < LARGE; at += STEP) {
		end = at + STEP - 8;
		if (queue_do(q, desc_copy(mem->addr, addr + (uint32_t)at, 4)) ||
		    queue_do(q, desc_copy(mem->addr + 4, addr + (uint32_t)end, 4)) ||
		    seen[0] != (uint32_t)(at >> 12) + 1 || seen[1] != (uint32_t)(end >> 12) + 2)
			return false;
	}
	return true;
}

/* Second-level tables that are there for a buffer, in percent of all it could need. */
static uint64_t percent_in_tables(struct _test_data_large *self)
{
	return (card_attr("page_table_bytes") - self->tables) / TABLE * 100 / (LARGE / BLOCK);
}

TEST_F(large, host_buffer_is_whole_and_in_blocks)
{
	uint64_t invalidations;
	struct mem host;

	ASSERT_EQ(0, mem_alloc(self->fd, &host, LARGE, VTA_BUF_HOST, 0));
	EXPECT_EQ(0, host.addr % BLOCK);
	EXPECT_EQ(LARGE + MIB, ctx_number(self->fd, "vta-host-bytes") - 4096 - 4096);
	TH_LOG("%u %% in pages of 4 KiB", (unsigned int)percent_in_tables(self));
	EXPECT_GE(10, percent_in_tables(self));
	EXPECT_TRUE(is_whole(&self->q, &self->mem, host.ptr, host.addr));
	invalidations = card_counter("tlb_invalidations");
	EXPECT_EQ(0, mem_free(&host));
	EXPECT_EQ(invalidations + 1, card_counter("tlb_invalidations"));
	EXPECT_EQ(self->tables, card_attr("page_table_bytes"));
}

TEST_F(large, pinned_memory_is_whole)
{
	uint8_t *ptr = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	uint64_t invalidations;
	struct vta_buf_pin req;

	ASSERT_NE(MAP_FAILED, ptr);
	madvise(ptr, LARGE, MADV_HUGEPAGE);
	ASSERT_EQ(0, buf_pin(self->fd, ptr, LARGE, VTA_BUF_READONLY, &req));
	EXPECT_EQ(LARGE / 1024, proc_number("status", "VmPin"));
	TH_LOG("%u %% in pages of 4 KiB, %u %% of it huge for the process",
	       (unsigned int)percent_in_tables(self),
	       (unsigned int)(proc_number("smaps_rollup", "AnonHugePages") * 1024 * 100 / LARGE));
	EXPECT_TRUE(is_whole(&self->q, &self->mem, ptr, (uint32_t)req.addr));
	invalidations = card_counter("tlb_invalidations");
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	EXPECT_EQ(invalidations + 1, card_counter("tlb_invalidations"));
	EXPECT_EQ(0, proc_number("status", "VmPin"));
	munmap(ptr, LARGE);
}

/*
 * Page walks of a fill of memory in blocks, and of as much in pages. In each 2 MiB of the
 * latter the same pages come twice, for pages of their own may lie in a row by chance, and no
 * more often, for DMA_API_DEBUG warns of a page that is mapped more than seven times.
 */
TEST_F(large, blocks_save_walks)
{
	const uint32_t size = 64 * MIB, piece = BLOCK / 2;
	uint64_t walks[2];
	struct vta_buf_pin pinned;
	struct mem host;
	uint8_t *ptr;
	int file;

	ASSERT_EQ(0, mem_alloc(self->fd, &host, size, VTA_BUF_HOST, 0));
	walks[0] = card_counter("page_walks");
	ASSERT_EQ(0, queue_do(&self->q, desc_fill(host.addr, 1, size)));
	walks[0] = card_counter("page_walks") - walks[0];
	ASSERT_EQ(0, mem_free(&host));

	file = memfd_create("pages", 0);
	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, size / 2));
	ptr = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, ptr);
	for (uint32_t at = 0; at < size; at += piece)
		ASSERT_EQ(ptr + at, mmap(ptr + at, piece, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_FIXED, file, at / BLOCK * piece));
	ASSERT_EQ(0, buf_pin(self->fd, ptr, size, 0, &pinned));
	walks[1] = card_counter("page_walks");
	ASSERT_EQ(0, queue_do(&self->q, desc_fill((uint32_t)pinned.addr, 1, size)));
	walks[1] = card_counter("page_walks") - walks[1];
	ASSERT_EQ(0, buf_release(self->fd, pinned.handle));
	munmap(ptr, size);
	close(file);

	TH_LOG("64 MiB: %llu walks in blocks, %llu in pages", (unsigned long long)walks[0],
	       (unsigned long long)walks[1]);
	EXPECT_GE(2 * size / BLOCK, walks[0]);
	EXPECT_LE(size / 4096, walks[1]);
}

/* Half of the machine, twice, then as much as there is, in small pieces. */
TEST_F(large, more_than_the_host_has_is_enomem)
{
	struct vta_buf_alloc req;
	struct sysinfo info;
	int fd[2], err = 0;
	unsigned int i;
	uint64_t half;

	ASSERT_EQ(0, sysinfo(&info));
	half = info.totalram * info.mem_unit / 2 & ~4095ull;
	for (i = 0; i < 2; i++) {
		fd[i] = card_open();
		ASSERT_LE(0, fd[i]);
		req = (struct vta_buf_alloc) { .size = half };
		err = card_ioctl(fd[i], VTA_IOCTL_BUF_ALLOC, &req);
		TH_LOG("%llu MiB: %d", (unsigned long long)(half / MIB), err);
		EXPECT_EQ(i ? -ENOMEM : 0, err);
	}
	for (i = 0, err = 0; !err; i++) {
		req = (struct vta_buf_alloc) { .size = 64 * MIB };
		err = card_ioctl(fd[1], VTA_IOCTL_BUF_ALLOC, &req);
	}
	EXPECT_EQ(-ENOMEM, err);
	TH_LOG("and %u MiB more", 64 * (i - 1));
	/* Others can still work. */
	EXPECT_EQ(0, queue_do(&self->q, desc_fill(self->mem.addr, 1, MIB)));
	close(fd[0]);
	close(fd[1]);
}

TEST_HARNESS_MAIN

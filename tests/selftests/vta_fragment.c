// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_fragment - 100,000 random allocations and frees of card memory (kmod/vta_cardmem.c), host
 * memory and device addresses (kmod/vta_iova.c): none overlap, and nothing is lost; scattered card
 * memory serves large buffers
 */
#include "vta_harness.h"

#define OPERATIONS	100000
/* Each is to take its time on a kernel that watches itself. */
#define OPERATIONS_WATCHED	10000
#define SLOTS		512
#define PAGES		(1u << 20)	/* of a device address space */

struct slot {
	uint32_t handle;	/* 0: free */
	uint32_t first, pages;	/* device pages */
	uint32_t flags;
};

FIXTURE(fragment) {
	int fd;
	uint64_t mem;		/* of the card */
	uint64_t held;		/* of that, by slots */
	uint32_t random;
	struct slot slots[SLOTS];
	uint8_t taken[PAGES];
};

FIXTURE_SETUP(fragment)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->mem = card_attr("mem_size");
	ASSERT_EQ(self->mem, card_attr("mem_free"));
	self->random = 1;
}

FIXTURE_TEARDOWN(fragment)
{
	close(self->fd);
	EXPECT_EQ(self->mem, card_attr("mem_free"));
	EXPECT_EQ(0, card_attr("host_bytes"));
	EXPECT_EQ(0, card_attr("page_table_bytes"));
}

static uint32_t next_random(struct _test_data_fragment *self, uint32_t below)
{
	self->random = self->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)self->random * below >> 32);
}

/* Marks device pages; false if one was not as it should have been. */
static bool mark(struct _test_data_fragment *self, const struct slot *slot, uint8_t what)
{
	for (uint32_t page = slot->first; page < slot->first + slot->pages; page++) {
		if (self->taken[page] == what)
			return false;
		self->taken[page] = what;
	}
	return true;
}

/* Mostly small, at times a few MiB: returns 0, or what should not have been. */
static int fill_slot(struct _test_data_fragment *self, struct slot *slot)
{
	uint32_t pages = 1 + next_random(self, next_random(self, 32) ? 16 : 1024);
	struct vta_buf_alloc req = {
		.size = pages * 4096ull,
		.align = 4096ull << next_random(self, 4),
		.flags = next_random(self, 2) ? VTA_BUF_CARD : VTA_BUF_HOST,
	};
	int err;

	if (!next_random(self, 4)) {
		req.flags |= VTA_BUF_FIXED;
		req.addr = (1 + next_random(self, PAGES - 1024)) * 4096ull & -req.align;
	}
	if (req.flags & VTA_BUF_FIXED && !req.addr)
		return 0;
	err = card_ioctl(self->fd, VTA_IOCTL_BUF_ALLOC, &req);
	if (err == -EEXIST && req.flags & VTA_BUF_FIXED)
		return 0;
	if (err)
		return err;
	*slot = (struct slot) {
		.handle = req.handle, .first = (uint32_t)(req.addr >> 12),
		.pages = pages, .flags = req.flags,
	};
	if (req.flags & VTA_BUF_CARD)
		self->held += req.size;
	return mark(self, slot, 1) ? 0 : -EADDRINUSE;
}

static int empty_slot(struct _test_data_fragment *self, struct slot *slot)
{
	int err = buf_release(self->fd, slot->handle);

	if (slot->flags & VTA_BUF_CARD)
		self->held -= slot->pages * 4096ull;
	if (!err && !mark(self, slot, 0))
		err = -EADDRNOTAVAIL;
	slot->handle = 0;
	return err;
}

TEST_F(fragment, random_operations_lose_nothing)
{
	unsigned int operations = access("/sys/kernel/debug/kmemleak", F_OK) ?
				  OPERATIONS : OPERATIONS_WATCHED;
	uint64_t tables = card_attr("page_table_bytes"), align;
	int64_t start = now_ns();
	struct vta_buf_alloc req;
	unsigned int i, full = 0;
	struct mem whole;
	int err;

	for (i = 0; i < operations; i++) {
		struct slot *slot = &self->slots[next_random(self, SLOTS)];

		err = slot->handle ? empty_slot(self, slot) : fill_slot(self, slot);
		if (err == -ENOSPC) {
			full++;
			err = 0;
		}
		ASSERT_EQ(0, err);
		if (i % 1000 == 0)
			ASSERT_EQ(self->mem - self->held, card_attr("mem_free"));
	}
	for (i = 0; i < SLOTS; i++)
		if (self->slots[i].handle)
			ASSERT_EQ(0, empty_slot(self, &self->slots[i]));
	TH_LOG("%u operations, %u times full, %u ms", operations, full,
	       (unsigned int)((now_ns() - start) / 1000000));
	EXPECT_EQ(0, ctx_number(self->fd, "vta-card-bytes"));
	EXPECT_EQ(0, ctx_number(self->fd, "vta-host-bytes"));
	EXPECT_EQ(tables, card_attr("page_table_bytes"));

	/* All of the card in one piece, and device addresses from first to last. */
	ASSERT_EQ(0, mem_alloc(self->fd, &whole, self->mem, VTA_BUF_CARD, 0));
	EXPECT_EQ(0, card_attr("mem_free"));
	EXPECT_EQ(0, mem_free(&whole));
	for (align = 1ull << 30; align < 4ull << 30; align += 1ull << 30) {
		req = (struct vta_buf_alloc) { .size = 4096, .align = 1ull << 30 };
		ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_BUF_ALLOC, &req));
		EXPECT_EQ(align, req.addr);
	}
	req = (struct vta_buf_alloc) { .size = 4096 };
	ASSERT_EQ(0, card_ioctl(self->fd, VTA_IOCTL_BUF_ALLOC, &req));
	EXPECT_EQ(4096, req.addr);
}

/* The card writes each page of a buffer, and the CPU sees the same pages in that order. */
static bool pages_are_in_order(int fd, const struct mem *mem)
{
	uint32_t pages = mem->size / 4096, page;
	struct queue q;
	bool good = true;

	if (queue_open(fd, &q, NULL))
		return false;
	for (page = 0; page < pages && good; page++)
		good = !queue_do(&q, desc_fill(mem->addr + page * 4096, page + 1, 4096));
	for (page = 0; page < pages && good; page++) {
		const uint32_t *word = (const uint32_t *)((const char *)mem->ptr + page * 4096);

		good = word[0] == page + 1 && word[1023] == page + 1;
	}
	return !queue_close(&q) && good;
}

/* Half of the card in single pages: the other half is one buffer all the same. */
TEST_F(fragment, scattered_memory_serves_large_buffers)
{
	uint64_t total = self->mem / 4096, n = total < 4096 ? total : 4096, i, rest;
	struct mem *small = calloc(n, sizeof(*small)), filler, large;

	ASSERT_NE(NULL, small);
	/* A larger card is filled by one buffer, but for the pages that are scattered. */
	rest = self->mem - n * 4096;
	if (rest)
		ASSERT_EQ(0, mem_alloc(self->fd, &filler, rest, VTA_BUF_CARD, 0));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, mem_alloc(self->fd, &small[i], 4096, VTA_BUF_CARD, 0));
		*(volatile uint32_t *)small[i].ptr = ~(uint32_t)i;
	}
	EXPECT_EQ(-ENOSPC, mem_alloc(self->fd, &large, 4096, VTA_BUF_CARD, 0));
	for (i = 0; i < n; i += 2)
		ASSERT_EQ(0, mem_free(&small[i]));
	EXPECT_EQ(-ENOSPC, mem_alloc(self->fd, &large, (n / 2 + 1) * 4096, VTA_BUF_CARD, 0));
	EXPECT_EQ(n / 2 * 4096, card_attr("mem_free"));
	ASSERT_EQ(0, mem_alloc(self->fd, &large, n / 2 * 4096, VTA_BUF_CARD, 0));
	EXPECT_EQ(0, card_attr("mem_free"));
	EXPECT_TRUE(pages_are_in_order(self->fd, &large));
	for (i = 1; i < n; i += 2) {
		ASSERT_EQ(~(uint32_t)i, *(volatile uint32_t *)small[i].ptr);
		ASSERT_EQ(0, mem_free(&small[i]));
	}
	EXPECT_EQ(0, mem_free(&large));
	if (rest)
		EXPECT_EQ(0, mem_free(&filler));
	free(small);
}

TEST_HARNESS_MAIN

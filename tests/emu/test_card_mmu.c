// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address translation and the TLB (docs/hardware.md, section 5), watched
 * through what COPY reads and writes.
 */
#include <string.h>

#include "../frame.h"
#include "card_rig.h"

#define SRC	0x00400000u
#define DST	0x00c00000u

struct bench {
	struct rig *r;
	struct rig_queue q;
	uint8_t *dst;
};

static void bench(struct bench *b, struct rig *r)
{
	b->r = r;
	rig_context(r, 0);
	b->dst = rig_map_pages(r, 0, DST, 1);
	rig_queue(r, &b->q, 0, 0, 4);
	rig_queue_start(&b->q, 0);
}

/* A page full of one byte. */
static uint64_t page_of(struct rig *r, uint8_t byte)
{
	uint64_t at = rig_pages(r, 1);

	memset(rig_at(r, at), byte, 4096);
	return at;
}

static uint8_t read_at(struct bench *b, uint32_t va)
{
	b->dst[0] = 0xff;
	rig_do(&b->q, vtadev_desc_copy(DST, va, 1));
	return b->dst[0];
}

static void fails_at(struct bench *b, uint32_t va, enum vta_fault_reason reason)
{
	rig_fails(&b->q, vtadev_desc_copy(DST, va, 1), reason, VTA_ACCESS_COPY_SRC, va);
	rig_queue_stop(&b->q, false);
	rig_queue_start(&b->q, 0);
}

/* ---- The TLB ---- */

/* A card need not keep an entry that it has room for. */
TEST_F(RIG, page_entry_is_kept)
{
	struct bench b;

	if (!rig_is_emulator())
		skip();
	bench(&b, r);
	rig_map(r, 0, SRC, page_of(r, 1), RIG_RW);
	assert_int_equal(read_at(&b, SRC), 1);
	/* Changed, cleared, and with a table that is gone: the old one is used. */
	rig_map(r, 0, SRC, page_of(r, 2), RIG_RW);
	assert_int_equal(read_at(&b, SRC), 1);
	*rig_l2(r, 0, SRC) = 0;
	assert_int_equal(read_at(&b, SRC), 1);
	*rig_l1(r, 0, SRC) = 0;
	assert_int_equal(read_at(&b, SRC), 1);
	rig_set(r, REG_CONTEXT_CTRL(0), 0);
	assert_int_equal(read_at(&b, SRC), 1);
	rig_set(r, REG_CONTEXT_CTRL(0), REG_CONTEXT_CTRL_ENABLE);
	/* Another context's invalidation is no reason to drop it. */
	rig_invalidate(r, 1);
	assert_int_equal(read_at(&b, SRC), 1);
	rig_invalidate(r, 0);
	fails_at(&b, SRC, VTA_FAULT_PAGE);
}

TEST_F(RIG, table_entry_is_kept)
{
	struct bench b;
	uint64_t *entry;

	bench(&b, r);
	rig_map(r, 0, SRC, page_of(r, 1), RIG_RW);
	assert_int_equal(read_at(&b, SRC), 1);
	/* The first level now points elsewhere; the next page is found in the old table. */
	rig_map(r, 0, SRC + 4096, page_of(r, 2), RIG_RW);
	entry = rig_l1(r, 0, SRC);
	*entry = rig_pages(r, 1) | VTA_PTE_VALID;
	assert_int_equal(read_at(&b, SRC + 4096), 2);
	rig_invalidate(r, 0);
	fails_at(&b, SRC, VTA_FAULT_PAGE);
	rig_map(r, 0, SRC, page_of(r, 3), RIG_RW);
	assert_int_equal(read_at(&b, SRC), 3);
}

TEST_F(RIG, block_entry_is_kept)
{
	struct bench b;

	bench(&b, r);
	memset(r->c.bar4, 1, 2u << 20);
	memset(r->c.bar4 + (2u << 20), 2, 2u << 20);
	rig_map_block(r, 0, SRC, 0, RIG_RW | RIG_CARD);
	assert_int_equal(read_at(&b, SRC), 1);
	rig_map_block(r, 0, SRC, 2u << 20, RIG_RW | RIG_CARD);
	/* All of the block, also where it has not been read. */
	assert_int_equal(read_at(&b, SRC + 0x1fffff), 1);
	rig_invalidate(r, REG_TLB_INVALIDATE_ALL);
	assert_int_equal(read_at(&b, SRC + 0x1fffff), 2);
}

TEST_F(RIG, invalid_entry_is_not_kept)
{
	struct bench b;

	bench(&b, r);
	fails_at(&b, SRC, VTA_FAULT_PAGE);
	rig_l2(r, 0, SRC);
	fails_at(&b, SRC, VTA_FAULT_PAGE);
	*rig_l2(r, 0, SRC) = VTA_PTE_VALID | 1ull << 63;
	fails_at(&b, SRC, VTA_FAULT_ENTRY);
	rig_map(r, 0, SRC, page_of(r, 9), RIG_RO);
	assert_int_equal(read_at(&b, SRC), 9);
}

/* Write permission is part of what is kept. */
TEST_F(RIG, permission_is_kept)
{
	struct bench b;
	uint8_t *page;

	bench(&b, r);
	page = rig_map_pages(r, 0, SRC, 1);
	*rig_l2(r, 0, SRC) &= ~VTA_PTE_WRITE;
	rig_fails(&b.q, vtadev_desc_fill(SRC + 5, 1, 1), VTA_FAULT_PERM, VTA_ACCESS_COPY_DST,
		  SRC + 5);
	rig_queue_stop(&b.q, false);
	rig_queue_start(&b.q, 0);
	*rig_l2(r, 0, SRC) |= VTA_PTE_WRITE;
	rig_fails(&b.q, vtadev_desc_fill(SRC, 1, 1), VTA_FAULT_PERM, VTA_ACCESS_COPY_DST, SRC);
	rig_queue_stop(&b.q, false);
	rig_queue_start(&b.q, 0);
	rig_invalidate(r, 0);
	rig_do(&b.q, vtadev_desc_fill(SRC, 1, 1));
	assert_int_equal(page[0], 1);
	*rig_l2(r, 0, SRC) &= ~VTA_PTE_WRITE;
	rig_do(&b.q, vtadev_desc_fill(SRC, 2, 1));
	assert_int_equal(page[0], 2);
	rig_invalidate(r, 0);
	rig_fails(&b.q, vtadev_desc_fill(SRC, 3, 1), VTA_FAULT_PERM, VTA_ACCESS_COPY_DST, SRC);
	assert_int_equal(page[0], 2);
}

/* Thousands of pages and several contexts do not get into each other's way. */
TEST_F(RIG, many_pages)
{
	const unsigned int pages = 1024;
	struct bench b;
	uint8_t *dst;
	uint64_t frames[16];

	bench(&b, r);
	dst = rig_map_pages(r, 0, DST + 0x200000, 256);
	for (unsigned int i = 0; i < 16; i++)
		frames[i] = page_of(r, (uint8_t)(i + 1));
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < pages; i++)
			rig_map(r, 0, 0x40000000 + i * 4096, frames[(i * 7 + round * 5) % 16],
				RIG_RO);
		rig_invalidate(r, REG_TLB_INVALIDATE_ALL);
		/* One byte of each page: 1,024 rows. */
		rig_do(&b.q, vtadev_desc_copy2d(DST + 0x200000, 1, 0x40000000, 4096, 1, pages));
		for (unsigned int i = 0; i < pages; i++)
			assert_int_equal(dst[i], (i * 7 + round * 5) % 16 + 1);
	}
}

/* An invalidation in the midst of a copy has waited for what went before. */
TEST_F(RIG, invalidation_during_copy)
{
	struct bench b;
	struct rig_queue other;
	uint64_t old, new;

	bench(&b, r);
	old = page_of(r, 0);
	new = page_of(r, 0);
	rig_map(r, 0, SRC, old, RIG_RW);
	rig_queue(r, &other, 1, 0, 4);
	rig_queue_start(&other, 0);
	for (uint32_t i = 1; i <= 20; i++) {
		/* Writes the page over and over. */
		rig_put(&other, vtadev_desc_fill2d(SRC, 0, 0x01010101 * i, 4096, 1 << 20));
		rig_submit(&other);
		rig_await(r, REG_STATUS, REG_STATUS_BUSY, REG_STATUS_BUSY);
		rig_map(r, 0, SRC, i % 2 ? new : old, RIG_RW);
		rig_invalidate(r, 0);
		/* The page that is mapped no longer is not written any more. */
		memset(rig_at(r, i % 2 ? old : new), 0xee, 4096);
		rig_queue_stop(&other, true);
		for (uint32_t k = 0; k < 4096; k++)
			assert_int_equal(*((uint8_t *)rig_at(r, i % 2 ? old : new) + k), 0xee);
		rig_queue_start(&other, 0);
	}
}

/* ---- Contexts ---- */

TEST_F(RIG, contexts_are_apart)
{
	struct rig_queue q[2];
	uint8_t *dst[2];

	for (unsigned int i = 0; i < 2; i++) {
		rig_context(r, 6 + i);
		rig_queue(r, &q[i], i, 6 + i, 4);
		dst[i] = rig_map_pages(r, 6 + i, DST, 1);
		rig_map(r, 6 + i, SRC, page_of(r, (uint8_t)(0x10 + i)), RIG_RO);
		rig_queue_start(&q[i], 0);
	}
	for (unsigned int i = 0; i < 10; i++)
		rig_do(&q[i % 2], vtadev_desc_copy(DST + i, SRC, 1));
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(dst[i % 2][i], 0x10 + i % 2);
	assert_int_equal(dst[0][1], 0);
	/* Mapped in one of them only. */
	rig_map(r, 6, SRC + 4096, page_of(r, 3), RIG_RO);
	rig_do(&q[0], vtadev_desc_copy(DST, SRC + 4096, 1));
	rig_fails(&q[1], vtadev_desc_copy(DST, SRC + 4096, 1), VTA_FAULT_PAGE, VTA_ACCESS_COPY_SRC,
		  SRC + 4096);
	rig_do(&q[0], vtadev_desc_copy(DST, SRC + 4096, 1));
}

/* Its root may not be used; what the TLB holds, it still may. */
TEST_F(RIG, disabled_context_faults)
{
	struct bench b;

	bench(&b, r);
	rig_map(r, 0, SRC, page_of(r, 1), RIG_RO);
	rig_do(&b.q, vtadev_desc_nop());
	rig_set(r, REG_CONTEXT_CTRL(0), 0);
	rig_fails(&b.q, vtadev_desc_copy(DST, SRC + (4u << 20), 1), VTA_FAULT_PAGE,
		  VTA_ACCESS_COPY_SRC, SRC + (4u << 20));
}

/* ---- Entries ---- */

TEST_F(RIG, malformed_entries)
{
	static const uint64_t l2_bits[] = { VTA_PTE_BLOCK, 1 << 4, 1 << 11, 1ull << 52,
					    1ull << 63 };
	static const uint64_t l1_bits[] = { VTA_PTE_WRITE, VTA_PTE_CARD, 1 << 4, 1 << 11,
					    1ull << 52, 1ull << 63 };
	static const uint64_t block_bits[] = { 1 << 4, 1 << 11, 1 << 12, 1 << 20, 1ull << 52,
					       1ull << 63 };
	uint64_t good, *entry;
	struct bench b;

	bench(&b, r);
	good = page_of(r, 7) | RIG_RO;
	entry = rig_l2(r, 0, SRC);
	for (size_t i = 0; i < sizeof(l2_bits) / sizeof(l2_bits[0]); i++) {
		*entry = good | l2_bits[i];
		fails_at(&b, SRC, VTA_FAULT_ENTRY);
		*entry = (good | l2_bits[i]) & ~VTA_PTE_VALID;
		fails_at(&b, SRC, VTA_FAULT_PAGE);
	}
	*entry = good;
	assert_int_equal(read_at(&b, SRC), 7);
	rig_invalidate(r, 0);

	entry = rig_l1(r, 0, SRC);
	good = *entry;
	for (size_t i = 0; i < sizeof(l1_bits) / sizeof(l1_bits[0]); i++) {
		*entry = good | l1_bits[i];
		fails_at(&b, SRC, VTA_FAULT_ENTRY);
	}
	*entry = good;
	assert_int_equal(read_at(&b, SRC), 7);
	rig_invalidate(r, 0);

	good = RIG_RO | VTA_PTE_BLOCK | RIG_CARD;
	for (size_t i = 0; i < sizeof(block_bits) / sizeof(block_bits[0]); i++) {
		*entry = good | block_bits[i];
		fails_at(&b, SRC, VTA_FAULT_ENTRY);
	}
	*entry = good;
	assert_int_equal(read_at(&b, SRC), 0);
}

TEST_F(RIG, card_memory_ends)
{
	struct bench b;

	bench(&b, r);
	memset(r->c.bar4, 0x55, RIG_MEM_SIZE);
	rig_map(r, 0, SRC, RIG_MEM_SIZE - 4096, RIG_RO | RIG_CARD);
	assert_int_equal(read_at(&b, SRC + 4095), 0x55);
	rig_map(r, 0, SRC + 4096, RIG_MEM_SIZE, RIG_RO | RIG_CARD);
	fails_at(&b, SRC + 4096, VTA_FAULT_ENTRY);
	rig_map(r, 0, SRC + 4096, VTA_PTE_ADDR, RIG_RO | RIG_CARD);
	fails_at(&b, SRC + 4096, VTA_FAULT_ENTRY);
	rig_map_block(r, 0, 0x80000000, RIG_MEM_SIZE - (2u << 20), RIG_RO | RIG_CARD);
	assert_int_equal(read_at(&b, 0x801fffff), 0x55);
	rig_map_block(r, 0, 0x80200000, RIG_MEM_SIZE, RIG_RO | RIG_CARD);
	fails_at(&b, 0x80200000, VTA_FAULT_ENTRY);
}

TEST_F(RIG, host_blocks)
{
	uint64_t block = rig_block(r);
	uint8_t *memory = rig_at(r, block);
	struct bench b;

	bench(&b, r);
	for (unsigned int i = 0; i < 512; i++)
		memset(memory + i * 4096, (uint8_t)(i * 3 + 1), 4096);
	rig_map_block(r, 0, 0xffe00000, block, RIG_RW);
	for (unsigned int i = 0; i < 512; i += 73)
		assert_int_equal(read_at(&b, 0xffe00000 + i * 4096 + i), (uint8_t)(i * 3 + 1));
	/* To the last byte of the address space. */
	rig_do(&b.q, vtadev_desc_fill(0xfffffffd, 0x332211, 3));
	assert_int_equal(memory[0x1ffffd], 0x11);
	assert_int_equal(memory[0x1fffff], 0x33);
}

TEST_F(RIG, page_zero_and_the_end)
{
	uint64_t walks;
	struct bench b;

	bench(&b, r);
	/* Even if software maps it. */
	rig_map(r, 0, 0, page_of(r, 1), RIG_RW);
	rig_map(r, 0, 4096, page_of(r, 2), RIG_RW);
	assert_int_equal(read_at(&b, 4096), 2);
	walks = rig_counter(r, VTA_COUNTER_PAGE_WALKS);
	fails_at(&b, 0, VTA_FAULT_PAGE);
	fails_at(&b, 4095, VTA_FAULT_PAGE);
	assert_int_equal(rig_counter(r, VTA_COUNTER_PAGE_WALKS), walks);
	/* A row does not wrap around: its first byte beyond is at fault. */
	rig_map_block(r, 0, 0xffe00000, 0, RIG_RW | RIG_CARD);
	rig_fails(&b.q, vtadev_desc_fill(0xfffffff0, 1, 32), VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST,
		  0);
	rig_queue_stop(&b.q, false);
	rig_queue_start(&b.q, 0);
	assert_int_equal(r->c.bar4[0x1ffff0], 1);
	/* Nor does a later row. */
	rig_fails(&b.q, vtadev_desc_fill2d(0xfffffff0, 0x4010, 1, 4, 2), VTA_FAULT_PAGE,
		  VTA_ACCESS_COPY_DST, 0x4000);
}

/* A step that continues in a page elsewhere also continues within the pattern. */
TEST_F(RIG, fill_across_pages_that_are_apart)
{
	static const uint8_t want[8] = { 0x11, 0x22, 0x33, 0x44, 0x11, 0x22, 0x33, 0x44 };
	uint64_t second = page_of(r, 0), first = page_of(r, 0);
	struct bench b;

	bench(&b, r);
	rig_map(r, 0, SRC, first, RIG_RW);
	rig_map(r, 0, SRC + 4096, second, RIG_RW);
	/* From then on, the TLB has both. */
	rig_do(&b.q, vtadev_desc_fill(SRC, 0, 8192));
	rig_do(&b.q, vtadev_desc_fill(SRC + 4093, 0x44332211, sizeof(want)));
	assert_memory_equal((uint8_t *)rig_at(r, first) + 4093, want, 3);
	assert_memory_equal(rig_at(r, second), want + 3, 5);
}

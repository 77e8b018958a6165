// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies between pages that lie anyhow: in host and card memory, following each
 * other or not. However the card joins pages, it moves the same bytes, counts a
 * translation for each page, and faults where it must.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "card_rig.h"

#define CONTEXT		3u
#define PAGES		64u
#define BYTES		(PAGES * VTA_PAGE_SIZE)
#define LINEAR		0x10000000u	/* host pages one after the other */
#define SCATTERED(n)	(0x20000000u + (n) * 0x400000u)
#define COPIES		200u

static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((rng >> 33) % below);
}

static void seed(void)
{
	const char *given = getenv("VTA_SEED");

	rng = given ? strtoull(given, NULL, 0) : 1;
	print_message("VTA_SEED=%llu\n", (unsigned long long)rng);
}

/* A region of pages, each of which is at the same place in another order. */
struct region {
	uint32_t va;
	bool card[PAGES];
	uint64_t at[PAGES];
};

/* Swaps few pages, so that most still follow the one before. */
static void scatter(struct rig *r, struct region *g, unsigned int n, uint64_t host, uint64_t card)
{
	g->va = SCATTERED(n);
	for (unsigned int i = 0; i < PAGES; i++) {
		g->card[i] = i / 8 % 2;
		g->at[i] = (g->card[i] ? card : host) + i * VTA_PAGE_SIZE;
	}
	for (unsigned int i = 0; i < PAGES / 4; i++) {
		unsigned int a = rnd(PAGES), b = rnd(PAGES);
		uint64_t at = g->at[a];
		bool in_card = g->card[a];

		g->at[a] = g->at[b];
		g->card[a] = g->card[b];
		g->at[b] = at;
		g->card[b] = in_card;
	}
	for (unsigned int i = 0; i < PAGES; i++)
		rig_map(r, CONTEXT, g->va + i * VTA_PAGE_SIZE, g->at[i],
			RIG_RW | (g->card[i] ? RIG_CARD : 0));
}

static uint64_t translations(struct rig *r)
{
	return rig_counter(r, VTA_COUNTER_PAGE_WALKS) + rig_counter(r, VTA_COUNTER_TLB_HITS);
}

static uint32_t pages_of(uint32_t va, uint32_t len)
{
	return (va + len - 1) / VTA_PAGE_SIZE - va / VTA_PAGE_SIZE + 1;
}

/* The descriptor's own page is one more. */
static void copy(struct rig_queue *q, uint32_t dst, uint32_t src, uint32_t len)
{
	uint64_t before = translations(q->r);

	rig_do(q, vtadev_desc_copy(dst, src, len));
	assert_int_equal(translations(q->r) - before, pages_of(dst, len) + pages_of(src, len) + 1);
}

/* The pages of a region that the host can see must equal the mirror's. */
static void check_host_pages(struct rig *r, const struct region *g, const uint8_t *mirror)
{
	for (unsigned int i = 0; i < PAGES; i++)
		if (!g->card[i])
			assert_memory_equal(rig_at(r, g->at[i]), mirror + i * VTA_PAGE_SIZE,
					    VTA_PAGE_SIZE);
}

TEST_F(RIG, any_pages)
{
	static uint8_t mirror[2][BYTES];
	struct region regions[2];
	struct rig_queue q;
	uint8_t *linear;

	seed();
	rig_context(r, CONTEXT);
	for (unsigned int n = 0; n < 2; n++)
		scatter(r, &regions[n], n, rig_pages(r, PAGES), n * BYTES);
	linear = rig_map_pages(r, CONTEXT, LINEAR, PAGES);
	rig_queue(r, &q, 2, CONTEXT, 4);
	rig_queue_start(&q, 0);
	for (unsigned int n = 0; n < 2; n++) {
		for (unsigned int i = 0; i < BYTES; i++)
			mirror[n][i] = (uint8_t)rnd(256);
		memcpy(linear, mirror[n], BYTES);
		copy(&q, regions[n].va, LINEAR, BYTES);
	}

	for (unsigned int i = 0; i < COPIES; i++) {
		unsigned int from = rnd(2);
		uint32_t len = 1 + rnd(i % 2 ? BYTES : 3 * VTA_PAGE_SIZE);
		uint32_t dst = rnd(BYTES - len + 1), src = rnd(BYTES - len + 1);

		copy(&q, regions[!from].va + dst, regions[from].va + src, len);
		memcpy(mirror[!from] + dst, mirror[from] + src, len);
		if (rnd(8) == 0)
			rig_invalidate(r, CONTEXT);
	}
	for (unsigned int n = 0; n < 2; n++) {
		check_host_pages(r, &regions[n], mirror[n]);
		copy(&q, LINEAR, regions[n].va, BYTES);
		assert_memory_equal(linear, mirror[n], BYTES);
	}
}

/* In the midst of pages that follow each other: all before it has been moved. */
TEST_F(RIG, faults_within)
{
	static const struct {
		uint64_t flags;
		enum vta_fault_reason reason;
	} bad[] = {
		{ 0, VTA_FAULT_PAGE },
		{ RIG_RO, VTA_FAULT_PERM },
		{ RIG_RW | 1ull << 60, VTA_FAULT_ENTRY },
	};
	const uint32_t dst = LINEAR + BYTES, page = dst + 9 * VTA_PAGE_SIZE;
	struct rig_queue q;
	uint8_t *from, *to;
	uint64_t good;

	rig_context(r, CONTEXT);
	from = rig_map_pages(r, CONTEXT, LINEAR, PAGES);
	to = rig_map_pages(r, CONTEXT, dst, PAGES);
	rig_queue(r, &q, 2, CONTEXT, 4);
	good = *rig_l2(r, CONTEXT, page);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rig_queue_start(&q, q.submitted);
		memset(from, (int)i + 1, BYTES);
		rig_do(&q, vtadev_desc_copy(dst, LINEAR, BYTES));	/* all is in the TLB */
		memset(from, 0x80 + (int)i, BYTES);
		*rig_l2(r, CONTEXT, page) = bad[i].flags ?
			(good & VTA_PTE_ADDR) | bad[i].flags : 0;
		rig_invalidate(r, CONTEXT);
		rig_do(&q, vtadev_desc_copy(dst, LINEAR, 9 * VTA_PAGE_SIZE));	/* up to it */
		memset(from, 0x90 + (int)i, BYTES);
		rig_fails(&q, vtadev_desc_copy(dst + 5, LINEAR, BYTES / 2), bad[i].reason,
			  VTA_ACCESS_COPY_DST, page);
		assert_int_equal(to[9 * VTA_PAGE_SIZE - 1], 0x90 + i);
		assert_int_equal(to[9 * VTA_PAGE_SIZE], i + 1);
		assert_int_equal(to[4], 0x80 + i);
		rig_queue_stop(&q, false);
		q.submitted = rig_seq(&q);
		*rig_l2(r, CONTEXT, page) = good;
		rig_invalidate(r, CONTEXT);
	}
}

/* A block's pages are a run, which continues in pages and other blocks. */
TEST_F(RIG, blocks_and_pages)
{
	const uint32_t block = 1u << VTA_L1_SHIFT, va = 0x30000000u;
	uint64_t bus = rig_block(r);
	struct rig_queue q;
	uint8_t *mem = rig_at(r, bus);
	uint8_t *linear;

	rig_context(r, CONTEXT);
	rig_map_block(r, CONTEXT, va, bus, RIG_RW);
	rig_map(r, CONTEXT, va + block, 0, RIG_RW | RIG_CARD);
	rig_map_block(r, CONTEXT, va + 2 * block, block, RIG_RW | RIG_CARD);
	linear = rig_map_pages(r, CONTEXT, LINEAR, PAGES);
	rig_queue(r, &q, 2, CONTEXT, 4);
	rig_queue_start(&q, 0);
	for (unsigned int i = 0; i < block; i++)
		mem[i] = (uint8_t)(i * 7 + i / 256);

	copy(&q, va + 2 * block + 100, va + 3, block - 200);
	copy(&q, va + block, va + block - VTA_PAGE_SIZE, VTA_PAGE_SIZE);
	/* From the end of the block into the page behind it. */
	copy(&q, LINEAR + 1, va + block - 1000, 1000 + VTA_PAGE_SIZE);
	assert_memory_equal(linear + 1, mem + block - 1000, 1000);
	assert_memory_equal(linear + 1001, mem + block - VTA_PAGE_SIZE, VTA_PAGE_SIZE);
	copy(&q, LINEAR, va + 2 * block + 100 + 777777, BYTES);
	assert_memory_equal(linear, mem + 3 + 777777, BYTES);
	copy(&q, LINEAR, va + 2 * block + 100 + block - 200 - 5000, 5000);
	assert_memory_equal(linear, mem + 3 + block - 200 - 5000, 5000);
}

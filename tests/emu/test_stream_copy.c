// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_stream_copy.c - copies past the caches: alone, and by large COPYs
 */
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "card_rig.h"
#include "model/stream_copy.h"

#define GUARD	64u

static uint8_t noise(size_t i)
{
	return (uint8_t)((i * 2654435761u) >> 11);
}

/* Every length up to some lines, and every place in a line on both sides. */
TEST(copies_what_memcpy_does)
{
	static uint8_t src[1024], dst[1024], want[1024];

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = noise(i);
	for (size_t len = 0; len < 300; len += len < 140 ? 1 : 13) {
		for (size_t at = 0; at < 64 * 64; at++) {
			size_t to = GUARD + at % 64, from = at / 64;

			memset(dst, 0xa5, sizeof(dst));
			memset(want, 0xa5, sizeof(want));
			memcpy(want + to, src + from, len);
			stream_copy(dst + to, src + from, len);
			stream_copy_end();
			assert_memory_equal(dst, want, sizeof(dst));
		}
	}
}

#define CONTEXT		1u
#define SRC		0x00100000u	/* 4 KiB pages, last one first */
#define SRC_PAGES	320u
#define DST		0x00800000u	/* blocks */
#define DST_BLOCKS	6u
#define BLOCK		(1u << VTA_L1_SHIFT)
#define WIDTH		((1u << 20) + 5)
#define ROWS		9u
#define SRC_PITCH	(7u * 4096 + 3)

/* Rows of odd lengths that are far more than the least for streaming. */
TEST_F(RIG, large_copy)
{
	struct rig_queue q;
	uint8_t *dst, *src = malloc(SRC_PAGES * VTA_PAGE_SIZE);
	struct vta_desc desc = vtadev_desc_copy(DST + 1, SRC + 2, WIDTH);
	uint64_t at;

	assert_non_null(src);
	assert_true((uint64_t)WIDTH * ROWS >= STREAM_COPY_MIN);
	assert_true(2 + (ROWS - 1) * SRC_PITCH + WIDTH <= SRC_PAGES * VTA_PAGE_SIZE);
	rig_context(r, CONTEXT);
	for (unsigned int i = 0; i < SRC_PAGES * VTA_PAGE_SIZE; i++)
		src[i] = noise(i);
	at = rig_pages(r, SRC_PAGES);
	for (unsigned int i = 0; i < SRC_PAGES; i++) {
		uint64_t page = at + (uint64_t)(SRC_PAGES - 1 - i) * VTA_PAGE_SIZE;

		memcpy(rig_at(r, page), src + (size_t)i * VTA_PAGE_SIZE, VTA_PAGE_SIZE);
		rig_map(r, CONTEXT, SRC + i * VTA_PAGE_SIZE, page, RIG_RO);
	}
	at = rig_block(r);
	for (unsigned int i = 0; i < DST_BLOCKS; i++) {
		if (i)
			assert_int_equal(rig_block(r), at + (uint64_t)i * BLOCK);
		rig_map_block(r, CONTEXT, DST + i * BLOCK, at + (uint64_t)i * BLOCK, RIG_RW);
	}
	dst = rig_at(r, at);
	memset(dst, 0x5a, DST_BLOCKS * BLOCK);

	rig_queue(r, &q, 0, CONTEXT, 2);
	rig_queue_start(&q, 0);
	desc.copy.rows = ROWS;
	desc.copy.dst_pitch = WIDTH + 3;
	desc.copy.src_pitch = SRC_PITCH;
	rig_clear_counters(r);
	rig_do(&q, desc);

	assert_int_equal(rig_counter(r, VTA_COUNTER_COPY_BYTES), (uint64_t)WIDTH * ROWS);
	assert_int_equal(dst[0], 0x5a);
	for (unsigned int row = 0; row < ROWS; row++) {
		const uint8_t *got = dst + 1 + (size_t)row * (WIDTH + 3);

		assert_memory_equal(got, src + 2 + (size_t)row * SRC_PITCH, WIDTH);
		for (unsigned int i = 0; i < 3; i++)
			assert_int_equal(got[WIDTH + i], 0x5a);
	}
	free(src);
}

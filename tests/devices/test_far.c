// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_far.c - card memory that its device alone sees
 *
 *	test_far [DEVICE]
 *
 * On "far", which is soft with such memory, or another device that has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_NO_MAIN
#include "../frame.h"
#include "rig.h"

#define LARGE	(3u << 20)

TEST_F(RIG, is_zero_and_unseen)
{
	struct vtadev_buf *card = buffer(2 * PAGE, VTADEV_CARD);
	uint8_t bytes[2 * PAGE];
	void *map;

	assert_int_equal(vtadev_buf_map(card, &map), -EOPNOTSUPP);
	assert_int_equal(vtadev_buf_read(card, 0, bytes, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0);
	assert_int_equal(vtadev_buf_write(card, PAGE - 2, "abcd", 4), 0);
	assert_int_equal(vtadev_buf_read(card, PAGE - 1, bytes, 2), 0);
	assert_memory_equal(bytes, "bc", 2);
	assert_int_equal(vtadev_buf_read(card, 2 * PAGE - 1, bytes, 2), -ERANGE);
	vtadev_buf_free(card);
}

/* Once more: the place has been another buffer's. */
TEST_F(RIG, is_zero_again)
{
	struct vtadev_buf *card = buffer(PAGE, VTADEV_CARD);

	assert_int_equal(vtadev_buf_write(card, 0, "abcd", 4), 0);
	vtadev_buf_free(card);
	is_zero_and_unseen(NULL);
}

/* A buffer is one piece of the device's memory: two free quarters that are apart are no half. */
TEST_F(RIG, pieces_are_used_again)
{
	struct vtadev_buf *quarters[4], *half;
	uint64_t all, now;
	char bytes[4];

	assert_int_equal(vtadev_mem_free(dev, &all), 0);
	for (int i = 0; i < 4; i++)
		quarters[i] = buffer((size_t)all / 4, VTADEV_CARD);
	assert_int_equal(vtadev_buf_alloc(dev, PAGE, VTADEV_CARD, &half), -ENOSPC);
	assert_int_equal(vtadev_buf_write(quarters[1], 0, "abcd", 4), 0);
	vtadev_buf_free(quarters[0]);
	vtadev_buf_free(quarters[2]);
	assert_int_equal(vtadev_buf_alloc(dev, (size_t)all / 2, VTADEV_CARD, &half), -ENOSPC);
	quarters[0] = buffer((size_t)all / 4, VTADEV_CARD);
	quarters[2] = buffer((size_t)all / 4, VTADEV_CARD);
	assert_int_equal(vtadev_buf_read(quarters[1], 0, bytes, 4), 0);
	assert_memory_equal(bytes, "abcd", 4);
	for (int i = 0; i < 4; i++)
		vtadev_buf_free(quarters[i]);
	assert_int_equal(vtadev_mem_free(dev, &now), 0);
	assert_int_equal(now, all);
}

TEST_F(RIG, is_written_where_streams_may_only_read)
{
	struct vtadev_buf *card = buffer(PAGE, VTADEV_CARD | VTADEV_READONLY);
	struct vta_desc desc = vtadev_desc_fill(vtadev_buf_addr(card), 1, 4);
	char bytes[4];

	assert_int_equal(vtadev_buf_write(card, 0, "abcd", 4), 0);
	assert_int_equal(fails(desc).reason, VTA_FAULT_PERM);
	assert_int_equal(vtadev_recover(q), 0);
	assert_int_equal(vtadev_buf_read(card, 0, bytes, 4), 0);
	assert_memory_equal(bytes, "abcd", 4);
	vtadev_buf_free(card);
}

TEST_F(RIG, is_copied_in_all_directions)
{
	struct vtadev_buf *a = buffer(LARGE, VTADEV_CARD), *b = buffer(LARGE, VTADEV_CARD);
	uint8_t *bytes = malloc(LARGE), *back = malloc(LARGE);

	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	assert_int_equal(vtadev_upload(q, a, 0, bytes, LARGE), 0);
	assert_int_equal(vtadev_copy(q, b, 5, a, 3, LARGE - 8, NULL), 0);
	assert_int_equal(vtadev_download(q, b, 0, back, LARGE), 0);
	assert_memory_equal(back + 5, bytes + 3, LARGE - 8);
	assert_int_equal(back[4], 0);
	assert_int_equal(back[LARGE - 3], 0);
	free(bytes);
	free(back);
	vtadev_buf_free(a);
	vtadev_buf_free(b);
}

/* Rows side by side in one buffer, too, and to the host and back. */
TEST_F(RIG, rows_have_their_pitch)
{
	struct vtadev_buf *card = buffer(PAGE, VTADEV_CARD), *host = buffer(PAGE, VTADEV_HOST);
	const struct vtadev_rows none = { card, 0, 0 }, left = { card, 1000, 10 };
	const struct vtadev_rows right = { card, 1005, 10 }, away = { host, 3, 20 };
	uint8_t bytes[80];

	assert_int_equal(vtadev_buf_write(card, 0, "abc", 3), 0);
	assert_int_equal(vtadev_copy2d(q, &left, &none, 3, 4, NULL), 0);
	assert_int_equal(vtadev_copy2d(q, &right, &left, 3, 4, NULL), 0);
	assert_int_equal(vtadev_copy2d(q, &away, &left, 8, 4, NULL), 0);
	assert_int_equal(vtadev_download(q, host, 0, bytes, sizeof(bytes)), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_memory_equal(bytes + 20 * i, "\0\0\0abc\0\0abc\0\0\0\0\0\0\0\0\0", 20);
	assert_int_equal(vtadev_copy2d(q, &right, &away, 8, 3, NULL), 0);
	assert_int_equal(vtadev_download(q, card, 1000, bytes, 30), 0);
	assert_memory_equal(bytes, "abc\0\0abc\0\0abc\0\0abc\0\0abc\0\0abc", 28);
	vtadev_buf_free(host);
	vtadev_buf_free(card);
}

TEST_F(RIG, is_filled)
{
	struct vtadev_buf *card = buffer(3 * PAGE, VTADEV_CARD);
	uint8_t bytes[3 * PAGE];

	assert_int_equal(vtadev_fill(q, card, 1, 0x04030201, 3 * PAGE - 2, NULL), 0);
	assert_int_equal(vtadev_download(q, card, 0, bytes, sizeof(bytes)), 0);
	assert_int_equal(bytes[0], 0);
	for (size_t i = 1; i < sizeof(bytes) - 1; i++)
		assert_int_equal(bytes[i], 1 + (i - 1) % 4);
	assert_int_equal(bytes[sizeof(bytes) - 1], 0);
	vtadev_buf_free(card);
}

TEST_F(RIG, has_words_and_stamps)
{
	struct vtadev_buf *card = buffer(PAGE, VTADEV_CARD);
	uint32_t addr = vtadev_buf_addr(card);
	struct vta_stamp stamp;
	struct vta_desc desc;
	uint64_t word;

	works(vtadev_desc_signal(addr + 8, 7));
	works(vtadev_desc_wait(addr + 8, 7));
	desc = vtadev_desc_nop();
	vtadev_desc_stamp(&desc, addr + 64);
	works(desc);
	assert_int_equal(vtadev_buf_read(card, 8, &word, sizeof(word)), 0);
	assert_int_equal(word, 7);
	assert_int_equal(vtadev_buf_read(card, 64, &stamp, sizeof(stamp)), 0);
	assert_int_equal(stamp.seq, 3);
	vtadev_buf_free(card);
}

TEST_F(RIG, is_out_of_sight_when_freed)
{
	const uint32_t finish[4] = { 3 };
	struct vtadev_buf *card = buffer(PAGE, VTADEV_CARD);
	struct vta_desc desc = vtadev_desc_run(vtadev_buf_addr(card), 1, 0);
	struct vtadev_fault fault;

	assert_int_equal(vtadev_buf_write(card, 0, finish, sizeof(finish)), 0);
	works(desc);
	vtadev_buf_free(card);
	fault = fails(desc);
	assert_int_equal(fault.reason, VTA_FAULT_PAGE);
	assert_int_equal(fault.access, VTA_ACCESS_INSN);
	assert_int_equal(fault.insn_index, 0);
}

/* FINISH ends at cycle 2: instruction n reaches its module at n + 1, and costs 1. */
TEST_F(RIG, a_limit_of_cycles_is_exact)
{
	const uint32_t finish[2][4] = { { 3 }, { 3 } };
	struct vtadev_buf *card = buffer(PAGE, VTADEV_CARD);
	struct vtadev_fault fault;

	assert_int_equal(vtadev_buf_write(card, 0, finish, sizeof(finish)), 0);
	works(vtadev_desc_run(vtadev_buf_addr(card), 2, 3));
	fault = fails(vtadev_desc_run(vtadev_buf_addr(card), 2, 2));
	assert_int_equal(fault.reason, VTA_FAULT_CYCLES);
	assert_int_equal(fault.insn_index, 1);
	vtadev_buf_free(card);
}

TEST_F(RIG, a_device_that_cannot_copy_is_lost)
{
	struct vtadev_lost lost;
	struct vtadev_buf *buf;
	struct vtadev *broken;

	if (strcmp(rig_device, "far") != 0)
		skip();
	assert_int_equal(vtadev_open("far:broken", &broken), 0);
	assert_int_equal(vtadev_buf_alloc(broken, PAGE, VTADEV_CARD, &buf), 0);
	assert_int_equal(vtadev_buf_write(buf, 0, "abcd", 4), -ENODEV);
	assert_int_equal(vtadev_lost(broken, &lost), 0);
	assert_int_equal(lost.fate, VTA_FATE_GIVEN_UP);
	vtadev_buf_free(buf);
	vtadev_close(broken);
}

int main(int argc, char **argv)
{
	rig_device = argc > 1 ? argv[1] : "far";
	return frame_run(NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_copy.c - copies and fills of buffers: descriptors, bounds, overlap
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../frame.h"
#include "fake.h"

#define SIZE	1000u
#define ENTRIES	4u
#define A_ADDR	0x10000u
#define B_ADDR	0x20000u

static struct vtadev *dev;
static struct vtadev_queue *q;
static struct vtadev_buf *a, *b;

static struct vtadev_buf *alloc(struct vtadev *of, unsigned int flags, uint32_t addr)
{
	struct vtadev_buf *buf = NULL;

	assert_int_equal(vtadev_buf_alloc_at(of, SIZE, flags, 0, addr, &buf), 0);
	return buf;
}

static int setup(void **state)
{
	fake_setup(state);
	dev = fake_open();
	q = fake_queue(dev, ENTRIES);
	a = alloc(dev, VTADEV_HOST, A_ADDR);
	b = alloc(dev, VTADEV_CARD, B_ADDR);
	return 0;
}

static int teardown(void **state)
{
	vtadev_buf_free(a);
	vtadev_buf_free(b);
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define QUEUE void *unused, setup, teardown

/* The latest descriptor is @want, and the ring is empty again. */
static void assert_submitted(struct vta_desc want)
{
	uint64_t n = vtadev_submitted(q);

	assert_int_equal(le32toh(*fake.doorbell), n);
	assert_memory_equal(&fake.ring[(n - 1) % ENTRIES], &want, sizeof(want));
	fake_complete(n);
}

TEST_F(QUEUE, one_piece)
{
	uint64_t seq = 99;

	assert_int_equal(vtadev_copy(q, b, 7, a, 900, 100, &seq), 0);
	assert_int_equal(seq, 1);
	assert_submitted(vtadev_desc_copy(B_ADDR + 7, A_ADDR + 900, 100));
	assert_int_equal(vtadev_fill(q, b, 3, 0x01020304, 997, NULL), 0);
	assert_submitted(vtadev_desc_fill(B_ADDR + 3, 0x01020304, 997));
}

TEST_F(QUEUE, rows)
{
	const struct vtadev_rows to = { b, 10, 200 }, from = { a, 20, 0 };
	const struct vtadev_rows last = { b, 999, SIZE_MAX };
	uint64_t seq = 99;

	assert_int_equal(vtadev_copy2d(q, &to, &from, 190, 5, &seq), 0);
	assert_int_equal(seq, 1);
	assert_submitted(vtadev_desc_copy2d(B_ADDR + 10, 200, A_ADDR + 20, 0, 190, 5));
	assert_int_equal(vtadev_fill2d(q, &to, 42, 190, 5, &seq), 0);
	assert_submitted(vtadev_desc_fill2d(B_ADDR + 10, 200, 42, 190, 5));
	/* One row has no pitch. */
	assert_int_equal(vtadev_copy2d(q, &last, &from, 1, 1, &seq), 0);
	assert_submitted(vtadev_desc_copy(B_ADDR + 999, A_ADDR + 20, 1));
}

TEST_F(QUEUE, nothing_is_a_descriptor_too)
{
	const struct vtadev_rows end = { b, SIZE, SIZE_MAX };
	uint64_t seq = 99;

	assert_int_equal(vtadev_copy(q, b, SIZE, a, SIZE, 0, &seq), 0);
	assert_int_equal(seq, 1);
	assert_submitted(vtadev_desc_copy2d(B_ADDR + SIZE, 0, A_ADDR + SIZE, 0, 0, 0));
	assert_int_equal(vtadev_copy2d(q, &end, &end, 0, SIZE_MAX, NULL), 0);
	assert_submitted(vtadev_desc_copy2d(B_ADDR + SIZE, 0, B_ADDR + SIZE, 0, 0, 0));
	assert_int_equal(vtadev_copy2d(q, &end, &end, SIZE_MAX, 0, NULL), 0);
	assert_int_equal(vtadev_copy(q, b, 5, b, 5, 0, NULL), 0);
	assert_int_equal(vtadev_fill2d(q, &end, 1, 0, 8, NULL), 0);
	assert_int_equal(vtadev_submitted(q), 5);
}

static void assert_refused(size_t dst_offset, size_t dst_pitch, size_t src_offset,
			   size_t src_pitch, size_t width, size_t n, int err)
{
	const struct vtadev_rows dst = { b, dst_offset, dst_pitch };
	const struct vtadev_rows src = { a, src_offset, src_pitch };
	uint64_t seq = 99;

	assert_int_equal(vtadev_copy2d(q, &dst, &src, width, n, &seq), err);
	assert_int_equal(seq, 99);
	assert_int_equal(vtadev_submitted(q), 0);
}

TEST_F(QUEUE, bounds)
{
	const struct vtadev_rows rows = { b, 1, 100 };

	assert_refused(901, 0, 0, 0, 100, 1, -ERANGE);
	assert_refused(0, 0, 901, 0, 100, 1, -ERANGE);
	assert_refused(1001, 0, 0, 0, 0, 1, -ERANGE);
	assert_refused(0, 0, SIZE_MAX, 0, 2, 1, -ERANGE);
	assert_refused(0, 0, 2, 0, SIZE_MAX, 1, -ERANGE);
	assert_refused(1, 100, 0, 100, 100, 10, -ERANGE);
	assert_refused(0, 100, 1, 100, 100, 10, -ERANGE);
	assert_refused(0, 1, 0, 1, 1, 1001, -ERANGE);
	/* Sizes that would wrap around. */
	assert_refused(0, SIZE_MAX / 2 + 1, 0, 0, 1, 3, -ERANGE);
	assert_refused(0, 100, 0, SIZE_MAX, 100, 3, -ERANGE);
	assert_refused(0, 1, 0, 1, 1, SIZE_MAX, -ERANGE);
	assert_refused(0, SIZE_MAX, 0, 0, SIZE_MAX, 2, -ERANGE);
	/* Rows of the destination on each other. */
	assert_refused(0, 99, 0, 100, 100, 2, -EINVAL);
	assert_refused(0, 0, 0, 0, 1, 2, -EINVAL);

	assert_int_equal(vtadev_fill(q, b, 1, 0, SIZE, NULL), -ERANGE);
	assert_int_equal(vtadev_fill2d(q, &rows, 0, 100, 10, NULL), -ERANGE);
	assert_int_equal(vtadev_fill2d(q, &rows, 0, 101, 2, NULL), -EINVAL);
	assert_int_equal(vtadev_submitted(q), 0);
}

/* The expected result for rows in the same buffer, by a map of bytes. */
static bool share_a_byte(size_t x, size_t y, size_t pitch, size_t width, size_t n)
{
	bool used[SIZE] = { false };

	for (size_t r = 0; r < n; r++)
		memset(used + x + r * pitch, true, width);
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < width; i++)
			if (used[y + r * pitch + i])
				return true;
	return false;
}

TEST_F(QUEUE, overlap)
{
	unsigned int refused = 0, taken = 0;

	for (size_t n = 1; n <= 4; n++)
		for (size_t width = 1; width <= 8; width++)
			for (size_t pitch = width; pitch <= 12; pitch++)
				for (size_t y = 0; y < 60; y++) {
					const struct vtadev_rows dst = { b, 25, pitch };
					const struct vtadev_rows src = { b, y, pitch };
					bool bad = share_a_byte(25, y, pitch, width, n);

					assert_int_equal(vtadev_copy2d(q, &dst, &src, width, n,
								       NULL),
							 bad ? -EINVAL : 0);
					fake_complete(vtadev_submitted(q));
					*(bad ? &refused : &taken) += 1;
				}
	assert_true(refused > 1000 && taken > 1000);
}

TEST_F(QUEUE, overlap_of_other_shapes)
{
	const struct vtadev_rows two = { b, 0, 20 }, between = { b, 10, 40 };
	const struct vtadev_rows behind = { b, 30, 40 };

	assert_int_equal(vtadev_copy(q, b, 0, b, 0, 1, NULL), -EINVAL);
	assert_int_equal(vtadev_copy(q, b, 0, b, 9, 10, NULL), -EINVAL);
	assert_int_equal(vtadev_copy(q, b, 9, b, 0, 10, NULL), -EINVAL);
	assert_int_equal(vtadev_copy(q, b, 10, b, 0, 10, NULL), 0);
	/* Rows of different pitches must be wholly apart. */
	assert_int_equal(vtadev_copy2d(q, &two, &between, 10, 2, NULL), -EINVAL);
	assert_int_equal(vtadev_copy2d(q, &two, &behind, 10, 2, NULL), 0);
	/* The same place in another buffer. */
	assert_int_equal(vtadev_copy(q, a, 0, b, 0, 10, NULL), 0);
}

TEST_F(QUEUE, buffers_of_another_card_or_for_reading)
{
	struct vtadev *other = fake_open();
	struct vtadev_buf *theirs = alloc(other, VTADEV_HOST, A_ADDR);
	struct vtadev_buf *fixed = alloc(dev, VTADEV_READONLY, A_ADDR);

	assert_int_equal(vtadev_copy(q, theirs, 0, a, 0, 1, NULL), -EINVAL);
	assert_int_equal(vtadev_copy(q, a, 0, theirs, 0, 1, NULL), -EINVAL);
	assert_int_equal(vtadev_fill(q, theirs, 0, 0, 1, NULL), -EINVAL);
	assert_int_equal(vtadev_copy(q, fixed, 0, a, 0, 1, NULL), -EACCES);
	assert_int_equal(vtadev_fill(q, fixed, 0, 0, 1, NULL), -EACCES);
	assert_int_equal(vtadev_submitted(q), 0);
	assert_int_equal(vtadev_copy(q, a, 0, fixed, 0, 1, NULL), 0);
	vtadev_buf_free(theirs);
	vtadev_buf_free(fixed);
	vtadev_close(other);
}

TEST_F(QUEUE, full_and_halted_queues)
{
	uint64_t seq = 99;

	for (unsigned int i = 0; i < ENTRIES; i++)
		assert_int_equal(vtadev_copy(q, b, 0, a, 0, 1, NULL), 0);
	assert_int_equal(vtadev_copy(q, b, 0, a, 0, 1, &seq), -EAGAIN);
	fake_state(VTA_QUEUE_HALTED);
	assert_int_equal(vtadev_fill(q, b, 0, 0, 1, &seq), -EIO);
	assert_int_equal(seq, 99);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * copy.c - copies and fills of buffers as descriptors
 *
 * Arguments that would halt the queue are refused before they are submitted.
 */
#include <errno.h>
#include <stdbool.h>

#include "buf.h"
#include "queue.h"

/* Bytes from the start of the first row to the end of the last. */
static bool span(const struct vtadev_rows *at, size_t width, size_t rows,
		 size_t *bytes)
{
	*bytes = 0;
	if (!width || !rows)
		return true;
	return !__builtin_mul_overflow(rows - 1, at->pitch, bytes) &&
	       !__builtin_add_overflow(*bytes, width, bytes);
}

static int check_rows(const struct vtadev_queue *queue, const struct vtadev_rows *at,
		      size_t width, size_t rows)
{
	size_t bytes;

	if (at->buf->dev != queue->dev)
		return -EINVAL;
	if (!span(at, width, rows, &bytes) ||
	    !buf_in_range(at->buf, at->offset, bytes))
		return -ERANGE;
	return 0;
}

static int check_dst(const struct vtadev_queue *queue, const struct vtadev_rows *dst,
		     size_t width, size_t rows)
{
	if (rows > 1 && dst->pitch < width)
		return -EINVAL;
	if (dst->buf->flags & VTADEV_READONLY)
		return -EACCES;
	return check_rows(queue, dst, width, rows);
}

/*
 * Returns true if rows of the two share a byte; they are in range. Rows of the same
 * pitch may lie between each other.
 */
static bool overlap(const struct vtadev_rows *a, const struct vtadev_rows *b,
		    size_t width, size_t rows)
{
	const struct vtadev_rows *low = a->offset < b->offset ? a : b;
	const struct vtadev_rows *high = low == a ? b : a;
	size_t gap = high->offset - low->offset;
	size_t bytes, between;

	if (a->buf != b->buf || !width || !rows)
		return false;
	span(low, width, rows, &bytes);
	if (gap >= bytes)
		return false;
	if (rows == 1 || a->pitch != b->pitch)
		return true;
	/* The higher one's first row is after this row of the lower ... */
	between = gap % low->pitch;
	if (between < width)
		return true;
	/* ... and reaches into its next, if there is one. */
	return low->pitch - between < width && gap / low->pitch + 1 < rows;
}

static uint32_t addr_of(const struct vtadev_rows *at)
{
	return at->buf->addr + (uint32_t)at->offset;
}

/* One row has no pitch: the caller's value is ignored. */
static uint32_t pitch_of(const struct vtadev_rows *at, size_t rows)
{
	return rows > 1 ? (uint32_t)at->pitch : 0;
}

int vtadev_copy2d(struct vtadev_queue *queue, const struct vtadev_rows *dst,
		  const struct vtadev_rows *src, size_t width, size_t rows,
		  uint64_t *seq)
{
	struct vta_desc desc;
	int err;

	if (!width)
		rows = 0;
	err = check_dst(queue, dst, width, rows);
	if (!err)
		err = check_rows(queue, src, width, rows);
	if (err)
		return err;
	if (overlap(dst, src, width, rows))
		return -EINVAL;
	/* In range: nothing is cut off. */
	desc = vtadev_desc_copy2d(addr_of(dst), pitch_of(dst, rows), addr_of(src),
				  pitch_of(src, rows), (uint32_t)width,
				  (uint32_t)rows);
	return vtadev_submit(queue, &desc, 1, seq);
}

int vtadev_fill2d(struct vtadev_queue *queue, const struct vtadev_rows *dst,
		  uint32_t pattern, size_t width, size_t rows, uint64_t *seq)
{
	struct vta_desc desc;
	int err;

	if (!width)
		rows = 0;
	err = check_dst(queue, dst, width, rows);
	if (err)
		return err;
	desc = vtadev_desc_fill2d(addr_of(dst), pitch_of(dst, rows), pattern,
				  (uint32_t)width, (uint32_t)rows);
	return vtadev_submit(queue, &desc, 1, seq);
}

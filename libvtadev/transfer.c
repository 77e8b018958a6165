// SPDX-License-Identifier: Apache-2.0
/*
 * transfer.c - between a program's memory and a buffer, the cheaper way
 */
#include <errno.h>
#include <stdbool.h>

#include "buf.h"
#include "queue.h"

/*
 * Pinned at a time. Bounds what a transfer takes of RLIMIT_MEMLOCK (8 MiB is
 * a usual one) and of the device addresses.
 */
#define PIECE	((size_t)4 << 20)

struct transfer {
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	size_t offset;
	char *ptr;		/* of the program; only read if @upload */
	size_t len;
	bool upload;
};

/* The card cannot write what it may only read, but the CPU can. */
static bool card_may(const struct transfer *t)
{
	return !t->upload || !(t->buf->flags & VTADEV_READONLY);
}

/* Submit, when there is room, and wait. */
static int copy_now(struct vtadev_queue *queue, struct vtadev_buf *dst,
		    size_t dst_offset, struct vtadev_buf *src, size_t src_offset,
		    size_t len)
{
	uint64_t seq;
	int err;

	for (;;) {
		err = vtadev_copy(queue, dst, dst_offset, src, src_offset, len, &seq);
		if (!err)
			return vtadev_wait(queue, seq, -1);
		if (err != -EAGAIN)
			return err;
		err = vtadev_wait_room(queue, 1, -1);
		if (err)
			return err;
	}
}

/* By the card, as far as memory can be pinned: *done says how far. */
static int by_card(const struct transfer *t, size_t *done)
{
	struct vtadev_buf *pin;
	int err = 0;

	for (*done = 0; *done < t->len && !err;) {
		size_t left = t->len - *done;
		size_t len = left < PIECE ? left : PIECE;

		err = vtadev_buf_pin(t->queue->dev, t->ptr + *done, len,
				     t->upload ? VTADEV_READONLY : 0, &pin);
		if (err)
			return err == -ENODEV ? err : 0;
		if (t->upload)
			err = copy_now(t->queue, t->buf, t->offset + *done, pin, 0, len);
		else
			err = copy_now(t->queue, pin, 0, t->buf, t->offset + *done, len);
		vtadev_buf_free(pin);
		*done += len;
	}
	return err;
}

static int by_cpu(const struct transfer *t, size_t done)
{
	int err = vtadev_sync(t->queue, -1);

	if (err)
		return err;
	if (t->upload)
		return vtadev_buf_write(t->buf, t->offset + done, t->ptr + done,
					t->len - done);
	return vtadev_buf_read(t->buf, t->offset + done, t->ptr + done,
			       t->len - done);
}

static int transfer(const struct transfer *t)
{
	size_t done = 0;
	int err;

	if (t->buf->dev != t->queue->dev)
		return -EINVAL;
	if (!buf_in_range(t->buf, t->offset, t->len))
		return -ERANGE;
	if (t->len >= t->queue->copy_min && card_may(t)) {
		err = by_card(t, &done);
		if (err)
			return err;
	}
	/* Also a transfer of nothing waits for what was submitted before. */
	return done && done == t->len ? 0 : by_cpu(t, done);
}

int vtadev_upload(struct vtadev_queue *queue, struct vtadev_buf *buf,
		  size_t offset, const void *src, size_t len)
{
	const struct transfer t = {
		.queue = queue, .buf = buf, .offset = offset,
		.ptr = (char *)src, .len = len, .upload = true,
	};

	return transfer(&t);
}

int vtadev_download(struct vtadev_queue *queue, struct vtadev_buf *buf,
		    size_t offset, void *dst, size_t len)
{
	const struct transfer t = {
		.queue = queue, .buf = buf, .offset = offset,
		.ptr = dst, .len = len,
	};

	return transfer(&t);
}

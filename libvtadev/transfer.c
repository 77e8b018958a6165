// SPDX-License-Identifier: Apache-2.0
/*
 * transfer.c - between a program's memory and a buffer, the cheaper way
 */
#include <errno.h>
#include <stdbool.h>

#include "buf.h"
#include "queue.h"

/*
 * A large transfer is made in pieces: while the card copies one, the next is pinned
 * and the one before is given back. Small ones cost more calls, large ones leave the
 * card idle at both ends. Two are pinned at a time, which bounds what a transfer
 * takes of RLIMIT_MEMLOCK and of the device addresses; where that is more than
 * there is, pieces become smaller.
 */
#define PIECES_FROM	((size_t)1 << 20)	/* smaller transfers are not worth the calls */
#define PIECE_LEAST	((size_t)8 << 20)
#define PIECE_MOST	((size_t)16 << 20)
#define PIECE_MIN	((size_t)1 << 20)	/* when there is little room */
/* Pieces end where huge pages of the program's do. */
#define HUGE		((size_t)2 << 20)

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

/* A copy that the card has been given, and the memory pinned for it. */
struct flight {
	struct vtadev_buf *pin;		/* NULL: none */
	uint64_t seq;
};

static int land(const struct transfer *t, struct flight *flight)
{
	int err;

	if (!flight->pin)
		return 0;
	err = vtadev_wait(t->queue, flight->seq, -1);
	vtadev_buf_free(flight->pin);
	flight->pin = NULL;
	return err;
}

static int submit(const struct transfer *t, size_t at, struct flight *flight)
{
	struct vtadev_buf *pin = flight->pin;

	if (t->upload)
		return vtadev_copy(t->queue, t->buf, t->offset + at, pin, 0, pin->size,
				   &flight->seq);
	return vtadev_copy(t->queue, pin, 0, t->buf, t->offset + at, pin->size, &flight->seq);
}

/* Submits what was pinned, when there is room; if that fails, nothing is pinned. */
static int launch(const struct transfer *t, size_t at, struct flight *flight)
{
	int err = submit(t, at, flight);

	while (err == -EAGAIN) {
		err = vtadev_wait_room(t->queue, 1, -1);
		if (!err)
			err = submit(t, at, flight);
	}
	if (err) {
		vtadev_buf_free(flight->pin);
		flight->pin = NULL;
	}
	return err;
}

/*
 * Small, so that the card begins early: the next piece is pinned while it copies, which is a
 * hundredth of the time of 4 MiB in pages of 4 KiB (docs/memory.md).
 */
static size_t first_piece(size_t len)
{
	if (len < PIECES_FROM)
		return len;
	return len / 16 < HUGE ? len / 16 : HUGE;
}

/*
 * Small, too, as nothing is copied while the last piece is given back. The card takes longer for it
 * than the program for waking up and giving back the piece before it.
 */
static size_t last_piece(size_t len)
{
	if (len < PIECES_FROM)
		return 0;
	return len / 8 < HUGE ? len / 8 : HUGE;
}

static size_t usual_piece(size_t len)
{
	if (len / 2 < PIECE_LEAST)
		return PIECE_LEAST;
	return len / 2 < PIECE_MOST ? len / 2 : PIECE_MOST;
}

/* Returns the length of the next piece: it ends where one of the program's pages does. */
static size_t piece_len(const struct transfer *t, size_t at, size_t piece)
{
	size_t left = t->len - at, last = last_piece(t->len), page;

	if (last > piece / 4)	/* there is little room */
		last = piece / 4;
	if (left <= piece && (!last || left <= 2 * last))
		return left;
	if (left <= piece + last)
		piece = left - last;
	page = piece < 2 * HUGE ? VTA_PAGE_SIZE : HUGE;
	return piece - ((uintptr_t)t->ptr + at + piece) % page;
}

/*
 * Pins the next piece; if there is no room for it, a smaller one when @last has landed.
 * Memory that cannot be pinned is no error: next->pin is NULL, and the CPU copies it. If @last
 * did not complete, that is an error and must be returned now: after another thread recovers the
 * queue, the failure cannot be seen any more.
 */
static int pin_piece(const struct transfer *t, size_t at, size_t *piece, struct flight *last,
		     struct flight *next)
{
	int err;

	for (;;) {
		err = vtadev_buf_pin(t->queue->dev, t->ptr + at, piece_len(t, at, *piece),
				     t->upload ? VTADEV_READONLY : 0, &next->pin);
		if (!err || err == -ENODEV)
			return err;
		if (err != -ENOMEM && err != -ENOSPC)
			return 0;
		if (*piece <= PIECE_MIN && !last->pin)
			return 0;
		if (*piece > PIECE_MIN)
			*piece /= 2;
		err = land(t, last);
		if (err)
			return err;
	}
}

/* By the card, as far as memory can be pinned: *done is the number of bytes. */
static int by_card(const struct transfer *t, size_t *done)
{
	struct flight last = { 0 };
	const size_t first = first_piece(t->len);
	size_t piece = first;
	int err = 0, landed;

	*done = 0;
	while (*done < t->len) {
		struct flight next = { 0 };

		err = pin_piece(t, *done, &piece, &last, &next);
		if (err || !next.pin)
			break;
		err = launch(t, *done, &next);
		if (err)
			break;
		/* Unless there was no room for the first. */
		if (!*done && piece == first)
			piece = usual_piece(t->len);
		*done += next.pin->size;
		err = land(t, &last);
		last = next;
		if (err)
			break;
	}
	landed = land(t, &last);
	return err ? err : landed;
}

/* Reads what the card has written: -ENODEV if it was lost before that was read. */
static int read_written(struct vtadev_queue *queue, struct vtadev_buf *buf, size_t offset,
			void *dst, size_t len)
{
	uint64_t completed;
	int err = vtadev_buf_read(buf, offset, dst, len);

	return err || !len ? err : vtadev_completed(queue, &completed);
}

static int by_cpu(const struct transfer *t, size_t done)
{
	int err = vtadev_sync(t->queue, -1);

	if (err)
		return err;
	if (t->upload)
		return vtadev_buf_write(t->buf, t->offset + done, t->ptr + done,
					t->len - done);
	return read_written(t->queue, t->buf, t->offset + done, t->ptr + done, t->len - done);
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
		err = vtadev_buf_wait(t->buf, t->upload ? 0 : VTADEV_READONLY, -1);
		if (!err)
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

int vtadev_read_after(struct vtadev_queue *queue, uint64_t seq, struct vtadev_buf *buf,
		      size_t offset, void *dst, size_t len)
{
	int err = vtadev_wait(queue, seq, -1);

	return err ? err : read_written(queue, buf, offset, dst, len);
}

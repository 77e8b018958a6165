// SPDX-License-Identifier: GPL-2.0-only
/*
 * toy.c - just enough of libvtadev and a card
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "toy.h"

#define ENTRIES_MAX	64

struct vtadev_queue {
	unsigned int index;
	uint32_t entries;
	struct vta_desc ring[ENTRIES_MAX];
	uint64_t submitted, completed;
	bool halted, block;
};

struct vtadev_buf {
	uint64_t words[512];
};

struct toy toy;
static struct vtadev_queue *queues[TOY_QUEUES];
static struct vtadev_buf *memory;

uint32_t toy_random(uint32_t below)
{
	toy.seed = toy.seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((toy.seed >> 33) % below);
}

/* ---- The card ---- */

static uint64_t *word_at(const struct vta_desc *desc)
{
	uint32_t at = le32toh(desc->sync.addr) - TOY_ADDR;

	assert_true(memory && at < sizeof(*memory) && at % 8 == 0);
	return &memory->words[at / 8];
}

/* One descriptor; false if it cannot move. */
static bool move(struct vtadev_queue *q)
{
	const struct vta_desc *desc;

	if (!q || q->halted || q->completed == q->submitted)
		return false;
	desc = &q->ring[q->completed % q->entries];
	switch (le32toh(desc->op_flags)) {
	case VTA_OP_NOP:
		break;
	case VTA_OP_SIGNAL:
		*word_at(desc) = le64toh(desc->sync.value);
		break;
	case VTA_OP_WAIT:
		if (*word_at(desc) < le64toh(desc->sync.value))
			return false;
		break;
	default:
		if (!toy.execute(q->index, desc)) {
			q->halted = true;
			return true;
		}
		break;
	}
	q->completed++;
	return true;
}

bool toy_step(void)
{
	unsigned int first = toy_random(TOY_QUEUES);

	for (unsigned int i = 0; i < TOY_QUEUES; i++)
		if (move(queues[(first + i) % TOY_QUEUES]))
			return true;
	return false;
}

/* ---- The library ---- */

int vtadev_queue_create(struct vtadev *dev, const struct vtadev_queue_opts *opts,
			struct vtadev_queue **out)
{
	struct vtadev_queue *q;

	(void)dev;
	if (toy.fail_queue && !--toy.fail_queue)
		return -ENOSPC;
	q = calloc(1, sizeof(*q));
	assert_non_null(q);
	q->entries = opts->ring_entries ? opts->ring_entries : ENTRIES_MAX;
	q->block = opts->flags & VTADEV_QUEUE_BLOCK;
	q->index = toy.queues++;
	queues[q->index] = q;
	*out = q;
	return 0;
}

void vtadev_queue_destroy(struct vtadev_queue *q)
{
	if (!q)
		return;
	queues[q->index] = NULL;
	toy.queues--;
	free(q);
}

int vtadev_buf_alloc(struct vtadev *dev, size_t size, unsigned int flags,
		     struct vtadev_buf **out)
{
	(void)dev;
	assert_true(!memory && size <= sizeof(*memory) && flags == VTADEV_HOST);
	memory = malloc(sizeof(*memory));
	assert_non_null(memory);
	memset(memory, 0xff, sizeof(*memory));
	toy.bufs++;
	*out = memory;
	return 0;
}

void vtadev_buf_free(struct vtadev_buf *buf)
{
	if (!buf)
		return;
	free(buf);
	memory = NULL;
	toy.bufs--;
}

uint32_t vtadev_buf_addr(const struct vtadev_buf *buf)
{
	(void)buf;
	return TOY_ADDR;
}

int vtadev_buf_write(struct vtadev_buf *buf, size_t offset, const void *src, size_t len)
{
	memcpy((char *)buf->words + offset, src, len);
	return 0;
}

/* Any number of steps may have been made before the next check. */
static void move_on(void)
{
	for (unsigned int steps = toy_random(4); steps; steps--)
		toy_step();
}

int vtadev_submit(struct vtadev_queue *q, const struct vta_desc *descs, unsigned int n,
		  uint64_t *seq)
{
	move_on();
	if (!n || n > q->entries)
		return -EINVAL;
	while (!q->halted && n > q->entries - (q->submitted - q->completed)) {
		if (!q->block)
			return -EAGAIN;
		if (!toy_step())
			return -EDEADLK;
	}
	if (q->halted)
		return -EIO;
	for (unsigned int i = 0; i < n; i++)
		q->ring[q->submitted++ % q->entries] = descs[i];
	toy.doorbells++;
	if (seq)
		*seq = q->submitted;
	return 0;
}

uint64_t vtadev_submitted(const struct vtadev_queue *q)
{
	return q->submitted;
}

int vtadev_completed(struct vtadev_queue *q, uint64_t *seq)
{
	move_on();
	*seq = q->completed;
	return 0;
}

int vtadev_done(struct vtadev_queue *q, uint64_t seq)
{
	if (seq > q->submitted)
		return -EINVAL;
	if (q->completed >= seq)
		return 1;
	return q->halted ? -EIO : 0;
}

int vtadev_fault(struct vtadev_queue *q, struct vtadev_fault *fault)
{
	*fault = (struct vtadev_fault) {
		.reason = q->halted ? VTA_FAULT_PAGE : VTA_FAULT_NONE,
		.seq = q->halted ? q->completed + 1 : 0,
	};
	return 0;
}

static int wait_many(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		     bool any)
{
	bool waited = false;

	for (;;) {
		unsigned int reached = 0;
		int err = 0;

		for (unsigned int i = 0; i < n; i++) {
			int done = vtadev_done(fences[i].queue, fences[i].seq);

			reached += done > 0;
			if (done < 0 && !err)
				err = done;
		}
		if (any && reached)
			return 0;
		if (err || reached == n)
			return err;
		if (!timeout_ns)
			return -ETIMEDOUT;
		toy.waits += !waited;
		waited = true;
		if (!toy_step())
			return -EDEADLK;
	}
}

int vtadev_wait_any(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index)
{
	(void)cancel_fd;
	(void)index;
	return wait_many(fences, n, timeout_ns, true);
}

int vtadev_wait_all(const struct vtadev_fence *fences, unsigned int n, int64_t timeout_ns,
		    int cancel_fd, unsigned int *index)
{
	(void)cancel_fd;
	(void)index;
	return wait_many(fences, n, timeout_ns, false);
}

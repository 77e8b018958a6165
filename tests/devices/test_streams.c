// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_streams.c - random streams on a device in the process, against the reference
 *
 *	test_streams [DEVICE]
 *
 * As tests/emu/test_card_streams.c does with the emulated card. DEVICE (soft) takes a
 * vta_config.json as its argument.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streams.h"
#include "vtadev.h"

#define FINISH	0x00001000u	/* where a stream of one FINISH is */

static const char *device = "soft";

struct bench {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtadev_queue *other;	/* keeps the core's state */
	struct vtadev_buf *finish;
	struct vtadev_buf *buf;
	void *memory;			/* of @buf */
};

static void device_open(struct streams *s)
{
	const struct vtadev_queue_opts keeps = { .flags = VTADEV_QUEUE_KEEP };
	struct bench *b = calloc(1, sizeof(*b));
	const uint32_t finish[4] = { 3 };
	char which[300];

	assert_non_null(b);
	s->self = b;
	snprintf(which, sizeof(which), "%s:%s", device, s->path);
	assert_int_equal(vtadev_open(which, &b->dev), 0);
	assert_int_equal(vtadev_queue_create(b->dev, NULL, &b->queue), 0);
	assert_int_equal(vtadev_queue_create(b->dev, &keeps, &b->other), 0);
	assert_int_equal(vtadev_buf_alloc_at(b->dev, sizeof(finish), VTADEV_HOST, 0, FINISH,
					     &b->finish), 0);
	assert_int_equal(vtadev_buf_write(b->finish, 0, finish, sizeof(finish)), 0);
}

static void device_close(struct streams *s)
{
	struct bench *b = s->self;

	vtadev_queue_destroy(b->queue);
	vtadev_queue_destroy(b->other);
	vtadev_buf_free(b->finish);
	vtadev_buf_free(b->buf);
	vtadev_close(b->dev);
	free(b);
}

/* A run that keeps its state came between: the next one's core is as that of a new device. */
static void clear_core(struct bench *b)
{
	struct vta_desc desc = vtadev_desc_run(FINISH, 1, 0);
	uint64_t seq;

	vtadev_desc_keep(&desc);
	assert_int_equal(vtadev_submit(b->other, &desc, 1, &seq), 0);
	assert_int_equal(vtadev_wait(b->other, seq, -1), 0);
}

/* Nothing is mapped around the memory. */
static void device_begin(struct streams *s, bool strict)
{
	struct bench *b = s->self;

	(void)strict;
	clear_core(b);
	vtadev_buf_free(b->buf);
	b->buf = NULL;
	s->base = s->seed % 2 ? gen_base_for_top(s->cfg) : STREAMS_BASE;
	assert_int_equal(vtadev_buf_alloc_at(b->dev, s->size, VTADEV_HOST, 0, s->base, &b->buf), 0);
	assert_int_equal(vtadev_buf_map(b->buf, &b->memory), 0);
}

static void device_load(struct streams *s, unsigned int way, uint32_t bytes)
{
	struct bench *b = s->self;

	(void)way;
	memcpy(b->memory, s->memory, bytes);
}

static const uint8_t *device_page(struct streams *s, unsigned int way, uint32_t at)
{
	const struct bench *b = s->self;

	(void)way;
	return (const uint8_t *)b->memory + at;
}

static bool device_run(struct streams *s, unsigned int way, struct core_fault *fault,
		       uint64_t *cycles)
{
	struct vta_desc desc = vtadev_desc_run(gen_insn_addr(s->gen), s->stream.count, 0);
	struct bench *b = s->self;
	struct vtadev_fault record;
	uint64_t seq;
	int err;

	(void)way;
	*cycles = 0;
	assert_int_equal(vtadev_submit(b->queue, &desc, 1, &seq), 0);
	err = vtadev_wait(b->queue, seq, -1);
	if (!err)
		return true;
	assert_int_equal(err, -EIO);
	assert_int_equal(vtadev_fault(b->queue, &record), 0);
	*fault = (struct core_fault){ record.reason, record.access, record.addr,
				      record.insn_index, { 0 } };
	memcpy(fault->insn, record.insn, sizeof(fault->insn));
	assert_int_equal(vtadev_recover(b->queue), 0);
	return false;
}

int main(int argc, char **argv)
{
	static struct target target = {
		.group = "streams on a device", .ways = 1, .names = &device, .seed = 1000,
		.streams = 2160, .open = device_open, .close = device_close,
		.begin = device_begin, .load = device_load, .page = device_page,
		.run = device_run,
	};

	if (argc > 1)
		device = argv[1];
	return streams_main(&target);
}

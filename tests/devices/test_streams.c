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
#include <unistd.h>

#include "insn.h"
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

/* ---- Depths of the core's queues, by docs/isa.md, section 3 ---- */

#define DEPTH	256u

/* The configuration of @s with token queues of DEPTH and as many waiting instructions. */
static void write_shallow(const struct streams *s, const char *path)
{
	FILE *from = fopen(s->path, "r"), *to = fopen(path, "w");
	int byte;

	assert_true(from && to);
	fputs("{ \"LOG_TOKENS\": 8, \"LOG_WAITING\": 8,", to);
	/* The rest of the object. */
	while ((byte = fgetc(from)) != EOF && byte != '{')
		;
	while ((byte = fgetc(from)) != EOF)
		fputc(byte, to);
	assert_int_equal(fclose(from) | fclose(to), 0);
}

/* Run @count times an instruction that does nothing but its tokens, behind @first. */
static int run_tokens(struct vtadev_queue *queue, struct vtadev_buf *code, struct insn first,
		      struct insn insn, uint32_t count)
{
	uint8_t bytes[(2 * DEPTH + 1) * 16];
	struct vta_desc desc;
	uint64_t seq;

	insn_to_bytes(first, bytes);
	for (uint32_t i = 1; i <= count; i++)
		insn_to_bytes(insn, bytes + 16 * (size_t)i);
	assert_int_equal(vtadev_buf_write(code, 0, bytes, 16 * (count + 1)), 0);
	desc = vtadev_desc_run(vtadev_buf_addr(code), count + 1, 0);
	assert_int_equal(vtadev_submit(queue, &desc, 1, &seq), 0);
	return vtadev_wait(queue, seq, -1);
}

static void assert_deadlock(struct vtadev_queue *queue, uint32_t index)
{
	struct vtadev_fault fault;

	assert_int_equal(vtadev_fault(queue, &fault), 0);
	assert_int_equal(fault.reason, VTA_FAULT_DEADLOCK);
	assert_int_equal(fault.insn_index, index);
	assert_int_equal(vtadev_recover(queue), 0);
}

static void test_depths(struct streams *s)
{
	const struct insn push = insn_move(&(struct insn_move){
		.opcode = INSN_LOAD, .flags = INSN_PUSH_NEXT, .memory = INSN_INP });
	const struct insn pop = insn_finish(INSN_POP_PREV, (struct insn){ { 0, 0 } });
	char path[] = "/tmp/vta-shallow-XXXXXX", which[300];
	struct vtadev_queue *queue;
	struct vtadev_buf *code;
	struct vtadev *dev;
	int fd;

	if (s->config)		/* one is enough */
		return;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	write_shallow(s, path);
	snprintf(which, sizeof(which), "%s:%s", device, path);
	assert_int_equal(vtadev_open(which, &dev), 0);
	unlink(path);
	assert_int_equal(vtadev_info(dev)->log_tokens, 8);
	assert_int_equal(vtadev_info(dev)->log_waiting, 8);
	assert_int_equal(vtadev_queue_create(dev, NULL, &queue), 0);
	assert_int_equal(vtadev_buf_alloc(dev, (2 * DEPTH + 1) * 16, VTADEV_HOST, &code), 0);
	assert_int_equal(run_tokens(queue, code, push, push, DEPTH - 1), 0);
	assert_int_equal(run_tokens(queue, code, push, push, DEPTH), -EIO);
	assert_deadlock(queue, DEPTH);
	/* A FINISH that waits in the compute module meanwhile. */
	assert_int_equal(run_tokens(queue, code, pop, push, DEPTH), 0);
	assert_int_equal(run_tokens(queue, code, pop, pop, DEPTH), -EIO);
	assert_deadlock(queue, 0);
	vtadev_buf_free(code);
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
}

int main(int argc, char **argv)
{
	static const struct streams_test tests[] = {
		{ "depths", test_depths }, { NULL, NULL }
	};
	static struct target target = {
		.group = "streams on a device", .ways = 1, .names = &device, .seed = 1000,
		.streams = 2160, .open = device_open, .close = device_close,
		.begin = device_begin, .load = device_load, .page = device_page,
		.run = device_run, .tests = tests,
	};

	if (argc > 1)
		device = argv[1];
	return streams_main(&target);
}

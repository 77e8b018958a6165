// SPDX-License-Identifier: GPL-2.0-only
/*
 * test.c - vtactl test: test a card
 *
 * Uses the library, as any program: other users continue meanwhile. Takes free card memory up to a
 * limit, a context and a few queues.
 */
#include <endian.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "files.h"
#include "progress.h"
#include "test.h"

#define CHUNK		((size_t)1 << 20)
#define MEMORY_DEFAULT	((uint64_t)16 << 20)
/* A context has 4 GiB of addresses, of which other buffers need some. */
#define MEMORY_FULL	((uint64_t)3 << 30)
#define QUEUES_MAX	8

static const char help[] =
	"Usage: vtactl test [--json] [--full] [CARD]\n"
	"\n"
	"Tests a card: memory, copies, every operation of queues, every instruction of the core,\n"
	"interrupts. Other programs may use the card meanwhile. Without CARD, tests the first.\n"
	"\n"
	"  -f, --full  test all free card memory, up to 3 GiB, instead of 16 MiB\n"
	"  -j, --json  print an object: card, ok, and parts with name, ok and why\n"
	"  -h, --help  print this text\n"
	"\n"
	"The exit status is 0 if the card works, 5 if it fails; others mean that the card could\n"
	"not be tested (vtactl --help).\n";

static uint64_t memory_max = MEMORY_DEFAULT;

/* ---- For all parts ---- */

void test_note(struct card_test *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t->why, sizeof(t->why), format, args);
	va_end(args);
}

void test_note_error(struct card_test *t, const char *what, int err)
{
	struct vtadev_fault fault;
	char text[VTADEV_FAULT_TEXT_MAX];

	if (err == -EIO && !vtadev_fault(t->queue, &fault)) {
		vtadev_fault_text(&fault, text, sizeof(text));
		vtadev_recover(t->queue);
		test_note(t, "%s: %s", what, text);
	} else {
		test_note(t, "%s: %s", what, ctl_why(t->dev, err, text));
	}
}

void test_progress(const struct card_test *t, double share)
{
	progress_show(t->part, t->before + share * t->share);
}

/* Makes the same numbers each time, so that a failure can be repeated. */
uint32_t test_random(struct card_test *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (uint32_t)(t->random >> 32);
}

int test_do(struct card_test *t, const char *what, const struct vta_desc *descs, unsigned int n)
{
	uint64_t seq;
	int err = vtadev_submit(t->queue, descs, n, &seq);

	if (!err)
		err = vtadev_wait(t->queue, seq, TEST_WAIT_NS);
	return err ? test_error(t, what, err) : 0;
}

/* ---- Memory ---- */

/* Of a word; 0: the word's own number. */
static const uint64_t patterns[] = { 0, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa,
				     0xffffffffffffffff };
enum { PATTERNS = sizeof(patterns) / sizeof(*patterns) };

/* Fills every word with @pattern. */
static void put_pattern(uint64_t *words, size_t count, uint64_t pattern, uint64_t first)
{
	for (size_t i = 0; i < count; i++)
		words[i] = pattern ? pattern : (first + i) * 0x9e3779b97f4a7c15ull;
}

/* Writes all of card memory before any of it is read: two addresses may be one. */
static int check_memory(struct card_test *t, struct vtadev_buf *card, size_t size,
			struct vtadev_buf *host, uint64_t *words, size_t round)
{
	uint64_t pattern = patterns[round];
	size_t count = CHUNK / sizeof(*words), at;
	uint32_t there = vtadev_buf_addr(card), here = vtadev_buf_addr(host);
	struct vta_desc desc;
	void *seen;
	int err = vtadev_buf_map(host, &seen);

	if (err)
		return test_error(t, "mapping a buffer", err);
	for (at = 0; at < size; at += CHUNK) {
		put_pattern(seen, count, pattern, at / sizeof(*words));
		desc = vtadev_desc_copy(there + (uint32_t)at, here, CHUNK);
		if (test_do(t, "copying to the card", &desc, 1))
			return -1;
		test_progress(t, ((double)round + 0.5 * (double)at / (double)size) /
			      PATTERNS);
	}
	for (at = 0; at < size; at += CHUNK) {
		put_pattern(words, count, pattern, at / sizeof(*words));
		memset(seen, 0x5a, CHUNK);
		desc = vtadev_desc_copy(here, there + (uint32_t)at, CHUNK);
		if (test_do(t, "copying from the card", &desc, 1))
			return -1;
		if (memcmp(seen, words, CHUNK))
			return test_says(t, "card memory does not keep pattern %016llx",
					  (unsigned long long)pattern);
		test_progress(t, ((double)round + 0.5 + 0.5 * (double)at / (double)size) /
			      PATTERNS);
	}
	return 0;
}

static int test_memory(struct card_test *t)
{
	struct vtadev_buf *card = NULL, *host = NULL;
	uint64_t *words = malloc(CHUNK), size;
	int err, ret = -1;

	err = vtadev_mem_free(t->dev, &size);
	if (!err)
		err = vtadev_buf_alloc(t->dev, CHUNK, VTADEV_HOST, &host);
	/* A card without memory of its own: host memory in its place. */
	if (!vtadev_info(t->dev)->mem_size)
		size = CHUNK;
	if (size > memory_max)
		size = memory_max;
	/* Other programs may take some meanwhile, or it is in pieces: try half. */
	for (size -= size % CHUNK; !err && size >= CHUNK; size = size / 2 / CHUNK * CHUNK) {
		err = vtadev_buf_alloc(t->dev, (size_t)size, VTADEV_CARD, &card);
		if (err != -ENOSPC && err != -EDQUOT)
			break;
		err = 0;
	}
	if (err) {
		test_note_error(t, "memory", err);
	} else if (!words || !card) {
		test_note(t, "no card memory is free: try again when less is used");
	} else {
		ret = 0;
		for (size_t i = 0; !ret && i < PATTERNS; i++)
			ret = check_memory(t, card, (size_t)size, host, words, i);
	}
	vtadev_buf_free(card);
	vtadev_buf_free(host);
	free(words);
	return ret;
}

/* ---- Copies ---- */

struct rows {
	uint32_t width, rows, src, src_pitch, dst, dst_pitch;
};

/* Copies rows to the card and back, at odd places; bytes between them are kept. */
static int check_rows(struct card_test *t, uint8_t *seen, uint32_t here, uint32_t there,
		      const struct rows *c)
{
	enum { HALF = 32768 };
	uint8_t *want = seen + HALF;
	struct vta_desc descs[3];

	for (size_t i = 0; i < HALF; i++)
		seen[i] = (uint8_t)test_random(t);
	memset(want, 0xc3, HALF);
	descs[0] = vtadev_desc_fill(there, 0xc3c3c3c3, HALF);
	descs[1] = vtadev_desc_copy2d(there + c->dst, c->dst_pitch, here + c->src, c->src_pitch,
				      c->width, c->rows);
	descs[2] = vtadev_desc_copy(here + 2 * HALF, there, HALF);
	if (test_do(t, "COPY and FILL", descs, 3))
		return -1;
	for (uint32_t r = 0; r < c->rows; r++)
		memcpy(want + c->dst + r * c->dst_pitch, seen + c->src + r * c->src_pitch,
		       c->width);
	if (memcmp(seen + 2 * HALF, want, HALF))
		return test_says(t, "a copy of %u rows of %u bytes is wrong", c->rows, c->width);
	return 0;
}

static int test_copies(struct card_test *t)
{
	static const struct rows cases[] = {
		{ 1, 1, 3, 0, 5, 0 },
		{ 4096, 1, 4093, 0, 1, 0 },
		{ 30000, 1, 17, 0, 2001, 0 },
		{ 7, 100, 1, 131, 3, 17 },
		{ 64, 64, 0, 64, 64, 256 },
		{ 255, 31, 9, 1000, 11, 1024 },
	};
	struct vtadev_buf *card = NULL, *host = NULL;
	void *seen = NULL;
	int err, ret = 0;

	err = vtadev_buf_alloc(t->dev, 1 << 17, VTADEV_HOST, &host);
	if (!err)
		err = vtadev_buf_alloc(t->dev, 1 << 15, VTADEV_CARD, &card);
	if (!err)
		err = vtadev_buf_map(host, &seen);
	if (err || !seen)
		ret = test_error(t, "memory", err);
	for (size_t i = 0; !ret && i < sizeof(cases) / sizeof(*cases); i++)
		ret = check_rows(t, seen, vtadev_buf_addr(host), vtadev_buf_addr(card), &cases[i]);
	vtadev_buf_free(card);
	vtadev_buf_free(host);
	return ret;
}

/* ---- Operations of queues ---- */

static int test_operations(struct card_test *t)
{
	enum { WORD = 0, TARGET = 64, STAMPS = 512, OPS = 6 };
	struct vtadev_buf *buf;
	struct vta_desc descs[OPS];
	uint64_t before = vtadev_submitted(t->queue);
	uint32_t addr;
	uint8_t *seen = NULL;
	void *ptr;
	int err, ret = 0;

	err = vtadev_buf_alloc(t->dev, 4096, VTADEV_HOST, &buf);
	if (err)
		return test_error(t, "memory", err);
	addr = vtadev_buf_addr(buf);
	err = vtadev_buf_map(buf, &ptr);
	seen = ptr;
	descs[0] = vtadev_desc_nop();
	descs[1] = vtadev_desc_signal(addr + WORD, 0x0123456789abcdefull);
	descs[2] = vtadev_desc_wait(addr + WORD, 0x0123456789abcdefull);
	descs[3] = vtadev_desc_fill(addr + TARGET, 0x44332211, 7);
	descs[4] = vtadev_desc_copy(addr + TARGET + 8, addr + TARGET, 7);
	descs[5] = vtadev_desc_run(addr, 0, 0);
	for (unsigned int i = 0; i < OPS; i++)
		vtadev_desc_stamp(&descs[i],
				  addr + STAMPS + i * (uint32_t)sizeof(struct vta_stamp));
	if (err)
		ret = test_error(t, "mapping a buffer", err);
	else
		ret = test_do(t, "an operation", descs, OPS);
	for (unsigned int i = 0; !ret && i < OPS; i++) {
		struct vta_stamp stamp;

		memcpy(&stamp, seen + STAMPS + i * sizeof(stamp), sizeof(stamp));
		if (le64toh(stamp.seq) != before + i + 1 ||
		    le64toh(stamp.start) > le64toh(stamp.end))
			ret = test_says(t, "the stamp of operation %u makes no sense", i);
	}
	if (!ret && (memcmp(seen + TARGET, "\x11\x22\x33\x44\x11\x22\x33", 8) ||
		     memcmp(seen + TARGET + 8, "\x11\x22\x33\x44\x11\x22\x33", 8)))
		ret = test_says(t, "FILL or COPY of a few bytes is wrong");
	vtadev_buf_free(buf);
	return ret;
}

/* ---- Interrupts ---- */

static uint64_t count_lost(const struct card_test *t)
{
	int dir = files_card(vtadev_info(t->dev)->card.index);
	uint64_t lost = 0;

	if (dir < 0)
		return 0;
	files_number(dir, "recovery/lost_interrupts", &lost);
	close(dir);
	return lost;
}

/* Waits on several queues without spinning; the watchdog must not have ended a wait. */
static int test_interrupts(struct card_test *t)
{
	const struct vtadev_queue_opts opts = { .spin_ns = -1 };
	struct vtadev_queue *queues[QUEUES_MAX], *own = t->queue;
	uint64_t before = count_lost(t);
	struct vta_desc nop = vtadev_desc_nop();
	unsigned int n = 0;
	int ret = 0, err = 0;

	queues[n++] = own;
	while (n < QUEUES_MAX && !err) {
		err = vtadev_queue_create(t->dev, &opts, &queues[n]);
		n += !err;
	}
	if (err && err != -ENOSPC && err != -EDQUOT)
		ret = test_error(t, "a queue", err);
	for (unsigned int round = 0; !ret && round < 16; round++) {
		for (unsigned int i = 0; !ret && i < n; i++) {
			t->queue = queues[i];
			ret = test_do(t, "waiting for an interrupt", &nop, 1);
		}
	}
	t->queue = own;
	while (n > 1)
		vtadev_queue_destroy(queues[--n]);
	if (!ret && count_lost(t) != before)
		ret = test_says(t, "%llu interrupts were lost",
				(unsigned long long)(count_lost(t) - before));
	return ret;
}

/* ---- The verb ---- */

/* With the shares of time that they take with --full. */
static const struct {
	const char *name;
	card_test_fn *test;
	double share;
} parts[] = {
	{ "memory", test_memory, 0.94 },
	{ "copies", test_copies, 0.01 },
	{ "operations", test_operations, 0.01 },
	{ "load", test_core_load, 0.01 },
	{ "gemm", test_core_gemm, 0.01 },
	{ "alu", test_core_alu, 0.01 },
	{ "interrupts", test_interrupts, 0.01 },
};

static struct json_object *result_of(const char *name, bool ok, const char *why)
{
	struct json_object *result = json_object_new_object();

	json_object_object_add(result, "name", json_object_new_string(name));
	json_object_object_add(result, "ok", json_object_new_boolean(ok));
	json_object_object_add(result, "why", ok ? NULL : json_object_new_string(why));
	return result;
}

static int run_parts(struct card_test *t, bool json)
{
	const char *node = vtadev_info(t->dev)->card.node;
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	bool all_ok = true;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		bool ok;

		t->part = parts[i].name;
		t->share = parts[i].share;
		test_progress(t, 0);
		ok = !parts[i].test(t);
		t->before += t->share;
		progress_clear();
		all_ok = all_ok && ok;
		json_object_array_add(array, result_of(parts[i].name, ok, t->why));
		if (!json)
			printf("%-10s  %s%s\n", parts[i].name, ok ? "ok" : "FAILS: ",
			       ok ? "" : t->why);
	}
	json_object_object_add(object, "card", json_object_new_string(node));
	json_object_object_add(object, "ok", json_object_new_boolean(all_ok));
	json_object_object_add(object, "parts", array);
	if (json) {
		ctl_print_json(object, false);
	} else {
		printf("%s %s\n", node, all_ok ? "works" : "does not work: vtactl dump makes a "
		       "report of it");
		json_object_put(object);
	}
	return all_ok ? CTL_OK : CTL_BROKEN;
}

static int run(const char *which, bool json)
{
	const struct vtadev_queue_opts opts = { .spin_ns = -1 };
	struct card_test t = { .random = 0x2545f4914f6cdd1d };
	int ret, err;

	ret = ctl_open(which, &t.dev);
	if (ret)
		return ret;
	err = vtadev_queue_create(t.dev, &opts, &t.queue);
	if (err) {
		ret = ctl_error(vtadev_info(t.dev)->card.node, err);
		ret = err == -ENODEV ? CTL_BROKEN : ret;
	} else {
		ret = run_parts(&t, json);
		vtadev_queue_destroy(t.queue);
	}
	vtadev_close(t.dev);
	return ret;
}

int test_main(int argc, char **argv)
{
	bool json = false, full = false;
	const struct cli_option options[] = {
		{ CLI_FLAG("full", &full) }, { CLI_FLAG("json", &json) }, { 0 },
	};
	int ret = cli_options(help, options, 1, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (full)
		memory_max = MEMORY_FULL;
	return run(argv[0], json);
}

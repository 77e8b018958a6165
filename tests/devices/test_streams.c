// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_streams.c - random streams on a device in the process, against the reference
 *
 *	test_streams [DEVICE]
 *
 * As tests/emu/test_card_streams.c does with the emulated card: valid streams on every
 * configuration, compared with tests/emu/ref.c bit for bit, and invalid ones, which must
 * end in the fault that the generator says. DEVICE (soft) takes a vta_config.json as its
 * argument.
 *
 * VTA_SEED (1000) is the first seed and VTA_STREAMS (2160) the number of valid streams.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "configs.h"
#include "gen.h"
#include "ref.h"
#include "vtadev.h"

#define ROUNDS	3u	/* streams from one seed, and a dump */
#define BASE	0x00100000u
#define FINISH	0x00001000u	/* where a stream of one FINISH is */

static const char *device = "soft";
static struct configs configs;
static uint64_t first_seed;
static uint64_t seeds;		/* per configuration */
static unsigned int valid_streams, invalid_streams;

/* A device of one configuration, and what is run there for one seed after the other. */
struct bench {
	unsigned int config;
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtadev_queue *other;	/* keeps the core's state */
	struct vtadev_buf *finish;
	uint64_t seed;
	uint32_t base;
	uint32_t size;
	struct gen *gen;
	struct gen_stream stream;
	struct ref ref;
	uint8_t *memory;	/* the reference's, and the device's */
	uint8_t *there;
	struct vtadev_buf *buf;
};

static uint64_t env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static void device_open(struct bench *b, unsigned int config)
{
	const struct vtadev_queue_opts keeps = { .flags = VTADEV_QUEUE_KEEP };
	const uint32_t finish[4] = { 3 };
	char which[300];

	memset(b, 0, sizeof(*b));
	b->config = config;
	snprintf(which, sizeof(which), "%s:%s", device, configs.path[config]);
	assert_int_equal(vtadev_open(which, &b->dev), 0);
	assert_int_equal(vtadev_queue_create(b->dev, NULL, &b->queue), 0);
	assert_int_equal(vtadev_queue_create(b->dev, &keeps, &b->other), 0);
	assert_int_equal(vtadev_buf_alloc_at(b->dev, sizeof(finish), VTADEV_HOST, 0, FINISH,
					     &b->finish), 0);
	assert_int_equal(vtadev_buf_write(b->finish, 0, finish, sizeof(finish)), 0);
}

static void device_close(struct bench *b)
{
	vtadev_queue_destroy(b->queue);
	vtadev_queue_destroy(b->other);
	vtadev_buf_free(b->finish);
	vtadev_close(b->dev);
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

/* A new image, and a core of zeroes. */
static void begin(struct bench *b, uint64_t n)
{
	const struct core_config *cfg = &configs.cfg[b->config];
	void *map;

	b->seed = first_seed + n;
	b->base = n % 2 ? gen_base_for_top(cfg) : BASE;
	b->gen = gen_new(cfg, b->seed, b->base);
	b->size = gen_image_size(b->gen);
	b->memory = malloc(b->size);
	assert_non_null(b->memory);
	memcpy(b->memory, gen_image(b->gen), b->size);
	ref_init(&b->ref, cfg);
	clear_core(b);
	assert_int_equal(vtadev_buf_alloc_at(b->dev, b->size, VTADEV_HOST, 0, b->base, &b->buf), 0);
	assert_int_equal(vtadev_buf_map(b->buf, &map), 0);
	b->there = map;
	memcpy(b->there, b->memory, b->size);
}

static void end(struct bench *b)
{
	vtadev_buf_free(b->buf);
	ref_free(&b->ref);
	gen_free(b->gen);
	free(b->memory);
}

static bool run_ref(struct bench *b, struct ref_fault *fault)
{
	const struct ref_mem mem = { .bytes = b->memory, .base = b->base, .size = b->size };

	gen_put_insns(&b->stream, b->memory);
	gen_put_insns(&b->stream, b->there);
	return ref_run(&b->ref, &mem, gen_insn_addr(b->gen), b->stream.count, 0, fault);
}

static int run_device(struct bench *b)
{
	struct vta_desc desc = vtadev_desc_run(gen_insn_addr(b->gen), b->stream.count, 0);
	uint64_t seq;

	assert_int_equal(vtadev_submit(b->queue, &desc, 1, &seq), 0);
	return vtadev_wait(b->queue, seq, -1);
}

static void check_valid(struct bench *b, unsigned int round)
{
	struct ref_fault fault;

	assert_true(run_ref(b, &fault));
	if (run_device(b) || memcmp(b->there, b->memory, b->size) != 0)
		fail_msg("%s, seed %" PRIu64 ", stream %u: not the reference's bits",
			 configs.name[b->config], b->seed, round);
}

static void test_valid(void **state)
{
	struct bench b;

	device_open(&b, *(const unsigned int *)*state);
	for (uint64_t n = 0; n < seeds; n++) {
		begin(&b, n);
		for (unsigned int round = 0; round < ROUNDS; round++) {
			gen_valid(b.gen, &b.stream);
			check_valid(&b, round);
			valid_streams++;
		}
		gen_dump(b.gen, n / 2 % 2, &b.stream);
		check_valid(&b, ROUNDS);
		end(&b);
	}
	device_close(&b);
}

static void check_invalid(struct bench *b)
{
	struct vtadev_fault got;
	struct gen_expect want;
	struct ref_fault fault;

	gen_invalid(b->gen, &b->stream, &want);
	assert_false(run_ref(b, &fault));
	assert_int_equal(run_device(b), -EIO);
	assert_int_equal(vtadev_fault(b->queue, &got), 0);
	if (got.reason != want.reason || got.access != want.access || got.addr != want.addr ||
	    got.insn_index != want.insn_index)
		fail_msg("%s, seed %" PRIu64
			 ": fault %u, %u, 0x%x at %u, not %u, %u, 0x%x at %u: %s",
			 configs.name[b->config], b->seed, got.reason, got.access, got.addr,
			 got.insn_index, want.reason, want.access, want.addr, want.insn_index,
			 want.what);
	assert_memory_equal(got.insn, &b->stream.insns[got.insn_index], sizeof(got.insn));
	assert_int_equal(vtadev_recover(b->queue), 0);
	invalid_streams++;
}

static void test_invalid(void **state)
{
	struct bench b;

	device_open(&b, *(const unsigned int *)*state);
	for (uint64_t n = 0; n < (seeds + 1) / 2; n++) {
		begin(&b, n);
		check_invalid(&b);
		end(&b);
	}
	device_close(&b);
}

static void test_enough(void **state)
{
	(void)state;
	print_message("%u valid and %u invalid streams, %u configurations, on %s\n",
		      valid_streams, invalid_streams, configs.count, device);
	if (getenv("VTA_STREAMS"))
		skip();
	assert_true(valid_streams >= 2100);
	assert_true(invalid_streams >= 300);
	assert_true(configs.count >= 8);
}

int main(int argc, char **argv)
{
	static char names[2 * CONFIGS_MAX][64];
	static struct CMUnitTest tests[2 * CONFIGS_MAX + 1];
	static unsigned int numbers[CONFIGS_MAX];
	size_t count = 0;

	if (argc > 1)
		device = argv[1];
	configs_load(&configs);
	first_seed = env("VTA_SEED", 1000);
	seeds = env("VTA_STREAMS", 2160) / ROUNDS / configs.count;
	if (!seeds)
		seeds = 1;
	for (unsigned int c = 0; c < 2 * configs.count; c++) {
		bool valid = c % 2 == 0;

		numbers[c / 2] = c / 2;
		snprintf(names[c], sizeof(names[c]), "%s: %s", valid ? "valid" : "invalid",
			 configs.name[c / 2]);
		tests[count++] = (struct CMUnitTest){
			.name = names[c],
			.test_func = valid ? test_valid : test_invalid,
			.initial_state = &numbers[c / 2],
		};
	}
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_enough);
	return _cmocka_run_group_tests("streams on a device", tests, count, NULL, NULL);
}

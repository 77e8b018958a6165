// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_profile.c - recorded runs, streams that are cut, and measurements, on the device soft
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../frame.h"
#include "pool_image.h"
#include "rig.h"
#include "vtadev_bench.h"
#include "vtaprog.h"

static struct vtaops_core core;
static uint8_t *file;
static struct vtaimage image;

static void make_image(struct pool_program p)
{
	size_t size;

	assert_int_equal(vtaprog_core(dev, &core), 0);
	p.core = &core;
	free(file);
	file = pool_image(&p, &size, &image);
	assert_non_null(file);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static struct vtaprog *profile(struct vtadev_queue *on, const struct vtaprog_cut *cuts,
			       uint32_t count)
{
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;

	if (vtaprog_profile(dev, on, &image, cuts, count, &prog, why))
		fail_msg("%s", why);
	return prog;
}

/* Runs, and checks the outputs, whatever the streams were cut into. */
static void run(struct vtaprog *prog)
{
	static const float in[4] = { 1.5f, -2, 3, 1000 };
	uint8_t back[POOL_BYTES], weights[POOL_BYTES];

	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++)
		if (vtaprog_tensor(prog, i)->role == VTAIMAGE_INPUT)
			assert_int_equal(vtaprog_put(prog, i, in), 0);
	assert_int_equal(vtaprog_run(prog, FOREVER), 0);
	assert_int_equal(vtaprog_get(prog, (uint32_t)vtaimage_find(&image, "y"), back), 0);
	assert_int_equal(vtaprog_get(prog, (uint32_t)vtaimage_find(&image, "w"), weights), 0);
	assert_memory_equal(back, in, sizeof(in));
	for (unsigned int i = 0; i < POOL_BYTES; i++)
		assert_int_equal(weights[i], pool_weight(i));
}

TEST_F(RIG, spans_are_in_the_order_of_steps)
{
	const struct vtaprog_span *spans;
	int64_t begin, end, error = -1;
	struct vtaprog *prog;

	make_image((struct pool_program){ .cpu = true, .outer = 100, .inner = 10 });
	prog = profile(q, NULL, 0);
	run(prog);
	begin = now();
	run(prog);
	end = now();
	assert_int_equal(vtaprog_spans(prog, &spans, &error), image.step_count);
	assert_true(error >= 0);
	for (uint32_t i = 0; i < image.step_count; i++) {
		struct vtaimage_step step;

		vtaimage_step(&image, i, &step);
		assert_int_equal(spans[i].step, i);
		assert_int_equal(spans[i].insn, 0);
		assert_int_equal(spans[i].insn_count, step.kind == VTAIMAGE_RUN ? 3 : 0);
		assert_true(spans[i].begin <= spans[i].end);
		assert_true(spans[i].begin + error >= begin && spans[i].end <= end + error);
		assert_true((step.kind == VTAIMAGE_CPU) == !spans[i].cycles);
		/* The CPU's step is the last; clocks differ by the error at most. */
		if (i)
			assert_true(spans[i].begin + error >= spans[i - 1].end);
	}
	vtaprog_free(prog);
}

/* The second part finds the token, and the scratchpad, that the first one left. */
TEST_F(RIG, a_stream_is_cut)
{
	const struct vtaprog_cut cuts[] = { { 0, 1 }, { 0, 2 } };
	struct vtadev_queue *keeps = queue(VTADEV_QUEUE_KEEP);
	const struct vtaprog_span *spans;
	struct vtaops_work work[3];
	struct vtaprog *prog;

	make_image((struct pool_program){ .outer = 100, .inner = 10 });
	assert_int_equal(vtaimage_work(&image, 0, (const uint32_t []){ 1, 2 }, 2, work), 0);
	assert_int_equal(work[0].gemm_uops, 1000);
	assert_int_equal(work[0].load_bytes + work[0].store_bytes, 0);
	assert_int_equal(work[1].load_bytes, core.acc_bytes);
	assert_int_equal(work[2].store_bytes, core.inp_bytes);
	prog = profile(keeps, cuts, 2);
	for (unsigned int i = 0; i < 3; i++)
		run(prog);
	assert_int_equal(vtaprog_spans(prog, &spans, NULL), image.step_count + 2);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(spans[1 + i].step, 1);
		assert_int_equal(spans[1 + i].insn, i);
		assert_int_equal(spans[1 + i].insn_count, 1);
	}
	assert_int_equal(spans[1].cycles, work[0].cycles);
	assert_int_equal(spans[4].step, 2);
	vtadev_queue_destroy(keeps);
	vtaprog_free(prog);
}

/* Batches are not longer than the ring. */
TEST_F(RIG, a_ring_that_is_shorter_than_the_run)
{
	const struct vtadev_queue_opts opts = { .ring_entries = 2, .flags = VTADEV_QUEUE_KEEP };
	const struct vtaprog_cut cut = { 0, 1 };
	const struct vtaprog_span *spans;
	struct vtadev_queue *small;
	struct vtaprog *prog;

	make_image((struct pool_program){ .cpu = true });
	assert_int_equal(vtadev_queue_create(dev, &opts, &small), 0);
	prog = profile(small, &cut, 1);
	run(prog);
	assert_int_equal(vtaprog_spans(prog, &spans, NULL), image.step_count + 1);
	vtadev_queue_destroy(small);
	vtaprog_free(prog);
}

/* Its tokens do not come out even: it faults as a whole. */
TEST_F(RIG, a_stream_that_is_not_cut)
{
	struct vtadev_queue *keeps = queue(VTADEV_QUEUE_KEEP);
	const struct vtaprog_cut cut = { 0, 1 };
	const struct vtaprog_span *spans;
	struct vtaops_work work;
	struct vtaprog *prog;

	make_image((struct pool_program){ .deadlock = true });
	assert_int_equal(vtaimage_work(&image, 0, NULL, 0, &work), -VTAOPS_ECORE);
	assert_int_equal(vtaimage_work(&image, 1, NULL, 0, &work), -VTAOPS_EINVAL);
	prog = profile(keeps, &cut, 1);
	assert_int_equal(vtaprog_spans(prog, &spans, NULL), image.step_count);
	assert_int_equal(spans[1].insn_count, 2);
	assert_int_equal(vtaprog_run(prog, FOREVER), -EIO);
	vtadev_queue_destroy(keeps);
	vtaprog_free(prog);
}

TEST_F(RIG, cuts_that_are_none)
{
	static const struct vtaprog_cut bad[][2] = {
		{ { 0, 0 }, { 0, 1 } }, { { 0, 1 }, { 0, 2 } }, { { 0, 1 }, { 0, 1 } },
		{ { 0, 1 }, { 1, 1 } },
	};
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;

	make_image((struct pool_program){ .cpu = false });	/* two instructions */
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(vtaprog_profile(dev, q, &image, bad[i], 2, &prog, why), -EINVAL);
	assert_null(prog);
	assert_string_not_equal(why, "");
}

TEST_F(RIG, other_functions_of_a_profiled_program)
{
	const struct vtaprog_span *spans;
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog, *plain;
	uint64_t seq;

	make_image((struct pool_program){ .cpu = false });
	prog = profile(q, NULL, 0);
	assert_int_equal(vtaprog_submit(prog, &seq), -EOPNOTSUPP);
	vtaprog_free(prog);
	assert_int_equal(vtaprog_load(dev, q, &image, &plain, why), 0);
	assert_int_equal(vtaprog_spans(plain, &spans, NULL), 0);
	vtaprog_free(plain);
}

/* ---- Measurements ---- */

static const char *const two[] = { "soft", "soft" };

TEST_F(RIG, rate_and_latencies)
{
	const struct vtadev_bench_opts opts = {
		.cards = two, .count = 2, .depth = 3, .warmup = 2, .runs = 50,
	};
	struct vtadev_bench_result r = { 0 };
	char why[VTADEV_POOL_WHY_MAX];

	make_image((struct pool_program){ .cpu = true });
	if (vtadev_bench(&image, &opts, &r, why))
		fail_msg("%s", why);
	assert_int_equal(r.cards, 2);
	assert_int_equal(r.runs, 50);
	assert_int_equal(r.lost, 0);
	assert_true(r.min_ns > 0 && r.min_ns <= r.p50_ns && r.p50_ns <= r.p90_ns);
	assert_true(r.p90_ns <= r.p99_ns && r.p99_ns <= r.max_ns && r.max_ns <= r.wall_ns);
	assert_true(r.mean_ns >= r.min_ns && r.mean_ns <= r.max_ns);
	assert_true(r.load_ns > 0 && r.first_ns > 0);
}

/* It lasts as long as it is told, and a run more. */
TEST_F(RIG, a_duration)
{
	const struct vtadev_bench_opts opts = { .cards = two, .count = 1, .duration_ns = 50000000 };
	struct vtadev_bench_result r = { 0 };
	char why[VTADEV_POOL_WHY_MAX];

	make_image((struct pool_program){ .cpu = true });
	assert_int_equal(vtadev_bench(&image, &opts, &r, why), 0);
	assert_true(r.runs > 0);
	assert_true(r.wall_ns >= 50000000);
}

TEST_F(RIG, a_run_that_fails)
{
	const struct vtadev_bench_opts opts = { .cards = two, .count = 2 };
	struct vtadev_bench_result r = { .runs = 7 };
	struct vtadev_bench_parts parts;
	char why[VTADEV_POOL_WHY_MAX];

	make_image((struct pool_program){ .deadlock = true });
	assert_int_equal(vtadev_bench(&image, &opts, &r, why), -EIO);
	assert_non_null(strstr(why, "deadlock"));
	assert_int_equal(r.runs, 7);
	assert_int_equal(vtadev_bench_parts(&image, "soft", 1, NULL, 0, &parts, why), -EIO);
}

TEST_F(RIG, wrong_arguments)
{
	uint8_t bytes[POOL_BYTES] = { 0 };
	const struct iovec right = { bytes, POOL_BYTES }, wrong = { bytes, POOL_BYTES - 1 };
	struct vtadev_bench_opts opts = { .cards = two, .count = 1, .inputs = &wrong,
					  .input_count = 1, .runs = 1 };
	struct vtadev_bench_parts parts;
	struct vtadev_bench_result r;
	char why[VTADEV_POOL_WHY_MAX];

	make_image((struct pool_program){ .cpu = false });
	assert_int_equal(vtadev_bench(&image, &opts, &r, why), -EINVAL);
	opts.inputs = &right;
	opts.input_count = 2;
	assert_int_equal(vtadev_bench(&image, &opts, &r, why), -EINVAL);
	opts.input_count = 1;
	assert_int_equal(vtadev_bench(&image, &opts, &r, why), 0);
	assert_int_equal(r.runs, 1);
	opts.duration_ns = -1;
	assert_int_equal(vtadev_bench(&image, &opts, &r, why), -EINVAL);
	assert_int_equal(vtadev_bench_parts(&image, "soft", 0, NULL, 0, &parts, why), -EINVAL);
	assert_int_equal(vtadev_bench_parts(&image, "soft", 1, &wrong, 1, &parts, why), -EINVAL);
	assert_int_equal(vtadev_bench_parts(&image, "nosuch", 1, NULL, 0, &parts, why), -EINVAL);
	assert_string_not_equal(why, "");
}

TEST_F(RIG, parts_of_a_run)
{
	struct vtadev_bench_parts parts = { 0 };
	char why[VTADEV_POOL_WHY_MAX];

	make_image((struct pool_program){ .cpu = true, .outer = 10, .inner = 10, .cycles = 1 });
	if (vtadev_bench_parts(&image, "soft", 3, NULL, 0, &parts, why))
		fail_msg("%s", why);
	assert_int_equal(parts.runs, 3);
	assert_int_equal(parts.to_card, POOL_BYTES);
	assert_int_equal(parts.from_card, 2 * POOL_BYTES);
	assert_int_equal(parts.clock_khz, vtadev_info(dev)->clock_khz);
	assert_true(parts.cycles > 100);
	assert_true(parts.compute_ns + parts.copy_ns + parts.cpu_ns <= parts.total_ns);
}

static int free_file(void **state)
{
	(void)state;
	free(file);
	return 0;
}

GROUP(NULL, free_file);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_prog.c - program images and the queue they are loaded for
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../frame.h"
#include "fake.h"
#include "vtaprog.h"

#define INPUTS_MAX	2
#define IMAGE_MAX	4096

static struct vtadev *dev;
static struct vtadev_queue *q;
static uint8_t bytes[IMAGE_MAX];	/* of the image */
static struct vtaimage image;

/* One instruction, FINISH; @inputs and an output, of an element each. */
static void make_image(unsigned int inputs)
{
	static const uint8_t model[16] = { 3 };
	const struct vtaimage_stream stream = { .insn_count = 1 };
	struct vtaimage_tensor tensors[INPUTS_MAX + 1];
	struct vtaimage_step steps[INPUTS_MAX + 2];
	unsigned int count = inputs + 1;
	struct vtaops_core core;

	assert_int_equal(vtaprog_core(dev, &core), 0);
	for (unsigned int i = 0; i < count; i++) {
		struct vtaimage_place host = { VTAIMAGE_IN_HOST, i * core.inp_bytes };
		struct vtaimage_place arena = { VTAIMAGE_IN_ARENA, i * core.inp_bytes };
		bool input = i < inputs;

		tensors[i] = (struct vtaimage_tensor){
			.name = { (char)('a' + i) }, .type = VTACPU_I8,
			.role = input ? VTAIMAGE_INPUT : VTAIMAGE_OUTPUT,
			.segment = host.segment, .offset = host.offset,
			.rank = 4, .dims = { 1, 1, 1, 1 }, .bytes = core.inp_bytes,
		};
		steps[input ? i : count] = (struct vtaimage_step){
			.kind = VTAIMAGE_COPY, .bytes = core.inp_bytes,
			.dst = input ? arena : host, .src = input ? host : arena,
		};
	}
	steps[inputs] = (struct vtaimage_step){ .kind = VTAIMAGE_RUN };
	const struct vtaimage_source source = {
		.core = &core, .name = "test", .model = model, .model_bytes = sizeof(model),
		.arena_bytes = count * core.inp_bytes, .host_bytes = count * core.inp_bytes,
		.streams = &stream, .stream_count = 1, .steps = steps, .step_count = count + 1,
		.tensors = tensors, .tensor_count = count,
	};

	if (vtaimage_write(&source, bytes, sizeof(bytes), &image))
		fail_msg("%s", image.why);
}

static void complete(struct fake *f)
{
	fake_complete(f->wait.seq);
}

static int setup(void **state)
{
	fake_setup(state);
	fake.on_wait = complete;
	dev = fake_open();
	return 0;
}

static int teardown(void **state)
{
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state);
}

#define CARD void *unused, setup, teardown

TEST_F(CARD, a_run_may_fill_the_ring)
{
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;
	uint64_t seq = 0;

	make_image(2);
	q = fake_queue(dev, 4);
	assert_int_equal(vtaprog_load(dev, q, &image, &prog, why), 0);
	assert_int_equal(vtadev_submitted(q), 1);
	assert_int_equal(vtaprog_submit(prog, &seq), 0);
	assert_int_equal(seq, 1 + 4);
	vtaprog_free(prog);
}

/* Before anything is made or uploaded, and with what to do about it. */
TEST_F(CARD, a_ring_that_is_too_short)
{
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;

	make_image(1);
	q = fake_queue(dev, 2);
	fake.calls = 0;
	assert_int_equal(vtaprog_load(dev, q, &image, &prog, why), -ENOSPC);
	assert_null(prog);
	assert_int_equal(fake.calls, 0);
	assert_int_equal(vtadev_submitted(q), 0);
	assert_string_equal(why, "a run is 3 descriptors, the queue's ring holds 2: "
			    "make it with ring_entries = 4 or more");
}

/* Two runs on the card and a kernel between them: what is at @in + 1, clipped, to @out. */
static void make_mixed_image(void)
{
	static const uint8_t model[32] = { [0] = 3, [16] = 3 };
	const struct vtaimage_stream streams[] = { { 0, 1, 5 }, { 16, 1, 6 } };
	struct vtaops_core core;

	assert_int_equal(vtaprog_core(dev, &core), 0);
	const struct vtaimage_tensor tensors[] = {
		{ .name = "in", .role = VTAIMAGE_INPUT, .segment = VTAIMAGE_IN_HOST,
		  .layout = VTAIMAGE_PLAIN, .type = VTACPU_F32, .rank = 1, .dims = { 4 },
		  .bytes = 16 },
		{ .name = "out", .role = VTAIMAGE_OUTPUT, .segment = VTAIMAGE_IN_HOST,
		  .layout = VTAIMAGE_PLAIN, .type = VTACPU_F32, .rank = 1, .dims = { 4 },
		  .offset = 64, .bytes = 16 },
	};
	static const float ones[4] = { 1, 1, 1, 1 };
	struct vtaimage_step steps[] = {
		{ .kind = VTAIMAGE_FILL, .dst = { VTAIMAGE_IN_ARENA, 0 }, .bytes = 16,
		  .pattern = 0x80808080 },
		{ .kind = VTAIMAGE_COPY, .dst = { VTAIMAGE_IN_ARENA, 0 },
		  .src = { VTAIMAGE_IN_HOST, 0 }, .bytes = 16 },
		{ .kind = VTAIMAGE_RUN, .stream = 1 },
		{ .kind = VTAIMAGE_CPU, .kernel = VTACPU_BINARY_F32,
		  .io = { { VTAIMAGE_IN_HOST, 0 }, { VTAIMAGE_IN_CONSTS, 0 },
			  { VTAIMAGE_IN_HOST, 64 } } },
		{ .kind = VTAIMAGE_RUN, .stream = 0 },
		{ .kind = VTAIMAGE_CPU, .kernel = VTACPU_UNARY_F32,
		  .io = { { VTAIMAGE_IN_HOST, 64 }, { VTAIMAGE_IN_HOST, 64 } } },
	};
	const struct vtaimage_source source = {
		.core = &core, .name = "mixed", .model = model, .model_bytes = sizeof(model),
		.arena_bytes = 16, .host_bytes = 128, .consts = (const uint8_t *)ones,
		.consts_bytes = sizeof(ones), .streams = streams, .stream_count = 2,
		.steps = steps, .step_count = 6, .tensors = tensors, .tensor_count = 2,
	};

	steps[3].params.binary_f32 = (struct vtacpu_binary_f32){
		.cast = { .op = VTACPU_ADD, .rank = 1, .dims = { 4 }, .a_stride = { 1 },
			  .b_stride = { 1 } },
	};
	steps[5].params.unary_f32 = (struct vtacpu_unary_f32){
		.count = 4, .act = { VTACPU_ACT_CLIP, 0, 6 },
	};
	if (vtaimage_write(&source, bytes, sizeof(bytes), &image))
		fail_msg("%s", image.why);
}

/* A batch for what the card does at once, and the kernels between and behind. */
TEST_F(CARD, cpu_steps_are_between_batches)
{
	static const float in[4] = { -2, 0, 1, 100 }, want[4] = { 0, 1, 2, 6 };
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;
	uint64_t seq, submitted;
	void *to, *from;

	make_mixed_image();
	q = fake_queue(dev, 4);
	if (vtaprog_load(dev, q, &image, &prog, why))
		fail_msg("%s", why);
	assert_int_equal(vtaprog_map(prog, 0, &to), 0);
	assert_int_equal(vtaprog_map(prog, 1, &from), 0);
	memcpy(to, in, sizeof(in));
	submitted = vtadev_submitted(q);
	assert_int_equal(vtaprog_submit(prog, &seq), -EOPNOTSUPP);
	assert_int_equal(vtaprog_end(prog, -1), -EINVAL);
	assert_int_equal(vtaprog_begin(prog), 0);
	assert_int_equal(vtadev_submitted(q), submitted + 3);
	assert_int_equal(vtaprog_begin(prog), -EBUSY);
	assert_int_equal(vtaprog_submit(prog, &seq), -EBUSY);
	assert_int_equal(vtaprog_end(prog, -1), 0);
	assert_int_equal(vtadev_submitted(q), submitted + 4);
	assert_memory_equal(from, want, sizeof(want));
	/* And once more. */
	assert_int_equal(vtaprog_run(prog, -1), 0);
	assert_int_equal(vtadev_submitted(q), submitted + 8);
	vtaprog_free(prog);
}

/* A run that is not done in time is under way, until it is waited for. */
TEST_F(CARD, a_run_that_takes_longer)
{
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;

	make_mixed_image();
	q = fake_queue(dev, 4);
	assert_int_equal(vtaprog_load(dev, q, &image, &prog, why), 0);
	fake.on_wait = NULL;
	fake.wait_errno = ETIMEDOUT;
	assert_int_equal(vtaprog_run(prog, 0), -ETIMEDOUT);
	assert_int_equal(vtaprog_begin(prog), -EBUSY);
	fake.on_wait = complete;
	fake.wait_errno = 0;
	assert_int_equal(vtaprog_end(prog, -1), 0);
	vtaprog_free(prog);
}

static void lose_armed(struct fake *f)
{
	f->wait_errno = f->wait.flags & VTA_WAIT_POLL ? ENODEV : ETIMEDOUT;
}

TEST_F(CARD, a_run_that_cannot_be_polled_has_ended)
{
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;

	make_image(2);
	q = fake_queue(dev, 4);
	assert_int_equal(vtaprog_load(dev, q, &image, &prog, why), 0);
	assert_int_equal(vtaprog_begin(prog), 0);
	fake.on_wait = lose_armed;
	assert_int_equal(vtaprog_poll(prog), -ENODEV);
	assert_int_equal(vtaprog_end(prog, 0), -EINVAL);
	vtaprog_free(prog);
}

/* The memory of a card that was lost shows zeros: they are no outputs. */
TEST_F(CARD, outputs_of_a_lost_card_are_refused)
{
	static const float in[4] = { 1, 1, 1, 1 }, want[4] = { 2, 2, 2, 2 };
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;
	float out[4];

	make_mixed_image();
	q = fake_queue(dev, 4);
	assert_int_equal(vtaprog_load(dev, q, &image, &prog, why), 0);
	assert_int_equal(vtaprog_put(prog, 0, in), 0);
	assert_int_equal(vtaprog_run(prog, -1), 0);
	assert_int_equal(vtaprog_get(prog, 1, out), 0);
	assert_memory_equal(out, want, sizeof(want));
	assert_int_equal(vtaprog_check(prog), 0);
	/* Between the end of the run and the next reading. */
	memset(fake.status, 0, sizeof(*fake.status));
	fake.fail = ENODEV;
	assert_int_equal(vtaprog_get(prog, 1, out), -ENODEV);
	assert_int_equal(vtaprog_check(prog), -ENODEV);
	fake.fail = 0;
	vtaprog_free(prog);
}

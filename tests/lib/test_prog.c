// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_prog.c - program images and the queue they are loaded for
 */
#include <errno.h>
#include <string.h>

#include "fake.h"
#include "test.h"
#include "vtaprog.h"

#define INPUTS_MAX	2
#define IMAGE_MAX	4096

static struct vtadev *dev;
static struct vtadev_queue *q;
static uint8_t bytes[IMAGE_MAX];	/* an image */
static size_t size;

/* One instruction, FINISH; @inputs, an output and an internal tensor, of an element each. */
static void make_image(unsigned int inputs)
{
	static const uint8_t model[16] = { 3 };
	struct vtaimage_tensor tensors[INPUTS_MAX + 2];
	unsigned int count = inputs + 2;
	struct vtaops_core core;
	struct vtaimage check;

	assert_int_equal(vtaprog_core(dev, &core), 0);
	for (unsigned int i = 0; i < count; i++) {
		tensors[i] = (struct vtaimage_tensor){
			.name = { (char)('a' + i) }, .role = VTAIMAGE_INPUT,
			.n = 1, .c = 1, .h = 1, .w = 1, .offset = i * core.inp_bytes,
			.bytes = (uint32_t)vtaops_act_bytes(&core, 1, 1, 1, 1),
		};
	}
	tensors[1].role = VTAIMAGE_INTERNAL;
	tensors[count - 1].role = VTAIMAGE_OUTPUT;
	const struct vtaimage_source source = {
		.core = &core, .name = "test", .model = model, .model_bytes = sizeof(model),
		.arena_bytes = count * core.inp_bytes, .insn_count = 1,
		.tensors = tensors, .tensor_count = count,
	};

	size = vtaimage_size_v1(&source);
	assert_in_range(size, 1, sizeof(bytes));
	if (vtaimage_write_v1(&source, bytes, sizeof(bytes), &check))
		fail_msg("%s", check.why);
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

static void a_run_may_fill_the_ring(void **state)
{
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;
	uint64_t seq = 0;

	(void)state;
	make_image(2);
	q = fake_queue(dev, 4);
	assert_int_equal(vtaprog_load(dev, q, bytes, size, &prog, why), 0);
	assert_int_equal(vtadev_submitted(q), 1);
	assert_int_equal(vtaprog_submit(prog, &seq), 0);
	assert_int_equal(seq, 1 + 4);
	vtaprog_free(prog);
}

/* Before anything is made or uploaded, and with what to do about it. */
static void a_ring_that_is_too_short(void **state)
{
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaprog *prog = NULL;

	(void)state;
	make_image(1);
	q = fake_queue(dev, 2);
	fake.calls = 0;
	assert_int_equal(vtaprog_load(dev, q, bytes, size, &prog, why), -ENOSPC);
	assert_null(prog);
	assert_int_equal(fake.calls, 0);
	assert_int_equal(vtadev_submitted(q), 0);
	assert_string_equal(why, "a run is 3 descriptors, the queue's ring holds 2: "
			    "make it with ring_entries = 4 or more");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_run_may_fill_the_ring),
		TEST(a_ring_that_is_too_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

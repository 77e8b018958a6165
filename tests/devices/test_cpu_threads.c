// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps of the CPU by several threads (vtaprog_threads()): outputs are the same bits, and runs of
 * two programs at once do not disturb each other, also under ThreadSanitizer.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "vtaprog.h"

#define LOOKS		60000	/* of 1 ms */

/* A convolution of 3 x 3, and a product with its output as 96 rows. */
enum { IN = 16, OUT = 96, SIZE = 12, PIXELS = SIZE * SIZE, COLS = 40 };
enum {
	X_BYTES = IN * PIXELS * 4, MID_BYTES = OUT * PIXELS * 4, Y_BYTES = OUT * COLS * 4,
	W_BYTES = OUT * IN * 9 * 4, B_BYTES = PIXELS * COLS * 4,
	X_AT = 0, MID_AT = X_AT + X_BYTES, Y_AT = MID_AT + MID_BYTES,
	SCRATCH_AT = (Y_AT + Y_BYTES + 63) / 64 * 64,
};

static struct vtadev *dev;
static struct vtadev_queue *queue;
static struct vtaops_core core;
static uint8_t *file;
static struct vtaimage image;

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void fill(float *to, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (float)(next(&seed) % 2001) / 1000 - 1;
}

static struct vtaimage_tensor tensor(const char *name, enum vtaimage_role role, uint32_t rows,
				     uint32_t cols, uint32_t offset)
{
	struct vtaimage_tensor t = {
		.role = role, .segment = VTAIMAGE_IN_HOST, .layout = VTAIMAGE_PLAIN,
		.type = VTACPU_F32, .rank = 2, .dims = { rows, cols }, .offset = offset,
		.bytes = 4 * rows * cols,
	};

	snprintf(t.name, sizeof(t.name), "%s", name);
	return t;
}

static uint32_t scratch_of(const struct vtaimage_step *step)
{
	struct vtacpu_need need;

	assert_int_equal(vtacpu_need(step->kernel, &step->params, &need), 0);
	return (uint32_t)need.scratch;
}

static void make_image(void)
{
	float *consts = malloc(W_BYTES + B_BYTES);
	struct vtaimage_step steps[2] = {
		{ .kind = VTAIMAGE_CPU, .kernel = VTACPU_CONV_F32, .scratch = SCRATCH_AT,
		  .params.conv_f32.win = {
			.n = 1, .ic = IN, .ih = SIZE, .iw = SIZE, .oc = OUT, .oh = SIZE, .ow = SIZE,
			.kh = 3, .kw = 3, .stride_h = 1, .stride_w = 1, .pad_top = 1,
			.pad_left = 1, .dil_h = 1, .dil_w = 1, .groups = 1 },
		  .io = { { VTAIMAGE_IN_HOST, X_AT }, { VTAIMAGE_IN_CONSTS, 0 },
			  { VTAIMAGE_NOWHERE, 0 }, { VTAIMAGE_NOWHERE, 0 },
			  { VTAIMAGE_IN_HOST, MID_AT } } },
		{ .kind = VTAIMAGE_CPU, .kernel = VTACPU_GEMM_F32, .scratch = SCRATCH_AT,
		  .params.gemm_f32 = {
			.mat = { .batch = { 1, 1, 1 }, .m = OUT, .n = COLS, .k = PIXELS,
				 .a_row = PIXELS, .a_col = 1, .b_row = COLS, .b_col = 1 },
			.alpha = 1 },
		  .io = { { VTAIMAGE_IN_HOST, MID_AT }, { VTAIMAGE_IN_CONSTS, W_BYTES },
			  { VTAIMAGE_NOWHERE, 0 }, { VTAIMAGE_IN_HOST, Y_AT } } },
	};
	const struct vtaimage_tensor tensors[] = {
		tensor("x", VTAIMAGE_INPUT, IN, PIXELS, X_AT),
		tensor("y", VTAIMAGE_OUTPUT, OUT, COLS, Y_AT),
	};
	struct vtaimage_source source = {
		.core = &core, .name = "threads", .consts = (uint8_t *)consts,
		.consts_bytes = W_BYTES + B_BYTES, .steps = steps, .step_count = 2,
		.tensors = tensors, .tensor_count = 2,
	};
	size_t size;

	assert_non_null(consts);
	fill(consts, (W_BYTES + B_BYTES) / 4, 1);
	source.host_bytes = SCRATCH_AT + scratch_of(&steps[0]) + scratch_of(&steps[1]);
	size = vtaimage_size(&source);
	file = malloc(size);
	if (vtaimage_write(&source, file, size, &image))
		fail_msg("%s", image.why);
	free(consts);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(vtadev_open("soft", &dev), 0);
	assert_int_equal(vtadev_queue_create(dev, NULL, &queue), 0);
	assert_int_equal(vtaprog_core(dev, &core), 0);
	make_image();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
	free(file);
	return 0;
}

static struct vtaprog *load(void)
{
	char why[VTAPROG_WHY_MAX];
	struct vtaprog *prog;

	assert_int_equal(vtaprog_load(dev, queue, &image, &prog, why), 0);
	return prog;
}

static void run(struct vtaprog *prog, uint32_t seed, float *y)
{
	float *x = malloc(X_BYTES);

	fill(x, X_BYTES / 4, seed);
	memset(y, 0x55, Y_BYTES);
	assert_int_equal(vtaprog_put(prog, 0, x), 0);
	assert_int_equal(vtaprog_run(prog, -1), 0);
	assert_int_equal(vtaprog_get(prog, 1, y), 0);
	free(x);
}

/* Threads of this process. */
static unsigned int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;		/* . and .. */
}

/* A thread that has been joined may be listed for a moment, until the kernel has ended it. */
static void until_threads(unsigned int n)
{
	for (unsigned int i = 0; i < LOOKS && count_threads() != n; i++)
		usleep(1000);
	assert_int_equal(count_threads(), n);
}

TEST(outputs_are_the_same_bits)
{
	static const unsigned int threads[] = { 2, 3, 7, VTAPROG_THREADS_MAX, 0, 1 };
	static float want[OUT * COLS], have[OUT * COLS];
	struct vtaprog *prog = load();
	unsigned int alone = count_threads();

	for (unsigned int i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		assert_int_equal(vtaprog_threads(prog, 1), 0);
		until_threads(alone);
		run(prog, i, want);
		assert_int_equal(vtaprog_threads(prog, threads[i]), 0);
		if (threads[i])
			until_threads(alone + threads[i] - 1);
		run(prog, i, have);
		assert_memory_equal(have, want, sizeof(want));
		run(prog, i, have);
		assert_memory_equal(have, want, sizeof(want));
	}
	vtaprog_free(prog);
}

TEST(too_many_or_in_a_run_are_refused)
{
	struct vtaprog *prog = load();

	assert_int_equal(vtaprog_threads(prog, VTAPROG_THREADS_MAX + 1), -EINVAL);
	assert_int_equal(vtaprog_begin(prog), 0);
	assert_int_equal(vtaprog_threads(prog, 2), -EBUSY);
	assert_int_equal(vtaprog_end(prog, -1), 0);
	assert_int_equal(vtaprog_threads(prog, 2), 0);
	vtaprog_free(prog);
}

static void *run_often(void *arg)
{
	static const float none;
	float *y = malloc(Y_BYTES), *first = malloc(Y_BYTES);
	const void *failed = NULL;

	run(arg, 5, first);
	for (unsigned int i = 0; i < 20 && !failed; i++) {
		run(arg, 5, y);
		failed = memcmp(y, first, Y_BYTES) ? &none : NULL;
	}
	free(y);
	free(first);
	return (void *)(uintptr_t)failed;
}

TEST(two_programs_run_at_once)
{
	struct vtaprog *progs[2] = { load(), load() };
	pthread_t ids[2];
	void *failed;

	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(vtaprog_threads(progs[i], 3), 0);
		assert_int_equal(pthread_create(&ids[i], NULL, run_often, progs[i]), 0);
	}
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(ids[i], &failed), 0);
		assert_null(failed);
		vtaprog_free(progs[i]);
	}
}

/* A child has none of the threads, and must not wait for them. */
TEST(children_free_a_program)
{
	struct vtaprog *prog = load();
	float y[OUT * COLS];
	int status;
	pid_t pid;

	assert_int_equal(vtaprog_threads(prog, 3), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		alarm(60);
		vtaprog_free(prog);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	run(prog, 1, y);
	vtaprog_free(prog);
}

GROUP(setup, teardown);

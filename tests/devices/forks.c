// SPDX-License-Identifier: GPL-2.0-only
/*
 * forks.c - children that end by exit(), free what their parent has, or use it
 *
 * Runs on the card, or the device that VTADEV_DEVICE names.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "pool_image.h"
#include "vtadev_pool.h"
#include "vtaprog.h"

#define BYTES		4096u
#define FOREVER		(-1)
#define CHILD_S		120	/* until a child that hangs is killed */
#define CHILDREN	20

static struct vtadev *dev;
static struct vtadev_queue *q;
static struct vtadev_buf *from, *to;
static struct vtaops_core core;
static struct vtaimage image;
static uint8_t *file;
static struct vtaprog *prog;
static struct vtadev_pool *pool;
static struct vtadev_caller *caller;

/* ---- The parent ---- */

static int setup(void **state)
{
	const struct vtadev_queue_opts opts = { .ring_entries = 64, .flags = VTADEV_QUEUE_SHARED };
	struct pool_program program = { .core = &core, .cpu = true };
	size_t size;

	(void)state;
	assert_int_equal(vtadev_open(NULL, &dev), 0);
	assert_int_equal(vtadev_queue_create(dev, &opts, &q), 0);
	assert_int_equal(vtadev_buf_alloc(dev, BYTES, VTADEV_HOST, &from), 0);
	assert_int_equal(vtadev_buf_alloc(dev, BYTES, VTADEV_HOST, &to), 0);
	assert_int_equal(vtaprog_core(dev, &core), 0);
	file = pool_image(&program, &size, &image);
	assert_non_null(file);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(file);
	vtadev_buf_free(from);
	vtadev_buf_free(to);
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return 0;
}

#define CARD void *unused, setup, teardown

static struct vta_desc copy_desc(void)
{
	return vtadev_desc_copy(vtadev_buf_addr(to), vtadev_buf_addr(from), BYTES);
}

/* The card copies what this process writes. */
static void assert_works(uint8_t value)
{
	struct vta_desc desc = copy_desc();
	uint8_t written[BYTES], read[BYTES];
	uint64_t seq = 0;

	memset(written, value, BYTES);
	assert_int_equal(vtadev_buf_write(from, 0, written, BYTES), 0);
	assert_int_equal(vtadev_submit(q, &desc, 1, &seq), 0);
	assert_int_equal(vtadev_wait(q, seq, FOREVER), 0);
	assert_int_equal(vtadev_buf_read(to, 0, read, BYTES), 0);
	assert_memory_equal(written, read, BYTES);
}

static void open_program(void)
{
	char why[VTAPROG_WHY_MAX];

	assert_int_equal(vtaprog_load(dev, q, &image, &prog, why), 0);
}

static void assert_program_works(uint8_t value)
{
	const int x = vtaimage_find(&image, "x"), y = vtaimage_find(&image, "y");
	uint8_t in[POOL_BYTES], out[POOL_BYTES];

	memset(in, value, sizeof(in));
	assert_int_equal(vtaprog_put(prog, (uint32_t)x, in), 0);
	assert_int_equal(vtaprog_run(prog, FOREVER), 0);
	assert_int_equal(vtaprog_get(prog, (uint32_t)y, out), 0);
	assert_memory_equal(in, out, sizeof(in));
}

/* ---- Children ---- */

/* Returns the status of a child that calls @function and then exit(). */
static int in_child(int (*function)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		alarm(CHILD_S);
		exit(function());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/*
 * Returns 0 if each of the calls, which a positive number ends, returned -ECHILD, or the first
 * other's number, from 1.
 */
static int first_other(const int *calls)
{
	for (int i = 0; calls[i] <= 0; i++)
		if (calls[i] != -ECHILD)
			return i + 1;
	return 0;
}

static int just_end(void)
{
	return 0;
}

static int free_all(void)
{
	vtadev_buf_free(from);
	vtadev_buf_free(to);
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return 0;
}

static int use_queue(void)
{
	struct vta_desc desc = copy_desc();
	const struct vtadev_fence fence = { q, 1 };
	struct vtadev_fault fault;
	uint64_t seq;
	const int calls[] = {
		vtadev_submit(q, &desc, 1, &seq),
		vtadev_submit_wait(q, &desc, 1, FOREVER, &seq),
		vtadev_wait_room(q, 1, FOREVER),
		vtadev_completed(q, &seq),
		vtadev_done(q, 1),
		vtadev_wait(q, 1, FOREVER),
		vtadev_sync(q, FOREVER),
		vtadev_arm(q, 1),
		vtadev_queue_eventfd(q, -1),
		vtadev_wait_any(&fence, 1, FOREVER, -1, NULL),
		vtadev_wait_all(&fence, 1, FOREVER, -1, NULL),
		vtadev_fault(q, &fault),
		vtadev_recover(q),
		1,
	};

	vtadev_kick(q);
	return first_other(calls);
}

static int use_card(void)
{
	struct vtadev_counters counters;
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	struct vtadev_lost lost;
	uint8_t byte = 0;
	uint64_t bytes;
	void *map;
	const int calls[] = {
		vtadev_buf_alloc(dev, BYTES, VTADEV_HOST, &buf),
		vtadev_buf_pin(dev, file, 1, 0, &buf),
		vtadev_buf_map(from, &map),
		vtadev_buf_write(from, 0, &byte, 1),
		vtadev_buf_read(from, 0, &byte, 1),
		vtadev_upload(q, from, 0, &byte, 1),
		vtadev_download(q, from, 0, &byte, 1),
		vtadev_queue_create(dev, NULL, &queue),
		vtadev_mem_free(dev, &bytes),
		vtadev_lost(dev, &lost),
		vtadev_counters(dev, &counters),
		1,
	};

	return first_other(calls);
}

static int use_program(void)
{
	uint8_t in[POOL_BYTES] = { 0 };
	uint64_t seq;
	const int calls[] = {
		vtaprog_put(prog, (uint32_t)vtaimage_find(&image, "x"), in),
		vtaprog_get(prog, (uint32_t)vtaimage_find(&image, "y"), in),
		vtaprog_run(prog, FOREVER),
		vtaprog_check(prog),
		1,
	};

	if (!vtaprog_submit(prog, &seq))
		return 99;
	return first_other(calls);
}

static int free_program(void)
{
	vtaprog_free(prog);
	return free_all();
}

static int use_pool(void)
{
	struct vtadev_completion done;
	uint8_t in[POOL_BYTES] = { 0 }, y[POOL_BYTES], w[POOL_BYTES];
	const struct iovec inputs = { in, sizeof(in) };
	const struct iovec outputs[] = { { w, sizeof(w) }, { y, sizeof(y) } };
	const struct vtadev_request request = { .inputs = &inputs, .outputs = outputs,
						.input_count = 1, .output_count = 2 };
	struct vtadev_pool_stats stats;
	const int calls[] = {
		vtadev_caller_submit(caller, &request),
		vtadev_caller_wait(caller, FOREVER),
		vtadev_caller_reap(caller, &done, 1),
		vtadev_pool_stats(pool, 0, &stats),
		1,
	};

	vtadev_caller_close(caller);
	vtadev_pool_close(pool);
	return first_other(calls);
}

static int open_again(void)
{
	struct vtadev *mine;
	struct vtadev_queue *queue;
	struct vta_desc nop = vtadev_desc_nop();
	uint64_t seq;

	if (vtadev_open(NULL, &mine) || vtadev_queue_create(mine, NULL, &queue) ||
	    vtadev_submit(queue, &nop, 1, &seq) || vtadev_wait(queue, seq, FOREVER))
		return 1;
	free_all();
	vtadev_queue_destroy(queue);
	vtadev_close(mine);
	return 0;
}

/* ---- Tests ---- */

TEST_F(CARD, child_that_ends_or_frees_leaves_the_parents)
{
	assert_works(1);
	assert_int_equal(in_child(just_end), 0);
	assert_works(2);
	assert_int_equal(in_child(free_all), 0);
	assert_works(3);
}

TEST_F(CARD, child_is_refused)
{
	assert_works(1);
	assert_int_equal(in_child(use_queue), 0);
	assert_int_equal(in_child(use_card), 0);
	assert_works(2);
}

static atomic_bool stop;

static void *submit_all_the_time(void *unused)
{
	struct vta_desc desc = copy_desc();
	uint64_t seq;

	(void)unused;
	while (!atomic_load(&stop) && !vtadev_submit_wait(q, &desc, 1, FOREVER, &seq))
		;
	vtadev_sync(q, FOREVER);
	return NULL;
}

/* The thread, which no child has, may hold any lock of the queue. */
TEST_F(CARD, child_of_a_busy_thread_is_refused)
{
	pthread_t thread;

	assert_works(3);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, submit_all_the_time, NULL), 0);
	for (unsigned int i = 0; i < CHILDREN; i++) {
		assert_int_equal(in_child(use_queue), 0);
		assert_int_equal(in_child(use_card), 0);
		assert_int_equal(in_child(free_all), 0);
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_works(4);
}

TEST_F(CARD, child_of_a_program_is_refused)
{
	open_program();
	assert_program_works(5);
	assert_int_equal(in_child(use_program), 0);
	assert_int_equal(in_child(free_program), 0);
	assert_program_works(6);
	vtaprog_free(prog);
}

TEST_F(CARD, child_of_a_pool_is_refused)
{
	uint8_t in[POOL_BYTES] = { 7 }, y[POOL_BYTES], w[POOL_BYTES];
	const struct iovec inputs = { in, sizeof(in) };
	const struct iovec outputs[] = { { w, sizeof(w) }, { y, sizeof(y) } };
	const struct vtadev_request request = { .inputs = &inputs, .outputs = outputs,
						.input_count = 1, .output_count = 2 };
	const char *const name = getenv("VTADEV_DEVICE") ? getenv("VTADEV_DEVICE") : "vta0";
	const struct vtadev_pool_opts opts = { .cards = &name, .count = 1 };
	struct vtadev_completion done;
	char why[VTADEV_POOL_WHY_MAX];

	assert_int_equal(vtadev_pool_open(&image, &opts, &pool, why), 0);
	assert_int_equal(vtadev_caller_open(pool, 8, &caller), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(vtadev_caller_submit(caller, &request), 0);
		assert_int_equal(in_child(i % 2 ? use_pool : just_end), 0);
		assert_int_equal(vtadev_caller_wait(caller, FOREVER), 0);
		assert_int_equal(vtadev_caller_reap(caller, &done, 1), 1);
		assert_int_equal(done.result, 0);
		assert_memory_equal(in, y, sizeof(in));
	}
	vtadev_pool_close(pool);
}

TEST_F(CARD, child_opens_for_itself)
{
	const char *device = getenv("VTADEV_DEVICE");

	if (device && !strncmp(device, "opencl", 6))
		skip();		/* as OpenCL cannot be used in a child */
	assert_int_equal(in_child(open_again), 0);
	assert_works(8);
}

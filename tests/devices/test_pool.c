// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_pool.c - one program on several devices in the process, some of which fail
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../frame.h"
#include "crew.h"
#include "flaky.h"
#include "local/local.h"
#include "pool_image.h"
#include "vtadev_pool.h"
#include "vtaprog.h"

#define FOREVER		(-1)
#define MS		1000000ll
#define LONG		(60000 * MS)	/* nothing takes as long */
#define MANY		1000u
#define RING		64u
#define UNTOUCHED	0xa5

static struct vtaops_core core;
static struct flaky *flaky;		/* of the plugin */
static uint8_t *file;
static size_t file_size;
static struct vtaimage image;

/* ---- Doorbells that the card does not hear ---- */

static atomic_int lost_doorbells;

void __real_local_doorbell(struct local_queue *queue);
void __wrap_local_doorbell(struct local_queue *queue);
void __wrap_local_doorbell(struct local_queue *queue)
{
	if (atomic_fetch_sub(&lost_doorbells, 1) <= 0)
		__real_local_doorbell(queue);
}

/* ---- Steps of the CPU that wait for each other ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t met;
	unsigned int wanted;		/* 0: none waits */
	unsigned int inside, most;
} meeting = { .lock = PTHREAD_MUTEX_INITIALIZER, .met = PTHREAD_COND_INITIALIZER };

/* Until so many steps as are wanted have been under way at once, or a minute. */
static void meet(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	pthread_mutex_lock(&meeting.lock);
	meeting.inside++;
	if (meeting.most < meeting.inside)
		meeting.most = meeting.inside;
	pthread_cond_broadcast(&meeting.met);
	while (meeting.most < meeting.wanted &&
	       pthread_cond_timedwait(&meeting.met, &meeting.lock, &end) != ETIMEDOUT)
		;
	meeting.inside--;
	pthread_mutex_unlock(&meeting.lock);
}

void __real_vtacpu_run(uint32_t kernel, const void *params, void *const *io, void *scratch);
void __wrap_vtacpu_run(uint32_t kernel, const void *params, void *const *io, void *scratch);
void __wrap_vtacpu_run(uint32_t kernel, const void *params, void *const *io, void *scratch)
{
	meet();
	__real_vtacpu_run(kernel, params, io, scratch);
}

/* ---- A crew that takes long to make ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int failures;		/* of the next calls */
	bool slow;			/* other calls last until @answered */
	bool begun;			/* one of them */
	bool answered, late;		/* late: not within ten minutes of its begin */
} making = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

int __real_crew_new(unsigned int threads, struct crew **crew);
int __wrap_crew_new(unsigned int threads, struct crew **crew);
int __wrap_crew_new(unsigned int threads, struct crew **crew)
{
	struct timespec end;
	bool fails;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 600;
	pthread_mutex_lock(&making.lock);
	fails = making.failures > 0;
	making.failures -= fails;
	if (making.slow && !fails) {
		making.begun = true;
		pthread_cond_broadcast(&making.changed);
		while (!making.answered && !making.late)
			making.late = pthread_cond_timedwait(&making.changed, &making.lock,
							     &end) == ETIMEDOUT;
	}
	pthread_mutex_unlock(&making.lock);
	return fails ? -ENOMEM : __real_crew_new(threads, crew);
}

/* ---- What all tests do ---- */

static void make_image(const struct pool_program *program)
{
	struct pool_program p = *program;

	p.core = &core;
	free(file);
	file = pool_image(&p, &file_size, &image);
	assert_non_null(file);
}

static int setup(void **state)
{
	struct vtadev *dev = NULL;

	(void)state;
	if (!flaky)
		flaky = flaky_find();
	memset(flaky, 0, FLAKY_DEVICES * sizeof(*flaky));
	atomic_store(&lost_doorbells, 0);
	assert_int_equal(vtadev_open("soft", &dev), 0);
	assert_int_equal(vtaprog_core(dev, &core), 0);
	vtadev_close(dev);
	make_image(&(struct pool_program){ .cycles = 1000 });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(file);
	file = NULL;
	return 0;
}

#define FLAKY void *unused, setup, teardown

static struct vtadev_pool *pool_with(const struct vtadev_pool_opts *opts)
{
	char why[VTADEV_POOL_WHY_MAX];
	struct vtadev_pool *pool = NULL;
	int err = vtadev_pool_open(&image, opts, &pool, why);

	if (err)
		fail_msg("%s", why);
	return pool;
}

/* @n devices that fail on request. */
static struct vtadev_pool *flaky_pool(unsigned int n, struct vtadev_pool_opts opts)
{
	static const char *const names[FLAKY_DEVICES] = {
		"flaky:0", "flaky:1", "flaky:2", "flaky:3",
		"flaky:4", "flaky:5", "flaky:6", "flaky:7",
	};

	opts.cards = names;
	opts.count = n;
	return pool_with(&opts);
}

static struct vtadev_caller *caller_of(struct vtadev_pool *pool, unsigned int entries)
{
	struct vtadev_caller *caller = NULL;

	assert_int_equal(vtadev_caller_open(pool, entries, &caller), 0);
	return caller;
}

/* One request's memory. */
struct job {
	uint8_t in[POOL_BYTES], back[POOL_BYTES], weights[POOL_BYTES];
};

static int submit_sized(struct vtadev_caller *caller, struct job *job, uint64_t number,
			size_t bytes)
{
	const struct iovec in = { job->in, bytes };
	const struct iovec out[2] = { { job->weights, POOL_BYTES }, { job->back, POOL_BYTES } };

	for (unsigned int i = 0; i < POOL_BYTES; i++)
		job->in[i] = (uint8_t)(number * 31 + i * (number / 256 + 1));
	/* As a float of the program with a step of the CPU's, neither NaN nor large. */
	for (unsigned int i = 3; i < POOL_BYTES; i += 4)
		job->in[i] = 0x3f;
	memset(job->back, UNTOUCHED, sizeof(job->back));
	memset(job->weights, UNTOUCHED, sizeof(job->weights));
	return vtadev_caller_submit(caller, &(struct vtadev_request){
		.inputs = &in, .outputs = out, .input_count = 1, .output_count = 2,
		.user_data = number });
}

static void submit(struct vtadev_caller *caller, struct job *job, uint64_t number)
{
	assert_int_equal(submit_sized(caller, job, number, POOL_BYTES), 0);
}

static struct vtadev_completion reap(struct vtadev_caller *caller)
{
	struct vtadev_completion done;

	assert_int_equal(vtadev_caller_wait(caller, LONG), 0);
	assert_int_equal(vtadev_caller_reap(caller, &done, 1), 1);
	return done;
}

/* The outputs are those of this request. */
static void assert_answer(const struct job *job)
{
	assert_memory_equal(job->back, job->in, POOL_BYTES);
	for (unsigned int i = 0; i < POOL_BYTES; i++)
		assert_int_equal(job->weights[i], pool_weight(i));
}

static void assert_untouched(const struct job *job)
{
	for (unsigned int i = 0; i < POOL_BYTES; i++) {
		assert_int_equal(job->back[i], UNTOUCHED);
		assert_int_equal(job->weights[i], UNTOUCHED);
	}
}

static struct vtadev_pool_stats stats_of(struct vtadev_pool *pool, unsigned int card)
{
	struct vtadev_pool_stats stats;

	assert_int_equal(vtadev_pool_stats(pool, card, &stats), 0);
	return stats;
}

static void a_moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = MS }, NULL);
}

static void until_up(struct vtadev_pool *pool, unsigned int card, bool up)
{
	while (stats_of(pool, card).up != up)
		a_moment();
}

/* As many requests as @n, so many at a time; all are answered, each once, in their order. */
static void run_many(struct vtadev_caller *caller, unsigned int n)
{
	static _Thread_local struct job jobs[RING];
	uint64_t given = 0;

	for (uint64_t taken = 0; taken < n; taken++) {
		struct vtadev_completion done;

		for (; given < n && given - taken < RING; given++)
			submit(caller, &jobs[given % RING], given);
		done = reap(caller);
		assert_int_equal(done.user_data, taken);
		assert_int_equal(done.result, 0);
		assert_answer(&jobs[taken % RING]);
		/* A second answer would be seen by the next use of this memory, or its end. */
		memset(jobs[taken % RING].back, UNTOUCHED, POOL_BYTES);
	}
	for (unsigned int i = 0; i < RING && i < n; i++)
		for (unsigned int j = 0; j < POOL_BYTES; j++)
			assert_int_equal(jobs[i].back[j], UNTOUCHED);
}

/* ---- Cards that work ---- */

TEST_F(FLAKY, lost_doorbell_is_rung_again)
{
	struct vtadev_pool *pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *caller = caller_of(pool, RING);

	atomic_store(&lost_doorbells, 1);
	run_many(caller, 1);
	assert_int_equal(stats_of(pool, 0).losses + stats_of(pool, 1).losses, 0);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, card_that_hears_no_doorbell_is_lost)
{
	struct vtadev_pool *pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *caller = caller_of(pool, RING);

	/* The first, and those of three seconds. */
	atomic_store(&lost_doorbells, 4);
	run_many(caller, 1);
	assert_int_equal(stats_of(pool, 0).losses + stats_of(pool, 1).losses, 1);
	assert_int_equal(stats_of(pool, 0).given_back + stats_of(pool, 1).given_back, 1);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, answers_come_in_order)
{
	static const char *const soft[] = { "soft", "soft", "soft", "soft" };
	struct vtadev_pool *pool = pool_with(&(struct vtadev_pool_opts){ soft, 4, 0, 0, 0 });
	struct vtadev_caller *caller = caller_of(pool, RING);
	uint64_t answers = 0;

	run_many(caller, MANY);
	for (unsigned int i = 0; i < vtadev_pool_cards(pool); i++) {
		struct vtadev_pool_stats stats = stats_of(pool, i);

		assert_string_equal(stats.name, "soft");
		assert_true(stats.up);
		assert_true(stats.answers > 0);
		assert_int_equal(stats.cycles, stats.answers * 1000);
		assert_int_equal(stats.in_hand, 0);
		answers += stats.answers;
	}
	assert_int_equal(answers, MANY);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, steps_of_the_cpu_are_done)
{
	struct vtadev_pool *pool;

	make_image(&(struct pool_program){ .cycles = 1000, .cpu = true });
	pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	run_many(caller_of(pool, RING), 200);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, long_steps_of_the_cpu_are_done_side_by_side)
{
	struct vtadev_pool *pool;

	if (crew_processors() < 2) {
		print_message("one processor: no step is beside another one\n");
		skip();
	}
	make_image(&(struct pool_program){ .cycles = 1000, .cpu = true, .long_cpu = true });
	meeting.most = 0;
	meeting.wanted = 2;
	pool = flaky_pool(1, (struct vtadev_pool_opts){ .depth = 4 });
	run_many(caller_of(pool, RING), 100);
	vtadev_pool_close(pool);
	meeting.wanted = 0;
	assert_in_range(meeting.most, 2, 4);
}

/* The crew is made when the card comes back, and meanwhile the pool answers. */
TEST_F(FLAKY, a_crew_is_made_while_the_pool_answers)
{
	struct vtadev_pool *pool;

	if (crew_processors() < 2) {
		print_message("one processor: there is no crew\n");
		skip();
	}
	/* Each card makes one when it is loaded, unless the pool has one. */
	make_image(&(struct pool_program){ .cycles = 1000, .cpu = true, .long_cpu = true });
	making.failures = 2;
	making.slow = true;
	pool = flaky_pool(2, (struct vtadev_pool_opts){ .depth = 4 });
	atomic_store(&flaky[0].lose, 1);
	run_many(caller_of(pool, RING), 40);
	pthread_mutex_lock(&making.lock);
	while (!making.begun)
		pthread_cond_wait(&making.changed, &making.lock);
	pthread_mutex_unlock(&making.lock);

	run_many(caller_of(pool, RING), 40);
	pthread_mutex_lock(&making.lock);
	assert_false(making.late);
	making.answered = true;
	pthread_cond_broadcast(&making.changed);
	pthread_mutex_unlock(&making.lock);
	until_up(pool, 0, true);
	vtadev_pool_close(pool);
	making.slow = false;
}

/* Runs on a card that is lost while the crew has slots of it. */
TEST_F(FLAKY, a_lost_card_waits_for_steps_of_the_cpu)
{
	struct vtadev_pool *pool;

	make_image(&(struct pool_program){ .cycles = 1000, .cpu = true, .long_cpu = true });
	pool = flaky_pool(2, (struct vtadev_pool_opts){ .depth = 4, .tries = 100 });
	for (unsigned int i = 0; i < 5; i++) {
		struct vtadev_caller *caller = caller_of(pool, RING);

		atomic_store(&flaky[i % 2].lose, 1);
		run_many(caller, 40);
		vtadev_caller_close(caller);
	}
	assert_true(stats_of(pool, 0).losses + stats_of(pool, 1).losses > 0);
	vtadev_pool_close(pool);
}

static void *one_caller(void *pool)
{
	struct vtadev_caller *caller = caller_of(pool, RING);

	run_many(caller, MANY);
	vtadev_caller_close(caller);
	return NULL;
}

TEST_F(FLAKY, each_caller_has_its_own_order)
{
	struct vtadev_pool *pool = flaky_pool(3, (struct vtadev_pool_opts){ 0 });
	pthread_t threads[4];

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, one_caller, pool), 0);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, tensors_are_described)
{
	struct vtadev_pool *pool = flaky_pool(1, (struct vtadev_pool_opts){ 0 });
	static const char *const names[] = { "x", "w", "y" };
	struct vtadev_pool_tensor t;

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(vtadev_pool_tensor(pool, i, &t), 0);
		assert_string_equal(t.name, names[i]);
		assert_int_equal(t.output, i > 0);
		assert_int_equal(t.type, VTACPU_I8);
		assert_int_equal(t.rank, 1);
		assert_int_equal(t.dims[0], POOL_BYTES);
		assert_int_equal(t.bytes, POOL_BYTES);
	}
	assert_int_equal(vtadev_pool_tensor(pool, 3, &t), -ENOENT);
	vtadev_pool_close(pool);
}

/* Requests that wait until a test has seen where they are. */
static void hold(unsigned int n, bool on)
{
	for (unsigned int i = 0; i < n; i++)
		atomic_store(&flaky[i].hold, on);
}

TEST_F(FLAKY, the_card_that_is_free_first_gets_it)
{
	struct vtadev_caller *caller;
	struct vtadev_pool *pool;
	struct job jobs[10];

	atomic_store(&flaky[0].clock_khz, 100000);
	atomic_store(&flaky[1].clock_khz, 25000);
	hold(2, true);
	pool = flaky_pool(2, (struct vtadev_pool_opts){ .depth = 8 });
	caller = caller_of(pool, 10);
	for (unsigned int i = 0; i < 10; i++)
		submit(caller, &jobs[i], i);
	assert_int_equal(stats_of(pool, 0).in_hand, 8);
	assert_int_equal(stats_of(pool, 1).in_hand, 2);
	assert_int_equal(stats_of(pool, 1).cycles_in_hand, 2000);
	hold(2, false);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(reap(caller).result, 0);
	vtadev_pool_close(pool);
}

/* The second slot's memory is its arena, its instructions and its queue, and not the weights. */
TEST_F(FLAKY, weights_are_on_a_card_once)
{
	const struct vtadev_queue_opts opts = { .ring_entries = 64 };
	struct vtadev_queue *queues[2];
	char why[VTAPROG_WHY_MAX];
	struct vtaprog *first, *twin;
	struct vtadev *dev;
	uint64_t before, between, after;

	make_image(&(struct pool_program){ .more_weights = 1 << 20 });
	assert_int_equal(vtadev_open("soft", &dev), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(vtadev_queue_create(dev, &opts, &queues[i]), 0);
	assert_int_equal(vtadev_mem_free(dev, &before), 0);
	assert_int_equal(vtaprog_load(dev, queues[0], &image, &first, why), 0);
	assert_int_equal(vtadev_mem_free(dev, &between), 0);
	assert_int_equal(vtaprog_twin(dev, queues[1], first, &image, &twin, why), 0);
	assert_int_equal(vtadev_mem_free(dev, &after), 0);
	assert_true(before - between >= 1 << 20);
	assert_true(between - after <= 4 * 4096);
	make_image(&(struct pool_program){ .more_weights = 2 << 20 });
	assert_int_equal(vtaprog_twin(dev, queues[1], first, &image, &twin, why), -EINVAL);
	for (unsigned int i = 0; i < 2; i++)
		vtadev_queue_destroy(queues[i]);
	vtaprog_free(twin);
	vtaprog_free(first);
	vtadev_close(dev);
}

static bool readable(struct vtadev_caller *caller)
{
	struct pollfd fd = { .fd = vtadev_caller_fd(caller), .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

TEST_F(FLAKY, eventfd_is_readable_when_reap_has_answers)
{
	struct vtadev_pool *pool = flaky_pool(1, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *caller = caller_of(pool, 4);
	struct vtadev_completion done[4];
	struct job jobs[3];

	assert_int_equal(vtadev_caller_wait(caller, 0), -EINVAL);
	hold(1, true);
	for (unsigned int i = 0; i < 3; i++)
		submit(caller, &jobs[i], i);
	assert_int_equal(vtadev_caller_wait(caller, MS), -ETIMEDOUT);
	assert_int_equal(vtadev_caller_reap(caller, done, 4), 0);
	assert_false(readable(caller));
	hold(1, false);
	while (stats_of(pool, 0).answers < 3)
		a_moment();
	assert_true(readable(caller));
	assert_int_equal(vtadev_caller_reap(caller, done, 2), 2);
	assert_true(readable(caller));
	assert_int_equal(vtadev_caller_reap(caller, done, 2), 1);
	assert_false(readable(caller));
	assert_int_equal(vtadev_caller_reap(caller, done, 2), 0);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, a_caller_that_never_reaps_holds_up_no_other)
{
	struct vtadev_pool *pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *lazy = caller_of(pool, 3), *other = caller_of(pool, RING);
	struct job jobs[4];

	for (unsigned int i = 0; i < 3; i++)
		submit(lazy, &jobs[i], i);
	assert_int_equal(submit_sized(lazy, &jobs[3], 3, POOL_BYTES), -EAGAIN);
	run_many(other, 200);
	assert_int_equal(submit_sized(lazy, &jobs[3], 3, POOL_BYTES), -EAGAIN);
	assert_int_equal(reap(lazy).user_data, 0);
	submit(lazy, &jobs[3], 3);
	vtadev_pool_close(pool);
}

/* ---- Invalid arguments ---- */

static int open_error(const struct vtadev_pool_opts *opts, const char *part)
{
	char why[VTADEV_POOL_WHY_MAX];
	struct vtadev_pool *pool = NULL;
	int err = vtadev_pool_open(&image, opts, &pool, why);

	assert_null(pool);
	if (!strstr(why, part))
		fail_msg("'%s' is not in '%s'", part, why);
	return err;
}

TEST_F(FLAKY, invalid_images_are_refused)
{
	static const char *const soft[] = { "soft" };
	const struct vtadev_pool_opts opts = { soft, 1, 0, 0, 0 };
	struct vtaimage bad;

	for (size_t i = 0; i < file_size; i += 1 + file_size / 50) {
		assert_int_equal(vtaimage_open(&bad, file, i), -VTAOPS_EINVAL);
		file[i] ^= 1;
		assert_int_equal(vtaimage_open(&bad, file, file_size), -VTAOPS_EINVAL);
		file[i] ^= 1;
	}
	core.log_inp_buff_size--;
	assert_int_equal(vtaops_core_init(&core), 0);
	make_image(&(struct pool_program){ 0 });
	assert_int_equal(open_error(&opts, "LOG_INP_BUFF_SIZE"), -ENOEXEC);
}

TEST_F(FLAKY, names_without_a_card_are_refused)
{
	static const char *const none[] = { "no card" }, *const missing[] = { "soft:/missing" };
	struct vtadev_pool_opts opts = { none, 1, 0, 0, 0 };

	assert_int_equal(open_error(&opts, "no card: not the index"), -EINVAL);
	opts.cards = missing;
	assert_int_equal(open_error(&opts, "soft:/missing: "), -EINVAL);
	opts.depth = VTADEV_POOL_DEPTH_MAX + 1;
	assert_int_equal(open_error(&opts, "malformed"), -EINVAL);
	opts = (struct vtadev_pool_opts){ .count = 1 };
	assert_int_equal(open_error(&opts, "malformed"), -EINVAL);
}

TEST_F(FLAKY, one_card_is_enough)
{
	static const char *const names[] = { "flaky:0", "soft", "no card" };
	struct vtadev_pool *pool;
	struct vtadev_pool_stats stats;

	atomic_store(&flaky[0].refuse, ENOSPC);
	pool = pool_with(&(struct vtadev_pool_opts){ names, 3, 0, 0, 0 });
	stats = stats_of(pool, 0);
	assert_false(stats.up);
	assert_int_equal(stats.error, -ENOSPC);
	assert_non_null(strstr(stats.why, "flaky:0: "));
	assert_true(stats_of(pool, 1).up);
	assert_int_equal(stats_of(pool, 2).error, -EINVAL);
	run_many(caller_of(pool, RING), 20);
	assert_int_equal(vtadev_pool_stats(pool, 3, &stats), -ENOENT);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, wrong_sizes_are_refused)
{
	struct vtadev_pool *pool = flaky_pool(1, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *caller = caller_of(pool, 4);
	struct vtadev_caller *none = NULL;
	struct vtadev_request request;
	struct iovec io[3];
	struct job job;

	assert_int_equal(vtadev_caller_open(pool, 0, &none), -EINVAL);
	assert_int_equal(vtadev_caller_open(pool, VTADEV_POOL_REQUESTS_MAX + 1, &none), -EINVAL);
	assert_int_equal(submit_sized(caller, &job, 0, POOL_BYTES - 1), -ERANGE);
	assert_int_equal(submit_sized(caller, &job, 0, POOL_BYTES + 1), -ERANGE);
	assert_int_equal(submit_sized(caller, &job, 0, SIZE_MAX), -ERANGE);
	for (unsigned int i = 0; i < 3; i++)
		io[i] = (struct iovec){ job.in, POOL_BYTES };
	request = (struct vtadev_request){ io, io + 1, 1, 1, 0 };
	assert_int_equal(vtadev_caller_submit(caller, &request), -EINVAL);
	request = (struct vtadev_request){ io, io + 1, 0, 2, 0 };
	assert_int_equal(vtadev_caller_submit(caller, &request), -EINVAL);
	request = (struct vtadev_request){ io, io + 1, 1, 2, 0 };
	io[2].iov_base = NULL;
	assert_int_equal(vtadev_caller_submit(caller, &request), -EINVAL);
	io[2] = (struct iovec){ job.back, POOL_BYTES - 1 };
	assert_int_equal(vtadev_caller_submit(caller, &request), -ERANGE);
	submit(caller, &job, 5);
	assert_int_equal(reap(caller).user_data, 5);
	assert_answer(&job);
	vtadev_pool_close(pool);
}

/* ---- Cards that fail ---- */

TEST_F(FLAKY, a_lost_card_gives_its_requests_to_others)
{
	struct vtadev_completion done;
	struct vtadev_caller *caller;
	struct vtadev_pool *pool;
	struct job jobs[4];
	unsigned int lost = 0;

	hold(2, true);
	pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	caller = caller_of(pool, 4);
	for (unsigned int i = 0; i < 4; i++)
		submit(caller, &jobs[i], i);
	atomic_store(&flaky[0].refuse, ENODEV);
	/* Its cores run both requests side by side: each is lost. */
	atomic_store(&flaky[0].lose, 2);
	hold(2, false);
	for (unsigned int i = 0; i < 4; i++) {
		done = reap(caller);
		assert_int_equal(done.user_data, i);
		assert_int_equal(done.result, 0);
		assert_int_equal(done.card, 1);
		assert_answer(&jobs[i]);
		lost += done.lost;
	}
	assert_in_range(lost, 1, 2);
	until_up(pool, 0, false);
	atomic_store(&flaky[0].lose, 0);
	assert_int_equal(stats_of(pool, 0).given_back, lost);
	assert_int_equal(stats_of(pool, 0).losses, 1);
	assert_int_equal(stats_of(pool, 1).answers, 4);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, a_card_that_comes_back_is_taken_in)
{
	struct vtadev_pool *pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *caller = caller_of(pool, RING);
	uint64_t before;

	atomic_store(&flaky[1].refuse, ENODEV);
	atomic_store(&flaky[1].lose, 1);
	while (stats_of(pool, 1).up)
		run_many(caller, 2);
	before = stats_of(pool, 1).answers;
	run_many(caller, 20);
	assert_int_equal(stats_of(pool, 1).answers, before);
	atomic_store(&flaky[1].refuse, 0);
	until_up(pool, 1, true);
	run_many(caller, 20);
	assert_true(stats_of(pool, 1).answers > before);
	assert_int_equal(stats_of(pool, 1).joins, 2);
	assert_string_equal(stats_of(pool, 1).why, "");
	vtadev_pool_close(pool);
}

struct chaos {
	struct vtadev_pool *pool;
	unsigned int cards;
	atomic_bool over;
};

/* Takes cards away one after the other, each for a while; never all of them for long. */
static void *chaos(void *arg)
{
	struct chaos *c = arg;

	for (unsigned int i = 0; !atomic_load(&c->over); i++) {
		struct flaky *f = &flaky[i % c->cards];

		atomic_store(&f->refuse, i % 3 ? 0 : ENODEV);
		if (i % 4)
			atomic_store(&f->lose, 1);
		else
			atomic_store(&f->faults, 2);
		a_moment();
		a_moment();
		atomic_store(&f->refuse, 0);
	}
	return NULL;
}

TEST_F(FLAKY, nothing_is_lost_and_nothing_twice)
{
	struct chaos c = { .cards = 4 };
	uint64_t answers = 0, losses = 0;
	pthread_t thread, callers[2];

	for (unsigned int i = 0; i < c.cards; i++)
		atomic_store(&flaky[i].fault, VTA_FAULT_DMA);
	c.pool = flaky_pool(c.cards, (struct vtadev_pool_opts){ .tries = 1000, .depth = 3 });
	assert_int_equal(pthread_create(&thread, NULL, chaos, &c), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&callers[i], NULL, one_caller, c.pool), 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(callers[i], NULL);
	atomic_store(&c.over, true);
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < c.cards; i++) {
		answers += stats_of(c.pool, i).answers;
		losses += stats_of(c.pool, i).losses;
	}
	assert_int_equal(answers, 2 * MANY);
	assert_true(losses > 0);
	vtadev_pool_close(c.pool);
}

TEST_F(FLAKY, without_cards_requests_wait_and_end)
{
	struct vtadev_pool *pool = flaky_pool(1, (struct vtadev_pool_opts){ .away_ns = 300 * MS });
	struct vtadev_caller *caller = caller_of(pool, 4);
	struct vtadev_completion done;
	struct job jobs[3];

	atomic_store(&flaky[0].refuse, ENODEV);
	/* Its cores run requests side by side: each is lost. */
	atomic_store(&flaky[0].lose, 3);
	for (unsigned int i = 0; i < 3; i++)
		submit(caller, &jobs[i], i);
	for (unsigned int i = 0; i < 3; i++) {
		done = reap(caller);
		assert_int_equal(done.user_data, i);
		assert_int_equal(done.result, -ENODEV);
		assert_untouched(&jobs[i]);
	}
	/* Now there is nothing to wait for. */
	submit(caller, &jobs[0], 7);
	done = reap(caller);
	assert_int_equal(done.result, -ENODEV);
	assert_int_equal(done.card, UINT32_MAX);
	atomic_store(&flaky[0].lose, 0);
	atomic_store(&flaky[0].refuse, 0);
	until_up(pool, 0, true);
	run_many(caller, 4);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, a_request_that_loses_every_card_ends)
{
	struct vtadev_pool *pool = flaky_pool(2, (struct vtadev_pool_opts){ .tries = 3 });
	struct vtadev_caller *caller = caller_of(pool, 4);
	struct vtadev_completion done;
	struct job job;

	for (unsigned int i = 0; i < 2; i++)
		atomic_store(&flaky[i].lose, 100);
	submit(caller, &job, 1);
	done = reap(caller);
	assert_int_equal(done.result, -ENODEV);
	assert_int_equal(done.lost, 3);
	assert_untouched(&job);
	assert_int_equal(atomic_load(&flaky[0].runs) + atomic_load(&flaky[1].runs), 3);
	/* The first card's second attempt, or the second's, is the third in all. */
	assert_in_range(atomic_load(&flaky[0].runs), 1, 2);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, a_fault_of_the_program_is_its_error)
{
	struct vtadev_completion done;
	struct vtadev_caller *caller;
	struct vtadev_pool *pool;
	struct job jobs[4];

	make_image(&(struct pool_program){ .deadlock = true });
	pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	caller = caller_of(pool, 4);
	for (unsigned int i = 0; i < 4; i++)
		submit(caller, &jobs[i], i);
	for (unsigned int i = 0; i < 4; i++) {
		done = reap(caller);
		assert_int_equal(done.result, -EIO);
		assert_int_equal(done.lost, 0);
		assert_int_equal(done.fault.reason, VTA_FAULT_DEADLOCK);
		assert_untouched(&jobs[i]);
	}
	assert_int_equal(stats_of(pool, 0).faults + stats_of(pool, 1).faults, 4);
	assert_true(stats_of(pool, 0).up && stats_of(pool, 1).up);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, a_fault_of_the_card_runs_elsewhere)
{
	struct vtadev_pool *pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *caller = caller_of(pool, 4);
	struct vtadev_completion done;
	struct job job;

	atomic_store(&flaky[0].fault, VTA_FAULT_DMA);
	atomic_store(&flaky[0].faults, 1);
	submit(caller, &job, 1);
	done = reap(caller);
	assert_int_equal(done.result, 0);
	assert_int_equal(done.card, 1);
	assert_int_equal(done.lost, 1);
	assert_answer(&job);
	assert_true(stats_of(pool, 0).up);
	vtadev_pool_close(pool);
}

/* ---- Ends ---- */

TEST_F(FLAKY, closing_gives_up_requests_in_flight)
{
	struct vtadev_caller *caller, *other;
	struct vtadev_pool *pool;
	struct job *jobs = malloc(RING * sizeof(*jobs)), kept;

	hold(2, true);
	pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	caller = caller_of(pool, RING);
	other = caller_of(pool, 4);
	for (unsigned int i = 0; i < RING; i++)
		submit(caller, &jobs[i], i);
	submit(other, &kept, 1);
	vtadev_caller_close(caller);
	/* Its runs that are under way end without a result. */
	free(jobs);
	hold(2, false);
	assert_int_equal(reap(other).result, 0);
	assert_answer(&kept);
	while (stats_of(pool, 0).in_hand + stats_of(pool, 1).in_hand)
		a_moment();

	/* And all at once. */
	jobs = malloc(RING * sizeof(*jobs));
	caller = caller_of(pool, RING);
	hold(2, true);
	for (unsigned int i = 0; i < RING; i++)
		submit(caller, &jobs[i], i);
	vtadev_pool_close(pool);
	free(jobs);
}

static void *close_soon(void *caller)
{
	a_moment();
	vtadev_caller_close(caller);
	return NULL;
}

/* While runs end, are copied and begin. */
TEST_F(FLAKY, closing_at_any_moment)
{
	struct vtadev_pool *pool = flaky_pool(3, (struct vtadev_pool_opts){ 0 });
	struct job jobs[RING];
	pthread_t thread;

	for (unsigned int round = 0; round < 50; round++) {
		struct vtadev_caller *caller = caller_of(pool, RING);

		for (unsigned int i = 0; i < RING; i++)
			submit(caller, &jobs[i], i);
		assert_int_equal(pthread_create(&thread, NULL, close_soon, caller), 0);
		pthread_join(thread, NULL);
		memset(jobs, UNTOUCHED, sizeof(jobs));
		if (round % 7 == 3)
			atomic_store(&flaky[round % 3].lose, 1);
	}
	run_many(caller_of(pool, RING), 100);
	for (unsigned int i = 0; i < RING; i++)
		for (unsigned int j = 0; j < POOL_BYTES; j++)
			assert_int_equal(jobs[i].back[j], UNTOUCHED);
	vtadev_pool_close(pool);
}

TEST_F(FLAKY, a_pool_without_cards_closes)
{
	struct vtadev_pool *pool = flaky_pool(1, (struct vtadev_pool_opts){ .away_ns = FOREVER });
	struct vtadev_caller *caller = caller_of(pool, 4);
	struct job job;

	atomic_store(&flaky[0].refuse, ENODEV);
	atomic_store(&flaky[0].lose, 1);
	submit(caller, &job, 0);
	until_up(pool, 0, false);
	vtadev_pool_close(pool);
	vtadev_pool_close(NULL);
	vtadev_caller_close(NULL);
	assert_untouched(&job);
}

static int in_child(struct vtadev_pool *pool, struct vtadev_caller *caller, struct job *job)
{
	struct vtadev_pool_stats stats;
	struct vtadev_completion done;
	struct vtadev_caller *none;

	if (vtadev_pool_stats(pool, 0, &stats) != -ECHILD ||
	    vtadev_caller_open(pool, 1, &none) != -ECHILD ||
	    submit_sized(caller, job, 9, POOL_BYTES) != -ECHILD ||
	    vtadev_caller_wait(caller, 0) != -ECHILD ||
	    vtadev_caller_reap(caller, &done, 1) != -ECHILD)
		return 1;
	vtadev_caller_close(caller);
	vtadev_pool_close(pool);
	return 0;
}

TEST_F(FLAKY, a_child_has_no_pool)
{
	struct vtadev_pool *pool = flaky_pool(2, (struct vtadev_pool_opts){ 0 });
	struct vtadev_caller *caller = caller_of(pool, RING);
	struct job job;
	int status;
	pid_t pid;

	hold(2, true);
	submit(caller, &job, 1);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(in_child(pool, caller, &(struct job){ 0 }));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	hold(2, false);
	assert_int_equal(reap(caller).result, 0);
	assert_answer(&job);
	run_many(caller, 20);
	vtadev_pool_close(pool);
}

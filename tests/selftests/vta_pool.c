// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_pool - a program and its twin on one card; and libvtadev's pools on four cards, which are
 * reset, unbound and pulled out while they have requests
 */
#include <glob.h>
#include <stdatomic.h>

#include "pool_image.h"
#include "vta_emu.h"
#include "vta_harness.h"
#include "vtadev_pool.h"
#include "vtaprog.h"

#define CARDS		4u
#define REQUESTS	1000u
#define RING		32u
#define UNTOUCHED	0xa5
#define SECOND		1000000000ll

/* ---- A program and its twin ---- */

FIXTURE(twins) {
	struct vtadev *dev;
	struct vtadev_queue *queues[2];
	struct vtaprog *progs[2];
	uint64_t loaded[2];		/* descriptors that loading took */
};

FIXTURE_SETUP(twins)
{
	struct pool_program program = { .outer = 1, .inner = 1, .cycles = 100 };
	char why[VTAPROG_WHY_MAX] = "";
	struct vtaops_core core;
	struct vtaimage image;
	uint8_t *bytes;
	size_t size;

	ASSERT_EQ(0, vtadev_open(NULL, &self->dev));
	ASSERT_EQ(0, vtaprog_core(self->dev, &core));
	program.core = &core;
	bytes = pool_image(&program, &size, &image);
	ASSERT_NE(NULL, bytes);
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, vtadev_queue_create(self->dev, NULL, &self->queues[i]));
	EXPECT_EQ(0, vtaprog_load(self->dev, self->queues[0], &image, &self->progs[0], why));
	EXPECT_EQ(0, vtaprog_twin(self->dev, self->queues[1], self->progs[0], &image,
				  &self->progs[1], why)) {
		TH_LOG("%s", why);
	}
	free(bytes);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_EQ(0, vtadev_completed(self->queues[i], &self->loaded[i]));
	EXPECT_EQ(0, file_write(PARAMETERS "max_job_ms", "30000"));
}

FIXTURE_TEARDOWN(twins)
{
	emu_clear();
	EXPECT_EQ(0, file_write(PARAMETERS "max_job_ms", "1000"));
	for (unsigned int i = 0; i < 2; i++)
		vtadev_queue_destroy(self->queues[i]);
	vtaprog_free(self->progs[1]);
	vtaprog_free(self->progs[0]);
	vtadev_close(self->dev);
}

/* Descriptors behind @loaded that have completed, at least @count of them if that ever happens. */
static uint64_t completed(struct vtadev_queue *queue, uint64_t loaded, uint64_t count)
{
	int64_t end = now_ns() + 60 * SECOND;
	uint64_t seq = 0;

	while (!vtadev_completed(queue, &seq) && seq < loaded + count && now_ns() < end)
		sleep_ms(1);
	return seq - loaded;
}

/* The input of the second run is on the card before the first run's stream has ended. */
TEST_F(twins, next_input_is_copied_while_the_stream_of_the_first_executes)
{
	uint8_t in[2][POOL_BYTES], out[POOL_BYTES];

	for (unsigned int i = 0; i < 2; i++) {
		memset(in[i], 17 + (int)i, POOL_BYTES);
		ASSERT_EQ(0, vtaprog_put(self->progs[i], 1, in[i]));
	}
	/* The second descriptor, which is the stream. */
	ASSERT_EQ(0, emu_inject("slow-engine=10000+1 1"));
	ASSERT_EQ(0, vtaprog_begin(self->progs[0]));
	EXPECT_EQ(1, completed(self->queues[0], self->loaded[0], 1));
	ASSERT_EQ(0, vtaprog_begin(self->progs[1]));
	EXPECT_EQ(1, completed(self->queues[1], self->loaded[1], 1));
	EXPECT_EQ(1, completed(self->queues[0], self->loaded[0], 1));
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(0, vtaprog_end(self->progs[i], 60 * SECOND));
		EXPECT_EQ(0, vtaprog_get(self->progs[i], 2, out));
		EXPECT_EQ(0, memcmp(in[i], out, POOL_BYTES));
	}
}

/* ---- Pools ---- */

struct job {
	uint8_t in[POOL_BYTES], back[POOL_BYTES], weights[POOL_BYTES];
};

/* A caller, and its requests. */
struct run {
	struct vtadev_caller *caller;
	struct job jobs[RING];
	uint64_t given, taken, lost;
};

FIXTURE(pool) {
	uint8_t *bytes;			/* of the image */
	struct vtadev_pool *pool;
	struct run run;
};

FIXTURE_SETUP(pool)
{
	const struct vtadev_pool_opts opts = { .tries = 1000, .away_ns = 60 * SECOND };
	/* Long enough for cards to be lost in the midst of runs. */
	struct pool_program program = { .outer = 40, .inner = 50, .cycles = 2000 };
	char why[VTADEV_POOL_WHY_MAX] = "";
	struct vtaops_core core;
	struct vtaimage image;
	struct vtadev *dev;
	size_t size;

	/* Cards are reset more often here than a card that works would be. */
	ASSERT_EQ(0, file_write(PARAMETERS "max_resets", "0"));
	ASSERT_EQ(0, vtadev_open(NULL, &dev));
	ASSERT_EQ(0, vtaprog_core(dev, &core));
	vtadev_close(dev);
	program.core = &core;
	self->bytes = pool_image(&program, &size, &image);
	ASSERT_NE(NULL, self->bytes);
	ASSERT_EQ(0, vtadev_pool_open(&image, &opts, &self->pool, why)) {
		TH_LOG("%s", why);
	}
	ASSERT_EQ(0, vtadev_caller_open(self->pool, RING, &self->run.caller));
}

FIXTURE_TEARDOWN(pool)
{
	vtadev_pool_close(self->pool);
	free(self->bytes);
}

static struct vtadev_pool_stats stats_of(struct vtadev_pool *pool, unsigned int card)
{
	struct vtadev_pool_stats stats = { 0 };

	vtadev_pool_stats(pool, card, &stats);
	return stats;
}

/* ---- The pool's sleep while a card is away ---- */

/*
 * The pool tries a card that is away when an event comes, and by and by without one. This sleep
 * is poll() of two files, the second of which is for events. A test leaves one of the two ways.
 */
enum { BOTH, EVENTS, RETRIES };
static atomic_int left = BOTH;
static atomic_uint sleeps;

int __real_poll(struct pollfd *fds, nfds_t count, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	if (count == 2 && ms > 0 && atomic_load(&left) != BOTH) {
		atomic_fetch_add(&sleeps, 1);
		if (atomic_load(&left) == EVENTS)
			ms = -1;
		else
			count = 1;
	}
	return __real_poll(fds, count, ms);
}

/* ---- Resets and removals of cards ---- */

struct chaos {
	struct vtadev_pool *pool;
	char address[CARDS][32];
	atomic_uint done;		/* times that a card was taken away and has come back */
	atomic_bool over;
	const char *_Atomic failed;
};

static int write_of(const char *address, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, name);
	return file_write(path, "1");
}

static const char *reset(const char *address)
{
	return write_of(address, "reset") ? "resetting the function" : NULL;
}

/* As an administrator does. */
static const char *reset_by_driver(const char *address)
{
	char pattern[128];
	glob_t found;
	int err;

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/vta/vta*/reset", address);
	if (glob(pattern, 0, NULL, &found))
		return "finding the card in sysfs";
	err = file_write(found.gl_pathv[0], "1");
	globfree(&found);
	return err ? "resetting the card" : NULL;
}

static const char *rebind(const char *address)
{
	if (file_write(DRIVER "unbind", address))
		return "unbinding the driver";
	return file_write(DRIVER "bind", address) ? "binding the driver" : NULL;
}

static const char *unplug(const char *address)
{
	if (write_of(address, "remove"))
		return "removing the card";
	return file_write("/sys/bus/pci/rescan", "1") ? "looking for cards" : NULL;
}

/* It is gone before the kernel learns of it. */
static const char *pull_out(const char *address)
{
	const char *failed;

	if (emu_inject("gone"))
		return "pulling out the card";
	failed = write_of(address, "remove") ? "removing the card" : NULL;
	if (emu_clear())
		return "putting the card in";
	return file_write("/sys/bus/pci/rescan", "1") ? "looking for cards" : failed;
}

static const char *(*const acts[])(const char *address) = {
	reset, unplug, pull_out, reset_by_driver, rebind,
};

#define ACTS	(sizeof(acts) / sizeof(acts[0]))

/* One card after the other, each until the pool has it again; at the end all. */
static void *make_chaos(void *arg)
{
	struct chaos *c = arg;

	for (unsigned int i = 0; !atomic_load(&c->over) && !c->failed; i++) {
		unsigned int card = i % CARDS;
		uint64_t joins = stats_of(c->pool, card).joins;

		emu_choose(card);
		c->failed = acts[i % ACTS](c->address[card]);
		while (!c->failed && stats_of(c->pool, card).joins == joins)
			sleep_ms(1);
		atomic_fetch_add(&c->done, 1);
	}
	return NULL;
}

static bool find_cards(struct chaos *c)
{
	for (unsigned int i = 0; i < CARDS; i++) {
		card_select(i);
		if (card_pci_address(c->address[i], sizeof(c->address[i])))
			return false;
	}
	return true;
}

/* ---- Requests ---- */

static bool untouched(const uint8_t *bytes)
{
	for (unsigned int i = 0; i < POOL_BYTES; i++)
		if (bytes[i] != UNTOUCHED)
			return false;
	return true;
}

/* Returns an error text or NULL, as the functions that follow. */
static const char *submit(struct run *r)
{
	struct job *job = &r->jobs[r->given % RING];
	const struct iovec in = { job->in, POOL_BYTES };
	const struct iovec out[2] = { { job->weights, POOL_BYTES }, { job->back, POOL_BYTES } };
	const struct vtadev_request request = { &in, out, 1, 2, r->given };

	for (unsigned int i = 0; i < POOL_BYTES; i++)
		job->in[i] = (uint8_t)(r->given * 31 + i * (r->given / 256 + 1));
	memset(job->back, UNTOUCHED, sizeof(job->back));
	memset(job->weights, UNTOUCHED, sizeof(job->weights));
	r->given++;
	return vtadev_caller_submit(r->caller, &request) ? "a request is not taken" : NULL;
}

/* The next answer: of the request whose turn it is, and with that request's outputs. */
static const char *take(struct run *r)
{
	struct job *job = &r->jobs[r->taken % RING];
	struct vtadev_completion done;

	if (vtadev_caller_wait(r->caller, 120 * SECOND) ||
	    vtadev_caller_reap(r->caller, &done, 1) != 1)
		return "no completion comes";
	if (done.user_data != r->taken)
		return "a completion is not of the request whose turn it is";
	if (done.result)
		return vtadev_strerror(done.result);
	if (memcmp(job->in, job->back, POOL_BYTES))
		return "an answer is another request's";
	for (unsigned int i = 0; i < POOL_BYTES; i++)
		if (job->weights[i] != pool_weight(i))
			return "a card has other weights";
	/* A second answer would be seen before the next use. */
	memset(job->back, UNTOUCHED, sizeof(job->back));
	r->lost += done.lost;
	r->taken++;
	return NULL;
}

/* One request more, and as many completions as that takes. */
static const char *keep_going(struct run *r)
{
	const char *wrong = NULL;

	if (r->given - r->taken == RING)
		wrong = take(r);
	if (!wrong && r->given >= RING && !untouched(r->jobs[r->given % RING].back))
		wrong = "a request was answered twice";
	return wrong ? wrong : submit(r);
}

static const char *finish(struct run *r)
{
	const char *wrong = NULL;

	while (!wrong && r->taken < r->given)
		wrong = take(r);
	return wrong;
}

TEST_F(pool, all_cards_have_a_share)
{
	uint64_t answers = 0;

	ASSERT_EQ(CARDS, vtadev_pool_cards(self->pool));
	while (self->run.given < 100)
		ASSERT_EQ(NULL, keep_going(&self->run));
	ASSERT_EQ(NULL, finish(&self->run));
	for (unsigned int i = 0; i < CARDS; i++) {
		struct vtadev_pool_stats stats = stats_of(self->pool, i);

		EXPECT_TRUE(stats.up);
		EXPECT_LT(5, stats.answers);
		answers += stats.answers;
	}
	EXPECT_EQ(100, answers);
}

static bool joins_more_than(struct vtadev_pool *pool, unsigned int card, uint64_t joins)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;

	while (stats_of(pool, card).joins <= joins) {
		if (now_ns() > end)
			return false;
		sleep_ms(1);
	}
	return true;
}

/* Each card in turn is removed, and found again by @way alone. An error text, or NULL. */
static const char *remove_and_find(struct vtadev_pool *pool, int way)
{
	struct chaos chaos = { .pool = pool };

	if (!find_cards(&chaos))
		return "finding the cards";
	atomic_store(&left, way);
	for (unsigned int i = 0; i < CARDS; i++) {
		uint64_t joins = stats_of(pool, i).joins;
		unsigned int before = atomic_load(&sleeps);

		if (write_of(chaos.address[i], "remove"))
			return "removing a card";
		while (atomic_load(&sleeps) == before)
			sleep_ms(1);
		if (stats_of(pool, i).up)
			return "a card that is away is up";
		if (file_write("/sys/bus/pci/rescan", "1"))
			return "looking for cards";
		if (!joins_more_than(pool, i, joins))
			return "a card is not found again";
	}
	atomic_store(&left, BOTH);
	return NULL;
}

TEST_F(pool, returning_card_is_found_by_its_event)
{
	const char *wrong = remove_and_find(self->pool, EVENTS);

	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s", wrong);
	}
}

TEST_F(pool, returning_card_without_an_event_is_found_by_trying)
{
	const char *wrong = remove_and_find(self->pool, RETRIES);

	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s", wrong);
	}
}

TEST_F(pool, requests_are_answered_once_while_cards_are_lost)
{
	struct chaos chaos = { .pool = self->pool };
	uint64_t answers = 0, losses = 0;
	const char *wrong = NULL;
	pthread_t thread;

	ASSERT_TRUE(find_cards(&chaos));
	ASSERT_EQ(0, pthread_create(&thread, NULL, make_chaos, &chaos));
	/* Each card has been taken away twice, and in each way two. */
	while (!wrong && !chaos.failed &&
	       (self->run.given < REQUESTS || atomic_load(&chaos.done) < 2 * ACTS))
		wrong = keep_going(&self->run);
	atomic_store(&chaos.over, true);
	if (!wrong)
		wrong = finish(&self->run);
	pthread_join(thread, NULL);
	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s", wrong);
	}
	EXPECT_EQ(NULL, chaos.failed) {
		TH_LOG("%s failed", chaos.failed);
	}
	for (unsigned int i = 0; i < CARDS; i++) {
		answers += stats_of(self->pool, i).answers;
		losses += stats_of(self->pool, i).losses;
	}
	EXPECT_EQ(self->run.given, answers);
	EXPECT_LE(2 * ACTS, losses);
	TH_LOG("%llu requests, %llu runs lost, %llu losses of cards",
	       (unsigned long long)self->run.given, (unsigned long long)self->run.lost,
	       (unsigned long long)losses);
}

int main(int argc, char **argv)
{
	if (access("/dev/vta3", F_OK))
		ksft_exit_skip("there are fewer than four cards\n");
	return test_harness_run(argc, argv);
}

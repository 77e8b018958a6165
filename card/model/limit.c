// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread that ends descriptors whose TIME_LIMIT has passed.
 */
#define _GNU_SOURCE
#include <time.h>

#include "model.h"

/* The shortest time between two checks. */
#define CHECK_NS	100000
/* Start of the CPU-time measurement is delayed by at most this. */
#define NOTE_NS		10000000

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec;
}

static uint64_t thread_ns(pthread_t thread)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (!pthread_getcpuclockid(thread, &clock))
		clock_gettime(clock, &ts);
	return ns_of(&ts);
}

void limit_begin(struct engine *engine, uint64_t begin, uint64_t ns)
{
	struct card *card = engine->card;
	uint64_t due;

	engine->limit = (struct limit) { 0 };
	if (!ns || clock_modelled(&card->clock))
		return;
	engine->limit = (struct limit) { .on = true, .ns = ns };
	due = clock_to_host(&card->clock, begin) + (ns < NOTE_NS ? ns : NOTE_NS);
	/* Most often it checks earlier, for a descriptor that has ended since. */
	if (due < card->limiter.due) {
		card->limiter.due = due;
		pthread_cond_signal(&card->limiter.wake);
	}
}

bool limit_end(struct engine *engine)
{
	engine->limit.on = false;
	return engine->limit.over;
}

/* Returns in how many ns it may be over. */
static uint64_t check_engine(struct card *card, struct engine *engine)
{
	struct limit *limit = &engine->limit;
	uint64_t used, left;

	if (!limit->on || limit->over)
		return UINT64_MAX;
	if (!limit->noted) {
		limit->noted = true;
		limit->begin = thread_ns(engine->thread);
	}
	used = thread_ns(engine->thread) - limit->begin;
	if (used < limit->ns) {
		left = limit->ns - used;
		return left > CHECK_NS ? left : CHECK_NS;
	}
	if (inject_take_queue(&card->inject, INJECT_LIMIT_NEVER, engine->queue->index)) {
		limit->on = false;
		return UINT64_MAX;
	}
	limit->over = true;
	atomic_store(&engine->queue->give_up, true);
	pthread_cond_broadcast(&card->bus.changed);
	return UINT64_MAX;
}

static void wait_until(struct card *card, uint64_t due)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(due / 1000000000),
		.tv_nsec = (long)(due % 1000000000),
	};

	if (due > INT64_MAX)
		pthread_cond_wait(&card->limiter.wake, &card->lock);
	else
		pthread_cond_clockwait(&card->limiter.wake, &card->lock, CLOCK_MONOTONIC, &ts);
}

static void look_at_all(struct card *card)
{
	uint64_t left = UINT64_MAX, now;

	for (unsigned int i = 0; i < VTA_ENGINES; i++) {
		uint64_t ns = check_engine(card, &card->engines[i]);

		left = ns < left ? ns : left;
	}
	now = host_now();
	card->limiter.due = left < UINT64_MAX - now ? now + left : UINT64_MAX;
}

/* After a wake-up the check may be due earlier, but need not be due now. */
void *limiter_main(void *arg)
{
	struct card *card = arg;

	pthread_mutex_lock(&card->lock);
	while (!card->exiting) {
		if (host_now() < card->limiter.due)
			wait_until(card, card->limiter.due);
		else
			look_at_all(card);
	}
	pthread_mutex_unlock(&card->lock);
	return NULL;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * report.c - report errors on stderr, rate-limited
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "clock.h"
#include "report.h"

#define TEXT_MAX	384

/**
 * struct sentence - a sentence that was printed
 * @hash: of its text; 0: none
 * @at: time at which it was printed last
 * @again: number of times it was left out since
 */
struct sentence {
	uint64_t hash;
	int64_t at;
	unsigned long again;
};

static struct {
	pthread_mutex_t lock;		/* Protects: all of it */
	struct sentence printed[REPORT_MOST];
	int64_t span_from;
	unsigned int in_span;		/* sentences since then */
	unsigned long left_out;		/* sentences since then that were too many */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* FNV-1a; never 0. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h ? h : 1;
}

/* The sentence's entry, or the one that was printed the longest time ago. */
static struct sentence *find_sentence(uint64_t h)
{
	struct sentence *oldest = &state.printed[0];

	for (unsigned int i = 0; i < REPORT_MOST; i++) {
		if (state.printed[i].hash == h)
			return &state.printed[i];
		if (!state.printed[i].hash || (oldest->hash && state.printed[i].at < oldest->at))
			oldest = &state.printed[i];
	}
	return oldest;
}

static void print_left_out(void)
{
	if (state.left_out)
		fprintf(stderr, "vta_driver: %lu more messages were left out\n", state.left_out);
	state.left_out = 0;
}

/* Returns true if there were too many sentences. */
static bool too_many(int64_t now)
{
	if (now - state.span_from >= REPORT_SPAN_S || !state.in_span) {
		print_left_out();
		state.span_from = now;
		state.in_span = 0;
	}
	if (state.in_span == REPORT_MOST) {
		state.left_out++;
		return true;
	}
	state.in_span++;
	return false;
}

static void print_sentence(const char *text, unsigned long again)
{
	if (again)
		fprintf(stderr, "vta_driver: %s (and %lu times since this was said last)\n", text,
			again);
	else
		fprintf(stderr, "vta_driver: %s\n", text);
	if (state.in_span == REPORT_MOST)
		fprintf(stderr, "vta_driver: more messages are left out for some seconds\n");
}

static void report_locked(const char *text)
{
	uint64_t h = hash(text);
	int64_t now = clock_ns() / NS_PER_S;
	struct sentence *sentence = find_sentence(h);
	bool known = sentence->hash == h;

	if (known && now - sentence->at < REPORT_AGAIN_S) {
		sentence->again++;
		return;
	}
	if (too_many(now))
		return;
	print_sentence(text, known ? sentence->again : 0);
	*sentence = (struct sentence) { .hash = h, .at = now };
}

void report(const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);

	pthread_mutex_lock(&state.lock);
	report_locked(text);
	pthread_mutex_unlock(&state.lock);
}

__attribute__((destructor)) static void report_end(void)
{
	pthread_mutex_lock(&state.lock);
	print_left_out();
	pthread_mutex_unlock(&state.lock);
}

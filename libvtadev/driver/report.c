// SPDX-License-Identifier: Apache-2.0
/*
 * report.c - say on stderr what went wrong, once
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report.h"

#define TEXT_MAX	384
#define SAID_MAX	64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* Protects: said, nr_said */
static uint64_t said[SAID_MAX];
static unsigned int nr_said;

/* FNV-1a. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

static bool is_new(uint64_t h)
{
	for (unsigned int i = 0; i < nr_said; i++)
		if (said[i] == h)
			return false;
	return nr_said < SAID_MAX;
}

void report(const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;
	uint64_t h;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	h = hash(text);

	pthread_mutex_lock(&lock);
	if (is_new(h)) {
		said[nr_said++] = h;
		fprintf(stderr, "vta_driver: %s\n", text);
		if (nr_said == SAID_MAX)
			fprintf(stderr, "vta_driver: no more errors will be shown\n");
	}
	pthread_mutex_unlock(&lock);
}

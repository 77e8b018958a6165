// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <stdlib.h>

#include "writer.h"

unsigned long long writer_seed(void)
{
	const char *seed = getenv("VTA_SEED");

	return seed ? strtoull(seed, NULL, 0) : 88172645463325252ull;
}

uint64_t writer_random(struct writer *writer)
{
	writer->random ^= writer->random << 13;
	writer->random ^= writer->random >> 7;
	writer->random ^= writer->random << 17;
	return writer->random;
}

static void *writer_run(void *arg)
{
	struct writer *writer = arg;

	while (!writer->stop) {
		writer->step(writer);
		writer->steps++;
	}
	return NULL;
}

int writer_start(struct writer *writer)
{
	int err;

	writer->random = writer_seed() | 1;	/* it stays 0 if it ever was */
	err = pthread_create(&writer->thread, NULL, writer_run, writer);
	while (!err && !writer->steps)
		sched_yield();
	return -err;
}

static void flip(struct writer *writer)
{
	*writer->word ^= writer->mask;
}

int writer_flip(struct writer *writer, uint32_t *word, uint32_t a, uint32_t b)
{
	*word = a;
	*writer = (struct writer) { .step = flip, .word = word, .mask = a ^ b };
	return writer_start(writer);
}

uint64_t writer_stop(struct writer *writer)
{
	writer->stop = true;
	pthread_join(writer->thread, NULL);
	return writer->steps;
}

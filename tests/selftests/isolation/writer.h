/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * writer.h - a thread that changes memory while others read it
 */
#ifndef VTA_WRITER_H
#define VTA_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wall;

struct writer {
	pthread_t thread;
	/* Called in a loop; the fields up to @random are for it. */
	void (*step)(struct writer *writer);
	struct wall *w;
	volatile uint64_t *words;
	size_t count;
	volatile uint32_t *word;	/* or one, */
	uint32_t mask;			/* and bits of it */
	uint64_t found;
	uint64_t random;
	_Atomic uint64_t steps;
	_Atomic bool stop;
};

/* VTA_SEED of the environment, or the same each time. */
unsigned long long writer_seed(void);
uint64_t writer_random(struct writer *writer);

/* Returns when it has begun to write. */
int writer_start(struct writer *writer);
/* The same, with a word that goes from @a to @b and back, from now on. */
int writer_flip(struct writer *writer, uint32_t *word, uint32_t a, uint32_t b);
/* Returns how often it has written. */
uint64_t writer_stop(struct writer *writer);

#endif /* VTA_WRITER_H */

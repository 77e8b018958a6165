/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TIME_LIMIT in real time: a thread that has descriptors given up which their
 * engine has executed for too long.
 *
 * The limit is on the processor time of the engine's thread. So a busy host, which
 * stops the emulator at any moment, has nothing fault that is as short as ever. Reading that
 * time is a system call, which short descriptors do not make: the time counts from the first
 * check on, which is due 10 ms after the begin at the latest. (In modelled time engine.c knows
 * beforehand what takes too long.)
 *
 * All with the card's lock held.
 */
#ifndef VTA_EMU_LIMIT_H
#define VTA_EMU_LIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct card;
struct engine;

/* The limit of the descriptor that an engine executes now. */
struct limit {
	bool on;
	bool over;
	bool noted;		/* the begin is */
	uint64_t ns;
	uint64_t begin;		/* by the engine's thread's clock, at the first check */
};

struct limiter {
	pthread_t thread;
	pthread_cond_t wake;
	uint64_t due;		/* when it samples again, by the host's clock */
};

void *limiter_main(void *card);

/* On the engine's thread, around the execution of what began at @begin, in card time. */
void limit_begin(struct engine *engine, uint64_t begin, uint64_t ns);
/* True when it was ended by its limit. */
bool limit_end(struct engine *engine);

#endif

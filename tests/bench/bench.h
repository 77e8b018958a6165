/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - what the benchmarks share: the card, time, results, the emulator
 *
 * Whatever fails ends the program with a line that says what, so that nothing
 * is printed that was not measured.
 */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vtadev.h"

#define MIB		((size_t)1 << 20)

/**
 * struct bench - one run
 * @dev: the card
 * @queue: a queue of it, with the library's defaults
 * @out: directory for files
 * @results: becomes the JSON file
 */
struct bench {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	const char *out;
	struct json_object *results;
};

/* Ends the program if @err is negative. */
void must(int err, const char *what);
void *must_ptr(void *ptr, const char *what);

double now_ns(void);

/* Others on the machine make a run slower, nothing makes it faster. */
struct times {
	double least;
	double median;
};

/* What was measured so far; more than fits is dropped. */
#define SAMPLES_MAX	1024
struct samples {
	double ns[SAMPLES_MAX];
	unsigned int count;
};

void sample(struct samples *samples, double ns);
struct times times_in(struct samples *samples);

/* Calls fn(arg), which returns ns, so many times. */
struct times times_of(double (*fn)(void *arg), void *arg, unsigned int count);

/* The emulator's answer to a request; to be put. */
struct json_object *emulator_ask(const char *request);

/* Memory of the program that has pages; munmap() gives it back. */
char *touched(size_t bytes, int huge);

/* {"least_ns": ..., "median_ns": ...}, and an object in an object. */
struct json_object *json_times(struct times times);
struct json_object *json_sub(struct json_object *to, const char *name);
void json_num(struct json_object *to, const char *name, double value);

/* "64 B", "16 KiB", "4 MiB": a static text. */
const char *size_text(size_t bytes);

/* The benchmarks of memory. Each prints a table and adds to the results. */
void bench_copy(struct bench *bench);
void bench_choice(struct bench *bench);
void bench_map(struct bench *bench);
void bench_walks(struct bench *bench);

#endif /* TESTS_BENCH_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - what the benchmarks share: the card, time, results, the emulator
 *
 * A part of the bench is a program that prints a table and leaves its results in
 * OUT/PART.json, and what its chart shows in OUT/PART.dat:
 *
 *	PART OUT [NAME=VALUE]...
 *
 * NAME=VALUE describes the machine and goes into the results; quick=yes asks for a run that only
 * shows that the part works. A failure ends the program with a message, so that only measured
 * values are printed. docs/bench.md describes how to add a part.
 */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vtadev.h"

#define MIB		((size_t)1 << 20)

/**
 * struct bench - one part in one run
 * @part: its name
 * @out: directory for files
 * @quick: only show that it works
 * @slowness: how much more slowly BENCH_MODELLED's time passes than the host's
 * @dev: the card, after bench_open()
 * @queue: a queue of it, with the library's defaults
 * @results: becomes the JSON file
 * @dat: what the chart shows, columns by white space
 * @dat_text: what @dat has written
 * @dat_size: its length
 */
struct bench {
	const char *part;
	const char *out;
	bool quick;
	double slowness;
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct json_object *results;
	FILE *dat;
	char *dat_text;
	size_t dat_size;
};

/* Reads the arguments, prints the machine and versions, and starts the results. */
void bench_begin(struct bench *bench, const char *part, int argc, char **argv);
/*
 * The cards of a run: two in real time, and one in modelled time (docs/testing.md),
 * on which work lasts its cycles, and whose time passes more slowly than the
 * host's by the factor "slowness" among the facts of the run. For the part "pool" there
 * are four more of the latter kind, from BENCH_POOL on, with a clock of a tenth.
 */
enum { BENCH_CARD, BENCH_OTHER, BENCH_MODELLED, BENCH_POOL };

/* Opens BENCH_CARD, with a queue; or another one. */
void bench_open(struct bench *bench);
void bench_open_card(struct bench *bench, unsigned int n);
void bench_close(struct bench *bench);
/* The open card's registers (BAR0), of VTA_REGS_SIZE bytes, until the program ends. */
volatile uint32_t *bench_registers(const struct bench *bench);
/* Closes what is open, and writes the results. */
void bench_end(struct bench *bench);

/* The number of repetitions, which is 1 instead of @n in a quick run. */
static inline unsigned int bench_times(const struct bench *bench, unsigned int n)
{
	return bench->quick ? 1 : n;
}

/* Prints whether @value meets the target @limit. Missing it is no error. */
enum aim { AT_LEAST, AT_MOST };
void bench_target(struct bench *bench, const char *what, double value, enum aim aim,
		  double limit);

/* Ends the program if @err is negative. */
void must(int err, const char *what);
void *must_ptr(void *ptr, const char *what);

double now_ns(void);

/* Others on the machine make a run slower, nothing makes it faster. */
struct times {
	double least;
	double median;
};

/* The values measured so far; more than SAMPLES_MAX are dropped. */
#define SAMPLES_MAX	8192
struct samples {
	double ns[SAMPLES_MAX];
	unsigned int count;
};

void sample(struct samples *samples, double ns);
struct times times_in(struct samples *samples);

/* The value below which the share @part (0 to 1) of the samples is. */
double quantile_of(struct samples *samples, double part);

/* The geometric mean of ratios that were measured apart, and its confidence interval of 95 %. */
struct ratio {
	double mean;
	double low, high;
};

/* At least two samples, by Student's t. */
struct ratio ratio_in(const struct samples *samples);

/* Returns true if all of the interval is on one side of @limit. */
static inline bool ratio_is_clear(const struct ratio *ratio, double limit)
{
	return ratio->high < limit || ratio->low > limit;
}

/* Calls fn(arg), which returns ns, so many times. */
struct times times_of(double (*fn)(void *arg), void *arg, unsigned int count);

/* The answer of card @n's emulator to a request; to be put. */
struct json_object *emulator_ask(unsigned int n, const char *request);

/* Accesses over the bus, by the card's own counters. */
struct counts {
	double mmio_reads, mmio_writes;		/* doorbells and arms too */
	double doorbells, arms, interrupts;
	double descriptors, compute_cycles;
};

struct counts counts_now(unsigned int n);
/* @after - @before, for each of @launches. */
struct counts counts_each(const struct counts *before, const struct counts *after,
			  double launches);
struct json_object *json_counts(const struct counts *counts);

/*
 * Memory of the program that has its pages; munmap() gives it back. SCATTERED ones
 * are small and do not follow each other, as in the heap of a system that has run
 * for long.
 */
enum pages { SMALL_PAGES, HUGE_PAGES, SCATTERED_PAGES };

char *touched(size_t bytes, enum pages pages);

/* {"least_ns": ..., "median_ns": ...}, and an object in an object. */
struct json_object *json_times(struct times times);
struct json_object *json_sub(struct json_object *to, const char *name);
void json_num(struct json_object *to, const char *name, double value);
void json_text(struct json_object *to, const char *name, const char *text);

/* "64 B", "16 KiB", "4 MiB": a static text. */
const char *size_text(size_t bytes);

#endif /* TESTS_BENCH_H */

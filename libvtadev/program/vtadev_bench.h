/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_bench.h - measure how fast a program runs
 *
 *	struct vtadev_bench_opts opts = { .depth = 2, .duration_ns = 2000000000 };
 *	struct vtadev_bench_result result;
 *
 *	err = vtadev_bench(&image, &opts, &result, why);
 *	rate = (double)result.runs * 1e9 / (double)result.wall_ns;
 *
 * vtadev_bench() keeps a constant number of runs in flight on a pool of cards (vtadev_pool.h), and
 * measures the rate and the latency of runs. vtadev_bench_parts() makes one run at a time on one
 * card, and measures which part of it is the card's and which the CPU's.
 *
 * THREADS. Both functions may be called by any thread, also by several at once. They measure the
 * time that passes: other users of the cards and of the machine disturb them.
 *
 * ERRORS are those of vtadev_pool.h.
 */
#ifndef VTADEV_BENCH_H
#define VTADEV_BENCH_H

#include <stdint.h>
#include <sys/uio.h>

#include "vtadev_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VTADEV_BENCH_DURATION_NS_DEFAULT	1000000000

/**
 * struct vtadev_bench_opts - options of a measurement; all zero: the defaults
 * @cards: names of cards, as in struct vtadev_pool_opts
 * @count: number of names
 * @depth: runs in flight on each card; 0: VTADEV_POOL_DEPTH_DEFAULT
 * @warmup: runs before the measurement, besides the first one
 * @runs: runs to measure; 0: as many as begin within @duration_ns
 * @duration_ns: nanoseconds; 0: 1 s
 * @inputs: array of the inputs' values, as in struct vtadev_request, for all runs; NULL: random
 *          values, the same each time: floats from -1 to 1, any bytes and truth values, and 0 for
 *          integers of 32 and 64 bits, which may be indices
 * @input_count: number of @inputs, which is the program's; 0 if @inputs is NULL
 * @progress: called after each measured run, in the thread of vtadev_bench(), with the part of the
 *            measurement that is done, from 0 to 1; may be NULL
 * @priv: argument of @progress
 */
struct vtadev_bench_opts {
	const char *const *cards;
	unsigned int count;
	unsigned int depth;
	unsigned int warmup;
	uint64_t runs;
	int64_t duration_ns;
	const struct iovec *inputs;
	unsigned int input_count;
	void (*progress)(void *priv, double share);
	void *priv;
};

/**
 * vtadev_bench_values() - make the random values of an input
 * @tensor: the input
 * @number: number of the input among the program's inputs, from 0
 * @values: out: vtaprog_bytes() bytes
 */
void vtadev_bench_values(const struct vtaimage_tensor *tensor, unsigned int number, void *values);

/**
 * struct vtadev_bench_result - rate and latency of runs; all times are in nanoseconds
 * @cards: cards that took part
 * @runs: runs that were measured
 * @lost: times that a run was lost with its card, and was made again
 * @load_ns: to open the cards and to load the program on all of them
 * @first_ns: of the first run
 * @wall_ns: from the submission of the first measured run to the end of the last
 * @min_ns: the least latency: from submission to completion
 * @mean_ns: the mean latency
 * @p50_ns: the latency that 50 % of runs do not exceed
 * @p90_ns: likewise, 90 %
 * @p99_ns: likewise, 99 %
 * @max_ns: the greatest latency
 */
struct vtadev_bench_result {
	unsigned int cards;
	uint64_t runs, lost;
	int64_t load_ns, first_ns, wall_ns;
	int64_t min_ns, mean_ns, p50_ns, p90_ns, p99_ns, max_ns;
};

/**
 * vtadev_bench() - measure rate and latency of a program
 * @image: the opened program image
 * @opts: options, or NULL for the defaults
 * @result: out: the result
 * @why: out: after an error, a sentence with the reason; otherwise ""
 *
 * Errors: as vtadev_pool_open() and vtadev_caller_submit(), and those of completions: the first run
 * that fails ends the measurement.
 */
int vtadev_bench(const struct vtaimage *image, const struct vtadev_bench_opts *opts,
		 struct vtadev_bench_result *result, char why[VTADEV_POOL_WHY_MAX]);

/**
 * struct vtadev_bench_parts - parts of a run, of the one with the median time
 * @runs: runs that were made
 * @clock_khz: frequency of the card's clock
 * @total_ns: the whole run
 * @compute_ns: RUNs, by the card's stamps
 * @copy_ns: copies and fills, likewise
 * @cpu_ns: kernels of the CPU
 * @cycles: cycles of RUNs, by the card's stamps
 * @to_card: bytes that a run copies from the host to the card
 * @from_card: bytes that a run copies from the card to the host
 *
 * The rest of @total_ns is launches, waits, and gaps between descriptors.
 */
struct vtadev_bench_parts {
	uint64_t runs;
	uint32_t clock_khz;
	int64_t total_ns, compute_ns, copy_ns, cpu_ns;
	uint64_t cycles;
	uint64_t to_card, from_card;
};

/**
 * vtadev_bench_parts() - measure the parts of a run
 * @image: the opened program image
 * @card: name of the card, as for vtadev_open()
 * @runs: runs to make, at least 1
 * @inputs: as in struct vtadev_bench_opts
 * @input_count: likewise
 * @parts: out: the result
 * @why: out: after an error, a sentence with the reason; otherwise ""
 *
 * Errors: -EINVAL (@runs is 0, or wrong @inputs), and those of vtadev_open(),
 * vtadev_queue_create(), vtaprog_profile() and vtaprog_run().
 */
int vtadev_bench_parts(const struct vtaimage *image, const char *card, uint64_t runs,
		       const struct iovec *inputs, unsigned int input_count,
		       struct vtadev_bench_parts *parts, char why[VTADEV_POOL_WHY_MAX]);

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_BENCH_H */

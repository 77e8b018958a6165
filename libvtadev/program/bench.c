// SPDX-License-Identifier: Apache-2.0
/*
 * bench.c - rate and latency of a program: as many runs in flight as there are places
 *
 * A place has one run at a time, and a caller of its own, so that its completion does not wait for
 * those of others.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "clock.h"
#include "vtadev_bench.h"

struct place {
	struct vtadev_caller *caller;
	uint8_t *outputs;
	int64_t submitted;
	bool busy;
};

struct bench {
	const struct vtadev_bench_opts *opts;
	struct vtadev_pool *pool;
	struct bench_inputs inputs;
	struct iovec *outputs;		/* of the run that is submitted */
	unsigned int output_count;
	size_t output_bytes;
	struct place *places;
	struct pollfd *fds;
	unsigned int place_count;
	/* The runs of a phase: warming up, or measured. */
	uint64_t limit, submitted, done, lost;
	int64_t start, until;		/* CLOCK_MONOTONIC; ends by @limit or by @until */
	int64_t *latencies;		/* NULL: not kept */
	uint64_t room;
	char *why;
};

static int explain(struct bench *b, const char *what, int err)
{
	snprintf(b->why, VTADEV_POOL_WHY_MAX, "%s: %s", what, vtadev_strerror(err));
	return err;
}

/* ---- Preparation ---- */

static int make_places(struct bench *b)
{
	unsigned int depth = b->opts->depth ? b->opts->depth : VTADEV_POOL_DEPTH_DEFAULT;
	int err = 0;

	b->place_count = depth * vtadev_pool_cards(b->pool);
	b->places = calloc(b->place_count, sizeof(*b->places));
	b->fds = calloc(b->place_count, sizeof(*b->fds));
	if (!b->places || !b->fds)
		return -ENOMEM;
	for (unsigned int i = 0; i < b->place_count && !err; i++) {
		err = vtadev_caller_open(b->pool, 1, &b->places[i].caller);
		if (err)
			break;
		b->places[i].outputs = malloc(b->output_bytes + 1);
		err = b->places[i].outputs ? 0 : -ENOMEM;
		b->fds[i] = (struct pollfd) {
			.fd = vtadev_caller_fd(b->places[i].caller), .events = POLLIN };
	}
	return err;
}

static int make_outputs(struct bench *b)
{
	struct vtadev_pool_tensor t;
	unsigned int count = 0;

	while (!vtadev_pool_tensor(b->pool, b->inputs.count + count, &t))
		count++;
	b->outputs = calloc(count + 1, sizeof(*b->outputs));
	if (!b->outputs)
		return -ENOMEM;
	b->output_count = count;
	for (unsigned int i = 0; i < count; i++) {
		vtadev_pool_tensor(b->pool, b->inputs.count + i, &t);
		b->outputs[i].iov_len = t.bytes;
		b->output_bytes += t.bytes;
	}
	return 0;
}

static void free_bench(struct bench *b)
{
	for (unsigned int i = 0; b->places && i < b->place_count; i++)
		vtadev_caller_close(b->places[i].caller);
	vtadev_pool_close(b->pool);
	for (unsigned int i = 0; b->places && i < b->place_count; i++)
		free(b->places[i].outputs);
	free(b->places);
	free(b->fds);
	free(b->outputs);
	free(b->latencies);
	bench_inputs_free(&b->inputs);
}

/* ---- Runs ---- */

static bool may_submit(const struct bench *b)
{
	return b->submitted < b->limit && (!b->submitted || clock_ns() < b->until);
}

static int submit(struct bench *b, struct place *place)
{
	uint8_t *to = place->outputs;
	int err;

	for (unsigned int i = 0; i < b->output_count; i++) {
		b->outputs[i].iov_base = to;
		to += b->outputs[i].iov_len;
	}
	place->submitted = clock_ns();
	err = vtadev_caller_submit(place->caller, &(struct vtadev_request) {
		.inputs = b->inputs.io, .outputs = b->outputs,
		.input_count = b->inputs.count, .output_count = b->output_count });
	place->busy = !err;
	b->submitted += !err;
	return err ? explain(b, "submitting a run", err) : 0;
}

/* Keeps a latency; the array grows. */
static int keep(struct bench *b, int64_t ns)
{
	int64_t *more;

	if (!b->latencies)
		return 0;
	if (b->done == b->room) {
		more = reallocarray(b->latencies, 2 * b->room, sizeof(*more));
		if (!more)
			return explain(b, "latencies", -ENOMEM);
		b->latencies = more;
		b->room *= 2;
	}
	b->latencies[b->done] = ns;
	return 0;
}

static int fail_run(struct bench *b, const struct vtadev_completion *done)
{
	char text[VTADEV_FAULT_TEXT_MAX];

	if (done->result != -EIO)
		return explain(b, "a run failed", done->result);
	vtadev_fault_text(&done->fault, text, sizeof(text));
	snprintf(b->why, VTADEV_POOL_WHY_MAX, "a run failed: %s", text);
	return -EIO;
}

static int reap(struct bench *b, struct place *place)
{
	struct vtadev_completion done;
	int err;

	if (vtadev_caller_reap(place->caller, &done, 1) != 1)
		return 0;
	place->busy = false;
	if (done.result)
		return fail_run(b, &done);
	err = keep(b, clock_ns() - place->submitted);
	b->done++;
	b->lost += done.lost;
	return err;
}

/* Reports the part of the measurement that is done: of its runs, or of its time. */
static void report_progress(const struct bench *b)
{
	const struct vtadev_bench_opts *o = b->opts;
	double share;

	if (!b->latencies || !o->progress)
		return;
	share = o->runs ? (double)b->done / (double)o->runs :
		(double)(clock_ns() - b->start) / (double)(b->until - b->start);
	o->progress(o->priv, share < 1 ? share : 1);
}

/* Keeps all places busy until the phase ends. */
static int run_phase(struct bench *b, uint64_t limit, int64_t until)
{
	int err = 0;

	b->limit = limit;
	b->start = clock_ns();
	b->until = until;
	b->submitted = 0;
	b->done = 0;
	b->lost = 0;
	for (;;) {
		for (unsigned int i = 0; i < b->place_count && !err; i++)
			if (!b->places[i].busy && may_submit(b))
				err = submit(b, &b->places[i]);
		if (err || b->done == b->submitted)
			return err;
		if (poll(b->fds, b->place_count, -1) < 0 && errno != EINTR)
			return explain(b, "waiting", -errno);
		for (unsigned int i = 0; i < b->place_count && !err; i++)
			if (b->places[i].busy && b->fds[i].revents)
				err = reap(b, &b->places[i]);
		report_progress(b);
	}
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The least of @n sorted values that @percent of them do not exceed. */
static int64_t percentile(const int64_t *sorted, uint64_t n, unsigned int percent)
{
	uint64_t rank = n / 100 * percent + (n % 100 * percent + 99) / 100;

	return sorted[rank ? rank - 1 : 0];
}

static void fill_result(const struct bench *b, int64_t wall, struct vtadev_bench_result *r)
{
	int64_t *sorted = b->latencies;
	uint64_t n = b->done;
	double sum = 0;

	qsort(sorted, n, sizeof(*sorted), by_value);
	for (uint64_t i = 0; i < n; i++)
		sum += (double)sorted[i];
	r->cards = vtadev_pool_cards(b->pool);
	r->runs = n;
	r->lost = b->lost;
	r->wall_ns = wall;
	r->min_ns = sorted[0];
	r->mean_ns = (int64_t)(sum / (double)n);
	r->p50_ns = percentile(sorted, n, 50);
	r->p90_ns = percentile(sorted, n, 90);
	r->p99_ns = percentile(sorted, n, 99);
	r->max_ns = sorted[n - 1];
}

static int measure(struct bench *b, struct vtadev_bench_result *r)
{
	const struct vtadev_bench_opts *o = b->opts;
	int64_t duration = o->duration_ns ? o->duration_ns : VTADEV_BENCH_DURATION_NS_DEFAULT;
	int64_t start = clock_ns(), end;
	int err;

	err = run_phase(b, 1, INT64_MAX);
	r->first_ns = clock_ns() - start;
	if (!err && o->warmup)
		err = run_phase(b, o->warmup, INT64_MAX);
	if (err)
		return err;
	b->room = 4096;
	b->latencies = calloc(b->room, sizeof(*b->latencies));
	if (!b->latencies)
		return explain(b, "latencies", -ENOMEM);
	start = clock_ns();
	if (o->runs || __builtin_add_overflow(start, duration, &end))
		end = INT64_MAX;
	err = run_phase(b, o->runs ? o->runs : UINT64_MAX, end);
	if (!err)
		fill_result(b, clock_ns() - start, r);
	return err;
}

int vtadev_bench(const struct vtaimage *image, const struct vtadev_bench_opts *opts,
		 struct vtadev_bench_result *result, char why[VTADEV_POOL_WHY_MAX])
{
	static const struct vtadev_bench_opts defaults;
	struct bench b = { .opts = opts ? opts : &defaults, .why = why };
	struct vtadev_bench_result r = { 0 };
	int64_t start = clock_ns();
	int err;

	why[0] = '\0';
	if (b.opts->duration_ns < 0)
		return explain(&b, "the duration", -EINVAL);
	err = vtadev_pool_open(image, &(struct vtadev_pool_opts) {
		.cards = b.opts->cards, .count = b.opts->count, .depth = b.opts->depth },
		&b.pool, why);
	if (err)
		return err;
	r.load_ns = clock_ns() - start;
	err = bench_inputs_make(&b.inputs, image, b.opts->inputs, b.opts->input_count);
	if (!err)
		err = make_outputs(&b);
	if (!err)
		err = make_places(&b);
	if (err)
		explain(&b, "preparing the runs", err);
	else
		err = measure(&b, &r);
	free_bench(&b);
	if (!err)
		*result = r;
	return err;
}

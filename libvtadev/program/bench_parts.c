// SPDX-License-Identifier: Apache-2.0
/*
 * bench_parts.c - parts of a run, one run at a time
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "clock.h"
#include "vtadev_bench.h"
#include "vtaprog.h"

#define RUN_NS	(600 * 1000000000ll)

static int explain(char why[VTADEV_POOL_WHY_MAX], const char *what, int err)
{
	snprintf(why, VTADEV_POOL_WHY_MAX, "%s: %s", what, vtadev_strerror(err));
	return err;
}

static void add_span(struct vtadev_bench_parts *p, const struct vtaimage *image,
		     const struct vtaprog_span *span)
{
	int64_t ns = span->end - span->begin;
	struct vtaimage_step step;
	uint64_t bytes;

	vtaimage_step(image, span->step, &step);
	bytes = (uint64_t)step.bytes * (step.rows ? step.rows : 1);
	switch (step.kind) {
	case VTAIMAGE_CPU:
		p->cpu_ns += ns;
		break;
	case VTAIMAGE_RUN:
		p->compute_ns += ns;
		p->cycles += span->cycles;
		break;
	case VTAIMAGE_COPY:
		p->to_card += step.src.segment == VTAIMAGE_IN_HOST ? bytes : 0;
		p->from_card += step.dst.segment == VTAIMAGE_IN_HOST ? bytes : 0;
		p->copy_ns += ns;
		break;
	default:
		p->copy_ns += ns;
	}
}

static int by_total(const void *a, const void *b)
{
	const struct vtadev_bench_parts *x = a, *y = b;

	return (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns);
}

static int measure_run(struct vtaprog *prog, const struct vtaimage *image,
		       struct vtadev_bench_parts *p)
{
	const struct vtaprog_span *spans;
	int64_t start = clock_ns();
	uint32_t count;
	int err = vtaprog_run(prog, RUN_NS);

	*p = (struct vtadev_bench_parts) { .total_ns = clock_ns() - start };
	if (err)
		return err;
	count = vtaprog_spans(prog, &spans, NULL);
	for (uint32_t i = 0; i < count; i++)
		add_span(p, image, &spans[i]);
	return 0;
}

static void put_inputs(struct vtaprog *prog, const struct bench_inputs *inputs)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < vtaprog_tensors(prog); i++)
		if (vtaprog_tensor(prog, i)->role == VTAIMAGE_INPUT)
			vtaprog_put(prog, i, inputs->io[n++].iov_base);
}

/* The first run is not measured. A run may overwrite its inputs, so each gets them anew. */
static int measure(struct vtaprog *prog, const struct vtaimage *image,
		   const struct bench_inputs *inputs, uint64_t runs,
		   struct vtadev_bench_parts *parts)
{
	struct vtadev_bench_parts *all = calloc(runs, sizeof(*all));
	int err = all ? 0 : -ENOMEM;

	if (!err) {
		put_inputs(prog, inputs);
		err = vtaprog_run(prog, RUN_NS);
	}
	for (uint64_t i = 0; i < runs && !err; i++) {
		put_inputs(prog, inputs);
		err = measure_run(prog, image, &all[i]);
	}
	if (!err) {
		qsort(all, runs, sizeof(*all), by_total);
		*parts = all[runs / 2];
		parts->runs = runs;
	}
	free(all);
	return err;
}

static int run_on(struct vtadev *dev, const struct vtaimage *image, uint64_t runs,
		  const struct bench_inputs *inputs, struct vtadev_bench_parts *parts,
		  char why[VTADEV_POOL_WHY_MAX])
{
	const struct vtadev_queue_opts opts = { .ring_entries = vtaprog_ring(dev, image) };
	struct vtadev_queue *queue;
	struct vtaprog *prog = NULL;
	int err = vtadev_queue_create(dev, &opts, &queue);

	if (err)
		return explain(why, "making a queue", err);
	err = vtaprog_profile(dev, queue, image, NULL, 0, &prog, why);
	if (!err) {
		err = measure(prog, image, inputs, runs, parts);
		if (err)
			explain(why, "a run failed", err);
	}
	if (!err)
		parts->clock_khz = vtadev_info(dev)->clock_khz;
	vtadev_queue_destroy(queue);
	vtaprog_free(prog);
	return err;
}

int vtadev_bench_parts(const struct vtaimage *image, const char *card, uint64_t runs,
		       const struct iovec *given, unsigned int count,
		       struct vtadev_bench_parts *parts, char why[VTADEV_POOL_WHY_MAX])
{
	struct bench_inputs inputs = { 0 };
	struct vtadev_bench_parts result;
	struct vtadev *dev = NULL;
	int err;

	why[0] = '\0';
	err = runs ? bench_inputs_make(&inputs, image, given, count) : -EINVAL;
	if (err)
		explain(why, "preparing the runs", err);
	if (!err) {
		err = vtadev_open(card, &dev);
		if (err)
			vtadev_open_text(card, why, VTADEV_POOL_WHY_MAX);
	}
	if (!err)
		err = run_on(dev, image, runs, &inputs, &result, why);
	vtadev_close(dev);
	bench_inputs_free(&inputs);
	if (!err)
		*parts = result;
	return err;
}

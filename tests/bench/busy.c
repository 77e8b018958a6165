// SPDX-License-Identifier: GPL-2.0-only
/*
 * busy.c - how busy a program keeps the card
 *
 * A program has so many jobs under way (the depth) and submits another one as
 * soon as the oldest has completed. The share is the time in which the engine
 * was at a job, over the time from the start of the first to the end of the
 * last, both by the card's stamps.
 *
 * On the card in modelled time a job lasts its cycles and takes the host no
 * time: what is missing is what driver and library did not hand over in time. In
 * real time the emulator computes on the same processors as the program, so it
 * is also what the host did not let it run; shown, but no target.
 */
#include <endian.h>
#include <stdlib.h>

#include "bench.h"
#include "job.h"

/*
 * Many short measurements: what else the machine does falls into few of them, and
 * their median does not see it. In card time, of all jobs:
 */
#define RUN_NS		2e6	/* in one measurement */
#define ROUNDS_NS	4e7	/* in all of a kind */
#define JOBS_MIN	10u
#define JOBS_MAX	200u
#define ROUNDS_MIN	3u
#define ROUNDS_MAX	21u

static const double durations_us[] = { 10, 30, 100, 300, 1000, 3000, 10000 };
static const unsigned int depths[] = { 1, 2, 8 };

#define DURATIONS	(sizeof(durations_us) / sizeof(*durations_us))
#define DEPTHS		(sizeof(depths) / sizeof(*depths))

struct setup {
	struct bench *bench;
	unsigned int card;
	struct vtadev_buf *stamps;
	double uops_per_ns;
};

static void submit(struct setup *s, struct job *job, unsigned int i)
{
	vtadev_desc_stamp(&job->desc, vtadev_buf_addr(s->stamps) +
			  i * (uint32_t)sizeof(struct vta_stamp));
	must(vtadev_submit(s->bench->queue, &job->desc, 1, NULL), "submitting a job");
}

/* The share, and what a job really took. */
static double share(struct setup *s, struct job *job, unsigned int jobs, unsigned int depth,
		    double *job_ns)
{
	static struct vta_stamp stamp[JOBS_MAX];
	uint64_t first = vtadev_submitted(s->bench->queue);
	double busy = 0, span;
	unsigned int i = 0;

	while (i < depth)
		submit(s, job, i++);
	for (unsigned int done = 1; done <= jobs; done++) {
		must(vtadev_wait(s->bench->queue, first + done, -1), "waiting for a job");
		if (i < jobs)
			submit(s, job, i++);
	}
	must(vtadev_buf_read(s->stamps, 0, stamp, jobs * sizeof(*stamp)), "reading stamps");
	for (i = 0; i < jobs; i++)
		busy += (double)(le64toh(stamp[i].end) - le64toh(stamp[i].start));
	span = (double)(le64toh(stamp[jobs - 1].end) - le64toh(stamp[0].start));
	*job_ns = busy / jobs;
	return busy / span;
}

static double within(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

static void one_duration(struct setup *s, double us, struct json_object *list)
{
	struct samples shares[DEPTHS] = { 0 }, took[DEPTHS] = { 0 };
	struct json_object *entry = json_object_new_object();
	double jobs = within(RUN_NS / (us * 1e3), JOBS_MIN, JOBS_MAX), job_ns;
	double rounds = within(ROUNDS_NS / (jobs * us * 1e3), ROUNDS_MIN, ROUNDS_MAX);
	struct counts before, after, counts;
	struct job job;
	char what[80];

	job_make(s->bench->dev, (uint64_t)(us * 1e3 * s->uops_per_ns), &job);
	for (unsigned int r = 0; r < bench_times(s->bench, (unsigned int)rounds); r++) {
		for (unsigned int d = 0; d < DEPTHS; d++) {
			sample(&shares[d], share(s, &job, (unsigned int)jobs, depths[d], &job_ns));
			sample(&took[d], job_ns);
		}
	}
	json_num(entry, "asked_us", us);
	if (s->card == BENCH_MODELLED)
		fprintf(s->bench->dat, "%g", us);
	printf("%8.0f", us);
	for (unsigned int d = 0; d < DEPTHS; d++) {
		double median = times_in(&shares[d]).median;
		struct json_object *to = json_object_new_object();

		before = counts_now(s->card);
		share(s, &job, (unsigned int)jobs, depths[d], &job_ns);
		after = counts_now(s->card);
		counts = counts_each(&before, &after, jobs);
		json_num(to, "share", median);
		json_num(to, "job_us", times_in(&took[d]).median / 1e3);
		json_object_object_add(to, "each_job", json_counts(&counts));
		snprintf(what, sizeof(what), "depth_%u", depths[d]);
		json_object_object_add(entry, what, to);
		if (s->card == BENCH_MODELLED)
			fprintf(s->bench->dat, " %.5f", median);
		printf(" %8.4f %9.1f %5.2f", median, times_in(&took[d]).median / 1e3,
		       counts.interrupts);
	}
	if (s->card == BENCH_MODELLED)
		fprintf(s->bench->dat, "\n");
	printf("\n");
	json_object_array_add(list, entry);
	job_free(&job);
	if (us < 100 || s->card != BENCH_MODELLED)
		return;
	snprintf(what, sizeof(what), "busy at depth 2, jobs of %.0f us", us);
	bench_target(s->bench, what, times_in(&shares[1]).median, AT_LEAST, 0.99);
}

static void one_card(struct bench *bench, unsigned int card, const char *name)
{
	struct json_object *list = json_object_new_array();
	struct setup s = { .bench = bench, .card = card };

	bench_open_card(bench, card);
	must(vtadev_buf_alloc(bench->dev, JOBS_MAX * sizeof(struct vta_stamp), VTADEV_HOST,
			      &s.stamps), "memory for stamps");
	/* A micro-op is a cycle of the model's. */
	s.uops_per_ns = card == BENCH_MODELLED ? vtadev_info(bench->dev)->clock_khz / 1e6 :
						job_uops_per_ns(bench->dev, bench->queue);
	printf("\nUtilisation in %s time: share of time in which the card computes, by jobs\n"
	       "under way; what a job took on the card (us), interrupts for each\n", name);
	printf("%8s %24s %24s %24s\n", "job, us", "------- depth 1 -------",
	       "------- depth 2 -------", "------- depth 8 -------");
	for (size_t i = 0; i < (bench->quick ? 3 : DURATIONS); i++)
		one_duration(&s, durations_us[i], list);
	json_object_object_add(bench->results, name, list);
	vtadev_buf_free(s.stamps);
	bench_close(bench);
}

int main(int argc, char **argv)
{
	struct bench bench;

	bench_begin(&bench, "busy", argc, argv);
	one_card(&bench, BENCH_CARD, "real");
	one_card(&bench, BENCH_MODELLED, "modelled");
	bench_end(&bench);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * scale.c - many processes on one card, and what each costs in memory
 *
 * Every process opens the card and keeps a queue of its own filled: it sleeps
 * until half of the queue is done, and submits as many again. All descriptors are
 * stamped. The completions of each process are compared, by the card's time, while all of them had
 * work: from the last one's first start to the first one's last end.
 */
#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "job.h"

#define PROCESSES_MAX	64u
#define JOBS_MAX	1024u
#define JOBS_MIN	64u	/* of each */
#define RING		32u
#define JOB_NS		100e3
#define ROUNDS		3u
#define FILES		60u	/* opened to see what they cost */

static const unsigned int processes[] = { 1, 2, 4, 8, 16, 32, 64 };

#define COUNTS		(sizeof(processes) / sizeof(*processes))

/* Memory that all processes share. */
struct shared {
	atomic_uint ready;
	atomic_bool go;
	struct {
		uint64_t start, end;
	} stamps[PROCESSES_MAX][JOBS_MAX];
};

struct setup {
	struct bench *bench;
	unsigned int card;
	unsigned int contexts;			/* of the card */
	struct shared *shared;
	double uops_per_ns;
	struct samples rates[COUNTS];		/* jobs in a second of the card's */
	struct samples spreads[COUNTS];		/* most / least of one process */
	struct samples busy[COUNTS];		/* share of time in which the card computed */
	struct counts counts[COUNTS];		/* for each job */
};

/* ---- One of many ---- */

static void submit(struct bench *own, struct job *job, struct vtadev_buf *stamps,
		   unsigned int first, unsigned int n)
{
	struct vta_desc descs[RING];

	for (unsigned int i = 0; i < n; i++) {
		descs[i] = job->desc;
		vtadev_desc_stamp(&descs[i], vtadev_buf_addr(stamps) +
				  (first + i) * (uint32_t)sizeof(struct vta_stamp));
	}
	must(vtadev_submit(own->queue, descs, n, NULL), "submitting");
}

static void process(struct setup *s, unsigned int me, unsigned int jobs)
{
	const struct vtadev_queue_opts opts = { .ring_entries = RING, .spin_ns = -1 };
	struct vta_stamp *stamp;
	struct vtadev_buf *stamps;
	struct bench own = { 0 };
	unsigned int submitted = RING;
	struct job job;
	char which[16];
	void *ptr;

	snprintf(which, sizeof(which), "%u", s->card);
	must(vtadev_open(which, &own.dev), "opening the card");
	must(vtadev_queue_create(own.dev, &opts, &own.queue), "making a queue");
	must(vtadev_buf_alloc(own.dev, jobs * sizeof(*stamp), VTADEV_HOST, &stamps), "stamps");
	must(vtadev_buf_map(stamps, &ptr), "mapping stamps");
	stamp = ptr;
	job_make(own.dev, (uint64_t)(JOB_NS * s->uops_per_ns), &job);

	atomic_fetch_add(&s->shared->ready, 1);
	while (!atomic_load(&s->shared->go))
		usleep(200);
	submit(&own, &job, stamps, 0, RING);
	for (; submitted < jobs; submitted += RING / 2) {
		must(vtadev_wait(own.queue, submitted - RING / 2, -1), "waiting");
		submit(&own, &job, stamps, submitted, RING / 2);
	}
	must(vtadev_sync(own.queue, -1), "waiting");
	for (unsigned int i = 0; i < jobs; i++) {
		s->shared->stamps[me][i].start = le64toh(stamp[i].start);
		s->shared->stamps[me][i].end = le64toh(stamp[i].end);
	}
	/* Its end frees all. */
	_exit(0);
}

/* ---- All of them ---- */

static void reap(const pid_t *pids, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		int status;

		must(waitpid(pids[i], &status, 0) < 0 ? -errno : 0, "waiting for a process");
		must(status ? -ECHILD : 0, "a process failed");
	}
}

/* True if all ran at the same time: one may be delayed until the others are done. */
static bool one_run(struct setup *s, unsigned int index)
{
	unsigned int n = processes[index], all = 0, most = 0, least = JOBS_MAX;
	unsigned int jobs = JOBS_MAX / n < JOBS_MIN ? JOBS_MIN : JOBS_MAX / n;
	uint64_t from = 0, to = UINT64_MAX, busy = 0;
	pid_t pids[PROCESSES_MAX];
	struct counts before, after;

	s->shared->ready = 0;
	s->shared->go = false;
	fflush(stdout);
	for (unsigned int i = 0; i < n; i++) {
		pids[i] = fork();
		must(pids[i] < 0 ? -errno : 0, "fork");
		if (!pids[i])
			process(s, i, jobs);
	}
	while (atomic_load(&s->shared->ready) < n) {
		must(waitpid(-1, NULL, WNOHANG) > 0 ? -ECHILD : 0, "a process failed");
		usleep(1000);
	}
	before = counts_now(s->card);
	atomic_store(&s->shared->go, true);
	reap(pids, n);
	after = counts_now(s->card);

	for (unsigned int i = 0; i < n; i++) {
		if (s->shared->stamps[i][0].start > from)
			from = s->shared->stamps[i][0].start;
		if (s->shared->stamps[i][jobs - 1].end < to)
			to = s->shared->stamps[i][jobs - 1].end;
	}
	if (from >= to)
		return false;
	s->counts[index] = counts_each(&before, &after, (double)n * jobs);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int done = 0;

		for (unsigned int j = 0; j < jobs; j++) {
			uint64_t start = s->shared->stamps[i][j].start;
			uint64_t end = s->shared->stamps[i][j].end;

			if (start < from || end > to)
				continue;
			done++;
			busy += end - start;
		}
		all += done;
		most = done > most ? done : most;
		least = done < least ? done : least;
	}
	sample(&s->busy[index], (double)busy / (double)(to - from));
	sample(&s->rates[index], all * 1e9 / (double)(to - from));
	sample(&s->spreads[index], (double)most / (least ? least : 1));
	return true;
}

static void measure(struct setup *s, unsigned int sizes)
{
	struct bench *bench = s->bench;

	s->shared = must_ptr(mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0), "shared memory");
	bench_open_card(bench, s->card);
	s->contexts = vtadev_info(bench->dev)->contexts;
	s->uops_per_ns = s->card == BENCH_MODELLED ?
			 vtadev_info(bench->dev)->clock_khz / 1e6 :
			 job_uops_per_ns(bench->dev, bench->queue);
	/* All contexts are for the processes. */
	bench_close(bench);

	for (unsigned int r = 0; r < bench_times(bench, ROUNDS); r++)
		for (unsigned int i = 0; i < sizes; i++)
			for (unsigned int t = 0; processes[i] <= s->contexts && !one_run(s, i); t++)
				must(t < 9 ? 0 : -ERANGE, "processes never ran at the same time");
	munmap(s->shared, sizeof(*s->shared));
}

static void aim_at(struct bench *bench, unsigned int n, double ratio, double spread)
{
	char what[80];

	fprintf(bench->dat, "%u %g %g\n", n, ratio, spread);
	snprintf(what, sizeof(what), "sum of %u processes / one alone", n);
	bench_target(bench, what, ratio, AT_LEAST, 0.98);
	snprintf(what, sizeof(what), "most / least of %u processes", n);
	bench_target(bench, what, spread, AT_MOST, 1.1);
}

static struct json_object *report_results(struct setup *s, unsigned int index)
{
	double alone = times_in(&s->rates[0]).median, rate = times_in(&s->rates[index]).median;
	double spread = times_in(&s->spreads[index]).median;
	double busy = times_in(&s->busy[index]).median;
	const struct counts *counts = &s->counts[index];
	struct json_object *to = json_object_new_object();

	printf("%4u %10.1f/s %8.4f %8.4f %8.4f %8.3f %8.3f\n", processes[index], rate, rate / alone,
	       spread, busy, counts->doorbells, counts->interrupts);
	json_num(to, "processes", processes[index]);
	json_num(to, "jobs_per_s", rate);
	json_num(to, "ratio", rate / alone);
	json_num(to, "most_by_least", spread);
	json_num(to, "busy", busy);
	json_object_object_add(to, "each_job", json_counts(counts));
	if (s->card == BENCH_MODELLED)
		aim_at(s->bench, processes[index], rate / alone, spread);
	return to;
}

static void one_card(struct bench *bench, unsigned int card, const char *name)
{
	struct json_object *list = json_object_new_array();
	unsigned int sizes = bench->quick ? 2 : COUNTS;
	static struct setup s;

	memset(&s, 0, sizeof(s));
	s.bench = bench;
	s.card = card;
	measure(&s, sizes);

	printf("\nProcesses on one card, in %s time: jobs of %.0f us, their rate over that of one\n"
	       "process alone, most / least of one process, share of time in which the card\n"
	       "computes, doorbells and interrupts for a job\n", name, JOB_NS / 1e3);
	for (unsigned int i = 0; i < sizes; i++) {
		if (processes[i] <= s.contexts)
			json_object_array_add(list, report_results(&s, i));
		else
			printf("%4u SKIP: the card has %u contexts\n", processes[i], s.contexts);
	}
	json_object_object_add(bench->results, name, list);
}

/* ---- Memory ---- */

static double number_in(const char *path, const char *name)
{
	FILE *file = must_ptr(fopen(path, "r"), path);
	char line[128];
	double value = -1;

	while (value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			value = atof(line + strlen(name));
	fclose(file);
	must(value < 0 ? -ENOENT : 0, path);
	return value;
}

/* Memory of the driver for the card, by its own report and by the kernel's objects. */
struct memory {
	double host, tables, slab;
};

static struct memory memory_now(void)
{
	struct memory now;
	FILE *refresh;

	/* The kernel counts for each processor, and adds up on request. */
	refresh = fopen("/proc/sys/vm/stat_refresh", "r");
	if (refresh) {
		fgetc(refresh);
		fclose(refresh);
	}
	now.host = number_in("/sys/class/vta/vta0/host_bytes", "");
	now.tables = number_in("/sys/class/vta/vta0/page_table_bytes", "");
	now.slab = 1024 * number_in("/proc/meminfo", "SUnreclaim:");
	return now;
}

static void tell_memory(struct bench *bench, const char *name, const struct memory *before)
{
	struct json_object *to = json_sub(bench->results, name);
	struct memory now = memory_now();

	printf("%-12s %12.0f %12.0f %12.0f\n", name, (now.host - before->host) / FILES,
	       (now.tables - before->tables) / FILES, (now.slab - before->slab) / FILES);
	json_num(to, "host_bytes", (now.host - before->host) / FILES);
	json_num(to, "page_table_bytes", (now.tables - before->tables) / FILES);
	json_num(to, "slab_bytes", (now.slab - before->slab) / FILES);
}

static void what_they_cost(struct bench *bench)
{
	struct vtadev_queue *queues[FILES];
	struct vtadev *devs[FILES];
	struct memory before;

	printf("\nBytes of memory, by the driver's own account and (slab) by the kernel's, which\n"
	       "counts all that happens meanwhile; a queue has a ring of %u descriptors\n",
	       VTADEV_RING_ENTRIES_DEFAULT);
	printf("%-12s %12s %12s %12s\n", "for each", "buffers", "page tables", "slab");
	/* Once before, so that what stays is there. */
	must(vtadev_open("0", &devs[0]), "opening the card");
	must(vtadev_queue_create(devs[0], NULL, &queues[0]), "making a queue");
	vtadev_queue_destroy(queues[0]);
	vtadev_close(devs[0]);

	before = memory_now();
	for (unsigned int i = 0; i < FILES; i++)
		must(vtadev_open("0", &devs[i]), "opening the card");
	tell_memory(bench, "open_file", &before);
	before = memory_now();
	for (unsigned int i = 0; i < FILES; i++)
		must(vtadev_queue_create(devs[i], NULL, &queues[i]), "making a queue");
	tell_memory(bench, "queue", &before);
	for (unsigned int i = 0; i < FILES; i++) {
		vtadev_queue_destroy(queues[i]);
		vtadev_close(devs[i]);
	}
}

int main(int argc, char **argv)
{
	struct bench bench;

	bench_begin(&bench, "scale", argc, argv);
	one_card(&bench, BENCH_CARD, "real");
	one_card(&bench, BENCH_MODELLED, "modelled");
	what_they_cost(&bench);
	bench_end(&bench);
	return 0;
}

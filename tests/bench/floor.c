// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor.c - what a launch costs, from call to return, above the least possible
 *
 * A descriptor is launched and waited for: by a bare module (floor_module), within the
 * kernel, that knows nothing but the registers; by a bare program, that knows nothing but a queue's
 * ring, doorbell and status page; and by the library, as a program does it. Module and programs
 * have a card each, take turns, and exchange cards again and again. All spin on
 * the status page until a NOP is done, and sleep until the interrupt of a job
 * that is too long to be done before they sleep; if it was done nevertheless, because this machine
 * was busy, the launch does not count. The times compared exclude the descriptor's own execution,
 * by its stamp.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "floor_module/vta_floor.h"
#include "job.h"
#include "queue.h"

/* Cards are exchanged twice in a part, and there are parts until both ratios are clear. */
#define PARTS_LEAST	4u
#define PARTS_MOST	16u
/* With a card. */
#define ROUNDS		10u
#define ROUNDS_MOST	1000u	/* until a thread has slept */
/* In a round. */
#define LAUNCHES_SHORT	32u
#define LAUNCHES_LONG	16u
#define COUNTED		VTA_FLOOR_LAUNCHES
#define SPIN_NS		2000000000
#define JOB_NS		2e6
/*
 * Sleeping launches are compared by the time below which so many are: other programs on the
 * machine make the rest slower.
 */
#define UNDISTURBED	0.1
#define SPINNING_MOST	1.05
#define SLEEPING_MOST	1.15

enum way {
	FLOOR_SPIN, FLOOR_PROGRAM, OURS_SPIN, OURS_SHORT,
	FLOOR_SLEEP, FLOOR_CALL, OURS_SLEEP, OURS_LONG, WAYS
};

static const struct {
	const char *name;
	bool floor;		/* by the bare module */
	bool bare;		/* by the bare program */
	bool job;
	bool sleep;
	bool call;		/* one system call for each launch, timed by the program */
	int32_t spin_ns;	/* ours */
} ways[WAYS] = {
	[FLOOR_SPIN]	= { .name = "floor_spinning", .floor = true },
	[FLOOR_PROGRAM]	= { .name = "floor_by_program", .bare = true },
	[OURS_SPIN]	= { .name = "ours_spinning", .spin_ns = SPIN_NS },
	[OURS_SHORT]	= { .name = "ours_by_default", .spin_ns = 0 },
	[FLOOR_SLEEP]	= { .name = "floor_sleeping", .floor = true, .job = true, .sleep = true },
	[FLOOR_CALL]	= { .name = "floor_by_call", .floor = true, .job = true, .sleep = true,
			    .call = true },
	[OURS_SLEEP]	= { .name = "ours_sleeping", .job = true, .sleep = true, .spin_ns = -1 },
	[OURS_LONG]	= { .name = "ours_by_default_long", .job = true, .spin_ns = 0 },
};

struct setup {
	struct bench *bench;
	char cards[2][16];		/* PCI addresses: BENCH_CARD, BENCH_OTHER */
	int floor_fd;
	struct vtadev *dev;
	struct vtadev_queue *queues[WAYS];
	struct job job;
	struct vtadev_buf *stamp;
	const struct vta_stamp *stamped;
	double uops_per_ns;
	struct samples took[WAYS], net[WAYS];
	struct samples here[WAYS];		/* net, with these cards */
	struct samples pairs;			/* spinning, ours / the program's beside it */
	/* Ours / floor, one for each part; in_kernel: without the floor's system call. */
	struct samples spinning, sleeping, in_kernel;
	struct counts counts[WAYS];
};

/* ---- Which driver has which card ---- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		must(-errno, path);
	close(fd);
}

static void change_driver(const char *card, const char *from, const char *to)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/unbind", from);
	write_file(path, card);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override", card);
	write_file(path, to);
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/bind", to);
	write_file(path, card);
}

static int by_pci(const void *a, const void *b)
{
	const struct vtadev_card *x = a, *y = b;

	return strcmp(x->pci, y->pci);
}

static void find_cards(struct setup *s)
{
	struct vtadev_card *cards;
	int n = vtadev_list(&cards);

	must(n < 2 ? -ENOENT : 0, "finding two cards");
	qsort(cards, (size_t)n, sizeof(*cards), by_pci);
	for (unsigned int i = 0; i < 2; i++)
		memcpy(s->cards[i], cards[i].pci, sizeof(s->cards[i]));
	vtadev_list_free(cards);
}

/* ---- Launches ---- */

static void keep(struct setup *s, enum way w, double ns, double job_ns, bool slept)
{
	if (ways[w].sleep && !slept)
		return;
	sample(&s->took[w], ns);
	sample(&s->net[w], ns - job_ns);
	sample(&s->here[w], ns - job_ns);
}

/* The number of times that this thread gave up the processor to wait. */
static long times_slept(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Only this launches on @queue, so that the library's counter is free. */
static void launch_bare(struct vtadev_queue *queue, const struct vta_desc *desc)
{
	uint64_t submitted = atomic_load_explicit(&queue->submitted, memory_order_relaxed);

	queue->ring[submitted++ & (queue->entries - 1)] = *desc;
	atomic_store_explicit(&queue->submitted, submitted, memory_order_relaxed);
	arch_wmb();
	*queue->doorbell = htole32((uint32_t)submitted);
	while (le64toh(__atomic_load_n(&queue->status->status.seq, __ATOMIC_ACQUIRE)) < submitted)
		arch_relax();
}

/* The descriptor is that of the last run. */
static void floor_calls(struct setup *s, enum way w, unsigned int launches, bool timed)
{
	for (unsigned int i = 0; i < launches; i++) {
		long slept = times_slept();
		double start = now_ns(), ns;
		int job_ns = ioctl(s->floor_fd, VTA_FLOOR_IOCTL_LAUNCH);

		ns = now_ns() - start;
		must(job_ns < 0 ? -errno : 0, "launching by a call of the bare module");
		if (timed)
			keep(s, w, ns, job_ns, times_slept() > slept);
	}
}

static void floor_launches(struct setup *s, enum way w, unsigned int launches, bool timed)
{
	struct vta_floor_run run = {
		.launches = launches,
		.flags = (ways[w].sleep ? VTA_FLOOR_SLEEP : 0) |
			 (ways[w].job ? VTA_FLOOR_JOB : 0),
	};

	memcpy(run.insns, s->job.insns, sizeof(run.insns));
	if (ways[w].call)
		run.launches = 1;
	if (ioctl(s->floor_fd, VTA_FLOOR_IOCTL_RUN, &run))
		must(-errno, "launching by the bare module");
	if (ways[w].call) {
		floor_calls(s, w, launches, timed);
		return;
	}
	for (unsigned int i = 0; timed && i < launches; i++)
		keep(s, w, (double)run.ns[i], (double)run.job_ns[i], run.slept[i]);
}

static void our_launches(struct setup *s, enum way w, unsigned int launches, bool timed)
{
	struct vta_desc desc = ways[w].job ? s->job.desc : vtadev_desc_nop();

	vtadev_desc_stamp(&desc, vtadev_buf_addr(s->stamp));
	for (unsigned int i = 0; i < launches; i++) {
		/* A system call before a launch that makes none would cost it its caches. */
		long slept = ways[w].sleep ? times_slept() : 0;
		double start = now_ns(), ns;
		uint64_t seq;

		if (ways[w].bare) {
			launch_bare(s->queues[w], &desc);
		} else {
			must(vtadev_submit(s->queues[w], &desc, 1, &seq), "submitting");
			must(vtadev_wait(s->queues[w], seq, -1), "waiting");
		}
		ns = now_ns() - start;
		if (timed)
			keep(s, w, ns, (double)(le64toh(s->stamped->end) -
						  le64toh(s->stamped->start)),
			     ways[w].sleep && times_slept() > slept);
	}
}

static void launches(struct setup *s, enum way w, unsigned int n, bool timed)
{
	if (ways[w].floor)
		floor_launches(s, w, n, timed);
	else
		our_launches(s, w, n, timed);
}

/* Launches that are not timed, between two readings of the card's counters. */
static void count(struct setup *s, enum way w, unsigned int floor_card)
{
	unsigned int card = ways[w].floor ? floor_card : !floor_card;
	struct counts before = counts_now(card), after;

	launches(s, w, COUNTED, false);
	after = counts_now(card);
	s->counts[w] = counts_each(&before, &after, COUNTED);
}

/* Launches in turns, one by one, so that what else the machine does affects both alike. */
static void take_turns(struct setup *s, enum way a, enum way b, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		launches(s, i & 1 ? a : b, 1, true);
		launches(s, i & 1 ? b : a, 1, true);
	}
}

/* Spinning launches all count, so that those of a turn stand at the same place. */
static void sample_pairs(struct setup *s)
{
	const struct samples *ours = &s->here[OURS_SPIN], *floor = &s->here[FLOOR_PROGRAM];

	s->pairs.count = 0;
	for (unsigned int i = 0; i < ours->count; i++)
		sample(&s->pairs, ours->ns[i] / floor->ns[i]);
}

/* No measurement always follows the same other one. */
static void one_round(struct setup *s, unsigned int r)
{
	static const enum way alone[] = { FLOOR_SPIN, OURS_SHORT, FLOOR_SLEEP, OURS_LONG };
	const unsigned int n = sizeof(alone) / sizeof(*alone);

	take_turns(s, OURS_SPIN, FLOOR_PROGRAM, LAUNCHES_SHORT);
	take_turns(s, OURS_SLEEP, FLOOR_CALL, LAUNCHES_LONG);
	for (unsigned int i = 0; i < n; i++) {
		enum way w = alone[(i + r) % n];

		launches(s, w, ways[w].job ? LAUNCHES_LONG : LAUNCHES_SHORT, true);
	}
}

static void open_ours(struct setup *s, const char *card)
{
	void *ptr;

	must(vtadev_open(card, &s->dev), "opening a card");
	for (enum way w = 0; w < WAYS; w++) {
		const struct vtadev_queue_opts opts = { .spin_ns = ways[w].spin_ns };

		if (!ways[w].floor)
			must(vtadev_queue_create(s->dev, &opts, &s->queues[w]), "making a queue");
	}
	must(vtadev_buf_alloc(s->dev, sizeof(*s->stamped), VTADEV_HOST, &s->stamp), "a stamp");
	must(vtadev_buf_map(s->stamp, &ptr), "mapping a stamp");
	s->stamped = ptr;
	if (!s->uops_per_ns)
		s->uops_per_ns = job_uops_per_ns(s->dev, s->queues[OURS_SPIN]);
	job_make(s->dev, (uint64_t)(JOB_NS * s->uops_per_ns), &s->job);
}

static void close_ours(struct setup *s)
{
	job_free(&s->job);
	vtadev_buf_free(s->stamp);
	for (enum way w = 0; w < WAYS; w++)
		vtadev_queue_destroy(s->queues[w]);
	vtadev_close(s->dev);
}

/* Sleeping launches count only if the thread has slept. */
static bool is_measured(const struct setup *s)
{
	return s->here[OURS_SLEEP].count && s->here[FLOOR_CALL].count &&
	       s->here[FLOOR_SLEEP].count;
}

static void with_floor_on(struct setup *s, unsigned int floor_card)
{
	change_driver(s->cards[floor_card], "vta", "vta_floor");
	s->floor_fd = open("/dev/vta_floor", O_RDWR | O_CLOEXEC);
	must(s->floor_fd < 0 ? -errno : 0, "opening /dev/vta_floor");
	open_ours(s, s->cards[!floor_card]);

	for (enum way w = 0; w < WAYS; w++)
		s->here[w].count = 0;
	for (unsigned int r = 0; r < bench_times(s->bench, ROUNDS) ||
	     (r < ROUNDS_MOST && !is_measured(s)); r++)
		one_round(s, r);
	/* The same in each part. */
	for (enum way w = 0; w < WAYS && !s->spinning.count; w++)
		count(s, w, floor_card);

	close_ours(s);
	close(s->floor_fd);
	change_driver(s->cards[floor_card], "vta_floor", "vta");
}

/* Ours / floor with the present cards, of launches that were not disturbed. */
static double sleeping_ratio(struct setup *s, enum way floor)
{
	return quantile_of(&s->here[OURS_SLEEP], UNDISTURBED) /
	       quantile_of(&s->here[floor], UNDISTURBED);
}

/* Each has each of the cards, so that no card's own speed is in the ratios. */
static void one_part(struct setup *s)
{
	double spinning = 1, sleeping = 1, in_kernel = 1;

	for (unsigned int card = BENCH_CARD; card <= BENCH_OTHER; card++) {
		with_floor_on(s, card);
		sample_pairs(s);
		spinning *= times_in(&s->pairs).median;
		sleeping *= sleeping_ratio(s, FLOOR_CALL);
		in_kernel *= sleeping_ratio(s, FLOOR_SLEEP);
	}
	sample(&s->spinning, sqrt(spinning));
	sample(&s->sleeping, sqrt(sleeping));
	sample(&s->in_kernel, sqrt(in_kernel));
}

static bool is_clear(const struct setup *s)
{
	const struct ratio spinning = ratio_in(&s->spinning), sleeping = ratio_in(&s->sleeping);

	return ratio_is_clear(&spinning, SPINNING_MOST) && ratio_is_clear(&sleeping, SLEEPING_MOST);
}

/* ---- Results ---- */

static struct ratio report_ratio(struct setup *s, const char *name, const struct samples *samples)
{
	struct json_object *to = json_sub(s->bench->results, name);
	struct ratio ratio = ratio_in(samples);

	printf("%s: %.3f (%.3f to %.3f, %u parts)\n", name, ratio.mean, ratio.low, ratio.high,
	       samples->count);
	json_num(to, "mean", ratio.mean);
	if (samples->count > 1) {
		json_num(to, "low", ratio.low);
		json_num(to, "high", ratio.high);
	}
	return ratio;
}

static void report_results(struct setup *s)
{
	struct ratio spinning, sleeping;
	struct times took[WAYS], net[WAYS];

	printf("\nA launch and its end (us, medians), in all and but for the\n"
	       "descriptor's own time; and what crosses the bus for it\n");
	printf("%-21s %9s %9s %7s %7s %9s %5s %10s\n", "", "in all", "net", "reads", "writes",
	       "doorbells", "arms", "interrupts");
	for (enum way w = 0; w < WAYS; w++) {
		const struct counts *counts = &s->counts[w];
		struct json_object *to;

		took[w] = times_in(&s->took[w]);
		net[w] = times_in(&s->net[w]);
		printf("%-21s %9.1f %9.1f %7.2f %7.2f %9.2f %5.2f %10.2f\n", ways[w].name,
		       took[w].median / 1e3, net[w].median / 1e3, counts->mmio_reads,
		       counts->mmio_writes, counts->doorbells, counts->arms, counts->interrupts);
		to = json_sub(s->bench->results, ways[w].name);
		json_object_object_add(to, "in_all", json_times(took[w]));
		json_object_object_add(to, "net", json_times(net[w]));
		json_object_object_add(to, "each_launch", json_counts(counts));
		fprintf(s->bench->dat, "%s %g\n", ways[w].name, net[w].median / 1e3);
	}
	printf("Ours / floor (mean, confidence interval of 95 %%)\n");
	spinning = report_ratio(s, "spinning", &s->spinning);
	sleeping = report_ratio(s, "sleeping", &s->sleeping);
	report_ratio(s, "sleeping_to_floor_in_kernel", &s->in_kernel);
	bench_target(s->bench, "launch and wait by spinning, ours / floor", spinning.mean,
		     AT_MOST, SPINNING_MOST);
	bench_target(s->bench, "launch and wait by sleeping, ours / floor", sleeping.mean,
		     AT_MOST, SLEEPING_MOST);
}

int main(int argc, char **argv)
{
	static struct setup s;
	struct bench bench;

	bench_begin(&bench, "floor", argc, argv);
	s.bench = &bench;
	find_cards(&s);
	for (unsigned int i = 0; i < bench_times(&bench, PARTS_MOST) &&
	     (i < PARTS_LEAST || !is_clear(&s)); i++)
		one_part(&s);
	report_results(&s);
	bench_end(&bench);
	return 0;
}

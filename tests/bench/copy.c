// SPDX-License-Identifier: GPL-2.0-only
/*
 * copy.c - how fast the card copies, and the library's transfers
 *
 * The table's yardstick is a memcpy of as many bytes by the emulator itself: a ratio of 1
 * is as fast as this machine copies. Copies by the card are timed by the card, in
 * batches that are submitted by one doorbell; transfers by the program, each from
 * call to return. All of them take turns, so that what else the machine does
 * slows them alike, and the least of each is compared.
 *
 * Targets are ratios of parts: the card's copies right after memcpys of the same bytes, which
 * lie in the same pages and caches; the library's transfers after memcpys of as many. Parts are
 * added until the confidence interval of each ratio is on one side of the target.
 */
#include <sys/mman.h>

#include "memory.h"

#define BATCH_MAX	128u
#define BATCH_MIN	4u
#define BATCH_BYTES	(64 * MIB)
/* Copies from this size on are timed one by one, as the emulator's memcpy. */
#define ALONE		MIB
#define ROUNDS		5u	/* in a set: at least */
#define ROUNDS_MOST	60u
#define REPEATS		3u	/* in a round */

static const size_t sizes[] = {
	64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10,
	1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB,
};

#define SIZES		(sizeof(sizes) / sizeof(*sizes))
#define TARGET		0.95
#define TARGET_MIN	MIB
#define SIZES_QUICK	3
#define LARGEST		(64 * MIB)

struct setup {
	struct bench *bench;
	struct vtadev_buf *host, *card, *card2, *pinned, *scattered, *stamps;
	char *user, *pages;
	double *worst;		/* least ratio of each column from TARGET_MIN on; 0: none yet */
};

struct job {
	const struct setup *setup;
	struct vtadev_buf *dst, *src;
	size_t bytes;
	int upload;
};

static size_t batch(size_t bytes)
{
	size_t n = BATCH_BYTES / bytes;

	if (n < BATCH_MIN)
		return BATCH_MIN;
	return n < BATCH_MAX ? n : BATCH_MAX;
}

static double end_of(const struct vta_stamp *stamp)
{
	return (double)le64toh(stamp->end);
}

/*
 * As the yardstick: what is timed at once is a copy, or as many small ones as
 * are a batch. From end to end, so that all a descriptor takes is in it. A
 * batch's first copy is not timed: it brings memory into caches, where the
 * yardstick's is too.
 */
static void card_copies(const struct job *job, struct samples *samples)
{
	struct vtadev_queue *queue = job->setup->bench->queue;
	struct vtadev_buf *stamps = job->setup->stamps;
	struct vta_stamp stamp[1 + BATCH_MAX];
	struct vta_desc descs[1 + BATCH_MAX];
	size_t n = batch(job->bytes), step = job->bytes < ALONE ? n : 1;
	uint64_t seq;

	for (size_t i = 0; i <= n; i++)
		descs[i] = vtadev_desc_copy(vtadev_buf_addr(job->dst), vtadev_buf_addr(job->src),
					    (uint32_t)job->bytes);
	for (size_t i = 0; i <= n; i += step)
		vtadev_desc_stamp(&descs[i], vtadev_buf_addr(stamps) +
				  (uint32_t)(i * sizeof(*stamp)));
	must(vtadev_submit(queue, descs, (unsigned int)n + 1, &seq), "submitting copies");
	must(vtadev_wait(queue, seq, -1), "waiting for copies");
	must(vtadev_buf_read(stamps, 0, stamp, sizeof(stamp)), "reading stamps");
	for (size_t i = step; i <= n; i += step)
		sample(samples, (end_of(&stamp[i]) - end_of(&stamp[i - step])) / (double)step);
}

static double transfer(const struct job *job)
{
	const struct setup *s = job->setup;
	double start = now_ns();

	if (job->upload)
		must(vtadev_upload(s->bench->queue, s->card, 0, s->user, job->bytes), "upload");
	else
		must(vtadev_download(s->bench->queue, s->card, 0, s->user, job->bytes), "download");
	return now_ns() - start;
}

static double field(struct json_object *of, const char *name)
{
	struct json_object *value;

	must(json_object_object_get_ex(of, name, &value) ? 0 : -1, "the emulator's answer");
	return json_object_get_double(value);
}

static struct times asked_times(const char *request)
{
	struct json_object *answer = emulator_ask(0, request);
	struct times times = { field(answer, "least_ns"), field(answer, "median_ns") };

	json_object_put(answer);
	return times;
}

static struct times memcpy_times(size_t bytes)
{
	char request[64];

	snprintf(request, sizeof(request), "memcpy %zu", bytes);
	return asked_times(request);
}

/* The card's number of the context that the only queue is in. */
static int context_nr(void)
{
	struct json_object *answer = emulator_ask(0, "state"), *queues, *context;
	int nr;

	must(json_object_object_get_ex(answer, "queues", &queues) &&
	     json_object_array_length(queues) == 1 &&
	     json_object_object_get_ex(json_object_array_get_idx(queues, 0), "context", &context) ?
	     0 : -1, "the emulator's answer");
	nr = json_object_get_int(context);
	json_object_put(answer);
	return nr;
}

static struct times same_bytes_times(const struct job *job)
{
	char request[96];

	snprintf(request, sizeof(request), "memcpy-of %d,%x,%x,%zu", context_nr(),
		 vtadev_buf_addr(job->dst), vtadev_buf_addr(job->src), job->bytes);
	return asked_times(request);
}

enum { COLUMNS = 9 };

static const struct column {
	const char *direction;
	const char *way;
} columns[COLUMNS] = {
	{ "host_to_card", "coherent" }, { "host_to_card", "pinned" },
	{ "host_to_card", "scattered" }, { "host_to_card", "library" },
	{ "card_to_host", "coherent" }, { "card_to_host", "pinned" },
	{ "card_to_host", "scattered" }, { "card_to_host", "library" },
	{ "card_to_card", "card" },
};

#define TO_CARD(column)	((column) < 4)

static int is_scattered(unsigned int column)
{
	return columns[column].way[0] == 's';
}

/* The program's clock counts a guest's instructions, which are slower than the emulator's. */
static int is_library(unsigned int column)
{
	return columns[column].way[0] == 'l';
}

/* docs/bench.md says why others have none. */
static bool has_target(const struct setup *s, unsigned int column)
{
	return !is_scattered(column) && (!is_library(column) || s->bench->slowness <= 1);
}

static struct job column_job(const struct setup *s, unsigned int column, size_t bytes)
{
	struct vtadev_buf *host = is_scattered(column) ? s->scattered :
				  columns[column].way[0] == 'p' ? s->pinned : s->host;
	struct job job = { .setup = s, .bytes = bytes, .upload = TO_CARD(column) };

	job.dst = TO_CARD(column) ? s->card : column + 1 < COLUMNS ? host : s->card2;
	job.src = TO_CARD(column) ? host : s->card;
	return job;
}

/* One column of a row: times, those of memcpys of the same bytes, and the ratios of parts. */
struct cell {
	struct samples times, same, parts;
};

static bool has_same(const struct setup *s, unsigned int column, size_t bytes)
{
	return !is_library(column) &&
	       (is_scattered(column) || (bytes >= TARGET_MIN && has_target(s, column)));
}

/* A part; adds nothing for what cannot be measured here. */
static void measure_cell(const struct setup *s, unsigned int column, size_t bytes,
			 const struct times *yardstick, struct cell *cell)
{
	struct job job = column_job(s, column, bytes);
	struct times reference = *yardstick;
	static struct samples now;

	if (!job.dst || !job.src)
		return;
	if (has_same(s, column, bytes)) {
		reference = same_bytes_times(&job);
		sample(&cell->same, reference.least);
	}
	now.count = 0;
	for (unsigned int i = 0; i < REPEATS; i++) {
		if (is_library(column))
			sample(&now, transfer(&job));
		else
			card_copies(&job, &now);
	}
	for (unsigned int i = 0; i < now.count; i++)
		sample(&cell->times, now.ns[i]);
	sample(&cell->parts, reference.least / times_in(&now).least);
}

static bool is_clear(const struct setup *s, const struct cell *cells)
{
	for (unsigned int i = 0; i < COLUMNS; i++) {
		struct ratio ratio;

		if (!has_target(s, i) || !cells[i].parts.count)
			continue;
		ratio = ratio_in(&cells[i].parts);
		if (!ratio_is_clear(&ratio, TARGET))
			return false;
	}
	return true;
}

/* As in the heading. */
static int width(unsigned int column)
{
	static const int widths[] = { 8, 6, 9, 6, 8, 6, 9, 6, 7 };

	return widths[column];
}

/* The ratios are printed, and go into the results. */
static void report_cell(const struct setup *s, struct json_object *entry, unsigned int column,
			size_t bytes, struct times yardstick, struct cell *cell)
{
	struct json_object *to, *way;
	struct times times;
	double ratio;

	if (!json_object_object_get_ex(entry, columns[column].direction, &to))
		to = json_sub(entry, columns[column].direction);
	if (!cell->times.count) {
		json_object_object_add(to, columns[column].way, NULL);
		printf(is_scattered(column) ? " %*s (%5s)" : " %*s", width(column), "SKIP", "SKIP");
		fprintf(s->bench->dat, is_scattered(column) ? " NaN NaN" : " NaN");
		return;
	}
	times = times_in(&cell->times);
	way = json_times(times);
	ratio = yardstick.least / times.least;
	json_num(way, "ratio", ratio);
	printf(" %*.3f", width(column), ratio);
	fprintf(s->bench->dat, " %.4f", ratio);
	if (is_scattered(column)) {
		ratio = times_in(&cell->same).least / times.least;
		json_object_object_add(way, "memcpy_of_same_pages",
				       json_times(times_in(&cell->same)));
		json_num(way, "ratio_to_same_pages", ratio);
		printf(" (%.3f)", ratio);
		fprintf(s->bench->dat, " %.4f", ratio);
	}
	if (bytes >= TARGET_MIN && has_target(s, column)) {
		struct ratio parts = ratio_in(&cell->parts);

		json_num(way, "parts", cell->parts.count);
		json_num(way, "ratio_of_parts", parts.mean);
		if (!s->worst[column] || parts.mean < s->worst[column])
			s->worst[column] = parts.mean;
	}
	json_object_object_add(to, columns[column].way, way);
}

static void one_size(const struct setup *s, size_t bytes, struct json_object *list)
{
	static struct samples memcpys, medians;
	static struct cell cells[COLUMNS];
	struct json_object *entry = json_object_new_object();
	struct times yardstick;

	memcpys.count = 0;
	medians.count = 0;
	for (unsigned int i = 0; i < COLUMNS; i++) {
		cells[i].times.count = 0;
		cells[i].same.count = 0;
		cells[i].parts.count = 0;
	}
	for (unsigned int r = 0; r < bench_times(s->bench, ROUNDS) ||
	     (bytes >= TARGET_MIN && r < bench_times(s->bench, ROUNDS_MOST) && !is_clear(s, cells));
	     r++) {
		yardstick = memcpy_times(bytes);
		sample(&memcpys, yardstick.least);
		sample(&medians, yardstick.median);
		for (unsigned int i = 0; i < COLUMNS; i++)
			measure_cell(s, i, bytes, &yardstick, &cells[i]);
	}
	yardstick.least = times_in(&memcpys).least;
	yardstick.median = times_in(&medians).median;

	json_object_object_add(entry, "bytes", json_object_new_int64((int64_t)bytes));
	json_object_object_add(entry, "memcpy", json_times(yardstick));
	printf("%8s %6.2f", size_text(bytes), (double)bytes / yardstick.least);
	fprintf(s->bench->dat, "%zu", bytes);
	for (unsigned int i = 0; i < COLUMNS; i++)
		report_cell(s, entry, i, bytes, yardstick, &cells[i]);
	printf("\n");
	fflush(stdout);
	fprintf(s->bench->dat, "\n");
	json_object_array_add(list, entry);
}

static void set_up(struct setup *s)
{
	struct vtadev *dev = s->bench->dev;
	int err;

	must(vtadev_buf_alloc(dev, LARGEST, VTADEV_HOST, &s->host), "host memory");
	must(vtadev_buf_alloc(dev, LARGEST, VTADEV_CARD, &s->card), "card memory");
	must(vtadev_buf_alloc(dev, LARGEST, VTADEV_CARD, &s->card2), "card memory");
	must(vtadev_buf_alloc(dev, (1 + BATCH_MAX) * sizeof(struct vta_stamp), VTADEV_HOST,
			      &s->stamps), "memory for stamps");
	s->user = touched(LARGEST, HUGE_PAGES);
	s->pages = touched(LARGEST, SCATTERED_PAGES);
	err = vtadev_buf_pin(dev, s->user, LARGEST, 0, &s->pinned);
	if (!err)
		err = vtadev_buf_pin(dev, s->pages, LARGEST, 0, &s->scattered);
	if (err)
		printf("SKIP pinned memory: %s\n", vtadev_strerror(err));
	fprintf(s->bench->dat, "bytes");
	for (unsigned int i = 0; i < COLUMNS; i++) {
		fprintf(s->bench->dat, " %s/%s", columns[i].direction, columns[i].way);
		if (is_scattered(i))
			fprintf(s->bench->dat, " %s/scattered,same-pages", columns[i].direction);
	}
	fprintf(s->bench->dat, "\n");
}

static void targets(const struct setup *s)
{
	char what[96];

	for (unsigned int i = 0; i < COLUMNS; i++) {
		if (!s->worst[i] || !has_target(s, i))
			continue;
		snprintf(what, sizeof(what), "%s, %s: speed of a memcpy of %s from 1 MiB up",
			 columns[i].direction, columns[i].way,
			 is_library(i) ? "as many bytes" : "the same bytes");
		bench_target(s->bench, what, s->worst[i], AT_LEAST, TARGET);
	}
}

void bench_copy(struct bench *bench)
{
	struct json_object *list = json_object_new_array();
	double worst[COLUMNS] = { 0 };
	struct setup s = { .bench = bench, .worst = worst };

	set_up(&s);
	printf("\nCopies: speed as a ratio to the emulator's memcpy (least times)\n");
	printf("%15s %39s %39s %7s\n", "memcpy", "------------- host to card ------------",
	       "------------- card to host ------------", "card to");
	printf("%8s %6s", "bytes", "GB/s");
	for (int i = 0; i < 2; i++)
		printf(" %8s %6s %9s (%5s) %6s", "coherent", "pinned", "scattered", "same",
		       "library");
	printf(" %7s\n", "card");
	for (size_t i = 0; i < (bench->quick ? SIZES_QUICK : SIZES); i++)
		one_size(&s, sizes[i], list);
	json_object_object_add(bench->results, "copy", list);
	targets(&s);

	vtadev_buf_free(s.pinned);
	vtadev_buf_free(s.scattered);
	vtadev_buf_free(s.host);
	vtadev_buf_free(s.card);
	vtadev_buf_free(s.card2);
	vtadev_buf_free(s.stamps);
	munmap(s.user, LARGEST);
	munmap(s.pages, LARGEST);
}

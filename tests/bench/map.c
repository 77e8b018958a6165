// SPDX-License-Identifier: GPL-2.0-only
/*
 * map.c - what it costs to make memory a buffer, and how often the card has to
 * read the page table for it
 */
#include <string.h>
#include <sys/mman.h>

#include "memory.h"

#define REPEATS		9u
#define WALK_BYTES	(8 * MIB)
#define PAGE		4096u
/* Apart from what the driver hands out by itself, from the bottom up. */
#define WALK_ADDR	0xc0000000u

/* Page walks in a MiB, one for each entry */
#define WALKS_PAGES	256.0
#define WALKS_BLOCKS	0.5

enum source { HOST, CARD, PINNED, PINNED_HUGE };

struct job {
	struct bench *bench;
	enum source source;
	size_t bytes;
	char *user;
	struct vtadev_buf *buf;
};

static int create(struct job *job)
{
	struct vtadev *dev = job->bench->dev;

	if (job->source >= PINNED)
		return vtadev_buf_pin(dev, job->user, job->bytes, 0, &job->buf);
	return vtadev_buf_alloc(dev, job->bytes, job->source == CARD ? VTADEV_CARD : VTADEV_HOST,
				&job->buf);
}

static double time_create(void *arg)
{
	struct job *job = arg;
	double start = now_ns(), end;

	must(create(job), "making a buffer");
	end = now_ns();
	vtadev_buf_free(job->buf);
	return end - start;
}

static double time_free(void *arg)
{
	struct job *job = arg;
	double start;

	must(create(job), "making a buffer");
	start = now_ns();
	vtadev_buf_free(job->buf);
	return now_ns() - start;
}

/* Until every page has been touched. */
static double time_cpu_map(void *arg)
{
	struct job *job = arg;
	double start, end;
	void *ptr;

	must(create(job), "making a buffer");
	start = now_ns();
	must(vtadev_buf_map(job->buf, &ptr), "mapping a buffer");
	for (size_t i = 0; i < job->bytes; i += PAGE)
		((volatile char *)ptr)[i] = 1;
	end = now_ns();
	vtadev_buf_free(job->buf);
	return end - start;
}

static const struct cost {
	const char *name;
	enum source source;
	double (*fn)(void *arg);
} costs[] = {
	{ "pin, 4 KiB pages", PINNED, time_create },
	{ "unpin, 4 KiB pages", PINNED, time_free },
	{ "pin, huge pages", PINNED_HUGE, time_create },
	{ "unpin, huge pages", PINNED_HUGE, time_free },
	{ "allocate host memory", HOST, time_create },
	{ "free host memory", HOST, time_free },
	{ "allocate card memory", CARD, time_create },
	{ "free card memory", CARD, time_free },
	{ "map host memory for the CPU", HOST, time_cpu_map },
	{ "map card memory for the CPU", CARD, time_cpu_map },
};

static void one_cost(struct bench *bench, const struct cost *cost, struct json_object *list)
{
	static const size_t sizes[] = { 1 * MIB, 16 * MIB, 64 * MIB };
	struct job job = { .bench = bench, .source = cost->source };

	printf("%-28s", cost->name);
	for (size_t i = 0; i < (bench->quick ? 1 : sizeof(sizes) / sizeof(*sizes)); i++) {
		struct json_object *entry = json_object_new_object();
		struct times times;
		int err;

		job.bytes = sizes[i];
		job.user = cost->source >= PINNED ?
			touched(job.bytes, cost->source == PINNED_HUGE ? HUGE_PAGES :
									      SMALL_PAGES) : NULL;
		err = create(&job);
		json_object_object_add(entry, "what", json_object_new_string(cost->name));
		json_object_object_add(entry, "bytes", json_object_new_int64((int64_t)job.bytes));
		if (err) {
			printf(" %10s", "SKIP");
			json_object_object_add(entry, "skip",
					       json_object_new_string(vtadev_strerror(err)));
		} else {
			vtadev_buf_free(job.buf);
			times = times_of(cost->fn, &job, bench_times(bench, REPEATS));
			json_object_object_add(entry, "time", json_times(times));
			json_num(entry, "least_ns_per_mib",
				 times.least * (double)MIB / (double)job.bytes);
			printf(" %10.1f", times.least / 1e3 * (double)MIB / (double)job.bytes);
		}
		json_object_array_add(list, entry);
		if (job.user)
			munmap(job.user, job.bytes);
	}
	printf("\n");
	fflush(stdout);
}

void bench_map(struct bench *bench)
{
	struct json_object *list = json_object_new_array();

	printf("\nBuffers: us for each MiB (least of %u runs), by size\n", REPEATS);
	printf("%-28s %10s %10s %10s\n", "", "1 MiB", "16 MiB", "64 MiB");
	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++)
		one_cost(bench, &costs[i], list);
	json_object_object_add(bench->results, "buffers", list);
}

/* Page walks of the first access to all of a buffer. */
static uint64_t walks(struct bench *bench, struct vtadev_buf *buf)
{
	/* A ring of one page, which the card walks for to read the NOP. */
	const struct vtadev_queue_opts opts = { .ring_entries = PAGE / sizeof(struct vta_desc) };
	const struct vta_desc nop = vtadev_desc_nop();
	struct vtadev_counters before, after;
	struct vtadev_queue *queue;
	uint64_t seq;

	must(vtadev_queue_create(bench->dev, &opts, &queue), "making a queue");
	must(vtadev_submit(queue, &nop, 1, &seq), "submitting");
	must(vtadev_wait(queue, seq, -1), "waiting");
	must(vtadev_counters(bench->dev, &before), "reading counters");
	must(vtadev_fill(queue, buf, 0, 0, vtadev_buf_size(buf), &seq), "fill");
	must(vtadev_wait(queue, seq, -1), "waiting for a fill");
	must(vtadev_counters(bench->dev, &after), "reading counters");
	vtadev_queue_destroy(queue);
	return after.page_walks - before.page_walks;
}

/* At most @most in a MiB: one for each entry of the page table that the buffer can have. */
static void one_walk(struct bench *bench, const char *name, struct vtadev_buf *buf, double most,
		     struct json_object *list)
{
	struct json_object *entry = json_object_new_object();
	uint64_t n = walks(bench, buf);
	double each = (double)n * (double)MIB / (double)WALK_BYTES;
	char what[96];

	printf("%-48s %8.1f\n", name, each);
	if (most > 0) {
		snprintf(what, sizeof(what), "page walks in a MiB, %s", name);
		bench_target(bench, what, each, AT_MOST, most);
	}
	json_object_object_add(entry, "what", json_object_new_string(name));
	json_object_object_add(entry, "bytes", json_object_new_int64((int64_t)WALK_BYTES));
	json_object_object_add(entry, "page_walks", json_object_new_int64((int64_t)n));
	json_object_array_add(list, entry);
	vtadev_buf_free(buf);
}

static void allocated_walks(struct bench *bench, const char *name, unsigned int flags,
			    uint32_t addr, double most, struct json_object *list)
{
	struct vtadev_buf *buf;

	must(vtadev_buf_alloc_at(bench->dev, WALK_BYTES, flags, 0, addr, &buf), name);
	one_walk(bench, name, buf, most, list);
}

static void pinned_walks(struct bench *bench, const char *name, enum pages pages, double most,
			 struct json_object *list)
{
	char *user = touched(WALK_BYTES, pages);
	struct vtadev_buf *buf;
	int err;

	err = vtadev_buf_pin(bench->dev, user, WALK_BYTES, 0, &buf);
	if (err)
		printf("%-48s SKIP: %s\n", name, vtadev_strerror(err));
	else
		one_walk(bench, name, buf, most, list);
	munmap(user, WALK_BYTES);
}

void bench_walks(struct bench *bench)
{
	struct json_object *list = json_object_new_array();

	printf("\nPage walks for each MiB, first access (counted by the card)\n");
	allocated_walks(bench, "card memory, 4 KiB pages", VTADEV_CARD, WALK_ADDR + PAGE,
			WALKS_PAGES, list);
	allocated_walks(bench, "card memory, 2 MiB blocks", VTADEV_CARD, WALK_ADDR,
			WALKS_BLOCKS, list);
	allocated_walks(bench, "host memory, 4 KiB pages", VTADEV_HOST, WALK_ADDR + PAGE,
			WALKS_PAGES, list);
	/* The kernel gives as many blocks as it has. */
	allocated_walks(bench, "host memory, 2 MiB blocks where they are",
			VTADEV_HOST, WALK_ADDR, 0, list);
	pinned_walks(bench, "pinned memory, 4 KiB pages", SMALL_PAGES, WALKS_PAGES, list);
	pinned_walks(bench, "pinned memory, scattered pages", SCATTERED_PAGES, WALKS_PAGES, list);
	pinned_walks(bench, "pinned memory, huge pages", HUGE_PAGES, WALKS_BLOCKS, list);
	json_object_object_add(bench->results, "walks", list);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * choice.c - the size from which on the card copies faster than the CPU
 *
 * The library's transfers are made by the CPU alone and by the card alone.
 * VTADEV_COPY_MIN_DEFAULT is what comes out here for most kinds of transfers.
 */
#include <sys/mman.h>

#include "memory.h"

#define SMALLEST	((size_t)4 << 10)
#define LARGEST		(16 * MIB)
#define LARGEST_QUICK	((size_t)8 << 10)
#define REPEATS		15u

struct way {
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
	char *user;
	size_t bytes;
	int upload;
};

static size_t largest(const struct bench *bench)
{
	return bench->quick ? LARGEST_QUICK : LARGEST;
}

static double transfer(void *arg)
{
	const struct way *way = arg;
	double start = now_ns();

	if (way->upload)
		must(vtadev_upload(way->queue, way->buf, 0, way->user, way->bytes), "upload");
	else
		must(vtadev_download(way->queue, way->buf, 0, way->user, way->bytes), "download");
	return now_ns() - start;
}

static struct vtadev_queue *make_queue(struct bench *bench, size_t copy_min)
{
	const struct vtadev_queue_opts opts = { .copy_min = copy_min };
	struct vtadev_queue *queue;

	must(vtadev_queue_create(bench->dev, &opts, &queue), "making a queue");
	return queue;
}

static void one_kind(struct bench *bench, struct way *way, const char *name,
		     struct json_object *to)
{
	struct vtadev_queue *cpu = make_queue(bench, SIZE_MAX), *card = make_queue(bench, 1);
	struct json_object *list = json_object_new_array();
	size_t from = 0;

	printf("%-18s", name);
	for (way->bytes = SMALLEST; way->bytes <= largest(bench); way->bytes *= 2) {
		struct json_object *entry = json_object_new_object();
		struct times by_cpu, by_card;

		way->queue = cpu;
		by_cpu = times_of(transfer, way, bench_times(bench, REPEATS));
		way->queue = card;
		by_card = times_of(transfer, way, bench_times(bench, REPEATS));
		json_object_object_add(entry, "bytes", json_object_new_int64((int64_t)way->bytes));
		json_object_object_add(entry, "cpu", json_times(by_cpu));
		json_object_object_add(entry, "card", json_times(by_card));
		json_object_array_add(list, entry);
		printf(" %6.2f", by_cpu.least / by_card.least);
		if (by_card.least > by_cpu.least)
			from = 0;
		else if (!from)
			from = way->bytes;
	}
	printf("  %s\n", from ? size_text(from) : "never");
	fflush(stdout);
	to = json_sub(to, name);
	json_object_object_add(to, "card_is_faster_from",
			       from ? json_object_new_int64((int64_t)from) : NULL);
	json_object_object_add(to, "times", list);
	vtadev_queue_destroy(cpu);
	vtadev_queue_destroy(card);
}

void bench_choice(struct bench *bench)
{
	struct json_object *to = json_sub(bench->results, "choice");
	struct way way = { .user = touched(LARGEST, SMALL_PAGES) };
	struct vtadev_buf *card, *host, *pin;
	int err;

	printf("\nTransfers: time of the CPU over that of the card, pinning included\n");
	err = vtadev_buf_pin(bench->dev, way.user, SMALLEST, 0, &pin);
	if (err) {
		printf("SKIP: %s\n", vtadev_strerror(err));
		munmap(way.user, LARGEST);
		return;
	}
	vtadev_buf_free(pin);
	must(vtadev_buf_alloc(bench->dev, LARGEST, VTADEV_CARD, &card), "card memory");
	must(vtadev_buf_alloc(bench->dev, LARGEST, VTADEV_HOST, &host), "host memory");

	printf("%-18s", "");
	for (size_t bytes = SMALLEST; bytes <= largest(bench); bytes *= 2)
		printf(" %6zu", bytes >> 10);
	printf(" KiB; card is faster from\n");
	way.buf = card;
	way.upload = 1;
	one_kind(bench, &way, "upload_to_card", to);
	way.upload = 0;
	one_kind(bench, &way, "download_from_card", to);
	way.buf = host;
	way.upload = 1;
	one_kind(bench, &way, "upload_to_host", to);
	way.upload = 0;
	one_kind(bench, &way, "download_from_host", to);

	vtadev_buf_free(card);
	vtadev_buf_free(host);
	munmap(way.user, LARGEST);
}

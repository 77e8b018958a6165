// SPDX-License-Identifier: GPL-2.0-only
/*
 * transfer.c - how much of the card's speed the library's transfers leave
 *
 * On the card in modelled time: its engine copies at its clock, and what the library
 * and the kernel do for a transfer (pin, submit, sleep, unpin) takes as much of that
 * time as it would on a machine that is not emulated. A ratio of 1 is as fast as a
 * COPY of as many bytes between memory that the card knows already, which sleeps until it is
 * done: waking up is the floor's cost (floor.c), not the transfer's; and as an invalidation of
 * the card's TLB by two register accesses, which every driver owes before pages are given back,
 * and which take as long as 20 us of modelled time through a trap and a socket. All are timed
 * by the program, from call to return, in turns.
 */
#include <endian.h>
#include <sys/mman.h>

#include "memory.h"
#include "vta_regs.h"

#define LARGEST		(64 * MIB)
#define TARGET		0.95
#define SIZES_QUICK	1
/* Card time of a set in all of a kind, and how often at least. */
#define ROUNDS_NS	3e7
#define ROUNDS_MIN	3.0
#define ROUNDS_MAX	40.0
/* Of sets of rounds: a smaller part of the sum of least times is no change. */
#define SETTLED		0.003
#define SETS_MOST	20u
#define SETS_CALM	3u

/* Smaller ones are the CPU's, which writes to an emulated card as fast as to memory. */
static const size_t sizes[] = { 1 * MIB, 4 * MIB, 16 * MIB, LARGEST };

#define SIZES		(sizeof(sizes) / sizeof(*sizes))

enum way { UPLOAD_HUGE, UPLOAD_PAGES, DOWNLOAD_HUGE, DOWNLOAD_PAGES, KINDS };

static const struct {
	const char *name;
	bool upload, huge;
} kinds[KINDS] = {
	[UPLOAD_HUGE]		= { "upload_huge_pages", true, true },
	[UPLOAD_PAGES]		= { "upload_4k_pages", true, false },
	[DOWNLOAD_HUGE]		= { "download_huge_pages", false, true },
	[DOWNLOAD_PAGES]	= { "download_4k_pages", false, false },
};

struct setup {
	struct bench *bench;
	struct vtadev_buf *card, *host, *stamps;
	char *user[2];				/* in 4 KiB pages, in huge ones */
	volatile uint32_t *regs;
	double worst[KINDS];			/* ratio */
};

/* A COPY from call to return; *@engine_ns is the engine's part, by the stamp. */
static double copy_ns(struct setup *s, size_t bytes, double *engine_ns)
{
	struct vta_desc desc = vtadev_desc_copy(vtadev_buf_addr(s->card),
						vtadev_buf_addr(s->host), (uint32_t)bytes);
	struct vta_stamp stamp;
	double start, end;
	uint64_t seq;

	vtadev_desc_stamp(&desc, vtadev_buf_addr(s->stamps));
	start = now_ns();
	must(vtadev_submit(s->bench->queue, &desc, 1, &seq), "submitting a copy");
	must(vtadev_wait(s->bench->queue, seq, -1), "waiting for a copy");
	end = now_ns();
	must(vtadev_buf_read(s->stamps, 0, &stamp, sizeof(stamp)), "reading a stamp");
	*engine_ns = (double)(le64toh(stamp.end) - le64toh(stamp.start));
	return (end - start) / s->bench->slowness;
}

/* The card's part of giving pages back, from the program. */
static double invalidate_ns(struct setup *s)
{
	volatile uint32_t *reg = s->regs + REG_TLB_INVALIDATE / 4;
	double start = now_ns();

	*reg = htole32(REG_TLB_INVALIDATE_ALL);
	while (le32toh(*reg) & REG_TLB_INVALIDATE_BUSY)
		;
	return (now_ns() - start) / s->bench->slowness;
}

static double transfer_ns(struct setup *s, enum way w, size_t bytes)
{
	char *user = s->user[kinds[w].huge];
	double start = now_ns();

	if (kinds[w].upload)
		must(vtadev_upload(s->bench->queue, s->card, 0, user, bytes), "upload");
	else
		must(vtadev_download(s->bench->queue, s->card, 0, user, bytes), "download");
	return (now_ns() - start) / s->bench->slowness;
}

/*
 * Sets of rounds. Another one is needed until SETS_CALM in a row have each brought the sum of the
 * least times down by less than SETTLED, at most SETS_MOST.
 */
struct settling {
	double least;
	unsigned int sets;
	unsigned int calm;		/* of the last ones, without a change */
};

/* Counts a set, after which the sum is @least. Returns true if another one is needed. */
static bool is_unsettled(const struct bench *bench, struct settling *settling, double least)
{
	bool changed = !settling->sets || least < settling->least * (1 - SETTLED);

	settling->least = least;
	settling->calm = changed ? 0 : settling->calm + 1;
	return ++settling->sets < bench_times(bench, SETS_MOST) && settling->calm < SETS_CALM;
}

static unsigned int rounds(const struct setup *s, double ns)
{
	double n = ROUNDS_NS / ns;

	n = n < ROUNDS_MIN ? ROUNDS_MIN : n > ROUNDS_MAX ? ROUNDS_MAX : n;
	return bench_times(s->bench, (unsigned int)n);
}

static void one_size(struct setup *s, size_t bytes, struct json_object *list)
{
	struct json_object *entry = json_object_new_object();
	static struct samples took[KINDS], copies, invalidations;
	double engine, invalidation, copy = copy_ns(s, bytes, &engine);
	struct settling settling = { 0 };
	double least;

	copies.count = 0;
	invalidations.count = 0;
	for (unsigned int k = 0; k < KINDS; k++)
		took[k].count = 0;
	do {
		for (unsigned int r = 0; r < rounds(s, engine); r++) {
			sample(&copies, copy_ns(s, bytes, &engine));
			sample(&invalidations, invalidate_ns(s));
			for (unsigned int k = 0; k < KINDS; k++)
				sample(&took[k], transfer_ns(s, k, bytes));
		}
		least = times_in(&copies).least;
		for (unsigned int k = 0; k < KINDS; k++)
			least += times_in(&took[k]).least;
	} while (is_unsettled(s->bench, &settling, least));
	copy = times_in(&copies).least;
	invalidation = times_in(&invalidations).least;

	json_object_object_add(entry, "bytes", json_object_new_int64((int64_t)bytes));
	json_num(entry, "sets", settling.sets);
	json_num(entry, "engine_ns", engine);
	json_num(entry, "copy_ns", copy);
	json_num(entry, "invalidation_ns", invalidation);
	printf("%8s %10.1f %10.1f %14.1f", size_text(bytes), engine / 1e3, copy / 1e3,
	       invalidation / 1e3);
	for (unsigned int k = 0; k < KINDS; k++) {
		struct times times = times_in(&took[k]);
		struct json_object *to = json_times(times);
		double ratio = (copy + invalidation) / times.least;

		if (!s->worst[k] || ratio < s->worst[k])
			s->worst[k] = ratio;
		json_num(to, "ratio", ratio);
		json_object_object_add(entry, kinds[k].name, to);
		printf(" %20.3f", ratio);
	}
	printf("\n");
	fflush(stdout);
	json_object_array_add(list, entry);
}

void bench_transfer(struct bench *bench)
{
	struct json_object *list = json_object_new_array();
	struct setup s = { .bench = bench };
	char what[96];

	must(vtadev_buf_alloc(bench->dev, LARGEST, VTADEV_CARD, &s.card), "card memory");
	must(vtadev_buf_alloc(bench->dev, LARGEST, VTADEV_HOST, &s.host), "host memory");
	must(vtadev_buf_alloc(bench->dev, sizeof(struct vta_stamp), VTADEV_HOST, &s.stamps),
	     "memory for a stamp");
	s.user[false] = touched(LARGEST, SMALL_PAGES);
	s.user[true] = touched(LARGEST, HUGE_PAGES);

	s.regs = bench_registers(bench);
	printf("\nThe library's transfers in modelled time: speed as a ratio to a COPY and an\n"
	       "invalidation (least times)\n%8s %10s %10s %14s", "bytes", "engine, us", "COPY, us",
	       "invalidate, us");
	for (unsigned int k = 0; k < KINDS; k++)
		printf(" %20s", kinds[k].name);
	printf("\n");
	for (size_t i = 0; i < (bench->quick ? SIZES_QUICK : SIZES); i++)
		one_size(&s, sizes[i], list);
	json_object_object_add(bench->results, "transfer_modelled", list);
	for (unsigned int k = 0; k < KINDS; k++) {
		snprintf(what, sizeof(what), "%s: %s", kinds[k].name,
			 "speed of a COPY and an invalidation from 1 MiB up, modelled");
		bench_target(bench, what, s.worst[k], AT_LEAST, TARGET);
	}

	munmap(s.user[false], LARGEST);
	munmap(s.user[true], LARGEST);
	vtadev_buf_free(s.stamps);
	vtadev_buf_free(s.host);
	vtadev_buf_free(s.card);
}

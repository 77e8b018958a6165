// SPDX-License-Identifier: GPL-2.0-only
/*
 * pool.c - one program on several cards, by a pool
 *
 * All cards are in modelled time. Requests are submitted ahead, so that cards wait for the
 * pool and not for the caller. A card's time is its own, from before the first request to after the
 * last answer; the time of all cards is that of the slowest. The runs per second of a number of
 * cards are compared with those of one, and with the model in docs/scale.md: a run lasts its cycles
 * on any card.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench.h"
#include "pool_image.h"
#include "vtadev_pool.h"
#include "vtaprog.h"

#define CARDS		4u
#define JOB_NS		5e6
#define REQUESTS	160u		/* in a measurement */
#define QUICK		12u
#define ROUNDS		3u
#define DEPTHS		2u

struct setup {
	struct bench *bench;
	struct vtaimage image;
	uint8_t *bytes;				/* of the image */
	unsigned int requests;
	double run_ns;				/* of the stream, by its cycles */
	struct samples rates[DEPTHS][CARDS];	/* requests in a second of the cards' time */
	struct samples most[DEPTHS][CARDS];	/* share of the card that did most */
};

static const unsigned int depths[DEPTHS] = { 1, 2 };

/* ---- The program ---- */

static void make_program(struct setup *s)
{
	const struct vtadev_info *info;
	struct pool_program program = { 0 };
	struct vtaops_core core;
	uint64_t cycles;
	size_t size;

	bench_open_card(s->bench, BENCH_POOL);
	info = vtadev_info(s->bench->dev);
	must(vtaprog_core(s->bench->dev, &core), "the card's configuration");
	cycles = (uint64_t)(JOB_NS * info->clock_khz / 1e6);
	program.core = &core;
	program.outer = (uint32_t)(cycles / 1000);
	program.inner = 1000;
	program.cycles = cycles;
	s->bytes = must_ptr(pool_image(&program, &size, &s->image), "a program");
	s->run_ns = (double)cycles * 1e6 / info->clock_khz;
	bench_close(s->bench);
}

/* ---- A measurement ---- */

static double card_time(unsigned int card)
{
	struct json_object *answer = emulator_ask(card, "state"), *time;
	double now;

	must(json_object_object_get_ex(answer, "time", &time) ? 0 : -ENOENT, "the card's time");
	now = json_object_get_double(time);
	json_object_put(answer);
	return now;
}

static struct vtadev_pool *open_pool(struct setup *s, unsigned int cards, unsigned int depth)
{
	static const char *const names[CARDS] = { "vta3", "vta4", "vta5", "vta6" };
	const struct vtadev_pool_opts opts = { .cards = names, .count = cards, .depth = depth };
	char why[VTADEV_POOL_WHY_MAX] = "";
	struct vtadev_pool *pool;
	int err = vtadev_pool_open(&s->image, &opts, &pool, why);

	must(err, why);
	return pool;
}

static void run(struct setup *s, struct vtadev_pool *pool)
{
	uint8_t in[POOL_BYTES] = { 0 }, out[2][POOL_BYTES];
	const struct iovec from = { in, POOL_BYTES };
	const struct iovec to[2] = { { out[0], POOL_BYTES }, { out[1], POOL_BYTES } };
	const struct vtadev_request request = { &from, to, 1, 2, 0 };
	struct vtadev_completion done;
	struct vtadev_caller *caller;

	must(vtadev_caller_open(pool, s->requests, &caller), "a caller");
	for (unsigned int i = 0; i < s->requests; i++)
		must(vtadev_caller_submit(caller, &request), "submitting");
	for (unsigned int i = 0; i < s->requests; i++) {
		must(vtadev_caller_wait(caller, -1), "waiting");
		must(vtadev_caller_reap(caller, &done, 1), "a completion");
		must(done.result, "a request");
	}
	vtadev_caller_close(caller);
}

static void measure(struct setup *s, unsigned int d, unsigned int cards)
{
	struct vtadev_pool *pool = open_pool(s, cards, depths[d]);
	double before[CARDS], longest = 0, most = 0;
	struct vtadev_pool_stats stats;

	for (unsigned int i = 0; i < cards; i++)
		before[i] = card_time(BENCH_POOL + i);
	run(s, pool);
	for (unsigned int i = 0; i < cards; i++) {
		double took = card_time(BENCH_POOL + i) - before[i];

		must(vtadev_pool_stats(pool, i, &stats), "counts");
		longest = took > longest ? took : longest;
		most = (double)stats.answers > most ? (double)stats.answers : most;
	}
	vtadev_pool_close(pool);
	sample(&s->rates[d][cards - 1], s->requests * 1e9 / longest);
	sample(&s->most[d][cards - 1], most / s->requests);
}

/* ---- Results ---- */

static void report_results(struct setup *s, unsigned int d, unsigned int cards,
			   struct json_object *list)
{
	double one = times_in(&s->rates[d][0]).median;
	double rate = times_in(&s->rates[d][cards - 1]).median;
	double most = times_in(&s->most[d][cards - 1]).median;
	double model = cards * 1e9 / s->run_ns;
	struct json_object *to = json_object_new_object();
	char what[80];

	printf("%5u %5u %10.2f/s %8.3f %8.3f %10.3f\n", depths[d], cards, rate, rate / one, most,
	       rate / model);
	json_num(to, "depth", depths[d]);
	json_num(to, "cards", cards);
	json_num(to, "requests_per_s", rate);
	json_num(to, "ratio", rate / one);
	json_num(to, "most", most);
	json_num(to, "by_model", rate / model);
	json_object_array_add(list, to);
	if (depths[d] < 2)
		return;
	fprintf(s->bench->dat, "%u %g %g\n", cards, rate, model);
	if (cards == CARDS) {
		snprintf(what, sizeof(what), "%u cards / one", cards);
		bench_target(s->bench, what, rate / one, AT_LEAST, 0.95 * CARDS);
	}
}

int main(int argc, char **argv)
{
	struct json_object *list = json_object_new_array();
	struct bench bench;
	static struct setup s;

	bench_begin(&bench, "pool", argc, argv);
	s.bench = &bench;
	s.requests = bench.quick ? QUICK : REQUESTS;
	make_program(&s);
	for (unsigned int r = 0; r < bench_times(&bench, ROUNDS); r++)
		for (unsigned int d = 0; d < DEPTHS; d++)
			for (unsigned int cards = 1; cards <= CARDS; cards++)
				measure(&s, d, cards);
	printf("\nRuns of %.1f ms on a pool of cards, by the cards' time: runs in flight on each,\n"
	       "cards, requests in a second, that over one card's, the share of the card that\n"
	       "did most, and the rate over that of the model\n", s.run_ns / 1e6);
	for (unsigned int d = 0; d < DEPTHS; d++)
		for (unsigned int cards = 1; cards <= CARDS; cards++)
			report_results(&s, d, cards, list);
	json_object_object_add(bench.results, "cards", list);
	free(s.bytes);
	bench_end(&bench);
	return 0;
}

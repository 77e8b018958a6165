// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_bench.c - vtactl program bench: images a second and latencies of a program
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program.h"
#include "progress.h"
#include "vtadev_bench.h"

/* Runs of which the parts are measured, one at a time. */
#define PARTS_RUNS	15
#define IN_FLIGHT	4

struct bench {
	const struct program_measure *m;
	const struct vtaimage *image;
	struct program_inputs inputs;
	const char *names[VTADEV_POOL_CARDS_MAX];	/* of the cards to use */
	unsigned int cards;
	char *text;			/* that @names point into, or NULL */
	struct vtadev_card *list;	/* likewise */
	struct vtadev_card first;	/* likewise */
	uint32_t images;		/* in a run */
	double best;			/* images a second */
	unsigned int row, rows;		/* of the table: measured now, all */
	struct json_object *results;
};

/* ---- Cards ---- */

int program_first_card(struct vtadev_card *card, const char **name)
{
	const char *device = getenv("VTADEV_DEVICE");
	int err = vtadev_find(NULL, card);

	/* A device's arguments may be longer than its name in @card. */
	*name = device && *device ? device : card->node;
	return err ? ctl_not_open(NULL, err) : CTL_OK;
}

static int find_all(struct bench *b)
{
	size_t count;
	int ret = ctl_cards(NULL, &b->list, &count);

	for (size_t i = 0; !ret && i < count && b->cards < VTADEV_POOL_CARDS_MAX; i++)
		b->names[b->cards++] = b->list[i].node;
	return ret;
}

static int find_cards(struct bench *b)
{
	const char *cards = b->m->run.cards;

	if (!cards) {
		b->cards = 1;
		return program_first_card(&b->first, &b->names[0]);
	}
	if (!strcmp(cards, "all"))
		return find_all(b);
	b->text = strdup(cards);
	if (!b->text)
		return ctl_fail(b->m->run.path, strerror(ENOMEM));
	b->cards = program_split_cards(b->text, b->names);
	return CTL_OK;
}

/* ---- Printing ---- */

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static void add_double(struct json_object *to, const char *name, double value)
{
	char text[48];

	snprintf(text, sizeof(text), "%.6f", value);
	json_object_object_add(to, name, json_object_new_double_s(value, text));
}

static void add_number(struct json_object *to, const char *name, uint64_t value)
{
	json_object_object_add(to, name, json_object_new_uint64(value));
}

/* Time of the formula's cycles, in ms; 0: the clock is not known. */
static double formula_ms(const struct vtaimage *image, const struct vtadev_bench_parts *p)
{
	return p->clock_khz ? (double)image->cycles / p->clock_khz : 0;
}

static struct json_object *parts_json(const struct vtaimage *image,
				      const struct vtadev_bench_parts *p)
{
	struct json_object *to = json_object_new_object();

	add_number(to, "runs", p->runs);
	add_double(to, "total_ms", ms(p->total_ns));
	add_double(to, "compute_ms", ms(p->compute_ns));
	add_double(to, "copy_ms", ms(p->copy_ns));
	add_double(to, "cpu_ms", ms(p->cpu_ns));
	add_number(to, "clock_khz", p->clock_khz);
	add_number(to, "cycles", p->cycles);
	add_number(to, "formula_cycles", image->cycles);
	add_double(to, "formula_ms", formula_ms(image, p));
	add_number(to, "to_card_bytes", p->to_card);
	add_number(to, "from_card_bytes", p->from_card);
	return to;
}

static void print_part(const char *name, int64_t ns, int64_t total)
{
	printf("  %-20s %10.3f ms  %5.1f %%\n", name, ms(ns),
	       total ? 100.0 * (double)ns / (double)total : 0);
}

static void print_parts(const struct bench *b, const struct vtadev_bench_parts *p)
{
	int64_t rest = p->total_ns - p->compute_ns - p->copy_ns - p->cpu_ns;

	printf("%s on %s, one run at a time (median of %" PRIu64 " runs):\n", b->image->name,
	       b->names[0], p->runs);
	print_part("run", p->total_ns, p->total_ns);
	print_part("card computes", p->compute_ns, p->total_ns);
	print_part("card copies", p->copy_ns, p->total_ns);
	print_part("CPU computes", p->cpu_ns, p->total_ns);
	print_part("launches, waits", rest > 0 ? rest : 0, p->total_ns);
	printf("  %-20s %10" PRIu64 " by the formula, %" PRIu64 " measured\n", "cycles",
	       b->image->cycles, p->cycles);
	if (p->clock_khz)
		printf("  %-20s %10.3f ms for the formula's cycles\n", "at the card's clock",
		       formula_ms(b->image, p));
	printf("  %-20s %10" PRIu64 " bytes to the card, %" PRIu64 " from it\n\n", "copied",
	       p->to_card, p->from_card);
}

static void add_result(struct bench *b, uint32_t in_flight, const struct vtadev_bench_result *r,
		       double rate)
{
	struct json_object *to = json_object_new_object();

	add_number(to, "cards", r->cards);
	add_number(to, "in_flight", in_flight);
	add_double(to, "images_per_second", rate);
	add_number(to, "runs", r->runs);
	add_number(to, "lost_runs", r->lost);
	add_double(to, "min_ms", ms(r->min_ns));
	add_double(to, "mean_ms", ms(r->mean_ns));
	add_double(to, "p50_ms", ms(r->p50_ns));
	add_double(to, "p90_ms", ms(r->p90_ns));
	add_double(to, "p99_ms", ms(r->p99_ns));
	add_double(to, "max_ms", ms(r->max_ns));
	add_double(to, "first_ms", ms(r->first_ns));
	add_double(to, "load_ms", ms(r->load_ns));
	json_object_array_add(b->results, to);
}

static void print_heading(void)
{
	printf("%5s %9s %10s %9s %9s %9s %9s %9s %9s %8s\n", "cards", "in flight", "images/s",
	       "p50 ms", "p90 ms", "p99 ms", "max ms", "first ms", "load ms", "runs");
}

static void print_result(uint32_t in_flight, const struct vtadev_bench_result *r, double rate)
{
	printf("%5u %9" PRIu32 " %10.1f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %8" PRIu64 "\n",
	       r->cards, in_flight, rate, ms(r->p50_ns), ms(r->p90_ns), ms(r->p99_ns),
	       ms(r->max_ns), ms(r->first_ns), ms(r->load_ns), r->runs);
	fflush(stdout);
}

/* ---- Measuring ---- */

static int measure_parts(struct bench *b, struct json_object *to)
{
	uint64_t runs = b->m->count && b->m->count < PARTS_RUNS ? b->m->count : PARTS_RUNS;
	struct vtadev_bench_parts parts;
	char why[VTADEV_POOL_WHY_MAX];
	int err;

	progress_show("one at a time", 0);
	err = vtadev_bench_parts(b->image, b->names[0], runs, b->inputs.io, b->inputs.count,
				 &parts, why);
	if (err)
		return ctl_refused(b->names[0], why, err);
	progress_clear();
	if (to)
		json_object_object_add(to, "one_at_a_time", parts_json(b->image, &parts));
	else
		print_parts(b, &parts);
	return CTL_OK;
}

static void show_progress(void *priv, double share)
{
	const struct bench *b = priv;

	progress_show("measuring", (b->row + share) / b->rows);
}

static int measure_row(struct bench *b, unsigned int cards, uint32_t in_flight)
{
	const struct program_measure *m = b->m;
	const struct vtadev_bench_opts opts = {
		.cards = b->names, .count = cards, .depth = in_flight, .warmup = m->warmup,
		.runs = m->count, .duration_ns = (int64_t)(m->seconds * 1e9),
		.inputs = b->inputs.io, .input_count = b->inputs.count,
		.progress = show_progress, .priv = b,
	};
	struct vtadev_bench_result r;
	char why[VTADEV_POOL_WHY_MAX];
	int err = vtadev_bench(b->image, &opts, &r, why);
	double rate;

	if (err)
		return ctl_refused(m->run.path, why, err);
	b->row++;
	progress_clear();
	rate = (double)r.runs * b->images * 1e9 / (double)(r.wall_ns ? r.wall_ns : 1);
	b->best = rate > b->best ? rate : b->best;
	if (m->json)
		add_result(b, in_flight, &r, rate);
	else
		print_result(in_flight, &r, rate);
	return CTL_OK;
}

/* 1, 2, 4 and so on up to @most, and @most. */
static uint32_t next_count(uint32_t n, uint32_t most)
{
	return n >= most ? most + 1 : 2 * n > most ? most : 2 * n;
}

static unsigned int count_steps(uint32_t most)
{
	unsigned int steps = 0;

	for (uint32_t n = 1; n <= most; n = next_count(n, most))
		steps++;
	return steps;
}

static int measure_all(struct bench *b, struct json_object *to)
{
	uint32_t most = b->m->in_flight ? b->m->in_flight : IN_FLIGHT;
	int ret = measure_parts(b, to);

	b->rows = count_steps(b->cards) * count_steps(most);
	if (!ret && !to)
		print_heading();
	for (uint32_t cards = 1; !ret && cards <= b->cards; cards = next_count(cards, b->cards))
		for (uint32_t n = 1; !ret && n <= most; n = next_count(n, most))
			ret = measure_row(b, cards, n);
	return ret;
}

static int check_rate(const struct bench *b)
{
	if (!(b->m->min_rate > b->best))
		return CTL_OK;
	fprintf(stderr, "vtactl: program: %.1f images/s at best, less than --min-rate=%g\n",
		b->best, b->m->min_rate);
	return CTL_ERROR;
}

static int run(struct bench *b)
{
	struct json_object *to = NULL;
	int ret;

	if (!b->m->json) {
		ret = measure_all(b, NULL);
		return ret ? ret : check_rate(b);
	}
	to = json_object_new_object();
	json_object_object_add(to, "program", json_object_new_string(b->image->name));
	json_object_object_add(to, "card", json_object_new_string(b->names[0]));
	add_number(to, "images_per_run", b->images);
	b->results = json_object_new_array();
	ret = measure_all(b, to);
	json_object_object_add(to, "results", b->results);
	if (ret)
		json_object_put(to);
	else
		ret = ctl_print_json(to, false);
	return ret ? ret : check_rate(b);
}

/* Images in a run: the batch of the first input. */
static uint32_t images_of(const struct vtaimage *image)
{
	struct vtaimage_tensor t;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (t.role == VTAIMAGE_INPUT)
			return t.rank > 1 ? t.dims[0] : 1;
	}
	return 1;
}

int program_bench(const struct program_measure *m)
{
	struct vtaimage image;
	struct bench b = { .m = m, .image = &image };
	uint8_t *data = program_read_for(&m->run, &image);
	int ret;

	if (!data)
		return CTL_ERROR;
	b.images = images_of(&image);
	ret = program_load_inputs(&image, &m->run, &b.inputs);
	if (!ret)
		ret = find_cards(&b);
	if (!ret)
		ret = run(&b);
	program_free_inputs(&b.inputs);
	vtadev_list_free(b.list);
	free(b.text);
	free(data);
	return ret;
}

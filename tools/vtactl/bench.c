// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench.c - vtactl bench: the cost of launches, waits and copies on this machine
 *
 * Takes a few seconds; make bench measures everything. Prints measured values only: the median of
 * as many rounds as fit.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "busy.h"
#include "ctl.h"
#include "progress.h"

#define ROUNDS_MAX	1000
#define ROUNDS_MIN	5
#define MEASURE_NS	300000000ll
#define WAIT_NS		(30 * 1000000000ll)
#define SMALL		((size_t)4 << 10)
#define LARGE		((size_t)4 << 20)

static const char help[] =
	"Usage: vtactl bench [--json] [CARD]\n"
	"\n"
	"Measures, in a few seconds, the cost of a launch, a wait and copies: the median and the\n"
	"best of as many rounds as fit into 0.3 s each. Other users of the card disturb the\n"
	"measurement. Without CARD, measures the first card.\n"
	"\n"
	"  -j, --json  print an object: card, and results with name, unit, median, best, rounds\n"
	"  -h, --help  print this text\n";

/* The queues and buffers of all measurements. */
struct rig {
	struct vtadev *dev;
	struct vtadev_queue *spinning, *blocking;	/* by their waits */
	struct vtadev_buf *host, *card;
	size_t size;				/* of copies */
};

/* Runs one round; returns its ns, or a negative errno. */
typedef int64_t round_fn(struct rig *rig);

static int64_t round_trip(struct vtadev_queue *queue, const struct vta_desc *desc)
{
	int64_t start = ctl_now_ns();
	uint64_t seq;
	int err = vtadev_submit(queue, desc, 1, &seq);

	if (!err)
		err = vtadev_wait(queue, seq, WAIT_NS);
	return err ? err : ctl_now_ns() - start;
}

/* Times the call alone, then waits. */
static int64_t round_submit(struct rig *rig)
{
	const struct vta_desc nop = vtadev_desc_nop();
	int64_t start = ctl_now_ns(), end;
	uint64_t seq;
	int err = vtadev_submit(rig->spinning, &nop, 1, &seq);

	end = ctl_now_ns();
	if (!err)
		err = vtadev_wait(rig->spinning, seq, WAIT_NS);
	return err ? err : end - start;
}

static int64_t round_spin(struct rig *rig)
{
	const struct vta_desc nop = vtadev_desc_nop();

	return round_trip(rig->spinning, &nop);
}

static int64_t round_block(struct rig *rig)
{
	const struct vta_desc nop = vtadev_desc_nop();

	return round_trip(rig->blocking, &nop);
}

static int64_t round_to_card(struct rig *rig)
{
	const struct vta_desc copy = vtadev_desc_copy(vtadev_buf_addr(rig->card),
						      vtadev_buf_addr(rig->host),
						      (uint32_t)rig->size);

	return round_trip(rig->spinning, &copy);
}

static int64_t round_from_card(struct rig *rig)
{
	const struct vta_desc copy = vtadev_desc_copy(vtadev_buf_addr(rig->host),
						      vtadev_buf_addr(rig->card),
						      (uint32_t)rig->size);

	return round_trip(rig->spinning, &copy);
}

static const struct {
	const char *name;
	round_fn *round;
	size_t size;		/* 0: print the time, else bytes for each second */
} measures[] = {
	{ "launch, the call alone", round_submit, 0 },
	{ "launch and wait, spinning", round_spin, 0 },
	{ "launch and wait, by interrupt", round_block, 0 },
	{ "copy of 4 KiB to the card", round_to_card, SMALL },
	{ "copy of 4 KiB from the card", round_from_card, SMALL },
	{ "copy of 4 MiB to the card", round_to_card, LARGE },
	{ "copy of 4 MiB from the card", round_from_card, LARGE },
};

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void add_value(struct json_object *result, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", value);
	json_object_object_add(result, name, json_object_new_double_s(value, text));
}

/* Microseconds, or MB/s. */
static double scaled(size_t size, int64_t ns)
{
	return size ? (double)size * 1e3 / (double)(ns ? ns : 1) : (double)ns / 1e3;
}

/* Of all measurements, which last equally long. */
static void show_progress(size_t which, int64_t begin)
{
	const size_t count = sizeof(measures) / sizeof(*measures);
	double part = (double)(ctl_now_ns() - begin) / MEASURE_NS;

	progress_show("measuring", ((double)which + (part < 1 ? part : 1)) / (double)count);
}

static int measure(struct rig *rig, size_t which, bool json, struct json_object *results)
{
	int64_t times[ROUNDS_MAX], begin = ctl_now_ns();
	size_t n = 0, size = measures[which].size;
	struct json_object *result;

	rig->size = size;
	while (n < ROUNDS_MAX && (n < ROUNDS_MIN || ctl_now_ns() < begin + MEASURE_NS)) {
		times[n] = measures[which].round(rig);
		if (times[n] < 0)
			return ctl_error(measures[which].name, (int)times[n]);
		n++;
		show_progress(which, begin);
	}
	qsort(times, n, sizeof(*times), by_value);
	progress_clear();
	if (!json)
		printf("%-30s  %10.3f  %10.3f  %-4s  %5zu\n", measures[which].name,
		       scaled(size, times[n / 2]), scaled(size, times[0]), size ? "MB/s" : "us", n);
	result = json_object_new_object();
	json_object_object_add(result, "name", json_object_new_string(measures[which].name));
	json_object_object_add(result, "unit", json_object_new_string(size ? "MB/s" : "us"));
	add_value(result, "median", scaled(size, times[n / 2]));
	add_value(result, "best", scaled(size, times[0]));
	json_object_object_add(result, "rounds", json_object_new_uint64(n));
	json_object_array_add(results, result);
	return CTL_OK;
}

static int rig_make(struct rig *rig)
{
	const struct vtadev_queue_opts spin = { .spin_ns = INT32_MAX }, block = { .spin_ns = -1 };
	int err;

	err = vtadev_queue_create(rig->dev, &spin, &rig->spinning);
	if (!err)
		err = vtadev_queue_create(rig->dev, &block, &rig->blocking);
	if (!err)
		err = vtadev_buf_alloc(rig->dev, LARGE, VTADEV_HOST, &rig->host);
	if (!err)
		err = vtadev_buf_alloc(rig->dev, LARGE, VTADEV_CARD, &rig->card);
	return err;
}

static int run(const char *which, bool json)
{
	struct json_object *object, *results;
	const char *node;
	struct rig rig = { 0 };
	int ret, err;

	ret = ctl_open(which, &rig.dev);
	if (ret)
		return ret;
	node = vtadev_info(rig.dev)->card.node;
	object = json_object_new_object();
	results = json_object_new_array();
	err = rig_make(&rig);
	if (err)
		ret = ctl_error(node, err);
	else if (!json)
		printf("%-30s  %10s  %10s  %-4s  %5s\n", node, "median", "best", "",
		       "rounds");
	for (size_t i = 0; !ret && i < sizeof(measures) / sizeof(*measures); i++)
		ret = measure(&rig, i, json, results);
	json_object_object_add(object, "card", json_object_new_string(node));
	json_object_object_add(object, "results", results);
	if (json && !ret)
		ret = ctl_print_json(object, false);
	else
		json_object_put(object);
	vtadev_buf_free(rig.card);
	vtadev_buf_free(rig.host);
	vtadev_queue_destroy(rig.blocking);
	vtadev_queue_destroy(rig.spinning);
	vtadev_close(rig.dev);
	return ret;
}

int bench_main(int argc, char **argv)
{
	bool json = false;
	const struct cli_option options[] = { { CLI_FLAG("json", &json) }, { 0 } };
	int ret = cli_options(help, options, 1, &argc, &argv);

	return ret == CLI_GO ? run(argv[0], json) : ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * status.c - vtactl status: properties, state and use of cards
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bar.h"
#include "busy.h"
#include "ctl.h"
#include "gather.h"

/* Time to measure the load of a card, without --watch. */
#define SAMPLE_S	0.1

struct request {
	const char *which;
	bool json;
	bool all;
	bool watch;
	uint32_t colour;
	double seconds;		/* from one sample to the next */
	unsigned long count;	/* of samples; 0: without end */
};

static const char help[] =
	"Usage: vtactl status [--all] [--json] [--color=WHEN] [--watch[=SECONDS]] [--count=N]\n"
	"                     [CARD]\n"
	"\n"
	"Shows link, state, temperature, memory, load, queues and their owners, the last fault and\n"
	"reset of a card, on one screen. Without CARD, shows all cards, and the device that\n"
	"VTADEV_DEVICE names. Of a device in the process (soft, opencl) it shows what a program\n"
	"that opens it gets.\n"
	"\n"
	"  -a, --all              also print serial number, configuration, counters, all owners,\n"
	"                         and all faults and resets that the driver remembers\n"
	"  -j, --json             print an array of cards; null stands for unknown values\n"
	"  -w, --watch[=SECONDS]  repeat every SECONDS (2)\n"
	"  -n, --count=N          with --watch, stop after N times\n"
	"      --color=WHEN       colours, without NO_COLOR in the environment: auto, always or never\n"
	"  -h, --help             print this text\n"
	"\n"
	"status does not open the card, so it needs no permission and uses no context. Other\n"
	"users' processes, and the last faults, are shown to root only. The exit status is 5 if a\n"
	"card was given up.\n";

/* ---- One sample ---- */

static void add_busy(struct json_object *status, const struct busy *before)
{
	struct json_object *index, *object;
	double compute, copy;
	struct busy now;
	char text[16];
	int64_t ns;

	json_object_object_get_ex(status, "index", &index);
	now = busy_now((unsigned int)json_object_get_int(index));
	if (!before->known || !now.known)
		return;
	ns = now.at_ns - before->at_ns;
	compute = busy_share(busy_grown(now.compute_ns, before->compute_ns), ns);
	copy = busy_share(busy_grown(now.copy_ns, before->copy_ns), ns);
	object = json_object_new_object();
	json_object_object_add(object, "compute", json_object_new_double(compute));
	json_object_object_add(object, "copy", json_object_new_double(copy));
	snprintf(text, sizeof(text), "%.3f", (double)ns / 1e9);
	json_object_object_add(object, "seconds",
			       json_object_new_double_s((double)ns / 1e9, text));
	json_object_object_add(status, "utilisation", object);
}

static bool is_given_up(struct json_object *status)
{
	struct json_object *state = NULL;

	json_object_object_get_ex(status, "state", &state);
	return state && !strcmp(json_object_get_string(state), "given up");
}

static int print_status(const struct vtadev_card *cards, size_t count, const struct busy *before,
			const struct request *r)
{
	struct json_object *array = json_object_new_array();
	int ret = CTL_OK;

	for (size_t i = 0; i < count; i++) {
		bool device = ctl_is_device(&cards[i]);
		struct json_object *status = NULL;
		int err = device ? gather_device(r->which, &status) : 0;

		if (err) {
			ret = ctl_not_open(r->which, err);
			continue;
		}
		if (!device)
			status = gather(&cards[i]);
		if (!status) {
			ret = ctl_fail(cards[i].node, "the card was removed just now");
			continue;
		}
		json_object_array_add(array, status);
		if (device)
			continue;
		add_busy(status, &before[i]);
		ctl_print_access(&cards[i]);
		if (is_given_up(status))
			ret = CTL_BROKEN;
	}
	if (r->json)
		return ctl_print_json(array, false) ? CTL_ERROR : ret;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		gather_print(json_object_array_get_idx(array, i), r->all);
	json_object_put(array);
	return ret;
}

/* Finds the cards each time: they come and go. */
static int sample_and_print(const struct request *r)
{
	struct vtadev_card *cards;
	struct busy *before;
	size_t count;
	int ret;

	ret = ctl_cards_or_devices(r->which, &cards, &count);
	if (ret)
		return ret;
	before = calloc(count, sizeof(*before));
	for (size_t i = 0; before && i < count; i++)
		before[i] = busy_now(cards[i].index);
	ctl_sleep_until(ctl_now_ns() + (int64_t)(r->seconds * 1e9));
	if (r->watch && !r->json && isatty(STDOUT_FILENO))
		printf("\033[H\033[2J");
	ret = before ? print_status(cards, count, before, r) : ctl_error("status", -ENOMEM);
	free(before);
	vtadev_list_free(cards);
	return ret;
}

/* ---- The verb ---- */

static int parse(int argc, char **argv, struct request *r)
{
	const struct cli_option options[] = {
		{ CLI_FLAG("all", &r->all) },
		{ CLI_WORD("color", &r->colour) },
		{ CLI_NUMBER("count", &r->count, 1, 1000000000) },
		{ CLI_FLAG("json", &r->json) },
		{ .name = "watch", .set = ctl_set_seconds, .to = &r->seconds, .given = &r->watch },
		{ 0 },
	};
	int ret = cli_options(help, options, 1, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (r->count && !r->watch)
		return cli_usage("--count is for --watch");
	if (!r->watch)
		r->seconds = SAMPLE_S;
	colour_choose(r->colour);
	r->which = argv[0];
	return CLI_GO;
}

int status_main(int argc, char **argv)
{
	struct request r = { .seconds = 2 };
	int ret = parse(argc, argv, &r);
	unsigned long n = 0;

	if (ret != CLI_GO)
		return ret;
	do {
		ret = sample_and_print(&r);
		fflush(stdout);
	} while (r.watch && ++n != r.count && !ferror(stdout));
	return ret;
}

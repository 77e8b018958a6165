// SPDX-License-Identifier: GPL-2.0-only
/*
 * status.c - vtactl status: properties, state and use of cards
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "busy.h"
#include "ctl.h"
#include "gather.h"

/* How long one looks, without --watch, to tell how busy a card is. */
#define LOOK_S		0.1

struct request {
	const char *which;
	bool json;
	bool watch;
	double seconds;		/* from one look to the next */
	unsigned long count;	/* of looks; 0: without end */
};

static const char help[] =
	"Usage: vtactl status [--json] [--watch[=SECONDS]] [--count=N] [CARD]\n"
	"\n"
	"Shows identity, link, configuration, temperature, memory, queues and their owners, load,\n"
	"counters, the last faults and resets of a card. Without CARD, shows all cards.\n"
	"\n"
	"  -j, --json             print an array of cards; null stands for unknown values\n"
	"  -w, --watch[=SECONDS]  repeat every SECONDS (2)\n"
	"  -n, --count=N          with --watch, stop after N times\n"
	"  -h, --help             print this text\n"
	"\n"
	"status does not open the card, so it needs no permission and uses no context. Other\n"
	"users' processes, and the last faults, are shown to root only. The exit status is 5 if a\n"
	"card was given up.\n";

/* ---- One look ---- */

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

static bool given_up(struct json_object *status)
{
	struct json_object *state = NULL;

	json_object_object_get_ex(status, "state", &state);
	return state && !strcmp(json_object_get_string(state), "given up");
}

static int show(const struct vtadev_card *cards, size_t count, const struct busy *before,
		bool json)
{
	struct json_object *array = json_object_new_array();
	int ret = CTL_OK;

	for (size_t i = 0; i < count; i++) {
		struct json_object *status = gather(&cards[i]);

		if (!status) {
			ret = ctl_fail(cards[i].node, "the card was removed just now");
			continue;
		}
		add_busy(status, &before[i]);
		json_object_array_add(array, status);
		ctl_say_access(&cards[i]);
		if (given_up(status))
			ret = CTL_BROKEN;
	}
	if (json)
		return ctl_print_json(array, false) ? CTL_ERROR : ret;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		gather_print(json_object_array_get_idx(array, i));
	json_object_put(array);
	return ret;
}

static void sleep_s(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/* Cards come and go: they are looked for each time. */
static int look(const struct request *r)
{
	struct vtadev_card *cards;
	struct busy *before;
	size_t count;
	int ret;

	ret = ctl_cards(r->which, &cards, &count);
	if (ret)
		return ret;
	before = calloc(count, sizeof(*before));
	for (size_t i = 0; before && i < count; i++)
		before[i] = busy_now(cards[i].index);
	sleep_s(r->seconds);
	if (r->watch && !r->json && isatty(STDOUT_FILENO))
		printf("\033[H\033[2J");
	ret = before ? show(cards, count, before, r->json) : ctl_error("status", -ENOMEM);
	free(before);
	vtadev_list_free(cards);
	return ret;
}

/* ---- The verb ---- */

/* NULL is none, too. */
/* -1 to continue, otherwise the exit status. */
static int parse(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "watch", optional_argument, NULL, 'w' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "hjn:w::", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			return ctl_help(help);
		case 'j':
			r->json = true;
			break;
		case 'n':
			if (!ctl_number(optarg, 1, 1000000000, &r->count))
				return ctl_usage("not a number of times: ", optarg);
			break;
		case 'w':
			r->watch = true;
			r->seconds = 2;
			if (optarg && !ctl_seconds(optarg, &r->seconds))
				return ctl_usage("seconds are 0.1 to 86400, not ", optarg);
			break;
		default:
			return CTL_USAGE;	/* getopt has said why */
		}
	}
	if (argc - optind > 1)
		return ctl_usage("too much: ", argv[optind + 1]);
	if (r->count && !r->watch)
		return ctl_usage("--count is for --watch", "");
	r->which = argv[optind];
	return -1;
}

int status_main(int argc, char **argv)
{
	struct request r = { .seconds = LOOK_S };
	int ret = parse(argc, argv, &r);
	unsigned long n = 0;

	if (ret >= 0)
		return ret;
	do {
		ret = look(&r);
		fflush(stdout);
	} while (r.watch && ++n != r.count && !ferror(stdout));
	return ret;
}

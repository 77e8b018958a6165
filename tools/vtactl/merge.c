// SPDX-License-Identifier: GPL-2.0-only
/*
 * merge.c - bring the clocks of cards and host together
 *
 * Each program's file bounds, for each of its queues, how far CLOCK_MONOTONIC is ahead of the
 * card's time. The timeline is that of the card with the lowest number whose bounds are known;
 * without one, the host's.
 */
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracefs.h"

#define CARDS_MAX	64

typedef struct json_object json;

struct clocks {
	bool known[CARDS_MAX];
	int64_t min[CARDS_MAX], max[CARDS_MAX];	/* monotonic less card, ns */
	int reference;				/* -1: the host */
};

static json *get(json *object, const char *key)
{
	json *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

static int64_t number(json *object, const char *key)
{
	return json_object_get_int64(get(object, key));
}

static void bound_clocks(struct clocks *clocks, json *queues)
{
	size_t n = json_object_is_type(queues, json_type_array) ?
		   json_object_array_length(queues) : 0;

	for (size_t i = 0; i < n; i++) {
		json *queue = json_object_array_get_idx(queues, i);
		json *low = get(queue, "monotonic_less_card_min_ns");
		json *high = get(queue, "monotonic_less_card_max_ns");
		int64_t card = number(queue, "card");
		int64_t min = json_object_get_int64(low), max = json_object_get_int64(high);

		if (!low || !high || card < 0 || card >= CARDS_MAX)
			continue;
		if (!clocks->known[card] || min > clocks->min[card])
			clocks->min[card] = min;
		if (!clocks->known[card] || max < clocks->max[card])
			clocks->max[card] = max;
		clocks->known[card] = true;
	}
}

static void choose_reference(struct clocks *clocks)
{
	clocks->reference = -1;
	for (int i = CARDS_MAX - 1; i >= 0; i--)
		if (clocks->known[i])
			clocks->reference = i;
}

/* In the middle of the known range. */
static double offset_us(const struct clocks *clocks, int64_t card)
{
	return ((double)clocks->min[card] + (double)clocks->max[card]) / 2e3;
}

static void move_event(json *event, double us)
{
	json *ts = get(event, "ts");

	if (ts)
		json_object_object_add(event, "ts",
				       json_object_new_double(json_object_get_double(ts) + us));
}

/* A program's event, from its card's time to the reference's. */
static void place_descriptor(const struct clocks *clocks, json *event)
{
	json *card = get(get(event, "args"), "card");
	int64_t n = json_object_get_int64(card);

	if (!card || clocks->reference < 0 || n == clocks->reference || n < 0 ||
	    n >= CARDS_MAX || !clocks->known[n])
		return;
	move_event(event, offset_us(clocks, n) - offset_us(clocks, clocks->reference));
}

static void add_events(const struct clocks *clocks, json *from, json *to)
{
	size_t n = json_object_is_type(from, json_type_array) ? json_object_array_length(from) : 0;

	for (size_t i = 0; i < n; i++) {
		json *event = json_object_array_get_idx(from, i);

		place_descriptor(clocks, event);
		json_object_array_add(to, json_object_get(event));
	}
}

static bool phase_is(json *event, const char *phase)
{
	const char *ph = json_object_get_string(get(event, "ph"));

	return ph && !strcmp(ph, phase);
}

/* Finds the end of the event that begins at @first, in the same thread; -1 if there is none. */
static ssize_t find_end(json *kernel, size_t first)
{
	json *begin = json_object_array_get_idx(kernel, first);

	for (size_t i = first + 1; i < json_object_array_length(kernel); i++) {
		json *event = json_object_array_get_idx(kernel, i);

		if (number(event, "tid") == number(begin, "tid") &&
		    json_object_equal(get(event, "name"), get(begin, "name")))
			return phase_is(event, "E") ? (ssize_t)i : -1;
	}
	return -1;
}

/*
 * Joins each pair to one event with a length and the arguments of its end. An event that began
 * before the recording, or did not end in it, becomes a mark.
 */
static void join(json *kernel, json *to)
{
	size_t n = json_object_array_length(kernel);
	bool *joined = calloc(n + 1, sizeof(*joined));

	for (size_t i = 0; joined && i < n; i++) {
		json *event = json_object_array_get_idx(kernel, i);
		ssize_t end = phase_is(event, "B") ? find_end(kernel, i) : -1;

		if (joined[i])
			continue;
		if (end >= 0) {
			json *last = json_object_array_get_idx(kernel, (size_t)end);
			double ts = json_object_get_double(get(event, "ts"));
			double dur = json_object_get_double(get(last, "ts")) - ts;

			joined[end] = true;
			json_object_object_add(event, "ph", json_object_new_string("X"));
			json_object_object_add(event, "dur",
					       json_object_new_double(dur > 0 ? dur : 0));
			json_object_object_add(event, "args", json_object_get(get(last, "args")));
		} else if (!phase_is(event, "i")) {
			json_object_object_add(event, "ph", json_object_new_string("i"));
			json_object_object_add(event, "s", json_object_new_string("t"));
		}
		json_object_array_add(to, json_object_get(event));
	}
	free(joined);
}

static json *load_record(const char *file, uint64_t *bad)
{
	json *object = json_object_from_file(file);

	if (!object) {
		fprintf(stderr, "vtactl: trace: the record of a program cannot be read; "
			"was it killed?\n");
		++*bad;
	}
	return object;
}

json *merge(json *kernel, uint64_t lost, const char *dir)
{
	json *all = json_object_new_object(), *other = json_object_new_object();
	json *events = json_object_new_array(), *programs = json_object_new_array();
	struct clocks clocks = { 0 };
	uint64_t bad = 0;
	char pattern[128];
	glob_t files = { 0 };
	json **loaded;

	snprintf(pattern, sizeof(pattern), "%s/*.json", dir);
	if (glob(pattern, 0, NULL, &files))
		files.gl_pathc = 0;
	loaded = calloc(files.gl_pathc + 1, sizeof(json *));
	for (size_t i = 0; loaded && i < files.gl_pathc; i++) {
		loaded[i] = load_record(files.gl_pathv[i], &bad);
		bound_clocks(&clocks, get(get(loaded[i], "otherData"), "queues"));
	}
	choose_reference(&clocks);
	for (size_t i = 0; loaded && i < files.gl_pathc; i++) {
		add_events(&clocks, get(loaded[i], "traceEvents"), events);
		if (get(loaded[i], "otherData"))
			json_object_array_add(programs,
					      json_object_get(get(loaded[i], "otherData")));
		json_object_put(loaded[i]);
	}
	free(loaded);
	globfree(&files);

	if (clocks.reference >= 0)
		for (size_t i = 0; i < json_object_array_length(kernel); i++)
			move_event(json_object_array_get_idx(kernel, i),
				   -offset_us(&clocks, clocks.reference));
	join(kernel, events);
	json_object_put(kernel);

	json_object_object_add(other, "clock", json_object_new_string(clocks.reference < 0 ?
			       "CLOCK_MONOTONIC" : "card time"));
	json_object_object_add(other, "clock_card", clocks.reference < 0 ? NULL :
			       json_object_new_int(clocks.reference));
	json_object_object_add(other, "driver_events_lost", json_object_new_uint64(lost));
	json_object_object_add(other, "programs_unreadable", json_object_new_uint64(bad));
	json_object_object_add(other, "programs", programs);
	json_object_object_add(all, "displayTimeUnit", json_object_new_string("ns"));
	json_object_object_add(all, "otherData", other);
	json_object_object_add(all, "traceEvents", events);
	return all;
}

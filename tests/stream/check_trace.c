// SPDX-License-Identifier: GPL-2.0-only
/*
 * check_trace - check that the events of a trace's file are possible
 *
 *	check_trace FILE [-q QUEUES] [-n DESCRIPTORS] [-e EVENT=COUNT]...
 *
 * Each queue's descriptors must be there once each, from number 1 on, begin in order, and
 * end after they begin; one engine does one thing at a time; a WAIT ends after the SIGNAL
 * that it waits for. -q and -n give the numbers of queues and descriptors, -e the number of
 * the driver's events of that name; COUNT + is at least one. Prints TAP.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace_json.h"

struct desc {
	int64_t pid, queue, card;
	uint64_t seq, start, end, cycles, addr, value;
	const char *name, *cat;
	bool span;
};

static struct desc *descs;
static size_t count;
static unsigned int results, failed;

static void result(bool ok, const char *name)
{
	printf("%s %u %s\n", ok ? "ok" : "not ok", ++results, name);
	failed += !ok;
}

static void read_descs(struct json_object *events)
{
	size_t n = json_object_array_length(events);

	descs = calloc(n + 1, sizeof(*descs));
	if (!descs)
		exit(2);
	for (size_t i = 0; i < n; i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		struct json_object *args = json_args(event);

		if (!json_get(args, "completed"))
			continue;
		descs[count++] = (struct desc) {
			.pid = (int64_t)json_num(event, "pid"),
			.queue = (int64_t)json_num(args, "queue"),
			.card = (int64_t)json_num(args, "card"),
			.seq = json_num(args, "seq"),
			.start = json_num(args, "start_ns"),
			.end = json_num(args, "end_ns"),
			.cycles = json_num(args, "cycles"),
			.addr = json_num(args, "addr"),
			.value = json_num(args, "value"),
			.name = json_str(event, "name"),
			.cat = json_str(event, "cat"),
			.span = !strcmp(json_str(event, "ph"), "X"),
		};
	}
}

/* -1, 0 or 1 */
#define ORDER(a, b)	(((a) > (b)) - ((a) < (b)))

static int by_queue(const void *x, const void *y)
{
	const struct desc *a = x, *b = y;

	return ORDER(a->pid, b->pid) ?: ORDER(a->queue, b->queue) ?: ORDER(a->seq, b->seq);
}

static int by_engine(const void *x, const void *y)
{
	const struct desc *a = x, *b = y;

	return ORDER(a->card, b->card) ?: strcmp(a->cat, b->cat) ?: ORDER(a->start, b->start) ?:
	       ORDER(a->end, b->end);
}

static void check_queues(uint64_t queues_wanted)
{
	bool once = true, ordered = true, sane = true;
	uint64_t queues = 0;

	qsort(descs, count, sizeof(*descs), by_queue);
	for (size_t i = 0; i < count; i++) {
		const struct desc *d = &descs[i], *last = i ? d - 1 : NULL;
		bool first = !last || last->pid != d->pid || last->queue != d->queue;

		queues += first;
		once &= d->seq == (first ? 1 : last->seq + 1);
		ordered &= first || !d->span || !last->span || d->start >= last->end;
		sane &= !d->span || (d->start && d->start <= d->end);
	}
	result(count && once, "each descriptor of a queue is there once");
	result(ordered, "a queue's descriptors follow each other");
	result(sane, "none ends before it began");
	if (queues_wanted)
		result(queues == queues_wanted, "as many queues as there were");
}

static bool on_engine(const struct desc *d)
{
	return d->span && strcmp(d->cat, "sync");
}

static void check_engines(void)
{
	bool alone = true;

	qsort(descs, count, sizeof(*descs), by_engine);
	for (size_t i = 1; i < count; i++) {
		const struct desc *a = &descs[i - 1], *b = &descs[i];

		if (!on_engine(a) || !on_engine(b) || a->card != b->card || strcmp(a->cat, b->cat))
			continue;
		if (b->start < a->end) {
			printf("# %s %" PRIu64 "..%" PRIu64 " and %s %" PRIu64 "..%" PRIu64 "\n",
			       a->name, a->start, a->end, b->name, b->start, b->end);
			alone = false;
		}
	}
	result(alone, "an engine does one thing at a time");
}

/* Check that an earlier SIGNAL of the same process made the word as high. */
static bool signalled(const struct desc *wait)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(descs[i].name, "SIGNAL") && descs[i].pid == wait->pid &&
		    descs[i].addr == wait->addr && descs[i].value >= wait->value &&
		    descs[i].end <= wait->end)
			return true;
	return false;
}

static void check_waits(void)
{
	bool ok = true;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(descs[i].name, "WAIT") && descs[i].span)
			ok &= signalled(&descs[i]);
	result(ok, "a WAIT ends after a SIGNAL that satisfies it");
}

static void check_event(struct json_object *events, char *spec)
{
	char *number = strchr(spec, '='), name[128];
	unsigned long found = 0;

	if (!number)
		exit(2);
	*number++ = '\0';
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);

		found += !strcmp(json_str(event, "name"), spec) &&
			 !strcmp(json_str(event, "cat"), "driver");
	}
	snprintf(name, sizeof(name), "the driver's events: %s %s, found %lu", number, spec, found);
	result(*number == '+' ? found : found == strtoul(number, NULL, 10), name);
}

int main(int argc, char **argv)
{
	struct json_object *trace, *events;
	uint64_t queues = 0, wanted = 0;
	int option;

	if (argc < 2)
		return 2;
	trace = json_object_from_file(argv[1]);
	events = trace ? json_get(trace, "traceEvents") : NULL;
	result(events && json_object_is_type(events, json_type_array), "the file is a trace");
	if (!events)
		return 1;
	argc--;
	argv++;
	while ((option = getopt(argc, argv, "q:n:e:")) != -1) {
		if (option == 'q')
			queues = strtoull(optarg, NULL, 10);
		else if (option == 'n')
			wanted = strtoull(optarg, NULL, 10);
		else if (option == 'e')
			check_event(events, optarg);
		else
			return 2;
	}
	read_descs(events);
	check_queues(queues);
	check_engines();
	check_waits();
	if (wanted) {
		printf("# %zu descriptors\n", count);
		result(count == wanted, "as many descriptors as were submitted");
	}
	free(descs);
	json_object_put(trace);
	printf("1..%u\n", results);
	return failed ? 1 : 0;
}

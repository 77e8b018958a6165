// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_trace.c - the measured run of a program, as a trace for Perfetto
 *
 * Tracks: the CPU's steps, the card's layers, its copies, and batches of the queue, each from the
 * begin of its first descriptor to the end of its last. Times are those of CLOCK_MONOTONIC.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "program_profile.h"

typedef struct json_object json;

enum track { TRACK_RUN = 1, TRACK_CPU, TRACK_CARD, TRACK_COPY, TRACK_QUEUE, TRACKS };

static enum track track_of(const struct profile_row *row)
{
	switch (row->step.kind) {
	case VTAIMAGE_CPU:
		return TRACK_CPU;
	case VTAIMAGE_RUN:
		return TRACK_CARD;
	default:
		return TRACK_COPY;
	}
}

static json *new_event(const char *phase, const char *name, enum track track)
{
	json *event = json_object_new_object();

	json_object_object_add(event, "ph", json_object_new_string(phase));
	json_object_object_add(event, "name", json_object_new_string(name));
	json_object_object_add(event, "pid", json_object_new_int(1));
	json_object_object_add(event, "tid", json_object_new_int((int)track));
	return event;
}

/* Names a track, or the process if @track is 0. */
static void add_name(json *events, enum track track, const char *name)
{
	json *event = new_event("M", track ? "thread_name" : "process_name", track);
	json *args = json_object_new_object();

	json_object_object_add(args, "name", json_object_new_string(name));
	json_object_object_add(event, "args", args);
	json_object_array_add(events, event);
}

static void add_us(json *to, const char *key, int64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%.3f", (double)ns / 1e3);
	json_object_object_add(to, key, json_object_new_double_s((double)ns / 1e3, text));
}

static json *add_span(json *events, const char *name, const char *category, enum track track,
		      int64_t begin, int64_t end)
{
	json *event = new_event("X", name, track), *args = json_object_new_object();

	json_object_object_add(event, "cat", json_object_new_string(category));
	add_us(event, "ts", begin);
	add_us(event, "dur", end - begin);
	json_object_object_add(event, "args", args);
	json_object_array_add(events, event);
	return args;
}

static void add_row(json *events, const struct profile_row *row)
{
	static const char *const categories[TRACKS] = {
		[TRACK_CPU] = "cpu", [TRACK_CARD] = "compute", [TRACK_COPY] = "copy",
	};
	enum track track = track_of(row);
	json *args = add_span(events, row->name, categories[track], track, row->span.begin,
			      row->span.end);
	json *kernel, *limit;
	uint64_t least;

	json_object_object_add(args, "operator", json_object_new_string(row->op));
	json_object_object_add(args, "step", json_object_new_int64(row->span.step));
	if (track == TRACK_CPU) {
		kernel = json_object_new_string(vtacpu_kernel_name(row->step.kernel));
		json_object_object_add(args, "kernel", kernel);
		return;
	}
	json_object_object_add(args, "cycles", json_object_new_uint64(row->span.cycles));
	json_object_object_add(args, "bytes", json_object_new_uint64(row->bytes));
	if (!row->layer || !row->layer->counted)
		return;
	limit = json_object_new_string(vtaops_limit(&row->layer->work, &least));
	json_object_object_add(args, "limit", limit);
	json_object_object_add(args, "formula_cycles",
			       json_object_new_uint64(row->layer->work.cycles));
	json_object_object_add(args, "least_cycles", json_object_new_uint64(least));
}

/* Steps of the card that follow each other are one batch. */
static void add_batches(json *events, const struct profile *p)
{
	for (uint32_t i = 0, end; i < p->count; i = end) {
		char name[40];
		json *args;

		for (end = i; end < p->count && track_of(&p->rows[end]) != TRACK_CPU; end++)
			;
		if (end == i) {
			end++;
			continue;
		}
		snprintf(name, sizeof(name), "batch of %u", end - i);
		args = add_span(events, name, "queue", TRACK_QUEUE, p->rows[i].span.begin,
				p->rows[end - 1].span.end);
		json_object_object_add(args, "descriptors", json_object_new_int64(end - i));
	}
}

static void add_names(json *events, const struct profile *p)
{
	static const struct {
		enum track track;
		const char *what;
	} tracks[] = {
		{ TRACK_CARD, "compute" }, { TRACK_COPY, "copy" }, { TRACK_QUEUE, "queue" },
	};
	char name[VTAIMAGE_NAME_MAX + 32];

	add_name(events, 0, p->image->name);
	add_name(events, TRACK_RUN, "run");
	add_name(events, TRACK_CPU, "CPU");
	for (size_t i = 0; i < sizeof(tracks) / sizeof(*tracks); i++) {
		snprintf(name, sizeof(name), "%.64s %s", p->card, tracks[i].what);
		add_name(events, tracks[i].track, name);
	}
}

void profile_write_trace(const struct profile *p, FILE *file)
{
	json *all = json_object_new_object(), *other = json_object_new_object();
	json *events = json_object_new_array(), *args;

	add_names(events, p);
	args = add_span(events, p->image->name, "run", TRACK_RUN, p->begin, p->end);
	json_object_object_add(args, "formula_cycles", json_object_new_uint64(p->image->cycles));
	for (uint32_t i = 0; i < p->count; i++)
		add_row(events, &p->rows[i]);
	add_batches(events, p);
	json_object_object_add(other, "clock", json_object_new_string("CLOCK_MONOTONIC"));
	json_object_object_add(other, "card", json_object_new_string(p->card));
	json_object_object_add(other, "clock_khz", json_object_new_int64(p->clock_khz));
	add_us(other, "clock_error_us", p->error_ns);
	add_us(other, "plain_run_us", p->plain_ns);
	json_object_object_add(all, "displayTimeUnit", json_object_new_string("ns"));
	json_object_object_add(all, "otherData", other);
	json_object_object_add(all, "traceEvents", events);
	fputs(json_object_to_json_string_ext(all, JSON_C_TO_STRING_NOSLASHESCAPE), file);
	fputc('\n', file);
	json_object_put(all);
}

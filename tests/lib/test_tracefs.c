// SPDX-License-Identifier: GPL-2.0-only
/*
 * The traces that vtactl trace makes of the kernel's lines, and of programs'
 * files with clocks of their own
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../frame.h"
#include "tracefs.h"
#include "trace_json.h"

/* ---- Lines ---- */

static struct json_object *parse(const char *line)
{
	char *copy = strdup(line);
	struct json_object *event = tracefs_parse(copy);

	free(copy);
	return event;
}

TEST(marks)
{
	struct json_object *e = parse("        stream-123     (    120) [001] .....    12.345678: "
				      "vta_queue_create: vta1 context=2 queue=3\n");

	assert_non_null(e);
	assert_string_equal(json_str(e, "name"), "queue_create");
	assert_string_equal(json_str(e, "cat"), "driver");
	assert_string_equal(json_str(e, "ph"), "i");
	assert_int_equal(json_num(e, "tid"), 123);
	assert_int_equal(json_num(e, "pid"), 120);
	assert_true(fabs(json_object_get_double(json_get(e, "ts")) - 12345678) < 0.001);
	assert_int_equal(json_num(json_args(e), "card"), 1);
	assert_int_equal(json_num(json_args(e), "context"), 2);
	assert_int_equal(json_num(json_args(e), "queue"), 3);
	json_object_put(e);
}

TEST(values)
{
	struct json_object *e = parse("kworker/0:1-9 [000] d..1. 0.5: vta_recovery: "
				      "vta0 step=soft_reset ret=-110 addr=0x40000000 empty=");

	assert_non_null(e);
	assert_int_equal(json_num(e, "pid"), 9);
	assert_string_equal(json_str(json_args(e), "step"), "soft_reset");
	assert_int_equal(json_object_get_int64(json_get(json_args(e), "ret")), -110);
	assert_int_equal(json_num(json_args(e), "addr"), 0x40000000);
	assert_string_equal(json_str(json_args(e), "empty"), "");
	json_object_put(e);

	e = parse("x-1 [000] d..1. 0.5: vta_reset_request: vta0 it does not answer");
	assert_non_null(e);
	assert_string_equal(json_str(json_args(e), "what"), "it does not answer");
	json_object_put(e);
}

/* A command may be named like anything. */
TEST(odd_commands)
{
	static const char *const names[] = { "a-b [7] (3)", "x [000]", "-", "(12)", "a (", "" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char line[256];
		struct json_object *e;

		snprintf(line, sizeof(line), " %s-77   (-----) [012] .....  1.000001: %s",
			 names[i], "vta_ctx_open: vta0 tgid=77");
		e = parse(line);
		assert_non_null(e);
		assert_int_equal(json_num(e, "tid"), 77);
		assert_int_equal(json_num(e, "pid"), 77);
		json_object_put(e);
	}
}

TEST(no_events)
{
	static const char *const lines[] = {
		"", "\n", "# tracer: nop", "#  : vta_x: y", "garbage", ": vta_", ": vta_x",
		": vta_x: vta0", "a-1 [0] . 1.5: sched_switch: x", "a-1 [0] . x: vta_x: y",
		"a [0] . 1.5: vta_x: y", "1.5: vta_x: y", "CPU:0 [LOST 7 EVENTS]",
		" [0] 1.5: vta_x: y", "-1 1.5: vta_x: y",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_null(parse(lines[i]));
}

/* ---- Merging ---- */

static char dir[64];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/vta-merge-XXXXXX");
	return !mkdtemp(dir);
}

static void file(const char *name, const char *text)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static int teardown(void **state)
{
	static const char *const names[] = { "1.json", "2.json", "bad.json" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

#define DIRECTORY void *unused, setup, teardown

static struct json_object *kernel(const char *const *lines, size_t n)
{
	struct json_object *events = json_object_new_array();

	for (size_t i = 0; i < n; i++)
		json_object_array_add(events, parse(lines[i]));
	return events;
}

static struct json_object *event_named(struct json_object *trace, const char *name)
{
	struct json_object *events = json_get(trace, "traceEvents"), *found = NULL;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *e = json_object_array_get_idx(events, i);

		if (strcmp(json_str(e, "name"), name))
			continue;
		assert_null(found);
		found = e;
	}
	assert_non_null(found);
	return found;
}

static void assert_ts(struct json_object *trace, const char *name, double us)
{
	double ts = json_object_get_double(json_get(event_named(trace, name), "ts"));

	assert_true(fabs(ts - us) < 0.001);
}

#define OFFSETS(card, min, max)						\
	"{\"card\":" card ",\"monotonic_less_card_min_ns\":" min		\
	",\"monotonic_less_card_max_ns\":" max "}"

/* Card 1 is 5 s behind the host's clock, card 3 between 7 and 9. */
TEST_F(DIRECTORY, clocks_are_brought_together)
{
	static const char *const lines[] = {
		"a-1 [0] . 20.000000: vta_ctx_open: vta1 tgid=1",
	};
	struct json_object *trace, *other;

	file("1.json", "{\"otherData\":{\"queues\":["
	     OFFSETS("1", "4000000000", "5500000000") ","
	     OFFSETS("1", "4500000000", "8000000000") ","
	     OFFSETS("1", "null", "null") "]},"
	     "\"traceEvents\":[{\"name\":\"a\",\"ts\":1000,\"args\":{\"card\":1}}]}");
	file("2.json", "{\"otherData\":{\"queues\":["
	     OFFSETS("3", "7000000000", "9000000000") ","
	     OFFSETS("-1", "1", "1") "," OFFSETS("1000000", "1", "1") "]},"
	     "\"traceEvents\":[{\"name\":\"b\",\"ts\":1000,\"args\":{\"card\":3}},"
	     "{\"name\":\"c\",\"ts\":1000,\"args\":{\"card\":99}},"
	     "{\"name\":\"d\",\"ph\":\"M\",\"args\":{}}]}");
	file("bad.json", "{\"traceEvents\":[");
	trace = merge(kernel(lines, 1), 17, dir);
	assert_ts(trace, "a", 1000);
	assert_ts(trace, "b", 1000 + 3e6);
	assert_ts(trace, "c", 1000);
	assert_null(json_get(event_named(trace, "d"), "ts"));
	assert_ts(trace, "ctx_open", 15e6);
	other = json_get(trace, "otherData");
	assert_string_equal(json_str(other, "clock"), "card time");
	assert_int_equal(json_num(other, "clock_card"), 1);
	assert_int_equal(json_num(other, "driver_events_lost"), 17);
	assert_int_equal(json_num(other, "programs_unreadable"), 1);
	assert_int_equal(json_object_array_length(json_get(other, "programs")), 2);
	json_object_put(trace);
}

TEST_F(DIRECTORY, without_programs_the_clock_is_the_hosts)
{
	static const char *const lines[] = {
		"a-1 [0] . 20.000000: vta_ctx_open: vta1 tgid=1",
	};
	struct json_object *trace = merge(kernel(lines, 1), 0, dir);

	assert_ts(trace, "ctx_open", 20e6);
	assert_string_equal(json_str(json_get(trace, "otherData"), "clock"), "CLOCK_MONOTONIC");
	json_object_put(trace);
}

/* By thread; ends without a beginning and beginnings without an end are marks. */
TEST_F(DIRECTORY, waits_are_spans)
{
	static const char *const lines[] = {
		"a-1 [0] . 1.000000: vta_wait_end: vta0 queue=1 seq=1 done=1 ret=0",
		"a-1 [0] . 2.000000: vta_wait_begin: vta0 queue=1 seq=2",
		"a-2 [0] . 2.500000: vta_wait_begin: vta0 queue=1 seq=3",
		"a-1 [0] . 3.000000: vta_wait_end: vta0 queue=1 seq=2 done=2 ret=-110",
		"a-1 [0] . 4.000000: vta_wait_begin: vta0 queue=1 seq=4",
		"a-2 [0] . 4.500000: vta_wait_end: vta0 queue=1 seq=3 done=3 ret=0",
	};
	struct json_object *trace = merge(kernel(lines, 6), 0, dir);
	struct json_object *events = json_get(trace, "traceEvents"), *ret;
	static const struct {
		const char *phase;
		double ts, dur;
	} want[] = { { "i", 1e6, 0 }, { "X", 2e6, 1e6 }, { "X", 2.5e6, 2e6 }, { "i", 4e6, 0 } };

	assert_int_equal(json_object_array_length(events), 4);
	for (size_t i = 0; i < 4; i++) {
		struct json_object *e = json_object_array_get_idx(events, i);

		assert_string_equal(json_str(e, "name"), "wait");
		assert_string_equal(json_str(e, "ph"), want[i].phase);
		assert_true(fabs(json_object_get_double(json_get(e, "ts")) - want[i].ts) < 0.001);
		assert_true(fabs(json_object_get_double(json_get(e, "dur")) - want[i].dur) < 0.001);
	}
	ret = json_get(json_args(json_object_array_get_idx(events, 1)), "ret");
	assert_int_equal(json_object_get_int64(ret), -110);
	json_object_put(trace);
}

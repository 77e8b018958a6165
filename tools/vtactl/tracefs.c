// SPDX-License-Identifier: GPL-2.0-only
/*
 * tracefs.c - record by the kernel's tracing, in an instance of its own
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracefs.h"

#define BUFFER_KB	"4096"	/* for each CPU */
#define DELIMITERS	"\n "

static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
static char instance[128];	/* empty: nothing is recorded */

static int write_file(const char *file, const char *text)
{
	char path[256];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", instance, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static void remove_instance(void)
{
	write_file("events/vta/enable", "0");
	rmdir(instance);
	instance[0] = '\0';
}

static int set_up(const char **what)
{
	int err;

	*what = "choosing the clock of the kernel's tracing";
	err = write_file("trace_clock", "mono");
	if (err)
		return err;
	/* Without these: less, and threads instead of processes. */
	write_file("buffer_size_kb", BUFFER_KB);
	write_file("options/record-tgid", "1");
	*what = "the driver's tracepoints (is the module loaded?)";
	err = write_file("events/vta/enable", "1");
	return err ? err : write_file("tracing_on", "1");
}

int tracefs_start(const char **what)
{
	int err = -ENOENT;

	*what = "the kernel's tracing (tracefs)";
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		snprintf(instance, sizeof(instance), "%s/instances/vtactl-%d", roots[i],
			 (int)getpid());
		if (!mkdir(instance, 0700)) {
			err = set_up(what);
			if (err)
				remove_instance();
			return err;
		}
		/* The error of the first path is clearer: the second is another mount of it. */
		if (!i || err == -ENOENT)
			err = -errno;
	}
	instance[0] = '\0';
	return err;
}

/* ---- Lines ---- */

static void add_member(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

static void append(char *words, size_t size, const char *word)
{
	size_t len = strlen(words);

	snprintf(words + len, size - len, "%s%s", len ? " " : "", word);
}

/* "vta0 queue=3 seq=17 ..." as members; the card's name as its number. */
static void put_args(struct json_object *args, char *text)
{
	char *save, *word, *end, words[128] = "";

	for (; (word = strtok_r(text, DELIMITERS, &save)); text = NULL) {
		char *value = strchr(word, '=');
		long long number;

		if (!value) {
			if (!strncmp(word, "vta", 3) && isdigit((unsigned char)word[3]))
				add_member(args, "card", json_object_new_int(atoi(word + 3)));
			else
				append(words, sizeof(words), word);
			continue;
		}
		*value++ = '\0';
		errno = 0;
		number = strtoll(value, &end, 0);
		add_member(args, word, !errno && *value && !*end ? json_object_new_int64(number) :
			   json_object_new_string(value));
	}
	if (words[0])
		add_member(args, "what", json_object_new_string(words));
}

/* "  comm-12  (  11) [001] ..... " up to the time: thread and process. */
static bool parse_task(char *text, long *tid, long *tgid)
{
	char *cpu = NULL, *at, *end;

	/* The command may have any characters: what counts is the last of each. */
	for (at = strstr(text, " ["); at; at = strstr(at + 1, " ["))
		cpu = at;
	if (!cpu)
		return false;
	*cpu = '\0';
	*tgid = 0;
	end = cpu;
	while (end > text && end[-1] == ' ')
		end--;
	if (end > text && end[-1] == ')') {
		at = end;
		while (at > text && at[-1] != '(')
			at--;
		*tgid = strtol(at, NULL, 10);	/* 0 for dashes: not known */
		end = at > text ? at - 1 : at;
		while (end > text && end[-1] == ' ')
			end--;
	}
	*end = '\0';
	at = strrchr(text, '-');
	if (!at || !isdigit((unsigned char)at[1]))
		return false;
	*tid = strtol(at + 1, NULL, 10);
	if (*tgid <= 0)
		*tgid = *tid;
	return true;
}

/* Cuts @text off at its last word, which is a time; microseconds. */
static bool parse_time(char *text, double *us)
{
	char *at = strrchr(text, ' '), *end;

	if (!at)
		return false;
	*us = strtod(at + 1, &end) * 1e6;
	if (end == at + 1 || *end)
		return false;
	*at = '\0';
	return true;
}

struct json_object *tracefs_parse(char *line)
{
	char *name = strstr(line, ": vta_"), *text, *tail;
	struct json_object *event, *args;
	const char *phase = "i";
	long tid, tgid;
	double us;

	if (line[0] == '#' || !name)
		return NULL;
	*name = '\0';
	name += strlen(": vta_");
	text = strchr(name, ':');
	if (!text || !parse_time(line, &us) || !parse_task(line, &tid, &tgid))
		return NULL;
	*text++ = '\0';

	/* Events that begin and end become one slice with a length. */
	tail = strrchr(name, '_');
	if (tail && (!strcmp(tail, "_begin") || !strcmp(tail, "_end"))) {
		phase = tail[1] == 'b' ? "B" : "E";
		*tail = '\0';
	}
	event = json_object_new_object();
	args = json_object_new_object();
	add_member(event, "name", json_object_new_string(name));
	add_member(event, "cat", json_object_new_string("driver"));
	add_member(event, "ph", json_object_new_string(phase));
	if (phase[0] == 'i')
		add_member(event, "s", json_object_new_string("t"));
	add_member(event, "pid", json_object_new_int64(tgid));
	add_member(event, "tid", json_object_new_int64(tid));
	add_member(event, "ts", json_object_new_double(us));
	put_args(args, text);
	add_member(event, "args", args);
	return event;
}

/* ---- All that was recorded ---- */

static uint64_t lost_of(const char *file)
{
	unsigned long long n, lost = 0;
	char line[128];
	FILE *stats = fopen(file, "re");

	while (stats && fgets(line, sizeof(line), stats))
		if (sscanf(line, "overrun: %llu", &n) == 1 ||
		    sscanf(line, "dropped events: %llu", &n) == 1)
			lost += n;
	if (stats)
		fclose(stats);
	return lost;
}

static uint64_t lost_by_kernel(void)
{
	char pattern[256];
	uint64_t lost = 0;
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/per_cpu/cpu*/stats", instance);
	if (glob(pattern, 0, NULL, &files))
		return 0;
	for (size_t i = 0; i < files.gl_pathc; i++)
		lost += lost_of(files.gl_pathv[i]);
	globfree(&files);
	return lost;
}

void tracefs_stop(struct json_object *events, uint64_t *lost)
{
	char path[256], *line = NULL;
	size_t size = 0;
	FILE *trace;

	if (!instance[0])
		return;
	write_file("tracing_on", "0");
	*lost += lost_by_kernel();
	snprintf(path, sizeof(path), "%s/trace", instance);
	trace = fopen(path, "re");
	while (trace && getline(&line, &size, trace) >= 0) {
		bool ours = line[0] != '#' && strstr(line, ": vta_");
		struct json_object *event = tracefs_parse(line);

		if (event)
			json_object_array_add(events, event);
		else if (ours)
			++*lost;
	}
	free(line);
	if (trace)
		fclose(trace);
	remove_instance();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory.c - measure copies, pinning, mapping and page walks, in the guest
 *
 *	memory OUT [NAME=VALUE]...
 *
 * writes OUT/memory.json and OUT/memory.dat (for the chart). What the run was
 * made on comes as NAME=VALUE and goes into both.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "bench.h"

static void tell_run(struct bench *bench, char **facts)
{
	struct json_object *run = json_sub(bench->results, "run");
	struct utsname name;
	char kernel[160];

	uname(&name);
	snprintf(kernel, sizeof(kernel), "%s %s", name.sysname, name.release);
	json_object_object_add(run, "kernel", json_object_new_string(kernel));
	printf("kernel   %s\n", kernel);
	for (; *facts; facts++) {
		char *value = strchr(*facts, '=');

		if (!value)
			continue;
		*value++ = '\0';
		json_object_object_add(run, *facts, json_object_new_string(value));
		printf("%-8s %s\n", *facts, value);
	}
}

static void write_results(const struct bench *bench)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/memory.json", bench->out);
	if (json_object_to_file_ext(path, bench->results, JSON_C_TO_STRING_PRETTY) < 0) {
		fprintf(stderr, "bench: cannot write %s\n", path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct bench bench = { 0 };

	if (argc < 2) {
		fprintf(stderr, "usage: memory OUT [NAME=VALUE]...\n");
		return 2;
	}
	bench.out = argv[1];
	bench.results = json_object_new_object();
	tell_run(&bench, argv + 2);
	setrlimit(RLIMIT_MEMLOCK, &all);
	must(vtadev_open(NULL, &bench.dev), "opening the card");
	must(vtadev_queue_create(bench.dev, NULL, &bench.queue), "making a queue");

	bench_copy(&bench);
	bench_choice(&bench);
	bench_map(&bench);
	bench_walks(&bench);

	vtadev_queue_destroy(bench.queue);
	vtadev_close(bench.dev);
	write_results(&bench);
	json_object_put(bench.results);
	return 0;
}

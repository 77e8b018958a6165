// SPDX-License-Identifier: GPL-2.0-only
/*
 * zoo.c - sums of the networks that make check-zoo has compiled and compared
 *
 * They are of its last run on this machine, build/check-zoo/zoo.json: networks that pass, the
 * share of multiplications on the card, cycles, the compiler's time and memory, and the time of
 * runs on the CPU relative to ONNX Runtime's. Without such a run there are none, and the part says
 * so.
 */
#include <errno.h>

#include "bench.h"

#define SUMS	"build/check-zoo/zoo.json"

/* A sum, and its target: none if both limits are 0. */
struct sum {
	const char *key, *text;
	double at_least, at_most;
};

static const struct sum sums[] = {
	{ "networks", "networks that pass", 60, 0 },
	{ "nodes", "nodes", 0, 0 },
	{ "multiplications", "multiplications of a run", 0, 0 },
	{ "on_card", "of these on the card", 0, 0 },
	{ "regions", "regions of the card", 0, 0 },
	{ "program_bytes", "bytes of programs", 0, 0 },
	{ "cycles", "cycles of the card", 0, 0 },
	{ "compile_seconds", "seconds to compile, of a processor", 0, 0 },
	{ "memory_most", "memory to compile / (4 x weights + 200 MiB), at most", 0, 1 },
	{ "cpu_time_mean", "time on the CPU / ONNX Runtime's, geometric mean", 0, 1.5 },
	{ "cpu_time_most", "time on the CPU / ONNX Runtime's, at most", 0, 2.5 },
};

static void report(struct bench *bench, struct json_object *from, const struct sum *sum)
{
	struct json_object *value;
	double number;

	if (!json_object_object_get_ex(from, sum->key, &value))
		must(-ENODATA, "a sum in " SUMS);
	number = json_object_get_double(value);
	json_num(bench->results, sum->key, number);
	printf("%-56s %14.6g\n", sum->text, number);
	if (sum->at_least > 0)
		bench_target(bench, sum->text, number, AT_LEAST, sum->at_least);
	if (sum->at_most > 0)
		bench_target(bench, sum->text, number, AT_MOST, sum->at_most);
}

int main(int argc, char **argv)
{
	struct json_object *from = json_object_from_file(SUMS);
	struct bench bench;

	bench_begin(&bench, "zoo", argc, argv);
	if (from) {
		for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
			report(&bench, from, &sums[i]);
	} else {
		printf("zoo: left out: there is no " SUMS ", which make check-zoo writes\n");
		json_text(bench.results, "left_out", "make check-zoo has not run");
	}
	json_object_put(from);
	bench_end(&bench);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * replay.c - a fuzz target without a fuzzer, for `make check`
 *
 *	replay [-n COUNT] [-s SEED] [-w DIR] [FILE...]
 *
 * Runs the target on its seeds, on the files, and on COUNT mutants of all of them,
 * the same ones whenever it is run; prints TAP. With -w writes the seeds to DIR
 * instead, for a fuzzer to start from. Before a mutant is run it is in
 * $VTA_FUZZ_KEEP, if that is set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUTS_MAX	256u

static struct input {
	uint8_t *data;
	size_t size;
} inputs[INPUTS_MAX];

static unsigned int count;
static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % below;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void add(uint8_t *data, size_t size)
{
	if (count == INPUTS_MAX) {
		fprintf(stderr, "more than %u inputs\n", INPUTS_MAX);
		exit(2);
	}
	inputs[count++] = (struct input) { data, size };
}

static void add_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *data;
	long size = -1;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size < 0)
		die(path);
	rewind(file);
	data = malloc((size_t)size + 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		die(path);
	fclose(file);
	add(data, (size_t)size);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	FILE *file = fopen(path, "wbe");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file))
		die(path);
}

static void write_seeds(const char *dir)
{
	char path[4096];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/seed-%u", dir, i);
		write_file(path, inputs[i].data, inputs[i].size);
	}
}

/* In memory of its own size, so that reading behind it is seen. */
static void run(const uint8_t *data, size_t size)
{
	const char *keep = getenv("VTA_FUZZ_KEEP");
	uint8_t *copy = malloc(size);

	if (size && !copy)
		die("memory");
	if (size)
		memcpy(copy, data, size);
	if (keep)
		write_file(keep, copy, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void put_number(uint8_t *at, uint32_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* A bit, a byte, a number with a taste for limits, or a piece from elsewhere. */
static void change(uint8_t *data, size_t size)
{
	static const uint32_t limits[] = { 0, 1, 15, 16, 0xff, 0xffff, 0x10000, 0x40000000,
					   0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff };
	/* Headers are at the front. */
	size_t at = rnd((uint32_t)(rnd(2) && size > 256 ? 256 : size));
	size_t from = rnd((uint32_t)size), room = size - (at > from ? at : from);
	size_t len = 1 + rnd(room < 64 ? (uint32_t)room : 64);

	switch (rnd(5)) {
	case 0:
		data[at] ^= (uint8_t)(1u << rnd(8));
		break;
	case 1:
		data[at] = (uint8_t)rnd(256);
		break;
	case 2:
		at &= ~(size_t)3;
		if (size - at >= 4)
			put_number(data + at, limits[rnd(sizeof(limits) / sizeof(limits[0]))],
				   rnd(2) ? 4 : 2);
		break;
	case 3:
		at &= ~(size_t)3;
		if (size - at >= 4)
			put_number(data + at, data[at] + 256u * data[at + 1] + rnd(9) - 4, 2);
		break;
	default:
		memmove(data + at, data + from, len);
		break;
	}
}

static void mutant(void)
{
	const struct input *parent = &inputs[rnd(count)];
	size_t size = parent->size;
	uint8_t *data = malloc(size + 1);
	unsigned int changes = 1 + rnd(4);

	if (!data)
		die("memory");
	if (size)
		memcpy(data, parent->data, size);
	if (size && !rnd(16))
		size = rnd((uint32_t)size);
	while (size && changes--)
		change(data, size);
	run(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	unsigned long mutants = 0, seed = 1;
	const char *dir = NULL;
	unsigned int seeds;
	size_t size;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:w:")) != -1) {
		if (opt == 'n')
			mutants = strtoul(optarg, NULL, 0);
		else if (opt == 's')
			seed = strtoul(optarg, NULL, 0);
		else if (opt == 'w')
			dir = optarg;
		else
			return 2;
	}
	for (uint8_t *data; (data = fuzz_seed(count, &size));)
		add(data, size);
	seeds = count;
	if (dir) {
		write_seeds(dir);
		return 0;
	}
	while (optind < argc)
		add_file(argv[optind++]);

	printf("TAP version 13\n1..2\n");
	for (unsigned int i = 0; i < count; i++)
		run(inputs[i].data, inputs[i].size);
	printf("ok 1 %u seeds and %u kept inputs\n", seeds, count - seeds);
	fflush(stdout);
	for (unsigned long i = 0; count && i < mutants; i++) {
		rng = (uint64_t)seed << 32 | i;
		rnd(2);
		mutant();
	}
	printf("ok 2 %lu mutants of seed %lu\n", mutants, seed);
	while (count)
		free(inputs[--count].data);
	return 0;
}

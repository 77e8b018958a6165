// SPDX-License-Identifier: Apache-2.0
#include "testset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEADER_SIZE = 16,
	MAX_COUNT = 70000,	/* all of MNIST; bounds the allocation */
};

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Fill buf; a file that ends early is malformed, a read error is an I/O error. */
static int read_exactly(FILE *file, uint8_t *buf, size_t size)
{
	if (fread(buf, 1, size, file) == size)
		return 0;
	return ferror(file) ? -EIO : -EINVAL;
}

static int read_set(FILE *file, struct digits_testset *set)
{
	uint8_t header[HEADER_SIZE];
	uint32_t count;
	uint8_t *data;
	size_t size;
	int err;

	err = read_exactly(file, header, sizeof(header));
	if (err)
		return err;
	count = le32(header + 4);
	if (memcmp(header, "DIG1", 4) != 0 || !count || count > MAX_COUNT ||
	    le32(header + 8) != DIGITS_SIDE || le32(header + 12) != DIGITS_SIDE)
		return -EINVAL;

	size = (size_t)count * (DIGITS_PIXELS + 1);
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	err = read_exactly(file, data, size);
	if (!err && fgetc(file) != EOF)
		err = -EINVAL;
	for (uint32_t i = 0; !err && i < count; i++) {
		if (data[(size_t)count * DIGITS_PIXELS + i] >= DIGITS_CLASSES)
			err = -EINVAL;
	}
	if (err) {
		free(data);
		return err;
	}

	*set = (struct digits_testset) {
		.count = count,
		.images = (const uint8_t (*)[DIGITS_PIXELS])data,
		.labels = data + (size_t)count * DIGITS_PIXELS,
		.memory = data,
	};
	return 0;
}

int digits_load(const char *path, struct digits_testset *set)
{
	FILE *file = fopen(path, "rbe");
	int err;

	if (!file)
		return -errno;
	err = read_set(file, set);
	fclose(file);
	return err;
}

void digits_unload(struct digits_testset *set)
{
	free(set->memory);
	*set = (struct digits_testset) { 0 };
}

unsigned int digits_best(const int8_t scores[DIGITS_CLASSES])
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < DIGITS_CLASSES; i++) {
		if (scores[i] > scores[best])
			best = i;
	}
	return best;
}

int digits_status(const char *program, bool ok)
{
	if (!fflush(stdout) && !ferror(stdout))
		return ok ? 0 : 1;
	fprintf(stderr, "%s: standard output: not all of it was written\n", program);
	return 1;
}

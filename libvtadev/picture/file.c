// SPDX-License-Identifier: Apache-2.0
/* Picture files: their bytes, and which format they have. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

int picture_allocate(struct picture *p, char why[PICTURE_WHY_MAX])
{
	if (!p->width || !p->height || p->width > PICTURE_PIXELS_MAX / p->height) {
		snprintf(why, PICTURE_WHY_MAX, "a picture of %u x %u pixels is empty, or larger "
			 "than %zu million", p->width, p->height, PICTURE_PIXELS_MAX >> 20);
		return -1;
	}
	p->rgba = malloc((size_t)p->width * p->height * 4);
	if (!p->rgba)
		snprintf(why, PICTURE_WHY_MAX, "%s", strerror(ENOMEM));
	return p->rgba ? 0 : -1;
}

void picture_free(struct picture *p)
{
	free(p->rgba);
	p->rgba = NULL;
}

typedef int decode_fn(struct picture *p, const uint8_t *data, size_t size,
		      char why[PICTURE_WHY_MAX]);

#define MAGIC_MAX	9	/* bytes, one more than the longest signature */

/* The decoder for a file's first bytes; NULL, and the reason. */
static decode_fn *find_decoder(const uint8_t *data, size_t size, char why[PICTURE_WHY_MAX])
{
	if (size > 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8))
		return picture_decode_png;
	if (size > 3 && !memcmp(data, "\xff\xd8\xff", 3))
		return picture_decode_jpeg;
	snprintf(why, PICTURE_WHY_MAX, "neither a PNG nor a JPEG file");
	return NULL;
}

int picture_decode(struct picture *p, const uint8_t *data, size_t size,
		   char why[PICTURE_WHY_MAX])
{
	decode_fn *decode = find_decoder(data, size, why);

	*p = (struct picture) { .rgba = NULL };
	return decode ? decode(p, data, size, why) : -1;
}

int picture_probe(const char *path, char why[PICTURE_WHY_MAX])
{
	FILE *file = fopen(path, "rbe");
	uint8_t data[MAGIC_MAX];
	bool known;

	if (!file) {
		snprintf(why, PICTURE_WHY_MAX, "%s", strerror(errno));
		return -1;
	}
	known = find_decoder(data, fread(data, 1, sizeof(data), file), why);
	fclose(file);
	return known ? 0 : -1;
}

/* All of a file, to be freed; NULL with errno set. */
static uint8_t *read_all(FILE *file, size_t *size)
{
	size_t room = 1 << 16;
	uint8_t *data = malloc(room), *more;

	*size = 0;
	while (data) {
		*size += fread(data + *size, 1, room - *size, file);
		if (*size < room)
			break;
		errno = EFBIG;
		more = room < PICTURE_FILE_MAX ? realloc(data, room *= 2) : NULL;
		if (!more)
			free(data);
		data = more;
	}
	if (data && ferror(file)) {	/* errno is of read(2): EISDIR and others */
		free(data);
		data = NULL;
	}
	return data;
}

int picture_load(struct picture *p, const char *path, char why[PICTURE_WHY_MAX])
{
	FILE *file = fopen(path, "rbe");
	uint8_t *data = NULL;
	size_t size;
	int err;

	if (file)
		data = read_all(file, &size);
	if (!data)
		snprintf(why, PICTURE_WHY_MAX, "%s", strerror(errno));
	if (file)
		fclose(file);
	if (!data)
		return -1;
	err = picture_decode(p, data, size, why);
	free(data);
	return err;
}

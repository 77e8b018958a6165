// SPDX-License-Identifier: Apache-2.0
/* Arrays of numpy's: .npy files, versions 1 and 2, little-endian. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs.h"

#define HEADER_MAX	4096

static int fail(struct vtac_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int fail(struct vtac_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -1;
}

static int read_all(int fd, void *buf, size_t n, int64_t at)
{
	while (n) {
		ssize_t got = pread(fd, buf, n, at);

		if (got <= 0)
			return -1;
		buf = (char *)buf + got;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

#define VALUE_OF(ctype, name) \
	static void name(const unsigned char *p, float *value) \
	{ \
		ctype v; \
		memcpy(&v, p, sizeof(v)); \
		*value = (float)v; \
	}

VALUE_OF(float, value_of_float)
VALUE_OF(double, value_of_double)
VALUE_OF(uint8_t, value_of_u8)
VALUE_OF(int8_t, value_of_i8)
VALUE_OF(int32_t, value_of_i32)
VALUE_OF(int64_t, value_of_i64)

static const struct vtac_npy_type {
	const char *text;
	unsigned int bytes;
	void (*value)(const unsigned char *p, float *value);
} types[] = {
	{ "'<f4'", 4, value_of_float }, { "'<f8'", 8, value_of_double },
	{ "'|u1'", 1, value_of_u8 }, { "'|i1'", 1, value_of_i8 }, { "'|b1'", 1, value_of_u8 },
	{ "'<i4'", 4, value_of_i32 }, { "'<i8'", 8, value_of_i64 },
};

static int parse_type(struct vtac_npy *npy, const char *header)
{
	const char *at = strstr(header, "'descr':");

	for (size_t i = 0; at && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strncmp(at + 8 + strspn(at + 8, " "), types[i].text, 5)) {
			npy->type = &types[i];
			return 0;
		}
	return -1;
}

/* 1: there are no values. */
static int parse_shape(struct vtac_npy *npy, const char *header)
{
	const char *at = strstr(header, "'shape':");
	int64_t n = 1;

	at = at ? strchr(at, '(') : NULL;
	if (!at)
		return -1;
	at++;
	for (npy->rank = 0; ; npy->rank++) {
		char *end;
		long long v;

		at += strspn(at, " ,");
		if (*at == ')')
			return 0;
		v = strtoll(at, &end, 10);
		if (end != at && v == 0)
			return 1;
		if (end == at || v <= 0 || v > (INT64_C(1) << 40) / n ||
		    npy->rank == VTAC_RANK_MAX)
			return -1;
		n *= v;
		npy->dims[npy->rank] = v;
		at = end;
	}
}

/* A file that is cut off is refused now, not after minutes of work. */
static int check_size(const struct vtac_npy *npy, const char *path, struct vtac_error *error)
{
	int64_t values = 1;
	struct stat st;

	for (int i = 0; i < npy->rank; i++)
		values *= npy->dims[i];
	if (!fstat(npy->fd, &st) && st.st_size >= npy->at + values * npy->type->bytes)
		return 0;
	return fail(error, "%s: the file ends before the array's %lld values do.", path,
		    (long long)values);
}

static int parse(struct vtac_npy *npy, const char *path, struct vtac_error *error)
{
	unsigned char start[12];
	char header[HEADER_MAX + 1];
	size_t size;
	int err;

	if (read_all(npy->fd, start, sizeof(start), 0) || memcmp(start, "\x93NUMPY", 6) ||
	    start[6] < 1 || start[6] > 2)
		return fail(error, "%s: this is not a .npy file of version 1 or 2.", path);
	size = start[8] | (size_t)start[9] << 8;
	npy->at = 10;
	if (start[6] == 2) {
		size |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
		npy->at = 12;
	}
	if (size > HEADER_MAX || read_all(npy->fd, header, size, npy->at))
		return fail(error, "%s: the header is too long or cut off.", path);
	header[size] = '\0';
	npy->at += (int64_t)size;
	err = parse_shape(npy, header);
	if (err > 0)
		return fail(error, "%s: the array has no values.", path);
	if (strstr(header, "'fortran_order': True") || parse_type(npy, header) || err)
		return fail(error,
			    "%s: an array in C order of f4, f8, u1, i1, b1, i4 or i8 is expected.",
			    path);
	return check_size(npy, path, error);
}

int vtac_npy_open(struct vtac_npy *npy, const char *path, struct vtac_error *error)
{
	memset(npy, 0, sizeof(*npy));
	npy->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (npy->fd < 0)
		return fail(error, "%s: %s.", path, strerror(errno));
	if (!parse(npy, path, error))
		return 0;
	close(npy->fd);
	return -1;
}

int vtac_npy_read(struct vtac_npy *npy, int64_t first, int64_t count, float *values,
		  struct vtac_error *error)
{
	size_t size = npy->type->bytes;
	int64_t at = npy->at + first * (int64_t)size;
	unsigned char block[1 << 16] = { 0 };

	for (int64_t i = 0; i < count; ) {
		int64_t n = (int64_t)(sizeof(block) / size);

		n = n < count - i ? n : count - i;
		if (read_all(npy->fd, block, (size_t)n * size, at))
			break;
		at += n * (int64_t)size;
		for (int64_t k = 0; k < n; k++)
			npy->type->value(block + (size_t)k * size, &values[i++]);
		if (i == count)
			return 0;
	}
	return fail(error, "The array's file ends before its values do.");
}

void vtac_npy_close(struct vtac_npy *npy)
{
	close(npy->fd);
}

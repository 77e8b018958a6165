// SPDX-License-Identifier: GPL-2.0-only
/*
 * values.c - files of tensors: .npy arrays, or values with nothing else
 *
 * Files of the latter kind have the values in the order of the shape, little-endian.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "output.h"
#include "values.h"

#define FILE_MAX	((size_t)1 << 31)
#define NPY_MAGIC	"\x93NUMPY"
#define NPY_FIXED	10u		/* bytes in front of the header of version 1 */
#define NPY_ALIGN	64u

uint8_t *values_read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rbe");
	size_t room = 1 << 16, used = 0;
	uint8_t *data = file ? malloc(room) : NULL, *more;

	while (data) {
		used += fread(data + used, 1, room - used, file);
		if (used < room)
			break;
		errno = EFBIG;
		more = room < FILE_MAX ? realloc(data, room *= 2) : NULL;
		if (!more)
			free(data);
		data = more;
	}
	if (data && ferror(file)) {	/* errno is of read(2): EISDIR and others */
		free(data);
		data = NULL;
	}
	if (file)
		fclose(file);
	*size = used;
	return data;
}

/* Names of types, and their codes in .npy files. */
static const struct {
	const char *name, *descr, *other;	/* other: why an array of another type is refused */
} types[] = {
	[VTACPU_F32] = { "float32", "<f4", "its values are not float32" },
	[VTACPU_I8] = { "int8", "|i1", "its values are not int8" },
	[VTACPU_U8] = { "uint8", "|u1", "its values are not uint8" },
	[VTACPU_I32] = { "int32", "<i4", "its values are not int32" },
	[VTACPU_I64] = { "int64", "<i8", "its values are not int64" },
	[VTACPU_BOOL] = { "bool", "|b1", "its values are not bool" },
};

const char *values_type_name(uint32_t type)
{
	return types[type].name;
}

/* At most 2^32: an image has 1 GiB of them, four in a byte. */
uint64_t values_count(const struct vtaimage_tensor *t)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < t->rank; i++)
		count *= t->dims[i];
	return count;
}

size_t values_bytes(const struct vtaimage_tensor *t)
{
	return (size_t)(values_count(t) * vtacpu_type_bytes(t->type));
}

bool values_is_npy(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".npy");
}

/* "(1, 2)", without dimensions of 1. */
static bool same_shape(const char *text, const struct vtaimage_tensor *t)
{
	uint32_t i = 0;

	if (*text++ != '(')
		return false;
	for (;;) {
		unsigned long long dim;
		char *end;

		text += strspn(text, " ,");
		if (*text == ')')
			break;
		errno = 0;
		dim = strtoull(text, &end, 10);
		if (end == text || errno)
			return false;
		text = end;
		if (dim == 1)
			continue;
		while (i < t->rank && t->dims[i] == 1)
			i++;
		if (i == t->rank || t->dims[i++] != dim)
			return false;
	}
	while (i < t->rank && t->dims[i] == 1)
		i++;
	return i == t->rank;
}

/* The text after "'key':" in a header; "" if it has none. */
static const char *field(const char *header, const char *key)
{
	const char *at = strstr(header, key);

	return at ? at + strlen(key) + strspn(at + strlen(key), " ") : "";
}

/* Finds the values in a .npy file of the tensor's type and shape; NULL and @why. */
static const uint8_t *npy_values(const uint8_t *data, size_t size, const struct vtaimage_tensor *t,
				 const char **why)
{
	size_t fixed = NPY_FIXED, length;
	char header[1024], descr[16];

	*why = "not a .npy file of version 1 or 2 with a short header";
	if (size < 12 || memcmp(data, NPY_MAGIC, 6) || data[6] < 1 || data[6] > 2)
		return NULL;
	length = data[8] | (size_t)data[9] << 8;
	if (data[6] == 2) {
		length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
		fixed = 12;
	}
	if (length >= sizeof(header) || length > size - fixed)
		return NULL;
	memcpy(header, data + fixed, length);
	header[length] = '\0';
	snprintf(descr, sizeof(descr), "'%s'", types[t->type].descr);
	*why = types[t->type].other;
	if (strncmp(field(header, "'descr':"), descr, strlen(descr)))
		return NULL;
	*why = "its values are in Fortran's order";
	if (strncmp(field(header, "'fortran_order':"), "False", 5))
		return NULL;
	*why = "its shape is not the tensor's";
	if (!same_shape(field(header, "'shape':"), t))
		return NULL;
	*why = "its values are not all there, or there are more";
	return size - fixed - length == values_bytes(t) ? data + fixed + length : NULL;
}

bool values_fit(const char *path, const struct vtaimage_tensor *t)
{
	size_t size, want = values_bytes(t);
	uint8_t *data = values_read_file(path, &size);
	const char *why;
	bool fit = data && (values_is_npy(path) ? !!npy_values(data, size, t, &why) :
			    size && !(size % want));

	free(data);
	return fit;
}

void *values_load(const char *path, const struct vtaimage_tensor *t)
{
	size_t size, want = values_bytes(t);
	uint8_t *data = values_read_file(path, &size);
	const uint8_t *values = data;
	const char *why;

	if (!data) {
		ctl_fail(path, strerror(errno));
		return NULL;
	}
	if (values_is_npy(path)) {
		values = npy_values(data, size, t, &why);
		if (!values)
			ctl_fail(path, why);
	} else if (size != want) {
		fprintf(stderr, "vtactl: %s: has %zu bytes, input %s takes %zu\n", path, size,
			t->name, want);
		values = NULL;
	}
	if (!values) {
		free(data);
		return NULL;
	}
	memmove(data, values, want);
	return data;
}

/* As numpy writes it: the values begin at a multiple of 64 bytes. */
static void write_npy_header(FILE *file, const struct vtaimage_tensor *t)
{
	char text[256], shape[160];
	size_t at = 0, length;

	for (uint32_t i = 0; i < t->rank; i++)
		at += (size_t)snprintf(shape + at, sizeof(shape) - at, "%" PRIu32 "%s", t->dims[i],
				       t->rank == 1 ? "," : i + 1 < t->rank ? ", " : "");
	length = (size_t)snprintf(text, sizeof(text),
				  "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
				  types[t->type].descr, shape);
	while ((NPY_FIXED + length + 1) % NPY_ALIGN)
		text[length++] = ' ';
	text[length++] = '\n';
	fwrite(NPY_MAGIC "\x01", 1, 8, file);
	fputc((int)(length & 0xff), file);
	fputc((int)(length >> 8), file);
	fwrite(text, 1, length, file);
}

int values_store(const char *path, const struct vtaimage_tensor *t, const void *values,
		 size_t count)
{
	struct output out;
	int err = output_open(&out, path, 0666);

	if (!err) {
		if (values_is_npy(path))
			write_npy_header(out.file, t);
		fwrite(values, values_bytes(t), count, out.file);
		err = output_close(&out);
	}
	return ctl_written(path, err);
}

double values_at(const struct vtaimage_tensor *t, const void *values, size_t i)
{
	double v = vtacpu_value(values, i, t->type);

	return t->type != VTACPU_F32 && t->scale > 0 ? (v - t->zero) * (double)t->scale : v;
}

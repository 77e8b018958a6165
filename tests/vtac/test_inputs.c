// SPDX-License-Identifier: GPL-2.0-only
/* Tests of compiler/api/images.c: arrays of images for inputs of their shape, and of no other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../frame.h"
#include "api/inputs.h"

/* A .npy file of numbers 0, 1, 2, ... of numpy's type @descr */
static void write_array(const char *path, const char *descr, const char *shape, unsigned int n)
{
	char header[128];
	int len = snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, "
			   "'shape': (%s), }", descr, shape);
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	fwrite("\x93NUMPY\1\0", 1, 8, f);
	fputc(len, f);
	fputc(0, f);
	fwrite(header, 1, (size_t)len, f);
	for (unsigned int i = 0; i < n; i++) {
		union { float f4; double f8; uint8_t u1; int32_t i4; int64_t i8; } v = { 0 };

		if (descr[1] == 'f' && descr[2] == '4')
			v.f4 = (float)i;
		else if (descr[1] == 'f')
			v.f8 = i;
		else
			v.i8 = i;	/* little-endian */
		fwrite(&v, (size_t)(descr[2] - '0'), 1, f);
	}
	assert_int_equal(fclose(f), 0);
}

/* Reads the second image of @shape, 2 x 24 values, for a tensor; NULL if it fits, or the reason. */
static const char *read_as(const char *descr, const char *shape, int rank, const int64_t *dims)
{
	static struct vtac_error error;
	struct vtac_tensor t = { .name = "x", .rank = rank };
	char path[] = "/tmp/vtac-inputs-XXXXXX";
	struct vtac_image_files *files;
	float values[48] = { 0 };
	int64_t n = 1;
	int err, fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	write_array(path, descr, shape, 48);
	memset(&error, 0, sizeof(error));
	files = vtac_images_open(path, &error);
	if (!files)
		fail_msg("%s", error.text);
	for (int i = 0; i < rank; i++) {
		t.dims[i] = dims[i];
		n *= dims[i];
	}
	err = vtac_images_of(files)->read(vtac_images_of(files)->priv, 1, &t, values);
	if (!err)
		for (int64_t i = 0; i < n; i++)
			assert_true(values[i] == (float)(24 + i % 24));
	error = *vtac_images_of(files)->error;
	vtac_images_close(files);
	unlink(path);
	return err ? error.text : NULL;
}

static const char *read_for(const char *shape, int rank, const int64_t *dims)
{
	return read_as("<f4", shape, rank, dims);
}

TEST(images_of_numpys_types_are_read)
{
	static const char *const types[] = { "<f4", "<f8", "|u1", "|i1", "<i4", "<i8" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_null(read_as(types[i], "2, 24", 1, (const int64_t[]){ 24 }));
}

TEST(images_fit_their_input)
{
	assert_null(read_for("2, 4, 2, 3", 4, (const int64_t[]){ 1, 4, 2, 3 }));
	assert_null(read_for("2, 1, 4, 2, 3", 4, (const int64_t[]){ 1, 4, 2, 3 }));
	assert_null(read_for("2, 4, 6", 4, (const int64_t[]){ 1, 1, 4, 6 }));
	assert_null(read_for("2, 24", 2, (const int64_t[]){ 1, 24 }));
	assert_null(read_for("2, 24", 1, (const int64_t[]){ 24 }));
	/* The model takes two at once. */
	assert_null(read_for("2, 4, 2, 3", 4, (const int64_t[]){ 2, 4, 2, 3 }));
}

TEST(images_of_other_shapes_are_refused)
{
	const char *why = read_for("2, 2, 3, 4", 4, (const int64_t[]){ 1, 4, 2, 3 });

	assert_non_null(why);
	assert_non_null(strstr(why, "images are 2x3x4; input x takes 1x4x2x3"));
	assert_non_null(read_for("2, 24", 4, (const int64_t[]){ 1, 4, 2, 3 }));
	assert_non_null(read_for("2, 4, 2, 3", 4, (const int64_t[]){ 1, 4, 3, 2 }));
	assert_non_null(read_for("2, 4, 2, 3", 4, (const int64_t[]){ 1, 4, 2, 6 }));
	assert_non_null(read_for("2, 4, 2, 3", 4, (const int64_t[]){ 1, 2, 2, 3 }));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays in .npy files, as vtac reads them and as vtactl does, and files of labels. A
 * label's file begins with a line, an array's with numpy's signature.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl.h"
#include "labels.h"
#include "api/inputs.h"
#include "values.h"

#define VALUES		256
#define LABEL_MAX	((size_t)64 << 20)

static unsigned int sentences;

/* In place of vtactl's, which prints: a million lines are no use. */
int ctl_fail(const char *subject, const char *why)
{
	if (!subject || !why || !*why)
		abort();
	sentences++;
	return CTL_ERROR;
}

/* The fuzzer stores nothing. */
int ctl_written(const char *path, int err)
{
	return ctl_fail(path, strerror(-err));
}

/* By vtac: whatever it takes for an array is read, at its ends and beyond them. */
static void compiler(const char *path)
{
	struct vtac_error error = { "", false };
	float values[VALUES];
	struct vtac_npy npy;
	int64_t n = 1;

	if (vtac_npy_open(&npy, path, &error)) {
		if (!error.text[0])
			abort();
		return;
	}
	for (int i = 0; i < npy.rank; i++)
		n *= npy.dims[i];
	if (n < 1 || n > INT64_C(1) << 40)
		abort();
	vtac_npy_read(&npy, 0, n < VALUES ? n : VALUES, values, &error);
	vtac_npy_read(&npy, n - 1, 1, values, &error);
	vtac_npy_close(&npy);
}

/* By vtactl: for an input whose shape the file's first bytes choose. */
static void tool(const char *path, uint8_t choice)
{
	static const uint32_t types[] = { VTACPU_F32, VTACPU_I8, VTACPU_U8, VTACPU_I32,
					  VTACPU_I64, VTACPU_BOOL };
	struct vtaimage_tensor t = {
		.type = types[choice % 6], .rank = 4, .name = "x",
		.dims = { 1, 1u + choice / 6 % 4, 1u + choice / 24 % 4, 1 },
	};
	unsigned int before = sentences;
	uint8_t *values = values_load(path, &t);

	if (!values && sentences == before)
		abort();
	/* All of them are there. */
	for (size_t i = 0; values && i < values_count(&t); i++)
		(void)values_at(&t, values, i);
	free(values);
}

static void labels(const char *path)
{
	unsigned int before = sentences;
	struct labels l;

	if (labels_load(&l, path)) {
		if (sentences == before)
			abort();
	} else {
		for (size_t i = 0; i < l.count; i++)
			if (l.name[i] && strlen(l.name[i]) > LABEL_MAX)
				abort();
	}
	labels_free(&l);
}

/* The name of a file that has no place in any directory, but ends in .npy. */
static const char *name_it(int fd)
{
	static char name[64];
	char target[32];

	if (*name)
		return name;
	snprintf(name, sizeof(name), "/tmp/fuzz-values-%d.npy", (int)getpid());
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	if (symlink(target, name))
		abort();
	return name;
}

static void forget_name(void)
{
	unlink(name_it(-1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	const char *path;

	if (fd < 0) {
		fd = memfd_create("values", MFD_CLOEXEC);
		name_it(fd);
		atexit(forget_name);
	}
	path = name_it(fd);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (size && *data != 0x93) {
		labels(path);
		return 0;
	}
	compiler(path);
	tool(path, size ? data[size - 1] : 0);
	return 0;
}

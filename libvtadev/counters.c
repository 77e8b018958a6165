// SPDX-License-Identifier: Apache-2.0
/*
 * counters.c - the card's debug counters, which the driver offers as files
 *
 * The files are opened relative to the directory found at vtadev_open(): should
 * the card go and another take its name, these do not become the other's.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dev.h"
#include "local.h"
#include "vta_counters.h"

/* The files, and in their order the members of struct vtadev_counters. */
static const char *const counters[VTA_COUNTERS] = {
#define FILE_OF(NAME, name) \
	[VTA_COUNTER_##NAME] = "counters/" #name,
	VTA_COUNTER_LIST(FILE_OF)
#undef FILE_OF
};

static_assert(VTA_COUNTERS * sizeof(uint64_t) == sizeof(struct vtadev_counters),
	      "every counter has its file");
#define OUT_OF_ORDER(NAME, name)							\
	|| offsetof(struct vtadev_counters, name) != VTA_COUNTER_##NAME * sizeof(uint64_t)
static_assert(!(false VTA_COUNTER_LIST(OUT_OF_ORDER)), "members are in the files' order");
#undef OUT_OF_ORDER

/* A decimal number and a line end. */
static bool parse(const char *text, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && (!*end || (end[0] == '\n' && !end[1]));
}

static int read_counter(int dir, const char *file, uint64_t *value)
{
	char text[32];
	ssize_t len;
	int err = 0;
	int fd;

	fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)	/* the directory of a card that has gone is empty */
		return errno == ENOENT ? -ENODEV : -errno;
	do {
		len = read(fd, text, sizeof(text) - 1);
	} while (len < 0 && errno == EINTR);
	if (len < 0)
		err = -errno;
	close(fd);
	if (err)
		return err;
	text[len] = '\0';
	return parse(text, value) ? 0 : -EPROTO;
}

int vtadev_counters(struct vtadev *dev, struct vtadev_counters *out)
{
	uint64_t values[VTA_COUNTERS];

	if (dev->local) {
		local_counters(dev->local, out);
		return 0;
	}
	if (!(dev->info.features & VTADEV_FEATURE_COUNTERS) || dev->sysfs < 0)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < VTA_COUNTERS; i++) {
		int err = read_counter(dev->sysfs, counters[i], &values[i]);

		if (err)
			return err;
	}
	memcpy(out, values, sizeof(*out));
	return 0;
}

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
#include <unistd.h>

#include "dev.h"
#include "local/local.h"
#include "vta_counters.h"

static const struct {
	const char *file;
	size_t offset;
} counters[VTA_COUNTERS] = {
#define COUNTER(NAME, name) { "counters/" #name, offsetof(struct vtadev_counters, name) },
	VTA_COUNTER_LIST(COUNTER)
#undef COUNTER
};

static_assert(VTA_COUNTERS * sizeof(uint64_t) == sizeof(struct vtadev_counters),
	      "every counter has its file");

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

int dev_doorbells(const struct vtadev *dev, uint64_t *count)
{
	struct vtadev_counters values;

	if (!dev->local)
		return dev->sysfs < 0 ? -EOPNOTSUPP :
		       read_counter(dev->sysfs, "counters/doorbells", count);
	local_counters(dev->local, &values);
	*count = values.doorbells;
	return 0;
}

int vtadev_counters(struct vtadev *dev, struct vtadev_counters *out)
{
	struct vtadev_counters values;

	if (dev_is_parents(dev))
		return -ECHILD;
	if (dev->local) {
		local_counters(dev->local, out);
		return 0;
	}
	if (!(dev->info.features & VTADEV_FEATURE_COUNTERS) || dev->sysfs < 0)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < VTA_COUNTERS; i++) {
		void *value = (char *)&values + counters[i].offset;
		int err = read_counter(dev->sysfs, counters[i].file, value);

		if (err)
			return err;
	}
	*out = values;
	return 0;
}

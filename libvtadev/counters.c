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
#include "local/local.h"
#include "vta_counters.h"

#define DIRECTORY	"counters/"

static const char *const files[VTA_COUNTERS] = {
#define COUNTER(NAME, name) \
	[VTA_COUNTER_##NAME] = DIRECTORY #name,
	VTA_COUNTER_LIST(COUNTER)
#undef COUNTER
};

/* Those in the structure, which is as it was in the first release. */
static const size_t offsets[] = {
#define COUNTER(NAME, name) \
	[VTA_COUNTER_##NAME] = offsetof(struct vtadev_counters, name),
	VTA_COUNTER_LIST_2_0(COUNTER)
#undef COUNTER
};

static_assert(VTA_COUNTERS_2_0 * sizeof(uint64_t) == sizeof(struct vtadev_counters),
	      "every counter of the structure has its file");

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
	for (size_t i = 0; i < VTA_COUNTERS_2_0; i++) {
		void *value = (char *)&values + offsets[i];
		int err = read_counter(dev->sysfs, files[i], value);

		if (err)
			return err;
	}
	*out = values;
	return 0;
}

static uint64_t local_counter(struct local *local, enum vta_counter counter)
{
	struct vtadev_counters values;

	if (counter == VTA_COUNTER_COMPUTE_CLOCKS)
		return local_clocks(local, VTA_UNIT_COMPUTE);
	if (counter == VTA_COUNTER_COPY_CLOCKS)
		return local_clocks(local, VTA_UNIT_COPY);
	local_counters(local, &values);
	return *(const uint64_t *)((const char *)&values + offsets[counter]);
}

int vtadev_counter(struct vtadev *dev, const char *name, uint64_t *value)
{
	unsigned int i = 0;
	uint64_t read = 0;
	int err;

	if (dev_is_parents(dev))
		return -ECHILD;
	while (i < VTA_COUNTERS && strcmp(files[i] + strlen(DIRECTORY), name) != 0)
		i++;
	if (i == VTA_COUNTERS)
		return -ENOENT;
	if (dev->local) {
		*value = local_counter(dev->local, (enum vta_counter)i);
		return 0;
	}
	if (!(dev->info.features & VTADEV_FEATURE_COUNTERS) || dev->sysfs < 0)
		return -EOPNOTSUPP;
	err = read_counter(dev->sysfs, files[i], &read);
	/* A file that alone is missing: the card or its driver is of an older version. */
	if (err == -ENODEV && i >= VTA_COUNTERS_2_0 && !faccessat(dev->sysfs, files[0], F_OK, 0))
		return -EOPNOTSUPP;
	if (!err)
		*value = read;
	return err;
}

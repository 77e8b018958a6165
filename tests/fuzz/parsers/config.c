// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of vta_config.json, and that of orders to fail: what it accepts must be
 * fit for use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/core.h"
#include "model/inject.h"

static void read_config(const uint8_t *data, size_t size)
{
	struct core_config cfg;
	char err[256], path[32];
	int fd = memfd_create("config", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!core_config_load(&cfg, path, err, sizeof(err)) &&
	    core_config_check(&cfg, err, sizeof(err)))
		abort();
	close(fd);
}

static void read_order(const uint8_t *data, size_t size)
{
	struct inject_order order;
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (!inject_parse(&order, text, NULL) && order.kind >= INJECT_KINDS)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == '{')
		read_config(data, size);
	else
		read_order(data, size);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "card.h"
#include "vta_selftest.h"

#define DRIVER	"/sys/bus/pci/drivers/vta/"

static char address[32];

static void device_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "/sys/bus/pci/devices/%s/%s", address, name);
}

int card_find(void)
{
	return card_pci_address(address, sizeof(address));
}

bool card_bound(void)
{
	char pattern[128], node[64];
	glob_t found;

	device_path(pattern, sizeof(pattern), "vta/vta*");
	if (glob(pattern, 0, NULL, &found))
		return false;
	snprintf(node, sizeof(node), "/dev%s", strrchr(found.gl_pathv[0], '/'));
	globfree(&found);
	card_use(node);
	return true;
}

int card_bind(void)
{
	return file_write(DRIVER "bind", address);
}

int card_unbind(void)
{
	return file_write(DRIVER "unbind", address);
}

int card_pci_reset(void)
{
	char path[128];

	device_path(path, sizeof(path), "reset");
	return file_write(path, "1");
}

int card_remove(void)
{
	char path[128];

	device_path(path, sizeof(path), "remove");
	return file_write(path, "1");
}

int card_rescan(void)
{
	return file_write("/sys/bus/pci/rescan", "1");
}

int card_suspend(void)
{
	int err = file_write("/sys/power/pm_test", "devices");

	return err ? err : file_write("/sys/power/state", "freeze");
}

const char *card_leftover(void)
{
	static const char *const zeros[] = {
		"queues_used", "contexts_used", "host_bytes", "pinned_bytes", "page_table_bytes",
	};

	for (unsigned int i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++)
		if (card_attr(zeros[i]))
			return zeros[i];
	return card_attr("mem_free") == card_attr("mem_size") ? NULL : "mem_free";
}

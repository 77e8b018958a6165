// SPDX-License-Identifier: GPL-2.0-only
/*
 * flaky_find.c - the part that a test has of the plugin "flaky"
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "flaky.h"

struct flaky *flaky_find(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct flaky *flaky;
	void *plugin;

	assert_true(len > 0);
	path[len] = '\0';
	snprintf(strrchr(path, '/'), 32, "/libvtadev-flaky.so");
	plugin = dlopen(path, RTLD_NOW);
	if (!plugin)
		fail_msg("%s", dlerror());
	flaky = dlsym(plugin, "flaky");
	assert_non_null(flaky);
	return flaky;
}

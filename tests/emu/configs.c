// SPDX-License-Identifier: GPL-2.0-only
/* configs.c - the core configurations that tests run on (see configs.h) */

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "configs.h"

/* Fewer than this and the tests do not show what they are there for. */
#define CONFIGS_MIN	8

static _Noreturn void refuse(const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	exit(EXIT_FAILURE);
}

void configs_load(struct configs *configs)
{
	const char *chosen = getenv("VTA_CONFIGS");
	const char *pattern = chosen && *chosen ? chosen : "tests/emu/configs/*.json";
	size_t least = chosen && *chosen ? 1 : CONFIGS_MIN;
	glob_t found;

	memset(configs, 0, sizeof(*configs));
	if (glob(pattern, 0, NULL, &found) || found.gl_pathc < least ||
	    found.gl_pathc > CONFIGS_MAX)
		refuse(pattern, "not the number of configurations that there should be");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i], *name = strrchr(path, '/') + 1;
		char err[256];

		if (strlen(path) >= sizeof(configs->path[i]))
			refuse(path, "too long a path");
		strcpy(configs->path[i], path);
		if (core_config_load(&configs->cfg[i], path, err, sizeof(err)))
			refuse(path, err);
		snprintf(configs->name[i], sizeof(configs->name[i]), "%.*s",
			 (int)(strlen(name) - strlen(".json")), name);
	}
	configs->count = (unsigned int)found.gl_pathc;
	globfree(&found);
}

// SPDX-License-Identifier: GPL-2.0-only
/* rtl.c - models of the core's RTL, as the tests find them (see rtl.h) */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rtl.h"

const struct core_model *rtl_model(const struct core_config *cfg)
{
	const char *dir = getenv("VTA_RTL_DIR");
	char name[96], path[4096], err[4096];
	const struct core_model *model;

	dir = dir && *dir ? dir : "build/rtl";
	core_model_name(cfg, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (access(path, R_OK))
		return NULL;
	model = core_model_load(cfg, dir, err, sizeof(err));
	if (!model) {
		fprintf(stderr, "%s\n", err);
		exit(EXIT_FAILURE);
	}
	return model;
}

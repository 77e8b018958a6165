/* SPDX-License-Identifier: GPL-2.0-only */
/* configs.h - the core configurations that tests run on: configs/<name>.json */
#ifndef TESTS_EMU_CONFIGS_H
#define TESTS_EMU_CONFIGS_H

#include "core/core.h"	/* struct core_config */

#define CONFIGS_MAX	32

struct configs {
	unsigned int count;
	struct core_config cfg[CONFIGS_MAX];
	char name[CONFIGS_MAX][32];
	char path[CONFIGS_MAX][256];
};

/*
 * Loads all of tests/emu/configs, in the order of their names, from the top of the source tree; or
 * the files of the pattern $VTA_CONFIGS. Ends the program if one is refused or there are too few.
 */
void configs_load(struct configs *configs);

#endif /* TESTS_EMU_CONFIGS_H */

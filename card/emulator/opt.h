/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The emulator's command line.
 */
#ifndef VTA_EMU_OPT_H
#define VTA_EMU_OPT_H

#include "model/card.h"
#include "model/log.h"

struct options {
	const char *socket;
	const char *control;	/* NULL: none */
	struct card_config card;
	unsigned int msix;	/* 0: no MSI-X */
	unsigned int msi;	/* 0: no MSI */
	enum log_level log_level;
	const char *core;	/* soft; or rtl, or rtl:DIRECTORY */
	bool counters;
	bool stay;
};

/* Returns CLI_GO, or the exit status to end with. */
int opt_parse(struct options *opt, int argc, char **argv);

#endif

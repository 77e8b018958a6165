// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_verb.c - vtactl program: its words; program.c does the work
 */
#include <getopt.h>
#include <string.h>

#include "ctl.h"
#include "program.h"

static const char help[] =
	"Usage: vtactl program info FILE [--json]\n"
	"  or:  vtactl program run FILE [--card CARD] NAME=FILE...\n"
	"\n"
	"What a program image (.vtap) is and needs; or run it once. NAME is an input or an\n"
	"output, its FILE has the values, one byte each. Without --card: the first card.\n"
	"\n"
	"  -c, --card=CARD  the card to run it on\n"
	"  -j, --json       one object\n"
	"  -h, --help       this text\n";

int program_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "card", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	const char *which = NULL;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "c:hj", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			which = optarg;
			break;
		case 'h':
			return ctl_help(help);
		case 'j':
			json = true;
			break;
		default:
			return CTL_USAGE;	/* getopt has said why */
		}
	}
	argc -= optind;
	argv += optind;
	if (argc == 2 && !strcmp(argv[0], "info"))
		return program_info(argv[1], json);
	if (argc >= 2 && !strcmp(argv[0], "run"))
		return program_run(which, argv[1], argv + 2, argc - 2);
	return ctl_usage("say info FILE, or run FILE NAME=FILE...", "");
}

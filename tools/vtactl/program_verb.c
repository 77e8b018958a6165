// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_verb.c - vtactl program: its words; program.c and program_run.c do the work
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program.h"

static const char help[] =
	"Usage: vtactl program info FILE [--json]\n"
	"  or:  vtactl program run FILE [--card CARD] [--image PICTURE] [NAME=FILE]...\n"
	"\n"
	"What a program image (.vtap) is and needs; or run it once. NAME is an input or an\n"
	"output, its FILE has the values: an array of numpy's if it ends in .npy, or else the\n"
	"values alone. A picture, PNG or JPEG, is made the input that the program says. Without\n"
	"--card: the first card.\n"
	"\n"
	"  -c, --card=CARD      the card to run it on\n"
	"  -i, --image=PICTURE  the picture to run it with; prints the five likeliest classes\n"
	"  -l, --labels=FILE    names of the classes: a line each, or JSON\n"
	"  -t, --top=COUNT      print so many classes of the first output; 0 for none\n"
	"  -j, --json           one object\n"
	"  -h, --help           this text\n";

#define TOP_MAX	1000

static bool parse_count(const char *text, uint32_t *count)
{
	char *end;
	long value = strtol(text, &end, 10);

	*count = (uint32_t)value;
	return end != text && !*end && value >= 0 && value <= TOP_MAX;
}

int program_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "card", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "image", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'j' },
		{ "labels", required_argument, NULL, 'l' },
		{ "top", required_argument, NULL, 't' },
		{ 0 },
	};
	struct program_run run = { .path = NULL };
	bool json = false, top = false;
	int option;

	while ((option = getopt_long(argc, argv, "c:hi:jl:t:", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			run.card = optarg;
			break;
		case 'i':
			run.picture = optarg;
			break;
		case 'l':
			run.labels = optarg;
			break;
		case 't':
			top = true;
			if (!parse_count(optarg, &run.top))
				return ctl_usage("a number from 0 to 1000, not ", optarg);
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
	if (argc >= 2 && !strcmp(argv[0], "run")) {
		run.path = argv[1];
		run.assigns = argv + 2;
		run.count = argc - 2;
		if (!top && (run.picture || run.labels))
			run.top = 5;
		return program_run(&run);
	}
	return ctl_usage("say info FILE, or run FILE NAME=FILE...", "");
}

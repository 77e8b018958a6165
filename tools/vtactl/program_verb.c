// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_verb.c - vtactl program: its words; program.c and program_run.c do the work
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program.h"

static const char help[] =
	"Usage: vtactl program info FILE [--json]\n"
	"  or:  vtactl program run FILE [--card CARD] [--image PICTURE] [NAME=FILE]...\n"
	"  or:  vtactl program run FILE --cards LIST [--image PICTURE]... [NAME=FILE]...\n"
	"\n"
	"info prints what a program image (.vtap) contains and needs. run runs it once. NAME is an\n"
	"input, which is read from FILE, or an output, which is written to FILE. FILE is a numpy\n"
	"array if its name ends in .npy; other files contain only the values. --image converts a\n"
	"PNG or JPEG file to the program's input, as the program describes.\n"
	"\n"
	"With --cards there may be several runs: each --image is a run, and each FILE contains\n"
	"the values of all runs, one run after the other. Each run goes to the card that will be\n"
	"free first. If a card fails, other cards take over its runs. At the end, run prints\n"
	"what each card has done.\n"
	"\n"
	"  -c, --card=CARD      run on CARD (the first card)\n"
	"  -C, --cards=LIST     run on several cards: names separated by commas, or all\n"
	"  -i, --image=PICTURE  run with PICTURE, and print the five likeliest classes\n"
	"  -l, --labels=FILE    names of the classes, one a line, or JSON\n"
	"  -t, --top=COUNT      print COUNT classes of the first output; 0 for none\n"
	"  -j, --json           print one object\n"
	"  -h, --help           print this text\n";

#define TOP_MAX	1000

static int run(struct program_run *r, int argc, char **argv, bool top)
{
	if (!r->cards && r->picture_count > 1)
		return ctl_usage("several runs take --cards: ", r->pictures[1]);
	if (r->cards && r->card)
		return ctl_usage("--card, or --cards, not both", "");
	r->path = argv[1];
	r->assigns = argv + 2;
	r->count = argc - 2;
	if (!top && (r->picture_count || r->labels))
		r->top = 5;
	return program_run(r);
}

/* -1 to continue, otherwise the exit status. */
static int parse(int argc, char **argv, struct program_run *r, bool *json, bool *top)
{
	static const struct option options[] = {
		{ "card", required_argument, NULL, 'c' },
		{ "cards", required_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ "image", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'j' },
		{ "labels", required_argument, NULL, 'l' },
		{ "top", required_argument, NULL, 't' },
		{ 0 },
	};
	unsigned long count;
	int option;

	while ((option = getopt_long(argc, argv, "c:C:hi:jl:t:", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			r->card = optarg;
			break;
		case 'C':
			r->cards = optarg;
			break;
		case 'i':
			r->pictures[r->picture_count++] = optarg;
			break;
		case 'l':
			r->labels = optarg;
			break;
		case 't':
			*top = true;
			if (!ctl_number(optarg, 0, TOP_MAX, &count))
				return ctl_usage("a number from 0 to 1000, not ", optarg);
			r->top = (uint32_t)count;
			break;
		case 'h':
			return ctl_help(help);
		case 'j':
			*json = true;
			break;
		default:
			return CTL_USAGE;	/* getopt has said why */
		}
	}
	return -1;
}

static int parse_and_do(int argc, char **argv, struct program_run *r)
{
	bool json = false, top = false;
	int ret = parse(argc, argv, r, &json, &top);

	if (ret >= 0)
		return ret;
	argc -= optind;
	argv += optind;
	if (argc == 2 && !strcmp(argv[0], "info"))
		return program_info(argv[1], json);
	if (argc >= 2 && !strcmp(argv[0], "run"))
		return run(r, argc, argv, top);
	return ctl_usage("say info FILE, or run FILE NAME=FILE...", "");
}

int program_main(int argc, char **argv)
{
	struct program_run r = { .pictures = calloc((size_t)argc, sizeof(*r.pictures)) };
	int ret;

	if (!r.pictures)
		return ctl_error("program", -ENOMEM);
	ret = parse_and_do(argc, argv, &r);
	free(r.pictures);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_verb.c - vtactl program: its command line
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "program.h"

static const char help[] =
	"Usage: vtactl program info FILE [--json]\n"
	"  or:  vtactl program run FILE [OPTION]... [NAME=FILE]...\n"
	"\n"
	"info prints what a program image (.vtap) contains and needs. run runs it once. NAME is an\n"
	"input, which is read from FILE, or an output, which is written to FILE; info lists names,\n"
	"and @0 is the first one in its list, @1 the next. FILE is a numpy array if its name ends\n"
	"in .npy; other files contain only the values. - is standard output. --image converts a\n"
	"PNG or JPEG file to the program's input, as the program describes.\n"
	"\n"
	"With --cards there may be several runs: each --image is a run, and each FILE contains\n"
	"the values of all runs, one run after the other. Each run goes to the card that will be\n"
	"free first. If a card fails, other cards take over its runs. At the end, run prints\n"
	"what each of several cards has done.\n"
	"\n"
	"  -c, --cards=CARDS    run on these cards (the first card); CARDS is names separated by\n"
	"                       commas, or all\n"
	"  -i, --image=PICTURE  run with PICTURE, and print the five likeliest classes\n"
	"  -l, --labels=FILE    names of the classes, one a line, or JSON\n"
	"  -t, --top=COUNT      print COUNT classes of the first output; 0 for none\n"
	"  -j, --json           print one object; of run: runs with their classes, and cards\n"
	"  -h, --help           print this text\n";

#define TOP_MAX	1000

static int run(struct program_run *r, int argc, char **argv, bool json)
{
	struct json_object *runs;
	int ret;

	if (!r->cards && r->picture_count > 1)
		return cli_usage("several runs take --cards: %s", r->pictures[1]);
	r->path = argv[1];
	r->assigns = argv + 2;
	r->count = argc - 2;
	if (!json)
		return program_run(r);
	runs = json_object_new_array();
	r->json = json_object_new_object();
	json_object_object_add(r->json, "runs", runs);
	ret = program_run(r);
	if (!ret || json_object_array_length(runs))
		return ctl_print_json(r->json, false) ? CTL_ERROR : ret;
	json_object_put(r->json);
	return ret;
}

static int add_picture(const struct cli_option *option, char *path)
{
	struct program_run *r = option->to;

	r->pictures[r->picture_count++] = path;
	return CTL_OK;
}

static int parse_and_do(int argc, char **argv, struct program_run *r)
{
	bool json = false, top = false;
	const struct cli_option options[] = {
		{ CLI_TEXT("cards", &r->cards) },
		{ .name = "image", .set = add_picture, .to = r },
		{ CLI_TEXT("labels", &r->labels) },
		{ CLI_NUMBER("top", &r->top, 0, TOP_MAX), .given = &top },
		{ CLI_FLAG("json", &json) },
		{ 0 },
	};
	int ret = cli_options(help, options, CLI_ANY, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (!top && (r->picture_count || r->labels))
		r->top = 5;
	if (argc == 2 && !strcmp(argv[0], "info"))
		return program_info(argv[1], json);
	if (argc >= 2 && !strcmp(argv[0], "run"))
		return run(r, argc, argv, json);
	return cli_usage("say info FILE, or run FILE NAME=FILE...");
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

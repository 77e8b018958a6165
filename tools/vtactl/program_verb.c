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
#include "vtadev_pool.h"
#include "vtaprog.h"

static const char help[] =
	"Usage: vtactl program info FILE [--json]\n"
	"  or:  vtactl program run FILE [OPTION]... [NAME=FILE]...\n"
	"  or:  vtactl program bench FILE [OPTION]... [NAME=FILE]...\n"
	"  or:  vtactl program profile FILE [OPTION]... [NAME=FILE]...\n"
	"\n"
	"info prints what a program image (.vtap) contains and needs. run runs it once. bench\n"
	"measures images a second and latencies, with 1, 2, 4 and so on runs in flight and on as\n"
	"many cards, and the parts of a run alone. profile measures each layer: it cuts the card's\n"
	"streams between layers, and prints what this costs.\n"
	"\n"
	"NAME is an input, which is read from FILE, or an output, which is written to FILE; info\n"
	"lists names, and @0 is the first one in its list, @1 the next. FILE is a numpy array if\n"
	"its name ends in .npy; other files contain only the values. - is standard output. --image\n"
	"converts a PNG or JPEG file to the program's input, as the program describes. Without\n"
	"inputs bench and profile use random values.\n"
	"\n"
	"With --cards there may be several runs: each --image is a run, and each FILE contains\n"
	"the values of all runs, one run after the other. Each run goes to the card that will be\n"
	"free first. If a card fails, other cards take over its runs. At the end, run prints\n"
	"what each of several cards has done.\n"
	"\n"
	"  -c, --cards=CARDS    run on these cards (the first card); CARDS is names separated by\n"
	"                       commas, or all\n"
	"  -i, --image=PICTURE  run with PICTURE, and print the five likeliest classes\n"
	"  -I, --images=DIR     measure the accuracy over all images of DIR: PNG, JPEG or .npy files,\n"
	"                       in a folder for each class, or with --labels\n"
	"  -l, --labels=FILE    names of the classes, one a line, or JSON; with --images, lines\n"
	"                       IMAGE CLASS, a file of DIR and its class, by name or number\n"
	"  -t, --top=COUNT      print COUNT classes of the first output; 0 for none; with --images,\n"
	"                       count images whose class is among the first COUNT (5)\n"
	"      --variant=N      of a program for several shapes: the variant, of those that info\n"
	"                       lists (that of the inputs' sizes; without files, 0)\n"
	"      --threads=N      run, profile: N threads compute a large step of the CPU (1); 0 for\n"
	"                       all processors\n"
	"  -b, --boxes          print the boxes that the program finds on the picture, instead of\n"
	"                       classes\n"
	"      --draw=FILE      with --boxes: write the picture with them to FILE, as PNG\n"
	"      --min-score=S    with --boxes: leave out boxes of smaller scores (0.3)\n"
	"      --box-format=F   with --boxes: how the outputs describe a box (xyxy,pixels): xyxy,\n"
	"                       yxyx, xywh or cxcywh, a comma, and pixels or normalised\n"
	"  -j, --json           print one object; of run: runs with their classes or boxes, and\n"
	"                       cards\n"
	"  -h, --help           print this text\n"
	"\n"
	"Measurements:\n"
	"  -n, --count=RUNS        measure RUNS runs (profile: 15; bench: as long as --duration)\n"
	"  -d, --duration=SECONDS  bench: measure each row of the table for SECONDS (2)\n"
	"  -f, --in-flight=N       bench: at most N runs at a time on each card (4)\n"
	"  -w, --warmup=RUNS       bench: runs before each measurement, besides the first (3)\n"
	"      --min-rate=RATE     bench: exit with 1 if no row has RATE images a second\n"
	"  -o, --output=FILE       profile: write the median run to FILE, as a trace for\n"
	"                          https://ui.perfetto.dev\n";

#define TOP_MAX		1000
#define RUNS_MAX	1000000000

static int add_picture(const struct cli_option *option, char *path)
{
	struct program_run *r = option->to;

	r->pictures[r->picture_count++] = path;
	return CTL_OK;
}

static int set_rate(const struct cli_option *option, char *text)
{
	double *rate = option->to;
	char *end;

	*rate = strtod(text, &end);
	if (end == text || *end || !(*rate > 0 && *rate < 1e12))
		return cli_usage("--min-rate wants images a second, not '%s'", text);
	return CLI_OK;
}

static int set_score(const struct cli_option *option, char *text)
{
	float *score = option->to;
	char *end;

	*score = strtof(text, &end);
	if (end == text || *end || !(*score >= 0 && *score <= 1))
		return cli_usage("--min-score wants a number from 0 to 1, not '%s'", text);
	return CLI_OK;
}

static int set_format(const struct cli_option *option, char *text)
{
	if (boxes_format_read(option->to, text))
		return cli_usage("--box-format wants xyxy, yxyx, xywh or cxcywh, a comma, and "
				 "pixels or normalised, not '%s'", text);
	return CLI_OK;
}

/* Options that were given, of those that not all words take. */
struct given {
	bool boxes, draw, min_score, box_format;
	bool top, cards, output, in_flight, warmup, count, seconds, min_rate, threads;
};

/* Wrong usage of the options for boxes, or CLI_OK. */
static int check_boxes(const struct program_run *r, const struct given *given)
{
	if (!given->boxes)
		return !given->draw && !given->min_score && !given->box_format ? CLI_OK :
		       cli_usage("--draw, --min-score and --box-format are for --boxes");
	if (given->top || r->cards)
		return cli_usage("--boxes takes neither --top nor --cards");
	return r->picture_count == 1 ? CLI_OK : cli_usage("--boxes wants one --image");
}

/* Wrong usage of the options for a set of images, or CLI_OK. */
static int check_images(const struct program_run *r)
{
	if (!r->images)
		return CLI_OK;
	if (r->picture_count || r->count || r->box)
		return cli_usage("--images takes no --image, --boxes or NAME=FILE");
	if (r->threads != 1)
		return cli_usage("--threads has no effect with --images");
	return r->top ? CLI_OK : cli_usage("--images takes --top=1 or more");
}

static int run(struct program_run *r, bool json)
{
	struct json_object *runs;
	int ret = check_images(r);

	if (ret)
		return ret;
	if (!r->cards && r->picture_count > 1)
		return cli_usage("several runs take --cards: %s", r->pictures[1]);
	if (r->cards && r->threads != 1)
		return cli_usage("--threads has no effect with --cards");
	if (!json)
		return program_run(r);
	runs = json_object_new_array();
	r->json = json_object_new_object();
	json_object_object_add(r->json, "runs", runs);
	ret = program_run(r);
	if (!ret || json_object_array_length(runs) || json_object_object_get(r->json, "failed"))
		return ctl_print_json(r->json, false) ? CTL_ERROR : ret;
	json_object_put(r->json);
	return ret;
}

static int measure(struct program_measure *m, const struct given *given, bool profile)
{
	if (m->run.picture_count > 1)
		return cli_usage("all runs have the same inputs: %s", m->run.pictures[1]);
	if (given->top || m->run.labels || m->run.images || m->run.box)
		return cli_usage("--top, --labels, --images and --boxes are for run");
	if (!profile && given->threads)
		return cli_usage("--threads is for run and profile");
	if (!profile)
		return given->output ? cli_usage("--output is for profile") : program_bench(m);
	if (given->cards || given->in_flight || given->warmup || given->seconds ||
	    given->min_rate)
		return cli_usage("--cards, --duration, --in-flight, --min-rate and --warmup are "
				 "for bench");
	return program_profile(m);
}

static const char *const words[] = { "info", "run", "bench", "profile", NULL };

static bool is_word(const char *text)
{
	for (unsigned int i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return true;
	return false;
}

static int do_word(const char *word, struct program_measure *m, const struct given *given)
{
	bool bench = !strcmp(word, "bench"), profile = !strcmp(word, "profile");

	if (bench || profile)
		return measure(m, given, profile);
	if (given->output || given->in_flight || given->warmup || given->count ||
	    given->seconds || given->min_rate)
		return cli_usage("measurements are for bench and profile");
	if (!strcmp(word, "run")) {
		int ret = check_boxes(&m->run, given);

		return ret ? ret : run(&m->run, m->json);
	}
	if (m->run.count)
		return cli_usage("info takes one file: %s", m->run.assigns[0]);
	return program_info(m->run.path, m->json);
}

static int parse_and_do(int argc, char **argv, struct program_measure *m)
{
	struct program_run *r = &m->run;
	struct program_box box = { .least = 0.3f };
	struct given given = { 0 };
	const struct cli_option options[] = {
		{ CLI_TEXT("cards", &r->cards), .given = &given.cards },
		{ .name = "image", .set = add_picture, .to = r },
		{ CLI_TEXT("images", &r->images) },
		{ CLI_TEXT("labels", &r->labels) },
		{ CLI_NUMBER("top", &r->top, 0, TOP_MAX), .given = &given.top },
		{ CLI_NUMBER("variant", &r->variant, 0, UINT32_MAX), .given = &r->variant_given },
		{ CLI_NUMBER("threads", &r->threads, 0, VTAPROG_THREADS_MAX),
		  .given = &given.threads },
		{ CLI_FLAG("boxes", &given.boxes) },
		{ CLI_TEXT("draw", &box.draw), .given = &given.draw },
		{ .name = "min-score", .set = set_score, .to = &box.least,
		  .given = &given.min_score },
		{ .name = "box-format", .set = set_format, .to = &box.format,
		  .given = &given.box_format },
		{ CLI_FLAG("json", &m->json) },
		{ CLI_NUMBER("count", &m->count, 1, RUNS_MAX), .given = &given.count },
		{ .name = "duration", .set = ctl_set_seconds, .to = &m->seconds,
		  .given = &given.seconds },
		{ CLI_NUMBER("in-flight", &m->in_flight, 1, VTADEV_POOL_DEPTH_MAX),
		  .given = &given.in_flight },
		{ CLI_NUMBER("warmup", &m->warmup, 0, RUNS_MAX), .given = &given.warmup },
		{ .name = "min-rate", .set = set_rate, .to = &m->min_rate,
		  .given = &given.min_rate },
		{ CLI_TEXT("output", &m->output), .given = &given.output },
		{ 0 },
	};
	int ret = cli_options(help, options, CLI_ANY, &argc, &argv);
	bool classes;

	if (ret != CLI_GO)
		return ret;
	if (argc > 0 && !is_word(argv[0]))
		return cli_no_word(argv[0], words);
	if (argc < 2)
		return cli_usage("say info FILE, or run, bench or profile FILE NAME=FILE...");
	r->path = argv[1];
	r->assigns = argv + 2;
	r->count = argc - 2;
	r->box = given.boxes ? &box : NULL;
	classes = r->picture_count || r->labels || r->images;
	if (!given.top && !r->box && !strcmp(argv[0], "run") && classes)
		r->top = 5;
	ret = do_word(argv[0], m, &given);
	r->box = NULL;
	return ret;
}

int program_main(int argc, char **argv)
{
	struct program_measure m = { .run.threads = 1, .seconds = 2, .warmup = 3 };
	int ret;

	m.run.pictures = calloc((size_t)argc, sizeof(*m.run.pictures));
	if (!m.run.pictures)
		return ctl_error("program", -ENOMEM);
	ret = parse_and_do(argc, argv, &m);
	free(m.run.pictures);
	return ret;
}

// SPDX-License-Identifier: Apache-2.0
/* vtac compile: a model to a program. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "crew.h"
#include "output.h"
#include "progress.h"

#define LIST_MAX	256
#define NUMBER_MAX	(1u << 24)

static const char help[] =
	"Usage: vtac compile [OPTION]... MODEL.onnx\n"
	"\n"
	"Compile a model, and print which nodes run on the card and which on the CPU.\n"
	"\n"
	"  -o, --output=FILE      write the program to FILE (.vtap), - for standard output; then the\n"
	"                         report goes to standard error\n"
	"      --emit=FORM        write source code to the directory of -o, for a machine without\n"
	"                         an operating system; or a model with the program, for ONNX\n"
	"                         Runtime: c or onnx\n"
	"  -c, --config=FILE      compile for the core that FILE, a vta_config.json, describes\n"
	"                         (without --config and --card: TVM's default)\n"
	"      --card=CARD        compile for the core and the clock of a card of this machine\n"
	"      --clock=MHZ        the card's clock, for times in the report (100)\n"
	"      --calibrate=[INPUT=]PATH  images to find the ranges of values with: a directory of\n"
	"                         PNG and JPEG files, a .npy file whose first dimension is the\n"
	"                         number of images, or a directory of .npy files; INPUT if the\n"
	"                         model has several, once for each. Without, a model of floats is\n"
	"                         compiled by random inputs, and its results are not accurate\n"
	"      --measure=[INPUT=]PATH  images to measure the accuracy with: SQNR of each node, and\n"
	"                         how often the greatest output is the same\n"
	"      --classes=FILE     for each image of --measure, the number of its right class,\n"
	"                         one a line\n"
	"      --images=N         use at most N images (--calibrate 64, --measure 16)\n"
	"      --shape=[INPUT=]N,C,H,W  the shape of an input whose sizes the file leaves open; several\n"
	"                         times for a program that takes each of these shapes\n"
	"      --labels=FILE      put names of the classes, one a line, into the program\n"
	"\n"
	"How a picture becomes the input, kept in the program for vtactl program run:\n"
	"      --mean=A[,B,C]     subtract from each channel; pixels are 0 to 255\n"
	"      --scale=A[,B,C]    then multiply by\n"
	"      --order=ORDER      order of the channels: rgb, bgr or gray\n"
	"      --fit=HOW          fit the picture's size: stretch, top-left, centre or crop\n"
	"      --filter=FILTER    filter for this: nearest, linear or cubic\n"
	"      --background=RRGGBB  colour behind transparent pixels (ffffff)\n"
	"\n"
	"Which nodes run on the card:\n"
	"      --cpu=NODE         keep NODE on the CPU; may be repeated\n"
	"      --card-from=NODE   only nodes that depend on NODE\n"
	"      --card-to=NODE     only NODE and nodes that it depends on\n"
	"      --no-card          none\n"
	"      --no-prune         also nodes that gain less there than their copies cost\n"
	"      --cpu-rate=N       multiplications that the host does in a cycle of the card (16)\n"
	"\n"
	"How floats become integers:\n"
	"                         (auto: the way with the least error on calibration images)\n"
	"      --range=METHOD     how ranges are found: auto, mse, max or percentile\n"
	"      --residual=WHERE   residuals are added to: auto, sum or output\n"
	"      --equalise=HOW     scale channels to a common range: auto, no, half or full\n"
	"      --split=WHAT       finer steps in twice as many channels, for no layer, the first or\n"
	"                         the early ones: auto, no, first or early\n"
	"      --merge=WHAT       convolutions that are added as one: auto, no or sums\n"
	"      --functions=HOW    formulas of functions, of few cycles or hardly less exact than\n"
	"                         rounding: auto, fast or exact\n"
	"      --padding=WITH     inputs of convolutions that pad have the zero point 0, or any\n"
	"                         around them: auto, zero or point\n"
	"      --precision=[NODE=]BITS  bits of the results of convolutions and products, of all\n"
	"                         or of NODE: 8, 16 (two tensors, where that is possible), or\n"
	"                         auto: 16 where it gains most\n"
	"      --extra-cycles=PERCENT  cycles that --precision=auto may add (25)\n"
	"      --power-of-two     scales are powers of two: no multiplications\n"
	"      --per-tensor       one scale for all channels of a layer\n"
	"\n"
	"Output and limits:\n"
	"      --dump-after=PASS  print the graph after PASS (vtac passes), and stop; to\n"
	"                         standard output, or to the file of -o\n"
	"      --dot              print this graph for graphviz, nodes on the card in blue\n"
	"      --memory=MIB       memory that the compiler may use (4096)\n"
	"      --threads=N        compute with N threads (all processors that it may use); the\n"
	"                         program is the same for any number\n"
	"  -j, --json             print the report as JSON\n"
	"  -q, --quiet            print neither the report nor the progress\n"
	"  -h, --help             print this text\n";

struct compile {
	const char *model, *output, *config, *card, *dump;
	const char *labels_file, *classes_file;
	uint32_t form;
	bool emit, dot, json, quiet;
	uint32_t clock_mhz, clock_khz;	/* of --clock, or of --card; 0: not known */
	unsigned int max_images;	/* 0: as many as is usual */
	uint64_t memory;
	unsigned int threads;		/* 0: as many as there are processors */
	struct crew *crew;
	struct vtac_options opt;
	struct vtac_quant_options quant;
	struct vtac_shape_option shapes[LIST_MAX];
	const char *cpu[LIST_MAX];
	struct vtac_precision_option precisions[LIST_MAX];
	struct vtaimage_preprocess preprocess;
	bool has_preprocess;
	struct cmd_images *calibrate, *measure;
	struct vtac_random random;
	unsigned int *classes;		/* of those to measure with */
	char *labels;			/* of @labels_file */
	unsigned int variants;
	struct vtac_graph **g;		/* of each variant */
	struct vtac_program *p;
	struct output_reports *reports;
};

/* ---- options ---- */

/* [INPUT=]N,C,H,W; @text is kept. */
static int add_shape(const struct cli_option *option, char *text)
{
	struct compile *c = option->to;
	struct vtac_shape_option *s = &c->shapes[c->opt.n_shapes];
	char *sizes = strrchr(text, '='), *size, *rest;
	uint64_t value;

	if (c->opt.n_shapes == LIST_MAX)
		return cli_usage("too many shapes");
	if (sizes)
		*sizes++ = 0;
	s->input = sizes ? text : NULL;
	for (size = strtok_r(sizes ? sizes : text, ",", &rest); size;
	     size = strtok_r(NULL, ",", &rest)) {
		if (s->rank == VTAC_RANK_MAX || !cli_number(size, 1, INT32_MAX, &value))
			return cli_usage("no shape: %s", size);
		s->dims[s->rank++] = (int64_t)value;
	}
	if (!s->rank)
		return cli_usage("a shape has sizes: --shape=1,3,224,224");
	c->opt.n_shapes++;
	return CLI_OK;
}

static int add_cpu(const struct cli_option *option, char *text)
{
	struct compile *c = option->to;

	if (c->opt.n_cpu == LIST_MAX)
		return cli_usage("too many nodes");
	c->cpu[c->opt.n_cpu++] = text;
	return CLI_OK;
}

/* [NODE=]8, 16 or auto; @text is kept. */
static int set_precision(const struct cli_option *option, char *text)
{
	static const char *const words[] = { "8", "16", "auto" };
	struct compile *c = option->to;
	char *word = strrchr(text, '=');
	unsigned int i = 0;

	if (word)
		*word++ = 0;
	while (i < 3 && strcmp(word ? word : text, words[i]))
		i++;
	if (i == 3 || (word && i == VTAC_PRECISION_AUTO))
		return cli_usage("a precision is 8, 16 or auto; of a node, 8 or 16: %s",
				 word ? word : text);
	if (!word) {
		c->quant.precision = i;
		return CLI_OK;
	}
	if (c->opt.n_precisions == LIST_MAX)
		return cli_usage("too many nodes");
	c->precisions[c->opt.n_precisions++] = (struct vtac_precision_option) { text, i };
	return CLI_OK;
}

/* A number of percent, with or without its sign. */
static int set_percent(const struct cli_option *option, char *text)
{
	char *sign = strchr(text, '%');
	uint64_t value;

	if (sign && !sign[1])
		*sign = 0;
	if (!cli_number(text, 1, 1000, &value))
		return cli_usage("no number of percent from 1 to 1000: %s", text);
	*(unsigned int *)option->to = (unsigned int)value;
	return CLI_OK;
}

static int set_pass(const struct cli_option *option, char *text)
{
	if (!vtac_pass_find(text) && strcmp(text, "read"))
		return cli_usage("no such pass: %s", text);
	return cli_set_text(option, text);
}

/* One number for all channels, or one for each. */
static int set_channels(const struct cli_option *option, char *text)
{
	char *rest, *end, *word = strtok_r(text, ",", &rest);
	float *values = option->to;
	int n = 0;

	for (; word && n < 3; word = strtok_r(NULL, ",", &rest)) {
		values[n++] = strtof(word, &end);
		if (*end || end == word || !(fabsf(values[n - 1]) < 3.4e38f))
			return cli_usage("no number: %s", word);
	}
	if (word || (n != 1 && n != 3))
		return cli_usage("give one number, or one for each of three channels");
	for (int i = n; i < 3; i++)
		values[i] = values[0];
	return CLI_OK;
}

static int set_colour(const struct cli_option *option, char *text)
{
	char *end;

	*(uint32_t *)option->to = (uint32_t)strtoul(text, &end, 16);
	return strlen(text) == 6 && !*end ? CLI_OK : cli_usage("no colour: %s", text);
}

static int parse(struct compile *c, int argc, char **argv)
{
	struct vtaimage_preprocess *p = &c->preprocess;
	struct vtac_quant_options *q = &c->quant;
	/* Words are in the order of their enumerations in options.h. */
	const struct cli_option options[] = {
		{ CLI_TEXT("output", &c->output) },
		{ CLI_WORD("emit", &c->form), .given = &c->emit },
		{ CLI_TEXT("config", &c->config) },
		{ CLI_TEXT("card", &c->card) },
		{ CLI_NUMBER("clock", &c->clock_mhz, 1, 100000) },
		{ .name = "calibrate", .set = cmd_images_add, .to = c->calibrate },
		{ .name = "measure", .set = cmd_images_add, .to = c->measure },
		{ CLI_TEXT("classes", &c->classes_file) },
		{ CLI_NUMBER("images", &c->max_images, 1, NUMBER_MAX) },
		{ .name = "shape", .set = add_shape, .to = c },
		{ CLI_TEXT("labels", &c->labels_file) },
		{ .name = "mean", .set = set_channels, .to = p->mean, .given = &c->has_preprocess },
		{ .name = "scale", .set = set_channels, .to = p->scale,
		  .given = &c->has_preprocess },
		{ CLI_WORD("order", &p->order), .given = &c->has_preprocess },
		{ CLI_WORD("fit", &p->fit), .given = &c->has_preprocess },
		{ CLI_WORD("filter", &p->filter), .given = &c->has_preprocess },
		{ .name = "background", .set = set_colour, .to = &p->background,
		  .given = &c->has_preprocess },
		{ .name = "cpu", .set = add_cpu, .to = c },
		{ CLI_TEXT("card-from", &c->opt.card_from) },
		{ CLI_TEXT("card-to", &c->opt.card_to) },
		{ CLI_FLAG("no-card", &c->opt.no_card) },
		{ CLI_FLAG("no-prune", &c->opt.no_prune) },
		{ CLI_NUMBER("cpu-rate", &c->opt.cpu_rate, 1, NUMBER_MAX) },
		{ CLI_WORD("range", &q->range) },
		{ CLI_WORD("residual", &q->residual) },
		{ CLI_WORD("equalise", &q->equalise) },
		{ CLI_WORD("split", &q->split) },
		{ CLI_WORD("merge", &q->merge) },
		{ CLI_WORD("functions", &q->functions) },
		{ CLI_WORD("padding", &q->padding) },
		{ .name = "precision", .set = set_precision, .to = c },
		{ .name = "extra-cycles", .set = set_percent, .to = &q->extra_cycles },
		{ CLI_FLAG("power-of-two", &q->power_of_two) },
		{ CLI_FLAG("per-tensor", &q->per_tensor) },
		{ .name = "dump-after", .set = set_pass, .to = &c->dump },
		{ CLI_FLAG("dot", &c->dot) },
		{ CLI_NUMBER("memory", &c->memory, 1, NUMBER_MAX) },
		{ CLI_NUMBER("threads", &c->threads, 1, CREW_THREADS_MAX) },
		{ CLI_FLAG("json", &c->json) },
		{ CLI_FLAG("quiet", &c->quiet) },
		{ 0 },
	};
	int ret = cli_options(help, options, 1, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (!argc)
		return cli_usage("name a model");
	c->model = argv[0];
	c->memory <<= 20;
	if (!c->emit)
		c->form = OUTPUT_PROGRAM;
	if (c->form == OUTPUT_C && !c->output)
		return cli_usage("name a directory: --output=DIRECTORY");
	if (c->form == OUTPUT_ONNX && !c->output)
		return cli_usage("name a file: --output=FILE");
	if (c->classes_file && !cmd_images_given(c->measure))
		return cli_usage("--classes needs --measure");
	if (c->card && c->config)
		return cli_usage("use only one of --card and --config");
	return CLI_GO;
}

/* ---- the work ---- */

static int fail_graph(const struct vtac_graph *g)
{
	return cmd_fail(CMD_MODEL, NULL, g->error.text);
}

static int dump(const struct compile *c, const struct vtac_graph *g)
{
	const char *path = c->output ? c->output : "-";
	struct output out;
	int err = output_open(&out, path, 0666);

	progress_clear();
	if (!err) {
		if (c->dot)
			vtac_dump_dot(g, out.file);
		else
			vtac_dump_text(g, out.file);
		err = output_close(&out);
	}
	return err ? cmd_fail(CMD_ERROR, path, strerror(-err)) : CMD_OK;
}

static struct vtac_graph *new_graph(const struct compile *c)
{
	struct vtac_graph *g = vtac_graph_new(c->memory);

	if (g)
		g->crew = c->crew;
	return g;
}

/*
 * The same network in float, as far as it is cut into the same tensors. Inputs stay what they are,
 * as no images are read.
 */
static int measure(struct compile *c, struct vtac_graph *g, struct vtac_accuracy *accuracy)
{
	struct vtac_graph *real = new_graph(c);
	struct vtac_options opt = c->opt;
	struct vtac_images unread;
	int ret = CMD_OK;

	if (!real)
		return cmd_fail(CMD_ERROR, NULL, "out of memory");
	if (opt.images) {
		unread = *opt.images;
		unread.read = NULL;
		opt.images = &unread;
	}
	if (vtac_read_onnx(real, c->model) || vtac_run_passes(real, &opt, "pad_channels"))
		ret = fail_graph(real);
	else if (vtac_measure(real, g, &c->opt, cmd_images_all(c->measure), NULL,
			      accuracy))
		ret = fail_graph(g->error.text[0] ? g : real);
	vtac_graph_free(real);
	return ret;
}

/* After the report: the file that was written, and what to do with it. */
static void say_next(const struct compile *c)
{
	if (!c->output)
		fprintf(stderr, "vtac: no program was written: --output=FILE writes one\n");
	else if (c->form == OUTPUT_C)
		fprintf(stderr, "vtac: %s is written: make -C %s builds a program\n", c->output,
			c->output);
	else if (c->form == OUTPUT_ONNX)
		fprintf(stderr, "vtac: %s is written: ONNX Runtime runs it with the provider of "
			"docs/onnxruntime.md\n", c->output);
	else if (!output_is_stdout(c->output))
		fprintf(stderr, "vtac: %s is written: vtactl program info %s lists its inputs, "
			"vtactl program run %s%s runs it\n", c->output, c->output, c->output,
			c->has_preprocess ? " --image=PICTURE" : " INPUT=FILE OUTPUT=FILE");
}

/* The reports of variant @i, which are made before its constants go to the next. */
static int make_reports(struct compile *c, unsigned int i)
{
	struct vtac_report_options how = {
		.clock_khz = c->clock_mhz ? 1000 * c->clock_mhz : c->clock_khz,
	};
	struct output_reports *r = &c->reports[i];
	struct vtac_accuracy accuracy;
	int ret = CMD_OK;

	if (cmd_images_given(c->measure)) {
		ret = measure(c, c->g[i], &accuracy);
		how.accuracy = &accuracy;
	}
	if (ret)
		return ret;
	r->text = c->variants > 1 ? vtac_variant_report(&c->p[i], &how, i) :
		  vtac_report_text(&c->p[i], &how);
	how.json = true;
	r->json = vtac_report_text(&c->p[i], &how);
	return r->text && r->json ? CMD_OK : cmd_fail(CMD_ERROR, NULL, "out of memory");
}

/* An array if there are several variants. */
static void print_reports(const struct compile *c, FILE *f)
{
	bool list = c->json && c->variants > 1;

	if (list)
		fputs("[\n", f);
	for (unsigned int i = 0; i < c->variants; i++) {
		fputs(list && i ? ",\n" : "", f);
		fputs(c->json ? c->reports[i].json : c->reports[i].text, f);
	}
	if (list)
		fputs("]\n", f);
}

static int finish(struct compile *c)
{
	int ret = CMD_OK;

	if (c->output)
		ret = output_program(c->p, c->variants, &(struct output_options){
			.model = c->model, .labels = c->labels,
			.preprocess = c->has_preprocess ? &c->preprocess : NULL },
			c->reports, (enum output_form)c->form, c->output);
	progress_clear();
	if (ret || c->quiet)
		return ret;
	print_reports(c, c->output && output_is_stdout(c->output) ? stderr : stdout);
	fflush(stdout);
	say_next(c);
	return ret;
}

static unsigned int count_images(struct cmd_images *images)
{
	return cmd_images_given(images) ? cmd_images_all(images)->count : 0;
}

/* Calibrate with random inputs, and say what that is worth. */
static void use_random(struct compile *c)
{
	char text[VTAC_RANDOM_TEXT];

	vtac_random_init(&c->random, c->has_preprocess ? &c->preprocess : NULL);
	c->opt.images = &c->random.images;
	c->quant.random_inputs = VTAC_RANDOM_INPUTS;
	cmd_progress_plan(VTAC_RANDOM_INPUTS, count_images(c->measure));
	progress_clear();
	fprintf(stderr, "vtac: WARNING: %s Give typical inputs by --calibrate, and others by "
		"--measure to see how near the results are.\n", vtac_random_text(text));
}

/* Compile variant @i, or print its graph after a pass. */
static int compile(struct compile *c, unsigned int i)
{
	struct vtac_graph *g = c->g[i];
	int ret;

	if (vtac_read_onnx(g, c->model))
		return fail_graph(g);
	ret = cmd_images_match(c->calibrate, g);
	if (!ret)
		ret = cmd_images_match(c->measure, g);
	if (ret)
		return ret;
	if (c->dump && !strcmp(c->dump, "read"))
		return dump(c, g);
	if (vtac_lacks_images(g, &c->opt))
		use_random(c);
	if (c->dump)
		return vtac_run_passes(g, &c->opt, c->dump) ? fail_graph(g) : dump(c, g);
	if (c->labels || c->has_preprocess)
		ret = output_check_program(g, &c->opt, &(struct output_options){
			.labels = c->labels,
			.preprocess = c->has_preprocess ? &c->preprocess : NULL });
	if (ret)
		return ret;
	if (vtac_compile_variant(g, &c->opt, i ? &c->p[i - 1] : NULL, &c->p[i]))
		return fail_graph(g);
	return make_reports(c, i);
}

static int compile_variants(struct compile *c)
{
	struct vtac_options all = c->opt;
	struct vtac_shape_option shapes[LIST_MAX];
	int ret = CMD_OK;

	c->g = calloc(c->variants, sizeof(struct vtac_graph *));
	c->p = calloc(c->variants, sizeof(*c->p));
	c->reports = calloc(c->variants, sizeof(*c->reports));
	if (!c->g || !c->p || !c->reports)
		return cmd_fail(CMD_ERROR, NULL, "out of memory");
	for (unsigned int i = 0; i < c->variants && !ret; i++) {
		c->opt.shapes = shapes;
		c->opt.n_shapes = vtac_variant_shapes(&all, i, shapes);
		c->g[i] = new_graph(c);
		ret = c->g[i] ? compile(c, i) : cmd_fail(CMD_ERROR, NULL, "out of memory");
	}
	c->opt = all;
	return ret || c->dump ? ret : finish(c);
}

static void free_variants(struct compile *c)
{
	for (unsigned int i = 0; c->g && c->p && c->reports && i < c->variants; i++) {
		free(c->reports[i].text);
		free(c->reports[i].json);
		vtac_program_free(&c->p[i]);
		vtac_graph_free(c->g[i]);
	}
	free(c->g);
	free(c->p);
	free(c->reports);
}

/* Count the variants that the shapes ask for. */
static int count_variants(struct compile *c)
{
	struct vtac_error error = { "", false };

	c->variants = vtac_variants(&c->opt, &error);
	if (!c->variants)
		return cli_usage("%s", error.text);
	if (c->variants > 1 && c->form != OUTPUT_PROGRAM)
		return cli_usage("--emit takes one shape of an input");
	if (c->variants > 1 && c->dump)
		return cli_usage("--dump-after takes one shape of an input");
	return CMD_OK;
}

static int read_classes(struct compile *c)
{
	struct vtac_error error = { "", false };

	if (!c->classes_file)
		return CMD_OK;
	c->classes = vtac_classes_read(c->classes_file, cmd_images_all(c->measure)->count, &error);
	cmd_images_all(c->measure)->classes = c->classes;
	return c->classes ? CMD_OK : cmd_fail(CMD_ERROR, c->classes_file, error.text);
}

static int read_labels(struct compile *c)
{
	FILE *f = c->labels_file ? fopen(c->labels_file, "r") : NULL;
	size_t size = 0;
	ssize_t n;
	int err;

	if (!c->labels_file)
		return CMD_OK;
	if (!f)
		return cmd_fail(CMD_ERROR, c->labels_file, strerror(errno));
	n = getdelim(&c->labels, &size, 0, f);
	err = ferror(f) ? errno : 0;
	fclose(f);
	if (n > 0 && !c->labels[n - 1])
		return cmd_fail(CMD_ERROR, c->labels_file, "no text: it has a zero byte");
	return n >= 0 ? CMD_OK :
	       cmd_fail(CMD_ERROR, c->labels_file, err ? strerror(err) : "it is empty");
}

/* Images, labels and classes that do not fit the model are refused once its shapes are known. */
static int check_data(void *priv, const struct vtac_pass *pass, struct vtac_graph *g)
{
	struct compile *c = priv;

	if (strcmp(pass->name, "shape"))
		return 0;
	if (cmd_images_check(c->calibrate, g) || cmd_images_check(c->measure, g))
		return -1;
	if (c->labels && vtac_check_labels(g, c->labels))
		return -1;
	if (!c->classes)
		return 0;
	return vtac_check_classes(g, c->classes, cmd_images_all(c->measure)->count);
}

/* Would the output replace a file that the command reads? */
static bool replaces_input(const struct compile *c)
{
	const char * const read[] = { c->model, c->config, c->labels_file, c->classes_file };

	for (unsigned int i = 0; i < sizeof(read) / sizeof(*read); i++)
		if (read[i] && output_replaces(c->output, read[i]))
			return true;
	return cmd_images_replaced(c->calibrate, c->output) ||
	       cmd_images_replaced(c->measure, c->output);
}

/* Files that cannot be read or written are named before minutes of work. */
static int check_files(const struct compile *c)
{
	char path[PATH_MAX];
	struct stat st;
	int err;

	assert(c->model);	/* by parse() */
	if (access(c->model, R_OK))
		return cmd_fail(CMD_ERROR, c->model, strerror(errno));
	if (!stat(c->model, &st) && !S_ISREG(st.st_mode))
		return cmd_fail(CMD_ERROR, c->model, S_ISDIR(st.st_mode) ? strerror(EISDIR) :
				"not a regular file");
	if (!c->output)
		return CMD_OK;
	if (replaces_input(c))
		return cmd_fail(CMD_ERROR, c->output, "the output would replace what is read");
	snprintf(path, sizeof(path), "%s%s", c->output,
		 c->form == OUTPUT_C && !stat(c->output, &st) ? "/model.h" : "");
	err = output_check(path);
	return err ? cmd_fail(CMD_ERROR, c->output, strerror(-err)) : CMD_OK;
}

static int prepare(struct compile *c)
{
	struct vtaimage_preprocess *pre = &c->preprocess;
	int ret;

	c->opt.shapes = c->shapes;
	ret = count_variants(c);
	if (!ret)
		ret = check_files(c);
	if (!ret)
		ret = read_labels(c);
	if (!ret)
		ret = c->card ? cmd_core_of_card(&c->opt.core, c->card, &c->clock_khz) :
			cmd_core_of_file(&c->opt.core, c->config);

	/* Grey pictures have no second and third channel. */
	for (int i = 1; i < 3 && pre->order == VTAIMAGE_GRAY; i++) {
		pre->mean[i] = 0;
		pre->scale[i] = 0;
	}
	if (!ret)
		ret = cmd_images_open(c->calibrate, pre, c->max_images ? c->max_images : 64);
	if (!ret)
		ret = cmd_images_open(c->measure, pre, c->max_images ? c->max_images : 16);
	if (!ret)
		ret = read_classes(c);
	c->opt.cpu = c->cpu;
	c->opt.precisions = c->precisions;
	c->opt.quant = &c->quant;
	c->opt.images = cmd_images_given(c->calibrate) ? cmd_images_all(c->calibrate) : NULL;
	c->opt.progress = cmd_progress;
	if (c->quiet)
		progress_off();
	if (!ret)
		cmd_progress_plan(count_images(c->calibrate), count_images(c->measure));
	c->opt.after = check_data;
	c->opt.after_priv = c;
	if (!ret && crew_new(c->threads ? c->threads : crew_processors(), &c->crew))
		ret = cmd_fail(CMD_ERROR, NULL, "out of memory");
	return ret;
}

int compile_main(int argc, char **argv)
{
	struct compile *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return cmd_fail(CMD_ERROR, NULL, "out of memory");
	c->calibrate = cmd_images_new();
	c->measure = cmd_images_new();
	c->preprocess = (struct vtaimage_preprocess){
		.filter = VTAIMAGE_FILTER_LINEAR, .background = 0xffffff, .scale = { 1, 1, 1 },
	};
	ret = c->calibrate && c->measure ? parse(c, argc, argv) :
		cmd_fail(CMD_ERROR, NULL, "out of memory");
	if (ret == CLI_GO) {
		ret = prepare(c);
		if (!ret)
			ret = compile_variants(c);
	}
	progress_clear();
	free_variants(c);
	crew_free(c->crew);
	cmd_images_free(c->calibrate);
	cmd_images_free(c->measure);
	free(c->classes);
	free(c->labels);
	free(c);
	return ret;
}

static const char passes_help[] =
	"Usage: vtac passes\n"
	"\n"
	"List the passes in their order; --dump-after of compile takes their names.\n"
	"\n"
	"  -h, --help             print this text\n";

int passes_main(int argc, char **argv)
{
	int ret = cli_options(passes_help, &(struct cli_option){ 0 }, 0, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	puts("read           the model as the file has it");
	for (const struct vtac_pass *p = vtac_passes; p->name; p++)
		printf("%-14s %s\n", p->name, p->what);
	return CMD_OK;
}

// SPDX-License-Identifier: Apache-2.0
/* vtac compile: a model to a program. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "output.h"

#define LIST_MAX	256

static const char help[] =
	"Usage: vtac compile [OPTION]... MODEL.onnx\n"
	"\n"
	"Compile a model, and print which nodes run on the card and which on the CPU.\n"
	"\n"
	"  -o, --output=FILE      write the program to FILE (.vtap)\n"
	"      --emit=c           write C, for a machine without an operating system; -o names\n"
	"                         the directory\n"
	"  -c, --config=FILE      compile for the core that FILE, a vta_config.json, describes\n"
	"                         (without --config and --card: TVM's default)\n"
	"      --card=CARD        compile for the core of a card of this machine\n"
	"      --calibrate=PATH   images to find the ranges of values with: a directory of PNG\n"
	"                         and JPEG files, a .npy file whose first dimension is the\n"
	"                         number of images, or a directory of .npy files\n"
	"      --measure=PATH     images to measure the accuracy with: SQNR of each node, and\n"
	"                         how often the greatest output is the same\n"
	"      --classes=FILE     for each image of --measure, the number of its right class,\n"
	"                         one a line\n"
	"      --images=N         use at most N images (--calibrate 64, --measure 16)\n"
	"      --shape=[INPUT=]N,C,H,W  the shape of an input whose sizes the file leaves open\n"
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
	"      --split=WHAT       finer steps, in twice as many channels, of: auto, no, first\n"
	"                         (layer) or early (layers)\n"
	"      --merge=WHAT       convolutions that are added as one: auto, no or sums\n"
	"      --power-of-two     scales are powers of two: no multiplications\n"
	"      --per-tensor       one scale for all channels of a layer\n"
	"\n"
	"Output and limits:\n"
	"      --dump-after=PASS  print the graph after PASS (vtac passes), and stop; to\n"
	"                         standard output, or to the file of -o\n"
	"      --dot              print this graph for graphviz, nodes on the card in blue\n"
	"      --memory=MIB       memory that the compiler may use (4096)\n"
	"  -j, --json             print the report as JSON\n"
	"  -q, --quiet            print no report\n"
	"  -h, --help             print this text\n";

enum {
	OPT_CARD = 256, OPT_EMIT, OPT_LABELS, OPT_MEAN, OPT_SCALE, OPT_ORDER, OPT_FIT, OPT_FILTER,
	OPT_BACKGROUND, OPT_CALIBRATE, OPT_MEASURE, OPT_CLASSES, OPT_IMAGES, OPT_SHAPE, OPT_CPU,
	OPT_FROM, OPT_TO, OPT_NO_CARD, OPT_NO_PRUNE, OPT_RATE, OPT_RANGE, OPT_RESIDUAL,
	OPT_EQUALISE, OPT_SPLIT, OPT_MERGE, OPT_POWER, OPT_TENSOR, OPT_DUMP, OPT_DOT, OPT_MEMORY,
};

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "emit", required_argument, NULL, OPT_EMIT },
	{ "config", required_argument, NULL, 'c' },
	{ "card", required_argument, NULL, OPT_CARD },
	{ "calibrate", required_argument, NULL, OPT_CALIBRATE },
	{ "measure", required_argument, NULL, OPT_MEASURE },
	{ "classes", required_argument, NULL, OPT_CLASSES },
	{ "images", required_argument, NULL, OPT_IMAGES },
	{ "shape", required_argument, NULL, OPT_SHAPE },
	{ "labels", required_argument, NULL, OPT_LABELS },
	{ "mean", required_argument, NULL, OPT_MEAN },
	{ "scale", required_argument, NULL, OPT_SCALE },
	{ "order", required_argument, NULL, OPT_ORDER },
	{ "fit", required_argument, NULL, OPT_FIT },
	{ "filter", required_argument, NULL, OPT_FILTER },
	{ "background", required_argument, NULL, OPT_BACKGROUND },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "card-from", required_argument, NULL, OPT_FROM },
	{ "card-to", required_argument, NULL, OPT_TO },
	{ "no-card", no_argument, NULL, OPT_NO_CARD },
	{ "no-prune", no_argument, NULL, OPT_NO_PRUNE },
	{ "cpu-rate", required_argument, NULL, OPT_RATE },
	{ "range", required_argument, NULL, OPT_RANGE },
	{ "residual", required_argument, NULL, OPT_RESIDUAL },
	{ "equalise", required_argument, NULL, OPT_EQUALISE },
	{ "split", required_argument, NULL, OPT_SPLIT },
	{ "merge", required_argument, NULL, OPT_MERGE },
	{ "power-of-two", no_argument, NULL, OPT_POWER },
	{ "per-tensor", no_argument, NULL, OPT_TENSOR },
	{ "dump-after", required_argument, NULL, OPT_DUMP },
	{ "dot", no_argument, NULL, OPT_DOT },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "json", no_argument, NULL, 'j' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct compile {
	const char *model, *output, *config, *card, *calibrate, *measure, *dump, *labels;
	const char *classes_file;
	bool emit_c, dot, json, quiet;
	unsigned int max_images;	/* 0: as many as is usual */
	uint64_t memory;
	struct vtac_options opt;
	struct vtac_quant_options quant;
	struct vtac_shape_option shapes[LIST_MAX];
	const char *cpu[LIST_MAX];
	struct vtaimage_preprocess preprocess;
	bool has_preprocess;
	struct vtac_image_files *files[2];	/* to calibrate with, to measure with */
	struct cmd_pictures *pictures[2];
	struct vtac_images images[2];
	unsigned int *classes;		/* of those to measure with */
};

/* ---- options ---- */

static bool number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !errno && !*end && *value && *value <= max;
}

/* [INPUT=]N,C,H,W; @text is kept. */
static int add_shape(struct compile *c, char *text)
{
	struct vtac_shape_option *s = &c->shapes[c->opt.n_shapes];
	char *sizes = strrchr(text, '='), *size, *rest;
	uint64_t value;

	if (c->opt.n_shapes == LIST_MAX)
		return cmd_usage("too many shapes", "");
	if (sizes)
		*sizes++ = 0;
	s->input = sizes ? text : NULL;
	for (size = strtok_r(sizes ? sizes : text, ",", &rest); size;
	     size = strtok_r(NULL, ",", &rest)) {
		if (s->rank == VTAC_RANK_MAX || !number(size, INT32_MAX, &value))
			return cmd_usage("no shape: ", size);
		s->dims[s->rank++] = (int64_t)value;
	}
	if (!s->rank)
		return cmd_usage("a shape has sizes: --shape=1,3,224,224", "");
	c->opt.n_shapes++;
	return CMD_OK;
}

/* Which of @words @text is; NULL ends them. */
static int set_word(const char *text, const char *const *words, uint32_t *value)
{
	for (uint32_t i = 0; words[i]; i++)
		if (!strcmp(text, words[i])) {
			*value = i;
			return CMD_OK;
		}
	return cmd_usage("no such word: ", text);
}

/* In the order of the enumerations in options.h. */
static int set_quant(struct compile *c, int option, const char *text)
{
	static const char *const ranges[] = { "auto", "mse", "max", "percentile", NULL };
	static const char *const residuals[] = { "auto", "sum", "output", NULL };
	static const char *const equalise[] = { "auto", "no", "half", "full", NULL };
	static const char *const split[] = { "auto", "no", "first", "early", NULL };
	static const char *const merge[] = { "auto", "no", "sums", NULL };
	uint32_t word = 0;
	int ret = set_word(text, option == OPT_RANGE ? ranges : option == OPT_RESIDUAL ?
			   residuals : option == OPT_SPLIT ? split : option == OPT_MERGE ?
			   merge : equalise, &word);

	if (option == OPT_RANGE)
		c->quant.range = (enum vtac_range)word;
	else if (option == OPT_RESIDUAL)
		c->quant.residual = (enum vtac_residual)word;
	else if (option == OPT_SPLIT)
		c->quant.split = (enum vtac_split)word;
	else if (option == OPT_MERGE)
		c->quant.merge = (enum vtac_merge)word;
	else
		c->quant.equalise = (enum vtac_equalise)word;
	return ret;
}

/* One number for all channels, or one for each. */
static int set_channels(float values[3], char *text)
{
	char *rest, *end, *word = strtok_r(text, ",", &rest);
	int n = 0;

	for (; word && n < 3; word = strtok_r(NULL, ",", &rest)) {
		values[n++] = strtof(word, &end);
		if (*end || end == word)
			return cmd_usage("no number: ", word);
	}
	if (word || (n != 1 && n != 3))
		return cmd_usage("give one number, or one for each of three channels", "");
	for (int i = n; i < 3; i++)
		values[i] = values[0];
	return CMD_OK;
}

static int set_background(struct vtaimage_preprocess *p, const char *text)
{
	char *end;

	p->background = (uint32_t)strtoul(text, &end, 16);
	return strlen(text) == 6 && !*end ? CMD_OK : cmd_usage("no colour: ", text);
}

static int set_preprocess(struct compile *c, int option, char *text)
{
	static const char *const orders[] = { "rgb", "bgr", "gray", NULL };
	static const char *const fits[] = { "stretch", "top-left", "centre", "crop", NULL };
	static const char *const filters[] = { "nearest", "linear", "cubic", NULL };
	struct vtaimage_preprocess *p = &c->preprocess;

	c->has_preprocess = true;
	switch (option) {
	case OPT_MEAN:
		return set_channels(p->mean, text);
	case OPT_SCALE:
		return set_channels(p->scale, text);
	case OPT_ORDER:
		return set_word(text, orders, &p->order);
	case OPT_FIT:
		return set_word(text, fits, &p->fit);
	case OPT_FILTER:
		return set_word(text, filters, &p->filter);
	default:
		return set_background(p, text);
	}
}

static int set_number(struct compile *c, int option, const char *text)
{
	uint64_t value;

	if (!number(text, 1u << 24, &value))
		return cmd_usage("no number: ", text);
	if (option == OPT_IMAGES)
		c->max_images = (unsigned int)value;
	else if (option == OPT_RATE)
		c->opt.cpu_rate = (unsigned int)value;
	else
		c->memory = value << 20;
	return CMD_OK;
}

static int set_text(struct compile *c, int option, char *text)
{
	switch (option) {
	case OPT_SHAPE:
		return add_shape(c, text);
	case OPT_RANGE:
	case OPT_RESIDUAL:
	case OPT_EQUALISE:
	case OPT_SPLIT:
	case OPT_MERGE:
		return set_quant(c, option, text);
	case OPT_IMAGES:
	case OPT_RATE:
	case OPT_MEMORY:
		return set_number(c, option, text);
	case OPT_EMIT:
		c->emit_c = true;
		return strcmp(text, "c") ? cmd_usage("nothing to emit: ", text) : CMD_OK;
	case OPT_CPU:
		if (c->opt.n_cpu == LIST_MAX)
			return cmd_usage("too many nodes", "");
		c->cpu[c->opt.n_cpu++] = text;
		return CMD_OK;
	case OPT_DUMP:
		c->dump = text;
		return vtac_pass_find(text) || !strcmp(text, "read") ? CMD_OK :
			cmd_usage("no such pass: ", text);
	default:
		return set_preprocess(c, option, text);
	}
}

static int set_option(struct compile *c, int option, char *text)
{
	switch (option) {
	case 'o':
		c->output = text;
		return CMD_OK;
	case 'c':
		c->config = text;
		return CMD_OK;
	case OPT_CARD:
		c->card = text;
		return CMD_OK;
	case OPT_CALIBRATE:
		c->calibrate = text;
		return CMD_OK;
	case OPT_MEASURE:
		c->measure = text;
		return CMD_OK;
	case OPT_CLASSES:
		c->classes_file = text;
		return CMD_OK;
	case OPT_LABELS:
		c->labels = text;
		return CMD_OK;
	case OPT_FROM:
		c->opt.card_from = text;
		return CMD_OK;
	case OPT_TO:
		c->opt.card_to = text;
		return CMD_OK;
	case OPT_NO_CARD:
		c->opt.no_card = true;
		return CMD_OK;
	case OPT_NO_PRUNE:
		c->opt.no_prune = true;
		return CMD_OK;
	case OPT_POWER:
		c->quant.power_of_two = true;
		return CMD_OK;
	case OPT_TENSOR:
		c->quant.per_tensor = true;
		return CMD_OK;
	case OPT_DOT:
		c->dot = true;
		return CMD_OK;
	case 'j':
		c->json = true;
		return CMD_OK;
	case 'q':
		c->quiet = true;
		return CMD_OK;
	default:
		return set_text(c, option, text);
	}
}

/* CMD_OK, or an exit status; *done after --help. */
static int parse(struct compile *c, int argc, char **argv, bool *done)
{
	int option, ret = CMD_OK;

	optind = 0;
	opterr = 0;
	while (!ret && (option = getopt_long(argc, argv, "o:c:jqh", options, NULL)) >= 0) {
		if (option == 'h') {
			*done = true;
			return fputs(help, stdout) < 0 ? CMD_ERROR : CMD_OK;
		}
		if (option == '?')
			return cmd_usage("wrong option: ", argv[optind - 1]);
		ret = set_option(c, option, optarg);
	}
	if (ret)
		return ret;
	if (optind + 1 != argc)
		return cmd_usage(optind == argc ? "name a model" : "one model at a time", "");
	c->model = argv[optind];
	if (c->emit_c && !c->output)
		return cmd_usage("name a directory: --output=DIRECTORY", "");
	if (c->classes_file && !c->measure)
		return cmd_usage("--classes needs --measure", "");
	if (c->card && c->config)
		return cmd_usage("use only one of --card and --config", "");
	return CMD_OK;
}

/* ---- the work ---- */

static int fail_graph(const struct vtac_graph *g)
{
	return cmd_fail(CMD_MODEL, NULL, g->error.text);
}

static int open_images(struct compile *c, unsigned int i, const char *path, unsigned int usual)
{
	unsigned int max = c->max_images ? c->max_images : usual;
	struct vtac_error error = { "", false };

	if (!path)
		return CMD_OK;
	c->pictures[i] = cmd_pictures_open(path, &c->preprocess);
	if (!c->pictures[i])
		c->files[i] = vtac_images_open(path, &error);
	if (!c->pictures[i] && !c->files[i])
		return cmd_fail(CMD_ERROR, NULL, error.text);
	c->images[i] = c->pictures[i] ? *cmd_pictures_images(c->pictures[i]) :
		*vtac_images_of(c->files[i]);
	if (c->images[i].count > max)
		c->images[i].count = max;
	return CMD_OK;
}

static int dump(const struct compile *c, const struct vtac_graph *g)
{
	FILE *f = c->output ? fopen(c->output, "w") : stdout;

	if (!f)
		return cmd_fail(CMD_ERROR, c->output, strerror(errno));
	cmd_progress_end();
	if (c->dot)
		vtac_dump_dot(g, f);
	else
		vtac_dump_text(g, f);
	if (f != stdout && fclose(f))
		return cmd_fail(CMD_ERROR, c->output, strerror(errno));
	return CMD_OK;
}

/*
 * The same network in float, as far as it is cut into the same tensors. Without images to
 * calibrate with, inputs stay what they are.
 */
static int measure(struct compile *c, struct vtac_graph *g, struct vtac_accuracy *accuracy)
{
	struct vtac_graph *real = vtac_graph_new(c->memory);
	struct vtac_options opt = c->opt;
	int ret = CMD_OK;

	if (!real)
		return cmd_fail(CMD_ERROR, NULL, "out of memory");
	opt.images = NULL;
	if (vtac_read_onnx(real, c->model) || vtac_run_passes(real, &opt, "pad_channels"))
		ret = fail_graph(real);
	else if (vtac_measure(real, g, &c->opt, &c->images[1], accuracy))
		ret = fail_graph(g->error.text[0] ? g : real);
	vtac_graph_free(real);
	return ret;
}

static int finish(struct compile *c, struct vtac_graph *g, struct vtac_program *p)
{
	struct vtac_report_options how = { .json = c->json };
	struct vtac_accuracy accuracy;
	int ret = CMD_OK;

	if (c->measure) {
		ret = measure(c, g, &accuracy);
		how.accuracy = &accuracy;
	}
	if (!ret && c->output)
		ret = output_program(p, &(struct output_options){
			.model = c->model, .labels = c->labels, .report = &how,
			.preprocess = c->has_preprocess ? &c->preprocess : NULL }, c->emit_c,
			c->output);
	cmd_progress_end();
	if (!ret && !c->quiet)
		vtac_report(p, &how, stdout);
	return ret;
}

static int compile(struct compile *c, struct vtac_graph *g)
{
	struct vtac_program p;
	int ret;

	if (vtac_read_onnx(g, c->model))
		return fail_graph(g);
	if (c->dump && !strcmp(c->dump, "read"))
		return dump(c, g);
	if (c->dump)
		return vtac_run_passes(g, &c->opt, c->dump) ? fail_graph(g) : dump(c, g);
	if (vtac_compile(g, &c->opt, &p))
		return fail_graph(g);
	ret = finish(c, g, &p);
	vtac_program_free(&p);
	return ret;
}

static int read_classes(struct compile *c)
{
	struct vtac_error error = { "", false };

	if (!c->classes_file)
		return CMD_OK;
	c->classes = vtac_classes_read(c->classes_file, c->images[1].count, &error);
	c->images[1].classes = c->classes;
	return c->classes ? CMD_OK : cmd_fail(CMD_ERROR, c->classes_file, error.text);
}

static int prepare(struct compile *c)
{
	struct vtaimage_preprocess *pre = &c->preprocess;
	int ret = c->card ? cmd_core_of_card(&c->opt.core, c->card) :
		cmd_core_of_file(&c->opt.core, c->config);

	/* Grey pictures have no second and third channel. */
	for (int i = 1; i < 3 && pre->order == VTAIMAGE_GRAY; i++) {
		pre->mean[i] = 0;
		pre->scale[i] = 0;
	}
	if (!ret)
		ret = open_images(c, 0, c->calibrate, 64);
	if (!ret)
		ret = open_images(c, 1, c->measure, 16);
	if (!ret)
		ret = read_classes(c);
	c->opt.shapes = c->shapes;
	c->opt.cpu = c->cpu;
	c->opt.quant = &c->quant;
	c->opt.images = c->calibrate ? &c->images[0] : NULL;
	c->opt.progress = cmd_progress;
	return ret;
}

int compile_main(int argc, char **argv)
{
	struct compile *c = calloc(1, sizeof(*c));
	struct vtac_graph *g = NULL;
	bool done = false;
	int ret;

	if (!c)
		return cmd_fail(CMD_ERROR, NULL, "out of memory");
	c->preprocess = (struct vtaimage_preprocess){
		.filter = VTAIMAGE_FILTER_LINEAR, .background = 0xffffff, .scale = { 1, 1, 1 },
	};
	ret = parse(c, argc, argv, &done);
	if (!ret && !done) {
		ret = prepare(c);
		g = ret ? NULL : vtac_graph_new(c->memory);
		if (!ret)
			ret = g ? compile(c, g) : cmd_fail(CMD_ERROR, NULL, "out of memory");
	}
	cmd_progress_end();
	vtac_graph_free(g);
	for (int i = 0; i < 2; i++) {
		vtac_images_close(c->files[i]);
		cmd_pictures_close(c->pictures[i]);
	}
	free(c->classes);
	free(c);
	return ret;
}

int passes_main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--help") && strcmp(argv[1], "-h"))
		return cmd_usage("passes takes no argument: ", argv[1]);
	if (argc > 1)
		return fputs("Usage: vtac passes\n\nList the passes in their order; --dump-after "
			     "of compile takes their names.\n",
			     stdout) < 0 ? CMD_ERROR : CMD_OK;
	puts("read           the model as the file has it");
	for (const struct vtac_pass *p = vtac_passes; p->name; p++)
		printf("%-14s %s\n", p->name, p->what);
	return CMD_OK;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * accuracy MODEL.onnx NAME-calib.npy NAME-test.npy [NAME-test.labels] [OPTION...]
 *
 * A model as the card computes it against float, on the same images: how often both
 * have the same best class, how often each is right, and the SQNR of the outputs, and of the scores
 * that a Softmax makes the first one of: a few sure images decide about that of probabilities. With
 * --truth TRUTH.npy the PSNR of pictures instead, with --mask LEVEL how much of both masks of
 * values above it is in both (IoU), with --strings how often both read the same. Goals (--agree .97
 * --iou .97 --same .95 --sqnr 30, of each output: at least; --worse .01 --lose .15: at most) make
 * the exit status. --card N: so many images on the core, too. --precision and --extra-cycles: as of
 * vtac.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "api/vtac.h"
#include "api/inputs.h"
#include "crew.h"

static const struct core_config core = { 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 };

struct set {
	struct vtac_npy npy;
	int64_t size;			/* values of an image */
	unsigned int count;
};

struct sums {
	double signal, noise;
};

#define OUTPUTS_MAX	8u

struct goals {
	double agree, worse, lose, iou, same, sqnr;
};

struct test {
	struct vtac_graph *real, *integer;
	struct set calib, images, truth;
	char (*labels)[64];
	unsigned int labelled;
	float *out[2][OUTPUTS_MAX];	/* of the float and the integer graph */
	int64_t out_size;		/* of the first */
	struct sums outs[OUTPUTS_MAX];
	float *scores[2];		/* that the first is the Softmax of; NULL: of none */
	struct sums score;
	double mask;			/* NAN: none */
	uint64_t in_both, in_one;
	bool strings;
	unsigned int same;
	unsigned int image;
	float **layers;			/* of the float graph, by its tensor ids */
	struct sums *layer;
	bool each_layer;
	const char *shape;
};

static void die(const char *what)
{
	fprintf(stderr, "accuracy: %s\n", what);
	exit(1);
}

static void open_set(struct set *s, const char *path)
{
	struct vtac_error error;

	if (vtac_npy_open(&s->npy, path, &error))
		die(error.text);
	s->size = 1;
	for (int i = 1; i < s->npy.rank; i++)
		s->size *= s->npy.dims[i];
	s->count = (unsigned int)s->npy.dims[0];
}

static int read_set(struct set *s, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct vtac_error error;

	if (vtac_elements(t) != s->size)
		die("the images are not of the model's size");
	if (vtac_npy_read(&s->npy, i * s->size, s->size, values, &error))
		die(error.text);
	return 0;
}

static int read_calib(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct test *test = priv;

	return read_set(&test->calib, i, t, values);
}

static int input(void *priv, const struct vtac_tensor *t, void *data)
{
	struct test *test = priv;

	return read_set(&test->images, test->image, t, data);
}

/* Returns the tensor whose Softmax the first output is, or NULL. */
static const struct vtac_tensor *scores_of(const struct vtac_graph *g)
{
	const struct vtac_node *last = g->n_outputs ? g->outputs[0]->producer : NULL;

	return last && last->op == VTAC_SOFTMAX ? last->in[0] : NULL;
}

static void keep(float **to, const struct vtac_tensor *t, const void *data)
{
	if (!*to)
		*to = malloc((size_t)vtac_bytes(t));
	memcpy(*to, data, (size_t)vtac_bytes(t));
}

static void take(struct test *test, unsigned int which, const struct vtac_graph *g,
		 const struct vtac_tensor *t, const void *data)
{
	if (t == scores_of(g))
		keep(&test->scores[which], t, data);
	for (unsigned int i = 0; i < g->n_outputs && i < OUTPUTS_MAX; i++)
		if (g->outputs[i] == t)
			keep(&test->out[which][i], t, data);
}

static void see_float(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct test *test = priv;

	take(test, 0, test->real, t, data);
	if (!test->each_layer)
		return;
	free(test->layers[t->id]);
	test->layers[t->id] = malloc((size_t)vtac_bytes(t) + 1);
	memcpy(test->layers[t->id], data, (size_t)vtac_bytes(t));
}

static void see_int(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct test *test = priv;
	const struct vtac_tensor *other;
	const int8_t *v = data;

	take(test, 1, test->integer, t, data);
	if (!test->each_layer || t->dtype != VTAC_I8)
		return;
	other = vtac_tensor_find(test->real, t->name);
	if (!other || !test->layers[other->id] || !vtac_same_shape(other, t))
		return;
	for (int64_t i = 0; i < vtac_elements(t); i++) {
		double real = test->layers[other->id][i], off, scale = t->quant.scale[0];

		if (t->channel_scale) {
			int64_t plane = 1;

			for (int k = 2; k < t->rank; k++)
				plane *= t->dims[k];
			scale *= t->channel_scale[i / plane % t->dims[1]];
		}
		off = (v[i] - (t->quant.zero ? t->quant.zero[0] : 0)) * scale - real;

		test->layer[t->id].signal += real * real;
		test->layer[t->id].noise += off * off;
	}
}

static struct vtac_graph *load(const char *path, const struct vtac_options *opt, const char *last)
{
	static struct crew *crew;
	struct vtac_graph *g = vtac_graph_new(0);

	if (!g || (!crew && crew_new(crew_processors(), &crew)))
		die("out of memory");
	g->crew = crew;
	if (vtac_read_onnx(g, path) || vtac_run_passes(g, opt, last))
		die(g->error.text);
	return g;
}

/* ---- figures ---- */

static void read_labels(struct test *test, const char *path)
{
	FILE *f = fopen(path, "r");

	test->labels = calloc(test->images.count, sizeof(*test->labels));
	for (unsigned int i = 0; f && i < test->images.count; i++)
		if (fscanf(f, "%63s", test->labels[i]) != 1)
			die("there are fewer labels than images");
	if (!f)
		die("the labels cannot be read");
	fclose(f);
}

static unsigned int best(const float *v, int64_t n)
{
	unsigned int at = 0;

	for (int64_t i = 1; i < n; i++)
		if (v[i] > v[at])
			at = (unsigned int)i;
	return at;
}

/* "7-24,80": one of these. */
static bool is_right(const char *labels, unsigned int class)
{
	unsigned long first, last;
	char *end;

	for (const char *at = labels; at; at = strchr(at, ',')) {
		at += *at == ',';
		first = strtoul(at, &end, 10);
		last = *end == '-' ? strtoul(end + 1, NULL, 10) : first;
		if (class >= first && class <= last)
			return true;
	}
	return false;
}

static double psnr(const float *got, const float *want, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double v = fmin(fmax(got[i], 0), 255) - want[i];

		sum += v * v;
	}
	return 10 * log10(255.0 * 255.0 * (double)n / sum);
}

static void add_errors(struct sums *s, const float *want, const float *got, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double real = want[i], off = got[i] - real;

		s->signal += real * real;
		s->noise += off * off;
	}
}

/* Add the error of each output, and of the scores. */
static void add_outputs(struct test *test)
{
	const struct vtac_graph *g = test->real;

	for (unsigned int i = 0; i < g->n_outputs && i < OUTPUTS_MAX; i++)
		add_errors(&test->outs[i], test->out[0][i], test->out[1][i],
			   vtac_elements(g->outputs[i]));
	if (test->scores[0] && test->scores[1])
		add_errors(&test->score, test->scores[0], test->scores[1],
			   vtac_elements(scores_of(g)));
}

static void add_masks(struct test *test)
{
	for (int64_t i = 0; i < test->out_size; i++) {
		bool a = test->out[0][0][i] > test->mask, b = test->out[1][0][i] > test->mask;

		test->in_both += a && b;
		test->in_one += a || b;
	}
}

/* Rows have a value for each letter, and 0 is none: do both read the same letters? */
static bool reads_same(const struct test *test)
{
	const struct vtac_tensor *t = test->real->outputs[0];
	int64_t letters = t->dims[t->rank - 1], rows = test->out_size / letters;
	unsigned int *text[2], n[2] = { 0 };
	bool same;

	for (unsigned int k = 0; k < 2; k++) {
		unsigned int before = 0;

		text[k] = calloc((size_t)rows + 1, sizeof(*text[k]));
		for (int64_t i = 0; i < rows; i++) {
			unsigned int letter = best(test->out[k][0] + i * letters, letters);

			if (letter && letter != before)
				text[k][n[k]++] = letter;
			before = letter;
		}
	}
	same = n[0] == n[1] && !memcmp(text[0], text[1], n[0] * sizeof(*text[0]));
	free(text[0]);
	free(text[1]);
	return same;
}

static double decibels(const struct sums *s)
{
	return s->noise > 0 ? 10 * log10(s->signal / s->noise) : 99;
}

static void show_layers(const struct test *test)
{
	for (unsigned int i = 0; i < test->integer->n_nodes; i++) {
		const struct vtac_node *node = test->integer->nodes[i];
		const struct sums *s = &test->layer[node->out[0]->id];

		if (s->signal > 0)
			printf("  %-40.40s %-10s %6.1f dB\n", node->name, vtac_op_name(node->op),
			       decibels(s));
	}
}

static void measure(struct test *test, unsigned int first, unsigned int count,
		    struct goals *got)
{
	unsigned int agree = 0, right[2] = { 0 }, labelled = 0;
	const struct vtac_interp io[2] = {
		{ .input = input, .tensor = see_float, .priv = test },
		{ .input = input, .tensor = see_int, .priv = test },
	};
	struct vtac_float *f[2] = { vtac_float_new(test->real), vtac_float_new(test->integer) };
	double lost = 0, had = 0;

	if (!f[0] || !f[1])
		die(f[0] ? test->integer->error.text : test->real->error.text);
	test->out_size = vtac_elements(test->real->outputs[0]);
	for (unsigned int i = first; i < first + count; i++) {
		unsigned int class[2];

		test->image = i;
		for (unsigned int k = 0; k < 2; k++) {
			if (vtac_float_run(f[k], &io[k]))
				die(k ? test->integer->error.text : test->real->error.text);
			class[k] = best(test->out[k][0], test->out_size);
		}
		agree += class[0] == class[1];
		if (test->labels && test->labels[i][0] != '-') {
			labelled++;
			for (unsigned int k = 0; k < 2; k++)
				right[k] += is_right(test->labels[i], class[k]);
		}
		add_outputs(test);
		if (!isnan(test->mask))
			add_masks(test);
		if (test->strings)
			test->same += reads_same(test);
		if (test->truth.count) {
			float *want = malloc((size_t)test->out_size * sizeof(*want));

			read_set(&test->truth, i, test->real->outputs[0], want);
			had += psnr(test->out[0][0], want, test->out_size) / count;
			lost += (psnr(test->out[0][0], want, test->out_size) -
				 psnr(test->out[1][0], want, test->out_size)) / count;
			free(want);
		}
	}
	printf("# %u images: agrees %.3f", count, (double)agree / count);
	if (labelled)
		printf(", right %.3f (float %.3f, of %u)", (double)right[1] / labelled,
		       (double)right[0] / labelled, labelled);
	if (test->truth.count)
		printf(", PSNR %.2f dB lost of %.2f", lost, had);
	*got = (struct goals) {
		.agree = (double)agree / count, .lose = lost, .same = (double)test->same / count,
		.worse = labelled ? ((double)right[0] - right[1]) / labelled : 0,
		.iou = test->in_one ? (double)test->in_both / (double)test->in_one : 1,
		.sqnr = INFINITY,
	};
	if (!isnan(test->mask))
		printf(", IoU %.4f", got->iou);
	if (test->strings)
		printf(", same strings %.3f", got->same);
	printf(", SQNR");
	for (unsigned int i = 0; i < test->real->n_outputs && i < OUTPUTS_MAX; i++) {
		got->sqnr = fmin(got->sqnr, decibels(&test->outs[i]));
		printf(" %.1f", decibels(&test->outs[i]));
	}
	printf(" dB");
	if (test->scores[0] && test->scores[1])
		printf(", of scores %.1f dB", decibels(&test->score));
	printf("\n");
	vtac_float_free(f[0]);
	vtac_float_free(f[1]);
}

/* The first @count images on the core: outputs are the interpreter's, bit for bit. */
static void run_on_card(struct test *test, const struct vtac_options *opt, unsigned int count)
{
	const struct vtac_interp io[2] = {
		{ .input = input, .tensor = see_int, .priv = test },
		{ .input = input, .priv = test },
	};
	struct vtac_graph *g = test->integer;
	struct vtac_program p;
	struct vtac_float *f;
	struct native n;

	if (vtac_lower(g, opt, &p))
		die(g->error.text);
	f = vtac_float_new(g);
	if (!f || native_init(&n, &p, &core, CORE_ORDER_INORDER, 0))
		die("out of memory");
	for (test->image = 0; test->image < count; test->image++) {
		if (vtac_float_run(f, &io[0]))
			die(g->error.text);
		if (native_run(&n, &io[1]))
			die(n.why);
		for (unsigned int i = 0; i < g->n_outputs && i < OUTPUTS_MAX; i++)
			if (memcmp(native_at(&n, g->outputs[i]), test->out[1][i],
				   (size_t)vtac_bytes(g->outputs[i])))
				die("the card's output is not the interpreter's");
	}
	printf("# %u images on the core, bit for bit: %llu cycles, %u doorbells, "
	       "%llu bytes moved, arena %.2f of the bound\n",
	       count, (unsigned long long)n.cycles, n.doorbells, (unsigned long long)n.copied,
	       p.card_bound ? (double)p.card_bytes / (double)p.card_bound : 1);
	vtac_float_free(f);
	native_fini(&n);
	vtac_program_free(&p);
}

static int progress(void *priv, const char *what, uint64_t done, uint64_t total)
{
	(void)priv;
	fprintf(stderr, "\r%s %llu/%llu ", what, (unsigned long long)done,
		(unsigned long long)total);
	if (done == total)
		fprintf(stderr, "\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "truth", 1, NULL, 't' }, { "images", 1, NULL, 'n' }, { "card", 1, NULL, 'C' },
		{ "first", 1, NULL, 'f' },
		{ "calib", 1, NULL, 'c' }, { "range", 1, NULL, 'r' }, { "residual", 1, NULL, 'a' },
		{ "per-tensor", 0, NULL, 'p' }, { "power-of-two", 0, NULL, '2' },
		{ "no-bias-correction", 0, NULL, 'b' }, { "no-zero-points", 0, NULL, 'z' },
		{ "nearest", 0, NULL, 'N' }, { "padding", 1, NULL, 'd' },
		{ "layers", 0, NULL, 'l' }, { "equalise", 1, NULL, 'u' }, { "split", 1, NULL, 's' },
		{ "merge", 1, NULL, 'm' }, { "functions", 1, NULL, 'F' },
		{ "agree", 1, NULL, 'A' }, { "worse", 1, NULL, 'W' }, { "lose", 1, NULL, 'L' },
		{ "iou", 1, NULL, 'I' }, { "same", 1, NULL, 'S' }, { "sqnr", 1, NULL, 'D' },
		{ "mask", 1, NULL, 'M' }, { "strings", 0, NULL, 'T' },
		{ "precision", 1, NULL, 'P' }, { "extra-cycles", 1, NULL, 'X' },
		{ 0 },
	};
	struct vtac_quant_options how = { 0 };
	struct vtac_options opt = { .quant = &how };
	struct test test = { .mask = NAN };
	struct vtac_shape_option batch = { .rank = 0 };
	struct vtac_images images = { .read = read_calib, .priv = &test };
	struct goals goals = { .worse = 1, .lose = 100, .sqnr = -INFINITY }, got;
	unsigned int count = 0, first = 0, card = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 't':
			open_set(&test.truth, optarg);
			break;
		case 'C':
			card = (unsigned int)atoi(optarg);
			break;
		case 'n':
			count = (unsigned int)atoi(optarg);
			break;
		case 'f':
			first = (unsigned int)atoi(optarg);
			break;
		case 'c':
			images.count = (unsigned int)atoi(optarg);
			break;
		case 'r':
			how.range = !strcmp(optarg, "max") ? VTAC_RANGE_MAX :
				    !strcmp(optarg, "mse") ? VTAC_RANGE_MSE :
				    VTAC_RANGE_PERCENTILE;
			break;
		case 'a':
			how.residual = !strcmp(optarg, "output") ? VTAC_RESIDUAL_ADD :
				       VTAC_RESIDUAL_FUSED;
			break;
		case 'p':
			how.per_tensor = true;
			break;
		case '2':
			how.power_of_two = true;
			break;
		case 'z':
			how.no_zero_points = true;
			break;
		case 'b':
			how.no_bias_correction = true;
			break;
		case 'd':
			how.padding = !strcmp(optarg, "zero") ? VTAC_PADDING_ZERO :
				      VTAC_PADDING_POINT;
			break;
		case 'N':
			how.nearest = true;
			break;
		case 'u':
			how.equalise = (enum vtac_equalise)atoi(optarg);
			break;
		case 's':
			how.split = (enum vtac_split)atoi(optarg);
			break;
		case 'm':
			how.merge = (enum vtac_merge)atoi(optarg);
			break;
		case 'F':
			how.functions = !strcmp(optarg, "exact") ? VTAC_FUNCTIONS_EXACT :
					VTAC_FUNCTIONS_FAST;
			break;
		case 'l':
			test.each_layer = true;
			break;
		case 'A':
			goals.agree = atof(optarg);
			break;
		case 'W':
			goals.worse = atof(optarg);
			break;
		case 'L':
			goals.lose = atof(optarg);
			break;
		case 'I':
			goals.iou = atof(optarg);
			break;
		case 'S':
			goals.same = atof(optarg);
			break;
		case 'D':
			goals.sqnr = atof(optarg);
			break;
		case 'M':
			test.mask = atof(optarg);
			break;
		case 'T':
			test.strings = true;
			break;
		case 'P':
			how.precision = !strcmp(optarg, "auto") ? VTAC_PRECISION_AUTO :
					!strcmp(optarg, "16") ? VTAC_PRECISION_16 :
					VTAC_PRECISION_8;
			break;
		case 'X':
			how.extra_cycles = (unsigned int)atoi(optarg);
			break;
		default:
			return 2;
		}
	if (argc - optind < 3)
		die("usage: MODEL.onnx CALIB.npy TEST.npy [LABELS] [OPTION...]");
	if (isatty(2))
		opt.progress = progress;
	opt.core = native_core(&core);
	open_set(&test.calib, argv[optind + 1]);
	open_set(&test.images, argv[optind + 2]);
	if (argc - optind > 3)
		read_labels(&test, argv[optind + 3]);
	batch.dims[0] = 1;
	batch.rank = test.images.npy.rank;
	for (int i = 1; i < batch.rank; i++)
		batch.dims[i] = test.images.npy.dims[i];
	opt.shapes = &batch;
	opt.n_shapes = 1;
	opt.no_prune = true;
	opt.core = native_core(&core);
	if (!images.count || images.count > test.calib.count)
		images.count = test.calib.count;
	test.real = load(argv[optind], &opt, "pad_channels");
	if (vtac_split_residuals(test.real))
		die(test.real->error.text);
	/* Without images inputs stay what they are (input_affine.c). */
	opt.images = &images;
	test.integer = load(argv[optind], &opt, NULL);
	if (test.integer->how) {
		char text[VTAC_QUANT_TEXT];

		printf("# chosen: %s\n", vtac_quant_text(test.integer->how, text));
	}
	test.layers = calloc(test.real->next_id, sizeof(*test.layers));
	test.layer = calloc(test.integer->next_id, sizeof(*test.layer));
	if (!count || first + count > test.images.count)
		count = test.images.count - first;
	measure(&test, first, count, &got);
	if (test.each_layer)
		show_layers(&test);
	if (card)
		run_on_card(&test, &opt, card);
	return got.agree >= goals.agree && got.worse <= goals.worse && got.lose <= goals.lose &&
	       got.iou >= goals.iou && got.same >= goals.same && got.sqnr >= goals.sqnr ? 0 : 1;
}

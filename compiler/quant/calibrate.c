// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `calibrate`: search the options of quantisation that the user leaves open. Each
 * candidate goes through the passes behind this one with a calibration set, and its error is
 * measured on an evaluation set of other images, at the network's outputs (scores.c). The search
 * takes one option after the other: first layers whole or in two parts, then the equalisation of
 * channels, residuals added to sums or to outputs, the ranges of activations, zero points around
 * inputs of convolutions that pad, and the formulas of functions. The last step leaves functions to
 * the CPU that would cost the network's outputs much of their accuracy on the card.
 *
 * Candidates whose nodes are the same share one graph whose stats were counted: those of equalised
 * channels are made of them. The best one's stats get the images that it was not calibrated with.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant.h"

/* Images of the calibration set and of the evaluation set of a candidate */
#define CALIB_IMAGES	12u
#define EVAL_IMAGES	8u
/* Budget of one candidate, in 10^9 multiplications */
#define CALIB_WORK	48
#define EVAL_WORK	24
/* A later candidate must be better by this factor, so that chance does not decide. */
#define BETTER		0.95
/* Likewise, if it takes more cycles. */
#define BETTER_BY_FAR	0.9
/* A few images estimate ranges badly, so overriding the default needs a large improvement. */
#define BETTER_BEYOND_DOUBT	0.5
/*
 * Loss of the outputs by functions on the card that is allowed, in dB, and what chance adds to it:
 * three standard deviations of the ratio of two sums of n squared errors are 26 dB / sqrt(n).
 * Errors of an image depend on each other: it counts as some of its values.
 */
#define LOSS_MAX	3
#define LOSS_CHANCE	26
#define ERRORS_MAX	16

/* Combinations of split and merge */
#define GRAPHS	((VTAC_SPLIT_EARLY + 1) * (VTAC_MERGE_SUMS + 1))

/* Some of the user's images: image @i is that of number @at(@t, @i). */
struct subset {
	const struct search *t;
	unsigned int (*at)(const struct search *t, unsigned int i);
};

struct search {
	const struct vtac_options *opt;
	struct vtac_graph *g;		/* the float graph, residuals split */
	struct vtac_images calib, eval;
	struct subset of_calib, of_eval;
	/* By split and merge: the graph with stats of the calibration set, or NULL */
	struct vtac_graph *graphs[VTAC_SPLIT_EARLY + 1][VTAC_MERGE_SUMS + 1];
	struct vtac_quant_options best;
	double least;			/* noise / signal of the outputs (scores.c) with it */
	struct vtac_known known;	/* floats of the evaluation set */
	bool others;			/* measure the images of calibration, with these floats: */
	struct vtac_known known_others;
	bool pads, best_pads;		/* has the last, the best zero points around inputs? */
	unsigned int done, most;	/* candidates: evaluated, at most */
};

/* Parts of a candidate in reports of the progress: calibration is the first half. */
#define CANDIDATE_PARTS	1000u

/* Reports the progress within a candidate as that of the search. */
static int report_part(void *priv, const char *what, uint64_t done, uint64_t total)
{
	const struct search *t = priv;
	uint64_t part = total ? done * (CANDIDATE_PARTS / 2) / total : 0;

	if (!strcmp(what, "measuring"))
		part += CANDIDATE_PARTS / 2;
	return t->opt->progress(t->opt->progress_priv, "choosing",
				(uint64_t)t->done * CANDIDATE_PARTS + part,
				(uint64_t)t->most * CANDIDATE_PARTS);
}

/* The user's options, with the progress of a candidate. */
static struct vtac_options candidate_options(struct search *t)
{
	struct vtac_options opt = *t->opt;

	opt.progress = opt.progress ? report_part : NULL;
	opt.progress_priv = t;
	return opt;
}

/* The evaluation set is spread over all images: returns the number of its image @i. */
static unsigned int eval_image(const struct search *t, unsigned int i)
{
	return (unsigned int)((uint64_t)i * t->opt->images->count / t->eval.count);
}

/* The calibration set is spread over the other images. */
static unsigned int calib_image(const struct search *t, unsigned int i)
{
	unsigned int others = t->opt->images->count - t->eval.count;
	unsigned int at = (unsigned int)((uint64_t)i * others / t->calib.count);

	for (unsigned int k = 0; k < t->eval.count && eval_image(t, k) <= at; k++)
		at++;
	return at;
}

/* The number of image @i of those that are not in the calibration set. */
static unsigned int other_image(const struct search *t, unsigned int i)
{
	for (unsigned int k = 0; k < t->calib.count && calib_image(t, k) <= i; k++)
		i++;
	return i;
}

static int read_subset(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const struct subset *s = priv;
	const struct vtac_images *all = s->t->opt->images;

	return all->read(all->priv, s->at(s->t, i), t, values);
}

static unsigned int number_in_subset(void *priv, unsigned int i)
{
	const struct subset *s = priv;

	return s->at(s->t, i);
}

static struct vtac_images subset_images(struct subset *s, unsigned int count)
{
	return (struct vtac_images) {
		.count = count, .read = read_subset, .number = number_in_subset, .priv = s,
		.error = s->t->opt->images->error,
	};
}

/* Run the passes behind this one on @g up to stats, with options @how and the calibration set. */
static int count_graph(const struct search *t, struct vtac_graph *g, const struct vtac_options *opt,
		       struct vtac_quant_options how)
{
	const struct vtac_graph *base = how.split == VTAC_SPLIT_NONE ? NULL :
		t->graphs[VTAC_SPLIT_NONE][how.merge];
	struct vtac_options with = *opt;
	int err;

	with.images = &t->calib;
	g->how = &how;
	err = vtac_pass_channel_split(g, &with) || vtac_pass_merge_conv_add(g, &with) ||
	      (!how.nearest &&
	       vtac_gptq_select(g, base, t->calib.count, t->opt->images->count)) ||
	      (base ? vtac_collect_stats_beside(g, &with, base) :
	       vtac_collect_stats(g, &with, t->calib.count, 0, true)) ? -1 : 0;
	g->how = NULL;
	return err;
}

/* Returns the graph of @how before equalise, with stats of the calibration set; made once. */
static struct vtac_graph *counted_graph(struct search *t, const struct vtac_quant_options *how)
{
	struct vtac_graph **g = &t->graphs[how->split][how->merge];

	if (!*g) {
		const struct vtac_options opt = candidate_options(t);

		*g = vtac_graph_clone(t->g);
		if (*g && count_graph(t, *g, &opt, *how))
			return NULL;
	}
	return *g;
}

/* ---- devices of functions ---- */

/* Normalisations go where functions do. */
static bool is_card_function(const struct vtac_node *node)
{
	return node->device == VTAC_CARD && (vtac_is_function(node) || node->op == VTAC_NORM);
}

/* Functions of @g go to the devices that they have in @searched, which has all of them. */
static void take_functions(struct vtac_graph *g, const struct vtac_graph *searched)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < g->n_nodes && searched->n_nodes; i++) {
		struct vtac_node *node = g->nodes[i];
		unsigned int k = 0;

		if (!is_card_function(node))
			continue;
		/* Most are in the same order. */
		while (k < searched->n_nodes &&
		       strcmp(searched->nodes[(at + k) % searched->n_nodes]->name, node->name))
			k++;
		at = (at + k) % searched->n_nodes;
		if (k == searched->n_nodes || searched->nodes[at]->device == node->device)
			continue;
		node->device = searched->nodes[at]->device;
		node->why = searched->nodes[at]->why;
	}
}

/* Has a convolution of @g another zero point around its input than the file's? */
static bool has_padding_point(const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->post.around && !vtac_is_given(g->nodes[i]->in[0]))
			return true;
	return false;
}

/* Returns 0 with *noise, 1 if the candidate cannot be quantised, or -1. */
static int evaluate(struct search *t, const struct vtac_quant_options *how, double *noise)
{
	const struct vtac_graph *from = counted_graph(t, how);
	struct vtac_graph *g = from ? vtac_graph_clone(from) : NULL;
	struct vtac_options opt = candidate_options(t);
	struct vtac_quant_options own = *how;
	struct vtac_accuracy a;
	int err;

	if (!g)
		return -1;
	take_functions(g, t->g);
	opt.quant = &own;
	g->how = &own;
	g->counted = true;
	err = vtac_pass_equalise(g, &opt) || vtac_pass_residual(g, &opt) ||
	      vtac_pass_precision(g, &opt) || vtac_pass_zero_point(g, &opt) ||
	      vtac_pass_requantize(g, &opt) || vtac_pass_quantise(g, &opt) ? 1 : 0;
	if (!err)
		err = vtac_measure(t->g, g, &opt, t->others ? &t->calib : &t->eval,
				   t->others ? &t->known_others : &t->known, &a);
	if (!err)
		*noise = vtac_noise_of_scores(&a);
	t->pads = !err && has_padding_point(g);
	if (err < 0 && g->error.text[0])
		vtac_fail(t->g, NULL, "%s", g->error.text);
	vtac_graph_free(g);
	t->done++;
	return err;
}

/* No later candidate is like one that is not the best: its graph goes, if the best has no part. */
static void drop_others(struct search *t)
{
	struct vtac_graph **graphs = &t->graphs[0][0];
	struct vtac_graph **best = &t->graphs[t->best.split][t->best.merge];
	struct vtac_graph **base = &t->graphs[VTAC_SPLIT_NONE][t->best.merge];

	for (unsigned int i = 0; i < GRAPHS; i++)
		if (&graphs[i] != best && &graphs[i] != base) {
			vtac_graph_free(graphs[i]);
			graphs[i] = NULL;
		}
}

static int take_if_better(struct search *t, struct vtac_quant_options how, double better)
{
	double noise;
	int ret = evaluate(t, &how, &noise);

	if (ret < 0)
		return -1;
	if (!ret && noise < t->least * better) {
		t->best = how;
		t->least = noise;
		t->best_pads = t->pads;
	}
	drop_others(t);
	return 0;
}

static bool has_residuals(const struct vtac_graph *g)
{
	unsigned int other;

	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->op == VTAC_ADD && g->nodes[i]->device == VTAC_CARD &&
		    vtac_residual_sum(g, g->nodes[i], &other))
			return true;
	return false;
}

/*
 * Equalise half way, unless that is far worse; fully only if that is better even with a few images.
 */
static int search_equalise(struct search *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;
	double none = t->least;

	if (asked->equalise != VTAC_EQUALISE_AUTO)
		return 0;
	how.equalise = VTAC_EQUALISE_HALF;
	if (take_if_better(t, how, 1 / BETTER_BEYOND_DOUBT))
		return -1;
	how.equalise = VTAC_EQUALISE_FULL;
	return t->least < none * BETTER ? take_if_better(t, how, BETTER_BEYOND_DOUBT) : 0;
}

static int search_residual(struct search *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;

	how.residual = VTAC_RESIDUAL_ADD;
	return asked->residual == VTAC_RESIDUAL_AUTO && has_residuals(t->g) ?
		take_if_better(t, how, BETTER) : 0;
}

static int search_split(struct search *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;

	how.split = VTAC_SPLIT_EARLY;
	return asked->split == VTAC_SPLIT_AUTO && vtac_can_channel_split(t->g) ?
		take_if_better(t, how, BETTER_BY_FAR) : 0;
}

static int search_range(struct search *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;

	how.range = how.range == VTAC_RANGE_MSE ? VTAC_RANGE_MAX : VTAC_RANGE_MSE;
	return asked->range == VTAC_RANGE_AUTO ? take_if_better(t, how, BETTER_BEYOND_DOUBT) : 0;
}

/* Noise against noise, in dB */
static float decibels(double noise, double other)
{
	return noise > 0 && other < INFINITY ? (float)(10 * log10(other / noise)) : 0;
}

/*
 * Zero points around inputs give finer steps there, and the outputs of most networks less noise,
 * but not of all. They have to be better beyond chance, as zeros are the simpler program.
 */
static int search_padding(struct search *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;
	double noise;
	int ret;

	if (asked->padding != VTAC_PADDING_AUTO || !t->best_pads)
		return 0;
	how.padding = VTAC_PADDING_ZERO;
	ret = evaluate(t, &how, &noise);
	if (ret)
		return ret < 0 ? -1 : 0;
	if (noise * BETTER < t->least) {
		how.padding_gain = decibels(noise, t->least);
		t->best = how;
		t->least = noise;
	} else {
		t->best.padding_gain = decibels(t->least, noise);
	}
	return 0;
}

/* ---- functions of one tensor ---- */

static bool has_card_functions(const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (is_card_function(g->nodes[i]))
			return true;
	return false;
}

static int search_formulas(struct search *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;

	how.functions = VTAC_FUNCTIONS_EXACT;
	return asked->functions == VTAC_FUNCTIONS_AUTO && has_card_functions(t->g) ?
		take_if_better(t, how, BETTER_BY_FAR) : 0;
}

/* Functions of the float graph, in its order */
struct functions {
	struct vtac_node **nodes;
	unsigned int count;
	double on_cpu, most;	/* noise of the outputs with all there, and what is allowed */
};

/* The share of chance in a measured noise, in dB */
static double chance(const struct search *t)
{
	double n = 0;

	for (unsigned int i = 0; i < t->g->n_outputs; i++)
		n += (double)vtac_elements(t->g->outputs[i]);
	n = fmax(fmin(n, ERRORS_MAX), 1) * t->eval.count;
	return LOSS_CHANCE / sqrt(n);
}

/* The factor of noise that counts as a loss: values decide, where they are enough. */
static double loss_allowed(const struct search *t)
{
	return pow(10, (LOSS_MAX + chance(t)) / 10);
}

static void place(const struct functions *f, unsigned int first, unsigned int n,
		  enum vtac_device device)
{
	for (unsigned int i = first; i < first + n; i++)
		f->nodes[i]->device = device;
}

/* Returns 0 with the outputs' *noise for the devices of t->g, infinite if it fails there; or -1. */
static int evaluate_devices(struct search *t, double *noise)
{
	int ret = evaluate(t, &t->best, noise);

	*noise = ret ? INFINITY : *noise;
	return ret < 0 ? -1 : 0;
}

/* Bring @n functions from @first on back to the card, or those that keep the noise allowed. */
static int bring_back(struct search *t, const struct functions *f, unsigned int first,
		      unsigned int n)
{
	double noise;

	t->most++;	/* rare: not counted before */
	place(f, first, n, VTAC_CARD);
	if (evaluate_devices(t, &noise))
		return -1;
	if (noise <= f->most)
		return 0;
	place(f, first, n, VTAC_CPU);
	if (n > 1)
		return bring_back(t, f, first, n / 2) ||
		       bring_back(t, f, first + n / 2, n - n / 2) ? -1 : 0;
	f->nodes[first]->why = vtac_text(t->g,
					 "On the card its rounding would raise the noise of the "
					 "outputs by %.1f dB: measured on calibration images.",
					 10 * log10(noise / f->on_cpu));
	return f->nodes[first]->why ? 0 : -1;
}

static int search_devices(struct search *t, const struct vtac_quant_options *asked)
{
	struct functions f = {
		.nodes = vtac_alloc(t->g, t->g->n_nodes + 1u, sizeof(struct vtac_node *)),
	};

	if (!f.nodes)
		return -1;
	for (unsigned int i = 0; i < t->g->n_nodes; i++)
		if (is_card_function(t->g->nodes[i]))
			f.nodes[f.count++] = t->g->nodes[i];
	if (asked->functions != VTAC_FUNCTIONS_AUTO || !f.count)
		return 0;
	place(&f, 0, f.count, VTAC_CPU);
	if (evaluate_devices(t, &f.on_cpu))
		return -1;
	f.most = f.on_cpu * loss_allowed(t);
	if (t->least > f.most)
		return f.count > 1 ? bring_back(t, &f, 0, f.count / 2) ||
				     bring_back(t, &f, f.count / 2, f.count - f.count / 2) :
		       bring_back(t, &f, 0, 1);
	place(&f, 0, f.count, VTAC_CARD);
	return 0;
}

/* The noise of the outputs with what is marked in the best graph; infinite if that fails. */
static int measure_marked(void *priv, double *noise)
{
	struct search *t = priv;
	int ret;

	t->most++;	/* not counted before */
	ret = evaluate(t, &t->best, noise);
	*noise = ret ? INFINITY : *noise;
	return ret < 0 ? -1 : 0;
}

/* The same on the images of calibration, by which no choice was made. */
static int measure_others(void *priv, double *noise)
{
	struct search *t = priv;
	int ret;

	t->others = true;
	ret = measure_marked(t, noise);
	t->others = false;
	return ret;
}

static int search_precision(struct search *t, const struct vtac_quant_options *asked)
{
	static const struct vtac_noise_fns fns = { measure_marked, measure_others };
	struct vtac_options opt = *t->opt;
	struct vtac_graph *g;

	if (asked->precision != VTAC_PRECISION_AUTO)
		return 0;
	opt.quant = &t->best;
	g = counted_graph(t, &t->best);
	/* The same images and values are compared, so chance decides less. */
	if (!g || vtac_spread_precision(g, &opt, t->least, pow(10, -chance(t) / 2 / 10), &fns, t))
		return -1;
	for (unsigned int i = 0; i < g->n_nodes; i++)
		for (unsigned int k = 0; k < t->g->n_nodes && g->nodes[i]->precise; k++)
			if (!strcmp(t->g->nodes[k]->name, g->nodes[i]->name))
				t->g->nodes[k]->precise = true;
	return 0;
}

/* Find defaults that fit 32 bits and the other limits of the card. */
static int search_defaults(struct search *t, const struct vtac_quant_options *asked)
{
	if (take_if_better(t, t->best, BETTER))
		return -1;
	if (t->least < INFINITY || asked->merge != VTAC_MERGE_AUTO)
		return 0;
	t->best.merge = VTAC_MERGE_NONE;
	return take_if_better(t, t->best, BETTER);
}

/* Is the first output a picture? Its brightest and darkest pixels must not be clipped. */
static bool makes_picture(const struct vtac_graph *g)
{
	return g->n_outputs && g->outputs[0]->rank == 4 && g->outputs[0]->dims[2] > 1 &&
	       g->outputs[0]->dims[3] > 1;
}

/* Returns @asked with the defaults of all that the user leaves open. */
static struct vtac_quant_options default_options(const struct vtac_graph *g,
						 const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = *asked;

	if (how.range == VTAC_RANGE_AUTO)
		how.range = makes_picture(g) ? VTAC_RANGE_MAX : VTAC_RANGE_MSE;
	if (how.residual == VTAC_RESIDUAL_AUTO)
		how.residual = VTAC_RESIDUAL_FUSED;
	if (how.equalise == VTAC_EQUALISE_AUTO)
		how.equalise = VTAC_EQUALISE_NONE;
	if (how.split == VTAC_SPLIT_AUTO)
		how.split = VTAC_SPLIT_NONE;
	if (how.merge == VTAC_MERGE_AUTO)
		how.merge = VTAC_MERGE_SUMS;
	if (how.functions == VTAC_FUNCTIONS_AUTO)
		how.functions = VTAC_FUNCTIONS_FAST;
	if (how.padding == VTAC_PADDING_AUTO)
		how.padding = VTAC_PADDING_POINT;
	return how;
}

/* Can there be zero points around inputs? */
static bool may_pad_with_points(const struct vtac_graph *g, const struct vtac_quant_options *asked)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];

		if (node->op == VTAC_CONV && node->device == VTAC_CARD && !node->attr.conv.spare &&
		    !vtac_is_given(node->in[0]) && vtac_has_padding(&node->attr.conv.window))
			return !asked->no_zero_points && !asked->power_of_two;
	}
	return false;
}

static bool has_auto(const struct vtac_graph *g, const struct vtac_quant_options *asked)
{
	return asked->range == VTAC_RANGE_AUTO || asked->residual == VTAC_RESIDUAL_AUTO ||
	       asked->equalise == VTAC_EQUALISE_AUTO || asked->split == VTAC_SPLIT_AUTO ||
	       asked->precision == VTAC_PRECISION_AUTO ||
	       (asked->padding == VTAC_PADDING_AUTO && may_pad_with_points(g, asked)) ||
	       (asked->functions == VTAC_FUNCTIONS_AUTO && has_card_functions(g));
}

/* Billions of multiplications for an image, at least 1. */
static double work_of(const struct vtac_graph *g)
{
	double sum = 0;

	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		const struct vtac_tensor *w = node->n_in > 1 ? node->in[1] : NULL;

		if ((node->op == VTAC_CONV || node->op == VTAC_GEMM) && w && w->dims[0] > 0)
			sum += vtac_work(node);
	}
	return fmax(sum / 1000000000, 1);
}

static unsigned int at_most(unsigned int n, double most)
{
	return n <= most ? n : most < 2 ? 2 : (unsigned int)most;
}

/* Copy the reason to @g if there was an error. */
static void free_graphs(struct search *t, struct vtac_graph *g, bool err)
{
	struct vtac_graph **graphs = &t->graphs[0][0];

	for (unsigned int i = 0; i < GRAPHS; i++) {
		if (err && graphs[i] && graphs[i]->error.text[0])
			vtac_fail(g, NULL, "%s", graphs[i]->error.text);
		vtac_graph_free(graphs[i]);
	}
}

static void choose_sets(struct search *t)
{
	unsigned int n = t->opt->images->count;
	double work = work_of(t->g);

	if (n < 2)
		return;
	t->of_eval = (struct subset) { t, eval_image };
	t->eval = subset_images(&t->of_eval, n / 3 ? n / 3 : 1);
	t->eval.count = at_most(t->eval.count, fmin(EVAL_IMAGES, EVAL_WORK / work));
	t->of_calib = (struct subset) { t, calib_image };
	t->calib = subset_images(&t->of_calib, n - t->eval.count);
	t->calib.count = at_most(t->calib.count, fmin(CALIB_IMAGES, CALIB_WORK / work));
}

/* Most candidates of the search, without that for a network beyond the limits of sums. */
static unsigned int count_candidates(const struct search *t, const struct vtac_quant_options *asked)
{
	bool functions = asked->functions == VTAC_FUNCTIONS_AUTO && has_card_functions(t->g);

	return 1u + (asked->split == VTAC_SPLIT_AUTO && vtac_can_channel_split(t->g)) +
	       2 * (asked->equalise == VTAC_EQUALISE_AUTO) +
	       (asked->residual == VTAC_RESIDUAL_AUTO && has_residuals(t->g)) +
	       (asked->range == VTAC_RANGE_AUTO) +
	       (asked->padding == VTAC_PADDING_AUTO && may_pad_with_points(t->g, asked)) +
	       2 * functions;
}

static int find_best(struct search *t, const struct vtac_quant_options *asked)
{
	t->most = count_candidates(t, asked);
	if (has_auto(t->g, asked) && t->eval.count &&
	    (search_defaults(t, asked) || search_split(t, asked) || search_equalise(t, asked) ||
	     search_residual(t, asked) || search_range(t, asked) || search_padding(t, asked) ||
	     search_formulas(t, asked) || search_devices(t, asked) || search_precision(t, asked)))
		return -1;
	return 0;
}

const char *vtac_quant_text(const struct vtac_quant_options *how, char *buf)
{
	static const char *const ranges[] = { "auto", "mse", "max", "percentile" };
	static const char *const residuals[] = { "auto", "to sums", "to outputs" };
	static const char *const equal[] = { "auto", "no", "half", "full" };
	static const char *const split[] = { "auto", "no", "first", "early" };
	const bool no = how->padding == VTAC_PADDING_ZERO;
	char random[64] = "", padding[64] = "";

	if (no || how->padding_gain != 0)
		snprintf(padding, sizeof(padding), ", zero points around inputs: %s",
			 no ? "no" : "yes");
	if (how->padding_gain != 0)
		snprintf(padding + strlen(padding), sizeof(padding) - strlen(padding),
			 " (%s: %+.1f dB of noise)", no ? "yes" : "no",
			 (double)how->padding_gain);
	if (how->random_inputs)
		snprintf(random, sizeof(random), ", of %u random inputs: accuracy not known",
			 how->random_inputs);
	snprintf(buf, VTAC_QUANT_TEXT,
		 "range %s, residuals added %s, channels equalised: %s, layers split: %s%s%s%s%s",
		 ranges[how->range], residuals[how->residual], equal[how->equalise],
		 split[how->split], how->merge == VTAC_MERGE_SUMS ? ", sums merged" : "",
		 how->functions == VTAC_FUNCTIONS_EXACT ? ", functions exact" : "",
		 padding, random);
	return buf;
}

const struct vtac_tensor *vtac_lacks_scale(const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];

		for (unsigned int k = 0; node->device == VTAC_CARD && k <= node->n_in; k++) {
			const struct vtac_tensor *t = k < node->n_in ? node->in[k] : node->out[0];

			if (t && !t->data && !vtac_is_given(t))
				return t;
		}
	}
	return NULL;
}

/*
 * Let @g be the graph of the best candidate, and count the images that were not in its calibration
 * set. Without a search, passes do all of it later.
 */
static int become_best(struct search *t, struct vtac_graph *g)
{
	struct vtac_graph **best = &t->graphs[t->best.split][t->best.merge];
	struct vtac_graph **base = &t->graphs[VTAC_SPLIT_NONE][t->best.merge];
	struct subset of_others = { t, other_image };
	const struct vtac_images others =
		subset_images(&of_others, t->opt->images->count - t->calib.count);
	struct vtac_options opt = *t->opt;

	if (!*best)
		return 0;
	take_functions(*best, t->g);
	if (!vtac_can_merge_conv_add(t->g, t->opt))
		t->best.merge = VTAC_MERGE_NONE;
	/* Stats are the base's, and reasons those of the graph that was searched. */
	if (base != best && *base)
		vtac_graph_keep(g, *base);
	vtac_graph_become(g, *best);
	*best = NULL;
	*base = NULL;
	vtac_graph_keep(g, t->g);
	t->g = NULL;
	g->counted = true;
	opt.images = &others;
	return others.count ? vtac_add_stats(g, &opt, t->calib.count) : 0;
}

static int search_options(struct vtac_graph *g, const struct vtac_options *opt,
			  const struct vtac_quant_options *asked, struct vtac_quant_options *how)
{
	struct search t = { .opt = opt, .best = default_options(g, asked),
			    .least = INFINITY };
	int err = -1;

	t.g = vtac_graph_clone(g);
	if (t.g) {
		choose_sets(&t);
		err = find_best(&t, asked) || become_best(&t, g) ? -1 : 0;
	}
	free_graphs(&t, g, err);
	vtac_known_free(&t.known);
	vtac_known_free(&t.known_others);
	if (err && t.g && t.g->error.text[0])
		vtac_fail(g, NULL, "%s", t.g->error.text);
	vtac_graph_free(t.g);
	if (err && !g->error.text[0])
		vtac_fail(g, NULL, "Out of memory.");
	*how = t.best;
	g->how = err ? NULL : how;
	return err ? -1 : 0;
}

/* Residuals are split off, so that stats show sums without them. */
int vtac_pass_calibrate(struct vtac_graph *g, const struct vtac_options *opt)
{
	static const struct vtac_quant_options all_auto = { 0 };
	struct vtac_quant_options *how;
	bool images = opt->images && opt->images->count;
	const struct vtac_tensor *lacks;
	bool card = false;

	for (unsigned int i = 0; i < g->n_nodes; i++)
		card = card || g->nodes[i]->device == VTAC_CARD;
	if (vtac_check_precise(g, opt))
		return -1;
	if (!card)
		return 0;
	vtac_mark_precise(g, opt);
	lacks = vtac_lacks_scale(g);
	if (!images && lacks)
		return vtac_fail(g, NULL,
				 "There are no images to calibrate with, and the file has no scale "
				 "for %.120s: give some by --calibrate.",
				 lacks->name);
	if (!images)
		return vtac_split_residuals(g) || vtac_scale_sums(g) ? -1 : 0;
	how = vtac_alloc(g, 1, sizeof(*how));
	if (!how || vtac_split_residuals(g))
		return -1;
	return search_options(g, opt, opt->quant ? opt->quant : &all_auto, how);
}

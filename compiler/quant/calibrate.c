// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `calibrate`: what values tensors have on the images, and how integers are best
 * made of them. What the user does not fix is chosen by measured error: the network is
 * quantised in one way after the other with some of the images, and run on others: first the
 * first layers whole or in two parts, then, with the better of these, how far channels are
 * equalised, residuals added to sums or to outputs, and the ranges of activations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant.h"

/* Images to calibrate a trial with, and others to measure it on. */
#define TRIAL_IMAGES	12u
#define JUDGE_IMAGES	8u
/* A trial has multiplications for so many images of a network with a billion of them. */
#define TRIAL_WORK	48
#define JUDGE_WORK	24
/* What is tried later has to be better by this factor, not by chance. */
#define BETTER		0.95
/* Likewise, if it takes more cycles. */
#define BETTER_BY_FAR	0.9
/*
 * Ranges of channels and of tensors are other ones with more images: what a few show does not
 * decide against what is known to be good in most networks.
 */
#define BETTER_BEYOND_DOUBT	0.5

/* To split, merge and equalise. */
#define WAYS	((VTAC_SPLIT_EARLY + 1) * (VTAC_MERGE_SUMS + 1) * (VTAC_EQUALISE_FULL + 1))

struct trial {
	const struct vtac_options *opt;
	struct vtac_graph *g;		/* the float graph, residuals split */
	struct vtac_images few, judges;
	/* Split, merged and equalised so far, and calibrated: */
	struct vtac_graph *made[VTAC_SPLIT_EARLY + 1][VTAC_MERGE_SUMS + 1][VTAC_EQUALISE_FULL + 1];
	struct vtac_quant_options best;
	double least;			/* noise / signal with it */
	unsigned int done;
};

/* Images that judge are spread over all: number @i of them. */
static unsigned int judge(const struct trial *t, unsigned int i)
{
	return (unsigned int)((uint64_t)i * t->opt->images->count / t->judges.count);
}

static int read_judge(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const struct trial *trial = priv;
	const struct vtac_images *all = trial->opt->images;

	return all->read(all->priv, judge(trial, i), t, values);
}

/* The others, likewise. */
static int read_few(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const struct trial *trial = priv;
	const struct vtac_images *all = trial->opt->images;
	unsigned int others = all->count - trial->judges.count;
	unsigned int at = (unsigned int)((uint64_t)i * others / trial->few.count);

	for (unsigned int k = 0; k < trial->judges.count && judge(trial, k) <= at; k++)
		at++;
	return all->read(all->priv, at, t, values);
}

/* @g as it is to be quantised, with the values that its tensors have on @images. */
static int prepare(struct vtac_graph *g, const struct vtac_options *opt,
		   const struct vtac_images *images, const struct vtac_quant_options *how)
{
	if (how->split >= VTAC_SPLIT_FIRST && vtac_channel_split(g, opt, images, how->split))
		return -1;
	if (vtac_equalise(g, opt, images, how->equalise))
		return -1;
	if (how->merge == VTAC_MERGE_SUMS && vtac_merge_conv_add(g, opt, images, how))
		return -1;
	if (!how->nearest && vtac_gptq_begin(g, images->count))
		return -1;
	return vtac_collect_stats(g, opt, images, images->count, 0);
}

/* That of a few images; made once. */
static struct vtac_graph *calibrated_graph(struct trial *t, const struct vtac_quant_options *how)
{
	struct vtac_graph **g = &t->made[how->split][how->merge][how->equalise];

	if (!*g) {
		*g = vtac_graph_clone(t->g);
		if (*g && prepare(*g, t->opt, &t->few, how))
			return NULL;
	}
	return *g;
}

/*
 * Of the network's outputs, before what squeezes them on the CPU. The mean of the images' own:
 * one image that is cut off somewhere, by chance, does not decide.
 */
static double noise_of(const struct vtac_graph *g, const struct vtac_accuracy *a)
{
	double sum = 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_tensor *t = g->nodes[i]->in[0];

		if (g->nodes[i]->op != VTAC_DEQUANTIZE)
			continue;
		/* The tensor that the float graph has, too, is the one that was copied. */
		while (t->producer && t->producer->op == VTAC_COPY)
			t = t->producer->in[0];
		if (a->each[t->id] == 0)
			continue;
		sum += pow(10, -a->each[t->id] / 10);
		n++;
	}
	return n ? sum / n : pow(10, -a->output_sqnr / 10);
}

/* 0 with *noise; 1: this way does not work here; -1 */
static int try(struct trial *t, const struct vtac_quant_options *how, double *noise)
{
	const struct vtac_graph *from = calibrated_graph(t, how);
	struct vtac_graph *g = from ? vtac_graph_clone(from) : NULL;
	struct vtac_options opt = *t->opt;
	struct vtac_accuracy a;
	int err;

	if (!g)
		return -1;
	opt.quant = how;
	opt.progress = NULL;
	err = vtac_pass_quantise(g, &opt) ||
	      vtac_measure(t->g, g, &opt, &t->judges, &a) ? 1 : 0;
	if (!err)
		*noise = noise_of(g, &a);
	vtac_graph_free(g);
	if (t->opt->progress)
		t->opt->progress(t->opt->progress_priv, "choosing", ++t->done, 0);
	return err;
}

static int consider(struct trial *t, struct vtac_quant_options how, double better)
{
	double noise;
	int ret = try(t, &how, &noise);

	if (ret < 0)
		return -1;
	if (!ret && noise < t->least * better) {
		t->best = how;
		t->least = noise;
	}
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

/* Half way, unless that is far worse; fully only where that is better even with a few images. */
static int try_equalise(struct trial *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;
	double none = t->least;

	if (asked->equalise != VTAC_EQUALISE_AUTO)
		return 0;
	how.equalise = VTAC_EQUALISE_HALF;
	if (consider(t, how, 1 / BETTER_BEYOND_DOUBT))
		return -1;
	how.equalise = VTAC_EQUALISE_FULL;
	return t->least < none * BETTER ? consider(t, how, BETTER_BEYOND_DOUBT) : 0;
}

static int try_residual(struct trial *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;

	how.residual = VTAC_RESIDUAL_ADD;
	return asked->residual == VTAC_RESIDUAL_AUTO && has_residuals(t->g) ?
		consider(t, how, BETTER) : 0;
}

static int try_split(struct trial *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;

	how.split = VTAC_SPLIT_EARLY;
	return asked->split == VTAC_SPLIT_AUTO && vtac_can_channel_split(t->g) ?
		consider(t, how, BETTER_BY_FAR) : 0;
}

static int try_range(struct trial *t, const struct vtac_quant_options *asked)
{
	struct vtac_quant_options how = t->best;

	how.range = how.range == VTAC_RANGE_MSE ? VTAC_RANGE_MAX : VTAC_RANGE_MSE;
	return asked->range == VTAC_RANGE_AUTO ? consider(t, how, BETTER_BEYOND_DOUBT) : 0;
}

/* One that fits 32 bits, and other limits of the card. */
static int try_usual(struct trial *t, const struct vtac_quant_options *asked)
{
	if (consider(t, t->best, BETTER))
		return -1;
	if (t->least < INFINITY || asked->merge != VTAC_MERGE_AUTO)
		return 0;
	t->best.merge = VTAC_MERGE_NONE;
	return consider(t, t->best, BETTER);
}

/* Is the first output a picture? What is bright or dark in it must not be cut off. */
static bool makes_picture(const struct vtac_graph *g)
{
	return g->n_outputs && g->outputs[0]->rank == 4 && g->outputs[0]->dims[2] > 1 &&
	       g->outputs[0]->dims[3] > 1;
}

/* What the user leaves open, as it is tried first. */
static struct vtac_quant_options usual(const struct vtac_graph *g,
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
	return how;
}

static bool is_open(const struct vtac_quant_options *asked)
{
	return asked->range == VTAC_RANGE_AUTO || asked->residual == VTAC_RESIDUAL_AUTO ||
	       asked->equalise == VTAC_EQUALISE_AUTO || asked->split == VTAC_SPLIT_AUTO;
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

/* With the reason in @g, if there was an error. */
static void free_made(struct trial *t, struct vtac_graph *g, bool err)
{
	struct vtac_graph **made = &t->made[0][0][0];

	for (unsigned int i = 0; i < WAYS; i++) {
		if (err && made[i] && made[i]->error.text[0])
			vtac_fail(g, NULL, "%s", made[i]->error.text);
		vtac_graph_free(made[i]);
	}
}

static void choose_images(struct trial *t)
{
	unsigned int n = t->opt->images->count;
	double work = work_of(t->g);

	if (n < 2)
		return;
	t->judges = (struct vtac_images) { .count = n / 3 ? n / 3 : 1, .read = read_judge,
					   .priv = t };
	t->judges.count = at_most(t->judges.count, fmin(JUDGE_IMAGES, JUDGE_WORK / work));
	t->few = (struct vtac_images) { .count = n - t->judges.count, .read = read_few,
					.priv = t };
	t->few.count = at_most(t->few.count, fmin(TRIAL_IMAGES, TRIAL_WORK / work));
}

/* @g is prepared in the way that is the best, which is in *@how. */
static int choose(struct trial *t, struct vtac_graph *g, const struct vtac_quant_options *asked,
		  struct vtac_quant_options *how)
{
	if (is_open(asked) && t->judges.count &&
	    (try_usual(t, asked) || try_split(t, asked) || try_equalise(t, asked) ||
	     try_residual(t, asked) || try_range(t, asked)))
		return -1;
	if (prepare(g, t->opt, t->opt->images, &t->best))
		return -1;
	if (!vtac_can_merge_conv_add(t->g, t->opt))
		t->best.merge = VTAC_MERGE_NONE;
	*how = t->best;
	return 0;
}

const char *vtac_quant_text(const struct vtac_quant_options *how, char *buf)
{
	static const char *const ranges[] = { "auto", "mse", "max", "percentile" };
	static const char *const residuals[] = { "auto", "to sums", "to outputs" };
	static const char *const equal[] = { "auto", "no", "half", "full" };
	static const char *const split[] = { "auto", "no", "first", "early" };

	snprintf(buf, VTAC_QUANT_TEXT,
		 "range %s, residuals added %s, channels equalised: %s, layers split: %s%s",
		 ranges[how->range], residuals[how->residual], equal[how->equalise],
		 split[how->split], how->merge == VTAC_MERGE_SUMS ? ", sums merged" : "");
	return buf;
}

/* Does the file say what all tensors between card nodes are, so that no images are needed? */
static bool all_given(const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];

		if (node->device != VTAC_CARD)
			continue;
		if (!node->in[0]->quant.given || !node->out[0]->quant.given)
			return false;
		for (unsigned int k = 1; k < node->n_in; k++)
			if (node->in[k] && !node->in[k]->data && !node->in[k]->quant.given)
				return false;
	}
	return true;
}

static int choose_for(struct vtac_graph *g, const struct vtac_options *opt,
		      const struct vtac_quant_options *asked, struct vtac_quant_options *how)
{
	struct trial t = { .opt = opt, .best = usual(g, asked), .least = INFINITY };
	int err = -1;

	t.g = vtac_graph_clone(g);
	if (t.g) {
		choose_images(&t);
		err = choose(&t, g, asked, how);
	}
	free_made(&t, g, err);
	vtac_graph_free(t.g);
	if (err && !g->error.text[0])
		vtac_fail(g, NULL, "Out of memory.");
	g->how = err ? NULL : how;
	return err ? -1 : 0;
}

/* Sums are seen before residuals are added to them. */
int vtac_pass_calibrate(struct vtac_graph *g, const struct vtac_options *opt)
{
	static const struct vtac_quant_options all_open = { 0 };
	struct vtac_quant_options *how;
	bool card = false;

	for (unsigned int i = 0; i < g->n_nodes; i++)
		card = card || g->nodes[i]->device == VTAC_CARD;
	if (!card)
		return 0;
	if ((!opt->images || !opt->images->count) && all_given(g))
		return vtac_split_residuals(g);
	if (!opt->images || !opt->images->count)
		return vtac_fail(g, NULL,
				 "There are no images to calibrate with: give some by "
				 "--calibrate.");
	how = vtac_alloc(g, 1, sizeof(*how));
	if (!how || vtac_split_residuals(g))
		return -1;
	return choose_for(g, opt, opt->quant ? opt->quant : &all_open, how);
}

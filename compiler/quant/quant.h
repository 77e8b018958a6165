/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.h - from float to the integers that a card computes with
 *
 * The pass `stats` runs the float graph on images and collects the ranges of its tensors;
 * `zero_point` chooses scales by these, `requantize` turns weights and biases into integers and
 * fills in each card node's output stage (struct vtac_post), with a proof that no sum leaves 32
 * bits. vtac_float_run() computes the quantised graph with the CPU's integer kernels; the card
 * computes the same bits.
 *
 * Integers on the card are signed, of the core's INP width: real = scale * (integer -
 * zero). With zero point 0 they never take the least value (-128), so that a range is the
 * same in both directions. A tensor that is never negative has the least integer as its zero point,
 * and so twice as many steps, unless a node pads it with zeros.
 */
#ifndef VTAC_QUANT_H
#define VTAC_QUANT_H

#include "ir/options.h"

#define VTAC_BINS	2048u

/* The values of a tensor, over all images. */
struct vtac_stats {
	float lo, hi;
	float range;			/* bin i: |x| from i to i + 1 of range / VTAC_BINS */
	uint64_t count;
	uint64_t hist[VTAC_BINS];
	double *mean;			/* of each channel (dimension 1), sums until the end */
	float *most;			/* likewise, the greatest |x| */
	int64_t channels;
	struct vtac_bands *bands;	/* of each channel, for vtac_stats_divided(); or NULL */
};

/* The range of bins, in greatest values: that is in the last bin. */
#define VTAC_STATS_MARGIN	1.01f

#define VTAC_QUANT_TEXT	300	/* bytes of a buffer for this: */
/* Write the options to @buf, for a report. */
const char *vtac_quant_text(const struct vtac_quant_options *how, char *buf);

/*
 * stats.c: run a float graph on the first @max images of @opt, and collect the stats of its
 * tensors: inputs, and outputs of the first @nodes nodes, 0 for all. Other tensors have none. With
 * @bands, those of tensors with channels have bands.
 */
int vtac_collect_stats(struct vtac_graph *g, const struct vtac_options *opt, unsigned int max,
		       unsigned int nodes, bool bands);
/*
 * The same of a graph whose first layers differ from those of @base, which has stats of the same
 * images, with bands: those of tensors that both have become @g's, too.
 */
int vtac_collect_stats_beside(struct vtac_graph *g, const struct vtac_options *opt,
			      const struct vtac_graph *base);
/* Add the images of @opt to the stats and Hessians of all nodes, which have @before others. */
int vtac_add_stats(struct vtac_graph *g, const struct vtac_options *opt, unsigned int before);
/*
 * stats_divide.c: returns stats of the same values, with channel c divided by @by[c], which are
 * greater than 0: exact if these are the same, else @from has bands. NULL without memory.
 */
struct vtac_stats *vtac_stats_divided(struct vtac_graph *g, const struct vtac_stats *from,
				      const float *by);

/*
 * gptq.c: give Hessians to convolutions for which @all images are enough, of which the first @now
 * fill them. Those of @base, if not NULL, are taken where it has the input
 * (vtac_collect_stats_beside()).
 */
int vtac_gptq_select(struct vtac_graph *g, const struct vtac_graph *base, unsigned int now,
		     unsigned int all);
/* Add @data, the input of @node in an image, to its Hessian. */
void vtac_gptq_observe(struct vtac_node *node, const float *data);
/* Let @node's Hessian be that of an input whose channel c is divided by @by[c], the graph's. */
int vtac_gptq_divide(struct vtac_graph *g, struct vtac_node *node, const float *by);
/*
 * Make the factor of @group for vtac_gptq_round(), unless the last one made of its sums was for the
 * same divisors; in any thread, one for each group. -1: no memory.
 */
int vtac_gptq_factorise(const struct vtac_hessian *m, int64_t group);
/* An output channel: weights @w are rounded to integers @q, in steps of @step. */
struct vtac_rounding {
	const float *w;
	float step;
	int8_t *q;
};

#define VTAC_GPTQ_CHANNELS	4	/* at most at once, which read the factor once */
/* More taps take too long, and more values to estimate the Hessian than images have. */
#define VTAC_GPTQ_TAPS_MAX	1152
/* Round the weights of @n channels of @group to integers from -@top to @top; in any thread. */
void vtac_gptq_round(const struct vtac_hessian *m, int64_t group,
		     const struct vtac_rounding *channels, int n, int top);

/* Returns the largest value that @method lets a tensor of @levels steps (127) have. */
float vtac_stats_range(const struct vtac_stats *s, enum vtac_range method, double percentile,
		       int levels);

/*
 * Returns the largest value that results of @levels steps should have: other images have greater
 * ones than those counted, which clipping changes much and coarser steps do not.
 */
float vtac_stats_beyond(const struct vtac_stats *s, int levels);

/*
 * precision.c: the reason why the output of @node can have no finer steps than 8 bits, as a part of
 * a sentence; NULL: it can
 */
const char *vtac_not_precise(const struct vtac_graph *g, const struct vtac_node *node,
			     const struct vtac_options *opt);

/*
 * The rest of the pair that @t is, whose channels it has behind those of the coarse tensor; the
 * means of its stats are of the rest's integers. NULL: @t is no pair.
 */
const struct vtac_tensor *vtac_rest_of(const struct vtac_tensor *t);
/* The precision that the user wants for @node's output. */
enum vtac_precision vtac_precision_of(const struct vtac_node *node,
				      const struct vtac_options *opt);
/* precision.c: fail if a node that the user wants to be precise is not there. */
int vtac_check_precise(struct vtac_graph *g, const struct vtac_options *opt);
/* precision.c: mark the nodes that the user wants to be precise. */
void vtac_mark_precise(struct vtac_graph *g, const struct vtac_options *opt);
/*
 * precision_auto.c: mark nodes of @g, a calibrated graph, where finer steps gain most. @noise of
 * the outputs is without; measure() returns 0 with that of the marked graph, or -1, and again()
 * that of other images. Nothing is marked unless their noise falls by the factor @worth, so that
 * chance does not decide.
 */
typedef int (*vtac_noise_fn)(void *priv, double *noise);
struct vtac_noise_fns {
	vtac_noise_fn measure, again;
};
int vtac_spread_precision(struct vtac_graph *g, const struct vtac_options *opt, double noise,
			  double worth, const struct vtac_noise_fns *fns, void *priv);

/* channel_split.c: returns the multiplications of a convolution or matrix product. */
double vtac_work(const struct vtac_node *node);
/* Can the first layer be computed in two sets of channels, x = low + high? */
bool vtac_can_channel_split(const struct vtac_graph *g);

/* merge_conv_add.c: can sums of two convolutions become one convolution? */
bool vtac_can_merge_conv_add(const struct vtac_graph *g, const struct vtac_options *opt);

/* equalise.c: will channels be divided? */
bool vtac_will_equalise(const struct vtac_graph *g);

/* residual.c: split convolutions with a residual into convolution and addition. */
int vtac_split_residuals(struct vtac_graph *g);
/*
 * Returns the convolution whose sum @add alone reads, and the number of the other operand; or NULL.
 */
struct vtac_node *vtac_residual_sum(const struct vtac_graph *g, const struct vtac_node *add,
				    unsigned int *other);
/* Give the sums of residuals, whose operand and result have a scale by the file, a scale too. */
int vtac_scale_sums(struct vtac_graph *g);

/* accuracy.c: integers against floats, tensor by tensor. */
struct vtac_accuracy {
	unsigned int images, agree;	/* the greatest output is the same */
	bool labelled;			/* the images' classes are known: */
	unsigned int right, right_float;	/* the greatest output is the image's class */
	double *sqnr;			/* dB, by tensor id of the quantised graph; 0: not known */
	double *each;			/* likewise, of scores: the mean of the images' own */
	unsigned int n_sqnr;
	double output_sqnr;		/* of the first output */
};

/* Floats of tensors that several measures compare. */
struct vtac_known {
	unsigned int images, ids;
	float **values;			/* [images][ids of the float graph]; NULL: not known */
};

/*
 * Run @images through @real, a float graph of the same network after the pass `pad_channels`,
 * and through @quantised. Tensors are the same by name. With @known, zeroed for the first of
 * several quantised graphs, scores and outputs alone are compared, and their floats are kept for
 * the next. Returns 0; or -1, or 1 if one of the graphs cannot be run: it has
 * an error.
 */
int vtac_measure(struct vtac_graph *real, struct vtac_graph *quantised,
		 const struct vtac_options *opt, const struct vtac_images *images,
		 struct vtac_known *known, struct vtac_accuracy *accuracy);
void vtac_known_free(struct vtac_known *known);

/*
 * scores.c: the tensors of @g, a quantised graph, that stand for its outputs in a search: by id;
 * NULL without memory.
 */
bool *vtac_find_scores(struct vtac_graph *g);
/* Returns noise / signal of these, the mean of them. */
double vtac_noise_of_scores(const struct vtac_accuracy *a);
/* The tensor that @t is a copy of, which the float graph has, too. */
const struct vtac_tensor *vtac_before_copies(const struct vtac_tensor *t);

/*
 * Passes, as passes.h has them. Those from channel_split to equalise do what graph->how says, and
 * nothing without it; stats of an earlier one are gone afterwards. Those up to stats have nothing
 * left to do for a graph that calibrate has counted.
 */
int vtac_pass_calibrate(struct vtac_graph *g, const struct vtac_options *opt);
/* A tensor of the card that the file gives no scale, so that images are needed; or NULL. */
const struct vtac_tensor *vtac_lacks_scale(const struct vtac_graph *g);
int vtac_pass_channel_split(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_merge_conv_add(struct vtac_graph *g, const struct vtac_options *opt);
/* Give Hessians to convolutions for which there are enough images; `stats` fills them. */
int vtac_pass_gptq(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_stats(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_equalise(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_residual(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_precision(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_zero_point(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_requantize(struct vtac_graph *g, const struct vtac_options *opt);
int vtac_pass_quantise(struct vtac_graph *g, const struct vtac_options *opt);

#endif /* VTAC_QUANT_H */

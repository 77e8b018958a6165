/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.h - from float to the integers that a card computes with
 *
 * vtac_collect_stats() runs the float graph on images and notes what values its tensors
 * have; vtac_pass_quantise() chooses scales by that, turns weights and biases into
 * integers and fills in each card node's output stage (struct vtac_post), with a proof
 * that no sum leaves 32 bits. What the graph then means is what vtac_float_run() computes
 * of it with the CPU's integer kernels; the card computes the same bits.
 *
 * Integers on the card are signed, of the core's INP width: real = scale * (integer -
 * zero). With zero point 0 they never take the least value (-128), so that a range is the
 * same in both directions. Where nothing pads with zeros, a tensor that is never negative
 * has the least integer as its zero point, and so twice as many steps.
 */
#ifndef VTAC_QUANT_H
#define VTAC_QUANT_H

#include "passes/passes.h"

#define VTAC_BINS	2048u

/* The values of a tensor, over all images. */
struct vtac_stats {
	float lo, hi;
	float range;			/* bin i: |x| from i to i + 1 of range / VTAC_BINS */
	uint64_t count;
	uint32_t hist[VTAC_BINS];
	double *mean;			/* of each channel (dimension 1), sums until the end */
	float *most;			/* likewise, the greatest |x| */
	int64_t channels;
};

/* Images to calibrate with: values for each graph input, float, as the model takes them. */
struct vtac_images {
	unsigned int count;
	/* Values of image @i for @t (vtac_elements() of them): 0, or -1. */
	int (*read)(void *priv, unsigned int i, const struct vtac_tensor *t, float *values);
	void *priv;
	const unsigned int *classes;	/* what each shows, to measure by; or NULL */
};

/*
 * The limits of @t's values: by what computes it, and by what the file's integers reach, if it has
 * any. Quantisers rely on the latter and leave out the Relu or Clip before it.
 */
void vtac_limits(const struct vtac_tensor *t, float *lo, float *hi);

/* How the largest value that a scale covers is found. */
enum vtac_range { VTAC_RANGE_AUTO, VTAC_RANGE_MSE, VTAC_RANGE_MAX, VTAC_RANGE_PERCENTILE };

/*
 * What a residual is added to: the sum of the convolution, or its rounded output. The
 * former takes fewer cycles, and has one scale for all of the convolution's channels.
 */
enum vtac_residual { VTAC_RESIDUAL_AUTO, VTAC_RESIDUAL_FUSED, VTAC_RESIDUAL_ADD };

/* How far channels of a tensor are brought to one range: not, by the root, wholly. */
enum vtac_equalise {
	VTAC_EQUALISE_AUTO, VTAC_EQUALISE_NONE, VTAC_EQUALISE_HALF, VTAC_EQUALISE_FULL,
};

/* Layers that are computed in two sets of channels, with finer steps (channel_split.c) */
enum vtac_split { VTAC_SPLIT_AUTO, VTAC_SPLIT_NONE, VTAC_SPLIT_FIRST, VTAC_SPLIT_EARLY };

/* Are convolutions that are added one convolution (merge_conv_add.c)? */
enum vtac_merge { VTAC_MERGE_AUTO, VTAC_MERGE_NONE, VTAC_MERGE_SUMS };

/* What is AUTO is chosen by measured error (calibrate.c). */
struct vtac_quant_options {
	enum vtac_range range;
	double percentile;		/* 0 stands for 99.99 */
	enum vtac_residual residual;
	enum vtac_equalise equalise;
	enum vtac_split split;
	enum vtac_merge merge;
	bool per_tensor;		/* one multiplier for all channels of a layer */
	bool power_of_two;		/* shifts alone, no multipliers */
	bool no_bias_correction;
	bool no_zero_points;
	bool nearest;			/* each weight rounded for itself */
};

#define VTAC_QUANT_TEXT	128	/* bytes of a buffer for this: */
/* The same in words, into @buf. */
const char *vtac_quant_text(const struct vtac_quant_options *how, char *buf);

/* npy.c: an array of numpy's, in the order of C. Values are read as float. */
struct vtac_npy {
	int fd;
	int rank;
	int64_t dims[VTAC_RANK_MAX];
	enum vtac_dtype dtype;		/* F32, U8, I8, I32 or I64 */
	int64_t at;			/* of the values in the file */
};

/* 0, or -1 with a sentence. */
int vtac_npy_open(struct vtac_npy *npy, const char *path, struct vtac_error *error);
/* @count values from number @first on. */
int vtac_npy_read(struct vtac_npy *npy, int64_t first, int64_t count, float *values,
		  struct vtac_error *error);
void vtac_npy_close(struct vtac_npy *npy);

/*
 * Fill in the stats of a float graph's tensors: inputs, and outputs of the first @nodes nodes, 0
 * for all. Others have none.
 */
int vtac_collect_stats(struct vtac_graph *g, const struct vtac_options *opt,
		       const struct vtac_images *images, unsigned int nodes);

/* equalise.c: @images show how channels compare. Nothing is calibrated afterwards. */
int vtac_equalise(struct vtac_graph *g, const struct vtac_options *opt,
		  const struct vtac_images *images, enum vtac_equalise how);

/*
 * gptq.c: weights rounded together. The next vtac_collect_stats() of @images gathers for them what
 * nodes of the card read, where there is enough of it: such nodes have moments.
 */
int vtac_gptq_begin(struct vtac_graph *g, unsigned int images);
/* @node, which has moments, reads @data in an image. */
void vtac_gptq_observe(struct vtac_node *node, const float *data);
/* What rounding needs of them for the output channels of a group; NULL without memory. */
struct vtac_gptq *vtac_gptq_new(const struct vtac_hessian *m, int64_t group);
/* Integers from -@top to @top for @w, the weights of an output channel, in steps of @step. */
void vtac_gptq_round(struct vtac_gptq *f, const float *w, float step, int top, int8_t *q);
void vtac_gptq_free(struct vtac_gptq *f);

/* The largest value that @method lets a tensor of @levels steps (127) have. */
float vtac_stats_range(const struct vtac_stats *s, enum vtac_range method, double percentile,
		       int levels);

/* channel_split.c: multiplications of a convolution or matrix product. */
double vtac_work(const struct vtac_node *node);
/* The first layers in two sets of channels (x = low + high), if the first can be. */
bool vtac_can_channel_split(const struct vtac_graph *g);
int vtac_channel_split(struct vtac_graph *g, const struct vtac_options *opt,
		       const struct vtac_images *images, enum vtac_split how);

/* merge_conv_add.c: sums of two convolutions as one convolution, where that can be. */
bool vtac_can_merge_conv_add(const struct vtac_graph *g, const struct vtac_options *opt);
int vtac_merge_conv_add(struct vtac_graph *g, const struct vtac_options *opt,
			const struct vtac_images *images, const struct vtac_quant_options *how);

/* residual.c: convolutions with a residual as convolution and addition, and back. */
int vtac_split_residuals(struct vtac_graph *g);
/* The convolution whose sum @add alone takes, and the number of the other operand; or NULL. */
struct vtac_node *vtac_residual_sum(const struct vtac_graph *g, const struct vtac_node *add,
				    unsigned int *other);
int vtac_join_residual(struct vtac_graph *g, struct vtac_node *add);

#endif /* VTAC_QUANT_H */

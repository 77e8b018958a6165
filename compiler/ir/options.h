/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the compiler, and the type of a pass. */
#ifndef VTAC_OPTIONS_H
#define VTAC_OPTIONS_H

#include "graph.h"
#include "vtaops.h"

/* A graph input's shape, given by the user. */
struct vtac_shape_option {
	const char *input;	/* NULL: the only one */
	int rank;
	int64_t dims[VTAC_RANK_MAX];
};

/*
 * Progress of the work: @done of @total; called from the compiler's thread. Returns 0, or another
 * number to end the work, which is done after a pass or an image.
 */
typedef int (*vtac_progress)(void *priv, const char *what, uint64_t done, uint64_t total);

/* Images to calibrate with: values for each graph input, float, as the model takes them. */
struct vtac_images {
	unsigned int count;
	/* Values of image @i for @t (vtac_elements()): 0, or -1. NULL: they are not read. */
	int (*read)(void *priv, unsigned int i, const struct vtac_tensor *t, float *values);
	/* The user's number of image @i, if these are a part of other images; or NULL. */
	unsigned int (*number)(void *priv, unsigned int i);
	void *priv;
	const unsigned int *classes;	/* of each image, to measure by; or NULL */
	struct vtac_error *error;	/* the reason why read() failed, if it has text; or NULL */
};

/* The method that finds the largest value that a scale covers */
enum vtac_range { VTAC_RANGE_AUTO, VTAC_RANGE_MSE, VTAC_RANGE_MAX, VTAC_RANGE_PERCENTILE };

/*
 * A residual is added to the sum of the convolution, or to its rounded output. The
 * former takes fewer cycles, and has one scale for all of the convolution's channels.
 */
enum vtac_residual { VTAC_RESIDUAL_AUTO, VTAC_RESIDUAL_FUSED, VTAC_RESIDUAL_ADD };

/* Channels of a tensor are brought to one range: not, by the square root, or wholly. */
enum vtac_equalise {
	VTAC_EQUALISE_AUTO, VTAC_EQUALISE_NONE, VTAC_EQUALISE_HALF, VTAC_EQUALISE_FULL,
};

/* Layers that are computed in two sets of channels, with finer steps (channel_split.c) */
enum vtac_split { VTAC_SPLIT_AUTO, VTAC_SPLIT_NONE, VTAC_SPLIT_FIRST, VTAC_SPLIT_EARLY };

/* Convolutions that are added are merged into one convolution (merge_conv_add.c), or not. */
enum vtac_merge { VTAC_MERGE_AUTO, VTAC_MERGE_NONE, VTAC_MERGE_SUMS };

/*
 * Formulas of functions (function.c): of the fewest cycles, or with hardly more error than rounding
 */
enum vtac_functions { VTAC_FUNCTIONS_AUTO, VTAC_FUNCTIONS_FAST, VTAC_FUNCTIONS_EXACT };

/*
 * Inputs of convolutions that pad have the zero point 0, or others where these give finer steps:
 * the card has them around the input.
 */
enum vtac_padding { VTAC_PADDING_AUTO, VTAC_PADDING_ZERO, VTAC_PADDING_POINT };

/*
 * Tensors of sums have 8 bits, or 16 as two tensors where that is possible (precision.c); AUTO:
 * where it gains most
 */
enum vtac_precision { VTAC_PRECISION_8, VTAC_PRECISION_16, VTAC_PRECISION_AUTO };

/* The precision of one node's output. */
struct vtac_precision_option {
	const char *node;		/* its name, or its output's */
	enum vtac_precision precision;	/* not AUTO */
};

/* calibrate.c chooses by measured error for each AUTO. */
struct vtac_quant_options {
	enum vtac_range range;
	double percentile;		/* 0: 99.99 */
	enum vtac_residual residual;
	enum vtac_equalise equalise;
	enum vtac_split split;
	enum vtac_merge merge;
	enum vtac_functions functions;	/* AUTO: and may leave some to the CPU */
	enum vtac_padding padding;
	float padding_gain;		/* found: noise, in dB, that the other one has more; or 0 */
	enum vtac_precision precision;
	unsigned int extra_cycles;	/* of all, in percent, that AUTO may add; 0: 25 */
	unsigned int random_inputs;	/* images are so many made up ones; 0: the user's */
	bool per_tensor;		/* one multiplier for all channels of a layer */
	bool power_of_two;		/* shifts alone, no multipliers */
	bool no_bias_correction;
	bool no_zero_points;
	bool nearest;			/* each weight rounded for itself */
};

struct vtac_pass;

struct vtac_options {
	struct vtaops_core core;	/* by vtaops_core_init() */
	bool no_card;			/* everything on the CPU */
	const struct vtac_shape_option *shapes;
	unsigned int n_shapes;
	const char *const *cpu;		/* names of nodes that the user keeps off the card */
	unsigned int n_cpu;
	const struct vtac_precision_option *precisions;
	unsigned int n_precisions;
	const char *card_from, *card_to;	/* only from this node to that one, or NULL */
	bool no_prune;
	unsigned int cpu_rate;	/* of the host, see partition_cost.c; 0: the usual */
	bool keep_all;		/* tensors share no memory, and can be read after a run */
	bool one_by_one;	/* each card node is a stream of its own, for comparison */
	const struct vtac_quant_options *quant;	/* NULL: calibrate chooses all */
	const struct vtac_images *images;	/* to calibrate with, or NULL */
	vtac_progress progress;		/* or NULL */
	void *progress_priv;
	/* Called after each pass: 0, or -1 with an error of @g, which ends the work. Or NULL. */
	int (*after)(void *priv, const struct vtac_pass *pass, struct vtac_graph *g);
	void *after_priv;
};

typedef int (*vtac_pass_fn)(struct vtac_graph *g, const struct vtac_options *opt);

#endif /* VTAC_OPTIONS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of quantisation. */
#ifndef VTAC_QUANT_IMPL_H
#define VTAC_QUANT_IMPL_H

#include "ir/interp.h"
#include "quant.h"

/*
 * Compiles a function for processors with AVX2, too; the choice is made when the program starts.
 * ThreadSanitizer's calls fail there, as it has not begun.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define VTAC_CLONES	__attribute__((target_clones("avx2", "default")))
#else
#define VTAC_CLONES
#endif

#define VTAC_BANDS	64

struct lane;
struct lanes;

struct quantiser {
	struct vtac_graph *g;
	struct vtac_quant_options how;
	const struct vtaops_core *core;
	int in_top, wgt_top;		/* greatest integers of activations and weights: 127 */
	/* By tensor id: */
	float *scale;			/* of activations on the card; 0: none yet */
	int32_t *zero;			/* the integer of 0 */
	int32_t *lo, *hi;		/* limits of its integers, proved */
	bool *fixed;			/* others' scales depend on it */
	float *alone;			/* calibrated() for in_top levels, in choose_scales() */
	unsigned int ids;
};

/*
 * lanes.c: images side by side, in the threads of the graph's crew, as many as 64 MiB hold beside
 * the first. Whatever the number of threads, results are the same: each place in memory that all
 * images add to has a turn, which images take in their order.
 */
struct lane_work {
	struct vtac_graph *g;		/* whose crew it is, and whose error is set */
	const struct vtac_options *opt;
	const struct vtac_images *images;
	unsigned int count;		/* of these, from the first */
	const char *what;		/* in reports of the progress */
	struct vtac_float *graphs[2];	/* that an image goes through: inputs of both are read */
	unsigned int nodes;		/* of the first graph, 0 for all: for run() alone */
	uint64_t bytes;			/* of an image under way, beside the values of both */
	unsigned int turns;
	/* Runs an image; in any thread. Returns 0 or -1: no later image is run to its end. */
	int (*run)(void *priv, struct lane *lane);
	void *priv;
	/* Afterwards: the first image that failed and a tensor that lane_fail() has named. */
	unsigned int failed;
	const struct vtac_tensor *bad;
};

/* An image under way; all but @own is lanes.c's. */
struct lane {
	struct lanes *lanes;
	unsigned int image;
	void **inputs;			/* of both graphs, in their order */
	void *own;			/* of lane_work.run() */
};

/* Returns 0, or -1: @work->g or the graph that failed has an error, if no tensor is bad. */
int lanes_run(struct lane_work *work);
/* For struct vtac_interp, whose priv is the lane: input() and ended(). */
int lane_input(void *priv, const struct vtac_tensor *t, void *data);
bool lane_ended(void *priv);
/* Waits for turn @i; false if an earlier image has failed, or if this one has had it. */
bool lane_turn(struct lane *lane, unsigned int i);
void lane_pass(struct lane *lane, unsigned int i);
/* Ends this image and all later ones because of @bad. */
void lane_fail(struct lane *lane, const struct vtac_tensor *bad);

/* stats.c: has @base the values of @t? Of a tensor whose channels were split, it has others. */
bool is_counted(const struct vtac_graph *base, const struct vtac_tensor *t);

/* stats.c: the greatest |v| of @n values that is a number; 0 for none. */
float greatest_size(const float *v, int64_t n);

/*
 * stats_divide.c: bands of @channels channels, all zero; NULL without memory. Count @n values of a
 * channel, from @lo to @hi.
 */
struct vtac_bands *bands_new(struct vtac_graph *g, int64_t channels);
void bands_count(struct vtac_bands *bands, int64_t channel, const float *v, int64_t n, float lo,
		 float hi);

/* scales.c: options and widths; the tables, which zero_point makes, are NULL. */
struct quantiser quantiser_of(struct vtac_graph *g, const struct vtac_options *opt);

/* Is @t a constant that the card adds or multiplies by, value by value? */
bool is_operand(const struct vtac_tensor *t);

/* Is tensor @t computed or used by the card, and no constant but an operand? */
bool on_card(const struct vtac_tensor *t);

/* Returns the scale that calibration gives @t alone, for integers of @levels. */
float calibrated(const struct quantiser *q, const struct vtac_tensor *t, int levels);

/*
 * Returns the least integer of @t: -127 around 0, for a range that is the same in both directions.
 */
int32_t least_of(const struct quantiser *q, const struct vtac_tensor *t);

/* zero_point.c: may @t have a zero point other than 0? Considers @t alone. */
bool may_shift_zero(const struct quantiser *q, const struct vtac_tensor *t);

/* scales.c: choose the scale of every activation on the card. */
int choose_scales(struct quantiser *q);

/*
 * requantize.c: note why @node has no integers for its scales, as a sentence of up to 199 bytes:
 * the CPU computes it. Returns 1, or -1 without memory.
 */
int unfit(struct quantiser *q, struct vtac_node *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * weights.c: quantise a convolution or matrix product, and set its output stage. Returns 0, 1 as
 * unfit(), or -1.
 */
int quantise_sums(struct quantiser *q, struct vtac_node *node);

/*
 * skip.c: residuals of 16 bits. Does the card's convolution @user add @t to its sums, and may @t
 * have 16 bits for that?
 */
bool adds_fine(const struct vtac_node *user, const struct vtac_tensor *t);
/* Does a convolution add @node's output, so that it is a high half if @node is to be precise? */
bool is_skip(const struct vtac_node *node);
/* As vtac_not_precise(), of such a node. */
const char *skip_not_precise(const struct vtac_graph *g, const struct vtac_node *node,
			     const struct vtac_options *opt);
/* Add the low half of its output, for all that add it, if the core can do that. */
int make_low(struct vtac_graph *g, struct vtac_node *node, const struct vtac_options *opt);
/*
 * Take the low half of @node's output away again, and that of what it adds to its sums if @both:
 * @why. Returns -1 if the user has named one of these for 16 bits, or without memory.
 */
int drop_halves(struct vtac_graph *g, struct vtac_node *node, bool both, const char *why);
/* Have sums that are shifted by @shifts the steps of 16 bits? */
bool has_low_steps(const int32_t *shifts, int64_t n);
/* precision.c: leave @node's output at 8 bits because of @why; -1 if the user has named it. */
int stay_coarse(struct vtac_graph *g, struct vtac_node *node, const char *why);
/* Cycles that this takes, nearly */
uint64_t low_cycles(const struct vtac_node *node, const struct vtac_options *opt);
/* Give a node that computes a low half the integers of the one that computes the high half. */
int quantise_low(struct quantiser *q, struct vtac_node *node);

/* precision.c: a tensor like @t, of the card, with the name @t/@what */
struct vtac_tensor *tensor_beside(struct vtac_graph *g, const struct vtac_tensor *t,
				  const char *what);
/* Stats of a tensor of @channels that is always 0, but for what @first has before; or NULL */
struct vtac_stats *stats_beside(struct vtac_graph *g, const struct vtac_stats *first,
				int64_t channels);

/*
 * requantize.c: set the output stage's limits: of the activation and of the file, in integers of
 * @t.
 */
int set_limits(struct quantiser *q, struct vtac_node *node, const struct vtac_tensor *t);

/*
 * function.c: fit a formula to a function of one tensor, for the scales of its input and output.
 * Each result is at most a step from the exact one, rounded. Returns 0, 1 as unfit(), or -1.
 */
int fit_function(struct quantiser *q, struct vtac_node *node);

/* norm.c: set the form and the output stage of a normalisation. Returns as fit_function(). */
int fit_norm(struct quantiser *q, struct vtac_node *node);

/* Returns @count values, all @value; NULL without memory. */
int32_t *filled(struct vtac_graph *g, int64_t count, int32_t value);

#endif /* VTAC_QUANT_IMPL_H */

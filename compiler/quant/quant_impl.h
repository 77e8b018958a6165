/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of quantisation. */
#ifndef VTAC_QUANT_IMPL_H
#define VTAC_QUANT_IMPL_H

#include "quant.h"

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

/* scales.c: options and widths; the tables, which zero_point makes, are NULL. */
struct quantiser quantiser_of(struct vtac_graph *g, const struct vtac_options *opt);

/* Is tensor @t computed or used by the card, and no constant? */
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

/* weights.c: quantise a convolution or matrix product, and set its output stage. */
int quantise_sums(struct quantiser *q, struct vtac_node *node);

/*
 * requantize.c: set the output stage's limits: of the activation and of the file, in integers of
 * @t.
 */
int set_limits(struct quantiser *q, struct vtac_node *node, const struct vtac_tensor *t);

/*
 * function.c: fit a formula to a function of one tensor, for the scales of its input and output.
 * Each result is at most a step from the exact one, rounded.
 */
int fit_function(struct quantiser *q, struct vtac_node *node);

/* Returns @count values, all @value; NULL without memory. */
int32_t *filled(struct vtac_graph *g, int64_t count, int32_t value);

#endif /* VTAC_QUANT_IMPL_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of quantisation share. */
#ifndef VTAC_QUANT_IMPL_H
#define VTAC_QUANT_IMPL_H

#include "quant.h"

struct quantiser {
	struct vtac_graph *g;
	const struct vtac_options *opt;
	struct vtac_quant_options how;
	int in_top, wgt_top;		/* greatest integers of activations and weights: 127 */
	/* By tensor id: */
	float *scale;			/* of activations on the card; 0: none yet */
	int32_t *zero;			/* the integer that stands for 0 */
	int32_t *lo, *hi;		/* what its integers are proved to be within */
	bool *fixed;			/* others' scales depend on its */
	unsigned int ids;
};

/* Is tensor @t computed or used by the card, and no constant? */
bool on_card(const struct vtac_tensor *t);

/* The scale that calibration asks for, of a tensor alone whose integers have @levels. */
float calibrated(const struct quantiser *q, const struct vtac_tensor *t, int levels);

/* The least integer of @t: -127 around 0, for a range that is the same in both directions. */
int32_t least_of(const struct quantiser *q, const struct vtac_tensor *t);

/* zero_point.c: may @t's integers begin with the least for 0? Of the tensor alone. */
bool may_shift_zero(const struct quantiser *q, const struct vtac_tensor *t);
/* Does the node's output have the scale and zero point of its inputs? */
bool keeps_scale(enum vtac_op op);

/* scales.c: choose the scale of every activation on the card. */
int choose_scales(struct quantiser *q);

/* weights.c: integers for a convolution or matrix product, and its output stage. */
int quantise_sums(struct quantiser *q, struct vtac_node *node);

/* requantize.c: the output stages of nodes without weights. */
int requantize_node(struct quantiser *q, struct vtac_node *node);

/* The output stage's limits: of the activation and of the file, in integers of @t. */
int set_limits(struct quantiser *q, struct vtac_node *node, const struct vtac_tensor *t);

/* @count values, all @value. */
int32_t *filled(struct vtac_graph *g, int64_t count, int32_t value);

#endif /* VTAC_QUANT_IMPL_H */

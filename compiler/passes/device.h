/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes that choose devices share. */
#ifndef VTAC_DEVICE_H
#define VTAC_DEVICE_H

#include "passes.h"

/*
 * What the card would take for a node: its cycles, or the reason why it cannot. An
 * operator that card_forms() makes others of is estimated. Returns -1 without memory.
 */
int vtac_dry_run(struct vtac_graph *g, struct vtac_node *node, const struct vtac_options *opt,
		 uint64_t *cycles, const char **why);

/* Operators that the card has only as a combination of others (legalize.c). */
bool vtac_has_form(const struct vtac_node *node);

/* Is operand @i of two a value for each channel, and the other of the output's shape? */
bool vtac_spreads(const struct vtac_node *node, unsigned int i);

/*
 * align_channels.c: a convolution on the card without groups, with float weights; more outputs
 * of it that are always 0, and more inputs from channel @at on that it does not use.
 */
bool vtac_is_plain_conv(const struct vtac_node *node);
/* Has a convolution no bias, or a constant one that passes may change? */
bool vtac_has_float_bias(const struct vtac_node *node);
int vtac_widen_outputs(struct vtac_graph *g, struct vtac_tensor *part, int64_t more);
int vtac_widen_inputs(struct vtac_graph *g, struct vtac_node *node, int64_t at, int64_t more);

/* partition_cost.c: move nodes of the card to the CPU that gain less than their copies cost. */
int vtac_prune(struct vtac_graph *g, const struct vtac_options *opt);

/*
 * layout.c: may @part be written where a Concat joins it with others? The card has to write
 * it as it is, and not as another name of something else.
 */
bool vtac_can_place(const struct vtac_graph *g, const struct vtac_tensor *part);

#endif /* VTAC_DEVICE_H */

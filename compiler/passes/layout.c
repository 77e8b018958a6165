// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `layout`: producers write directly into the Concat's output buffer, so the Concat is
 * free. Parts that others place too, or of several images that are not contiguous, are copied.
 *
 * Copies between host and card leave out padding channels: an image of three channels is three
 * bytes a pixel on the bus, which the card's copies put into its blocks. The rest of a block has
 * weights 0. Channels of a constant do not cross: the card fills its tensor with their integer
 * before it copies.
 */
#include <math.h>

#include "passes.h"
#include "lower/program.h"

static bool is_placed(const struct vtac_tensor *part, const struct vtac_node *concat,
		      unsigned int at)
{
	for (unsigned int i = 0; i < at; i++)
		if (concat->in[i] == part)
			return true;
	return part->home;
}

bool vtac_can_place(const struct vtac_graph *g, const struct vtac_tensor *part)
{
	const struct vtac_node *node = part->producer;

	if (!node || node->device != VTAC_CARD || part->data || vtac_is_output(g, part))
		return false;
	return node->op != VTAC_RESHAPE && node->op != VTAC_IDENTITY && node->op != VTAC_COPY &&
	       node->op != VTAC_SLICE;
}

static bool same_scale(const struct vtac_tensor *a, const struct vtac_tensor *b)
{
	/* The weights that read it know of its scale (precision.c). */
	if (a->coarse)
		return true;
	return a->quant.scale && b->quant.scale && a->quant.scale[0] == b->quant.scale[0];
}

static void place_parts(const struct vtac_graph *g, const struct vtac_node *concat,
			const struct vtaops_core *core)
{
	struct vtac_packed whole = vtac_packed_shape(concat->out[0]);
	int64_t offset = 0;

	if (whole.n > core->batch)
		return;
	for (unsigned int i = 0; i < concat->n_in; i++) {
		struct vtac_tensor *part = concat->in[i];
		struct vtac_packed s = vtac_packed_shape(part);

		if (vtac_can_place(g, part) && !is_placed(part, concat, i) &&
		    same_scale(part, concat->out[0])) {
			part->home = concat->out[0];
			part->home_offset = offset;
		}
		offset += (int64_t)vtaops_act_bytes(core, s.n, s.c, s.h, s.w);
	}
}

/* Whole blocks of one image are a part of its memory. */
static void place_slice(const struct vtac_node *slice, const struct vtaops_core *core)
{
	struct vtac_packed s = vtac_packed_shape(slice->in[0]);
	int64_t blocks = slice->attr.slice.start[1] / core->block;

	if (s.n > core->batch)
		return;
	slice->out[0]->home = slice->in[0];
	slice->out[0]->home_offset = blocks * s.h * s.w * core->inp_bytes;
}

/* Are the bytes without padding channels rows of one length? */
static bool has_rows(const struct vtaops_core *core, const struct vtac_packed *s)
{
	if (core->log_inp_width != 3 || s->c % core->block == 0)
		return false;
	if (s->c < core->block)
		return core->batch == 1 || s->n == 1;
	return core->batch == 1 && s->n == 1 && s->h == 1 && s->w == 1;
}

/* Leave out padding channels on the host's side of a copy between host and card. */
static void narrow_host(const struct vtac_graph *g, const struct vtac_node *copy,
			const struct vtaops_core *core)
{
	struct vtac_tensor *host = copy->in[0]->device == VTAC_CPU ? copy->in[0] : copy->out[0];
	struct vtac_packed s = vtac_packed_shape(host);

	if (copy->in[0]->device != copy->out[0]->device && host->layout == VTAC_PACKED &&
	    vtac_only_user(g, host) && has_rows(core, &s))
		host->layout = VTAC_PIXELS;
}

/* Does @node do nothing but add channels of a constant behind the others? */
static bool adds_channels(const struct vtac_node *node)
{
	const struct vtac_pad *p = &node->attr.pad;

	if (node->op != VTAC_PAD || node->device != VTAC_CPU || node->in[0]->rank != 4 ||
	    p->mode != VTAC_PAD_CONSTANT || p->after[1] <= 0)
		return false;
	for (int i = 0; i < 4; i++)
		if (p->before[i] || (i != 1 && p->after[i]))
			return false;
	return true;
}

/* With @more channels, @t's are rows, or the blocks before the others. */
static bool can_fill(const struct vtaops_core *core, const struct vtac_tensor *t, int64_t more)
{
	struct vtac_packed s = vtac_packed_shape(t);

	if (has_rows(core, &s))
		return s.n == 1 || s.c + more <= core->block;
	return s.c % core->block == 0 && s.n <= core->batch;
}

/* Returns the node of @op that makes @node's only input, for it alone; or NULL. */
static struct vtac_node *made_by(const struct vtac_graph *g, const struct vtac_node *node,
				 enum vtac_op op)
{
	struct vtac_node *from = node->in[0]->producer;

	return from && from->op == op && vtac_only_user(g, node->in[0]) ? from : NULL;
}

/* Sets the integer of @value in @t; false if the card has none. */
static bool integer_of(const struct vtaops_core *core, const struct vtac_tensor *t, float value,
		       float *integer)
{
	*integer = t->quant.zero ? (float)t->quant.zero[0] : 0;
	if (value == 0)
		return true;
	if (t->quant.n != 1 || core->log_inp_width != 3)
		return false;
	*integer += rintf(value / t->quant.scale[0]);
	return *integer >= INT8_MIN && *integer <= INT8_MAX;
}

/* Let a copy to the card add the channels that a node of the CPU adds. */
static int fill_on_card(struct vtac_graph *g, struct vtac_node *copy,
			const struct vtaops_core *core)
{
	struct vtac_node *pack, *quantise, *pad;
	float integer;
	int64_t more;

	if (copy->out[0]->device != VTAC_CARD || copy->in[0]->device != VTAC_CPU)
		return 0;
	pack = made_by(g, copy, VTAC_COPY);
	quantise = pack ? made_by(g, pack, VTAC_QUANTIZE) : NULL;
	pad = quantise ? quantise->in[0]->producer : NULL;
	if (!pad || !adds_channels(pad))
		return 0;
	more = pad->attr.pad.after[1];
	if (!can_fill(core, pad->in[0], more) ||
	    !integer_of(core, copy->out[0], pad->attr.pad.value, &integer))
		return 0;
	pack->in[0]->dims[1] -= more;
	copy->in[0]->dims[1] -= more;
	copy->attr.pad.after[1] = more;
	copy->attr.pad.value = integer;
	return vtac_node_set_in(g, quantise, 0, pad->in[0]);
}

int vtac_pass_layout(struct vtac_graph *g, const struct vtac_options *opt)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		if (g->nodes[i]->op == VTAC_CONCAT && g->nodes[i]->device == VTAC_CARD)
			place_parts(g, g->nodes[i], &opt->core);
		if (g->nodes[i]->op == VTAC_SLICE && g->nodes[i]->device == VTAC_CARD)
			place_slice(g->nodes[i], &opt->core);
		if (g->nodes[i]->op != VTAC_COPY)
			continue;
		if (fill_on_card(g, g->nodes[i], &opt->core))
			return -1;
		narrow_host(g, g->nodes[i], &opt->core);
	}
	return vtac_graph_dce(g);
}

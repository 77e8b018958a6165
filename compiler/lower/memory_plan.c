// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `memory_plan`: offsets of tensors in memory. A tensor's live range begins with the step
 * that makes it and ends with the last that reads it; tensors with disjoint ranges may share
 * memory. Blocks are placed in several orders, each at the lowest free offset, and the smallest
 * plan is taken.
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"

enum rule { BY_SIZE, BY_AREA, BY_END, BY_BEGIN, RULES };

struct sorted {
	struct vtac_live_range *b;
	uint64_t key;
};

static uint64_t key_of(const struct vtac_live_range *b, enum rule rule)
{
	uint64_t life = (uint64_t)(b->last - b->first) + 1;

	switch (rule) {
	case BY_SIZE:
		return b->bytes;
	case BY_AREA:
		return b->bytes * life;
	case BY_END:
		return UINT64_MAX - b->last;
	default:
		return UINT64_MAX - b->first;
	}
}

static int compare(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	if (a->b->bytes != b->b->bytes)
		return a->b->bytes > b->b->bytes ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static bool overlap(const struct vtac_live_range *a, const struct vtac_live_range *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* Returns the lowest offset of @b that overlaps none of the @n placed before. */
static uint64_t find_offset(const struct sorted *s, unsigned int n, const struct vtac_live_range *b,
			    uint64_t align)
{
	uint64_t at = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned int i = 0; i < n; i++) {
			const struct vtac_live_range *o = s[i].b;

			if (overlap(o, b) && at < o->offset + o->bytes &&
			    o->offset < at + b->bytes) {
				at = (o->offset + o->bytes + align - 1) / align * align;
				moved = true;
			}
		}
	}
	return at;
}

static uint64_t place_all(struct sorted *s, struct vtac_live_range *blocks, unsigned int n,
			  uint64_t align, enum rule rule)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < n; i++)
		s[i] = (struct sorted) { &blocks[i], key_of(&blocks[i], rule) };
	qsort(s, n, sizeof(*s), compare);
	for (unsigned int i = 0; i < n; i++) {
		struct vtac_live_range *b = s[i].b;

		b->offset = find_offset(s, i, b, align);
		total = b->offset + b->bytes > total ? b->offset + b->bytes : total;
	}
	return total;
}

static uint64_t lower_bound(const struct vtac_live_range *blocks, unsigned int n)
{
	uint64_t bound = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t live = 0;

		for (unsigned int k = 0; k < n; k++)
			if (blocks[k].first <= blocks[i].first &&
			    blocks[k].last >= blocks[i].first)
				live += blocks[k].bytes;
		bound = live > bound ? live : bound;
	}
	return bound;
}

int vtac_plan_ranges(struct vtac_graph *g, struct vtac_live_range *blocks, unsigned int n,
		     uint64_t align, uint64_t *total, uint64_t *bound)
{
	struct sorted *s = vtac_alloc(g, n + 1u, sizeof(*s));
	enum rule best = BY_SIZE;

	if (!s)
		return -1;
	*bound = lower_bound(blocks, n);
	*total = UINT64_MAX;
	for (enum rule rule = BY_SIZE; rule < RULES; rule++) {
		uint64_t size = place_all(s, blocks, n, align, rule);

		if (size < *total) {
			*total = size;
			best = rule;
		}
	}
	place_all(s, blocks, n, align, best);
	return 0;
}

/* ---- tensors ---- */

struct vtac_packed vtac_packed_shape(const struct vtac_tensor *t)
{
	struct vtac_packed s = { 1, 1, 1, 1 };

	if (t->rank == 1)
		s.c = (uint32_t)t->dims[0];
	if (t->rank >= 2) {
		s.n = (uint32_t)t->dims[0];
		s.c = (uint32_t)t->dims[1];
	}
	if (t->rank >= 3)
		s.w = (uint32_t)t->dims[t->rank - 1];
	for (int i = 2; i < t->rank - 1; i++)
		s.h *= (uint32_t)t->dims[i];
	return s;
}

uint64_t vtac_tensor_bytes(const struct vtaops_core *core, const struct vtac_tensor *t)
{
	struct vtac_packed s = vtac_packed_shape(t);

	if (t->layout == VTAC_PACKED)
		return vtaops_act_bytes(core, s.n, s.c, s.h, s.w);
	return (uint64_t)vtac_bytes(t);
}

static struct vtac_tensor *root_of(struct vtac_tensor *t)
{
	while (t->home)
		t = t->home;
	return t;
}

static void extend(struct vtac_live_range *b, unsigned int from, unsigned int to)
{
	b->first = from < b->first ? from : b->first;
	b->last = to > b->last ? to : b->last;
}

/* Step numbers are 1 + the node's place; 0 is before the first, where inputs are. */
static void find_live_ranges(struct vtac_graph *g, struct vtac_live_range *blocks,
			     const unsigned int *block_of)
{
	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_tensor *t = g->tensors[i];
		struct vtac_live_range *b = &blocks[block_of[root_of(t)->id]];

		if (t->data)
			continue;
		if (t->producer)
			extend(b, t->producer->id + 1, t->producer->id + 1);
		else
			extend(b, 0, 0);
		for (unsigned int k = 0; k < t->n_users; k++)
			extend(b, t->users[k]->id + 1, t->users[k]->id + 1);
		if (vtac_is_output(g, t))
			extend(b, b->last, g->n_nodes + 1);
	}
}

/* Are two shapes' values in the same order when packed? */
static bool has_same_order(const struct vtac_tensor *a, const struct vtac_tensor *b)
{
	struct vtac_packed x = vtac_packed_shape(a), y = vtac_packed_shape(b);

	return x.n == y.n && x.c == y.c && (uint64_t)x.h * x.w == (uint64_t)y.h * y.w;
}

/* Reshapes and the like on the card are other names of the same memory. */
static int alias_all(struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		struct vtac_tensor *x = node->in[0], *y = node->out[0];

		if (node->device != VTAC_CARD ||
		    (node->op != VTAC_RESHAPE && node->op != VTAC_IDENTITY &&
		     node->op != VTAC_COPY))
			continue;
		if (!has_same_order(x, y))
			return vtac_fail(g, node,
					 "Its values would be in another order on the card.");
		y->home = x;
		y->home_offset = 0;
	}
	return 0;
}

/* All tensors in one memory: the card's, or the host's. */
static int plan_memory(struct vtac_graph *g, const struct vtac_options *opt,
		       enum vtac_device device, uint64_t align, uint64_t *total, uint64_t *bound)
{
	struct vtac_live_range *blocks = vtac_alloc(g, g->n_tensors + 1u, sizeof(*blocks));
	unsigned int *block_of = vtac_alloc(g, g->next_id, sizeof(*block_of)), n = 1;

	if (!blocks || !block_of)
		return -1;
	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_tensor *t = g->tensors[i];

		if (t->data || t->home || t->device != device)
			continue;
		block_of[t->id] = n;
		blocks[n++] = (struct vtac_live_range) {
			.bytes = vtac_tensor_bytes(&opt->core, t), .first = UINT32_MAX };
	}
	find_live_ranges(g, blocks, block_of);
	for (unsigned int i = 1; opt->keep_all && i < n; i++)
		extend(&blocks[i], 0, g->n_nodes + 1);
	if (vtac_plan_ranges(g, blocks + 1, n - 1, align, total, bound))
		return -1;
	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_tensor *t = g->tensors[i];

		if (!t->data && !t->home && t->device == device)
			t->offset = (int64_t)blocks[block_of[t->id]].offset;
	}
	return 0;
}

int vtac_pass_memory_plan(struct vtac_graph *g, const struct vtac_options *opt)
{
	const struct vtaops_core *core = &opt->core;
	struct vtac_plan *p = &g->plan;
	uint64_t align = 64;

	align = core->inp_bytes > align ? core->inp_bytes : align;
	align = core->wgt_bytes > align ? core->wgt_bytes : align;
	align = core->acc_bytes > align ? core->acc_bytes : align;
	if (alias_all(g) ||
	    plan_memory(g, opt, VTAC_CARD, align, &p->card_bytes, &p->card_bound) ||
	    plan_memory(g, opt, VTAC_CPU, 64, &p->host_bytes, &p->host_bound))
		return -1;
	for (unsigned int i = 0; i < g->n_tensors; i++) {
		struct vtac_tensor *t = g->tensors[i];
		int64_t at = 0;

		if (t->data || !t->home)
			continue;
		for (const struct vtac_tensor *h = t; h->home; h = h->home)
			at += h->home_offset;
		t->offset = root_of(t)->offset + at;
	}
	if (p->card_bytes > VTAIMAGE_SEGMENT_MAX || p->host_bytes > VTAIMAGE_SEGMENT_MAX)
		return vtac_fail(g, NULL, "The tensors take %llu bytes; a program has up to 1 GiB.",
				 (unsigned long long)(p->card_bytes > p->host_bytes ?
						      p->card_bytes : p->host_bytes));
	return 0;
}

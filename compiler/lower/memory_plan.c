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

/* BY_BEGIN, the last, is always completed: it takes the least time. */
enum rule { BY_SIZE, BY_AREA, BY_END, BY_BEGIN, RULES };

/* Pairs of blocks that live at one time and are compared for all other rules together */
#define PAIRS_MAX	(4u << 20)

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

/*
 * Blocks in the order of their first steps, in a tree of the last steps of those that are placed:
 * the leaf of block i is last[leaves + i], 0 while it is not placed, else its last step + 1; each
 * node has the greatest of its two children.
 */
struct placed {
	const struct vtac_live_range **blocks;
	unsigned int *last;
	unsigned int n, leaves;
	const struct vtac_live_range **found;	/* room for all blocks */
	unsigned int n_found;
	uint64_t pairs;
};

static int compare_first(const void *pa, const void *pb)
{
	const struct vtac_live_range *const *a = pa, *const *b = pb;

	if ((*a)->first != (*b)->first)
		return (*a)->first < (*b)->first ? -1 : 1;
	if ((*a)->bytes != (*b)->bytes)
		return (*a)->bytes > (*b)->bytes ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static int compare_offset(const void *pa, const void *pb)
{
	const struct vtac_live_range *const *a = pa, *const *b = pb;

	return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

/* The place of @b, or of the first block that begins after @b does if @behind. */
static unsigned int find_place(const struct placed *p, const struct vtac_live_range *b, bool behind)
{
	unsigned int from = 0, to = p->n;

	while (from < to) {
		unsigned int mid = from + (to - from) / 2;

		if (behind ? p->blocks[mid]->first <= b->last :
			     compare_first(&p->blocks[mid], &b) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static void mark_placed(struct placed *p, const struct vtac_live_range *b)
{
	for (unsigned int at = p->leaves + find_place(p, b, false); at; at /= 2)
		if (p->last[at] < b->last + 1)
			p->last[at] = b->last + 1;
}

/* Add the placed blocks among the first @end that live at step @first or later. */
static void find_living(struct placed *p, unsigned int first, unsigned int end)
{
	unsigned int at = 1, width = p->leaves, begin = 0;

	while (begin < end) {
		if (p->last[at] > first) {
			if (at < p->leaves) {
				at *= 2;
				width /= 2;
				continue;
			}
			p->found[p->n_found++] = p->blocks[begin];
		}
		/* On to the next subtree: up from right children, then to the right. */
		for (; at & 1; at /= 2) {
			if (at == 1)
				return;
			begin -= width;
			width *= 2;
		}
		at++;
		begin += width;
	}
}

/* Returns the lowest offset of @b that overlaps none of those placed. */
static uint64_t find_offset(struct placed *p, const struct vtac_live_range *b, uint64_t align)
{
	uint64_t at = 0;

	p->n_found = 0;
	find_living(p, b->first, find_place(p, b, true));
	p->pairs += p->n_found;
	qsort(p->found, p->n_found, sizeof(void *), compare_offset);
	for (unsigned int i = 0; i < p->n_found; i++) {
		const struct vtac_live_range *o = p->found[i];

		if (at + b->bytes <= o->offset)
			break;
		if (at < o->offset + o->bytes)
			at = (o->offset + o->bytes + align - 1) / align * align;
	}
	return at;
}

/* Returns the bytes in all; UINT64_MAX if that would take too long. */
static uint64_t place_all(struct placed *p, struct sorted *s, struct vtac_live_range *blocks,
			  uint64_t align, enum rule rule)
{
	uint64_t total = 0;

	memset(p->last, 0, 2 * (size_t)p->leaves * sizeof(p->last[0]));
	for (unsigned int i = 0; i < p->n; i++)
		s[i] = (struct sorted) { &blocks[i], key_of(&blocks[i], rule) };
	qsort(s, p->n, sizeof(*s), compare);
	for (unsigned int i = 0; i < p->n; i++) {
		struct vtac_live_range *b = s[i].b;

		if (p->pairs > PAIRS_MAX)
			return UINT64_MAX;
		b->offset = find_offset(p, b, align);
		mark_placed(p, b);
		total = b->offset + b->bytes > total ? b->offset + b->bytes : total;
	}
	return total;
}

static int compare_last(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;

	return a->b->last < b->b->last ? -1 : a->b->last > b->b->last;
}

static void sort_by_last(const struct placed *p, struct sorted *s, struct vtac_live_range *blocks)
{
	for (unsigned int i = 0; i < p->n; i++)
		s[i].b = &blocks[i];
	qsort(s, p->n, sizeof(*s), compare_last);
}

/* Free memory, in the order of offsets. The last gap has no end. */
struct gaps {
	struct gap {
		uint64_t offset, end;
	} *gap;
	unsigned int n;
};

static uint64_t take_lowest(struct gaps *g, uint64_t bytes)
{
	unsigned int i = 0;
	uint64_t offset;

	while (g->gap[i].end - g->gap[i].offset < bytes)
		i++;
	offset = g->gap[i].offset;
	g->gap[i].offset += bytes;
	if (g->gap[i].offset == g->gap[i].end) {
		g->n--;
		memmove(g->gap + i, g->gap + i + 1, (g->n - i) * sizeof(g->gap[0]));
	}
	return offset;
}

static void give_back(struct gaps *g, uint64_t offset, uint64_t end)
{
	unsigned int from = 0, to = g->n - 1;

	while (from < to) {
		unsigned int mid = from + (to - from) / 2;

		if (g->gap[mid].offset < offset)
			from = mid + 1;
		else
			to = mid;
	}
	if (g->gap[from].offset == end) {
		g->gap[from].offset = offset;
	} else {
		memmove(g->gap + from + 1, g->gap + from, (g->n - from) * sizeof(g->gap[0]));
		g->gap[from] = (struct gap) { offset, end };
		g->n++;
	}
	if (from && g->gap[from - 1].end == offset) {
		g->gap[from - 1].end = g->gap[from].end;
		g->n--;
		memmove(g->gap + from, g->gap + from + 1, (g->n - from) * sizeof(g->gap[0]));
	}
}

/* By BY_BEGIN: step by step, what ends makes room for what begins. */
static uint64_t place_in_order(const struct placed *p, struct sorted *s,
			       struct vtac_live_range *blocks, uint64_t align, struct gaps *g)
{
	unsigned int ended = 0;
	uint64_t total = 0;

	sort_by_last(p, s, blocks);
	g->n = 1;
	g->gap[0] = (struct gap) { 0, UINT64_MAX };
	for (unsigned int i = 0; i < p->n; i++) {
		struct vtac_live_range *b = &blocks[p->blocks[i] - blocks];
		uint64_t bytes = (b->bytes + align - 1) / align * align;

		for (; s[ended].b->last < b->first; ended++) {
			const struct vtac_live_range *o = s[ended].b;

			if (o->bytes)
				give_back(g, o->offset,
					  o->offset + (o->bytes + align - 1) / align * align);
		}
		b->offset = take_lowest(g, bytes);
		total = b->offset + b->bytes > total ? b->offset + b->bytes : total;
	}
	return total;
}

/* Returns the most bytes that live at one step. It is one at which a block begins. */
static uint64_t lower_bound(const struct placed *p, struct sorted *s,
			    struct vtac_live_range *blocks)
{
	uint64_t live = 0, bound = 0;
	unsigned int ended = 0;

	sort_by_last(p, s, blocks);
	for (unsigned int i = 0; i < p->n; i++) {
		for (; s[ended].b->last < p->blocks[i]->first; ended++)
			live -= s[ended].b->bytes;
		live += p->blocks[i]->bytes;
		bound = live > bound ? live : bound;
	}
	return bound;
}

static int open_placed(struct vtac_graph *g, struct placed *p, const struct vtac_live_range *blocks,
		       unsigned int n)
{
	*p = (struct placed) { .n = n, .leaves = 1 };
	while (p->leaves < n)
		p->leaves *= 2;
	p->blocks = vtac_alloc(g, n + 1u, sizeof(struct vtac_live_range *));
	p->found = vtac_alloc(g, n + 1u, sizeof(struct vtac_live_range *));
	p->last = vtac_alloc(g, 2 * (uint64_t)p->leaves, sizeof(p->last[0]));
	if (!p->blocks || !p->found || !p->last)
		return -1;
	for (unsigned int i = 0; i < n; i++)
		p->blocks[i] = &blocks[i];
	qsort(p->blocks, n, sizeof(void *), compare_first);
	return 0;
}

int vtac_plan_ranges(struct vtac_graph *g, struct vtac_live_range *blocks, unsigned int n,
		     uint64_t align, uint64_t *total, uint64_t *bound)
{
	struct sorted *s = vtac_alloc(g, n + 1u, sizeof(*s));
	struct gaps gaps = { .gap = vtac_alloc(g, n + 2u, sizeof(gaps.gap[0])) };
	enum rule best = BY_BEGIN;
	struct placed p;

	if (!s || !gaps.gap || open_placed(g, &p, blocks, n))
		return -1;
	*bound = lower_bound(&p, s, blocks);
	*total = UINT64_MAX;
	for (enum rule rule = BY_SIZE; rule < RULES; rule++) {
		uint64_t size = rule == BY_BEGIN ?
			place_in_order(&p, s, blocks, align, &gaps) :
			place_all(&p, s, blocks, align, rule);

		if (size < *total) {
			*total = size;
			best = rule;
		}
	}
	p.pairs = 0;
	if (best != BY_BEGIN)
		place_all(&p, s, blocks, align, best);
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
		/* Both halves of 16 bits are computed with the high one. */
		if (t->producer && t->producer->post.low)
			extend(b, t->producer->in[5]->producer->id + 1, t->producer->id + 1);
		for (unsigned int k = 0; k < t->n_users; k++)
			extend(b, t->users[k]->id + 1, t->users[k]->id + 1);
		if (vtac_is_output(g, t))
			extend(b, b->last, g->n_nodes + 1);
	}
}

bool vtac_has_same_order(const struct vtaops_core *core, const struct vtac_tensor *a,
			 const struct vtac_tensor *b)
{
	struct vtac_packed x = vtac_packed_shape(a), y = vtac_packed_shape(b);
	uint64_t pixels = (uint64_t)x.h * x.w;

	if (pixels != (uint64_t)y.h * y.w)
		return false;
	return (x.n == y.n && x.c == y.c) ||
	       (pixels == 1 && core->batch == 1 && !(x.c % core->block) && !(y.c % core->block));
}

/* Reshapes and the like on the card are other names of the same memory. */
static int alias_all(struct vtac_graph *g, const struct vtaops_core *core)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		struct vtac_tensor *x = node->in[0], *y = node->out[0];

		if (node->device != VTAC_CARD ||
		    (node->op != VTAC_RESHAPE && node->op != VTAC_IDENTITY &&
		     node->op != VTAC_COPY))
			continue;
		if (!vtac_has_same_order(core, x, y))
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

		const struct vtac_live_range *b = &blocks[block_of[t->id]];

		if (t->data || t->home || t->device != device)
			continue;
		t->offset = (int64_t)b->offset;
		t->first = b->first;
		t->last = b->last;
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
	if (alias_all(g, &opt->core) ||
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

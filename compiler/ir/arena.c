// SPDX-License-Identifier: Apache-2.0
/* A graph's memory: blocks that are freed together, bounded; and its error. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define BLOCK_BYTES	(256u << 10)
#define ALIGNMENT	64u

struct vtac_block {
	struct vtac_block *next;
	size_t used, size;
	_Alignas(ALIGNMENT) unsigned char data[];
};

static struct vtac_block *block_new(struct vtac_arena *a, size_t size)
{
	struct vtac_block *b = aligned_alloc(ALIGNMENT, sizeof(*b) + size);

	if (!b)
		return NULL;
	memset(b, 0, sizeof(*b) + size);
	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

/* Large ones get a block of their own, behind the first, which is filled further. */
static void *alloc_large(struct vtac_arena *a, size_t size)
{
	struct vtac_block *first = a->blocks;
	struct vtac_block *b = block_new(a, size);

	if (!b)
		return NULL;
	b->used = size;
	if (first) {
		a->blocks = first;
		b->next = first->next;
		first->next = b;
	}
	return b->data;
}

void *vtac_alloc(struct vtac_graph *g, uint64_t n, size_t size)
{
	struct vtac_arena *a = &g->arena;
	struct vtac_block *b = a->blocks;
	uint64_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, (uint64_t)size, &bytes) || bytes > a->limit - a->used ||
	    a->limit - a->used - bytes < ALIGNMENT) {
		vtac_fail(g, NULL, "The model takes more than its limit of %llu MiB of memory.",
			  (unsigned long long)(a->limit >> 20));
		return NULL;
	}
	bytes = bytes >= 4096 ? (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1) :
		(bytes + 15) & ~(uint64_t)15;
	if (bytes >= BLOCK_BYTES / 4) {
		p = alloc_large(a, bytes);
	} else {
		if (!b || b->size - b->used < bytes)
			b = block_new(a, BLOCK_BYTES);
		p = b ? b->data + b->used : NULL;
		if (b)
			b->used += bytes;
	}
	if (!p) {
		vtac_fail(g, NULL, "Out of memory.");
		return NULL;
	}
	a->used += bytes;
	return p;
}

void arena_free(struct vtac_arena *a)
{
	struct vtac_block *next;

	for (struct vtac_block *b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
}

void arena_take(struct vtac_arena *a, struct vtac_arena *from)
{
	struct vtac_block **last = &a->blocks;

	while (*last)
		last = &(*last)->next;
	*last = from->blocks;
	from->blocks = NULL;
	a->used = from->used < a->limit - a->used ? a->used + from->used : a->limit;
}

const char *vtac_text(struct vtac_graph *g, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = len < 0 ? NULL : vtac_alloc(g, (uint64_t)len + 1, 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return text;
}

static const char *op_of(const struct vtac_node *node)
{
	return node->file_op ? node->file_op : vtac_op_name(node->op);
}

/* "NODE (OPERATOR): " */
static int put_node(char *text, size_t max, const struct vtac_node *node)
{
	return snprintf(text, max, "%.120s (%.40s): ", node->name, op_of(node));
}

int vtac_fail(struct vtac_graph *g, const struct vtac_node *node, const char *format, ...)
{
	char *text = g->error.text;
	size_t max = sizeof(g->error.text);
	int at = 0;
	va_list args;

	if (text[0])
		return -1;
	if (node)
		at = put_node(text, max, node);
	va_start(args, format);
	vsnprintf(text + at, max - (size_t)at, format, args);
	va_end(args);
	return -1;
}

int vtac_refuse_as(struct vtac_graph *g, const char *node, const char *op, const char *why)
{
	struct vtac_refusal *r = vtac_alloc(g, 1, sizeof(*r));

	if (r) {
		r->node = vtac_text(g, "%s", node);
		r->op = vtac_text(g, "%s", op);
		r->why = vtac_text(g, "%s", why);
	}
	if (!r || !r->node || !r->op || !r->why)
		return -1;
	if (!g->last_refusal)
		g->last_refusal = &g->refusals;
	*g->last_refusal = r;
	g->last_refusal = &r->next;
	return 0;
}

int vtac_refuse(struct vtac_graph *g, const struct vtac_node *node)
{
	char start[200];
	int len = put_node(start, sizeof(start), node);

	if (strncmp(g->error.text, start, (size_t)len) ||
	    vtac_refuse_as(g, node->name, op_of(node), g->error.text + len))
		return -1;
	g->error.text[0] = 0;
	return 0;
}

static bool same_refusal(const struct vtac_refusal *a, const struct vtac_refusal *b)
{
	return !strcmp(a->op, b->op) && !strcmp(a->why, b->why);
}

static bool is_first(const struct vtac_graph *g, const struct vtac_refusal *r)
{
	for (const struct vtac_refusal *o = g->refusals; o != r; o = o->next)
		if (same_refusal(o, r))
			return false;
	return true;
}

/* A node's name, and what follows the names of a group */
#define NAME_CHARS	128
#define END_CHARS	400

/* Print "    NODE, NODE (OPERATOR): sentence" of all nodes like @first. */
static size_t put_group(const struct vtac_refusal *first, char *text, size_t max)
{
	size_t at = (size_t)snprintf(text, max, "\n    %.120s", first->node);
	unsigned int rest = 0;

	for (const struct vtac_refusal *r = first->next; r; r = r->next) {
		if (!same_refusal(r, first))
			continue;
		if (rest || at + NAME_CHARS + END_CHARS > max)
			rest++;
		else
			at += (size_t)snprintf(text + at, max - at, ", %.120s", r->node);
	}
	if (rest)
		at += (size_t)snprintf(text + at, max - at, " and %u more", rest);
	return at + (size_t)snprintf(text + at, max - at, " (%.40s): %.300s", first->op,
				     first->why);
}

int vtac_refused(struct vtac_graph *g)
{
	char *text = g->error.text;
	size_t max = sizeof(g->error.text), at;
	unsigned int n = 0;

	for (const struct vtac_refusal *r = g->refusals; r; r = r->next)
		n++;
	if (!n || text[0])
		return n ? -1 : 0;
	if (n == 1) {
		snprintf(text, max, "%.120s (%.40s): %s", g->refusals->node, g->refusals->op,
			 g->refusals->why);
		return -1;
	}
	at = (size_t)snprintf(text, max, "%u nodes cannot be compiled:", n);
	for (const struct vtac_refusal *r = g->refusals; r; r = r->next) {
		if (at + NAME_CHARS + END_CHARS > max) {
			snprintf(text + at, max - at, "\n    ...");
			break;
		}
		if (is_first(g, r))
			at += put_group(r, text + at, max - at);
	}
	return -1;
}

int array_grow(struct vtac_graph *g, void **items, unsigned int n, unsigned int *max, size_t size)
{
	unsigned int more = *max ? *max * 2 : 4;
	void *p;

	if (n < *max)
		return 0;
	p = vtac_alloc(g, more, size);
	if (!p)
		return -1;
	if (n)
		memcpy(p, *items, n * size);
	*items = p;
	*max = more;
	return 0;
}

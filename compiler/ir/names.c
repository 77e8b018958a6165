// SPDX-License-Identifier: Apache-2.0
/* Names of tensors and nodes: unique, found by hash. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

struct name_entry {
	struct name_entry *next;
	const char *name;
	void *item;
	enum name_kind kind;
	unsigned int number;	/* the last that was appended to it */
};

#define NAME_BUCKETS	16384u

struct vtac_names {
	struct name_entry *bucket[NAME_BUCKETS];
};

static unsigned int hash(const char *s, enum name_kind kind)
{
	uint32_t h = 2166136261u ^ (uint32_t)kind;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return (h ^ (h >> 16)) % NAME_BUCKETS;
}

static struct name_entry *find(const struct vtac_graph *g, enum name_kind kind, const char *name)
{
	struct name_entry *e = g->names ? g->names->bucket[hash(name, kind)] : NULL;

	while (e && (e->kind != kind || strcmp(e->name, name)))
		e = e->next;
	return e;
}

void *names_find(const struct vtac_graph *g, enum name_kind kind, const char *name)
{
	const struct name_entry *e = find(g, kind, name);

	return e ? e->item : NULL;
}

/* "conv", "conv.1", "conv.2", ...: the first that is free. */
static const char *free_name(struct vtac_graph *g, enum name_kind kind, const char *name)
{
	struct name_entry *e = find(g, kind, name);
	const char *text = vtac_text(g, "%s", name);

	while (text && e && find(g, kind, text))
		text = vtac_text(g, "%s.%u", name, ++e->number);
	return text;
}

const char *names_add(struct vtac_graph *g, enum name_kind kind, const char *name, void *item)
{
	struct name_entry *e;
	unsigned int at;

	if (!g->names)
		g->names = vtac_alloc(g, 1, sizeof(*g->names));
	e = g->names ? vtac_alloc(g, 1, sizeof(*e)) : NULL;
	name = e ? free_name(g, kind, name) : NULL;
	if (!name)
		return NULL;
	at = hash(name, kind);
	*e = (struct name_entry){ g->names->bucket[at], name, item, kind, 0 };
	g->names->bucket[at] = e;
	return name;
}

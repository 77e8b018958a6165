// SPDX-License-Identifier: Apache-2.0
/* Names of tensors and nodes: unique, found by hash. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

struct name_entry {
	struct name_entry *next;
	const char *name;
	void *item;
	unsigned int kind;
	unsigned int number;	/* the last that was appended to it */
};

#define NAME_BUCKETS	16384u

struct vtac_names {
	struct name_entry *bucket[NAME_BUCKETS];
};

static unsigned int hash(const char *s, unsigned int kind)
{
	uint32_t h = 2166136261u ^ kind;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return (h ^ (h >> 16)) % NAME_BUCKETS;
}

static struct name_entry *find(const struct vtac_graph *g, unsigned int kind, const char *name)
{
	struct name_entry *e = g->names ? g->names->bucket[hash(name, kind)] : NULL;

	while (e && (e->kind != kind || strcmp(e->name, name)))
		e = e->next;
	return e;
}

void *names_find(const struct vtac_graph *g, unsigned int kind, const char *name)
{
	const struct name_entry *e = find(g, kind, name);

	return e ? e->item : NULL;
}

/* "conv", "conv.1", "conv.2", ...: the first that is free. */
static const char *free_name(struct vtac_graph *g, unsigned int kind, const char *name)
{
	struct name_entry *e = find(g, kind, name);
	const char *text = vtac_text(g, "%s", name);

	while (text && e && find(g, kind, text))
		text = vtac_text(g, "%s.%u", name, ++e->number);
	return text;
}

const char *names_add(struct vtac_graph *g, unsigned int kind, const char *name, void *item)
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

/* The bytes of the character at @s in UTF-8; 0 if it is none, or one that controls a terminal. */
static unsigned int char_bytes(const unsigned char *s)
{
	unsigned int n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t code = s[0] & (0x7fu >> n);

	if (s[0] < 0x80)
		return s[0] >= 32 && s[0] != 127;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (unsigned int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < 0xa0 || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000) ||
	    code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return n;
}

bool vtac_is_name(const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	unsigned int n = 1;

	for (; *s && n; s += n)
		n = char_bytes(s);
	return n;
}

int vtac_name_cut(const char *name, unsigned int *chars)
{
	const unsigned char *s = (const unsigned char *)name;
	unsigned int most = *chars, n;

	for (*chars = 0; *s && *chars < most; ++*chars, s += n) {
		n = char_bytes(s);
		n = n ? n : 1;
	}
	return (int)(s - (const unsigned char *)name);
}

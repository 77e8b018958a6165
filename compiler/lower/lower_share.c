// SPDX-License-Identifier: Apache-2.0
/* Constants of the same contents in a segment: the first stays, others become it. */
#include <stdlib.h>
#include <string.h>

#include "lower_impl.h"

struct vtac_content {
	uint64_t hash, offset, bytes;	/* bytes 0: free */
};

/* FNV-1a, eight bytes at a time. */
static uint64_t hash_of(const uint8_t *data, uint64_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325u ^ bytes, word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), data += sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		hash = (hash ^ word) * 0x100000001b3u;
		hash ^= hash >> 32;
	}
	while (bytes--)
		hash = (hash ^ *data++) * 0x100000001b3u;
	return hash ^ hash >> 29;
}

/* The entry with the contents of @c, or the free one for it. */
static struct vtac_content *find_content(const struct vtac_segment *s, const struct vtac_content *c)
{
	unsigned int at = (unsigned int)c->hash & (s->max_contents - 1);

	for (; s->contents[at].bytes; at = (at + 1) & (s->max_contents - 1)) {
		const struct vtac_content *other = &s->contents[at];

		if (other->hash == c->hash && other->bytes == c->bytes &&
		    !memcmp(s->data + other->offset, s->data + c->offset, c->bytes))
			break;
	}
	return &s->contents[at];
}

static int grow_contents(struct lowering *l, struct vtac_segment *s)
{
	unsigned int before = s->max_contents, after = before ? 2 * before : 64;
	struct vtac_content *old = s->contents;

	if (s->n_contents < before / 2)
		return 0;
	s->contents = calloc(after, sizeof(*s->contents));
	if (!s->contents) {
		s->contents = old;
		return vtac_fail(l->g, l->node, "Out of memory.");
	}
	s->max_contents = after;
	for (unsigned int i = 0; i < before; i++)
		if (old[i].bytes)
			*find_content(s, &old[i]) = old[i];
	free(old);
	return 0;
}

int lower_share(struct lowering *l, struct vtac_segment *s, uint64_t bytes, uint64_t *offset)
{
	struct vtac_content c = { .offset = *offset, .bytes = bytes }, *have;

	if (!bytes)
		return 0;
	if (grow_contents(l, s))
		return -1;
	c.hash = hash_of(s->data + c.offset, bytes);
	have = find_content(s, &c);
	if (!have->bytes) {
		*have = c;
		s->n_contents++;
		return 0;
	}
	memset(s->data + c.offset, 0, bytes);
	s->bytes = c.offset;
	*offset = have->offset;
	return 0;
}

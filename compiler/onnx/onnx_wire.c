// SPDX-License-Identifier: Apache-2.0
/*
 * From bytes to messages. protobuf-c recurses into messages as deep as a file nests
 * them, and makes a structure for each, however short: depth is checked before, memory
 * while it unpacks.
 */
#include <stdlib.h>

#include "onnx_impl.h"

#define DEPTH_MAX	32

struct wire {
	const uint8_t *p, *end;
};

static bool get_varint(struct wire *w, uint64_t *v)
{
	*v = 0;
	for (unsigned int shift = 0; shift < 64 && w->p < w->end; shift += 7) {
		uint8_t byte = *w->p++;

		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static bool skip_bytes(struct wire *w, uint64_t n)
{
	if (n > (uint64_t)(w->end - w->p))
		return false;
	w->p += n;
	return true;
}

static bool check_message(const struct ProtobufCMessageDescriptor *d, struct wire w, int depth);

static bool check_bytes(const struct ProtobufCMessageDescriptor *d, struct wire *w, uint64_t tag,
			int depth)
{
	const ProtobufCFieldDescriptor *field;
	struct wire inner;
	uint64_t len;

	if (!get_varint(w, &len))
		return false;
	inner.p = w->p;
	if (!skip_bytes(w, len))
		return false;
	inner.end = w->p;
	field = tag <= UINT32_MAX ?
		protobuf_c_message_descriptor_get_field(d, (unsigned int)tag) : NULL;
	if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE)
		return true;
	return check_message(field->descriptor, inner, depth + 1);
}

/* Is @w a message with nothing nested deeper than DEPTH_MAX? */
static bool check_message(const struct ProtobufCMessageDescriptor *d, struct wire w, int depth)
{
	uint64_t key, value;

	if (depth > DEPTH_MAX)
		return false;
	while (w.p < w.end) {
		bool good;

		if (!get_varint(&w, &key))
			return false;
		switch (key & 7) {
		case 0:
			good = get_varint(&w, &value);
			break;
		case 1:
			good = skip_bytes(&w, 8);
			break;
		case 2:
			good = check_bytes(d, &w, key >> 3, depth);
			break;
		case 5:
			good = skip_bytes(&w, 4);
			break;
		default:
			good = false;
		}
		if (!good)
			return false;
	}
	return true;
}

/* ---- bounded memory ---- */

struct counted {
	_Alignas(16) size_t size;	/* of what is behind it */
};

static void *counted_alloc(void *priv, size_t size)
{
	struct vtac_arena *a = priv;
	struct counted *c;

	if (size > a->limit - a->used || a->limit - a->used - size < sizeof(*c))
		return NULL;
	c = malloc(sizeof(*c) + size);
	if (!c)
		return NULL;
	c->size = size;
	a->used += sizeof(*c) + size;
	return c + 1;
}

static void counted_free(void *priv, void *p)
{
	struct vtac_arena *a = priv;
	struct counted *c;

	if (!p)
		return;
	c = (struct counted *)p - 1;
	a->used -= sizeof(*c) + c->size;
	free(c);
}

static ProtobufCAllocator counted_allocator(struct vtac_graph *g)
{
	ProtobufCAllocator allocator = { counted_alloc, counted_free, &g->arena };

	return allocator;
}

Onnx__ModelProto *onnx_unpack(struct vtac_graph *g, const uint8_t *data, size_t len)
{
	ProtobufCAllocator allocator = counted_allocator(g);
	struct wire w = { data, data + len };
	Onnx__ModelProto *model = NULL;

	if (check_message(&onnx__model_proto__descriptor, w, 0))
		model = onnx__model_proto__unpack(&allocator, len, data);
	if (!model)
		vtac_fail(g, NULL,
			  "The file is not an ONNX model: its protobuf is damaged, too deep or too "
			  "large.");
	return model;
}

void onnx_unpack_free(struct vtac_graph *g, Onnx__ModelProto *model)
{
	ProtobufCAllocator allocator = counted_allocator(g);

	onnx__model_proto__free_unpacked(model, &allocator);
}

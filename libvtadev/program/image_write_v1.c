// SPDX-License-Identifier: Apache-2.0
/* Making program images of version 1. */
#include "image.h"

static bool source_ok(const struct vtaimage_source *s)
{
	return s->core->block && s->model_bytes && s->model_bytes <= VTAIMAGE_SEGMENT_MAX &&
	       s->arena_bytes <= VTAIMAGE_SEGMENT_MAX && s->insn_at <= s->model_bytes &&
	       s->insn_at % INSN_BYTES == 0 &&
	       s->insn_count <= (s->model_bytes - s->insn_at) / INSN_BYTES &&
	       s->tensor_count <= VTAIMAGE_TENSORS_MAX;
}

static uint64_t word(const struct vtaimage_source *s, uint32_t insn, unsigned int i)
{
	return get64(s->model + s->insn_at + (size_t)insn * INSN_BYTES + 8 * i);
}

static uint32_t count_relocs(const struct vtaimage_source *s)
{
	struct image_access access;
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->insn_count; i++) {
		image_access(s->core, word(s, i, 0), word(s, i, 1), &access);
		count += access.any;
	}
	return count;
}

/* Where the parts are: behind the header, each at a multiple of 16. */
struct parts {
	size_t relocs, tensors, model, end;
};

static struct parts parts(const struct vtaimage_source *s)
{
	struct parts p;

	p.relocs = up16(V1_HEADER_BYTES);
	p.tensors = up16(p.relocs + 4 * (size_t)count_relocs(s));
	p.model = up16(p.tensors + (size_t)V1_TENSOR_SIZE * s->tensor_count);
	p.end = p.model + s->model_bytes;
	return p;
}

size_t vtaimage_size_v1(const struct vtaimage_source *source)
{
	return source_ok(source) ? parts(source).end : 0;
}

/* From the addresses of lowering to offsets in the segments. */
static void put_relocs(const struct vtaimage_source *s, uint8_t *model, uint8_t *relocs)
{
	for (uint32_t i = 0; i < s->insn_count; i++) {
		uint32_t arena;

		if (!image_to_offset(s->core, model + s->insn_at + (size_t)i * INSN_BYTES, &arena))
			continue;
		put32(relocs, i | arena);
		relocs += 4;
	}
}

static void put_tensor(uint8_t *p, const struct vtaimage_tensor *t)
{
	image_put_name(p + V1_TENSOR_NAME, t->name, V1_NAME_MAX);
	put32(p + V1_TENSOR_ROLE, t->role);
	put32(p + V1_TENSOR_N, t->n);
	put32(p + V1_TENSOR_C, t->c);
	put32(p + V1_TENSOR_H, t->h);
	put32(p + V1_TENSOR_W, t->w);
	put32(p + V1_TENSOR_OFFSET, t->offset);
	put32(p + V1_TENSOR_BYTES, t->bytes);
}

int vtaimage_write_v1(const struct vtaimage_source *s, void *dst, size_t size,
		      struct vtaimage *check)
{
	struct vtaops_core core = *s->core;
	uint8_t *data = dst;
	struct parts p;

	*check = (struct vtaimage) { .why = "the source is not valid, or the space is too small" };
	if (!source_ok(s))
		return -VTAOPS_EINVAL;
	p = parts(s);
	if (size < p.end)
		return -VTAOPS_ESPACE;
	memset(data, 0, p.model);
	memcpy(data + p.model, s->model, s->model_bytes);
	put64(data + AT_MAGIC, IMAGE_MAGIC);
	put32(data + AT_VERSION, IMAGE_VERSION_1);
	put64(data + AT_SIZE, p.end);
	for (unsigned int i = 0; i < CONFIG_FIELDS; i++)
		data[AT_CONFIG + i] = (uint8_t)*image_config(&core, i);
	put32(data + AT_ALIGN, image_align(s->core));
	put32(data + V1_MODEL, (uint32_t)p.model);
	put32(data + V1_MODEL_BYTES, s->model_bytes);
	put32(data + V1_ARENA_BYTES, s->arena_bytes);
	put32(data + V1_INSN, s->insn_at);
	put32(data + V1_INSN_COUNT, s->insn_count);
	put32(data + V1_RELOC, (uint32_t)p.relocs);
	put32(data + V1_RELOC_COUNT, count_relocs(s));
	put32(data + V1_TENSOR, (uint32_t)p.tensors);
	put32(data + V1_TENSOR_COUNT, s->tensor_count);
	put64(data + V1_CYCLES, s->cycles);
	image_put_name(data + V1_NAME, s->name, V1_NAME_MAX);
	put_relocs(s, data + p.model, data + p.relocs);
	for (uint32_t i = 0; i < s->tensor_count; i++)
		put_tensor(data + p.tensors + (size_t)i * V1_TENSOR_SIZE, &s->tensors[i]);
	put32(data + AT_CRC, image_crc(data, p.end));
	return vtaimage_open(check, data, p.end);
}

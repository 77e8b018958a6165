// SPDX-License-Identifier: Apache-2.0
/*
 * Program images of version 1: one stream, tensors that are packed and in the arena. They
 * read as version 2: the inputs, then the outputs have places in the host's memory, in
 * their order, and are copied before and after the stream.
 */
#include "image.h"

static bool name_ok(const uint8_t *name)
{
	unsigned int i = 0;

	for (; i < V1_NAME_MAX && name[i]; i++) {
		uint8_t c = name[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '.' && c != '_' && c != '-' && c != '/')
			return false;
	}
	if (!i || i == V1_NAME_MAX)
		return false;
	for (; i < V1_NAME_MAX; i++)
		if (name[i])
			return false;
	return true;
}

/* Is [at, at + count * each) within the file, behind the header, at a multiple of 16? */
static bool part_ok(size_t size, uint32_t at, uint64_t count, uint32_t each)
{
	return at >= V1_HEADER_BYTES && at % 16 == 0 && at <= size && count * each <= size - at;
}

void image_tensor_v1(const struct vtaimage *image, uint32_t i, struct vtaimage_tensor *t)
{
	const uint8_t *p = image->tensors + (size_t)i * V1_TENSOR_SIZE;

	*t = (struct vtaimage_tensor) {
		.role = (enum vtaimage_role)get32(p + V1_TENSOR_ROLE),
		.n = get32(p + V1_TENSOR_N), .c = get32(p + V1_TENSOR_C),
		.h = get32(p + V1_TENSOR_H), .w = get32(p + V1_TENSOR_W),
		.offset = get32(p + V1_TENSOR_OFFSET), .bytes = get32(p + V1_TENSOR_BYTES),
		.segment = VTAIMAGE_IN_ARENA, .layout = VTAIMAGE_PACKED, .type = VTACPU_I8,
		.rank = 4,
	};
	t->dims[0] = t->n;
	t->dims[1] = t->c;
	t->dims[2] = t->h;
	t->dims[3] = t->w;
	memcpy(t->name, p + V1_TENSOR_NAME, V1_NAME_MAX);
}

static int check_tensor(struct vtaimage *image, uint32_t i)
{
	const uint8_t *p = image->tensors + (size_t)i * V1_TENSOR_SIZE;
	struct vtaimage_tensor t;

	if (!name_ok(p + V1_TENSOR_NAME))
		return image_bad(image, "a tensor's name is not a name");
	for (uint32_t j = 0; j < i; j++)
		if (!memcmp(p, image->tensors + (size_t)j * V1_TENSOR_SIZE, V1_NAME_MAX))
			return image_bad(image, "two tensors have the same name");
	image_tensor_v1(image, i, &t);
	if (t.role < VTAIMAGE_INPUT || t.role > VTAIMAGE_INTERNAL || get32(p + V1_TENSOR_ZERO))
		return image_bad(image, "a tensor's role is not known");
	if (!dim_ok(t.n) || !dim_ok(t.c) || !dim_ok(t.h) || !dim_ok(t.w) || !t.bytes ||
	    vtaops_act_bytes(&image->core, t.n, t.c, t.h, t.w) != t.bytes)
		return image_bad(image, "a tensor's size is not that of its shape");
	if (t.offset % image->core.inp_bytes || !within(t.offset, t.bytes, image->arena_bytes))
		return image_bad(image, "a tensor is not within the arena");
	return 0;
}

/* The host's bytes of a tensor: none if it stays on the card. */
static uint64_t host_bytes(const struct vtaimage *image, uint32_t i)
{
	struct vtaimage_tensor t;

	image_tensor_v1(image, i, &t);
	return t.role == VTAIMAGE_INTERNAL ? 0 :
	       ((uint64_t)t.bytes + VTAIMAGE_HOST_ALIGN - 1) & ~(VTAIMAGE_HOST_ALIGN - 1ull);
}

uint32_t image_host_v1(const struct vtaimage *image, uint32_t i)
{
	uint64_t at = 0;

	while (i--)
		at += host_bytes(image, i);
	return (uint32_t)at;
}

static int check_tensors(struct vtaimage *image)
{
	uint64_t host = 0;

	image->step_count = 1;
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		int err = check_tensor(image, i);

		if (err)
			return err;
		image->step_count += host_bytes(image, i) != 0;
		host += host_bytes(image, i);
	}
	if (host > VTAIMAGE_SEGMENT_MAX)
		return image_bad(image, "the inputs and outputs are larger than 1 GiB");
	image->host_bytes = (uint32_t)host;
	return 0;
}

int image_open_v1(struct vtaimage *image, const uint8_t *data, size_t size)
{
	uint32_t model, relocs, tensors;

	if (size < V1_HEADER_BYTES || get32(data + V1_ZERO))
		return image_bad(image, "the header is not one of version 1");
	image->model_bytes = get32(data + V1_MODEL_BYTES);
	image->arena_bytes = get32(data + V1_ARENA_BYTES);
	image->insn_at = get32(data + V1_INSN);
	image->insn_count = get32(data + V1_INSN_COUNT);
	image->reloc_count = get32(data + V1_RELOC_COUNT);
	image->tensor_count = get32(data + V1_TENSOR_COUNT);
	image->cycles = get64(data + V1_CYCLES);
	image->stream_count = 1;
	model = get32(data + V1_MODEL);
	relocs = get32(data + V1_RELOC);
	tensors = get32(data + V1_TENSOR);
	if (image->model_bytes > VTAIMAGE_SEGMENT_MAX || image->arena_bytes > VTAIMAGE_SEGMENT_MAX)
		return image_bad(image, "a segment is larger than 1 GiB");
	if (!part_ok(size, model, image->model_bytes, 1) ||
	    !part_ok(size, relocs, image->reloc_count, 4) ||
	    !part_ok(size, tensors, image->tensor_count, V1_TENSOR_SIZE))
		return image_bad(image, "a part of the image is not within it");
	if (image->insn_at % INSN_BYTES || !image->insn_count ||
	    !within(image->insn_at, (uint64_t)image->insn_count * INSN_BYTES, image->model_bytes))
		return image_bad(image, "the instructions are not within the model");
	if (image->tensor_count > VTAIMAGE_TENSORS_MAX)
		return image_bad(image, "there are too many tensors");
	if (!name_ok(data + V1_NAME))
		return image_bad(image, "the program's name is not a name");
	memcpy(image->name, data + V1_NAME, V1_NAME_MAX);
	image->model = data + model;
	image->relocs = data + relocs;
	image->tensors = data + tensors;
	return check_tensors(image);
}

/* The tensor that step @i copies with @role, counted from @i of that role. */
static bool copied(const struct vtaimage *image, enum vtaimage_role role, uint32_t *i,
		   struct vtaimage_tensor *t, uint32_t *host)
{
	for (uint32_t j = 0; j < image->tensor_count; j++) {
		image_tensor_v1(image, j, t);
		if (t->role == role && !(*i)--) {
			*host = image_host_v1(image, j);
			return true;
		}
	}
	return false;
}

void image_step_v1(const struct vtaimage *image, uint32_t i, struct vtaimage_step *step)
{
	struct vtaimage_place card, host = { .segment = VTAIMAGE_IN_HOST };
	struct vtaimage_tensor t;
	bool input;

	*step = (struct vtaimage_step) { .kind = VTAIMAGE_RUN };
	input = copied(image, VTAIMAGE_INPUT, &i, &t, &host.offset);
	if (!input && (!i-- || !copied(image, VTAIMAGE_OUTPUT, &i, &t, &host.offset)))
		return;
	card = (struct vtaimage_place) { VTAIMAGE_IN_ARENA, t.offset };
	step->kind = VTAIMAGE_COPY;
	step->dst = input ? card : host;
	step->src = input ? host : card;
	step->bytes = t.bytes;
}

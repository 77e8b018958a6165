// SPDX-License-Identifier: Apache-2.0
/*
 * Opening program images, which may come from anywhere: nothing in them is
 * believed, every offset and size is checked before it is used.
 */
#include "image.h"

static int bad(struct vtaimage *image, const char *why)
{
	size_t i = 0;

	for (; why[i] && i + 1 < sizeof(image->why); i++)
		image->why[i] = why[i];
	image->why[i] = '\0';
	return -VTAOPS_EINVAL;
}

/* "@name: @a, @b" with two numbers put in for each '#'. */
static void say(struct vtaimage *image, const char *format, const char *name, uint32_t a,
		uint32_t b)
{
	size_t at = 0;

	for (; *format && at + 12 < sizeof(image->why); format++) {
		char digits[12];
		unsigned int i = sizeof(digits);

		if (*format == '@') {
			for (const char *c = name; *c && at + 12 < sizeof(image->why); c++)
				image->why[at++] = *c;
			continue;
		}
		if (*format != '#') {
			image->why[at++] = *format;
			continue;
		}
		do {
			digits[--i] = (char)('0' + a % 10);
			a /= 10;
		} while (a);
		while (i < sizeof(digits))
			image->why[at++] = digits[i++];
		a = b;
	}
	image->why[at] = '\0';
}

static bool name_ok(const uint8_t *name)
{
	unsigned int i = 0;

	for (; i < VTAIMAGE_NAME_MAX && name[i]; i++) {
		uint8_t c = name[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '.' && c != '_' && c != '-' && c != '/')
			return false;
	}
	if (!i || i == VTAIMAGE_NAME_MAX)
		return false;
	for (; i < VTAIMAGE_NAME_MAX; i++)
		if (name[i])
			return false;
	return true;
}

/* Is [at, at + count * each) within the file, behind the header, at a multiple of 16? */
static bool part_ok(size_t size, uint32_t at, uint64_t count, uint32_t each)
{
	return at >= HEADER_BYTES && at % 16 == 0 && at <= size && count * each <= size - at;
}

static int open_header(struct vtaimage *image, const uint8_t *data, size_t size)
{
	uint32_t model, relocs, tensors;

	if (size < HEADER_BYTES || get64(data + AT_MAGIC) != IMAGE_MAGIC)
		return bad(image, "not a program image");
	if (get32(data + AT_VERSION) != IMAGE_VERSION) {
		say(image, "the image has version #, this library knows #", "",
		    get32(data + AT_VERSION), IMAGE_VERSION);
		return -VTAOPS_EINVAL;
	}
	if (get64(data + AT_SIZE) != size)
		return bad(image, "the image is cut off, or has more behind it");
	if (get32(data + AT_CRC) != image_crc(data, size))
		return bad(image, "the checksum is wrong: the image is damaged");
	for (unsigned int i = 0; i < CONFIG_FIELDS; i++)
		*image_config(&image->core, i) = data[AT_CONFIG + i];
	if (vtaops_core_init(&image->core) || get32(data + AT_ZERO) ||
	    data[AT_CONFIG + 9] || data[AT_CONFIG + 10] || data[AT_CONFIG + 11])
		return bad(image, "the configuration of the core is not a valid one");
	image->align = get32(data + AT_ALIGN);
	if (image->align != image_align(&image->core))
		return bad(image, "the alignment is not the configuration's");
	image->model_bytes = get32(data + AT_MODEL_BYTES);
	image->arena_bytes = get32(data + AT_ARENA_BYTES);
	image->insn_at = get32(data + AT_INSN);
	image->insn_count = get32(data + AT_INSN_COUNT);
	image->reloc_count = get32(data + AT_RELOC_COUNT);
	image->tensor_count = get32(data + AT_TENSOR_COUNT);
	image->cycles = get64(data + AT_CYCLES);
	model = get32(data + AT_MODEL);
	relocs = get32(data + AT_RELOC);
	tensors = get32(data + AT_TENSOR);
	if (image->model_bytes > VTAIMAGE_SEGMENT_MAX || image->arena_bytes > VTAIMAGE_SEGMENT_MAX)
		return bad(image, "a segment is larger than 1 GiB");
	if (!part_ok(size, model, image->model_bytes, 1) ||
	    !part_ok(size, relocs, image->reloc_count, 4) ||
	    !part_ok(size, tensors, image->tensor_count, TENSOR_SIZE))
		return bad(image, "a part of the image is not within it");
	if (image->insn_at % INSN_BYTES || image->insn_at > image->model_bytes ||
	    !image->insn_count ||
	    image->insn_count > (image->model_bytes - image->insn_at) / INSN_BYTES)
		return bad(image, "the instructions are not within the model");
	if (image->tensor_count > VTAIMAGE_TENSORS_MAX)
		return bad(image, "there are too many tensors");
	if (!name_ok(data + AT_NAME))
		return bad(image, "the program's name is not a name");
	memcpy(image->name, data + AT_NAME, VTAIMAGE_NAME_MAX);
	image->model = data + model;
	image->relocs = data + relocs;
	image->tensors = data + tensors;
	return 0;
}

void vtaimage_tensor(const struct vtaimage *image, uint32_t i, struct vtaimage_tensor *tensor)
{
	const uint8_t *p = image->tensors + (size_t)i * TENSOR_SIZE;

	memcpy(tensor->name, p + TENSOR_NAME, VTAIMAGE_NAME_MAX);
	tensor->role = (enum vtaimage_role)get32(p + TENSOR_ROLE);
	tensor->n = get32(p + TENSOR_N);
	tensor->c = get32(p + TENSOR_C);
	tensor->h = get32(p + TENSOR_H);
	tensor->w = get32(p + TENSOR_W);
	tensor->offset = get32(p + TENSOR_OFFSET);
	tensor->bytes = get32(p + TENSOR_BYTES);
}

static int check_tensors(struct vtaimage *image)
{
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		const uint8_t *p = image->tensors + (size_t)i * TENSOR_SIZE;
		struct vtaimage_tensor t;

		if (!name_ok(p + TENSOR_NAME))
			return bad(image, "a tensor's name is not a name");
		for (uint32_t j = 0; j < i; j++)
			if (!memcmp(p, image->tensors + (size_t)j * TENSOR_SIZE, VTAIMAGE_NAME_MAX))
				return bad(image, "two tensors have the same name");
		vtaimage_tensor(image, i, &t);
		if (t.role < VTAIMAGE_INPUT || t.role > VTAIMAGE_INTERNAL ||
		    get32(p + TENSOR_ZERO))
			return bad(image, "a tensor's role is not known");
		if (!dim_ok(t.n) || !dim_ok(t.c) || !dim_ok(t.h) || !dim_ok(t.w) || !t.bytes ||
		    vtaops_act_bytes(&image->core, t.n, t.c, t.h, t.w) != t.bytes)
			return bad(image, "a tensor's size is not that of its shape");
		if (t.offset % image->core.inp_bytes || t.offset > image->arena_bytes ||
		    t.bytes > image->arena_bytes - t.offset)
			return bad(image, "a tensor is not within the arena");
	}
	return 0;
}

/*
 * Each instruction that reaches memory has a relocation, in order, and stays in
 * its segment; nothing is stored to the model.
 */
static int check_stream(struct vtaimage *image)
{
	uint32_t reloc = 0;

	for (uint32_t i = 0; i < image->insn_count; i++) {
		const uint8_t *insn = image->model + image->insn_at + (size_t)i * INSN_BYTES;
		struct image_access access;
		uint32_t value, bytes;

		if (!image_access(&image->core, get64(insn), get64(insn + 8), &access)) {
			say(image, "instruction # is not one", "", i, 0);
			return -VTAOPS_EINVAL;
		}
		if (!access.any)
			continue;
		value = reloc < image->reloc_count ? get32(image->relocs + 4 * (size_t)reloc) : 0;
		if (reloc++ >= image->reloc_count || (value & RELOC_INSN) != i) {
			say(image, "instruction # has no relocation", "", i, 0);
			return -VTAOPS_EINVAL;
		}
		bytes = value & RELOC_ARENA ? image->arena_bytes : image->model_bytes;
		if (access.end > bytes / access.element_bytes ||
		    (access.store && !(value & RELOC_ARENA))) {
			say(image, "instruction # reaches what it may not", "", i, 0);
			return -VTAOPS_EINVAL;
		}
	}
	if (reloc != image->reloc_count)
		return bad(image, "there are relocations of other instructions");
	return 0;
}

int vtaimage_open(struct vtaimage *image, const void *data, size_t size)
{
	int err;

	*image = (struct vtaimage) { .align = 0 };
	err = open_header(image, data, size);
	if (!err)
		err = check_tensors(image);
	if (!err)
		err = check_stream(image);
	return err;
}

int vtaimage_find(const struct vtaimage *image, const char *name)
{
	struct vtaimage_tensor t;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		size_t at = 0;

		vtaimage_tensor(image, i, &t);
		while (at < VTAIMAGE_NAME_MAX && t.name[at] == name[at] && name[at])
			at++;
		if (at < VTAIMAGE_NAME_MAX && t.name[at] == name[at])
			return (int)i;
	}
	return -1;
}

int vtaimage_fits(struct vtaimage *image, const struct vtaops_core *core)
{
	struct vtaops_core card = *core;

	for (unsigned int i = 0; i < CONFIG_FIELDS; i++) {
		unsigned int need = *image_config(&image->core, i), has = *image_config(&card, i);

		if (need != has) {
			say(image, "the program is for a core with @ = #, the card has #",
			    image_config_names[i], need, has);
			return -VTAOPS_ECORE;
		}
	}
	return 0;
}

int vtaimage_place(const struct vtaimage *image, uint32_t model_addr, uint32_t arena_addr,
		   void *dst)
{
	uint8_t *model = dst;

	if (model_addr % image->align || arena_addr % image->align)
		return -VTAOPS_EALIGN;
	if ((uint64_t)model_addr + image->model_bytes > 1ull << 32 ||
	    (uint64_t)arena_addr + image->arena_bytes > 1ull << 32)
		return -VTAOPS_EINVAL;
	memcpy(model, image->model, image->model_bytes);
	for (uint32_t i = 0; i < image->reloc_count; i++) {
		uint32_t value = get32(image->relocs + 4 * (size_t)i);
		uint8_t *insn = model + image->insn_at + (size_t)(value & RELOC_INSN) * INSN_BYTES;
		uint64_t word = get64(insn), dram;
		struct image_access access;

		image_access(&image->core, word, get64(insn + 8), &access);
		dram = access.dram + (value & RELOC_ARENA ? arena_addr : model_addr) /
				     access.element_bytes;
		put64(insn, (word & ~DRAM_MASK) | dram << DRAM_SHIFT);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* The streams of a program image: what they reach, and where they are placed. */
#include "image.h"

static size_t reloc_offset(uint32_t value)
{
	return (size_t)(value & RELOC_INSN) * INSN_BYTES;
}

/*
 * Each instruction that reaches memory has a relocation, in order, and stays in
 * its segment; nothing is stored to the model.
 */
static int check_insn(struct vtaimage *image, uint32_t at, uint32_t number, uint32_t *reloc)
{
	const uint8_t *insn = image->model + at;
	struct image_access access;
	uint32_t value, bytes;

	if (!image_access(&image->core, get64(insn), get64(insn + 8), &access))
		return image_say(image, "instruction # is not one", "", number, 0);
	if (!access.any)
		return 0;
	value = *reloc < image->reloc_count ? get32(image->relocs + 4 * (size_t)*reloc) : 0;
	if ((*reloc)++ >= image->reloc_count || reloc_offset(value) != at)
		return image_say(image, "instruction # has no relocation", "", number, 0);
	bytes = value & RELOC_ARENA ? image->arena_bytes : image->model_bytes;
	if (access.end > bytes / access.element_bytes || (access.store && !(value & RELOC_ARENA)))
		return image_say(image, "instruction # reaches what it may not", "", number, 0);
	return 0;
}

int image_check_streams(struct vtaimage *image)
{
	uint32_t reloc = 0;
	uint64_t end = 0, cycles = 0;

	for (uint32_t i = 0; i < image->stream_count; i++) {
		struct vtaimage_stream s;

		vtaimage_stream(image, i, &s);
		if (s.insn_at % INSN_BYTES || s.insn_at < end || !s.insn_count ||
		    !within(s.insn_at, (uint64_t)s.insn_count * INSN_BYTES, image->model_bytes))
			return image_say(image, "stream # is not within the model, or overlaps "
					 "another", "", i, 0);
		end = s.insn_at + (uint64_t)s.insn_count * INSN_BYTES;
		for (uint32_t j = 0; j < s.insn_count; j++) {
			int err = check_insn(image, s.insn_at + j * INSN_BYTES, j, &reloc);

			if (err)
				return err;
		}
		if (__builtin_add_overflow(cycles, s.cycles, &cycles))
			return image_bad(image, "the streams take more cycles than there are");
	}
	if (reloc != image->reloc_count)
		return image_bad(image, "there are relocations of other instructions");
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
		uint8_t *insn = model + reloc_offset(value);
		uint64_t word = get64(insn), dram;
		struct image_access access;

		image_access(&image->core, word, get64(insn + 8), &access);
		dram = access.dram + (value & RELOC_ARENA ? arena_addr : model_addr) /
				     access.element_bytes;
		put64(insn, (word & ~DRAM_MASK) | dram << DRAM_SHIFT);
	}
	return 0;
}

int vtaimage_work(const struct vtaimage *image, uint32_t number, const uint32_t *cuts,
		  uint32_t count, struct vtaops_work *work)
{
	struct vtaimage_stream stream;

	if (number >= image->stream_count)
		return -VTAOPS_EINVAL;
	vtaimage_stream(image, number, &stream);
	return vtaops_work(&image->core, image->model + stream.insn_at, stream.insn_count, cuts,
			   count, work);
}

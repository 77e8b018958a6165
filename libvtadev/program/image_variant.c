// SPDX-License-Identifier: Apache-2.0
/*
 * Variants of a program image: the parts of its tables that serve one shape of the inputs each. An
 * image without a table of variants has one, which is all of it.
 */
#include "image.h"

static uint32_t part_count(const struct vtaimage *image, enum image_part part)
{
	return get32(image->file + AT_PARTS + 8 * part + 4);
}

/* The record of variant @i; NULL: there is no table. */
static const uint8_t *record_of(const struct vtaimage *image, uint32_t i)
{
	if (!get32(image->file + AT_VARIANTS + 4))
		return NULL;
	return image->file + get32(image->file + AT_VARIANTS) + (size_t)i * VARIANT_SIZE;
}

/* The entries of part @p that variant @i has. */
static uint32_t count_of(const struct vtaimage *image, uint32_t i, unsigned int p)
{
	const uint8_t *record = record_of(image, i);

	return record ? get32(record + 4 * (size_t)p) : part_count(image, image_variant_part[p]);
}

/* The entries of part @p that are the variants' before @i. */
static uint64_t count_before(const struct vtaimage *image, uint32_t i, unsigned int p)
{
	uint64_t count = 0;

	while (i--)
		count += count_of(image, i, p);
	return count;
}

uint32_t vtaimage_variants(const struct vtaimage *image)
{
	return record_of(image, 0) ? get32(image->file + AT_VARIANTS + 4) : 1;
}

void image_select(struct vtaimage *image, uint32_t i)
{
	const uint8_t *first[VARIANT_PARTS], *record = record_of(image, i);
	uint32_t count[VARIANT_PARTS];

	for (unsigned int p = 0; p < VARIANT_PARTS; p++) {
		enum image_part part = image_variant_part[p];

		first[p] = image->file + get32(image->file + AT_PARTS + 8 * part) +
			   (size_t)count_before(image, i, p) * image_part_size[part];
		count[p] = count_of(image, i, p);
	}
	image->tensors = first[0];
	image->tensor_count = count[0];
	image->streams = first[1];
	image->stream_count = count[1];
	image->relocs = first[2];
	image->reloc_count = count[2];
	image->steps = first[3];
	image->step_count = count[3];
	image->preprocess = first[4];
	image->preprocess_count = count[4];
	for (unsigned int t = 0; t < 2; t++)
		image->text[VTAIMAGE_REPORT + t] = (struct vtaimage_chars) {
			(const char *)first[5 + t], count[5 + t] };
	if (record) {
		image->arena_bytes = get32(record + VARIANT_ARENA_BYTES);
		image->host_bytes = get32(record + VARIANT_HOST_BYTES);
	}
	image->cycles = 0;
	for (uint32_t s = 0; s < image->stream_count; s++)
		image->cycles += get64(image->streams + (size_t)s * STREAM_SIZE + STREAM_CYCLES);
}

static int check_record(struct vtaimage *image, uint32_t i)
{
	const uint8_t *record = record_of(image, i);

	if (!get32(record) || !get32(record + 4 * 3))
		return image_say(image, "variant # has no tensors or no steps", "", i, 0);
	for (unsigned int at = VARIANT_ZERO; at < VARIANT_SIZE; at += 4)
		if (get32(record + at))
			return image_say(image, "variant # has more fields", "", i, 0);
	return 0;
}

/* The most of a segment's bytes that a variant has. */
static uint32_t most_bytes(const struct vtaimage *image, unsigned int field)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < vtaimage_variants(image); i++) {
		uint32_t bytes = get32(record_of(image, i) + field);

		most = bytes > most ? bytes : most;
	}
	return most;
}

int image_check_variants(struct vtaimage *image)
{
	uint32_t count = get32(image->file + AT_VARIANTS + 4);

	if (!count)
		return 0;
	if (count == 1 || count > VTAIMAGE_VARIANTS_MAX)
		return image_bad(image, "there are too many variants, or one alone");
	for (uint32_t i = 0; i < vtaimage_variants(image); i++)
		if (check_record(image, i))
			return -VTAOPS_EINVAL;
	for (unsigned int p = 0; p < VARIANT_PARTS; p++)
		if (count_before(image, count, p) !=
		    part_count(image, image_variant_part[p]))
			return image_bad(image, "the variants have more or less than the image");
	if (most_bytes(image, VARIANT_ARENA_BYTES) != image->arena_bytes ||
	    most_bytes(image, VARIANT_HOST_BYTES) != image->host_bytes)
		return image_bad(image, "no variant has as much memory as the image");
	return 0;
}

/* Reads the next input of @image from tensor @at on, which moves behind it; false: none. */
static bool next_input(const struct vtaimage *image, uint32_t *at, struct vtaimage_tensor *t)
{
	while (*at < image->tensor_count) {
		vtaimage_tensor(image, (*at)++, t);
		if (t->role == VTAIMAGE_INPUT)
			return true;
	}
	return false;
}

int image_check_inputs(struct vtaimage *image, uint32_t number)
{
	for (uint32_t i = 0; i < number; i++) {
		struct vtaimage_tensor a, b;
		struct vtaimage other;
		uint32_t at = 0, other_at = 0;
		bool same = true, has, other_has;

		vtaimage_variant(image, i, &other);
		do {
			has = next_input(image, &at, &a);
			other_has = next_input(&other, &other_at, &b);
			if (has != other_has ||
			    (has && (a.type != b.type || memcmp(a.name, b.name, sizeof(a.name)))))
				return image_say(image, "variants # and # have other inputs", "",
						 i, number);
			same = same && (!has || (a.rank == b.rank &&
						 !memcmp(a.dims, b.dims, sizeof(a.dims))));
		} while (has);
		if (same)
			return image_say(image, "variants # and # are for the same shapes", "", i,
					 number);
	}
	return 0;
}

int vtaimage_variant(const struct vtaimage *image, uint32_t i, struct vtaimage *variant)
{
	if (i >= vtaimage_variants(image))
		return -VTAOPS_EINVAL;
	*variant = *image;
	image_select(variant, i);
	return 0;
}

static bool has_shapes(const struct vtaimage *image, uint32_t count,
		       const struct vtaimage_shape *shapes)
{
	struct vtaimage_tensor t;
	uint32_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct vtaimage_shape *s = &shapes[i];

		if (!next_input(image, &at, &t) || s->rank > VTACPU_RANK_MAX)
			return false;
		if (s->rank && (s->rank != t.rank ||
				memcmp(s->dims, t.dims, s->rank * sizeof(s->dims[0]))))
			return false;
	}
	return !next_input(image, &at, &t);
}

int vtaimage_match(const struct vtaimage *image, uint32_t count,
		   const struct vtaimage_shape *shapes)
{
	struct vtaimage variant;

	for (uint32_t i = 0; !vtaimage_variant(image, i, &variant); i++)
		if (has_shapes(&variant, count, shapes))
			return (int)i;
	return -1;
}

// SPDX-License-Identifier: Apache-2.0
/* Write program images. */
#include "image.h"

/* The variants of a source: none, or several. */
struct variants {
	const struct vtaimage_variant *variant;
	uint32_t count;
};

static size_t up16(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

static void put_name(uint8_t *dst, const char *name)
{
	for (uint32_t i = 0; i < VTAIMAGE_NAME_MAX && name[i]; i++)
		dst[i] = (uint8_t)name[i];
}

/* Replace an instruction's address by its offset in the segment; false if it has none. */
static bool to_offset(const struct vtaops_core *core, uint8_t *insn, uint32_t *arena)
{
	uint64_t first = get64(insn), addr;
	struct image_access access;
	uint32_t base;

	image_access(core, first, get64(insn + 8), &access);
	if (!access.any)
		return false;
	addr = (uint64_t)access.dram * access.element_bytes;
	base = addr >= VTAIMAGE_ARENA ? VTAIMAGE_ARENA : VTAIMAGE_MODEL;
	addr = access.dram - base / access.element_bytes;
	put64(insn, (first & ~DRAM_MASK) | (addr << DRAM_SHIFT & DRAM_MASK));
	*arena = base == VTAIMAGE_ARENA ? RELOC_ARENA : 0;
	return true;
}

static bool source_ok(const struct vtaimage_source *s, struct variants v)
{
	uint64_t streams = 0;

	if (!s->core->block || s->model_bytes > VTAIMAGE_SEGMENT_MAX ||
	    s->consts_bytes > VTAIMAGE_SEGMENT_MAX || s->tensor_count > VTAIMAGE_TENSORS_MAX ||
	    s->step_count > VTAIMAGE_STEPS_MAX || s->stream_count > VTAIMAGE_STREAMS_MAX ||
	    s->preprocess_count > VTAIMAGE_TENSORS_MAX)
		return false;
	for (uint32_t i = 0; i < s->stream_count; i++)
		if (s->streams[i].insn_at % INSN_BYTES ||
		    !within(s->streams[i].insn_at, (uint64_t)s->streams[i].insn_count * INSN_BYTES,
			    s->model_bytes))
			return false;
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		if (s->text[i].bytes > VTAIMAGE_TEXT_MAX)
			return false;
	if (v.count > VTAIMAGE_VARIANTS_MAX)
		return false;
	for (uint32_t i = 0; i < v.count; i++)
		streams += v.variant[i].stream_count;
	return !v.count || streams == s->stream_count;
}

static uint32_t stream_relocs(const struct vtaimage_source *s, const struct vtaimage_stream *stream)
{
	struct image_access access;
	uint32_t count = 0;

	for (uint32_t i = 0; i < stream->insn_count; i++) {
		const uint8_t *insn = s->model + stream->insn_at + (size_t)i * INSN_BYTES;

		image_access(s->core, get64(insn), get64(insn + 8), &access);
		count += access.any;
	}
	return count;
}

/* Operands of a step; 0 of an invalid one, which opening will report. */
static uint32_t step_operands(const struct vtaimage_step *step)
{
	struct vtacpu_need need;

	return vtacpu_need(step->kernel, &step->params, &need) ? 0 : need.operands;
}

static uint32_t step_words(const struct vtaimage_step *step)
{
	if (step->kind != VTAIMAGE_CPU)
		return 0;
	return (uint32_t)(vtacpu_params_bytes(step->kernel) / 4) + 2 * step_operands(step);
}

/* Compute the length and the offset of each part; the last offset is the end of the file. */
static void layout(const struct vtaimage_source *s, struct variants v, uint32_t count[IMAGE_PARTS],
		   size_t at[IMAGE_PARTS + 1])
{
	count[PART_STREAMS] = s->stream_count;
	count[PART_RELOCS] = 0;
	for (uint32_t i = 0; i < s->stream_count; i++)
		count[PART_RELOCS] += stream_relocs(s, &s->streams[i]);
	count[PART_TENSORS] = s->tensor_count;
	count[PART_STEPS] = s->step_count;
	count[PART_WORDS] = 0;
	for (uint32_t i = 0; i < s->step_count; i++)
		count[PART_WORDS] += step_words(&s->steps[i]);
	count[PART_PREPROCESS] = s->preprocess_count;
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		count[PART_LABELS + i] = s->text[i].bytes;
	count[PART_CONSTS] = s->consts_bytes;
	count[PART_MODEL] = s->model_bytes;
	at[0] = up16(HEADER_BYTES);
	for (unsigned int i = 0; i < IMAGE_PARTS; i++) {
		at[i + 1] = at[i] + (size_t)count[i] * image_part_size[i];
		/* Nothing follows the last, so it is not filled up. */
		if (i + 1 < IMAGE_PARTS || v.count)
			at[i + 1] = up16(at[i + 1]);
	}
}

/* Bytes of the file, whose table of variants is behind the parts. */
static size_t file_bytes(struct variants v, const size_t at[IMAGE_PARTS + 1])
{
	return at[IMAGE_PARTS] + (size_t)v.count * VARIANT_SIZE;
}

static size_t size_of(const struct vtaimage_source *source, struct variants v)
{
	uint32_t count[IMAGE_PARTS];
	size_t at[IMAGE_PARTS + 1];

	if (!source_ok(source, v))
		return 0;
	layout(source, v, count, at);
	return file_bytes(v, at) <= UINT32_MAX ? file_bytes(v, at) : 0;
}

size_t vtaimage_size(const struct vtaimage_source *source)
{
	return size_of(source, (struct variants) { .count = 0 });
}

size_t vtaimage_size_variants(const struct vtaimage_source *source,
			      const struct vtaimage_variant *variants, uint32_t count)
{
	return size_of(source, (struct variants) { variants, count });
}

static void put_streams(const struct vtaimage_source *s, uint8_t *p, uint8_t *relocs,
			uint8_t *model)
{
	for (uint32_t i = 0; i < s->stream_count; i++, p += STREAM_SIZE) {
		const struct vtaimage_stream *stream = &s->streams[i];

		put32(p + STREAM_INSN, stream->insn_at);
		put32(p + STREAM_COUNT, stream->insn_count);
		put64(p + STREAM_CYCLES, stream->cycles);
		for (uint32_t j = 0; j < stream->insn_count; j++) {
			uint32_t at = stream->insn_at + j * INSN_BYTES, arena;

			if (!to_offset(s->core, model + at, &arena))
				continue;
			put32(relocs, at / INSN_BYTES | arena);
			relocs += 4;
		}
	}
}

static void put_float(uint8_t *p, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put32(p, bits);
}

static void put_tensor(uint8_t *p, const struct vtaimage_tensor *t)
{
	put_name(p + TENSOR_NAME, t->name);
	put32(p + TENSOR_ROLE, t->role);
	put32(p + TENSOR_SEGMENT, t->segment);
	put32(p + TENSOR_LAYOUT, t->layout);
	put32(p + TENSOR_TYPE, t->type);
	put32(p + TENSOR_RANK, t->rank);
	for (uint32_t i = 0; i < t->rank && i < VTACPU_RANK_MAX; i++)
		put32(p + TENSOR_DIMS + 4 * (size_t)i, t->dims[i]);
	put32(p + TENSOR_OFFSET, t->offset);
	put32(p + TENSOR_BYTES, t->bytes);
	put_float(p + TENSOR_SCALE, t->scale);
	put32(p + TENSOR_POINT, (uint32_t)t->zero);
}

static void put_place(uint8_t *p, struct vtaimage_place place)
{
	put32(p, place.segment);
	put32(p + 4, place.offset);
}

/* Returns where the next step's words are, counted from @words. */
static uint32_t put_step(uint8_t *p, const struct vtaimage_step *step, uint8_t *words, uint32_t at)
{
	uint32_t operands = 0, params = 0;

	put32(p + STEP_KIND, step->kind);
	if (step->kind == VTAIMAGE_COPY) {
		put_place(p + STEP_DST, step->dst);
		put_place(p + STEP_SRC, step->src);
		put32(p + STEP_BYTES, step->bytes);
		put32(p + STEP_ROWS, step->rows);
		put32(p + STEP_PITCH, step->pitch);
	} else if (step->kind == VTAIMAGE_FILL) {
		put_place(p + STEP_DST, step->dst);
		put32(p + STEP_FILL_BYTES, step->bytes);
		put32(p + STEP_PATTERN, step->pattern);
	} else if (step->kind == VTAIMAGE_RUN) {
		put32(p + STEP_STREAM, step->stream);
	} else {
		operands = step_operands(step);
		params = (uint32_t)(vtacpu_params_bytes(step->kernel) / 4);
		put32(p + STEP_KERNEL, step->kernel);
		put32(p + STEP_WORD, at);
		put32(p + STEP_SCRATCH, step->scratch);
	}
	words += 4 * (size_t)at;
	for (uint32_t i = 0; i < params; i++, words += 4)
		put32(words, step->params.word[i]);
	for (uint32_t i = 0; i < operands; i++, words += 8)
		put_place(words, step->io[i]);
	return at + params + 2 * operands;
}

static void put_preprocess(uint8_t *p, const struct vtaimage_preprocess *pre)
{
	const float *const floats[] = { pre->mean, pre->scale, pre->pad };

	put32(p, pre->tensor);
	put32(p + 4, pre->nhwc);
	put32(p + 8, pre->order);
	put32(p + 12, pre->fit);
	put32(p + 16, pre->filter);
	put32(p + 20, pre->background);
	for (unsigned int i = 0; i < 9; i++)
		put_float(p + 4 * (PREPROCESS_FLOATS + i), floats[i / 3][i % 3]);
}

static void put_header(uint8_t *data, const struct vtaimage_source *s, struct variants v,
		       const uint32_t count[IMAGE_PARTS], const size_t at[IMAGE_PARTS + 1])
{
	struct vtaops_core core = *s->core;

	put64(data + AT_MAGIC, IMAGE_MAGIC);
	put32(data + AT_VERSION, IMAGE_VERSION);
	put64(data + AT_SIZE, file_bytes(v, at));
	for (unsigned int i = 0; i < CONFIG_FIELDS; i++)
		data[AT_CONFIG + i] = (uint8_t)*image_config(&core, i);
	put32(data + AT_ALIGN, image_align(s->core));
	put32(data + AT_ARENA_BYTES, s->arena_bytes);
	put32(data + AT_HOST_BYTES, s->host_bytes);
	for (unsigned int i = 0; i < IMAGE_PARTS; i++) {
		put32(data + AT_PARTS + 8 * i, (uint32_t)at[i]);
		put32(data + AT_PARTS + 8 * i + 4, count[i]);
	}
	put_name(data + AT_NAME, s->name);
	if (v.count) {
		put32(data + AT_VARIANTS, (uint32_t)at[IMAGE_PARTS]);
		put32(data + AT_VARIANTS + 4, v.count);
	}
}

/* Relocations of the next @n streams from @at on, which moves behind them. */
static uint32_t count_relocs(const struct vtaimage_source *s, uint32_t *at, uint32_t n)
{
	uint32_t relocs = 0;

	while (n--)
		relocs += stream_relocs(s, &s->streams[(*at)++]);
	return relocs;
}

static void put_variants(uint8_t *p, const struct vtaimage_source *s, struct variants all)
{
	uint32_t stream = 0;

	for (uint32_t i = 0; i < all.count; i++, p += VARIANT_SIZE) {
		const struct vtaimage_variant *v = &all.variant[i];
		/* In the order of image_variant_part. */
		const uint32_t counts[VARIANT_PARTS] = {
			v->tensor_count, v->stream_count, count_relocs(s, &stream, v->stream_count),
			v->step_count, v->preprocess_count, v->report_bytes, v->report_json_bytes,
		};

		for (unsigned int k = 0; k < VARIANT_PARTS; k++)
			put32(p + 4 * (size_t)k, counts[k]);
		put32(p + VARIANT_ARENA_BYTES, v->arena_bytes);
		put32(p + VARIANT_HOST_BYTES, v->host_bytes);
	}
}

static int write_image(const struct vtaimage_source *s, struct variants v, void *dst, size_t size,
		       struct vtaimage *check)
{
	uint32_t count[IMAGE_PARTS], words = 0;
	size_t at[IMAGE_PARTS + 1];
	uint8_t *data = dst;

	*check = (struct vtaimage) { .why = "the source is not valid, or the space is too small" };
	if (!size_of(s, v))
		return -VTAOPS_EINVAL;
	layout(s, v, count, at);
	if (size < file_bytes(v, at))
		return -VTAOPS_ESPACE;
	memset(data, 0, file_bytes(v, at));
	put_header(data, s, v, count, at);
	if (s->model_bytes)
		memcpy(data + at[PART_MODEL], s->model, s->model_bytes);
	if (s->consts_bytes)
		memcpy(data + at[PART_CONSTS], s->consts, s->consts_bytes);
	put_streams(s, data + at[PART_STREAMS], data + at[PART_RELOCS], data + at[PART_MODEL]);
	for (uint32_t i = 0; i < s->tensor_count; i++)
		put_tensor(data + at[PART_TENSORS] + (size_t)i * TENSOR_SIZE, &s->tensors[i]);
	for (uint32_t i = 0; i < s->step_count; i++)
		words = put_step(data + at[PART_STEPS] + (size_t)i * STEP_SIZE, &s->steps[i],
				 data + at[PART_WORDS], words);
	for (uint32_t i = 0; i < s->preprocess_count; i++)
		put_preprocess(data + at[PART_PREPROCESS] + (size_t)i * PREPROCESS_SIZE,
			       &s->preprocess[i]);
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		if (s->text[i].bytes)
			memcpy(data + at[PART_LABELS + i], s->text[i].text, s->text[i].bytes);
	put_variants(data + at[IMAGE_PARTS], s, v);
	put32(data + AT_CRC, image_crc(data, file_bytes(v, at)));
	return vtaimage_open(check, data, file_bytes(v, at));
}

int vtaimage_write(const struct vtaimage_source *s, void *dst, size_t size, struct vtaimage *check)
{
	return write_image(s, (struct variants) { .count = 0 }, dst, size, check);
}

int vtaimage_write_variants(const struct vtaimage_source *s,
			    const struct vtaimage_variant *variants, uint32_t count, void *dst,
			    size_t size, struct vtaimage *check)
{
	return write_image(s, (struct variants) { variants, count }, dst, size, check);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Opening program images, which may come from anywhere: nothing in them is
 * believed, every offset and size is checked before it is used.
 */
#include "image.h"

static bool name_ok(const uint8_t *name)
{
	unsigned int i = 0;

	for (; i < VTAIMAGE_NAME_MAX && name[i]; i++)
		if (name[i] < 0x21 || name[i] > 0x7e || name[i] == '=')
			return false;
	if (!i || i == VTAIMAGE_NAME_MAX)
		return false;
	for (; i < VTAIMAGE_NAME_MAX; i++)
		if (name[i])
			return false;
	return true;
}

/* Bytes of the UTF-8 character at @p, of at most @left; 0 if it is none for a text. */
static uint32_t utf8(const uint8_t *p, uint32_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t bytes, code;

	if (p[0] < 0x80)
		return (p[0] >= 0x20 && p[0] != 0x7f) || p[0] == '\t' || p[0] == '\n';
	bytes = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc0 || p[0] > 0xf7 || bytes > left)
		return 0;
	code = p[0] & (0x7fu >> bytes);
	for (uint32_t i = 1; i < bytes; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	/* Below 0xa0 are control characters too; surrogates are no characters. */
	if (code < least[bytes] || code < 0xa0 || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return bytes;
}

static bool text_ok(const uint8_t *p, uint32_t bytes)
{
	while (bytes) {
		uint32_t n = utf8(p, bytes);

		if (!n)
			return false;
		p += n;
		bytes -= n;
	}
	return true;
}

static int open_header(struct vtaimage *image, const uint8_t *data, size_t size)
{
	if (size < HEADER_BYTES || get64(data + AT_MAGIC) != IMAGE_MAGIC)
		return image_bad(image, "not a program image");
	image->version = get32(data + AT_VERSION);
	if (image->version != IMAGE_VERSION)
		return image_say(image, "the image has version #, this library knows #", "",
				 image->version, IMAGE_VERSION);
	if (get64(data + AT_SIZE) != size)
		return image_bad(image, "the image is cut off, or has more behind it");
	if (get32(data + AT_CRC) != image_crc(data, size))
		return image_bad(image, "the checksum is wrong: the image is damaged");
	for (unsigned int i = 0; i < CONFIG_FIELDS; i++)
		*image_config(&image->core, i) = data[AT_CONFIG + i];
	if (vtaops_core_init(&image->core) ||
	    data[AT_CONFIG + 9] || data[AT_CONFIG + 10] || data[AT_CONFIG + 11])
		return image_bad(image, "the configuration of the core is not a valid one");
	image->align = get32(data + AT_ALIGN);
	if (image->align != image_align(&image->core))
		return image_bad(image, "the alignment is not the configuration's");
	return 0;
}

/* Find the parts: each is behind the one before it, at the next multiple of 16. */
static int find_parts(struct vtaimage *image, const uint8_t *data, size_t size,
		      const uint8_t *part[IMAGE_PARTS], uint32_t count[IMAGE_PARTS])
{
	uint64_t end = HEADER_BYTES;

	for (unsigned int i = 0; i < IMAGE_PARTS; i++) {
		uint32_t at = get32(data + AT_PARTS + 8 * i);
		uint64_t next = (end + 15) & ~15ull;

		count[i] = get32(data + AT_PARTS + 8 * i + 4);
		if (at != next || !within(at, (uint64_t)count[i] * image_part_size[i], size))
			return image_bad(image, "a part of the image is not where it belongs");
		for (; end < next; end++)
			if (data[end])
				return image_bad(image, "there is something between the parts");
		part[i] = data + at;
		end = at + (uint64_t)count[i] * image_part_size[i];
	}
	if (get32(data + AT_VARIANTS + 4)) {
		uint64_t next = (end + 15) & ~15ull;

		for (; end < next && end < size; end++)
			if (data[end])
				return image_bad(image, "there is something between the parts");
		if (get32(data + AT_VARIANTS) != next)
			return image_bad(image, "a part of the image is not where it belongs");
		end = next + (uint64_t)get32(data + AT_VARIANTS + 4) * VARIANT_SIZE;
	} else if (get32(data + AT_VARIANTS)) {
		return image_bad(image, "a part of the image is not where it belongs");
	}
	return end == size ? 0 : image_bad(image, "there is something behind the parts");
}

static int check_texts(struct vtaimage *image)
{
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		if (!text_ok((const uint8_t *)image->text[i].text, image->text[i].bytes))
			return image_bad(image, "a text is not UTF-8, or has control characters");
	return 0;
}

static int open_parts(struct vtaimage *image, const uint8_t *data, size_t size)
{
	const uint8_t *part[IMAGE_PARTS] = { NULL };
	uint32_t count[IMAGE_PARTS] = { 0 };

	if (find_parts(image, data, size, part, count))
		return -VTAOPS_EINVAL;
	image->file = data;
	image->arena_bytes = get32(data + AT_ARENA_BYTES);
	image->host_bytes = get32(data + AT_HOST_BYTES);
	image->model_bytes = count[PART_MODEL];
	image->consts_bytes = count[PART_CONSTS];
	image->word_count = count[PART_WORDS];
	if (image->model_bytes > VTAIMAGE_SEGMENT_MAX ||
	    image->arena_bytes > VTAIMAGE_SEGMENT_MAX ||
	    image->consts_bytes > VTAIMAGE_SEGMENT_MAX || image->host_bytes > VTAIMAGE_SEGMENT_MAX)
		return image_bad(image, "a segment is larger than 1 GiB");
	if (!count[PART_TENSORS] || count[PART_TENSORS] > VTAIMAGE_TENSORS_MAX ||
	    count[PART_STREAMS] > VTAIMAGE_STREAMS_MAX || !count[PART_STEPS] ||
	    count[PART_STEPS] > VTAIMAGE_STEPS_MAX)
		return image_bad(image, "there are too many tensors, streams or steps, or none");
	if (!name_ok(data + AT_NAME))
		return image_bad(image, "the program's name is not a name");
	memcpy(image->name, data + AT_NAME, VTAIMAGE_NAME_MAX);
	for (unsigned int i = 0; i < VTAIMAGE_TEXTS; i++)
		if (count[PART_LABELS + i] > VTAIMAGE_TEXT_MAX)
			return image_bad(image, "a text is larger than 16 MiB");
	image->consts = part[PART_CONSTS];
	image->model = part[PART_MODEL];
	image->text[VTAIMAGE_LABELS] = (struct vtaimage_chars) {
		(const char *)part[PART_LABELS], count[PART_LABELS] };
	return image_check_variants(image);
}

static void shape_of_four(struct vtaimage_tensor *t)
{
	uint32_t four[4] = { 1, 1, 1, 1 };

	if (t->rank > 4)
		return;
	for (uint32_t i = 0; i < t->rank; i++)
		four[4 - t->rank + i] = t->dims[i];
	t->n = four[0];
	t->c = four[1];
	t->h = four[2];
	t->w = four[3];
}

void vtaimage_tensor(const struct vtaimage *image, uint32_t i, struct vtaimage_tensor *t)
{
	const uint8_t *p = image->tensors + (size_t)i * TENSOR_SIZE;

	*t = (struct vtaimage_tensor) {
		.role = (enum vtaimage_role)get32(p + TENSOR_ROLE),
		.segment = (enum vtaimage_segment)get32(p + TENSOR_SEGMENT),
		.layout = (enum vtaimage_layout)get32(p + TENSOR_LAYOUT),
		.type = get32(p + TENSOR_TYPE), .rank = get32(p + TENSOR_RANK),
		.offset = get32(p + TENSOR_OFFSET), .bytes = get32(p + TENSOR_BYTES),
		.scale = get_float(p + TENSOR_SCALE), .zero = (int32_t)get32(p + TENSOR_POINT),
	};
	memcpy(t->name, p + TENSOR_NAME, VTAIMAGE_NAME_MAX);
	for (unsigned int j = 0; j < VTACPU_RANK_MAX; j++)
		t->dims[j] = get32(p + TENSOR_DIMS + 4 * j);
	shape_of_four(t);
}

/* Bytes of the tensor's shape; 0 if the shape or type is invalid. */
static uint64_t tensor_bytes(const struct vtaimage *image, const struct vtaimage_tensor *t)
{
	uint64_t bytes = vtacpu_type_bytes(t->type);

	if (t->rank < 1 || t->rank > VTACPU_RANK_MAX)
		return 0;
	for (uint32_t i = 0; i < VTACPU_RANK_MAX; i++) {
		if (i >= t->rank ? t->dims[i] != 0 : !dim_ok(t->dims[i]))
			return 0;
		bytes *= i < t->rank ? t->dims[i] : 1;
		if (bytes > VTAIMAGE_SEGMENT_MAX)
			return 0;
	}
	if (t->layout == VTAIMAGE_PLAIN)
		return bytes;
	if (t->type != VTACPU_I8 || t->rank != 4)
		return 0;
	return vtaops_act_bytes(&image->core, t->n, t->c, t->h, t->w);
}

static bool scale_ok(float scale)
{
	/* No NaN, and nothing infinite. */
	return scale >= 0 && scale < 3.4e38f;
}

/* Is tensor @i an int64 behind an output with the dimension that it names? */
static bool is_size(const struct vtaimage *image, uint32_t i, const struct vtaimage_tensor *t)
{
	struct vtaimage_tensor output;

	if (!i || t->type != VTACPU_I64 || t->layout != VTAIMAGE_PLAIN || t->rank != 1 ||
	    t->dims[0] != 1 || t->scale > 0)
		return false;
	vtaimage_tensor(image, i - 1, &output);
	return output.role == VTAIMAGE_OUTPUT && output.layout == VTAIMAGE_PLAIN && t->zero >= 0 &&
	       (uint32_t)t->zero < output.rank;
}

static int check_tensor(struct vtaimage *image, uint32_t i)
{
	const uint8_t *p = image->tensors + (size_t)i * TENSOR_SIZE;
	struct vtaimage_tensor t;
	uint32_t step, bytes;

	if (!name_ok(p + TENSOR_NAME))
		return image_bad(image, "a tensor's name is not a name");
	for (uint32_t j = 0; j < i; j++)
		if (!memcmp(p, image->tensors + (size_t)j * TENSOR_SIZE, VTAIMAGE_NAME_MAX))
			return image_bad(image, "two tensors have the same name");
	vtaimage_tensor(image, i, &t);
	if (t.role < VTAIMAGE_INPUT || t.role > VTAIMAGE_SIZE || t.layout > VTAIMAGE_PLAIN ||
	    (t.segment != VTAIMAGE_IN_HOST &&
	     (t.segment != VTAIMAGE_IN_ARENA || t.role != VTAIMAGE_INTERNAL)))
		return image_bad(image, "a tensor's role, layout or segment is not known");
	if (!scale_ok(t.scale) || get32(p + TENSOR_ZERO) || get64(p + TENSOR_ZERO + 4))
		return image_bad(image, "a tensor's scale is not a number, or it has more fields");
	if (t.role == VTAIMAGE_SIZE && !is_size(image, i, &t))
		return image_bad(image, "a size is not one integer behind an output that has its "
				 "dimension");
	if (!t.bytes || tensor_bytes(image, &t) != t.bytes)
		return image_bad(image, "a tensor's size is not that of its shape");
	step = t.layout == VTAIMAGE_PLAIN ? vtacpu_type_bytes(t.type) : image->core.inp_bytes;
	bytes = t.segment == VTAIMAGE_IN_HOST ? image->host_bytes : image->arena_bytes;
	if (t.offset % step || !within(t.offset, t.bytes, bytes))
		return image_bad(image, "a tensor is not within its segment");
	return 0;
}

void vtaimage_stream(const struct vtaimage *image, uint32_t i, struct vtaimage_stream *stream)
{
	const uint8_t *p = image->streams + (size_t)i * STREAM_SIZE;

	*stream = (struct vtaimage_stream) { get32(p + STREAM_INSN), get32(p + STREAM_COUNT),
					     get64(p + STREAM_CYCLES) };
}

/* Checks variant @number, which @image shows. */
static int check_variant(struct vtaimage *image, uint32_t number)
{
	int err = check_texts(image);

	for (uint32_t i = 0; !err && i < image->tensor_count; i++)
		err = check_tensor(image, i);
	if (!err)
		err = image_check_streams(image);
	if (!err)
		err = image_check_steps(image);
	if (!err)
		err = image_check_preprocess(image);
	return err ? err : image_check_inputs(image, number);
}

int vtaimage_open(struct vtaimage *image, const void *data, size_t size)
{
	int err;

	*image = (struct vtaimage) { .align = 0 };
	err = open_header(image, data, size);
	if (!err)
		err = open_parts(image, data, size);
	/* The first is the last, and stays selected. */
	for (uint32_t i = err ? 0 : vtaimage_variants(image); !err && i--;) {
		image_select(image, i);
		err = check_variant(image, i);
	}
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

int vtaimage_size_of(const struct vtaimage *image, uint32_t i, uint32_t *dim)
{
	struct vtaimage_tensor t;

	if (i + 1 >= image->tensor_count)
		return -1;
	vtaimage_tensor(image, i + 1, &t);
	if (t.role != VTAIMAGE_SIZE)
		return -1;
	*dim = (uint32_t)t.zero;
	return (int)i + 1;
}

int vtaimage_fits(struct vtaimage *image, const struct vtaops_core *core)
{
	struct vtaops_core card = *core;

	for (unsigned int i = 0; i < CONFIG_FIELDS; i++) {
		unsigned int need = *image_config(&image->core, i), has = *image_config(&card, i);

		if (need != has) {
			image_say(image, "the program is for a core with @ = #, the card has #",
				  image_config_names[i], need, has);
			return -VTAOPS_ECORE;
		}
	}
	return 0;
}

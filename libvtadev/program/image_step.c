// SPDX-License-Identifier: Apache-2.0
/* The steps of a program image, and its preprocessing: reading and checking them. */
#include "image.h"

static const uint8_t *step_at(const struct vtaimage *image, uint32_t i)
{
	return image->steps + (size_t)i * STEP_SIZE;
}

static struct vtaimage_place place_at(const uint8_t *p)
{
	return (struct vtaimage_place) { (enum vtaimage_segment)get32(p), get32(p + 4) };
}

/* Words that a kernel's step has: parameters, and two for each operand. */
static uint32_t params_words(uint32_t kernel)
{
	return (uint32_t)(vtacpu_params_bytes(kernel) / 4);
}

/* From its words; @operands of them are there. */
static void read_cpu(const struct vtaimage *image, const uint8_t *p, struct vtaimage_step *step,
		     uint32_t operands)
{
	const uint8_t *word = image->file + get32(image->file + AT_PARTS + 8 * PART_WORDS) +
			      4 * (size_t)get32(p + STEP_WORD);
	uint32_t words;

	step->kernel = get32(p + STEP_KERNEL);
	step->scratch = get32(p + STEP_SCRATCH);
	words = params_words(step->kernel);
	for (uint32_t i = 0; i < words; i++, word += 4)
		step->params.word[i] = get32(word);
	for (uint32_t i = 0; i < operands; i++, word += 8)
		step->io[i] = place_at(word);
}

void vtaimage_step(const struct vtaimage *image, uint32_t i, struct vtaimage_step *step)
{
	const uint8_t *p = step_at(image, i);
	struct vtacpu_need need;

	*step = (struct vtaimage_step) { .kind = (enum vtaimage_step_kind)get32(p + STEP_KIND) };
	if (step->kind == VTAIMAGE_COPY) {
		step->dst = place_at(p + STEP_DST);
		step->src = place_at(p + STEP_SRC);
		step->bytes = get32(p + STEP_BYTES);
		step->rows = get32(p + STEP_ROWS);
		step->pitch = get32(p + STEP_PITCH);
	} else if (step->kind == VTAIMAGE_FILL) {
		step->dst = place_at(p + STEP_DST);
		step->bytes = get32(p + STEP_FILL_BYTES);
		step->pattern = get32(p + STEP_PATTERN);
	} else if (step->kind == VTAIMAGE_RUN) {
		step->stream = get32(p + STEP_STREAM);
	} else {
		read_cpu(image, p, step, 0);
		vtacpu_need(step->kernel, &step->params, &need);
		read_cpu(image, p, step, need.operands);
	}
}

static uint32_t segment_bytes(const struct vtaimage *image, enum vtaimage_segment segment)
{
	switch (segment) {
	case VTAIMAGE_IN_ARENA:
		return image->arena_bytes;
	case VTAIMAGE_IN_HOST:
		return image->host_bytes;
	case VTAIMAGE_IN_CONSTS:
		return image->consts_bytes;
	default:
		return 0;
	}
}

static bool place_ok(const struct vtaimage *image, struct vtaimage_place place, uint64_t bytes)
{
	return within(place.offset, bytes, segment_bytes(image, place.segment));
}

static bool is_zero(const uint8_t *p, uint32_t bytes)
{
	while (bytes--)
		if (*p++)
			return false;
	return true;
}

/* Bytes from the first to the last in a segment. */
static uint64_t extent(const struct vtaimage_step *s, enum vtaimage_segment segment)
{
	if (!s->rows)
		return s->bytes;
	return segment == VTAIMAGE_IN_ARENA ?
		(uint64_t)(s->rows - 1) * s->pitch + s->bytes : (uint64_t)s->rows * s->bytes;
}

static int check_copy(struct vtaimage *image, uint32_t i)
{
	bool from_arena, to_arena, from_host, to_host;
	struct vtaimage_step s;

	vtaimage_step(image, i, &s);
	from_arena = s.src.segment == VTAIMAGE_IN_ARENA;
	from_host = s.src.segment == VTAIMAGE_IN_HOST;
	to_arena = s.dst.segment == VTAIMAGE_IN_ARENA;
	to_host = s.dst.segment == VTAIMAGE_IN_HOST;
	if (!(to_arena && (from_arena || from_host)) && !(to_host && from_arena))
		return image_say(image, "step # copies what the card does not reach", "", i, 0);
	if (s.rows ? s.pitch < s.bytes || (from_arena && to_arena) : s.pitch)
		return image_say(image, "step # has rows that are not between host and arena, or "
				 "closer than they are long", "", i, 0);
	if (!s.bytes || !place_ok(image, s.dst, extent(&s, s.dst.segment)) ||
	    !place_ok(image, s.src, extent(&s, s.src.segment)) ||
	    (from_arena && to_arena &&
	     image_overlap(s.dst.offset, s.bytes, s.src.offset, s.bytes)))
		return image_say(image, "step # copies beyond a segment, or onto itself", "", i, 0);
	return 0;
}

static int check_fill(struct vtaimage *image, uint32_t i)
{
	struct vtaimage_step s;

	vtaimage_step(image, i, &s);
	if (!is_zero(step_at(image, i) + STEP_FILL_END, STEP_SIZE - STEP_FILL_END))
		return image_say(image, "step # has more fields", "", i, 0);
	if (s.dst.segment != VTAIMAGE_IN_ARENA || !s.bytes || !place_ok(image, s.dst, s.bytes))
		return image_say(image, "step # fills what is not in the arena", "", i, 0);
	return 0;
}

/* May the output be where operand @i is? Else they have nothing in common. */
static bool apart(const struct vtaimage_step *s, const struct vtacpu_need *need, uint32_t i)
{
	uint32_t out = need->operands - 1;

	if (s->io[i].segment != VTAIMAGE_IN_HOST || !need->bytes[i])
		return true;
	if (need->scratch && image_overlap(s->scratch, need->scratch, s->io[i].offset,
					   need->bytes[i]))
		return false;
	if (i == out || !image_overlap(s->io[out].offset, need->bytes[out], s->io[i].offset,
				       need->bytes[i]))
		return true;
	return need->in_place >> i & 1 && s->io[out].offset == s->io[i].offset;
}

static int check_operands(struct vtaimage *image, uint32_t number, const struct vtaimage_step *s,
			  const struct vtacpu_need *need)
{
	uint32_t out = need->operands - 1;

	for (uint32_t i = 0; i < need->operands; i++) {
		struct vtaimage_place at = s->io[i];
		bool host = at.segment == VTAIMAGE_IN_HOST;

		if (!need->bytes[i]) {
			if (at.segment != VTAIMAGE_NOWHERE || at.offset)
				return image_say(image, "step # has an operand too many", "",
						 number, 0);
			continue;
		}
		if (!host && (i == out || at.segment != VTAIMAGE_IN_CONSTS))
			return image_say(image, "step # has an operand where it may not be", "",
					 number, 0);
		if (at.offset % need->value[i] || !place_ok(image, at, need->bytes[i]))
			return image_say(image, "step # has an operand that is not within its "
					 "segment", "", number, 0);
	}
	for (uint32_t i = 0; i < need->operands; i++)
		if (!apart(s, need, i))
			return image_say(image, "step # writes over its own operands", "", number,
					 0);
	return 0;
}

/* @work grows by the step's. */
static int check_cpu(struct vtaimage *image, uint32_t i, uint64_t *work)
{
	const uint8_t *p = step_at(image, i);
	uint32_t kernel = get32(p + STEP_KERNEL), first = get32(p + STEP_WORD);
	uint64_t words = params_words(kernel);
	struct vtaimage_step s = { .kind = VTAIMAGE_CPU };
	struct vtacpu_need need;

	if (!words || words > VTACPU_WORDS_MAX)
		return image_say(image, "step # is a kernel that does not exist: #", "", i, kernel);
	if (!within(first, words, image->word_count))
		return image_say(image, "step # has too few words", "", i, 0);
	read_cpu(image, p, &s, 0);
	if (vtacpu_need(kernel, &s.params, &need)) {
		image_say(image, "step #: @", need.why, i, 0);
		return -VTAOPS_EINVAL;
	}
	*work += need.work;
	if (*work > VTAIMAGE_WORK_MAX)
		return image_bad(image, "the steps of the CPU take more than 2^42 multiplications");
	if (!within(first, words + 2ull * need.operands, image->word_count))
		return image_say(image, "step # has too few words", "", i, 0);
	read_cpu(image, p, &s, need.operands);
	if (s.scratch % VTAIMAGE_HOST_ALIGN || (s.scratch && !need.scratch) ||
	    !within(s.scratch, need.scratch, image->host_bytes))
		return image_say(image, "step # has no scratch memory of # bytes", "", i,
				 (uint32_t)need.scratch);
	if (!is_zero(p + STEP_SCRATCH + 4, STEP_SIZE - STEP_SCRATCH - 4))
		return image_say(image, "step # has more fields", "", i, 0);
	return check_operands(image, i, &s, &need);
}

static int check_step(struct vtaimage *image, uint32_t i, uint64_t *work)
{
	const uint8_t *p = step_at(image, i);

	switch (get32(p + STEP_KIND)) {
	case VTAIMAGE_COPY:
		return check_copy(image, i);
	case VTAIMAGE_FILL:
		return check_fill(image, i);
	case VTAIMAGE_RUN:
		if (get32(p + STEP_STREAM) >= image->stream_count ||
		    !is_zero(p + STEP_STREAM + 4, STEP_SIZE - STEP_STREAM - 4))
			return image_say(image, "step # runs no stream", "", i, 0);
		return 0;
	case VTAIMAGE_CPU:
		return check_cpu(image, i, work);
	default:
		return image_say(image, "step # is of no kind that is known", "", i, 0);
	}
}

int image_check_steps(struct vtaimage *image)
{
	uint64_t work = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < image->step_count; i++)
		err = check_step(image, i, &work);
	return err;
}

void vtaimage_preprocess(const struct vtaimage *image, uint32_t i,
			 struct vtaimage_preprocess *pre)
{
	const uint8_t *p = image->preprocess + (size_t)i * PREPROCESS_SIZE;
	float *const floats[] = { pre->mean, pre->scale, pre->pad };

	*pre = (struct vtaimage_preprocess) {
		.tensor = get32(p), .nhwc = get32(p + 4), .order = get32(p + 8),
		.fit = get32(p + 12), .filter = get32(p + 16), .background = get32(p + 20),
	};
	for (unsigned int j = 0; j < 9; j++)
		floats[j / 3][j % 3] = get_float(p + 4 * (PREPROCESS_FLOATS + j));
}

static bool float_ok(float v)
{
	return v > -3.4e38f && v < 3.4e38f;
}

static bool floats_ok(const struct vtaimage_preprocess *pre, uint32_t channels)
{
	for (uint32_t i = 0; i < 3; i++) {
		if (!float_ok(pre->mean[i]) || !float_ok(pre->scale[i]) || !float_ok(pre->pad[i]))
			return false;
		if (i >= channels && (pre->mean[i] != 0 || pre->scale[i] != 0 || pre->pad[i] != 0))
			return false;
	}
	return true;
}

static int check_preprocess(struct vtaimage *image, uint32_t i)
{
	const uint8_t *p = image->preprocess + (size_t)i * PREPROCESS_SIZE;
	struct vtaimage_preprocess pre, other;
	struct vtaimage_tensor t;
	uint32_t channels;

	vtaimage_preprocess(image, i, &pre);
	for (uint32_t j = 0; j < i; j++) {
		vtaimage_preprocess(image, j, &other);
		if (other.tensor == pre.tensor)
			return image_bad(image, "an input has two kinds of preprocessing");
	}
	if (pre.tensor >= image->tensor_count || pre.nhwc > 1 || pre.order > VTAIMAGE_GRAY ||
	    pre.fit > VTAIMAGE_CROP || pre.filter > VTAIMAGE_FILTER_CUBIC ||
	    pre.background > 0xffffff || get32(p + 4 * (size_t)PREPROCESS_WORDS))
		return image_bad(image, "a kind of preprocessing is not known");
	vtaimage_tensor(image, pre.tensor, &t);
	channels = pre.order == VTAIMAGE_GRAY ? 1 : 3;
	if (t.role != VTAIMAGE_INPUT || t.rank != 4 || t.dims[0] != 1 ||
	    t.dims[pre.nhwc ? 3 : 1] != channels || (pre.nhwc && t.layout != VTAIMAGE_PLAIN) ||
	    (t.type != VTACPU_F32 && t.type != VTACPU_I8 && t.type != VTACPU_U8))
		return image_bad(image, "preprocessing makes a tensor that is not the input");
	return floats_ok(&pre, channels) ? 0 :
	       image_bad(image, "a number of the preprocessing is not one");
}

int image_check_preprocess(struct vtaimage *image)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < image->preprocess_count; i++)
		err = check_preprocess(image, i);
	return err;
}

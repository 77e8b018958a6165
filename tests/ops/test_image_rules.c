// SPDX-License-Identifier: GPL-2.0-only
/*
 * Program images: what is written reads back and runs; each rule of
 * docs/program-image.md that a step or a part breaks is a refusal that names it.
 */
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "image.h"
#include "machine.h"
#include "net.h"
#include "pair.h"
#include "steps.h"

#define MEM_SIZE	(4u << 20)

static const struct core_config config = { 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 };
static struct net net;
static uint8_t *image;
static size_t size;

static int setup(void **state)
{
	struct vtaops_core core = emulated_core(&config);

	(void)state;
	vtaops_core_init(&core);
	net_compile(&net, &core, 7);
	image = mixed_compile(&net, &size);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(image);
	net_free(&net);
	return 0;
}

/* The network twice and the kernels around it, by the kernels themselves. */
static void want_scores(struct machine *m, const float *picture, float *scores)
{
	enum { PIXELS = NET_H * NET_H, OUT_H = NET_H - 1, EACH = OUT_H * OUT_H };
	int8_t in[NET_C * PIXELS], out[2][NET_UNITS * EACH];
	struct vtacpu_softmax_f32 softmax = { 1, NET_UNITS, 1 };
	struct steps s;

	for (unsigned int i = 0; i < PIXELS; i++) {
		float v = picture[i] * 32;
		int byte = (int)(v < 0 ? v - 0.5f : v + 0.5f);

		in[i] = (int8_t)byte;
	}
	for (unsigned int c = 1; c < NET_C; c++)
		memcpy(in + c * PIXELS, in, PIXELS);
	for (unsigned int run = 0; run < 2; run++) {
		machine_reset(m);
		steps_init(&s, m, net.image, net.size);
		vtaops_pack_act(&m->core, steps_tensor(&s, "in"), in, 1, NET_C, NET_H, NET_H);
		steps_run(&s);
		vtaops_unpack_act(&m->core, out[run], steps_tensor(&s, "out"), 1, NET_UNITS, OUT_H,
				  OUT_H);
		steps_fini(&s);
		for (unsigned int i = 0; i < sizeof(in); i++)
			in[i] = (int8_t)~in[i];
		/* The last pixel of the last block of channels. */
		for (unsigned int c = m->core.block; c < NET_C; c++)
			in[(c + 1) * PIXELS - 1] = (int8_t)(MIXED_PATTERN >> c % 4 * 8);
	}
	for (unsigned int c = 0; c < NET_UNITS; c++) {
		int sum = 0;

		for (unsigned int i = 0; i < EACH; i++)
			sum += out[0][c * EACH + i] + 2 * out[1][c * EACH + i];
		scores[c] = 3.0f * (float)sum / EACH;
	}
	vtacpu_softmax_f32(&softmax, (void *[]) { scores, scores }, NULL);
}

TEST(runs_as_its_parts_do)
{
	float picture[NET_H * NET_H], want[NET_UNITS];
	struct machine m;
	struct steps s;

	for (unsigned int i = 0; i < NET_H * NET_H; i++)
		picture[i] = (float)((int)(i * 37 % 100) * 5 - 250) / 128 + 0.001f;
	emulated_init(&m, &config, MEM_SIZE, CORE_ORDER_GREEDY, 1);
	want_scores(&m, picture, want);
	machine_reset(&m);
	steps_init(&s, &m, image, size);
	for (unsigned int run = 0; run < 2; run++) {
		memcpy(steps_tensor(&s, "image"), picture, sizeof(picture));
		steps_run(&s);
		for (unsigned int i = 0; i < NET_UNITS; i++)
			assert_float_equal(((float *)steps_tensor(&s, "scores"))[i], want[i],
					   0.000001);
	}
	steps_fini(&s);
	emulated_fini(&m);
}

TEST(reads_back)
{
	struct vtaimage_preprocess pre;
	struct vtaimage_stream stream;
	struct vtaimage_tensor t;
	struct vtaimage_step step;
	struct vtaimage v;

	assert_int_equal(vtaimage_open(&v, image, size), 0);
	assert_int_equal(v.version, 2);
	assert_string_equal(v.name, "mixed");
	assert_int_equal(v.tensor_count, 3);
	assert_int_equal(v.stream_count, 1);
	assert_int_equal(v.cycles, net.builder.cycles);
	vtaimage_stream(&v, 0, &stream);
	assert_int_equal(stream.insn_count, net.builder.insns);
	assert_int_equal(v.text[VTAIMAGE_REPORT].bytes, 9);
	assert_memory_equal(v.text[VTAIMAGE_REPORT].text, "all good\n", 9);
	vtaimage_preprocess(&v, 0, &pre);
	assert_int_equal(pre.order, VTAIMAGE_GRAY);
	assert_true(pre.mean[0] == 128 && pre.scale[0] == 1.0f / 64 && pre.pad[0] == 0);
	assert_int_equal(vtaimage_find(&v, "scores"), 2);
	vtaimage_tensor(&v, 2, &t);
	assert_int_equal(t.rank, 2);
	assert_true(t.n == 1 && t.c == 1 && t.h == 1 && t.w == NET_UNITS);
	vtaimage_tensor(&v, 1, &t);
	assert_int_equal(t.segment, VTAIMAGE_IN_ARENA);
	assert_true(t.scale == 1.0f / 32);
	vtaimage_step(&v, 1, &step);
	assert_int_equal(step.kernel, VTACPU_MOVE);
	assert_int_equal(step.params.move.dims[0], NET_C);
	assert_int_equal(step.io[0].segment, VTAIMAGE_IN_HOST);
	vtaimage_step(&v, 9, &step);
	assert_int_equal(step.kind, VTAIMAGE_FILL);
	assert_int_equal(step.dst.segment, VTAIMAGE_IN_ARENA);
	assert_int_equal(step.bytes, v.core.inp_bytes);
	assert_int_equal(step.pattern, MIXED_PATTERN);
}

TEST(same_source_same_bytes)
{
	size_t again;
	uint8_t *other = mixed_compile(&net, &again);

	assert_int_equal(again, size);
	assert_memory_equal(other, image, size);
	free(other);
}

/* The offset in the file of entry @i of a part. */
static size_t entry(enum image_part part, unsigned int i)
{
	return get32(image + AT_PARTS + 8 * part) + (size_t)i * image_part_size[part];
}

TEST(a_broken_rule_is_named)
{
	const size_t step = entry(PART_STEPS, 0), copy = entry(PART_STEPS, 3);
	const size_t fill = entry(PART_STEPS, 9);
	const size_t quantise = entry(PART_WORDS, 0), tensor = entry(PART_TENSORS, 0);
	const size_t table = entry(PART_WORDS, get32(image + entry(PART_STEPS, 6) + STEP_WORD));
	const struct {
		size_t at;
		uint32_t value;
		const char *why;
	} cases[] = {
		{ AT_VERSION, 1, "the image has version 1, this library knows 2" },
		{ AT_VERSION, 3, "the image has version 3, this library knows 2" },
		{ AT_HOST_BYTES, 0x40000001, "a segment is larger than 1 GiB" },
		{ AT_HOST_BYTES, 64, "a tensor is not within its segment" },
		{ AT_ARENA_BYTES, 64, "a tensor is not within its segment" },
		{ AT_PARTS + 8, 0, "a part of the image is not where it belongs" },
		{ AT_VARIANTS, 1, "a part of the image is not where it belongs" },
		{ AT_VARIANTS + 4, 1, "a part of the image is not where it belongs" },
		{ AT_NAME, 0x3d3d3d3d, "the program's name is not a name" },
		{ tensor + TENSOR_NAME, 0x20202020, "a tensor's name is not a name" },
		{ tensor + TENSOR_ROLE, 4,
		  "a size is not one integer behind an output that has its dimension" },
		{ tensor + TENSOR_ROLE, 5, "a tensor's role, layout or segment is not known" },
		{ tensor + TENSOR_SEGMENT, 1, "a tensor's role, layout or segment is not known" },
		{ tensor + TENSOR_TYPE, 9, "a tensor's size is not that of its shape" },
		{ tensor + TENSOR_RANK, 9, "a tensor's size is not that of its shape" },
		{ tensor + TENSOR_DIMS + 28, 1, "a tensor's size is not that of its shape" },
		{ tensor + TENSOR_OFFSET, 2, "a tensor is not within its segment" },
		{ tensor + TENSOR_SCALE, 0x7fc00000,
		  "a tensor's scale is not a number, or it has more fields" },
		{ entry(PART_STREAMS, 0), 8,
		  "stream 0 is not within the model, or overlaps another" },
		{ entry(PART_RELOCS, 0), 1, "instruction 0 has no relocation" },
		{ step + STEP_KIND, 5, "step 0 is of no kind that is known" },
		{ step + STEP_KERNEL, 1000, "step 0 is a kernel that does not exist: 1000" },
		{ step + STEP_WORD, 0xfffffff0, "step 0 has too few words" },
		{ step + STEP_SCRATCH, 64, "step 0 has no scratch memory of 0 bytes" },
		{ step + STEP_SIZE - 4, 1, "step 0 has more fields" },
		{ quantise, 0, "step 0: a size is 0, or too large" },
		{ quantise + 32, 0xfffff000,
		  "step 0 has an operand that is not within its segment" },
		{ quantise + 28, 4, "step 0 has an operand where it may not be" },
		{ quantise + 32, 2, "step 0 has an operand that is not within its segment" },
		{ quantise + 44, 2, "step 0 has an operand too many" },
		{ quantise + 52, 3, "step 0 has an operand where it may not be" },
		{ quantise + 56, 4, "step 0 writes over its own operands" },
		{ table + 24, 0x80, "step 6 writes over its own operands" },
		{ copy + STEP_DST, 2, "step 3 copies what the card does not reach" },
		{ copy + STEP_SRC, 3, "step 3 copies what the card does not reach" },
		{ copy + STEP_SRC, 1, "step 3 copies beyond a segment, or onto itself" },
		{ copy + STEP_ROWS, 2, "step 3 has rows that are not between host and arena, or "
		  "closer than they are long" },
		{ copy + STEP_PITCH, 16, "step 3 has rows that are not between host and arena, or "
		  "closer than they are long" },
		{ copy + STEP_BYTES, 0, "step 3 copies beyond a segment, or onto itself" },
		{ fill + STEP_DST, 2, "step 9 fills what is not in the arena" },
		{ fill + STEP_DST + 4, 0xfffffff0, "step 9 fills what is not in the arena" },
		{ fill + STEP_FILL_BYTES, 0, "step 9 fills what is not in the arena" },
		{ fill + STEP_FILL_BYTES, 0x40000000, "step 9 fills what is not in the arena" },
		{ fill + STEP_FILL_END, 1, "step 9 has more fields" },
		{ fill + STEP_SIZE - 4, 1, "step 9 has more fields" },
		{ entry(PART_STEPS, 4) + STEP_STREAM, 1, "step 4 runs no stream" },
		{ entry(PART_PREPROCESS, 0), 2,
		  "preprocessing makes a tensor that is not the input" },
		{ entry(PART_PREPROCESS, 0) + 8, 0,
		  "preprocessing makes a tensor that is not the input" },
		{ entry(PART_PREPROCESS, 0) + 28, 1, "a number of the preprocessing is not one" },
		{ entry(PART_LABELS, 0), 0x1b1b1b1b,
		  "a text is not UTF-8, or has control characters" },
		{ entry(PART_REPORT, 0), 0x80c0, "a text is not UTF-8, or has control characters" },
	};
	struct vtaimage v;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t was = get32(image + cases[i].at), crc = get32(image + AT_CRC);
		int err;

		put32(image + cases[i].at, cases[i].value);
		put32(image + AT_CRC, image_crc(image, size));
		err = vtaimage_open(&v, image, size);
		put32(image + cases[i].at, was);
		put32(image + AT_CRC, crc);
		assert_string_equal(v.why, cases[i].why);
		assert_int_equal(err, -VTAOPS_EINVAL);
	}
	assert_int_equal(vtaimage_open(&v, image, size), 0);
}

TEST(variants_read_back)
{
	struct vtaimage_shape shape = { .rank = 2, .dims = { 1, 8 } };
	struct vtaimage v, second, back;
	struct vtaimage_tensor t;
	struct pair p;

	pair_make(&p, &net.core);
	assert_int_equal(vtaimage_open(&v, p.image, p.size), 0);
	assert_true(vtaimage_variants(&v) == 2 && v.host_bytes == 72);
	assert_true(v.tensor_count == 2 && v.step_count == 1);
	assert_int_equal(vtaimage_find(&v, "z"), -1);
	assert_int_equal(vtaimage_variant(&v, 1, &second), 0);
	assert_true(second.host_bytes == 160);
	assert_true(second.tensor_count == 3 && second.step_count == 2);
	assert_int_equal(vtaimage_find(&second, "z"), 1);
	vtaimage_tensor(&second, 0, &t);
	assert_int_equal(t.dims[1], 8);
	assert_int_equal(second.text[VTAIMAGE_REPORT].bytes, 3);
	assert_memory_equal(second.text[VTAIMAGE_REPORT].text, "two", 3);
	assert_int_equal(second.text[VTAIMAGE_LABELS].bytes, 2);
	assert_int_equal(vtaimage_variant(&second, 2, &back), -VTAOPS_EINVAL);
	assert_int_equal(vtaimage_variant(&second, 0, &second), 0);
	assert_memory_equal(&second, &v, sizeof(v));

	assert_int_equal(vtaimage_match(&v, 1, &shape), 1);
	shape.dims[1] = 2;
	assert_int_equal(vtaimage_match(&v, 1, &shape), 0);
	shape.dims[1] = 3;
	assert_int_equal(vtaimage_match(&v, 1, &shape), -1);
	shape.rank = 0;
	assert_int_equal(vtaimage_match(&v, 1, &shape), 0);
	assert_int_equal(vtaimage_match(&v, 0, &shape), -1);
	assert_int_equal(vtaimage_match(&v, 2, (struct vtaimage_shape[2]) { 0 }), -1);
	pair_free(&p);
}

/* Each number of the table of variants that is wrong is refused, whatever the checksum. */
TEST(a_broken_variant_is_named)
{
	enum { FIRST = 0, SECOND = VARIANT_SIZE };
	static const struct {
		unsigned int at;
		uint32_t value;
		const char *why;
	} cases[] = {
		{ FIRST, 0, "variant 0 has no tensors or no steps" },
		{ SECOND + 12, 0, "variant 1 has no tensors or no steps" },
		{ FIRST, 3, "the variants have more or less than the image" },
		{ SECOND, 0xffffffff, "the variants have more or less than the image" },
		{ SECOND + 4, 1, "the variants have more or less than the image" },
		{ FIRST + 8, 0xfffffffe, "the variants have more or less than the image" },
		{ SECOND + 16, 1, "the variants have more or less than the image" },
		{ FIRST + 20, 0x80000000, "the variants have more or less than the image" },
		{ SECOND + 24, 1, "the variants have more or less than the image" },
		{ FIRST + VARIANT_ARENA_BYTES, 64, "no variant has as much memory as the image" },
		{ SECOND + VARIANT_HOST_BYTES, 164, "no variant has as much memory as the image" },
		{ FIRST + VARIANT_HOST_BYTES, 68, "a tensor is not within its segment" },
		{ SECOND + VARIANT_ZERO, 1, "variant 1 has more fields" },
		{ SECOND + VARIANT_SIZE - 4, 1, "variant 1 has more fields" },
	};
	struct vtaimage v;
	struct pair p;
	uint8_t *table;

	pair_make(&p, &net.core);
	table = p.image + get32(p.image + AT_VARIANTS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t was = get32(table + cases[i].at);

		put32(table + cases[i].at, cases[i].value);
		put32(p.image + AT_CRC, image_crc(p.image, p.size));
		assert_int_equal(vtaimage_open(&v, p.image, p.size), -VTAOPS_EINVAL);
		assert_string_equal(v.why, cases[i].why);
		put32(table + cases[i].at, was);
	}
	put32(p.image + AT_VARIANTS + 4, 65);
	put64(p.image + AT_SIZE, p.size);
	put32(p.image + AT_CRC, image_crc(p.image, p.size));
	assert_int_equal(vtaimage_open(&v, p.image, p.size), -VTAOPS_EINVAL);
	assert_string_equal(v.why, "there is something behind the parts");
	pair_free(&p);
}

TEST(variants_have_the_same_inputs_in_other_shapes)
{
	struct vtaimage v;
	struct pair p;

	pair_make(&p, &net.core);
	p.tensors[2] = pair_tensor("x", VTAIMAGE_INPUT, 2, 0);
	pair_write(&p);
	assert_int_equal(vtaimage_open(&v, p.image, p.size), -VTAOPS_EINVAL);
	assert_string_equal(v.why, "variants 0 and 1 are for the same shapes");
	p.tensors[2] = pair_tensor("w", VTAIMAGE_INPUT, 8, 0);
	pair_write(&p);
	assert_int_equal(vtaimage_open(&v, p.image, p.size), -VTAOPS_EINVAL);
	assert_string_equal(v.why, "variants 0 and 1 have other inputs");
	p.tensors[2] = pair_tensor("x", VTAIMAGE_INPUT, 8, 0);
	p.tensors[2].type = VTACPU_I32;
	pair_write(&p);
	assert_int_equal(vtaimage_open(&v, p.image, p.size), -VTAOPS_EINVAL);
	assert_string_equal(v.why, "variants 0 and 1 have other inputs");
	p.variants[0].tensor_count = 1;
	p.variants[1].tensor_count = 4;
	pair_write(&p);
	assert_int_equal(vtaimage_open(&v, p.image, p.size), -VTAOPS_EINVAL);
	p.count = 1;
	pair_write(&p);
	assert_int_equal(vtaimage_open(&v, p.image, p.size), -VTAOPS_EINVAL);
	assert_string_equal(v.why, "there are too many variants, or one alone");
	assert_int_equal(vtaimage_size_variants(&p.source, p.variants, VTAIMAGE_VARIANTS_MAX + 1),
			 0);
	pair_free(&p);
}

/* A small file does not compute for days: each step may take its time, not all of them. */
TEST(the_work_of_a_run_has_a_limit)
{
	enum { STEPS = 100, SIDE = 1u << 12 };
	static struct vtaimage_step steps[STEPS];
	struct vtacpu_need need;
	struct vtaimage v;
	struct pair p;

	pair_make(&p, &net.core);
	for (unsigned int i = 0; i < STEPS; i++)
		steps[i] = (struct vtaimage_step) {
			.kind = VTAIMAGE_CPU, .kernel = VTACPU_GEMM_F32, .scratch = 128,
			.params.gemm_f32.mat = { .batch = { 1, 1, 1 }, .m = SIDE, .n = SIDE,
						 .k = SIDE },
			.params.gemm_f32.alpha = 1,
			.io = { { VTAIMAGE_IN_HOST, 0 }, { VTAIMAGE_IN_HOST, 0 },
				{ VTAIMAGE_NOWHERE, 0 }, { VTAIMAGE_IN_HOST, 1 << 20 } },
		};
	assert_int_equal(vtacpu_need(VTACPU_GEMM_F32, &steps[0].params, &need), 0);
	p.source.steps = steps;
	p.source.tensor_count = 2;
	p.source.host_bytes = (1 << 20) + 4 * SIDE * SIDE;
	for (unsigned int i = 0; i < 2; i++) {
		p.source.step_count = (uint32_t)(VTAIMAGE_WORK_MAX / need.work) + i;
		assert_true(p.source.step_count <= STEPS);
		p.source.text[VTAIMAGE_REPORT].bytes = 0;
		p.size = vtaimage_size(&p.source);
		free(p.image);
		p.image = malloc(p.size);
		assert_int_equal(vtaimage_write(&p.source, p.image, p.size, &v),
				 i ? -VTAOPS_EINVAL : 0);
	}
	assert_string_equal(v.why, "the steps of the CPU take more than 2^42 multiplications");
	pair_free(&p);
}

GROUP(setup, teardown);

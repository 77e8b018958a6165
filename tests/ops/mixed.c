// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "net.h"

enum { PIXELS = NET_H * NET_H, OUT_H = NET_H - 1, OUT = NET_UNITS * OUT_H * OUT_H };

/* Offsets in the host's memory and among the constants. */
struct places {
	uint32_t image, bytes, all, packed, out[2], sum, plain, floats, mean, scores, end;
	uint32_t scale, table, out_scale, consts_end;
};

static uint32_t take(uint32_t *end, size_t bytes)
{
	uint32_t at = *end;

	*end = (uint32_t)((at + bytes + VTAIMAGE_HOST_ALIGN - 1) / VTAIMAGE_HOST_ALIGN *
			  VTAIMAGE_HOST_ALIGN);
	return at;
}

static struct places places(const struct net *net)
{
	size_t in = vtaops_act_bytes(&net->core, 1, NET_C, NET_H, NET_H);
	size_t out = vtaops_act_bytes(&net->core, 1, NET_UNITS, OUT_H, OUT_H);
	struct places p = { .end = 0 };

	p.image = take(&p.end, PIXELS * sizeof(float));
	p.bytes = take(&p.end, PIXELS);
	p.all = take(&p.end, (size_t)NET_C * PIXELS);
	p.packed = take(&p.end, in);
	p.out[0] = take(&p.end, out);
	p.out[1] = take(&p.end, out);
	p.plain = take(&p.end, (size_t)2 * OUT);
	p.sum = take(&p.end, OUT);
	p.floats = take(&p.end, OUT * sizeof(float));
	p.mean = take(&p.end, NET_UNITS * sizeof(float));
	p.scores = take(&p.end, NET_UNITS * sizeof(float));
	p.scale = take(&p.consts_end, sizeof(float));
	p.table = take(&p.consts_end, 256);
	p.out_scale = take(&p.consts_end, sizeof(float));
	return p;
}

#define HOST(at) { VTAIMAGE_IN_HOST, at }
#define CONSTS(at) { VTAIMAGE_IN_CONSTS, at }

static struct vtaimage_step *kernel(struct vtaimage_step **next, enum vtacpu_kernel kernel)
{
	struct vtaimage_step *step = (*next)++;

	*step = (struct vtaimage_step) { .kind = VTAIMAGE_CPU, .kernel = kernel };
	return step;
}

/* To the card, run, back; the second time element by element, the last of them filled. */
static void card(struct vtaimage_step **next, const struct net *net, const struct places *p,
		 unsigned int which)
{
	size_t in = vtaops_act_bytes(&net->core, 1, NET_C, NET_H, NET_H);
	size_t out = vtaops_act_bytes(&net->core, 1, NET_UNITS, OUT_H, OUT_H);
	uint32_t element = net->core.inp_bytes;

	*(*next)++ = (struct vtaimage_step) {
		.kind = VTAIMAGE_COPY, .dst = { VTAIMAGE_IN_ARENA, net->inp },
		.src = HOST(p->packed), .bytes = (uint32_t)in };
	if (which) {
		(*next)[-1].rows = (uint32_t)in / element - 1;
		(*next)[-1].bytes = element;
		(*next)[-1].pitch = element;
		*(*next)++ = (struct vtaimage_step) {
			.kind = VTAIMAGE_FILL,
			.dst = { VTAIMAGE_IN_ARENA, net->inp + (uint32_t)in - element },
			.bytes = element, .pattern = MIXED_PATTERN };
	}
	*(*next)++ = (struct vtaimage_step) { .kind = VTAIMAGE_RUN };
	*(*next)++ = (struct vtaimage_step) {
		.kind = VTAIMAGE_COPY, .dst = HOST(p->out[which]),
		.src = { VTAIMAGE_IN_ARENA, net->out }, .bytes = (uint32_t)out };
}

static struct vtacpu_pack packing(const struct net *net, uint32_t c, uint32_t h)
{
	return (struct vtacpu_pack) { net->core.log_inp_width, net->core.log_batch,
				      net->core.log_block, 1, c, h, h };
}

static void before(struct vtaimage_step **next, const struct net *net, const struct places *p)
{
	struct vtaimage_step *s;

	s = kernel(next, VTACPU_QUANTISE);
	s->params.quantise = (struct vtacpu_quantise) { 1, 1, PIXELS, VTACPU_I8, 0, -128, 127 };
	s->io[0] = (struct vtaimage_place)HOST(p->image);
	s->io[1] = (struct vtaimage_place)CONSTS(p->scale);
	s->io[3] = (struct vtaimage_place)HOST(p->bytes);
	s = kernel(next, VTACPU_MOVE);
	s->params.move = (struct vtacpu_move) {
		.bytes = 1, .rank = 2, .dims = { NET_C, PIXELS }, .x_stride = { 0, 1 },
		.y_stride = { PIXELS, 1 }, .x_count = PIXELS, .y_count = NET_C * PIXELS };
	s->io[0] = (struct vtaimage_place)HOST(p->bytes);
	s->io[1] = (struct vtaimage_place)HOST(p->all);
	s = kernel(next, VTACPU_PACK);
	s->params.pack = packing(net, NET_C, NET_H);
	s->io[0] = (struct vtaimage_place)HOST(p->all);
	s->io[1] = (struct vtaimage_place)HOST(p->packed);
}

static void between(struct vtaimage_step **next, const struct net *net, const struct places *p)
{
	struct vtaimage_step *s;

	s = kernel(next, VTACPU_TABLE_I8);
	s->params.table_i8.count = NET_C * PIXELS;
	s->io[0] = (struct vtaimage_place)HOST(p->all);
	s->io[1] = (struct vtaimage_place)CONSTS(p->table);
	s->io[2] = s->io[0];
	s = kernel(next, VTACPU_PACK);
	s->params.pack = packing(net, NET_C, NET_H);
	s->io[0] = (struct vtaimage_place)HOST(p->all);
	s->io[1] = (struct vtaimage_place)HOST(p->packed);
}

static void after(struct vtaimage_step **next, const struct net *net, const struct places *p)
{
	struct vtaimage_step *s;

	for (uint32_t i = 0; i < 2; i++) {
		s = kernel(next, VTACPU_UNPACK);
		s->params.pack = packing(net, NET_UNITS, OUT_H);
		s->io[0] = (struct vtaimage_place)HOST(p->out[i]);
		s->io[1] = (struct vtaimage_place)HOST(p->plain + i * OUT);
	}
	s = kernel(next, VTACPU_BINARY_I8);
	s->params.binary_i8 = (struct vtacpu_binary_i8) {
		.cast = { VTACPU_ADD, 1, { OUT }, { 1 }, { 1 } }, .a_mul = 1, .b_mul = 2,
		.post = { .lo = -128, .hi = 127 } };
	s->io[0] = (struct vtaimage_place)HOST(p->plain);
	s->io[1] = (struct vtaimage_place)HOST(p->plain + OUT);
	s->io[2] = (struct vtaimage_place)HOST(p->sum);
	s = kernel(next, VTACPU_DEQUANTISE);
	s->params.dequantise = (struct vtacpu_dequantise) { 1, 1, OUT, VTACPU_I8, 0 };
	s->io[0] = (struct vtaimage_place)HOST(p->sum);
	s->io[1] = (struct vtaimage_place)CONSTS(p->out_scale);
	s->io[3] = (struct vtaimage_place)HOST(p->floats);
	s = kernel(next, VTACPU_REDUCE_F32);
	s->params.reduce_f32 = (struct vtacpu_reduce_f32) { VTACPU_REDUCE_MEAN, 2, 2,
							    { NET_UNITS, OUT_H * OUT_H } };
	s->io[0] = (struct vtaimage_place)HOST(p->floats);
	s->io[1] = (struct vtaimage_place)HOST(p->mean);
	s = kernel(next, VTACPU_SOFTMAX_F32);
	s->params.softmax_f32 = (struct vtacpu_softmax_f32) { 1, NET_UNITS, 1 };
	s->io[0] = (struct vtaimage_place)HOST(p->mean);
	s->io[1] = (struct vtaimage_place)HOST(p->scores);
}

uint8_t *mixed_compile(const struct net *net, size_t *size)
{
	static const char labels[] = "one\ntwo\nthree, or drei\n\nfünf";
	const struct vtaimage_stream stream = { net->insn_at, (uint32_t)net->builder.insns,
						net->builder.cycles };
	const struct vtaimage_preprocess pre = {
		.order = VTAIMAGE_GRAY, .filter = VTAIMAGE_FILTER_LINEAR, .background = 0xffffff,
		.mean = { 128 }, .scale = { 1.0f / 64 } };
	const struct places p = places(net);
	const struct vtaimage_tensor tensors[] = {
		{ .name = "image", .role = VTAIMAGE_INPUT, .offset = p.image,
		  .bytes = PIXELS * sizeof(float), .segment = VTAIMAGE_IN_HOST,
		  .layout = VTAIMAGE_PLAIN, .type = VTACPU_F32, .rank = 4,
		  .dims = { 1, 1, NET_H, NET_H } },
		{ .name = "card:in", .role = VTAIMAGE_INTERNAL, .offset = net->inp,
		  .bytes = (uint32_t)vtaops_act_bytes(&net->core, 1, NET_C, NET_H, NET_H),
		  .segment = VTAIMAGE_IN_ARENA, .type = VTACPU_I8, .rank = 4,
		  .dims = { 1, NET_C, NET_H, NET_H }, .scale = 1.0f / 32 },
		{ .name = "scores", .role = VTAIMAGE_OUTPUT, .offset = p.scores,
		  .bytes = NET_UNITS * sizeof(float), .segment = VTAIMAGE_IN_HOST,
		  .layout = VTAIMAGE_PLAIN, .type = VTACPU_F32, .rank = 2,
		  .dims = { 1, NET_UNITS } },
	};
	struct vtaimage_step steps[24], *next = steps;
	const float scales[] = { 1.0f / 32, 3 };
	struct vtaimage_source source;
	uint8_t *consts, *image;
	struct vtaimage check;

	consts = calloc(1, p.consts_end);
	if (!consts)
		machine_die("out of memory");
	memcpy(consts + p.scale, &scales[0], sizeof(float));
	memcpy(consts + p.out_scale, &scales[1], sizeof(float));
	for (int i = 0; i < 256; i++)
		consts[p.table + (unsigned int)i] = (uint8_t)~i;
	before(&next, net, &p);
	card(&next, net, &p, 0);
	between(&next, net, &p);
	card(&next, net, &p, 1);
	after(&next, net, &p);
	source = (struct vtaimage_source) {
		.core = &net->core, .name = "mixed", .model = net->model,
		.model_bytes = net->model_bytes, .arena_bytes = net->arena_bytes,
		.consts = consts, .consts_bytes = p.consts_end, .host_bytes = p.end,
		.streams = &stream, .stream_count = 1, .steps = steps,
		.step_count = (uint32_t)(next - steps), .tensors = tensors, .tensor_count = 3,
		.preprocess = &pre, .preprocess_count = 1,
		.text = { { labels, sizeof(labels) - 1 }, { "all good\n", 9 }, { "{}", 2 } },
	};
	*size = vtaimage_size(&source);
	image = malloc(*size + 1);
	if (!image || vtaimage_write(&source, image, *size - 1, &check) != -VTAOPS_ESPACE)
		machine_die("an image of %zu bytes is written to fewer", *size);
	if (vtaimage_write(&source, image, *size, &check))
		machine_die("%s", check.why);
	free(consts);
	return image;
}

// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "machine.h"
#include "net.h"

static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

static uint32_t take(const struct net *net, uint32_t *used, size_t bytes)
{
	uint32_t align = image_align(&net->core), at = (*used + align - 1) / align * align;

	*used = at + (uint32_t)bytes;
	return at;
}

static size_t out_bytes(const struct vtaops_core *core)
{
	return vtaops_act_bytes(core, 1, NET_UNITS, NET_H - 1, NET_H - 1);
}

static void lower(struct net *net)
{
	struct vtaops_builder *b = &net->builder;

	vtaops_conv2d(b, &(struct vtaops_conv2d) {
		.inp = VTAIMAGE_ARENA + net->inp, .out = VTAIMAGE_ARENA + net->mid,
		.wgt = VTAIMAGE_MODEL + net->wgt, .n = 1, .in = NET_C, .h = NET_H,
		.w = NET_H, .units = NET_UNITS, .kh = 3, .kw = 3,
		.stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1,
		.post = { .bias = VTAIMAGE_MODEL + net->bias, .shift = 7, .lo = -2, .hi = 1 },
	});
	vtaops_max_pool(b, &(struct vtaops_window) {
		.inp = VTAIMAGE_ARENA + net->mid, .out = VTAIMAGE_ARENA + net->pool,
		.identity = VTAIMAGE_MODEL + net->identity, .n = 1, .c = NET_UNITS, .h = NET_H,
		.w = NET_H, .kh = 2, .kw = 2, .stride_h = 1, .stride_w = 1,
		.post = { .lo = -2, .hi = 1 },
	});
	vtaops_add(b, &(struct vtaops_eltwise) {
		.a = VTAIMAGE_ARENA + net->pool, .b = VTAIMAGE_ARENA + net->pool,
		.out = VTAIMAGE_ARENA + net->out, .identity = VTAIMAGE_MODEL + net->identity,
		.elements = (uint32_t)(out_bytes(&net->core) / net->core.inp_bytes),
		.post = { .lo = -2, .hi = 1 },
	});
	if (vtaops_finish(b))
		machine_die("the network cannot be lowered: %s", b->why);
}

static struct vtaimage_tensor tensor(const struct net *net, const char *name,
				     enum vtaimage_role role, uint32_t c, uint32_t h,
				     uint32_t offset)
{
	struct vtaimage_tensor t = {
		.role = role, .type = VTACPU_I8, .rank = 4, .dims = { 1, c, h, h },
		.segment = role == VTAIMAGE_INTERNAL ? VTAIMAGE_IN_ARENA : VTAIMAGE_IN_HOST,
		.offset = offset, .bytes = (uint32_t)vtaops_act_bytes(&net->core, 1, c, h, h),
	};

	strcpy(t.name, name);
	return t;
}

void net_compile(struct net *net, const struct vtaops_core *core, uint64_t seed)
{
	int8_t wgt[NET_UNITS * NET_C * 9];
	int32_t bias[NET_UNITS];
	uint32_t uop_at, host_bytes = 0, host_in, host_out;
	struct vtaimage check;

	*net = (struct net) { .core = *core };
	for (size_t i = 0; i < sizeof(wgt); i++)
		wgt[i] = (int8_t)rnd(&seed, 256);
	for (unsigned int i = 0; i < NET_UNITS; i++)
		bias[i] = (int32_t)rnd(&seed, 1000) - 500;
	net->inp = take(net, &net->arena_bytes, vtaops_act_bytes(core, 1, NET_C, NET_H, NET_H));
	net->mid = take(net, &net->arena_bytes, vtaops_act_bytes(core, 1, NET_UNITS, NET_H, NET_H));
	net->pool = take(net, &net->arena_bytes, out_bytes(core));
	net->out = take(net, &net->arena_bytes, out_bytes(core));
	net->wgt = take(net, &net->model_bytes, vtaops_wgt_bytes(core, NET_UNITS, NET_C, 3, 3));
	net->bias = take(net, &net->model_bytes, vtaops_bias_bytes(core, NET_UNITS));
	net->identity = take(net, &net->model_bytes, core->wgt_bytes);
	vtaops_begin(&net->builder, &net->core, NULL, 0, NULL, 0, 0);
	lower(net);
	net->insn_at = take(net, &net->model_bytes, net->builder.insns * 16);
	uop_at = take(net, &net->model_bytes, net->builder.uops * 4);
	net->model = calloc(1, net->model_bytes);
	if (!net->model)
		machine_die("out of memory");
	vtaops_pack_wgt(core, net->model + net->wgt, wgt, NET_UNITS, NET_C, 3, 3);
	vtaops_pack_bias(core, net->model + net->bias, bias, NET_UNITS);
	vtaops_pack_identity(core, net->model + net->identity);
	vtaops_begin(&net->builder, &net->core, (struct vtaops_insn *)(net->model + net->insn_at),
		     net->builder.insns, (uint32_t *)(net->model + uop_at), net->builder.uops,
		     VTAIMAGE_MODEL + uop_at);
	lower(net);

	host_in = take(net, &host_bytes, vtaops_act_bytes(core, 1, NET_C, NET_H, NET_H));
	host_out = take(net, &host_bytes, out_bytes(core));
	const struct vtaimage_tensor tensors[] = {
		tensor(net, "in", VTAIMAGE_INPUT, NET_C, NET_H, host_in),
		tensor(net, "conv/mid.1", VTAIMAGE_INTERNAL, NET_UNITS, NET_H, net->mid),
		tensor(net, "out", VTAIMAGE_OUTPUT, NET_UNITS, NET_H - 1, host_out),
	};
	const struct vtaimage_stream stream = { net->insn_at, (uint32_t)net->builder.insns,
						net->builder.cycles };
	const struct vtaimage_step steps[] = {
		{ .kind = VTAIMAGE_COPY, .dst = { VTAIMAGE_IN_ARENA, net->inp },
		  .src = { VTAIMAGE_IN_HOST, host_in }, .bytes = tensors[0].bytes },
		{ .kind = VTAIMAGE_RUN },
		{ .kind = VTAIMAGE_COPY, .dst = { VTAIMAGE_IN_HOST, host_out },
		  .src = { VTAIMAGE_IN_ARENA, net->out }, .bytes = tensors[2].bytes },
	};
	const struct vtaimage_source source = {
		.core = &net->core, .name = "test", .model = net->model,
		.model_bytes = net->model_bytes, .arena_bytes = net->arena_bytes,
		.host_bytes = host_bytes, .streams = &stream, .stream_count = 1,
		.steps = steps, .step_count = 3, .tensors = tensors, .tensor_count = 3,
	};

	net->size = vtaimage_size(&source);
	net->image = malloc(net->size);
	if (!net->image)
		machine_die("out of memory");
	if (vtaimage_write(&source, net->image, net->size - 1, &check) != -VTAOPS_ESPACE)
		machine_die("an image of %zu bytes is written to fewer", net->size);
	if (vtaimage_write(&source, net->image, net->size, &check))
		machine_die("%s", check.why);
}

void net_free(struct net *net)
{
	free(net->model);
	free(net->image);
}

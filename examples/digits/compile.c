// SPDX-License-Identifier: Apache-2.0
/*
 * Compile the digits network into a program image, for a core that need not be
 * in this machine.
 *
 *	digits-compile [-b BATCH] [-c LOGS] FILE.vtap
 *
 * LOGS are the core's logarithms, in the order of vta_config.json: widths of
 * inp, wgt and acc, batch, block, buffers of uop, inp, wgt and acc. The default is
 * TVM's: 3,3,5,0,4,15,15,18,17. The image has an input "image" and an output
 * "scores"; vtactl program run runs it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reference.h"
#include "vtaimage.h"
#include "weights.h"

#define ALIGN	65536u		/* of any element of any core */
#define ROOM	(8u << 20)	/* for the model: it has some 50,000 weights */
#define INSNS	(1u << 16)
#define UOPS	(1u << 15)

struct network {
	struct vtaops_core core;
	uint32_t batch;
	uint8_t *model;
	uint32_t model_bytes, arena_bytes;
	uint32_t act[DIGITS_LAYERS + 1];	/* in the arena */
	uint32_t wgt[DIGITS_LAYERS], bias[DIGITS_LAYERS];
	struct vtaops_builder builder;
};

static uint32_t take(uint32_t *used, size_t bytes)
{
	uint32_t at = (*used + ALIGN - 1) / ALIGN * ALIGN;

	*used = at + (uint32_t)bytes;
	return at;
}

static size_t act_bytes(const struct network *net, unsigned int i)
{
	const struct digits_layer *l = &digits_layers[i < DIGITS_LAYERS ? i : i - 1];

	if (i < DIGITS_LAYERS)
		return vtaops_act_bytes(&net->core, net->batch, l->in_channels, l->in_height,
					l->in_width);
	return vtaops_act_bytes(&net->core, net->batch, l->out_channels, l->out_height,
				l->out_width);
}

static void place_weights(struct network *net)
{
	for (unsigned int i = 0; i < DIGITS_LAYERS; i++) {
		const struct digits_layer *l = &digits_layers[i];

		net->wgt[i] = take(&net->model_bytes,
				   vtaops_wgt_bytes(&net->core, l->out_channels, l->in_channels,
						    l->kernel, l->kernel));
		net->bias[i] = take(&net->model_bytes,
				    vtaops_bias_bytes(&net->core, l->out_channels));
		if (net->model_bytes > ROOM / 2)
			return;
		vtaops_pack_wgt(&net->core, net->model + net->wgt[i], l->weights, l->out_channels,
				l->in_channels, l->kernel, l->kernel);
		vtaops_pack_bias(&net->core, net->model + net->bias[i], l->bias, l->out_channels);
	}
}

static void lower(struct network *net)
{
	for (unsigned int i = 0; i < DIGITS_LAYERS; i++) {
		const struct digits_layer *l = &digits_layers[i];

		vtaops_conv2d(&net->builder, &(struct vtaops_conv2d) {
			.inp = VTAIMAGE_ARENA + net->act[i],
			.out = VTAIMAGE_ARENA + net->act[i + 1],
			.wgt = VTAIMAGE_MODEL + net->wgt[i],
			.n = net->batch, .in = l->in_channels, .h = l->in_height,
			.w = l->in_width, .units = l->out_channels,
			.kh = l->kernel, .kw = l->kernel,
			.stride_h = l->stride, .stride_w = l->stride,
			.pad_h = l->pad, .pad_w = l->pad,
			.post = {
				.bias = VTAIMAGE_MODEL + net->bias[i], .shift = l->shift,
				.lo = l->relu ? 0 : -128, .hi = 127,
			},
		});
	}
}

static bool write_image(const struct network *net, uint32_t insn_at, const char *path)
{
	const struct vtaimage_tensor tensors[] = {
		{ .name = "image", .role = VTAIMAGE_INPUT, .n = net->batch, .c = 1,
		  .h = DIGITS_SIDE, .w = DIGITS_SIDE, .offset = net->act[0],
		  .bytes = (uint32_t)act_bytes(net, 0) },
		{ .name = "scores", .role = VTAIMAGE_OUTPUT, .n = net->batch,
		  .c = DIGITS_CLASSES, .h = 1, .w = 1, .offset = net->act[DIGITS_LAYERS],
		  .bytes = (uint32_t)act_bytes(net, DIGITS_LAYERS) },
	};
	const struct vtaimage_source source = {
		.core = &net->core, .name = "digits", .model = net->model,
		.model_bytes = net->model_bytes, .arena_bytes = net->arena_bytes,
		.insn_at = insn_at, .insn_count = (uint32_t)net->builder.insns,
		.cycles = net->builder.cycles, .tensors = tensors, .tensor_count = 2,
	};
	size_t size = vtaimage_size_v1(&source);
	uint8_t *data = malloc(size + 1);
	struct vtaimage check;
	FILE *file = NULL;
	bool ok = false;

	if (!data || vtaimage_write_v1(&source, data, size, &check)) {
		fprintf(stderr, "digits-compile: %s\n", data ? check.why : "not enough memory");
	} else {
		file = fopen(path, "wbe");
		ok = file && fwrite(data, 1, size, file) == size;
	}
	if (file && fclose(file))
		ok = false;
	if (!ok)
		perror(path);
	free(data);
	return ok;
}

static bool compile_network(struct network *net, const char *path)
{
	uint32_t insn_at, uop_at;

	for (unsigned int i = 0; i <= DIGITS_LAYERS; i++)
		net->act[i] = take(&net->arena_bytes, act_bytes(net, i));
	place_weights(net);
	if (net->model_bytes > ROOM / 2) {
		fprintf(stderr, "digits-compile: the weights are too large for this core\n");
		return false;
	}
	/* Once without storage, to know how much there is. */
	vtaops_begin(&net->builder, &net->core, NULL, 0, NULL, 0, 0);
	lower(net);
	vtaops_finish(&net->builder);
	insn_at = take(&net->model_bytes, net->builder.insns * sizeof(struct vtaops_insn));
	uop_at = take(&net->model_bytes, net->builder.uops * sizeof(uint32_t));
	if (!net->builder.error && net->model_bytes <= ROOM) {
		vtaops_begin(&net->builder, &net->core,
			     (struct vtaops_insn *)(net->model + insn_at), net->builder.insns,
			     (uint32_t *)(net->model + uop_at), net->builder.uops,
			     VTAIMAGE_MODEL + uop_at);
		lower(net);
		vtaops_finish(&net->builder);
	}
	if (net->builder.error || net->model_bytes > ROOM) {
		fprintf(stderr, "digits-compile: %s\n",
			net->builder.error ? net->builder.why : "the program is too large");
		return false;
	}
	return write_image(net, insn_at, path);
}

int main(int argc, char **argv)
{
	struct network net = { .batch = 1 };
	struct vtaops_core *c = &net.core;
	const char *logs = "3,3,5,0,4,15,15,18,17";
	int opt;
	bool ok;

	while ((opt = getopt(argc, argv, "b:c:")) != -1) {
		if (opt == 'b')
			net.batch = (uint32_t)strtoul(optarg, NULL, 10);
		else if (opt == 'c')
			logs = optarg;
		else
			net.batch = 0;
	}
	if (!net.batch || net.batch > 1000 || optind != argc - 1 ||
	    sscanf(logs, "%u,%u,%u,%u,%u,%u,%u,%u,%u", &c->log_inp_width, &c->log_wgt_width,
		   &c->log_acc_width, &c->log_batch, &c->log_block, &c->log_uop_buff_size,
		   &c->log_inp_buff_size, &c->log_wgt_buff_size, &c->log_acc_buff_size) != 9) {
		fprintf(stderr, "usage: digits-compile [-b BATCH] [-c LOGS] FILE.vtap\n");
		return 2;
	}
	if (vtaops_core_init(c) || c->log_inp_width != 3 || c->log_wgt_width != 3) {
		fprintf(stderr, "digits-compile: no core has these logarithms, or not int8\n");
		return 1;
	}
	net.model = calloc(1, ROOM);
	ok = net.model && compile_network(&net, argv[optind]);
	free(net.model);
	return ok ? 0 : 1;
}

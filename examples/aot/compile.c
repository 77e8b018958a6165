// SPDX-License-Identifier: Apache-2.0
/*
 * compile - lower the residual network ahead of time, and write it as C
 *
 *	compile [NAME=VALUE]... > model.h
 *
 * Runs where the program is built; no card is needed. NAME is of vta_config.json;
 * what is not given is as TVM's default. What comes out is data: packed weights and
 * biases, one instruction stream for the whole network with its micro-ops, and the
 * device addresses that are in it. A context of the card has all addresses to
 * itself, so they are chosen here, and the program puts things there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resnet.h"
#include "vtaops.h"

#define MODEL_ADDR	0x10000000u	/* constants and stream: card memory */
#define ACTS_ADDR	0x20000000u	/* what lies between layers: card memory */
#define IMAGE_ADDR	0x30000000u	/* host memory */
#define SCORES_ADDR	0x38000000u	/* host memory */

struct plan {
	struct vtaops_core core;
	uint32_t wgt[RESNET_LAYERS], bias[RESNET_LAYERS];	/* device addresses */
	uint32_t input, act[RESNET_LAYERS];
	uint32_t insn, uop;
	size_t model_size, acts_size;
};

static struct {
	const char *name;
	unsigned int value;
} config[] = {
	{ "LOG_INP_WIDTH", 3 }, { "LOG_WGT_WIDTH", 3 }, { "LOG_ACC_WIDTH", 5 },
	{ "LOG_BATCH", 0 }, { "LOG_BLOCK", 4 }, { "LOG_UOP_BUFF_SIZE", 15 },
	{ "LOG_INP_BUFF_SIZE", 15 }, { "LOG_WGT_BUFF_SIZE", 18 }, { "LOG_ACC_BUFF_SIZE", 17 },
};

#define CONFIGS	(sizeof(config) / sizeof(*config))

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "compile: %s: %s\n", what, why);
	exit(1);
}

static void set(const char *arg)
{
	for (size_t i = 0; i < CONFIGS; i++) {
		size_t len = strlen(config[i].name);
		char *end;

		if (strncmp(arg, config[i].name, len) || arg[len] != '=')
			continue;
		config[i].value = (unsigned int)strtoul(arg + len + 1, &end, 10);
		if (*end || !arg[len + 1])
			fail(arg, "not a number");
		return;
	}
	fail(arg, "not of vta_config.json");
}

static struct vtaops_core make_core(void)
{
	struct vtaops_core core = {
		.log_inp_width = config[0].value, .log_wgt_width = config[1].value,
		.log_acc_width = config[2].value, .log_batch = config[3].value,
		.log_block = config[4].value, .log_uop_buff_size = config[5].value,
		.log_inp_buff_size = config[6].value, .log_wgt_buff_size = config[7].value,
		.log_acc_buff_size = config[8].value,
	};

	if (vtaops_core_init(&core))
		fail("configuration", "not a valid one");
	if (core.log_inp_width != 3 || core.log_wgt_width != 3 || core.batch != 1)
		fail("configuration", "the network is of int8, an image at a time");
	return core;
}

/* ---- Places ---- */

static uint32_t take(const struct plan *p, uint32_t base, size_t *used, size_t bytes)
{
	size_t align = p->core.wgt_bytes > p->core.acc_bytes ? p->core.wgt_bytes :
							       p->core.acc_bytes;
	size_t at = (*used + align - 1) / align * align;

	*used = at + bytes;
	return base + (uint32_t)at;
}

static size_t act_bytes(const struct plan *p, unsigned int channels, unsigned int side)
{
	return vtaops_act_bytes(&p->core, 1, channels, side, side);
}

static void place(struct plan *p)
{
	p->input = take(p, ACTS_ADDR, &p->acts_size, act_bytes(p, 1, RESNET_SIDE));
	for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
		const struct resnet_layer *l = &resnet_layers[i];

		p->act[i] = take(p, ACTS_ADDR, &p->acts_size,
				 act_bytes(p, l->out_channels, l->out_side));
		p->wgt[i] = take(p, MODEL_ADDR, &p->model_size,
				 vtaops_wgt_bytes(&p->core, l->out_channels, l->in_channels,
						  l->kernel, l->kernel));
		p->bias[i] = take(p, MODEL_ADDR, &p->model_size,
				  vtaops_bias_bytes(&p->core, l->out_channels));
	}
}

/* ---- The stream ---- */

static void push_layer(struct vtaops_builder *b, const struct plan *p, unsigned int i)
{
	const struct resnet_layer *l = &resnet_layers[i];
	struct vtaops_conv2d op = {
		.inp = l->source == RESNET_INPUT ? p->input : p->act[l->source],
		.wgt = p->wgt[i], .out = p->act[i],
		.res = l->res == RESNET_NONE ? 0 : p->act[l->res], .res_shift = l->res_shift,
		.n = 1, .in = l->in_channels, .h = l->in_side, .w = l->in_side,
		.units = l->out_channels, .kh = l->kernel, .kw = l->kernel,
		.stride_h = l->stride, .stride_w = l->stride, .pad_h = l->pad, .pad_w = l->pad,
		.post = {
			.bias = p->bias[i], .shift = l->shift,
			.lo = l->relu ? 0 : -128, .hi = 127,
		},
	};

	vtaops_conv2d(b, &op);
}

static void push_network(struct vtaops_builder *b, const struct plan *p)
{
	for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
		push_layer(b, p, i);
		if (b->error)
			fail(resnet_layers[i].name, b->why);
	}
	if (vtaops_finish(b))
		fail("the stream", b->why);
}

/* All that the card is to have, from MODEL_ADDR on. */
static uint8_t *build(struct plan *p, struct vtaops_builder *b)
{
	uint8_t *model;
	size_t uops;

	vtaops_begin(b, &p->core, NULL, 0, NULL, 0, 0);
	push_network(b, p);
	uops = b->uops;
	p->insn = take(p, MODEL_ADDR, &p->model_size, b->insns * sizeof(struct vtaops_insn));
	p->uop = take(p, MODEL_ADDR, &p->model_size, b->uops * sizeof(uint32_t));
	p->model_size = (p->model_size + 7) / 8 * 8;
	model = calloc(1, p->model_size);
	if (!model)
		fail("the model", "not enough memory");

	for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
		const struct resnet_layer *l = &resnet_layers[i];

		vtaops_pack_wgt(&p->core, model + (p->wgt[i] - MODEL_ADDR), l->weights,
				l->out_channels, l->in_channels, l->kernel, l->kernel);
		vtaops_pack_bias(&p->core, model + (p->bias[i] - MODEL_ADDR), l->bias,
				 l->out_channels);
	}
	vtaops_begin(b, &p->core, (struct vtaops_insn *)(model + (p->insn - MODEL_ADDR)), b->insns,
		     (uint32_t *)(model + (p->uop - MODEL_ADDR)), uops, p->uop);
	push_network(b, p);
	return model;
}

/* ---- The header ---- */

static void write_words(const uint8_t *model, size_t size)
{
	printf("\nstatic const uint64_t model_data[MODEL_SIZE / 8] = {");
	for (size_t i = 0; i < size / 8; i++) {
		uint64_t word;

		memcpy(&word, model + i * 8, sizeof(word));
		printf("%s0x%" PRIx64 ",", i % 4 ? " " : "\n\t", word);
	}
	printf("\n};\n");
}

static void write_header(const struct plan *p, const struct vtaops_builder *b,
			 const uint8_t *model)
{
	const uint32_t scores = p->act[RESNET_LAYERS - 1];

	printf("/* Written by compile: %zu instructions, %zu micro-ops, %" PRIu64 " cycles. */\n",
	       b->insns, b->uops, b->cycles);
	printf("#pragma once\n\n#include <stdint.h>\n\n");
	for (size_t i = 0; i < CONFIGS; i++)
		printf("#define MODEL_%s\t%u\n", config[i].name, config[i].value);
	printf("\n#define MODEL_BLOCK\t%u\n", p->core.block);
	printf("#define MODEL_ADDR\t0x%08xu\n", MODEL_ADDR);
	printf("#define MODEL_SIZE\t%zuu\n", p->model_size);
	printf("#define MODEL_INSN_ADDR\t0x%08xu\n", p->insn);
	printf("#define MODEL_INSNS\t%zuu\n", b->insns);
	printf("#define MODEL_CYCLES\t%" PRIu64 "u\n", b->cycles);
	printf("#define MODEL_ACTS_ADDR\t0x%08xu\n", ACTS_ADDR);
	printf("#define MODEL_ACTS_SIZE\t%zuu\n", p->acts_size);
	printf("#define MODEL_IMAGE_ADDR\t0x%08xu\n", IMAGE_ADDR);
	printf("#define MODEL_IMAGE_SIZE\t%zuu\n", act_bytes(p, 1, RESNET_SIDE));
	printf("#define MODEL_INPUT_ADDR\t0x%08xu\n", p->input);
	printf("#define MODEL_SCORES_ADDR\t0x%08xu\n", SCORES_ADDR);
	printf("#define MODEL_SCORES_SIZE\t%zuu\n", act_bytes(p, RESNET_CLASSES, 1));
	printf("#define MODEL_OUTPUT_ADDR\t0x%08xu\n", scores);
	write_words(model, p->model_size);
}

int main(int argc, char **argv)
{
	struct vtaops_builder b;
	struct plan p = { 0 };
	uint8_t *model;

	for (int i = 1; i < argc; i++)
		set(argv[i]);
	p.core = make_core();
	place(&p);
	model = build(&p, &b);
	write_header(&p, &b, model);
	free(model);
	if (fflush(stdout) || ferror(stdout))
		fail("standard output", "cannot be written");
	return 0;
}
